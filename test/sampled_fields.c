/* sampled_fields.c - fields for absolute bounds that follow from a sample, or cannot.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sampled_fields.h"

#include <math.h>

#include "quant/bound.h"

static bool is_in_sample(uint64_t i) {
  uint64_t const first = szg_range_run_of(i >> SZG_RANGE_SPAN_LOG2);
  return i >= first && i < first + (1u << SZG_RANGE_RUN_LOG2);
}

/* The first value at or behind `i` that is in the sample, or is not. */
static uint64_t place_from(uint64_t i, bool in_sample) {
  while (is_in_sample(i) != in_sample) i++;
  return i;
}

static void set(sampled_field *field, uint64_t from, bool in_sample, double value) {
  test_set_value(field->shape.dtype, field->values, place_from(from, in_sample), value);
}

static void scale_all_but_sample(sampled_field *field, double factor) {
  uint64_t const count = test_value_count(&field->shape);
  for (uint64_t i = 0; i < count; i++)
    if (!is_in_sample(i))
      test_set_value(field->shape.dtype, field->values, i,
                     factor * test_value_at(field->shape.dtype, field->values, i));
}

static void level_sample(sampled_field *field) {
  uint64_t const count = test_value_count(&field->shape);
  for (uint64_t i = 0; i < count; i++)
    if (is_in_sample(i)) test_set_value(field->shape.dtype, field->values, i, 3.0);
}

static void cover_land(sampled_field *field, uint64_t from) {
  uint64_t const count = test_value_count(&field->shape);
  for (uint64_t i = from; i < count; i += 97)
    test_set_value(field->shape.dtype, field->values, i, (double)1e20f);
}

/* A value at a point of the grid of spacing 8, which levels frames begin with. */
static void set_base_point(sampled_field *field, double value) {
  const uint64_t *const dims = field->shape.dims;
  uint64_t i = 0;
  for (uint64_t z = 8; z < dims[0] && i == 0; z += 8)
    for (uint64_t y = 16; y < dims[1] && i == 0; y += 8)
      for (uint64_t x = 24; x < dims[2] && i == 0; x += 8)
        if (!is_in_sample((z * dims[1] + y) * dims[2] + x)) i = (z * dims[1] + y) * dims[2] + x;
  test_set_value(field->shape.dtype, field->values, i, value);
}

/* Zeros and, in the sample, one value of magnitude 1, so X is 1.5; and values around X. */
static void set_around_x(sampled_field *field) {
  uint64_t const count = test_value_count(&field->shape);
  for (uint64_t i = 0; i < count; i++) test_set_value(field->shape.dtype, field->values, i, 0.0);
  set(field, 5000, true, -1.0);
  for (uint64_t i = 0; i + 4000 < count; i += 37)
    set(field, i, false, (i % 2 ? 1.0 : -1.0) * (1.45 + (double)(i % 101) * 0.006));
}

sampled_field sampled_field_make(szgpu_dtype dtype, int which) {
  sampled_field field = {
      .shape = test_shape(dtype, 3, 40, 50, 60, 0),
  };
  field.params = test_params(SZGPU_MODE_ABS, 0.05);
  field.params.layout = SZGPU_LAYOUT_TILE;
  if (which == 1) field.shape = test_shape(dtype, 1, SZG_RANGE_LEAST_SAMPLED, 0, 0, 0);
  if (which == 2) field.shape = test_shape(dtype, 1, SZG_RANGE_LEAST_SAMPLED - 1, 0, 0, 0);
  field.values = test_make_waves(&field.shape);
  switch (which) {
    case 0:
    case 1:
      field.what = "nothing strays";
      field.is_sampled = true;
      break;
    case 2:
      field.what = "too few values";
      break;
    case 3:
      field.what = "a value a little beyond the sample's";
      set(&field, 70000, false, 125.0);
      field.is_sampled = true;
      break;
    case 4:
      field.what = "a value far beyond the sample's";
      set(&field, 70000, false, -1e6);
      break;
    case 5:
      field.what = "a far value in the last frame of several";
      field.params.frame_rows = 16;
      set(&field, 110000, false, 1e6);
      break;
    case 6:
      field.what = "NaN that the sample misses";
      set(&field, 5000, false, (double)NAN);
      break;
    case 7:
      field.what = "NaN in the sample";
      set(&field, 5000, true, (double)NAN);
      break;
    case 8:
      field.what = "a known fill value";
      cover_land(&field, 11);
      break;
    case 9:
      field.what = "a known fill value that the sample misses";
      set(&field, 119000, false, (double)1e20f);
      break;
    case 10:
      field.what = "all but the sample is a thousand times as large";
      scale_all_but_sample(&field, 1000.0);
      break;
    case 11:
      field.what = "the sample is constant";
      level_sample(&field);
      break;
    case 12:
      field.what = "a value beyond the sample's that all lattices have";
      set(&field, 70000, false, 400.0);
      field.suits_tiles = true;
      break;
    case 13:
      field.what = "many such values, some negative";
      for (uint64_t i = 3000; i < 100000; i += 1999) set(&field, i, false, i % 2 ? 300.0 : -290.0);
      field.suits_tiles = true;
      break;
    case 14:
      field.what = "a far value at a point of the base";
      set_base_point(&field, 400.0);
      field.suits_tiles = true;
      break;
    case 15:
      field.what = "values around X, a bound of a ninth of it";
      set_around_x(&field);
      field.params.bound = 1.5 / 9;
      field.suits_tiles = true;
      break;
    case 16:
      field.what = "values around X, a bound just below it";
      set_around_x(&field);
      field.params.bound = 1.4999;
      break;
    case 17:
      field.what = "a far value at a point of a small base";
      field.shape.dims[1] = field.shape.dims[2] = 47;
      set_base_point(&field, 400.0);
      field.suits_tiles = true;
      break;
    case 18:
      field.what = "a bound that spans all values";
      field.params.bound = 1e4;
      break;
    default:
      field.what = "a bound below the values' spacing";
      field.params.bound = dtype == SZGPU_F32 ? 1e-8 : 1e-17;
      break;
  }
  return field;
}

double sampled_field_range(const sampled_field *field, bool of_sample, double fill) {
  uint64_t const count = test_value_count(&field->shape);
  uint64_t const sampled = count >> SZG_RANGE_SPAN_LOG2 << SZG_RANGE_SPAN_LOG2;
  double least = INFINITY, greatest = -INFINITY;
  for (uint64_t i = 0; i < count; i++) {
    double const value = test_value_at(field->shape.dtype, field->values, i);
    if (!isfinite(value) || value == fill || (of_sample && (i >= sampled || !is_in_sample(i))))
      continue;
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  }
  return greatest - least;
}
