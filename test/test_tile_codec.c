/* test_tile_codec.c - tiles to 32 lanes of bits and back: coded by the format, or refused.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Words are in blocks of exactly their size, so that a sanitizer sees any access beyond them.
 */
#include <stdlib.h>
#include <string.h>

#include "codecs/lorenzo/tile_entries.h"
#include "codecs/lorenzo/tile_lanes.h"
#include "core/bytes.h"
#include "tile_reference.h"

typedef struct tile_shape {
  int ndim;
  uint32_t z, y, x;
} tile_shape;

static const tile_shape shapes[] = {
    {3, 16, 8, 32}, {3, 1, 1, 1},  {3, 1, 1, 32},   {3, 16, 1, 3},  {3, 3, 8, 31},  {3, 5, 5, 17},
    {3, 2, 2, 32},  {3, 7, 4, 1},  {3, 1, 7, 20},   {3, 16, 6, 32}, {3, 15, 3, 30}, {2, 1, 64, 64},
    {2, 1, 1, 1},   {2, 1, 1, 64}, {2, 1, 64, 1},   {2, 1, 7, 33},  {2, 1, 63, 32}, {2, 1, 13, 50},
    {2, 1, 3, 31},  {1, 1, 1, 1},  {1, 1, 1, 31},   {1, 1, 1, 32},  {1, 1, 1, 33},  {1, 1, 1, 255},
    {1, 1, 1, 257}, {1, 1, 1, 97}, {1, 1, 1, 4096}, {1, 1, 1, 4095}};

static szg_tile tile_of(const tile_shape *shape) {
  return test_make_tile(shape->ndim, shape->z, shape->y, shape->x);
}

/* Faster than cmocka's comparison, which goes byte by byte. */
static void assert_same(const void *a, const void *b, size_t bytes) {
  assert_int_equal(memcmp(a, b, bytes), 0);
}

static size_t value_bytes(const test_tile_case *c) { return c->lattice_bits / 8; }

/* ---- decoders ---- */

enum { PLAIN, BEST, SERIAL, DECODERS };

static bool decode(int decoder, const test_tile_case *c, const uint8_t *words, uint32_t word_count,
                   szg_tile_points *deltas) {
  memset(deltas, 0xA5, sizeof *deltas);
  if (decoder == SERIAL)
    return szg_tile_decode_serial(&coder.index, c->lattice_bits, c->zero_groups, &c->tile, words,
                                  word_count, deltas);
  if (decoder == BEST)
    return szg_tile_decode(&coder.decoder, c->lattice_bits, c->zero_groups, &c->tile, words,
                           word_count, deltas);
  return szg_tile_decode_by(szg_decode_lanes_plain, &coder.decoder, c->lattice_bits, c->zero_groups,
                            &c->tile, words, word_count, deltas);
}

/* All decoders must agree on these words, which they get at an odd address. */
static bool decoders_agree(const test_tile_case *c, const uint8_t *words, uint32_t word_count,
                           szg_tile_points *deltas) {
  static szg_tile_points found[DECODERS];
  bool is_good[DECODERS];
  uint8_t *const block = test_allocate(4 * (size_t)word_count + 1);
  memcpy(block + 1, words, 4 * (size_t)word_count);
  for (int d = 0; d < DECODERS; d++) is_good[d] = decode(d, c, block + 1, word_count, &found[d]);
  free(block);
  for (int d = 1; d < DECODERS; d++) {
    assert_int_equal(is_good[d], is_good[0]);
    if (is_good[0]) assert_same(&found[d], &found[0], sizeof found[0]);
  }
  *deltas = found[0];
  return is_good[0];
}

/* Compares the deltas, and checks that nothing was written beyond them. */
static void assert_deltas(const test_tile_case *c, const szg_tile_points *deltas) {
  static szg_tile_points untouched;
  memset(&untouched, 0xA5, sizeof untouched);
  size_t const used = c->tile.value_count * value_bytes(c);
  assert_same((const uint8_t *)deltas + used, &untouched, sizeof *deltas - used);
}

/* ---- tests ---- */

/* Encodes as the reference does, and decodes. Returns the number of words; 0: empty or raw. */
static uint32_t check_case(const test_tile_case *c, test_random *random, uint8_t *words) {
  static test_bits bits;
  szg_tile_points deltas;
  uint32_t const raw_words = c->tile.value_count * (1 + (uint32_t)test_random_below(random, 2));
  test_encode_tile(c, &bits);
  static uint8_t expected[4 * SZG_TILE_MAX_WORDS];
  uint32_t const expected_words = test_words_of_bits(&bits, expected, SZG_TILE_MAX_WORDS);
  deltas = c->deltas;
  size_t const used = c->tile.value_count * value_bytes(c);
  memset((uint8_t *)&deltas + used, (int)test_random_bits(random) & 255,
         sizeof deltas - used); /* padding may hold anything */
  uint8_t *const block = test_allocate(4 * (size_t)raw_words + 1);
  uint32_t const word_count = szg_tile_encode(&coder.encoder, c->lattice_bits, c->zero_groups,
                                              &c->tile, &deltas, raw_words, block + 1);
  memcpy(words, block + 1, 4 * (size_t)raw_words);
  free(block);
  assert_int_equal(word_count, expected_words < raw_words ? expected_words : raw_words);
  if (word_count == 0 || word_count == raw_words) return 0;
  assert_same(words, expected, 4 * (size_t)word_count);
  assert_true(decoders_agree(c, words, word_count, &deltas));
  assert_deltas(c, &deltas);
  assert_same(&deltas, &c->deltas, c->tile.value_count * value_bytes(c));
  return word_count;
}

static uint8_t tile_words[4 * SZG_TILE_MAX_WORDS];
static szg_tile_points results;

/* Codes 0: delta 0, 10: delta 1, 110: the escape, 111: class 18, which is 512 .. 767 by 8 bits. */
static void build_small_book(void) {
  uint64_t counts[SZG_TILE_SYMBOLS] = {0};
  counts[SZG_TILE_ZERO] = 4, counts[SZG_TILE_ZERO + 1] = 2;
  counts[SZG_ESCAPE_SYMBOL] = counts[SZG_TILE_POSITIVE_CLASS + 18] = 1;
  test_build_tile_book_of(counts);
}

/* 3 x 2 values of a 2-D field, in rows 0 and 2. Lane 0 has 10 0, lane 1 has no bits, lane 2 has 0
 * 111 01011000, 600 being 512 + 88. The head: 3 in 14 bits, width 4 for 12 - 3 in 4 bits, 1, the
 * mask 101 and 29 zeros, 0000 and 1001. 74 bits in all: 00000000000011 0100 1
 * 1010000000000|0000000000000000000 0000 1001 100 01|1101011000 */
static void a_small_tile_has_the_words_computed_by_hand(void **state) {
  (void)state;
  build_small_book();
  test_tile_case const c = {.ndim = 2,
                            .tile = test_make_tile(2, 1, 2, 3),
                            .lattice_bits = 32,
                            .deltas.i32 = {1, 0, 0, 0, 0, 600}};
  uint32_t const expected[3] = {0x000D3400, 0x00000131, 0xD6000000};
  assert_int_equal(
      szg_tile_encode(&coder.encoder, 32, SZG_ZERO_GROUPS_NONE, &c.tile, &c.deltas, 6, tile_words),
      3);
  assert_same(tile_words, expected, sizeof expected);
  assert_true(decoders_agree(&c, tile_words, 3, &results));
  assert_same(results.i32, c.deltas.i32, 6 * sizeof(int32_t));
}

static void every_kind_of_tile_comes_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static test_tile_case c;
  uint32_t coded_count = 0;
  for (int book = 0; book < TEST_BOOK_COUNT; book++) {
    for (size_t s = 0; s < ARRAY_COUNT(shapes); s++) {
      test_build_tile_book(book, &random);
      c.ndim = shapes[s].ndim;
      c.tile = tile_of(&shapes[s]);
      for (int kind = 0; kind < TEST_DELTAS_COUNT; kind++) {
        c.lattice_bits = 16u << (s + (size_t)(book + kind)) % 3;
        for (c.zero_groups = 0; c.zero_groups < SZG_ZERO_GROUPS_COUNT; c.zero_groups++) {
          test_make_deltas(&c, kind, &random);
          coded_count += check_case(&c, &random, tile_words) > 0;
        }
      }
    }
  }
  assert_true(coded_count > 1000);
}

static void any_extents_come_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static test_tile_case c;
  for (int round = 0; round < 600; round++) {
    if (round % 20 == 0)
      test_build_tile_book((int)test_random_below(&random, TEST_BOOK_COUNT), &random);
    uint32_t const x = 1 + (uint32_t)test_random_below(&random, 32);
    uint32_t const y = 1 + (uint32_t)test_random_below(&random, 64);
    uint32_t const z = 1 + (uint32_t)test_random_below(&random, 16);
    c.ndim = 1 + round % 3;
    c.tile = c.ndim == 3   ? test_make_tile(3, z, 1 + y % 8, x)
             : c.ndim == 2 ? test_make_tile(2, 1, y, x * 2 - y % 2)
                           : test_make_tile(1, 1, 1, x * y * 2 - z % 2);
    c.lattice_bits = 16u << test_random_below(&random, 3);
    c.zero_groups = (uint32_t)test_random_below(&random, SZG_ZERO_GROUPS_COUNT);
    test_make_deltas(&c, (int)test_random_below(&random, TEST_DELTAS_COUNT), &random);
    check_case(&c, &random, tile_words);
  }
}

/* The same words with one wrong bit, or fewer or more words. Returns how many were accepted. */
static uint32_t check_damaged(test_tile_case *c, uint32_t word_count) {
  uint32_t accepted_count = 0;
  for (uint32_t bit = 0; bit < 32 * word_count; bit++) {
    tile_words[bit / 8] ^= (uint8_t)(1 << bit % 8);
    bool const is_good = decoders_agree(c, tile_words, word_count, &results);
    if (is_good) assert_deltas(c, &results);
    accepted_count += is_good;
    tile_words[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (uint32_t fewer = 0; fewer < word_count; fewer++)
    assert_false(decoders_agree(c, tile_words, fewer, &results));
  memset(tile_words + 4 * word_count, 0, 4);
  assert_false(decoders_agree(c, tile_words, word_count + 1, &results));
  return accepted_count;
}

static void damaged_tiles_are_refused_or_other_tiles(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static const tile_shape small[] = {{2, 1, 6, 5}, {3, 2, 3, 4}, {1, 1, 1, 43}, {2, 1, 3, 40}};
  static test_tile_case c;
  uint32_t accepted_count = 0, tile_count = 0;
  for (int round = 0; round < 180; round++) {
    test_build_tile_book(round % TEST_BOOK_COUNT, &random);
    c.ndim = small[round % 4].ndim;
    c.tile = tile_of(&small[round % 4]);
    c.lattice_bits = 16u << round / 3 % 3;
    c.zero_groups = (uint32_t)round % 3;
    test_make_deltas(&c, round % 7 ? TEST_DELTAS_SMALL : TEST_DELTAS_EDGES, &random);
    uint32_t const word_count = check_case(&c, &random, tile_words);
    if (word_count == 0) continue;
    accepted_count += check_damaged(&c, word_count);
    tile_count++;
  }
  assert_true(tile_count > 30 && accepted_count > 100);
}

/* Correct heads followed by random bits, and tiles of random bits. */
static void garbage_is_refused_or_a_tile(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static test_tile_case c;
  uint32_t accepted_count = 0;
  for (int round = 0; round < 3000; round++) {
    const tile_shape *const shape = &shapes[test_random_below(&random, ARRAY_COUNT(shapes))];
    if (round % 50 == 0)
      test_build_tile_book((int)test_random_below(&random, TEST_BOOK_COUNT), &random);
    c.ndim = shape->ndim;
    c.tile = tile_of(shape);
    c.lattice_bits = 16u << test_random_below(&random, 3);
    c.zero_groups = (uint32_t)test_random_below(&random, SZG_ZERO_GROUPS_COUNT);
    test_make_deltas(&c, TEST_DELTAS_SMALL, &random);
    uint32_t const word_count = szg_tile_encode(&coder.encoder, c.lattice_bits, c.zero_groups,
                                                &c.tile, &c.deltas, SZG_TILE_MAX_WORDS, tile_words);
    if (word_count == 0 || word_count == SZG_TILE_MAX_WORDS) continue;
    uint32_t const first_byte = round % 3 ? 8 : 0, end_byte = 4 * word_count;
    uint32_t const flips = 1 + (uint32_t)test_random_below(&random, round % 2 ? 4 : 200);
    for (uint32_t i = 0; i < flips && first_byte < end_byte; i++)
      tile_words[first_byte + test_random_below(&random, end_byte - first_byte)] ^=
          (uint8_t)test_random_bits(&random);
    bool const is_good = decoders_agree(&c, tile_words, word_count, &results);
    if (is_good) assert_deltas(&c, &results);
    accepted_count += is_good;
  }
  assert_true(accepted_count > 30);
}

/* Whether decoders accept a tile with that head, and zeros for all excesses and lanes. */
static bool head_is_taken(uint32_t least, uint32_t width, uint32_t mask, uint32_t zero_count) {
  static test_bits bits;
  bits.count = 0;
  test_add_bits(&bits, least, 14);
  test_add_bits(&bits, width, 4);
  test_add_bits(&bits, 1, 1);
  test_add_bits(&bits, mask, 32);
  for (uint32_t m = mask; m; m &= m - 1) test_add_bits(&bits, 0, width);
  for (uint32_t i = 0; i < zero_count; i++) test_add_bits(&bits, 0, 1);
  uint32_t const word_count = test_words_of_bits(&bits, tile_words, SZG_TILE_MAX_WORDS);
  test_tile_case const c = {.ndim = 2, .tile = test_make_tile(2, 1, 4, 32), .lattice_bits = 32};
  return decoders_agree(&c, tile_words, word_count, &results);
}

static void heads_that_no_tile_has_are_refused(void **state) {
  (void)state;
  build_small_book();
  assert_true(head_is_taken(4, 0, UINT32_MAX, 128)); /* four codes 0 in each lane */
  assert_true(head_is_taken(4, 14, 0x80000001, 8));
  assert_false(head_is_taken(4, 15, 0x80000001, 8));
  assert_false(head_is_taken(3, 0, UINT32_MAX, 96));
  assert_false(head_is_taken(5, 0, UINT32_MAX, 160));
  assert_false(head_is_taken(0, 0, UINT32_MAX, 0));
  assert_false(head_is_taken(0, 0, 0, 0));
  assert_false(head_is_taken(4, 0, 0, 0));
  assert_false(head_is_taken(16383, 0, UINT32_MAX, 128));
}

/* With any of the processor's vector instructions. */
static void entries_of_deltas_are_those_of_the_table(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static szg_tile_encoder encoder;
  static szg_tile_points deltas;
  static uint32_t found[SZG_TILE_VALUES], plain[SZG_TILE_VALUES];
  for (int32_t i = 1; i < 2 * SZG_TILE_DIRECT; i++) encoder.direct[i] = (uint32_t)i;
  for (uint32_t round = 0; round < 60; round++) {
    uint32_t const lattice_bits = 16u << round % 3;
    uint32_t const count = 1 + (uint32_t)test_random_below(&random, SZG_TILE_VALUES);
    for (uint32_t i = 0; i < count; i++) {
      int64_t const delta = (int64_t)test_random_bits(&random) >> (53 - 2 * (round % 5));
      if (lattice_bits == 16)
        deltas.i16[i] = (int16_t)delta;
      else if (lattice_bits == 32)
        deltas.i32[i] = (int32_t)delta;
      else
        deltas.i64[i] = delta;
    }
    szg_find_entries_plain(&encoder, lattice_bits, &deltas, count, plain);
    SZG_WITH_AVX2(szg_find_entries_avx2, szg_find_entries_plain)
    (&encoder, lattice_bits, &deltas, count, found);
    assert_same(found, plain, count * sizeof *found);
    for (uint32_t i = 0; i < count; i++) {
      int64_t const delta = lattice_bits == 16   ? deltas.i16[i]
                            : lattice_bits == 32 ? deltas.i32[i]
                                                 : deltas.i64[i];
      assert_int_equal(plain[i], delta > -512 && delta < 512 ? (uint64_t)(delta + 512) : 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_tile_has_the_words_computed_by_hand),
      cmocka_unit_test(every_kind_of_tile_comes_back),
      cmocka_unit_test(any_extents_come_back),
      cmocka_unit_test(damaged_tiles_are_refused_or_other_tiles),
      cmocka_unit_test(garbage_is_refused_or_a_tile),
      cmocka_unit_test(heads_that_no_tile_has_are_refused),
      cmocka_unit_test(entries_of_deltas_are_those_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
