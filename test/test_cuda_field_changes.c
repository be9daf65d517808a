/* test_cuda_field_changes.c - a field in host memory changes while the GPU compresses its copy.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "changing_field.h"
#include "cuda_support.h"

typedef struct mode_case {
  szgpu_mode mode;
  double bound;
  szgpu_layout layout;
} mode_case;

static const mode_case modes[] = {
    {SZGPU_MODE_REL, 1e-4, SZGPU_LAYOUT_TILE},     {SZGPU_MODE_ABS, 1e-2, SZGPU_LAYOUT_LINEAR},
    {SZGPU_MODE_ABS, 1e-30, SZGPU_LAYOUT_TILE},    {SZGPU_MODE_LOSSLESS, 0, SZGPU_LAYOUT_TILE},
    {SZGPU_MODE_LOSSLESS, 0, SZGPU_LAYOUT_LINEAR},
};

static szgpu_ctx *make_ctx(szgpu_progress progress, void *user) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.progress = progress;
  options.progress_user = user;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  return ctx;
}

static cuda_case case_of(const mode_case *mode, const szgpu_shape *shape, const void *field) {
  cuda_case c = {.params = SZGPU_PARAMS_DEFAULTS, .shape = *shape, .field = field};
  c.params.mode = mode->mode;
  c.params.bound = mode->bound;
  c.params.layout = mode->layout;
  c.params.frame_rows = 16;
  return c;
}

/* The first report comes when a frame is written, and all of the field was copied before that. */
static void what_changes_after_the_copy_does_not_matter(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 64, 40, 50, 0);
  for (size_t m = 0; m < ARRAY_COUNT(modes); m++) {
    changing_field field = changing_field_make(&shape, (field_change){CALM, BITS, ALL});
    szgpu_ctx *const ctx = make_ctx(changing_field_by_call, &field);
    cuda_case const changing = case_of(&modes[m], &shape, field.values);
    cuda_case const still = case_of(&modes[m], &shape, field.versions[0]);
    test_archive found, expected;
    changing_field_begin(&field);
    assert_int_equal(cuda_compress(ctx, &changing, &found), SZGPU_OK);
    assert_true(field.call_count > 1);
    assert_int_equal(cuda_compress(cuda_cpu, &still, &expected), SZGPU_OK);
    const char *const difference = cuda_difference(&expected, &found);
    if (difference) cuda_complain(&still, "%s", difference);
    free(found.bytes);
    free(expected.bytes);
    szgpu_destroy(ctx);
    changing_field_release(&field);
  }
  cuda_assert_no_complaints();
}

static void what_another_thread_writes_can_be_restored(void **state) {
  (void)state;
  enum { RUNS = 20 };
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 64, 40, 50, 0);
  for (size_t m = 0; m < ARRAY_COUNT(modes); m++) {
    changing_field field = changing_field_make(&shape, (field_change){CALM, BITS, MOST});
    szgpu_ctx *const ctx = make_ctx(NULL, NULL);
    cuda_case const changing = case_of(&modes[m], &shape, field.values);
    changing_field_begin(&field);
    changing_field_start_writer(&field);
    for (int run = 0; run < RUNS; run++) {
      test_archive archive;
      assert_int_equal(cuda_compress(ctx, &changing, &archive), SZGPU_OK);
      free(test_decompress(cuda_cpu, &archive, field.byte_count));
      free(archive.bytes);
    }
    changing_field_stop_writer(&field);
    szgpu_destroy(ctx);
    changing_field_release(&field);
  }
}

int main(void) {
  int const code = cuda_exit_code();
  if (code != 0) return code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_changes_after_the_copy_does_not_matter),
      cmocka_unit_test(what_another_thread_writes_can_be_restored),
  };
  return cmocka_run_group_tests_name("cuda_field_changes", tests, cuda_make_ctxs,
                                     cuda_destroy_ctxs);
}
