/* log.c - fields under a bound relative to each value, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values/log.h"

#include "core/dispatch.h"

/* The least bounds. Of f32, below the first, logarithms are f64: in f32 their rounding would take
 * over a twentieth of the bound. */
#define LEAST_NARROW 0x1p-14
#define LEAST_F32 0x1p-22
#define LEAST_F64 0x1p-38

szgpu_dtype szg_log_dtype(szgpu_dtype dtype, double bound) {
  return dtype == SZGPU_F32 && bound >= LEAST_NARROW ? SZGPU_F32 : SZGPU_F64;
}

double szg_log_bound(szgpu_dtype dtype, szgpu_dtype log_dtype, double bound) {
  /* Half the spacing of the largest logarithms, and the error of a power as one of its logarithm:
   * log2(1 + p) < 1.5 p. */
  double const rounding = dtype == SZGPU_F64 ? 0x1p-44 : log_dtype == SZGPU_F64 ? 0x1p-47 : 0x1p-18;
  double const log2_error = log_dtype == SZGPU_F64 ? SZG_LOG2_F64_ERROR : SZG_LOG2_F32_ERROR;
  double power_error = log_dtype == SZGPU_F64 ? SZG_EXP2_F64_ERROR : SZG_EXP2_F32_ERROR;
  if (dtype == SZGPU_F32 && log_dtype == SZGPU_F64) power_error += 0x1p-24; /* back to f32 */
  if (bound < (dtype == SZGPU_F32 ? LEAST_F32 : LEAST_F64)) return 0.0;
  /* 1 + bound, rounded up by at most 2^-53; the second SZG_LOG2_F64_ERROR has room for that. */
  double const whole = szg_log2_f64(szg_bits_of_double(1.0 + bound));
  return whole - 2 * SZG_LOG2_F64_ERROR - 1.5 * power_error - log2_error - rounding;
}

uint64_t szg_log_fill_bits(szgpu_dtype dtype, szgpu_dtype log_dtype, uint64_t bits) {
  return dtype == SZGPU_F32 && log_dtype == SZGPU_F64 ? szg_log_widen((uint32_t)bits) : bits;
}

uint64_t szg_log_inner_fill(szgpu_dtype log_dtype) {
  return log_dtype == SZGPU_F32 ? SZG_LOG_FILL_F32 : SZG_LOG_FILL_F64;
}

/* The loops of a field's type and the type of its logarithms; as_logarithm and as_value lead from
 * one type to the other without a change of value. */
#define LOG_LOOPS(suffix, OUTER, INNER, core, as_logarithm, as_value)                         \
  SZG_HOT static void to_inner_##suffix(szg_log_fill fill, const OUTER *restrict outer,       \
                                        uint64_t count, INNER *restrict inner) {              \
    for (uint64_t i = 0; i < count; i++)                                                      \
      inner[i] = szg_log_to_inner_##core(as_logarithm(outer[i]), fill);                       \
  }                                                                                           \
  SZG_HOT static void to_outer_##suffix(szg_log_fill fill, const INNER *restrict inner,       \
                                        const uint8_t *restrict are_negative, uint64_t count, \
                                        OUTER *restrict outer) {                              \
    for (uint64_t i = 0; i < count; i++)                                                      \
      outer[i] = as_value(szg_log_to_outer_##core(inner[i], are_negative[i], fill));          \
  }                                                                                           \
  SZG_HOT static bool signs_##suffix(szg_log_fill fill, const OUTER *restrict outer,          \
                                     uint64_t count, uint8_t *restrict are_negative) {        \
    uint8_t any = 0;                                                                          \
    for (uint64_t i = 0; i < count; i++) {                                                    \
      are_negative[i] = szg_log_is_negative_##core(as_logarithm(outer[i]), fill);             \
      any |= are_negative[i];                                                                 \
    }                                                                                         \
    return any;                                                                               \
  }
LOG_LOOPS(f32, uint32_t, uint32_t, f32, (uint32_t), (uint32_t))
LOG_LOOPS(f32_close, uint32_t, uint64_t, f64, szg_log_widen, szg_log_narrow)
LOG_LOOPS(f64, uint64_t, uint64_t, f64, (uint64_t), (uint64_t))

void szg_log_to_inner(szgpu_dtype dtype, szgpu_dtype log_dtype, szg_log_fill fill,
                      const void *outer, uint64_t value_count, void *inner) {
  if (dtype == SZGPU_F64)
    to_inner_f64(fill, outer, value_count, inner);
  else if (log_dtype == SZGPU_F64)
    to_inner_f32_close(fill, outer, value_count, inner);
  else
    to_inner_f32(fill, outer, value_count, inner);
}

void szg_log_to_outer(szgpu_dtype dtype, szgpu_dtype log_dtype, szg_log_fill fill,
                      const void *inner, const uint8_t *are_negative, uint64_t value_count,
                      void *outer) {
  if (dtype == SZGPU_F64)
    to_outer_f64(fill, inner, are_negative, value_count, outer);
  else if (log_dtype == SZGPU_F64)
    to_outer_f32_close(fill, inner, are_negative, value_count, outer);
  else
    to_outer_f32(fill, inner, are_negative, value_count, outer);
}

bool szg_log_signs(szgpu_dtype dtype, szgpu_dtype log_dtype, szg_log_fill fill, const void *outer,
                   uint64_t value_count, uint8_t *are_negative) {
  if (dtype == SZGPU_F64) return signs_f64(fill, outer, value_count, are_negative);
  if (log_dtype == SZGPU_F64) return signs_f32_close(fill, outer, value_count, are_negative);
  return signs_f32(fill, outer, value_count, are_negative);
}
