/* compress_walk.cuh - how a warp walks a tile to compress it: places, points, differences.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The warp takes a group of eight rows at a time, with one lane per place, on any lattice. This is
 * the exact way, with all checks; compress_pairs.cuh and compress_wide.cuh have faster ones.
 */
#ifndef SZG_COMPRESS_WALK_CUH
#define SZG_COMPRESS_WALK_CUH

#include "codecs/lorenzo/compress_codes.cuh"
#include "codecs/lorenzo/tile_cuda.h"
#include "codecs/lorenzo/tile_shape.cuh"
#include "core/look_back.cuh"
#include "predict/lorenzo.cuh"

namespace szg {

/* The kernel's arguments. */
struct CompressJob {
  szg_quantizer k;
  TileLayout layout;
  const void *values; /* of the frame */
  const uint32_t *axes;
  const szg_tile_book_cuda *book;
  uint32_t lattice_bits;
  int32_t reach;     /* compress_points.cuh: find_reach */
  bool needs_care;   /* the same */
  double wide_reach; /* the same, for compress_wide.cuh; below 0: every value needs the checks */
  float wide_reach_f32;
  bool has_near_fill; /* the fill value has a point within that reach */
  uint32_t tile_count;
  uint64_t value_count;
  uint8_t *sections;
  uint64_t room_bytes;
  uint8_t *tile_marks;
  bool raw_outliers; /* a tile with exact or fill values is raw */
  uint32_t *ticket;  /* tiles taken so far */
  TileSums sums;
  szg_tile_result_cuda *result;
};

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

/* How many earlier rows a group's differences need: the plane, line or row before. */
template <int kDims>
constexpr uint32_t kRowsBefore = kDims == 3   ? SZG_GROUP_ROWS
                                 : kDims == 2 ? 2
                                              : 1;

/* Lattice points of a group's values. A value without one, and a fill value, takes the point of the
 * value before in the tile's row. before: the last kRowsBefore rows of the group before. Returns
 * whether a value of the lane is exact or fill. The whole warp calls. */
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

/* A row's points minus those before it along y and z. */
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

/* Differences along the requested axes. */
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

/* Like szg_tile_difference: along the set, and on its edge along all axes. */
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

/* The rows of this group that the next one needs. */
template <class Unsigned, int kDims>
__device__ __forceinline__ void keep_rows(const Unsigned (&points)[SZG_GROUP_ROWS],
                                          Unsigned (&before)[kRowsBefore<kDims>]) {
#pragma unroll
  for (uint32_t i = 0; i < kRowsBefore<kDims>; i++)
    before[i] = points[SZG_GROUP_ROWS - kRowsBefore<kDims> + i];
}

} // namespace szg

#endif
