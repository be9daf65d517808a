/* test_types.c - bounds for halves and integers through the public interface.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "archive_ways.h"
#include "ctxs.h"
#include "typed_fields.h"

static szgpu_params params_of(szgpu_mode mode, double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = mode;
  params.bound = bound;
  return params;
}

/* ---- there and back ---- */

/* The archive is never much larger than the field. */
static szgpu_info there_and_back(const szgpu_params *params, const szgpu_shape *shape,
                                 const void *field) {
  szgpu_info const info = assert_comes_back(ctx, three_threads, params, shape, field);
  assert_int_equal(info.shape.dtype, shape->dtype);
  if (info.format_version < 10) assert_in_range(info.format_version, 6, 8); /* see the helper */
  assert_true(info.archive_bytes <= test_field_bytes(shape) + 160 + 24 * 16 * info.frame_count);
  return info;
}

static void every_type_and_field_keeps_its_bound(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {1}},
                                       {SZGPU_F32, 1, {9000}},
                                       {SZGPU_F32, 2, {130, 67}},
                                       {SZGPU_F32, 3, {37, 31, 35}},
                                       {SZGPU_F32, 4, {2, 17, 9, 33}}};
  static const double bounds[] = {0.3, 1.0, 2.5, 40.0, 1e6, 1e-9};
  for (size_t t = 0; t < TYPED_DTYPES; t++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
      for (int kind = 0; kind < TYPED_FIELDS; kind++) {
        szgpu_shape shape = shapes[s];
        shape.dtype = typed_dtypes[t];
        void *const field = typed_make(kind, &shape);
        for (int variant = 0; variant < 6; variant++) {
          szgpu_params params = params_of(SZGPU_MODE_ABS, bounds[variant]);
          params.layout = variant % 3 == 2 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
          if (variant % 3 < 2) params.predictor = (szgpu_predictor)(1 + variant % 2);
          params.zstd_level = variant == 3;
          params.frame_rows = variant == 1 ? 64 : 0;
          there_and_back(&params, &shape, field);
          params.mode = variant % 2 ? SZGPU_MODE_PSNR : SZGPU_MODE_REL;
          params.bound = variant % 2 ? 20.0 * variant : 0.02 / (1 + 10 * variant);
          there_and_back(&params, &shape, field);
        }
        free(field);
      }
}

/* With a bound below 1, integers come back bit for bit, as small as the noise allows. */
static void integers_under_a_small_bound_are_exact_and_smaller_than_lossless(void **state) {
  (void)state;
  szgpu_dtype const integers[] = {SZGPU_U8, SZGPU_I8, SZGPU_U16, SZGPU_I16, SZGPU_I32};
  for (size_t t = 0; t < ARRAY_COUNT(integers); t++) {
    szgpu_shape const shape = test_shape(integers[t], 2, 300, 200, 0, 0);
    void *const field = typed_make(TYPED_SMOOTH, &shape);
    szgpu_params params = params_of(SZGPU_MODE_ABS, 0.9);
    test_archive const exact = test_compress(ctx, &params, &shape, field);
    void *const restored = test_decompress(ctx, &exact, test_field_bytes(&shape));
    assert_memory_equal(restored, field, test_field_bytes(&shape));
    params.mode = SZGPU_MODE_LOSSLESS;
    test_archive const lossless = test_compress(ctx, &params, &shape, field);
    if (integers[t] != SZGPU_I32) assert_true(exact.byte_count < lossless.byte_count);
    free(restored);
    free(exact.bytes);
    free(lossless.bytes);
    free(field);
  }
}

/* Lossless archives of the types that are new state version 6, those of others what they did. */
static void lossless_archives_state_the_version_that_has_the_type(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 90, 50, 0, 0);
    szgpu_params params = params_of(SZGPU_MODE_LOSSLESS, 1.0);
    void *const field = test_make_bits(&shape);
    test_archive const archive = test_compress(ctx, &params, &shape, field);
    assert_string_equal(test_has_coded_planes(&archive) ? "coded" : "raw", "raw");
    assert_int_equal(archive_plain_version(&archive), dtype > SZGPU_FP8 ? 6 : 3);
    void *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
    assert_memory_equal(restored, field, test_field_bytes(&shape));
    free(restored);
    free(archive.bytes);
    free(field);
  }
}

static void fp8_has_no_bound(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_FP8, 1, 4, 0, 0, 0);
  szgpu_params const params = params_of(SZGPU_MODE_ABS, 1.0);
  uint8_t const field[4] = {0};
  uint8_t archive[4096];
  size_t archive_bytes;
  assert_int_equal(
      szgpu_compress(ctx, &params, &shape, field, archive, sizeof archive, &archive_bytes),
      SZGPU_BAD_ARGUMENT);
}

/* ---- fill values ---- */

static void fill_values_come_back_and_do_not_count(void **state) {
  (void)state;
  static const struct {
    szgpu_dtype dtype;
    double fill;
    uint64_t bits;
  } cases[] = {{SZGPU_I16, -32768, 0x8000},
               {SZGPU_U8, 255, 0xFF},
               {SZGPU_U16, 65535, 0xFFFF},
               {SZGPU_I8, -128, 0x80},
               {SZGPU_I32, -2147483647, 0x80000001},
               {SZGPU_F16, 65504, 0x7BFF},
               {SZGPU_BF16, 1e20, 0x60AD}};
  for (size_t c = 0; c < ARRAY_COUNT(cases); c++)
    for (int layout = SZGPU_LAYOUT_LINEAR; layout <= SZGPU_LAYOUT_TILE; layout++) {
      szgpu_shape const shape = test_shape(cases[c].dtype, 2, 130, 90, 0, 0);
      void *const field = typed_make(TYPED_SMOOTH, &shape);
      double least = INFINITY, greatest = -INFINITY;
      for (uint64_t i = 0; i < test_value_count(&shape); i++) {
        double const value = test_value_at(shape.dtype, field, i);
        if (test_hash(i) % 3 == 0) {
          test_set_value(shape.dtype, field, i, cases[c].fill);
        } else {
          least = fmin(least, value);
          greatest = fmax(greatest, value);
        }
      }
      szgpu_params params = params_of(SZGPU_MODE_REL, 1e-2);
      params.layout = (szgpu_layout)layout;
      params.has_fill = 1;
      params.fill = cases[c].fill;
      szgpu_info const info = there_and_back(&params, &shape, field);
      assert_true(info.has_fill && info.fill_bits == cases[c].bits);
      assert_true(info.fill == test_value_of_bits(shape.dtype, cases[c].bits));
      assert_true(info.value_range == greatest - least);
      free(field);
    }
}

/* Integers have one zero, whose sign a caller may give: it does not count for the range either. */
static void minus_zero_is_the_fill_value_0_of_integers(void **state) {
  (void)state;
  static const szgpu_dtype types[] = {SZGPU_I8, SZGPU_U8, SZGPU_I16, SZGPU_U16, SZGPU_I32};
  for (size_t t = 0; t < ARRAY_COUNT(types); t++) {
    szgpu_shape const shape = test_shape(types[t], 1, 5000, 0, 0, 0);
    void *const field = test_allocate(test_field_bytes(&shape));
    for (uint64_t i = 0; i < 5000; i++)
      test_set_value(shape.dtype, field, i, i % 7 == 0 ? 0.0 : 50.0 + (double)(i % 70));
    szgpu_params params = params_of(SZGPU_MODE_REL, 1e-1);
    params.has_fill = 1;
    params.fill = -0.0;
    szgpu_info const info = there_and_back(&params, &shape, field);
    assert_true(info.has_fill && info.fill_bits == 0);
    assert_true(info.value_range == 68.0 && info.least == 51.0 && info.greatest == 119.0);
    free(field);
  }
}

static void a_fill_value_that_the_type_does_not_have_is_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_I16, 1, 4, 0, 0, 0);
  szgpu_params params = params_of(SZGPU_MODE_ABS, 1.0);
  int16_t const field[4] = {1, 2, 3, 4};
  uint8_t archive[4096];
  size_t archive_bytes;
  params.has_fill = 1;
  params.fill = 1e20;
  assert_int_equal(
      szgpu_compress(ctx, &params, &shape, field, archive, sizeof archive, &archive_bytes),
      SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "1e+20"));
}

/* NaN is a fill value that is looked for. */
static void nans_of_halves_are_found_as_fill(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F16, 2, 64, 64, 0, 0);
  uint16_t *const field = typed_make(TYPED_SMOOTH, &shape);
  for (int i = 0; i < 64 * 64; i += 5) field[i] = 0x7E00;
  szgpu_params const params = params_of(SZGPU_MODE_ABS, 0.1);
  szgpu_info const info = there_and_back(&params, &shape, field);
  assert_true(info.has_fill && info.fill_bits == 0x7E00);
  free(field);
}

/* Bytes of eight channels in turn, each with one symbol of every pair: prediction does not pay, and
 * the frame keeps values of eight bytes, with eight coded planes. */
static void bytes_that_are_wider_values_keep_their_planes(void **state) {
  (void)state;
  enum { BYTES = 1 << 20, CHANNELS = 8 };
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, BYTES, 0, 0, 0);
  szgpu_params const params = params_of(SZGPU_MODE_ABS, 0.3);
  uint8_t *const field = test_allocate(BYTES);
  for (uint64_t i = 0; i < BYTES; i++) {
    uint64_t const pair = (test_hash(i) >> 40) % 128;
    field[i] = (uint8_t)(2 * pair + (test_hash(CHANNELS * pair + i % CHANNELS) >> 50 & 1));
  }
  there_and_back(&params, &shape, field);
  test_archive const archive = test_compress(ctx, &params, &shape, field);
  assert_in_range(archive.byte_count, BYTES / 2, BYTES / 32 * 31);
  free(archive.bytes);
  free(field);
}

/* ---- parts ---- */

static void regions_and_previews_are_parts_of_the_whole(void **state) {
  (void)state;
  for (size_t t = 0; t < TYPED_DTYPES; t++) {
    szgpu_shape const shape = test_shape(typed_dtypes[t], 3, 70, 66, 80, 0);
    void *const field = typed_make(TYPED_SMOOTH, &shape);
    szgpu_params params = params_of(SZGPU_MODE_REL, 0.01);
    params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
    params.frame_rows = 32;
    test_archive const archive = test_compress(ctx, &params, &shape, field);
    szgpu_region const box = {{5, 7, 9, 0}, {60, 31, 66, 0}};
    assert_parts_are_of_the_whole(ctx, &archive, &shape, &box, true);
    free(archive.bytes);
    free(field);
  }
}

static void streams_make_the_same_archives_and_fields(void **state) {
  (void)state;
  szgpu_ctx *const ctxs[] = {ctx, three_threads};
  for (size_t t = 0; t < TYPED_DTYPES; t++)
    for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_LOSSLESS; mode++) {
      szgpu_shape const shape = test_shape(typed_dtypes[t], 2, 400, 300, 0, 0);
      void *const field = typed_make(TYPED_SMOOTH, &shape);
      szgpu_params params = params_of((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 50.0 : 0.01);
      params.frame_rows = 128;
      assert_streams_make_the_same(ctx, ctxs, 2, &params, &shape, field);
      free(field);
    }
}

/* ---- declared magnitudes ---- */

static void values_beyond_the_declared_magnitude_keep_the_bound(void **state) {
  (void)state;
  for (size_t t = 0; t < TYPED_DTYPES; t++)
    for (int raw = 0; raw <= 1; raw++) {
      szgpu_shape const shape = test_shape(typed_dtypes[t], 2, 130, 90, 0, 0);
      szgpu_params params = params_of(SZGPU_MODE_ABS, 2.0);
      params.greatest = 16.0;
      params.raw_outliers = raw;
      params.predictor = SZGPU_PREDICTOR_LORENZO;
      for (int kind = 0; kind < TYPED_FIELDS; kind++) {
        void *const field = typed_make(kind, &shape);
        there_and_back(&params, &shape, field);
        free(field);
      }
    }
}

/* ---- memory ---- */

static void the_stated_workspace_suffices(void **state) {
  (void)state;
  for (size_t t = 0; t < TYPED_DTYPES; t++)
    for (int kind = 0; kind < TYPED_FIELDS; kind++) {
      szgpu_shape const shape = test_shape(typed_dtypes[t], 2, 700, 500, 0, 0);
      szgpu_params const params = params_of(SZGPU_MODE_ABS, kind == TYPED_BITS ? 1e-3 : 1.0);
      void *const field = typed_make(kind, &shape);
      assert_stated_workspace_suffices(&params, &shape, field);
      free(field);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_and_field_keeps_its_bound),
      cmocka_unit_test(integers_under_a_small_bound_are_exact_and_smaller_than_lossless),
      cmocka_unit_test(lossless_archives_state_the_version_that_has_the_type),
      cmocka_unit_test(fp8_has_no_bound),
      cmocka_unit_test(fill_values_come_back_and_do_not_count),
      cmocka_unit_test(minus_zero_is_the_fill_value_0_of_integers),
      cmocka_unit_test(a_fill_value_that_the_type_does_not_have_is_refused),
      cmocka_unit_test(nans_of_halves_are_found_as_fill),
      cmocka_unit_test(bytes_that_are_wider_values_keep_their_planes),
      cmocka_unit_test(regions_and_previews_are_parts_of_the_whole),
      cmocka_unit_test(streams_make_the_same_archives_and_fields),
      cmocka_unit_test(values_beyond_the_declared_magnitude_keep_the_bound),
      cmocka_unit_test(the_stated_workspace_suffices),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
