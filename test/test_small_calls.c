/* test_small_calls.c - a call does no work for values that a small field has not.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables for the counts of a large field took most of the time of a call with few values, because
 * all of them were cleared and summed. Time depends on the machine; the bytes that are cleared do
 * not.
 */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "szgpu.h"

void *__real_memset(void *memory, int byte, size_t bytes);
void *__wrap_memset(void *memory, int byte, size_t bytes);

static size_t cleared_bytes;

void *__wrap_memset(void *memory, int byte, size_t bytes) {
  cleared_bytes += bytes;
  return __real_memset(memory, byte, bytes);
}

static szgpu_dtype const types[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_BF16, SZGPU_I16};
static szgpu_shape const shapes[] = {{.ndim = 1, .dims = {64}},
                                     {.ndim = 1, .dims = {1000}},
                                     {.ndim = 2, .dims = {16, 16}},
                                     {.ndim = 3, .dims = {4, 4, 4}},
                                     {.ndim = 3, .dims = {8, 8, 8}}};

/* The bytes that a call clears whose ctx has its memory already. */
static size_t clears_of_call(szgpu_ctx *ctx, const szgpu_shape *shape) {
  void *const field = test_make_waves(shape);
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  size_t capacity, archive_bytes = 0;
  params.mode = SZGPU_MODE_ABS;
  params.bound = shape->dtype == SZGPU_I16 ? 2 : 1e-3;
  assert_int_equal(szgpu_sizes(ctx, &params, shape, NULL, &capacity), SZGPU_OK);
  void *const archive = test_allocate(capacity);
  for (int round = 0; round < 2; round++) {
    cleared_bytes = 0;
    assert_int_equal(szgpu_compress(ctx, &params, shape, field, archive, capacity, &archive_bytes),
                     SZGPU_OK);
  }
  free(archive);
  free(field);
  return cleared_bytes;
}

static void a_call_of_few_values_clears_little(void **state) {
  (void)state;
  enum { MOST_CLEARED = 1300000 }; /* 0.9 MB; it was up to 1.8 MB */
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  szgpu_ctx *ctx;
  options.threads = 1;
  options.backend = SZGPU_BACKEND_CPU;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  for (size_t t = 0; t < ARRAY_COUNT(types); t++)
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++) {
      szgpu_shape shape = shapes[s];
      shape.dtype = types[t];
      size_t const cleared = clears_of_call(ctx, &shape);
      if (cleared > MOST_CLEARED)
        fail_msg("type %d, shape %zu: a call cleared %zu bytes", (int)types[t], s, cleared);
    }
  szgpu_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_of_few_values_clears_little),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
