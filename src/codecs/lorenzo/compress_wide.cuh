/* compress_wide.cuh - tiles to bits on any lattice, where points need more than 16 bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounding and checks take one instruction each: a sum with a large number rounds to a whole one
 * and has the point in its low bits, and within the reach (find_reach) no rounded value can miss
 * the bound. A group with a value beyond the reach, or a fill value, gets its points the exact way
 * of compress_walk.cuh. So does a group at the frame's end that cannot be loaded as a whole.
 */
#ifndef SZG_COMPRESS_WIDE_CUH
#define SZG_COMPRESS_WIDE_CUH

#include "codecs/lorenzo/compress_points.cuh"
#include "codecs/lorenzo/compress_wide_codes.cuh"

namespace szg {

/* ---- values to points ---- */

/* The nearest point, as szg_lattice_* finds it. *is_near becomes false if the value is beyond the
 * reach; then the point means nothing. */
template <class A>
struct WidePoint;

template <>
struct WidePoint<Arithmetic<SZG_ARITHMETIC_F32>> {
  static __device__ __forceinline__ uint32_t of(const CompressJob &job, float x, bool *is_near) {
    float const scaled = __fmul_rn(x, job.k.inverse_f32);
    *is_near &= fabsf(scaled) <= job.wide_reach_f32;
    return __float_as_uint(__fadd_rn(scaled, 0x1.8p23f)) - 0x4B400000u;
  }
};

/* Of the sum, in which a unit of the last bit is a point. */
__device__ __forceinline__ double rounded_sum(const CompressJob &job, double x, bool *is_near) {
  double const scaled = __dmul_rn(x, job.k.inverse);
  *is_near &= fabs(scaled) <= job.wide_reach;
  return __dadd_rn(scaled, 0x1.8p52);
}

template <>
struct WidePoint<Arithmetic<SZG_ARITHMETIC_F64>> {
  static __device__ __forceinline__ uint32_t of(const CompressJob &job, double x, bool *is_near) {
    return (uint32_t)__double2loint(rounded_sum(job, x, is_near));
  }
};

template <>
struct WidePoint<Arithmetic<SZG_ARITHMETIC_F32_CLOSE>> {
  static __device__ __forceinline__ uint32_t of(const CompressJob &job, float x, bool *is_near) {
    return (uint32_t)__double2loint(rounded_sum(job, (double)x, is_near));
  }
};

template <>
struct WidePoint<Arithmetic<SZG_ARITHMETIC_F64_WIDE>> {
  static __device__ __forceinline__ uint64_t of(const CompressJob &job, double x, bool *is_near) {
    double const sum = rounded_sum(job, x, is_near);
    uint32_t const high = (uint32_t)__double2hiint(sum) - 0x43380000u;
    return (uint64_t)high << 32 | (uint32_t)__double2loint(sum);
  }
};

/* Points of a group; false if it has to go the exact way. */
template <class A>
__device__ __forceinline__ bool near_points(const CompressJob &job,
                                            const typename A::Value (&values)[SZG_GROUP_ROWS],
                                            typename A::Unsigned (&points)[SZG_GROUP_ROWS]) {
  bool is_near = true;
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    points[row] = WidePoint<A>::of(job, values[row], &is_near);
  if (job.has_near_fill) {
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) is_near &= !A::is_fill(job.k, values[row]);
  }
  return is_near;
}

/* ---- the exact way ---- */

template <class A, int kDims>
struct ExactGroup {
  typename A::Unsigned before[kRowsBefore<kDims>], points[SZG_GROUP_ROWS];
  bool has_marks; /* a value of the lane is exact or fill */
};

/* Fills in everything except `before`. The whole warp calls. */
template <class A, int kDims>
__device__ __noinline__ void find_points_exactly(const CompressJob *job, uint32_t tile,
                                                 uint32_t group_index,
                                                 ExactGroup<A, kDims> *group) {
  typedef typename A::Value Value;
  uint32_t const lane = threadIdx.x % 32;
  TileShape const shape = tile_shape(job->layout, tile);
  const Value *const tile_values = (const Value *)job->values + shape.first_value;
  uint32_t const rows = rows_of_lane<kDims>(shape, group_index, lane);
  Value values[SZG_GROUP_ROWS];
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    values[row] = rows >> row & 1 ? tile_values[value_offset<kDims>(shape, group_index, row, lane)]
                                  : (Value)0;
  typename A::Unsigned before[kRowsBefore<kDims>], points[SZG_GROUP_ROWS];
  for (uint32_t i = 0; i < kRowsBefore<kDims>; i++) before[i] = group->before[i];
  group->has_marks = group_points<A, kDims>(job->k, values, rows, before, group_index, points);
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) group->points[row] = points[row];
}

/* Only this function takes addresses, so that the rest stays in registers. */
template <class A, int kDims>
__device__ __forceinline__ bool exact_points(
    const CompressJob &job, uint32_t tile, uint32_t group_index,
    const typename A::Unsigned (&before)[kRowsBefore<kDims>],
    typename A::Unsigned (&points)[SZG_GROUP_ROWS]) {
  ExactGroup<A, kDims> group;
  for (uint32_t i = 0; i < kRowsBefore<kDims>; i++) group.before[i] = before[i];
  find_points_exactly<A, kDims>(&job, tile, group_index, &group);
  /* Waits here for what is loaded here. Otherwise code after the branch would wait on either way,
   * and for the next group's values too: the hardware has few barriers for loads. */
  uint32_t const zero = job.tile_count >> 31;
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) points[row] = group.points[row] + zero;
  return group.has_marks;
}

/* ---- deltas to bits ---- */

/* Appends deltas one by one, whatever they are. */
template <class Point>
struct DeltaRows {
  Point deltas[SZG_GROUP_ROWS];
};
template <class Point>
__device__ __noinline__ LaneBits append_any_rows(LaneBits bits, const DeltaRows<Point> *group,
                                                 uint32_t rows, Coder coder) {
  uint32_t with_deltas = 0;
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
    with_deltas |= group->deltas[row] != 0 ? 1u << row : 0;
  append_group(bits, rows, with_deltas & rows, coder.zero_groups,
               [&](uint32_t row) { append_delta(bits, group->deltas[row], coder); });
  return bits;
}

/* Words of a group of escapes. */
template <class Point>
constexpr uint32_t kAnyGroupWords =
    (31 + SZG_GROUP_ROWS * (SZG_TILE_CODE_BITS + 8 * sizeof(Point)) + 2) / 32;

/* Appends the lane's codes. is_slow: the lane lacks rows. The whole warp calls. */
template <class Policy, bool kTwoWords, class Point>
__device__ __forceinline__ void append_deltas(LaneBits &bits, const Point (&deltas)[SZG_GROUP_ROWS],
                                              uint32_t rows, bool is_slow, const Coder &coder,
                                              uint32_t common_limit, LaneStage *stage) {
  int32_t words[SZG_GROUP_ROWS];
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
    words[row] = (int32_t)deltas[row];
    if (sizeof(Point) == 8) is_slow |= words[row] != deltas[row];
  }
  WideCodes<kTwoWords> const codes(words);
  is_slow |= codes.odd != 0;
  if (!__any_sync(kAllLanes, is_slow || bits.next > common_limit)) {
    append_wide_group<kTwoWords>(bits, codes, words, coder.zero_groups);
    return;
  }
  keep_room<Policy>(bits, kAnyGroupWords<Point>, stage);
  DeltaRows<Point> group;
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) group.deltas[row] = deltas[row];
  bits = append_any_rows<Point>(bits, &group, rows, coder);
}

/* ---- a tile ---- */

/* The groups of a tile from some group on. */
template <class A, int kDims, class Policy, bool kTwoWords>
struct WideGroups {
  typedef typename A::Value Value;
  typedef typename A::Point Point;
  typedef typename A::Unsigned Unsigned;
  static_assert(kAnyGroupWords<Point> < Policy::kStageWords &&
                    kWideGroupWords<kTwoWords> < Policy::kStageWords,
                "the stage has room for a group");

  /* Deltas on the lattice; 0 in rows that the lane lacks. */
  static __device__ __forceinline__ void take_deltas(const Unsigned (&differences)[SZG_GROUP_ROWS],
                                                     uint32_t lattice_bits, uint32_t rows,
                                                     Point (&deltas)[SZG_GROUP_ROWS]) {
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
      deltas[row] = (Point)differences[row];
      if (sizeof(Point) == 4 && lattice_bits == 16)
        deltas[row] = (int16_t)(uint16_t)differences[row];
    }
    if (rows == kAllRows) return;
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
      if (!(rows >> row & 1)) deltas[row] = 0;
  }

  /* Appends the lane's codes; returns whether some delta is not 0. values: of the group, if it can
   * be loaded. before: rows of the group before. Sets *has_marks if some value of the lane is exact
   * or fill. The whole warp calls. */
  template <class Loader>
  static __device__ __forceinline__ bool append(const CompressJob &job, uint32_t tile,
                                                const TileShape &shape, const AxisChoice &axes,
                                                const Coder &coder, uint32_t group, Loader &loader,
                                                Value (&values)[SZG_GROUP_ROWS],
                                                Unsigned (&before)[kRowsBefore<kDims>],
                                                LaneBits &bits, LaneStage *stage, bool *has_marks) {
    uint32_t const lane = threadIdx.x % 32, groups = group_count<kDims>(shape);
    uint32_t const common_limit = stage_end<Policy>() - kWideGroupWords<kTwoWords> * kStepBytes;
    bool const has_all_rows = is_whole<kDims>(shape);
    bool is_marked = false;
    Unsigned seen = 0;
#pragma unroll 1
    for (; group < groups; group++) {
      Unsigned points[SZG_GROUP_ROWS], differences[SZG_GROUP_ROWS];
      bool const is_near = near_points<A>(job, values, points) && group < loader.group_count;
      if (group + 1 < loader.group_count) loader.load(group + 1, values);
      if (__any_sync(kAllLanes, !is_near))
        is_marked |= exact_points<A, kDims>(job, tile, group, before, points);
      group_differences<Unsigned, kDims>(points, before, axes, group, lane, differences);
      keep_rows<Unsigned, kDims>(points, before);
      uint32_t const rows = has_all_rows ? kAllRows : rows_of_lane<kDims>(shape, group, lane);
      Point deltas[SZG_GROUP_ROWS];
      take_deltas(differences, coder.lattice_bits, rows, deltas);
#pragma unroll
      for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) seen |= (Unsigned)deltas[row];
      /* The bits of a lane without any rows do not count. In 1-D it may have had some before. */
      bool const lacks_some = rows != kAllRows && (rows != 0 || kDims == 1);
      append_deltas<Policy, kTwoWords>(bits, deltas, rows, lacks_some, coder, common_limit, stage);
    }
    *has_marks |= is_marked;
    return seen != 0;
  }
};

/* For the 32- and 64-bit lattices, and the 16-bit one if lines are too far apart for PairWalk. */
template <class A, int kDims>
struct WideWalk {
  typedef typename A::Value Value;
  static constexpr bool kTwoWords = sizeof(Value) == 8;
  typedef std::conditional_t<kTwoWords, WidePolicyF64, WidePolicyF32> Policy;

  /* Like PairWalk's walk. */
  static __device__ __forceinline__ bool walk(const CompressJob &job, uint32_t tile,
                                              const TileShape &shape, const Coder &coder,
                                              LaneBits &bits, LaneStage *stage, bool *has_marks) {
    GroupLoader<Value, kDims, uint64_t> loader(job, shape, threadIdx.x % 32);
    Value values[SZG_GROUP_ROWS] = {};
    loader.start(values);
    typename A::Unsigned before[kRowsBefore<kDims>] = {};
    return WideGroups<A, kDims, Policy, kTwoWords>::append(
        job, tile, shape, axis_choice<kDims>(*job.axes), coder, 0, loader, values, before, bits,
        stage, has_marks);
  }
};

} // namespace szg

#endif
