/* checksum.cu - checksums of a frame's sections on a GPU: compares them, or seals the header.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One launch each. It reads each byte once, writes 8 bytes for each 16 KiB, and leaves the rest to
 * the block that finishes last (checksum_tree.cuh).
 */
#include "container/checksum.h"

#include <assert.h>
#include <string.h>

#include "container/checksum_seal.cuh"
#include "container/checksum_tree.cuh"
#include "core/cuda_check.cuh"
#include "core/last_block.cuh"

namespace szg {
namespace {

/* Runs on a stream beside the kernels that decompress. Blocks that decompress tiles leave no room
 * once they run, so these blocks are small: they start before and finish early. */
struct VerifyPolicy {
  static constexpr uint32_t kBlocks = 5; /* per multiprocessor; limits the registers */
};

__device__ __forceinline__ void verify_ranges(const szg_checksum_ranges &ranges,
                                              const szg_summed_leaves &summed, uint64_t *leaves,
                                              szg_verdict *verdict) {
  __shared__ uint64_t roots[SZG_SECTION_KIND_COUNT];
  hash_leaves(ranges, leaves, summed);
  if (!is_last_of(gridDim.x, &verdict->ticket)) return;
  hash_roots(ranges, leaves, roots);
  __syncthreads(); /* roots complete */
  uint32_t const i = threadIdx.x;
  if (i < ranges.count && roots[i] != ranges.expected[i])
    atomicOr(&verdict->bad_sections, 1u << ranges.kinds[i]);
}

__global__ void __launch_bounds__(TreePolicy::kThreads, VerifyPolicy::kBlocks)
    ranges_verify_kernel(const __grid_constant__ szg_checksum_ranges ranges,
                         szg_summed_leaves summed, uint64_t *leaves, szg_verdict *verdict) {
  /* The kernels that might set bad_data while this one runs leave no sums. */
  if (summed.leaf_count > 0 && verdict->bad_data) summed.leaf_count = 0;
  verify_ranges(ranges, summed, leaves, verdict);
}

/* Copies the ranges that there are: the arrays have no values behind them. */
__device__ void copy_ranges(const szg_checksum_ranges &from, szg_checksum_ranges *to) {
  uint32_t const i = threadIdx.x;
  if (i == 0) to->count = from.count;
  if (i >= from.count) return;
  to->kinds[i] = from.kinds[i];
  to->bytes[i] = from.bytes[i];
  to->byte_counts[i] = from.byte_counts[i];
  to->expected[i] = from.expected[i];
}

/* Grid: blocks for each item, and the items. */
__global__ void __launch_bounds__(TreePolicy::kThreads, VerifyPolicy::kBlocks)
    items_verify_kernel(const szg_checksum_item *items) {
  __shared__ szg_checksum_ranges ranges;
  const szg_checksum_item &item = items[blockIdx.y];
  if (item.ranges.count == 0) return;
  copy_ranges(item.ranges, &ranges);
  __syncthreads(); /* they are there */
  verify_ranges(ranges, {}, item.leaves, item.verdict);
}

/* A frame by the host. Kernels get it as an argument, which saves a copy in the stream. */
struct HostFrame {
  uint64_t header[kMostHeaderWords];
  bool is_padded;
  uint64_t held_bytes[SZG_SECTION_KIND_COUNT]; /* unless it is padded */
};
static_assert(kMostHeaderWords <= TreePolicy::kThreads, "one thread per word");

/* Every block writes all padding, so that its own loads find it. The whole block calls. */
__device__ void pad_ranges(const szg_checksum_ranges &ranges, const uint64_t *held_bytes) {
  for (uint32_t k = threadIdx.x; k < ranges.count * SZG_ALIGNMENT; k += TreePolicy::kThreads) {
    uint32_t const i = k / SZG_ALIGNMENT;
    uint64_t const place = held_bytes[i] + k % SZG_ALIGNMENT;
    if (place < ranges.byte_counts[i]) const_cast<uint8_t *>(ranges.bytes[i])[place] = 0;
  }
  __syncthreads(); /* all is padded before it is hashed */
}

__global__ void __launch_bounds__(TreePolicy::kThreads, TreePolicy::kBlocks)
    frame_seal_kernel(const __grid_constant__ szg_checksum_ranges ranges,
                      const __grid_constant__ szg_summed_leaves summed,
                      const __grid_constant__ HostFrame host, uint64_t *leaves, uint32_t *ticket,
                      uint64_t *header) {
  __shared__ uint64_t roots[SZG_SECTION_KIND_COUNT], sealed[kMostHeaderWords];
  uint32_t const i = threadIdx.x, word_count = kTableWord + ranges.count * kEntryWords + 1;
  if (!host.is_padded) pad_ranges(ranges, host.held_bytes);
  hash_leaves(ranges, leaves, summed);
  if (!is_last_block(ticket)) return;
  hash_roots(ranges, leaves, roots);
  if (i < word_count) sealed[i] = host.header[i];
  __syncthreads(); /* roots and header complete */
  if (threadIdx.x < 32) seal_frame(sealed, ranges.count, roots);
  __syncthreads(); /* it is sealed */
  if (i < word_count) header[i] = sealed[i];
}

uint64_t all_leaves_of(const szg_checksum_ranges *ranges) {
  uint64_t leaf_count = 0;
  for (uint32_t i = 0; i < ranges->count; i++) leaf_count += leaf_count_of(ranges->byte_counts[i]);
  return leaf_count;
}

} // namespace
} // namespace szg

szgpu_status szg_checksum_verify_cuda(const szg_checksum_ranges *ranges,
                                      const szg_summed_leaves *summed, uint64_t *leaves,
                                      szg_verdict *verdict, struct CUstream_st *stream) {
  assert(ranges->count <= SZG_SECTION_KIND_COUNT);
  unsigned blocks = 0;
  SZG_TRY(szg::tree_blocks(szg::all_leaves_of(ranges), &blocks));
  szg::ranges_verify_kernel<<<blocks, szg::TreePolicy::kThreads, 0, stream>>>(*ranges, *summed,
                                                                              leaves, verdict);
  return szg_launched();
}

szgpu_status szg_checksum_verify_items_cuda(const szg_checksum_item *items, uint64_t most_leaves,
                                            uint32_t item_count, struct CUstream_st *stream) {
  unsigned useful = 0;
  dim3 blocks;
  SZG_TRY(szg::tree_blocks(most_leaves, &useful));
  SZG_TRY(szg_spread_items(useful, szg::VerifyPolicy::kBlocks, item_count, &blocks));
  szg::items_verify_kernel<<<blocks, szg::TreePolicy::kThreads, 0, stream>>>(items);
  return szg_launched();
}

szgpu_status szg_checksum_seal_cuda(const szg_checksum_ranges *ranges,
                                    const szg_summed_leaves *summed, const uint64_t *held_bytes,
                                    const uint8_t *host_header, uint64_t *leaves, uint32_t *ticket,
                                    uint8_t *frame_header, struct CUstream_st *stream) {
  assert(ranges->count <= SZG_SECTION_KIND_COUNT);
  szg::HostFrame host = {};
  memcpy(host.header, host_header, 8 * (szg::kTableWord + ranges->count * szg::kEntryWords));
  host.is_padded = !held_bytes;
  if (held_bytes) memcpy(host.held_bytes, held_bytes, ranges->count * sizeof *held_bytes);
  unsigned blocks = 0;
  SZG_TRY(szg::tree_blocks(szg::all_leaves_of(ranges), &blocks));
  szg::frame_seal_kernel<<<blocks, szg::TreePolicy::kThreads, 0, stream>>>(
      *ranges, *summed, host, leaves, ticket, (uint64_t *)frame_header);
  return szg_launched();
}
