/* tokens_cases.cuh - stages of levels frames with codes, and their sections as the CPU writes them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_CASES_CUH
#define SZG_TOKENS_CASES_CUH

#include <string>

#include "codecs/interpolation/levels_tiles.h"
#include "cuda/cuda_test.cuh"

namespace tokens_cases {

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;

typedef std::vector<uint8_t> Bytes;

/* ---- stages ---- */

/* A field's extents and how it is looked at. */
struct View {
  std::vector<uint64_t> dims;
  uint32_t axis_count;
  uint64_t fold;
  uint32_t level_count;
};

struct Stage {
  std::string name;
  szg_levels levels;
  uint32_t stage;
  szg_tokens_tiles tiles;
  std::vector<uint64_t> existing; /* [tiles][groups] */

  uint64_t place_count() const { return (uint64_t)tiles.group_count * 64; }
  size_t code_bytes() const { return tiles.is_wide ? 8 : 4; }
  szg_tokens_shape shape(uint32_t g) const { return {tiles.group_count, g, tiles.is_wide}; }
  const uint64_t *existing_of(uint64_t t) const { return existing.data() + t * tiles.group_count; }
};

inline std::string name_of(const View &view, uint32_t stage, bool is_wide) {
  std::string name = "dims";
  for (uint64_t extent : view.dims) name += " " + std::to_string(extent);
  name += ", d " + std::to_string(view.axis_count) + ", fold " + std::to_string(view.fold);
  name += ", L " + std::to_string(view.level_count) + ", stage " + std::to_string(stage);
  return name + (is_wide ? ", wide" : "");
}

inline Stage stage_of(const View &view, uint32_t stage, bool is_wide) {
  Stage made;
  szg_grid const grid = cuda_test::grid_of(view.dims);
  made.name = name_of(view, stage, is_wide);
  if (!szg_levels_make(&grid, view.axis_count, view.fold, view.level_count, &made.levels)) {
    printf("%s: no such levels\n", made.name.c_str());
    exit(1);
  }
  made.levels.is_wide = is_wide;
  made.stage = stage;
  made.tiles = szg_tokens_tiles_of(&made.levels, stage);
  made.existing.resize(made.tiles.tile_count * made.tiles.group_count);
  for (uint64_t t = 0; t < made.tiles.tile_count; t++)
    szg_levels_existing_places(&made.levels, stage, t,
                               made.existing.data() + t * made.tiles.group_count);
  return made;
}

/* ---- codes ---- */

/* How often codes are not 0, and how large they are. */
struct Density {
  uint32_t per_mille, most_bits;
  uint32_t empty_per_mille; /* of the groups, which have only zeros */
};

/* All tiles' codes, in the width of the frame. */
inline Bytes codes_of(const Stage &stage, Density density) {
  uint64_t const count = stage.tiles.tile_count * stage.place_count();
  Bytes bytes(count * stage.code_bytes());
  bool is_empty = false;
  for (uint64_t i = 0; i < count; i++) {
    if (i % 64 == 0) is_empty = random_below(1000) < density.empty_per_mille;
    bool const exists = stage.existing[i / 64] >> i % 64 & 1;
    if (is_empty || !exists || random_below(1000) >= density.per_mille) continue;
    uint32_t const bits = (uint32_t)random_below(density.most_bits + 1);
    int64_t const code = (int64_t)random_bits() >> (63 - bits);
    int32_t const narrow = (int32_t)code;
    if (stage.tiles.is_wide)
      memcpy(bytes.data() + 8 * i, &code, 8);
    else
      memcpy(bytes.data() + 4 * i, &narrow, 4);
  }
  return bytes;
}

inline int64_t code_at(const Stage &stage, const Bytes &codes, uint64_t i) {
  int64_t code;
  int32_t narrow;
  memcpy(&narrow, codes.data() + stage.code_bytes() * i, 4);
  if (!stage.tiles.is_wide) return narrow;
  memcpy(&code, codes.data() + 8 * i, 8);
  return code;
}

/* ---- on the CPU ---- */

inline szg_codebook book;
inline szg_codebook_work book_work;
inline szg_tokens_work token_work;

inline szg_tokens_tally count_tiles(const Stage &stage, const Bytes &codes,
                                    uint32_t counted_count) {
  szg_tokens_tally tally = {};
  szg_tokens_shape const shape = stage.shape(0);
  for (uint32_t i = 0; i < counted_count; i++) {
    uint64_t const t = szg_sample_tile(stage.tiles.tile_count, counted_count, i);
    szg_tokens_count(&shape, codes.data() + t * stage.place_count() * stage.code_bytes(),
                     stage.existing_of(t), &tally);
  }
  return tally;
}

/* What szg_tokens_choose would make if it had to choose this mode and these lanes. */
inline szg_tokens_plan plan_of(const szg_tokens_tally &tally, uint32_t mode, uint32_t g,
                               bool is_whole) {
  static const uint32_t escapes[4] = {256, 0, 225, 255};
  static const uint32_t symbol_counts[4] = {257, 256, 226, 256};
  szg_tokens_plan plan;
  memset(&plan, 0, sizeof plan);
  uint8_t *const lengths[4] = {plan.books.octets, plan.books.masks, plan.books.pairs,
                               plan.books.values};
  plan.mode = mode;
  plan.lane_groups_log2 = g;
  for (uint32_t b = 0; b < 4; b++) {
    if (!(b == 3 || (b == 2 && mode == 2) || (b < 2 && mode == 3))) continue;
    const uint64_t *const from = b == 0      ? tally.octets
                                 : b == 1    ? tally.masks
                                 : b == 2    ? tally.pairs
                                 : mode == 2 ? tally.pair_values
                                             : tally.values;
    uint64_t counts[257], sum = 0;
    for (uint32_t s = 0; s < symbol_counts[b]; s++) sum += counts[s] = from[s];
    if (b == 0) counts[0] = tally.live_groups[g] - sum;
    if (b == 2) counts[112] = tally.live_pairs[g] - sum;
    if (b == 3 && mode == 1) counts[0] = tally.live_places[g] - sum;
    uint64_t once = 1;
    for (uint32_t s = 0; s < symbol_counts[b]; s++) once += counts[s] == 1;
    if (!is_whole && counts[escapes[b]] < once) counts[escapes[b]] = once;
    szg_codebook_build(counts, symbol_counts[b], 12, &book, &book_work);
    memcpy(lengths[b], book.lengths, symbol_counts[b]);
  }
  return plan;
}

/* The book that the device makes of a plan. */
inline szg_tokens_book_cuda book_of(const szg_tokens_plan &plan, uint32_t unit) {
  static szg_tokens_book_cuda made;
  static szg_tokens_cpu_encoder encoder;
  memset(&made, 0, sizeof made);
  made.plan = plan;
  szg_tokens_encoder_build(&plan, &encoder);
  made.encoder = encoder.shared;
  uint8_t *const front = (uint8_t *)made.front;
  uint32_t const book_bytes =
      (uint32_t)szg_tokens_books_write(&plan.books, plan.mode, front + SZG_TOKENS_HEAD_BYTES);
  made.front_bytes = SZG_TOKENS_HEAD_BYTES + book_bytes;
  front[0] = (uint8_t)plan.mode, front[1] = (uint8_t)plan.lane_groups_log2;
  made.front[1] = unit;
  made.front[2] = book_bytes;
  return made;
}

/* The section of a stage. */
inline Bytes section_of(const Stage &stage, const Bytes &codes, const szg_tokens_book_cuda &made) {
  static szg_tokens_cpu_encoder encoder;
  const uint8_t *const front = (const uint8_t *)made.front;
  Bytes section(front, front + made.front_bytes);
  szg_tokens_encoder_build(&made.plan, &encoder);
  uint64_t const tile_count = stage.tiles.tile_count;
  szg_tokens_shape const shape = stage.shape(made.plan.lane_groups_log2);
  Bytes words, room(4 * (size_t)szg_tokens_most_words(&shape));
  for (uint64_t t = 0; t < tile_count; t++) {
    uint32_t const word_count = szg_tokens_encode_tile(
        &encoder, &shape, codes.data() + t * stage.place_count() * stage.code_bytes(),
        stage.existing_of(t), &token_work, room.data());
    section.push_back((uint8_t)word_count);
    section.push_back((uint8_t)(word_count >> 8));
    words.insert(words.end(), room.begin(), room.begin() + 4 * word_count);
  }
  if (words.empty()) { /* mode 0 */
    section.assign(SZG_TOKENS_HEAD_BYTES, 0);
    memcpy(section.data() + 4 * SZG_TOKENS_UNIT_WORD, &made.front[SZG_TOKENS_UNIT_WORD], 4);
    return section;
  }
  section.resize((section.size() + 3) / 4 * 4, 0);
  section.insert(section.end(), words.begin(), words.end());
  return section;
}

inline uint32_t load_u32(const uint8_t *bytes) {
  uint32_t number;
  memcpy(&number, bytes, 4);
  return number;
}

/* A section as read: section 16 of docs/format.md. */
struct Read {
  bool is_bad;
  uint32_t unit;
  szg_tokens_decoder decoder; /* if it has words */
  Bytes codes;
  uint64_t bad_tile; /* if a tile is what is bad */
};

inline bool read_front(const Stage &stage, const Bytes &section, uint32_t least_unit,
                       uint32_t most_unit, Read *read) {
  if (section.size() < 16) return false;
  uint32_t const mode = section[0], g = section[1];
  uint32_t const book_bytes = load_u32(section.data() + 8);
  read->unit = load_u32(section.data() + 4);
  if (section[2] || section[3] || load_u32(section.data() + 12) || mode > 3 || g > 4) return false;
  if (read->unit < least_unit || read->unit > most_unit || book_bytes % 4) return false;
  if (mode == 0) return book_bytes == 0 && section.size() == 16;
  if (g < szg_tokens_least_lane_groups_log2(stage.tiles.group_count)) return false;
  if (book_bytes > SZG_TOKENS_BOOKS_MOST_BYTES) return false;
  uint64_t const sizes = 16 + (uint64_t)book_bytes, tile_count = stage.tiles.tile_count;
  uint64_t const words = (sizes + 2 * tile_count + 3) / 4 * 4;
  if (words > section.size() || section.size() % 4) return false;
  for (uint64_t i = sizes + 2 * tile_count; i < words; i++)
    if (section[i]) return false;
  static szg_tokens_books books;
  if (szg_tokens_books_read(section.data() + 16, book_bytes, mode, &books) != SZGPU_OK)
    return false;
  szg_tokens_decoder_build(&books, mode, &read->decoder);
  return true;
}

inline Read read_section(const Stage &stage, const Bytes &section, uint32_t least_unit,
                         uint32_t most_unit) {
  static Read read;
  uint64_t const tile_count = stage.tiles.tile_count;
  size_t const tile_bytes = stage.place_count() * stage.code_bytes();
  read.bad_tile = UINT64_MAX;
  read.codes.assign(tile_count * tile_bytes, 0);
  read.is_bad = !read_front(stage, section, least_unit, most_unit, &read);
  if (read.is_bad || section[0] == 0) return read;
  const uint8_t *const sizes = section.data() + 16 + load_u32(section.data() + 8);
  const uint8_t *words = sizes + (tile_count + 1) / 2 * 4;
  szg_tokens_shape const shape = stage.shape(section[1]);
  const uint8_t *const end = section.data() + section.size();
  for (uint64_t t = 0; t < tile_count && !read.is_bad; t++) {
    uint32_t const word_count = sizes[2 * t] | (uint32_t)sizes[2 * t + 1] << 8;
    read.is_bad =
        4 * (uint64_t)word_count > (uint64_t)(end - words) ||
        szg_tokens_decode_tile(&read.decoder, &shape, stage.existing_of(t), words, word_count,
                               &token_work, read.codes.data() + t * tile_bytes) != SZGPU_OK;
    if (read.is_bad) read.bad_tile = t;
    if (!read.is_bad) words += 4 * (size_t)word_count;
  }
  read.is_bad |= words != end;
  return read;
}

/* ---- on the device ---- */

constexpr uint8_t kPoison = 0xA5; /* DeviceArray's */

struct Opened {
  szg_verdict verdict;
  szg_tokens_opened_cuda opened;
  Bytes codes; /* of tiles first_tile to end_tile - 1, then a guard of 64 bytes */
};

/* Opens a section and decodes tiles of it. */
inline Opened open_and_decode(const Stage &stage, const Bytes &section, uint32_t least_unit,
                              uint32_t most_unit, uint64_t first_tile, uint64_t end_tile) {
  DeviceArray<uint8_t> bytes(section);
  DeviceArray<szg_tokens_opened_cuda> opened(1);
  DeviceArray<uint16_t> sizes(stage.tiles.tile_count);
  DeviceArray<uint64_t> first_words(stage.tiles.tile_count + 1);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  size_t const tile_bytes = stage.place_count() * stage.code_bytes();
  DeviceArray<uint8_t> codes((end_tile - first_tile) * tile_bytes + 64);
  szg_tokens_input_cuda input = {};
  input.tiles = stage.tiles;
  input.section = bytes.data();
  input.section_bytes = section.size();
  input.least_unit = least_unit;
  input.most_unit = most_unit;
  input.opened = opened.data();
  input.sizes = sizes.data();
  input.first_words = first_words.data();
  MUST(szg_tokens_open_cuda(&input, 1, verdict.data(), cuda_test::stream));
  MUST(szg_tokens_decode_cuda(&input, first_tile, end_tile, codes.data(), verdict.data(),
                              cuda_test::stream));
  Opened found;
  found.codes = codes.host();
  found.opened = opened.host()[0];
  found.verdict = verdict.host()[0];
  return found;
}

inline void check_guard(const Stage &stage, const Opened &found, const char *what) {
  size_t const first = found.codes.size() - 64;
  for (size_t i = first; i < found.codes.size(); i++)
    if (found.codes[i] != kPoison) {
      CHECK(false, "%s, %s: byte %zu behind the codes was written", stage.name.c_str(), what,
            i - first);
      return;
    }
}

/* codes, expected: from first_tile on. */
inline void check_codes(const Stage &stage, const Bytes &codes, const uint8_t *expected,
                        uint64_t first_tile, uint64_t end_tile, const char *what) {
  size_t const byte_count = (end_tile - first_tile) * stage.place_count() * stage.code_bytes();
  if (memcmp(codes.data(), expected, byte_count) == 0) return;
  Bytes const wanted(expected, expected + byte_count);
  uint64_t i = 0;
  while (code_at(stage, codes, i) == code_at(stage, wanted, i)) i++;
  CHECK(false, "%s, %s: tile %llu, place %llu: %lld, not %lld", stage.name.c_str(), what,
        (unsigned long long)(first_tile + i / stage.place_count()),
        (unsigned long long)(i % stage.place_count()), (long long)code_at(stage, codes, i),
        (long long)code_at(stage, wanted, i));
}

} // namespace tokens_cases

#endif
