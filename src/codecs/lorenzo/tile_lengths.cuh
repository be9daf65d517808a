/* tile_lengths.cuh - a block of threads finds the code lengths of a tile frame's book.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_LENGTHS_CUH
#define SZG_TILE_LENGTHS_CUH

#include <cub/block/block_scan.cuh>

#include "codecs/lorenzo/tile_core.h"
#include "core/warp.cuh"
#include "huffman/package_merge.cuh"

namespace szg {

struct LengthsPolicy {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kWarps = kThreads / 32;
  /* Consecutive symbols of a thread; the last threads have fewer, or none. */
  static constexpr uint32_t kShare = (SZG_TILE_SYMBOLS + kThreads - 1) / kThreads;
};

static_assert((uint64_t)(SZG_TILE_CODE_BITS + 1) * (SZG_MOST_COUNTED * SZG_TILE_VALUES + 2) <
                  1u << 31,
              "the heaviest package: a list weighs what all symbols do and the list before");

typedef cub::BlockScan<uint32_t, LengthsPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> BookScan;

struct LengthsMemory {
  union {
    uint64_t sorting[2][SZG_TILE_SYMBOLS]; /* leaves: count << 32 | symbol */
    MergeMemory<uint32_t, SZG_TILE_SYMBOLS, SZG_TILE_CODE_BITS> merge;
  };
  BookScan::TempStorage scan;
};

__device__ inline uint32_t first_of_share() { return threadIdx.x * LengthsPolicy::kShare; }
__device__ inline uint32_t end_of_share() {
  return min(first_of_share() + LengthsPolicy::kShare, (uint32_t)SZG_TILE_SYMBOLS);
}

__device__ inline uint32_t weight_of(uint64_t leaf) { return (uint32_t)(leaf >> 32); }

/* A symbol's place among those of its warp's 32 that occur; these are in the order of symbols. */
__device__ inline uint32_t rank_in_warp(const uint64_t *leaves, uint32_t leaf_count, uint32_t i,
                                        uint32_t weight) {
  uint32_t const first = i & ~31u;
  uint32_t rank = 0;
#pragma unroll 8
  for (uint32_t k = 0; k < 32; k++) {
    uint32_t const other = first + k < leaf_count ? weight_of(leaves[first + k]) : UINT32_MAX;
    rank += other < weight + (k < i % 32);
  }
  return rank;
}

/* How many leaves of the other run come before a leaf when both runs are merged. Equal weights keep
 * the order of symbols, so those of an earlier run come first. */
__device__ inline uint32_t rank_in_run(const uint64_t *run, uint32_t item_count, uint32_t weight,
                                       bool is_earlier) {
  if (item_count == 0) return 0;
  uint32_t found = 0;
  for (uint32_t step = first_step(item_count); step > 0; step /= 2) {
    uint32_t const next = found + step;
    if (next <= item_count && weight_of(run[next - 1]) < weight + is_earlier) found = next;
  }
  return found;
}

/* Merges sorted runs of leaves into runs twice as long. The whole block calls. */
__device__ inline void merge_runs(const uint64_t *from, uint32_t leaf_count, uint32_t run,
                                  uint64_t *to) {
  for (uint32_t i = threadIdx.x; i < leaf_count; i += LengthsPolicy::kThreads) {
    uint64_t const leaf = from[i];
    uint32_t const pair_first = i & ~(2 * run - 1);
    bool const is_other_earlier = (i & run) != 0;
    uint32_t const other = is_other_earlier ? pair_first : min(pair_first + run, leaf_count);
    uint32_t const other_count = min(run, leaf_count - other);
    uint32_t const before =
        rank_in_run(from + other, other_count, weight_of(leaf), is_other_earlier);
    to[pair_first + (i & (run - 1)) + before] = leaf;
  }
}

/* Sorts the symbols that occur; returns how many do. The whole block calls. */
__device__ inline uint32_t sort_leaves(const uint32_t *counts, LengthsMemory *memory) {
  uint32_t occurring = 0, place = 0, leaf_count = 0;
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) occurring += counts[s] > 0;
  BookScan(memory->scan).ExclusiveSum(occurring, place, leaf_count);
  uint64_t *from = memory->sorting[0], *to = memory->sorting[1];
  for (uint32_t s = first_of_share(); s < end_of_share(); s++)
    if (counts[s] > 0) from[place++] = (uint64_t)counts[s] << 32 | s;
  __syncthreads(); /* all leaves are there */
  for (uint32_t i = threadIdx.x; i < leaf_count; i += LengthsPolicy::kThreads)
    to[(i & ~31u) + rank_in_warp(from, leaf_count, i, weight_of(from[i]))] = from[i];
  for (uint32_t run = 32; run < leaf_count; run *= 2) {
    uint64_t *const swapped = from;
    from = to;
    to = swapped;
    __syncthreads(); /* runs complete before they are merged */
    merge_runs(from, leaf_count, run, to);
  }
  __syncthreads(); /* in order */
  uint64_t leaves[LengthsPolicy::kShare];
#pragma unroll
  for (uint32_t k = 0; k < LengthsPolicy::kShare; k++) {
    uint32_t const i = threadIdx.x + k * LengthsPolicy::kThreads;
    leaves[k] = i < leaf_count ? to[i] : 0;
  }
  __syncthreads(); /* read before they move to the same memory */
#pragma unroll
  for (uint32_t k = 0; k < LengthsPolicy::kShare; k++) {
    uint32_t const i = threadIdx.x + k * LengthsPolicy::kThreads;
    if (i < leaf_count) memory->merge.set_leaf(i, weight_of(leaves[k]), (uint32_t)leaves[k]);
  }
  __syncthreads(); /* leaves are there */
  return leaf_count;
}

/* Optimal lengths of at most SZG_TILE_CODE_BITS. lengths: zeroed by the caller. The whole block of
 * LengthsPolicy::kThreads calls, and synchronizes before it reads. */
__device__ inline void find_lengths(const uint32_t *counts, LengthsMemory *memory,
                                    uint8_t *lengths) {
  uint32_t const leaf_count = sort_leaves(counts, memory);
  merge_packages<LengthsPolicy::kThreads>(leaf_count, &memory->merge, lengths);
}

} // namespace szg

#endif
