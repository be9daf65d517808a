/* test_cuda_top_plane.cu - planes split and merged, gaps split: the same as in C.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/top_plane_cuda.h"
#include "study/hierarchical_forms.h"

#include <memory>

#include "cuda/decode_cases.cuh"
#include "huffman/decoders/hierarchical.h"
extern "C" {
#include "codecs/planes/plane_bytes.h"
}

namespace {

using namespace cuda_test;
using namespace decode_cases;

typedef std::vector<uint8_t> Bytes;

constexpr uint8_t kGuard = 0xA5; /* DeviceArray's poison */
constexpr size_t kGuardBytes = 64;

const uint64_t value_counts[] = {1,    2,    3,    4,     5,     15,        16,    17,
                                 31,   32,   127,  128,   129,   1000,      4095,  4096,
                                 4097, 4099, 8192, 12289, 40000, 33 * 4096, 300001};

/* ---- frames ---- */

/* Values, and what the C functions make of them. */
struct Frame {
  uint32_t value_bytes;
  uint64_t value_count;
  Bytes values, top, stored;
  std::vector<uint64_t> counts;
  Bytes lengths;                    /* of codes */
  std::vector<uint16_t> tile_sizes; /* bits less values */
};

/* A symbol of the highest plane: like an exponent of weights, or any byte. */
uint32_t top_symbol(bool is_flat) {
  uint64_t const bits = random_bits() | (uint64_t)1 << 40;
  return is_flat ? (uint32_t)random_below(256) : 121 - (uint32_t)__builtin_ctzll(bits);
}

void measure_codes(Frame *frame) {
  static szg_codebook book;
  static szg_codebook_work work;
  frame->counts.assign(SZG_PLANES_SYMBOLS, 0);
  for (uint8_t symbol : frame->top) frame->counts[symbol]++;
  szg_codebook_build(frame->counts.data(), SZG_PLANES_SYMBOLS, SZG_MAX_CODE_BITS, &book, &work);
  frame->lengths.assign(book.lengths, book.lengths + SZG_PLANES_SYMBOLS);
  frame->tile_sizes.assign(szg_planes_tile_count(frame->value_count), 0);
  for (uint64_t i = 0; i < frame->value_count; i++)
    frame->tile_sizes[i / SZG_TILE_VALUES] += (uint16_t)(frame->lengths[frame->top[i]] - 1);
}

Frame make_frame(uint32_t value_bytes, uint64_t value_count, bool is_flat) {
  Frame frame = {
      value_bytes, value_count, Bytes(value_count * value_bytes), Bytes(value_count), {}, {},
      {},          {}};
  uint32_t const shift = 8 * (value_bytes - 1);
  for (uint64_t i = 0; i < value_count; i++) {
    uint64_t const low = value_bytes > 1 ? random_bits() >> (64 - shift) : 0;
    uint64_t const value =
        szg_planes_turned_back(low | (uint64_t)top_symbol(is_flat) << shift, value_bytes);
    memcpy(&frame.values[i * value_bytes], &value, value_bytes);
  }
  uint64_t const plane_bytes = szg_stored_plane_bytes(value_count);
  frame.stored.assign((value_bytes - 1) * plane_bytes, 0);
  for (uint32_t p = 0; p + 1 < value_bytes; p++)
    szg_plane_take(frame.values.data(), (uint32_t)value_count, value_bytes, p,
                   &frame.stored[p * plane_bytes]);
  szg_plane_take(frame.values.data(), (uint32_t)value_count, value_bytes, value_bytes - 1,
                 frame.top.data());
  measure_codes(&frame);
  return frame;
}

/* The bytes with guard bytes on both sides. */
Bytes guarded(size_t before, const uint8_t *bytes, size_t byte_count, size_t after) {
  Bytes all(before + byte_count + after, kGuard);
  if (byte_count) memcpy(all.data() + before, bytes, byte_count);
  return all;
}

/* ---- splitting values ---- */

void check_apart(const Frame &frame, size_t offset) {
  DeviceArray<uint8_t> const values(guarded(offset, frame.values.data(), frame.values.size(), 0));
  uint64_t const room = szg_align_up(frame.value_count, 8);
  DeviceArray<uint16_t> codes(room + kGuardBytes / 2);
  DeviceArray<uint64_t> counts(SZG_PLANES_SYMBOLS);
  DeviceArray<uint8_t> stored(frame.stored.size() + kGuardBytes);
  counts.zero();
  const void *const from = values.data() + offset;
  for (int k = 0; k < 2; k++)
    MUST(szg_top_plane_take_cuda(from, frame.value_count, frame.value_bytes, codes.data(),
                                 counts.data(), cuda_test::stream));
  MUST(szg_top_plane_store_cuda(from, frame.value_count, frame.value_bytes, stored.data(),
                                cuda_test::stream));
  std::vector<uint16_t> const found_codes = codes.host();
  uint64_t wrong = 0, wrong_counts = 0, written = 0;
  for (uint64_t i = 0; i < frame.value_count; i++) wrong += found_codes[i] != frame.top[i];
  for (uint64_t i = room; i < found_codes.size(); i++) written += found_codes[i] != 0xA5A5;
  std::vector<uint64_t> const found_counts = counts.host();
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
    wrong_counts += found_counts[s] != 2 * frame.counts[s];
  Bytes const expected = guarded(0, frame.stored.data(), frame.stored.size(), kGuardBytes);
  CHECK(wrong == 0 && wrong_counts == 0 && written == 0,
        "%llu values of %u bytes at %zu: %llu codes, %llu counts, %llu written beyond",
        (unsigned long long)frame.value_count, frame.value_bytes, offset, (unsigned long long)wrong,
        (unsigned long long)wrong_counts, (unsigned long long)written);
  CHECK(stored.host() == expected, "stored planes of %llu values of %u bytes at %zu",
        (unsigned long long)frame.value_count, frame.value_bytes, offset);
}

/* ---- merging values ---- */

struct Merged {
  bool is_bad;
  Bytes bytes; /* the values' bytes, with a guard on both sides */
};

Merged merge(const Frame &frame, const Bytes &top, const std::vector<uint16_t> &tile_sizes,
             uint32_t code_bytes, uint64_t first, uint64_t count, size_t offset, bool was_bad) {
  std::vector<uint16_t> wide(top.begin(), top.end());
  DeviceArray<uint16_t> const codes(wide), sizes(tile_sizes);
  DeviceArray<uint8_t> const bytes(top), lengths(frame.lengths), stored(frame.stored);
  size_t const value_bytes = count * frame.value_bytes;
  DeviceArray<uint8_t> values(offset + kGuardBytes + value_bytes + kGuardBytes);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  if (was_bad) verdict.poison();
  const void *const code_data = code_bytes == 1 ? (const void *)bytes.data() : codes.data();
  szg_top_plane_input_cuda const input = {frame.value_bytes, code_bytes,     frame.value_count,
                                          code_data,         lengths.data(), sizes.data(),
                                          stored.data()};
  MUST(szg_top_plane_merge_cuda(&input, first, count, values.data() + offset + kGuardBytes,
                                verdict.data(), cuda_test::stream));
  Bytes const found = values.host();
  return {verdict.host()[0].bad_data != 0, Bytes(found.begin() + (int64_t)offset, found.end())};
}

void check_together(const Frame &frame, uint64_t first, uint64_t count, size_t offset) {
  Bytes const expected = guarded(kGuardBytes, &frame.values[first * frame.value_bytes],
                                 count * frame.value_bytes, kGuardBytes);
  for (uint32_t code_bytes = 1; code_bytes <= 2; code_bytes++) {
    Merged const found =
        merge(frame, frame.top, frame.tile_sizes, code_bytes, first, count, offset, false);
    CHECK(!found.is_bad && found.bytes == expected,
          "%llu of %llu values of %u bytes from %llu on, codes of %u bytes, at %zu: bad %d",
          (unsigned long long)count, (unsigned long long)frame.value_count, frame.value_bytes,
          (unsigned long long)first, code_bytes, offset, found.is_bad);
  }
}

/* ---- claims of planes ---- */

void frames_of_every_count() {
  for (uint64_t count : value_counts)
    for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
      if (is_quick() && count > 5000) continue;
      Frame const frame = make_frame(value_bytes, count, count % 2);
      check_apart(frame, 0);
      check_together(frame, 0, count, 0);
    }
}

/* Values have only their own alignment. */
void values_from_and_to_anywhere() {
  for (size_t offset = 1; offset < 32; offset++)
    for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
      if (offset % value_bytes != 0 || is_left_out(offset, 3)) continue;
      Frame const frame = make_frame(value_bytes, 9001, offset % 2);
      check_apart(frame, offset);
      check_together(frame, 0, 9001, offset);
      check_together(frame, offset, 8192, offset);
    }
}

void parts_of_frames() {
  for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
    Frame const frame = make_frame(value_bytes, 20001, false);
    check_together(frame, 4096, 8192, 0);
    check_together(frame, 4095, 2, 0);
    check_together(frame, 20000, 1, 8);
    for (int i = 0; i < (is_quick() ? 3 : 40); i++) {
      uint64_t const first = random_below(20001), most = 20001 - first;
      check_together(frame, i % 3 ? first : first / 4096 * 4096, 1 + random_below(most),
                     8 * random_below(3));
    }
  }
}

/* Wrong sizes of the tiles that are read, and only of those. */
void sizes_that_lie_are_found() {
  for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
    Frame const frame = make_frame(value_bytes, 20001, false);
    for (uint32_t tile = 0; tile < 5; tile++)
      for (int change : {1, -1, 256}) {
        if (is_quick() && change != -1) continue;
        std::vector<uint16_t> sizes = frame.tile_sizes;
        sizes[tile] = (uint16_t)(sizes[tile] + change);
        uint64_t const first = 5000, count = 5000; /* in tiles 1 and 2 */
        Merged const part = merge(frame, frame.top, sizes, 2, first, count, 0, false);
        Merged const all = merge(frame, frame.top, sizes, 1, 0, 20001, 0, false);
        CHECK(part.is_bad == (tile == 1 || tile == 2), "tile %u, %d: %d", tile, change,
              part.is_bad);
        CHECK(all.is_bad, "tile %u, %d", tile, change);
      }
    Bytes top = frame.top; /* a code of another length */
    uint64_t place = 20000;
    while (frame.lengths[top[place]] == frame.lengths[top[0]]) place--;
    top[place] = top[0];
    CHECK(merge(frame, top, frame.tile_sizes, 2, place, 1, 0, false).is_bad, "place %llu",
          (unsigned long long)place);
    Merged const late = merge(frame, frame.top, frame.tile_sizes, 2, 0, 20001, 0, true);
    CHECK(late.bytes == Bytes(late.bytes.size(), kGuard), "%u bytes", value_bytes);
  }
}

/* ---- gaps ---- */

const Source byte_sources[] = {
    {"one symbol", 256, Source::LONE, 255},  {"two symbols", 256, Source::FLAT, 2},
    {"256 symbols", 256, Source::FLAT, 256}, {"lengths 1 to 16", 64, Source::STEEP, 0},
    {"1 bit", 256, Source::GEOMETRIC, 0.01}, {"2.7 bits", 256, Source::GEOMETRIC, 0.57},
    {"mixed", 256, Source::MIXED, 0},
};

std::unique_ptr<Coder> coder(new Coder);
std::unique_ptr<szg_hierarchical_tables> tables(new szg_hierarchical_tables);

struct SideData {
  bool is_bad;
  Bytes gaps;
  std::vector<uint64_t> positions;

  explicit SideData(uint64_t bit_count)
      : is_bad(false),
        gaps(szg_hierarchical_gap_bytes(bit_count, SZG_HIERARCHICAL_SPLIT_GAP_BITS), kGuard),
        positions(szg_hierarchical_block_count(bit_count) + 1) {}
};

SideData split_on_host(const Stream &s) {
  SideData made(s.bit_count);
  szg_linear_input const input = s.host_input();
  szg_threads threads = {};
  threads.count = 1;
  made.is_bad = szg_hierarchical_split_gaps(tables.get(), &input, made.gaps.data(),
                                            made.positions.data(), &threads) != SZGPU_OK;
  return made;
}

SideData split_on_device(const Stream &s) {
  SideData made(s.bit_count);
  DeviceArray<uint32_t> const words(s.words);
  DeviceArray<uint8_t> const gaps(s.gaps);
  DeviceArray<uint16_t> const sequence_codes(s.sequence_codes);
  const uint8_t *const table_bytes = (const uint8_t *)tables.get();
  DeviceArray<uint8_t> const device_tables(
      Bytes(table_bytes, table_bytes + szg_hierarchical_tables_bytes(tables.get())));
  szg_linear_input_cuda input = {};
  input.words = words.data();
  input.word_count = words.count();
  input.gaps = gaps.data();
  input.gap_bytes = gaps.count();
  input.sequence_codes = sequence_codes.data();
  input.sequence_count = sequence_codes.count();
  szg_arena arena = {};
  szg_hierarchical_gaps_cuda work = {};
  MUST(szg_hierarchical_gaps_carve_cuda(&arena, 32 * words.count(), &work));
  DeviceArray<uint8_t> memory(arena.used_bytes);
  arena = {memory.data(), 0, memory.count(), false};
  MUST(szg_hierarchical_gaps_carve_cuda(&arena, 32 * words.count(), &work));
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  MUST(szg_hierarchical_split_gaps_cuda((const szg_hierarchical_tables *)device_tables.data(),
                                        &input, s.bit_count, &work, verdict.data(),
                                        cuda_test::stream));
  Bytes const all = memory.host();
  memcpy(made.gaps.data(), &all[(size_t)(work.gaps - memory.data())], made.gaps.size());
  memcpy(made.positions.data(), &all[(size_t)((uint8_t *)work.positions - memory.data())],
         made.positions.size() * sizeof(uint64_t));
  made.is_bad = verdict.host()[0].bad_data != 0;
  return made;
}

/* Host and device must agree. Returns whether the side data are sound. */
bool split_agrees(const Stream &s, const char *what) {
  SideData const expected = split_on_host(s), found = split_on_device(s);
  CHECK(found.is_bad == expected.is_bad, "%s, %llu bits: bad %d", what,
        (unsigned long long)s.bit_count, found.is_bad);
  CHECK(expected.is_bad || found.gaps == expected.gaps, "%s, gaps of %llu bits", what,
        (unsigned long long)s.bit_count);
  CHECK(found.positions == expected.positions, "%s, positions of %llu bits", what,
        (unsigned long long)s.bit_count);
  return !expected.is_bad;
}

void gaps_are_those_of_the_stream() {
  size_t const counts[] = {1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 255, 1000, 4097, 30011, 200003};
  for (const Source &source : byte_sources)
    for (size_t count : counts) {
      if (is_quick() && count > 5000) continue;
      Codes const codes = draw_codes(source, count);
      coder->build(source, codes);
      szg_hierarchical_build(&coder->book, tables.get());
      Stream const s(*coder, codes, line_of(count));
      CHECK(split_agrees(s, source.name), "%s: the CPU refuses", source.name);
      SideData walked(s.bit_count);
      szg_hierarchical_stream const stream = {s.words.data(),
                                              s.words.size(),
                                              s.bit_count,
                                              count,
                                              SZG_HIERARCHICAL_SPLIT_GAP_BITS,
                                              SZG_HIERARCHICAL_SPLIT_POSITION_BYTES,
                                              NULL,
                                              NULL};
      MUST(szg_hierarchical_mark(tables.get(), &stream, walked.gaps.data(),
                                 walked.positions.data()));
      SideData const found = split_on_device(s);
      CHECK(found.gaps == walked.gaps && found.positions == walked.positions, "%s, %zu codes",
            source.name, count);
    }
}

void damaged_streams_are_split_alike() {
  for (const Source &source : byte_sources) {
    Codes const codes = draw_codes(source, 30011);
    coder->build(source, codes);
    szg_hierarchical_build(&coder->book, tables.get());
    Stream const sound(*coder, codes, line_of(codes.size()));
    for (int round = 0; round < (is_quick() ? 3 : 30); round++) {
      Stream s = sound;
      if (round % 3 != 1) s.gaps[random_below(s.gaps.size())] = (uint8_t)random_bits();
      if (round % 3 != 0) s.words[random_below(s.words.size())] = (uint32_t)random_bits();
      s.sequence_codes[random_below(s.sequence_codes.size())] = (uint16_t)random_bits();
      split_agrees(s, source.name);
    }
    Stream s = sound;
    for (uint8_t &gap : s.gaps) gap = (uint8_t)random_bits();
    for (uint32_t &word : s.words) word = (uint32_t)random_bits();
    split_agrees(s, source.name);
  }
}

} // namespace

int main() {
  begin();
  frames_of_every_count();
  values_from_and_to_anywhere();
  parts_of_frames();
  sizes_that_lie_are_found();
  gaps_are_those_of_the_stream();
  damaged_streams_are_split_alike();
  return end();
}
