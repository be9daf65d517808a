/* tile_lengths.cuh - a block of threads finds the code lengths of a tile frame's book.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Package-merge, in the order of huffman/codebook.c. It merges lists by rank: an item's place is
 * its place in its own list plus the number of items of the other list that come before it.
 */
#ifndef SZG_TILE_LENGTHS_CUH
#define SZG_TILE_LENGTHS_CUH

#include <cub/block/block_scan.cuh>

#include "codecs/lorenzo/tile_core.h"
#include "core/warp.cuh"

namespace szg {

struct LengthsPolicy {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kWarps = kThreads / 32;
  /* Consecutive symbols of a thread; the last threads have fewer, or none. */
  static constexpr uint32_t kShare = (SZG_TILE_SYMBOLS + kThreads - 1) / kThreads;
};
static_assert(SZG_TILE_CODE_BITS <= LengthsPolicy::kWarps, "a warp a list");

/* Lists: one for each bit of the longest code. */
constexpr uint32_t kLists = SZG_TILE_CODE_BITS;
constexpr uint32_t kMostPairs = SZG_TILE_SYMBOLS; /* per list, which has under twice the leaves */
constexpr uint32_t kPairWords = kMostPairs / 32;
constexpr uint32_t kIsPackage = 1u << 31; /* in an item; the rest is its weight */
static_assert((uint64_t)(kLists + 1) * (SZG_MOST_COUNTED * SZG_TILE_VALUES + 2) < kIsPackage,
              "the heaviest package: a list weighs what all symbols do and the list before");

typedef cub::BlockScan<uint32_t, LengthsPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> BookScan;

struct LengthsMemory {
  uint64_t leaves[SZG_TILE_SYMBOLS]; /* count << 32 | symbol, ascending */
  union {
    uint64_t sorting[SZG_TILE_SYMBOLS];
    uint2 items[2][kMostPairs]; /* in pairs: the current list and the next */
  };
  uint32_t packages[kLists][2][kPairWords]; /* whether first and second items of pairs are */
  uint16_t packages_before[kLists][kPairWords];
  uint32_t leaves_taken[kLists];
  BookScan::TempStorage scan;
};

__device__ inline uint32_t first_of_share() { return threadIdx.x * LengthsPolicy::kShare; }
__device__ inline uint32_t end_of_share() {
  return min(first_of_share() + LengthsPolicy::kShare, (uint32_t)SZG_TILE_SYMBOLS);
}

/* The first step of a search among item_count items. Each step leaves a quarter of the range, since
 * two successive loads take longer than three at once. */
__device__ inline uint32_t first_step(uint32_t item_count) {
  return 1u << ((31 - __clz((int)item_count)) & ~1);
}

/* How many of three steps a search can take from `found` on. comes_before(i) is true up to some
 * item and false from there on. */
template <class ComesBefore>
__device__ __forceinline__ uint32_t steps_on(uint32_t found, uint32_t step, uint32_t item_count,
                                             ComesBefore comes_before) {
  uint32_t steps = 0;
#pragma unroll
  for (uint32_t i = 1; i <= 3; i++) {
    uint32_t const end = found + i * step;
    steps += end <= item_count && comes_before(end - 1);
  }
  return steps;
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
  for (uint32_t step = first_step(item_count); step > 0; step /= 4)
    found += step * steps_on(found, step, item_count,
                             [=](uint32_t i) { return weight_of(run[i]) < weight + is_earlier; });
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

/* Sorts the symbols that occur into memory->leaves; returns how many. The whole block calls. */
__device__ inline uint32_t sort_leaves(const uint32_t *counts, LengthsMemory *memory) {
  uint32_t occurring = 0, place = 0, leaf_count = 0;
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) occurring += counts[s] > 0;
  BookScan(memory->scan).ExclusiveSum(occurring, place, leaf_count);
  uint32_t merge_count = 0;
  while (32u << merge_count < leaf_count) merge_count++;
  bool const is_even = merge_count % 2 == 0;
  uint64_t *from = is_even ? memory->sorting : memory->leaves;
  uint64_t *to = is_even ? memory->leaves : memory->sorting;
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
  __syncthreads(); /* in order before they are used */
  return leaf_count;
}

__device__ inline uint32_t leaf_weight(const LengthsMemory &memory, uint32_t i) {
  return weight_of(memory.leaves[i]);
}

__device__ inline uint32_t package_weight(uint2 pair) {
  return (pair.x & ~kIsPackage) + (pair.y & ~kIsPackage);
}

/* Puts leaf j and the package of pair j in their places in the next list. */
__device__ inline void merge_pair(uint32_t j, uint32_t leaf_count, uint32_t pair_count, uint2 pair,
                                  const uint2 *pairs, const LengthsMemory &memory, uint32_t *next) {
  uint32_t const leaf = leaf_weight(memory, j), package = package_weight(pair);
  uint32_t packages_before = 0, leaves_before = 0; /* searched at once: each step waits */
  for (uint32_t step = first_step(leaf_count); step > 0; step /= 4) {
    packages_before += step * steps_on(packages_before, step, pair_count,
                                       [&](uint32_t i) { return package_weight(pairs[i]) < leaf; });
    leaves_before += step * steps_on(leaves_before, step, leaf_count,
                                     [&](uint32_t i) { return leaf_weight(memory, i) <= package; });
  }
  next[j + packages_before] = leaf;
  if (j < pair_count) next[j + leaves_before] = package | kIsPackage;
}

/* Notes which items of a list are packages, and makes the next list unless it is the last. */
__device__ inline void merge_list(uint32_t list, uint32_t leaf_count, uint32_t pair_count,
                                  LengthsMemory *memory) {
  const uint2 *const pairs = memory->items[list % 2];
  uint32_t *const next = reinterpret_cast<uint32_t *>(memory->items[(list + 1) % 2]);
  for (uint32_t j = threadIdx.x; j < kMostPairs; j += LengthsPolicy::kThreads) {
    uint2 const pair = j < pair_count ? pairs[j] : make_uint2(0, 0);
    uint32_t const first = __ballot_sync(kAllLanes, (pair.x & kIsPackage) != 0);
    uint32_t const second = __ballot_sync(kAllLanes, (pair.y & kIsPackage) != 0);
    if (threadIdx.x % 32 == 0) {
      memory->packages[list][0][j / 32] = first;
      memory->packages[list][1][j / 32] = second;
    }
    /* There are fewer pairs than leaves. */
    if (list + 1 < kLists && j < leaf_count)
      merge_pair(j, leaf_count, pair_count, pair, pairs, *memory, next);
  }
}

/* Counts the packages in the words before each word of a list. One warp per list. */
__device__ inline void sum_packages(LengthsMemory *memory) {
  uint32_t const list = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (list >= kLists) return;
  auto const in_word = [&](uint32_t word) {
    return word < kPairWords ? (uint32_t)__popc(memory->packages[list][0][word]) +
                                   (uint32_t)__popc(memory->packages[list][1][word])
                             : 0;
  };
  static_assert(kPairWords <= 64, "two words a lane");
  uint32_t const first = in_word(2 * lane), both = first + in_word(2 * lane + 1);
  uint32_t const sum = sum_to_lane(both, lane);
  if (2 * lane < kPairWords) memory->packages_before[list][2 * lane] = (uint16_t)(sum - both);
  if (2 * lane + 1 < kPairWords)
    memory->packages_before[list][2 * lane + 1] = (uint16_t)(sum - both + first);
}

/* Counts leaves among the items taken from each list: 2 n - 2 of the last list, then all that the
 * taken packages hold. One thread calls. */
__device__ inline void take_leaves(uint32_t leaf_count, LengthsMemory *memory) {
  uint32_t pairs_taken = leaf_count - 1;
  for (int list = kLists - 1; list >= 0; list--) {
    uint32_t const word = min(pairs_taken / 32, kPairWords - 1);
    uint32_t const mask = (1u << pairs_taken % 32) - 1;
    uint32_t const packages = memory->packages_before[list][word] +
                              (uint32_t)__popc(memory->packages[list][0][word] & mask) +
                              (uint32_t)__popc(memory->packages[list][1][word] & mask);
    memory->leaves_taken[list] = 2 * pairs_taken - packages;
    pairs_taken = packages;
  }
}

/* Optimal lengths of at most SZG_TILE_CODE_BITS for counts, at least two of which are not 0.
 * lengths: zeroed by the caller. The whole block of LengthsPolicy::kThreads calls, and synchronizes
 * before it reads. */
__device__ inline void find_lengths(const uint32_t *counts, LengthsMemory *memory,
                                    uint8_t *lengths) {
  uint32_t const leaf_count = sort_leaves(counts, memory);
  uint32_t *const first_list = reinterpret_cast<uint32_t *>(memory->items[0]);
  for (uint32_t i = threadIdx.x; i < leaf_count; i += LengthsPolicy::kThreads)
    first_list[i] = leaf_weight(*memory, i);
  uint32_t item_count = leaf_count;
  for (uint32_t list = 0; list < kLists; list++) {
    __syncthreads(); /* the list is complete, and nobody reads the one before */
    merge_list(list, leaf_count, item_count / 2, memory);
    item_count = leaf_count + item_count / 2;
  }
  __syncthreads(); /* all packages noted */
  sum_packages(memory);
  __syncthreads(); /* sums complete */
  if (threadIdx.x == 0) take_leaves(leaf_count, memory);
  __syncthreads(); /* every list's leaves known */
  for (uint32_t i = threadIdx.x; i < leaf_count; i += LengthsPolicy::kThreads) {
    uint8_t length = 0;
#pragma unroll
    for (uint32_t list = 0; list < kLists; list++) length += i < memory->leaves_taken[list];
    lengths[(uint32_t)memory->leaves[i]] = length;
  }
}

} // namespace szg

#endif
