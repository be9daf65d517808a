/* levels_stencil_core.h - how a levels frame predicts a point: stencils, ends, axes and rounding,
 * for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/format.md, section 16, "Prediction", has the rules. To change a stencil, change it here: the
 * CPU's rows, the kernels and the sample that decides only know where the points are.
 */
#ifndef SZG_LEVELS_STENCIL_CORE_H
#define SZG_LEVELS_STENCIL_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/hd.h"

/* ---- axes ---- */

/* The axes of `set` that are used: those of the greatest rank. */
SZG_HD uint32_t szg_ranked_axes(uint32_t set, const uint8_t *ranks) {
  uint32_t greatest = 0, used = 0;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1 && ranks[axis] > greatest) greatest = ranks[axis];
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1 && ranks[axis] == greatest) used |= 1u << axis;
  return used;
}

/* ---- stencils ---- */

/* Along an axis, a and b are the points 3 and 1 before an odd one, c and d those 1 and 3 after it.
 * Sums are in sixteenths and wrap.
 *
 *   szg_sum_linear(b, c)           linear frames; cubic ones without a and d
 *   szg_sum_cubic(a, b, c, d)      with far neighbours on both sides
 *   szg_sum_end(end, next, third)  with one of them: b, c and d, or c, b and a
 *   szg_sum_beyond(b, a)           linear and cubic, without c
 *   szg_sum_one(b)                 without c and a
 *
 * Where points do not exist, ghosts may take their place, with which the stencil of the middle
 * gives the same sum, whatever the values are: szg_sum_cubic(b, b, c, c) is szg_sum_linear(b, c),
 * and szg_sum_beyond(b, b) is szg_sum_one(b).
 *
 *   szg_ghost(third, next, end)    for a far neighbour behind `end`: as szg_sum_end
 *   szg_ghost_linear(a, b)         for c in linear frames: as szg_sum_beyond
 *   szg_ghost_beyond(a, b, c)      for d in cubic ones, if c is a ghost of any value: likewise
 *
 * The sum over the stencils of axis_count axes becomes the prediction. The sample that decides
 * rounds that of three axes in another way.
 *
 *   szg_predict(axis_count, sum), szg_predict_sampled(axis_count, sum)
 *   szg_clamp_prediction(limit, prediction)
 *
 * Quintic frames take six points for one odd axis, three on each side. Those beyond an end of the
 * grid are ghosts, szg_ghost of the three next to them, if the axis has three or more. Sums are in
 * 256ths.
 *
 *   szg_sum_quintic(a, b, c, d, e, f), szg_predict_quintic(sum)
 *
 * Blended frames predict a point with several odd axes from all points around it, as Coons patches
 * do (S. A. Coons, Surfaces for Computer-Aided Design of Space Forms, 1967). What the points before
 * it, or those after it, along one of the axes contribute is a half. Arguments are points or sums
 * of points, by the number of the axes along which these are odd: one less than the point itself,
 * two less, or three, which leaves none.
 *
 *   szg_half_of_two(one, none)                   of 1 and 2 points
 *   szg_blend_two(before, after, one)            of halves, and 2 points in the middle
 *   szg_half_of_three(two, one, none)            of 1, 4 and 4 points
 *   szg_blend_three(before, after, two, one)     of halves, and 4 and 4 points in the middle
 */
enum { SZG_QUINTIC_NEAR = 150, SZG_QUINTIC_FAR = 25, SZG_QUINTIC_OUTER = 3 }; /* far: minus */
#define SZG_RULE(type, name, bits) SZG_HD_INLINE type SZG_OF_WIDTH(szg_##name, bits)
#define SZG_STENCILS(bits, POINT, UPOINT)                                                        \
  SZG_RULE(UPOINT, sum_linear, bits)(UPOINT b, UPOINT c) { return (b + c) * 8; }                 \
  SZG_RULE(UPOINT, sum_cubic, bits)(UPOINT a, UPOINT b, UPOINT c, UPOINT d) {                    \
    return (b + c) * 9 - (a + d);                                                                \
  }                                                                                              \
  SZG_RULE(UPOINT, sum_end, bits)(UPOINT end, UPOINT next, UPOINT third) {                       \
    return end * 6 + next * 12 - third * 2;                                                      \
  }                                                                                              \
  SZG_RULE(UPOINT, sum_beyond, bits)(UPOINT b, UPOINT a) { return b * 24 - a * 8; }              \
  SZG_RULE(UPOINT, sum_one, bits)(UPOINT b) { return b * 16; }                                   \
  SZG_RULE(UPOINT, ghost, bits)(UPOINT third, UPOINT next, UPOINT end) {                         \
    return third + 3 * (end - next);                                                             \
  }                                                                                              \
  SZG_RULE(UPOINT, ghost_linear, bits)(UPOINT a, UPOINT b) { return 2 * b - a; }                 \
  SZG_RULE(UPOINT, ghost_beyond, bits)(UPOINT a, UPOINT b, UPOINT c) {                           \
    return 9 * c - 15 * b + 7 * a;                                                               \
  }                                                                                              \
  SZG_RULE(UPOINT, predict, bits)(uint32_t axis_count, UPOINT sum) {                             \
    if (axis_count == 1) return (UPOINT)((POINT)(sum + 8) >> 4);                                 \
    if (axis_count == 2) return (UPOINT)((POINT)(sum + 16) >> 5);                                \
    UPOINT const sixth = (UPOINT)szg_mul_high_i##bits((POINT)sum, (POINT)SZG_SIXTH(UPOINT));     \
    return (UPOINT)((POINT)(sixth + 4) >> 3);                                                    \
  }                                                                                              \
  SZG_RULE(POINT, predict_sampled, bits)(uint32_t axis_count, POINT sum) {                       \
    if (axis_count == 3) return (sum + 24) / 48;                                                 \
    return (POINT)SZG_OF_WIDTH(szg_predict, bits)(axis_count, (UPOINT)sum);                      \
  }                                                                                              \
  SZG_RULE(UPOINT, sum_quintic, bits)                                                            \
  (UPOINT a, UPOINT b, UPOINT c, UPOINT d, UPOINT e, UPOINT f) {                                 \
    return (c + d) * SZG_QUINTIC_NEAR - (b + e) * SZG_QUINTIC_FAR + (a + f) * SZG_QUINTIC_OUTER; \
  }                                                                                              \
  SZG_RULE(UPOINT, predict_quintic, bits)(UPOINT sum) {                                          \
    return (UPOINT)((POINT)(sum + 128) >> 8);                                                    \
  }                                                                                              \
  SZG_RULE(UPOINT, half_of_two, bits)(UPOINT one, UPOINT none) { return 2 * one - none; }        \
  SZG_RULE(UPOINT, blend_two, bits)(UPOINT before, UPOINT after, UPOINT one) {                   \
    return (UPOINT)((POINT)(before + after + 2 * one + 2) >> 2);                                 \
  }                                                                                              \
  SZG_RULE(UPOINT, half_of_three, bits)(UPOINT two, UPOINT one, UPOINT none) {                   \
    return 4 * two - 2 * one + none;                                                             \
  }                                                                                              \
  SZG_RULE(UPOINT, blend_three, bits)                                                            \
  (UPOINT before, UPOINT after, UPOINT two, UPOINT one) {                                        \
    return (UPOINT)((POINT)(before + after + 4 * two - 2 * one + 4) >> 3);                       \
  }                                                                                              \
  SZG_RULE(UPOINT, clamp_prediction, bits)(POINT limit, UPOINT prediction) {                     \
    POINT const p = (POINT)prediction;                                                           \
    return (UPOINT)(p < -limit ? -limit : p > limit ? limit : p);                                \
  }
#define SZG_SIXTH(UPOINT) (~(UPOINT)0 / 6 + 1) /* of 2^32 or 2^64, rounded up */
SZG_STENCILS(32, int32_t, uint32_t)
SZG_STENCILS(64, int64_t, uint64_t)
#undef SZG_STENCILS
#undef SZG_RULE

/* ---- stencils for one odd axis as weights, for kernels: 32 bits ---- */

/* Of the nearest points, those next to them, and the outermost. Sums are in parts of a sixteenth,
 * rounded by szg_predict(1, .) or szg_predict_quintic: with half, shifted. */
typedef struct szg_single_taps {
  uint32_t near, far, outer;
  uint32_t parts, half, shift;
} szg_single_taps;
SZG_HD_INLINE szg_single_taps szg_single_taps_of(bool is_linear, bool is_quintic) {
  szg_single_taps const linear = {8, 0, 0, 1, 8, 4}, cubic = {9, 0u - 1, 0, 1, 8, 4};
  szg_single_taps const quintic = {
      SZG_QUINTIC_NEAR, 0u - SZG_QUINTIC_FAR, SZG_QUINTIC_OUTER, 16, 128, 8};
  return is_quintic ? quintic : is_linear ? linear : cubic;
}
/* Along an axis of two points or fewer. */
SZG_HD_INLINE szg_single_taps szg_single_taps_of_two(szg_single_taps taps) {
  taps.near = 8 * taps.parts;
  taps.far = taps.outer = 0;
  return taps;
}
SZG_HD_INLINE uint32_t szg_single_sum(szg_single_taps taps, uint32_t a, uint32_t b, uint32_t c,
                                      uint32_t d, uint32_t e, uint32_t f) {
  return taps.near * (c + d) + taps.far * (b + e) + taps.outer * (a + f);
}
/* Weights of the six points around the odd one after even point `index` of `count`; those that are
 * not there have 0, and others what their ghosts need. */
SZG_HD_INLINE void szg_single_weights(szg_single_taps taps, uint32_t index, uint32_t count,
                                      uint32_t w[6]) {
  if (count < 3) taps = szg_single_taps_of_two(taps);
  bool const is_last = index + 1 >= count, has_before = index >= 1;
  uint32_t const behind = taps.parts * (has_before ? 24u : 16u);
  w[2] = is_last ? behind : taps.near, w[3] = is_last ? 0 : taps.near;
  w[1] = is_last ? (has_before ? 0 - 8 * taps.parts : 0) : taps.far, w[4] = is_last ? 0 : taps.far;
  w[0] = w[5] = is_last ? 0 : taps.outer;
  for (uint32_t k = 0; k < 2; k++) {
    if (index + k < 2) { /* no point k - 2 */
      uint32_t const ghost = w[k];
      w[k] = 0, w[k + 1] += 3 * ghost, w[k + 2] -= 3 * ghost, w[k + 3] += ghost;
    }
    if (index + 3 - k >= count) {
      uint32_t const ghost = w[5 - k];
      w[5 - k] = 0, w[4 - k] += 3 * ghost, w[3 - k] -= 3 * ghost, w[2 - k] += ghost;
    }
  }
}

/* ---- rounding in two parts, for kernels: 32 bits ---- */

/* szg_predict(axis_count, sum) for up to two axes is the sum with half, shifted. */
typedef struct szg_pair_rounding {
  uint32_t half, shift;
} szg_pair_rounding;
SZG_HD_INLINE szg_pair_rounding szg_pair_rounding_of(uint32_t axis_count) {
  szg_pair_rounding const rounding = {8 * axis_count, 3 + axis_count};
  return rounding;
}
SZG_HD_INLINE uint32_t szg_round_pair(szg_pair_rounding rounding, uint32_t sum_and_half) {
  return (uint32_t)((int32_t)sum_and_half >> rounding.shift);
}

/* For up to three axes. With one or two, the product is floor(sum / 4). */
typedef struct szg_triple_rounding {
  uint32_t half, factor, after, shift;
} szg_triple_rounding;
SZG_HD_INLINE szg_triple_rounding szg_triple_rounding_of(uint32_t axis_count) {
  szg_triple_rounding const rounding = {axis_count == 3 ? 0 : 8 * axis_count,
                                        axis_count == 3 ? SZG_SIXTH(uint32_t) : 1u << 30,
                                        axis_count == 3 ? 4u : 0u, axis_count == 1 ? 2u : 3u};
  return rounding;
}
SZG_HD_INLINE uint32_t szg_round_triple(szg_triple_rounding rounding, uint32_t sum_and_half) {
  uint32_t const part = (uint32_t)szg_mul_high_i32((int32_t)sum_and_half, (int32_t)rounding.factor);
  return (uint32_t)((int32_t)(part + rounding.after) >> rounding.shift);
}

#endif
