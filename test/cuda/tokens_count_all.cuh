/* tokens_count_all.cuh - counts codes that are in memory, with the device functions by which a
 * sample's are counted as they are made; one block per counted tile.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_COUNT_ALL_CUH
#define SZG_TOKENS_COUNT_ALL_CUH

#include "core/cuda_check.cuh"
#include "huffman/tokens_count.cuh"

namespace szg {
namespace {

struct CountJob {
  szg_tokens_tiles tiles;
  const void *codes;
  uint32_t counted_count;
  bool is_sample;
  szg_tokens_tally *tally;
};

template <class Code>
__device__ void count_tile(const szg_tokens_tiles &tiles, uint64_t tile_index, const Code *codes,
                           CountMemory *memory) {
  TokensTile const tile = tokens_tile_at(tiles, tile_index);
  CountedBits bits;
  for (uint32_t i = threadIdx.x / 32; i < tiles.group_count; i += CountPolicy::kWarps)
    count_codes(tiles, tile, i, codes + i * kGroupPlaces, memory, &bits);
  bits.add_to(memory);
}

template <class Code>
__global__ void __launch_bounds__(CountPolicy::kThreads)
    tokens_count_kernel(const __grid_constant__ CountJob job) {
  __shared__ CountMemory memory;
  for (uint32_t i = threadIdx.x; i < kTallyNumbers; i += CountPolicy::kThreads) memory.sums[i] = 0;
  __syncthreads(); /* sums begin at 0 */
  uint64_t const tile_index = szg_sample_tile(job.tiles.tile_count, job.counted_count, blockIdx.x);
  uint64_t const codes_index = job.is_sample ? blockIdx.x : tile_index;
  uint64_t const place_count = (uint64_t)job.tiles.group_count * kGroupPlaces;
  count_tile(job.tiles, tile_index, (const Code *)job.codes + codes_index * place_count, &memory);
  __syncthreads(); /* all groups are counted */
  count_live(job.tiles.group_count, &memory);
  __syncthreads(); /* sums are complete */
  add_sums(memory, job.tally);
}

} // namespace
} // namespace szg

/* Counts tiles szg_sample_tile(tiles->tile_count, counted_count, i), i < counted_count. codes: of
 * all tiles, or, if is_sample, only of the counted ones, in their order. tally: overwritten. */
inline szgpu_status count_on_device(const szg_tokens_tiles *tiles, const void *codes,
                                    uint32_t counted_count, bool is_sample, szg_tokens_tally *tally,
                                    struct CUstream_st *stream) {
  szg::CountJob const job = {*tiles, codes, counted_count, is_sample, tally};
  SZG_TRY_CUDA(cudaMemsetAsync(tally, 0, sizeof *tally, stream));
  if (counted_count == 0) return SZGPU_OK;
  auto const kernel =
      tiles->is_wide ? szg::tokens_count_kernel<int64_t> : szg::tokens_count_kernel<int32_t>;
  kernel<<<counted_count, szg::CountPolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

#endif
