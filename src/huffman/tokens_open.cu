/* tokens_open.cu - sections of a levels frame to what decoding their tiles needs, in one launch.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   tables   the first blocks of a section: each reads all of its books and makes a part of the
 *            tables
 *   place    the others: sizes of tiles, copied to where they are aligned, and their running sums:
 *            where each tile's words begin
 *
 * Memory traffic: a block of tables reads up to 0.6 KB and writes 4 KB; then 14 bytes for each
 * tile, and what core/tile_words.cuh says.
 */
#include "core/cuda_check.cuh"
#include "core/tile_words.cuh"
#include "huffman/tokens_books.cuh"

namespace szg {
namespace {

struct TokensOpenPolicy {
  static constexpr uint32_t kThreads = BooksPolicy::kThreads;
  static constexpr uint32_t kThreadEntries = 2;
  static constexpr uint32_t kTableBlocks = SZG_TOKENS_ENTRIES / (kThreads * kThreadEntries);
  static_assert(SZG_TOKENS_ENTRIES % (kThreads * kThreadEntries) == 0, "whole blocks");
};
typedef TileWords<TokensOpenPolicy::kThreads> Words;

struct TokensOpenJob {
  szg_tokens_input_cuda inputs[SZG_TOKENS_MOST_STAGES];
  szg_verdict *verdict;
};

/* ---- the head ---- */

struct SectionHead {
  bool is_sound, is_coded; /* is_sound: but for the padding of the sizes */
  uint32_t mode, lane_groups_log2, unit, book_bytes;
  uint64_t tile_sizes, words, word_count; /* tile_sizes, words: bytes from the section's start */
};

__device__ bool is_sound_zero(const SectionHead &head, uint64_t section_bytes) {
  return head.lane_groups_log2 <= SZG_LEVELS_LANE_GROUPS_LOG2 && head.book_bytes == 0 &&
         section_bytes == SZG_TOKENS_HEAD_BYTES;
}

/* Reads and checks the head. */
__device__ SectionHead read_head(const szg_tokens_input_cuda &input) {
  SectionHead head = {};
  head.unit = 1;
  if (input.section_bytes < SZG_TOKENS_HEAD_BYTES) return head;
  auto const *const words = reinterpret_cast<const uint32_t *>(input.section);
  uint64_t const tile_count = input.tiles.tile_count;
  uint32_t const first = words[0], unit = words[1], book_bytes = words[2], last = words[3];
  head.mode = first & 255;
  head.lane_groups_log2 = first >> 8 & 255;
  head.book_bytes = book_bytes;
  if (first >> 16 != 0 || last != 0 || head.mode >= SZG_LEVELS_MODES) return head;
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
  head.is_sound = head.is_coded = true;
  return head;
}

__device__ __forceinline__ const uint16_t *sizes_of(const szg_tokens_input_cuda &input,
                                                    const SectionHead &head) {
  return reinterpret_cast<const uint16_t *>(input.section + head.tile_sizes);
}

/* ---- tables ---- */

/* What the section's front says. One thread calls. */
__device__ void set_opened(const szg_tokens_input_cuda &input, const SectionHead &head,
                           bool is_sound, szg_verdict *verdict) {
  szg_tokens_opened_cuda *const opened = input.opened;
  opened->is_coded = is_sound && head.is_coded;
  opened->lane_groups_log2 = is_sound ? head.lane_groups_log2 : 0;
  opened->unit = is_sound ? head.unit : 1;
  opened->words_at = head.words;
  opened->word_count = head.word_count;
  opened->ticket = 0;
  opened->mode = is_sound ? head.mode : (uint32_t)SZG_LEVELS_MODE_ZERO;
  if (!is_sound) verdict->bad_data = 1;
}

/* The whole block calls. part: of the tables. */
__device__ void open_tables(const szg_tokens_input_cuda &input, uint32_t part,
                            szg_verdict *verdict) {
  __shared__ BooksMemory memory;
  uint64_t const own_word = SZG_TOKENS_HEAD_BYTES / 4 + threadIdx.x;
  /* Asked for together with the head: books follow it, whatever it says. */
  bool const has_word = threadIdx.x < kBooksMostWords && 4 * own_word + 4 <= input.section_bytes;
  uint32_t const word = has_word ? reinterpret_cast<const uint32_t *>(input.section)[own_word] : 0;
  SectionHead const head = read_head(input);
  uint64_t const tile_count = input.tiles.tile_count;
  bool is_sound = head.is_sound; /* the same for the whole block */
  if (part == 0 && threadIdx.x == 0 && head.is_coded && tile_count % 2 != 0)
    is_sound = sizes_of(input, head)[tile_count] == 0; /* and this, for the thread that says it */
  if (head.is_coded) {
    bool const are_books = read_books(head.mode, head.book_bytes, word, &memory);
    is_sound &= are_books;
    if (are_books)
      set_entries(
          head.mode, memory,
          (part * TokensOpenPolicy::kThreads + threadIdx.x) * TokensOpenPolicy::kThreadEntries,
          &input.opened->tables);
  }
  if (part == 0 && threadIdx.x == 0) set_opened(input, head, is_sound, verdict);
}

/* ---- places ---- */

/* Sizes are 0 unless the section has words. The whole block calls. */
__device__ void place_tiles(const szg_tokens_input_cuda &input, uint32_t share,
                            uint32_t share_count, szg_verdict *verdict) {
  __shared__ Words::Memory memory;
  SectionHead const head = read_head(input);
  uint64_t const tile_count = input.tiles.tile_count;
  if (head.is_coded) {
    Words::Job const places = {sizes_of(input, head), input.first_words, tile_count};
    Words::place_and_check(places, share, share_count, head.word_count, verdict, &memory);
  }
  uint64_t const step = (uint64_t)share_count * TokensOpenPolicy::kThreads;
  for (uint64_t t = (uint64_t)share * TokensOpenPolicy::kThreads + threadIdx.x; t <= tile_count;
       t += step) {
    if (t < tile_count) input.sizes[t] = head.is_coded ? sizes_of(input, head)[t] : (uint16_t)0;
    if (!head.is_coded) input.first_words[t] = 0;
  }
}

/* ---- opening ---- */

__global__ void __launch_bounds__(TokensOpenPolicy::kThreads)
    tokens_open_kernel(const __grid_constant__ TokensOpenJob job) {
  const szg_tokens_input_cuda &input = job.inputs[blockIdx.y];
  uint32_t const share_count = gridDim.x - TokensOpenPolicy::kTableBlocks;
  if (blockIdx.x < share_count)
    place_tiles(input, blockIdx.x, share_count, job.verdict);
  else
    open_tables(input, blockIdx.x - share_count, job.verdict);
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
  szg::TokensOpenJob job = {};
  uint64_t most_tiles = 0;
  assert(input_count > 0 && input_count <= SZG_TOKENS_MOST_STAGES);
  for (uint32_t i = 0; i < input_count; i++) {
    job.inputs[i] = inputs[i];
    if (inputs[i].tiles.tile_count > most_tiles) most_tiles = inputs[i].tiles.tile_count;
  }
  job.verdict = verdict;
  dim3 const blocks(szg::Words::blocks(most_tiles) + szg::TokensOpenPolicy::kTableBlocks,
                    input_count);
  szg::tokens_open_kernel<<<blocks, szg::TokensOpenPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}
