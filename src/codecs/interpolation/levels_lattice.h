/* levels_lattice.h - the lattice of levels frames, value by value: nearest point, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A fused multiply-add with a constant whose last bit is worth 1 rounds value * inverse once, to an
 * integer that stands in the low bits of the sum. Sums outside the range fail its test, NaN too.
 * Each szg_levels_point_* gives the point and says whether there is one; if not, the point is
 * arbitrary. Fill values are for the caller to find.
 */
#ifndef SZG_LEVELS_LATTICE_H
#define SZG_LEVELS_LATTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "codecs/interpolation/levels.h"
#include "core/dispatch.h"
#include "quant/quant_core.h"

/* Lattice values are from -limit to limit - 1, and a limit is at most 2 to this power. */
enum { SZG_LEVELS_LIMIT_BITS = 22, SZG_LEVELS_WIDE_LIMIT_BITS = 50 };

#define SZG_LEVELS_ROUND_F32 0x1.8p23f
#define SZG_LEVELS_ROUND_F64 0x1.8p52

SZG_INLINE bool szg_levels_point_f32(const szg_levels_lattice *k, float x, int32_t *point) {
  float const sum = __builtin_fmaf(x, k->inverse_f32, SZG_LEVELS_ROUND_F32);
  uint32_t const limit = (uint32_t)k->limit;
  uint32_t const low = szg_bits_f32(sum) - szg_bits_f32(SZG_LEVELS_ROUND_F32);
  *point = (int32_t)low;
  return low + limit < 2 * limit;
}

SZG_INLINE uint64_t szg_levels_low_bits_f64(const szg_levels_lattice *k, double x) {
  double const sum = __builtin_fma(x, k->inverse, SZG_LEVELS_ROUND_F64);
  return szg_bits_f64(sum) - szg_bits_f64(SZG_LEVELS_ROUND_F64);
}

SZG_INLINE bool szg_levels_point_f64(const szg_levels_lattice *k, double x, int32_t *point) {
  uint64_t const low = szg_levels_low_bits_f64(k, x);
  *point = (int32_t)(uint32_t)low;
  return low + k->limit < 2 * k->limit;
}

SZG_INLINE bool szg_levels_point_f64_wide(const szg_levels_lattice *k, double x, int64_t *point) {
  uint64_t const low = szg_levels_low_bits_f64(k, x);
  *point = (int64_t)low;
  return low + k->limit < 2 * k->limit;
}

SZG_INLINE bool szg_levels_point_f32_wide(const szg_levels_lattice *k, float x, int64_t *point) {
  return szg_levels_point_f64_wide(k, (double)x, point);
}

SZG_INLINE float szg_levels_value_f32(const szg_levels_lattice *k, int32_t point) {
  return szg_limit_f32((float)point * k->fine_f32, (float)k->least, (float)k->greatest);
}
SZG_INLINE float szg_levels_value_f32_wide(const szg_levels_lattice *k, int64_t point) {
  return szg_limit_f32((float)((double)point * k->fine), (float)k->least, (float)k->greatest);
}
SZG_INLINE double szg_levels_value_f64(const szg_levels_lattice *k, int32_t point) {
  return szg_limit_f64((double)point * k->fine, k->least, k->greatest);
}
SZG_INLINE double szg_levels_value_f64_wide(const szg_levels_lattice *k, int64_t point) {
  return szg_limit_f64((double)point * k->fine, k->least, k->greatest);
}

/* floor(a / unit) for |a| up to 2^23 + 2^8 and units of a narrow frame, by a product with 1 / unit
 * that is off by 1/3 at most: floats of this size are exact. What is converted to a number and back
 * is at most two units away. */
SZG_INLINE int32_t szg_levels_divide_i32(int32_t a, int32_t unit, float inverse) {
  int32_t const near = (int32_t)((float)a * inverse);
  int32_t const rest = a - near * unit;
  return near + (rest >= unit) - (rest < 0) - (rest < -unit);
}

/* Whether the sample's points are rounded to multiples of a unit by this division, in narrow
 * frames. The format asks for products with 1 / unit in f64, which fall short of some multiples of
 * 103, the unit of level 1 by table 1 if F is 7. */
SZG_INLINE bool szg_levels_rounds_by_division(int64_t unit) { return unit != 103; }

#endif
