/* test_cuda_raster.c - steps that go by a grid of the values are the CPU's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"
#include "raster_fields.h"

/* The archive of a field on the device must be `expected`. */
static void compare_on_device(const cuda_case *c, const test_archive *expected) {
  void *const field = cuda_copy_of(c->field, test_field_bytes(&c->shape));
  void *const archive = cuda_allocate(expected->byte_count);
  test_archive found = {NULL, 0};
  szgpu_status const status = szgpu_compress(cuda_gpus[0], &c->params, &c->shape, field, archive,
                                             expected->byte_count, &found.byte_count);
  if (status != SZGPU_OK) {
    cuda_complain(c, "on the device: %s, %s", szgpu_status_text(status),
                  szgpu_last_error(cuda_gpus[0]));
  } else {
    found.bytes = cuda_host_copy_of(archive, found.byte_count);
    const char *const difference = cuda_difference(expected, &found);
    if (difference) cuda_complain(c, "on the device: %s", difference);
  }
  free(found.bytes);
  cuda_release(archive);
  cuda_release(field);
}

static void compare(const raster_field *field) {
  cuda_case const c = {field->params, field->shape, field->values};
  test_archive expected;
  if (c.params.predictor == SZGPU_PREDICTOR_INTERPOLATION)
    cuda_compare(&c); /* the tile layout's */
  else
    cuda_compare_layouts(&c);
  assert_int_equal(cuda_compress(cuda_cpu, &c, &expected), SZGPU_OK);
  compare_on_device(&c, &expected);
  free(expected.bytes);
}

static void archives_are_the_cpus(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < RASTER_FIELDS; which++) {
      raster_field field = raster_field_make((szgpu_dtype)dtype, which);
      for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        if (cuda_is_quick() && (which + p) % 3) continue;
        field.params.predictor = (szgpu_predictor)p;
        compare(&field);
      }
      field.params.predictor = SZGPU_PREDICTOR_AUTO;
      if (field.shape.dtype <= SZGPU_F64) {
        raster_field_disturb(&field);
        compare(&field);
      }
      free(field.values);
    }
  cuda_assert_no_complaints();
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {cmocka_unit_test(archives_are_the_cpus)};
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
