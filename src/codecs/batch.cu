/* batch.cu - the steps over many fields that do not depend on how their frames are coded.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/batch.cuh"
#include "codecs/raw_planes.cuh"

namespace szg {
namespace {

__device__ uint64_t value_count_of(const szg_batch_item &item) {
  uint64_t count = 1;
#pragma unroll
  for (uint32_t i = 0; i < SZG_MAX_DIMS; i++) count *= i < item.ndim ? item.dims[i] : 1;
  return count;
}

__global__ void send_reads_kernel(const __grid_constant__ szg_batch_sent sent, uint32_t first,
                                  szg_batch_item *items) {
  items[first + threadIdx.x] = sent.items[threadIdx.x];
}

/* Grid: blocks for each item, and the items. Bits: of the field's values. */
template <class Bits>
__global__ void __launch_bounds__(BatchPolicy::kThreads)
    items_merge_kernel(const szg_batch_item *items) {
  const szg_batch_item &item = items[blockIdx.y];
  if (!item.raw) return;
  uint64_t const value_count = value_count_of(item);
  merge_planes(item.raw, value_count, 0, value_count, (Bits *)item.values);
}

__global__ void items_judge_kernel(const szg_batch_item *items, uint32_t value_bytes,
                                   uint32_t item_count) {
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= item_count) return;
  const szg_batch_item &item = items[i];
  uint32_t status = item.status;
  if (item.status == SZGPU_OK && item.verdict->bad_data) status = SZGPU_BAD_DATA;
  if (item.status == SZGPU_OK && item.verdict->bad_sections) status = SZGPU_BAD_CHECKSUM;
  item.outcome->bytes = status == SZGPU_OK ? value_count_of(item) * value_bytes : 0;
  item.outcome->status = status;
  item.outcome->reserved = 0;
}

} // namespace
} // namespace szg

szgpu_status szg_batch_send_reads_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                       szg_batch_item *items, cudaStream_t stream) {
  szg::send_reads_kernel<<<1, count, 0, stream>>>(*sent, first, items);
  return szg_launched();
}

szgpu_status szg_batch_verify_cuda(const szg_batch_class *batch, uint32_t most_sections,
                                   const szg_checksum_item *checksums, const szg_side_stream *side,
                                   cudaStream_t stream) {
  uint64_t const most_leaves =
      szg_checksum_leaf_count(batch->most_values * szg_dtype_bytes(batch->dtype)) + most_sections;
  SZG_TRY_CUDA(cudaEventRecord(side->fork, stream));
  SZG_TRY_CUDA(cudaStreamWaitEvent(side->stream, side->fork, 0));
  SZG_TRY(szg_checksum_verify_items_cuda(checksums, most_leaves, batch->item_count, side->stream));
  SZG_TRY_CUDA(cudaEventRecord(side->join, side->stream));
  return SZGPU_OK;
}

szgpu_status szg_batch_judge_cuda(const szg_batch_class *batch, const szg_batch_item *items,
                                  const szg_side_stream *side, cudaStream_t stream) {
  uint32_t const width = (uint32_t)szg_dtype_bytes(batch->dtype);
  unsigned const judges =
      szg_grid_blocks(batch->item_count, szg::BatchPolicy::kThreads, UINT32_MAX);
  dim3 blocks;
  SZG_TRY(szg::batch_blocks(batch, &blocks));
  SZG_TRY(szg_with_width(width, [&](auto bits) {
    szg::items_merge_kernel<decltype(bits)>
        <<<blocks, szg::BatchPolicy::kThreads, 0, stream>>>(items);
    return szg_launched();
  }));
  SZG_TRY_CUDA(cudaStreamWaitEvent(stream, side->join, 0));
  szg::items_judge_kernel<<<judges, szg::BatchPolicy::kThreads, 0, stream>>>(items, width,
                                                                             batch->item_count);
  return szg_launched();
}
