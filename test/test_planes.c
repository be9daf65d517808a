/* test_planes.c - tiles of lossless frames: coded by the format, restored bit for bit, or refused.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Words, stored planes and values are in blocks of exactly their size, at odd addresses, so that a
 * sanitizer sees any access beyond them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "planes_reference.h"

enum { GUARD = 64, GUARD_BYTE = 0xA5 };

static uint32_t const widths[] = {1, 2, 4, 8};

static uint32_t const value_counts[] = {1,   2,   3,   4,    5,    31,   32,   33,   124,
                                        125, 127, 128, 129,  131,  255,  256,  257,  260,
                                        509, 640, 997, 1000, 2048, 3967, 4093, 4095, 4096};

/* ---- planes to code ---- */

enum { LONE, PAIR, EVEN, GEOMETRIC, SKEWED, FEW, PLANE_KINDS };

static uint8_t random_symbol(int kind, test_random *random) {
  uint64_t const bits = test_random_bits(random);
  uint32_t const zeros = (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
  switch (kind) {
    case LONE:
      return 37;
    case PAIR:
      return bits % 16 == 0 ? 255 : 0;
    case EVEN:
      return (uint8_t)(bits >> 8);
    case GEOMETRIC:
      return (uint8_t)(127 - zeros);
    case SKEWED:
      return zeros < 6 ? 200 : (uint8_t)(bits >> 40);
    default:
      return (uint8_t)(bits % 3 * 85);
  }
}

/* A tile, and the choice that codes it. */
typedef struct plane_case {
  szg_planes_choice choice;
  uint32_t value_count;
  uint8_t values[SZG_TILE_VALUES * SZG_PLANES_MOST];
} plane_case;

static szg_codebook book;
static szg_codebook_work book_work;

/* Gives codes to all symbols that occur, and to two symbols at least. */
static void build_lengths(const uint64_t *found, uint8_t *lengths) {
  uint64_t counts[SZG_PLANES_SYMBOLS];
  memcpy(counts, found, sizeof counts);
  counts[3]++, counts[250]++;
  szg_codebook_build(counts, SZG_PLANES_SYMBOLS, SZG_PLANES_CODE_BITS, &book, &book_work);
  memcpy(lengths, book.lengths, SZG_PLANES_SYMBOLS);
}

/* Random planes, with random modes among those they allow. */
static void make_case(uint32_t value_bytes, uint32_t value_count, test_random *random,
                      plane_case *c) {
  memset(&c->choice, 0, sizeof c->choice);
  c->choice.layout.value_bytes = value_bytes;
  c->value_count = value_count;
  for (uint32_t plane = 0; plane < value_bytes; plane++) {
    int const kind = (int)test_random_below(random, PLANE_KINDS);
    uint32_t mode = (uint32_t)test_random_below(random, SZG_PLANE_MODES);
    if (mode == SZG_PLANE_CONSTANT && kind != LONE) mode = SZG_PLANE_CODED;
    for (uint32_t i = 0; i < value_count; i++)
      test_set_plane_symbol(c->values + (size_t)i * value_bytes, value_bytes, plane,
                            random_symbol(kind, random));
    c->choice.layout.modes |= mode << 2 * plane;
    if (mode == SZG_PLANE_CONSTANT)
      c->choice.layout.constant_bits |= (uint64_t)random_symbol(LONE, random) << 8 * plane;
  }
  assert_int_equal(szg_planes_layout_check(&c->choice.layout), SZGPU_OK);
  szg_planes_counts counts;
  memset(&counts, 0, sizeof counts);
  szg_planes_count(c->values, value_count, value_bytes, &counts);
  for (uint32_t plane = 0; plane < value_bytes; plane++)
    if (szg_plane_mode(c->choice.layout.modes, plane) == SZG_PLANE_CODED)
      build_lengths(counts.planes[plane], c->choice.lengths[plane]);
}

/* ---- both ways ---- */

typedef struct coded_case {
  uint32_t word_count;
  uint8_t words[4 * SZG_PLANES_TILE_MOST_WORDS];
  uint64_t stored_stride;
  uint8_t stored[SZG_PLANES_MOST * SZG_TILE_VALUES];
} coded_case;

static void *block_of(const void *bytes, size_t byte_count) {
  uint8_t *const block = test_allocate(byte_count + 1);
  if (bytes) memcpy(block + 1, bytes, byte_count);
  return block;
}

static void encode(const plane_case *c, coded_case *coded) {
  static szg_planes_encoder encoder;
  szg_planes_encoder_build(&c->choice, &encoder);
  const szg_planes_layout *const layout = &c->choice.layout;
  size_t const stored_bytes = szg_planes_stored_bytes(layout, c->value_count);
  coded->stored_stride = szg_stored_plane_bytes(c->value_count);
  uint8_t *const values = block_of(c->values, (size_t)c->value_count * layout->value_bytes);
  uint8_t *const words = block_of(NULL, 4 * (size_t)szg_planes_most_words(layout));
  uint8_t *const stored = block_of(NULL, stored_bytes);
  memset(stored + 1, GUARD_BYTE, stored_bytes);
  assert_true(
      szg_planes_encode_tile(&encoder, values + 1, c->value_count, words + 1, &coded->word_count));
  szg_planes_store_tile(layout, values + 1, c->value_count, stored + 1, coded->stored_stride);
  memcpy(coded->words, words + 1, 4 * (size_t)coded->word_count);
  memcpy(coded->stored, stored + 1, stored_bytes);
  free(values);
  free(words);
  free(stored);
}

/* Both decoders must agree. Returns whether the words are a tile's, and gives its values. */
static bool decode(const plane_case *c, const coded_case *coded, uint8_t *values) {
  static szg_planes_decoder decoder;
  const szg_planes_layout *const layout = &c->choice.layout;
  szg_planes_decoder_build(layout, (uint8_t(*)[SZG_PLANES_SYMBOLS])c->choice.lengths, &decoder);
  size_t const value_bytes = (size_t)c->value_count * layout->value_bytes;
  static uint8_t expected[sizeof c->values];
  uint8_t *const words = block_of(coded->words, 4 * (size_t)coded->word_count);
  uint8_t *const stored = block_of(coded->stored, szg_planes_stored_bytes(layout, c->value_count));
  uint8_t *const found = block_of(NULL, value_bytes);
  szgpu_status const status =
      szg_planes_decode_tile(&decoder, words + 1, coded->word_count, stored + 1,
                             coded->stored_stride, c->value_count, found + 1);
  bool const is_good =
      test_decode_planes(&c->choice, coded->words, coded->word_count, coded->stored,
                         coded->stored_stride, c->value_count, expected);
  assert_int_equal(status, is_good ? SZGPU_OK : SZGPU_BAD_DATA);
  if (is_good) {
    assert_int_equal(memcmp(found + 1, expected, value_bytes), 0);
    memcpy(values, expected, value_bytes);
  }
  free(words);
  free(stored);
  free(found);
  return is_good;
}

/* ---- tests ---- */

static plane_case tile;
static coded_case coded, damaged;
static uint8_t restored[sizeof tile.values];

/* Codes 0: 7, 10: 8, 11: 9. Lane 0 has the first four of 5 bytes, 0 10 11 0, lane 1 the last, 10,
 * and the others nothing: least 0, width 3, and the excess 110 010 and thirty times 000. */
static void codes_by_hand(void **state) {
  (void)state;
  memset(&tile, 0, sizeof tile);
  tile.choice.layout = (szg_planes_layout){.value_bytes = 1, .modes = SZG_PLANE_CODED};
  tile.choice.lengths[0][7] = 1, tile.choice.lengths[0][8] = 2, tile.choice.lengths[0][9] = 2;
  tile.value_count = 5;
  memcpy(tile.values, "\7\10\11\7\10", 5);
  encode(&tile, &coded);
  uint32_t const expected[] = {0x30000, 0xC8000000, 0, 0, 0x5A000000};
  assert_int_equal(coded.word_count, ARRAY_COUNT(expected));
  for (size_t i = 0; i < ARRAY_COUNT(expected); i++)
    assert_int_equal(szg_load_u32(coded.words + 4 * i), expected[i]);
  assert_true(decode(&tile, &coded, restored));
  assert_memory_equal(restored, tile.values, 5);
}

/* 0xC001 turned is 0x8003. As in the format's text, plane 0 is the mantissa and the sign. */
static void turns_values(void **state) {
  (void)state;
  assert_int_equal(szg_planes_turned(0xC001, 2), 0x8003);
  for (size_t w = 0; w < ARRAY_COUNT(widths); w++)
    for (uint32_t i = 0; i < 1000; i++) {
      uint64_t const bits = test_hash(i) >> (64 - 8 * widths[w]);
      uint8_t value[8];
      szg_store_u64(value, bits);
      uint64_t const turned = szg_planes_turned(bits, widths[w]);
      for (uint32_t plane = 0; plane < widths[w]; plane++)
        assert_int_equal(turned >> 8 * plane & 255, test_plane_symbol(value, widths[w], plane));
      assert_true(szg_planes_turned_back(turned, widths[w]) == bits);
    }
}

static void check_case(void) {
  static uint8_t expected[4 * SZG_PLANES_TILE_MOST_WORDS];
  encode(&tile, &coded);
  uint32_t const word_count =
      test_encode_planes(&tile.choice, tile.values, tile.value_count, expected);
  assert_int_equal(coded.word_count, word_count);
  assert_int_equal(memcmp(coded.words, expected, 4 * (size_t)word_count), 0);
  uint32_t const value_bytes = tile.choice.layout.value_bytes;
  const uint8_t *stored = coded.stored;
  for (uint32_t plane = 0; plane < value_bytes; plane++) {
    if (szg_plane_mode(tile.choice.layout.modes, plane) != SZG_PLANE_STORED) continue;
    for (uint32_t i = 0; i < coded.stored_stride; i++) {
      const uint8_t *const value = tile.values + (size_t)i * value_bytes;
      assert_int_equal(stored[i],
                       i < tile.value_count ? test_plane_symbol(value, value_bytes, plane) : 0);
    }
    stored += coded.stored_stride;
  }
  assert_true(decode(&tile, &coded, restored));
  assert_int_equal(memcmp(restored, tile.values, (size_t)tile.value_count * value_bytes), 0);
}

static void restores_every_size(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (size_t w = 0; w < ARRAY_COUNT(widths); w++)
    for (size_t n = 0; n < ARRAY_COUNT(value_counts); n++)
      for (uint32_t i = 0; i < 3; i++) {
        make_case(widths[w], value_counts[n], &random, &tile);
        check_case();
      }
}

/* Lanes of 1536 bits and of 128: the widest head and the longest lanes possible. */
static void codes_the_extremes(void **state) {
  (void)state;
  memset(&tile, 0, sizeof tile);
  tile.choice.layout = (szg_planes_layout){.value_bytes = 1, .modes = SZG_PLANE_CODED};
  for (uint32_t s = 0; s < 13; s++) tile.choice.lengths[0][s] = (uint8_t)(s < 12 ? s + 1 : 12);
  tile.value_count = SZG_TILE_VALUES;
  memset(tile.values, 12, SZG_TILE_VALUES);
  check_case();
  assert_int_equal(coded.word_count, 1 + 32 * 1536 / 32);
  for (uint32_t i = 0; i < SZG_TILE_VALUES; i++)
    if (i % 128 / 4 == 17) tile.values[i] = 0;
  check_case();
  assert_int_equal(coded.word_count, 1 + 11 + (31 * 1536 + 128) / 32);
  assert_int_equal(szg_load_u32(coded.words), 11 << 16 | 128);
}

/* A symbol without a code, or another value in a constant plane, anywhere in the tile. */
static void notices_symbols_that_were_not_counted(void **state) {
  (void)state;
  static szg_planes_encoder encoder;
  static uint8_t words[4 * SZG_PLANE_MOST_WORDS];
  memset(&tile, 0, sizeof tile);
  tile.choice.layout = (szg_planes_layout){2, SZG_PLANE_CONSTANT | SZG_PLANE_CODED << 2, 0};
  tile.choice.lengths[1][4] = 1, tile.choice.lengths[1][6] = 1;
  szg_planes_encoder_build(&tile.choice, &encoder);
  for (size_t n = 0; n < ARRAY_COUNT(value_counts); n++)
    for (uint32_t i = 0; i < value_counts[n]; i += 1 + i / 7) {
      uint32_t word_count;
      for (uint32_t k = 0; k < value_counts[n]; k++)
        szg_store_u16(tile.values + 2 * k, k % 3 ? 0x200 : 0x300);
      assert_true(
          szg_planes_encode_tile(&encoder, tile.values, value_counts[n], words, &word_count));
      szg_store_u16(tile.values + 2 * i, 0x280);
      assert_false(
          szg_planes_encode_tile(&encoder, tile.values, value_counts[n], words, &word_count));
      szg_store_u16(tile.values + 2 * i, 0x204);
      assert_false(
          szg_planes_encode_tile(&encoder, tile.values, value_counts[n], words, &word_count));
    }
}

/* ---- damage ---- */

static void damage(test_random *random) {
  damaged = coded;
  switch (test_random_below(random, 8)) {
    case 0:
      damaged.word_count--;
      break;
    case 1:
      damaged.word_count += 1 + (uint32_t)test_random_below(random, 40);
      memset(damaged.words + 4 * (size_t)coded.word_count, 0,
             4 * (size_t)(damaged.word_count - coded.word_count));
      break;
    case 2:
      szg_store_u32(damaged.words, (uint32_t)test_random_bits(random));
      break;
    case 3:
      szg_store_u32(damaged.words, (uint32_t)(test_random_below(random, 13) << 16 |
                                              test_random_below(random, 1700)));
      break;
    default:
      for (uint64_t i = 0; i <= test_random_below(random, 3); i++) {
        uint64_t const near = 8 * (uint64_t)test_random_below(random, 52);
        uint64_t const bit = test_random_below(random, 2)
                                 ? near
                                 : test_random_below(random, 32 * (uint64_t)coded.word_count);
        if (bit / 8 < 4 * (uint64_t)coded.word_count)
          damaged.words[bit / 8] ^= (uint8_t)(1u << test_random_below(random, 8));
      }
  }
}

static void refuses_damaged_words(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint32_t refused = 0, tried = 0;
  while (tried < 2000) {
    uint32_t const width = widths[test_random_below(&random, ARRAY_COUNT(widths))];
    uint32_t const value_count = test_random_below(&random, 4)
                                     ? 1 + (uint32_t)test_random_below(&random, 600)
                                     : 1 + (uint32_t)test_random_below(&random, SZG_TILE_VALUES);
    make_case(width, value_count, &random, &tile);
    encode(&tile, &coded);
    if (coded.word_count == 0) continue;
    for (uint32_t i = 0; i < 5; i++, tried++) {
      damage(&random);
      refused += !decode(&tile, &damaged, restored);
    }
  }
  assert_true(refused > tried / 2); /* the rest are words of other tiles */
}

/* Breaks one rule at a time. */
static void refuses_each_fault(void **state) {
  (void)state;
  codes_by_hand(NULL);
  uint32_t const lanes_word = 4;
  struct {
    uint32_t word, bits;
  } const faults[] = {
      {0, 0xC0000},    /* width 12 */
      {0, 0x4030000},  /* bits above the width */
      {0, 0x30001},    /* one bit for each lane without symbols */
      {0, 0x20000},    /* another width */
      {1, 0xA8000000}, /* lane 0 ends a bit early */
      {1, 0xE8000000}, /* lane 0 ends a bit late */
      {1, 0xC0000000}, /* lane 1 has a symbol and no bits */
      {1, 0xD8000000}, /* lane 1 ends late */
      {3, 1},          /* the last lane has a bit */
      {4, 0x5A000001}, /* a bit after the last lane */
      {4, 0x78000000}, /* other symbols of other lengths */
  };
  for (size_t i = 0; i < ARRAY_COUNT(faults); i++) {
    damaged = coded;
    szg_store_u32(damaged.words + 4 * faults[i].word, faults[i].bits);
    assert_false(decode(&tile, &damaged, restored));
  }
  for (uint32_t words = 0; words < coded.word_count; words++) {
    damaged = coded;
    damaged.word_count = words;
    assert_false(decode(&tile, &damaged, restored));
  }
  damaged = coded;
  szg_store_u32(damaged.words + 4 * lanes_word, 0x7A000000); /* 0 11 11 0: valid */
  assert_true(decode(&tile, &damaged, restored));
  damaged = coded;
  szg_store_u32(damaged.words + 4 * (size_t)coded.word_count, 0);
  damaged.word_count++;
  assert_false(decode(&tile, &damaged, restored));
}

/* Lanes longer than 128 codes can be, with all the words that they claim. */
static void refuses_lanes_too_long(void **state) {
  (void)state;
  codes_the_extremes(NULL);
  for (uint32_t lane_bits = 1536; lane_bits < 1700; lane_bits++) {
    memset(&damaged, 0xFF, sizeof damaged); /* codes of 12 bits */
    szg_store_u32(damaged.words, szg_planes_head(lane_bits, 0));
    damaged.word_count = 1 + lane_bits;
    assert_int_equal(decode(&tile, &damaged, restored), lane_bits == 1536);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_by_hand),
      cmocka_unit_test(turns_values),
      cmocka_unit_test(restores_every_size),
      cmocka_unit_test(codes_the_extremes),
      cmocka_unit_test(refuses_damaged_words),
      cmocka_unit_test(refuses_lanes_too_long),
      cmocka_unit_test(refuses_each_fault),
      cmocka_unit_test(notices_symbols_that_were_not_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
