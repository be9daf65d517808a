/* lorenzo_full.cuh - full tiles with aligned rows: one warp per tile, eight neighbours per lane.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A full tile is 16 patches of 256 values, one after the other in code order; a lane has eight
 * consecutive values along x. So a patch is 8 rows of 32 values (a plane) in 3-D, 4 rows of 64 in
 * 2-D, a stretch in 1-D. Loads and stores are 16 bytes wide, seven of eight neighbours along x are
 * in the lane itself, and those along y are a shuffle away.
 */
#ifndef SZG_LORENZO_FULL_CUH
#define SZG_LORENZO_FULL_CUH

#include "predict/lorenzo.cuh"

namespace szg {

constexpr int kLaneValues = 8;

template <int kDims>
struct Patch {
  static constexpr uint32_t kRowLanes = kDims == 3 ? 4 : kDims == 2 ? 8 : 32;
  static constexpr uint32_t kRows = 32 / kRowLanes;
  static constexpr uint32_t kValues = 32 * kLaneValues;
  static constexpr uint32_t kCount = SZG_TILE_VALUES / kValues; /* patches of a tile */
};
static_assert(SZG_TILE_3D_X == 32 && SZG_TILE_3D_Y == 8, "a plane is a patch");
static_assert(SZG_TILE_2D_X == 64 && SZG_TILE_2D_Y % 4 == 0, "four rows are a patch");

template <int kDims>
__device__ bool is_full(const szg_tile &tile) {
  if (kDims == 3)
    return tile.x_extent == SZG_TILE_3D_X && tile.y_extent == SZG_TILE_3D_Y &&
           tile.z_extent == SZG_TILE_3D_Z;
  if (kDims == 2) return tile.x_extent == SZG_TILE_2D_X && tile.y_extent == SZG_TILE_2D_Y;
  return tile.x_extent == SZG_TILE_1D_X;
}

/* Where a lane's values in the first patch are in the field, and how far apart patches are. */
template <int kDims>
__device__ uint64_t lane_offset(const szg_tile &tile, uint32_t lane) {
  return tile.first_value + lane / Patch<kDims>::kRowLanes * tile.y_stride +
         lane % Patch<kDims>::kRowLanes * kLaneValues;
}
template <int kDims>
__device__ uint64_t patch_stride(const szg_tile &tile) {
  return kDims == 3   ? tile.z_stride
         : kDims == 2 ? Patch<kDims>::kRows * tile.y_stride
                      : Patch<kDims>::kValues;
}

/* Loads or stores eight values in 16-byte pieces. */
template <class Value>
__device__ __forceinline__ void load_lane(const Value *from, Value (&values)[kLaneValues]) {
  constexpr int kPieces = kLaneValues * sizeof(Value) / sizeof(uint4);
  union {
    uint4 pieces[kPieces];
    Value values[kLaneValues];
  } loaded;
#pragma unroll
  for (int i = 0; i < kPieces; i++) loaded.pieces[i] = __ldg((const uint4 *)(const void *)from + i);
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) values[i] = loaded.values[i];
}
template <class Value>
__device__ __forceinline__ void store_lane(const Value (&values)[kLaneValues], Value *to) {
  constexpr int kPieces = kLaneValues * sizeof(Value) / sizeof(uint4);
  union {
    uint4 pieces[kPieces];
    Value values[kLaneValues];
  } stored;
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) stored.values[i] = values[i];
#pragma unroll
  for (int i = 0; i < kPieces; i++) ((uint4 *)(void *)to)[i] = stored.pieces[i];
}

/* ---- the axes and the edge ---- */

/* A frame's set S of axes, for a lane of a patch. */
template <int kDims>
struct PatchAxes {
  bool x, y, z, is_all;
  bool is_first_lane, is_first_row; /* first of its row; in the patch's first row */

  __device__ PatchAxes(uint32_t axes, uint32_t lane)
      : x(axes & SZG_AXIS_X),
        y(axes & SZG_AXIS_Y),
        z(axes & SZG_AXIS_Z),
        is_all(axes == (1u << kDims) - 1),
        is_first_lane(lane % Patch<kDims>::kRowLanes == 0),
        is_first_row(lane < Patch<kDims>::kRowLanes) {}

  /* Whether the edge is in the patch: some value has coordinate 0 on all axes of S. */
  __device__ bool meets_edge(uint32_t patch) const {
    return patch == 0 || (kDims == 3 && !z) || (kDims == 2 && !y);
  }
  __device__ bool is_edge(uint32_t patch, int i) const {
    bool const has_y0 = is_first_row && (kDims == 3 || patch == 0);
    return (!x || (is_first_lane && i == 0)) && (!y || has_y0) && (!z || patch == 0);
  }
};

/* ---- values to deltas ---- */

/* Lattice points that the next patch needs. */
template <class Unsigned, int kDims>
struct DeltaState {
  Unsigned before[kDims == 1 ? 1 : kLaneValues]; /* plane, row or point before the patch */

  __device__ DeltaState() : before{} {}
};

/* Gives each value the one in the row before; the first row gets the last one's. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void turn_rows(const Unsigned (&values)[kLaneValues], uint32_t lane,
                                          Unsigned (&turned)[kLaneValues]) {
#pragma unroll
  for (int i = 0; i < kLaneValues; i++)
    turned[i] = __shfl_sync(kAllLanes, values[i], (int)(lane + 32 - Patch<kDims>::kRowLanes) % 32);
}

/* Differences along the given axes: z, then y, then x. turned: the turned points, in 2-D. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void patch_differences(const Unsigned (&points)[kLaneValues],
                                                  const Unsigned (&turned)[kLaneValues],
                                                  const DeltaState<Unsigned, kDims> &state,
                                                  const PatchAxes<kDims> &axes, bool along_x,
                                                  bool along_y, bool along_z, uint32_t lane,
                                                  Unsigned (&deltas)[kLaneValues]) {
#pragma unroll
  for (int i = 0; i < kLaneValues; i++)
    deltas[i] = points[i] - (kDims == 3 && along_z ? state.before[i] : 0);
  if (kDims == 3 && along_y) {
    Unsigned up[kLaneValues];
    turn_rows<Unsigned, kDims>(deltas, lane, up);
#pragma unroll
    for (int i = 0; i < kLaneValues; i++) deltas[i] -= axes.is_first_row ? 0 : up[i];
  }
  if (kDims == 2 && along_y) {
#pragma unroll
    for (int i = 0; i < kLaneValues; i++)
      deltas[i] -= axes.is_first_row ? state.before[i] : turned[i];
  }
  if (along_x) {
    Unsigned const left = __shfl_up_sync(kAllLanes, deltas[kLaneValues - 1], 1);
    Unsigned const before = axes.is_first_lane ? (kDims == 1 ? state.before[0] : 0) : left;
#pragma unroll
    for (int i = kLaneValues - 1; i > 0; i--) deltas[i] -= deltas[i - 1];
    deltas[0] -= before;
  }
}

/* A patch's deltas along S, including its edge. Updates the state for the next patch. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void patch_deltas(const Unsigned (&points)[kLaneValues],
                                             const PatchAxes<kDims> &axes, uint32_t patch,
                                             uint32_t lane, DeltaState<Unsigned, kDims> &state,
                                             Unsigned (&deltas)[kLaneValues]) {
  Unsigned turned[kLaneValues];
  if (kDims == 2) turn_rows<Unsigned, kDims>(points, lane, turned);
  if (axes.is_all) {
    patch_differences<Unsigned, kDims>(points, turned, state, axes, true, true, true, lane, deltas);
  } else {
    patch_differences<Unsigned, kDims>(points, turned, state, axes, axes.x, axes.y, axes.z, lane,
                                       deltas);
    if (axes.meets_edge(patch)) {
      Unsigned on_edge[kLaneValues];
      patch_differences<Unsigned, kDims>(points, turned, state, axes, true, true, true, lane,
                                         on_edge);
#pragma unroll
      for (int i = 0; i < kLaneValues; i++)
        if (axes.is_edge(patch, i)) deltas[i] = on_edge[i];
    }
  }
  if (kDims == 1) {
    state.before[0] = __shfl_sync(kAllLanes, points[kLaneValues - 1], 31);
  } else {
#pragma unroll
    for (int i = 0; i < kLaneValues; i++) state.before[i] = kDims == 2 ? turned[i] : points[i];
  }
}

/* Values without a point take the one before in the row. before: the row's, before the patch. */
template <class A, int kDims>
__device__ __forceinline__ void place_hold(const szg_quantizer &k,
                                           const typename A::Value (&values)[kLaneValues],
                                           typename A::Point before,
                                           typename A::Point (&points)[kLaneValues]) {
  uint32_t const lane = threadIdx.x % 32;
  typename A::Point last = 0;
  uint32_t has_point = 0;
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) {
    typename A::Point q;
    if (!A::lattice(k, values[i], &q) || A::is_fill(k, values[i])) continue;
    has_point |= 1u << i;
    last = q;
  }
  unsigned const lanes_of_row = kAllLanes << (lane - lane % Patch<kDims>::kRowLanes);
  unsigned const lanes = __ballot_sync(kAllLanes, has_point != 0) & lanes_of_row;
  unsigned const lanes_before = lanes & lanes_below(lane);
  typename A::Point const held = __shfl_sync(kAllLanes, last, last_of(lanes_before));
  if (lanes_before) before = held;
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) {
    if (has_point >> i & 1)
      before = points[i];
    else
      points[i] = before;
  }
}

/* Quantizes eight values. Returns whether one of them is exact or fill. */
template <class A, int kDims>
__device__ __forceinline__ bool quantize_lane(const szg_quantizer &k,
                                              const typename A::Value (&values)[kLaneValues],
                                              typename A::Point before,
                                              typename A::Point (&points)[kLaneValues]) {
  bool is_marked = false;
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) {
    bool const on_lattice = A::lattice(k, values[i], &points[i]);
    bool const is_within = A::within(k, values[i], A::restore(k, points[i]));
    is_marked |= !(on_lattice && is_within) || A::is_fill(k, values[i]);
  }
  if (__any_sync(kAllLanes, is_marked)) place_hold<A, kDims>(k, values, before, points);
  return is_marked;
}

/* ---- deltas to lattice points ---- */

/* Sums that the next patch needs. */
template <class Unsigned, int kDims>
struct SumsState {
  Unsigned before[kDims == 1 ? 1 : kLaneValues]; /* plane, row or point before the patch */

  __device__ SumsState() : before{} {}
};

template <class Unsigned, int kDims>
__device__ __forceinline__ void sum_along_x(Unsigned (&values)[kLaneValues], uint32_t lane,
                                            SumsState<Unsigned, kDims> &state) {
  constexpr uint32_t kRowLanes = Patch<kDims>::kRowLanes;
#pragma unroll
  for (int i = 1; i < kLaneValues; i++) values[i] += values[i - 1];
  Unsigned const own = values[kLaneValues - 1];
  Unsigned const sum = szg::sum_to_lane<kRowLanes>(own, lane);
  Unsigned before = sum - own;
  if (kDims == 1) {
    before += state.before[0];
    state.before[0] += __shfl_sync(kAllLanes, sum, 31);
  }
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) values[i] += before;
}

template <class Unsigned, int kDims>
__device__ __forceinline__ void sum_along_y(Unsigned (&values)[kLaneValues], uint32_t lane,
                                            SumsState<Unsigned, kDims> &state) {
  constexpr uint32_t kRowLanes = Patch<kDims>::kRowLanes;
#pragma unroll
  for (uint32_t step = kRowLanes; step < 32; step *= 2) {
#pragma unroll
    for (int i = 0; i < kLaneValues; i++) {
      Unsigned const up = __shfl_up_sync(kAllLanes, values[i], step);
      if (lane >= step) values[i] += up;
    }
  }
  if constexpr (kDims == 2) {
#pragma unroll
    for (int i = 0; i < kLaneValues; i++) {
      values[i] += state.before[i];
      state.before[i] = __shfl_sync(kAllLanes, values[i], (int)(lane | (32 - kRowLanes)));
    }
  }
}

template <class Unsigned>
__device__ __forceinline__ void sum_along_z(Unsigned (&values)[kLaneValues],
                                            SumsState<Unsigned, 3> &state) {
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) state.before[i] = values[i] += state.before[i];
}

/* docs/format.md, section 8, step 1: sums along the axes not in S, over the edge only. */
template <class Unsigned, int kDims>
__device__ void sum_edge(Unsigned (&values)[kLaneValues], const PatchAxes<kDims> &axes,
                         uint32_t patch, uint32_t lane, SumsState<Unsigned, kDims> &state) {
  Unsigned edge[kLaneValues];
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) edge[i] = axes.is_edge(patch, i) ? values[i] : 0;
  if (!axes.x) sum_along_x<Unsigned, kDims>(edge, lane, state);
  if (kDims >= 2 && !axes.y) sum_along_y<Unsigned, kDims>(edge, lane, state);
  if constexpr (kDims == 3) {
    if (!axes.z) sum_along_z(edge, state);
  }
#pragma unroll
  for (int i = 0; i < kLaneValues; i++)
    if (axes.is_edge(patch, i)) values[i] = edge[i];
}

/* Turns a patch's deltas into lattice points. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void patch_sums(Unsigned (&values)[kLaneValues],
                                           const PatchAxes<kDims> &axes, uint32_t patch,
                                           uint32_t lane, SumsState<Unsigned, kDims> &state) {
  if (!axes.is_all && axes.meets_edge(patch))
    sum_edge<Unsigned, kDims>(values, axes, patch, lane, state);
  if (axes.x) sum_along_x<Unsigned, kDims>(values, lane, state);
  if (kDims >= 2 && axes.y) sum_along_y<Unsigned, kDims>(values, lane, state);
  if constexpr (kDims == 3) {
    if (axes.z) sum_along_z(values, state);
  }
}

} // namespace szg

#endif
