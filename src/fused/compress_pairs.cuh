/* compress_pairs.cuh - tiles on the 16-bit lattice to bits: two values per instruction.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A group goes the fast way if all its values lie in the window (compress_points.cuh), are within
 * the bound and are not fill. Any other group goes the exact way of compress_walk.cuh, and so does
 * the group after one with points outside the window. Both ways give the same words.
 */
#ifndef SZG_COMPRESS_PAIRS_CUH
#define SZG_COMPRESS_PAIRS_CUH

#include "fused/compress_pair_codes.cuh"
#include "fused/compress_points.cuh"

namespace szg {

/* ---- points to deltas ---- */

/* Differences of pairs along y and z. */
template <int kDims>
__device__ __forceinline__ void pairs_along_yz(const uint32_t (&pairs)[kGroupPairs],
                                               const uint32_t (&before)[kPairsBefore<kDims>],
                                               bool along_y, bool along_z,
                                               uint32_t (&along)[kGroupPairs]) {
  if constexpr (kDims == 3) {
    uint32_t planes[kGroupPairs];
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) planes[i] = pairs[i] - (along_z ? before[i] : 0);
    /* Row 4 comes after row 3, the low one of the last pair. */
    along[0] = planes[0] - (along_y ? planes[kGroupPairs - 1] << 16 : 0);
#pragma unroll
    for (uint32_t i = 1; i < kGroupPairs; i++) along[i] = planes[i] - (along_y ? planes[i - 1] : 0);
  } else if constexpr (kDims == 2) {
    /* Pairs have lines 0 and 2, 0 and 2, 1 and 3, 1 and 3 of the group. */
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
      uint32_t const above = __funnelshift_l(before[half], pairs[2 + half], 16);
      along[half] = pairs[half] - (along_y ? above : 0);
      along[2 + half] = pairs[2 + half] - (along_y ? pairs[half] : 0);
    }
  } else {
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) along[i] = pairs[i];
  }
}

/* Differences along x. before: in a 1-D tile, the pair with the row before. */
template <int kDims>
__device__ __forceinline__ void pairs_along_x(const uint32_t (&along)[kGroupPairs],
                                              const uint32_t (&before)[kPairsBefore<kDims>],
                                              const LaneFacts &lane,
                                              uint32_t (&deltas)[kGroupPairs]) {
  if constexpr (kDims == 3) {
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++)
      deltas[i] = along[i] + __shfl_up_sync(kAllLanes, along[i], 1) * lane.left_factor;
    return;
  }
  int const left_lane = (int)((lane.index + SZG_LANES - 1) % SZG_LANES);
  uint32_t left[kGroupPairs];
#pragma unroll
  for (uint32_t i = 0; i < kGroupPairs; i++) left[i] = __shfl_sync(kAllLanes, along[i], left_lane);
  if constexpr (kDims == 2) {
    /* The second half of a line continues the first. */
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i += 2) {
      deltas[i] = along[i] - (lane.index > 0 ? left[i] : 0);
      deltas[i + 1] = along[i + 1] - (lane.index > 0 ? left[i + 1] : left[i]);
    }
  } else {
    uint32_t const left_before = __shfl_sync(kAllLanes, before[0], left_lane);
    /* Rows 0 and 4 come after the row before the group, and row 3. */
    uint32_t const last = __funnelshift_l(left_before, left[kGroupPairs - 1], 16);
    deltas[0] = along[0] - (lane.index > 0 ? left[0] : last);
#pragma unroll
    for (uint32_t i = 1; i < kGroupPairs; i++)
      deltas[i] = along[i] - (lane.index > 0 ? left[i] : left[i - 1]);
  }
}

/* The halves of the pair with values on the set's edge. */
template <int kDims>
__device__ __forceinline__ uint32_t edge_fields(const AxisChoice &axes, uint32_t group, uint32_t i,
                                                uint32_t lane) {
  return (is_on_edge<kDims>(axes, group, i, lane) ? 0xFFFFu : 0) |
         (is_on_edge<kDims>(axes, group, i + kGroupPairs, lane) ? 0xFFFF0000u : 0);
}

template <int kDims>
__device__ __forceinline__ void pair_differences(const uint32_t (&pairs)[kGroupPairs],
                                                 const uint32_t (&before)[kPairsBefore<kDims>],
                                                 const AxisChoice &axes, uint32_t group,
                                                 const LaneFacts &lane,
                                                 uint32_t (&deltas)[kGroupPairs]) {
  uint32_t along[kGroupPairs];
  pairs_along_yz<kDims>(pairs, before, true, true, along);
  pairs_along_x<kDims>(along, before, lane, deltas);
  if (axes.is_all) return;
  uint32_t others[kGroupPairs];
  pairs_along_yz<kDims>(pairs, before, axes.y, axes.z, along);
  if (axes.x)
    pairs_along_x<kDims>(along, before, lane, others);
  else
    for (uint32_t i = 0; i < kGroupPairs; i++) others[i] = along[i];
#pragma unroll
  for (uint32_t i = 0; i < kGroupPairs; i++) {
    uint32_t const edge = edge_fields<kDims>(axes, group, i, lane.index);
    uint32_t const on_edge = deltas[i] + kFieldBias, elsewhere = others[i] + kFieldBias;
    deltas[i] = ((on_edge & edge) | (elsewhere & ~edge)) - kFieldBias;
  }
}

/* ---- the exact way ---- */

template <int kDims>
struct PairGroup {
  uint32_t pairs[kGroupPairs], deltas[kGroupPairs];
  uint32_t before[kPairsBefore<kDims>];
  bool has_marks; /* a value of the lane is exact or fill */
};

/* The rows that kRowsBefore says, as distances. */
template <int kDims>
__device__ void unpack_before(const PairGroup<kDims> &group,
                              uint32_t (&before)[kRowsBefore<kDims>]) {
  for (uint32_t i = 0; i < kRowsBefore<kDims>; i++) {
    if (kDims == 3)
      before[i] = i < kGroupPairs ? group.before[i % kPairsBefore<kDims>] & 0xFFFF
                                  : group.before[i % kPairsBefore<kDims>] >> 16;
    else
      before[i] = group.before[i % kPairsBefore<kDims>] >> 16;
  }
}

/* Fills in everything except `before`. The whole warp calls. */
template <class A, int kDims>
__device__ __noinline__ void find_group_exactly(const CompressJob *job, uint32_t tile,
                                                uint32_t group_index, int32_t low,
                                                PairGroup<kDims> *group) {
  uint32_t const lane = threadIdx.x % 32;
  TileShape const shape = tile_shape(job->layout, tile);
  const typename A::Value *const tile_values =
      (const typename A::Value *)job->values + shape.first_value;
  uint32_t const rows = rows_of_lane<kDims>(shape, group_index, lane);
  typename A::Value values[SZG_GROUP_ROWS];
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    values[row] = rows >> row & 1 ? tile_values[value_offset<kDims>(shape, group_index, row, lane)]
                                  : (typename A::Value)0;
  uint32_t before[kRowsBefore<kDims>], points[SZG_GROUP_ROWS], deltas[SZG_GROUP_ROWS];
  unpack_before<kDims>(*group, before);
  uint32_t points_before[kRowsBefore<kDims>];
  for (uint32_t i = 0; i < kRowsBefore<kDims>; i++)
    points_before[i] = (uint32_t)(int32_t)(int16_t)(uint16_t)(before[i] + (uint32_t)low);
  group->has_marks =
      group_points<A, kDims>(job->k, values, rows, points_before, group_index, points);
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    points[row] = rows >> row & 1 ? (points[row] - (uint32_t)low) & 0xFFFF : 0;
  group_differences<uint32_t, kDims>(points, before, axis_choice<kDims>(*job->axes), group_index,
                                     lane, deltas);
  if (group_index == 0 && lane == 0) deltas[0] += (uint32_t)low;
  for (uint32_t i = 0; i < kGroupPairs; i++) {
    group->pairs[i] = pair_of(points[i], points[i + kGroupPairs]);
    group->deltas[i] =
        pair_of((uint32_t)(int32_t)(int16_t)(uint16_t)deltas[i], deltas[i + kGroupPairs]);
  }
}

/* ---- a tile ---- */

template <class A, int kDims>
struct PairWalk {
  typedef typename A::Value Value;
  static constexpr int kBlocks = 4; /* that must fit a multiprocessor */

  /* Whether some point of the lane is outside the window. */
  static __device__ __forceinline__ bool has_far_points(const uint32_t (&pairs)[kGroupPairs]) {
    uint32_t all = 0;
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) all |= pairs[i];
    return (all & ~((kWindowPoints<kDims> - 1) * 0x10001u)) != 0;
  }

  /* Clears the deltas of rows that the lane lacks. */
  static __device__ __forceinline__ void leave_out(uint32_t rows, uint32_t (&deltas)[kGroupPairs]) {
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) {
      uint32_t const fields = (rows >> i & 1 ? 0xFFFFu : 0) | (rows >> i & 16 ? 0xFFFF0000u : 0);
      deltas[i] = (((deltas[i] + kFieldBias) & fields) | (kFieldBias & ~fields)) - kFieldBias;
    }
  }

  /* Finds pairs and deltas of a group; returns whether some value of the lane is exact or fill.
   * Only this function takes addresses, so that the rest stays in registers. */
  static __device__ __forceinline__ bool go_exact_way(const CompressJob &job, uint32_t tile,
                                                      uint32_t group_index, int32_t low,
                                                      const uint32_t (&before)[kPairsBefore<kDims>],
                                                      uint32_t (&pairs)[kGroupPairs],
                                                      uint32_t (&deltas)[kGroupPairs]) {
    PairGroup<kDims> group;
    for (uint32_t i = 0; i < kPairsBefore<kDims>; i++) group.before[i] = before[i];
    find_group_exactly<A, kDims>(&job, tile, group_index, low, &group);
    /* Waits here for what is loaded here. Otherwise code after the branch would wait on either way,
     * and for the next group's values too: the hardware has few barriers for loads. */
    uint32_t const zero = job.tile_count >> 31;
    for (uint32_t i = 0; i < kGroupPairs; i++) {
      pairs[i] = group.pairs[i] + zero;
      deltas[i] = group.deltas[i] + zero;
    }
    return group.has_marks;
  }

  /* Appends the lane's codes; returns whether some delta is not 0. *has_marks: whether some value
   * of the lane is exact or fill. */
  static __device__ __forceinline__ bool walk(const CompressJob &job, uint32_t tile,
                                              const TileShape &shape, const Coder &coder,
                                              LaneBits &bits, LaneStage *stage, bool *has_marks) {
    AxisChoice const axes = axis_choice<kDims>(*job.axes);
    bool const is_common = is_whole<kDims>(shape) && axes.is_all && !job.needs_care;
    auto const walk_as = [&](auto walk_kind) {
      return walk_groups<decltype(walk_kind)>(job, tile, shape, axes, coder.zero_groups, bits,
                                              stage, has_marks);
    };
    if (!is_common) return walk_as(AnyWalk());
    if (coder.zero_groups == SZG_ZERO_GROUPS_NONE)
      return walk_as(CommonWalk<SZG_ZERO_GROUPS_NONE>());
    if (coder.zero_groups == SZG_ZERO_GROUPS_8) return walk_as(CommonWalk<SZG_ZERO_GROUPS_8>());
    return walk_as(CommonWalk<SZG_ZERO_GROUPS_4>());
  }

  /* One version for tiles with all rows, of a frame with all axes and no need for care, without the
   * checks that such tiles can skip; another for all others. */
  template <uint32_t kZeroGroups>
  struct CommonWalk {
    static constexpr bool kIsCommon = true;
    static __device__ __forceinline__ uint32_t zero_groups(uint32_t) { return kZeroGroups; }
  };
  struct AnyWalk {
    static constexpr bool kIsCommon = false;
    static __device__ __forceinline__ uint32_t zero_groups(uint32_t of_frame) { return of_frame; }
  };

  template <class Kind>
  static __device__ __forceinline__ bool walk_groups(const CompressJob &job, uint32_t tile,
                                                     const TileShape &shape,
                                                     const AxisChoice &frame_axes,
                                                     uint32_t frame_zero_groups, LaneBits &bits,
                                                     LaneStage *stage, bool *has_marks) {
    constexpr bool kIsCommon = Kind::kIsCommon;
    uint32_t const lane = threadIdx.x % 32;
    AxisChoice const axes = kIsCommon ? AxisChoice{true, true, true, true} : frame_axes;
    uint32_t const zero_groups = Kind::zero_groups(frame_zero_groups);
    LaneFacts const facts = {lane, kept_in_register(lane > 0 ? 0u - 1u : 0)};
    uint32_t const table = shared_address(shared_block().table), groups = group_count<kDims>(shape);
    uint32_t const common_limit = stage_end() - kGroupWords * kStepBytes;
    GroupLoader<Value, kDims> loader(job, shape, lane);
    uint32_t const loaded_groups = kIsCommon ? groups : loader.group_count;
    Value values[SZG_GROUP_ROWS] = {loader.first_value()};
    if (loaded_groups > 0) loader.load(values);
    PointWindow const window = point_window<A, kDims>(job, values[0]);
    PointRounder<A> const rounder(job.k, window.low);
    uint32_t before[kPairsBefore<kDims>] = {}, seen = 0, marks = 0;
    uint32_t origin = lane == 0 ? (uint32_t)window.low : 0; /* missing from the first difference */
    bool is_exact = loaded_groups == 0;                     /* the next group goes the exact way */
#pragma unroll 1
    for (uint32_t group = 0; group < groups; group++) {
      uint32_t pairs[kGroupPairs], deltas[kGroupPairs];
      bool const is_near = find_pairs<A, kIsCommon>(job, window, rounder, values, pairs);
      if (group + 1 < loaded_groups) loader.load(values);
      if (__any_sync(kAllLanes, !is_near || is_exact)) {
        marks |= go_exact_way(job, tile, group, window.low, before, pairs, deltas);
        is_exact = has_far_points(pairs);
      } else {
        pair_differences<kDims>(pairs, before, axes, group, facts, deltas);
        deltas[0] += origin;
      }
      origin = 0;
      uint32_t missing = 0;
      if (!kIsCommon) {
        if (group + 1 >= loaded_groups) is_exact = true;
        uint32_t const rows = rows_of_lane<kDims>(shape, group, lane);
        leave_out(rows, deltas);
        if (rows != 0 || kDims == 1) missing = rows ^ kAllRows;
      }
      seen |= deltas[0] | deltas[1] | deltas[2] | deltas[3];
      append_group_pairs(bits, deltas, missing, zero_groups, common_limit, table, stage);
#pragma unroll
      for (uint32_t i = 0; i < kPairsBefore<kDims>; i++)
        before[i] = pairs[kGroupPairs - kPairsBefore<kDims> + i];
    }
    *has_marks = marks != 0;
    return seen != 0;
  }
};

} // namespace szg

#endif
