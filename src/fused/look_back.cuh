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

/* The sum of all chunks before this one, whose own is published; makes the total known. The whole
 * warp calls. */
__device__ __forceinline__ uint64_t sum_before(uint64_t *states, uint32_t chunk, uint64_t own_sum) {
  if (chunk == 0) return 0;
  uint32_t const lane = threadIdx.x % 32;
  uint64_t sum = 0;
  uint32_t end = chunk; /* chunks from here on are in `sum` */
  for (;;) {
    bool const has_chunk = lane < end;
    uint64_t state = kStateTotal;
    do {
      if (has_chunk) state = load_state(&states[end - 1 - lane]);
    } while (__any_sync(kAllLanes, state < kStateSum));
    unsigned const totals = __ballot_sync(kAllLanes, state >= kStateTotal);
    uint32_t const last = totals ? (uint32_t)__ffs((int)totals) - 1 : 31;
    sum += warp_sum_u64(lane <= last ? state & kStateNumber : 0);
    if (totals) break;
    end -= 32;
  }
  if (lane == 0) store_state(&states[chunk], kStateTotal | (sum + own_sum));
  return sum;
}

} // namespace szg

#endif
