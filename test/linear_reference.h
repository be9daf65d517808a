/* linear_reference.h - books, and streams in the linear layout written by the definition.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference writes one bit at a time and derives gaps and code counts from what they mean.
 * Every block has exactly the size it needs, so that a sanitizer sees any access beyond it.
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
  TEST_BOOK_STEEP, /* lengths 1 to 16, limited: the counts alone would give longer ones */
  TEST_BOOK_SKEWED_1024,
  TEST_BOOK_FLAT_1024,
  TEST_BOOK_FLAT_65536,
  TEST_BOOK_COUNT
};

/* The current book and the coders' tables for it; too large for the stack. */
typedef struct test_coder {
  uint64_t counts[SZG_MAX_SYMBOLS];
  szg_codebook_work work;
  szg_codebook book;
  uint32_t table[SZG_MAX_SYMBOLS];
  szg_canonical_index index;
  szg_decode_table decode_table;
} test_coder;
extern test_coder coder;

extern size_t const test_code_counts[]; /* awkward numbers of codes */
extern size_t const test_code_count_count;

void test_build_book(int kind);

typedef struct test_stream {
  size_t code_count;
  uint16_t *codes;
  uint64_t *starts; /* first bit of each code, then the end */
  uint64_t bit_count, word_bytes, gap_count, gap_bytes, sequence_count;
  uint8_t *words, *gaps, *sequence_codes; /* as in sections */
} test_stream;

/* Random codes of the book. */
test_stream test_make_stream(size_t code_count, test_random *random);
/* Words only, with up to 700 arbitrary bits that no encoder wrote; has_zeros: many bits are 0. */
test_stream test_make_garbage(bool has_zeros, test_random *random);
void test_stream_release(test_stream *s);
szg_linear_input test_input_of(const test_stream *s);

/* Allocated memory that is not zero. */
void *test_block(size_t bytes);

#endif
