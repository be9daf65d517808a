/* test_foresee.c - szgpu_foresee says what the archive will say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "ctxs.h"

static void assert_foreseen(const szgpu_params *params, const szgpu_shape *shape,
                            const void *field) {
  test_archive const archive = test_compress(ctx, params, shape, field);
  szgpu_info made = test_inspect(&archive), foreseen = {.struct_bytes = sizeof foreseen};
  assert_int_equal(szgpu_foresee(ctx, params, shape, field, &foreseen), SZGPU_OK);
  assert_int_equal(foreseen.archive_bytes, 0);
  assert_int_equal(foreseen.format_version, 0);
  assert_int_equal(foreseen.shape.ndim, made.shape.ndim);
  assert_int_equal(foreseen.mode, made.mode);
  assert_true(foreseen.bound == made.bound && foreseen.absolute_bound == made.absolute_bound);
  assert_true(foreseen.step == made.step && foreseen.value_range == made.value_range);
  assert_int_equal(foreseen.has_fill, made.has_fill);
  assert_int_equal(foreseen.fill_bits, made.fill_bits);
  assert_int_equal(foreseen.frame_count, made.frame_count);
  assert_int_equal(foreseen.field_bytes, made.field_bytes);
  free(archive.bytes);
}

static void it_is_what_the_archive_says(void **state) {
  (void)state;
  static const struct {
    szgpu_mode mode;
    double bound;
  } asked[] = {{SZGPU_MODE_REL, 1e-3},
               {SZGPU_MODE_ABS, 0.01},
               {SZGPU_MODE_PSNR, 60},
               {SZGPU_MODE_LOSSLESS, 1}};
  for (size_t s = 0; s < test_awkward_shape_count; s++) {
    const szgpu_shape *const shape = &test_awkward_shapes[s];
    void *const field = test_make_waves(shape);
    for (size_t a = 0; a < ARRAY_COUNT(asked); a++) {
      szgpu_params params = test_params(asked[a].mode, asked[a].bound);
      assert_foreseen(&params, shape, field);
      params.frame_rows = 16;
      assert_foreseen(&params, shape, field);
    }
    free(field);
  }
}

static void fill_values_are_found(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 300, 400, 0, 0);
  float *const field = test_make_waves(&shape);
  for (int i = 0; i < 9000; i++) field[i * 13] = 1e20f;
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  assert_foreseen(&params, &shape, field);
  for (int i = 0; i < 9000; i++) field[i * 13] = -9999;
  assert_foreseen(&params, &shape, field);
  params.has_fill = 1;
  params.fill = -9999;
  assert_foreseen(&params, &shape, field);
  free(field);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 3, 0, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  float const field[3] = {1, 2, 3};
  szgpu_info info = {.struct_bytes = offsetof(szgpu_info, has_gaps)}; /* less than 0.2.0's */
  assert_int_equal(szgpu_foresee(ctx, &params, &shape, field, &info), SZGPU_BAD_ARGUMENT);
  info.struct_bytes = sizeof info;
  assert_int_equal(szgpu_foresee(ctx, &params, &shape, NULL, &info), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_foresee(ctx, &params, &shape, (const char *)field + 1, &info),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_foresee(NULL, &params, &shape, field, &info), SZGPU_BAD_ARGUMENT);
  params.bound = 0;
  assert_int_equal(szgpu_foresee(ctx, &params, &shape, field, &info), SZGPU_BAD_BOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_what_the_archive_says),
                                     cmocka_unit_test(fill_values_are_found),
                                     cmocka_unit_test(bad_arguments_are_refused)};
  return cmocka_run_group_tests(tests, make_ctxs_of_two, destroy_ctxs);
}
