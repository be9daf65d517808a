/* raster_fields.c - fields whose values lie on a grid, all or most of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raster_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/tiles.h"

static uint64_t count_of(const raster_field *field) { return test_value_count(&field->shape); }

/* Noise of about +-20 from value to value, on waves of +-80: interpolation saves little. */
static int64_t number_at(uint64_t i) {
  double const wave = 80.0 * sin((double)i * 0.003);
  uint64_t const noise = test_hash(i);
  return (int64_t)rint(wave) + (int64_t)(noise % 21) + (int64_t)(noise / 32 % 21) - 20;
}

/* Calls of this set number_at(i) * spacing + offset, rounded to the type as often as unpacking
 * does. */
static void unpack(raster_field *field, double spacing, double offset) {
  bool const is_f32 = field->shape.dtype == SZGPU_F32;
  for (uint64_t i = 0; i < count_of(field); i++) {
    double const product = (double)number_at(i) * spacing;
    double const value = is_f32 ? (double)((float)product + (float)offset) : product + offset;
    test_set_value(field->shape.dtype, field->values, i, value);
  }
}

/* Numbers with decimals, the nearest ones of the type. */
static void round_to(raster_field *field, double units) {
  for (uint64_t i = 0; i < count_of(field); i++)
    test_set_value(field->shape.dtype, field->values, i, (double)number_at(i) / units);
}

/* Of these values, nothing is on a grid. */
static void blur(raster_field *field, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; i++) {
    double const value = test_value_at(field->shape.dtype, field->values, i);
    double const noise = (double)(test_hash(i ^ 77) % 1000) * 1e-5;
    test_set_value(field->shape.dtype, field->values, i, value + noise);
  }
}

static void blur_from(raster_field *field, uint64_t first) { blur(field, first, count_of(field)); }

/* Blurs the longest stretch of a line that neither sample of docs/format.md sees. */
static void blur_unseen(raster_field *field) {
  uint64_t const count = count_of(field);
  uint8_t *const is_seen = calloc(1, count);
  assert_non_null(is_seen);
  for (uint64_t i = 0; i < 64; i++)
    memset(is_seen + 32 * szg_number_in_part(count / 32, 64, i), 1, 32);
  for (uint64_t i = 0; i < 8; i++) {
    uint64_t const first = 512 * szg_number_in_part(szg_div_up(count, 512), 8, i);
    memset(is_seen + (first + 512 < count ? first : count - 512), 1, 512);
  }
  uint64_t longest = 0, end = 0;
  for (uint64_t i = 0, length = 0; i < count; i++) {
    length = is_seen[i] ? 0 : length + 1;
    if (length > longest) longest = length, end = i + 1;
  }
  assert_true(longest > count / 100);
  blur(field, end - longest, end);
  free(is_seen);
}

static void set_every(raster_field *field, uint64_t distance, double value) {
  for (uint64_t i = 7; i < count_of(field); i += distance)
    test_set_value(field->shape.dtype, field->values, i, value);
}

static void smooth(raster_field *field, double units) {
  const uint64_t *const dims = field->shape.dims;
  for (uint64_t i = 0; i < count_of(field); i++) {
    double const x = (double)(i % dims[2]), y = (double)(i / dims[2] % dims[1]);
    double const z = (double)(i / dims[2] / dims[1]);
    double const value = sin(x / 19) + sin(y / 17) + sin(z / 23);
    test_set_value(field->shape.dtype, field->values, i, rint(value * units) / units);
  }
}

static void set_type(raster_field *field, szgpu_dtype dtype) {
  field->shape.dtype = dtype;
  free(field->values);
  field->values = test_allocate(test_field_bytes(&field->shape));
}

static void has_step(raster_field *field, double step) {
  field->has_raster = true;
  field->step = step;
}

/* Fields that have a grid, with steps of it. */
static void make_regular(raster_field *field, szgpu_dtype dtype, int which) {
  szgpu_params *const params = &field->params;
  switch (which) {
    case 0:
      field->what = "whole numbers";
      unpack(field, 1.0, 0.0);
      has_step(field, 1.0);
      break;
    case 1:
      field->what = "whole numbers, a bound of one";
      unpack(field, 1.0, 0.0);
      params->bound = 1.0;
      has_step(field, 3.0);
      break;
    case 2:
      field->what = "two decimals";
      round_to(field, 100.0);
      params->bound = 1e-4;
      has_step(field, 0.01);
      break;
    case 3:
      field->what = "two decimals, a bound below the roundings of f32";
      round_to(field, 100.0);
      params->bound = 1e-7;
      has_step(field, 0.01);
      break;
    case 4:
      field->what = "two decimals, a bound just above a hundredth";
      round_to(field, 100.0);
      params->bound = 0.0101;
      has_step(field, 0.03);
      break;
    case 5:
      field->what = "multiples of an eighth, in a line";
      field->shape = test_shape(dtype, 1, 120000, 0, 0, 0);
      unpack(field, 0.125, 0.0);
      has_step(field, 0.125);
      break;
    case 6:
      field->what = "unpacked with a scale and an offset that it divides";
      unpack(field, 0.0137, 0.0137 * 20000);
      params->bound = 1e-3;
      has_step(field, 0.0137);
      break;
    case 7:
      field->what = "unpacked with an offset of half a scale";
      unpack(field, 0.02, 0.01);
      params->bound = 1e-4;
      has_step(field, 0.01);
      break;
    case 8:
      field->what = "unpacked far from 0, with an offset that the step makes up for";
      unpack(field, 0.05, 273.17);
      params->bound = 2e-3;
      has_step(field, 0.05 * 273.17 / 273.15);
      break;
    case 9:
      field->what = "a relative bound, and limits";
      unpack(field, 2.0, 1.0);
      params->mode = SZGPU_MODE_REL;
      params->bound = 1e-5;
      has_step(field, 1.0);
      break;
    case 10:
      field->what = "a target in decibels";
      unpack(field, 4.0, 0.0);
      params->mode = SZGPU_MODE_PSNR;
      params->bound = 90.0;
      has_step(field, 4.0);
      break;
    case 11:
      field->what = "frames";
      unpack(field, 1.0, 0.0);
      params->frame_rows = 16;
      has_step(field, 1.0);
      break;
    case 12:
      field->what = "restored values are kept";
      unpack(field, 0.25, 0.0);
      params->keep = SZGPU_KEEP_RESTORED;
      has_step(field, 0.25);
      break;
    case 13:
      field->what = "a known fill value";
      unpack(field, 1.0, 0.0);
      set_every(field, 41, (double)1e20f);
      has_step(field, 1.0);
      break;
    case 14:
      field->what = "named fill values and a valid range";
      unpack(field, 0.5, 0.0);
      set_every(field, 41, -9999.3);
      set_every(field, 43, 1234.7);
      set_every(field, 59, 4000.1);
      params->has_fill = 1;
      params->fill = -9999.3;
      params->more_fill_count = 1;
      params->more_fills[0] = 1234.7;
      params->has_valid = 1;
      params->valid_least = -1000;
      params->valid_greatest = 1000;
      has_step(field, 0.5);
      break;
    case 15:
      field->what = "integers that are multiples of 12";
      set_type(field, dtype == SZGPU_F32 ? SZGPU_I16 : SZGPU_I32);
      unpack(field, 12.0, 0.0);
      params->bound = 2.0;
      has_step(field, 12.0);
      break;
    case 16:
      field->what = "halves that are whole numbers, and bytes";
      set_type(field, dtype == SZGPU_F32 ? SZGPU_F16 : SZGPU_I8);
      unpack(field, dtype == SZGPU_F32 ? 1.0 : 0.0, 0.0);
      for (uint64_t i = 0; i < count_of(field) && dtype == SZGPU_F64; i++)
        test_set_value(SZGPU_I8, field->values, i, 5.0 * (double)(number_at(i) / 8));
      params->bound = dtype == SZGPU_F32 ? 0.1 : 1.0;
      has_step(field, dtype == SZGPU_F32 ? 1.0 : 5.0);
      break;
    default:
      field->what = "four axes";
      field->shape = test_shape(dtype, 4, 3, 20, 40, 50);
      unpack(field, 1.0, 0.0);
      has_step(field, 1.0);
      break;
  }
}

enum { REGULAR_FIELDS = 18 };

/* Fields without a grid, or with one that does not pay. */
static void make_irregular(raster_field *field, szgpu_dtype dtype, int which) {
  szgpu_params *const params = &field->params;
  switch (which) {
    case 0:
      field->what = "a grid but for a stretch that the samples miss";
      field->shape = test_shape(dtype, 1, 120000, 0, 0, 0);
      round_to(field, 100.0);
      blur_unseen(field);
      params->bound = 1e-4;
      field->step = 0.01; /* of the first attempt */
      break;
    case 1:
      field->what = "a grid that ends halfway";
      round_to(field, 100.0);
      blur_from(field, count_of(field) / 2);
      params->bound = 1e-4;
      break;
    case 2:
      field->what = "one frame of several is off the grid";
      params->frame_rows = 8;
      unpack(field, 1.0, 0.0);
      blur_from(field, count_of(field) - 3000);
      break;
    case 3:
      field->what = "a smooth field with four decimals, which interpolation suits";
      smooth(field, 1e4);
      params->bound = 1.01e-4;
      break;
    case 4:
      field->what = "waves";
      free(field->values);
      field->values = test_make_waves(&field->shape);
      break;
    case 5:
      field->what = "random bits";
      free(field->values);
      field->values = test_make_bits(&field->shape);
      break;
    case 6:
      field->what = "few values differ from 0";
      set_every(field, count_of(field) / 3, 0.3);
      break;
    default:
      field->what = "a declared magnitude";
      unpack(field, 1.0, 0.0);
      params->greatest = 150.0;
      break;
  }
}

raster_field raster_field_make(szgpu_dtype dtype, int which) {
  raster_field field = {.shape = test_shape(dtype, 3, 40, 50, 60, 0)};
  field.params = test_params(SZGPU_MODE_ABS, 1e-3);
  field.values = calloc(1, test_field_bytes(&field.shape));
  assert_non_null(field.values);
  if (which < REGULAR_FIELDS)
    make_regular(&field, dtype, which);
  else
    make_irregular(&field, dtype, which - REGULAR_FIELDS);
  return field;
}

void raster_field_disturb(raster_field *field) {
  static const double others[] = {NAN, INFINITY, -0.0, 0.123, -INFINITY, 1e14, 3e-5, 77.77};
  for (size_t i = 0; i < ARRAY_COUNT(others); i++)
    test_set_value(field->shape.dtype, field->values, 5003 + 7001 * i, others[i]);
}
