/* test_cuda_joins.c - both backends join the same axes, and restore the same parts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"
#include "joined_fields.h"
#include "regions.h"

static void compare_parts(const test_archive *archive, const szgpu_info *info) {
  test_random random = test_random_begin();
  void *const device = cuda_copy_of(archive->bytes, archive->byte_count);
  for (int i = 0; i < 8; i++) {
    int const level = i % 2 && info->joined_axes ? i / 2 : 0;
    szgpu_shape shape;
    assert_int_equal(szgpu_level_shape(info, level, &shape), SZGPU_OK);
    szgpu_region const region = region_random(&random, &shape);
    size_t const bytes = region_bytes(&shape, &region);
    uint8_t *const expected = test_allocate(bytes);
    assert_int_equal(szgpu_decompress_region(cuda_cpu, archive->bytes, archive->byte_count, level,
                                             &region, expected, bytes),
                     SZGPU_OK);
    void *const found = cuda_allocate(bytes);
    assert_int_equal(szgpu_decompress_region(cuda_gpus[0], device, archive->byte_count, level,
                                             &region, found, bytes),
                     SZGPU_OK);
    void *const copy = cuda_host_copy_of(found, bytes);
    assert_memory_equal(copy, expected, bytes);
    free(copy);
    free(expected);
    cuda_release(found);
  }
  cuda_release(device);
}

/* From memory of the host and of the GPU. */
static void compare_field(const joined_field *field, szgpu_dtype dtype, szgpu_params params) {
  szgpu_shape shape = field->shape;
  shape.dtype = dtype;
  void *const values = joined_make(field, dtype);
  cuda_case const c = {params, shape, values};
  cuda_compare(&c);
  cuda_assert_workspace_suffices(&params, &shape, values);
  test_archive const expected = test_compress(cuda_cpu, &params, &shape, values);
  void *const there = cuda_copy_of(values, test_field_bytes(&shape));
  void *const archive = cuda_allocate(expected.byte_count);
  test_archive found = {NULL, 0};
  assert_int_equal(szgpu_compress(cuda_gpus[0], &params, &shape, there, archive,
                                  expected.byte_count, &found.byte_count),
                   SZGPU_OK);
  found.bytes = cuda_host_copy_of(archive, found.byte_count);
  const char *const difference = cuda_difference(&expected, &found);
  if (difference) cuda_complain(&c, "%s, on the device: %s", field->name, difference);
  szgpu_info const info = test_inspect(&expected);
  compare_parts(&expected, &info);
  free(found.bytes);
  free(expected.bytes);
  free(values);
  cuda_release(archive);
  cuda_release(there);
}

static void archives_and_parts_are_the_cpus(void **state) {
  (void)state;
  static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_I32};
  for (int i = 0; i < JOINED_FIELDS; i++) {
    szgpu_params absolute = SZGPU_PARAMS_DEFAULTS, relative = absolute, logarithms = absolute;
    absolute.mode = SZGPU_MODE_ABS;
    absolute.bound = i % 3 == 2 ? 20 : 0.01;
    relative.bound = 1e-4;
    logarithms.mode = SZGPU_MODE_PWREL;
    logarithms.bound = 1e-3;
    compare_field(&joined_fields[i], dtypes[i % 3], absolute);
    if (cuda_is_quick()) continue;
    compare_field(&joined_fields[i], SZGPU_F64, relative);
    compare_field(&joined_fields[i], SZGPU_F32, logarithms);
  }
  cuda_assert_no_complaints();
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {cmocka_unit_test(archives_and_parts_are_the_cpus)};
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
