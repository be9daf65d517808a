/* test_rewrites.c - errors do not add up where parts of a chunk are written one after the other.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrites.h"

static szgpu_ctx *ctx;
static uint64_t case_count = 200;

/* Compresses the chunk and reads it again, after each part. */
static void assert_errors_do_not_add_up(rewrite_case *c) {
  size_t const field_bytes = test_field_bytes(&c->shape);
  for (int step = 0; step <= c->steps; step++) {
    if (step > 0) rewrite_part(c);
    test_archive const archive = test_compress(ctx, &c->params, &c->shape, c->chunk);
    free(c->chunk);
    c->chunk = test_decompress(ctx, &archive, field_bytes);
    free(archive.bytes);
    double const error = rewrite_error(c);
    if (!(error <= 1)) {
      printf("%s: %g bounds after %d parts\n", c->what, error, step);
      fail();
    }
  }
}

/* Cases of cells have many values. */
static void assert_of_cases(rewrite_parts parts, szgpu_predictor predictor) {
  test_random random = test_random_begin();
  uint64_t const count = parts == REWRITE_CELLS ? case_count / 5 : case_count;
  for (uint64_t i = 0; i < count; i++) {
    rewrite_case c = rewrite_make(&random, parts, predictor);
    assert_errors_do_not_add_up(&c);
    rewrite_free(&c);
  }
}

/* Before SZGPU_KEEP_RESTORED, errors grew to 2 bounds where the step followed the magnitude. */
static void frames_of_differences_keep_all_that_was_restored(void **state) {
  (void)state;
  assert_of_cases(REWRITE_ANY, SZGPU_PREDICTOR_LORENZO);
}

/* Before SZGPU_KEEP_RESTORED, 48 planes written one after the other ended 4.8 bounds away. */
static void auto_knows_what_was_restored(void **state) {
  (void)state;
  assert_of_cases(REWRITE_CELLS, SZGPU_PREDICTOR_AUTO);
}

static void interpolation_knows_what_was_restored(void **state) {
  (void)state;
  assert_of_cases(REWRITE_CELLS, SZGPU_PREDICTOR_INTERPOLATION);
}

/* Values so large that the spacing there is about the bound, beside others that change. If they had
 * lattice points, rounding would move them again and again. */
static void values_too_large_for_the_bound_stay(void **state) {
  (void)state;
  enum { SMALL = 2000, LARGE = 200, COUNT = SMALL + LARGE };
  test_random random = test_random_begin();
  double *const first = test_allocate(COUNT * sizeof *first);
  for (int i = 0; i < 600; i++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)(i % 2), 1, COUNT, 0, 0, 0);
    bool const is_f32 = shape.dtype == SZGPU_F32;
    double const reach = is_f32 ? 12 : 45, limit = is_f32 ? 23 : 52; /* in bits */
    double const above_one = (is_f32 ? 0.01 : 2e-5) * test_random_unit(&random);
    szgpu_params params = test_params(SZGPU_MODE_ABS, 1 + above_one);
    params.keep = SZGPU_KEEP_RESTORED;
    params.predictor = SZGPU_PREDICTOR_LORENZO;
    params.layout = i % 3 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
    void *values = test_allocate(test_field_bytes(&shape));
    for (int k = 0; k < COUNT; k++) /* ascending, so that they are coded */
      first[k] =
          exp2(limit + 0.02 + 1.5 * (double)(k - SMALL) / LARGE + 1e-4 * test_random_unit(&random));
    for (int k = 0; k < COUNT; k++) test_set_value(shape.dtype, values, (uint64_t)k, first[k]);
    for (int k = SMALL; k < COUNT; k++) first[k] = test_value_at(shape.dtype, values, (uint64_t)k);
    for (int round = 0; round < 12; round++) {
      for (int k = 0; k < SMALL; k++)
        test_set_value(shape.dtype, values, (uint64_t)k,
                       exp2(reach) + 20 * ((double)k / SMALL + test_random_unit(&random)));
      test_archive const archive = test_compress(ctx, &params, &shape, values);
      free(values);
      values = test_decompress(ctx, &archive, test_field_bytes(&shape));
      free(archive.bytes);
      for (int k = SMALL; k < COUNT; k++)
        assert_true(fabs(test_value_at(shape.dtype, values, (uint64_t)k) - first[k]) <=
                    params.bound);
    }
    free(values);
  }
  free(first);
}

/* ---- all values of one and two bytes ---- */

enum { MOST_VALUES = 1 << 16 };

typedef struct all_values {
  szgpu_dtype dtype;
  size_t width;
  int count;                      /* of those that are finite */
  uint16_t bits[MOST_VALUES];     /* the values, */
  uint16_t restored[MOST_VALUES]; /* what has become of them, */
  int order[MOST_VALUES];         /* and a part of them, in some order */
} all_values;

static double number_of(const all_values *all, uint16_t bits) {
  return test_value_of_bits(all->dtype, bits);
}

static void make_all_values(szgpu_dtype dtype, all_values *all) {
  all->dtype = dtype;
  all->width = test_dtype_bytes(dtype);
  all->count = 0;
  for (int bits = 0; bits < 1 << 8 * all->width; bits++)
    if (isfinite(number_of(all, (uint16_t)bits))) all->bits[all->count++] = (uint16_t)bits;
  memcpy(all->restored, all->bits, sizeof all->bits);
}

static const all_values *sorted; /* qsort takes no context */
static int compare_values(const void *a, const void *b) {
  double const x = number_of(sorted, sorted->restored[*(const int *)a]);
  double const y = number_of(sorted, sorted->restored[*(const int *)b]);
  return x < y ? -1 : x > y;
}

/* Takes four of five values up to a magnitude, sorted, so that they are coded, or as they come. */
static int choose_part(test_random *random, bool is_sorted, double magnitude, all_values *all) {
  int count = 0;
  for (int i = 0; i < all->count; i++)
    if (fabs(number_of(all, all->restored[i])) <= magnitude && test_random_below(random, 5))
      all->order[count++] = i;
  sorted = all;
  if (is_sorted) qsort(all->order, (size_t)count, sizeof *all->order, compare_values);
  return count;
}

static void compress_part(const szgpu_params *params, int count, all_values *all) {
  szgpu_shape const shape = test_shape(all->dtype, 1, (uint64_t)count, 0, 0, 0);
  uint8_t *const part = test_allocate((size_t)count * all->width);
  for (int i = 0; i < count; i++)
    memcpy(part + (size_t)i * all->width, &all->restored[all->order[i]], all->width);
  test_archive const archive = test_compress(ctx, params, &shape, part);
  uint8_t *const back = test_decompress(ctx, &archive, (size_t)count * all->width);
  for (int i = 0; i < count; i++)
    memcpy(&all->restored[all->order[i]], back + (size_t)i * all->width, all->width);
  free(back);
  free(archive.bytes);
  free(part);
}

static void narrow_values_move_once(void **state) {
  (void)state;
  static const szgpu_dtype dtypes[] = {SZGPU_U8,   SZGPU_I8,  SZGPU_F16,
                                       SZGPU_BF16, SZGPU_U16, SZGPU_I16};
  test_random random = test_random_begin();
  all_values *const all = test_allocate(sizeof *all);
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++)
    for (uint64_t i = 0; i < 5 + case_count / 50; i++) {
      bool const is_half = dtypes[t] == SZGPU_F16 || dtypes[t] == SZGPU_BF16;
      double bound = pow(
          10, is_half ? 11 * test_random_unit(&random) - 7 : 3 * test_random_unit(&random) - 0.3);
      if (i % 3 == 0) bound = exp2(rint(log2(bound))); /* where spacings are */
      szgpu_params params = test_params(SZGPU_MODE_ABS, bound);
      params.keep = SZGPU_KEEP_RESTORED;
      make_all_values(dtypes[t], all);
      for (int round = 0; round < 6; round++) {
        double const share = pow(10, -4 * test_random_unit(&random));
        double const magnitude =
            round % 3 ? share * number_of(all, all->bits[all->count / 2 - 1]) : INFINITY;
        int const count = choose_part(&random, round % 2, fabs(magnitude), all);
        if (count > 0) compress_part(&params, count, all);
      }
      for (int k = 0; k < all->count; k++) {
        double const x = number_of(all, all->bits[k]), r = number_of(all, all->restored[k]);
        if (!(fabs(x - r) <= bound)) printf("dtype %d, %g: %g, not %g\n", dtypes[t], bound, r, x);
        assert_true(fabs(x - r) <= bound);
      }
    }
  free(all);
}

/* Without the bit, the same cases do not hold: these claims can fail. */
static void without_the_bit_errors_add_up(void **state) {
  (void)state;
  test_random random = test_random_begin();
  double greatest = 0;
  for (int i = 0; i < 40; i++) {
    rewrite_case c = rewrite_make(&random, REWRITE_CELLS, SZGPU_PREDICTOR_AUTO);
    c.params.keep = 0;
    for (int step = 0; step <= c.steps; step++) {
      if (step > 0) rewrite_part(&c);
      test_archive const archive = test_compress(ctx, &c.params, &c.shape, c.chunk);
      free(c.chunk);
      c.chunk = test_decompress(ctx, &archive, test_field_bytes(&c.shape));
      free(archive.bytes);
      double const error = rewrite_error(&c);
      if (error > greatest) greatest = error;
    }
    rewrite_free(&c);
  }
  assert_true(greatest > 1.5);
}

int main(int argc, char **argv) {
  if (argc > 1) case_count = strtoull(argv[1], NULL, 0);
  ctx = test_make_ctx(1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_of_differences_keep_all_that_was_restored),
      cmocka_unit_test(auto_knows_what_was_restored),
      cmocka_unit_test(interpolation_knows_what_was_restored),
      cmocka_unit_test(values_too_large_for_the_bound_stay),
      cmocka_unit_test(narrow_values_move_once),
      cmocka_unit_test(without_the_bit_errors_add_up),
  };
  int const failures = cmocka_run_group_tests(tests, NULL, NULL);
  szgpu_destroy(ctx);
  return failures;
}
