/* field.h - the field that is written: any rank can make any value of it again, to the bit.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An array of vortices that moves from step to step, and noise; about -1.5 .. 1.5. Only sums,
 * products and quotients of doubles, which IEEE 754 rounds the same everywhere, and no libm, so
 * that a checker written in another language gets the same values.
 */
#ifndef SZGPU_PARALLEL_FIELD_H
#define SZGPU_PARALLEL_FIELD_H

#include "blocks.h"

#include <stdbool.h>
#include <stdint.h>

/* Inside a box of the field, as of a body in a flow, values are this fill value where there is a
 * hole. */
#define FIELD_FILL 1e20f

struct field {
  uint64_t dims[FIELD_DIMS];
  uint64_t step;
  bool has_hole;
};

/* The block's values, x (the last axis) fastest. */
void field_make(const struct field *field, const struct block *block, float *values);

struct comparison {
  uint64_t values_over_bound;
  double largest_error;
};

/* Adds what the block's restored values show. bound: 0 where every bit must be the same; a fill
 * value's always must. */
void field_compare(const struct field *field, const struct block *block, const float *restored,
                   double bound, struct comparison *comparison);

#endif
