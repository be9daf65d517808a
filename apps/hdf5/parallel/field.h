/* field.h - the field to write: any rank can compute any value of it again, bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An array of vortices that moves from step to step, plus noise; values from about -1.5 to 1.5.
 * Uses only sums, products and quotients of doubles, which IEEE 754 rounds alike everywhere, and no
 * libm, so that a checker written in another language gets the same values.
 */
#ifndef SZGPU_PARALLEL_FIELD_H
#define SZGPU_PARALLEL_FIELD_H

#include "blocks.h"

#include <stdbool.h>
#include <stdint.h>

/* The value inside the hole, a box in the field such as a body in a flow would leave. */
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

/* Compares the block's restored values with the field and adds up the result. bound: 0 if every
 * value must be bit-identical; fill values always must. */
void field_compare(const struct field *field, const struct block *block, const float *restored,
                   double bound, struct comparison *comparison);

#endif
