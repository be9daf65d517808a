/* test_cuda_types.c - halves and integers with a bound: both backends write and restore the same.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_ways.h"
#include "cuda_support.h"
#include "typed_fields.h"

static szgpu_params params_of(szgpu_mode mode, double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = mode;
  params.bound = bound;
  return params;
}

static void every_type_field_and_bound(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {
      {SZGPU_F32, 1, {1}},          {SZGPU_F32, 1, {70001}},       {SZGPU_F32, 2, {257, 131}},
      {SZGPU_F32, 3, {61, 47, 67}}, {SZGPU_F32, 3, {1, 300, 417}}, {SZGPU_F32, 4, {2, 17, 9, 33}},
      {SZGPU_F32, 2, {131, 260}},   {SZGPU_F32, 3, {35, 47, 132}}};
  static const double bounds[] = {0.3, 1.0, 2.5, 40.0, 1e6, 1e-9};
  size_t number = 0;
  for (size_t t = 0; t < TYPED_DTYPES; t++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
      for (int kind = 0; kind < TYPED_FIELDS; kind++) {
        szgpu_shape shape = shapes[s];
        shape.dtype = typed_dtypes[t];
        void *const field = typed_make(kind, &shape);
        for (int variant = 0; variant < 12; variant++) {
          if (cuda_is_quick() && number++ % 17) continue;
          szgpu_params params = params_of(SZGPU_MODE_ABS, bounds[variant % 6]);
          if (variant >= 6) params.mode = variant % 2 ? SZGPU_MODE_PSNR : SZGPU_MODE_REL;
          if (variant >= 6) params.bound = variant % 2 ? 15.0 * (variant - 5) : 0.01 / variant;
          params.layout = variant % 4 == 3 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
          if (variant % 4 < 3) params.predictor = (szgpu_predictor)(variant % 3);
          params.frame_rows = variant % 5 == 1 ? 64 : 0;
          params.zstd_level = variant == 10 && kind % 2;
          cuda_case const c = {params, shape, field};
          cuda_compare(&c);
        }
        free(field);
      }
  cuda_assert_no_complaints();
}

static void fill_values_and_declared_magnitudes(void **state) {
  (void)state;
  for (size_t t = 0; t < TYPED_DTYPES; t++)
    for (int variant = 0; variant < 4; variant++) {
      if (cuda_is_quick() && (t + (size_t)variant) % 4) continue;
      szgpu_shape const shape = test_shape(typed_dtypes[t], 2, 300, 213, 0, 0);
      void *const field = typed_make(TYPED_SMOOTH, &shape);
      for (uint64_t i = 0; i < test_value_count(&shape); i++)
        if (test_hash(i) % 5 == 0) test_set_value(shape.dtype, field, i, 7.0);
      szgpu_params params = params_of(SZGPU_MODE_ABS, variant % 2 ? 0.4 : 2.0);
      params.has_fill = variant < 2;
      params.fill = 7.0;
      params.greatest = variant >= 2 ? 20.0 : 0.0;
      params.raw_outliers = variant == 3;
      params.predictor = SZGPU_PREDICTOR_LORENZO;
      cuda_case const c = {params, shape, field};
      cuda_compare(&c);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* The archive that a GPU writes frame by frame, from memory of the host. */
static void streams_make_the_same_archives(void **state) {
  (void)state;
  for (size_t t = 0; t < TYPED_DTYPES; t++) {
    if (cuda_is_quick() && t % 3) continue;
    szgpu_shape const shape = test_shape(typed_dtypes[t], 2, 400, 300, 0, 0);
    void *const field = typed_make(TYPED_SMOOTH, &shape);
    szgpu_params params = params_of(SZGPU_MODE_REL, 0.01);
    params.frame_rows = 128;
    assert_streams_make_the_same(cuda_cpu, cuda_gpus, 1, &params, &shape, field);
    free(field);
  }
}

static void the_stated_workspace_suffices(void **state) {
  (void)state;
  for (size_t t = 0; t < TYPED_DTYPES; t++) {
    szgpu_shape const shape = test_shape(typed_dtypes[t], 3, 64, 90, 100, 0);
    szgpu_params const params = params_of(SZGPU_MODE_REL, 1e-3);
    void *const field = typed_make(TYPED_SMOOTH, &shape);
    cuda_assert_workspace_suffices(&params, &shape, field);
    free(field);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_field_and_bound),
      cmocka_unit_test(fill_values_and_declared_magnitudes),
      cmocka_unit_test(streams_make_the_same_archives),
      cmocka_unit_test(the_stated_workspace_suffices),
  };
  int const code = cuda_exit_code();
  return code ? code : cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
