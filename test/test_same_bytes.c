/* test_same_bytes.c - archives depend on field and parameters only, not on the caller's state.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "support.h"

/* Fields that need every stage, with their parameters. */
typedef struct example {
  szgpu_params params;
  szgpu_shape shape;
  void *field;
} example;

enum { EXAMPLES = 8 };
enum { LONG_ROW = 40 << 16 };
static example examples[EXAMPLES];
static test_archive expected[EXAMPLES]; /* made by one thread in the default environment */

static example make_example(szgpu_shape shape, szgpu_mode mode, double bound) {
  return (example){test_params(mode, bound), shape, test_make_waves(&shape)};
}

static int make_examples(void **state) {
  (void)state;
  szgpu_shape const cube = test_shape(SZGPU_F32, 3, 70, 50, 90, 0);
  szgpu_shape const plane = test_shape(SZGPU_F64, 2, 300, 400, 0, 0);
  szgpu_shape const line = test_shape(SZGPU_F64, 1, 100001, 0, 0, 0);
  examples[0] = make_example(cube, SZGPU_MODE_REL, 1e-3);
  examples[1] = make_example(cube, SZGPU_MODE_PSNR, 90.0);
  examples[1].params.frame_rows = 16;
  examples[2] = make_example(plane, SZGPU_MODE_REL, 1e-11);
  examples[3] = make_example(line, SZGPU_MODE_ABS, 0.1);
  examples[4] = make_example(line, SZGPU_MODE_REL, 1e-5);  /* with denormals */
  examples[5] = make_example(cube, SZGPU_MODE_REL, 1e-4);  /* with special values */
  examples[6] = make_example(line, SZGPU_MODE_ABS, 1e-30); /* raw */
  /* So many hard and easy parts that threads overtake one another. */
  szgpu_shape const row = test_shape(SZGPU_F32, 1, LONG_ROW, 0, 0, 0);
  examples[7] = make_example(row, SZGPU_MODE_REL, 1e-4);
  double *const denormals = examples[4].field;
  float *const specials = examples[5].field, *const uneven = examples[7].field;
  for (uint64_t i = 0; i < LONG_ROW; i++)
    if (test_hash(i >> 16) % 3) uneven[i] = 0.25f;
  for (uint64_t i = 0; i < 100001; i++) denormals[i] = ldexp(denormals[i], -1060);
  for (uint64_t i = 0; i < 70 * 50 * 90; i++) {
    if (test_hash(i) % 11 == 0) specials[i] = 1e20f;
    if (test_hash(i) % 501 == 0) specials[i] = test_hash(i) % 2 ? NAN : INFINITY;
    if (test_hash(i) % 701 == 0) specials[i] = 1e-41f;
  }
  szgpu_ctx *const ctx = test_make_ctx(1);
  for (int i = 0; i < EXAMPLES; i++)
    expected[i] = test_compress(ctx, &examples[i].params, &examples[i].shape, examples[i].field);
  szgpu_destroy(ctx);
  return 0;
}

static int free_examples(void **state) {
  (void)state;
  for (int i = 0; i < EXAMPLES; i++) {
    free(examples[i].field);
    free(expected[i].bytes);
  }
  return 0;
}

/* Asserts nothing, because a second thread may run it. */
static bool gives_the_same_bytes(szgpu_ctx *ctx, int i) {
  const example *const e = &examples[i];
  size_t const field_bytes = test_field_bytes(&e->shape), capacity = expected[i].byte_count;
  uint8_t *const archive = malloc(capacity);
  uint8_t *const restored = malloc(field_bytes), *const again = malloc(field_bytes);
  size_t byte_count = 0;
  bool same = archive && restored && again;
  same = same && szgpu_compress(ctx, &e->params, &e->shape, e->field, archive, capacity,
                                &byte_count) == SZGPU_OK;
  same = same && byte_count == capacity && memcmp(archive, expected[i].bytes, capacity) == 0;
  same = same && szgpu_decompress(ctx, archive, capacity, restored, field_bytes) == SZGPU_OK;
  same = same && szgpu_decompress_slab(ctx, archive, capacity, 0, e->shape.dims[0], again,
                                       field_bytes) == SZGPU_OK;
  same = same && memcmp(restored, again, field_bytes) == 0;
  free(archive);
  free(restored);
  free(again);
  return same;
}

static void threads_do_not_show(void **state) {
  (void)state;
  static const int counts[] = {1, 2, 3, 7};
  for (size_t t = 0; t < ARRAY_COUNT(counts); t++) {
    szgpu_ctx *const ctx = test_make_ctx(counts[t]);
    for (int i = 0; i < EXAMPLES; i++) assert_true(gives_the_same_bytes(ctx, i));
    szgpu_destroy(ctx);
  }
}

static void zstd_sections_do_not_show_threads_either(void **state) {
  (void)state;
  szgpu_ctx *const one = test_make_ctx(1), *const five = test_make_ctx(5);
  for (int i = 0; i < EXAMPLES; i++) {
    szgpu_params params = examples[i].params;
    params.zstd_level = 1;
    test_archive a = test_compress(one, &params, &examples[i].shape, examples[i].field);
    test_archive b = test_compress(five, &params, &examples[i].shape, examples[i].field);
    assert_int_equal(a.byte_count, b.byte_count);
    assert_memory_equal(a.bytes, b.bytes, a.byte_count);
    free(a.bytes);
    free(b.bytes);
  }
  szgpu_destroy(one);
  szgpu_destroy(five);
}

/* In another library a second call with the same manager gave wrong results. */
static void calls_on_one_ctx_do_not_meet(void **state) {
  (void)state;
  szgpu_ctx *const ctx = test_make_ctx(1);
  for (int i = 0; i < EXAMPLES; i++) /* every pair, one after the other */
    for (int j = 0; j < i; j++) {
      assert_true(gives_the_same_bytes(ctx, i));
      assert_true(gives_the_same_bytes(ctx, j));
    }
  szgpu_destroy(ctx);
}

static void reserved_memory_does_not_show(void **state) {
  (void)state;
  szgpu_ctx *const ctx = test_make_ctx(2);
  szgpu_shape const large = test_shape(SZGPU_F64, 3, 100, 100, 100, 0);
  assert_int_equal(szgpu_reserve(ctx, &examples[0].params, &large), SZGPU_OK);
  for (int i = 0; i < EXAMPLES; i++) assert_true(gives_the_same_bytes(ctx, i));
  szgpu_destroy(ctx);
}

/* ---- the floating-point environment ---- */

static void rounding_modes_do_not_show_and_are_put_back(void **state) {
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  for (size_t m = 0; m < ARRAY_COUNT(modes); m++)
    for (int threads = 1; threads <= 3; threads += 2) {
      szgpu_ctx *const ctx = test_make_ctx(threads);
      for (int i = 0; i < EXAMPLES; i++) {
        fesetround(modes[m]);
        bool const same = gives_the_same_bytes(ctx, i);
        int const mode_after = fegetround();
        fesetround(FE_TONEAREST);
        assert_true(same);
        assert_int_equal(mode_after, modes[m]);
      }
      szgpu_destroy(ctx);
    }
}

static void raised_flags_are_put_back(void **state) {
  (void)state;
  szgpu_ctx *const ctx = test_make_ctx(2);
  feclearexcept(FE_ALL_EXCEPT);
  assert_true(gives_the_same_bytes(ctx, 5));
  assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
  feraiseexcept(FE_OVERFLOW);
  assert_true(gives_the_same_bytes(ctx, 5));
  assert_int_equal(fetestexcept(FE_ALL_EXCEPT) & FE_OVERFLOW, FE_OVERFLOW);
  feclearexcept(FE_ALL_EXCEPT);
  szgpu_destroy(ctx);
}

#if defined(__SSE2__)
enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040, CONTROL_BITS = 0xFFC0 };

static void flushing_to_zero_does_not_show_and_is_put_back(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    szgpu_ctx *const ctx = test_make_ctx(threads);
    unsigned const before = _mm_getcsr();
    for (int i = 0; i < EXAMPLES; i++) {
      unsigned const flushing = before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO;
      _mm_setcsr(flushing);
      bool const same = gives_the_same_bytes(ctx, i);
      unsigned const after = _mm_getcsr();
      _mm_setcsr(before);
      assert_true(same);
      assert_int_equal(after & CONTROL_BITS, flushing & CONTROL_BITS);
    }
    szgpu_destroy(ctx);
  }
}

/* A denormal bound is valid, even if the caller's own comparisons flush it to zero. */
static void a_denormal_bound_is_one_while_flushing(void **state) {
  (void)state;
  double const field[] = {0.0, 0x1p-1060, 0x1p-1061, 0x1p-1062};
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 4, 0, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 0x1p-1066);
  szgpu_ctx *const ctx = test_make_ctx(1);
  test_archive archive = test_compress(ctx, &params, &shape, field);
  uint8_t again[1024];
  double restored[4];
  size_t byte_count = 0;
  szgpu_info info = {.struct_bytes = sizeof info};
  unsigned const before = _mm_getcsr();
  _mm_setcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
  szgpu_status const compressed =
      szgpu_compress(ctx, &params, &shape, field, again, sizeof again, &byte_count);
  szgpu_status const inspected = szgpu_inspect(archive.bytes, archive.byte_count, &info);
  szgpu_status const decompressed =
      szgpu_decompress(ctx, archive.bytes, archive.byte_count, restored, sizeof restored);
  _mm_setcsr(before);
  assert_int_equal(compressed, SZGPU_OK);
  assert_int_equal(inspected, SZGPU_OK);
  assert_int_equal(decompressed, SZGPU_OK);
  assert_int_equal(byte_count, archive.byte_count);
  assert_memory_equal(again, archive.bytes, byte_count);
  free(archive.bytes);
  szgpu_destroy(ctx);
}

/* The library's operations spring no traps of callers that trap on invalid operations, overflow and
 * division by zero. */
static void traps_of_the_caller_are_not_sprung(void **state) {
  (void)state;
  enum { TRAP_MASKS = 0x0E80 & ~0x0800 }; /* invalid, division by zero, overflow */
  szgpu_ctx *const ctx = test_make_ctx(2);
  unsigned const before = _mm_getcsr();
  for (int i = 0; i < EXAMPLES; i++) {
    _mm_setcsr(before & ~(unsigned)TRAP_MASKS & ~0x3Fu);
    bool const same = gives_the_same_bytes(ctx, i);
    _mm_setcsr(before);
    assert_true(same);
  }
  szgpu_destroy(ctx);
}
#endif

/* ---- two ctxs at once ---- */

static void *work_on_examples(void *first) {
  szgpu_ctx *const ctx = test_make_ctx(2);
  uintptr_t failures = 0;
  for (int i = 0; i < 2 * EXAMPLES; i++)
    failures += !gives_the_same_bytes(ctx, (i + (int)(intptr_t)first) % EXAMPLES);
  szgpu_destroy(ctx);
  return (void *)failures;
}

static void two_ctxs_work_side_by_side(void **state) {
  (void)state;
  pthread_t threads[2];
  for (intptr_t t = 0; t < 2; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, work_on_examples, (void *)(3 * t)), 0);
  for (int t = 0; t < 2; t++) {
    void *failures;
    assert_int_equal(pthread_join(threads[t], &failures), 0);
    assert_null(failures);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_do_not_show),
    cmocka_unit_test(zstd_sections_do_not_show_threads_either),
    cmocka_unit_test(calls_on_one_ctx_do_not_meet),
    cmocka_unit_test(reserved_memory_does_not_show),
    cmocka_unit_test(rounding_modes_do_not_show_and_are_put_back),
    cmocka_unit_test(raised_flags_are_put_back),
#if defined(__SSE2__)
    cmocka_unit_test(flushing_to_zero_does_not_show_and_is_put_back),
    cmocka_unit_test(a_denormal_bound_is_one_while_flushing),
    cmocka_unit_test(traps_of_the_caller_are_not_sprung),
#endif
    cmocka_unit_test(two_ctxs_work_side_by_side),
  };
  return cmocka_run_group_tests(tests, make_examples, free_examples);
}
