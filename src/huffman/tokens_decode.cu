/* tokens_decode.cu - sections of a levels frame to codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   open     the first block of a section reads its books and makes tables of them; the others copy
 *            the sizes of tiles to where they are aligned
 *   place    running sums of the sizes: where each tile's words begin
 *   decode   one warp per tile, one thread per lane
 *
 * Lanes decode on their own, and look after each group whether their bits were enough; up to there
 * they may read bits of others, or zeros behind the tile's last word.
 *
 * Memory traffic: a section's first block reads up to 1.2 KB and writes 32 KB; then 14 bytes for
 * each tile. Decoding reads the words and writes the codes twice, with zeros first.
 */
#include "core/bit_reader.cuh"
#include "core/cuda_check.cuh"
#include "core/tile_words.cuh"
#include "huffman/tokens_codes.cuh"
#include "huffman/tokens_tile.cuh"

namespace szg {
namespace {

struct OpenPolicy {
  static constexpr uint32_t kThreads = TokensCodesPolicy::kThreads;
  static constexpr unsigned kMostCopyBlocks = 32;
};

struct PlacePolicy {
  static constexpr uint32_t kThreads = 512;
};
typedef TileWords<PlacePolicy::kThreads> Words;

struct DecodePolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
  static constexpr unsigned kMostBlocks = 2048; /* each loads the tables */
};

struct OpenJob {
  szg_tokens_input_cuda inputs[SZG_TOKENS_MOST_INPUTS];
  szg_verdict *verdict;
};

/* ---- the head ---- */

struct SectionHead {
  bool is_sound, is_coded;
  uint32_t mode, lane_groups_log2, unit, book_bytes;
  uint64_t tile_sizes, words, word_count; /* tile_sizes, words: bytes from the section's start */
};

__device__ bool is_sound_zero(const SectionHead &head, uint64_t section_bytes) {
  return head.lane_groups_log2 <= SZG_LEVELS_LANE_GROUPS_LOG2 && head.book_bytes == 0 &&
         section_bytes == SZG_TOKENS_HEAD_BYTES;
}

/* Reads and checks the head, and the padding of the sizes. */
__device__ SectionHead read_head(const szg_tokens_input_cuda &input) {
  SectionHead head = {};
  head.unit = 1;
  if (input.section_bytes < SZG_TOKENS_HEAD_BYTES) return head;
  auto const *const words = reinterpret_cast<const uint32_t *>(input.section);
  uint64_t const tile_count = input.tiles.tile_count;
  head.mode = words[0] & 255;
  head.lane_groups_log2 = words[0] >> 8 & 255;
  head.book_bytes = words[2];
  uint32_t const unit = words[1];
  if (words[0] >> 16 != 0 || words[3] != 0 || head.mode >= SZG_LEVELS_MODES) return head;
  if (unit < input.least_unit || unit > input.most_unit) return head;
  head.unit = unit;
  if (head.mode == SZG_LEVELS_MODE_ZERO) {
    head.is_sound = is_sound_zero(head, input.section_bytes);
    return head;
  }
  if (head.lane_groups_log2 < szg_tokens_least_lane_groups_log2(input.tiles.group_count) ||
      head.lane_groups_log2 > SZG_LEVELS_LANE_GROUPS_LOG2)
    return head;
  if (head.book_bytes % 4 != 0 || head.book_bytes > SZG_TOKENS_BOOKS_MOST_BYTES) return head;
  head.tile_sizes = SZG_TOKENS_HEAD_BYTES + head.book_bytes;
  head.words = head.tile_sizes + (tile_count + 1) / 2 * 4;
  if (head.words > input.section_bytes || (input.section_bytes - head.words) % 4 != 0) return head;
  head.word_count = (input.section_bytes - head.words) / 4;
  auto const *const sizes = reinterpret_cast<const uint16_t *>(input.section + head.tile_sizes);
  head.is_sound = head.is_coded = tile_count % 2 == 0 || sizes[tile_count] == 0;
  return head;
}

/* ---- books ---- */

struct BooksMemory {
  uint32_t bytes[SZG_TOKENS_BOOKS_MOST_BYTES / 4];
  szg_tokens_books books;
  TokensCodes codes;
  uint16_t symbols[SZG_TOKENS_MOST_SYMBOLS]; /* of the book at hand, by (length, symbol) */
  uint32_t is_sound;
};

struct UnitReader {
  const uint32_t *words;
  uint32_t next, count;
  bool is_missing;

  /* The next unit; 0 if there is none. */
  __device__ uint32_t take() {
    if (next >= count) {
      is_missing = true;
      return 0;
    }
    uint32_t const i = next++;
    return words[i / 8] >> (i % 8 / 2 * 8 + (i % 2 ? 0 : 4)) & 15;
  }
};

/* As read_book of tokens.c, but for the check of the code. lengths: all 0 before. */
__device__ bool read_units(UnitReader *reader, uint32_t symbol_count, uint8_t *lengths) {
  for (uint32_t s = 0; s < symbol_count;) {
    uint32_t const unit = reader->take();
    if (reader->is_missing || unit > SZG_TOKENS_UNIT_END) return false;
    if (unit == SZG_TOKENS_UNIT_END) return true;
    if (unit != SZG_TOKENS_UNIT_NONE) {
      lengths[s++] = (uint8_t)unit;
      continue;
    }
    uint32_t run = reader->take() + 1;
    if (run == SZG_TOKENS_UNIT_MANY + 1) {
      uint32_t const high = reader->take();
      run = SZG_TOKENS_SHORTEST_MANY + 16 * high + reader->take();
    }
    if (reader->is_missing || run > symbol_count - s) return false;
    s += run;
  }
  return true;
}

/* Reads the lengths of all books of the mode. One thread calls. */
__device__ bool read_lengths(const SectionHead &head, BooksMemory *memory) {
  UnitReader reader = {memory->bytes, 0, 2 * head.book_bytes, false};
  for (uint32_t i = 0; i < szg_tokens_book_count(head.mode); i++) {
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(head.mode, i));
    uint8_t *const lengths = (uint8_t *)&memory->books + kind.lengths_at;
    if (!read_units(&reader, kind.symbol_count, lengths)) return false;
  }
  if ((reader.next + 7) / 8 * 4 != head.book_bytes) return false;
  while (reader.next < reader.count)
    if (reader.take() != 0) return false;
  return true;
}

/* Sorts a book's symbols, and says whether it is a code. The whole block calls. */
__device__ bool lay_out_book(const uint8_t *lengths, uint32_t symbol_count, BooksMemory *memory) {
  uint32_t const s = threadIdx.x;
  lay_out_token_codes(lengths, symbol_count, &memory->codes);
  if (s < symbol_count && lengths[s] > 0)
    memory->symbols[memory->codes.first_ranks[lengths[s]] + rank_of_token(lengths, s)] =
        (uint16_t)s;
  __syncthreads(); /* symbols are in order */
  return szg_tokens_is_code(memory->codes.first_ranks[kTokenLengths],
                            memory->codes.first_windows[kTokenLengths]);
}

/* The code at the start of a window: symbol << 4 | length, or 0. */
__device__ uint32_t code_of_window(uint32_t window, const BooksMemory &memory) {
  const TokensCodes &codes = memory.codes;
  if (window >= codes.first_windows[kTokenLengths]) return 0;
  uint32_t length = 1;
  while (window >= codes.first_windows[length + 1]) length++; /* ends at the last at the latest */
  uint32_t const code = (window - codes.first_windows[length]) >> (SZG_LEVELS_CODE_BITS - length);
  return (uint32_t)memory.symbols[codes.first_ranks[length] + code] << 4 | length;
}

/* Fills a book's table as szg_tokens_decoder_build does. The whole block calls. */
__device__ void fill_table(uint32_t book, const BooksMemory &memory, szg_tokens_decoder *decoder) {
  for (uint32_t i = threadIdx.x; i < SZG_TOKENS_ENTRIES; i += OpenPolicy::kThreads) {
    uint32_t const code = code_of_window(i, memory);
    uint32_t const symbol = code >> 4, length = code & SZG_TOKENS_DECODER_LENGTH;
    if (book == SZG_TOKENS_OCTETS) decoder->octets[i] = (uint16_t)code;
    if (book == SZG_TOKENS_MASKS) decoder->masks[i] = (uint16_t)code;
    if (book == SZG_TOKENS_PAIRS) decoder->pairs[i] = szg_tokens_pair_entry(symbol, length);
    if (book == SZG_TOKENS_VALUES) decoder->values[i] = szg_tokens_value_entry(symbol, length);
  }
}

/* Makes the tables of a section whose head is sound. False: the books are not. The whole block
 * calls. */
__device__ bool open_books(const szg_tokens_input_cuda &input, const SectionHead &head,
                           BooksMemory *memory) {
  auto const *const bytes =
      reinterpret_cast<const uint32_t *>(input.section + SZG_TOKENS_HEAD_BYTES);
  for (uint32_t i = threadIdx.x; i < head.book_bytes / 4; i += OpenPolicy::kThreads)
    memory->bytes[i] = bytes[i];
  for (uint32_t i = threadIdx.x; i < sizeof memory->books; i += OpenPolicy::kThreads)
    reinterpret_cast<uint8_t *>(&memory->books)[i] = 0;
  __syncthreads(); /* units are there, and lengths are 0 */
  if (threadIdx.x == 0) memory->is_sound = read_lengths(head, memory);
  __syncthreads(); /* lengths are known */
  if (!memory->is_sound) return false;
  for (uint32_t book = 0; book < SZG_TOKENS_BOOKS; book++) {
    bool const is_pairs_mode = head.mode == SZG_LEVELS_MODE_PAIRS;
    if (book != SZG_TOKENS_VALUES && (book == SZG_TOKENS_PAIRS) != is_pairs_mode) continue;
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
    const uint8_t *const lengths = (const uint8_t *)&memory->books + kind.lengths_at;
    if (!lay_out_book(lengths, kind.symbol_count, memory)) return false;
    fill_table(book, *memory, &input.opened->decoder);
    __syncthreads(); /* the layout is no longer needed */
  }
  return true;
}

/* ---- opening ---- */

/* Sizes are 0 unless the section has words. */
__device__ void copy_sizes(const szg_tokens_input_cuda &input, const SectionHead &head,
                           uint32_t block, uint32_t block_count) {
  auto const *const sizes = reinterpret_cast<const uint16_t *>(input.section + head.tile_sizes);
  uint64_t const step = (uint64_t)block_count * OpenPolicy::kThreads;
  for (uint64_t t = (uint64_t)block * OpenPolicy::kThreads + threadIdx.x;
       t < input.tiles.tile_count; t += step)
    input.sizes[t] = head.is_coded ? sizes[t] : (uint16_t)0;
}

__global__ void __launch_bounds__(OpenPolicy::kThreads)
    tokens_open_kernel(const __grid_constant__ OpenJob job) {
  __shared__ BooksMemory memory;
  const szg_tokens_input_cuda &input = job.inputs[blockIdx.y];
  SectionHead const head = read_head(input);
  if (blockIdx.x > 0) {
    copy_sizes(input, head, blockIdx.x - 1, gridDim.x - 1);
    return; /* the whole block */
  }
  bool const is_sound = head.is_sound && (!head.is_coded || open_books(input, head, &memory));
  if (threadIdx.x > 0) return;
  szg_tokens_opened_cuda *const opened = input.opened;
  opened->is_coded = is_sound && head.is_coded;
  opened->lane_groups_log2 = is_sound ? head.lane_groups_log2 : 0;
  opened->unit = is_sound ? head.unit : 1;
  opened->padding = 0;
  opened->words_at = head.words;
  opened->word_count = head.word_count;
  opened->decoder.mode = is_sound ? head.mode : (uint32_t)SZG_LEVELS_MODE_ZERO;
  if (!is_sound) job.verdict->bad_data = 1;
}

__global__ void __launch_bounds__(PlacePolicy::kThreads)
    tokens_place_kernel(const __grid_constant__ OpenJob job) {
  __shared__ Words::Memory memory;
  const szg_tokens_input_cuda &input = job.inputs[blockIdx.y];
  Words::Job const places = {input.sizes, input.first_words, input.tiles.tile_count};
  Words::place_and_check(places, blockIdx.x, gridDim.x, input.opened->word_count, job.verdict,
                         &memory);
}

/* ---- a lane ---- */

/* Tables in shared memory. */
struct DecodeTables {
  uint32_t values[SZG_TOKENS_ENTRIES];
  union {
    uint32_t pairs[SZG_TOKENS_ENTRIES];
    struct {
      uint16_t octets[SZG_TOKENS_ENTRIES];
      uint16_t masks[SZG_TOKENS_ENTRIES];
    };
  };
};

/* Bits of a tile from a position on; zeros behind its last word. */
struct LaneBits {
  ArchiveWords words;
  BitWindow window; /* its position counts from the tile's first bit */

  __device__ __forceinline__ LaneBits(ArchiveWords tile_words, uint32_t first_bit, bool has_bits)
      : words(tile_words) {
    window.start(words, first_bit, has_bits);
    window.position = first_bit;
  }
  __device__ __forceinline__ uint32_t position() const { return window.position; }
  __device__ __forceinline__ uint32_t prefix() const {
    return window.window() >> (32 - SZG_LEVELS_CODE_BITS);
  }
  __device__ __forceinline__ void skip(uint32_t count) { /* up to 32 */
    window.go_to(words, window.position + count, 32);
  }
  /* 1 to 32 bits. */
  __device__ __forceinline__ uint32_t take(uint32_t count) {
    uint32_t const bits = window.window() >> (32 - count);
    skip(count);
    return bits;
  }
  /* 1 to 64 bits. */
  __device__ __forceinline__ uint64_t take_long(uint32_t count) {
    if (count <= 32) return take(count);
    uint64_t const high = take(count - 32);
    return high << 32 | take(32);
  }
};

/* A lane at work on a group. */
template <class Code>
struct LaneDecoder {
  static constexpr bool kIsWide = sizeof(Code) == 8;
  const DecodeTables &tables;
  LaneBits bits;
  bool is_bad;

  /* The code of a rare entry, whose own bits are taken. */
  __device__ int64_t take_rare(uint32_t entry) {
    uint32_t const symbol = entry >> 16;
    if (symbol == SZG_TOKENS_NO_SYMBOL) {
      is_bad = true;
      return 0;
    }
    if (symbol == SZG_LEVELS_VALUE_ESCAPE)
      return kIsWide ? (int64_t)bits.take_long(64) : (int32_t)bits.take(32);
    uint32_t const raw_bits = szg_token_raw_bits((symbol - SZG_LEVELS_FIRST_CLASS) / 2);
    return szg_class_code(symbol, bits.take_long(raw_bits), kIsWide);
  }

  __device__ __forceinline__ int64_t take_value() {
    uint32_t const entry = tables.values[bits.prefix()];
    bits.skip(entry & SZG_TOKENS_DECODER_LENGTH);
    if (!(entry & SZG_TOKENS_RARE)) return (int32_t)entry >> 16;
    return take_rare(entry);
  }

  /* Codes are 0 already. */
  __device__ __forceinline__ void set(Code *codes, uint32_t place, int64_t code) {
    if (code != 0) codes[place] = (Code)code;
  }

  __device__ void take_plain(Code *codes, uint64_t existing) {
    for (uint64_t left = existing; left; left &= left - 1)
      set(codes, (uint32_t)__ffsll((long long)left) - 1, take_value());
  }

  __device__ void take_pairs(Code *codes, uint64_t existing) {
    for (uint64_t left = szg_pairs_of_places(existing); left; left &= left - 1) {
      uint32_t const i = (uint32_t)__ffsll((long long)left) - 1;
      uint32_t const entry = tables.pairs[bits.prefix()];
      bits.skip(entry & SZG_TOKENS_DECODER_LENGTH);
      int64_t a = (int8_t)(entry >> 16), b = (int8_t)(entry >> 24);
      if (entry & SZG_TOKENS_RARE) {
        is_bad |= entry >> 16 == SZG_TOKENS_NO_SYMBOL;
        a = take_value();
        b = take_value();
      }
      is_bad |= (a != 0 && !(existing >> i & 1)) || (b != 0 && !(existing >> i >> 1 & 1));
      set(codes, i, a);
      set(codes, i + 1, b);
    }
  }

  /* The places with codes other than 0. */
  __device__ uint64_t take_places() {
    uint32_t entry = tables.octets[bits.prefix()];
    bits.skip(entry & SZG_TOKENS_DECODER_LENGTH);
    is_bad |= entry == 0;
    uint32_t octets = entry >> 4;
    if (octets == SZG_LEVELS_OCTET_ESCAPE) octets = bits.take(8);
    uint64_t places = 0;
    for (; octets; octets &= octets - 1) {
      entry = tables.masks[bits.prefix()];
      bits.skip(entry & SZG_TOKENS_DECODER_LENGTH);
      uint64_t mask = entry >> 4;
      if (mask == SZG_LEVELS_MASK_ESCAPE) mask = bits.take(8);
      is_bad |= entry == 0 || mask == 0;
      places |= mask << 8 * (__ffs((int)octets) - 1);
    }
    return places;
  }

  __device__ void take_masks(Code *codes, uint64_t existing) {
    uint64_t const places = take_places();
    is_bad |= (places & ~existing) != 0;
    for (uint64_t left = places; left; left &= left - 1) {
      int64_t const code = take_value();
      is_bad |= code == 0;
      set(codes, (uint32_t)__ffsll((long long)left) - 1, code);
    }
  }
};

/* ---- a tile ---- */

struct DecodeJob {
  szg_tokens_input_cuda input;
  uint64_t first_tile, end_tile;
  void *codes;
  szg_verdict *verdict;
};

struct DecodeMemory {
  DecodeTables tables;
  uint64_t existing[DecodePolicy::kWarps][SZG_TOKENS_MOST_GROUPS];
};

/* Where this lane has its bits. */
struct LaneRange {
  uint32_t first, end;
  bool is_live, is_sound; /* is_sound: the tile's head is, and so are its last bits */
};

/* `count` bits, up to 25, from bit `at` of a tile. */
__device__ uint32_t bits_at(const ArchiveWords &words, uint32_t at, uint32_t count) {
  if (count == 0) return 0;
  return bits_from(words.at(at / 32, 1), words.at(at / 32, 0), at) >> (32 - count);
}

/* The whole warp calls. */
__device__ LaneRange read_tile_head(const szg_tokens_shape &shape, const ArchiveWords &words) {
  uint32_t const lane = threadIdx.x % 32, lane_count = szg_tokens_lane_count(&shape);
  uint32_t at = SZG_LEVELS_LEAST_BITS + SZG_LEVELS_WIDTH_BITS + 1;
  uint32_t const least = bits_at(words, 0, SZG_LEVELS_LEAST_BITS);
  uint32_t const width = bits_at(words, SZG_LEVELS_LEAST_BITS, SZG_LEVELS_WIDTH_BITS);
  bool const has_mask = bits_at(words, at - 1, 1) != 0;
  uint32_t const mask = __brev(bits_from(words.at(at / 32, 1), words.at(at / 32, 0), at));
  uint32_t const live = (has_mask ? mask : kAllLanes) & kAllLanes >> (32 - lane_count);
  LaneRange range = {0, 0, false, false};
  if (width > SZG_LEVELS_LEAST_BITS || live == 0) return range; /* the whole warp */
  if (has_mask) at += lane_count;
  range.is_live = live >> lane & 1;
  uint32_t const own_bits =
      range.is_live ? least + bits_at(words, at + rank_among(live, lane) * width, width) : 0;
  at += (uint32_t)__popc((int)live) * width;
  range.end = at + sum_to_lane(own_bits, lane);
  range.first = range.end - own_bits;
  uint32_t const all_bits = __shfl_sync(kAllLanes, range.end, 31);
  bool const is_empty = __any_sync(kAllLanes, range.is_live && own_bits == 0);
  if (is_empty || (all_bits + 31) / 32 != words.end) return range;
  range.is_sound = all_bits % 32 == 0 || words.at(all_bits / 32, 0) << all_bits % 32 == 0;
  return range;
}

/* Decodes this lane's groups. existing: by group; NULL: all places exist. Returns whether its bits
 * are valid. */
template <class Code>
__device__ bool decode_lane(const szg_tokens_shape &shape, uint32_t mode,
                            const DecodeTables &tables, const ArchiveWords &words,
                            const LaneRange &range, const uint64_t *existing, Code *codes) {
  uint32_t const lane = threadIdx.x % 32, g = shape.lane_groups_log2;
  uint32_t const end = min((lane + 1) << g, shape.group_count);
  LaneDecoder<Code> decoder = {tables, LaneBits(words, range.first, true), false};
  for (uint32_t group = lane << g; group < end; group++) {
    uint64_t const places = existing ? existing[group] : UINT64_MAX;
    Code *const group_codes = codes + group * kGroupPlaces;
    if (mode == SZG_LEVELS_MODE_PLAIN)
      decoder.take_plain(group_codes, places);
    else if (mode == SZG_LEVELS_MODE_PAIRS)
      decoder.take_pairs(group_codes, places);
    else
      decoder.take_masks(group_codes, places);
    if (decoder.is_bad || decoder.bits.position() > range.end) return false;
  }
  return decoder.bits.position() == range.end;
}

/* Makes the tile's codes 0. The whole warp calls. */
template <class Code>
__device__ void clear_codes(uint32_t group_count, Code *codes) {
  constexpr uint32_t kAtOnce = 16 / sizeof(Code);
  auto *const vectors = reinterpret_cast<uint4 *>(codes);
  for (uint32_t i = threadIdx.x % 32; i < group_count * kGroupPlaces / kAtOnce; i += 32)
    vectors[i] = make_uint4(0, 0, 0, 0);
}

/* False: the tile is invalid. The whole warp calls. */
template <class Code>
__device__ bool decode_tile(const DecodeJob &job, const szg_tokens_shape &shape, uint32_t mode,
                            uint64_t tile_index, const DecodeTables &tables, uint64_t *existing,
                            Code *codes) {
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const word_count = job.input.sizes[tile_index];
  uint64_t const first_word = job.input.first_words[tile_index];
  clear_codes(shape.group_count, codes);
  if (word_count == 0) return true;
  if (word_count > szg_tokens_most_words(&shape) || first_word + word_count > opened.word_count)
    return false;
  TokensTile const tile = tokens_tile_at(job.input.tiles, tile_index);
  for (uint32_t i = 0; i < shape.group_count && !tile.is_full; i++) {
    uint64_t const places = existing_places(job.input.tiles, tile, i);
    if (threadIdx.x % 32 == 0) existing[i] = places;
  }
  auto const *const section_words =
      reinterpret_cast<const uint32_t *>(job.input.section + opened.words_at);
  ArchiveWords const words = {section_words + first_word, word_count};
  LaneRange const range = read_tile_head(shape, words);
  __syncwarp(); /* codes are 0, and it is known which places exist */
  bool is_sound = range.is_sound;
  if (is_sound && range.is_live)
    is_sound =
        decode_lane(shape, mode, tables, words, range, tile.is_full ? nullptr : existing, codes);
  return __all_sync(kAllLanes, is_sound);
}

/* The whole block calls, and synchronizes before it reads. */
__device__ void load_tables(const szg_tokens_decoder &decoder, DecodeTables *tables) {
  for (uint32_t i = threadIdx.x; i < SZG_TOKENS_ENTRIES; i += DecodePolicy::kThreads) {
    tables->values[i] = decoder.values[i];
    tables->pairs[i] = decoder.pairs[i]; /* or octets and masks */
  }
}

template <class Code>
__global__ void __launch_bounds__(DecodePolicy::kThreads)
    tokens_decode_kernel(const __grid_constant__ DecodeJob job) {
  __shared__ DecodeMemory memory;
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const warp = threadIdx.x / 32, group_count = job.input.tiles.group_count;
  uint64_t const warp_count = (uint64_t)gridDim.x * DecodePolicy::kWarps;
  bool const is_coded = opened.is_coded != 0;
  uint32_t const mode = opened.decoder.mode;
  szg_tokens_shape const shape = {group_count, opened.lane_groups_log2, job.input.tiles.is_wide};
  if (is_coded) load_tables(opened.decoder, &memory.tables);
  __syncthreads(); /* the tables are there */
  for (uint64_t t = job.first_tile + (uint64_t)blockIdx.x * DecodePolicy::kWarps + warp;
       t < job.end_tile; t += warp_count) {
    Code *const codes =
        (Code *)job.codes + (t - job.first_tile) * group_count * (uint64_t)kGroupPlaces;
    bool is_sound = true;
    if (is_coded)
      is_sound = decode_tile(job, shape, mode, t, memory.tables, memory.existing[warp], codes);
    else
      clear_codes(group_count, codes);
    if (!is_sound && threadIdx.x % 32 == 0) job.verdict->bad_data = 1;
    __syncwarp(); /* nobody needs to know any more which places exist */
  }
}

template <class Code>
szgpu_status decode(const DecodeJob &job, cudaStream_t stream) {
  uint64_t const tile_count = job.end_tile - job.first_tile;
  unsigned const blocks =
      szg_grid_blocks(tile_count, DecodePolicy::kWarps, DecodePolicy::kMostBlocks);
  tokens_decode_kernel<Code><<<blocks, DecodePolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

} // namespace
} // namespace szg

/* ---- launchers ---- */

void szg_tokens_input_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                 szg_tokens_input_cuda *input) {
  input->opened = (szg_tokens_opened_cuda *)szg_arena_take(arena, 1, sizeof *input->opened);
  input->sizes = (uint16_t *)szg_arena_take(arena, tile_count, sizeof *input->sizes);
  input->first_words =
      (uint64_t *)szg_arena_take(arena, tile_count + 1, sizeof *input->first_words);
}

szgpu_status szg_tokens_open_cuda(const szg_tokens_input_cuda *inputs, uint32_t input_count,
                                  szg_verdict *verdict, struct CUstream_st *stream) {
  szg::OpenJob job = {};
  uint64_t most_tiles = 0;
  assert(input_count > 0 && input_count <= SZG_TOKENS_MOST_INPUTS);
  for (uint32_t i = 0; i < input_count; i++) {
    job.inputs[i] = inputs[i];
    if (inputs[i].tiles.tile_count > most_tiles) most_tiles = inputs[i].tiles.tile_count;
  }
  job.verdict = verdict;
  unsigned const copy_blocks =
      szg_grid_blocks(most_tiles, szg::OpenPolicy::kThreads, szg::OpenPolicy::kMostCopyBlocks);
  szg::tokens_open_kernel<<<dim3(1 + copy_blocks, input_count), szg::OpenPolicy::kThreads, 0,
                            stream>>>(job);
  SZG_TRY_LAUNCH();
  szg::tokens_place_kernel<<<dim3(szg::Words::blocks(most_tiles), input_count),
                             szg::PlacePolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_tokens_decode_cuda(const szg_tokens_input_cuda *input, uint64_t first_tile,
                                    uint64_t end_tile, void *codes, szg_verdict *verdict,
                                    struct CUstream_st *stream) {
  if (first_tile >= end_tile) return SZGPU_OK;
  szg::DecodeJob const job = {*input, first_tile, end_tile, codes, verdict};
  return input->tiles.is_wide ? szg::decode<int64_t>(job, stream)
                              : szg::decode<int32_t>(job, stream);
}
