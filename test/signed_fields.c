/* signed_fields.c - fields for bounds relative to each value.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "signed_fields.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static double special(szgpu_dtype dtype, uint64_t which) {
  bool const is_f32 = dtype == SZGPU_F32;
  double const least = is_f32 ? (double)FLT_MIN : DBL_MIN;
  double const values[] = {0.0,
                           -0.0,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           -NAN,
                           least,
                           -least,
                           least / 4,
                           is_f32 ? 0x1p-149 : 0x1p-1074,
                           is_f32 ? (double)FLT_MAX : DBL_MAX,
                           is_f32 ? -(double)FLT_MAX : -DBL_MAX};
  return values[which % ARRAY_COUNT(values)];
}

void *signed_make(int kind, const szgpu_shape *shape) {
  if (kind == SIGNED_BITS) return test_make_bits(shape);
  void *const field = test_make_waves(shape);
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    double const wave = test_value_at(shape->dtype, field, i);
    uint64_t const random = test_hash(i);
    double value = wave;
    if (kind == SIGNED_RANGE) value = exp2(wave / 5);
    if (kind == SIGNED_SPARSE && wave < 60) value = random % 3 ? 0.0 : -0.0;
    if (kind == SIGNED_SPECIAL && random % 5 == 0) value = special(shape->dtype, random / 5);
    if (kind == SIGNED_FILL && wave < -20) value = wave < -50 ? 1e20 : random % 50 ? 0.0 : -0.0;
    if (kind == SIGNED_NEGATIVE) value = -3.0;
    if (kind == SIGNED_ZERO) value = 0.0;
    test_set_value(shape->dtype, field, i, value);
  }
  return field;
}
