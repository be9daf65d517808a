/* linear_reference.c - books, and streams in the linear layout written by the definition.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "linear_reference.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"

test_coder coder;

size_t const test_code_counts[] = {1,   2,   3,   31,   32,   33,   63,   64,    65,   255,
                                   256, 257, 997, 4095, 4096, 4097, 7919, 32768, 70001};
size_t const test_code_count_count = ARRAY_COUNT(test_code_counts);

void *test_block(size_t bytes) {
  void *const memory = test_allocate(bytes);
  memset(memory, 0xA5, bytes);
  return memory;
}

/* ---- books and codes ---- */

void test_build_book(int kind) {
  static uint32_t const symbol_counts[TEST_BOOK_COUNT] = {1024,           4, 4, 64, 1024, 1024,
                                                          SZG_MAX_SYMBOLS};
  uint32_t const symbol_count = symbol_counts[kind];
  for (uint32_t s = 0; s < symbol_count; s++) {
    uint32_t const distance = s > 512 ? s - 512 : 512 - s;
    coder.counts[s] =
        kind == TEST_BOOK_LONE          ? s == 700
        : kind == TEST_BOOK_TWO         ? s == 1 || s == 2
        : kind == TEST_BOOK_STEEP       ? (s < 20 ? (uint64_t)1 << s : 0) /* lengths 1 to 16 */
        : kind == TEST_BOOK_SKEWED_1024 ? 1 + ((uint64_t)1 << 30 >> (distance < 30 ? distance : 30))
                                        : 1;
  }
  szg_codebook_build(coder.counts, symbol_count, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_encoder_table(&coder.book, coder.table);
  szg_canonical_index_build(&coder.book, &coder.index);
  szg_decode_table_build(&coder.book, &coder.decode_table);
}

/* A symbol of the book; shorter codes are likelier. */
static uint16_t random_symbol(test_random *random) {
  for (;;) {
    uint32_t const s = (uint32_t)test_random_below(random, coder.book.symbol_count);
    if (!coder.book.lengths[s]) continue;
    bool const is_taken = test_random_below(random, 4) == 0;
    if (is_taken || test_random_below(random, (uint64_t)1 << coder.book.lengths[s]) < 2)
      return (uint16_t)s;
  }
}

/* ---- a stream, by the definition ---- */

static void set_bit(uint8_t *words, uint64_t bit) {
  words[bit / 32 * 4 + 3 - bit % 32 / 8] |= (uint8_t)(0x80 >> bit % 8);
}

test_stream test_make_stream(size_t code_count, test_random *random) {
  test_stream s = {.code_count = code_count};
  s.codes = test_block(code_count * sizeof *s.codes);
  s.starts = test_block((code_count + 1) * sizeof *s.starts);
  for (size_t i = 0; i < code_count; i++) {
    s.codes[i] = random_symbol(random);
    s.starts[i] = s.bit_count;
    s.bit_count += coder.book.lengths[s.codes[i]];
  }
  s.starts[code_count] = s.bit_count;
  s.word_bytes = (s.bit_count + 31) / 32 * 4;
  s.gap_count = (s.bit_count + 255) / 256;
  s.gap_bytes = (s.gap_count + 1) / 2;
  s.sequence_count = (s.bit_count + 32767) / 32768;
  s.words = test_block(s.word_bytes);
  s.gaps = test_block(s.gap_bytes);
  s.sequence_codes = test_block(2 * s.sequence_count);
  memset(s.words, 0, s.word_bytes);
  memset(s.gaps, 0, s.gap_bytes);
  for (size_t i = 0; i < code_count; i++)
    for (uint32_t b = 0; b < coder.book.lengths[s.codes[i]]; b++)
      if (coder.book.codes[s.codes[i]] >> (coder.book.lengths[s.codes[i]] - 1 - b) & 1)
        set_bit(s.words, s.starts[i] + b);
  for (uint64_t g = 0, i = 0; g < s.gap_count; g++) {
    while (s.starts[i] < 256 * g) i++;
    s.gaps[g / 2] |= (uint8_t)((s.starts[i] - 256 * g) << g % 2 * 4);
  }
  for (uint64_t q = 0, i = 0; q < s.sequence_count; q++) {
    uint64_t const first = i;
    while (i < code_count && s.starts[i] < 32768 * (q + 1)) i++;
    szg_store_u16(s.sequence_codes + 2 * q, (uint16_t)(i - first));
  }
  return s;
}

test_stream test_make_garbage(bool has_zeros, test_random *random) {
  uint64_t const bit_count = 1 + test_random_below(random, 700);
  test_stream s = {.bit_count = bit_count, .word_bytes = (bit_count + 31) / 32 * 4};
  s.words = test_block(s.word_bytes);
  for (uint64_t i = 0; i < s.word_bytes; i++)
    s.words[i] = (uint8_t)(test_random_bits(random) & (has_zeros ? i : 255));
  return s;
}

void test_stream_release(test_stream *s) {
  free(s->codes);
  free(s->starts);
  free(s->words);
  free(s->gaps);
  free(s->sequence_codes);
}

szg_linear_input test_input_of(const test_stream *s) {
  return (szg_linear_input){s->words,      s->word_bytes, s->bit_count,
                            s->code_count, s->gaps,       s->sequence_codes};
}
