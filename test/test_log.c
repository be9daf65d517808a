/* test_log.c - values to logarithms and back: the bound for every mantissa, and all other patterns.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values/log.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support.h"

enum { BLOCK = 1 << 12 };

typedef struct pair {
  szgpu_dtype dtype, log_dtype;
} pair;
static pair const pairs[] = {
    {SZGPU_F32, SZGPU_F32}, {SZGPU_F32, SZGPU_F64}, {SZGPU_F64, SZGPU_F64}};

static szg_log_fill const no_fill = {false, 0};

/* The number of the type that is next to y + b, not beyond it. */
static double moved(szgpu_dtype log_dtype, double y, double b) {
  long double const limit = (long double)y + b;
  if (log_dtype == SZGPU_F64) {
    double const near = (double)limit;
    return (b > 0 ? near > limit : near < limit) ? nextafter(near, y) : near;
  }
  float const near = (float)limit;
  return (b > 0 ? near > limit : near < limit) ? (double)nextafterf(near, (float)y) : (double)near;
}

/* Moves the block's logarithms by as much as the bound allows, and restores. */
static void check_block(pair p, double bound, const void *outer) {
  static uint8_t negative[BLOCK], inner[8 * BLOCK], restored[8 * BLOCK];
  double const b = szg_log_bound(p.dtype, p.log_dtype, bound);
  assert_true(b > 0);
  for (int side = -1; side <= 1; side++) {
    szg_log_signs(p.dtype, p.log_dtype, no_fill, outer, BLOCK, negative);
    szg_log_to_inner(p.dtype, p.log_dtype, no_fill, outer, BLOCK, inner);
    for (uint64_t i = 0; i < BLOCK; i++) {
      double const y = test_value_at(p.log_dtype, inner, i);
      test_set_value(p.log_dtype, inner, i, side ? moved(p.log_dtype, y, side * b) : y);
    }
    szg_log_to_outer(p.dtype, p.log_dtype, no_fill, inner, negative, BLOCK, restored);
    for (uint64_t i = 0; i < BLOCK; i++) {
      long double const x = test_value_at(p.dtype, outer, i);
      long double const error = fabsl(test_value_at(p.dtype, restored, i) - x);
      if (!(error <= (long double)bound * fabsl(x)))
        fail_msg("%La is restored with an error of %La under %a", x, error, bound);
    }
  }
}

static void every_mantissa_of_f32_keeps_the_bound(void **state) {
  (void)state;
  static uint32_t const exponents[] = {1, 2, 63, 126, 127, 191, 254};
  static double const bounds[] = {0.99, 0.1, 1e-2, 1e-3, 1e-4, 0x1p-14, 1e-5, 1e-6, 0x1p-22};
  static uint32_t block[BLOCK];
  for (size_t k = 0; k < ARRAY_COUNT(bounds); k++) {
    pair const p = {SZGPU_F32, szg_log_dtype(SZGPU_F32, bounds[k])};
    /* All mantissas with one exponent, and some of them with the others. */
    for (size_t e = 0; e < ARRAY_COUNT(exponents); e++) {
      uint32_t const step = e == k % ARRAY_COUNT(exponents) ? 1 : 61;
      for (uint32_t mantissa = 0; mantissa < 1u << 23;) {
        for (uint32_t i = 0; i < BLOCK; i++, mantissa += step)
          block[i] =
              (uint32_t)(mantissa % 3 == 0) << 31 | exponents[e] << 23 | (mantissa & 0x007FFFFF);
        check_block(p, bounds[k], block);
      }
    }
  }
}

static void values_of_f64_keep_the_bound(void **state) {
  (void)state;
  static double const bounds[] = {0.99, 0.1, 1e-2, 1e-3, 1e-6, 1e-9, 1e-11, 0x1p-38};
  static uint64_t block[BLOCK];
  test_random random = test_random_begin();
  for (size_t k = 0; k < ARRAY_COUNT(bounds); k++)
    for (int round = 0; round < 64; round++) {
      for (uint64_t i = 0; i < BLOCK; i++) {
        uint64_t const exponent = i % 8 ? 1 + test_random_below(&random, 2046) : i % 16 ? 1 : 2046;
        uint64_t mantissa = test_random_bits(&random) & 0x000FFFFFFFFFFFFFu;
        if (round % 4 == 0) mantissa = (mantissa & ~UINT64_C(0) << 46) - i % 5; /* at edges */
        block[i] = (i & 1) << 63 | exponent << 52 | (mantissa & 0x000FFFFFFFFFFFFFu);
      }
      check_block((pair){SZGPU_F64, SZGPU_F64}, bounds[k], block);
    }
}

static uint64_t bits_at(szgpu_dtype dtype, const void *values, uint64_t i) {
  return test_bits_at(dtype, values, i);
}

static bool is_normal(szgpu_dtype dtype, uint64_t bits) {
  return dtype == SZGPU_F32 ? isnormal(test_float_of_bits((uint32_t)bits))
                            : isnormal(test_double_of_bits(bits));
}

static void set_bits(szgpu_dtype dtype, void *values, uint64_t i, uint64_t bits) {
  size_t const width = test_dtype_bytes(dtype);
  memcpy((uint8_t *)values + i * width, &bits, width);
}

/* Patterns that are not normal come back as they are, and are no numbers in between; with a fill
 * value, that also does, and it alone is the inner one's value. */
static void check_specials(pair p, szg_log_fill fill, const uint64_t *patterns, uint64_t count) {
  static uint8_t negative[BLOCK], outer[8 * BLOCK], inner[8 * BLOCK], restored[8 * BLOCK];
  uint64_t const outer_fill = fill.bits;
  fill.bits = szg_log_fill_bits(p.dtype, p.log_dtype, outer_fill);
  for (uint64_t i = 0; i < count; i++) set_bits(p.dtype, outer, i, patterns[i]);
  szg_log_signs(p.dtype, p.log_dtype, fill, outer, count, negative);
  szg_log_to_inner(p.dtype, p.log_dtype, fill, outer, count, inner);
  szg_log_to_outer(p.dtype, p.log_dtype, fill, inner, negative, count, restored);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const x = bits_at(p.dtype, outer, i), magnitude = x << (p.dtype == SZGPU_F32 ? 33 : 1);
    bool const is_fill = fill.is_there && x == outer_fill;
    if (is_normal(p.dtype, x) && !is_fill) continue;
    assert_int_equal(bits_at(p.dtype, restored, i), x);
    double const y = test_value_at(p.log_dtype, inner, i);
    assert_true(!isfinite(y) || y >= 0x1p100);
    bool const is_inner_fill = bits_at(p.log_dtype, inner, i) == szg_log_inner_fill(p.log_dtype);
    bool const is_minus_zero = magnitude == 0 && x != 0;
    assert_int_equal(is_inner_fill,
                     is_fill || (magnitude == 0 && !(fill.is_there && is_minus_zero)));
  }
}

static void other_patterns_come_back_bit_for_bit(void **state) {
  (void)state;
  static uint64_t patterns[BLOCK];
  test_random random = test_random_begin();
  for (size_t k = 0; k < ARRAY_COUNT(pairs); k++) {
    bool const is_f32 = pairs[k].dtype == SZGPU_F32;
    int const mantissa_bits = is_f32 ? 23 : 52;
    uint64_t const sign = UINT64_C(1) << (is_f32 ? 31 : 63);
    uint64_t const infinity = is_f32 ? 0x7F800000u : 0x7FF0000000000000u;
    uint64_t const mantissas = (UINT64_C(1) << mantissa_bits) - 1;
    uint64_t const fills[] = {0,
                              sign,
                              infinity,
                              infinity + 1,
                              infinity | mantissas,
                              sign | infinity,
                              is_f32 ? 0xC61C3C00u /* -9999 */ : 0xC0C3878000000000u,
                              is_f32 ? 0x60AD78ECu /* 1e20 */ : 0x4415AF1D78B58C40u,
                              1 /* subnormal */};
    for (int round = 0; round < 64; round++) {
      for (uint64_t i = 0; i < BLOCK; i++) {
        uint64_t const edges[] = {0, 1, mantissas, mantissas - 1, (mantissas + 1) / 2};
        uint64_t const mantissa = i < 64 ? edges[i / 8 % 5] : test_random_bits(&random) & mantissas;
        patterns[i] = (i & 1 ? sign : 0) | (i & 2 ? infinity : 0) | mantissa;
        if (i % 64 == 60) patterns[i] = fills[i / 64 % ARRAY_COUNT(fills)];
      }
      check_specials(pairs[k], no_fill, patterns, BLOCK);
      szg_log_fill const fill = {true, fills[(size_t)round % ARRAY_COUNT(fills)]};
      check_specials(pairs[k], fill, patterns, BLOCK);
    }
  }
}

/* Whatever an archive has, something of the field's type comes out, and always the same. */
static void any_inner_bits_lead_to_a_value(void **state) {
  (void)state;
  static uint8_t negative[BLOCK], inner[8 * BLOCK], once[8 * BLOCK], again[8 * BLOCK];
  test_random random = test_random_begin();
  szg_log_fill const fill = {true, 5};
  for (size_t k = 0; k < ARRAY_COUNT(pairs); k++)
    for (int round = 0; round < 64; round++) {
      for (uint64_t i = 0; i < BLOCK; i++) {
        negative[i] = test_random_below(&random, 2) != 0;
        set_bits(pairs[k].log_dtype, inner, i, test_random_bits(&random));
      }
      size_t const bytes = BLOCK * test_dtype_bytes(pairs[k].dtype);
      szg_log_to_outer(pairs[k].dtype, pairs[k].log_dtype, fill, inner, negative, BLOCK, once);
      for (uint64_t i = 0; i < BLOCK; i++) { /* one by one: not by vectors */
        size_t const width = test_dtype_bytes(pairs[k].dtype);
        size_t const log_width = test_dtype_bytes(pairs[k].log_dtype);
        szg_log_to_outer(pairs[k].dtype, pairs[k].log_dtype, fill, inner + i * log_width,
                         negative + i, 1, again + i * width);
      }
      assert_memory_equal(once, again, bytes);
    }
}

static void close_bounds_have_no_logarithms(void **state) {
  (void)state;
  assert_int_equal(szg_log_dtype(SZGPU_F32, 1e-4), SZGPU_F32);
  assert_int_equal(szg_log_dtype(SZGPU_F32, 1e-5), SZGPU_F64);
  assert_int_equal(szg_log_dtype(SZGPU_F64, 0.5), SZGPU_F64);
  assert_true(szg_log_bound(SZGPU_F32, SZGPU_F64, 1e-8) == 0);
  assert_true(szg_log_bound(SZGPU_F64, SZGPU_F64, 1e-12) == 0);
  /* And the others use nearly all of the bound. */
  assert_true(szg_log_bound(SZGPU_F32, SZGPU_F32, 1e-3) > 0.99 * log2(1 + 1e-3));
  assert_true(szg_log_bound(SZGPU_F32, SZGPU_F32, 0x1p-14) > 0.94 * log2(1 + 0x1p-14));
  assert_true(szg_log_bound(SZGPU_F32, SZGPU_F64, 1e-6) > 0.9 * log2(1 + 1e-6));
  assert_true(szg_log_bound(SZGPU_F64, SZGPU_F64, 1e-10) > 0.99 * log2(1 + 1e-10));
}

int main(void) {
  struct CMUnitTest const tests[] = {
      cmocka_unit_test(every_mantissa_of_f32_keeps_the_bound),
      cmocka_unit_test(values_of_f64_keep_the_bound),
      cmocka_unit_test(other_patterns_come_back_bit_for_bit),
      cmocka_unit_test(any_inner_bits_lead_to_a_value),
      cmocka_unit_test(close_bounds_have_no_logarithms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
