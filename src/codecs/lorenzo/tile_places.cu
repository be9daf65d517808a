/* tile_places.cu - makes what all tiles of a frame need: the decoder's table and tile places.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   open     block 0 turns the codebook section into the decoder's table; every other block makes
 *            running sums of a share of the tiles' sizes (core/tile_words.cuh)
 *
 * Up to 2^17 tiles the table takes longer than the sums.
 */
#include "codecs/lorenzo/tile_cuda.h"
#include "codecs/lorenzo/tile_decoder.cuh"
#include "core/tile_words.cuh"

namespace szg {
namespace {

typedef TileWords<DecoderPolicy::kThreads> Words; /* in the same launch */

union OpenMemory {
  DecoderMemory decoder;
  Words::Memory words;
};

struct TilesOpenJob {
  const uint8_t *section; /* codebook */
  uint64_t section_bytes;
  szg_tile_input_cuda input;
  uint64_t tile_count;
  szg_verdict *verdict;
};

__device__ __forceinline__ void open_tiles(const TilesOpenJob &job) {
  __shared__ OpenMemory memory;
  if (blockIdx.x > 0) {
    Words::Job const places = {job.input.sizes, job.input.first_words, job.tile_count};
    Words::place_and_check(places, blockIdx.x - 1, gridDim.x - 1, job.input.word_count, job.verdict,
                           &memory.words);
    return;
  }
  if (threadIdx.x == 0) *job.input.counters = 0;
  bool const is_good =
      build_decoder(job.section, job.section_bytes, &memory.decoder, job.input.decoder);
  if (!is_good && threadIdx.x == 0) job.verdict->bad_data = 1;
}

__global__ void __launch_bounds__(DecoderPolicy::kThreads)
    tiles_open_kernel(const __grid_constant__ TilesOpenJob job) {
  open_tiles(job);
}

/* Grid: blocks as for the tiles of the largest item, and the items. */
__global__ void __launch_bounds__(DecoderPolicy::kThreads)
    items_open_kernel(const szg_tile_read_item *items) {
  const szg_tile_read_item &item = items[blockIdx.y];
  if (!item.is_there) return;
  TilesOpenJob const job = {item.book, item.book_bytes, item.input, item.grid.tile_count,
                            item.verdict};
  open_tiles(job);
}

} // namespace
} // namespace szg

szgpu_status szg_tile_open_cuda(const uint8_t *section, uint64_t section_bytes,
                                const szg_tile_input_cuda *input, uint64_t tile_count,
                                szg_verdict *verdict, struct CUstream_st *stream) {
  szg::TilesOpenJob const job = {section, section_bytes, *input, tile_count, verdict};
  unsigned const shares = szg::Words::blocks(tile_count);
  szg::tiles_open_kernel<<<1 + shares, szg::DecoderPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

szgpu_status szg_tile_open_items_cuda(const szg_tile_read_item *items, uint64_t most_tiles,
                                      uint32_t item_count, struct CUstream_st *stream) {
  dim3 const blocks(1 + szg::Words::blocks(most_tiles), item_count);
  szg::items_open_kernel<<<blocks, szg::DecoderPolicy::kThreads, 0, stream>>>(items);
  return szg_launched();
}
