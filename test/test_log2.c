/* test_log2.c - logarithms and powers of every mantissa, against those of long double.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values/log2_core.h"

#include <float.h>
#include <math.h>

#include "support.h"

static uint32_t bits_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static uint64_t bits_of_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* |y - log2 x| without the rounding to y's type, which is half of y's spacing at most. */
static long double log2_error(long double x, double y, long double spacing) {
  long double const error = fabsl((long double)y - log2l(x)) - spacing / 2;
  return error > 0 ? error : 0;
}

static long double spacing_f32(float y) {
  float const magnitude = fabsf(y);
  return (long double)nextafterf(magnitude, INFINITY) - magnitude;
}

static long double spacing_f64(double y) {
  double const magnitude = fabs(y);
  return (long double)nextafter(magnitude, INFINITY) - magnitude;
}

/* An error in log2 for each mantissa: with other exponents only the rounding differs. */
static void logarithms_of_all_mantissas_of_f32_are_near(void **state) {
  (void)state;
  static uint32_t const exponents[] = {1, 64, 126, 127, 128, 200, 254};
  for (size_t e = 0; e < ARRAY_COUNT(exponents); e++)
    for (uint32_t mantissa = 0; mantissa < 1u << 23; mantissa++) {
      uint32_t const bits = exponents[e] << 23 | mantissa;
      float const y = szg_log2_f32(bits);
      if (log2_error(test_float_of_bits(bits), y, spacing_f32(y)) > SZG_LOG2_F32_ERROR)
        fail_msg("log2 of f32 0x%08X is %a", bits, (double)y);
    }
}

static void check_power_f32(float power) {
  long double const x = test_float_of_bits(szg_exp2_f32(bits_of_float(power)));
  long double const exact = exp2l((long double)power);
  if (exact < 0x1p-126L || exact > (long double)FLT_MAX) return;
  if (fabsl(x / exact - 1) > SZG_EXP2_F32_ERROR)
    fail_msg("2 to the power %a is %La", (double)power, x);
}

/* A power is a whole number and one of the 2^23 fractions, or finer ones near 0. */
static void powers_of_all_fractions_of_f32_are_near(void **state) {
  (void)state;
  for (uint32_t bits = 0x3F800000; bits < 0x40000000; bits++) { /* 1 to 2, and beyond */
    float const power = test_float_of_bits(bits);
    check_power_f32(power);
    check_power_f32(-power);
    check_power_f32(power - 1);
    check_power_f32(1 - power);
  }
  for (uint32_t bits = 0; bits < 0x43000000; bits += 97) { /* all magnitudes */
    check_power_f32(test_float_of_bits(bits));
    check_power_f32(-test_float_of_bits(bits));
  }
}

/* From 128 on, and from 1024 on, a power counts as the next smaller number of its type. */
static void powers_beyond_the_type_are_its_limits(void **state) {
  (void)state;
  static float const large[] = {128.0f, 129.0f, 1e30f, FLT_MAX, INFINITY};
  for (size_t i = 0; i < ARRAY_COUNT(large); i++) {
    assert_in_range(szg_exp2_f32(bits_of_float(large[i])), 0x7F7FFF80, 0x7F7FFFFF);
    assert_int_equal(szg_exp2_f32(bits_of_float(-large[i])), 0x00800000);
    assert_in_range(szg_exp2_f64(bits_of_double(8 * (double)large[i])), 0x7FEFFFFFFFFFF800,
                    0x7FEFFFFFFFFFFFFF);
    assert_int_equal(szg_exp2_f64(bits_of_double(-8 * (double)large[i])), 0x0010000000000000);
  }
  assert_int_equal(szg_exp2_f32(bits_of_float(-126.00001f)), 0x00800000);
}

static void check_f64(uint64_t bits) {
  double const y = szg_log2_f64(bits);
  if (log2_error(test_double_of_bits(bits), y, spacing_f64(y)) > SZG_LOG2_F64_ERROR)
    fail_msg("log2 of f64 0x%016llX is %a", (unsigned long long)bits, y);
}

static void check_power_f64(double power) {
  long double const x = test_double_of_bits(szg_exp2_f64(bits_of_double(power)));
  long double const exact = exp2l((long double)power);
  if (exact < 0x1p-1022L || exact > (long double)DBL_MAX) return;
  if (fabsl(x / exact - 1) > SZG_EXP2_F64_ERROR) fail_msg("2 to the power %a is %La", power, x);
}

/* The mantissas of f32 and those near them, and random ones. */
static void logarithms_and_powers_of_f64_are_near(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (uint64_t step = 0; step < 1 << 20; step++) {
    uint64_t const mantissa = step << 32, exponent = 1 + test_random_below(&random, 2046);
    uint64_t const near = (mantissa + test_random_below(&random, 16) - 8) & 0x000FFFFFFFFFFFFFu;
    uint64_t const far = test_random_bits(&random) & 0x000FFFFFFFFFFFFFu;
    check_f64(UINT64_C(1023) << 52 | mantissa);
    check_f64(exponent << 52 | near);
    check_f64(exponent << 52 | far);
    double const power = ldexp((double)far, -52) + (double)exponent - 1023;
    check_power_f64(power);
    check_power_f64(ldexp((double)near, -52));
    check_power_f64(-ldexp((double)near, -52));
    check_power_f64(ldexp(power, -(int)(exponent % 60)));
  }
}

int main(void) {
  struct CMUnitTest const tests[] = {
      cmocka_unit_test(logarithms_of_all_mantissas_of_f32_are_near),
      cmocka_unit_test(powers_of_all_fractions_of_f32_are_near),
      cmocka_unit_test(powers_beyond_the_type_are_its_limits),
      cmocka_unit_test(logarithms_and_powers_of_f64_are_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
