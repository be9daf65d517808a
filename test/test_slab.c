/* test_slab.c - slabs equal the whole field's rows, for every kind of frame.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ctxs.h"

/* Restores rows first .. first + count - 1 and compares them with the whole field's. The values
 * around the slab must not change. */
static void assert_slab(szgpu_ctx *reader, const test_archive *archive, const uint8_t *whole,
                        uint64_t first, uint64_t count, size_t row_bytes) {
  enum { GUARD = 16 };
  size_t const bytes = count * row_bytes;
  uint8_t *const slab = test_allocate(bytes + 2 * GUARD);
  memset(slab, 0xA5, bytes + 2 * GUARD);
  uint8_t guard[GUARD];
  memset(guard, 0xA5, GUARD);
  assert_int_equal(szgpu_decompress_slab(reader, archive->bytes, archive->byte_count, first, count,
                                         slab + GUARD, bytes),
                   SZGPU_OK);
  assert_memory_equal(slab + GUARD, whole + first * row_bytes, bytes);
  assert_memory_equal(slab, guard, GUARD);
  assert_memory_equal(slab + GUARD + bytes, guard, GUARD);
  free(slab);
}

/* Slabs at every seam of tiles and frames, and some random ones. */
static void assert_slabs(const szgpu_params *params, const szgpu_shape *shape, const void *field,
                         const char *kind, test_random *random) {
  uint64_t const rows = shape->dims[0];
  size_t const bytes = test_field_bytes(shape), row_bytes = bytes / rows;
  test_archive archive = test_compress(ctx, params, shape, field);
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_string_equal(frame.kind, kind);
  uint8_t *const whole = test_decompress(ctx, &archive, bytes);
  szgpu_info const info = test_inspect(&archive);
  test_assert_bound(shape, field, whole, &info);
  assert_slab(ctx, &archive, whole, 0, rows, row_bytes);
  assert_slab(ctx, &archive, whole, rows - 1, 1, row_bytes);
  uint64_t const quantum = info.frame_rows;
  for (uint64_t seam = quantum; seam < rows; seam += quantum) {
    assert_slab(ctx, &archive, whole, seam - 1, 2, row_bytes);
    assert_slab(ctx, &archive, whole, seam, 1, row_bytes);
    assert_slab(ctx, &archive, whole, 0, seam, row_bytes);
  }
  for (int i = 0; i < 20; i++) {
    uint64_t const first = test_random_below(random, rows);
    uint64_t const count = 1 + test_random_below(random, rows - first);
    assert_slab(i % 4 ? ctx : serial_ctx, &archive, whole, first, count, row_bytes);
  }
  free(whole);
  free(archive.bytes);
}

static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {20001}},        {SZGPU_F64, 1, {4097}},
                                     {SZGPU_F32, 2, {200, 33}},      {SZGPU_F64, 2, {129, 65}},
                                     {SZGPU_F32, 3, {50, 9, 33}},    {SZGPU_F64, 3, {33, 1, 70}},
                                     {SZGPU_F32, 3, {33, 70, 1}},    {SZGPU_F32, 4, {5, 17, 9, 9}},
                                     {SZGPU_F64, 4, {3, 1, 40, 50}}, {SZGPU_F32, 4, {40, 3, 1, 50}},
                                     {SZGPU_F32, 4, {1, 4, 5, 6}},   {SZGPU_F32, 3, {1, 100, 90}},
                                     {SZGPU_F32, 2, {1, 5000}},      {SZGPU_F32, 1, {1}}};

/* Frames of one quantum, of several, and of all rows. */
static const uint64_t frame_rows[] = {1, 33, 130, 5000, 0};

typedef void (*assert_of_kind)(const szgpu_params *, const szgpu_shape *, void *, test_random *);

static void for_all_shapes_and_frames(szgpu_predictor predictor, assert_of_kind claim) {
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (size_t f = 0; f < ARRAY_COUNT(frame_rows); f++) {
      if (test_value_count(&shapes[s]) == 1) continue; /* always constant */
      szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
      params.predictor = predictor;
      params.frame_rows = frame_rows[f];
      params.zstd_level = f == 1 ? 1 : 0;
      void *const field = test_make_waves(&shapes[s]);
      claim(&params, &shapes[s], field, &random);
      free(field);
    }
}

static const char *coded_kind(const szgpu_params *params) {
  return params->predictor == SZGPU_PREDICTOR_INTERPOLATION ? "levels" : test_coded_kind();
}

static void of_coded(const szgpu_params *params, const szgpu_shape *shape, void *field,
                     test_random *random) {
  if (test_value_count(shape) < 1000) return; /* raw is smaller there */
  assert_slabs(params, shape, field, coded_kind(params), random);
}

static void of_outliers(const szgpu_params *params, const szgpu_shape *shape, void *field,
                        test_random *random) {
  if (test_value_count(shape) < 1000) return;
  szgpu_params with_fill = *params;
  with_fill.has_fill = 1;
  with_fill.fill = -9999.0;
  test_ask_radius(&with_fill, 16); /* escapes */
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    if (test_hash(i) % 50 == 0) test_set_value(shape->dtype, field, i, -9999.0);
    if (test_hash(i) % 97 == 0) test_set_value(shape->dtype, field, i, (double)NAN);
    if (test_hash(i) % 201 == 0) test_set_value(shape->dtype, field, i, 300.0);
  }
  assert_slabs(&with_fill, shape, field, coded_kind(params), random);
}

static void of_raw(const szgpu_params *params, const szgpu_shape *shape, void *field,
                   test_random *random) {
  (void)field;
  szgpu_params tight = *params;
  tight.mode = SZGPU_MODE_ABS;
  tight.bound = shape->dtype == SZGPU_F32 ? 1e-40 : 1e-300;
  void *const bits = test_make_bits(shape);
  assert_slabs(&tight, shape, bits, "raw", random);
  free(bits);
}

static void of_constant(const szgpu_params *params, const szgpu_shape *shape, void *field,
                        test_random *random) {
  uint64_t const count = test_value_count(shape);
  for (uint64_t i = 0; i < count; i++) test_set_value(shape->dtype, field, i, -2.5);
  assert_slabs(params, shape, field, "constant", random);
  if (count < 1000) return;
  for (uint64_t i = 0; i < count; i++)
    if (test_hash(i) % 97 == 0)
      test_set_value(shape->dtype, field, i, i % 2 ? 1e20 : (double)INFINITY);
  assert_slabs(params, shape, field, "constant", random);
}

static void slabs_of_coded_frames(void **state) {
  (void)state;
  for_all_shapes_and_frames(SZGPU_PREDICTOR_LORENZO, of_coded);
}

static void slabs_of_frames_with_outliers(void **state) {
  (void)state;
  for_all_shapes_and_frames(SZGPU_PREDICTOR_LORENZO, of_outliers);
}

static void slabs_of_levels_frames(void **state) {
  (void)state;
  if (test_layout() == SZGPU_LAYOUT_LINEAR) return; /* which has none */
  for_all_shapes_and_frames(SZGPU_PREDICTOR_INTERPOLATION, of_coded);
  for_all_shapes_and_frames(SZGPU_PREDICTOR_INTERPOLATION, of_outliers);
}

static void slabs_of_raw_frames(void **state) {
  (void)state;
  for_all_shapes_and_frames(SZGPU_PREDICTOR_LORENZO, of_raw);
}

static void slabs_of_constant_frames(void **state) {
  (void)state;
  for_all_shapes_and_frames(SZGPU_PREDICTOR_LORENZO, of_constant);
}

static void the_one_row_of_a_first_dim_of_1_is_everything(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 1, 70, 90, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 64; /* of the axis of 70 */
  void *const field = test_make_waves(&shape);
  test_archive archive = test_compress(ctx, &params, &shape, field);
  size_t const bytes = test_field_bytes(&shape);
  uint8_t *const whole = test_decompress(ctx, &archive, bytes), *const slab = test_allocate(bytes);
  assert_int_equal(test_inspect(&archive).frame_count, 2);
  assert_slab(ctx, &archive, whole, 0, 1, bytes);
  assert_int_equal(szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, 0, 64, slab,
                                         (size_t)64 * 90 * 4),
                   SZGPU_BAD_ARGUMENT);
  free(slab);
  free(whole);
  free(field);
  free(archive.bytes);
}

static void slabs_are_the_same_by_several_threads(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 90, 64, 96, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 48;
  void *const field = test_make_waves(&shape);
  test_archive archive = test_compress(ctx, &params, &shape, field);
  size_t const bytes = test_field_bytes(&shape);
  uint8_t *const whole = test_decompress(ctx, &archive, bytes);
  szgpu_ctx *const threaded = test_make_ctx(3);
  for (int i = 0; i < 30; i++) {
    uint64_t const first = test_random_below(&random, 90);
    assert_slab(threaded, &archive, whole, first, 1 + test_random_below(&random, 90 - first),
                bytes / 90);
  }
  szgpu_destroy(threaded);
  free(whole);
  free(field);
  free(archive.bytes);
}

/* A slab needs only its own frames: damage elsewhere does not matter. */
static void damage_in_another_frame_does_not_matter(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 128, 50, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 64;
  void *const field = test_make_waves(&shape);
  test_archive archive = test_compress(ctx, &params, &shape, field);
  size_t const row_bytes = 50 * sizeof(float), bytes = test_field_bytes(&shape);
  uint8_t *const whole = test_decompress(ctx, &archive, bytes), *const slab = test_allocate(bytes);
  archive.bytes[archive.byte_count - 20] ^= 4;
  assert_slab(ctx, &archive, whole, 10, 54, row_bytes);
  assert_int_equal(
      szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, 64, 1, slab, row_bytes),
      SZGPU_BAD_CHECKSUM);
  free(slab);
  free(whole);
  free(field);
  free(archive.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slabs_of_coded_frames),
      cmocka_unit_test(slabs_of_frames_with_outliers),
      cmocka_unit_test(slabs_of_levels_frames),
      cmocka_unit_test(slabs_of_raw_frames),
      cmocka_unit_test(slabs_of_constant_frames),
      cmocka_unit_test(the_one_row_of_a_first_dim_of_1_is_everything),
      cmocka_unit_test(slabs_are_the_same_by_several_threads),
      cmocka_unit_test(damage_in_another_frame_does_not_matter),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
