/* checksum_tree.cuh - one grid computes trees of checksums: all blocks hash leaves, the last one
 * roots.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaves: each warp hashes a block of 16 KiB. Roots: XXH3 over a range's leaves is a chain with
 * links of 1 KiB. Only one addition and the scramble of a link depend on the link before, so all
 * warps first sum up links, and then one warp chains them.
 */
#ifndef SZG_CHECKSUM_TREE_CUH
#define SZG_CHECKSUM_TREE_CUH

#include "container/checksum.h"
#include "container/xxh3.cuh"
#include "core/cuda_check.cuh"

namespace szg {

/* Blocks are small, so that they fit beside those of another kernel. A warp has a third of a leaf
 * in flight, and registers for it. */
struct TreePolicy {
  static constexpr uint32_t kThreads = 128;
  static constexpr uint32_t kWarps = kThreads / 32;
  static constexpr uint32_t kBlocks = 4; /* per multiprocessor */
  static constexpr uint32_t kLinks = 4;  /* of a root, read at once by a warp */
  static constexpr uint32_t kSums = 8;   /* of links, in flight while a warp chains */
};

constexpr uint32_t kLeafWords = SZG_CHECKSUM_BLOCK_BYTES / sizeof(uint64_t);
static_assert(SZG_ALIGNMENT % sizeof(uint64_t) == 0, "what is hashed is whole words");

/* the device's szg_checksum_leaf_count */
__host__ __device__ inline uint64_t leaf_count_of(uint64_t byte_count) {
  return (byte_count + SZG_CHECKSUM_BLOCK_BYTES - 1) / SZG_CHECKSUM_BLOCK_BYTES;
}

/* Blocks for that many leaves: one each, until the multiprocessors are full. */
inline szgpu_status tree_blocks(uint64_t leaf_count, unsigned *blocks) {
  return szg_spread_blocks(leaf_count, 1, TreePolicy::kBlocks, blocks);
}

/* ---- leaves ---- */

constexpr uint32_t kLeafBlocks = kLeafWords / xxh3::kBlockWords;
static_assert(kLeafWords % xxh3::kBlockWords == 0, "leaves have whole blocks");

/* Hashes summed leaves, eight lanes for each. leaves: the range's. The grid's warps call. */
__device__ __forceinline__ void hash_summed(const szg_summed_leaves &summed, const xxh3::Lane &lane,
                                            uint64_t *leaves) {
  constexpr uint32_t kWarpLeaves = 32 / xxh3::kStripeWords;
  uint64_t const key = xxh3::scramble_key(lane);
  uint64_t const warp = (uint64_t)threadIdx.x / 32 * gridDim.x + blockIdx.x;
  uint64_t const stride = (uint64_t)gridDim.x * TreePolicy::kWarps * kWarpLeaves;
  for (uint64_t first = warp * kWarpLeaves; first < summed.leaf_count; first += stride) {
    uint64_t const leaf = first + lane.first_stripe;
    bool const is_there = leaf < summed.leaf_count;
    const uint64_t *const own = summed.sums +
                                (is_there ? leaf : first) * kLeafBlocks * xxh3::kStripeWords +
                                lane.accumulator;
    uint64_t sums[kLeafBlocks];
#pragma unroll
    for (uint32_t i = 0; i < kLeafBlocks; i++) sums[i] = __ldcs(own + i * xxh3::kStripeWords);
    uint64_t accumulator = xxh3::kFirstAccumulators[lane.accumulator];
#pragma unroll
    for (uint32_t i = 0; i + 1 < kLeafBlocks; i++)
      accumulator = xxh3::scramble(accumulator + sums[i], key);
    uint64_t const hash =
        xxh3::merge_by_warp(lane, accumulator + sums[kLeafBlocks - 1], kLeafWords);
    if (is_there && lane.accumulator == 0) leaves[leaf] = hash;
  }
}

/* The grid's warps call. */
__device__ __forceinline__ void hash_leaves(const szg_checksum_ranges &ranges, uint64_t *leaves,
                                            const szg_summed_leaves &summed) {
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % 32);
  uint64_t const stride = (uint64_t)gridDim.x * TreePolicy::kWarps;
  uint64_t number = (uint64_t)threadIdx.x / 32 * gridDim.x + blockIdx.x; /* of a leaf, not summed */
  uint64_t first_number = 0;                                             /* the range's */
  for (uint32_t i = 0; i < ranges.count; i++) {
    uint64_t const byte_count = ranges.byte_counts[i];
    uint64_t const leaf_count = leaf_count_of(byte_count),
                   summed_count = i == summed.range ? summed.leaf_count : 0;
    uint64_t const end_number = first_number + leaf_count - summed_count;
    if (summed_count > 0) hash_summed(summed, lane, leaves);
    for (; number < end_number; number += stride) {
      uint64_t const leaf = number - first_number + summed_count;
      uint64_t const start = leaf * SZG_CHECKSUM_BLOCK_BYTES;
      uint64_t const words_left = (byte_count - start) / sizeof(uint64_t);
      uint64_t const hash =
          xxh3::hash_by_warp(lane, (const uint64_t *)(ranges.bytes[i] + start),
                             words_left < kLeafWords ? (uint32_t)words_left : kLeafWords);
      if (threadIdx.x % 32 == 0) leaves[leaf] = hash;
    }
    first_number = end_number;
    leaves += leaf_count;
  }
}

/* ---- roots ---- */

/* A range's leaves; its links are the blocks of XXH3 that end with a scramble. 32 bits suffice for
 * the leaves of 64 TiB. */
struct Leaves {
  uint64_t *hashes;
  uint32_t count, link_count;
  __device__ bool is_long() const { return count > xxh3::kShortWords; }
};

/* The leaves of range i. */
__device__ inline Leaves leaves_of(const szg_checksum_ranges &ranges, uint64_t *leaves,
                                   uint32_t i) {
  for (uint32_t before = 0; before < i; before++)
    leaves += leaf_count_of(ranges.byte_counts[before]);
  uint32_t const count = (uint32_t)leaf_count_of(ranges.byte_counts[i]);
  return {leaves, count, count > 0 ? xxh3::scrambled_blocks(count) : 0};
}

/* Replaces each link's first leaves with what it adds to the accumulators. Leaves that the last
 * block of XXH3 reads again are at the end of a link, so they survive. The whole block calls. */
__device__ inline void sum_links(const Leaves &leaves, const xxh3::Lane &lane) {
  static_assert(2 * xxh3::kStripeWords <= xxh3::kBlockWords, "sums are not among the last words");
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const step = TreePolicy::kWarps * TreePolicy::kLinks;
  for (uint32_t first = warp; first < leaves.link_count; first += step) {
    xxh3::LaneWords words[TreePolicy::kLinks];
#pragma unroll
    for (uint32_t i = 0; i < TreePolicy::kLinks; i++) {
      uint32_t const link = first + i * TreePolicy::kWarps;
      if (link < leaves.link_count)
        words[i] = xxh3::load_block(lane, leaves.hashes, link * xxh3::kBlockWords, leaves.count);
    }
#pragma unroll
    for (uint32_t i = 0; i < TreePolicy::kLinks; i++) {
      uint32_t const link = first + i * TreePolicy::kWarps;
      if (link >= leaves.link_count) break;
      uint64_t const sum = xxh3::sum_of_warp(xxh3::sum_block(lane, words[i]));
      if (lane.first_stripe == 0)
        leaves.hashes[(uint64_t)link * xxh3::kBlockWords + lane.accumulator] = sum;
    }
  }
}

/* The hash of leaves after sum_links. The whole warp calls. */
__device__ inline uint64_t chain_links(const Leaves &leaves, const xxh3::Lane &lane) {
  uint64_t const key = xxh3::scramble_key(lane);
  uint64_t accumulator = xxh3::kFirstAccumulators[lane.accumulator];
  const uint64_t *const sums = leaves.hashes + lane.accumulator;
  uint64_t ahead[TreePolicy::kSums];
#pragma unroll
  for (uint32_t i = 0; i < TreePolicy::kSums; i++)
    ahead[i] = i < leaves.link_count ? sums[i * xxh3::kBlockWords] : 0;
  uint32_t const last = leaves.link_count * xxh3::kBlockWords;
  xxh3::LaneWords const last_words = xxh3::load_block(lane, leaves.hashes, last, leaves.count);
  for (uint32_t first = 0; first < leaves.link_count; first += TreePolicy::kSums) {
#pragma unroll
    for (uint32_t i = 0; i < TreePolicy::kSums; i++) {
      uint32_t const link = first + i, next = link + TreePolicy::kSums;
      if (link >= leaves.link_count) break;
      uint64_t const sum = ahead[i];
      if (next < leaves.link_count) ahead[i] = sums[(uint64_t)next * xxh3::kBlockWords];
      accumulator = xxh3::scramble(accumulator + sum, key);
    }
  }
  accumulator += xxh3::sum_of_warp(xxh3::sum_last_block(lane, last_words, leaves.count - last));
  return xxh3::merge_by_warp(lane, accumulator, leaves.count);
}

/* Computes roots, in shared memory, from the leaves of all ranges, and overwrites the leaves. The
 * whole block calls, and must synchronize before it reads. */
__device__ inline void hash_roots(const szg_checksum_ranges &ranges, uint64_t *leaves,
                                  uint64_t *roots) {
  static_assert(SZG_SECTION_KIND_COUNT <= 32, "a lane a range");
  uint32_t const warp = threadIdx.x / 32;
  xxh3::Lane const lane = xxh3::lane_at(threadIdx.x % 32);
  for (uint32_t i = 0; i < ranges.count; i++) sum_links(leaves_of(ranges, leaves, i), lane);
  __syncthreads(); /* all links are summed up */
  for (uint32_t i = warp; i < ranges.count; i += TreePolicy::kWarps) {
    Leaves const range = leaves_of(ranges, leaves, i);
    if (!range.is_long()) continue; /* the same for the whole warp */
    uint64_t const root = chain_links(range, lane);
    if (threadIdx.x % 32 == 0) roots[i] = root;
  }
  if (threadIdx.x >= ranges.count) return;
  Leaves const range = leaves_of(ranges, leaves, threadIdx.x);
  if (!range.is_long()) roots[threadIdx.x] = xxh3::hash_short(range.hashes, range.count);
}

} // namespace szg

#endif
