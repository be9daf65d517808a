/* test_hierarchical.c - chained tables of 256 entries: tables, side data, decoded values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/hierarchical.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "linear_reference.h"
#include "study/hierarchical_forms.h"

static szg_hierarchical_tables tables; /* for the coder's book */

/* ---- books of bytes ---- */

enum { BOOK_LONE, BOOK_TWO, BOOK_STEEP, BOOK_LONG, BOOK_EXPONENTS, BOOK_FLAT, BOOK_COUNT };

static uint64_t count_of(int kind, uint32_t s) {
  uint32_t const distance = s > 121 ? s - 121 : 121 - s;
  switch (kind) {
    case BOOK_LONE:
      return s == 255;
    case BOOK_TWO:
      return s == 3 || s == 250;
    case BOOK_STEEP: /* lengths 1 to 16 */
      return s >= 236 ? (uint64_t)1 << (s - 236) : 0;
    case BOOK_LONG: /* one short code, all others longer than 8 bits */
      return s == 240 ? 1u << 20 : 1 + s % 3;
    case BOOK_EXPONENTS:
      return distance < 40 ? (uint64_t)1 << 40 >> distance : 0;
    default:
      return 1;
  }
}

static void use_book(uint32_t symbol_count) {
  szg_codebook_build(coder.counts, symbol_count, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_encoder_table(&coder.book, coder.table);
  szg_canonical_index_build(&coder.book, &coder.index);
  memset(&tables, 0xA5, sizeof tables);
  szg_hierarchical_build(&coder.book, &tables);
}

static void build_book(int kind) {
  for (uint32_t s = 0; s < 256; s++) coder.counts[s] = count_of(kind, s);
  use_book(256);
}

static void build_random_book(test_random *random) {
  uint32_t const symbol_count = 2 + 2 * (uint32_t)test_random_below(random, 128);
  uint64_t const steepness = test_random_below(random, 40);
  for (uint32_t s = 0; s < symbol_count; s++)
    coder.counts[s] =
        test_random_below(random, 4)
            ? test_random_bits(random) >> (8 + test_random_below(random, steepness + 1))
            : 0;
  coder.counts[test_random_below(random, symbol_count)] += 1;
  use_book(symbol_count);
}

/* ---- streams with their side data ---- */

typedef struct marked_stream {
  test_stream s;
  szg_hierarchical_stream stream;
  uint8_t *gaps;
  void *positions;
  uint64_t gap_bytes, block_count;
} marked_stream;

static marked_stream mark(test_stream s, uint32_t gap_bits, uint32_t position_bytes) {
  marked_stream m = {.s = s};
  m.stream = (szg_hierarchical_stream){s.words,  s.word_bytes / 4, s.bit_count, s.code_count,
                                       gap_bits, position_bytes,   NULL,        NULL};
  m.gap_bytes = szg_hierarchical_gap_bytes(s.bit_count, gap_bits);
  m.block_count = szg_hierarchical_block_count(s.bit_count);
  m.gaps = test_block(m.gap_bytes);
  m.positions = test_block((m.block_count + 1) * position_bytes);
  assert_int_equal(szg_hierarchical_mark(&tables, &m.stream, m.gaps, m.positions), SZGPU_OK);
  m.stream.gaps = m.gaps;
  m.stream.positions = m.positions;
  return m;
}

static marked_stream make_marked(size_t code_count, uint32_t gap_bits, uint32_t position_bytes,
                                 test_random *random) {
  return mark(test_make_stream(code_count, random), gap_bits, position_bytes);
}

static void release(marked_stream *m) {
  free(m->gaps);
  free(m->positions);
  test_stream_release(&m->s);
}

/* Decodes as bytes and as bf16. values: what must come out, or NULL. */
static szgpu_status decode(const marked_stream *m, int thread_count, const uint16_t *values) {
  uint64_t const count = m->stream.code_count;
  uint8_t *const bytes = test_block(count), *const rest = test_block(count);
  uint16_t *const merged = test_block(count * sizeof *merged);
  for (uint64_t i = 0; i < count; i++) rest[i] = (uint8_t)(i * 37 + i / 256);
  szg_bf16_output const as_bf16 = {merged, rest};
  szg_threads threads = {.count = thread_count};
  szgpu_status const status = szg_decode_hierarchical(&tables, &m->stream, bytes, &threads);
  assert_int_equal(szg_decode_bf16(&tables, &m->stream, &as_bf16, &threads), status);
  for (uint64_t i = 0; i < count && values && status == SZGPU_OK; i++) {
    assert_int_equal(bytes[i], values[i]);
    assert_int_equal(szg_bf16_exponent(merged[i]), values[i]);
    assert_int_equal(szg_bf16_rest(merged[i]), rest[i]);
  }
  free(bytes);
  free(rest);
  free(merged);
  return status;
}

/* ---- tables ---- */

/* Symbols 3, 240, 255 and 7 have codes 0, 10, 110 and 111. */
static void tables_of_four_codes_are_as_by_hand(void **state) {
  (void)state;
  memset(&coder.book, 0, sizeof coder.book);
  coder.book.symbol_count = coder.book.end_symbol = 256;
  coder.book.first_symbol = 1;
  static uint8_t const symbols[] = {3, 240, 255, 7}, lengths[] = {1, 2, 3, 3};
  static uint16_t const codes[] = {0, 2, 6, 7};
  for (int i = 0; i < 4; i++) {
    coder.book.lengths[symbols[i]] = lengths[i];
    coder.book.codes[symbols[i]] = codes[i];
  }
  szg_hierarchical_build(&coder.book, &tables);
  assert_int_equal(tables.table_count, 1);
  assert_int_equal(szg_hierarchical_tables_bytes(&tables), 16 + 2048 + 512);
  assert_int_equal(tables.entries[0][0x00], 1 << 8 | 3);
  assert_int_equal(tables.entries[0][0x80], 2 << 8 | 240);
  assert_int_equal(tables.entries[0][0xDF], 3 << 8 | 255);
  assert_int_equal(tables.entries[0][0xFF], 3 << 8 | 7);
  /* 0 10 110 11: three codes in six bits, then a fourth that is cut off. */
  uint32_t const pack = 6 | 3u << 5 | 240u << 13 | 255u << 21 | 3u << 29;
  assert_int_equal(tables.packs[0x5B], pack);
  assert_int_equal(tables.spans[0x5B], 6 | 3 << 8 | (1 | 1 << 1 | 1 << 3 | 1 << 6) << 16);
  /* Eight codes; a pack holds three of them. */
  assert_int_equal(tables.packs[0], 3 | 3u << 5 | 3u << 13 | 3u << 21 | 3u << 29);
  assert_int_equal(tables.spans[0], 8 | 8 << 8 | 0x1FF << 16);
}

/* Books of up to 256 symbols, some of which need links to other tables. */
static void each_symbol_is_found_by_its_code(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 200; round++) {
    if (round < BOOK_COUNT)
      build_book(round);
    else
      build_random_book(&random);
    uint32_t found = 0;
    for (uint32_t s = 0; s < coder.book.symbol_count; s++) {
      uint32_t const length = coder.book.lengths[s];
      if (!length) continue;
      uint32_t const bits = (uint32_t)coder.book.codes[s] << (16 - length);
      uint32_t entry = tables.entries[0][bits >> 8];
      if (length > 8) {
        assert_true(entry & SZG_HIERARCHICAL_LINK);
        assert_in_range(entry % SZG_HIERARCHICAL_LINK, 1, tables.table_count - 1);
        assert_int_equal(tables.packs[bits >> 8], 0);
        assert_int_equal(tables.spans[bits >> 8], 0);
        entry = tables.entries[entry % SZG_HIERARCHICAL_LINK][bits & 255];
      }
      assert_int_equal(entry, length << 8 | s);
      found++;
    }
    assert_true(found > 0);
  }
  build_book(BOOK_LONG);
  assert_true(tables.table_count > 60);
}

/* ---- side data ---- */

static void marks_are_as_codes_begin(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    for (uint32_t gap_bits = 4; gap_bits <= 5; gap_bits++) {
      marked_stream m = make_marked(40000, gap_bits, gap_bits == 4 ? 4 : 8, &random);
      uint64_t code = 0;
      for (uint64_t t = 0; t * 64 < m.s.bit_count; t++) {
        while (m.s.starts[code] < 64 * t) code++;
        assert_int_equal(szg_hierarchical_gap(m.gaps, gap_bits, t), m.s.starts[code] - 64 * t);
        if (t % 512 == 0)
          assert_int_equal(szg_hierarchical_position(m.positions, m.stream.position_bytes, t / 512),
                           code);
      }
      assert_int_equal(
          szg_hierarchical_position(m.positions, m.stream.position_bytes, m.block_count), 40000);
      release(&m);
    }
  }
}

static void gaps_are_packed_first_highest(void **state) {
  (void)state;
  static uint8_t const by_5[] = {0x11, 0x32, 0x50}; /* 00010 00100 11001 0... */
  assert_int_equal(szg_hierarchical_gap(by_5, 5, 0), 2);
  assert_int_equal(szg_hierarchical_gap(by_5, 5, 1), 4);
  assert_int_equal(szg_hierarchical_gap(by_5, 5, 2), 25);
  assert_int_equal(szg_hierarchical_gap(by_5, 4, 1), 1);
  assert_int_equal(szg_hierarchical_gap(by_5, 4, 2), 3);
}

/* An archive's gap array and sequence codes after the split, to be compared with the marks. */
typedef struct split_data {
  szgpu_status status;
  uint8_t *gaps;
  uint64_t *positions;
} split_data;

static split_data split(const marked_stream *m, int thread_count) {
  szg_linear_input const input = test_input_of(&m->s);
  szg_threads threads = {.count = thread_count};
  split_data made = {.gaps = test_block(m->gap_bytes),
                     .positions = test_block((m->block_count + 1) * sizeof(uint64_t))};
  made.status = szg_hierarchical_split_gaps(&tables, &input, made.gaps, made.positions, &threads);
  return made;
}

static void gaps_of_archives_are_split_to_marks(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    for (size_t n = 0; n <= test_code_count_count; n++) {
      size_t const count = n < test_code_count_count ? test_code_counts[n] : 40000;
      marked_stream m = make_marked(count, 4, 8, &random);
      split_data const made = split(&m, 1 + (int)(n % 3));
      assert_int_equal(made.status, SZGPU_OK);
      assert_memory_equal(made.gaps, m.gaps, m.gap_bytes);
      assert_memory_equal(made.positions, m.positions, (m.block_count + 1) * sizeof(uint64_t));
      free(made.gaps);
      free(made.positions);
      release(&m);
    }
  }
}

/* Wrong gaps are refused here or by the decoder; wrong bits get the serial decoder's verdict. */
static void lies_about_gaps_are_found_after_the_split(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int refused_here = 0, refused_count = 0;
  for (int round = 0; round < 900; round++) {
    if (round % 150 == 0) build_book(round / 150);
    marked_stream m = make_marked(1000, 4, 8, &random);
    uint64_t const gap = test_random_below(&random, m.s.gap_count);
    uint64_t const bit = test_random_below(&random, m.s.bit_count);
    if (round % 2)
      m.s.gaps[gap / 2] ^= (uint8_t)(1 << (gap % 2 * 4 + test_random_below(&random, 4)));
    else
      m.s.words[bit / 8] ^= (uint8_t)(1 << bit % 8);
    szg_linear_input const input = test_input_of(&m.s);
    bool const is_sound = szg_linear_verify(&coder.index, &input) == SZGPU_OK;
    assert_false(is_sound && round % 2);
    split_data const made = split(&m, 1);
    marked_stream other = m;
    other.stream.gaps = made.gaps;
    other.stream.positions = made.positions;
    szgpu_status const status = made.status == SZGPU_OK ? decode(&other, 1, NULL) : SZGPU_BAD_DATA;
    assert_int_equal(status, is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
    refused_here += made.status != SZGPU_OK;
    refused_count += !is_sound;
    free(made.gaps);
    free(made.positions);
    release(&m);
  }
  assert_true(refused_here > 0 && refused_count > 450 && refused_count < 900);
}

/* ---- decoding ---- */

static void symbols_come_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    for (size_t n = 0; n < test_code_count_count; n++) {
      uint32_t const gap_bits = 4 + (n + (size_t)kind) % 2, position_bytes = n % 3 ? 4 : 8;
      marked_stream m = make_marked(test_code_counts[n], gap_bits, position_bytes, &random);
      assert_int_equal(decode(&m, 1 + (int)(n % 3), m.s.codes), SZGPU_OK);
      release(&m);
    }
  }
  for (int round = 0; round < 400; round++) {
    build_random_book(&random);
    marked_stream m = make_marked(1 + test_random_below(&random, 900), 4, 4, &random);
    assert_int_equal(decode(&m, 1, m.s.codes), SZGPU_OK);
    release(&m);
  }
}

static void a_bf16_value_is_an_exponent_and_the_rest(void **state) {
  (void)state;
  for (uint32_t v = 0; v < 65536; v++) {
    uint16_t const value = (uint16_t)v;
    assert_int_equal(szg_bf16_of(szg_bf16_exponent(value), szg_bf16_rest(value)), value);
  }
  assert_int_equal(szg_bf16_exponent(0xBF80), 127); /* -1 */
  assert_int_equal(szg_bf16_rest(0xBF80), 0x80);
}

static void nothing_is_nothing(void **state) {
  (void)state;
  build_book(BOOK_FLAT);
  uint8_t gaps[1];
  uint32_t positions[1];
  szg_hierarchical_stream stream = {.words = gaps, .gap_bits = 4, .position_bytes = 4};
  assert_int_equal(szg_hierarchical_mark(&tables, &stream, gaps, positions), SZGPU_OK);
  szg_threads threads = {.count = 1};
  stream.gaps = gaps;
  stream.positions = positions;
  assert_int_equal(szg_decode_hierarchical(&tables, &stream, gaps, &threads), SZGPU_OK);
  stream.code_count = 1;
  assert_int_equal(szg_decode_hierarchical(&tables, &stream, gaps, &threads), SZGPU_BAD_DATA);
}

/* ---- damage ---- */

static void side_data_that_lie_are_refused(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    marked_stream m = make_marked(20000, 4 + (uint32_t)kind % 2, 4, &random);
    uint64_t const gap_bits_in_all =
        szg_hierarchical_thread_count(m.s.bit_count) * m.stream.gap_bits;
    for (int round = 0; round < 60; round++) {
      uint64_t const bit =
          round < 4 ? (uint64_t)round : test_random_below(&random, gap_bits_in_all);
      m.gaps[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
      assert_int_equal(decode(&m, 1, NULL), SZGPU_BAD_DATA);
      m.gaps[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    }
    uint32_t *const positions = m.positions;
    for (uint64_t b = 0; b <= m.block_count; b++) {
      static uint32_t const changes[] = {1, UINT32_MAX, 8, 0x80000000u};
      for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        positions[b] += changes[i];
        assert_int_equal(decode(&m, 1, NULL), SZGPU_BAD_DATA);
        positions[b] -= changes[i];
      }
    }
    m.stream.code_count--;
    assert_int_equal(decode(&m, 1, NULL), SZGPU_BAD_DATA);
    m.stream.code_count++;
    m.stream.bit_count--;
    assert_int_equal(decode(&m, 1, NULL), SZGPU_BAD_DATA);
    m.stream.bit_count++;
    m.stream.word_count--;
    assert_int_equal(decode(&m, 1, NULL), SZGPU_BAD_DATA);
    m.stream.word_count++;
    assert_int_equal(decode(&m, 2, m.s.codes), SZGPU_OK);
    release(&m);
  }
}

/* Changed bits are refused, or decoded as the serial decoder decodes them. */
static void any_bits_mean_what_the_serial_decoder_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int accepted_count = 0, refused_count = 0;
  for (int round = 0; round < 600; round++) {
    if (round % 100 == 0) build_book(round / 100);
    marked_stream m = make_marked(300, 4, 4, &random);
    uint64_t const bit = test_random_below(&random, m.s.bit_count);
    m.s.words[bit / 8] ^= (uint8_t)(1 << bit % 8);
    szg_linear_input const input = test_input_of(&m.s);
    uint16_t codes[300];
    szg_code_run const run = {0, m.s.bit_count, 300, codes};
    bool const is_sound = szg_decode_serial(&coder.index, &input, &run, 1) == SZGPU_OK;
    szgpu_status const status = decode(&m, 1, is_sound ? codes : NULL);
    if (!is_sound) assert_int_equal(status, SZGPU_BAD_DATA);
    accepted_count += status == SZGPU_OK;
    refused_count += status != SZGPU_OK;
    assert_int_equal(szg_hierarchical_mark(&tables, &m.stream, m.gaps, m.positions),
                     is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
    if (is_sound) assert_int_equal(decode(&m, 1, codes), SZGPU_OK);
    release(&m);
  }
  assert_true(accepted_count > 20 && refused_count > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_of_four_codes_are_as_by_hand),
      cmocka_unit_test(each_symbol_is_found_by_its_code),
      cmocka_unit_test(marks_are_as_codes_begin),
      cmocka_unit_test(gaps_are_packed_first_highest),
      cmocka_unit_test(gaps_of_archives_are_split_to_marks),
      cmocka_unit_test(lies_about_gaps_are_found_after_the_split),
      cmocka_unit_test(symbols_come_back),
      cmocka_unit_test(a_bf16_value_is_an_exponent_and_the_rest),
      cmocka_unit_test(nothing_is_nothing),
      cmocka_unit_test(side_data_that_lie_are_refused),
      cmocka_unit_test(any_bits_mean_what_the_serial_decoder_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
