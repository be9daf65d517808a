/* tokens_decode.cu - sections of a levels frame to codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   open     the first block of a section reads its books and makes tables of them; the others copy
 *            the sizes of tiles to where they are aligned
 *   place    running sums of the sizes: where each tile's words begin
 *   decode   one warp per tile, one thread per lane
 *
 * Memory traffic: a section's first block reads up to 1.2 KB and writes 32 KB; then 14 bytes for
 * each tile. Decoding reads the words and writes the codes twice, with zeros first.
 */
#include "core/cuda_check.cuh"
#include "core/tile_words.cuh"
#include "huffman/tokens_codes.cuh"
#include "huffman/tokens_lanes.cuh"

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
  szg_tokens_input_cuda inputs[SZG_TOKENS_MOST_STAGES];
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

/* The units of all books, 4 bits each, the high half of a byte first. */
struct Units {
  const uint32_t *words;
  uint32_t count;

  /* kNoUnit from the last one on. */
  static constexpr uint32_t kNoUnit = 16;
  __device__ __forceinline__ uint32_t at(uint32_t i) const {
    return i < count ? words[i / 8] >> (i % 8 / 2 * 8 + (i % 2 ? 0 : 4)) & 15 : kNoUnit;
  }
};

/* As read_book of tokens.c, but for the check of the code. *next: the book's first unit, becomes
 * that behind it. lengths: all 0 before. The whole warp calls and looks at 32 units at once: those
 * up to the first that is no length are lengths of symbols in a row. */
__device__ bool read_units(const Units &units, uint32_t symbol_count, uint8_t *lengths,
                           uint32_t *next) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t s = 0;
  while (s < symbol_count) {
    uint32_t const unit = units.at(*next + lane);
    uint32_t const others =
        __ballot_sync(kAllLanes, unit == SZG_TOKENS_UNIT_NONE || unit >= SZG_TOKENS_UNIT_END);
    uint32_t const ahead = others ? (uint32_t)__ffs((int)others) - 1 : 32;
    uint32_t const count = min(ahead, symbol_count - s);
    if (lane < count) lengths[s + lane] = (uint8_t)unit;
    s += count;
    *next += count;
    if (s == symbol_count || ahead == 32) continue; /* what follows is not looked at yet */
    uint32_t const other = __shfl_sync(kAllLanes, unit, (int)ahead);
    if (other > SZG_TOKENS_UNIT_END) return false; /* not allowed, or none */
    if (other == SZG_TOKENS_UNIT_END) {
      ++*next;
      return true;
    }
    uint32_t run = units.at(*next + 1), used = 2;
    if (run == SZG_TOKENS_UNIT_MANY) {
      run = SZG_TOKENS_SHORTEST_MANY - 1 + 16 * units.at(*next + 2) + units.at(*next + 3);
      used = 4;
    }
    *next += used;
    if (*next > units.count || run + 1 > symbol_count - s) return false;
    s += run + 1;
  }
  return true;
}

/* Reads the lengths of all books of the mode. The whole warp calls. */
__device__ bool read_lengths(const SectionHead &head, BooksMemory *memory) {
  Units const units = {memory->bytes, 2 * head.book_bytes};
  uint32_t next = 0;
  for (uint32_t i = 0; i < szg_tokens_book_count(head.mode); i++) {
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(head.mode, i));
    uint8_t *const lengths = (uint8_t *)&memory->books + kind.lengths_at;
    if (!read_units(units, kind.symbol_count, lengths, &next)) return false;
  }
  if ((next + 7) / 8 * 4 != head.book_bytes) return false;
  return next % 8 == 0 ||
         __all_sync(kAllLanes, threadIdx.x % 32 < next % 8 || threadIdx.x % 32 >= 8 ||
                                   units.at(next / 8 * 8 + threadIdx.x % 32) == 0);
}

/* Sorts a book's symbols, and says whether it is a code. The whole block calls. */
__device__ bool lay_out_book(const uint8_t *lengths, uint32_t symbol_count, BooksMemory *memory) {
  uint32_t const s = threadIdx.x;
  uint32_t const rank = lay_out_token_codes(lengths, symbol_count, &memory->codes);
  if (s < symbol_count && lengths[s] > 0)
    memory->symbols[memory->codes.first_ranks[lengths[s]] + rank] = (uint16_t)s;
  __syncthreads(); /* symbols are in order */
  return szg_tokens_is_code(memory->codes.first_ranks[kTokenLengths],
                            memory->codes.first_windows[kTokenLengths]);
}

/* Where the codes of each length begin, in registers. */
struct CodeWindows {
  uint32_t first[kTokenLengths + 1];

  __device__ __forceinline__ explicit CodeWindows(const TokensCodes &codes) {
#pragma unroll
    for (uint32_t length = 1; length <= kTokenLengths; length++)
      first[length] = codes.first_windows[length];
  }
  /* The code at the start of a window: symbol << 4 | length, or 0. */
  __device__ __forceinline__ uint32_t code_of(uint32_t window, const BooksMemory &memory) const {
    if (window >= first[kTokenLengths]) return 0;
    uint32_t length = 1, begin = 0;
#pragma unroll
    for (uint32_t l = 2; l < kTokenLengths; l++)
      if (window >= first[l]) length = l, begin = first[l];
    uint32_t const code = (window - begin) >> (SZG_LEVELS_CODE_BITS - length);
    return (uint32_t)memory.symbols[memory.codes.first_ranks[length] + code] << 4 | length;
  }
};

/* has_zero: a value may be 0. */
__device__ uint32_t value_entry(uint32_t symbol, uint32_t length, bool has_zero) {
  static_assert(SZG_TOKENS_NO_SYMBOL == 0, "the symbol of 0 is none where no value is 0");
  if (length == 0 || (symbol == 0 && !has_zero))
    return (uint32_t)SZG_TOKENS_NO_SYMBOL << 16 | SZG_TOKENS_RARE;
  if (symbol >= SZG_LEVELS_FIRST_CLASS) return symbol << 16 | SZG_TOKENS_RARE | length;
  uint32_t const magnitude = (symbol + 1) / 2;
  return (symbol % 2 ? magnitude : 0 - magnitude) << 16 | length;
}

__device__ uint32_t pair_entry(uint32_t symbol, uint32_t length) {
  if (length == 0) return (uint32_t)SZG_TOKENS_NO_SYMBOL << 16 | SZG_TOKENS_RARE;
  if (symbol == SZG_LEVELS_PAIR_ESCAPE) return symbol << 16 | SZG_TOKENS_RARE | length;
  uint32_t const a = symbol / SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  uint32_t const b = symbol % SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  return b << 24 | (a & 255) << 16 | length;
}

/* Fills a book's table; octets come before masks. The whole block calls, each thread for the same
 * windows. */
__device__ void fill_table(uint32_t book, uint32_t mode, const BooksMemory &memory,
                           szg_tokens_tables_cuda *tables) {
  bool const has_zero = mode != SZG_LEVELS_MODE_MASKS;
  CodeWindows const windows(memory.codes);
  for (uint32_t i = threadIdx.x; i < SZG_TOKENS_ENTRIES; i += OpenPolicy::kThreads) {
    uint32_t const code = windows.code_of(i, memory);
    uint32_t const symbol = code >> 4, length = code & SZG_TOKENS_LENGTH;
    if (book == SZG_TOKENS_OCTETS) tables->others[i] = code;
    if (book == SZG_TOKENS_MASKS) tables->others[i] |= code << 16;
    if (book == SZG_TOKENS_PAIRS) tables->others[i] = pair_entry(symbol, length);
    if (book == SZG_TOKENS_VALUES) tables->values[i] = value_entry(symbol, length, has_zero);
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
  if (threadIdx.x < 32) {
    bool const is_sound = read_lengths(head, memory);
    if (threadIdx.x == 0) memory->is_sound = is_sound;
  }
  __syncthreads(); /* lengths are known */
  if (!memory->is_sound) return false;
  for (uint32_t i = 0; i < szg_tokens_book_count(head.mode); i++) {
    uint32_t const book = szg_tokens_book_of(head.mode, i);
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
    const uint8_t *const lengths = (const uint8_t *)&memory->books + kind.lengths_at;
    if (!lay_out_book(lengths, kind.symbol_count, memory)) return false;
    fill_table(book, head.mode, *memory, &input.opened->tables);
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
  opened->words_at = head.words;
  opened->word_count = head.word_count;
  opened->ticket = 0;
  opened->mode = is_sound ? head.mode : (uint32_t)SZG_LEVELS_MODE_ZERO;
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

/* ---- tiles ---- */

struct DecodeJob {
  szg_tokens_input_cuda input;
  uint64_t first_tile, end_tile;
  void *codes;
  szg_verdict *verdict;
};

struct DecodeMemory {
  szg_tokens_tables_cuda tables;
  uint64_t existing[DecodePolicy::kWarps][SZG_TOKENS_MOST_GROUPS];
};

/* In plain mode others are not set. The whole block calls, and synchronizes before it reads. */
__device__ void load_tables(const szg_tokens_opened_cuda &opened, szg_tokens_tables_cuda *to) {
  bool const has_others = opened.mode != SZG_LEVELS_MODE_PLAIN;
  for (uint32_t i = threadIdx.x; i < SZG_TOKENS_ENTRIES; i += DecodePolicy::kThreads) {
    to->values[i] = opened.tables.values[i];
    if (has_others) to->others[i] = opened.tables.others[i];
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
  if (is_coded) load_tables(opened, &memory.tables);
  __syncthreads(); /* the tables are there */
  for (uint64_t t = job.first_tile + (uint64_t)blockIdx.x * DecodePolicy::kWarps + warp;
       t < job.end_tile; t += warp_count) {
    Code *const codes =
        (Code *)job.codes + (t - job.first_tile) * group_count * (uint64_t)kGroupPlaces;
    bool is_sound = true;
    if (is_coded)
      is_sound = decode_tile(job.input, t, memory.tables, memory.existing[warp], codes);
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
  assert(input_count > 0 && input_count <= SZG_TOKENS_MOST_STAGES);
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
