/* test_codebook_section.c - codebook sections: written, read back, and refused if malformed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/huffman.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Too large for the stack. */
static szg_codebook book, read_back;
static szg_codebook_work work;
static uint64_t counts[SZG_MAX_SYMBOLS];
static uint8_t bytes[SZG_CODEBOOK_MAX_BYTES];

static void clear_counts(void) { memset(counts, 0, sizeof counts); }

static void build(uint32_t symbol_count) {
  szg_codebook_build(counts, symbol_count, SZG_MAX_CODE_BITS, &book, &work);
}

/* Kraft's sum in units of 2^-16. */
static uint32_t kraft_sum(const szg_codebook *b) {
  uint32_t sum = 0;
  for (uint32_t s = 0; s < b->symbol_count; s++)
    if (b->lengths[s]) sum += 1u << (SZG_MAX_CODE_BITS - b->lengths[s]);
  return sum;
}

static void comes_back(uint32_t symbol_count) {
  build(symbol_count);
  size_t const byte_count = szg_codebook_write(&book, bytes);
  assert_in_range(byte_count, 6, SZG_CODEBOOK_MAX_BYTES);
  memset(&read_back, 0xA5, sizeof read_back);
  assert_int_equal(szg_codebook_read(bytes, byte_count, symbol_count, &read_back), SZGPU_OK);
  assert_int_equal(read_back.symbol_count, symbol_count);
  assert_memory_equal(read_back.lengths, book.lengths, symbol_count);
  for (uint32_t s = 0; s < symbol_count; s++)
    if (book.lengths[s]) assert_int_equal(read_back.codes[s], book.codes[s]);
}

static void books_of_every_size_come_back(void **state) {
  (void)state;
  uint32_t const symbol_counts[] = {4, 6, 34, 1022, 1024, 1026, 4096, SZG_MAX_SYMBOLS};
  test_random random = test_random_begin();
  for (uint32_t i = 0; i < 40; i++) {
    uint32_t const symbol_count = symbol_counts[i % 8];
    for (uint32_t s = 0; s < symbol_count; s++)
      counts[s] = test_random_below(&random, 3)
                      ? test_random_bits(&random) >> (24 + test_random_below(&random, 37))
                      : 0;
    if (i % 5 == 0) counts[SZG_ESCAPE_SYMBOL] = 1;
    comes_back(symbol_count);
  }
  for (uint32_t lone = 0; lone < 4; lone++) {
    clear_counts();
    counts[lone] = 9;
    comes_back(4);
  }
  clear_counts();
  comes_back(1024); /* no symbol at all */
}

static void is_written_as_the_format_says(void **state) {
  (void)state;
  clear_counts();
  counts[0] = 1, counts[3] = 4, counts[4] = 2, counts[5] = 1;
  build(8);
  uint8_t const expected[] = {3, 0, 3, 0, 3, 0, 0x01, 0x02, 0x03};
  assert_int_equal(szg_codebook_write(&book, bytes), sizeof expected);
  assert_memory_equal(bytes, expected, sizeof expected);
  for (uint32_t s = 0; s < 1024; s++) counts[s] = s >= 256 && s < 512;
  build(1024);
  assert_int_equal(szg_codebook_write(&book, bytes), 6 + 256 / 8);
  assert_int_equal(bytes[6], 7 << 5 | 8); /* length 8, eight times */
}

/* Reads the bytes from a block of exactly their size, so that a sanitizer sees a read beyond it. */
static szgpu_status read_of(const uint8_t *some, size_t byte_count, uint32_t symbol_count) {
  uint8_t *const copy = test_allocate(byte_count);
  if (byte_count) memcpy(copy, some, byte_count);
  szgpu_status const status = szg_codebook_read(copy, byte_count, symbol_count, &read_back);
  free(copy);
  return status;
}

/* A book of 8 symbols: six head bytes, then the lengths from symbol 1 on. */
#define READ(...) read_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), 8)

static void reads_what_is_sound(void **state) {
  (void)state;
  assert_int_equal(READ(0, 0, 3, 0, 2, 0, 1, 1), SZGPU_OK);
  assert_int_equal(READ(1, 0, 3, 0, 1, 0, 1), SZGPU_OK);
  assert_int_equal(READ(0, 0, 1, 0, 7, 0, 1, 2, 3, 4, 5, 1 << 5 | 6), SZGPU_OK);
}

static void refuses_oversubscribed_lengths(void **state) {
  (void)state;
  assert_int_equal(READ(1, 0, 3, 0, 2, 0, 1, 1), SZGPU_BAD_DATA);
  assert_int_equal(READ(16, 0, 3, 0, 2, 0, 1, 1), SZGPU_BAD_DATA);
  assert_int_equal(READ(0, 0, 1, 0, 7, 0, 6 << 5 | 1), SZGPU_BAD_DATA);
  uint8_t all_of_one_bit[6 + 8192] = {1, 0, 1, 0, 0xFF, 0xFF};
  memset(all_of_one_bit + 6, 7 << 5 | 1, 8192);
  all_of_one_bit[6 + 8191] = 6 << 5 | 1;
  assert_int_equal(read_of(all_of_one_bit, sizeof all_of_one_bit, SZG_MAX_SYMBOLS), SZGPU_BAD_DATA);
}

static void refuses_undersubscribed_lengths(void **state) {
  (void)state;
  assert_int_equal(READ(0, 0, 3, 0, 2, 0, 1, 2), SZGPU_BAD_DATA);
  assert_int_equal(READ(0, 0, 3, 0, 1, 0, 2), SZGPU_BAD_DATA); /* a lone symbol takes one bit */
  assert_int_equal(READ(16, 0, 1, 0, 0, 0), SZGPU_BAD_DATA);
}

static void refuses_lengths_over_the_limit(void **state) {
  (void)state;
  assert_int_equal(READ(17, 0, 3, 0, 2, 0, 1, 1), SZGPU_BAD_DATA);
  assert_int_equal(READ(255, 0, 3, 0, 2, 0, 1, 1), SZGPU_BAD_DATA);
  for (uint8_t length = 17; length < 32; length++)
    assert_int_equal(READ(0, 0, 3, 0, 3, 0, 1, 1, length), SZGPU_BAD_DATA);
}

static void refuses_symbols_out_of_place(void **state) {
  (void)state;
  assert_int_equal(READ(0, 0, 0, 0, 2, 0, 1, 1), SZGPU_BAD_DATA); /* 0 is the escape */
  assert_int_equal(READ(0, 0, 7, 0, 2, 0, 1, 1), SZGPU_BAD_DATA); /* beyond the alphabet */
  assert_int_equal(READ(0, 0, 255, 255, 2, 0, 1, 1), SZGPU_BAD_DATA);
  assert_int_equal(READ(0, 0, 3, 0, 255, 255, 1, 1), SZGPU_BAD_DATA);
  assert_int_equal(READ(0, 1, 3, 0, 2, 0, 1, 1), SZGPU_BAD_DATA); /* byte 1 is 0 */
}

static void refuses_runs_that_do_not_end_with_the_symbols(void **state) {
  (void)state;
  assert_int_equal(READ(0, 0, 3, 0, 2, 0, 2 << 5 | 1), SZGPU_BAD_DATA);
  assert_int_equal(READ(0, 0, 3, 0, 2, 0, 1, 1, 0), SZGPU_BAD_DATA);
  assert_int_equal(READ(0, 0, 3, 0, 3, 0, 1, 1), SZGPU_BAD_DATA);
}

static void reads_books_that_another_writer_may_write(void **state) {
  (void)state;
  assert_int_equal(READ(0, 0, 2, 0, 3, 0, 0, 1, 1), SZGPU_OK);    /* the first symbol has no code */
  assert_int_equal(READ(0, 0, 3, 0, 3, 0, 1, 1, 0), SZGPU_OK);    /* the last symbol has none */
  assert_int_equal(READ(0, 0, 2, 0, 4, 0, 2, 2, 2, 2), SZGPU_OK); /* a run in two pieces */
}

static void refuses_a_truncated_book_at_every_byte(void **state) {
  (void)state;
  for (uint32_t s = 0; s < 1024; s++) counts[s] = 1 + s * s % 77;
  build(1024);
  size_t const byte_count = szg_codebook_write(&book, bytes);
  assert_int_equal(read_of(bytes, byte_count, 1024), SZGPU_OK);
  for (size_t cut = 0; cut < byte_count; cut++)
    assert_int_equal(read_of(bytes, cut, 1024), SZGPU_BAD_DATA);
}

static void a_book_of_random_bytes_is_refused_or_a_prefix_code(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int accepted_count = 0;
  for (int i = 0; i < 20000; i++) {
    uint8_t some[14] = {0, 0, 1, 0, 7, 0};
    size_t const byte_count = 6 + test_random_below(&random, 8);
    some[0] = (uint8_t)test_random_below(&random, 5);
    for (size_t k = 6; k < byte_count; k++)
      some[k] = (uint8_t)(test_random_below(&random, 3) << 5 | test_random_below(&random, 5));
    if (read_of(some, byte_count, 8) != SZGPU_OK) continue;
    accepted_count++;
    uint32_t const sum = kraft_sum(&read_back);
    assert_true(sum == 65536 || sum == 32768 || sum == 0);
  }
  assert_true(accepted_count > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(books_of_every_size_come_back),
      cmocka_unit_test(is_written_as_the_format_says),
      cmocka_unit_test(reads_what_is_sound),
      cmocka_unit_test(refuses_oversubscribed_lengths),
      cmocka_unit_test(refuses_undersubscribed_lengths),
      cmocka_unit_test(refuses_lengths_over_the_limit),
      cmocka_unit_test(refuses_symbols_out_of_place),
      cmocka_unit_test(refuses_runs_that_do_not_end_with_the_symbols),
      cmocka_unit_test(reads_books_that_another_writer_may_write),
      cmocka_unit_test(refuses_a_truncated_book_at_every_byte),
      cmocka_unit_test(a_book_of_random_bytes_is_refused_or_a_prefix_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
