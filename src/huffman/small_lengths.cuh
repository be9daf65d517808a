/* small_lengths.cuh - a block of threads finds the code lengths of a small book.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread has a symbol, and twice as many threads sort: only latency matters.
 */
#ifndef SZG_SMALL_LENGTHS_CUH
#define SZG_SMALL_LENGTHS_CUH

#include "core/warp.cuh"
#include "huffman/package_merge.cuh"
#include "huffman/tokens_books_core.h"

namespace szg {

struct SmallBookPolicy {
  static constexpr uint32_t kSymbols = 288;
  static constexpr uint32_t kThreads = 2 * kSymbols;
  static constexpr uint32_t kStripes = kSymbols / 32;
};
static_assert(SZG_TOKENS_MOST_SYMBOLS <= SmallBookPolicy::kSymbols, "a thread of each half");

/* A key is a count above the symbol. Weights of uint32_t are for sums of counts below this. */
constexpr uint32_t kKeyBits = 9;
constexpr uint64_t kSmallCounts = (uint64_t)1 << (32 - kKeyBits);
static_assert(SZG_TOKENS_MOST_SYMBOLS <= 1 << kKeyBits, "a symbol fits in a key");
static_assert((SZG_LEVELS_CODE_BITS + 1) * kSmallCounts < 1u << 31, "the heaviest package");

template <class Weight>
struct alignas(4 * sizeof(Weight)) FourKeys {
  Weight keys[4];
};

/* Weight: uint32_t, or uint64_t for counts below 2^55. */
template <class Weight>
struct SmallBookMemory {
  FourKeys<Weight> keys[SmallBookPolicy::kSymbols / 4]; /* of leaves, by symbol */
  uint32_t occurring[SmallBookPolicy::kStripes];        /* a bit for each that is a leaf */
  uint16_t half_ranks[SmallBookPolicy::kSymbols];       /* by place among the keys */
  MergeMemory<Weight, SmallBookPolicy::kSymbols, SZG_LEVELS_CODE_BITS> merge;
};

/* Collects the keys of symbols that occur; returns how many do. count: of symbol threadIdx.x, 0 in
 * the second half. The whole block calls. */
template <class Weight>
__device__ uint32_t collect_keys(uint64_t count, SmallBookMemory<Weight> *memory) {
  constexpr uint32_t kStripes = SmallBookPolicy::kStripes;
  uint32_t const s = threadIdx.x, lane = s % 32, stripe = s / 32;
  uint32_t const occurring = __ballot_sync(kAllLanes, count > 0);
  if (stripe < kStripes && lane == 0) memory->occurring[stripe] = occurring;
  __syncthreads(); /* it is known which symbols occur */
  uint32_t place = rank_among(occurring, lane), leaf_count = 0;
  for (uint32_t i = 0; i < kStripes; i++) {
    uint32_t const own = (uint32_t)__popc((int)memory->occurring[i]);
    if (i < stripe) place += own;
    leaf_count += own;
  }
  if (count > 0) memory->keys[place / 4].keys[place % 4] = (Weight)(count << kKeyBits | s);
  /* what is behind the last, up to a multiple of 4, is greater than any */
  uint32_t const behind = leaf_count + s;
  if (s < 4 && behind < SmallBookPolicy::kSymbols)
    memory->keys[behind / 4].keys[behind % 4] = ~(Weight)0;
  __syncthreads(); /* keys are there */
  return leaf_count;
}

/* Sorts the leaves by (count, symbol). Each half of the block compares with half of the keys. The
 * whole block calls. */
template <class Weight>
__device__ void sort_leaves(uint32_t leaf_count, SmallBookMemory<Weight> *memory) {
  constexpr uint32_t kHalf = SmallBookPolicy::kSymbols;
  uint32_t const half = threadIdx.x / kHalf, j = threadIdx.x % kHalf;
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
  if (half == 0 && is_leaf)
    memory->merge.set_leaf(rank + memory->half_ranks[j], key >> kKeyBits,
                           (uint32_t)key & ((1u << kKeyBits) - 1));
  __syncthreads(); /* leaves are in order */
}

/* Finds optimal lengths. count: as in collect_keys. lengths: in shared memory, [kSymbols]. The
 * whole block calls. */
template <class Weight>
__device__ void find_lengths(uint64_t count, SmallBookMemory<Weight> *memory, uint8_t *lengths) {
  uint32_t const leaf_count = collect_keys(count, memory);
  if (threadIdx.x < SmallBookPolicy::kSymbols) lengths[threadIdx.x] = 0;
  sort_leaves(leaf_count, memory);
  merge_packages<SmallBookPolicy::kThreads>(leaf_count, &memory->merge, lengths);
  __syncthreads(); /* lengths are complete */
}

} // namespace szg

#endif
