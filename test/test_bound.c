/* test_bound.c - the range pass, the modes, and the step with its margin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/bound.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "values/mapping_core.h"

static const uint32_t fills_f32[] = SZG_KNOWN_FILLS_F32;
static const uint64_t fills_f64[] = SZG_KNOWN_FILLS_F64;

static szg_range take(szgpu_dtype dtype, const void *values, uint64_t count, const uint64_t *named,
                      int thread_count) {
  szg_threads threads = {.count = thread_count};
  szg_value_source const source = szg_value_source_cpu(&threads, dtype, values, count);
  szg_range range;
  assert_int_equal(szg_range_take(&source, named, &range), SZGPU_OK);
  return range;
}

static szg_bound_plan derive(szgpu_dtype dtype, const void *values, uint64_t count, szgpu_mode mode,
                             double asked) {
  szg_threads threads = {.count = 1};
  szg_value_source const source = szg_value_source_cpu(&threads, dtype, values, count);
  szg_range const range = take(dtype, values, count, NULL, 1);
  szg_bound_plan plan;
  assert_int_equal(szg_bound_derive(&source, mode, asked, &range, &plan), SZGPU_OK);
  return plan;
}

/* Of values that are coded as wider ones. */
static double relative_bound(szgpu_dtype dtype, const void *values, uint64_t count, double asked) {
  szg_threads threads = {.count = 1};
  szg_mapping const mapping = szg_mapping_of(SZGPU_MODE_REL, dtype);
  szg_value_source const source = szg_value_source_mapped_cpu(&threads, &mapping, values, count);
  uint64_t const none = szg_mapping_inner_bits(&mapping, (double)NAN); /* no value is fill */
  szg_range range;
  szg_bound_plan plan;
  assert_int_equal(szg_range_take(&source, &none, &range), SZGPU_OK);
  assert_int_equal(szg_bound_derive(&source, SZGPU_MODE_REL, asked, &range, &plan), SZGPU_OK);
  return plan.absolute_bound;
}

/* ---- the range ---- */

static int place_in_known_list(szgpu_dtype dtype, uint64_t bits) {
  size_t const count = dtype == SZGPU_F32 ? ARRAY_COUNT(fills_f32) : ARRAY_COUNT(fills_f64);
  for (size_t i = 0; i < count; i++)
    if ((dtype == SZGPU_F32 ? fills_f32[i] : fills_f64[i]) == bits) return (int)i;
  return INT32_MAX;
}

static szg_range range_by_brute_force(szgpu_dtype dtype, const void *values, uint64_t count,
                                      const uint64_t *named) {
  szg_range range = {.has_fill = named != NULL, .fill_bits = named ? *named : 0};
  int first = INT32_MAX;
  for (uint64_t i = 0; i < count && !named; i++) {
    uint64_t const bits = test_bits_at(dtype, values, i);
    int const place = place_in_known_list(dtype, bits);
    if (place >= first) continue;
    first = place;
    range.has_fill = true;
    range.fill_bits = bits;
  }
  for (uint64_t i = 0; i < count; i++) {
    double const value = test_value_at(dtype, values, i);
    bool const is_fill = range.has_fill && test_bits_at(dtype, values, i) == range.fill_bits;
    if (is_fill || !isfinite(value)) continue;
    if (!range.has_values || value < range.least) range.least = value;
    if (!range.has_values || value > range.greatest) range.greatest = value;
    range.has_values = true;
  }
  return range;
}

static void assert_range_is_right(szgpu_dtype dtype, const void *values, uint64_t count,
                                  const uint64_t *named) {
  szg_range const expected = range_by_brute_force(dtype, values, count, named);
  for (int threads = 1; threads <= 3; threads += 2) {
    szg_range const range = take(dtype, values, count, named, threads);
    assert_int_equal(range.has_values, expected.has_values);
    assert_int_equal(range.has_fill, expected.has_fill);
    if (expected.has_fill) assert_int_equal(range.fill_bits, expected.fill_bits);
    if (!expected.has_values) continue;
    assert_true(range.least == expected.least && range.greatest == expected.greatest);
    assert_false(signbit(range.least) && range.least == 0.0);
    assert_false(signbit(range.greatest) && range.greatest == 0.0);
  }
}

static void known_fills_are_what_they_are_called(void **state) {
  (void)state;
  static const double named[] = {1e20, 0x1.ep+122, -1e34, 1e36, 1e30, 1e35, 1e15, -FLT_MAX};
  for (size_t i = 0; i < ARRAY_COUNT(named); i++) {
    assert_int_equal(fills_f32[i], szg_bits_f32((float)named[i]));
    assert_int_equal(fills_f64[i], szg_bits_f64(named[i]));
  }
  for (size_t i = 8; i < 14; i++) /* the f64 forms of those that f32 rounds */
    assert_int_equal(
        place_in_known_list(SZGPU_F32, szg_bits_f32((float)test_double_of_bits(fills_f64[i]))) < 7,
        1);
  for (size_t i = 0; i < ARRAY_COUNT(fills_f32); i++)
    assert_true((fills_f32[i] & 0x7FFFFFFFu) >= SZG_FILL_LEAST_F32);
  for (size_t i = 0; i < ARRAY_COUNT(fills_f64); i++)
    assert_true((fills_f64[i] & INT64_MAX) >= SZG_FILL_LEAST_F64);
}

static void every_known_fill_is_found_and_left_out(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
    size_t const count = dtype ? ARRAY_COUNT(fills_f64) : ARRAY_COUNT(fills_f32);
    for (size_t i = 0; i < count; i++)
      for (size_t place = 0; place < 5000; place += 1249) {
        float values_f32[5000];
        double values_f64[5000];
        for (size_t v = 0; v < 5000; v++) values_f32[v] = (float)(values_f64[v] = (double)v - 99.0);
        values_f32[place] = test_float_of_bits(fills_f32[i % ARRAY_COUNT(fills_f32)]);
        values_f64[place] = test_double_of_bits(fills_f64[i]);
        assert_range_is_right((szgpu_dtype)dtype, dtype ? (void *)values_f64 : (void *)values_f32,
                              5000, NULL);
      }
  }
}

static void of_two_known_fills_the_first_of_the_list_is_meant(void **state) {
  (void)state;
  float values[] = {1.0f, 1e30f, 2.0f, 1e20f, 3.0f};
  szg_range const range = take(SZGPU_F32, values, 5, NULL, 1);
  assert_int_equal(range.fill_bits, szg_bits_f32(1e20f));
  assert_true(range.greatest == (double)1e30f); /* the other one is an ordinary value */
  float nans[] = {1.0f, NAN, 2.0f, 1e20f, 3.0f};
  assert_range_is_right(SZGPU_F32, nans, 5, NULL);
  assert_true(take(SZGPU_F32, nans, 5, NULL, 1).greatest == 3.0);
}

static void a_named_fill_hides_the_known_ones(void **state) {
  (void)state;
  float values[] = {1.0f, -9999.0f, 1e20f, -9999.0f, 3.0f};
  uint64_t const named = szg_bits_f32(-9999.0f);
  szg_range const range = take(SZGPU_F32, values, 5, &named, 1);
  assert_int_equal(range.fill_bits, named);
  assert_true(range.least == 1.0 && range.greatest == (double)1e20f);
}

static void a_field_of_nothing_but_fill_has_no_values(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    double values[4100];
    double const value = kind == 0 ? 1e20 : kind == 1 ? (double)NAN : (double)INFINITY;
    for (size_t i = 0; i < 4100; i++) values[i] = value;
    szg_range const range = take(SZGPU_F64, values, 4100, NULL, 1);
    assert_false(range.has_values);
    assert_int_equal(range.has_fill, kind < 2); /* an infinity is not a fill value */
    szg_bound_plan const plan = derive(SZGPU_F64, values, 4100, SZGPU_MODE_REL, 1e-3);
    assert_true(plan.is_constant);
    assert_int_equal(plan.constant_bits, 0);
  }
}

/* Ordinary values mixed with rare special ones. */
static double random_value(test_random *random, szgpu_dtype dtype, uint64_t rarity) {
  if (test_random_below(random, rarity)) return 200.0 * test_random_unit(random) - 100.0;
  switch (test_random_below(random, 8)) {
    case 0:
      return (double)NAN;
    case 1:
      return (double)INFINITY;
    case 2:
      return -(double)INFINITY;
    case 3:
      return -0.0;
    case 4:
      return dtype == SZGPU_F32 ? 1e-40 : 1e-310;
    case 5:
      return -3e38;
    case 6:
      return test_double_of_bits(fills_f64[test_random_below(random, 8)]);
    default:
      return -9999.0;
  }
}

static void the_range_is_that_of_brute_force(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 31, 257, 2047, 2048, 2049, 4097, 6151, 300007};
  static const uint64_t rarities[] = {1, 2, 50, 5000, UINT64_MAX};
  test_random random = test_random_begin();
  double *const values = test_allocate(300007 * sizeof *values);
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t s = 0; s < ARRAY_COUNT(sizes); s++)
      for (size_t r = 0; r < ARRAY_COUNT(rarities); r++) {
        for (size_t i = 0; i < sizes[s]; i++)
          test_set_value((szgpu_dtype)dtype, values, i,
                         random_value(&random, (szgpu_dtype)dtype, rarities[r]));
        uint64_t const named = szg_bits_of_value((szgpu_dtype)dtype, -9999.0);
        assert_range_is_right((szgpu_dtype)dtype, values, sizes[s], NULL);
        assert_range_is_right((szgpu_dtype)dtype, values, sizes[s], &named);
      }
  free(values);
}

/* ---- modes ---- */

static void an_absolute_bound_is_taken_as_it_is(void **state) {
  (void)state;
  float const values[] = {-3.0f, 5.0f};
  szg_bound_plan const plan = derive(SZGPU_F32, values, 2, SZGPU_MODE_ABS, 0.125);
  assert_true(plan.quantizer.bound == 0.125);
  assert_true(plan.value_range == 8.0);
}

static void a_relative_bound_never_passes_the_exact_product(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 100000; round++) {
    double const scale = ldexp(1.0, (int)test_random_below(&random, 600) - 300);
    double const values[] = {(test_random_unit(&random) - 0.5) * scale,
                             test_random_unit(&random) * scale};
    double const asked =
        ldexp(0.5 + 0.5 * test_random_unit(&random), -(int)test_random_below(&random, 24));
    long double const range = fabsl((long double)values[1] - (long double)values[0]);
    if (range == 0.0L) continue;
    szg_bound_plan const plan = derive(SZGPU_F64, values, 2, SZGPU_MODE_REL, asked);
    /* Two steps down leave a margin of at least 2^-54, far above the error of long double. */
    assert_true(plan.quantizer.bound <= asked * range);
    assert_true(plan.quantizer.bound >= asked * range * (1.0L - 0x1p-50L));
  }
}

static void a_range_beyond_f64_is_halved_not_lost(void **state) {
  (void)state;
  double const values[] = {-DBL_MAX, DBL_MAX, 0.0};
  szg_bound_plan const plan = derive(SZGPU_F64, values, 3, SZGPU_MODE_REL, 1e-3);
  assert_true(plan.value_range == DBL_MAX);
  assert_true(plan.quantizer.bound <= 2e-3L * DBL_MAX);
  assert_true(plan.quantizer.bound >= 2e-3L * DBL_MAX * (1.0L - 1e-15L));
  szg_bound_plan const wide = derive(SZGPU_F64, values, 3, SZGPU_MODE_REL, 0.9);
  assert_true(wide.quantizer.bound == DBL_MAX);
}

/* The whole part of asked * span, exactly; asked is at most 2. */
static uint64_t whole_product(double asked, uint64_t span) {
  int exponent;
  uint64_t const mantissa = (uint64_t)(frexp(asked, &exponent) * 0x1p53);
  __extension__ typedef unsigned __int128 wide;
  wide const product = (wide)mantissa * span;
  return exponent < -60 ? 0 : (uint64_t)(product >> (53 - exponent));
}

/* A fraction of which a whole number of the span may come, or a neighbour of one. */
static double near_fraction(test_random *random, uint64_t span) {
  double asked = (double)(1 + test_random_below(random, span)) / (double)span;
  double const toward = test_random_below(random, 2) ? 0.0 : 2.0;
  for (uint64_t steps = test_random_below(random, 4); steps > 0; steps--)
    asked = nextafter(asked, toward);
  return asked;
}

/* Before, 0.5 of a range of 2 was less than 1, so all integers came back exactly. */
static void a_relative_bound_of_integers_loses_no_unit(void **state) {
  (void)state;
  static const szgpu_dtype types[] = {SZGPU_U8, SZGPU_I8, SZGPU_U16, SZGPU_I16, SZGPU_I32};
  static const int64_t least[] = {0, INT8_MIN, 0, INT16_MIN, INT32_MIN};
  static const uint64_t widths[] = {1, 1, 2, 2, 4};
  test_random random = test_random_begin();
  int8_t const two[] = {-1, 1};
  assert_true(relative_bound(SZGPU_I8, two, 2, 0.5) == 1.0);
  for (int round = 0; round < 200000; round++) {
    size_t const type = (size_t)round % ARRAY_COUNT(types);
    uint64_t const bytes = widths[type], most = UINT64_MAX >> (64 - 8 * bytes);
    uint64_t const below = (most - 1) >> test_random_below(&random, 8 * bytes);
    uint64_t const span = 1 + test_random_below(&random, below + 1);
    int64_t const values[] = {least[type] + (int64_t)test_random_below(&random, most - span + 1)};
    int64_t const greatest = values[0] + (int64_t)span;
    uint8_t field[8];
    memcpy(field, values, bytes); /* little-endian */
    memcpy(field + bytes, &greatest, bytes);
    double const asked = near_fraction(&random, span);
    double const bound = relative_bound(types[type], field, 2, asked);
    assert_int_equal((uint64_t)bound, whole_product(asked, span));
    assert_true((__float128)bound <= (__float128)asked * span);
  }
}

/* The same for spacings: all differences of numbers of f16 are multiples of 2^-24. */
enum { HALF_ROUNDS = 4000 }; /* a bound of halves looks at all of them, for half a millisecond */

static void a_relative_bound_of_halves_loses_no_spacing(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < HALF_ROUNDS; round++) {
    uint16_t const values[] = {(uint16_t)(test_random_below(&random, 2) << 15 |
                                          test_random_below(&random, SZG_F16_INFINITY)),
                               (uint16_t)test_random_below(&random, SZG_F16_INFINITY)};
    double const a = test_float_of_bits(szg_widen_f16(values[0]));
    double const b = test_float_of_bits(szg_widen_f16(values[1]));
    uint64_t const span = (uint64_t)(fabs(a - b) * 0x1p24);
    if (span == 0) continue;
    double const asked = near_fraction(&random, span);
    double const bound = relative_bound(SZGPU_F16, values, 2, asked);
    assert_int_equal((uint64_t)(bound * 0x1p24), whole_product(asked, span));
    assert_true((__float128)bound <= (__float128)asked * fabs(a - b));
  }
}

/* A difference that rounded to -0 once passed for none: the bound was above the exact product. The
 * product of asked = k 2^-1074 and span = odd 2^-24 is a little less than 512 multiples of 2^-1074,
 * or a multiple of so many. */
static void a_relative_bound_too_small_for_normal_numbers_is_not_raised(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < HALF_ROUNDS; round++) {
    uint64_t const odd = 2 * test_random_below(&random, 512) + 1, mask = ((uint64_t)1 << 33) - 1;
    uint64_t inverse = odd; /* modulo 2^33, by Newton */
    for (int i = 0; i < 5; i++) inverse *= 2 - odd * inverse;
    uint64_t const k = (0 - (1 + test_random_below(&random, 1 << 23))) * inverse & mask;
    uint16_t const values[] = {0, (uint16_t)odd}; /* subnormal: multiples of 2^-24 */
    double const asked = ldexp((double)k, -1074);
    if (k == 0) continue;
    double const bound = relative_bound(SZGPU_F16, values, 2, asked);
    assert_true((__float128)bound <= (__float128)asked * ldexp((double)odd, -24));
  }
}

/* bf16 have differences that are no doubles. */
static void a_relative_bound_of_bf16_never_passes_the_exact_product(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < HALF_ROUNDS; round++) {
    uint64_t const exponent = test_random_below(&random, 200);
    uint16_t const values[] = {(uint16_t)(test_random_below(&random, 2) << 15 | exponent << 7 |
                                          test_random_below(&random, 128)),
                               (uint16_t)((exponent + test_random_below(&random, 55)) << 7 |
                                          test_random_below(&random, 128))};
    double const a = test_float_of_bits(szg_widen_bf16(values[0]));
    double const b = test_float_of_bits(szg_widen_bf16(values[1]));
    __float128 const span = a > b ? (__float128)a - b : (__float128)b - a;
    if (span == 0) continue;
    double const asked = near_fraction(&random, 1 + test_random_below(&random, 1000));
    double const bound = relative_bound(SZGPU_BF16, values, 2, asked);
    assert_true((__float128)bound <= asked * span);
    if (asked == 1.0 && values[1] >> 7 < exponent + 30) assert_true(bound == (double)span);
  }
}

/* docs/guarantees.md states the error; that of long double is far smaller. Before, bounds were 0
 * from 6,150 dB on, whatever the range was. */
static void psnr_agrees_with_the_power_of_ten(void **state) {
  (void)state;
  static const double halves[] = {0x1p-21,  1.5,         5e99,
                                  0x1p1022, DBL_MAX / 2, DBL_MAX}; /* of ranges */
  for (size_t i = 0; i < ARRAY_COUNT(halves); i++)
    for (double decibels = 0.001; decibels < 13000.0; decibels *= 1.003) {
      double const values[] = {-halves[i], halves[i]};
      long double const expected =
          2.0L * halves[i] * sqrtl(3.0L) * powl(10.0L, -(long double)decibels / 20.0L);
      if (expected < 0x1p-1020L || expected > DBL_MAX) continue;
      szg_bound_plan const plan = derive(SZGPU_F64, values, 2, SZGPU_MODE_PSNR, decibels);
      long double const most = 0x1p-50L + decibels * 0x1p-54L;
      if (!(fabsl(plan.quantizer.bound / expected - 1.0L) <= most))
        fail_msg("%g dB of 2 * %g: %a is not %La", decibels, halves[i], plan.quantizer.bound,
                 expected);
    }
  double const values[] = {-1.0, 2.0};
  szg_bound_plan const beyond = derive(SZGPU_F64, values, 2, SZGPU_MODE_PSNR, 1e9);
  assert_true(beyond.quantizer.bound == 0.0 && beyond.is_hopeless);
}

static void refuses_bounds_that_are_none(void **state) {
  (void)state;
  static const double bad[] = {0.0, -0.0, -1e-3, NAN, INFINITY, -INFINITY};
  float const values[] = {-3.0f, 5.0f};
  szg_threads threads = {.count = 1};
  szg_value_source const source = szg_value_source_cpu(&threads, SZGPU_F32, values, 2);
  szg_range const range = take(SZGPU_F32, values, 2, NULL, 1);
  szg_bound_plan plan;
  for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++)
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
      assert_int_equal(szg_bound_derive(&source, (szgpu_mode)mode, bad[i], &range, &plan),
                       SZGPU_BAD_BOUND);
}

/* ---- constant fields, and fields the bound cannot serve ---- */

static void zeros_of_both_signs_are_a_constant(void **state) {
  (void)state;
  float const zeros[] = {-0.0f, 0.0f, -0.0f};
  float const ones[] = {1.5f, NAN, 1.5f, INFINITY, 1e20f};
  szg_bound_plan const zero = derive(SZGPU_F32, zeros, 3, SZGPU_MODE_REL, 1e-3);
  szg_bound_plan const one = derive(SZGPU_F32, ones, 5, SZGPU_MODE_REL, 1e-3);
  assert_true(zero.is_constant && one.is_constant);
  assert_int_equal(zero.constant_bits, 0);
  assert_int_equal(one.constant_bits, szg_bits_f32(1.5f));
}

static void a_bound_with_no_reciprocal_is_hopeless(void **state) {
  (void)state;
  static const double bounds[] = {0x1p-1074, 1e-320};
  double const values_f64[] = {0.0, 1.0};
  float const values_f32[] = {0.0f, 1.0f};
  for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
    assert_true(derive(SZGPU_F64, values_f64, 2, SZGPU_MODE_ABS, bounds[i]).is_hopeless);
    assert_true(derive(SZGPU_F32, values_f32, 2, SZGPU_MODE_ABS, bounds[i]).is_hopeless);
  }
  assert_false(derive(SZGPU_F64, values_f64, 2, SZGPU_MODE_ABS, 1e-300).is_hopeless);
}

/* ---- step and arithmetic: design rules, with u = 2^-24 and 2^-53 ---- */

static szg_quantizer quantizer_f32(float greatest, double bound) {
  float const values[] = {0.0f, -greatest};
  return derive(SZGPU_F32, values, 2, SZGPU_MODE_ABS, bound).quantizer;
}

static szg_quantizer quantizer_f64(double greatest, double bound) {
  double const values[] = {0.0, -greatest};
  return derive(SZGPU_F64, values, 2, SZGPU_MODE_ABS, bound).quantizer;
}

static void f32_arithmetic_serves_from_80_u_of_the_greatest_value(void **state) {
  (void)state;
  double const least = 80.0 * 0x1p-24;
  assert_int_equal(quantizer_f32(1.0f, least).arithmetic, SZG_ARITHMETIC_F32);
  assert_int_equal(quantizer_f32(1.0f, nextafter(least, 0.0)).arithmetic, SZG_ARITHMETIC_F32_CLOSE);
  assert_int_equal(quantizer_f32(1.0f, 0x1p126).arithmetic, SZG_ARITHMETIC_F32_CLOSE);
  assert_int_equal(quantizer_f32(1e-38f, 0x1p-126).arithmetic, SZG_ARITHMETIC_F32);
  assert_int_equal(quantizer_f32(1e-38f, 0x1p-128).arithmetic, SZG_ARITHMETIC_F32_CLOSE);
}

static void the_wide_lattice_serves_from_2_30_steps(void **state) {
  (void)state;
  assert_int_equal(quantizer_f64(1.0, 0x1p-31 * (1.0 + 0x1p-10)).arithmetic, SZG_ARITHMETIC_F64);
  assert_int_equal(quantizer_f64(1.0, 0x1p-31).arithmetic, SZG_ARITHMETIC_F64_WIDE);
}

static void the_step_is_what_the_margin_leaves_rounded_down(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 100000; round++) {
    bool const is_f32 = round % 2 == 0;
    int const exponent = (int)test_random_below(&random, 200) - 100;
    double const x = (float)ldexp(1.0 + test_random_unit(&random), exponent);
    double const bound = ldexp(1.0 + test_random_unit(&random),
                               exponent - (int)test_random_below(&random, is_f32 ? 23 : 49));
    szg_quantizer const k = is_f32 ? quantizer_f32((float)x, bound) : quantizer_f64(x, bound);
    bool const is_close = k.arithmetic == SZG_ARITHMETIC_F32_CLOSE;
    long double const u = is_f32 ? 0x1p-24L : 0x1p-53L;
    long double const margin = is_close ? (1.0L + 0x1p-10L) * u * x : 4.0L * u * x;
    long double const exact = 2.0L * (bound - margin);
    double const slack = k.arithmetic == SZG_ARITHMETIC_F32 ? 0x1p-22 : 0x1p-48;
    assert_true(k.step <= exact && k.step >= exact * (1.0L - slack));
    assert_true(k.bound == bound && k.inverse == 1.0 / k.step);
    if (k.arithmetic != SZG_ARITHMETIC_F32) continue;
    assert_true(k.step_f32 == k.step && k.inverse_f32 == 1.0f / k.step_f32);
    assert_true(k.bound_f32 <= bound && nextafterf(k.bound_f32, INFINITY) > bound);
  }
}

static void values_that_the_bound_cannot_mean_do_not_widen_the_margin(void **state) {
  (void)state;
  float const values_f32[] = {0.0f, 1.0f, 1e19f}; /* 1e19 is over b / (2 u) */
  double const values_f64[] = {0.0, 1.0, 1e290};
  szg_quantizer const with_f32 = derive(SZGPU_F32, values_f32, 3, SZGPU_MODE_ABS, 1e-3).quantizer;
  szg_quantizer const with_f64 = derive(SZGPU_F64, values_f64, 3, SZGPU_MODE_ABS, 1e-3).quantizer;
  assert_true(with_f32.step == quantizer_f32(1.0f, 1e-3).step);
  assert_true(with_f64.step == quantizer_f64(1.0, 1e-3).step);
  assert_int_equal(with_f32.arithmetic, SZG_ARITHMETIC_F32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_fills_are_what_they_are_called),
      cmocka_unit_test(every_known_fill_is_found_and_left_out),
      cmocka_unit_test(of_two_known_fills_the_first_of_the_list_is_meant),
      cmocka_unit_test(a_named_fill_hides_the_known_ones),
      cmocka_unit_test(a_field_of_nothing_but_fill_has_no_values),
      cmocka_unit_test(the_range_is_that_of_brute_force),
      cmocka_unit_test(an_absolute_bound_is_taken_as_it_is),
      cmocka_unit_test(a_relative_bound_never_passes_the_exact_product),
      cmocka_unit_test(a_range_beyond_f64_is_halved_not_lost),
      cmocka_unit_test(a_relative_bound_of_integers_loses_no_unit),
      cmocka_unit_test(a_relative_bound_of_halves_loses_no_spacing),
      cmocka_unit_test(a_relative_bound_too_small_for_normal_numbers_is_not_raised),
      cmocka_unit_test(a_relative_bound_of_bf16_never_passes_the_exact_product),
      cmocka_unit_test(psnr_agrees_with_the_power_of_ten),
      cmocka_unit_test(refuses_bounds_that_are_none),
      cmocka_unit_test(zeros_of_both_signs_are_a_constant),
      cmocka_unit_test(a_bound_with_no_reciprocal_is_hopeless),
      cmocka_unit_test(f32_arithmetic_serves_from_80_u_of_the_greatest_value),
      cmocka_unit_test(the_wide_lattice_serves_from_2_30_steps),
      cmocka_unit_test(the_step_is_what_the_margin_leaves_rounded_down),
      cmocka_unit_test(values_that_the_bound_cannot_mean_do_not_widen_the_margin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
