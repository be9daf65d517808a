/* package_merge.cuh - a block of threads finds optimal lengths for the codes of a book.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Package-merge, in the order of codebook.c. The first list has the leaves alone, each later one
 * the leaves and the packages of the list before, which are pairs of its items. Lists are merged by
 * rank: an item's place is its place among its kind plus the number of items of the other kind that
 * come before it. Leaves come before packages of equal weight.
 */
#ifndef SZG_PACKAGE_MERGE_CUH
#define SZG_PACKAGE_MERGE_CUH

#include "core/warp.cuh"

namespace szg {

/* Weight: uint32_t or uint64_t; kLists times the sum of all counts is below its highest bit.
 * kMostLeaves: a multiple of 32. kLists: the bits of the longest code. */
template <class WeightGiven, uint32_t kMostLeavesGiven, uint32_t kListsGiven>
struct MergeMemory {
  typedef WeightGiven Weight;
  static constexpr uint32_t kMostLeaves = kMostLeavesGiven, kLists = kListsGiven;
  static constexpr uint32_t kWords = kMostLeaves / 32;
  static constexpr Weight kIsPackage = (Weight)1 << (8 * sizeof(Weight) - 1); /* of an item */
  static_assert(kWords * 32 == kMostLeaves && kWords <= 64, "two words a lane");

  struct alignas(2 * sizeof(Weight)) Pair {
    Weight first, second;
  };
  /* Ascending by (count, symbol). */
  Weight leaves[kMostLeaves];
  uint16_t symbols[kMostLeaves];
  Pair items[2][kMostLeaves];           /* the current list and the next; under twice the leaves */
  uint32_t packages[kLists][2][kWords]; /* whether first and second items of pairs are */
  uint16_t packages_before[kLists][kWords];
  uint32_t leaves_taken[kLists];

  static __device__ __forceinline__ Weight package_weight(const Pair &pair) {
    return (pair.first + pair.second) & ~kIsPackage; /* two marks cancel each other */
  }
  __device__ __forceinline__ Weight *list(uint32_t number) { return &items[number % 2][0].first; }
  /* Sets a leaf, also of the first list. */
  __device__ __forceinline__ void set_leaf(uint32_t place, Weight weight, uint32_t symbol) {
    leaves[place] = list(0)[place] = weight;
    symbols[place] = (uint16_t)symbol;
  }
};

/* The first step of a search among item_count > 0 items; the next ones are half of it each. */
__device__ __forceinline__ uint32_t first_step(uint32_t item_count) {
  return 1u << (31 - __clz((int)item_count));
}

/* Puts leaf j and the package of pair j in their places in the next list. */
template <class Memory>
__device__ __forceinline__ void merge_pair(uint32_t j, uint32_t leaf_count, uint32_t pair_count,
                                           typename Memory::Weight package, uint32_t list,
                                           Memory *memory) {
  typedef typename Memory::Weight Weight;
  auto const *const pairs = memory->items[list % 2];
  Weight *const next = memory->list(list + 1);
  Weight const leaf = memory->leaves[j];
  uint32_t packages_before = 0, leaves_before = 0; /* searched at once: each step waits */
#pragma unroll 1
  for (uint32_t step = first_step(leaf_count); step > 0; step /= 2) {
    uint32_t const next_package = packages_before + step, next_leaf = leaves_before + step;
    Weight const weight = Memory::package_weight(pairs[min(next_package, pair_count) - 1]);
    if (next_package <= pair_count && weight < leaf) packages_before = next_package;
    if (next_leaf <= leaf_count && memory->leaves[next_leaf - 1] <= package)
      leaves_before = next_leaf;
  }
  next[j + packages_before] = leaf;
  if (j < pair_count) next[j + leaves_before] = package | Memory::kIsPackage;
}

/* Notes which items of a list are packages, and makes the next list unless it is the last. */
template <uint32_t kThreads, class Memory>
__device__ __forceinline__ void merge_list(uint32_t list, uint32_t leaf_count, uint32_t pair_count,
                                           Memory *memory) {
  for (uint32_t j = threadIdx.x; j < Memory::kMostLeaves; j += kThreads) {
    typename Memory::Pair pair = {};
    if (j < pair_count) pair = memory->items[list % 2][j];
    uint32_t const first = __ballot_sync(kAllLanes, (pair.first & Memory::kIsPackage) != 0);
    uint32_t const second = __ballot_sync(kAllLanes, (pair.second & Memory::kIsPackage) != 0);
    if (threadIdx.x % 32 == 0) {
      memory->packages[list][0][j / 32] = first;
      memory->packages[list][1][j / 32] = second;
    }
    /* There are fewer pairs than leaves. */
    if (list + 1 < Memory::kLists && j < leaf_count)
      merge_pair(j, leaf_count, pair_count, Memory::package_weight(pair), list, memory);
  }
}

/* Counts the packages in the words before each word of a list. One warp per list. */
template <class Memory>
__device__ __forceinline__ void sum_packages(uint32_t list, Memory *memory) {
  constexpr uint32_t kWords = Memory::kWords;
  uint32_t const lane = threadIdx.x % 32;
  auto const in_word = [=](uint32_t word) {
    return word < kWords ? (uint32_t)__popc((int)memory->packages[list][0][word]) +
                               (uint32_t)__popc((int)memory->packages[list][1][word])
                         : 0;
  };
  uint32_t const first = in_word(2 * lane), both = first + in_word(2 * lane + 1);
  uint32_t const sum = sum_to_lane(both, lane);
  uint16_t *const before = memory->packages_before[list];
  if (2 * lane < kWords) before[2 * lane] = (uint16_t)(sum - both);
  if (2 * lane + 1 < kWords) before[2 * lane + 1] = (uint16_t)(sum - both + first);
}

/* Counts leaves among the items taken from each list: 2 n - 2 of the last list, then all that the
 * taken packages hold. One thread calls. */
template <class Memory>
__device__ __forceinline__ void take_leaves(uint32_t leaf_count, Memory *memory) {
  uint32_t pairs_taken = leaf_count - 1;
  for (int list = Memory::kLists - 1; list >= 0; list--) {
    uint32_t const word = min(pairs_taken / 32, Memory::kWords - 1);
    uint32_t const mask = lanes_below(pairs_taken % 32);
    uint32_t const packages = memory->packages_before[list][word] +
                              (uint32_t)__popc((int)(memory->packages[list][0][word] & mask)) +
                              (uint32_t)__popc((int)(memory->packages[list][1][word] & mask));
    memory->leaves_taken[list] = 2 * pairs_taken - packages;
    pairs_taken = packages;
  }
}

/* Sets the lengths of the leaves' symbols, from the leaves and the first list. A lone leaf gets
 * length 1. lengths: in shared memory; those of other symbols stay as they are. The whole block of
 * kThreads calls, after a barrier, and synchronizes before it reads. */
template <uint32_t kThreads, class Memory>
__device__ __forceinline__ void merge_packages(uint32_t leaf_count, Memory *memory,
                                               uint8_t *lengths) {
  static_assert(Memory::kLists <= kThreads / 32, "a warp a list");
  if (leaf_count < 2) {
    if (threadIdx.x < leaf_count) lengths[memory->symbols[threadIdx.x]] = 1;
    return;
  }
  uint32_t item_count = leaf_count;
#pragma unroll 1
  for (uint32_t list = 0; list < Memory::kLists; list++) {
    merge_list<kThreads>(list, leaf_count, item_count / 2, memory);
    item_count = leaf_count + item_count / 2;
    __syncthreads(); /* the next list is complete, and nobody reads this one */
  }
  if (threadIdx.x / 32 < Memory::kLists) sum_packages(threadIdx.x / 32, memory);
  __syncthreads(); /* sums complete */
  if (threadIdx.x == 0) take_leaves(leaf_count, memory);
  __syncthreads(); /* every list's leaves known */
  for (uint32_t i = threadIdx.x; i < leaf_count; i += kThreads) {
    uint8_t length = 0;
#pragma unroll
    for (uint32_t list = 0; list < Memory::kLists; list++) length += i < memory->leaves_taken[list];
    lengths[memory->symbols[i]] = length;
  }
}

} // namespace szg

#endif
