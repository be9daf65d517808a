/* lane_lengths.cuh - how long the 32 lanes of a coded tile are, as its head says.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A head has the length of the shortest lane and, with as many bits as the longest one needs, what
 * each lane has above that: its excess. Lanes follow one another without gaps, so their places are
 * running sums of the lengths.
 */
#ifndef SZG_LANE_LENGTHS_CUH
#define SZG_LANE_LENGTHS_CUH

#include "core/bit_reader.cuh"
#include "core/warp.cuh"

namespace szg {

struct LaneLengths {
  uint32_t least, width; /* of the shortest lane; bits of an excess */
  uint32_t end;          /* where this lane ends: the sum of its bits and those of lower lanes */
};

/* least_bits: lane_bits, or UINT32_MAX for a lane that does not count as the shortest. The whole
 * warp calls. The three chains of shuffles go side by side, so that they wait together. */
__device__ __forceinline__ LaneLengths measure_lanes(uint32_t lane_bits, uint32_t least_bits,
                                                     uint32_t lane) {
  uint32_t end = lane_bits, most = lane_bits, least = least_bits;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    uint32_t const below = __shfl_up_sync(kAllLanes, end, step);
    if (lane >= step) end += below;
    most = max(most, __shfl_xor_sync(kAllLanes, most, (int)step));
    least = min(least, __shfl_xor_sync(kAllLanes, least, (int)step));
  }
  return {least, 32 - (uint32_t)__clz((int)(most - least)), end};
}

/* The excess at bit `at` of a head; high and low: the words that it begins in and after that. */
__device__ __forceinline__ uint32_t excess_at(uint32_t high, uint32_t low, uint32_t at,
                                              uint32_t width) {
  return width ? bits_from(low, high, at) >> (32 - width) : 0;
}

} // namespace szg

#endif
