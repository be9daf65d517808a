/* test_mapping.c - values of narrow types to those that are coded, and the bound on the way back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values/mapping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static const szgpu_dtype types[] = {SZGPU_U8,  SZGPU_I8,   SZGPU_U16, SZGPU_I16,
                                    SZGPU_F16, SZGPU_BF16, SZGPU_I32};

static szg_mapping mapping_of(szgpu_dtype dtype) { return szg_mapping_of(SZGPU_MODE_ABS, dtype); }

/* ---- values ---- */

static void only_types_other_than_f32_and_f64_are_mapped(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++) {
    szg_mapping const lossless = szg_mapping_of(SZGPU_MODE_LOSSLESS, (szgpu_dtype)dtype);
    assert_false(szg_is_mapped(&lossless));
    assert_int_equal(lossless.inner, dtype);
    if (dtype == SZGPU_FP8) continue; /* it has no other mode */
    szg_mapping const bounded = mapping_of((szgpu_dtype)dtype);
    assert_int_equal(szg_is_mapped(&bounded), dtype > SZGPU_F64);
    assert_int_equal(bounded.inner,
                     dtype == SZGPU_F64 || dtype == SZGPU_I32 ? SZGPU_F64 : SZGPU_F32);
  }
}

static void every_value_of_two_bytes_is_widened_exactly_and_comes_back(void **state) {
  (void)state;
  for (size_t t = 0; t < ARRAY_COUNT(types); t++) {
    szg_mapping const mapping = mapping_of(types[t]);
    size_t const width = test_dtype_bytes(types[t]);
    for (uint32_t bits = 0; bits < 1u << 8 * (width < 2 ? width : 2); bits++) {
      uint32_t const outer = width == 4 ? bits * 65537u : bits; /* i32: a sample */
      uint64_t inner = 0;
      uint32_t back = 0;
      szg_values_to_inner(&mapping, &outer, 1, &inner);
      double const value = test_value_of_bits(types[t], outer);
      double const widened = test_value_of_bits(mapping.inner, inner);
      assert_true(isnan(value) ? isnan(widened) : widened == value);
      szg_values_to_outer(&mapping, &inner, 1, &back);
      assert_int_equal(back, outer); /* every payload of NaN, too */
    }
  }
}

/* The integers that the types have. */
static double least_of(szgpu_dtype dtype) {
  return dtype == SZGPU_I8    ? INT8_MIN
         : dtype == SZGPU_I16 ? INT16_MIN
         : dtype == SZGPU_I32 ? INT32_MIN
                              : 0;
}
static double greatest_of(szgpu_dtype dtype) {
  return dtype == SZGPU_I8    ? INT8_MAX
         : dtype == SZGPU_U8  ? UINT8_MAX
         : dtype == SZGPU_I16 ? INT16_MAX
         : dtype == SZGPU_U16 ? UINT16_MAX
                              : INT32_MAX;
}
static int is_half(szgpu_dtype dtype) { return dtype == SZGPU_F16 || dtype == SZGPU_BF16; }

static double nearest(szgpu_dtype dtype, double value) {
  if (is_half(dtype)) return test_half_of_bits(dtype, test_nearest_half(dtype, value));
  return fmin(fmax(rint(value), least_of(dtype)), greatest_of(dtype));
}

static double narrowed(const szg_mapping *mapping, double value) {
  uint64_t outer = 0;
  float const value_f32 = (float)value;
  szg_values_to_outer(mapping, mapping->inner == SZGPU_F32 ? (const void *)&value_f32 : &value, 1,
                      &outer);
  return test_value_of_bits(mapping->outer, outer);
}

static void assert_nearest(const szg_mapping *mapping, double value) {
  if (mapping->inner == SZGPU_F32) value = (float)value;
  assert_true(narrowed(mapping, value) == nearest(mapping->outer, value));
}

/* Midpoints of neighbours, and what is next to them. */
static void narrowing_takes_the_nearest_value_ties_to_even(void **state) {
  (void)state;
  for (size_t t = 0; t < ARRAY_COUNT(types); t++) {
    szg_mapping const mapping = mapping_of(types[t]);
    int const is_f32 = mapping.inner == SZGPU_F32;
    for (int bits = 0; bits < (is_half(types[t]) ? 0x7C00 : 70000); bits++) {
      double const low = is_half(types[t]) ? test_half_of_bits(types[t], (uint64_t)bits) : bits;
      double const high =
          is_half(types[t]) ? test_half_of_bits(types[t], (uint64_t)bits + 1) : bits + 1.0;
      if (!isfinite(high)) break;
      double const middle = 0.5 * (low + high);
      double const places[] = {
          middle, is_f32 ? nextafterf((float)middle, 0) : nextafter(middle, 0),
          is_f32 ? nextafterf((float)middle, INFINITY) : nextafter(middle, INFINITY),
          low + 0.25 * (high - low)};
      for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        assert_nearest(&mapping, places[i]);
        assert_nearest(&mapping, -places[i]);
      }
    }
  }
}

static void narrowing_stays_within_the_finite_values(void **state) {
  (void)state;
  static const double large[] = {3e38, 65535.9, 65520.0, 2147483647.5, 4e9, 128.0, 255.5, 32767.5};
  for (size_t t = 0; t < ARRAY_COUNT(types); t++) {
    szg_mapping const mapping = mapping_of(types[t]);
    for (size_t i = 0; i < ARRAY_COUNT(large); i++) {
      assert_nearest(&mapping, large[i]);
      assert_nearest(&mapping, -large[i]);
    }
    if (is_half(types[t])) continue;
    assert_true(narrowed(&mapping, INFINITY) == greatest_of(types[t]));
    assert_true(narrowed(&mapping, -INFINITY) == least_of(types[t]));
    assert_true(narrowed(&mapping, (double)NAN) == least_of(types[t])); /* damaged archives */
  }
  szg_mapping const bf16 = mapping_of(SZGPU_BF16);
  assert_true(narrowed(&bf16, (double)0x1.fffffep127f) == 0x1.fep127);
}

/* No archive of ours has such patterns, and none may become an infinity. */
static void a_nan_whose_payload_is_cut_stays_one(void **state) {
  (void)state;
  szg_mapping const f16 = mapping_of(SZGPU_F16), bf16 = mapping_of(SZGPU_BF16);
  assert_int_equal(szg_mapping_outer_bits(&f16, 0x7F800001), 0x7E00);
  assert_int_equal(szg_mapping_outer_bits(&f16, 0xFF801FFF), 0xFE00);
  assert_int_equal(szg_mapping_outer_bits(&bf16, 0x7F800001), 0x7FC0);
  assert_int_equal(szg_mapping_outer_bits(&bf16, 0xFF80FFFF), 0xFFC0);
}

static void single_values_are_known(void **state) {
  (void)state;
  szg_mapping const i16 = mapping_of(SZGPU_I16), u8 = mapping_of(SZGPU_U8);
  szg_mapping const i32 = mapping_of(SZGPU_I32), f16 = mapping_of(SZGPU_F16);
  assert_true(szg_mapping_has_value(&i16, -32768.0) && !szg_mapping_has_value(&i16, 32768.0));
  assert_true(!szg_mapping_has_value(&i16, 0.5) && !szg_mapping_has_value(&i16, (double)NAN));
  assert_true(szg_mapping_has_value(&u8, 255.0) && !szg_mapping_has_value(&u8, -1.0));
  assert_true(szg_mapping_has_value(&i32, -2147483648.0));
  assert_true(!szg_mapping_has_value(&i32, 2147483648.0));
  assert_true(szg_mapping_has_value(&f16, 65519.0) && !szg_mapping_has_value(&f16, 65520.0));
  assert_true(szg_mapping_has_value(&f16, 0.1) && szg_mapping_has_value(&f16, (double)NAN));
  assert_true(szg_mapping_has_value(&f16, (double)-INFINITY));
  szgpu_params const pwrel = {.mode = SZGPU_MODE_PWREL, .bound = 0.1};
  szg_mapping const f32s[] = {mapping_of(SZGPU_F32), szg_mapping_of_params(&pwrel, SZGPU_F32)};
  szg_mapping const f64 = mapping_of(SZGPU_F64);
  for (int i = 0; i < 2; i++) { /* 1e300 became an infinity */
    assert_true(szg_mapping_has_value(&f32s[i], 0x1.fffffefp127));
    assert_true(!szg_mapping_has_value(&f32s[i], 0x1.ffffffp127));
    assert_true(!szg_mapping_has_value(&f32s[i], -1e300));
    assert_true(szg_mapping_has_value(&f32s[i], (double)INFINITY));
    assert_true(szg_mapping_has_value(&f32s[i], (double)NAN));
  }
  assert_true(szg_mapping_has_value(&f64, 1e300));
  assert_int_equal(szg_mapping_inner_bits(&i16, -2.0), 0xC0000000);
  assert_int_equal(szg_mapping_inner_bits(&i32, 1.0), 0x3FF0000000000000);
  assert_int_equal(szg_mapping_outer_bits(&i16, 0xC0000000), 0xFFFE);
  assert_int_equal(szg_mapping_outer_bits(&f16, szg_mapping_inner_bits(&f16, 0.1)), 0x2E66);
  assert_int_equal(szg_mapping_outer_bits(&f16, szg_mapping_inner_bits(&f16, (double)NAN)), 0x7E00);
}

/* ---- the bound ---- */

/* Whether the value r, which an inner value within `inner` of x may be, is narrowed to within
 * `bound` of x. */
static int keeps_bound(const szg_mapping *mapping, double x, double r, double bound) {
  return fabsl((long double)narrowed(mapping, r) - x) <= bound;
}

/* The inner value farthest from x, in its direction, that is within the distance. */
static double farthest(const szg_mapping *mapping, double x, double distance, double toward) {
  int const is_f32 = mapping->inner == SZGPU_F32;
  double r = is_f32 ? (float)(x + copysign(distance, toward)) : x + copysign(distance, toward);
  while (fabsl((long double)r - x) > distance)
    r = is_f32 ? nextafterf((float)r, (float)x) : nextafter(r, x);
  return r;
}

/* Every value of the type against the bound: what is as far away as the inner bound allows is
 * narrowed to within the bound, and a little more than the inner bound would not do for all. */
static void check_bound(szgpu_dtype dtype, double bound, double magnitude) {
  szg_mapping const mapping = mapping_of(dtype);
  double const inner = szg_mapping_inner_bound(&mapping, bound, magnitude);
  double const more = inner * (1.0 + 0x1p-10);
  int breaks_with_more = 0;
  assert_true(inner > 0.0 && isfinite(inner));
  size_t const width = test_dtype_bytes(dtype);
  for (uint32_t bits = 0; bits < 1u << 8 * (width < 2 ? width : 2); bits++) {
    double const x = test_value_of_bits(dtype, width == 4 ? bits * 65537u : bits);
    if (!(fabs(x) <= magnitude) || isinf(x)) continue;
    for (int sign = -1; sign <= 1; sign += 2) {
      double const r = farthest(&mapping, x, inner, sign);
      if (!keeps_bound(&mapping, x, r, bound))
        fail_msg("type %d, bound %a: %a may become %a, which is narrowed to %a", (int)dtype, bound,
                 x, r, narrowed(&mapping, r));
      breaks_with_more |= !keeps_bound(&mapping, x, farthest(&mapping, x, more, sign), bound);
    }
  }
  int const may_be_tight = bound <= 100.0 && dtype != SZGPU_I32 && magnitude >= 4.0 * bound;
  if (may_be_tight && inner > 0x1p-20 && !breaks_with_more)
    fail_msg("type %d, bound %a: an inner bound of more than %a would do", (int)dtype, bound,
             inner);
}

static void check_bounds(szgpu_dtype dtype, double magnitude) {
  static const double parts[] = {1.0, 0.5, 1.5, 0.49999, 0.50001, 0.99999, 1.00001, 1.4999, 1.75};
  for (int exponent = -26; exponent <= 18; exponent += is_half(dtype) ? 4 : 11)
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
      check_bound(dtype, ldexp(parts[i], exponent), magnitude);
}

static void every_value_keeps_many_bounds(void **state) {
  (void)state;
  for (size_t t = 0; t < ARRAY_COUNT(types); t++) {
    check_bounds(types[t], 1e300);
    check_bound(types[t], 0.0, 1e300);
    check_bound(types[t], 1e300, 1e300);
    check_bound(types[t], 4e9, 1e300);
    if (is_half(types[t])) check_bounds(types[t], 1.0);
    if (is_half(types[t])) check_bounds(types[t], test_half_of_bits(types[t], 0x0123));
  }
}

/* Integers: what rounds to within the whole number below the bound. */
static void the_inner_bound_of_integers_is_half_more_than_the_whole_number_below(void **state) {
  (void)state;
  szg_mapping const u16 = mapping_of(SZGPU_U16);
  assert_true(szg_mapping_inner_bound(&u16, 0.3, 100) == nextafter(0.5, 0));
  assert_true(szg_mapping_inner_bound(&u16, 0.0, 100) == nextafter(0.5, 0));
  assert_true(szg_mapping_inner_bound(&u16, 1.0, 100) == nextafter(1.5, 0));
  assert_true(szg_mapping_inner_bound(&u16, 2.9, 100) == nextafter(2.5, 0));
}

/* By hand: the halves below 2 are 2^-10 apart, those from 2 on 2^-9. */
static void the_inner_bound_of_halves_heeds_the_edges_of_binades(void **state) {
  (void)state;
  szg_mapping const f16 = mapping_of(SZGPU_F16);
  double const v = 0x1p-10;
  /* From 2 - v up by two to 2 + v, a tie, which rounding takes to 2: more would reach 2 + 2 v. */
  double const inner = szg_mapping_inner_bound(&f16, 2.3 * v, 3.0);
  assert_true(inner < 2.0 * v && inner > 1.9999 * v);
  /* Below the edge there is none, but 1 - v / 2 is as close to the edge at 1. */
  assert_true(szg_mapping_inner_bound(&f16, 0.1 * v, 0.0) < 0.1 * v + 0x1p-24);
}

/* Of finite halves in their order; 0 is 0. */
static double half_of_number(szgpu_dtype dtype, int number) {
  double const value = test_half_of_bits(dtype, (uint16_t)abs(number));
  return number < 0 ? -value : value;
}

/* Whether greater - less <= bound, exactly: two-sum gives what rounding left. */
static int are_within(double less, double greater, double bound) {
  double const difference = greater - less, part = difference - greater;
  double const left = (greater - (difference - part)) - (less + part);
  return difference < bound || (difference == bound && left <= 0.0);
}

/* As the inner bound is defined: the least distance of all halves up to the magnitude. */
static double bound_by_every_half(szgpu_dtype dtype, double bound, int last_number) {
  int const top = (dtype == SZGPU_F16 ? 0x7C00 : 0x7F80) - 1;
  double least = (double)INFINITY;
  int within = -last_number;
  for (int number = -last_number; number <= last_number; number++) {
    double const value = half_of_number(dtype, number);
    if (within < number) within = number;
    while (within < top && are_within(value, half_of_number(dtype, within + 1), bound)) within++;
    if (within == top) break;
    double const distance = 0.5 * (half_of_number(dtype, within) - value) +
                            0.5 * (half_of_number(dtype, within + 1) - value);
    if (distance < least) least = distance;
  }
  return isinf(least) ? bound : least * (1.0 - 0x1p-40);
}

/* The search that left nothing out took most of the time of a call with few values. */
static void the_inner_bound_of_halves_is_that_of_a_full_search(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 150; round++) {
    szgpu_dtype const dtype = round % 2 ? SZGPU_F16 : SZGPU_BF16;
    szg_mapping const mapping = mapping_of(dtype);
    int const top = (dtype == SZGPU_F16 ? 0x7C00 : 0x7F80) - 1;
    /* Bounds near values and their spacings, exactly those too. */
    int const number = (int)test_random_below(&random, (uint64_t)top + 1);
    double const scale = 1.0 + (double)(int)test_random_below(&random, 5) / 2;
    double bound = half_of_number(dtype, number) * scale;
    if (round % 3 == 0) bound *= 1.0 + 0x1p-30;
    if (round % 5 == 0) bound = nextafter(bound, INFINITY);
    int const last = round % 7 ? (int)test_random_below(&random, (uint64_t)top + 1) : top;
    double const found = szg_mapping_inner_bound(&mapping, bound, half_of_number(dtype, last));
    double const expected = bound_by_every_half(dtype, bound, last);
    if (found != expected)
      fail_msg("type %d, bound %a, magnitude %a: %a instead of %a", (int)dtype, bound,
               half_of_number(dtype, last), found, expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_types_other_than_f32_and_f64_are_mapped),
      cmocka_unit_test(every_value_of_two_bytes_is_widened_exactly_and_comes_back),
      cmocka_unit_test(narrowing_takes_the_nearest_value_ties_to_even),
      cmocka_unit_test(narrowing_stays_within_the_finite_values),
      cmocka_unit_test(a_nan_whose_payload_is_cut_stays_one),
      cmocka_unit_test(single_values_are_known),
      cmocka_unit_test(every_value_keeps_many_bounds),
      cmocka_unit_test(the_inner_bound_of_integers_is_half_more_than_the_whole_number_below),
      cmocka_unit_test(the_inner_bound_of_halves_heeds_the_edges_of_binades),
      cmocka_unit_test(the_inner_bound_of_halves_is_that_of_a_full_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
