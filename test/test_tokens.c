/* test_tokens.c - the coder of levels frames: counts, choice, books, tiles there and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "huffman/tokens.h"
#include "support.h"
#include "tokens_reference.h"

enum { MOST_CODES = 64 * SZG_TOKENS_MOST_GROUPS };

static szg_tokens_tally tally;
static szg_tokens_plan plan;
static szg_codebook book;
static szg_codebook_work book_work;
static szg_tokens_cpu_encoder encoder;
static szg_tokens_decoder decoder;
static szg_tokens_work work;
static int64_t codes[MOST_CODES], restored[MOST_CODES], by_reference[MOST_CODES];
static int64_t buffer[MOST_CODES + 1];
static uint64_t existing[SZG_TOKENS_MOST_GROUPS];
static uint8_t room[4 * SZG_TOKENS_MOST_WORDS];

/* ---- helpers ---- */

/* The codes in the width of the frame. */
static const void *pack(const szg_tokens_shape *shape) {
  for (uint32_t i = 0; i < 64 * shape->group_count; i++) {
    int32_t const narrow = (int32_t)codes[i];
    if (shape->is_wide)
      buffer[i] = codes[i];
    else
      memcpy((char *)buffer + 4 * (size_t)i, &narrow, sizeof narrow);
  }
  return buffer;
}

static void unpack(const szg_tokens_shape *shape) {
  for (uint32_t i = 0; i < 64 * shape->group_count; i++) {
    int32_t narrow;
    memcpy(&narrow, (char *)buffer + 4 * (size_t)i, sizeof narrow);
    restored[i] = shape->is_wide ? buffer[i] : narrow;
  }
}

static szg_tokens_shape shape_of(uint32_t group_count, uint32_t g, bool is_wide) {
  return (szg_tokens_shape){group_count, g, is_wide};
}

/* Gives the plan this mode and books for the tally, in lanes of 2^g groups. */
static void plan_mode(uint32_t mode, uint32_t g, bool is_whole) {
  static const uint32_t escapes[4] = {256, 0, 225, 255};
  static const uint32_t symbol_counts[4] = {257, 256, 226, 256};
  uint8_t *const lengths[4] = {plan.books.octets, plan.books.masks, plan.books.pairs,
                               plan.books.values};
  memset(&plan, 0, sizeof plan);
  plan.mode = mode;
  plan.lane_groups_log2 = g;
  for (uint32_t b = 0; b < 4; b++) {
    bool const is_there = b == 3 || (b == 2 && mode == 2) || (b < 2 && mode == 3);
    if (!is_there) continue;
    uint64_t counts[257];
    const uint64_t *const from = b == 0      ? tally.octets
                                 : b == 1    ? tally.masks
                                 : b == 2    ? tally.pairs
                                 : mode == 2 ? tally.pair_values
                                             : tally.values;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < symbol_counts[b]; s++) sum += counts[s] = from[s];
    if (b == 0) counts[0] = tally.live_groups[g] - sum;
    if (b == 2) counts[112] = tally.live_pairs[g] - sum;
    if (b == 3 && mode == 1) counts[0] = tally.live_places[g] - sum;
    uint64_t once = 1;
    for (uint32_t s = 0; s < symbol_counts[b]; s++) once += counts[s] == 1;
    if (!is_whole && counts[escapes[b]] < once) counts[escapes[b]] = once;
    szg_codebook_build(counts, symbol_counts[b], 12, &book, &book_work);
    memcpy(lengths[b], book.lengths, symbol_counts[b]);
  }
}

/* Builds both tables, the decoder's by way of the books' bytes. */
static void build_tables(void) {
  uint8_t bytes[SZG_TOKENS_BOOKS_MOST_BYTES];
  szg_tokens_books books;
  size_t const byte_count = szg_tokens_books_write(&plan.books, plan.mode, bytes);
  assert_true(byte_count % 4 == 0 && byte_count <= sizeof bytes);
  assert_int_equal(szg_tokens_books_read(bytes, byte_count, plan.mode, &books), SZGPU_OK);
  assert_memory_equal(&books, &plan.books, sizeof books);
  szg_tokens_encoder_build(&plan, &encoder);
  szg_tokens_decoder_build(&books, plan.mode, &decoder);
}

/* Decodes a copy of the words in memory of just their size, so that ASan sees reads beyond it. */
static szgpu_status decode(const szg_tokens_shape *shape, const uint64_t *places,
                           const uint8_t *words, uint32_t word_count) {
  uint8_t *const copy = malloc(word_count ? 4 * (size_t)word_count : 1);
  assert_non_null(copy);
  memcpy(copy, words, 4 * (size_t)word_count);
  memset(buffer, 0xA5, sizeof buffer);
  szgpu_status const status =
      szg_tokens_decode_tile(&decoder, shape, places, copy, word_count, &work, buffer);
  free(copy);
  unpack(shape);
  return status;
}

static uint32_t encode(const szg_tokens_shape *shape, const uint64_t *places) {
  const void *const packed = pack(shape);
  uint32_t const word_count = szg_tokens_encode_tile(&encoder, shape, packed, places, &work, room);
  assert_true(word_count <= szg_tokens_most_words(shape));
  return word_count;
}

static void assert_same_codes(const szg_tokens_shape *shape, const int64_t *found) {
  for (uint32_t i = 0; i < 64 * shape->group_count; i++) assert_int_equal(found[i], codes[i]);
}

static uint32_t round_trip(const szg_tokens_shape *shape, const uint64_t *places) {
  uint32_t const word_count = encode(shape, places);
  assert_int_equal(decode(shape, places, room, word_count), SZGPU_OK);
  assert_same_codes(shape, restored);
  assert_true(reference_tokens_decode(&plan.books, plan.mode, shape, places, room, word_count,
                                      by_reference));
  assert_same_codes(shape, by_reference);
  return word_count;
}

/* per_mille: of places with codes other than 0. most_bits: of magnitudes. */
static void random_codes(test_random *random, const szg_tokens_shape *shape, uint32_t per_mille,
                         uint32_t most_bits, const uint64_t *places) {
  for (uint32_t i = 0; i < 64 * shape->group_count; i++) {
    uint64_t const bits = test_random_bits(random);
    codes[i] = test_random_below(random, 1000) >= per_mille
                   ? 0
                   : (int64_t)bits >> (63 - test_random_below(random, most_bits + 1));
    if (places && !(places[i / 64] >> i % 64 & 1)) codes[i] = 0;
  }
}

/* Some groups full, some without places, others ragged. */
static void random_places(test_random *random, const szg_tokens_shape *shape) {
  for (uint32_t i = 0; i < shape->group_count; i++) {
    uint64_t const kind = test_random_below(random, 4), bits = test_random_bits(random);
    existing[i] = kind == 0 ? UINT64_MAX : kind == 1 ? 0 : kind == 2 ? bits : bits | bits << 1;
  }
}

static void count(const szg_tokens_shape *shape, const uint64_t *places) {
  const void *const packed = pack(shape);
  szg_tokens_count(shape, packed, places, &tally);
}

/* ---- tiles by hand ---- */

/* Compares words with bits as text. */
static void assert_bits(uint32_t word_count, const char *text) {
  uint32_t n = 0;
  for (const char *c = text; *c; c++) {
    if (*c == ' ') continue;
    assert_true(n < 32 * word_count);
    assert_int_equal(room[n / 32 * 4 + 3 - n % 32 / 8] >> (7 - n % 8) & 1, *c - '0');
    n++;
  }
  assert_int_equal((n + 31) / 32, word_count);
  for (; n < 32 * word_count; n++)
    assert_int_equal(room[n / 32 * 4 + 3 - n % 32 / 8] >> (7 - n % 8) & 1, 0);
}

static void writes_plain_codes_as_a_hand_does(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  memset(codes, 0, sizeof codes);
  plan.mode = SZG_LEVELS_MODE_PLAIN;
  /* 0: 0, 1: 10, -2: 110, class 2 (64 to 95), negative: 1110, escape: 1111 */
  plan.books.values[0] = 1, plan.books.values[1] = 2, plan.books.values[4] = 3;
  plan.books.values[68] = 4, plan.books.values[255] = 4;
  build_tables();
  szg_tokens_shape const shape = shape_of(3, 0, false);
  existing[0] = 0x1F, existing[1] = 0x3, existing[2] = 0xC;
  codes[0] = 1, codes[1] = 0, codes[2] = -2, codes[4] = -71, codes[64 * 2 + 2] = 3;
  uint32_t const word_count = round_trip(&shape, existing);
  assert_bits(word_count,
              "00000000000010000 00101 1 101 00000 10101 "
              "10 0 110 0 1110 00111 "
              "1111 00000000000000000000000000000011 0");
}

static void writes_pairs_as_a_hand_does(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  memset(codes, 0, sizeof codes);
  plan.mode = SZG_LEVELS_MODE_PAIRS;
  /* Pairs (0, 0): 0, (-7, 7): 10, escape: 11. Values 0: 0, escape: 1. */
  plan.books.pairs[112] = 1, plan.books.pairs[14] = 2, plan.books.pairs[225] = 2;
  plan.books.values[0] = 1, plan.books.values[255] = 1;
  build_tables();
  szg_tokens_shape const shape = shape_of(2, 1, true);
  existing[0] = 0x8F, existing[1] = 0x1; /* pairs 0, 1, 3 and 0 */
  codes[0] = -7, codes[1] = 7, codes[7] = -1;
  uint32_t const word_count = round_trip(&shape, existing);
  assert_bits(word_count,
              "00000000001001000 00000 0 "
              "10 0 11 0 1 1111111111111111111111111111111111111111111111111111111111111111 "
              "0");
}

static void writes_masks_as_a_hand_does(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  memset(codes, 0, sizeof codes);
  plan.mode = SZG_LEVELS_MODE_MASKS;
  /* Octets 0x41: 0, escape: 1. Masks 0x80: 1, escape: 0. One value: 0. */
  plan.books.octets[0x41] = 1, plan.books.octets[256] = 1;
  plan.books.masks[0] = 1, plan.books.masks[0x80] = 1;
  plan.books.values[1] = 1;
  build_tables();
  szg_tokens_shape const shape = shape_of(3, 1, false);
  codes[7] = 1, codes[48] = 1, codes[50] = 1;
  uint32_t const word_count = round_trip(&shape, NULL);
  assert_bits(word_count,
              "00000000000010111 00000 1 10 "
              "0 1 0 00000101 0 0 0 1 00000000");
}

/* ---- there and back ---- */

static const uint32_t densities[] = {0, 1, 20, 100, 300, 700, 1000};

static void restores_codes_of_all_densities_in_all_modes(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint32_t const group_counts[] = {1, 6, 24, 28, 32, 56, 64, 112};
  for (uint32_t round = 0; round < 900; round++) {
    bool const is_wide = round % 2;
    szg_tokens_shape shape = shape_of(group_counts[test_random_below(&random, 8)], 0, is_wide);
    uint32_t const least = szg_tokens_least_lane_groups_log2(shape.group_count);
    uint32_t const g = least + (uint32_t)test_random_below(&random, 5 - least);
    uint32_t const bit_choices[] = {1, 2, 3, 6, 23, is_wide ? 51 : 23, is_wide ? 63 : 31};
    uint32_t const most_bits = bit_choices[test_random_below(&random, 7)];
    uint32_t const density = densities[test_random_below(&random, ARRAY_COUNT(densities))];
    const uint64_t *const places = test_random_below(&random, 2) ? existing : NULL;
    bool const is_whole = test_random_below(&random, 2);
    uint32_t const mode = 1 + (uint32_t)test_random_below(&random, 3);
    shape.lane_groups_log2 = g;
    memset(&tally, 0, sizeof tally);
    random_places(&random, &shape);
    random_codes(&random, &shape, density, most_bits, places);
    count(&shape, places);
    for (uint32_t s = is_wide ? 251 : 139; s < 255; s++) assert_int_equal(tally.values[s], 0);
    plan_mode(mode, g, is_whole);
    build_tables();
    round_trip(&shape, places);
    if (is_whole) continue;
    for (uint32_t i = 0; i < 3; i++) { /* tiles that were not counted */
      random_places(&random, &shape);
      random_codes(&random, &shape, densities[test_random_below(&random, ARRAY_COUNT(densities))],
                   bit_choices[test_random_below(&random, 7)], places);
      round_trip(&shape, places);
    }
  }
}

static void restores_one_code_at_any_place(void **state) {
  (void)state;
  szg_tokens_shape const shape = shape_of(6, 1, false);
  int64_t const values[] = {1,       -1,       31,       -31,       32,        -32,
                            47,      48,       -63,      64,        1 << 22,   -(1 << 23),
                            8388609, 16777215, 16777216, -16777216, INT32_MAX, INT32_MIN};
  for (uint32_t mode = 1; mode < 4; mode++)
    for (uint32_t i = 0; i < 64 * 6; i += 5) {
      memset(codes, 0, sizeof codes);
      memset(&tally, 0, sizeof tally);
      codes[i] = values[i / 5 % ARRAY_COUNT(values)];
      count(&shape, NULL);
      plan_mode(mode, 1, true);
      build_tables();
      assert_true(round_trip(&shape, NULL) > 0);
    }
}

static void restores_the_longest_tile(void **state) {
  (void)state;
  szg_tokens_shape const shape = shape_of(112, 4, true);
  for (uint32_t mode = 1; mode < 4; mode++) {
    memset(&plan, 0, sizeof plan);
    plan.mode = mode;
    uint8_t *const books[] = {plan.books.octets, plan.books.masks, plan.books.pairs,
                              plan.books.values};
    uint32_t const escapes[] = {256, 0, 225, 255};
    for (uint32_t b = 0; b < 4; b++) { /* codes of 1 to 12 bits, the escape's is the last */
      if (!(b == 3 || (b == 2 && mode == 2) || (b < 2 && mode == 3))) continue;
      for (uint32_t s = 1; s <= 12; s++) books[b][s] = (uint8_t)s;
      books[b][escapes[b]] = 12;
    }
    build_tables();
    for (uint32_t i = 0; i < MOST_CODES; i++) codes[i] = INT64_MIN + i;
    round_trip(&shape, NULL);
  }
}

static void gives_no_words_to_zeros(void **state) {
  (void)state;
  szg_tokens_shape const shape = shape_of(64, 1, false);
  memset(codes, 0, sizeof codes);
  memset(&tally, 0, sizeof tally);
  count(&shape, NULL);
  szg_tokens_choose(&tally, 64, 320, true, &book, &book_work, &plan);
  assert_int_equal(plan.mode, SZG_LEVELS_MODE_MASKS);
  assert_int_equal(plan.lane_groups_log2, SZG_LEVELS_LANE_GROUPS_LOG2);
  build_tables();
  assert_int_equal(round_trip(&shape, NULL), 0);
  memset(room, 0, 4);
  assert_int_equal(decode(&shape, NULL, room, 1), SZGPU_BAD_DATA);
  szg_tokens_choose(&tally, 64, 320, false, &book, &book_work, &plan);
  assert_int_equal(plan.mode, SZG_LEVELS_MODE_MASKS);
  assert_int_equal(plan.books.values[SZG_LEVELS_VALUE_ESCAPE], 1);
  build_tables();
  assert_int_equal(round_trip(&shape, NULL), 0);
  codes[77] = 1000; /* in a tile that was not counted */
  round_trip(&shape, NULL);
}

/* ---- choice ---- */

static void chooses_modes_and_lanes_by_density(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szg_tokens_shape shape = shape_of(64, 1, false);
  uint32_t const cases[][5] = {
      /* per mille, bits, bits of a lane, mode, g */
      {1000, 5, 320, SZG_LEVELS_MODE_PLAIN, 1}, {350, 1, 320, SZG_LEVELS_MODE_PAIRS, 3},
      {350, 1, 160, SZG_LEVELS_MODE_PAIRS, 2},  {10, 1, 320, SZG_LEVELS_MODE_MASKS, 4},
      {10, 1, 0, SZG_LEVELS_MODE_MASKS, 1},     {100, 1, 320, SZG_LEVELS_MODE_MASKS, 4}};
  for (uint32_t c = 0; c < ARRAY_COUNT(cases); c++) {
    memset(&tally, 0, sizeof tally);
    uint64_t bits[SZG_LEVELS_MODES] = {0};
    for (uint32_t tile = 0; tile < 20; tile++) {
      random_codes(&random, &shape, cases[c][0], cases[c][1], NULL);
      count(&shape, NULL);
    }
    szg_tokens_choose(&tally, 64, cases[c][2], true, &book, &book_work, &plan);
    assert_int_equal(plan.mode, cases[c][3]);
    assert_int_equal(plan.lane_groups_log2, cases[c][4]);
    szg_tokens_plan const chosen = plan;
    for (uint32_t mode = 1; mode < SZG_LEVELS_MODES; mode++) {
      plan_mode(mode, plan.lane_groups_log2, true);
      if (mode == chosen.mode) assert_memory_equal(&plan, &chosen, sizeof plan);
      build_tables();
      shape.lane_groups_log2 = plan.lane_groups_log2;
      bits[mode] = 32 * (uint64_t)round_trip(&shape, NULL);
      shape.lane_groups_log2 = 1;
      /* The estimate is about what a tile takes without its head. */
      uint64_t const cost = szg_tokens_cost(&tally, chosen.lane_groups_log2, mode) / 20 >> 16;
      assert_in_range(bits[mode], cost * 4 / 5, cost * 6 / 5 + 400);
    }
    for (uint32_t mode = 1; mode < SZG_LEVELS_MODES; mode++)
      assert_true(bits[chosen.mode] <= bits[mode] + bits[mode] / 16);
  }
}

static void adds_tallies(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szg_tokens_shape const shape = shape_of(112, 2, true);
  static szg_tokens_tally sum, own;
  memset(&sum, 0, sizeof sum);
  memset(&tally, 0, sizeof tally);
  for (uint32_t i = 0; i < 5; i++) {
    random_places(&random, &shape);
    random_codes(&random, &shape, 200, 6, existing);
    memset(&own, 0, sizeof own);
    szg_tokens_count(&shape, pack(&shape), existing, &own);
    szg_tokens_tally_add(&own, &sum);
    count(&shape, existing);
  }
  assert_memory_equal(&sum, &tally, sizeof sum);
}

static void counts_a_tile_as_a_hand_does(void **state) {
  (void)state;
  szg_tokens_shape const shape = shape_of(3, 0, false);
  memset(&tally, 0, sizeof tally);
  memset(codes, 0, sizeof codes);
  existing[0] = 0xFFFF, existing[1] = 0x7, existing[2] = 1;
  codes[0] = 2, codes[9] = -8, codes[2] = 7, codes[3] = -7;
  count(&shape, existing);
  assert_int_equal(tally.octets[3], 1);
  assert_int_equal(tally.masks[0x0D], 1);
  assert_int_equal(tally.masks[0x02], 1);
  assert_int_equal(tally.values[3] + tally.values[13] + tally.values[14] + tally.values[16], 4);
  assert_int_equal(tally.pairs[15 * 9 + 7] + tally.pairs[15 * 14], 2);
  assert_int_equal(tally.pairs[225], 1);
  assert_int_equal(tally.pair_values[0], 1);
  assert_int_equal(tally.pair_values[16], 1);
  assert_int_equal(tally.raw_bits + tally.pair_raw_bits, 0);
  uint64_t const lanes[][4] = {{1, 1, 8, 16}, {1, 2, 10, 19}, {1, 3, 11, 20}};
  for (uint32_t g = 0; g < 5; g++) {
    const uint64_t *const own = lanes[g < 2 ? g : 2];
    assert_int_equal(tally.live_lanes[g], own[0]);
    assert_int_equal(tally.live_groups[g], own[1]);
    assert_int_equal(tally.live_pairs[g], own[2]);
    assert_int_equal(tally.live_places[g], own[3]);
  }
}

/* Dense tiles of narrow frames are counted by bytes, all others code by code. */
static void counts_dense_tiles_as_code_by_code(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szg_tokens_shape const narrow = shape_of(SZG_TOKENS_MOST_GROUPS, 2, false);
  szg_tokens_shape const wide = shape_of(SZG_TOKENS_MOST_GROUPS, 2, true);
  for (uint32_t round = 0; round < 60; round++) {
    uint64_t const gap = 1 + round % 12, most_bits = 1 + test_random_below(&random, 24);
    for (uint32_t i = 0; i < MOST_CODES; i++) {
      uint64_t const magnitude = test_random_bits(&random) >> (64 - most_bits);
      bool const is_zero = i / 64 % 5 == 0 || test_random_below(&random, gap) != 0;
      codes[i] = is_zero ? 0 : i % 2 ? (int64_t)magnitude : -(int64_t)magnitude;
    }
    memset(&tally, 0, sizeof tally);
    count(&wide, NULL);
    szg_tokens_tally const expected = tally;
    memset(&tally, 0, sizeof tally);
    count(&narrow, NULL);
    assert_memory_equal(&tally, &expected, sizeof tally);
  }
  for (uint32_t i = 0; i < MOST_CODES; i++) codes[i] = i % 2 ? INT32_MIN : 1 << 24;
  memset(&tally, 0, sizeof tally);
  count(&narrow, NULL);
  assert_int_equal(tally.values[255], MOST_CODES);
  assert_int_equal(tally.pair_values[255], MOST_CODES);
  assert_int_equal(tally.raw_bits, 32 * (uint64_t)MOST_CODES);
  assert_int_equal(tally.pair_raw_bits, tally.raw_bits);
}

/* ---- bad input ---- */

/* Both decoders accept these words with the same codes, or neither does. */
static bool assert_same_verdict(const szg_tokens_shape *shape, const uint64_t *places,
                                const uint8_t *words, uint32_t word_count) {
  bool const is_sound = reference_tokens_decode(&plan.books, plan.mode, shape, places, words,
                                                word_count, by_reference);
  assert_int_equal(decode(shape, places, words, word_count), is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
  if (is_sound)
    for (uint32_t i = 0; i < 64 * shape->group_count; i++)
      assert_int_equal(restored[i], by_reference[i]);
  return is_sound;
}

static void judges_damaged_words_as_the_format_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint32_t sound_count = 0, count_of_all = 0;
  for (uint32_t round = 0; round < 36; round++) {
    uint32_t const mode = 1 + round % 3;
    szg_tokens_shape const shape = shape_of(3 + round % 5, round % 4, round / 3 % 2);
    const uint64_t *const places = round / 6 % 2 ? existing : NULL;
    memset(&tally, 0, sizeof tally);
    random_places(&random, &shape);
    for (uint32_t i = 0; i < 2; i++) { /* a plan for the first, the words of the second */
      random_codes(&random, &shape, round % 2 ? 60 : 400, round % 7 ? 4 : 20, places);
      codes[0] = 3, existing[0] |= 1;
      if (i > 0) continue;
      count(&shape, places);
      plan_mode(mode, shape.lane_groups_log2, false);
      if (round >= 30) { /* codes of one symbol leave bits without a meaning */
        memset(&plan.books, 0, sizeof plan.books);
        plan.books.values[255] = 1;
        plan.books.pairs[225] = mode == 2;
        plan.books.octets[256] = mode == 3;
        plan.books.masks[0] = mode == 3;
      }
      build_tables();
    }
    uint32_t const word_count = round_trip(&shape, places);
    static uint8_t words[4 * SZG_TOKENS_MOST_WORDS];
    memcpy(words, room, 4 * (size_t)word_count);
    for (uint32_t n = 0; n < word_count; n++)
      assert_true(!assert_same_verdict(&shape, places, words, n) || n == 0);
    for (uint32_t bit = 0; bit < 32 * word_count; bit++) {
      words[bit / 8] ^= (uint8_t)(1 << bit % 8);
      sound_count += assert_same_verdict(&shape, places, words, word_count);
      words[bit / 8] ^= (uint8_t)(1 << bit % 8);
      count_of_all++;
    }
    for (uint32_t i = 0; i < 60; i++) { /* a sound head, then anything */
      memcpy(words, room, 4 * (size_t)word_count);
      for (uint32_t k = 4; k < 4 * word_count; k++)
        words[k] = (uint8_t)(test_random_bits(&random) & test_random_bits(&random));
      assert_same_verdict(&shape, places, words, word_count);
    }
  }
  assert_true(sound_count > 0 && sound_count < count_of_all);
}

/* Bits to words, one word more than they fill if is_long. */
static uint32_t words_of(const char *text, bool is_long) {
  uint32_t n = 0;
  memset(room, 0, 64);
  for (const char *c = text; *c; c++) {
    if (*c == ' ') continue;
    room[n / 32 * 4 + 3 - n % 32 / 8] |= (uint8_t)((*c - '0') << (7 - n % 8));
    n++;
  }
  return (n + 31) / 32 + is_long;
}

/* Of a group whose places are all marked, no code is 0 either. */
static void rejects_a_zero_in_a_group_of_marks(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  plan.mode = SZG_LEVELS_MODE_MASKS;
  /* Octets 255: 0, escape: 1. Masks escape: 0, 255: 1. Values 0: 00, 1: 01. */
  plan.books.octets[255] = plan.books.octets[256] = 1;
  plan.books.masks[0] = plan.books.masks[255] = 1;
  plan.books.values[0] = plan.books.values[1] = plan.books.values[63 + 2 * 54] = 2;
  plan.books.values[255] = 2;
  build_tables();
  for (uint32_t is_wide = 0; is_wide < 2; is_wide++) {
    szg_tokens_shape const shape = shape_of(1, 0, is_wide);
    for (uint32_t zero = 0; zero <= 64; zero++) { /* 64: none */
      char bits[23 + 137 + 1] =
          "00000000010001001000000"
          "0"
          "11111111";
      for (uint32_t i = 0; i < 64; i++) strcat(bits, i == zero ? "00" : "01");
      uint32_t const word_count = words_of(bits, false);
      if (decode(&shape, NULL, room, word_count) != (zero < 64 ? SZGPU_BAD_DATA : SZGPU_OK))
        fail_msg("a zero at %u, wide %u", zero, is_wide);
    }
  }
}

static void rejects_words_that_break_a_rule(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  plan.mode = SZG_LEVELS_MODE_MASKS;
  /* Octets 1: 0, escape: 1. Masks escape: 0, 2: 1. Values 0: 00, 1: 01, class 54: 10, escape: 11;
   * class 54 begins with 2^32. */
  plan.books.octets[1] = plan.books.octets[256] = 1;
  plan.books.masks[0] = plan.books.masks[2] = 1;
  plan.books.values[0] = plan.books.values[1] = plan.books.values[63 + 2 * 54] = 2;
  plan.books.values[255] = 2;
  build_tables();
  szg_tokens_shape const shape = shape_of(1, 0, false);
  struct {
    const char *bits;
    uint64_t places;
    bool is_long;
    szgpu_status status;
  } const cases[] = {
      {"00000000000000100 00000 0 0 1 01", UINT64_MAX, false, SZGPU_OK},
      {"00000000000000100 00000 1 1 0 1 01", UINT64_MAX, false, SZGPU_OK},
      {"00000000000000000 00011 0 100 0 1 01", UINT64_MAX, false, SZGPU_OK},
      {"00000000000001001 00000 0 1 00000000", UINT64_MAX, false, SZGPU_OK}, /* octets 0 */
      {"00000000000000100 00000 0 0 1 01", UINT64_MAX, true, SZGPU_BAD_DATA},
      {"00000000000000100 00000 0 0 1 01 1", UINT64_MAX, false, SZGPU_BAD_DATA}, /* padding */
      {"00000000000000101 00000 0 0 1 01 0", UINT64_MAX, false, SZGPU_BAD_DATA}, /* too long */
      {"00000000000000011 00000 0 0 1 01", UINT64_MAX, false, SZGPU_BAD_DATA},   /* too short */
      {"00000000000000000 00000 0", UINT64_MAX, false, SZGPU_BAD_DATA},          /* no bits */
      {"00000000000000100 00000 1 0", UINT64_MAX, false, SZGPU_BAD_DATA},        /* no lane */
      {"00000000000000000 10010 0 000000000000000100 0 1 01", UINT64_MAX, false, SZGPU_BAD_DATA},
      {"00000000000000000 10001 0 00000000000000100 0 1 01", UINT64_MAX, false, SZGPU_OK},
      {"00000000000000100 00000 0 0 1 01", ~(uint64_t)2, false, SZGPU_BAD_DATA}, /* no place */
      {"00000000000000100 00000 0 0 1 00", UINT64_MAX, false, SZGPU_BAD_DATA},   /* value 0 */
      {"00000000000100100 00000 0 0 1 11 00000000000000000000000000000000", UINT64_MAX, false,
       SZGPU_BAD_DATA},
      {"00000000000100100 00000 0 0 1 11 00000000000000000000000000000001", UINT64_MAX, false,
       SZGPU_OK},
      {"00000000000100011 00000 0 0 1 10 0000000000000000000000000000000", UINT64_MAX, false,
       SZGPU_BAD_DATA},
      {"00000000000100011 00000 0 0 1 10 0000000000000000000000000000001", UINT64_MAX, false,
       SZGPU_OK},
      {"00000000000001010 00000 0 0 0 00000000", UINT64_MAX, false, SZGPU_BAD_DATA}, /* mask 0 */
      {"00000000000001100 00000 0 0 0 00000010 01", UINT64_MAX, false, SZGPU_OK},
  };
  for (uint32_t i = 0; i < ARRAY_COUNT(cases); i++) {
    uint32_t const word_count = words_of(cases[i].bits, cases[i].is_long);
    if (decode(&shape, &cases[i].places, room, word_count) != cases[i].status)
      fail_msg("case %u", i);
    assert_same_verdict(&shape, &cases[i].places, room, word_count);
  }
}

/* A book of one pair symbol has no code that begins with 1, whether a group has all places or not.
 * The last pair here would have the right number of bits if it counted as an escape of none. */
static void rejects_pairs_without_a_code(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  plan.mode = SZG_LEVELS_MODE_PAIRS;
  plan.books.pairs[SZG_LEVELS_PAIR_ESCAPE] = 1; /* 0 */
  plan.books.values[0] = plan.books.values[1] = 1;
  build_tables();
  szg_tokens_shape const shape = shape_of(1, 0, false);
  char all[400] = "00000000001100000 00000 0 ", broken[400] = "00000000001011111 00000 0 ";
  for (int i = 0; i < 32; i++) {
    strcat(all, "0 10 ");
    strcat(broken, i < 31 ? "0 10 " : "10");
  }
  struct {
    const char *bits;
    uint64_t places;
    szgpu_status status;
  } const cases[] = {{"00000000000000011 00000 0 0 10", 3, SZGPU_OK},
                     {"00000000000000010 00000 0 10", 3, SZGPU_BAD_DATA},
                     {all, UINT64_MAX, SZGPU_OK},
                     {broken, UINT64_MAX, SZGPU_BAD_DATA}};
  for (uint32_t i = 0; i < ARRAY_COUNT(cases); i++) {
    uint32_t const word_count = words_of(cases[i].bits, false);
    if (decode(&shape, &cases[i].places, room, word_count) != cases[i].status)
      fail_msg("case %u", i);
    assert_same_verdict(&shape, &cases[i].places, room, word_count);
  }
}

static void rejects_lanes_without_bits_and_without_places(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  plan.mode = SZG_LEVELS_MODE_PLAIN;
  plan.books.values[0] = plan.books.values[1] = 1;
  build_tables();
  szg_tokens_shape const shape = shape_of(2, 0, false);
  uint64_t const places[2] = {2, 0};
  uint32_t word_count = words_of("00000000000000000 00001 0 1 0 1", false);
  assert_false(assert_same_verdict(&shape, places, room, word_count));
  word_count = words_of("00000000000000001 00000 1 10 1", false);
  assert_true(assert_same_verdict(&shape, places, room, word_count));
  assert_int_equal(restored[1], 1);
}

static void judges_books_by_their_units(void **state) {
  (void)state;
  struct {
    const char *units;
    szgpu_status status;
  } const cases[] = {
      {"D", SZGPU_OK},        /* no code at all */
      {"1D", SZGPU_OK},       /* one symbol */
      {"2D", SZGPU_BAD_DATA}, /* incomplete */
      {"11D", SZGPU_OK},
      {"12D", SZGPU_BAD_DATA},
      {"111D", SZGPU_BAD_DATA}, /* oversubscribed */
      {"01001011D", SZGPU_OK},
      {"122D", SZGPU_OK},
      {"1E1D", SZGPU_BAD_DATA},
      {"1F1D", SZGPU_BAD_DATA},
      {"11", SZGPU_BAD_DATA}, /* no end */
      {"0F", SZGPU_BAD_DATA},
      {"110FED", SZGPU_OK}, /* 2 + 16 + 237, and padding is one more */
      {"110FEE0D", SZGPU_BAD_DATA},
      {"110FEE", SZGPU_OK},       /* 2 + 16 + 238 = 256 */
      {"110FEF", SZGPU_BAD_DATA}, /* one more */
      {"0FEE11", SZGPU_OK},
      {"0FEE110000000000", SZGPU_BAD_DATA}, /* 8 units too many */
      {"11D00001", SZGPU_BAD_DATA},         /* padding */
  };
  for (uint32_t i = 0; i < ARRAY_COUNT(cases); i++) {
    uint8_t bytes[16] = {0};
    size_t n = strlen(cases[i].units);
    for (size_t k = 0; k < n; k++) {
      char const c = cases[i].units[k];
      bytes[k / 2] |= (uint8_t)((c <= '9' ? c - '0' : c - 'A' + 10) << (k % 2 ? 0 : 4));
    }
    szg_tokens_books books;
    if (szg_tokens_books_read(bytes, (n + 7) / 8 * 4, 1, &books) != cases[i].status)
      fail_msg("case %u", i);
  }
  uint8_t const none[4] = {0};
  szg_tokens_books books;
  assert_int_equal(szg_tokens_books_read(none, 0, 0, &books), SZGPU_OK);
  assert_int_equal(szg_tokens_books_read(none, 4, 0, &books), SZGPU_BAD_DATA);
  assert_int_equal(szg_tokens_books_read(none, 0, 1, &books), SZGPU_BAD_DATA);
}

static void survives_damaged_books(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szg_tokens_shape const shape = shape_of(8, 1, false);
  for (uint32_t mode = 1; mode < 4; mode++) {
    memset(&tally, 0, sizeof tally);
    random_codes(&random, &shape, 300, 9, NULL);
    count(&shape, NULL);
    plan_mode(mode, 1, false);
    build_tables();
    uint32_t const word_count = encode(&shape, NULL);
    uint8_t bytes[SZG_TOKENS_BOOKS_MOST_BYTES];
    size_t const byte_count = szg_tokens_books_write(&plan.books, mode, bytes);
    for (size_t bit = 0; bit < 8 * byte_count; bit++) {
      uint8_t *const copy = malloc(byte_count);
      assert_non_null(copy);
      memcpy(copy, bytes, byte_count);
      copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
      szgpu_status const status = szg_tokens_books_read(copy, byte_count, mode, &plan.books);
      free(copy);
      if (status != SZGPU_OK) continue;
      szg_tokens_decoder_build(&plan.books, mode, &decoder);
      assert_same_verdict(&shape, NULL, room, word_count);
    }
    for (size_t n = 0; n < byte_count; n++) {
      uint8_t *const copy = malloc(n + 1);
      assert_non_null(copy);
      memcpy(copy, bytes, n);
      assert_int_equal(szg_tokens_books_read(copy, n, mode, &plan.books), SZGPU_BAD_DATA);
      free(copy);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_plain_codes_as_a_hand_does),
      cmocka_unit_test(writes_pairs_as_a_hand_does),
      cmocka_unit_test(writes_masks_as_a_hand_does),
      cmocka_unit_test(restores_codes_of_all_densities_in_all_modes),
      cmocka_unit_test(restores_one_code_at_any_place),
      cmocka_unit_test(restores_the_longest_tile),
      cmocka_unit_test(gives_no_words_to_zeros),
      cmocka_unit_test(chooses_modes_and_lanes_by_density),
      cmocka_unit_test(adds_tallies),
      cmocka_unit_test(counts_a_tile_as_a_hand_does),
      cmocka_unit_test(counts_dense_tiles_as_code_by_code),
      cmocka_unit_test(judges_damaged_words_as_the_format_says),
      cmocka_unit_test(rejects_words_that_break_a_rule),
      cmocka_unit_test(rejects_a_zero_in_a_group_of_marks),
      cmocka_unit_test(rejects_pairs_without_a_code),
      cmocka_unit_test(rejects_lanes_without_bits_and_without_places),
      cmocka_unit_test(judges_books_by_their_units),
      cmocka_unit_test(survives_damaged_books),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
