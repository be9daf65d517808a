/* levels_probe.cuh - what one sampled point counts as, on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each sampled point is predicted from the points around it, as if it were one that its level adds,
 * by each stencil and set of axes; the codes are counted by class. Neighbours are those of the
 * field itself, not restored ones. The twin of levels_probe_rows.inc, which takes all points of a
 * run at once.
 *
 * The instructions come from device memory, once for each field, so loops over sets of axes are not
 * unrolled.
 *
 * Point: int32_t, or int64_t in wide frames.
 */
#ifndef SZG_LEVELS_PROBE_CUH
#define SZG_LEVELS_PROBE_CUH

#include <type_traits>

#include "codecs/interpolation/levels_probe_core.h"
#include "codecs/interpolation/levels_stencil.cuh"

namespace szg {

/* The neighbours of a point along an axis, 3, 1, 1 and 3 spacings away. */
template <class Point>
struct Taps {
  Point at[4];
  bool has[4];
};

/* A sampled point with its neighbours at one scale. taps: of the first axis_count axes. */
template <class Point>
struct Sampled {
  uint32_t at[3]; /* low bits of its coordinates */
  Point value;
  Taps<Point> taps[3];
};

/* The points around it, before, at and after along z, y and x. Those that are not there, or have no
 * lattice value, are those without the offset along the last axis. */
template <class Point>
struct Patch {
  Point at[3][3][3];
  Point outer[3][2]; /* 5 spacings before and after, along x, y, z */
  bool has_outer[3]; /* both */
};

/* ---- predictions ---- */

/* Sixteen times the prediction along one axis. Both near neighbours exist. */
template <class Point>
__device__ __forceinline__ Point stencil_of(const Taps<Point> &taps, bool is_linear) {
  typedef typename std::make_unsigned<Point>::type Unsigned;
  Unsigned const a = (Unsigned)taps.at[0], b = (Unsigned)taps.at[1], c = (Unsigned)taps.at[2],
                 d = (Unsigned)taps.at[3];
  if (is_linear || (!taps.has[0] && !taps.has[3])) return (Point)szg_sum_linear(b, c);
  if (taps.has[0] && taps.has[3]) return (Point)szg_sum_cubic(a, b, c, d);
  return (Point)(taps.has[3] ? szg_sum_end(b, c, d) : szg_sum_end(c, b, a));
}

/* How far a point is off its prediction along the axes `used` with these sums of their stencils. */
template <class Point>
__device__ __forceinline__ Point error_of(Point point, const Point *sums, uint32_t used) {
  Point sum = 0;
#pragma unroll
  for (uint32_t axis = 0; axis < 3; axis++)
    if (used >> axis & 1) sum += sums[axis];
  return point - szg_predict_sampled(szg_probe_axes_in(used), sum);
}
template <class Point>
__device__ __forceinline__ Point code_of_error(Point error, uint32_t unit_bits) {
  return (error + ((Point)1 << unit_bits >> 1)) >> unit_bits;
}
template <class Point>
__device__ __forceinline__ Point code_of(Point point, const Point *sums, uint32_t used,
                                         uint32_t unit_bits) {
  return code_of_error(error_of(point, sums, used), unit_bits);
}

/* The sum over the points before and after along the axes `over`. */
template <class Point>
__device__ __forceinline__ typename std::make_unsigned<Point>::type sum_around(
    const Patch<Point> &patch, uint32_t over) {
  typename std::make_unsigned<Point>::type sum = 0;
#pragma unroll
  for (uint32_t after = 0; after < 8; after++) {
    if (after & ~over) continue;
    auto const place = [&](uint32_t axis) {
      return over >> axis & 1 ? 2 * (after >> axis & 1) : 1;
    };
    sum += (typename std::make_unsigned<Point>::type)patch.at[place(2)][place(1)][place(0)];
  }
  return sum;
}
/* The prediction of blended frames for a point that is odd along several axes. */
template <class Point>
__device__ __forceinline__ Point blend(const Patch<Point> &patch, uint32_t odd) {
  typedef typename std::make_unsigned<Point>::type Unsigned;
  Unsigned const none = sum_around(patch, odd);
  Unsigned near = 0, edges = 0;
#pragma unroll
  for (uint32_t axis = 0; axis < 3; axis++) {
    if (!(odd >> axis & 1)) continue;
    near += sum_around(patch, 1u << axis);
    edges += sum_around(patch, odd ^ 1u << axis);
  }
  return (Point)(odd == SZG_AXES_ALL
                     ? szg_blend_three(szg_half_of_three(0, 0, none), 0, near, edges)
                     : szg_blend_two(szg_half_of_two(0, none), 0, near));
}

/* The prediction along one axis by a quintic stencil. */
template <class Point>
__device__ __forceinline__ Point quintic(const Sampled<Point> &point, const Patch<Point> &patch,
                                         uint32_t axis) {
  typedef typename std::make_unsigned<Point>::type Unsigned;
  const Taps<Point> &taps = point.taps[axis];
  if (!taps.has[0] || !taps.has[3] || !patch.has_outer[axis])
    return szg_predict_sampled(1, stencil_of(taps, false));
  return (Point)szg_predict_quintic(
      szg_sum_quintic((Unsigned)patch.outer[axis][0], (Unsigned)taps.at[0], (Unsigned)taps.at[1],
                      (Unsigned)taps.at[2], (Unsigned)taps.at[3], (Unsigned)patch.outer[axis][1]));
}

/* Leaves the neighbours that a point of a class with several axes is predicted from. */
template <class Point>
__device__ __forceinline__ void keep_in_tile(uint32_t axis_count, uint32_t axis, uint32_t scale,
                                             uint32_t coordinate, Taps<Point> *taps) {
  uint32_t const extent = szg_level_tile_extent(axis_count, axis, (uint64_t)1 << scale);
  uint32_t const odd = szg_probe_odd(coordinate, scale, extent);
  taps->has[0] = taps->has[0] && szg_probe_has_before(odd);
  taps->has[3] = taps->has[3] && szg_probe_has_after(odd, axis, extent);
}

/* Neighbours as if they were restored with this unit: multiples of it. The quotient is rounded by
 * f64 arithmetic, the same everywhere. */
template <class Point>
__device__ __forceinline__ void round_taps(uint32_t unit, double inverse, Taps<Point> *taps) {
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    double const quotient = __dmul_rn((double)(taps->at[i] + (Point)(unit / 2)), inverse);
    Point const toward_zero = (Point)quotient;
    taps->at[i] = (toward_zero - ((double)toward_zero > quotient ? 1 : 0)) * (Point)unit;
  }
}

/* ---- counts ---- */

/* Counts a code in its class. */
__device__ __forceinline__ void count_code(int32_t code, uint32_t *counts) {
  uint32_t const magnitude = code < 0 ? 0 - (uint32_t)code : (uint32_t)code;
  uint32_t const own = SZG_PROBE_FIRST_WIDTH + 31 - (uint32_t)__clz((int)magnitude);
  atomicAdd(&counts[magnitude <= SZG_PROBE_DIRECT ? (uint32_t)(code + SZG_PROBE_DIRECT) : own], 1u);
}
__device__ __forceinline__ void count_code(int64_t code, uint32_t *counts) {
  uint64_t const magnitude = code < 0 ? 0 - (uint64_t)code : (uint64_t)code;
  uint32_t const own = SZG_PROBE_FIRST_WIDTH + 63 - (uint32_t)__clzll((long long)magnitude);
  uint32_t const wide = min(own, (uint32_t)SZG_PROBE_CLASSES - 1);
  atomicAdd(&counts[magnitude <= SZG_PROBE_DIRECT ? (uint32_t)(code + SZG_PROBE_DIRECT) : wide],
            1u);
}

/* First pass, one scale and stencil: codes of every entry. counts: [SZG_PROBE_ENTRIES]. Rounds the
 * neighbours: restoring adds about such an error. */
template <uint32_t kAxes, class Point>
__device__ __forceinline__ void count_entries(bool is_line, uint32_t fine_bits, uint32_t scale,
                                              bool is_linear, Sampled<Point> *point,
                                              szg_probe_counts *counts) {
  constexpr uint32_t kAll = (1u << kAxes) - 1;
  uint32_t const unit_bits = fine_bits - SZG_PROBE_FINE_BITS;
  uint32_t const noise_unit = szg_level_unit(1, 1, fine_bits) / 2;
  double const inverse = 1.0 / (double)noise_unit;
  Point sums[3] = {0, 0, 0};
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    uint32_t const set = 1u << axis;
    round_taps(noise_unit, inverse, &point->taps[axis]);
    sums[axis] = stencil_of(point->taps[axis], is_linear);
    if (szg_probe_fits(is_line, set, point->at[0], scale))
      count_code(code_of(point->value, sums, set, unit_bits), counts[set - 1]);
    keep_in_tile(kAxes, axis, scale, point->at[axis], &point->taps[axis]);
    sums[axis] = stencil_of(point->taps[axis], is_linear);
  }
  if constexpr (kAxes > 1) {
    if (!szg_probe_fits(is_line, kAll, point->at[0], scale)) return;
#pragma unroll 1
    for (uint32_t used = 1; used <= kAll; used++)
      count_code(code_of(point->value, sums, used, unit_bits),
                 counts[szg_probe_entry(kAxes, kAll, used)]);
  }
}

/* Second pass, one scale: codes of this way by class of point. own: [SZG_PROBE_SETS]. noise_unit:
 * 0, or neighbours are rounded to it, as if they were restored. patch: not NULL if codes of the
 * disturbed point are counted in disturbed, and those by blended and quintic stencils in
 * blended. */
template <uint32_t kAxes, class Point>
__device__ __forceinline__ void count_way(bool is_line, const szg_levels_way &way,
                                          uint32_t fine_bits, uint32_t scale, uint32_t noise_unit,
                                          Sampled<Point> *point, const Patch<Point> *patch,
                                          szg_probe_counts *own, szg_probe_counts *disturbed,
                                          szg_probe_counts *blended) {
  Point alone[3] = {0, 0, 0}, in_tile[3] = {0, 0, 0}, quintics[3] = {0, 0, 0};
  double const inverse = 1.0 / (double)noise_unit;
  uint32_t residues = 0, coordinates = 0;
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    coordinates += point->at[axis];
    if (axis >= way.axis_count) continue;
    if (noise_unit > 0) round_taps(noise_unit, inverse, &point->taps[axis]);
    alone[axis] = stencil_of(point->taps[axis], way.is_linear);
    residues += szg_probe_residue((uint32_t)error_of(point->value, alone, 1u << axis), fine_bits);
    if (patch) quintics[axis] = quintic(*point, *patch, axis);
    keep_in_tile(way.axis_count, axis, scale, point->at[axis], &point->taps[axis]);
    in_tile[axis] = stencil_of(point->taps[axis], way.is_linear);
  }
  auto const disturb = [&](uint32_t gain) {
    return (Point)szg_probe_disturbance(residues, way.axis_count, gain, coordinates);
  };
#pragma unroll 1
  for (uint32_t set = 1; set < 1u << kAxes; set++) {
    if (set >= 1u << way.axis_count || !szg_probe_fits(is_line, set, point->at[0], scale)) continue;
    uint32_t const odd_count = szg_probe_axes_in(set), used = szg_ranked_axes(set, way.ranks);
    Point const error = error_of(point->value, odd_count == 1 ? alone : in_tile, used);
    count_code(code_of_error(error, fine_bits), own[set - 1]);
    if (!patch || way.axis_count == 1) continue;
    uint32_t const gain = szg_gain_of_mean(way.is_linear, szg_probe_axes_in(used));
    count_code(code_of_error(error + disturb(gain), fine_bits), disturbed[set - 1]);
  }
  if (!patch || way.axis_count == 1) return;
#pragma unroll
  for (uint32_t set = 1; set < 1u << kAxes; set++) {
    if (set >= 1u << way.axis_count || !szg_probe_fits(is_line, set, point->at[0], scale)) continue;
    uint32_t const odd_count = szg_probe_axes_in(set);
    Point const predicted = odd_count == 1 ? quintics[set >> 1] : blend(*patch, set);
    Point const error = point->value - predicted + disturb(szg_gain_of_blended(odd_count));
    count_code(code_of_error(error, fine_bits), blended[set - 1]);
  }
}

/* Differences of whole steps, along every set of axes. corners: the point's lattice value and those
 * before it along each set of axes. */
template <uint32_t kAxes, class Point>
__device__ __forceinline__ void count_differences(uint32_t fine_bits, const Point *corners,
                                                  szg_probe_counts *counts) {
  Point multiples[1u << kAxes];
#pragma unroll
  for (uint32_t corner = 0; corner < 1u << kAxes; corner++)
    multiples[corner] = (corners[corner] + ((Point)1 << fine_bits >> 1)) >> fine_bits;
#pragma unroll
  for (uint32_t set = 1; set < 1u << kAxes; set++) {
    Point difference = 0;
#pragma unroll
    for (uint32_t corner = 0; corner < 1u << kAxes; corner++)
      if (!(corner & ~set))
        difference += szg_probe_axes_in(corner) % 2 ? -multiples[corner] : multiples[corner];
    count_code(difference, counts[set - 1]);
  }
}

} // namespace szg

#endif
