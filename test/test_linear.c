/* test_linear.c - the linear layout: encoder and its side data, the decoders, the verifier.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference below writes one bit at a time and derives gaps and code counts from their
 * definition. Every block has exactly the room it needs, so that a sanitizer sees a step beyond.
 */
#include "huffman/huffman.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "support.h"

static size_t const awkward_counts[] = {1,   2,   3,   31,   32,   33,   63,   64,    65,   255,
                                        256, 257, 997, 4095, 4096, 4097, 7919, 32768, 70001};

/* How the codes of a sample are distributed. */
enum { LONE, TWO, FLAT_4, STEEP, SKEWED_1024, FLAT_1024, FLAT_65536, BOOK_COUNT };

/* Too large for the stack. */
static szg_codebook book;
static szg_codebook_work work;
static uint64_t counts[SZG_MAX_SYMBOLS];
static uint32_t table[SZG_MAX_SYMBOLS];
static szg_canonical_index canonical_index;
static szg_decode_table decode_table;

static void *block(size_t bytes) {
  void *const memory = test_allocate(bytes);
  memset(memory, 0xA5, bytes);
  return memory;
}

/* ---- books and codes ---- */

static void build_book(int kind) {
  static uint32_t const symbol_counts[BOOK_COUNT] = {1024, 4, 4, 64, 1024, 1024, SZG_MAX_SYMBOLS};
  uint32_t const symbol_count = symbol_counts[kind];
  for (uint32_t s = 0; s < symbol_count; s++) {
    uint32_t const distance = s > 512 ? s - 512 : 512 - s;
    counts[s] = kind == LONE          ? s == 700
                : kind == TWO         ? s == 1 || s == 2
                : kind == STEEP       ? (s < 20 ? (uint64_t)1 << s : 0) /* lengths 1 to 16 */
                : kind == SKEWED_1024 ? 1 + ((uint64_t)1 << 30 >> (distance < 30 ? distance : 30))
                                      : 1;
  }
  szg_codebook_build(counts, symbol_count, &book, &work);
  szg_encoder_table(&book, table);
  szg_canonical_index_build(&book, &canonical_index);
  szg_decode_table_build(&book, &decode_table);
}

/* A symbol of the book; the shorter its code, the likelier. */
static uint16_t random_symbol(test_random *random) {
  for (;;) {
    uint32_t const s = (uint32_t)test_random_below(random, book.symbol_count);
    if (!book.lengths[s]) continue;
    bool const is_taken = test_random_below(random, 4) == 0;
    if (is_taken || test_random_below(random, (uint64_t)1 << book.lengths[s]) < 2)
      return (uint16_t)s;
  }
}

/* ---- a stream as the definition has it ---- */

typedef struct stream {
  size_t code_count;
  uint16_t *codes;
  uint64_t *starts; /* bit of each code, and of the end */
  uint64_t bit_count, word_bytes, gap_count, gap_bytes, sequence_count;
  uint8_t *words, *gaps, *sequence_codes; /* as sections hold them */
} stream;

static void set_bit(uint8_t *words, uint64_t bit) {
  words[bit / 32 * 4 + 3 - bit % 32 / 8] |= (uint8_t)(0x80 >> bit % 8);
}

static stream reference_stream(size_t code_count, test_random *random) {
  stream s = {.code_count = code_count};
  s.codes = block(code_count * sizeof *s.codes);
  s.starts = block((code_count + 1) * sizeof *s.starts);
  for (size_t i = 0; i < code_count; i++) {
    s.codes[i] = random_symbol(random);
    s.starts[i] = s.bit_count;
    s.bit_count += book.lengths[s.codes[i]];
  }
  s.starts[code_count] = s.bit_count;
  s.word_bytes = (s.bit_count + 31) / 32 * 4;
  s.gap_count = (s.bit_count + 255) / 256;
  s.gap_bytes = (s.gap_count + 1) / 2;
  s.sequence_count = (s.bit_count + 32767) / 32768;
  s.words = block(s.word_bytes);
  s.gaps = block(s.gap_bytes);
  s.sequence_codes = block(2 * s.sequence_count);
  memset(s.words, 0, s.word_bytes);
  memset(s.gaps, 0, s.gap_bytes);
  for (size_t i = 0; i < code_count; i++)
    for (uint32_t b = 0; b < book.lengths[s.codes[i]]; b++)
      if (book.codes[s.codes[i]] >> (book.lengths[s.codes[i]] - 1 - b) & 1)
        set_bit(s.words, s.starts[i] + b);
  for (uint64_t g = 0, i = 0; g < s.gap_count; g++) {
    while (s.starts[i] < 256 * g) i++;
    s.gaps[g / 2] |= (uint8_t)((s.starts[i] - 256 * g) << g % 2 * 4);
  }
  for (uint64_t q = 0, i = 0; q < s.sequence_count; q++) {
    uint64_t const first = i;
    while (i < code_count && s.starts[i] < 32768 * (q + 1)) i++;
    szg_store_u16(s.sequence_codes + 2 * q, (uint16_t)(i - first));
  }
  return s;
}

static void release(stream *s) {
  free(s->codes);
  free(s->starts);
  free(s->words);
  free(s->gaps);
  free(s->sequence_codes);
}

/* ---- the encoder ---- */

/* Encodes parts of part_codes codes, last part first, and compares. random: if not NULL, parts of
 * 0 to part_codes codes, first part first. */
static void encodes_as_reference(const stream *s, size_t part_codes, test_random *random) {
  size_t const most_runs = random ? s->code_count * 3 + 64 : s->code_count / part_codes + 1;
  szg_linear_run *const runs = block((most_runs + 1) * sizeof *runs);
  size_t run_count = 0;
  for (size_t code = 0; code < s->code_count && run_count < most_runs; run_count++) {
    runs[run_count].first_code = code;
    runs[run_count].first_bit = s->starts[code];
    code += random ? test_random_below(random, part_codes + 1) : part_codes;
    if (run_count + 1 == most_runs) code = s->code_count;
  }
  runs[run_count].first_code = s->code_count;
  szg_linear_stream out = {.words = block(s->word_bytes),
                           .bit_count = s->bit_count,
                           .gaps = block(s->gap_count),
                           .sequence_codes = block(s->sequence_count * sizeof(uint64_t))};
  for (size_t k = 0; k < run_count; k++) {
    size_t const i = random ? k : run_count - 1 - k;
    uint64_t const end = szg_min_u64(runs[i + 1].first_code, s->code_count);
    szg_linear_encode(table, s->codes + runs[i].first_code, end - runs[i].first_code, &runs[i],
                      &out);
  }
  szg_linear_merge(runs, run_count, &out);
  assert_memory_equal(out.words, s->words, s->word_bytes);
  uint8_t *const packed = block(s->gap_bytes);
  szg_gaps_pack(out.gaps, s->gap_count, packed);
  assert_memory_equal(packed, s->gaps, s->gap_bytes);
  for (uint64_t q = 0; q < s->sequence_count; q++) {
    uint64_t const next = q + 1 < s->sequence_count ? out.sequence_codes[q + 1] : s->code_count;
    assert_int_equal(next - out.sequence_codes[q], szg_load_u16(s->sequence_codes + 2 * q));
  }
  free(packed);
  free(out.words);
  free(out.gaps);
  free(out.sequence_codes);
  free(runs);
}

static void encodes_five_codes_as_a_hand_does(void **state) {
  (void)state;
  memset(counts, 0, sizeof counts);
  counts[0] = 1, counts[3] = 4, counts[4] = 2, counts[5] = 1;
  szg_codebook_build(counts, 8, &book, &work); /* 3: 1, 4: 00, 0: 010, 5: 011 */
  szg_encoder_table(&book, table);
  uint16_t const codes[] = {3, 0, 5, 4, 3};
  assert_int_equal(szg_linear_bits(&book, codes, 5), 10);
  uint8_t words[4], gap = 9;
  uint64_t sequence_code = 9;
  szg_linear_stream out = {words, 10, &gap, &sequence_code};
  szg_linear_run run = {0};
  szg_linear_encode(table, codes, 5, &run, &out);
  szg_linear_merge(&run, 1, &out);
  /* 1 010 011 00 1, from the highest bit of a little-endian word down */
  uint8_t const expected[] = {0, 0, 0x40, 0xA6};
  assert_memory_equal(words, expected, 4);
  assert_int_equal(gap, 0);
  assert_int_equal(sequence_code, 0);
}

static void encodes_parts_of_any_size_as_one_bit_at_a_time_does(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    for (size_t i = 0; i < ARRAY_COUNT(awkward_counts); i++) {
      stream s = reference_stream(awkward_counts[i], &random);
      assert_int_equal(szg_linear_bits(&book, s.codes, s.code_count), s.bit_count);
      encodes_as_reference(&s, s.code_count, NULL);
      encodes_as_reference(&s, 1, NULL); /* up to 32 parts in one word */
      encodes_as_reference(&s, 7, NULL);
      encodes_as_reference(&s, 4096, NULL);
      encodes_as_reference(&s, 3, &random);
      encodes_as_reference(&s, 300, &random);
      release(&s);
    }
  }
}

static void the_gap_array_is_at_most_3_2_percent_of_the_bitstream(void **state) {
  (void)state;
  for (uint64_t bit_count = 68 * 8; bit_count < 1000000; bit_count += 1 + bit_count / 16) {
    uint64_t const gap_bytes = (szg_subsequence_count(bit_count) + 1) / 2;
    assert_true((double)gap_bytes <= 0.032 * (double)((bit_count + 31) / 32 * 4));
  }
}

/* ---- the decoders ---- */

static szg_linear_input input_of(const stream *s) {
  return (szg_linear_input){s->words,      s->word_bytes, s->bit_count,
                            s->code_count, s->gaps,       s->sequence_codes};
}

static szgpu_status decode(bool is_serial, const szg_linear_input *input, const szg_code_run *runs,
                           size_t run_count) {
  return is_serial ? szg_decode_serial(&canonical_index, input, runs, run_count)
                   : szg_decode_runs(&decode_table, input, runs, run_count);
}

/* Runs over the stream of up to most_codes codes each, every one with a block of its own. */
static size_t make_runs(const stream *s, size_t most_codes, test_random *random,
                        szg_code_run **runs) {
  *runs = block((s->code_count + 1) * sizeof **runs);
  size_t run_count = 0;
  for (size_t code = 0; code < s->code_count; run_count++) {
    size_t const left = s->code_count - code;
    size_t const asked = 1 + test_random_below(random, most_codes);
    size_t const taken = asked < left ? asked : left;
    (*runs)[run_count] = (szg_code_run){s->starts[code], s->starts[code + taken] - s->starts[code],
                                        (uint32_t)taken, block(taken * sizeof(uint16_t))};
    code += taken;
  }
  return run_count;
}

static void release_runs(szg_code_run *runs, size_t run_count) {
  for (size_t i = 0; i < run_count; i++) free(runs[i].codes);
  free(runs);
}

static void check_runs(const stream *s, const szg_code_run *runs, size_t run_count) {
  for (size_t i = 0, code = 0; i < run_count; code += runs[i++].code_count)
    assert_memory_equal(runs[i].codes, s->codes + code, runs[i].code_count * sizeof(uint16_t));
}

static void both_decoders_give_the_codes_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  size_t const most_codes[] = {1, 9, 200, 4096};
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    for (size_t i = 0; i < ARRAY_COUNT(awkward_counts); i++) {
      stream s = reference_stream(awkward_counts[i], &random);
      szg_linear_input const input = input_of(&s);
      for (int m = 0; m < 4; m++)
        for (int is_serial = 0; is_serial < 2; is_serial++) {
          szg_code_run *runs;
          size_t const run_count = make_runs(&s, most_codes[m], &random, &runs);
          assert_int_equal(decode(is_serial, &input, runs, run_count), SZGPU_OK);
          check_runs(&s, runs, run_count);
          release_runs(runs, run_count);
        }
      release(&s);
    }
  }
}

static void both_decoders_refuse_runs_whose_bits_lie(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    stream s = reference_stream(2000, &random);
    szg_linear_input const input = input_of(&s);
    szg_code_run *runs;
    size_t const run_count = make_runs(&s, 300, &random, &runs);
    for (int is_serial = 0; is_serial < 2; is_serial++)
      for (size_t i = 0; i < run_count; i++) {
        szg_code_run const honest = runs[i];
        uint64_t const lies[] = {honest.bit_count - 1,
                                 honest.bit_count + 1,
                                 0,
                                 1,
                                 UINT64_MAX,
                                 UINT64_MAX - honest.first_bit + 1,
                                 (uint64_t)1 << 32};
        for (int lie = 0; lie < 7; lie++) {
          runs[i].bit_count = lies[lie];
          if (lies[lie] == honest.bit_count) continue;
          assert_int_equal(decode(is_serial, &input, runs, run_count), SZGPU_BAD_DATA);
        }
        runs[i] = honest;
        runs[i].first_bit = s.bit_count; /* begins where nothing is */
        assert_int_equal(decode(is_serial, &input, runs, run_count), SZGPU_BAD_DATA);
        runs[i] = honest;
      }
    release_runs(runs, run_count);
    release(&s);
  }
}

/* Any bits at all, cut into runs anywhere: both decoders say the same, and what they accept is made
 * of the book's symbols. */
static bool both_agree(const szg_linear_input *input, uint64_t first_bit, uint64_t bit_count,
                       uint32_t code_count) {
  szg_code_run runs[2];
  szgpu_status statuses[2];
  for (int i = 0; i < 2; i++) {
    runs[i] =
        (szg_code_run){first_bit, bit_count, code_count, block(code_count * sizeof(uint16_t))};
    statuses[i] = decode(i, input, &runs[i], 1);
  }
  assert_int_equal(statuses[0], statuses[1]);
  assert_true(statuses[0] == SZGPU_OK || statuses[0] == SZGPU_BAD_DATA);
  if (statuses[0] == SZGPU_OK) {
    assert_memory_equal(runs[0].codes, runs[1].codes, code_count * sizeof(uint16_t));
    for (uint32_t c = 0; c < code_count; c++) assert_true(book.lengths[runs[0].codes[c]] > 0);
  }
  free(runs[0].codes);
  free(runs[1].codes);
  return statuses[0] == SZGPU_OK;
}

static void both_decoders_agree_on_garbage(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int accepted_count = 0;
  for (int round = 0; round < 2100; round++) {
    if (round % 300 == 0) build_book(round / 300);
    uint64_t const bit_count = 1 + test_random_below(&random, 700);
    stream s = {.bit_count = bit_count, .word_bytes = (bit_count + 31) / 32 * 4};
    s.words = block(s.word_bytes);
    for (uint64_t i = 0; i < s.word_bytes; i++)
      s.words[i] = (uint8_t)(test_random_bits(&random) & (round % 3 ? 255 : i));
    szg_linear_input const input = input_of(&s);
    for (int i = 0; i < 8; i++) {
      uint64_t const first = test_random_below(&random, bit_count), left = bit_count - first;
      uint64_t const bits = 1 + test_random_below(&random, i % 2 ? left : szg_min_u64(left, 16));
      uint32_t const codes = i % 2 ? (uint32_t)test_random_below(&random, bits + 3) : 1;
      accepted_count += both_agree(&input, first, bits, codes);
    }
    release(&s);
  }
  assert_true(accepted_count > 300);
}

/* A last code whose bits the padding completes ends beyond the stream. */
static void both_decoders_refuse_a_code_that_ends_beyond_the_stream(void **state) {
  (void)state;
  build_book(FLAT_1024);
  uint8_t words[8] = {0};
  uint16_t code;
  szg_linear_input const input = {.words = words, .word_bytes = 8, .bit_count = 36};
  szg_code_run const run = {30, 10, 1, &code};
  assert_int_equal(decode(true, &input, &run, 1), SZGPU_BAD_DATA);
  assert_int_equal(decode(false, &input, &run, 1), SZGPU_BAD_DATA);
}

static void a_book_without_symbols_decodes_nothing(void **state) {
  (void)state;
  memset(counts, 0, sizeof counts);
  szg_codebook_build(counts, 1024, &book, &work);
  szg_canonical_index_build(&book, &canonical_index);
  szg_decode_table_build(&book, &decode_table);
  uint8_t words[64] = {0};
  uint16_t codes[40];
  szg_linear_input const input = {.words = words, .word_bytes = 64, .bit_count = 512};
  szg_code_run const run = {0, 40, 40, codes};
  assert_int_equal(decode(false, &input, &run, 1), SZGPU_BAD_DATA);
  assert_int_equal(decode(true, &input, &run, 1), SZGPU_BAD_DATA);
}

/* ---- the verifier ---- */

static void refuses_each_flipped_bit(const szg_linear_input *input, uint8_t *bytes,
                                     uint64_t first_bit, uint64_t end_bit) {
  for (uint64_t bit = first_bit; bit < end_bit; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(szg_linear_verify(&canonical_index, input), SZGPU_BAD_DATA);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

static void verify_accepts_the_encoders_side_data_and_refuses_each_flipped_bit(void **state) {
  (void)state;
  test_random random = test_random_begin();
  size_t const code_counts[] = {1, 33, 257, 997, 4097};
  for (int kind = 0; kind < BOOK_COUNT; kind++) {
    build_book(kind);
    for (int i = 0; i < 5; i++) {
      stream s = reference_stream(code_counts[i], &random);
      szg_linear_input input = input_of(&s);
      assert_int_equal(szg_linear_verify(&canonical_index, &input), SZGPU_OK);
      refuses_each_flipped_bit(&input, s.gaps, 0, 8 * s.gap_bytes);
      refuses_each_flipped_bit(&input, s.sequence_codes, 0, 16 * s.sequence_count);
      uint8_t *const last_word = s.words + s.word_bytes - 4;
      refuses_each_flipped_bit(&input, last_word, 0, 8 * s.word_bytes - s.bit_count);
      input.code_count++;
      assert_int_equal(szg_linear_verify(&canonical_index, &input), SZGPU_BAD_DATA);
      input.code_count -= 2;
      assert_int_equal(szg_linear_verify(&canonical_index, &input), SZGPU_BAD_DATA);
      release(&s);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(encodes_five_codes_as_a_hand_does),
      cmocka_unit_test(encodes_parts_of_any_size_as_one_bit_at_a_time_does),
      cmocka_unit_test(the_gap_array_is_at_most_3_2_percent_of_the_bitstream),
      cmocka_unit_test(both_decoders_give_the_codes_back),
      cmocka_unit_test(both_decoders_refuse_runs_whose_bits_lie),
      cmocka_unit_test(both_decoders_agree_on_garbage),
      cmocka_unit_test(both_decoders_refuse_a_code_that_ends_beyond_the_stream),
      cmocka_unit_test(a_book_without_symbols_decodes_nothing),
      cmocka_unit_test(verify_accepts_the_encoders_side_data_and_refuses_each_flipped_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
