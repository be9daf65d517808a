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

/* To logarithms; whether the value is said to be negative; and back. */
#define SZG_LOG_FUNCTIONS(suffix, SUFFIX, Bits, ones, bits_of)                                \
  SZG_HD Bits szg_log_to_inner_##suffix(Bits x, szg_log_fill fill) {                          \
    Bits const magnitude = x & SZG_SIGNLESS_##SUFFIX;                                         \
    Bits const is_normal =                                                                    \
        ones(magnitude - SZG_NORMAL_##SUFFIX < SZG_INFINITY_##SUFFIX - SZG_NORMAL_##SUFFIX);  \
    Bits const is_low = ones(magnitude < SZG_NORMAL_##SUFFIX);                                \
    Bits const log2 = bits_of(szg_log2_##suffix(magnitude));                                  \
    Bits const special =                                                                      \
        magnitude | (is_low & ~SZG_SIGNLESS_##SUFFIX) | (is_low & SZG_INFINITY_##SUFFIX);     \
    Bits const inner = (log2 & is_normal) | (special & ~is_normal);                           \
    Bits const has_fill = ones(fill.is_there);                                                \
    Bits const is_fill = has_fill & ones(x == (Bits)fill.bits);                               \
    Bits const is_minus_zero = has_fill & ~is_fill & ones(x == ~SZG_SIGNLESS_##SUFFIX);       \
    return (inner & ~(is_fill | is_minus_zero)) | (is_fill & SZG_LOG_FILL_##SUFFIX) |         \
           (is_minus_zero & SZG_LOG_MINUS_ZERO_##SUFFIX);                                     \
  }                                                                                           \
  SZG_HD bool szg_log_is_negative_##suffix(Bits x, szg_log_fill fill) {                       \
    Bits const has_fill = ones(fill.is_there);                                                \
    Bits const is_zero = has_fill & ones((x & SZG_SIGNLESS_##SUFFIX) == 0);                   \
    Bits const is_fill = has_fill & ones(x == (Bits)fill.bits);                               \
    return ((x | is_zero) & ~is_fill) >> (8 * sizeof(Bits) - 1);                              \
  }                                                                                           \
  SZG_HD Bits szg_log_to_outer_##suffix(Bits inner, bool is_negative, szg_log_fill fill) {    \
    Bits const has_fill = ones(fill.is_there);                                                \
    Bits const is_special = ones((inner & SZG_SIGNLESS_##SUFFIX) >= SZG_INFINITY_##SUFFIX);   \
    Bits const is_low = ones(inner >> (8 * sizeof(Bits) - 1));                                \
    Bits const is_minus_zero = has_fill & ones(inner == SZG_LOG_MINUS_ZERO_##SUFFIX);         \
    Bits const is_fill = has_fill & ones(inner == SZG_LOG_FILL_##SUFFIX);                     \
    Bits const special = inner & SZG_SIGNLESS_##SUFFIX & ~(is_low & SZG_INFINITY_##SUFFIX);   \
    Bits const magnitude =                                                                    \
        ((szg_exp2_##suffix(inner) & ~is_special) | (special & is_special)) & ~is_minus_zero; \
    Bits const negative = ones(is_negative);                                                  \
    Bits const value = magnitude | (negative & ~SZG_SIGNLESS_##SUFFIX);                       \
    return (value & ~is_fill) | (is_fill & ~negative & (Bits)fill.bits);                      \
  }
SZG_LOG_FUNCTIONS(f32, F32, uint32_t, szg_ones_u32, szg_bits_of_float)
SZG_LOG_FUNCTIONS(f64, F64, uint64_t, szg_ones_u64, szg_bits_of_double)
#undef SZG_LOG_FUNCTIONS

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
