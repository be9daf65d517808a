/* log.h - fields under a bound relative to each value: logarithms of magnitudes, and signs.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * log_core.h says what becomes of each value. docs/guarantees.md derives the bound of logarithms.
 */
#ifndef SZG_LOG_H
#define SZG_LOG_H

#include "szgpu.h"
#include "values/log_core.h"

SZG_C_BEGIN

/* The type of the logarithms of a field of F32 or F64 under this bound: F32 costs size if the bound
 * is close to its spacing. */
szgpu_dtype szg_log_dtype(szgpu_dtype dtype, double bound);

/* A bound of logarithms, of type `log_dtype`, under which every normal value keeps `bound`, which
 * is positive and below 1; 0 if `bound` is too close for logarithms. */
double szg_log_bound(szgpu_dtype dtype, szgpu_dtype log_dtype, double bound);

/* Bits of a value of the field as bits of the type of logarithms, for szg_log_fill. */
uint64_t szg_log_fill_bits(szgpu_dtype dtype, szgpu_dtype log_dtype, uint64_t bits);

/* The bits of the inner fill value, -infinity. */
uint64_t szg_log_inner_fill(szgpu_dtype log_dtype);

void szg_log_to_inner(szgpu_dtype dtype, szgpu_dtype log_dtype, szg_log_fill fill,
                      const void *outer, uint64_t value_count, void *inner);

/* are_negative: 0 or 1 for each value. inner: any bits. */
void szg_log_to_outer(szgpu_dtype dtype, szgpu_dtype log_dtype, szg_log_fill fill,
                      const void *inner, const uint8_t *are_negative, uint64_t value_count,
                      void *outer);

/* Sets are_negative; whether any is. */
bool szg_log_signs(szgpu_dtype dtype, szgpu_dtype log_dtype, szg_log_fill fill, const void *outer,
                   uint64_t value_count, uint8_t *are_negative);

SZG_C_END

#endif
