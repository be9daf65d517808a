/* test_cuda_sampled_bound.c - absolute bounds from a sample are the CPU's, wherever the field is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"
#include "sampled_fields.h"

/* Where field and archive are. */
typedef enum place { PAGEABLE, PINNED, ON_DEVICE, PLACES } place;

static void *take(place where, size_t bytes) {
  void *memory = NULL;
  if (where == PAGEABLE) return test_allocate(bytes);
  if (where == ON_DEVICE) return cuda_allocate(bytes);
  assert_int_equal(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), cudaSuccess);
  return memory;
}

static void give_back(place where, void *memory) {
  if (where == PAGEABLE)
    free(memory);
  else if (where == ON_DEVICE)
    cuda_release(memory);
  else
    cudaFreeHost(memory);
}

/* The archive from there must be `expected`, and fit into as many bytes. */
static void compare_at(place where, const cuda_case *c, const test_archive *expected) {
  size_t const field_bytes = test_field_bytes(&c->shape);
  void *const field = take(where, field_bytes), *const archive = take(where, expected->byte_count);
  test_archive found = {test_allocate(expected->byte_count), 0};
  assert_int_equal(cudaMemcpy(field, c->field, field_bytes, cudaMemcpyDefault), cudaSuccess);
  szgpu_status const status = szgpu_compress(cuda_gpus[0], &c->params, &c->shape, field, archive,
                                             expected->byte_count, &found.byte_count);
  if (status != SZGPU_OK) {
    cuda_complain(c, "place %d: %s, %s", (int)where, szgpu_status_text(status),
                  szgpu_last_error(cuda_gpus[0]));
  } else {
    assert_int_equal(cudaMemcpy(found.bytes, archive, found.byte_count, cudaMemcpyDefault),
                     cudaSuccess);
    const char *const difference = cuda_difference(expected, &found);
    if (difference) cuda_complain(c, "place %d: %s", (int)where, difference);
  }
  give_back(where, field);
  give_back(where, archive);
  free(found.bytes);
}

static void archives_are_the_cpus(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < SAMPLED_FIELDS; which++) {
      sampled_field field = sampled_field_make((szgpu_dtype)dtype, which);
      for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        if (cuda_is_quick() && (which + p) % 3) continue;
        field.params.predictor = (szgpu_predictor)p;
        cuda_case const c = {field.params, field.shape, field.values};
        cuda_compare(&c);
        test_archive expected;
        assert_int_equal(cuda_compress(cuda_cpu, &c, &expected), SZGPU_OK);
        for (int where = 0; where < PLACES; where++) compare_at((place)where, &c, &expected);
        free(expected.bytes);
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
