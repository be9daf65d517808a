/* test_cuda_random_fields.c - on random fields of adversarial distributions the GPU equals the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_cuda_random_fields [ROUNDS]: the cases of test_random_fields.c, which asserts that the CPU
 * keeps its promises; here the CPU is the oracle. SZGPU_TEST_SEED=<seed> and one round repeat the
 * round of that seed.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"
#include "random_fields.h"

static uint64_t round_count, most_values;

/* Random rows, restored by the default decoder, must be those that the CPU restores. */
static void compare_slab(const cuda_case *c, test_random *random) {
  uint64_t const rows = c->shape.dims[0], first = test_random_below(random, rows);
  uint64_t const count = 1 + test_random_below(random, rows - first);
  size_t const bytes = test_field_bytes(&c->shape) / rows * count;
  test_archive archive = test_compress(cuda_cpu, &c->params, &c->shape, c->field);
  void *const expected = test_allocate(bytes), *const found = test_allocate(bytes);
  memset(found, 0xA5, bytes);
  assert_int_equal(szgpu_decompress_slab(cuda_cpu, archive.bytes, archive.byte_count, first, count,
                                         expected, bytes),
                   SZGPU_OK);
  szgpu_status const status = szgpu_decompress_slab(cuda_gpus[0], archive.bytes, archive.byte_count,
                                                    first, count, found, bytes);
  if (status != SZGPU_OK)
    cuda_complain(c, "the GPU does not restore rows: %s; %s", szgpu_status_text(status),
                  szgpu_last_error(cuda_gpus[0]));
  else if (memcmp(expected, found, bytes) != 0)
    cuda_complain(c, "rows %llu to %llu are not as the CPU restores them",
                  (unsigned long long)first, (unsigned long long)(first + count - 1));
  free(expected);
  free(found);
  free(archive.bytes);
}

static void random_fields_are_as_the_cpu_has_them(void **state) {
  (void)state;
  uint64_t const first_seed = test_random_begin().state;
  for (uint64_t seed = first_seed; seed != first_seed + round_count; seed++) {
    test_random random = {seed};
    random_case r = random_case_make(&random, most_values);
    random_case_print(&r, seed);
    cuda_case const c = {r.params, r.shape, r.field};
    cuda_compare(&c);
    compare_slab(&c, &random);
    free(r.field);
  }
  cuda_assert_no_complaints();
}

int main(int argument_count, char **arguments) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  round_count = cuda_is_quick() ? 40 : 2000;
  most_values = cuda_is_quick() ? 20000 : 200000;
  if (argument_count > 1) round_count = strtoull(arguments[1], NULL, 0);
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_fields_are_as_the_cpu_has_them)};
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
