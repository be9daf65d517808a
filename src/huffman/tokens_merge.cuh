/* tokens_merge.cuh - optimal lengths for the codes of a small book, by a block.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Package-merge in the order of codebook.c. Lists are merged by rank: an item's place is its place
 * in its own list plus the number of items of the other list that come before it. One half of the
 * block looks for the places of leaves, the other for those of packages, so that a list takes as
 * long as one search. Only latency matters.
 */
#ifndef SZG_TOKENS_MERGE_CUH
#define SZG_TOKENS_MERGE_CUH

#include "core/warp.cuh"
#include "huffman/tokens_books_core.h"

namespace szg {

struct MergePolicy {
  static constexpr uint32_t kHalf = 288;
  static constexpr uint32_t kThreads = 2 * kHalf;
  static constexpr uint32_t kStripes = kHalf / 32; /* of symbols */
};
static_assert(SZG_TOKENS_MOST_SYMBOLS <= MergePolicy::kHalf, "a thread of each half has a symbol");

constexpr uint32_t kMergeLists = SZG_LEVELS_CODE_BITS;
/* A key is a count above the symbol. Weights of uint32_t are for sums of counts below this. */
constexpr uint32_t kKeyBits = 9;
constexpr uint64_t kSmallCounts = (uint64_t)1 << (32 - kKeyBits);
static_assert(SZG_TOKENS_MOST_SYMBOLS <= 1 << kKeyBits, "a symbol fits in a key");
static_assert(kMergeLists * kSmallCounts <= UINT32_MAX, "a package has a leaf once in each list");

template <class Weight>
struct alignas(4 * sizeof(Weight)) FourKeys {
  Weight keys[4];
};

/* Weight: uint32_t, or uint64_t for counts below 2^55. */
template <class Weight>
struct MergeMemory {
  FourKeys<Weight> keys[MergePolicy::kHalf / 4]; /* of leaves, by symbol */
  Weight leaves[MergePolicy::kHalf];             /* ascending */
  Weight items[2][2 * MergePolicy::kHalf];       /* the list before and the current one */
  uint32_t occurring[MergePolicy::kStripes];     /* a bit for each symbol that is a leaf */
  uint16_t half_ranks[MergePolicy::kHalf];       /* by place among the keys */
  uint16_t symbols[MergePolicy::kHalf];          /* of leaves */
};

/* Collects the keys of symbols that occur; returns how many do. count: of symbol threadIdx.x, 0 in
 * the second half. The whole block calls. */
template <class Weight>
__device__ uint32_t collect_keys(uint64_t count, MergeMemory<Weight> *memory) {
  uint32_t const s = threadIdx.x, lane = s % 32, stripe = s / 32;
  uint32_t const occurring = __ballot_sync(kAllLanes, count > 0);
  if (stripe < MergePolicy::kStripes && lane == 0) memory->occurring[stripe] = occurring;
  __syncthreads(); /* it is known which symbols occur */
  uint32_t place = rank_among(occurring, lane), leaf_count = 0;
  for (uint32_t i = 0; i < MergePolicy::kStripes; i++) {
    uint32_t const own = (uint32_t)__popc((int)memory->occurring[i]);
    if (i < stripe) place += own;
    leaf_count += own;
  }
  if (count > 0) memory->keys[place / 4].keys[place % 4] = (Weight)(count << kKeyBits | s);
  /* what is behind the last, up to a multiple of 4, is greater than any */
  uint32_t const behind = leaf_count + s;
  if (s < 4 && behind < MergePolicy::kHalf) memory->keys[behind / 4].keys[behind % 4] = ~(Weight)0;
  __syncthreads(); /* keys are there */
  return leaf_count;
}

/* Sorts the leaves by (count, symbol). Each half of the block compares with half of the keys. The
 * whole block calls. */
template <class Weight>
__device__ void sort_leaves(uint32_t leaf_count, MergeMemory<Weight> *memory) {
  uint32_t const half = threadIdx.x / MergePolicy::kHalf, j = threadIdx.x % MergePolicy::kHalf;
  bool const is_leaf = j < leaf_count;
  Weight const key = is_leaf ? memory->keys[j / 4].keys[j % 4] : 0;
  uint32_t rank = 0;
  if (is_leaf)
    for (uint32_t i = half; 4 * i < leaf_count; i += 2) {
      FourKeys<Weight> const others = memory->keys[i];
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) rank += others.keys[k] < key;
    }
  if (half == 1 && is_leaf) memory->half_ranks[j] = (uint16_t)rank;
  __syncthreads(); /* ranks among the second half's keys are there */
  if (half == 0 && is_leaf) {
    rank += memory->half_ranks[j];
    memory->leaves[rank] = memory->items[0][rank] = key >> kKeyBits;
    memory->symbols[rank] = (uint16_t)(key & ((1u << kKeyBits) - 1));
  }
  __syncthreads(); /* leaves are in order; the first list has nothing else */
}

/* How many of the first `count` items are before something. is_before(i) is monotone. */
template <class IsBefore>
__device__ __forceinline__ uint32_t count_before(uint32_t count, IsBefore is_before) {
  uint32_t found = 0;
  for (uint32_t step = count ? 1u << (31 - __clz((int)count)) : 0; step > 0; step /= 2) {
    uint32_t const next = found + step;
    if (next <= count && is_before(next - 1)) found = next;
  }
  return found;
}

/* Makes a list after the first of the leaves and of the packages of the list before; returns the
 * place of leaf j in the first half of the block. Leaves come before packages of equal weight. */
template <class Weight>
__device__ __forceinline__ uint32_t merge_list(uint32_t list, uint32_t leaf_count,
                                               uint32_t package_count,
                                               MergeMemory<Weight> *memory) {
  const Weight *const from = memory->items[(list + 1) % 2], *const leaves = memory->leaves;
  Weight *const to = memory->items[list % 2];
  auto const package_at = [=](uint32_t i) { return from[2 * i] + from[2 * i + 1]; };
  if (threadIdx.x >= MergePolicy::kHalf) {
    uint32_t const j = threadIdx.x - MergePolicy::kHalf;
    if (j >= package_count) return 0;
    Weight const weight = package_at(j);
    to[j + count_before(leaf_count, [=](uint32_t i) { return leaves[i] <= weight; })] = weight;
    return 0;
  }
  uint32_t const j = threadIdx.x;
  if (j >= leaf_count) return 0;
  Weight const weight = leaves[j];
  uint32_t const place =
      j + count_before(package_count, [=](uint32_t i) { return package_at(i) < weight; });
  to[place] = weight;
  return place;
}

/* Finds optimal lengths. count: as in collect_keys. lengths: in shared memory, [kHalf]. The whole
 * block calls. */
template <class Weight>
__device__ void find_lengths(uint64_t count, MergeMemory<Weight> *memory, uint8_t *lengths) {
  uint32_t const j = threadIdx.x, leaf_count = collect_keys(count, memory);
  if (j < MergePolicy::kHalf) lengths[j] = 0;
  sort_leaves(leaf_count, memory);
  if (leaf_count < 2) {
    if (j < leaf_count) lengths[memory->symbols[j]] = 1;
    __syncthreads(); /* lengths are complete */
    return;
  }
  uint32_t places[kMergeLists], item_count = leaf_count;
  places[0] = j;
#pragma unroll
  for (uint32_t list = 1; list < kMergeLists; list++) {
    places[list] = merge_list(list, leaf_count, item_count / 2, memory);
    item_count = leaf_count + item_count / 2;
    __syncthreads(); /* the list is complete, and nobody reads the one before */
  }
  /* The first 2 n - 2 items of the last list are taken, and all that their packages hold. */
  uint32_t taken = 2 * leaf_count - 2, length = 0;
#pragma unroll
  for (uint32_t i = 0; i < kMergeLists; i++) {
    bool const is_taken = j < leaf_count && places[kMergeLists - 1 - i] < taken;
    length += is_taken;
    taken = 2 * (taken - (uint32_t)__syncthreads_count(is_taken));
  }
  if (j < leaf_count) lengths[memory->symbols[j]] = (uint8_t)length;
  __syncthreads(); /* lengths are complete */
}

} // namespace szg

#endif
