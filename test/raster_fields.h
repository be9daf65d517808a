/* raster_fields.h - fields whose values lie on a grid, all or most of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_TEST_RASTER_FIELDS_H
#define SZGPU_TEST_RASTER_FIELDS_H

#include <stdbool.h>

#include "support.h"

typedef struct raster_field {
  const char *what;
  szgpu_shape shape;
  szgpu_params params; /* except predictor */
  void *values;        /* the test's: free() it */
  bool has_raster;     /* the step goes by the grid, whatever the predictor but interpolation */
  double step;         /* then it is this, to within a millionth; else it is not, if not 0 */
} raster_field;

enum { RASTER_FIELDS = 26 };

/* dtype: F32 or F64; some fields have another type. */
raster_field raster_field_make(szgpu_dtype dtype, int which);

/* Sets values to NaN, infinities, -0 and others that are not on the grid: so few of them that the
 * archive keeps its step. */
void raster_field_disturb(raster_field *field);

#endif
