/* missing.h - values that mean "nothing here": fill values, and those outside the valid ones.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * They come back bit for bit and count neither for the range nor for the step.
 */
#ifndef SZG_MISSING_H
#define SZG_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/hd.h"
#include "core/status.h"
#include "values/mapping.h"

SZG_C_BEGIN

enum { SZG_MOST_FILLS = 1 + SZG_MOST_MORE_FILLS };

/* Bit patterns are of the type at hand, right-aligned. */
typedef struct szg_missing {
  uint32_t fill_count;
  uint64_t fill_bits[SZG_MOST_FILLS];
  bool has_valid; /* numbers outside these are missing, infinities too; NaNs are not */
  double valid_least, valid_greatest;
} szg_missing;

SZG_HD bool szg_is_fill(const szg_missing *missing, uint64_t bits) {
  bool is_fill = false;
  for (uint32_t i = 0; i < SZG_MOST_FILLS; i++)
    is_fill |= i < missing->fill_count && bits == missing->fill_bits[i];
  return is_fill;
}

/* value: the number that the bits mean. */
SZG_HD bool szg_is_invalid(const szg_missing *missing, double value) {
  return missing->has_valid && (value < missing->valid_least || value > missing->valid_greatest);
}

/* Whether there is more to keep than one fill value, which frames know of themselves. */
static inline bool szg_has_more_missing(const szg_missing *missing) {
  return missing->fill_count > 1 || missing->has_valid;
}

typedef struct szg_value_source szg_value_source;
typedef struct szg_range szg_range;

/* ---- values in the field's type, whose bits *missing has; arrays are aligned ---- */

/* mask[i]: whether value i has the fill value number `which`, 1 or more, and none before it.
 * Returns whether any has. */
bool szg_missing_mark(const szg_missing *missing, szgpu_dtype dtype, uint32_t which,
                      const void *values, uint32_t count, uint8_t *mask);

/* Edits inner values, to which the mapping has led the outer ones: further fill values become the
 * first one, and values that are not valid a NaN that is no fill value. */
void szg_missing_edit(const szg_missing *missing, const szg_mapping *mapping, const void *outer,
                      uint64_t count, void *inner);

/* The bits that these become, as right-aligned inner bits. */
uint64_t szg_missing_inner_fill(const szg_missing *missing, const szg_mapping *mapping);
uint64_t szg_missing_inner_invalid(const szg_missing *missing, const szg_mapping *mapping);

/* The same in device memory. Without a mapping, inner gets all of the outer values. */
szgpu_status szg_missing_edit_cuda(const szg_missing *missing, const szg_mapping *mapping,
                                   const void *outer, uint64_t count, void *inner,
                                   struct CUstream_st *stream) SZG_CHECKED;
/* Bit i % 32 of word i / 32: what szg_missing_mark gives for value i; bits behind the last: 0. */
szgpu_status szg_missing_mark_cuda(const szg_missing *missing, szgpu_dtype dtype, uint32_t which,
                                   const void *values, uint64_t count, uint32_t *words,
                                   struct CUstream_st *stream) SZG_CHECKED;

/* ---- finding them; bits are those of the type that a source's passes see ---- */

/* Adds to *missing, whose bits are of the type that the source's passes see, values that nobody has
 * named, but that stand far from all others: at least as far as these lie apart. docs/format.md,
 * section 12, has the rule, which depends on the mode. range: NULL, or of all values that are
 * finite and none of *missing as it comes. */
szgpu_status szg_missing_find_far(const szg_value_source *source, szgpu_mode mode,
                                  const szg_range *range, szg_missing *missing) SZG_CHECKED;

/* The range of the values that are finite and not missing; the first fill value is the range's. */
szgpu_status szg_range_without(const szg_value_source *source, const szg_missing *missing,
                               szg_range *range) SZG_CHECKED;

SZG_C_END

#endif
