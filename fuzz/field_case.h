/* field_case.h - bytes as a compression: params, shape and field.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FUZZ_FIELD_CASE_H
#define SZG_FUZZ_FIELD_CASE_H

#include "fuzz.h"

enum { CASE_HEADER_BYTES = 32 }; /* inputs are longer */

typedef struct field_case {
  szgpu_params params;
  szgpu_shape shape;
  uint64_t value_count;
  size_t width; /* of a value */
  size_t field_bytes;
  uint8_t *field; /* owned */
} field_case;

/* The number of a value, by its bits; of fp8 the bits. */
double case_value(szgpu_dtype dtype, uint64_t bits);

/* The first CASE_HEADER_BYTES say what to do, the others are what values are made of. The params
 * may be refused, but only for their bound. */
field_case case_make(const uint8_t *data, size_t size);

#endif
