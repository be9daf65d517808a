/* lossless_fields.c - fields of every type for tests of the lossless mode.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lossless_fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A weight's bits in the highest bytes of the value; about normal, standard deviation 0.02. */
static uint64_t weight_bits(szgpu_dtype dtype, uint64_t i) {
  uint64_t const hash = test_hash(i);
  double sum = (double)(test_hash(~i) >> 11) * 0x1p-69 - 2.0; /* below what follows */
  for (int part = 0; part < 4; part++) sum += (double)(hash >> 16 * part & 0xFFFF) * 0x1p-16;
  double const weight = 0.035 * sum;
  if (dtype == SZGPU_F64) {
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    return bits;
  }
  float const narrow = (float)weight;
  uint32_t narrow_bits;
  memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
  return narrow_bits >> (32 - 8 * test_dtype_bytes(dtype));
}

/* A weight's exponent; the other bits repeat every 256 values, all bytes as often as each other. So
 * codes suit the highest plane and zstd the others. */
static uint64_t repeating_bits(szgpu_dtype dtype, uint64_t i) {
  size_t const width = test_dtype_bytes(dtype);
  uint64_t const exponent = width == 1 ? 0x7F : (uint64_t)0x7F80 << (8 * width - 16);
  uint64_t const pattern = 167 * (i % 256) % 256 * 0x0101010101010101;
  return (weight_bits(dtype, i) & exponent) | (pattern & ~exponent);
}

static uint64_t value_bits(lossless_kind kind, szgpu_dtype dtype, uint64_t i, uint64_t count) {
  static uint64_t const few[] = {0x3F80111122223333, 0xBF80111122223333, 0x3F00111122223333,
                                 0x0123456789ABCDEF};
  uint64_t const hash = test_hash(i);
  switch (kind) {
    case WEIGHTS:
      return weight_bits(dtype, i);
    case REPEATS:
      return repeating_bits(dtype, i);
    case FEW:
      return few[hash % 64 == 0 ? 3 : hash % 3];
    case NOISE:
      return hash;
    default:
      return few[0] ^ (kind == ONE_BIT && i == count / 2 ? 0x10 : 0);
  }
}

void *lossless_make(lossless_kind kind, const szgpu_shape *shape) {
  uint64_t const count = test_value_count(shape);
  size_t const width = test_dtype_bytes(shape->dtype);
  uint8_t *const field = test_allocate(count * width);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = value_bits(kind, shape->dtype, i, count);
    memcpy(field + i * width, &bits, width);
  }
  return field;
}

szgpu_params lossless_params(void) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_LOSSLESS;
  params.layout = test_layout();
  return params;
}

const char *lossless_planes(const test_archive *archive, uint64_t frame) {
  static szgpu_frame_info info;
  info = (szgpu_frame_info){.struct_bytes = sizeof info};
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, frame, 1, &info),
                   SZGPU_OK);
  bool const is_linear = test_inspect(archive).layout == SZGPU_LAYOUT_LINEAR;
  assert_string_equal(info.kind, !info.planes[0] ? "raw" : is_linear ? "top plane" : "planes");
  assert_string_equal(info.axes, "");
  return info.planes;
}

test_archive lossless_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                               const void *field) {
  test_archive const roomy = test_compress(ctx, params, shape, field);
  test_archive const archive = {test_allocate(roomy.byte_count), roomy.byte_count};
  memcpy(archive.bytes, roomy.bytes, roomy.byte_count);
  free(roomy.bytes);
  return archive;
}
