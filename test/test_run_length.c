/* test_run_length.c - run-length coding of symbols: by hand, against the published steps, there and
 * back with any number of threads, and runs that are wrong.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   test_run_length [span | long]
 * span: only the test that takes 2^31 symbols; long: only the one with memory for 2^32 symbols.
 */
#include "study/run_length.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { GUARD = 64, GUARD_BYTE = 0xCC }; /* after the arrays that are written */

static int const thread_counts[] = {1, 2, 3, 7};

typedef struct guarded {
  uint8_t *bytes;
  uint64_t byte_count;
} guarded;

static guarded guard(uint64_t byte_count) {
  guarded const array = {test_allocate(byte_count + GUARD), byte_count};
  memset(array.bytes, GUARD_BYTE, byte_count + GUARD);
  return array;
}

static void assert_guard_and_free(guarded array) {
  for (size_t i = 0; i < GUARD; i++)
    assert_int_equal(array.bytes[array.byte_count + i], GUARD_BYTE);
  free(array.bytes);
}

/* ---- both directions; 0 threads: symbol by symbol ---- */

static szgpu_status encode(int thread_count, uint32_t symbol_bytes, const void *symbols,
                           uint64_t symbol_count, szg_run_output *runs) {
  runs->count = UINT64_MAX;
  if (thread_count == 0) return szg_runs_encode_serial(symbol_bytes, symbols, symbol_count, runs);
  szg_threads threads = {.count = thread_count};
  void *const scratch = test_allocate(szg_runs_encode_scratch_bytes(symbol_count));
  szgpu_status const status =
      szg_runs_encode(&threads, symbol_bytes, symbols, symbol_count, scratch, runs);
  free(scratch);
  return status;
}

static szgpu_status decode(int thread_count, uint32_t symbol_bytes, const szg_run_input *runs,
                           void *symbols, uint64_t symbol_count) {
  if (thread_count == 0) return szg_runs_decode_serial(symbol_bytes, runs, symbols, symbol_count);
  szg_threads threads = {.count = thread_count};
  void *const scratch = test_allocate(szg_runs_decode_scratch_bytes(runs->count));
  szgpu_status const status =
      szg_runs_decode(&threads, symbol_bytes, runs, scratch, symbols, symbol_count);
  free(scratch);
  return status;
}

/* ---- the published steps, each over all symbols ---- */

static uint32_t symbol_at(uint32_t symbol_bytes, const void *symbols, uint64_t i) {
  return symbol_bytes == 1 ? ((const uint8_t *)symbols)[i] : ((const uint16_t *)symbols)[i];
}

static uint64_t encode_by_stages(uint32_t symbol_bytes, const void *symbols, uint64_t symbol_count,
                                 uint32_t *counts, uint32_t *run_symbols) {
  if (symbol_count == 0) return 0;
  uint32_t *const scanned = test_allocate(symbol_count * sizeof *scanned);
  uint64_t *const begins = test_allocate((symbol_count + 1) * sizeof *begins);
  for (uint64_t i = 0; i < symbol_count; i++) /* mask */
    scanned[i] =
        i == 0 || symbol_at(symbol_bytes, symbols, i) != symbol_at(symbol_bytes, symbols, i - 1);
  for (uint64_t i = 1; i < symbol_count; i++) scanned[i] += scanned[i - 1]; /* scan */
  uint64_t const run_count = scanned[symbol_count - 1];
  begins[0] = 0;
  for (uint64_t i = 1; i < symbol_count; i++) /* compaction */
    if (scanned[i] != scanned[i - 1]) begins[scanned[i] - 1] = i;
  begins[run_count] = symbol_count;
  for (uint64_t run = 0; run < run_count; run++) { /* scatter */
    counts[run] = (uint32_t)(begins[run + 1] - begins[run]);
    run_symbols[run] = symbol_at(symbol_bytes, symbols, begins[run]);
  }
  free(scanned);
  free(begins);
  return run_count;
}

/* ---- what most tests check ---- */

static void assert_decodes(uint32_t symbol_bytes, const szg_run_input *runs, const void *expected,
                           uint64_t symbol_count, int thread_count) {
  guarded const restored = guard(symbol_count * symbol_bytes);
  assert_int_equal(decode(thread_count, symbol_bytes, runs, restored.bytes, symbol_count),
                   SZGPU_OK);
  if (symbol_count) assert_memory_equal(restored.bytes, expected, symbol_count * symbol_bytes);
  assert_guard_and_free(restored);
}

/* Every encoder must give the runs of the published steps, in arrays just long enough, and every
 * decoder the symbols. */
static void assert_coded(uint32_t symbol_bytes, const void *symbols, uint64_t symbol_count) {
  uint32_t *const counts = test_allocate(symbol_count * sizeof *counts);
  uint32_t *const run_symbols = test_allocate(symbol_count * sizeof *run_symbols);
  uint64_t const run_count =
      encode_by_stages(symbol_bytes, symbols, symbol_count, counts, run_symbols);
  for (size_t t = 0; t <= ARRAY_COUNT(thread_counts); t++) {
    int const thread_count = t == 0 ? 0 : thread_counts[t - 1];
    guarded const own_counts = guard(run_count * sizeof *counts);
    guarded const own_symbols = guard(run_count * symbol_bytes);
    szg_run_output found = {(uint32_t *)(void *)own_counts.bytes, own_symbols.bytes, run_count, 0};
    assert_int_equal(encode(thread_count, symbol_bytes, symbols, symbol_count, &found), SZGPU_OK);
    assert_int_equal(found.count, run_count);
    for (uint64_t run = 0; run < run_count; run++) {
      assert_int_equal(found.counts[run], counts[run]);
      assert_int_equal(symbol_at(symbol_bytes, found.symbols, run), run_symbols[run]);
    }
    szg_run_input const runs = {found.counts, found.symbols, found.count};
    assert_decodes(symbol_bytes, &runs, symbols, symbol_count, thread_count);
    assert_guard_and_free(own_counts);
    assert_guard_and_free(own_symbols);
  }
  free(counts);
  free(run_symbols);
}

/* ---- tests ---- */

static void codes_runs_by_hand(void **state) {
  (void)state;
  static const uint16_t symbols[] = {1, 2, 3, 6, 6, 6, 5, 5};
  static const uint32_t expected_counts[] = {1, 1, 1, 3, 2};
  static const uint16_t expected_symbols[] = {1, 2, 3, 6, 5};
  for (int threads = 0; threads <= 1; threads++) {
    uint32_t counts[5];
    uint16_t run_symbols[5];
    szg_run_output runs = {counts, run_symbols, 5, 0};
    assert_int_equal(encode(threads, 2, symbols, ARRAY_COUNT(symbols), &runs), SZGPU_OK);
    assert_int_equal(runs.count, 5);
    assert_memory_equal(counts, expected_counts, sizeof expected_counts);
    assert_memory_equal(run_symbols, expected_symbols, sizeof expected_symbols);
  }
  assert_coded(2, symbols, ARRAY_COUNT(symbols));
}

static void no_symbols_are_no_runs(void **state) {
  (void)state;
  for (int threads = 0; threads <= 2; threads++)
    for (uint32_t symbol_bytes = 1; symbol_bytes <= 2; symbol_bytes++) {
      szg_run_output runs = {NULL, NULL, 0, 0};
      assert_int_equal(encode(threads, symbol_bytes, NULL, 0, &runs), SZGPU_OK);
      assert_int_equal(runs.count, 0);
      szg_run_input const none = {NULL, NULL, 0};
      assert_int_equal(decode(threads, symbol_bytes, &none, NULL, 0), SZGPU_OK);
    }
}

static void all_short_sequences_return(void **state) {
  (void)state;
  enum { MOST = 9 };
  for (uint32_t count = 1; count <= MOST; count++)
    for (uint32_t bits = 0; bits < 1u << count; bits++) {
      uint8_t symbols[MOST];
      for (uint32_t i = 0; i < count; i++) symbols[i] = 0xFE | (bits >> i & 1);
      assert_coded(1, symbols, count);
    }
}

/* Runs of 1 to `longest` equal symbols below `different`. */
static void fill_random(test_random *random, uint32_t symbol_bytes, void *symbols, uint64_t count,
                        uint64_t longest, uint64_t different) {
  for (uint64_t i = 0; i < count;) {
    uint64_t const symbol = test_random_below(random, different);
    for (uint64_t run = 1 + test_random_below(random, longest); run > 0 && i < count; run--, i++)
      if (symbol_bytes == 1)
        ((uint8_t *)symbols)[i] = (uint8_t)symbol;
      else
        ((uint16_t *)symbols)[i] = (uint16_t)symbol;
  }
}

static void symbols_of_all_sizes_return(void **state) {
  (void)state;
  static const uint32_t sizes[] = {1,
                                   2,
                                   15,
                                   16,
                                   17,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   65,
                                   127,
                                   128,
                                   129,
                                   255,
                                   256,
                                   257,
                                   1021,
                                   2047,
                                   2048,
                                   2049,
                                   4095,
                                   4096,
                                   4097,
                                   SZG_RUN_PART - 1,
                                   SZG_RUN_PART,
                                   SZG_RUN_PART + 1,
                                   2 * SZG_RUN_PART + 63,
                                   4 * SZG_RUN_PART};
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(sizes); s++)
    for (uint32_t symbol_bytes = 1; symbol_bytes <= 2; symbol_bytes++)
      for (uint64_t longest = 1; longest <= 1 << 18; longest *= sizes[s] < 5000 ? 4 : 64) {
        void *const symbols = test_allocate(sizes[s] * symbol_bytes);
        fill_random(&random, symbol_bytes, symbols, sizes[s], longest, longest == 1 ? 65536 : 3);
        assert_coded(symbol_bytes, symbols, sizes[s]);
        free(symbols);
      }
}

/* One different symbol, or a second run, begins at each place near the borders of blocks and parts;
 * no run begins in the other parts. */
static void changes_at_all_borders_are_found(void **state) {
  (void)state;
  enum { COUNT = 3 * SZG_RUN_PART };
  uint16_t *const symbols = test_allocate(COUNT * sizeof *symbols);
  for (uint64_t border = 0; border <= COUNT; border += border < 256 ? 64 : SZG_RUN_PART)
    for (uint64_t place = border < 2 ? 0 : border - 2; place < border + 2 && place < COUNT; place++)
      for (int is_lone = 0; is_lone <= 1; is_lone++) {
        for (uint64_t i = 0; i < COUNT; i++) symbols[i] = is_lone ? i == place : i >= place;
        assert_coded(2, symbols, border < 256 ? border + 64 : COUNT);
      }
  free(symbols);
}

static void high_bytes_count(void **state) {
  (void)state;
  uint16_t symbols[300];
  for (uint32_t i = 0; i < 300; i++) symbols[i] = (uint16_t)(7 | (i / 5 % 2) << 15);
  assert_coded(2, symbols, 300);
}

static void says_how_many_runs_do_not_fit(void **state) {
  (void)state;
  enum { COUNT = SZG_RUN_PART + 1000 };
  uint8_t *const symbols = test_allocate(COUNT);
  test_random random = test_random_begin();
  fill_random(&random, 1, symbols, COUNT, 9, 256);
  uint32_t *const all_counts = test_allocate(COUNT * sizeof *all_counts);
  uint32_t *const all_symbols = test_allocate(COUNT * sizeof *all_symbols);
  uint64_t const run_count = encode_by_stages(1, symbols, COUNT, all_counts, all_symbols);
  uint64_t const capacities[] = {0, 1, run_count / 2, run_count - 1};
  for (size_t c = 0; c < ARRAY_COUNT(capacities); c++)
    for (int threads = 0; threads <= 2; threads++) {
      guarded const counts = guard(capacities[c] * sizeof(uint32_t));
      guarded const run_symbols = guard(capacities[c]);
      szg_run_output runs = {(uint32_t *)(void *)counts.bytes, run_symbols.bytes, capacities[c], 0};
      assert_int_equal(encode(threads, 1, symbols, COUNT, &runs), SZGPU_CAPACITY);
      assert_int_equal(runs.count, run_count);
      assert_guard_and_free(counts);
      assert_guard_and_free(run_symbols);
    }
  free(symbols);
  free(all_counts);
  free(all_symbols);
}

/* The status of all decoders, which must agree and write nothing past the symbols. */
static szgpu_status decode_all_ways(uint32_t symbol_bytes, const szg_run_input *runs,
                                    uint64_t symbol_count) {
  guarded const expected = guard(symbol_count * symbol_bytes);
  szgpu_status const status = decode(0, symbol_bytes, runs, expected.bytes, symbol_count);
  for (size_t t = 0; t < ARRAY_COUNT(thread_counts); t++) {
    guarded const found = guard(symbol_count * symbol_bytes);
    assert_int_equal(decode(thread_counts[t], symbol_bytes, runs, found.bytes, symbol_count),
                     status);
    if (status == SZGPU_OK && symbol_count)
      assert_memory_equal(found.bytes, expected.bytes, symbol_count * symbol_bytes);
    assert_guard_and_free(found);
  }
  assert_guard_and_free(expected);
  return status;
}

static void like_runs_may_follow_each_other(void **state) {
  (void)state;
  static const uint32_t counts[] = {2, 3, 1};
  static const uint8_t symbols[] = {4, 4, 5}, expected[] = {4, 4, 4, 4, 4, 5};
  szg_run_input const runs = {counts, symbols, 3};
  for (int threads = 0; threads <= 2; threads++) assert_decodes(1, &runs, expected, 6, threads);
}

static void rejects_counts_that_do_not_add_up(void **state) {
  (void)state;
  static const uint16_t symbols[4] = {1, 2, 3, 4};
  static const struct {
    uint32_t counts[4];
    uint64_t run_count, symbol_count;
    szgpu_status expected;
  } cases[] = {
      {{1, 2, 3, 4}, 4, 10, SZGPU_OK},
      {{1, 2, 3, 4}, 4, 9, SZGPU_BAD_DATA},
      {{1, 2, 3, 4}, 4, 11, SZGPU_BAD_DATA},
      {{1, 2, 3, 4}, 3, 10, SZGPU_BAD_DATA},
      {{1, 2, 3, 4}, 0, 10, SZGPU_BAD_DATA},
      {{10}, 1, 0, SZGPU_BAD_DATA},
      {{UINT32_MAX, 11}, 2, 10, SZGPU_BAD_DATA}, /* 2^32 + 10 */
      {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, 4, 10, SZGPU_BAD_DATA},
  };
  for (size_t c = 0; c < ARRAY_COUNT(cases); c++)
    for (uint32_t symbol_bytes = 1; symbol_bytes <= 2; symbol_bytes++) {
      szg_run_input const runs = {cases[c].counts, symbols, cases[c].run_count};
      assert_int_equal(decode_all_ways(symbol_bytes, &runs, cases[c].symbol_count),
                       cases[c].expected);
    }
}

static void rejects_a_count_of_zero_anywhere(void **state) {
  (void)state;
  enum { RUNS = 33 * SZG_RUN_GROUP + 5 };
  uint32_t *const counts = test_allocate(RUNS * sizeof *counts);
  uint8_t *const symbols = test_allocate(RUNS);
  memset(symbols, 1, RUNS);
  for (uint32_t i = 0; i < RUNS; i++) counts[i] = 2;
  uint32_t const places[] = {0, 1, SZG_RUN_GROUP - 1, SZG_RUN_GROUP, RUNS - 5, RUNS - 1};
  szg_run_input const runs = {counts, symbols, RUNS};
  for (size_t p = 0; p < ARRAY_COUNT(places); p++) {
    counts[places[p]] = 0;
    assert_int_equal(decode_all_ways(1, &runs, 2 * RUNS - 2), SZGPU_BAD_DATA);
    counts[places[p]] = 2;
  }
  assert_int_equal(decode_all_ways(1, &runs, 2 * RUNS), SZGPU_OK);
  free(counts);
  free(symbols);
}

static void arbitrary_counts_stay_inside(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint64_t const most = SZG_RUN_PART + 5000;
  for (int round = 0; round < 1000; round++) {
    uint32_t counts[40];
    uint16_t symbols[40];
    uint64_t const run_count = test_random_below(&random, 41);
    uint64_t sum = 0;
    uint64_t const shift = 32 + test_random_below(&random, 32);
    for (uint64_t i = 0; i < run_count; i++) {
      counts[i] = (uint32_t)(test_random_bits(&random) >> shift);
      symbols[i] = (uint16_t)test_random_bits(&random);
      sum += counts[i];
    }
    uint64_t const symbol_count = sum < most && round % 2 ? sum : test_random_below(&random, most);
    szg_run_input const runs = {counts, symbols, run_count};
    szgpu_status const expected = decode_all_ways(2, &runs, symbol_count);
    if (sum != symbol_count) assert_int_equal(expected, SZGPU_BAD_DATA);
  }
}

/* Nothing writes the symbols, so they take address space but no memory. */
static void runs_end_at_multiples_of_the_span(void **state) {
  (void)state;
  assert_true(szg_run_begins(0, 7, 7));
  assert_false(szg_run_begins(SZG_RUN_SPAN - 1, 7, 7));
  assert_true(szg_run_begins(SZG_RUN_SPAN, 7, 7));
  uint64_t const symbol_count = SZG_RUN_SPAN + 100;
  uint8_t *const symbols = calloc(symbol_count, 1);
  assert_non_null(symbols);
  uint32_t counts[3];
  uint8_t run_symbols[3];
  szg_run_output runs = {counts, run_symbols, 3, 0};
  for (int threads = 0; threads <= 2; threads += 2) {
    assert_int_equal(encode(threads, 1, symbols, symbol_count, &runs), SZGPU_OK);
    assert_int_equal(runs.count, 2);
    assert_int_equal(counts[0], SZG_RUN_SPAN);
    assert_int_equal(counts[1], 100);
  }
  free(symbols);
}

static void counts_of_32_bits_return(void **state) { /* decoders accept what no encoder writes */
  (void)state;
  static const uint32_t counts[] = {5, UINT32_MAX, 99996};
  static const uint8_t symbols[] = {1, 2, 3};
  static const uint32_t expected_counts[] = {5, (1u << 31) - 5, 1u << 31, 4, 99996};
  static const uint8_t expected_symbols[] = {1, 2, 2, 2, 3};
  szg_run_input const given = {counts, symbols, 3};
  uint64_t const symbol_count = (UINT64_C(1) << 32) + 100000;
  uint8_t *const restored = test_allocate(symbol_count);
  for (int threads = 0; threads <= 2; threads += 2) {
    memset(restored, 0, symbol_count);
    assert_int_equal(decode(threads, 1, &given, restored, symbol_count), SZGPU_OK);
    for (int again = 0; again <= 2; again += 2) {
      uint32_t found_counts[5];
      uint8_t found_symbols[5];
      szg_run_output found = {found_counts, found_symbols, 5, 0};
      assert_int_equal(encode(again, 1, restored, symbol_count, &found), SZGPU_OK);
      assert_int_equal(found.count, 5);
      assert_memory_equal(found_counts, expected_counts, sizeof expected_counts);
      assert_memory_equal(found_symbols, expected_symbols, sizeof expected_symbols);
    }
  }
  free(restored);
}

int main(int argument_count, char **arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_runs_by_hand),
      cmocka_unit_test(no_symbols_are_no_runs),
      cmocka_unit_test(all_short_sequences_return),
      cmocka_unit_test(symbols_of_all_sizes_return),
      cmocka_unit_test(changes_at_all_borders_are_found),
      cmocka_unit_test(high_bytes_count),
      cmocka_unit_test(says_how_many_runs_do_not_fit),
      cmocka_unit_test(like_runs_may_follow_each_other),
      cmocka_unit_test(rejects_counts_that_do_not_add_up),
      cmocka_unit_test(rejects_a_count_of_zero_anywhere),
      cmocka_unit_test(arbitrary_counts_stay_inside),
  };
  const struct CMUnitTest span_tests[] = {cmocka_unit_test(runs_end_at_multiples_of_the_span)};
  const struct CMUnitTest long_tests[] = {cmocka_unit_test(counts_of_32_bits_return)};
  const char *const asked = argument_count > 1 ? arguments[1] : "";
  if (strcmp(asked, "span") == 0) return cmocka_run_group_tests(span_tests, NULL, NULL);
  if (strcmp(asked, "long") == 0) return cmocka_run_group_tests(long_tests, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
