/* tile_reference.h - books, tiles, and the tile layout written by the definition.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference writes one bit at a time, in the order that the format gives.
 */
#ifndef SZG_TEST_TILE_REFERENCE_H
#define SZG_TEST_TILE_REFERENCE_H

#include "codecs/lorenzo/tile.h"
#include "support.h"

/* The current book and the coders' tables for it. */
typedef struct test_tile_coder {
  szg_codebook_work work;
  szg_codebook book;
  szg_tile_encoder encoder;
  szg_tile_decoder decoder;
  szg_canonical_index index;
} test_tile_coder;
extern test_tile_coder coder;

enum {
  TEST_BOOK_TWO, /* escape and delta 0 */
  TEST_BOOK_STEEP,
  TEST_BOOK_CLASSES,
  TEST_BOOK_FLAT,
  TEST_BOOK_RANDOM,
  TEST_BOOK_COUNT
};
void test_build_tile_book(int kind, test_random *random);
void test_build_tile_book_of(const uint64_t *counts); /* by symbol */

/* The last tile of a field with `ndim` axes and these extents. */
szg_tile test_make_tile(int ndim, uint32_t z_extent, uint32_t y_extent, uint32_t x_extent);

/* A tile, how it is coded, and its deltas in the decoders' order. */
typedef struct test_tile_case {
  int ndim;
  szg_tile tile;
  uint32_t lattice_bits, zero_groups;
  szg_tile_points deltas;
} test_tile_case;

enum {
  TEST_DELTAS_ZERO,
  TEST_DELTAS_ONE_VALUE,
  TEST_DELTAS_SPARSE,
  TEST_DELTAS_SMALL,
  TEST_DELTAS_ALTERNATING,
  TEST_DELTAS_EDGES, /* edges of classes, of direct deltas and of the lattice */
  TEST_DELTAS_ONE_LANE,
  TEST_DELTAS_SOME_LANES,
  TEST_DELTAS_BITS,
  TEST_DELTAS_COUNT
};
void test_make_deltas(test_tile_case *c, int kind, test_random *random);

/* Bits, one byte each. */
typedef struct test_bits {
  uint32_t count;
  uint8_t bits[SZG_LANES * (SZG_LANE_CODES * (SZG_TILE_CODE_BITS + 65) + 16)];
} test_bits;
void test_add_bits(test_bits *row, uint64_t bits, uint32_t count);
/* Pads the bits with zeros to whole words and returns their number. Writes up to room_words. */
uint32_t test_words_of_bits(test_bits *row, uint8_t *words, uint32_t room_words);

/* The tile's bits. */
void test_encode_tile(const test_tile_case *c, test_bits *bits);

#endif
