/* compress_pairs.cuh - tiles on the 16-bit lattice to bits: two values per instruction.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A group goes this way if all its values lie in the window (compress_points.cuh), are within the
 * bound and are not fill. From the first group on that does not, the tile goes the way of
 * compress_wide.cuh. Both ways give the same words.
 */
#ifndef SZG_COMPRESS_PAIRS_CUH
#define SZG_COMPRESS_PAIRS_CUH

#include "codecs/lorenzo/compress_pair_codes.cuh"
#include "codecs/lorenzo/compress_wide.cuh"

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

/* ---- a tile ---- */

template <class A, int kDims, class PolicyGiven>
struct PairWalk {
  typedef typename A::Value Value;
  typedef PolicyGiven Policy;
  static constexpr bool kTwoWords = false;
  typedef GroupLoader<Value, kDims, uint32_t> Loader;

  /* A tile on its way. */
  struct Progress {
    uint32_t group;               /* the next one */
    Value values[SZG_GROUP_ROWS]; /* of that group, if it can be loaded */
    uint32_t before[kPairsBefore<kDims>], seen;
  };

  /* Clears the deltas of rows that the lane lacks. */
  static __device__ __forceinline__ void leave_out(uint32_t rows, uint32_t (&deltas)[kGroupPairs]) {
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) {
      uint32_t const fields = (rows >> i & 1 ? 0xFFFFu : 0) | (rows >> i & 16 ? 0xFFFF0000u : 0);
      deltas[i] = (((deltas[i] + kFieldBias) & fields) | (kFieldBias & ~fields)) - kFieldBias;
    }
  }

  /* The rows before the next group, as points. */
  static __device__ __forceinline__ void points_before(const Progress &progress, int32_t low,
                                                       uint32_t (&before)[kRowsBefore<kDims>]) {
#pragma unroll
    for (uint32_t i = 0; i < kRowsBefore<kDims>; i++) {
      uint32_t const pair = progress.before[i % kPairsBefore<kDims>];
      bool const is_low = kDims == 3 && i < kGroupPairs;
      uint32_t const distance = is_low ? pair & 0xFFFF : pair >> 16;
      before[i] = progress.group > 0 ? (uint32_t)low + distance : 0;
    }
  }

  /* Appends the lane's codes; returns whether some delta is not 0. *has_marks: whether some value
   * of the lane is exact or fill. */
  static __device__ __forceinline__ bool walk(const CompressJob &job, uint32_t tile,
                                              const TileShape &shape, const Coder &coder,
                                              LaneBits &bits, LaneStage *stage, bool *has_marks) {
    AxisChoice const axes = axis_choice<kDims>(*job.axes);
    Loader loader(job, shape, threadIdx.x % 32);
    Progress progress = {0, {loader.first_value()}, {}, 0};
    loader.start(progress.values);
    PointWindow const window = point_window<A, kDims>(job, progress.values[0]);
    bool const is_common = is_whole<kDims>(shape) && axes.is_all && !job.needs_care;
    auto const walk_as = [&](auto walk_kind) {
      walk_groups<decltype(walk_kind)>(job, shape, axes, coder.zero_groups, window, loader,
                                       progress, bits, stage);
    };
    if (!is_common)
      walk_as(AnyWalk());
    else if (coder.zero_groups == SZG_ZERO_GROUPS_NONE)
      walk_as(CommonWalk<SZG_ZERO_GROUPS_NONE>());
    else if (coder.zero_groups == SZG_ZERO_GROUPS_8)
      walk_as(CommonWalk<SZG_ZERO_GROUPS_8>());
    else
      walk_as(CommonWalk<SZG_ZERO_GROUPS_4>());
    if (progress.group == group_count<kDims>(shape)) return progress.seen != 0;
    uint32_t before[kRowsBefore<kDims>];
    points_before(progress, window.low, before);
    bool const has_deltas = WideGroups<A, kDims, Policy, kTwoWords>::append(
        job, tile, shape, axes, coder, progress.group, loader, progress.values, before, bits, stage,
        has_marks);
    return has_deltas || progress.seen != 0;
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

  /* Appends groups up to the first that cannot go the fast way. */
  template <class Kind>
  static __device__ __forceinline__ void walk_groups(const CompressJob &job, const TileShape &shape,
                                                     const AxisChoice &frame_axes,
                                                     uint32_t frame_zero_groups,
                                                     const PointWindow &window, Loader &loader,
                                                     Progress &progress, LaneBits &bits,
                                                     LaneStage *stage) {
    constexpr bool kIsCommon = Kind::kIsCommon;
    uint32_t const lane = threadIdx.x % 32;
    AxisChoice const axes = kIsCommon ? AxisChoice{true, true, true, true} : frame_axes;
    uint32_t const zero_groups = Kind::zero_groups(frame_zero_groups);
    LaneFacts const facts = {lane, kept_in_register(lane > 0 ? 0u - 1u : 0)};
    uint32_t const table = shared_address(shared_tables().table);
    uint32_t const groups = group_count<kDims>(shape);
    uint32_t const common_limit = stage_end<Policy>() - kGroupWords * kStepBytes;
    uint32_t const loaded_groups = kIsCommon ? groups : loader.group_count;
    PointRounder<A> const rounder(job.k, window.low);
    uint32_t origin = lane == 0 ? (uint32_t)window.low : 0; /* missing from the first difference */
    uint32_t group = 0;
#pragma unroll 1
    for (; group < loaded_groups; group++) {
      uint32_t pairs[kGroupPairs], deltas[kGroupPairs];
      bool const is_near = find_pairs<A, kIsCommon>(job, window, rounder, progress.values, pairs);
      if (__any_sync(kAllLanes, !is_near)) break;
      if (group + 1 < loaded_groups) loader.load(group + 1, progress.values);
      pair_differences<kDims>(pairs, progress.before, axes, group, facts, deltas);
      deltas[0] += origin;
      origin = 0;
      uint32_t missing = 0;
      if (!kIsCommon) {
        uint32_t const rows = rows_of_lane<kDims>(shape, group, lane);
        leave_out(rows, deltas);
        if (rows != 0 || kDims == 1) missing = rows ^ kAllRows;
      }
      progress.seen |= deltas[0] | deltas[1] | deltas[2] | deltas[3];
      append_group_pairs<Policy>(bits, deltas, missing, zero_groups, common_limit, table, stage);
#pragma unroll
      for (uint32_t i = 0; i < kPairsBefore<kDims>; i++)
        progress.before[i] = pairs[kGroupPairs - kPairsBefore<kDims> + i];
    }
    progress.group = group;
  }
};

} // namespace szg

#endif
