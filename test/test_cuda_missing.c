/* test_cuda_missing.c - several fill values, found and named, and valid ranges on both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "archive_ways.h"
#include "cuda_support.h"
#include "missing_fields.h"

static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_BF16,
                                     SZGPU_I8,  SZGPU_I16, SZGPU_I32};

/* Some of all combinations of types, shapes, fills, modes and layouts. */
static void every_type_mode_and_number_of_fills(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {
      {SZGPU_F32, 1, {1}},          {SZGPU_F32, 1, {70001}},       {SZGPU_F32, 2, {257, 131}},
      {SZGPU_F32, 3, {61, 47, 67}}, {SZGPU_F32, 3, {35, 47, 132}}, {SZGPU_F32, 4, {2, 17, 9, 33}}};
  static const struct {
    szgpu_mode mode;
    double bound;
  } modes[] = {{SZGPU_MODE_ABS, 2},   {SZGPU_MODE_ABS, 1e-9},   {SZGPU_MODE_REL, 1e-3},
               {SZGPU_MODE_PSNR, 60}, {SZGPU_MODE_PWREL, 1e-3}, {SZGPU_MODE_PWREL, 1e-9}};
  uint64_t number = 0;
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
      for (uint32_t fill_count = 0; fill_count <= MISSING_FILLS; fill_count++) {
        szgpu_shape shape = shapes[s];
        shape.dtype = dtypes[t];
        uint8_t *which;
        void *const field = missing_make(&shape, fill_count, &which);
        for (int variant = 0; variant < 12; variant++, number++) {
          if (test_hash(number) % (cuda_is_quick() ? 47 : 3)) continue;
          size_t const m = test_hash(number + 1) % ARRAY_COUNT(modes);
          bool const is_log = modes[m].mode == SZGPU_MODE_PWREL;
          if (is_log && dtypes[t] != SZGPU_F32 && dtypes[t] != SZGPU_F64) continue;
          szgpu_params params = missing_params(modes[m].mode, modes[m].bound, fill_count);
          params.layout = variant % 4 == 3 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
          if (variant % 4 < 3) params.predictor = (szgpu_predictor)(variant % 3);
          params.frame_rows = variant % 5 == 1 ? 64 : 0;
          params.keep = test_hash(number + 2) % (SZGPU_KEEP_ALL + 1);
          if (test_hash(number + 3) % 3 == 0) params.has_fill = (int)(params.more_fill_count = 0);
          params.has_valid = !is_log && variant % 3 == 0;
          params.valid_least = -60;
          params.valid_greatest = 71;
          cuda_case const c = {params, shape, field};
          cuda_compare(&c);
        }
        free(which);
        free(field);
      }
  cuda_assert_no_complaints();
}

static void streams_make_the_same_archives(void **state) {
  (void)state;
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++) {
    if (cuda_is_quick() && t % 3) continue;
    szgpu_shape const shape = test_shape(dtypes[t], 2, 400, 300, 0, 0);
    uint8_t *which;
    void *const field = missing_make(&shape, 3, &which);
    szgpu_params params = missing_params(SZGPU_MODE_ABS, 2, 3);
    params.frame_rows = 128;
    params.keep = SZGPU_KEEP_ALL;
    assert_streams_make_the_same(cuda_cpu, cuda_gpus, 1, &params, &shape, field);
    free(which);
    free(field);
  }
}

static void regions_are_parts_of_the_whole(void **state) {
  (void)state;
  szgpu_region const box = {.first = {5, 3, 9}, .count = {31, 34, 51}};
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++) {
    szgpu_shape const shape = test_shape(dtypes[t], 3, 64, 40, 72, 0);
    uint8_t *which;
    void *const field = missing_make(&shape, 3, &which);
    szgpu_params const params = missing_params(SZGPU_MODE_ABS, 2, 3);
    test_archive const archive = test_compress(cuda_cpu, &params, &shape, field);
    assert_parts_are_of_the_whole(cuda_gpus[0], &archive, &shape, &box, false);
    free(archive.bytes);
    free(which);
    free(field);
  }
}

static void the_stated_workspace_suffices(void **state) {
  (void)state;
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++) {
    szgpu_shape const shape = test_shape(dtypes[t], 3, 64, 90, 100, 0);
    uint8_t *which;
    void *const field = missing_make(&shape, 4, &which);
    szgpu_params params = missing_params(SZGPU_MODE_ABS, 2, 4);
    params.has_valid = 1;
    params.valid_least = -60;
    params.valid_greatest = 71;
    cuda_assert_workspace_suffices(&params, &shape, field);
    free(which);
    free(field);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_mode_and_number_of_fills),
      cmocka_unit_test(streams_make_the_same_archives),
      cmocka_unit_test(regions_are_parts_of_the_whole),
      cmocka_unit_test(the_stated_workspace_suffices),
  };
  int const code = cuda_exit_code();
  return code ? code : cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
