/* test_rle.c - run-length coded masks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rle/rle.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Encodes a copy of the mask. Nothing past the copy may be touched. */
static size_t encode(const uint8_t *mask, uint32_t count, uint32_t distance, uint8_t *bytes) {
  uint8_t *const copy = test_allocate(count); /* a block of its own, for the address sanitizer */
  memcpy(copy, mask, count);
  size_t const byte_count = szg_mask_encode(copy, count, distance, bytes);
  assert_in_range(byte_count, 0, SZG_MASK_MAX_BYTES);
  free(copy);
  return byte_count;
}

static void assert_returns(const uint8_t *mask, uint32_t count, uint32_t distance) {
  uint8_t bytes[SZG_MASK_MAX_BYTES], decoded[SZG_TILE_VALUES + 1];
  size_t const byte_count = encode(mask, count, distance, bytes);
  memset(decoded, 0xCC, sizeof decoded);
  assert_true(szg_mask_decode(bytes, byte_count, count, distance, decoded));
  assert_memory_equal(decoded, mask, count);
  assert_int_equal(decoded[count], 0xCC);
}

static void codes_runs_by_hand(void **state) {
  (void)state;
  static const uint8_t mask[] = {0, 0, 0, 1, 1, 0};
  static const uint8_t expected[] = {3, 2}; /* the last run takes no bytes */
  uint8_t bytes[SZG_MASK_MAX_BYTES];
  assert_int_equal(encode(mask, sizeof mask, 0, bytes), 2);
  assert_memory_equal(bytes, expected, 2);
}

static void the_first_run_is_of_zeros(void **state) {
  (void)state;
  static const uint8_t mask[] = {1, 1, 0};
  uint8_t bytes[SZG_MASK_MAX_BYTES];
  assert_int_equal(encode(mask, 3, 0, bytes), 2);
  assert_int_equal(bytes[0], 0);
  assert_int_equal(bytes[1], 2);
}

static void an_empty_mask_takes_no_bytes(void **state) {
  (void)state;
  uint8_t const mask[300] = {0};
  uint8_t bytes[SZG_MASK_MAX_BYTES];
  assert_int_equal(encode(mask, 300, 0, bytes), 0);
  assert_returns(mask, 300, 0);
}

static void a_byte_of_255_continues_its_run(void **state) {
  (void)state;
  static const struct {
    uint32_t run;
    size_t byte_count;
    uint8_t bytes[4];
  } cases[] = {{254, 1, {254}},      {255, 2, {255, 0}},      {256, 2, {255, 1}},
               {509, 2, {255, 254}}, {510, 3, {255, 255, 0}}, {765, 4, {255, 255, 255, 0}}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    uint8_t mask[1000] = {0}, bytes[SZG_MASK_MAX_BYTES];
    mask[cases[i].run] = 1; /* the last run takes no bytes */
    memset(mask + cases[i].run, 1, sizeof mask - cases[i].run);
    assert_int_equal(encode(mask, sizeof mask, 0, bytes), cases[i].byte_count);
    assert_memory_equal(bytes, cases[i].bytes, cases[i].byte_count);
    assert_returns(mask, sizeof mask, 0);
  }
}

static void like_planes_become_zeros(void **state) { /* by hand: 3 planes of 4 */
  (void)state;
  static const uint8_t mask[12] = {0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1};
  static const uint8_t expected[] = {1, 2, 8}; /* the last plane differs in its last value */
  uint8_t bytes[SZG_MASK_MAX_BYTES];
  assert_int_equal(encode(mask, 12, 4, bytes), 3);
  assert_memory_equal(bytes, expected, 3);
}

static void masks_of_all_sizes_return(void **state) {
  (void)state;
  static const uint32_t sizes[] = {1,   2,   31,  32,   33,   127,  255,  256, 257,
                                   509, 511, 512, 1021, 2047, 2049, 4095, 4096};
  static const uint32_t distances[] = {0, 1, 32, 64, 256, 5000};
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(sizes); s++)
    for (size_t d = 0; d < ARRAY_COUNT(distances); d++)
      for (int longest = 1; longest <= 1 << 12; longest *= 4) {
        uint8_t mask[SZG_TILE_VALUES];
        uint8_t symbol = (uint8_t)test_random_below(&random, 2);
        for (uint32_t i = 0; i < sizes[s]; symbol ^= 1)
          for (uint64_t run = 1 + test_random_below(&random, (uint64_t)longest);
               run > 0 && i < sizes[s]; run--)
            mask[i++] = symbol;
        assert_returns(mask, sizes[s], distances[d]);
      }
}

static void the_longest_code_fits(void **state) {
  (void)state;
  uint8_t alternating[SZG_TILE_VALUES], ones[SZG_TILE_VALUES], bytes[SZG_MASK_MAX_BYTES];
  for (uint32_t i = 0; i < SZG_TILE_VALUES; i++) alternating[i] = !(i & 1);
  memset(ones, 1, sizeof ones);
  assert_int_equal(encode(alternating, SZG_TILE_VALUES, 0, bytes), SZG_TILE_VALUES);
  assert_int_equal(encode(ones, SZG_TILE_VALUES, 0, bytes), 1);
  assert_returns(alternating, SZG_TILE_VALUES, 0);
  assert_returns(ones, SZG_TILE_VALUES, 0);
}

static void refuses_runs_longer_than_the_tile(void **state) {
  (void)state;
  static const uint8_t one_too_many[] = {5, 6};
  static const uint8_t exact[] = {5, 5};
  static const uint8_t long_run[] = {255, 255, 255};
  uint8_t mask[16];
  memset(mask, 0xCC, sizeof mask);
  assert_false(szg_mask_decode(one_too_many, 2, 10, 0, mask));
  assert_true(szg_mask_decode(exact, 2, 10, 0, mask));
  assert_false(szg_mask_decode(long_run, 3, 10, 0, mask));
  assert_int_equal(mask[10], 0xCC);
}

static void arbitrary_bytes_stay_inside_the_tile(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 20000; round++) {
    uint32_t const count = 1 + (uint32_t)test_random_below(&random, 600);
    size_t const byte_count = test_random_below(&random, 40);
    uint8_t bytes[40], mask[601];
    for (size_t i = 0; i < byte_count; i++)
      bytes[i] = (uint8_t)(test_random_bits(&random) >> (test_random_below(&random, 9)));
    memset(mask, 0xCC, sizeof mask);
    bool const is_good = szg_mask_decode(bytes, byte_count, count, 0, mask);
    assert_int_equal(mask[count], 0xCC);
    for (uint32_t i = 0; is_good && i < count; i++) assert_in_range(mask[i], 0, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_runs_by_hand),
      cmocka_unit_test(the_first_run_is_of_zeros),
      cmocka_unit_test(an_empty_mask_takes_no_bytes),
      cmocka_unit_test(a_byte_of_255_continues_its_run),
      cmocka_unit_test(like_planes_become_zeros),
      cmocka_unit_test(masks_of_all_sizes_return),
      cmocka_unit_test(the_longest_code_fits),
      cmocka_unit_test(refuses_runs_longer_than_the_tile),
      cmocka_unit_test(arbitrary_bytes_stay_inside_the_tile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
