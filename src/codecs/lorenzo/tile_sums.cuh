/* tile_sums.cuh - a group's deltas to lattice points: a warp takes the sums of szg_tile_sum.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pairs[i], i = 0 .. 3, holds rows i and i + 4 of the group at the lane's place. Sums along y and z
 * stay in the lane; for sums along x the points go through shared memory, so that each lane then
 * has four neighbours of one pair of rows, in storage order. Along an axis outside the set only the
 * edge is summed: the points with coordinate 0 on all axes of the set.
 */
#ifndef SZG_TILE_SUMS_CUH
#define SZG_TILE_SUMS_CUH

#include "codecs/lorenzo/point_pair.cuh"
#include "codecs/lorenzo/tile_core.h"

namespace szg {

constexpr int kPairs = SZG_GROUP_ROWS / 2;

struct AxesSet {
  bool x, y, z;
};
__device__ __forceinline__ AxesSet axes_set(uint32_t axes) {
  return {(axes & SZG_AXIS_X) != 0, (axes & SZG_AXIS_Y) != 0, (axes & SZG_AXIS_Z) != 0};
}

/* Inclusive sums over each kWidth lanes. */
template <int kWidth, class Pair>
__device__ __forceinline__ Pair lane_sums(Pair pair) {
  pair = pair.template with_below<1, kWidth>();
  pair = pair.template with_below<2, kWidth>();
  pair = pair.template with_below<4, kWidth>();
  if (kWidth > 8) pair = pair.template with_below<8, kWidth>();
  if (kWidth > 16) pair = pair.template with_below<16, kWidth>();
  return pair;
}

template <class Pair>
__device__ __forceinline__ Pair without_low(Pair pair) {
  return pair - Pair::of(pair.low(), 0);
}

/* Sums that a tile carries from group to group. */
template <class Pair, int kDims>
struct LaneSums;

/* 3-D: a group is a plane. */
template <class Pair>
struct LaneSums<Pair, 3> {
  Pair above[kPairs]; /* the plane before, or the edge's sums so far */

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int i = 0; i < kPairs; i++) above[i] = Pair::of(0, 0);
  }

  static __device__ __forceinline__ void along_y(Pair (&pairs)[kPairs]) {
#pragma unroll
    for (int i = 1; i < kPairs; i++) pairs[i] = pairs[i] + pairs[i - 1];
    Pair const lower_rows = pairs[kPairs - 1].raised();
#pragma unroll
    for (int i = 0; i < kPairs; i++) pairs[i] = pairs[i] + lower_rows;
  }

  __device__ __forceinline__ void along_z(Pair (&pairs)[kPairs]) {
#pragma unroll
    for (int i = 0; i < kPairs; i++) above[i] = pairs[i] = pairs[i] + above[i];
  }

  /* Sums along the edge of a set that lacks an axis. */
  __device__ __forceinline__ void along_edge(AxesSet set, uint32_t plane, unsigned lane,
                                             Pair (&pairs)[kPairs]) {
    bool const is_edge_lane = !set.x || lane == 0;
    if (!set.z && is_edge_lane) {
      if (set.y) { /* only row 0 */
        Pair const rest = without_low(pairs[0]);
        above[0] = above[0] + Pair::of(pairs[0].low(), 0);
        pairs[0] = rest + above[0];
      } else {
        along_z(pairs);
      }
    }
    if (set.z && plane > 0) return;
    if (!set.y && is_edge_lane) along_y(pairs);
    if (set.x) return;
    if (set.y) {
      Pair const rest = without_low(pairs[0]);
      pairs[0] = rest + lane_sums<SZG_LANES>(Pair::of(pairs[0].low(), 0));
    } else {
#pragma unroll
      for (int i = 0; i < kPairs; i++) pairs[i] = lane_sums<SZG_LANES>(pairs[i]);
    }
  }

  template <bool kHasAll>
  __device__ __forceinline__ void add(AxesSet set, uint32_t plane, unsigned lane,
                                      Pair (&pairs)[kPairs]) {
    if (!kHasAll) along_edge(set, plane, lane, pairs);
    if (kHasAll || set.y) along_y(pairs);
    if (kHasAll || set.z) along_z(pairs);
  }
};

/* 2-D: a group is four rows of 64 places; pairs[i] has half i % 2 of rows i / 2 and i / 2 + 2. */
template <class Pair>
struct LaneSums<Pair, 2> {
  Pair row_before[2]; /* of each half, in both points of the pair */

  __device__ __forceinline__ void start() { row_before[0] = row_before[1] = Pair::of(0, 0); }

  __device__ __forceinline__ void along_y(int half, Pair (&pairs)[kPairs]) {
    pairs[half + 2] = pairs[half + 2] + pairs[half];
    Pair const before = pairs[half + 2].raised() + row_before[half];
    pairs[half] = pairs[half] + before;
    pairs[half + 2] = pairs[half + 2] + before;
    typename Pair::Point const last = pairs[half + 2].high();
    row_before[half] = Pair::of(last, last);
  }

  template <bool kHasAll>
  __device__ __forceinline__ void add(AxesSet set, uint32_t group, unsigned lane,
                                      Pair (&pairs)[kPairs]) {
    if (!kHasAll && !set.x && group == 0) { /* the edge is the first row of 64 */
      typename Pair::Point first_half_sum = 0;
#pragma unroll
      for (int half = 0; half < 2; half++) {
        Pair const rest = without_low(pairs[half]);
        Pair sums = lane_sums<SZG_LANES>(Pair::of(pairs[half].low(), 0));
        if (half == 1) sums = sums + Pair::of(first_half_sum, 0);
        if (half == 0) first_half_sum = sums.from_lane(SZG_LANES - 1).low();
        pairs[half] = rest + sums;
      }
    }
    if (kHasAll || set.y) {
      along_y(0, pairs);
      along_y(1, pairs);
    } else if (lane == 0) { /* the edge is the first column */
      along_y(0, pairs);
    }
  }
};

/* 1-D: x is the only axis. */
template <class Pair>
struct LaneSums<Pair, 1> {
  __device__ __forceinline__ void start() {}
  template <bool kHasAll>
  __device__ __forceinline__ void add(AxesSet, uint32_t, unsigned, Pair (&)[kPairs]) {}
};

/* Lanes that share a row of the tile, once each lane has four neighbours. */
template <int kDims>
constexpr int kRowLanes = kDims == 3   ? 8
                          : kDims == 2 ? 16
                                       : 32;

/* Takes sums along x of four neighbours in a pair of rows, at places 4 (lane % 8) .. + 3 of
 * pairs[lane / 8]. carry: in 1-D, the last point of the group before, in both points. */
template <class Pair, int kDims>
__device__ __forceinline__ void sum_along_x(Pair *carry, Pair (&four)[4]) {
#pragma unroll
  for (int c = 1; c < 4; c++) four[c] = four[c] + four[c - 1];
  Pair const sum = lane_sums<kRowLanes<kDims>>(four[3]);
  Pair before = sum - four[3];
  if (kDims == 1) { /* rows 4 .. 7 come after rows 0 .. 3 */
    Pair const total = sum.from_lane(SZG_LANES - 1);
    before = before + total.raised() + *carry;
    typename Pair::Point const last = (total + total.raised() + *carry).high();
    *carry = Pair::of(last, last);
  }
#pragma unroll
  for (int c = 0; c < 4; c++) four[c] = four[c] + before;
}

} // namespace szg

#endif
