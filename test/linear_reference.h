/* linear_reference.h - books, and streams in the linear layout as their definition has them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference writes one bit at a time and derives gaps and code counts from what they mean.
 * Every block has exactly the room it needs, so that a sanitizer sees a step beyond.
 */
#ifndef SZG_TEST_LINEAR_REFERENCE_H
#define SZG_TEST_LINEAR_REFERENCE_H

#include "huffman/huffman.h"
#include "support.h"

/* How the codes of a stream are distributed. */
enum {
  TEST_BOOK_LONE, /* one symbol */
  TEST_BOOK_TWO,
  TEST_BOOK_FLAT_4,
  TEST_BOOK_STEEP, /* lengths 1 to 16, from counts that want more */
  TEST_BOOK_SKEWED_1024,
  TEST_BOOK_FLAT_1024,
  TEST_BOOK_FLAT_65536,
  TEST_BOOK_COUNT
};

/* The book at work, and what coders make of it; too large for the stack. */
typedef struct test_coder {
  uint64_t counts[SZG_MAX_SYMBOLS];
  szg_codebook_work work;
  szg_codebook book;
  uint32_t table[SZG_MAX_SYMBOLS];
  szg_canonical_index index;
  szg_decode_table decode_table;
} test_coder;
extern test_coder coder;

extern size_t const test_code_counts[]; /* awkward ones */
extern size_t const test_code_count_count;

void test_build_book(int kind);

typedef struct test_stream {
  size_t code_count;
  uint16_t *codes;
  uint64_t *starts; /* bit of each code, and of the end */
  uint64_t bit_count, word_bytes, gap_count, gap_bytes, sequence_count;
  uint8_t *words, *gaps, *sequence_codes; /* as sections hold them */
} test_stream;

/* Random codes of the book. */
test_stream test_make_stream(size_t code_count, test_random *random);
/* Up to 700 bits of no stream, nothing but words; has_zeros: many of the bits are 0. */
test_stream test_make_garbage(bool has_zeros, test_random *random);
void test_stream_release(test_stream *s);
szg_linear_input test_input_of(const test_stream *s);

/* Memory that is not zero. */
void *test_block(size_t bytes);

#endif
