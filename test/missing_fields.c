/* missing_fields.c - see missing_fields.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "missing_fields.h"

double const missing_fills[MISSING_FILLS] = {-119, 113, 3, 119};

void *missing_make(const szgpu_shape *shape, uint32_t fill_count, uint8_t **which) {
  uint64_t const count = test_value_count(shape);
  void *const field = test_make_waves(shape);
  *which = test_allocate(count);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const spot = test_hash(i / 37), one = test_hash(i + 1000003);
    (*which)[i] = MISSING_FILLS;
    if (fill_count && spot % 3 == 0) (*which)[i] = (uint8_t)(spot / 3 % fill_count);
    if (fill_count && one % 41 == 0) (*which)[i] = (uint8_t)(one / 41 % fill_count);
    if ((*which)[i] < MISSING_FILLS)
      test_set_value(shape->dtype, field, i, missing_fills[(*which)[i]]);
  }
  return field;
}

szgpu_params missing_params(szgpu_mode mode, double bound, uint32_t fill_count) {
  szgpu_params params = test_params(mode, bound);
  params.has_fill = fill_count > 0;
  params.fill = missing_fills[0];
  for (uint32_t i = 1; i < fill_count; i++)
    params.more_fills[params.more_fill_count++] = missing_fills[i];
  return params;
}
