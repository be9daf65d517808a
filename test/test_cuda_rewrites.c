/* test_cuda_rewrites.c - where restored values are kept, archives are the CPU's.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks go through the CPU, part after part; each state of them is a case for both backends.
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cuda_support.h"
#include "rewrites.h"

static void compare_states(rewrite_case *c, int most_steps) {
  for (int step = 0; step <= c->steps && step <= most_steps; step++) {
    if (step > 0) rewrite_part(c);
    cuda_case const state = {c->params, c->shape, c->chunk};
    cuda_compare(&state);
    test_archive archive;
    assert_int_equal(cuda_compress(cuda_cpu, &state, &archive), SZGPU_OK);
    free(c->chunk);
    c->chunk = test_decompress(cuda_cpu, &archive, test_field_bytes(&c->shape));
    free(archive.bytes);
  }
}

static void compare_cases(rewrite_parts parts, szgpu_predictor predictor) {
  test_random random = test_random_begin();
  int const count = cuda_is_quick() ? 4 : parts == REWRITE_CELLS ? 25 : 80;
  for (int i = 0; i < count; i++) {
    rewrite_case c = rewrite_make(&random, parts, predictor);
    compare_states(&c, 6);
    rewrite_free(&c);
  }
  cuda_assert_no_complaints();
}

static void frames_of_differences(void **state) {
  (void)state;
  compare_cases(REWRITE_ANY, SZGPU_PREDICTOR_LORENZO);
}

static void frames_that_may_interpolate(void **state) {
  (void)state;
  compare_cases(REWRITE_CELLS, SZGPU_PREDICTOR_AUTO);
  compare_cases(REWRITE_CELLS, SZGPU_PREDICTOR_INTERPOLATION);
}

/* Slices of a field in pinned memory come one after the other, and then it is looked at. */
static void a_field_that_is_copied_in_slices(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 90, 400, 330, 0);
  float *const field = test_make_waves(&shape);
  size_t const field_bytes = test_field_bytes(&shape);
  assert_int_equal(cudaHostRegister(field, field_bytes, cudaHostRegisterDefault), cudaSuccess);
  for (int step = 0; step < 2; step++) {
    szgpu_params params = test_params(SZGPU_MODE_ABS, 0.02);
    params.keep = SZGPU_KEEP_RESTORED;
    if (step == 1) { /* half of it restored */
      test_archive const archive = test_compress(cuda_cpu, &params, &shape, field);
      float *const restored = test_decompress(cuda_cpu, &archive, field_bytes);
      for (uint64_t i = test_value_count(&shape) / 2; i < test_value_count(&shape); i++)
        field[i] = restored[i];
      free(restored);
      free(archive.bytes);
    }
    cuda_case const c = {params, shape, field};
    cuda_compare(&c);
  }
  assert_int_equal(cudaHostUnregister(field), cudaSuccess);
  free(field);
  cuda_assert_no_complaints();
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_of_differences),
      cmocka_unit_test(frames_that_may_interpolate),
      cmocka_unit_test(a_field_that_is_copied_in_slices),
  };
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
