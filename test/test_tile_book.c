/* test_tile_book.c - the codebook of tile frames: counts, moves to classes, codes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/lorenzo/tile.h"
#include "support.h"

static szg_tile_tally tally;
static szg_codebook book;
static szg_codebook_work work;
static szg_tile_encoder encoder;
static szg_tile_decoder decoder;
static szg_tile_points deltas;

static void clear_tally(void) { memset(&tally, 0, sizeof tally); }

static szg_tile first_tile(const szgpu_shape *shape) {
  szg_grid grid;
  assert_int_equal(szg_grid_of_shape(shape, &grid), SZGPU_OK);
  return szg_tile_at(&grid, 0);
}

static uint32_t direct(int delta) { return (uint32_t)(640 + delta); }

/* ---- the reference: docs/format.md, section 13, value by value ---- */

static uint32_t reference_symbol(int64_t delta) {
  if (delta > -512 && delta < 512) return (uint32_t)(640 + delta);
  uint64_t const magnitude = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
  uint32_t highest = 63;
  while (!(magnitude >> highest & 1)) highest--;
  uint32_t const k = 2 * highest + (uint32_t)(magnitude >> (highest - 1) & 1);
  return delta < 0 ? 128 - k : 1152 + k;
}

static int64_t delta_at(uint32_t lattice_bits, uint32_t i) {
  if (lattice_bits == 16) return deltas.i16[i];
  return lattice_bits == 32 ? deltas.i32[i] : deltas.i64[i];
}

/* dims: the field's rank, 1 to 3. */
static void reference_count(uint32_t lattice_bits, int dims, const szg_tile *tile,
                            szg_tile_tally *sums) {
  static int64_t places[128][32];
  static bool is_there[128][32];
  memset(is_there, 0, sizeof is_there);
  uint32_t i = 0;
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++)
      for (uint32_t x = 0; x < tile->x_extent; x++, i++) {
        uint32_t const row = dims == 3 ? y + 8 * z : dims == 2 ? 2 * y + x / 32 : x / 32;
        places[row][x % 32] = delta_at(lattice_bits, i);
        is_there[row][x % 32] = true;
      }
  for (uint32_t lane = 0; lane < 32; lane++) {
    bool is_busy = false;
    for (uint32_t r = 0; r < 128; r++) is_busy |= is_there[r][lane] && places[r][lane] != 0;
    if (!is_busy) continue;
    for (uint32_t r = 0; r < 128; r++)
      if (is_there[r][lane]) sums->counts[reference_symbol(places[r][lane])]++;
    for (uint32_t v = 0; v < 3; v++) {
      uint32_t const unit_rows = v == 0 ? 128 : v == 1 ? 8 : 4;
      for (uint32_t first = 0; first < 128; first += unit_rows) {
        uint32_t zeros = 0, values = 0;
        for (uint32_t k = first; k < first + unit_rows; k++) {
          uint32_t const order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
          uint32_t const r = k / 8 * 8 + order[k % 8];
          values += is_there[r][lane];
          zeros += is_there[r][lane] && places[r][lane] == 0;
        }
        if (v > 0) sums->group_bits[v] += values > 0;
        if (zeros < values) sums->zeros[v] += zeros;
      }
    }
  }
}

/* ---- counting ---- */

static void counts_a_small_tile_as_a_hand_does(void **state) {
  (void)state;
  /* Rows 0 to 2 have 32, 32 and 8 places. Lane 0: 5 0 -600, lane 1: 0 0 0, lane 2: 0 0 1, lane
   * 31: 0 -1. */
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 72, 0, 0, 0);
  szg_tile const tile = first_tile(&shape);
  memset(&deltas, 0, sizeof deltas);
  deltas.i32[0] = 5, deltas.i32[64] = -600, deltas.i32[66] = 1, deltas.i32[63] = -1;
  clear_tally();
  szg_tile_count(32, &tile, &deltas, &tally);
  assert_int_equal(tally.counts[direct(5)], 1);
  assert_int_equal(tally.counts[direct(1)], 1);
  assert_int_equal(tally.counts[direct(-1)], 1);
  assert_int_equal(tally.counts[128 - 18], 1); /* 600 = 10 0101 1000 in base 2 */
  assert_int_equal(tally.counts[direct(0)], 4);
  assert_int_equal(tally.zeros[SZG_ZERO_GROUPS_NONE], 4);
  assert_int_equal(tally.group_bits[SZG_ZERO_GROUPS_NONE], 0);
  assert_int_equal(tally.zeros[SZG_ZERO_GROUPS_8], 4);
  assert_int_equal(tally.group_bits[SZG_ZERO_GROUPS_8], 3);
  /* Halves: rows 0 and 1, row 2. In lane 2 the first is all zeros; lane 31 has no second one. */
  assert_int_equal(tally.zeros[SZG_ZERO_GROUPS_4], 2);
  assert_int_equal(tally.group_bits[SZG_ZERO_GROUPS_4], 5);
}

static int64_t random_delta(test_random *random, uint32_t density, uint32_t most_bits) {
  if (test_random_below(random, 1000) >= density) return 0;
  uint64_t const bits = test_random_bits(random);
  return (int64_t)bits >> (64 - 1 - test_random_below(random, most_bits));
}

static void counts_as_the_format_says_in_tiles_of_any_extents(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint32_t const densities[] = {0, 1, 20, 300, 1000}, lattices[] = {16, 32, 64};
  for (int i = 0; i < 600; i++) {
    int const dims = 1 + i % 3;
    uint64_t const d[3] = {2 + test_random_below(&random, dims == 1 ? 4200 : 70),
                           2 + test_random_below(&random, 70), 2 + test_random_below(&random, 40)};
    szgpu_shape const shape = test_shape(SZGPU_F64, dims, d[0], d[1], d[2], 0);
    szg_grid grid;
    assert_int_equal(szg_grid_of_shape(&shape, &grid), SZGPU_OK);
    if (i % 2) grid = szg_grid_of_rows(&grid, 1); /* a thin last frame has its field's tiling */
    szg_tile const tile = szg_tile_at(&grid, test_random_below(&random, grid.tile_count));
    uint32_t const lattice_bits = lattices[i / 3 % 3];
    uint32_t const density = densities[i / 9 % 5];
    uint32_t const most_bits = i % 7 ? 12 : lattice_bits - 1;
    for (uint32_t k = 0; k < tile.value_count; k++) {
      int64_t const delta = random_delta(&random, density, most_bits);
      if (lattice_bits == 64)
        deltas.i64[k] = delta;
      else if (lattice_bits == 32)
        deltas.i32[k] = (int32_t)delta;
      else
        deltas.i16[k] = (int16_t)delta;
    }
    static szg_tile_tally expected;
    memset(&expected, i, sizeof expected); /* counting adds to this */
    memset(&tally, i, sizeof tally);
    reference_count(lattice_bits, dims, &tile, &expected);
    szg_tile_count(lattice_bits, &tile, &deltas, &tally);
    assert_memory_equal(&tally, &expected, sizeof tally);
  }
}

static void the_extremes_of_every_lattice_have_classes(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 3, 0, 0, 0);
  szg_tile const tile = first_tile(&shape);
  clear_tally();
  deltas.i16[0] = INT16_MIN, deltas.i16[1] = INT16_MAX, deltas.i16[2] = 512;
  szg_tile_count(16, &tile, &deltas, &tally);
  assert_int_equal(tally.counts[128 - 30], 1);
  assert_int_equal(tally.counts[1152 + 29], 1);
  assert_int_equal(tally.counts[1152 + 18], 1);
  deltas.i32[0] = INT32_MIN, deltas.i32[1] = INT32_MAX, deltas.i32[2] = 511;
  szg_tile_count(32, &tile, &deltas, &tally);
  assert_int_equal(tally.counts[128 - 62], 1);
  assert_int_equal(tally.counts[1152 + 61], 1);
  deltas.i64[0] = INT64_MIN, deltas.i64[1] = INT64_MAX, deltas.i64[2] = -512;
  szg_tile_count(64, &tile, &deltas, &tally);
  assert_int_equal(tally.counts[128 - 126], 1);
  assert_int_equal(tally.counts[1152 + 125], 1);
  assert_int_equal(tally.counts[128 - 18], 1);
}

/* ---- zero groups ---- */

static void zero_groups_are_taken_where_they_save_a_64th(void **state) {
  (void)state;
  clear_tally();
  assert_int_equal(szg_choose_zero_groups(&tally), SZG_ZERO_GROUPS_NONE);
  /* 1024 ones and as many zeros cost one bit each. Without the zeros only the bits before groups
   * cost anything, because all symbols are equal. */
  tally.counts[direct(1)] = 1024;
  tally.counts[direct(0)] = tally.zeros[0] = 1024;
  tally.group_bits[1] = 2048 - 32, tally.group_bits[2] = 2048 - 31;
  assert_int_equal(szg_choose_zero_groups(&tally), SZG_ZERO_GROUPS_NONE);
  tally.group_bits[1] = 2048 - 33;
  assert_int_equal(szg_choose_zero_groups(&tally), SZG_ZERO_GROUPS_8);
  tally.group_bits[2] = 2015 - 31; /* 2015 / 64 is over 31 */
  assert_int_equal(szg_choose_zero_groups(&tally), SZG_ZERO_GROUPS_8);
  tally.group_bits[2] = 2015 - 32;
  assert_int_equal(szg_choose_zero_groups(&tally), SZG_ZERO_GROUPS_4);
  tally.group_bits[1] = 2048, tally.group_bits[2] = 2015;
  assert_int_equal(szg_choose_zero_groups(&tally), SZG_ZERO_GROUPS_4);
}

/* ---- the book ---- */

/* Checks Kraft's equality, the limit, and the codes that every book has. */
static void check_book(void) {
  uint32_t used = 0;
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) {
    assert_in_range(book.lengths[s], 0, 12);
    if (book.lengths[s]) used += 4096u >> book.lengths[s];
  }
  assert_int_equal(used, 4096);
  assert_int_equal(book.symbol_count, SZG_TILE_SYMBOLS);
  assert_in_range(book.lengths[0], 1, 12);
  assert_in_range(book.lengths[640], 1, 12);
  assert_int_equal(book.codes[640], 0);
}

static void an_empty_tally_gives_escape_and_zero_a_bit_each(void **state) {
  (void)state;
  clear_tally();
  szg_tile_book_build(&tally, SZG_ZERO_GROUPS_NONE, &book, &work);
  check_book();
  assert_int_equal(book.lengths[0], 1);
  assert_int_equal(book.lengths[640], 1);
}

static void rare_deltas_go_to_their_class_and_rare_classes_to_the_escape(void **state) {
  (void)state;
  clear_tally();
  tally.counts[direct(0)] = 77; /* counted for another choice of groups: ignored */
  tally.zeros[SZG_ZERO_GROUPS_4] = 16384 - 100 - 2 - 1 - 1 - 1 - 1 - 2;
  tally.counts[direct(1)] = 100;
  tally.counts[direct(4)] = 2;    /* 8192 * 2 = N: not rare */
  tally.counts[direct(5)] = 1;    /* class 4: 32768 is over N, so no class is rare */
  tally.counts[direct(-5)] = 1;   /* class 4, negative */
  tally.counts[direct(-300)] = 1; /* class 16 */
  tally.counts[direct(-380)] = 1; /* the same: 256 .. 383 */
  tally.counts[1152 + 20] = 2;
  szg_tile_book_build(&tally, SZG_ZERO_GROUPS_4, &book, &work);
  check_book();
  bool has_code[SZG_TILE_SYMBOLS] = {false};
  has_code[0] = has_code[direct(0)] = has_code[direct(1)] = has_code[direct(4)] = true;
  has_code[1152 + 4] = has_code[128 - 4] = has_code[128 - 16] = has_code[1152 + 20] = true;
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++)
    assert_int_equal(book.lengths[s] != 0, has_code[s]);
  tally.counts[direct(4)] = 3; /* 8192 * 3 < N: goes to class 4 too */
  tally.counts[direct(6)] = 1; /* a class of two is rare, one of three is not */
  tally.counts[direct(7)] = 2;
  tally.counts[direct(-380)]++;
  tally.zeros[SZG_ZERO_GROUPS_4] = 65537 - 100 - 3 - 1 - 1 - 1 - 2 - 2 - 1 - 2;
  szg_tile_book_build(&tally, SZG_ZERO_GROUPS_4, &book, &work);
  check_book();
  has_code[direct(4)] = has_code[128 - 4] = has_code[1152 + 20] = false;
  has_code[1152 + 5] = true; /* 6 and 7 */
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++)
    assert_int_equal(book.lengths[s] != 0, has_code[s]);
}

static void random_tally(test_random *random) {
  clear_tally();
  uint32_t const shape = (uint32_t)test_random_below(random, 40);
  for (uint32_t s = 1; s < SZG_TILE_SYMBOLS; s++)
    if (s != 640 && test_random_below(random, 8) < 6) {
      uint32_t const distance = (s > 640 ? s - 640 : 640 - s) * shape / 640;
      tally.counts[s] =
          (uint32_t)(test_random_below(random, (uint64_t)1 << test_random_below(random, 22)) >>
                     distance);
    }
  for (int v = 0; v < SZG_ZERO_GROUPS_COUNT; v++)
    tally.zeros[v] = (uint32_t)test_random_below(random, 1 << 20);
  tally.counts[640] = tally.zeros[0];
}

static void books_are_complete_and_within_12_bits(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < 200; i++) {
    random_tally(&random);
    szg_tile_book_build(&tally, (uint32_t)i % 3, &book, &work);
    check_book();
  }
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) tally.counts[s] = 4096;
  tally.zeros[0] = 4096;
  szg_tile_book_build(&tally, 0, &book, &work);
  check_book();
  for (uint32_t i = 0; i < 22; i++) tally.counts[direct(1 + (int)i)] = 1u << i; /* steep */
  szg_tile_book_build(&tally, 0, &book, &work);
  check_book();
}

/* ---- tables ---- */

/* Asserts that a delta gets the symbol and the raw bits that the format and the book require. */
static void assert_code(int32_t delta) {
  uint32_t const entry = encoder.direct[512 + delta];
  uint32_t const magnitude = (uint32_t)abs(delta);
  uint32_t k = 0, base = 1, raw_bits = 0;
  if (magnitude > 1) {
    while (magnitude >> (k / 2 + 1)) k += 2;
    k += magnitude >> (k / 2 - 1) & 1;
    raw_bits = k / 2 - 1;
    base = (2 + k % 2) << (k / 2 - 1);
  }
  uint32_t const of_class = delta < 0 ? 128 - k : 1152 + k;
  uint32_t const symbol = book.lengths[direct(delta)] ? direct(delta) : of_class;
  uint32_t const length = book.lengths[symbol];
  if (length == 0) {
    assert_int_equal(entry, 0);
    return;
  }
  uint32_t const found = decoder.entries[entry >> 20];
  assert_int_equal(found & SZG_ENTRY_LENGTH, length);
  if (symbol == direct(delta)) {
    assert_int_equal(entry & 31, length);
    assert_int_equal(found & SZG_ENTRY_RARE, 0);
    assert_int_equal((int32_t)found >> 16, delta);
  } else {
    assert_int_equal(entry & 31, length + raw_bits);
    assert_int_equal(found & (SZG_ENTRY_RARE | SZG_ENTRY_ESCAPE), SZG_ENTRY_RARE);
    assert_int_equal(found >> 16 & 127, k);
    assert_int_equal((found & SZG_ENTRY_NEGATIVE) != 0, delta < 0);
    uint32_t const raw = raw_bits ? entry << length >> (32 - raw_bits) : 0;
    assert_int_equal(base + raw, magnitude);
  }
}

static void check_tables(void) {
  szg_tile_encoder_build(&book, &encoder);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_OK);
  for (int32_t delta = -511; delta < 512; delta++) assert_code(delta);
  for (uint32_t k = 0; k < 128; k++) {
    for (uint32_t is_negative = 0; is_negative < 2; is_negative++) {
      uint32_t const symbol = is_negative ? 128 - k : 1152 + k;
      uint32_t const entry = encoder.classes[128 * is_negative + k];
      assert_int_equal(entry & 31, book.lengths[symbol]);
      if (entry == 0) continue;
      uint32_t const negative = is_negative ? (uint32_t)SZG_ENTRY_NEGATIVE : 0;
      assert_int_equal(decoder.entries[entry >> 20],
                       k << 16 | negative | SZG_ENTRY_RARE | book.lengths[symbol]);
    }
  }
  assert_int_equal(encoder.escape & 31, book.lengths[0]);
  assert_int_equal(decoder.entries[encoder.escape >> 20],
                   SZG_ENTRY_RARE | SZG_ENTRY_ESCAPE | book.lengths[0]);
  /* Each entry has the symbol whose code begins the entry's window. */
  for (uint32_t w = 0; w < SZG_TILE_ENTRIES; w++) {
    uint32_t const length = decoder.entries[w] & SZG_ENTRY_LENGTH;
    assert_in_range(length, 1, 12);
    assert_int_equal(decoder.entries[w], decoder.entries[w >> (12 - length) << (12 - length)]);
  }
}

static void encoder_and_decoder_agree_about_every_delta(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < 100; i++) {
    random_tally(&random);
    szg_tile_book_build(&tally, (uint32_t)i % 3, &book, &work);
    check_tables();
  }
  clear_tally();
  szg_tile_book_build(&tally, 0, &book, &work);
  check_tables();
}

static void build_of_counts(uint32_t count_of_escape, uint32_t count_of_zero, int longest_code) {
  static uint64_t counts[SZG_TILE_SYMBOLS];
  memset(counts, 0, sizeof counts);
  for (uint32_t i = 0; i < 16; i++) counts[700 + i] = (uint64_t)1 << i;
  counts[0] = count_of_escape, counts[640] = count_of_zero;
  szg_codebook_build(counts, SZG_TILE_SYMBOLS, longest_code, &book, &work);
}

static void refuses_books_that_no_tile_frame_may_have(void **state) {
  (void)state;
  build_of_counts(9, 9, 12);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_OK);
  build_of_counts(9, 9, 13);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_BAD_DATA);
  build_of_counts(0, 9, 12);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_BAD_DATA);
  build_of_counts(9, 0, 12);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_BAD_DATA);
}

static void refuses_books_of_one_symbol_and_of_none(void **state) {
  (void)state;
  uint8_t bytes[7] = {1, 0, 1, 0, 0, 0};
  assert_int_equal(szg_codebook_read(bytes, 6, SZG_TILE_SYMBOLS, &book), SZGPU_OK);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_BAD_DATA);
  bytes[0] = 0;
  assert_int_equal(szg_codebook_read(bytes, 6, SZG_TILE_SYMBOLS, &book), SZGPU_OK);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_BAD_DATA);
  uint8_t const zero_alone[7] = {0, 0, 640 & 255, 640 >> 8, 1, 0, 1};
  assert_int_equal(szg_codebook_read(zero_alone, 7, SZG_TILE_SYMBOLS, &book), SZGPU_OK);
  assert_int_equal(szg_tile_decoder_build(&book, &decoder), SZGPU_BAD_DATA);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_a_small_tile_as_a_hand_does),
      cmocka_unit_test(counts_as_the_format_says_in_tiles_of_any_extents),
      cmocka_unit_test(the_extremes_of_every_lattice_have_classes),
      cmocka_unit_test(zero_groups_are_taken_where_they_save_a_64th),
      cmocka_unit_test(an_empty_tally_gives_escape_and_zero_a_bit_each),
      cmocka_unit_test(rare_deltas_go_to_their_class_and_rare_classes_to_the_escape),
      cmocka_unit_test(books_are_complete_and_within_12_bits),
      cmocka_unit_test(encoder_and_decoder_agree_about_every_delta),
      cmocka_unit_test(refuses_books_that_no_tile_frame_may_have),
      cmocka_unit_test(refuses_books_of_one_symbol_and_of_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
