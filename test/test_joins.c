/* test_joins.c - fields of four axes and of thin ones: which are joined, and that nobody notices.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "archive_verdict.h"
#include "archive_ways.h"
#include "joined_fields.h"
#include "regions.h"

static const struct {
  szgpu_mode mode;
  double bound;
} modes[] = {{SZGPU_MODE_ABS, 0.01}, {SZGPU_MODE_REL, 1e-4}, {SZGPU_MODE_PSNR, 80}};

/* ---- the choice ---- */

static void axes_are_joined_that_say_nothing(void **state) {
  (void)state;
  for (int i = 0; i < JOINED_FIELDS; i++)
    for (size_t m = 0; m < ARRAY_COUNT(modes); m++) {
      const joined_field *const field = &joined_fields[i];
      szgpu_params params = test_params(modes[m].mode, modes[m].bound);
      params.layout = SZGPU_LAYOUT_TILE;
      void *const values = joined_make(field, SZGPU_F32);
      test_archive const archive = test_compress(ctx, &params, &field->shape, values);
      szgpu_info const info = test_inspect(&archive);
      if (info.joined_axes != field->joined)
        fail_msg("%s, mode %d: %u", field->name, (int)params.mode, info.joined_axes);
      params.predictor = SZGPU_PREDICTOR_LORENZO;
      test_archive const apart = test_compress(ctx, &params, &field->shape, values);
      assert_int_equal(test_inspect(&apart).joined_axes, 0);
      if (field->joined && archive.byte_count > apart.byte_count / 10 * 9)
        fail_msg("%s: %zu bytes, %zu apart", field->name, archive.byte_count, apart.byte_count);
      free(apart.bytes);
      free(archive.bytes);
      free(values);
    }
}

static void others_are_never_joined(void **state) {
  (void)state;
  const joined_field *const field = &joined_fields[0];
  void *const values = joined_make(field, SZGPU_F32);
  szgpu_params const plain = test_params(SZGPU_MODE_ABS, 0.01);
  szgpu_params linear = plain, lossless = plain, declared = plain, framed = plain;
  linear.layout = SZGPU_LAYOUT_LINEAR;
  lossless.mode = SZGPU_MODE_LOSSLESS;
  lossless.bound = 0;
  declared.greatest = 10;
  framed.frame_rows = field->shape.dims[0] / 2; /* more than one frame */
  const szgpu_params *const all[] = {&linear, &lossless, &declared, &framed};
  for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
    test_archive const archive = test_compress(ctx, all[i], &field->shape, values);
    assert_int_equal(test_inspect(&archive).joined_axes, 0);
    free(archive.bytes);
  }
  free(values);
}

/* ---- there and back ---- */

static void compare_regions(const test_archive *archive, const szgpu_info *info,
                            const uint8_t *restored) {
  test_random random = {archive->byte_count};
  for (int i = 0; i < 12; i++) {
    szgpu_region const region = region_random(&random, &info->shape);
    size_t const bytes = region_bytes(&info->shape, &region);
    uint8_t *const expected = region_slice(&info->shape, &region, restored);
    uint8_t *const found = test_allocate(bytes);
    assert_int_equal(
        szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0, &region, found, bytes),
        SZGPU_OK);
    assert_memory_equal(found, expected, bytes);
    free(found);
    free(expected);
  }
}

/* Every 2^level-th value along each axis but the first of four. */
static uint8_t *thin_out(const szgpu_shape *whole, const szgpu_shape *coarse, int level,
                         const uint8_t *values) {
  size_t const width = test_field_bytes(whole) / test_value_count(whole);
  uint64_t const count = test_value_count(coarse);
  uint8_t *const thinned = test_allocate(count * width);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t rest = i, from = 0, stride = 1;
    for (int axis = whole->ndim - 1; axis >= 0; axis--) {
      uint64_t const at = rest % coarse->dims[axis];
      from += (coarse->dims[axis] == whole->dims[axis] ? at : at << level) * stride;
      rest /= coarse->dims[axis];
      stride *= whole->dims[axis];
    }
    memcpy(thinned + i * width, values + from * width, width);
  }
  return thinned;
}

static void compare_previews(const test_archive *archive, const szgpu_info *info,
                             const uint8_t *restored) {
  for (int level = 1; level <= 3; level++) {
    szgpu_shape coarse;
    assert_int_equal(szgpu_level_shape(info, level, &coarse), SZGPU_OK);
    size_t const bytes = test_field_bytes(&coarse);
    uint8_t *const expected = thin_out(&info->shape, &coarse, level, restored);
    uint8_t *const found = test_allocate(bytes);
    assert_int_equal(
        szgpu_decompress_level(ctx, archive->bytes, archive->byte_count, level, found, bytes),
        SZGPU_OK);
    assert_memory_equal(found, expected, bytes);
    test_random random = {archive->byte_count};
    szgpu_region const region = region_random(&random, &coarse);
    size_t const part_bytes = region_bytes(&coarse, &region);
    uint8_t *const part = region_slice(&coarse, &region, expected);
    assert_int_equal(szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, level,
                                             &region, found, part_bytes),
                     SZGPU_OK);
    assert_memory_equal(found, part, part_bytes);
    free(part);
    free(found);
    free(expected);
  }
}

static void all_of_it_comes_back(const joined_field *field, szgpu_dtype dtype,
                                 const szgpu_params *params) {
  szgpu_shape shape = field->shape;
  shape.dtype = dtype;
  void *const values = joined_make(field, dtype);
  szgpu_ctx *const both[] = {ctx, three_threads};
  szgpu_info info = assert_comes_back(ctx, three_threads, params, &shape, values);
  assert_streams_make_the_same(ctx, both, 2, params, &shape, values);
  test_archive const archive = test_compress(ctx, params, &shape, values);
  uint8_t *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
  info = test_inspect(&archive);
  assert_int_equal(info.frame_rows, shape.dims[0]);
  assert_int_equal(info.frame_count, 1);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_int_equal(frame.row_count, shape.dims[0]);
  compare_regions(&archive, &info, restored);
  if (info.joined_axes) compare_previews(&archive, &info, restored);
  free(restored);
  free(archive.bytes);
  free(values);
}

static void values_and_their_parts_come_back(void **state) {
  (void)state;
  for (int i = 0; i < JOINED_FIELDS; i++)
    for (size_t m = 0; m < ARRAY_COUNT(modes); m++) {
      static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_I32};
      szgpu_params params = test_params(modes[m].mode, modes[m].bound);
      params.zstd_level = m == 1 ? 1 : 0;
      szgpu_dtype const dtype = dtypes[(size_t)(i + (int)m) % ARRAY_COUNT(dtypes)];
      if (dtype == SZGPU_I32 && params.mode == SZGPU_MODE_ABS) params.bound = 20;
      all_of_it_comes_back(&joined_fields[i], dtype, &params);
    }
}

static void logarithms_come_back(void **state) {
  (void)state;
  szgpu_params const params = test_params(SZGPU_MODE_PWREL, 1e-3);
  for (int i = 0; i < JOINED_FIELDS; i += 2)
    all_of_it_comes_back(&joined_fields[i], SZGPU_F32, &params);
}

/* Any dims, many of them thin or 1, with values that ask for one thing or another. */
static void random_shapes_come_back(void **state) {
  (void)state;
  enum { CASES = 150, LEAST = 1 << 13, MOST = 1 << 16 };
  test_random random = test_random_begin();
  int joined_count = 0;
  for (int i = 0; i < CASES; i++) {
    joined_field field = joined_fields[test_random_below(&random, JOINED_FIELDS)];
    do {
      field.shape.ndim = (int)(1 + test_random_below(&random, 4));
      for (int axis = 0; axis < field.shape.ndim; axis++)
        field.shape.dims[axis] = test_random_below(&random, 3)
                                     ? 1 + test_random_below(&random, 6)
                                     : 1 + test_random_below(&random, 9000);
    } while (test_value_count(&field.shape) < LEAST || test_value_count(&field.shape) > MOST);
    szgpu_dtype const dtype = i % 3 == 0 ? SZGPU_F64 : SZGPU_F32;
    szgpu_params const params = test_params(i % 2 ? SZGPU_MODE_REL : SZGPU_MODE_ABS, 1e-3);
    field.shape.dtype = dtype;
    void *const values = joined_make(&field, dtype);
    test_archive const archive = test_compress(ctx, &params, &field.shape, values);
    uint8_t *const restored = test_decompress(ctx, &archive, test_field_bytes(&field.shape));
    szgpu_info const info = test_inspect(&archive);
    test_assert_bound(&field.shape, values, restored, &info);
    joined_count += info.joined_axes != 0;
    compare_regions(&archive, &info, restored);
    if (info.joined_axes) compare_previews(&archive, &info, restored);
    free(restored);
    free(archive.bytes);
    free(values);
  }
  print_message("           %d of %d with joined axes\n", joined_count, (int)CASES);
  assert_true(joined_count > CASES / 10);
}

/* Fill values take no part in the choice, and stay what they are. */
static void fill_values_stay(void **state) {
  (void)state;
  const joined_field *const field = &joined_fields[0];
  float *const values = joined_make(field, SZGPU_F32);
  uint64_t const count = test_value_count(&field->shape);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.has_fill = 1;
  params.fill = 1e20f;
  for (uint64_t i = 0; i < count; i++)
    if (i % (48 * 40) < 48 * 10) values[i] = 1e20f;
  test_archive const archive = test_compress(ctx, &params, &field->shape, values);
  assert_int_equal(test_inspect(&archive).joined_axes, field->joined);
  float *const restored = test_decompress(ctx, &archive, count * sizeof *values);
  for (uint64_t i = 0; i < count; i++) assert_int_equal(values[i] == 1e20f, restored[i] == 1e20f);
  free(restored);
  free(archive.bytes);
  free(values);
}

/* ---- archives that contradict themselves ---- */

static test_archive make_joined(int number) {
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.01);
  params.layout = SZGPU_LAYOUT_TILE;
  void *const values = joined_make(&joined_fields[number], SZGPU_F32);
  test_archive const archive = archive_compress(ctx, &params, &joined_fields[number].shape, values);
  free(values);
  return archive;
}

static void refuses_joined_axes_that_cannot_be(void **state) {
  (void)state;
  enum { VERSION = 8, FLAGS = 12, MODE = 18, LAYOUT = 19, JOINED = 32, NDIM = 17, FRAME_ROWS = 96 };
  expect("as it was", make_joined(0), SZGPU_OK);
  static const struct {
    const char *what;
    size_t offset;
    unsigned width;
    uint64_t value;
  } edits[] = {{"none joined in this version", FLAGS, 4, 0},
               {"other axes joined, of other rows", FLAGS, 4, 1 * JOINED},
               {"flags beyond the joined axes", FLAGS, 4, 6 * JOINED | 0x100},
               {"an older version", VERSION, 4, 10},
               {"the linear layout", LAYOUT, 1, 0},
               {"several frames", FRAME_ROWS, 8, 16}};
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    test_archive archive = make_joined(0);
    archive_store(&archive, edits[i].offset, edits[i].width, edits[i].value);
    expect(edits[i].what, archive, SZGPU_BAD_DATA);
  }
  test_archive archive = make_joined(3);
  archive_store(&archive, NDIM, 1, 3);
  expect("an axis beyond the last", archive, SZGPU_BAD_DATA);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axes_are_joined_that_say_nothing),
      cmocka_unit_test(others_are_never_joined),
      cmocka_unit_test(values_and_their_parts_come_back),
      cmocka_unit_test(logarithms_come_back),
      cmocka_unit_test(random_shapes_come_back),
      cmocka_unit_test(fill_values_stay),
      cmocka_unit_test(refuses_joined_axes_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
