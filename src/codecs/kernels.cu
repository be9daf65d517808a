/* kernels.cu - small kernels around a frame's sections.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Planes and fill move each value once.
 */
#include "codecs/kernels.h"

#include "codecs/lorenzo/tile_core.h"
#include "codecs/raw_planes.cuh"
#include "container/container.h"
#include "core/cuda_check.cuh"
#include "huffman/huffman.h"

namespace {

struct PlainPolicy {
  static constexpr int kThreads = 256;
  static constexpr unsigned kBlocksPerMultiprocessor = 16;
};

template <class Bits>
__global__ void __launch_bounds__(PlainPolicy::kThreads)
    raw_split_kernel(const Bits *values, uint64_t value_count, uint8_t *planes) {
  szg::split_planes(values, value_count, planes);
}

template <class Bits>
__global__ void __launch_bounds__(PlainPolicy::kThreads)
    raw_merge_kernel(const uint8_t *planes, uint64_t frame_values, uint64_t first_value,
                     uint64_t value_count, Bits *values) {
  szg::merge_planes(planes, frame_values, first_value, value_count, values);
}

template <class Bits>
__global__ void __launch_bounds__(PlainPolicy::kThreads)
    values_fill_kernel(Bits *values, uint64_t value_count, Bits bits) {
  uint64_t const stride = (uint64_t)gridDim.x * PlainPolicy::kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * PlainPolicy::kThreads + threadIdx.x; i < value_count;
       i += stride)
    values[i] = bits;
}

__device__ bool stream_agrees(const szg_frame_sums &sums, uint64_t bit_count) {
  uint64_t const word_count = (bit_count + 31) / 32;
  bool const gaps_fit =
      !sums.has_gaps || (sums.gaps == (szg_subsequence_count(bit_count) + 1) / 2 &&
                         sums.sequence_codes == 2 * szg_sequence_count(bit_count));
  bool const fits = sums.bitstream == word_count * 4 && gaps_fit;
  if (!fits || bit_count % 32 == 0) return fits;
  return (sums.words[word_count - 1] & (0xFFFFFFFFu >> bit_count % 32)) == 0;
}

__device__ bool shares_agree(const szg_frame_sums &sums, const szg_tile_place &total) {
  return total.escape * sums.escape_bytes == sums.escapes &&
         (total.escape > 0) == (sums.escape_bytes > 0) && total.exact_mask == sums.exact_mask &&
         total.exact_value * sums.value_bytes == sums.exact_values &&
         total.fill_mask == sums.fill_mask;
}

__global__ void frame_sums_check_kernel(szg_frame_sums sums, const szg_tile_place *totals,
                                        uint64_t *bit_count, szg_verdict *verdict) {
  szg_tile_place const total = *totals;
  bool agrees = shares_agree(sums, total);
  if (sums.is_linear) agrees = agrees && stream_agrees(sums, total.bit);
  *bit_count = total.bit;
  if (!agrees) verdict->bad_data = 1;
}

/* A raw tile's values need no outliers, and it may not have any. */
__device__ bool is_raw_with_outliers(const szg_tile_sums &sums, const szg_grid &grid, uint64_t t) {
  const szg_tile_counts &counts = sums.counts;
  bool const has_exact = counts.exact && (counts.exact[2 * t] | counts.exact[2 * t + 1]);
  bool const has_fill = counts.fill_mask_bytes && counts.fill_mask_bytes[t];
  return (has_exact || has_fill) &&
         sums.sizes[t] ==
             szg_raw_tile_words(szg_tile_at(&grid, t).value_count, sums.shares.value_bytes);
}

__global__ void __launch_bounds__(PlainPolicy::kThreads)
    tile_sums_check_kernel(szg_tile_sums sums, szg_grid grid, const szg_tile_place *totals,
                           szg_verdict *verdict) {
  uint64_t const first = (uint64_t)blockIdx.x * PlainPolicy::kThreads + threadIdx.x;
  bool agrees = first > 0 || shares_agree(sums.shares, *totals);
  for (uint64_t t = first; t < grid.tile_count; t += (uint64_t)gridDim.x * PlainPolicy::kThreads)
    agrees = agrees && !is_raw_with_outliers(sums, grid, t);
  if (!agrees) verdict->bad_data = 1;
}

szgpu_status plain_blocks(uint64_t item_count, unsigned *blocks) {
  return szg_spread_blocks(item_count, PlainPolicy::kThreads, PlainPolicy::kBlocksPerMultiprocessor,
                           blocks);
}

} // namespace

szgpu_status szg_raw_split_cuda(const void *values, uint64_t value_count, unsigned width,
                                uint8_t *planes, struct CUstream_st *stream) {
  unsigned blocks = 0;
  SZG_TRY(plain_blocks(value_count, &blocks));
  return szg_with_width(width, [&](auto bits) {
    raw_split_kernel<<<blocks, PlainPolicy::kThreads, 0, stream>>>((const decltype(bits) *)values,
                                                                   value_count, planes);
    return szg_launched();
  });
}

szgpu_status szg_raw_merge_cuda(const uint8_t *planes, uint64_t frame_values, unsigned width,
                                uint64_t first_value, uint64_t value_count, void *values,
                                struct CUstream_st *stream) {
  unsigned blocks = 0;
  SZG_TRY(plain_blocks(value_count, &blocks));
  return szg_with_width(width, [&](auto bits) {
    raw_merge_kernel<<<blocks, PlainPolicy::kThreads, 0, stream>>>(
        planes, frame_values, first_value, value_count, (decltype(bits) *)values);
    return szg_launched();
  });
}

szgpu_status szg_values_fill_cuda(void *values, uint64_t value_count, unsigned width, uint64_t bits,
                                  struct CUstream_st *stream) {
  unsigned blocks = 0;
  SZG_TRY(plain_blocks(value_count, &blocks));
  if (width == 4)
    values_fill_kernel<uint32_t><<<blocks, PlainPolicy::kThreads, 0, stream>>>(
        (uint32_t *)values, value_count, (uint32_t)bits);
  else
    values_fill_kernel<uint64_t>
        <<<blocks, PlainPolicy::kThreads, 0, stream>>>((uint64_t *)values, value_count, bits);
  return szg_launched();
}

szgpu_status szg_frame_sums_check_cuda(const szg_frame_sums *sums, const szg_tile_place *totals,
                                       uint64_t *bit_count, szg_verdict *verdict,
                                       struct CUstream_st *stream) {
  frame_sums_check_kernel<<<1, 1, 0, stream>>>(*sums, totals, bit_count, verdict);
  return szg_launched();
}

szgpu_status szg_tile_sums_check_cuda(const szg_tile_sums *sums, const szg_grid *grid,
                                      const szg_tile_place *totals, szg_verdict *verdict,
                                      struct CUstream_st *stream) {
  unsigned blocks = 0;
  SZG_TRY(plain_blocks(grid->tile_count, &blocks));
  tile_sums_check_kernel<<<blocks, PlainPolicy::kThreads, 0, stream>>>(*sums, *grid, totals,
                                                                       verdict);
  return szg_launched();
}
