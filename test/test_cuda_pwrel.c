/* test_cuda_pwrel.c - bounds relative to each value: both backends write and restore the same.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_ways.h"
#include "cuda_support.h"
#include "signed_fields.h"

static szgpu_params params_of(double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_PWREL;
  params.bound = bound;
  return params;
}

static void every_field_and_bound(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {
      {SZGPU_F32, 1, {1}},          {SZGPU_F32, 1, {70001}},       {SZGPU_F32, 2, {257, 131}},
      {SZGPU_F32, 3, {61, 47, 67}}, {SZGPU_F32, 3, {1, 300, 417}}, {SZGPU_F32, 4, {2, 17, 9, 33}}};
  static const double bounds[] = {0.9, 0.05, 1e-3, 1e-4, 1e-6, 1e-9, 1e-14};
  size_t number = 0;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
      for (int kind = 0; kind < SIGNED_FIELDS; kind++) {
        szgpu_shape shape = shapes[s];
        shape.dtype = (szgpu_dtype)dtype;
        void *const field = signed_make(kind, &shape);
        for (int variant = 0; variant < 14; variant++) {
          if (cuda_is_quick() && number++ % 17) continue;
          szgpu_params params = params_of(bounds[variant % 7]);
          params.layout = variant % 4 == 3 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
          if (variant % 4 < 3) params.predictor = (szgpu_predictor)(variant % 3);
          params.frame_rows = variant % 5 == 1 ? 64 : 0;
          params.zstd_level = variant == 10;
          params.has_fill = variant == 12;
          params.fill = variant == 12 && kind % 2 ? -9999.0 : 0.0;
          cuda_case const c = {params, shape, field};
          cuda_compare(&c);
        }
        free(field);
      }
  cuda_assert_no_complaints();
}

/* The archive that a GPU writes frame by frame, from memory of the host. */
static void streams_make_the_same_archives(void **state) {
  (void)state;
  for (int kind = 0; kind < SIGNED_FIELDS; kind++) {
    if (cuda_is_quick() && kind % 3) continue;
    szgpu_shape const shape = test_shape(kind % 2 ? SZGPU_F64 : SZGPU_F32, 2, 400, 300, 0, 0);
    void *const field = signed_make(kind, &shape);
    szgpu_params params = params_of(1e-3);
    params.frame_rows = 128;
    assert_streams_make_the_same(cuda_cpu, cuda_gpus, 1, &params, &shape, field);
    free(field);
  }
}

static void the_stated_workspace_suffices(void **state) {
  (void)state;
  for (int close = 0; close <= 1; close++) {
    szgpu_shape const shape = test_shape(SZGPU_F32, 3, 64, 90, 100, 0);
    szgpu_params const params = params_of(close ? 1e-6 : 1e-3);
    void *const field = signed_make(SIGNED_WAVES, &shape);
    cuda_assert_workspace_suffices(&params, &shape, field);
    free(field);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_and_bound),
      cmocka_unit_test(streams_make_the_same_archives),
      cmocka_unit_test(the_stated_workspace_suffices),
  };
  int const code = cuda_exit_code();
  return code ? code : cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
