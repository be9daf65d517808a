/* test_histogram.c - how often each code occurs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/huffman.h"

#include <stdlib.h>

#include "support.h"

static size_t const awkward_counts[] = {0,   1,   2,   3,   4,    5,    31,   32,   33,
                                        127, 255, 256, 257, 4095, 4096, 4097, 7919, 65537};

static uint64_t total_of(const uint32_t *counts, uint32_t symbol_count, uint32_t symbol) {
  uint64_t total = 0;
  for (uint32_t copy = 0; copy < SZG_HISTOGRAM_COPIES; copy++)
    total += counts[(size_t)copy * symbol_count + symbol];
  return total;
}

static uint32_t *zeroed_counts(uint32_t symbol_count) {
  uint32_t *const counts = calloc((size_t)SZG_HISTOGRAM_COPIES * symbol_count, sizeof *counts);
  assert_non_null(counts);
  return counts;
}

static void counts_seven_codes_as_a_hand_does(void **state) {
  (void)state;
  uint16_t const codes[] = {2, 2, 2, 2, 2, 0, 3};
  uint32_t *const counts = zeroed_counts(4);
  szg_histogram_add(codes, 7, 4, counts);
  assert_int_equal(total_of(counts, 4, 0), 1);
  assert_int_equal(total_of(counts, 4, 1), 0);
  assert_int_equal(total_of(counts, 4, 2), 5);
  assert_int_equal(total_of(counts, 4, 3), 1);
  free(counts);
}

static void counts_equal_neighbours_in_different_words(void **state) {
  (void)state;
  uint16_t const codes[] = {1, 1, 1, 1};
  uint32_t *const counts = zeroed_counts(4);
  szg_histogram_add(codes, 4, 4, counts);
  for (int copy = 0; copy < SZG_HISTOGRAM_COPIES; copy++) assert_int_equal(counts[4 * copy + 1], 1);
  free(counts);
}

static void adds_to_what_is_there(void **state) {
  (void)state;
  uint16_t const codes[] = {1, 3, 1};
  uint32_t *const counts = zeroed_counts(4);
  for (int i = 0; i < 10; i++) szg_histogram_add(codes, 3, 4, counts);
  assert_int_equal(total_of(counts, 4, 1), 20);
  assert_int_equal(total_of(counts, 4, 3), 10);
  free(counts);
}

static void no_codes_change_nothing(void **state) {
  (void)state;
  uint32_t *const counts = zeroed_counts(4);
  szg_histogram_add(NULL, 0, 4, counts);
  for (uint32_t s = 0; s < 4; s++) assert_int_equal(total_of(counts, 4, s), 0);
  free(counts);
}

/* Codes and tables have exactly the room they need, so that a sanitizer sees any access beyond. */
static void agrees_with_plain_counting_at(uint32_t symbol_count, size_t code_count,
                                          test_random *random) {
  uint16_t *const codes = test_allocate(code_count * sizeof *codes);
  uint32_t *const expected = calloc(symbol_count, sizeof *expected);
  uint32_t *const counts = zeroed_counts(symbol_count);
  assert_non_null(expected);
  for (size_t i = 0; i < code_count; i++) {
    codes[i] = (uint16_t)(test_random_below(random, symbol_count));
    expected[codes[i]]++;
  }
  szg_histogram_add(codes, code_count, symbol_count, counts);
  for (uint32_t s = 0; s < symbol_count; s++)
    if (total_of(counts, symbol_count, s) != expected[s])
      fail_msg("%zu codes of %u, symbol %u: %llu, not %u", code_count, symbol_count, s,
               (unsigned long long)total_of(counts, symbol_count, s), expected[s]);
  free(codes);
  free(expected);
  free(counts);
}

static void agrees_with_plain_counting_at_awkward_sizes(void **state) {
  (void)state;
  uint32_t const symbol_counts[] = {4, 1024, SZG_MAX_SYMBOLS};
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(symbol_counts); s++)
    for (size_t i = 0; i < ARRAY_COUNT(awkward_counts); i++)
      agrees_with_plain_counting_at(symbol_counts[s], awkward_counts[i], &random);
}

static void counts_the_last_symbol_of_the_largest_alphabet(void **state) {
  (void)state;
  uint16_t const codes[] = {0, 65535, 65535, 0, 65535};
  uint32_t *const counts = zeroed_counts(SZG_MAX_SYMBOLS);
  szg_histogram_add(codes, 5, SZG_MAX_SYMBOLS, counts);
  assert_int_equal(total_of(counts, SZG_MAX_SYMBOLS, 0), 2);
  assert_int_equal(total_of(counts, SZG_MAX_SYMBOLS, 65535), 3);
  free(counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_seven_codes_as_a_hand_does),
      cmocka_unit_test(counts_equal_neighbours_in_different_words),
      cmocka_unit_test(adds_to_what_is_there),
      cmocka_unit_test(no_codes_change_nothing),
      cmocka_unit_test(agrees_with_plain_counting_at_awkward_sizes),
      cmocka_unit_test(counts_the_last_symbol_of_the_largest_alphabet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
