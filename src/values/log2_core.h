/* log2_core.h - logarithms to base 2 and their inverse, by operations that every machine has.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A polynomial of the mantissa and integer arithmetic on the exponent: sums, products and
 * conversions that IEEE 754 defines to the last bit, in a fixed order, so all compilers and
 * machines get the same bits, and loops over values vectorize. docs/guarantees.md derives the
 * errors; the test `log2` measures them, those of f32 over all mantissas.
 */
#ifndef SZG_LOG2_CORE_H
#define SZG_LOG2_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bytes.h"
#include "core/hd.h"
#include "values/log2_coefficients.h"
#include "values/mapping_core.h"

/* Errors that are not exceeded: of logarithms, in addition to rounding them to the type; and of
 * powers, relative to them. */
#define SZG_LOG2_F32_ERROR 0x1p-22
#define SZG_EXP2_F32_ERROR 0x1p-22
#define SZG_LOG2_F64_ERROR 0x1p-46
#define SZG_EXP2_F64_ERROR 0x1p-48

#define SZG_HORNER(coefficient) p = p * t + (coefficient);

/* log2 of the f32 with these bits, which is positive and normal. */
SZG_HD float szg_log2_f32(uint32_t bits) {
  uint32_t const mantissa_bits = (bits & 0x007FFFFFu) | 0x3F800000u;
  float const exponent = (float)((int32_t)(bits >> 23) - 127);
  float const t = szg_float_of_bits(mantissa_bits) - 1.5f;
  float p = 0.0f;
  SZG_LOG2_F32(SZG_HORNER)
  return exponent + p;
}

/* The bits of the normal f32 that is nearest to 2 to the f32 with these bits, or nearly so. Those
 * of infinities and NaNs count as numbers beyond the limits. */
SZG_HD uint32_t szg_exp2_f32(uint32_t power_bits) {
  uint32_t const below_128 = 0x42FFFFFFu, magnitude = power_bits & 0x7FFFFFFFu;
  float const power = szg_float_of_bits((power_bits & 0x80000000u) |
                                        (magnitude <= below_128 ? magnitude : below_128));
  int32_t const exponent = (int32_t)(power + 128.0f) - 128; /* the floor, or 1 above it */
  float const t = power - (float)exponent - 0.5f;
  float p = 0.0f;
  int32_t bits;
  SZG_EXP2_F32(SZG_HORNER)
  memcpy(&bits, &p, sizeof bits);
  bits += exponent * (1 << 23); /* an exponent below the normal ones makes them negative */
  bits = bits >= 0x00800000 ? bits : 0x00800000;
  return (uint32_t)(bits <= 0x7F7FFFFF ? bits : 0x7F7FFFFF);
}

SZG_HD double szg_log2_f64(uint64_t bits) {
  uint64_t const mantissa_bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
  double const exponent = (double)((int32_t)(bits >> 52) - 1023);
  double const t = szg_double_of_bits(mantissa_bits) - 1.5;
  double p = 0.0;
  SZG_LOG2_F64(SZG_HORNER)
  return exponent + p;
}

SZG_HD uint64_t szg_exp2_f64(uint64_t power_bits) {
  uint64_t const below_1024 = 0x408FFFFFFFFFFFFFu, magnitude = power_bits & 0x7FFFFFFFFFFFFFFFu;
  double const power = szg_double_of_bits((power_bits & 0x8000000000000000u) |
                                          (magnitude <= below_1024 ? magnitude : below_1024));
  int32_t const exponent = (int32_t)(power + 1024.0) - 1024;
  double const t = power - (double)exponent - 0.5;
  double p = 0.0;
  int64_t bits;
  SZG_EXP2_F64(SZG_HORNER)
  memcpy(&bits, &p, sizeof bits);
  bits += exponent * (INT64_C(1) << 52);
  bits = bits >= 0x0010000000000000 ? bits : 0x0010000000000000;
  return (uint64_t)(bits <= 0x7FEFFFFFFFFFFFFF ? bits : 0x7FEFFFFFFFFFFFFF);
}

#undef SZG_HORNER

#endif
