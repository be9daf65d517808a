/* bound.h - from what the caller asks to the step of the lattice: range, bound, margin, fill.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BOUND_H
#define SZG_BOUND_H

#include "core/threads.h"
#include "quant/quant_core.h"
#include "szgpu.h"

/* What the range pass finds over a field. */
typedef struct szg_range {
  bool has_values;        /* any finite value that is not fill */
  double least, greatest; /* over those; -0 counts as +0 */
  bool has_fill;
  uint64_t fill_bits; /* bit pattern in the field's type, right-aligned */
} szg_range;

/* How the frames of a field are coded. */
typedef struct szg_bound_plan {
  bool is_constant; /* every finite value that is not fill equals constant_bits as a number */
  bool is_hopeless; /* no value can be coded under this bound: raw frames */
  uint64_t constant_bits;
  double value_range; /* greatest - least */
  szg_quantizer quantizer;
} szg_bound_plan;

/* One pass over value_count values of dtype. named_fill: its bits in the field's type, or NULL:
 * one of the known fill values is looked for. */
szgpu_status szg_range_take(szg_threads *threads, szgpu_dtype dtype, const void *values,
                            uint64_t value_count, const uint64_t *named_fill,
                            szg_range *range) SZG_CHECKED;

/* Applies the mode and derives the quantizer. Reads the values again only where some are too large
 * for the bound to mean anything to them. SZGPU_BAD_BOUND: not finite and positive. */
szgpu_status szg_bound_derive(szg_threads *threads, szgpu_dtype dtype, const void *values,
                              uint64_t value_count, szgpu_mode mode, double asked,
                              const szg_range *range, szg_bound_plan *plan) SZG_CHECKED;

/* A quantizer as the header gives it, for restoring. */
szg_quantizer szg_quantizer_make(uint32_t arithmetic, double bound, double step, bool has_fill,
                                 uint64_t fill_bits);

#endif
