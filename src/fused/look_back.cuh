/* look_back.cuh - running totals over chunks of work that blocks take in order: one pass.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoupled look-back (Merrill and Garland, 2016). A chunk's state goes from nothing to its own sum
 * to the total up to and with it; each is one store of 64 bits. Blocks take chunks by an atomic
 * counter, and make a chunk's sum known before they wait for those before it: the lowest chunk that
 * is not known is always at work.
 */
#ifndef SZG_LOOK_BACK_CUH
#define SZG_LOOK_BACK_CUH

#include "predict/lorenzo.cuh"

namespace szg {

constexpr uint64_t kStateSum = (uint64_t)1 << 62, kStateTotal = (uint64_t)2 << 62;
constexpr uint64_t kStateNumber = kStateSum - 1;

__device__ __forceinline__ uint64_t load_state(const uint64_t *state) {
  return *(const volatile uint64_t *)state;
}
__device__ __forceinline__ void store_state(uint64_t *state, uint64_t value) {
  *(volatile uint64_t *)state = value;
}

__device__ __forceinline__ uint64_t warp_sum_u64(uint64_t value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

/* Makes a chunk's sum known. One thread calls. */
__device__ __forceinline__ void publish_sum(uint64_t *states, uint32_t chunk, uint64_t sum) {
  store_state(&states[chunk], (chunk == 0 ? kStateTotal : kStateSum) | sum);
}

/* States that a lane looks at together: it is the way to memory that takes its time. */
constexpr uint32_t kStatesAtOnce = 4;

/* The sum of all chunks before this one, whose own is published; makes the total known. The whole
 * warp calls. */
__device__ __forceinline__ uint64_t sum_before(uint64_t *states, uint32_t chunk, uint64_t own_sum) {
  if (chunk == 0) return 0;
  uint32_t const lane = threadIdx.x % 32;
  uint64_t sum = 0;
  unsigned totals = 0;
  for (uint32_t end = chunk; totals == 0; end -= 32 * kStatesAtOnce) { /* later ones are in `sum` */
    uint64_t seen[kStatesAtOnce];
    bool has_all;
    do {
      has_all = true;
#pragma unroll
      for (uint32_t i = 0; i < kStatesAtOnce; i++) {
        uint32_t const distance = 32 * i + lane;
        seen[i] = distance < end ? load_state(&states[end - 1 - distance]) : kStateTotal;
        has_all &= seen[i] >= kStateSum;
      }
    } while (!__all_sync(kAllLanes, has_all));
#pragma unroll
    for (uint32_t i = 0; i < kStatesAtOnce; i++) {
      if (totals != 0) continue;
      totals = __ballot_sync(kAllLanes, seen[i] >= kStateTotal);
      uint32_t const last = totals ? (uint32_t)__ffs((int)totals) - 1 : 31;
      sum += warp_sum_u64(lane <= last ? seen[i] & kStateNumber : 0);
    }
  }
  if (lane == 0) store_state(&states[chunk], kStateTotal | (sum + own_sum));
  return sum;
}

} // namespace szg

#endif
