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

/* The code of a point predicted along the axes `used` with these sums of their stencils. */
template <class Point>
__device__ __forceinline__ Point code_of(Point point, const Point *sums, uint32_t used,
                                         uint32_t unit_bits) {
  Point sum = 0;
#pragma unroll
  for (uint32_t axis = 0; axis < 3; axis++)
    if (used >> axis & 1) sum += sums[axis];
  Point const prediction = szg_predict_sampled(szg_probe_axes_in(used), sum);
  return (point - prediction + ((Point)1 << unit_bits >> 1)) >> unit_bits;
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

/* Second pass, one scale: codes of this way by class of point. counts: [SZG_PROBE_SETS].
 * noise_unit: 0, or neighbours are rounded to it, as if they were restored. */
template <uint32_t kAxes, class Point>
__device__ __forceinline__ void count_way(bool is_line, const szg_levels_way &way,
                                          uint32_t fine_bits, uint32_t scale, uint32_t noise_unit,
                                          Sampled<Point> *point, szg_probe_counts *counts) {
  Point alone[3] = {0, 0, 0}, in_tile[3] = {0, 0, 0};
  double const inverse = 1.0 / (double)noise_unit;
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    if (axis >= way.axis_count) continue;
    if (noise_unit > 0) round_taps(noise_unit, inverse, &point->taps[axis]);
    alone[axis] = stencil_of(point->taps[axis], way.is_linear);
    keep_in_tile(way.axis_count, axis, scale, point->at[axis], &point->taps[axis]);
    in_tile[axis] = stencil_of(point->taps[axis], way.is_linear);
  }
#pragma unroll 1
  for (uint32_t set = 1; set < 1u << kAxes; set++) {
    if (set >= 1u << way.axis_count || !szg_probe_fits(is_line, set, point->at[0], scale)) continue;
    bool const is_alone = szg_probe_axes_in(set) == 1;
    uint32_t const used = szg_ranked_axes(set, way.ranks);
    count_code(code_of(point->value, is_alone ? alone : in_tile, used, fine_bits), counts[set - 1]);
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
