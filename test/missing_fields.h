/* missing_fields.h - fields in which values are missing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_MISSING_FIELDS_H
#define SZG_TEST_MISSING_FIELDS_H

#include "support.h"

/* Values that every type with a sign has: beside the values of test_make_waves, and among them. */
enum { MISSING_FILLS = 4 };
extern double const missing_fills[MISSING_FILLS];

/* A new field: waves in which spots, rows and single values have the first fill_count of the fills.
 * (*which)[i], in a new array: the number of value i's, or MISSING_FILLS. */
void *missing_make(const szgpu_shape *shape, uint32_t fill_count, uint8_t **which);

/* The params of test_params that name these fills. */
szgpu_params missing_params(szgpu_mode mode, double bound, uint32_t fill_count);

#endif
