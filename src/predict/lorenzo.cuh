/* lorenzo.cuh - what all kernels of this stage share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LORENZO_CUH
#define SZG_LORENZO_CUH

#include "core/warp.cuh"
#include "predict/lorenzo.h"
#include "quant/arithmetic.cuh"

namespace szg {

/* Takes 32 values of a tile's row, one per lane. Returns the lane's lattice point, or the one
 * before it if its value has none. `before`: the point before lane 0's, 0 at the row's start.
 * is_there: the lane has a value. The whole warp calls. */
template <class A>
__device__ __forceinline__ typename A::Point row_points(const szg_quantizer &k, typename A::Value x,
                                                        bool is_there, typename A::Point before,
                                                        bool *is_marked) {
  typename A::Point q;
  bool const on_lattice = A::lattice(k, x, &q);
  bool const is_fill = A::is_fill(k, x);
  *is_marked = is_there && !(on_lattice && A::within(k, x, A::restore(k, q)) && !is_fill);
  if (!__any_sync(kAllLanes, *is_marked)) return q; /* the usual case */
  unsigned const has_point = __ballot_sync(kAllLanes, !is_there || (on_lattice && !is_fill));
  unsigned const up_to_here = has_point & lanes_up_to(threadIdx.x % 32);
  typename A::Point const held = __shfl_sync(kAllLanes, q, last_of(up_to_here));
  return up_to_here ? held : before;
}

/* Whether a delta has a code: the same test as in difference.inc. */
template <class A>
__device__ bool has_code(typename A::Point delta, uint32_t radius) {
  typedef typename A::Unsigned Unsigned;
  return (Unsigned)delta + (Unsigned)(radius - 1) < (Unsigned)(2 * radius - 1);
}

/* The deltas of a tile's escapes, in order. */
struct EscapeSource {
  const uint8_t *escapes; /* of the tile */
  uint32_t count;         /* as the tile claims */
  uint32_t taken;
  unsigned width;

  /* Takes lane_count escapes for each lane, lower lanes first, and returns the rank of the lane's
   * first. The whole warp calls. */
  __device__ uint32_t begin_lanes(uint32_t lane_count) {
    uint32_t const sum = sum_to_lane(lane_count, threadIdx.x % 32);
    uint32_t const rank = taken + sum - lane_count;
    taken += __shfl_sync(kAllLanes, sum, 31);
    return rank;
  }

  /* The delta of that rank; 0 if there are fewer. */
  __device__ int64_t at(uint32_t rank) const {
    if (rank >= count) return 0;
    const uint8_t *const bytes = escapes + (size_t)rank * width;
    uint64_t value = 0;
#pragma unroll 1
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)bytes[i] << 8 * i;
    unsigned const unused_bits = 64 - 8 * width;
    return (int64_t)(value << unused_bits) >> unused_bits;
  }
};

/* The part of the frame that is wanted. */
template <class Value>
struct Window {
  Value *values;
  uint64_t first_value, value_count;
  __device__ bool has(uint64_t index) const { return index - first_value < value_count; }
};

} // namespace szg

#endif
