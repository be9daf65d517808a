/* compress_walk.cuh - a tile as a warp walks it to compress it: places, points, differences.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A group of eight rows at a time, a lane a place, on any lattice. This is the exact way, in which
 * nothing is left out; compress_pairs.cuh has the fast one.
 */
#ifndef SZG_COMPRESS_WALK_CUH
#define SZG_COMPRESS_WALK_CUH

#include "fused/compress_codes.cuh"
#include "fused/look_back.cuh"
#include "fused/tile_cuda.h"

namespace szg {

/* ---- places ---- */

/* How tiles lie in the frame, in numbers of 32 bits where that is enough. */
struct TileLayout {
  uint32_t x_tiles, y_tiles, z_tiles;
  uint32_t tile_x, tile_y, tile_z;
  uint64_t x_extent, y_extent, z_extent;
};

/* All that the kernel is given. */
struct CompressJob {
  szg_quantizer k;
  TileLayout layout;
  const void *values; /* of the frame */
  const uint32_t *axes;
  const szg_tile_book_cuda *book;
  uint32_t lattice_bits;
  int32_t reach;   /* compress_points.cuh: find_reach */
  bool needs_care; /* the same */
  uint32_t tile_count;
  uint64_t value_count;
  uint8_t *sections;
  uint64_t room_bytes;
  uint8_t *tile_marks;
  uint32_t *ticket; /* tiles taken so far */
  TileSums sums;
  szg_tile_result_cuda *result;
};

struct TileShape {
  uint64_t first_value; /* offset in the frame */
  uint64_t y_stride, z_stride;
  uint32_t x_extent, y_extent, z_extent;
};

/* As szg_tile_at, without divisions of 64 bits. */
__device__ __forceinline__ TileShape tile_shape(const TileLayout &layout, uint32_t tile) {
  uint32_t const row = tile / layout.x_tiles, plane = row / layout.y_tiles;
  uint32_t const batch = plane / layout.z_tiles;
  uint64_t const x = (uint64_t)(tile - row * layout.x_tiles) * layout.tile_x;
  uint64_t const y = (uint64_t)(row - plane * layout.y_tiles) * layout.tile_y;
  uint64_t const z = (uint64_t)(plane - batch * layout.z_tiles) * layout.tile_z;
  TileShape shape;
  shape.y_stride = layout.x_extent;
  shape.z_stride = layout.x_extent * layout.y_extent;
  shape.first_value = (batch * layout.z_extent + z) * shape.z_stride + y * shape.y_stride + x;
  shape.x_extent = (uint32_t)szg_lesser_u64(layout.tile_x, layout.x_extent - x);
  shape.y_extent = (uint32_t)szg_lesser_u64(layout.tile_y, layout.y_extent - y);
  shape.z_extent = (uint32_t)szg_lesser_u64(layout.tile_z, layout.z_extent - z);
  return shape;
}

/* Values of a row of a 2-D group's lines, and lines of a group; values of a 1-D group. */
constexpr uint32_t kGroupLines = SZG_GROUP_ROWS / 2;
constexpr uint32_t kGroupValues = SZG_GROUP_ROWS * SZG_LANES;

template <int kDims>
__device__ __forceinline__ uint32_t group_count(const TileShape &shape) {
  if (kDims == 3) return shape.z_extent;
  if (kDims == 2) return (shape.y_extent + kGroupLines - 1) / kGroupLines;
  return (shape.x_extent + kGroupValues - 1) / kGroupValues;
}

template <int kDims>
__device__ __forceinline__ bool is_whole(const TileShape &shape) {
  if (kDims == 3) return shape.x_extent == SZG_TILE_3D_X && shape.y_extent == SZG_TILE_3D_Y;
  if (kDims == 2) return shape.x_extent == SZG_TILE_2D_X && shape.y_extent % kGroupLines == 0;
  return shape.x_extent % kGroupValues == 0;
}

/* The rows of a group in which the lane has a value, as bits. */
template <int kDims>
__device__ __forceinline__ uint32_t rows_of_lane(const TileShape &shape, uint32_t group,
                                                 uint32_t lane) {
  if (kDims == 3) return lane < shape.x_extent ? (1u << shape.y_extent) - 1 : 0;
  if (kDims == 2) {
    uint32_t const lines_left = shape.y_extent - group * kGroupLines;
    uint32_t const rows = lines_left < kGroupLines ? (1u << 2 * lines_left) - 1 : kAllRows;
    return rows &
           ((lane < shape.x_extent ? 0x55u : 0) | (lane + SZG_LANES < shape.x_extent ? 0xAAu : 0));
  }
  uint32_t const first = group * kGroupValues + lane;
  if (first >= shape.x_extent) return 0;
  uint32_t const rows = (shape.x_extent - first + SZG_LANES - 1) / SZG_LANES;
  return rows < SZG_GROUP_ROWS ? (1u << rows) - 1 : kAllRows;
}

/* Of the lane's value in a row of a group: offset from the tile's first. */
template <int kDims>
__device__ __forceinline__ uint64_t value_offset(const TileShape &shape, uint32_t group,
                                                 uint32_t row, uint32_t lane) {
  if (kDims == 3) return group * shape.z_stride + row * shape.y_stride + lane;
  if (kDims == 2)
    return (group * kGroupLines + row / 2) * shape.y_stride + row % 2 * SZG_LANES + lane;
  return group * kGroupValues + row * SZG_LANES + lane;
}

/* ---- points ---- */

/* The frame's set of axes. */
struct AxisChoice {
  bool x, y, z, is_all;
};

template <int kDims>
__device__ __forceinline__ AxisChoice axis_choice(uint32_t axes) {
  uint32_t const all = (1u << kDims) - 1;
  return {(axes & SZG_AXIS_X) != 0, (axes & SZG_AXIS_Y) != 0, (axes & SZG_AXIS_Z) != 0,
          (axes & all) == all};
}

/* Rows that a group's differences need of those before it: the plane, line or row before. */
template <int kDims>
constexpr uint32_t kRowsBefore = kDims == 3   ? SZG_GROUP_ROWS
                                 : kDims == 2 ? 2
                                              : 1;

/* Lattice points of a group's values; without one, or for a fill value, that of the value before in
 * the tile's row. before: of the group before, what kRowsBefore says. Whether a value of the lane
 * is exact or fill. The whole warp calls. */
template <class A, int kDims>
__device__ __forceinline__ bool group_points(
    const szg_quantizer &k, const typename A::Value (&values)[SZG_GROUP_ROWS], uint32_t rows,
    const typename A::Unsigned (&before)[kRowsBefore<kDims>], uint32_t group,
    typename A::Unsigned (&points)[SZG_GROUP_ROWS]) {
  typedef typename A::Point Point;
  typedef typename A::Unsigned Unsigned;
  bool has_marks = false;
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
    Unsigned last = 0; /* the point before lane 0's */
    if (kDims == 2 && row % 2 == 1) last = __shfl_sync(kAllLanes, points[row - 1], 31);
    if (kDims == 1 && (row > 0 || group > 0))
      last = __shfl_sync(kAllLanes, row > 0 ? points[row > 0 ? row - 1 : 0] : before[0], 31);
    bool is_marked;
    points[row] =
        (Unsigned)row_points<A>(k, values[row], (rows >> row & 1) != 0, (Point)last, &is_marked);
    has_marks |= is_marked;
  }
  return has_marks;
}

/* ---- differences ---- */

/* A row's points less those before it along y and z. */
template <class Unsigned, int kDims>
__device__ __forceinline__ Unsigned row_difference(const Unsigned (&points)[SZG_GROUP_ROWS],
                                                   const Unsigned (&before)[kRowsBefore<kDims>],
                                                   uint32_t row, bool along_y, bool along_z) {
  Unsigned difference = points[row];
  if (kDims == 3) {
    if (along_z) difference -= before[row % kRowsBefore<kDims>];
    if (along_y && row > 0) {
      difference -= points[(row - 1) % SZG_GROUP_ROWS];
      if (along_z) difference += before[(row - 1) % kRowsBefore<kDims>];
    }
  }
  if (kDims == 2 && along_y)
    difference -= row < 2 ? before[row % kRowsBefore<kDims>] : points[(row - 2) % SZG_GROUP_ROWS];
  return difference;
}

/* Differences along the axes that are asked for. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void differences_along(const Unsigned (&points)[SZG_GROUP_ROWS],
                                                  const Unsigned (&before)[kRowsBefore<kDims>],
                                                  bool along_x, bool along_y, bool along_z,
                                                  uint32_t lane,
                                                  Unsigned (&deltas)[SZG_GROUP_ROWS]) {
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    deltas[row] = row_difference<Unsigned, kDims>(points, before, row, along_y, along_z);
  if (!along_x) return;
  Unsigned last = kDims == 1 ? __shfl_sync(kAllLanes, before[0], 31) : 0;
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
    bool const starts = kDims == 3 || (kDims == 2 && row % 2 == 0);
    Unsigned const left = __shfl_up_sync(kAllLanes, deltas[row], 1);
    Unsigned const own_last = starts && kDims == 3 ? 0 : __shfl_sync(kAllLanes, deltas[row], 31);
    deltas[row] -= lane > 0 ? left : starts ? 0 : last;
    last = own_last;
  }
}

/* Whether the lane's value in a row has coordinate 0 on all axes of the set. */
template <int kDims>
__device__ __forceinline__ bool is_on_edge(const AxisChoice &axes, uint32_t group, uint32_t row,
                                           uint32_t lane) {
  bool const has_x0 = lane == 0 && (kDims == 3 || (kDims == 2 && row % 2 == 0) ||
                                    (kDims == 1 && group == 0 && row == 0));
  bool const has_y0 = kDims == 3 ? row == 0 : kDims == 2 ? group == 0 && row < 2 : true;
  return (!axes.x || has_x0) && (!axes.y || has_y0) && (kDims < 3 || !axes.z || group == 0);
}

/* As szg_tile_difference: along the set, and on its edge along all axes. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void group_differences(const Unsigned (&points)[SZG_GROUP_ROWS],
                                                  const Unsigned (&before)[kRowsBefore<kDims>],
                                                  const AxisChoice &axes, uint32_t group,
                                                  uint32_t lane,
                                                  Unsigned (&deltas)[SZG_GROUP_ROWS]) {
  differences_along<Unsigned, kDims>(points, before, true, true, true, lane, deltas);
  if (axes.is_all) return;
  Unsigned along[SZG_GROUP_ROWS];
  differences_along<Unsigned, kDims>(points, before, axes.x, axes.y, axes.z, lane, along);
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    if (!is_on_edge<kDims>(axes, group, row, lane)) deltas[row] = along[row];
}

/* What the next group needs of this one. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void keep_rows(const Unsigned (&points)[SZG_GROUP_ROWS],
                                          Unsigned (&before)[kRowsBefore<kDims>]) {
#pragma unroll
  for (uint32_t i = 0; i < kRowsBefore<kDims>; i++)
    before[i] = points[SZG_GROUP_ROWS - kRowsBefore<kDims> + i];
}

} // namespace szg

#endif
