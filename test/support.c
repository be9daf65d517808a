/* support.c - what the tests share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t default_seed = 20260101;

static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

test_random test_random_begin(void) {
  const char *const asked = getenv("SZGPU_TEST_SEED");
  uint64_t const seed = asked ? strtoull(asked, NULL, 0) : default_seed;
  print_message("           seed: SZGPU_TEST_SEED=%llu\n", (unsigned long long)seed);
  return (test_random){seed};
}

uint64_t test_random_bits(test_random *random) {
  return mix(random->state += UINT64_C(0x9E3779B97F4A7C15));
}

uint64_t test_random_below(test_random *random, uint64_t limit) {
  return test_random_bits(random) % limit;
}

double test_random_unit(test_random *random) {
  return (double)(test_random_bits(random) >> 11) * 0x1p-53;
}

uint64_t test_hash(uint64_t i) { return mix((i + 1) * UINT64_C(0x9E3779B97F4A7C15)); }

float test_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

double test_double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

size_t test_dtype_bytes(szgpu_dtype dtype) {
  static const uint8_t bytes[] = {4, 8, 1, 2, 2, 1, 1, 2, 2, 4}; /* in the order of szgpu_dtype */
  return bytes[dtype];
}

uint64_t test_bits_at(szgpu_dtype dtype, const void *field, uint64_t i) {
  size_t const bytes = test_dtype_bytes(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const uint8_t *)field + bytes * i, bytes);
  return bits;
}

double test_half_of_bits(szgpu_dtype dtype, uint64_t bits) {
  int const mantissa_bits = dtype == SZGPU_F16 ? 10 : 7, bias = dtype == SZGPU_F16 ? 15 : 127;
  int const top = 2 * bias + 1, exponent = (int)(bits >> mantissa_bits) & top;
  int const mantissa = (int)bits & ((1 << mantissa_bits) - 1);
  double const sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == top) return sign * (mantissa ? NAN : INFINITY);
  int const significand = exponent ? mantissa + (1 << mantissa_bits) : mantissa;
  return sign * ldexp(significand, (exponent ? exponent : 1) - bias - mantissa_bits);
}

uint16_t test_nearest_half(szgpu_dtype dtype, double value) {
  uint16_t const infinity = dtype == SZGPU_F16 ? 0x7C00 : 0x7F80;
  uint16_t const sign = signbit(value) ? 0x8000 : 0;
  uint16_t below = 0, above = infinity; /* bits, around the magnitude */
  while (above - below > 1) {
    uint16_t const middle = (uint16_t)((below + above) / 2);
    if (test_half_of_bits(dtype, middle) <= fabs(value))
      below = middle;
    else
      above = middle;
  }
  if (above == infinity) return (uint16_t)(sign | below);
  long double const under = (long double)fabs(value) - test_half_of_bits(dtype, below);
  long double const over = (long double)test_half_of_bits(dtype, above) - fabs(value);
  int const goes_up = under > over || (under == over && below % 2 == 1);
  return (uint16_t)(sign | (goes_up ? above : below));
}

double test_value_of_bits(szgpu_dtype dtype, uint64_t bits) {
  switch (dtype) {
    case SZGPU_F32:
      return test_float_of_bits((uint32_t)bits);
    case SZGPU_F64:
      return test_double_of_bits(bits);
    case SZGPU_F16:
    case SZGPU_BF16:
      return test_half_of_bits(dtype, bits);
    case SZGPU_I8:
      return (int8_t)bits;
    case SZGPU_I16:
      return (int16_t)bits;
    case SZGPU_I32:
      return (int32_t)bits;
    default:
      return (double)bits;
  }
}

double test_value_at(szgpu_dtype dtype, const void *field, uint64_t i) {
  return test_value_of_bits(dtype, test_bits_at(dtype, field, i));
}

void test_set_value(szgpu_dtype dtype, void *field, uint64_t i, double value) {
  switch (dtype) {
    case SZGPU_F32:
      ((float *)field)[i] = (float)value;
      break;
    case SZGPU_F64:
      ((double *)field)[i] = value;
      break;
    case SZGPU_F16:
    case SZGPU_BF16:
      ((uint16_t *)field)[i] = test_nearest_half(dtype, value);
      break;
    case SZGPU_I16:
      ((int16_t *)field)[i] = (int16_t)rint(value);
      break;
    case SZGPU_U16:
      ((uint16_t *)field)[i] = (uint16_t)rint(value);
      break;
    case SZGPU_I32:
      ((int32_t *)field)[i] = (int32_t)rint(value);
      break;
    case SZGPU_I8:
      ((int8_t *)field)[i] = (int8_t)rint(value);
      break;
    default:
      ((uint8_t *)field)[i] = (uint8_t)rint(value);
  }
}

void *test_allocate(size_t bytes) {
  void *const memory = malloc(bytes ? bytes : 1);
  assert_non_null(memory);
  return memory;
}

szgpu_shape test_shape(szgpu_dtype dtype, int ndim, uint64_t d0, uint64_t d1, uint64_t d2,
                       uint64_t d3) {
  return (szgpu_shape){dtype, ndim, {d0, d1, d2, d3}};
}

uint64_t test_value_count(const szgpu_shape *shape) {
  uint64_t count = 1;
  for (int i = 0; i < shape->ndim; i++) count *= shape->dims[i];
  return count;
}

size_t test_field_bytes(const szgpu_shape *shape) {
  return test_value_count(shape) * test_dtype_bytes(shape->dtype);
}

const szgpu_shape test_awkward_shapes[] = {
    {SZGPU_F32, 1, {1}},
    {SZGPU_F32, 1, {31}},
    {SZGPU_F64, 1, {257}},
    {SZGPU_F32, 1, {4095}},
    {SZGPU_F32, 1, {4096}},
    {SZGPU_F64, 1, {4097}},
    {SZGPU_F32, 1, {70001}},
    {SZGPU_F32, 2, {1, 33}},
    {SZGPU_F32, 2, {33, 1}},
    {SZGPU_F32, 2, {65, 63}},
    {SZGPU_F64, 2, {257, 131}},
    {SZGPU_F32, 3, {1, 1, 1}},
    {SZGPU_F32, 3, {17, 9, 33}},
    {SZGPU_F64, 3, {2, 2, 2}},
    {SZGPU_F64, 3, {33, 1, 31}},
    {SZGPU_F32, 3, {47, 23, 61}},
    {SZGPU_F32, 4, {1, 1, 7, 1}},
    {SZGPU_F32, 4, {3, 17, 9, 33}},
    {SZGPU_F64, 4, {5, 1, 19, 37}},
    {SZGPU_F64, 4, {1, 18, 10, 34}},
    {SZGPU_F32, 4, {2, 2, 2, 2}},
};
const size_t test_awkward_shape_count = ARRAY_COUNT(test_awkward_shapes);

void *test_make_waves(const szgpu_shape *shape) {
  uint64_t const count = test_value_count(shape), row = shape->dims[shape->ndim - 1];
  void *const field = test_allocate(test_field_bytes(shape));
  for (uint64_t i = 0; i < count; i++) {
    double const x = (double)(i % row), y = (double)(i / row);
    double const noise = (double)(test_hash(i) >> 11) * 0x1p-53 - 0.5;
    test_set_value(shape->dtype, field, i, 100.0 * sin(0.05 * x + 0.02 * y) + noise);
  }
  return field;
}

void *test_make_smooth(const szgpu_shape *shape) {
  uint64_t const count = test_value_count(shape);
  void *const field = test_allocate(test_field_bytes(shape));
  for (uint64_t i = 0; i < count; i++) {
    double value = 100.0;
    uint64_t rest = i;
    for (int axis = shape->ndim - 1; axis >= 0; axis--) {
      value *= sin((0.17 - 0.02 * axis) * (double)(rest % shape->dims[axis]) + 0.4 + axis);
      rest /= shape->dims[axis];
    }
    test_set_value(shape->dtype, field, i, value);
  }
  return field;
}

float *test_make_folded(int rows, int columns) {
  float *const field = test_allocate((size_t)rows * (size_t)columns * sizeof *field);
  for (int i = 0; i < rows * columns; i++)
    field[i] = (float)((double)(test_hash((uint64_t)(i % columns)) % 100) +
                       sin(i / columns * 0.05 + i % columns));
  return field;
}

void *test_make_bits(const szgpu_shape *shape) {
  size_t const bytes = test_field_bytes(shape);
  uint8_t *const field = test_allocate(bytes);
  for (size_t i = 0; i < bytes; i++) field[i] = (uint8_t)(test_hash(i / 4) >> (32 + 8 * (i % 4)));
  return field;
}

static szgpu_ctx *make_ctx(int threads, szgpu_decoder decoder) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = threads;
  options.decoder = decoder;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  return ctx;
}

szgpu_ctx *test_make_ctx(int threads) { return make_ctx(threads, SZGPU_DECODER_AUTO); }

szgpu_ctx *test_make_serial_ctx(void) { return make_ctx(1, SZGPU_DECODER_SERIAL); }

szgpu_layout test_layout(void) {
  const char *const asked = getenv("SZGPU_TEST_LAYOUT");
  return asked && strcmp(asked, "linear") == 0 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
}

const char *test_coded_kind(void) {
  return test_layout() == SZGPU_LAYOUT_LINEAR ? "linear" : "tile";
}

szgpu_params test_params(szgpu_mode mode, double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = mode;
  params.bound = bound;
  params.layout = test_layout();
  return params;
}

szgpu_params test_linear_params(szgpu_mode mode, double bound) {
  szgpu_params params = test_params(mode, bound);
  params.layout = SZGPU_LAYOUT_LINEAR;
  return params;
}

void test_ask_radius(szgpu_params *params, uint32_t radius) {
  if (params->layout == SZGPU_LAYOUT_LINEAR) params->radius = radius;
}

test_archive test_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field) {
  size_t capacity;
  assert_int_equal(szgpu_sizes(ctx, params, shape, NULL, &capacity), SZGPU_OK);
  test_archive archive = {test_allocate(capacity), 0};
  szgpu_status const status =
      szgpu_compress(ctx, params, shape, field, archive.bytes, capacity, &archive.byte_count);
  if (status != SZGPU_OK)
    fail_msg("compress: %s; %s", szgpu_status_text(status), szgpu_last_error(ctx));
  return archive;
}

void *test_decompress(szgpu_ctx *ctx, const test_archive *archive, size_t field_bytes) {
  void *const restored = test_allocate(field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, archive->bytes, archive->byte_count, restored, field_bytes);
  if (status != SZGPU_OK)
    fail_msg("decompress: %s; %s", szgpu_status_text(status), szgpu_last_error(ctx));
  return restored;
}

szgpu_info test_inspect(const test_archive *archive) {
  szgpu_info info = {.struct_bytes = sizeof info};
  assert_int_equal(szgpu_inspect(archive->bytes, archive->byte_count, &info), SZGPU_OK);
  return info;
}

static bool has_coded_planes(const szgpu_frame_info *frame) {
  return strcmp(frame->kind, "planes") == 0 && strchr(frame->planes, 'c');
}

static bool has_halved_base(const szgpu_frame_info *frame) {
  return strcmp(frame->predictor, "interpolation") == 0 && frame->interpolated_axes == 1;
}

static bool has_blended_stencils(const szgpu_frame_info *frame) {
  return strncmp(frame->stencil, "blended", strlen("blended")) == 0;
}

static bool has_quintic_stencils(const szgpu_frame_info *frame) {
  return strcmp(frame->stencil, "blended quintic") == 0;
}

static bool has_frame(const test_archive *archive, bool (*is_one)(const szgpu_frame_info *)) {
  uint64_t const frame_count = test_inspect(archive).frame_count;
  bool has_any = false;
  for (uint64_t f = 0; f < frame_count && !has_any; f++) {
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, f, 1, &frame),
                     SZGPU_OK);
    has_any = is_one(&frame);
  }
  return has_any;
}

bool test_has_coded_planes(const test_archive *archive) {
  return has_frame(archive, has_coded_planes);
}

bool test_has_halved_base(const test_archive *archive) {
  return has_frame(archive, has_halved_base);
}

bool test_has_blended(const test_archive *archive) {
  return has_frame(archive, has_blended_stencils);
}

bool test_has_quintic(const test_archive *archive) {
  return has_frame(archive, has_quintic_stencils);
}

static bool is_fill(const szgpu_info *info, uint64_t bits) {
  bool is = info->has_fill && bits == info->fill_bits;
  for (uint32_t i = 0; i < info->more_fill_count; i++) is |= bits == info->more_fill_bits[i];
  return is;
}

/* Modes that find the range state it if values are coded by a step; it is that of the values that
 * are finite and not fill, and 0 in it is +0. Values beyond it are not valid ones, and kept. */
static void assert_limits(const szgpu_shape *shape, const void *field, const void *restored,
                          const szgpu_info *info) {
  double least = INFINITY, greatest = -INFINITY;
  if (info->mode == SZGPU_MODE_REL || info->mode == SZGPU_MODE_PSNR)
    assert_int_equal(info->has_limits, info->step > 0);
  if (info->mode == SZGPU_MODE_PWREL || info->mode == SZGPU_MODE_LOSSLESS)
    assert_false(info->has_limits);
  if (!info->has_limits) {
    assert_true(info->least == 0 && info->greatest == 0);
    return;
  }
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    double const x = test_value_at(shape->dtype, field, i);
    uint64_t const bits = test_bits_at(shape->dtype, field, i);
    if (is_fill(info, bits) || !isfinite(x)) continue;
    if (x < info->least || x > info->greatest) {
      assert_int_equal(test_bits_at(shape->dtype, restored, i), bits);
      continue;
    }
    if (x < least) least = x;
    if (x > greatest) greatest = x;
  }
  assert_true(info->least == least && !(least == 0 && signbit(info->least)));
  assert_true(info->greatest == greatest && !(greatest == 0 && signbit(info->greatest)));
}

void test_assert_bound(const szgpu_shape *shape, const void *field, const void *restored,
                       const szgpu_info *info) {
  uint64_t const count = test_value_count(shape);
  assert_limits(shape, field, restored, info);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = test_bits_at(shape->dtype, field, i);
    if (bits == test_bits_at(shape->dtype, restored, i)) continue;
    long double const x = test_value_at(shape->dtype, field, i);
    long double const y = test_value_at(shape->dtype, restored, i);
    bool const is_missing = is_fill(info, test_bits_at(shape->dtype, field, i));
    bool const is_by_value = info->mode == SZGPU_MODE_PWREL; /* then signs and zeros stay, too */
    long double const bound = is_by_value ? info->bound * fabsl(x) : info->absolute_bound;
    if (is_missing || !isfinite(x) || (is_by_value && x * y <= 0) || !(fabsl(x - y) <= bound))
      fail_msg("value %llu: %.17Lg came back as %.17Lg, the bound is %.17g", (unsigned long long)i,
               x, y, (double)bound);
    if (info->has_limits && !(y >= info->least && y <= info->greatest))
      fail_msg("value %llu: %.17Lg came back as %.17Lg, beyond the limits %.17g and %.17g",
               (unsigned long long)i, x, y, info->least, info->greatest);
  }
}

szgpu_info test_round_trip(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field) {
  test_archive archive = test_compress(ctx, params, shape, field);
  void *const restored = test_decompress(ctx, &archive, test_field_bytes(shape));
  szgpu_info const info = test_inspect(&archive);
  test_assert_bound(shape, field, restored, &info);
  free(restored);
  free(archive.bytes);
  return info;
}
