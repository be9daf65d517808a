/* warp.cuh - what the 32 lanes of a warp find out together: ranks and sums.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of lanes is a word, as __ballot_sync gives it: bit l says whether lane l is in the set.
 * lane: threadIdx.x % 32. The whole warp must call lanes_alike and the sums.
 */
#ifndef SZG_WARP_CUH
#define SZG_WARP_CUH

#include <stdint.h>

namespace szg {

constexpr uint32_t kAllLanes = 0xFFFFFFFFu;

/* ---- sets of lanes ---- */

__device__ __forceinline__ uint32_t lanes_below(uint32_t lane) { return (1u << lane) - 1; }
__device__ __forceinline__ uint32_t lanes_up_to(uint32_t lane) { return kAllLanes >> (31 - lane); }

/* How many lanes of the set are below this one. */
__device__ __forceinline__ uint32_t rank_among(uint32_t lanes, uint32_t lane) {
  return (uint32_t)__popc((int)(lanes & lanes_below(lane)));
}

/* The highest lane of the set; 0 if the set is empty. */
__device__ __forceinline__ int last_of(uint32_t lanes) {
  return lanes ? 31 - __clz((int)lanes) : 0;
}

/* The lanes that have the same number, of which only the low kBits bits count. */
template <int kBits>
__device__ __forceinline__ uint32_t lanes_alike(uint32_t number) {
  uint32_t alike = kAllLanes;
#pragma unroll
  for (int bit = 0; bit < kBits; bit++) {
    uint32_t const set = __ballot_sync(kAllLanes, number >> bit & 1);
    alike &= number >> bit & 1 ? set : ~set;
  }
  return alike;
}

/* ---- registers ---- */

/* The value itself. The compiler keeps it, instead of making it anew wherever it is used. */
template <class Number>
__device__ __forceinline__ Number kept(Number value) {
  return __shfl_sync(kAllLanes, value, (int)(threadIdx.x % 32));
}

/* ---- sums ---- */

/* The sum over all lanes, for each of them. */
template <class Number>
__device__ __forceinline__ Number warp_sum(Number value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

/* The greatest of all lanes' numbers, for each of them; and the least. */
template <class Number>
__device__ __forceinline__ Number warp_most(Number number) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    number = max(number, __shfl_xor_sync(kAllLanes, number, step));
  return number;
}
__device__ __forceinline__ uint32_t warp_least(uint32_t number) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    number = min(number, __shfl_xor_sync(kAllLanes, number, step));
  return number;
}

/* The sum over this lane and the lower ones, of each kWidth lanes on their own. */
template <uint32_t kWidth = 32, class Number>
__device__ __forceinline__ Number sum_to_lane(Number value, uint32_t lane) {
#pragma unroll
  for (uint32_t step = 1; step < kWidth; step *= 2) {
    Number const below = __shfl_up_sync(kAllLanes, value, step);
    if (lane % kWidth >= step) value += below;
  }
  return value;
}

/* ---- words ---- */

/* Copies words, kAtOnce for each lane in flight. */
template <uint32_t kAtOnce>
__device__ __forceinline__ void copy_words(const uint32_t *from, uint32_t count, uint32_t *to) {
  uint32_t i = threadIdx.x % 32;
#pragma unroll 1
  for (; i + 32 * (kAtOnce - 1) < count; i += 32 * kAtOnce) {
    uint32_t words[kAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; k++) words[k] = from[i + 32 * k];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; k++) to[i + 32 * k] = words[k];
  }
#pragma unroll 1
  for (; i < count; i += 32) to[i] = from[i];
}

} // namespace szg

#endif
