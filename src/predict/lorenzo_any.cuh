/* lorenzo_any.cuh - tiles of any extents: one warp per tile, one lane per x.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp walks its tile in rows of 32 values and loads eight rows together to keep memory busy.
 * RowNeighbours along x are a shuffle away, those along y and z are in registers.
 */
#ifndef SZG_LORENZO_ANY_CUH
#define SZG_LORENZO_ANY_CUH

#include "predict/lorenzo.cuh"

namespace szg {

constexpr int kSlots = 8; /* rows of 32 in a group: loaded together */
static_assert(SZG_TILE_3D_X == 32 && SZG_TILE_3D_Y == kSlots, "a plane is one group");
static_assert(SZG_TILE_2D_X == 64 && SZG_TILE_2D_Y % 4 == 0, "four rows of 64 are one group");
static_assert(SZG_TILE_1D_X % (32 * kSlots) == 0, "groups fill a tile");

/* ---- the place of a group's slot in the tile ---- */

struct Slot {
  uint32_t z, y, x; /* x of lane 0 */
};

template <int kDims>
__device__ Slot slot_at(uint32_t group, uint32_t slot) {
  if (kDims == 3) return {group, slot, 0};
  if (kDims == 2) return {0, group * 4 + slot / 2, slot % 2 * 32};
  return {0, 0, (group * kSlots + slot) * 32};
}

/* A warp's walk through a tile. */
template <int kDims>
struct Walk {
  szg_tile tile;
  uint32_t lane;

  __device__ explicit Walk(const szg_tile &walked) : tile(walked), lane(threadIdx.x % 32) {}

  __device__ uint32_t groups() const {
    if (kDims == 3) return tile.z_extent;
    if (kDims == 2) return (tile.y_extent + 3) / 4;
    return (tile.x_extent + 32 * kSlots - 1) / (32 * kSlots);
  }
  /* Whether any lane of the slot has a value; the same for the whole warp. */
  __device__ bool has_slot(const Slot &at) const {
    return at.y < tile.y_extent && at.x < tile.x_extent;
  }
  __device__ bool has_value(const Slot &at) const {
    return at.y < tile.y_extent && at.x + lane < tile.x_extent;
  }
  /* The offset of lane 0's value from the tile's first; below, the place of the lane's code. */
  __device__ uint64_t value_offset(const Slot &at) const {
    if (kDims == 3) return at.z * tile.z_stride + at.y * tile.y_stride;
    if (kDims == 2) return at.y * tile.y_stride + at.x;
    return at.x;
  }
  __device__ uint32_t code_index(const Slot &at) const {
    return (at.z * tile.y_extent + at.y) * tile.x_extent + at.x + lane;
  }
};

/* The set S of axes and its edge: the values with coordinate 0 on all axes of S. */
struct Axes {
  bool x, y, z, is_all;
  __device__ Axes(uint32_t axes, uint32_t all)
      : x(axes & SZG_AXIS_X), y(axes & SZG_AXIS_Y), z(axes & SZG_AXIS_Z), is_all(axes == all) {}
  __device__ bool row_meets_edge(const Slot &at) const {
    return (!y || at.y == 0) && (!z || at.z == 0);
  }
  __device__ bool is_edge_lane(const Slot &at, uint32_t lane) const {
    return row_meets_edge(at) && (!x || at.x + lane == 0);
  }
};

template <int kDims>
__device__ constexpr uint32_t all_axes() {
  return kDims == 3 ? SZG_AXES_ALL : kDims == 2 ? SZG_AXIS_X | SZG_AXIS_Y : SZG_AXIS_X;
}

/* ---- differences ---- */

/* value minus that of the lane before; lane 0 subtracts `before`. */
template <class Unsigned>
__device__ Unsigned x_difference(Unsigned value, Unsigned before, uint32_t lane) {
  Unsigned const left = __shfl_up_sync(kAllLanes, value, 1);
  return value - (lane ? left : before);
}

/* Lattice points that a row's differences need: its own, and those in the row before (up), the
 * plane before (back), and the row before in that plane. The same for the point before lane 0. */
template <class Unsigned>
struct RowNeighbours {
  Unsigned here, up, back, up_back;
};

template <class Unsigned>
__device__ Unsigned yz_difference(const RowNeighbours<Unsigned> &n, bool along_y, bool along_z) {
  return n.here - (along_y ? n.up : 0) - (along_z ? n.back : 0) +
         (along_y && along_z ? n.up_back : 0);
}

template <class Unsigned>
__device__ Unsigned row_deltas(const RowNeighbours<Unsigned> &row,
                               const RowNeighbours<Unsigned> &before, const Axes &axes,
                               const Slot &at, uint32_t lane) {
  Unsigned const full = yz_difference(row, true, true);
  Unsigned const full_before = yz_difference(before, true, true);
  if (axes.is_all) return x_difference(full, full_before, lane);
  Unsigned const along = yz_difference(row, axes.y, axes.z);
  Unsigned delta = along;
  if (axes.x) delta = x_difference(along, yz_difference(before, axes.y, axes.z), lane);
  if (axes.row_meets_edge(at)) {
    Unsigned const on_edge = x_difference(full, full_before, lane);
    if (axes.is_edge_lane(at, lane)) delta = on_edge;
  }
  return delta;
}

/* Walks a tile and passes each row's deltas to sink.take(code_index, delta, has_value). Returns
 * whether some value of this lane is exact or fill. values: the tile's. */
template <class A, int kDims, class Sink>
__device__ __forceinline__ bool walk_deltas(const szg_quantizer &k, const Walk<kDims> &walk,
                                            const typename A::Value *values, const Axes &axes,
                                            Sink &sink) {
  typedef typename A::Unsigned Unsigned;
  constexpr int kHeld = kDims == 3 ? kSlots : 2;
  Unsigned held[kHeld] = {}; /* 3-D: the plane before; 2-D: the row before, in two halves */
  Unsigned last = 0;         /* the point before lane 0, if rows are longer than 32 */
  Unsigned last_up = 0;      /* the one above that */
  bool has_marks = false;
  uint32_t const groups = walk.groups();
#pragma unroll 1
  for (uint32_t group = 0; group < groups; group++) {
    typename A::Value loaded[kSlots];
#pragma unroll
    for (int s = 0; s < kSlots; s++) {
      Slot const at = slot_at<kDims>(group, s);
      loaded[s] =
          walk.has_value(at) ? values[walk.value_offset(at) + walk.lane] : (typename A::Value)0;
    }
    Unsigned up = 0, up_back = 0; /* 3-D: the row before in this plane */
#pragma unroll
    for (int s = 0; s < kSlots; s++) {
      Slot const at = slot_at<kDims>(group, s);
      if (!walk.has_slot(at)) continue;
      bool const has_value = walk.has_value(at);
      if (kDims < 3 && at.x == 0) last = last_up = 0;
      bool is_marked;
      Unsigned const here =
          (Unsigned)row_points<A>(k, loaded[s], has_value, (typename A::Point)last, &is_marked);
      has_marks |= is_marked;
      RowNeighbours<Unsigned> row = {here, 0, 0, 0}, before = {last, 0, 0, 0};
      if (kDims == 3) {
        row = {here, up, held[s], up_back};
        up = here;
        up_back = held[s];
        held[s] = here;
      }
      if (kDims == 2) {
        row.up = held[s % 2];
        before.up = last_up;
        if (s % 2 == 0) last_up = __shfl_sync(kAllLanes, held[0], 31);
        held[s % 2] = here;
      }
      Unsigned const delta = row_deltas(row, before, axes, at, walk.lane);
      if (kDims < 3) last = __shfl_sync(kAllLanes, here, 31);
      sink.take(walk.code_index(at), (typename A::Point)delta, has_value);
    }
  }
  return has_marks;
}

/* ---- sums ---- */

/* Running sums carried from row to row of a tile. */
template <class A, int kDims>
struct SumState {
  typedef typename A::Unsigned Unsigned;
  static constexpr int kHeld = kDims == 3 ? kSlots : 1;
  Unsigned planes[kHeld]; /* 3-D: sums along z */
  Unsigned rows[2];       /* sums along y; 2-D has two halves of a row */
  Unsigned last;          /* the sum before lane 0, if rows are longer than 32 */

  __device__ SumState() : planes{}, rows{}, last(0) {}

  __device__ __forceinline__ Unsigned along_x(Unsigned value, const Slot &at, uint32_t lane) {
    Unsigned const before = kDims < 3 && at.x > 0 ? last : 0;
    Unsigned const sum = sum_to_lane(value, lane) + before;
    if (kDims < 3) last = __shfl_sync(kAllLanes, sum, 31);
    return sum;
  }
  __device__ __forceinline__ Unsigned along_y(Unsigned value, const Slot &at, Unsigned &row) {
    if (at.y > 0) value += row;
    row = value;
    return value;
  }
  __device__ __forceinline__ Unsigned along_z(Unsigned value, const Slot &at, Unsigned &plane) {
    if (at.z > 0) value += plane;
    plane = value;
    return value;
  }
  /* docs/format.md, section 8: first the edge, along the axes not in S, then all values along those
   * in S. `slot` is known at compile time. */
  __device__ __forceinline__ Unsigned lattice(Unsigned value, const Axes &axes, const Slot &at,
                                              int slot, uint32_t lane) {
    Unsigned &row = rows[kDims == 2 ? slot % 2 : 0];
    Unsigned &plane = planes[kDims == 3 ? slot : 0];
    if (axes.is_all) {
      value = along_x(value, at, lane);
      if (kDims >= 2) value = along_y(value, at, row);
      return kDims == 3 ? along_z(value, at, plane) : value;
    }
    if (axes.row_meets_edge(at)) {
      bool const is_edge = axes.is_edge_lane(at, lane);
      if (!axes.x) value = along_x(value, at, lane);
      if (!axes.y && kDims >= 2 && is_edge) value = along_y(value, at, row);
      if (!axes.z && kDims == 3 && is_edge) value = along_z(value, at, plane);
    }
    if (axes.x) value = along_x(value, at, lane);
    if (kDims >= 2 && axes.y) value = along_y(value, at, row);
    if (kDims == 3 && axes.z) value = along_z(value, at, plane);
    return value;
  }
};

/* Restores a tile; returns the bits that this lane's codes take. */
template <class A, int kDims>
__device__ __forceinline__ uint32_t restore_tile(const szg_quantizer &k, const Walk<kDims> &walk,
                                                 const uint16_t *codes, const uint8_t *lengths,
                                                 const Axes &axes, uint32_t radius,
                                                 EscapeSource &escapes,
                                                 const Window<typename A::Value> &window) {
  typedef typename A::Unsigned Unsigned;
  /* The place of the tile's first value; before the window's start if the window cuts the tile. */
  typename A::Value *const values =
      window.values + (int64_t)(walk.tile.first_value - window.first_value) + walk.lane;
  SumState<A, kDims> sums;
  uint32_t bits = 0;
  uint32_t const groups = walk.groups();
#pragma unroll 1
  for (uint32_t group = 0; group < groups; group++) {
    uint32_t loaded[kSlots];
#pragma unroll
    for (int s = 0; s < kSlots; s++) {
      Slot const at = slot_at<kDims>(group, s);
      loaded[s] = walk.has_value(at) ? codes[walk.code_index(at)] : radius;
    }
#pragma unroll
    for (int s = 0; s < kSlots; s++) {
      Slot const at = slot_at<kDims>(group, s);
      if (!walk.has_slot(at)) continue;
      bool const has_value = walk.has_value(at);
      if (has_value) bits += lengths[loaded[s]];
      Unsigned delta = (Unsigned)loaded[s] - (Unsigned)radius;
      bool const is_escape = loaded[s] == SZG_ESCAPE_SYMBOL;
      if (__any_sync(kAllLanes, is_escape)) {
        uint32_t const rank = escapes.begin_lanes(is_escape);
        if (is_escape) delta = (Unsigned)escapes.at(rank);
      }
      Unsigned const q = sums.lattice(delta, axes, at, s, walk.lane);
      uint64_t const offset = walk.value_offset(at);
      if (has_value && window.has(walk.tile.first_value + offset + walk.lane))
        values[offset] = A::value(k, (typename A::Point)q);
    }
  }
  return bits;
}

} // namespace szg

#endif
