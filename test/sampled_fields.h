/* sampled_fields.h - fields for absolute bounds that follow from a sample, or cannot.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_TEST_SAMPLED_FIELDS_H
#define SZGPU_TEST_SAMPLED_FIELDS_H

#include <stdbool.h>

#include "support.h"

typedef struct sampled_field {
  const char *what;
  szgpu_shape shape;
  szgpu_params params; /* an absolute bound, except predictor */
  void *values;        /* the test's: free() it */
  bool is_sampled;     /* the sample suffices, and no value strays */
  bool suits_tiles;    /* the same is true in tile frames, not in levels frames */
} sampled_field;

enum { SAMPLED_FIELDS = 20 };
sampled_field sampled_field_make(szgpu_dtype dtype, int which);

/* max - min of the sample, or of all values that are finite and not `fill`. */
double sampled_field_range(const sampled_field *field, bool of_sample, double fill);

#endif
