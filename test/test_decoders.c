/* test_decoders.c - the linear layout's decoders give the same codes, or refuse the same streams.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/huffman.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "huffman/decoders/decoders.h"
#include "linear_reference.h"

static szgpu_status decode(bool is_serial, const szg_linear_input *input, const szg_code_run *runs,
                           size_t run_count) {
  return is_serial ? szg_decode_serial(&coder.index, input, runs, run_count)
                   : szg_decode_runs(&coder.decode_table, input, runs, run_count);
}

/* Cuts the stream into runs of up to most_codes codes, each with a block of its own. */
static size_t make_runs(const test_stream *s, size_t most_codes, test_random *random,
                        szg_code_run **runs) {
  *runs = test_block((s->code_count + 1) * sizeof **runs);
  size_t run_count = 0;
  for (size_t code = 0; code < s->code_count; run_count++) {
    size_t const left = s->code_count - code;
    size_t const asked = 1 + test_random_below(random, most_codes);
    size_t const taken = asked < left ? asked : left;
    (*runs)[run_count] = (szg_code_run){s->starts[code], s->starts[code + taken] - s->starts[code],
                                        (uint32_t)taken, test_block(taken * sizeof(uint16_t))};
    code += taken;
  }
  return run_count;
}

static void release_runs(szg_code_run *runs, size_t run_count) {
  for (size_t i = 0; i < run_count; i++) free(runs[i].codes);
  free(runs);
}

static void check_runs(const test_stream *s, const szg_code_run *runs, size_t run_count) {
  for (size_t i = 0, code = 0; i < run_count; code += runs[i++].code_count)
    assert_memory_equal(runs[i].codes, s->codes + code, runs[i].code_count * sizeof(uint16_t));
}

static void both_decoders_give_the_codes_back(void **state) {
  (void)state;
  test_random random = test_random_begin();
  size_t const most_codes[] = {1, 9, 200, 4096};
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    test_build_book(kind);
    for (size_t i = 0; i < test_code_count_count; i++) {
      test_stream s = test_make_stream(test_code_counts[i], &random);
      szg_linear_input const input = test_input_of(&s);
      for (int m = 0; m < 4; m++)
        for (int is_serial = 0; is_serial < 2; is_serial++) {
          szg_code_run *runs;
          size_t const run_count = make_runs(&s, most_codes[m], &random, &runs);
          assert_int_equal(decode(is_serial, &input, runs, run_count), SZGPU_OK);
          check_runs(&s, runs, run_count);
          release_runs(runs, run_count);
        }
      test_stream_release(&s);
    }
  }
}

static void both_decoders_refuse_runs_whose_bits_lie(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int kind = 0; kind < TEST_BOOK_COUNT; kind++) {
    test_build_book(kind);
    test_stream s = test_make_stream(2000, &random);
    szg_linear_input const input = test_input_of(&s);
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
        runs[i].first_bit = s.bit_count; /* begins after the last bit */
        assert_int_equal(decode(is_serial, &input, runs, run_count), SZGPU_BAD_DATA);
        runs[i] = honest;
      }
    release_runs(runs, run_count);
    test_stream_release(&s);
  }
}

/* For any bits, cut into runs anywhere, both decoders give the same verdict, and what they accept
 * consists of the book's symbols. */
static bool both_agree(const szg_linear_input *input, uint64_t first_bit, uint64_t bit_count,
                       uint32_t code_count) {
  szg_code_run runs[2];
  szgpu_status statuses[2];
  for (int i = 0; i < 2; i++) {
    runs[i] =
        (szg_code_run){first_bit, bit_count, code_count, test_block(code_count * sizeof(uint16_t))};
    statuses[i] = decode(i, input, &runs[i], 1);
  }
  assert_int_equal(statuses[0], statuses[1]);
  assert_true(statuses[0] == SZGPU_OK || statuses[0] == SZGPU_BAD_DATA);
  if (statuses[0] == SZGPU_OK) {
    assert_memory_equal(runs[0].codes, runs[1].codes, code_count * sizeof(uint16_t));
    for (uint32_t c = 0; c < code_count; c++) assert_true(coder.book.lengths[runs[0].codes[c]] > 0);
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
    if (round % 300 == 0) test_build_book(round / 300);
    test_stream s = test_make_garbage(round % 3 == 0, &random);
    uint64_t const bit_count = s.bit_count;
    szg_linear_input const input = test_input_of(&s);
    for (int i = 0; i < 8; i++) {
      uint64_t const first = test_random_below(&random, bit_count), left = bit_count - first;
      uint64_t const bits = 1 + test_random_below(&random, i % 2 ? left : szg_min_u64(left, 16));
      uint32_t const codes = i % 2 ? (uint32_t)test_random_below(&random, bits + 3) : 1;
      accepted_count += both_agree(&input, first, bits, codes);
    }
    test_stream_release(&s);
  }
  assert_true(accepted_count > 300);
}

/* A last code that is complete only with bits of the padding ends beyond the stream. */
static void both_decoders_refuse_a_code_that_ends_beyond_the_stream(void **state) {
  (void)state;
  test_build_book(TEST_BOOK_FLAT_1024);
  uint8_t words[8] = {0};
  uint16_t code;
  szg_linear_input const input = {.words = words, .word_bytes = 8, .bit_count = 36};
  szg_code_run const run = {30, 10, 1, &code};
  assert_int_equal(decode(true, &input, &run, 1), SZGPU_BAD_DATA);
  assert_int_equal(decode(false, &input, &run, 1), SZGPU_BAD_DATA);
}

static void a_book_without_symbols_decodes_nothing(void **state) {
  (void)state;
  memset(coder.counts, 0, sizeof coder.counts);
  szg_codebook_build(coder.counts, 1024, SZG_MAX_CODE_BITS, &coder.book, &coder.work);
  szg_canonical_index_build(&coder.book, &coder.index);
  szg_decode_table_build(&coder.book, &coder.decode_table);
  uint8_t words[64] = {0};
  uint16_t codes[40];
  szg_linear_input const input = {.words = words, .word_bytes = 64, .bit_count = 512};
  szg_code_run const run = {0, 40, 40, codes};
  assert_int_equal(decode(false, &input, &run, 1), SZGPU_BAD_DATA);
  assert_int_equal(decode(true, &input, &run, 1), SZGPU_BAD_DATA);
}

/* ---- the table ---- */

static szgpu_decoder const listed[] = {
#define DECODER(decoder, value, name, summary) decoder,
    SZGPU_DECODER_LIST(DECODER)
#undef DECODER
};

static void every_decoder_of_the_list_has_a_row(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(listed); i++) {
    assert_int_equal(listed[i], i);
    assert_true(szg_decoder_exists(listed[i]));
    assert_true(szg_decoder_runs_on(listed[i], SZGPU_BACKEND_AUTO));
  }
  assert_false(szg_decoder_exists((szgpu_decoder)ARRAY_COUNT(listed)));
}

static void a_row_has_the_steps_of_the_backends_it_names(void **state) {
  (void)state;
  int reference_count = 0;
  for (size_t i = 0; i < ARRAY_COUNT(listed); i++) {
    const szg_decoder_cpu *const steps = szg_decoder_for_cpu(listed[i], true);
    assert_int_equal(steps != NULL, szg_decoder_runs_on(listed[i], SZGPU_BACKEND_CPU));
    if (!steps) continue;
    assert_true(steps->carve && steps->open);
    assert_int_equal(!steps->decode_runs, !!steps->decode_stream);
    reference_count += steps->is_reference;
  }
  assert_int_equal(reference_count, 1);
  assert_true(szg_decoder_for_cpu(SZGPU_DECODER_SERIAL, true)->is_reference);
}

static void auto_stands_for_another_decoder_that_reads_the_archive(void **state) {
  (void)state;
  szgpu_decoder const any = SZGPU_DECODER_AUTO;
  assert_int_equal(szg_decoder_resolve(any, SZGPU_BACKEND_CPU, true), SZGPU_DECODER_TABLE);
  assert_int_equal(szg_decoder_resolve(any, SZGPU_BACKEND_CPU, false), SZGPU_DECODER_TABLE);
  assert_int_equal(szg_decoder_resolve(any, SZGPU_BACKEND_CUDA, true), SZGPU_DECODER_GAP_ARRAY);
  assert_int_equal(szg_decoder_resolve(any, SZGPU_BACKEND_CUDA, false), SZGPU_DECODER_SELF_SYNC);
  for (size_t i = 1; i < ARRAY_COUNT(listed); i++)
    for (int has_gaps = 0; has_gaps < 2; has_gaps++) {
      assert_int_equal(szg_decoder_resolve(listed[i], SZGPU_BACKEND_CPU, has_gaps), listed[i]);
      assert_int_equal(szg_decoder_resolve(listed[i], SZGPU_BACKEND_CUDA, has_gaps), listed[i]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_decoders_give_the_codes_back),
      cmocka_unit_test(both_decoders_refuse_runs_whose_bits_lie),
      cmocka_unit_test(both_decoders_agree_on_garbage),
      cmocka_unit_test(both_decoders_refuse_a_code_that_ends_beyond_the_stream),
      cmocka_unit_test(a_book_without_symbols_decodes_nothing),
      cmocka_unit_test(every_decoder_of_the_list_has_a_row),
      cmocka_unit_test(a_row_has_the_steps_of_the_backends_it_names),
      cmocka_unit_test(auto_stands_for_another_decoder_that_reads_the_archive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
