/* open_planes.cu - makes what all tiles of a lossless frame need: tables and tile places.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   open     each of the first blocks turns a coded plane's book into its table; each of the others
 *            makes running sums of a share of the tiles' sizes
 *
 * Reads 128 bytes of a book and writes 8 KiB of table; for tiles see core/tile_words.cuh.
 */
#include "codecs/planes/planes_items.h"
#include "core/tile_words.cuh"
#include "huffman/canonical.cuh"

namespace szg {
namespace {

struct PlanesOpenPolicy {
  static constexpr uint32_t kThreads = 512;
};
typedef TileWords<PlanesOpenPolicy::kThreads> Words; /* in the same launch */

struct PlaneBook {
  CodeStrips<SZG_PLANES_SYMBOLS / 32, SZG_PLANES_CODE_BITS> codes;
  uint8_t symbols[SZG_PLANES_SYMBOLS]; /* by (length, symbol) */
};
union OpenMemory {
  PlaneBook book;
  Words::Memory words;
};

struct PlanesOpenJob {
  szg_planes_input_cuda input;
  uint64_t tile_count;
  uint32_t book_count;
  szg_verdict *verdict;
};

/* Sorts symbols by (length, symbol). False: not a complete prefix code. The whole block calls. */
__device__ bool read_book(const uint8_t *bytes, PlaneBook *book) {
  uint32_t const symbol = threadIdx.x;
  uint32_t const length =
      symbol < SZG_PLANES_SYMBOLS ? bytes[symbol / 2] >> 4 * (symbol % 2) & 15 : 0;
  if (!__syncthreads_and(length <= SZG_PLANES_CODE_BITS)) return false;
  book->codes.find<PlanesOpenPolicy::kThreads>([=](uint32_t) { return length; });
  if (book->codes.layout.window_count() != SZG_PLANES_ENTRIES) return false;
  if (symbol < SZG_PLANES_SYMBOLS) {
    uint32_t const rank = book->codes.rank_in_length(symbol / 32, length);
    if (length > 0) book->symbols[book->codes.layout.first_ranks[length] + rank] = (uint8_t)symbol;
  }
  __syncthreads(); /* symbols are there */
  return true;
}

/* The code at the start of a window: symbol << 8 | length. */
__device__ uint32_t entry_of_window(uint32_t window, const PlaneBook &book) {
  uint32_t const length = book.codes.layout.length_at(window);
  return (uint32_t)book.symbols[book.codes.layout.rank_at(window, length)] << 8 | length;
}

/* Makes a book's table; a bad book gives a table that is safe to use. The whole block calls. */
__device__ void build_table(const uint8_t *bytes, PlaneBook *book, uint16_t *entries,
                            szg_verdict *verdict) {
  bool const is_good = read_book(bytes, book);
  if (!is_good && threadIdx.x == 0) verdict->bad_data = 1;
  for (uint32_t i = threadIdx.x; i < SZG_PLANES_ENTRIES / 2; i += PlanesOpenPolicy::kThreads) {
    uint32_t two = 0x00010001;
    if (is_good) two = entry_of_window(2 * i, *book) | entry_of_window(2 * i + 1, *book) << 16;
    ((uint32_t *)(void *)entries)[i] = two;
  }
}

/* ---- kernel ---- */

/* What a block of a frame does: blocks before book_count make a table each, the others have a share
 * of the tiles each. The whole block calls. */
__device__ __forceinline__ void open_by_blocks(const PlanesOpenJob &job) {
  __shared__ OpenMemory memory;
  uint32_t const block = blockIdx.x;
  if (block == 0 && threadIdx.x == 0) *job.input.counter = 0;
  if (block < job.book_count) {
    build_table(job.input.books + block * SZG_PLANES_BOOK_BYTES, &memory.book,
                job.input.entries + block * SZG_PLANES_ENTRIES, job.verdict);
  } else if (job.book_count > 0) {
    uint32_t const share = block - job.book_count, share_count = gridDim.x - job.book_count;
    Words::Job const places = {job.input.sizes, job.input.first_words, job.tile_count};
    Words::place_and_check(places, share, share_count, job.input.word_count, job.verdict,
                           &memory.words);
  }
}

__global__ void __launch_bounds__(PlanesOpenPolicy::kThreads)
    planes_open_kernel(const __grid_constant__ PlanesOpenJob job) {
  open_by_blocks(job);
}

__device__ __forceinline__ uint32_t book_count_of(const szg_planes_layout &layout) {
  return szg_planes_of_mode(layout.modes, layout.value_bytes, SZG_PLANE_CODED);
}

/* Grid: blocks for each item, and the items. */
__global__ void __launch_bounds__(PlanesOpenPolicy::kThreads)
    items_open_kernel(const szg_planes_read_item *items) {
  __shared__ PlanesOpenJob job;
  const szg_planes_read_item &item = items[blockIdx.y];
  if (!item.is_there) return;
  if (threadIdx.x == 0) {
    job.input = item.input;
    job.tile_count = szg_planes_tile_count(item.input.value_count);
    job.book_count = book_count_of(item.input.layout);
    job.verdict = item.verdict;
  }
  __syncthreads(); /* the job is there */
  open_by_blocks(job);
}

} // namespace
} // namespace szg

szgpu_status szg_planes_input_carve_cuda(szg_arena *arena, const szg_planes_layout *layout,
                                         uint64_t value_count, szg_planes_input_cuda *input) {
  uint64_t const tile_count = szg_planes_tile_count(value_count);
  uint32_t const books = szg_planes_of_mode(layout->modes, layout->value_bytes, SZG_PLANE_CODED);
  SZG_REQUIRE(tile_count < (uint64_t)1 << 31, SZGPU_UNSUPPORTED); /* tiles come from a queue */
  input->entries = (uint16_t *)szg_arena_take(arena, books * (uint64_t)SZG_PLANES_ENTRIES, 2);
  input->first_words = (uint64_t *)szg_arena_take(arena, books > 0 ? tile_count + 1 : 0, 8);
  input->counter = (uint32_t *)szg_arena_take(arena, 1, 4);
  return SZGPU_OK;
}

szgpu_status szg_planes_open_cuda(const szg_planes_input_cuda *input, szg_verdict *verdict,
                                  struct CUstream_st *stream) {
  szg::PlanesOpenJob job = {*input, szg_planes_tile_count(input->value_count), 0, verdict};
  job.book_count =
      szg_planes_of_mode(input->layout.modes, input->layout.value_bytes, SZG_PLANE_CODED);
  unsigned const shares = job.book_count > 0 ? szg::Words::blocks(job.tile_count) : 1;
  szg::planes_open_kernel<<<job.book_count + shares, szg::PlanesOpenPolicy::kThreads, 0, stream>>>(
      job);
  return szg_launched();
}

szgpu_status szg_planes_open_items_cuda(const szg_planes_read_list *list,
                                        struct CUstream_st *stream) {
  uint32_t const most_books = list->value_bytes ? list->value_bytes : (uint32_t)SZG_PLANES_MOST;
  uint64_t const value_bytes = list->value_bytes ? list->value_bytes : 1;
  unsigned const shares = szg::Words::blocks(szg_planes_tile_count(list->most_bytes / value_bytes));
  dim3 const blocks(most_books + shares, list->item_count);
  szg::items_open_kernel<<<blocks, szg::PlanesOpenPolicy::kThreads, 0, stream>>>(list->items);
  return szg_launched();
}
