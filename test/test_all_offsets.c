/* test_all_offsets.c - decoding from every bit gives the serial decoder's codes with any tables.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/all_offsets.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "linear_reference.h"

static szg_all_offsets_book book; /* for the coder's book */

enum { CHOICE_COUNT = 24, POISON = 0xA5 /* fills tables before they are written */ };

/* Windows from one word to more than most streams here, in slots that they fill or do not. */
static szg_all_offsets_options choice(int i) {
  static uint32_t const window_bits[] = {32, 96, 256, 4096, 1 << 14, 1 << 18};
  static uint32_t const slot_counts[] = {3, 1, 64, 5, 2, 1};
  return (szg_all_offsets_options){window_bits[i / 4], slot_counts[i / 4], i & 1, i >> 1 & 1};
}

/* Returns the tables' memory, of exactly the size they need; free() it. */
static void *make_tables(const szg_all_offsets_options *options, uint32_t shortest,
                         uint32_t longest, szg_all_offsets_tables *tables) {
  szg_arena arena = {0};
  szg_all_offsets_carve(&arena, options, shortest, longest, tables);
  void *const memory = aligned_alloc(SZG_ARENA_ALIGNMENT, arena.used_bytes);
  assert_non_null(memory);
  memset(memory, POISON, arena.used_bytes);
  arena = (szg_arena){.base = memory, .capacity_bytes = arena.used_bytes};
  szg_all_offsets_carve(&arena, options, shortest, longest, tables);
  return memory;
}

static szgpu_status decode(const szg_all_offsets_tables *tables, const szg_linear_input *input,
                           const szg_code_run *run, int thread_count) {
  szg_threads threads = {.count = thread_count};
  return szg_decode_all_offsets(&book, tables, input, run, &threads);
}

static void build_book(int kind) {
  test_build_book(kind);
  szg_all_offsets_book_build(&coder.book, &book);
}

/* ---- the paper's example ---- */

/* Table I of the paper: "Hello World" in its code. */
static void make_hello_world(uint8_t *words, uint16_t *codes) {
  static const char *const bits[] = {"110",  "0000", "01",  "01", "001", "100",
                                     "0001", "001",  "101", "01", "111"};
  static uint16_t const symbols[] = {0, 1, 2, 2, 3, 4, 5, 3, 6, 2, 7}; /* in order of appearance */
  memset(&coder.book, 0, sizeof coder.book);
  coder.book.symbol_count = coder.book.end_symbol = 8;
  coder.book.first_symbol = 1;
  uint32_t word = 0;
  for (int c = 0; c < 11; c++) {
    uint32_t const length = (uint32_t)strlen(bits[c]);
    uint32_t const code = (uint32_t)strtoul(bits[c], NULL, 2);
    coder.book.lengths[symbols[c]] = (uint8_t)length;
    coder.book.codes[symbols[c]] = (uint16_t)code;
    word = word << length | code;
    codes[c] = symbols[c];
  }
  szg_store_u32(words, word);
  szg_all_offsets_book_build(&coder.book, &book);
}

static void hello_world_has_the_tables_of_the_paper(void **state) {
  (void)state;
  /* Table II: the column of the first bit, W(0, j), and the places where P is not -1. */
  static uint32_t const first_column[] = {3, 7, 11, 24, 0};
  static uint32_t const beginnings[] = {0, 3, 7, 9, 11, 14, 17, 21, 24, 27, 29};
  static uint32_t const first_row[] = {3, 3, 4, 4, 4, 4, 3, 2, 3, 2, 3, 3, 2, 3, 3, 4,
                                       4, 4, 3, 2, 3, 3, 2, 3, 3, 2, 3, 2, 3, 3, 0, 0};
  uint8_t words[4];
  uint16_t expected[11], codes[11];
  make_hello_world(words, expected);
  szg_linear_input const input = {.words = words, .word_bytes = 4, .bit_count = 32};
  szg_code_run const run = {0, 32, 11, codes};
  szg_all_offsets_options const options = {.window_bits = 32, .slot_count = 1};
  szg_all_offsets_tables tables;
  void *const memory = make_tables(&options, 2, 4, &tables);
  assert_int_equal(decode(&tables, &input, &run, 1), SZGPU_OK);
  assert_memory_equal(codes, expected, sizeof expected);
  assert_int_equal(tables.windows->row_count, 4);
  for (int j = 0; j < 5; j++) {
    const uint8_t *const row = tables.widths + tables.rows[j].first_byte;
    assert_int_equal(szg_all_offsets_load(row, 4, 0), first_column[j]);
    for (uint32_t i = 0; i < 32; i++) {
      uint32_t end = i, left = 1u << j;
      for (; left && end < 32 && first_row[end]; left--) end += first_row[end];
      assert_int_equal(szg_all_offsets_load(row, 4, i), left ? 0 : end - i);
    }
  }
  for (uint32_t i = 0, c = 0; i < 32; i++) {
    bool const begins = c < 11 && beginnings[c] == i;
    assert_int_equal(tables.places[i], begins ? c++ : UINT32_MAX);
  }
  free(memory);
}

/* ---- sound streams ---- */

static void check_whole(const szg_all_offsets_tables *tables, const test_stream *s,
                        int thread_count) {
  szg_linear_input const input = test_input_of(s);
  uint16_t *const codes = test_block(s->code_count * sizeof *codes);
  szg_code_run const run = {0, s->bit_count, (uint32_t)s->code_count, codes};
  assert_int_equal(decode(tables, &input, &run, thread_count), SZGPU_OK);
  assert_memory_equal(codes, s->codes, s->code_count * sizeof *codes);
  free(codes);
}

/* Decodes a run from a random code to another. */
static void check_part(const szg_all_offsets_tables *tables, const test_stream *s,
                       test_random *random) {
  szg_linear_input const input = test_input_of(s);
  size_t const first = test_random_below(random, s->code_count);
  size_t const count = 1 + test_random_below(random, s->code_count - first);
  uint16_t *const codes = test_block(count * sizeof *codes);
  szg_code_run const run = {s->starts[first], s->starts[first + count] - s->starts[first],
                            (uint32_t)count, codes};
  assert_int_equal(decode(tables, &input, &run, 1), SZGPU_OK);
  assert_memory_equal(codes, s->codes + first, count * sizeof *codes);
  free(codes);
}

static void every_choice_gives_the_codes_back(void **state) {
  (void)state;
  static size_t const code_counts[] = {1, 2, 3, 31, 32, 33, 64, 255, 257, 997, 4097, 15013};
  enum { STREAM_COUNT = ARRAY_COUNT(code_counts) };
  test_random random = test_random_begin();
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    build_book(kind);
    test_stream streams[STREAM_COUNT];
    for (size_t n = 0; n < STREAM_COUNT; n++)
      streams[n] = test_make_stream(code_counts[n], &random);
    for (int i = 0; i < CHOICE_COUNT; i++) {
      szg_all_offsets_options const options = choice(i);
      szg_all_offsets_tables tables;
      bool const is_for_any = i % 3 == 0;
      void *const memory = make_tables(&options, is_for_any ? 1 : book.shortest,
                                       is_for_any ? SZG_MAX_CODE_BITS : book.longest, &tables);
      for (size_t n = 0; n < STREAM_COUNT; n++) {
        if (code_counts[n] > 4000 && (n + (size_t)i) % 5) continue; /* saves time */
        check_whole(&tables, &streams[n], options.window_bits < 256 ? 1 : 1 + (int)(n % 3));
        check_part(&tables, &streams[n], &random);
      }
      free(memory);
    }
    for (size_t n = 0; n < STREAM_COUNT; n++) test_stream_release(&streams[n]);
  }
}

/* Counts of random steepness for up to 40 symbols, or for one alone. */
static void build_random_book(test_random *random) {
  uint32_t const symbol_count = 2 + 2 * (uint32_t)test_random_below(random, 20);
  uint64_t const steepness = test_random_below(random, 30);
  memset(coder.counts, 0, sizeof coder.counts);
  for (uint32_t s = 0; s < symbol_count; s++)
    if (test_random_below(random, 4))
      coder.counts[s] = test_random_bits(random) >> (10 + test_random_below(random, steepness + 1));
  coder.counts[test_random_below(random, symbol_count)] += 1;
  if (test_random_below(random, 8) == 0) {
    memset(coder.counts, 0, sizeof coder.counts);
    coder.counts[test_random_below(random, symbol_count)] = 1;
  }
  szg_codebook_build(coder.counts, symbol_count, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_canonical_index_build(&coder.book, &coder.index);
  szg_all_offsets_book_build(&coder.book, &book);
}

static void random_books_give_the_codes_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 1500; round++) {
    build_random_book(&random);
    test_stream s = test_make_stream(1 + test_random_below(&random, 400), &random);
    szg_all_offsets_options const options = choice((int)test_random_below(&random, 16));
    szg_all_offsets_tables tables;
    void *const memory = make_tables(&options, book.shortest, book.longest, &tables);
    check_whole(&tables, &s, 1);
    check_part(&tables, &s, &random);
    free(memory);
    test_stream_release(&s);
  }
}

/* ---- damaged ones ---- */

/* Asserts that both decoders give the same verdict, and the same codes if they accept. */
static bool agrees_with_serial(const szg_all_offsets_tables *tables, const szg_linear_input *input,
                               uint64_t first_bit, uint64_t bit_count, uint32_t code_count) {
  uint16_t *const codes = test_block(code_count * sizeof *codes);
  uint16_t *const expected = test_block(code_count * sizeof *codes);
  szg_code_run const run = {first_bit, bit_count, code_count, codes};
  szg_code_run const serial_run = {first_bit, bit_count, code_count, expected};
  szgpu_status const status = decode(tables, input, &run, 1);
  assert_int_equal(status, szg_decode_serial(&coder.index, input, &serial_run, 1));
  assert_true(status == SZGPU_OK || status == SZGPU_BAD_DATA);
  if (status == SZGPU_OK) assert_memory_equal(codes, expected, code_count * sizeof *codes);
  free(codes);
  free(expected);
  return status == SZGPU_OK;
}

static void runs_that_lie_are_refused(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    build_book(kind);
    test_stream s = test_make_stream(700, &random);
    szg_linear_input const input = test_input_of(&s);
    for (int i = 0; i < 16; i++) {
      szg_all_offsets_options const options = choice(i);
      szg_all_offsets_tables tables;
      void *const memory = make_tables(&options, book.shortest, book.longest, &tables);
      uint64_t const first = s.starts[100], bits = s.starts[600] - first;
      assert_true(agrees_with_serial(&tables, &input, first, bits, 500));
      uint64_t const lies[] = {bits - 1,   bits + 1,           0,
                               1,          s.bit_count,        (uint64_t)1 << 32,
                               UINT64_MAX, UINT64_MAX - first, UINT64_MAX - first + 1};
      for (size_t lie = 0; lie < ARRAY_COUNT(lies); lie++)
        assert_false(agrees_with_serial(&tables, &input, first, lies[lie], 500));
      assert_false(agrees_with_serial(&tables, &input, first, bits, 499));
      assert_false(agrees_with_serial(&tables, &input, first, bits, 501));
      assert_false(agrees_with_serial(&tables, &input, first, bits, 1));
      assert_false(agrees_with_serial(&tables, &input, first, bits, 0));
      assert_false(agrees_with_serial(&tables, &input, s.bit_count, bits, 500));
      assert_false(agrees_with_serial(&tables, &input, UINT64_MAX - 5, bits, 0));
      assert_true(agrees_with_serial(&tables, &input, first, 0, 0));
      free(memory);
    }
    test_stream_release(&s);
  }
}

static void any_bits_mean_what_the_serial_decoder_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int accepted_count = 0;
  for (int round = 0; round < 1400; round++) {
    if (round % 200 == 0) build_book(round / 200);
    test_stream s = test_make_garbage(round % 3 == 0, &random);
    uint64_t const bit_count = s.bit_count;
    szg_linear_input const input = test_input_of(&s);
    szg_all_offsets_options const options = choice(round % 16);
    szg_all_offsets_tables tables;
    void *const memory = make_tables(&options, book.shortest, book.longest, &tables);
    for (int i = 0; i < 8; i++) {
      uint64_t const first = test_random_below(&random, bit_count), left = bit_count - first;
      uint64_t const bits = 1 + test_random_below(&random, i % 2 ? left : szg_min_u64(left, 16));
      uint32_t const codes = i % 2 ? (uint32_t)test_random_below(&random, bits + 3) : 1;
      accepted_count += agrees_with_serial(&tables, &input, first, bits, codes);
    }
    free(memory);
    test_stream_release(&s);
  }
  assert_true(accepted_count > 200);
}

/* A sound stream with some flipped bits decodes to other codes, or is refused. */
static void damaged_streams_are_decoded_as_serially(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 300; round++) {
    if (round % 50 == 0) build_book(round / 50);
    test_stream s = test_make_stream(500, &random);
    for (int i = 0; i < 1 + round % 3; i++) {
      uint64_t const bit = test_random_below(&random, s.bit_count);
      s.words[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    szg_linear_input const input = test_input_of(&s);
    szg_all_offsets_options const options = choice(round % 16);
    szg_all_offsets_tables tables;
    void *const memory = make_tables(&options, book.shortest, book.longest, &tables);
    agrees_with_serial(&tables, &input, 0, s.bit_count, 500);
    free(memory);
    test_stream_release(&s);
  }
}

static void a_book_without_symbols_decodes_nothing(void **state) {
  (void)state;
  memset(coder.counts, 0, sizeof coder.counts);
  szg_codebook_build(coder.counts, 1024, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_canonical_index_build(&coder.book, &coder.index);
  szg_all_offsets_book_build(&coder.book, &book);
  uint8_t words[64] = {0};
  szg_linear_input const input = {.words = words, .word_bytes = 64, .bit_count = 512};
  for (int i = 0; i < 16; i++) {
    szg_all_offsets_options const options = choice(i);
    szg_all_offsets_tables tables;
    void *const memory = make_tables(&options, book.shortest, book.longest, &tables);
    assert_false(agrees_with_serial(&tables, &input, 0, 40, 40));
    free(memory);
  }
}

/* ---- work and memory ---- */

/* What decoding did. The paper's form visits n log n entries of W and as many of P. */
typedef struct table_work {
  uint64_t windows;
  uint64_t rows;          /* rows of W in all windows */
  uint64_t width_entries; /* entries of W that were made */
  uint64_t width_bytes;   /* their bytes */
  uint64_t width_bits;    /* their bits if they were packed */
  uint64_t place_entries; /* entries of P that were read */
} table_work;

static void assert_untouched(const void *memory, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) assert_int_equal(((const uint8_t *)memory)[i], POISON);
}

/* Adds the work of the window in a slot: its rows (the last one may be empty). Nothing beyond the
 * rows may be written. */
static void add_work(const szg_all_offsets_tables *tables, uint64_t slot, uint32_t offset_count,
                     table_work *work) {
  szg_all_offsets_window const *const window = &tables->windows[slot];
  bool const skips = tables->options.skips_none;
  uint32_t count = offset_count;
  for (int row = 0; row <= window->row_count && row < tables->row_count; row++) {
    if (skips && row > 0) {
      uint32_t const reach = tables->shortest << (row - 1), end = window->row_ends[row - 1];
      count = end > reach ? end - reach : 0;
    }
    const uint8_t *const entries = tables->widths + slot * tables->widths_bytes;
    uint32_t const entry_bytes = tables->rows[row].entry_bytes;
    assert_untouched(entries + tables->rows[row].first_byte, entry_bytes * count,
                     entry_bytes * tables->options.window_bits);
    work->rows++;
    work->width_entries += count;
    work->width_bytes += (uint64_t)count * entry_bytes;
    work->width_bits +=
        (uint64_t)count * (unsigned)szg_all_offsets_row_bits(
                              tables->options.window_bits, tables->shortest, tables->longest, row);
  }
  uint32_t const places = skips ? window->code_count : offset_count;
  assert_untouched(tables->places + slot * tables->options.window_bits,
                   sizeof *tables->places * places,
                   sizeof *tables->places * tables->options.window_bits);
  work->place_entries += skips ? 2 * (uint64_t)window->code_count
                               : (uint64_t)offset_count * ((unsigned)window->row_count + 1);
}

/* The work for the whole stream, from the tables of its windows. Each window must have a slot. */
static table_work work_of(const test_stream *s, const szg_all_offsets_options *options,
                          int thread_count) {
  szg_linear_input const input = test_input_of(s);
  uint16_t *const codes = test_block(s->code_count * sizeof *codes);
  szg_code_run const run = {0, s->bit_count, (uint32_t)s->code_count, codes};
  szg_all_offsets_tables tables;
  void *const memory = make_tables(options, book.shortest, book.longest, &tables);
  assert_int_equal(decode(&tables, &input, &run, thread_count), SZGPU_OK);
  uint32_t const window_bits = options->window_bits;
  table_work work = {.windows = szg_div_up(s->bit_count, window_bits)};
  assert_true(work.windows <= options->slot_count);
  for (uint64_t slot = 0; slot < work.windows; slot++)
    add_work(&tables, slot, (uint32_t)szg_min_u64(window_bits, s->bit_count - slot * window_bits),
             &work);
  free(memory);
  free(codes);
  return work;
}

static void work_is_n_log_n_and_less_by_each_mend(void **state) {
  (void)state;
  test_random random = test_random_begin();
  build_book(TEST_BOOK_SKEWED_1024);
  test_stream s = test_make_stream(30000, &random);
  szg_all_offsets_options options = {.window_bits = 1 << 19, .slot_count = 1};
  table_work const paper = work_of(&s, &options, 1);
  /* 2^14 codes from the first bit on, but not 2^15: rows 0 to 14 and an empty one */
  assert_int_equal(paper.rows, 16);
  assert_int_equal(paper.windows, 1);
  assert_int_equal(paper.width_entries, s.bit_count * 16);
  assert_int_equal(paper.width_bytes, s.bit_count * 16 * 4);
  assert_int_equal(paper.place_entries, s.bit_count * 16);
  options.window_bits = 512, options.slot_count = 1024;
  table_work const tiled = work_of(&s, &options, 1);
  assert_int_equal(tiled.windows, (s.bit_count + 511) / 512);
  assert_true(tiled.width_entries < paper.width_entries * 11 / 16);
  table_work const by_three = work_of(&s, &options, 3);
  assert_memory_equal(&by_three, &tiled, sizeof tiled);
  options.skips_none = true;
  table_work const skipping = work_of(&s, &options, 1);
  assert_true(skipping.width_entries < tiled.width_entries);
  assert_int_equal(skipping.place_entries, 2 * s.code_count);
  options.is_narrow = true;
  table_work const narrow = work_of(&s, &options, 1);
  assert_int_equal(narrow.width_entries, skipping.width_entries);
  assert_true(narrow.width_bytes * 2 <= skipping.width_bytes);
  assert_true(narrow.width_bits <= narrow.width_bytes * 8);
  test_stream_release(&s);
}

static void entries_need_the_bits_that_their_range_says(void **state) {
  (void)state;
  /* Codes of 1 to 16 bits: 16 widths or none, and each further row has about twice as many. */
  static int const expected[] = {5, 5, 6, 7, 8, 9, 10, 11};
  for (int j = 0; j < 8; j++)
    assert_int_equal(szg_all_offsets_row_bits(4096, 1, 16, j), expected[j]);
  assert_int_equal(szg_all_offsets_row_bits(4096, 1, 16, 12), 5); /* 4096 to 4111, or none at all */
  assert_int_equal(szg_all_offsets_row_bits(4096, 1, 1, 5), 1);
  assert_int_equal(szg_all_offsets_row_count(4096, 1), 13);
  assert_int_equal(szg_all_offsets_row_count(4096, 16), 9);
  assert_int_equal(szg_all_offsets_row_count(SZG_ALL_OFFSETS_MOST_WINDOW_BITS, 1),
                   SZG_ALL_OFFSETS_MOST_ROWS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hello_world_has_the_tables_of_the_paper),
      cmocka_unit_test(every_choice_gives_the_codes_back),
      cmocka_unit_test(random_books_give_the_codes_back),
      cmocka_unit_test(runs_that_lie_are_refused),
      cmocka_unit_test(any_bits_mean_what_the_serial_decoder_says),
      cmocka_unit_test(damaged_streams_are_decoded_as_serially),
      cmocka_unit_test(a_book_without_symbols_decodes_nothing),
      cmocka_unit_test(work_is_n_log_n_and_less_by_each_mend),
      cmocka_unit_test(entries_need_the_bits_that_their_range_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
