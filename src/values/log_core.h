/* log_core.h - one value of a field under a bound relative to each value, to what is coded, and
 * back. SPDX-License-Identifier: BSD-3-Clause
 *
 * What is coded is log2 of the magnitude. Whether a value is negative is kept apart. Magnitudes
 * that have no place among logarithms of normal numbers become infinities and NaNs, which every
 * kind of frame keeps exactly:
 *
 *   NaN, infinity       itself
 *   subnormal, zero     negative, with the exponent of infinities and the same mantissa, so that
 *                       zero is -infinity, which frames know as their fill value
 *
 * In a field with a fill value of its own, -infinity is that value, and if said to be negative it
 * is zero. Then -0 is a number that no logarithm reaches. Any inner bits lead to some outer ones.
 */
#ifndef SZG_LOG_CORE_H
#define SZG_LOG_CORE_H

#include <stdbool.h>

#include "container/format.h"
#include "values/log2_core.h"

/* Bits of the types: all but the sign; infinity; the least normal number; what -0 becomes in a
 * field with a fill value, 2^100 and 2^1000. */
#define SZG_SIGNLESS_F32 0x7FFFFFFFu
#define SZG_INFINITY_F32 0x7F800000u
#define SZG_NORMAL_F32 0x00800000u
#define SZG_LOG_MINUS_ZERO_F32 0x71800000u
#define SZG_SIGNLESS_F64 0x7FFFFFFFFFFFFFFFu
#define SZG_INFINITY_F64 0x7FF0000000000000u
#define SZG_NORMAL_F64 0x0010000000000000u
#define SZG_LOG_MINUS_ZERO_F64 0x7E70000000000000u

/* All ones or zeros: choices without branches, so that loops over values vectorize. */
SZG_HD uint32_t szg_ones_u32(bool yes) { return yes ? UINT32_MAX : 0u; }
SZG_HD uint64_t szg_ones_u64(bool yes) { return yes ? UINT64_MAX : 0u; }

/* The field's fill value, as bits of the type in which logarithms are taken. */
typedef struct szg_log_fill {
  bool is_there;
  uint64_t bits;
} szg_log_fill;

SZG_HD uint32_t szg_log_to_inner_f32(uint32_t x, szg_log_fill fill) {
  uint32_t const magnitude = x & SZG_SIGNLESS_F32;
  uint32_t const is_normal =
      szg_ones_u32(magnitude - SZG_NORMAL_F32 < SZG_INFINITY_F32 - SZG_NORMAL_F32);
  uint32_t const is_low = szg_ones_u32(magnitude < SZG_NORMAL_F32);
  uint32_t const log2 = szg_bits_of_float(szg_log2_f32(magnitude));
  uint32_t const special = magnitude | (is_low & ~SZG_SIGNLESS_F32) | (is_low & SZG_INFINITY_F32);
  uint32_t const inner = (log2 & is_normal) | (special & ~is_normal);
  uint32_t const has_fill = szg_ones_u32(fill.is_there);
  uint32_t const is_fill = has_fill & szg_ones_u32(x == (uint32_t)fill.bits);
  uint32_t const is_minus_zero = has_fill & ~is_fill & szg_ones_u32(x == ~SZG_SIGNLESS_F32);
  return (inner & ~(is_fill | is_minus_zero)) | (is_fill & SZG_LOG_FILL_F32) |
         (is_minus_zero & SZG_LOG_MINUS_ZERO_F32);
}

/* Whether the value is said to be negative. */
SZG_HD bool szg_log_is_negative_f32(uint32_t x, szg_log_fill fill) {
  uint32_t const has_fill = szg_ones_u32(fill.is_there);
  uint32_t const is_zero = has_fill & szg_ones_u32((x & SZG_SIGNLESS_F32) == 0);
  uint32_t const is_fill = has_fill & szg_ones_u32(x == (uint32_t)fill.bits);
  return ((x | is_zero) & ~is_fill) >> 31;
}

SZG_HD uint32_t szg_log_to_outer_f32(uint32_t inner, bool is_negative, szg_log_fill fill) {
  uint32_t const has_fill = szg_ones_u32(fill.is_there);
  uint32_t const is_special = szg_ones_u32((inner & SZG_SIGNLESS_F32) >= SZG_INFINITY_F32);
  uint32_t const is_low = szg_ones_u32(inner >> 31);
  uint32_t const is_minus_zero = has_fill & szg_ones_u32(inner == SZG_LOG_MINUS_ZERO_F32);
  uint32_t const is_fill = has_fill & szg_ones_u32(inner == SZG_LOG_FILL_F32);
  uint32_t const special = inner & SZG_SIGNLESS_F32 & ~(is_low & SZG_INFINITY_F32);
  uint32_t const magnitude =
      ((szg_exp2_f32(inner) & ~is_special) | (special & is_special)) & ~is_minus_zero;
  uint32_t const negative = szg_ones_u32(is_negative);
  uint32_t const value = magnitude | (negative & ~SZG_SIGNLESS_F32);
  return (value & ~is_fill) | (is_fill & ~negative & (uint32_t)fill.bits);
}

SZG_HD uint64_t szg_log_to_inner_f64(uint64_t x, szg_log_fill fill) {
  uint64_t const magnitude = x & SZG_SIGNLESS_F64;
  uint64_t const is_normal =
      szg_ones_u64(magnitude - SZG_NORMAL_F64 < SZG_INFINITY_F64 - SZG_NORMAL_F64);
  uint64_t const is_low = szg_ones_u64(magnitude < SZG_NORMAL_F64);
  uint64_t const log2 = szg_bits_of_double(szg_log2_f64(magnitude));
  uint64_t const special = magnitude | (is_low & ~SZG_SIGNLESS_F64) | (is_low & SZG_INFINITY_F64);
  uint64_t const inner = (log2 & is_normal) | (special & ~is_normal);
  uint64_t const has_fill = szg_ones_u64(fill.is_there);
  uint64_t const is_fill = has_fill & szg_ones_u64(x == fill.bits);
  uint64_t const is_minus_zero = has_fill & ~is_fill & szg_ones_u64(x == ~SZG_SIGNLESS_F64);
  return (inner & ~(is_fill | is_minus_zero)) | (is_fill & SZG_LOG_FILL_F64) |
         (is_minus_zero & SZG_LOG_MINUS_ZERO_F64);
}

SZG_HD bool szg_log_is_negative_f64(uint64_t x, szg_log_fill fill) {
  uint64_t const has_fill = szg_ones_u64(fill.is_there);
  uint64_t const is_zero = has_fill & szg_ones_u64((x & SZG_SIGNLESS_F64) == 0);
  uint64_t const is_fill = has_fill & szg_ones_u64(x == fill.bits);
  return ((x | is_zero) & ~is_fill) >> 63;
}

SZG_HD uint64_t szg_log_to_outer_f64(uint64_t inner, bool is_negative, szg_log_fill fill) {
  uint64_t const has_fill = szg_ones_u64(fill.is_there);
  uint64_t const is_special = szg_ones_u64((inner & SZG_SIGNLESS_F64) >= SZG_INFINITY_F64);
  uint64_t const is_low = szg_ones_u64(inner >> 63);
  uint64_t const is_minus_zero = has_fill & szg_ones_u64(inner == SZG_LOG_MINUS_ZERO_F64);
  uint64_t const is_fill = has_fill & szg_ones_u64(inner == SZG_LOG_FILL_F64);
  uint64_t const special = inner & SZG_SIGNLESS_F64 & ~(is_low & SZG_INFINITY_F64);
  uint64_t const magnitude =
      ((szg_exp2_f64(inner) & ~is_special) | (special & is_special)) & ~is_minus_zero;
  uint64_t const negative = szg_ones_u64(is_negative);
  uint64_t const value = magnitude | (negative & ~SZG_SIGNLESS_F64);
  return (value & ~is_fill) | (is_fill & ~negative & fill.bits);
}

/* f32 under bounds so close that their logarithms are f64: normal numbers by value, others with
 * their mantissa where that of f64 begins, so that subnormals stay subnormal. */
SZG_HD uint64_t szg_log_widen(uint32_t x) {
  uint32_t const magnitude = x & SZG_SIGNLESS_F32;
  uint64_t const is_normal =
      szg_ones_u64(magnitude - SZG_NORMAL_F32 < SZG_INFINITY_F32 - SZG_NORMAL_F32);
  uint64_t const is_high = szg_ones_u64(magnitude >= SZG_INFINITY_F32);
  uint64_t const special =
      (is_high & SZG_INFINITY_F64) | (uint64_t)(magnitude & (SZG_NORMAL_F32 - 1)) << 29;
  uint64_t const value = ((uint64_t)magnitude << 29) + (UINT64_C(896) << 52);
  return (value & is_normal) | (special & ~is_normal) | (uint64_t)(x >> 31) << 63;
}

/* Back, with rounding; numbers beyond the normal ones of f32 are the nearest of these. */
SZG_HD uint32_t szg_log_narrow(uint64_t wide) {
  uint64_t const least = 0x3810000000000000u, greatest = 0x47EFFFFFE0000000u; /* of f32, as f64 */
  uint64_t const magnitude = wide & SZG_SIGNLESS_F64;
  uint32_t const is_high = szg_ones_u32(magnitude >= SZG_INFINITY_F64);
  uint32_t const is_normal = ~is_high & szg_ones_u32(magnitude >= SZG_NORMAL_F64);
  uint64_t const raised = magnitude >= least ? magnitude : least;
  uint64_t const within = raised <= greatest ? raised : greatest;
  uint32_t const value = szg_bits_of_float((float)szg_double_of_bits(within));
  uint32_t const special =
      (is_high & SZG_INFINITY_F32) | ((uint32_t)(magnitude >> 29) & (SZG_NORMAL_F32 - 1));
  return (value & is_normal) | (special & ~is_normal) | (uint32_t)(wide >> 63) << 31;
}

#endif
