/* quant_core.h - the pointwise rule of the bound: value to lattice, back, and the check.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual quantization (Tian et al., cuSZ, PACT 2020): a value becomes the integer q nearest to x /
 * step before any prediction. The check makes the bound hold: a value that would be restored out of
 * bound is kept exactly. docs/guarantees.md derives step and check. Both backends compile these
 * lines, without contraction; a change here changes archives.
 */
#ifndef SZG_QUANT_CORE_H
#define SZG_QUANT_CORE_H

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "container/format.h"
#include "core/hd.h"
#include "szgpu.h"

static_assert(FLT_EVAL_METHOD == 0, "operations must round to their own type");

typedef struct szg_quantizer {
  uint32_t arithmetic; /* SZG_ARITHMETIC_* */
  bool has_fill;
  uint64_t fill_bits;
  double bound;                           /* absolute */
  double step;                            /* distance of lattice points */
  double inverse;                         /* 1 / step */
  double limit;                           /* values with a lattice point have |x / step| below it */
  float bound_f32, step_f32, inverse_f32; /* the same for SZG_ARITHMETIC_F32; bound toward zero */
  float limit_f32;
  /* Restored values are brought between these, by szg_limit_f64; infinities: no limits. */
  double least, greatest;
  float least_f32, greatest_f32;
} szg_quantizer;

/* Bits of an arithmetic's lattice: 32 or 64. A tile frame may have the 16-bit lattice in place of
 * the 32-bit one. */
SZG_HD uint32_t szg_lattice_bits(uint32_t arithmetic) {
  return arithmetic == SZG_ARITHMETIC_F64_WIDE ? 64 : 32;
}

SZG_HD uint32_t szg_bits_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

SZG_HD uint64_t szg_bits_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The number that right-aligned bits of dtype mean, and the inverse, with rounding. */
SZG_HD double szg_value_of_bits(szgpu_dtype dtype, uint64_t bits) {
  uint32_t const bits_f32 = (uint32_t)bits;
  float value_f32;
  double value_f64;
  memcpy(&value_f32, &bits_f32, sizeof value_f32);
  memcpy(&value_f64, &bits, sizeof value_f64);
  return dtype == SZGPU_F32 ? (double)value_f32 : value_f64;
}

SZG_HD uint64_t szg_bits_of_value(szgpu_dtype dtype, double value) {
  return dtype == SZGPU_F32 ? szg_bits_f32((float)value) : szg_bits_f64(value);
}

/* Each arithmetic has the same three functions. `lattice` gives the nearest lattice point, or false
 * and q = 0 if there is none: for values beyond the limit, infinities and NaN (the comparison is
 * false for NaN, and we rely on it). `restore` is what decompression computes. `within` says
 * whether the restored value keeps the bound; it too is false for NaN. `value` is what
 * decompression gives: the restored value, within the limits. Those are of the field's own values,
 * so they only bring it closer to what it stands for, and the check needs none. */

SZG_HD bool szg_lattice_f32(szg_quantizer const *k, float x, int32_t *q) {
  float const scaled = x * k->inverse_f32;
  bool const on_lattice = fabsf(scaled) < k->limit_f32;
  *q = (int32_t)rintf(on_lattice ? scaled : 0.0f);
  return on_lattice;
}

SZG_HD float szg_restore_f32(szg_quantizer const *k, int32_t q) { return (float)q * k->step_f32; }

SZG_HD float szg_value_f32(szg_quantizer const *k, int32_t q) {
  return szg_limit_f32(szg_restore_f32(k, q), k->least_f32, k->greatest_f32);
}

SZG_HD bool szg_within_f32(szg_quantizer const *k, float x, float restored) {
  return fabsf(x - restored) <= k->bound_f32;
}

SZG_HD bool szg_lattice_f32_close(szg_quantizer const *k, float x, int32_t *q) {
  double const scaled = (double)x * k->inverse;
  bool const on_lattice = fabs(scaled) < k->limit;
  *q = (int32_t)rint(on_lattice ? scaled : 0.0);
  return on_lattice;
}

SZG_HD float szg_restore_f32_close(szg_quantizer const *k, int32_t q) {
  return (float)((double)q * k->step);
}

SZG_HD float szg_value_f32_close(szg_quantizer const *k, int32_t q) {
  return szg_limit_f32(szg_restore_f32_close(k, q), k->least_f32, k->greatest_f32);
}

SZG_HD bool szg_within_f32_close(szg_quantizer const *k, float x, float restored) {
  return fabs((double)x - (double)restored) <= k->bound;
}

SZG_HD bool szg_lattice_f64(szg_quantizer const *k, double x, int32_t *q) {
  double const scaled = x * k->inverse;
  bool const on_lattice = fabs(scaled) < k->limit;
  *q = (int32_t)rint(on_lattice ? scaled : 0.0);
  return on_lattice;
}

SZG_HD double szg_restore_f64(szg_quantizer const *k, int32_t q) { return (double)q * k->step; }

SZG_HD double szg_value_f64(szg_quantizer const *k, int32_t q) {
  return szg_limit_f64(szg_restore_f64(k, q), k->least, k->greatest);
}

SZG_HD bool szg_within_f64(szg_quantizer const *k, double x, double restored) {
  return fabs(x - restored) <= k->bound;
}

SZG_HD bool szg_lattice_f64_wide(szg_quantizer const *k, double x, int64_t *q) {
  double const scaled = x * k->inverse;
  bool const on_lattice = fabs(scaled) < k->limit;
  *q = (int64_t)rint(on_lattice ? scaled : 0.0);
  return on_lattice;
}

SZG_HD double szg_restore_f64_wide(szg_quantizer const *k, int64_t q) {
  return (double)q * k->step;
}

SZG_HD double szg_value_f64_wide(szg_quantizer const *k, int64_t q) {
  return szg_limit_f64(szg_restore_f64_wide(k, q), k->least, k->greatest);
}

#endif
