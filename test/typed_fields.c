/* typed_fields.c - fields of the types that are coded in a wider one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "typed_fields.h"

#include <math.h>
#include <string.h>

const szgpu_dtype typed_dtypes[TYPED_DTYPES] = {SZGPU_U8,  SZGPU_I8,   SZGPU_U16, SZGPU_I16,
                                                SZGPU_F16, SZGPU_BF16, SZGPU_I32};

bool typed_is_half(szgpu_dtype dtype) { return dtype == SZGPU_F16 || dtype == SZGPU_BF16; }

/* Half of the range that a smooth field of the type has, and what it is around. */
static double amplitude_of(szgpu_dtype dtype) {
  return test_dtype_bytes(dtype) == 1 ? 100.0
         : typed_is_half(dtype)       ? 30.0
         : dtype == SZGPU_I32         ? 1e9
                                      : 30000.0;
}
static double centre_of(szgpu_dtype dtype) {
  return dtype == SZGPU_U8 ? 120.0 : dtype == SZGPU_U16 ? 33000.0 : 0.0;
}

static uint64_t corner_of(szgpu_dtype dtype, uint64_t i) {
  static const uint64_t halves[] = {0x7BFF, 0xFBFF, 0x0001, 0x8000, 0x7F7F, 0x3C00};
  if (typed_is_half(dtype)) return halves[i % ARRAY_COUNT(halves)];
  return i % 2 ? UINT64_MAX : UINT64_MAX << (8 * test_dtype_bytes(dtype) - 1);
}

static double smooth_at(const szgpu_shape *shape, uint64_t i) {
  uint64_t const row = shape->dims[shape->ndim - 1];
  double const x = (double)(i % row), y = (double)(i / row);
  double const noise = (double)(test_hash(i) >> 11) * 0x1p-53 - 0.5;
  double const wave = sin(0.05 * x + 0.02 * y) * 0.98 + 0.02 * noise;
  return centre_of(shape->dtype) + amplitude_of(shape->dtype) * wave;
}

void *typed_make(int kind, const szgpu_shape *shape) {
  szgpu_dtype const dtype = shape->dtype;
  size_t const width = test_dtype_bytes(dtype);
  if (kind == TYPED_BITS) return test_make_bits(shape);
  void *const field = test_allocate(test_field_bytes(shape));
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    uint64_t const corner = corner_of(dtype, i);
    if (kind == TYPED_CORNERS)
      memcpy((uint8_t *)field + i * width, &corner, width);
    else
      test_set_value(dtype, field, i, kind == TYPED_FLAT ? 3.0 : smooth_at(shape, i));
  }
  return field;
}
