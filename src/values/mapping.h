/* mapping.h - fields whose values are coded in another type than their own.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A mapping leads from the outer type, the field's, to the inner one, f32 or f64, in which
 * everything else works, and back. It is applied at the edges of a frame (frames/mapped.h) and of
 * the passes over the values (quant/bound.h). The inner bound is such that the outer one holds
 * after the way back; docs/guarantees.md has the proof.
 */
#ifndef SZG_MAPPING_H
#define SZG_MAPPING_H

#include <stdbool.h>

#include "core/tiles.h"
#include "szgpu.h"
#include "values/log.h"

SZG_C_BEGIN

typedef enum szg_mapping_kind {
  SZG_MAPPING_NONE = 0,  /* the inner values are the outer ones */
  SZG_MAPPING_WIDEN = 1, /* a narrower float or an integer, exactly; back by rounding */
  SZG_MAPPING_LOG = 2    /* logarithms of magnitudes (log.h); signs are kept apart */
} szg_mapping_kind;

typedef struct szg_mapping {
  szg_mapping_kind kind;
  szgpu_dtype outer, inner;
  szg_log_fill fill; /* SZG_MAPPING_LOG */
} szg_mapping;

/* How values of `dtype` are coded under a mode; every pair of which szg_dtype_has_mode is true. */
szg_mapping szg_mapping_of(szgpu_mode mode, szgpu_dtype dtype);

/* The same for a call, whose bound may decide; without a fill value. */
szg_mapping szg_mapping_of_params(const szgpu_params *params, szgpu_dtype dtype);

static inline bool szg_is_mapped(const szg_mapping *mapping) {
  return mapping->kind != SZG_MAPPING_NONE;
}

/* ---- values, of a mapping that is not SZG_MAPPING_NONE; arrays are aligned to their types ---- */

void szg_values_to_inner(const szg_mapping *mapping, const void *outer, uint64_t value_count,
                         void *inner);
/* inner: any bits. Not for SZG_MAPPING_LOG, which needs signs. */
void szg_values_to_outer(const szg_mapping *mapping, const void *inner, uint64_t value_count,
                         void *outer);

/* Whether the outer type has the number, perhaps rounded: of an integer type, an integer within its
 * limits; of floats, all but finite numbers that would round to an infinity. */
bool szg_mapping_has_value(const szg_mapping *mapping, double value);
/* The inner bit pattern of such a number, right-aligned. */
uint64_t szg_mapping_inner_bits(const szg_mapping *mapping, double value);
/* The outer bit pattern of an inner one, both right-aligned. */
uint64_t szg_mapping_outer_bits(const szg_mapping *mapping, uint64_t inner_bits);

/* ---- the bound ---- */

/* A bound of inner values, positive, under which outer values of up to the magnitude keep `bound`,
 * which is at least 0. */
double szg_mapping_inner_bound(const szg_mapping *mapping, double bound, double magnitude);

/* ---- CUDA (mapping.cu): arrays in device memory; the work goes to the stream ---- */

/* signs: of SZG_MAPPING_LOG, bit i % 32 of word i / 32 says whether value i is negative, and bits
 * behind the last value are 0; else unused. */
szgpu_status szg_values_to_inner_cuda(const szg_mapping *mapping, const void *outer,
                                      uint64_t value_count, void *inner, uint32_t *signs,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_values_to_outer_cuda(const szg_mapping *mapping, const void *inner,
                                      uint64_t value_count, void *outer,
                                      struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
