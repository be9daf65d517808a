/* test_planes_choice.c - lossless frames: counts, which planes are coded, books, splitting bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planes_reference.h"
#include "predict/axes_core.h"

static szg_codebook book;
static szg_codebook_work work;
static szg_planes_counts counts, expected;
static szg_planes_choice choice;

/* ---- counts ---- */

static void counts_each_plane(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2)
    for (uint32_t i = 0; i < 20; i++) {
      uint32_t const value_count = (uint32_t)test_random_below(&random, i < 10 ? 40 : 20000);
      uint8_t *const bytes = test_allocate((size_t)value_count * value_bytes);
      for (size_t b = 0; b < (size_t)value_count * value_bytes; b++)
        bytes[b] = (uint8_t)(test_random_bits(&random) & test_random_bits(&random));
      memset(&counts, 0, sizeof counts);
      counts.planes[0][5] = UINT64_C(1) << 40; /* counting adds to this */
      expected = counts;
      for (uint32_t v = 0; v < value_count; v++)
        for (uint32_t p = 0; p < value_bytes; p++)
          expected.planes[p][test_plane_symbol(bytes + v * value_bytes, value_bytes, p)]++;
      szg_planes_count(bytes, value_count, value_bytes, &counts);
      assert_int_equal(memcmp(&counts, &expected, sizeof counts), 0);
      free(bytes);
    }
}

/* ---- choice ---- */

static void choose(uint64_t value_count, uint32_t value_bytes) {
  memset(&choice, 0xA5, sizeof choice);
  szg_planes_choose(&counts, value_count, false, value_bytes, &book, &work, &choice);
  assert_int_equal(choice.layout.value_bytes, value_bytes);
  assert_int_equal(szg_planes_layout_check(&choice.layout), SZGPU_OK);
}

/* Plane 0 has one symbol, plane 1 all symbols equally often, plane 2 symbols of shares 1/2, 1/4,
 * 1/8 and 1/8, plane 3 almost only one. */
static void chooses_by_plane(void **state) {
  (void)state;
  uint64_t const value_count = 65536;
  memset(&counts, 0, sizeof counts);
  counts.planes[0][77] = value_count;
  for (uint32_t s = 0; s < 256; s++) counts.planes[1][s] = 256;
  counts.planes[2][200] = 32768, counts.planes[2][100] = 16384;
  counts.planes[2][0] = counts.planes[2][255] = 8192;
  counts.planes[3][1] = 65535, counts.planes[3][255] = 1;
  choose(value_count, 4);
  assert_int_equal(choice.layout.modes, SZG_PLANE_CONSTANT | SZG_PLANE_STORED << 2 |
                                            SZG_PLANE_CODED << 4 | SZG_PLANE_CODED << 6);
  assert_true(choice.layout.constant_bits == 77);
  for (uint32_t s = 0; s < 256; s++) {
    assert_int_equal(choice.lengths[0][s] | choice.lengths[1][s], 0);
    assert_int_equal(choice.lengths[2][s], s == 200             ? 1
                                           : s == 100           ? 2
                                           : s == 0 || s == 255 ? 3
                                                                : 0);
    assert_int_equal(choice.lengths[3][s], s == 1 || s == 255);
  }
  assert_int_equal(choice.typical_bits[0] | choice.typical_bits[1], 0);
  assert_int_equal(choice.typical_bits[2], 128 * (32768 + 2 * 16384 + 3 * 16384) / 65536);
  assert_int_equal(choice.typical_bits[3], 128);
  assert_true(szg_planes_book_bytes(&choice.layout) == 256);
  assert_true(szg_planes_stored_bytes(&choice.layout, value_count) == 65536);
  assert_true(szg_planes_stored_bytes(&choice.layout, 33) == 48);
}

/* Two symbols take one bit each: with one tile, n / 8 + 128 + 32 < n from n = 183 on. */
static void codes_what_pays(void **state) {
  (void)state;
  for (uint64_t value_count = 2; value_count < 300; value_count++) {
    memset(&counts, 0, sizeof counts);
    counts.planes[0][9] = 1, counts.planes[0][8] = value_count - 1;
    choose(value_count, 1);
    assert_int_equal(choice.layout.modes,
                     value_count / 8 + 160 < value_count ? SZG_PLANE_CODED : SZG_PLANE_STORED);
    assert_int_equal(choice.typical_bits[0], value_count >= 183 ? 128 : 0);
  }
}

/* Fibonacci numbers as counts would give codes of up to 39 bits. */
static void limits_codes(void **state) {
  (void)state;
  memset(&counts, 0, sizeof counts);
  uint64_t a = 1, b = 1, sum = 0;
  for (uint32_t s = 0; s < 40; s++) {
    counts.planes[0][s] = a, sum += a;
    uint64_t const next = a + b;
    a = b, b = next;
  }
  choose(sum, 1);
  uint32_t longest = 0, used = 0;
  for (uint32_t s = 0; s < 256; s++) {
    if (choice.lengths[0][s] > longest) longest = choice.lengths[0][s];
    if (choice.lengths[0][s]) used += 4096u >> choice.lengths[0][s];
  }
  assert_int_equal(longest, SZG_PLANES_CODE_BITS);
  assert_int_equal(used, 4096);
}

/* Of 256000 symbols counted, 1000 are rare: then 0, the 16 symbols below and the two above get
 * codes as well, and no others do. */
static void gives_codes_to_neighbours_of_rare_symbols(void **state) {
  (void)state;
  memset(&counts, 0, sizeof counts);
  counts.planes[0][120] = 1000, counts.planes[0][123] = 245900, counts.planes[0][160] = 9000;
  counts.planes[0][255] = 100;
  counts.planes[1][9] = 256000;
  counts.planes[2][5] = 1001, counts.planes[2][4] = 254999;
  counts.planes[3][0] = 256000;
  memset(&choice, 0xA5, sizeof choice);
  szg_planes_choose(&counts, 256000, true, 4, &book, &work, &choice);
  uint32_t used = 0;
  for (uint32_t s = 0; s < 256; s++) {
    bool const is_likely = s == 0 || (s >= 104 && s <= 123) || s == 160 || s >= 239;
    assert_int_equal(choice.lengths[0][s] > 0, is_likely);
    assert_int_equal(choice.lengths[2][s], s == 4 || s == 5);
    if (is_likely) used += 4096u >> choice.lengths[0][s];
  }
  assert_int_equal(used, 4096);
  assert_int_equal(choice.lengths[0][123], 1);
  szg_planes_choose(&counts, 256000, false, 4, &book, &work, &choice);
  assert_int_equal(choice.lengths[0][0] | choice.lengths[0][119] | choice.lengths[0][121], 0);
}

/* Tiles of the sample: all of few, else 512 spread evenly. */
static void samples_tiles(void **state) {
  (void)state;
  assert_int_equal(szg_planes_counted_tiles(1), 1);
  assert_int_equal(szg_planes_counted_tiles(512), 512);
  assert_int_equal(szg_planes_counted_tiles(513), 512);
  assert_int_equal(szg_planes_counted_tiles(UINT64_C(1) << 40), 512);
  assert_true(szg_planes_count_all(512));
  assert_false(szg_planes_count_all(513));
}

static void checks_layouts(void **state) {
  (void)state;
  static const szg_planes_layout good[] = {
      {1, 0, 0}, {1, 2, 255}, {2, 4, 0}, {4, 0xAA, 0x100}, {8, 0xAAAA, UINT64_MAX}};
  static const szg_planes_layout bad[] = {
      {0, 0, 0},    {3, 0, 0},          {16, 0, 0},      {1, 3, 0},      {1, 4, 0},
      {2, 0x10, 0}, {4, 0x100, 0},      {8, 0x10000, 0}, {1, 1, 1},      {1, 2, 0x100},
      {2, 8, 1},    {8, 0x80000000, 0}, {8, 3, 0},       {8, 0xC000, 0}, {UINT32_MAX, 0, 0}};
  for (size_t i = 0; i < ARRAY_COUNT(good); i++)
    assert_int_equal(szg_planes_layout_check(&good[i]), SZGPU_OK);
  for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
    assert_int_equal(szg_planes_layout_check(&bad[i]), SZGPU_BAD_DATA);
}

/* ---- books ---- */

static uint8_t section[SZG_PLANES_MOST * SZG_PLANES_BOOK_BYTES];
static uint8_t lengths[SZG_PLANES_MOST][SZG_PLANES_SYMBOLS];

/* Reads the section from a block of exactly its size. */
static szgpu_status read_books(size_t byte_count) {
  uint8_t *const block = test_allocate(byte_count);
  memcpy(block, section, byte_count);
  memset(lengths, 0xA5, sizeof lengths);
  szgpu_status const status = szg_planes_books_read(&choice.layout, block, byte_count, lengths);
  free(block);
  return status;
}

static void reads_what_it_writes(void **state) {
  (void)state;
  chooses_by_plane(NULL);
  szg_planes_books_write(&choice, section);
  assert_int_equal(section[0], 3);      /* symbol 0 in the low half */
  assert_int_equal(section[127], 0x30); /* 255 in the high half */
  assert_int_equal(section[128], 0x10);
  assert_int_equal(read_books(256), SZGPU_OK);
  assert_int_equal(memcmp(lengths, choice.lengths, sizeof lengths), 0);
}

static void refuses_other_books(void **state) {
  (void)state;
  reads_what_it_writes(NULL);
  uint8_t good[256];
  memcpy(good, section, sizeof good);
  static size_t const sizes[] = {0, 1, 128, 255, 257, 384};
  for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
    assert_int_equal(read_books(sizes[i]), SZGPU_BAD_DATA);
  for (uint32_t byte = 0; byte < 256; byte++)
    for (uint32_t value = 0; value < 256; value += 7) {
      memcpy(section, good, sizeof good);
      if (section[byte] == value) continue;
      section[byte] = (uint8_t)value; /* the sum of 2^-length is not 1 */
      if (byte < 128 && good[byte] != 0 &&
          value == (uint32_t)(good[byte] >> 4 | (good[byte] & 15) << 4))
        continue;
      assert_int_equal(read_books(256), SZGPU_BAD_DATA);
    }
  memset(section, 0, sizeof section);
  assert_int_equal(read_books(256), SZGPU_BAD_DATA); /* no symbols */
  memcpy(section, good, sizeof good);
  memset(section + 128, 0, 128), section[128] = 1;
  assert_int_equal(read_books(256), SZGPU_BAD_DATA); /* one symbol */
}

/* ---- bytes ---- */

static void samples_stretches(void **state) {
  (void)state;
  assert_int_equal(szg_split_stretch_count(0), 0);
  assert_int_equal(szg_split_stretch_count(1), 1);
  assert_int_equal(szg_split_stretch_count(32769), 2);
  assert_int_equal(szg_split_stretch_count(UINT64_C(1) << 50), 64);
  szg_split_stretch stretch = szg_split_stretch_at(32769, 1);
  assert_true(stretch.first_byte == 32768 && stretch.byte_count == 1);
  /* T = 100: (2 i + 1) 100 / 128 is 0, 2, 3, 5, ..., 99. */
  uint64_t const byte_count = 99 * 32768 + 8;
  stretch = szg_split_stretch_at(byte_count, 1);
  assert_true(stretch.first_byte == 2 * 32768 && stretch.byte_count == 32768);
  stretch = szg_split_stretch_at(byte_count, 63);
  assert_true(stretch.first_byte == 99 * 32768 && stretch.byte_count == 8);
}

static szg_split_tally tally;

/* Values of value_bytes with two kinds of highest byte; the other bytes are random. */
static void fill_values(uint8_t *bytes, size_t byte_count, uint32_t value_bytes) {
  for (size_t i = 0; i < byte_count; i++)
    bytes[i] = i % value_bytes + 1 == value_bytes ? (uint8_t)(test_hash(i) % 8 ? 0x3F : 0xBF)
                                                  : (uint8_t)(test_hash(i) >> 20);
}

/* The cost by section 15 of docs/format.md, in floating point. */
static double reference_cost(const uint8_t *bytes, size_t byte_count, uint32_t value_bytes) {
  size_t const n = byte_count / value_bytes;
  double cost = 0;
  for (uint32_t p = 0; p < value_bytes; p++) {
    uint32_t found[256] = {0}, most = 0;
    for (size_t i = 0; i < n; i++)
      found[test_plane_symbol(bytes + i * value_bytes, value_bytes, p)]++;
    for (uint32_t s = 0; s < 256; s++)
      if (found[s] > most) most = found[s];
    if (most == n) continue;
    bool const is_apart = 2 * (size_t)most > n; /* one symbol has one bit */
    double const total = (double)n - (is_apart ? (double)most : 0);
    double coded = is_apart ? (double)n : 0;
    bool is_left_out = !is_apart;
    for (uint32_t s = 0; s < 256; s++) {
      if (found[s] == most && !is_left_out)
        is_left_out = true;
      else if (found[s] > 0)
        coded += found[s] * log2(total / found[s]);
    }
    coded += 8.0 * (128 + 32 * (double)((n + 4095) / 4096));
    cost += coded < 8.0 * (double)n ? coded : 8.0 * (double)n;
  }
  return cost;
}

/* 0: too close to tell. */
static uint32_t reference_width(const uint8_t *bytes, size_t byte_count) {
  uint32_t best = 1;
  double best_cost = reference_cost(bytes, byte_count, 1);
  for (uint32_t value_bytes = 2; value_bytes <= 8; value_bytes *= 2) {
    if (byte_count % value_bytes != 0) break;
    double const cost = reference_cost(bytes, byte_count, value_bytes);
    double const limit = best_cost * (63.0 / 64);
    if (fabs(cost - limit) < limit / 1000) return 0;
    if (cost < limit) best = value_bytes, best_cost = cost;
  }
  return best;
}

static void weighs_costs(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint32_t seen[9] = {0};
  static uint8_t bytes[12000];
  for (uint32_t i = 0; i < 2000; i++) {
    size_t const byte_count = 4 * (1 + (size_t)test_random_below(&random, i % 8 ? 500 : 3000));
    uint32_t const value_bytes = 1u << test_random_below(&random, 4);
    uint8_t masks[8];
    for (uint32_t p = 0; p < value_bytes; p++)
      masks[p] = (uint8_t)(255u >> test_random_below(&random, 9));
    for (size_t b = 0; b < byte_count; b++)
      bytes[b] = (uint8_t)(test_random_bits(&random) & masks[b % value_bytes]);
    uint32_t const width = reference_width(bytes, byte_count);
    seen[width]++;
    if (width) assert_int_equal(szg_planes_split(bytes, byte_count, &tally), width);
  }
  assert_true(seen[1] > 50 && seen[2] > 50 && seen[4] > 50 && seen[8] > 50);
}

static void finds_the_width(void **state) {
  (void)state;
  size_t const byte_count = 300000;
  uint8_t *const bytes = test_allocate(byte_count);
  for (uint32_t value_bytes = 2; value_bytes <= 8; value_bytes *= 2) {
    fill_values(bytes, byte_count, value_bytes);
    assert_int_equal(szg_planes_split(bytes, byte_count, &tally), value_bytes);
    assert_int_equal(szg_planes_split(bytes, byte_count - 1, &tally), 1); /* not a multiple */
  }
  for (size_t i = 0; i < byte_count; i++) bytes[i] = (uint8_t)(test_hash(i) >> 20);
  assert_int_equal(szg_planes_split(bytes, byte_count, &tally), 1); /* nothing to gain */
  memset(bytes, 0, byte_count);
  assert_int_equal(szg_planes_split(bytes, byte_count, &tally), 1);
  fill_values(bytes, 256, 2);
  assert_int_equal(szg_planes_split(bytes, 256, &tally), 1); /* a book would take too much */
  assert_int_equal(szg_planes_split(bytes, 0, &tally), 1);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_each_plane),
      cmocka_unit_test(chooses_by_plane),
      cmocka_unit_test(codes_what_pays),
      cmocka_unit_test(limits_codes),
      cmocka_unit_test(gives_codes_to_neighbours_of_rare_symbols),
      cmocka_unit_test(samples_tiles),
      cmocka_unit_test(checks_layouts),
      cmocka_unit_test(reads_what_it_writes),
      cmocka_unit_test(refuses_other_books),
      cmocka_unit_test(samples_stretches),
      cmocka_unit_test(finds_the_width),
      cmocka_unit_test(weighs_costs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
