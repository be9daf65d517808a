/* test_quantizer.c - the pointwise rule of the bound, in every binade.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/quant_core.h"

#include <float.h>
#include <stdlib.h>

#include "predict/lorenzo.h"
#include "quant/bound.h"
#include "support.h"

/* Quantizes and restores x. Returns whether the library would code it. */
static bool accepts(const szg_quantizer *k, double x, int64_t *q, double *restored) {
  int32_t narrow = 0;
  bool on_lattice, within;
  switch (k->arithmetic) {
    case SZG_ARITHMETIC_F32:
      on_lattice = szg_lattice_f32(k, (float)x, &narrow);
      *restored = (double)szg_restore_f32(k, narrow);
      within = szg_within_f32(k, (float)x, szg_restore_f32(k, narrow));
      break;
    case SZG_ARITHMETIC_F32_CLOSE:
      on_lattice = szg_lattice_f32_close(k, (float)x, &narrow);
      *restored = (double)szg_restore_f32_close(k, narrow);
      within = szg_within_f32_close(k, (float)x, szg_restore_f32_close(k, narrow));
      break;
    case SZG_ARITHMETIC_F64:
      on_lattice = szg_lattice_f64(k, x, &narrow);
      *restored = szg_restore_f64(k, narrow);
      within = szg_within_f64(k, x, *restored);
      break;
    default:
      on_lattice = szg_lattice_f64_wide(k, x, q);
      *restored = szg_restore_f64_wide(k, *q);
      return on_lattice && szg_within_f64(k, x, *restored);
  }
  *q = narrow;
  return on_lattice && within;
}

static szg_quantizer derive(szgpu_dtype dtype, const void *values, uint64_t count, double bound) {
  szg_threads threads = {.count = 1};
  szg_value_source const source = szg_value_source_cpu(&threads, dtype, values, count);
  szg_range range;
  szg_bound_plan plan;
  assert_int_equal(szg_range_take(&source, NULL, &range), SZGPU_OK);
  assert_int_equal(szg_bound_derive(&source, SZGPU_MODE_ABS, bound, &range, &plan), SZGPU_OK);
  return plan.quantizer;
}

static void halves_and_neighbours_by_hand(void **state) {
  (void)state;
  szg_quantizer const k = szg_quantizer_make(SZG_ARITHMETIC_F32, 0.5, 1.0, false, 0);
  static const struct {
    double x;
    int64_t q;
  } cases[] = {{0.0, 0}, {-0.0, 0}, {0.49, 0}, {0.5, 0}, {0.51, 1}, {1.5, 2}, {2.5, 2}, {-1.2, -1}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    int64_t q;
    double restored;
    assert_true(accepts(&k, cases[i].x, &q, &restored));
    assert_int_equal(q, cases[i].q);
    assert_true(restored == (double)cases[i].q);
  }
}

static void values_off_the_lattice_give_0_and_are_not_accepted(void **state) {
  (void)state;
  static const double off[] = {NAN, INFINITY, -INFINITY, 0x1p30, -0x1p30, 3e38, -3e38};
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++) {
    szg_quantizer const k = szg_quantizer_make(arithmetic, 0.5, 1.0, false, 0);
    double const scale = szg_is_wide(arithmetic) ? 0x1p32 : 1.0;
    for (size_t i = 0; i < ARRAY_COUNT(off); i++) {
      int64_t q = 7;
      double restored;
      assert_false(accepts(&k, off[i] * scale, &q, &restored));
      assert_int_equal(q, 0);
    }
    int64_t q;
    double restored;
    accepts(&k, (0x1p30 - 64.0) * scale, &q, &restored);
    assert_true((double)q == (0x1p30 - 64.0) * scale);
  }
}

/* Counts what a sweep over binades met, because a sweep that met nothing would pass. */
typedef struct sweep {
  uint64_t accepted, refused;
  uint64_t by_arithmetic[SZG_ARITHMETIC_COUNT];
} sweep;

/* Random values up to 2^(exponent + 1), some much smaller: every accepted value must be within the
 * bound in exact arithmetic, and all must be accepted if may_refuse is false. */
static void check_values(szgpu_dtype dtype, int exponent, double bound, bool may_refuse,
                         test_random *random, sweep *seen) {
  if (bound == 0.0) return;
  enum { COUNT = 48 };
  double values[COUNT]; /* of dtype */
  for (uint64_t i = 0; i < COUNT; i++) {
    int const down = i % 3 == 0 ? (int)test_random_below(random, 30) : 0;
    double x = ldexp(1.0 + test_random_unit(random), exponent - down);
    if (dtype == SZGPU_F32 && x > FLT_MAX) x = FLT_MAX;
    test_set_value(dtype, values, i, i % 2 ? -x : x);
  }
  szg_quantizer const k = derive(dtype, values, COUNT, bound);
  if (k.step == 0.0) return;
  assert_true(k.arithmetic != SZG_ARITHMETIC_F32 || k.step >= 0x1p-126);
  for (uint64_t i = 0; i < COUNT; i++) {
    double const x = test_value_at(dtype, values, i);
    int64_t q;
    double restored;
    bool const is_accepted = accepts(&k, x, &q, &restored);
    seen->by_arithmetic[k.arithmetic]++;
    seen->accepted += is_accepted;
    seen->refused += !is_accepted;
    if (is_accepted && !(fabsl((long double)x - (long double)restored) <= bound))
      fail_msg("%a is restored as %a, the bound is %a", x, restored, bound);
    if (!is_accepted && !may_refuse)
      fail_msg("%a is refused; restored as %a, the bound is %a", x, restored, bound);
    if (fabs(x) > bound * 0x1p23) continue; /* beyond X only the check holds */
    if (k.arithmetic == SZG_ARITHMETIC_F32) assert_in_range(llabs(q), 0, (1 << 17) - 1);
    if (k.arithmetic == SZG_ARITHMETIC_F32_CLOSE) /* 2^23 / (1 - 2^-10): step > 2 u X (1 - 2^-10) */
      assert_in_range(llabs(q), 0, (1 << 23) + (1 << 13) + 9);
  }
}

static double random_bound(test_random *random, int exponent) {
  return ldexp(1.0 + test_random_unit(random), exponent);
}

static void every_f32_binade_keeps_the_bound(void **state) {
  (void)state;
  test_random random = test_random_begin();
  sweep seen = {0};
  for (int exponent = -149; exponent <= 127; exponent++)
    for (int down = -3; down <= 30; down++)
      for (int round = 0; round < 4; round++)
        check_values(SZGPU_F32, exponent, random_bound(&random, exponent - down), true, &random,
                     &seen);
  assert_true(seen.accepted > 100000 && seen.refused > 1000);
  assert_true(seen.by_arithmetic[SZG_ARITHMETIC_F32] > 10000);
  assert_true(seen.by_arithmetic[SZG_ARITHMETIC_F32_CLOSE] > 10000);
}

static void f64_binades_keep_the_bound(void **state) {
  (void)state;
  test_random random = test_random_begin();
  sweep seen = {0};
  for (int exponent = -1074; exponent <= 1022; exponent += abs(exponent) < 1000 ? 37 : 1)
    for (int down = -3; down <= 60; down++)
      check_values(SZGPU_F64, exponent, random_bound(&random, exponent - down), true, &random,
                   &seen);
  assert_true(seen.accepted > 100000 && seen.refused > 1000);
  assert_true(seen.by_arithmetic[SZG_ARITHMETIC_F64] > 10000);
  assert_true(seen.by_arithmetic[SZG_ARITHMETIC_F64_WIDE] > 10000);
}

/* The margin promises that no value in the normal range is kept exactly unless the bound is near
 * the spacing of the values: down to b = 2 u X for f32 and 8 u X for f64. */
static void with_the_margin_no_normal_value_is_refused(void **state) {
  (void)state;
  test_random random = test_random_begin();
  sweep seen = {0};
  for (int exponent = -90; exponent <= 126; exponent++)
    for (int down = -2; down <= 22; down++)
      for (int round = 0; round < 4; round++)
        check_values(SZGPU_F32, exponent, random_bound(&random, exponent - down), false, &random,
                     &seen);
  for (int exponent = -900; exponent <= 1000; exponent += 41)
    for (int down = -2; down <= 49; down++)
      for (int round = 0; round < 4; round++)
        check_values(SZGPU_F64, exponent, random_bound(&random, exponent - down), false, &random,
                     &seen);
  for (int i = 0; i < SZG_ARITHMETIC_COUNT; i++) assert_true(seen.by_arithmetic[i] > 10000);
}

/* Values halfway between two lattice points, which have the greatest error. */
static void midpoints_keep_the_bound(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 200000; round++) {
    int const exponent = (int)test_random_below(&random, 100) - 50;
    double const bound = random_bound(&random, exponent);
    float const most = (float)ldexp(bound, (int)test_random_below(&random, 22));
    float const extremes[] = {0.0f, most};
    szg_quantizer const k = derive(SZGPU_F32, extremes, 2, bound);
    double const steps = floor((double)most / k.step);
    double const place = floor(test_random_unit(&random) * steps) + 0.5;
    float x = (float)(place * k.step);
    if (round % 3 == 1) x = nextafterf(x, INFINITY);
    if (round % 3 == 2) x = nextafterf(x, -INFINITY);
    if (fabsf(x) > most) continue;
    int64_t q;
    double restored;
    assert_true(accepts(&k, x, &q, &restored));
    assert_true(fabsl((long double)x - (long double)restored) <= bound);
  }
}

/* Seen in another compressor: 6.6 % of the values out of bound, by up to 1.28 times, at an offset
 * of 1000 with bound 1e-4 of the range. */
static void data_far_from_zero_keep_the_bound(void **state) {
  (void)state;
  enum { COUNT = 4096 };
  static float values[COUNT];
  test_random random = test_random_begin();
  for (double offset = 1.0; offset < 1e6; offset *= 10.0)
    for (double relative = 1e-2; relative > 1e-8; relative *= 0.1) {
      for (size_t i = 0; i < COUNT; i++) values[i] = (float)(offset + test_random_unit(&random));
      szg_quantizer const k = derive(SZGPU_F32, values, COUNT, relative);
      for (size_t i = 0; i < COUNT; i++) {
        int64_t q;
        double restored;
        bool const is_accepted = accepts(&k, values[i], &q, &restored);
        assert_true(is_accepted || relative < 0x1p-23 * (offset + 1.0));
        if (is_accepted)
          assert_true(fabsl((long double)values[i] - (long double)restored) <= relative);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_and_neighbours_by_hand),
      cmocka_unit_test(values_off_the_lattice_give_0_and_are_not_accepted),
      cmocka_unit_test(every_f32_binade_keeps_the_bound),
      cmocka_unit_test(f64_binades_keep_the_bound),
      cmocka_unit_test(with_the_margin_no_normal_value_is_refused),
      cmocka_unit_test(midpoints_keep_the_bound),
      cmocka_unit_test(data_far_from_zero_keep_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
