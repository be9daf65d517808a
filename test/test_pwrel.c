/* test_pwrel.c - bounds relative to each value through the public interface.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_ways.h"
#include "ctxs.h"
#include "signed_fields.h"

static szgpu_params params_of(double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_PWREL;
  params.bound = bound;
  return params;
}

/* ---- there and back ---- */

static szgpu_info there_and_back(const szgpu_params *params, const szgpu_shape *shape,
                                 const void *field) {
  szgpu_info const info = assert_comes_back(ctx, three_threads, params, shape, field);
  assert_int_equal(info.mode, SZGPU_MODE_PWREL);
  assert_true(info.bound == params->bound);
  if (info.format_version < 10) assert_in_range(info.format_version, 6, 7); /* see the helper */
  return info;
}

static szgpu_shape const shapes[] = {{SZGPU_F32, 1, {1}},
                                     {SZGPU_F32, 1, {9001}},
                                     {SZGPU_F32, 2, {130, 67}},
                                     {SZGPU_F32, 3, {37, 31, 35}},
                                     {SZGPU_F32, 4, {2, 17, 9, 33}}};

static void every_field_keeps_its_bound(void **state) {
  (void)state;
  static const double bounds[] = {0.9, 0.05, 1e-3, 1e-4, 1e-6, 1e-9, 1e-14};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
      for (int kind = 0; kind < SIGNED_FIELDS; kind++) {
        szgpu_shape shape = shapes[s];
        shape.dtype = (szgpu_dtype)dtype;
        void *const field = signed_make(kind, &shape);
        for (int variant = 0; variant < (int)ARRAY_COUNT(bounds); variant++) {
          szgpu_params params = params_of(bounds[variant]);
          params.layout = variant % 3 == 2 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
          if (variant % 3 < 2) params.predictor = (szgpu_predictor)(1 + variant % 2);
          params.zstd_level = variant == 3;
          params.frame_rows = variant % 2 ? 64 : 0;
          there_and_back(&params, &shape, field);
        }
        free(field);
      }
}

/* Smooth logarithms are smaller than what keeps all bits, by far, and than the field's noise. */
static void wide_ranges_are_compressed(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 300, 200, 0, 0);
    for (int kind = SIGNED_WAVES; kind <= SIGNED_RANGE; kind++) {
      void *const field = signed_make(kind, &shape);
      szgpu_params const params = params_of(0.05);
      test_archive const archive = test_compress(ctx, &params, &shape, field);
      assert_true(4 * archive.byte_count < test_field_bytes(&shape));
      free(archive.bytes);
      free(field);
    }
  }
}

/* A field that has no bits to gain costs headers. */
static void random_bits_take_little_more_than_the_field(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 300, 200, 0, 0);
    void *const field = test_make_bits(&shape);
    szgpu_params const params = params_of(1e-6);
    test_archive const archive = test_compress(ctx, &params, &shape, field);
    assert_true(archive.byte_count <= test_field_bytes(&shape) + 1024);
    free(archive.bytes);
    free(field);
  }
}

/* ---- fill values ---- */

static void fill_values_come_back(void **state) {
  (void)state;
  static const double fills[] = {-9999.0, 0.0, 1e20, NAN, 7.25};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t f = 0; f < ARRAY_COUNT(fills); f++)
      for (int kind = 0; kind < SIGNED_FIELDS; kind++) {
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 130, 90, 0, 0);
        void *const field = signed_make(kind, &shape);
        for (uint64_t i = 0; i < test_value_count(&shape); i++)
          if (test_hash(i) % 7 == 0) test_set_value(shape.dtype, field, i, fills[f]);
        szgpu_params params = params_of(1e-2);
        params.has_fill = 1;
        params.fill = fills[f];
        params.layout = f % 2 ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR;
        szgpu_info const info = there_and_back(&params, &shape, field);
        assert_true(info.has_fill);
        double const fill = dtype == SZGPU_F32 ? (double)(float)fills[f] : fills[f];
        assert_true(info.fill == fill || (isnan(info.fill) && isnan(fill)));
        free(field);
      }
}

/* One that is not named, and zeros beside it. */
static void known_fill_values_are_found(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 300, 200, 0, 0);
  void *const field = signed_make(SIGNED_FILL, &shape);
  szgpu_params const params = params_of(1e-2);
  szgpu_info const info = there_and_back(&params, &shape, field);
  assert_true(info.has_fill && info.fill_bits == 0x60AD78EC);
  test_archive const archive = test_compress(ctx, &params, &shape, field);
  assert_true(2 * archive.byte_count < test_field_bytes(&shape)); /* a zero takes no 4 bytes */
  free(archive.bytes);
  free(field);
}

/* ---- parts ---- */

static void regions_and_previews_are_parts_of_the_whole(void **state) {
  (void)state;
  for (int kind = 0; kind < SIGNED_FIELDS; kind++) {
    szgpu_shape const shape = test_shape(kind % 2 ? SZGPU_F64 : SZGPU_F32, 3, 70, 66, 80, 0);
    void *const field = signed_make(kind, &shape);
    szgpu_params params = params_of(kind % 3 ? 0.01 : 1e-5);
    params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
    params.frame_rows = 32;
    test_archive const archive = test_compress(ctx, &params, &shape, field);
    szgpu_region const box = {{5, 7, 9, 0}, {60, 31, 66, 0}};
    bool const has_preview = kind == SIGNED_WAVES || kind == SIGNED_RANGE || kind == SIGNED_FILL;
    assert_parts_are_of_the_whole(ctx, &archive, &shape, &box, has_preview);
    free(archive.bytes);
    free(field);
  }
}

static void streams_make_the_same_archives_and_fields(void **state) {
  (void)state;
  szgpu_ctx *const ctxs[] = {ctx, three_threads};
  for (int kind = 0; kind < SIGNED_FIELDS; kind++) {
    szgpu_shape const shape = test_shape(kind % 2 ? SZGPU_F32 : SZGPU_F64, 2, 400, 300, 0, 0);
    void *const field = signed_make(kind, &shape);
    szgpu_params params = params_of(1e-3);
    params.frame_rows = 128;
    assert_streams_make_the_same(ctx, ctxs, 2, &params, &shape, field);
    free(field);
  }
}

/* ---- what is refused ---- */

static szgpu_status try_to_compress(const szgpu_params *params, szgpu_dtype dtype) {
  szgpu_shape const shape = test_shape(dtype, 1, 4, 0, 0, 0);
  uint64_t const field[4] = {0};
  uint8_t archive[4096];
  size_t archive_bytes;
  return szgpu_compress(ctx, params, &shape, field, archive, sizeof archive, &archive_bytes);
}

static void bounds_from_1_on_and_other_types_are_refused(void **state) {
  (void)state;
  szgpu_params params = params_of(1.0);
  assert_int_equal(try_to_compress(&params, SZGPU_F32), SZGPU_BAD_BOUND);
  assert_non_null(strstr(szgpu_last_error(ctx), "not below 1"));
  params.bound = NAN;
  assert_int_equal(try_to_compress(&params, SZGPU_F32), SZGPU_BAD_BOUND);
  params.bound = 0.5;
  assert_int_equal(try_to_compress(&params, SZGPU_F32), SZGPU_OK);
  assert_int_equal(try_to_compress(&params, SZGPU_F16), SZGPU_BAD_ARGUMENT);
  assert_int_equal(try_to_compress(&params, SZGPU_I32), SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "f32 and f64 only"));
  params.greatest = 5.0;
  assert_int_equal(try_to_compress(&params, SZGPU_F32), SZGPU_BAD_ARGUMENT);
}

/* ---- memory ---- */

static void the_stated_workspace_suffices(void **state) {
  (void)state;
  for (int kind = 0; kind < SIGNED_FIELDS; kind++)
    for (int close = 0; close <= 1; close++) {
      szgpu_shape const shape = test_shape(SZGPU_F32, 2, 700, 500, 0, 0);
      szgpu_params const params = params_of(close ? 1e-6 : 1e-2);
      void *const field = signed_make(kind, &shape);
      assert_stated_workspace_suffices(&params, &shape, field);
      free(field);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_keeps_its_bound),
      cmocka_unit_test(wide_ranges_are_compressed),
      cmocka_unit_test(random_bits_take_little_more_than_the_field),
      cmocka_unit_test(fill_values_come_back),
      cmocka_unit_test(known_fill_values_are_found),
      cmocka_unit_test(regions_and_previews_are_parts_of_the_whole),
      cmocka_unit_test(streams_make_the_same_archives_and_fields),
      cmocka_unit_test(bounds_from_1_on_and_other_types_are_refused),
      cmocka_unit_test(the_stated_workspace_suffices),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
