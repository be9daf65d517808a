/* test_linear.c - the linear layout: the encoder, its side data and the verifier.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/huffman.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "linear_reference.h"

/* Encodes parts of part_codes codes, last part first, and compares. If random is not NULL, the
 * parts have 0 to part_codes codes and the first part is first. */
static void encodes_as_reference(const test_stream *s, size_t part_codes, test_random *random) {
  size_t const most_runs = random ? s->code_count * 3 + 64 : s->code_count / part_codes + 1;
  szg_linear_run *const runs = test_block((most_runs + 1) * sizeof *runs);
  size_t run_count = 0;
  for (size_t code = 0; code < s->code_count && run_count < most_runs; run_count++) {
    runs[run_count].first_code = code;
    runs[run_count].first_bit = s->starts[code];
    code += random ? test_random_below(random, part_codes + 1) : part_codes;
    if (run_count + 1 == most_runs) code = s->code_count;
  }
  runs[run_count].first_code = s->code_count;
  szg_linear_stream out = {.words = test_block(s->word_bytes),
                           .bit_count = s->bit_count,
                           .gaps = test_block(s->gap_count),
                           .sequence_codes = test_block(s->sequence_count * sizeof(uint64_t))};
  for (size_t k = 0; k < run_count; k++) {
    size_t const i = random ? k : run_count - 1 - k;
    uint64_t const end = szg_min_u64(runs[i + 1].first_code, s->code_count);
    szg_linear_encode(coder.table, s->codes + runs[i].first_code, end - runs[i].first_code,
                      &runs[i], &out);
  }
  szg_linear_merge(runs, run_count, &out);
  assert_memory_equal(out.words, s->words, s->word_bytes);
  uint8_t *const packed = test_block(s->gap_bytes);
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
  memset(coder.counts, 0, sizeof coder.counts);
  coder.counts[0] = 1, coder.counts[3] = 4, coder.counts[4] = 2, coder.counts[5] = 1;
  szg_codebook_build(coder.counts, 8, SZG_MAX_CODE_BITS, &coder.book,
                     &coder.work); /* 3: 1, 4: 00, 0: 010, 5: 011 */
  szg_encoder_table(&coder.book, coder.table);
  uint16_t const codes[] = {3, 0, 5, 4, 3};
  assert_int_equal(szg_linear_bits(&coder.book, codes, 5), 10);
  uint8_t words[4], gap = 9;
  uint64_t sequence_code = 9;
  szg_linear_stream out = {words, 10, &gap, &sequence_code};
  szg_linear_run run = {0};
  szg_linear_encode(coder.table, codes, 5, &run, &out);
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
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    test_build_book(kind);
    for (size_t i = 0; i < test_code_count_count; i++) {
      test_stream s = test_make_stream(test_code_counts[i], &random);
      assert_int_equal(szg_linear_bits(&coder.book, s.codes, s.code_count), s.bit_count);
      encodes_as_reference(&s, s.code_count, NULL);
      encodes_as_reference(&s, 1, NULL); /* up to 32 parts in one word */
      encodes_as_reference(&s, 7, NULL);
      encodes_as_reference(&s, 4096, NULL);
      encodes_as_reference(&s, 3, &random);
      encodes_as_reference(&s, 300, &random);
      test_stream_release(&s);
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

static void refuses_each_flipped_bit(const szg_linear_input *input, uint8_t *bytes,
                                     uint64_t first_bit, uint64_t end_bit) {
  for (uint64_t bit = first_bit; bit < end_bit; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(szg_linear_verify(&coder.index, input), SZGPU_BAD_DATA);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

static void verify_accepts_the_encoders_side_data_and_refuses_each_flipped_bit(void **state) {
  (void)state;
  test_random random = test_random_begin();
  /* 26 codes of 10 bits: no code begins in the last subsequence */
  size_t const code_counts[] = {1, 26, 33, 257, 997, 4097};
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    test_build_book(kind);
    for (size_t i = 0; i < ARRAY_COUNT(code_counts); i++) {
      test_stream s = test_make_stream(code_counts[i], &random);
      szg_linear_input input = test_input_of(&s);
      assert_int_equal(szg_linear_verify(&coder.index, &input), SZGPU_OK);
      refuses_each_flipped_bit(&input, s.gaps, 0, 8 * s.gap_bytes);
      refuses_each_flipped_bit(&input, s.sequence_codes, 0, 16 * s.sequence_count);
      uint8_t *const last_word = s.words + s.word_bytes - 4;
      refuses_each_flipped_bit(&input, last_word, 0, 8 * s.word_bytes - s.bit_count);
      input.code_count++;
      assert_int_equal(szg_linear_verify(&coder.index, &input), SZGPU_BAD_DATA);
      input.code_count -= 2;
      assert_int_equal(szg_linear_verify(&coder.index, &input), SZGPU_BAD_DATA);
      test_stream_release(&s);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(encodes_five_codes_as_a_hand_does),
      cmocka_unit_test(encodes_parts_of_any_size_as_one_bit_at_a_time_does),
      cmocka_unit_test(the_gap_array_is_at_most_3_2_percent_of_the_bitstream),
      cmocka_unit_test(verify_accepts_the_encoders_side_data_and_refuses_each_flipped_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
