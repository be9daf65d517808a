/* compress_points.cuh - values of a tile on the 16-bit lattice to points, two per word.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows i and i + 4 of a group share a word: low + 65536 high, in ordinary arithmetic. A sum or
 * difference of such words holds that of both halves, which can be separated as long as the low
 * half's true number fits 16 bits. The points of a tile are therefore distances from the bottom of
 * a window that is narrow enough: a difference adds 2^kDims points, half of them negative. Only the
 * tile's first difference depends on the origin of the points.
 */
#ifndef SZG_COMPRESS_POINTS_CUH
#define SZG_COMPRESS_POINTS_CUH

#include "codecs/lorenzo/compress_walk.cuh"

namespace szg {

constexpr uint32_t kGroupPairs = SZG_GROUP_ROWS / 2;

/* A window's points: |delta| is at most 2^(kDims - 1) times less than as many. */
template <int kDims>
constexpr uint32_t kWindowPoints = 1u << (16 - kDims);

/* Pairs of earlier groups that differences need: the plane's, the last line's or the last. */
template <int kDims>
constexpr uint32_t kPairsBefore = kDims == 3   ? kGroupPairs
                                  : kDims == 2 ? 2
                                               : 1;

__device__ __forceinline__ uint32_t pair_of(uint32_t low, uint32_t high) {
  return low + (high << 16);
}

/* A pair of deltas as two fields of 16 bits, each 0x8000 too large, and back. */
constexpr uint32_t kFieldBias = 0x80008000u;

/* What a lane needs throughout. */
struct LaneFacts {
  uint32_t index;
  uint32_t left_factor; /* of the value to the left: -1, or 0 if there is none */
};

/* ---- values to points ---- */

/* A tile's window: points low .. low + span. low is even, so that ties round alike. */
struct PointWindow {
  int32_t low;
  uint32_t span;
};

/* The tile's window. It stays within the reach, in which no value that is rounded to a point needs
 * the bound's check and all are below the lattice's limit (find_reach). If it is too narrow for the
 * whole reach, it lies around the tile's first value. The whole warp calls. */
template <class A, int kDims>
__device__ __forceinline__ PointWindow point_window(const CompressJob &job,
                                                    typename A::Value value) {
  constexpr int32_t kPoints = kWindowPoints<kDims>;
  int32_t const reach = job.reach;
  if (2 * reach < kPoints) return {-reach, 2 * (uint32_t)reach};
  typename A::Point first;
  A::lattice(job.k, value, &first);
  int32_t low = __shfl_sync(kAllLanes, first, 0) - kPoints / 2;
  low = min(low, reach - kPoints + 1);
  low = max(low, -reach) & ~1;
  return {low, (uint32_t)min(kPoints - 1, reach - low)};
}

/* The distance of a value's point, the nearest as szg_lattice_* finds it, from the window's bottom.
 * A value outside the window gives a distance beyond any window or sets *astray. */
template <class A>
struct PointRounder;

/* The sum is a denormal with one point per unit of the last bit: the addition rounds as rintf does,
 * and the sum's bits are the distance. Below the window they include the sign bit; for infinities
 * and NaN they include the exponent's. */
template <>
struct PointRounder<Arithmetic<SZG_ARITHMETIC_F32>> {
  float inverse, offset;

  __device__ __forceinline__ PointRounder(const szg_quantizer &k, int32_t low) {
    inverse = k.inverse_f32;
    offset =
        __uint_as_float(kept_in_register(low > 0 ? 0x80000000u | (uint32_t)low : (uint32_t)-low));
  }
  __device__ __forceinline__ uint32_t distance(float x, uint32_t *) const {
    float const least = __uint_as_float(1);
    return __float_as_uint(__fmaf_rn(__fmul_rn(x, inverse), least, offset));
  }
};

/* The sum lies where doubles are consecutive integers, so its lower word is the distance. */
template <>
struct PointRounder<Arithmetic<SZG_ARITHMETIC_F64>> {
  double inverse, offset;

  __device__ __forceinline__ PointRounder(const szg_quantizer &k, int32_t low)
      : inverse(k.inverse), offset(0x1.8p52 - (double)low) {}
  __device__ __forceinline__ uint32_t distance(double x, uint32_t *astray) const {
    double const moved = __dadd_rn(__dmul_rn(x, inverse), offset);
    *astray |= (uint32_t)__double2hiint(moved) ^ 0x43380000u; /* of 0x1.8p52 */
    return (uint32_t)__double2loint(moved);
  }
};

/* Points of a group as pairs of distances. False if some value cannot go the fast way. */
template <class A, bool kIsCommon>
__device__ __forceinline__ bool find_pairs(const CompressJob &job, const PointWindow &window,
                                           const PointRounder<A> &rounder,
                                           const typename A::Value (&values)[SZG_GROUP_ROWS],
                                           uint32_t (&pairs)[kGroupPairs]) {
  uint32_t farthest = 0, astray = 0;
#pragma unroll
  for (uint32_t i = 0; i < kGroupPairs; i++) {
    uint32_t const low = rounder.distance(values[i], &astray);
    uint32_t const high = rounder.distance(values[i + kGroupPairs], &astray);
    farthest = __vimax3_u32(farthest, low, high);
    pairs[i] = pair_of(low, high);
  }
  bool is_near = farthest <= window.span && astray == 0;
  if (!kIsCommon && job.needs_care) {
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
      uint32_t const distance = rounder.distance(values[row], &astray);
      typename A::Value const restored =
          A::restore(job.k, (typename A::Point)((uint32_t)window.low + distance));
      is_near &= A::within(job.k, values[row], restored) && !A::is_fill(job.k, values[row]);
    }
  }
  return is_near;
}

/* ---- loads ---- */

/* How many groups after the one that is loaded next the cache is asked for: a group's values are in
 * the L2 cache when they are loaded, which takes a third of the time from memory. */
constexpr uint32_t kGroupsAhead = 3;

constexpr uint32_t kSectorBytes = 32; /* what one request brings to the cache */

__device__ __forceinline__ void ask_cache(const char *where) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(where));
}

/* The sectors of a group's lines, if they begin with one: a lane asks for as many as a value has
 * words of 32 bits. */
template <class Value, int kDims>
struct GroupSectors {
  static constexpr uint32_t kLanes = SZG_LANES;
  static constexpr uint32_t kLineValues = kDims == 3   ? kLanes
                                          : kDims == 2 ? 2 * kLanes
                                                       : kGroupValues;
  static constexpr uint32_t kLineBytes = kLineValues * sizeof(Value);
  static constexpr uint32_t kOfLine = kLineBytes / kSectorBytes;
  static constexpr uint32_t kRequests = sizeof(Value) / sizeof(uint32_t);
  static constexpr uint32_t kLinesOfRequest = SZG_LANES / kOfLine; /* 0: all are of one line */
};

/* Loads a tile's groups, one after the other. Lanes that the tile lacks load the last value of the
 * row, and rows that it lacks load what comes next in the frame. Their codes are left out, so at
 * worst they keep a group from the fast way. A group that would reach beyond the frame is not
 * loaded. */
template <class Value, int kDims, class LineBytes>
struct GroupLoader {
  typedef GroupSectors<Value, kDims> Sectors;
  const char *from[2];  /* the lane's value in row 0 of the next group; 2-D: and in row 1 */
  LineBytes line_bytes; /* from line to line */
  uint32_t group_count; /* that can be loaded */
  uint64_t group_bytes;
  const char *ahead; /* the lane's first sector of the group to ask for next */

  __device__ __forceinline__ GroupLoader(const CompressJob &job, const TileShape &shape,
                                         uint32_t lane) {
    uint32_t const last = shape.x_extent - 1;
    const Value *const first = (const Value *)job.values + shape.first_value;
    from[0] = (const char *)(const void *)(first + min(lane, last));
    from[1] = (const char *)(const void *)(first + min(lane + SZG_LANES, last));
    line_bytes = (LineBytes)shape.y_stride * (LineBytes)sizeof(Value);
    uint64_t const group_values = kDims == 3   ? shape.z_stride
                                  : kDims == 2 ? kGroupLines * shape.y_stride
                                               : kGroupValues;
    group_bytes = group_values * sizeof(Value);
    uint32_t const value = lane % Sectors::kOfLine * (kSectorBytes / (uint32_t)sizeof(Value));
    ahead = (const char *)(const void *)(first + (kDims == 1 ? value : min(value, last))) +
            (uint64_t)line_bytes * (lane / Sectors::kOfLine);
    group_count = szg::group_count<kDims>(shape);
    if (is_whole<kDims>(shape)) return;
    uint64_t const last_line = kDims == 3 ? SZG_TILE_3D_Y - 1 : kGroupLines - 1;
    uint64_t const reach =
        kDims == 1 ? kGroupValues - 1 : last_line * shape.y_stride + shape.x_extent - 1;
    while (group_count > 0 &&
           shape.first_value + (group_count - 1) * group_values + reach >= job.value_count)
      group_count--;
  }

  __device__ __forceinline__ static Value value_at(const char *where) {
    return __ldcs((const Value *)(const void *)where);
  }

  /* The lane's first value, which always exists. */
  __device__ __forceinline__ Value first_value() const { return value_at(from[0]); }

  __device__ __forceinline__ void ask_for_group() {
#pragma unroll
    for (uint32_t i = 0; i < Sectors::kRequests; i++)
      ask_cache(ahead + (kDims == 1 ? (uint64_t)i * SZG_LANES * kSectorBytes
                                    : (uint64_t)line_bytes * (i * Sectors::kLinesOfRequest)));
    ahead += group_bytes;
  }

  /* Loads the first group, if it can be loaded. */
  __device__ __forceinline__ void start(Value (&values)[SZG_GROUP_ROWS]) {
    if (group_count == 0) return;
    ahead += group_bytes;
    for (uint32_t group = 1; group < min(group_count, kGroupsAhead); group++) ask_for_group();
    load(0, values);
  }

  /* group: the next one; below group_count. */
  __device__ __forceinline__ void load(uint32_t group, Value (&values)[SZG_GROUP_ROWS]) {
    if (group + kGroupsAhead < group_count) ask_for_group();
    const char *line[2] = {from[0], from[1]};
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
      uint32_t const half = kDims == 2 ? row % 2 : 0;
      values[row] = value_at(line[half] + (kDims == 1 ? row * SZG_LANES * sizeof(Value) : 0));
      if (kDims > 1) line[half] += line_bytes;
    }
    from[0] += group_bytes;
    from[1] += group_bytes;
  }
};

/* ---- host ---- */

/* The distance from 0, in points, up to which values need no check of the bound or of the lattice's
 * limit; even. 0: there is no such distance, and values need both checks.
 *
 * Let u be the rounding unit, s the step and q the point of x. Rounding q = x / s takes two
 * operations off by u each, so |x - q s| <= s/2 + s (|q| + 1/2) (2 u + 3 u^2); restoring takes one,
 * off by u |q| s. Together |x - r| <= s/2 + s u (3 |q| + 2) while |q| < 2^20, which must be at most
 * the bound. (|x - r| rounded is then at most the bound too, because the bound is a number of the
 * type.) For f64 the same holds while |q| < 2^50, and for f32 while |q| < 2^22. The step leaves
 * about 4/3 of what ordinary values need (docs/guarantees.md); a short reach would miss some.
 *
 * With SZG_ARITHMETIC_F32_CLOSE all of this is done in f64, and only the restored value is rounded
 * to f32: |x - r| <= s/2 + s u |q| (1 + 2^-20) while |q| < 2^30. The 2^-20 is for a few times
 * 2^-53 |q| s, and for what is lost near the least floats. That step leaves 2^-10 more than
 * ordinary values need. */
constexpr double kLeastReach = 16.0;
inline double reach_of(const szg_quantizer &k, double limit) {
  bool const is_f32 = k.arithmetic == SZG_ARITHMETIC_F32;
  double const unit = k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? 0x1p-24 : 0x1p-53;
  double const step = is_f32 ? (double)k.step_f32 : k.step;
  double const bound = is_f32 ? (double)k.bound_f32 : k.bound;
  bool const is_inverse = is_f32 ? k.inverse_f32 == 1.0f / k.step_f32 : k.inverse == 1.0 / k.step;
  bool const is_ordinary = step >= 0x1p-100 && step <= 0x1p100 && is_inverse;
  if (!is_ordinary || !(bound > step / 2)) return 0.0;
  double const units = (bound - step / 2) / (step * unit);
  double const points = k.arithmetic == SZG_ARITHMETIC_F32_CLOSE ? units * (1.0 - 0x1p-20) - 2.0
                                                                 : (units - 2.0) / 3.0 - 2.0;
  double const reach = floor(points < limit - 1.0 ? points : limit - 1.0);
  return reach < kLeastReach ? 0.0 : reach;
}

/* The largest numbers for which a sum rounds to a whole number as rint does. */
inline double most_points(uint32_t arithmetic) {
  return arithmetic == SZG_ARITHMETIC_F32        ? 0x1p22
         : arithmetic == SZG_ARITHMETIC_F64_WIDE ? 0x1p50
                                                 : SZG_LATTICE_LIMIT_32;
}

/* The fill value's magnitude in steps; infinite or NaN for most. */
inline double fill_points(const szg_quantizer &k) {
  szgpu_dtype const dtype = k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? SZGPU_F32 : SZGPU_F64;
  return fabs(szg_value_of_bits(dtype, k.fill_bits) / k.step);
}

/* Sets the members of the job that the fast ways need. Fill values within the reach need a check:
 * those within a step of it are taken for such. */
inline void find_reach(CompressJob *job) {
  szg_quantizer const &k = job->k;
  double const limit = k.limit < most_points(k.arithmetic) ? k.limit : most_points(k.arithmetic);
  double const reach = reach_of(k, limit);
  job->wide_reach = reach > 0.0 ? reach : -1.0;
  job->wide_reach_f32 = (float)job->wide_reach;
  job->has_near_fill = k.has_fill && fill_points(k) <= reach + 1.0;
  if (job->lattice_bits > 16) return;
  job->reach = (int32_t)reach & ~1;
  job->needs_care = reach == 0.0 || job->has_near_fill;
  if (reach == 0.0) job->reach = SZG_LATTICE_LIMIT_16 - 1.0;
}

} // namespace szg

#endif
