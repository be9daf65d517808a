/* test_self_sync.c - self-synchronization gives the serial decoder's codes and verdicts.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_self_sync long: a million random streams.
 */
#include "huffman/decoders/self_sync.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "linear_reference.h"

static szg_sync_table sync_table;
static int random_stream_count = 3000;

static szg_self_sync_options const all_options[] = {
    {256, 1, 1},    {256, 2, 1},    {256, 32, 1},  {256, 128, 32},         {288, 7, 3},
    {1024, 128, 5}, {8192, 1, 1},   {512, 32, 32}, SZG_SELF_SYNC_DEFAULTS, {8192, 1024, 256},
    {256, 1024, 1}, {4096, 64, 16},
};

static void build_book(int kind) {
  test_build_book(kind);
  szg_sync_table_build(&coder.book, &sync_table);
}

/* The work, in memory that is not zero. */
static szg_self_sync_work make_work(const szg_self_sync_options *options, uint64_t bit_count,
                                    void **block) {
  szg_self_sync_work work;
  szg_arena arena = {0};
  assert_int_equal(szg_self_sync_carve(&arena, options, bit_count, &work), SZGPU_OK);
  arena = (szg_arena){.base = *block = test_block(arena.used_bytes),
                      .capacity_bytes = arena.used_bytes};
  assert_int_equal(szg_self_sync_carve(&arena, options, bit_count, &work), SZGPU_OK);
  return work;
}

static szg_linear_input bits_alone(const test_stream *s) {
  return (szg_linear_input){.words = s->words,
                            .word_bytes = s->word_bytes,
                            .bit_count = s->bit_count,
                            .code_count = s->code_count};
}

/* Fails the test if the serial decoder decodes otherwise. */
static szgpu_status decode_as_serial(const szg_linear_input *input,
                                     const szg_self_sync_options *options, int thread_count) {
  void *block;
  szg_self_sync_work const work = make_work(options, input->bit_count, &block);
  size_t const code_bytes = input->code_count * sizeof(uint16_t);
  uint16_t *const codes = test_block(code_bytes), *const expected = test_block(code_bytes);
  szg_threads threads = {.count = thread_count};
  szgpu_status const status =
      szg_decode_self_sync(&sync_table, &coder.decode_table, &work, input, codes, &threads, NULL);
  szg_code_run const run = {0, input->bit_count, (uint32_t)input->code_count, expected};
  assert_int_equal(status, szg_decode_serial(&coder.index, input, &run, 1));
  if (status == SZGPU_OK) assert_memory_equal(codes, expected, code_bytes);
  free(codes);
  free(expected);
  free(block);
  return status;
}

/* ---- the table ---- */

static void a_window_says_its_whole_codes(void **state) {
  (void)state;
  build_book(TEST_BOOK_FLAT_4); /* all codes have 2 bits */
  for (int window = 0; window < SZG_SYNC_WINDOWS; window++) {
    assert_int_equal(sync_table.spans[window], 5 << SZG_SYNC_COUNT_SHIFT | 10);
    assert_int_equal(sync_table.borders[window], 0x555);
  }
  build_book(TEST_BOOK_STEEP); /* 1, 2, ... bits, ones and then a zero before the mask */
  uint32_t const mask = sync_table.mask >> (SZG_MAX_CODE_BITS - SZG_SYNC_WINDOW_BITS);
  assert_int_equal(sync_table.spans[0x7FF ^ mask], 0);
  assert_int_equal(sync_table.borders[0x7FF ^ mask], 1);
  uint32_t const first_bit = mask & 0x400; /* the one-bit code sets it in every first bit */
  assert_int_equal(sync_table.spans[first_bit ? 0x7FF : 0], 11 << SZG_SYNC_COUNT_SHIFT | 11);
  assert_int_equal(sync_table.borders[first_bit ? 0x7FF : 0], 0xFFF);
  build_book(TEST_BOOK_LONE);
  assert_int_equal(sync_table.spans[0x100], 2 << SZG_SYNC_COUNT_SHIFT | 2);
  assert_int_equal(sync_table.spans[0x400], 0);
}

static void long_codes_have_their_lengths(void **state) {
  (void)state;
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    build_book(kind);
    for (uint32_t s = 0; s < coder.book.symbol_count; s++) {
      uint32_t const length = coder.book.lengths[s];
      if (length <= SZG_SYNC_WINDOW_BITS) continue;
      uint32_t const bits = (uint32_t)coder.book.codes[s] << (SZG_MAX_CODE_BITS - length);
      uint32_t const others = (1u << (SZG_MAX_CODE_BITS - length)) - 1;
      assert_int_equal(szg_sync_long_bits(&sync_table, bits), length);
      assert_int_equal(szg_sync_long_bits(&sync_table, bits | others), length);
    }
  }
  build_book(TEST_BOOK_LONE);
  assert_int_equal(szg_sync_long_bits(&sync_table, 0x8000), SZG_MAX_CODE_BITS + 1);
}

/* ---- sound streams ---- */

/* Compares the records of subsequences with the stream's own codes. */
static void check_records(const test_stream *s, const szg_self_sync_work *work) {
  uint32_t const bits = work->options.subsequence_bits;
  size_t code = 0;
  for (uint64_t i = 0; i < work->subsequence_count; i++) {
    uint64_t const border = s->bit_count / bits > i ? (i + 1) * bits : s->bit_count;
    size_t const first_code = code;
    while (code < s->code_count && s->starts[code] < border) code++;
    assert_int_equal(work->records[i].start, s->starts[first_code] - i * bits);
    assert_int_equal(work->records[i].code_count, code - first_code);
    assert_int_equal(work->records[i].end, s->starts[code] - border);
  }
}

static void check_stream(const test_stream *s, const szg_self_sync_options *options) {
  szg_linear_input const input = bits_alone(s);
  szg_self_sync_report reports[2];
  for (int i = 0; i < 2; i++) {
    void *block;
    szg_self_sync_work const work = make_work(options, s->bit_count, &block);
    uint16_t *const codes = test_block(s->code_count * sizeof *codes);
    szg_threads threads = {.count = i == 0 ? 1 : 3};
    szgpu_status const status = szg_decode_self_sync(&sync_table, &coder.decode_table, &work,
                                                     &input, codes, &threads, &reports[i]);
    assert_int_equal(status, SZGPU_OK);
    assert_memory_equal(codes, s->codes, s->code_count * sizeof *codes);
    check_records(s, &work);
    free(codes);
    free(block);
  }
  uint64_t const count = reports[0].subsequences;
  for (int phase = 0; phase < 2; phase++) {
    assert_int_equal(reports[0].decodings[phase], reports[1].decodings[phase]);
    assert_true(reports[0].decodings[phase] <= 2 * count);
  }
}

static void every_book_gives_its_codes_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    build_book(kind);
    for (size_t i = 0; i < test_code_count_count; i++) {
      test_stream s = test_make_stream(test_code_counts[i], &random);
      size_t const step = s.code_count > 5000 ? 3 : 1; /* time */
      for (size_t o = i % step; o < ARRAY_COUNT(all_options); o += step)
        check_stream(&s, &all_options[o]);
      test_stream_release(&s);
    }
  }
}

/* Codes of 10 bits never fall into step: a start off their grid stays off. Codes of mixed lengths
 * do, and little is decoded again. */
static void agreement_takes_what_the_book_makes_it_take(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szg_self_sync_options const options = {1024, 16, 4};
  szg_threads threads = {.count = 2};
  for (int is_flat = 0; is_flat < 2; is_flat++) {
    build_book(is_flat ? TEST_BOOK_FLAT_1024 : TEST_BOOK_SKEWED_1024);
    test_stream s = test_make_stream(is_flat ? 150000 : 300000, &random);
    szg_linear_input const input = bits_alone(&s);
    void *block;
    szg_self_sync_work const work = make_work(&options, s.bit_count, &block);
    uint16_t *const codes = test_block(s.code_count * sizeof *codes);
    szg_self_sync_report report;
    assert_int_equal(szg_decode_self_sync(&sync_table, &coder.decode_table, &work, &input, codes,
                                          &threads, &report),
                     SZGPU_OK);
    assert_memory_equal(codes, s.codes, s.code_count * sizeof *codes);
    uint64_t const count = report.subsequences;
    assert_true(work.part_count >= 4);
    if (is_flat) { /* 3 of 4 stretches begin off the grid, then nearly all sequences and parts */
      assert_true(report.decodings[0] > count * 3 / 2 && report.decodings[1] > count * 5 / 4);
    } else { /* once, and about one more per stretch and per sequence */
      assert_true(report.decodings[0] >= count && report.decodings[0] < count * 13 / 10);
      assert_true(report.decodings[1] < count / 10);
    }
    free(codes);
    free(block);
    test_stream_release(&s);
  }
}

/* ---- random books ---- */

/* Builds a book, mostly with random skew, sometimes with one symbol or extremely skewed, and the
 * coders' tables for it. */
static void build_random_book(test_random *random) {
  static uint32_t const symbol_counts[] = {2, 4, 16, 64, 300, 1024, 4096};
  uint32_t const symbol_count = symbol_counts[test_random_below(random, 7)];
  uint64_t const kind = test_random_below(random, 10); /* 0: one symbol, 1: skewed */
  uint64_t const occurring = kind == 0 ? 1 : 1 + test_random_below(random, symbol_count);
  uint64_t const skew = 1 + test_random_below(random, 40);
  memset(coder.counts, 0, symbol_count * sizeof *coder.counts);
  for (uint64_t i = 0; i < occurring; i++)
    coder.counts[test_random_below(random, symbol_count)] =
        (uint64_t)1 << (kind == 1 ? i % 60 : test_random_below(random, skew));
  szg_codebook_build(coder.counts, symbol_count, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_encoder_table(&coder.book, coder.table);
  szg_canonical_index_build(&coder.book, &coder.index);
  szg_decode_table_build(&coder.book, &coder.decode_table);
  szg_sync_table_build(&coder.book, &sync_table);
}

/* Random codes of the book, and their bits as the encoder writes them. */
static test_stream encode_random(size_t code_count, test_random *random) {
  uint64_t occurring = 0;
  for (uint32_t symbol = 0; symbol < coder.book.symbol_count; symbol++)
    occurring += coder.book.lengths[symbol] != 0;
  uint64_t const most_ranks[] = {1 + occurring / 4, occurring, occurring > 8 ? 8 : occurring};
  uint64_t const ranks = most_ranks[test_random_below(random, 3)]; /* the shortest codes */
  test_stream s = {.code_count = code_count, .codes = test_block(code_count * sizeof *s.codes)};
  for (size_t i = 0; i < code_count; i++)
    s.codes[i] = coder.index.symbols[test_random_below(random, ranks)];
  s.bit_count = szg_linear_bits(&coder.book, s.codes, code_count);
  s.word_bytes = (s.bit_count + 31) / 32 * 4;
  s.words = test_block(s.word_bytes);
  uint8_t *const gaps = test_block(szg_subsequence_count(s.bit_count));
  uint64_t *const sequence_codes =
      test_block(szg_sequence_count(s.bit_count) * sizeof *sequence_codes);
  szg_linear_stream stream = {s.words, s.bit_count, gaps, sequence_codes};
  szg_linear_run run = {0};
  szg_linear_encode(coder.table, s.codes, code_count, &run, &stream);
  szg_linear_merge(&run, 1, &stream);
  free(gaps);
  free(sequence_codes);
  return s;
}

static void flip_bits(test_stream *s, test_random *random) {
  for (uint64_t flips = 1 + test_random_below(random, 4); flips > 0; flips--)
    s->words[test_random_below(random, s->word_bytes)] ^=
        (uint8_t)(1 << test_random_below(random, 8));
}

/* Sound streams, then streams with another count of codes or bits, then with other bits. */
static void random_streams_fare_as_with_the_serial_decoder(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int accepted_count = 0, refused_count = 0;
  for (int round = 0; round < random_stream_count; round++) {
    if (round % 8 == 0) build_random_book(&random);
    uint64_t const most_codes = round % 100 == 0 ? 40000 : 1500;
    test_stream s = encode_random(1 + test_random_below(&random, most_codes), &random);
    szg_self_sync_options const *const options =
        &all_options[test_random_below(&random, ARRAY_COUNT(all_options))];
    int const thread_count = 1 + (int)test_random_below(&random, 2) * (round % 10 == 0);
    szg_linear_input const honest = bits_alone(&s);
    assert_int_equal(decode_as_serial(&honest, options, thread_count), SZGPU_OK);
    szg_linear_input lies[] = {honest, honest, honest};
    lies[0].code_count += test_random_below(&random, 2) ? 1 : (uint64_t)-1;
    lies[1].bit_count -= test_random_below(&random, honest.bit_count < 40 ? honest.bit_count : 40);
    lies[2].bit_count = honest.word_bytes * 8;
    for (int i = 0; i < 3; i++) (void)decode_as_serial(&lies[i], options, thread_count);
    flip_bits(&s, &random);
    bool const is_accepted = decode_as_serial(&honest, options, thread_count) == SZGPU_OK;
    accepted_count += is_accepted;
    refused_count += !is_accepted;
    test_stream_release(&s);
  }
  assert_true(accepted_count > random_stream_count / 20);
  assert_true(refused_count > random_stream_count / 20);
}

/* ---- what is refused ---- */

static void a_stream_without_codes_is_empty(void **state) {
  (void)state;
  build_book(TEST_BOOK_LONE);
  uint8_t words[64] = {0};
  szg_self_sync_options const options = SZG_SELF_SYNC_DEFAULTS;
  szg_linear_input input = {.words = words};
  assert_int_equal(decode_as_serial(&input, &options, 1), SZGPU_OK);
  input.code_count = 1;
  assert_int_equal(decode_as_serial(&input, &options, 1), SZGPU_BAD_DATA);
  input = (szg_linear_input){.words = words, .word_bytes = 64, .bit_count = 512};
  assert_int_equal(decode_as_serial(&input, &options, 1), SZGPU_BAD_DATA);
}

/* Bits that are not a code have no symbol, so the counts may agree for undecodable bits. */
static void bits_that_are_no_code_are_refused(void **state) {
  (void)state;
  szg_self_sync_options const options = {256, 4, 1};
  uint8_t words[256];
  memset(words, 0, sizeof words);
  words[131] = 0x20; /* bit 1026 */
  szg_linear_input input = {.words = words, .word_bytes = 256, .bit_count = 2040};
  build_book(TEST_BOOK_LONE);
  for (input.code_count = 2038; input.code_count <= 2040; input.code_count++)
    assert_int_equal(decode_as_serial(&input, &options, 1), SZGPU_BAD_DATA);
  memset(coder.counts, 0, sizeof coder.counts); /* a book without symbols */
  szg_codebook_build(coder.counts, 1024, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_canonical_index_build(&coder.book, &coder.index);
  szg_decode_table_build(&coder.book, &coder.decode_table);
  szg_sync_table_build(&coder.book, &sync_table);
  for (input.code_count = 0; input.code_count <= 2040; input.code_count += 2040)
    assert_int_equal(decode_as_serial(&input, &options, 1), SZGPU_BAD_DATA);
}

static void options_beyond_their_limits_are_refused(void **state) {
  (void)state;
  szg_self_sync_options const bad_options[] = {
      {0, 1, 1},      {224, 1, 1},   {8224, 1, 1}, {260, 1, 1},        {256, 0, 0},
      {256, 1025, 1}, {256, 128, 0}, {256, 4, 5},  {UINT32_MAX, 1, 1}, {256, 0, 1}};
  for (size_t i = 0; i < ARRAY_COUNT(bad_options); i++) {
    szg_arena arena = {0};
    szg_self_sync_work work;
    assert_int_equal(szg_self_sync_carve(&arena, &bad_options[i], 1000, &work), SZGPU_BAD_ARGUMENT);
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "long") == 0) random_stream_count = 1000000;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_window_says_its_whole_codes),
      cmocka_unit_test(long_codes_have_their_lengths),
      cmocka_unit_test(every_book_gives_its_codes_back),
      cmocka_unit_test(agreement_takes_what_the_book_makes_it_take),
      cmocka_unit_test(random_streams_fare_as_with_the_serial_decoder),
      cmocka_unit_test(a_stream_without_codes_is_empty),
      cmocka_unit_test(bits_that_are_no_code_are_refused),
      cmocka_unit_test(options_beyond_their_limits_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
