/* test_series_faults.c - what was finished stays, whatever happens to a series.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "series_store.h"

static szgpu_ctx *ctx;
static test_archive archives[3];
static uint64_t const sizes[3] = {300, 5000, 41};

static int make_archives(void **state) {
  (void)state;
  ctx = test_make_ctx(1);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 1e-2);
  for (int i = 0; i < 3; i++) {
    szgpu_shape const shape = test_shape(SZGPU_F32, 1, sizes[i], 0, 0, 0);
    void *const field = test_make_waves(&shape);
    archives[i] = test_compress(ctx, &params, &shape, field);
    free(field);
  }
  return 0;
}

static int free_archives(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) free(archives[i].bytes);
  szgpu_destroy(ctx);
  return 0;
}

static szgpu_status append(szgpu_series *series, int i) {
  szgpu_label const label = {i == 1 ? "step one" : "a name that is longer than a step's by far", 1,
                             i};
  return szgpu_series_append_archive(series, archives[i % 3].bytes, archives[i % 3].byte_count,
                                     &label);
}

static void fill(test_store *store, int count) {
  szgpu_series *const series = test_open_series(store);
  for (int i = 0; i < count; i++) assert_int_equal(append(series, i), SZGPU_OK);
  szgpu_series_close(series);
}

/* The first `count` steps are those of fill. */
static void assert_steps(szgpu_series *series, int count) {
  for (int i = 0; i < count; i++) {
    static float field[5000], expected[5000];
    szgpu_step step = SZGPU_STEP_DEFAULTS;
    size_t const field_bytes = sizes[i % 3] * sizeof *field;
    assert_int_equal(szgpu_series_step(series, (uint64_t)i, &step), SZGPU_OK);
    assert_true(step.time == i);
    assert_int_equal(szgpu_series_read(series, ctx, (uint64_t)i, 0, NULL, field, field_bytes),
                     SZGPU_OK);
    assert_int_equal(szgpu_decompress(ctx, archives[i % 3].bytes, archives[i % 3].byte_count,
                                      expected, field_bytes),
                     SZGPU_OK);
    assert_memory_equal(field, expected, field_bytes);
  }
}

/* What the store has now are `count` steps and nothing else. */
static void assert_store(test_store *store, int count) {
  szgpu_series *const series = test_open_series(store);
  assert_int_equal(szgpu_series_count(series), count);
  assert_int_equal(szgpu_series_end(series, NULL), SZGPU_OK);
  assert_steps(series, count);
  szgpu_series_close(series);
}

static uint64_t offset_of_step(test_store *store, int index) {
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_series *const series = test_open_series(store);
  assert_int_equal(index == 0 ? SZGPU_OK : szgpu_series_step(series, (uint64_t)index - 1, &step),
                   SZGPU_OK);
  szgpu_series_close(series);
  return step.archive_offset + step.archive_bytes;
}

/* ---- cut short ---- */

/* Of steps that were finished: the end of a copy, not of an append. */
static void a_series_cut_at_any_byte_has_the_steps_before(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  uint64_t starts[4] = {0};
  fill(store, 3);
  for (int i = 1; i <= 3; i++) starts[i] = offset_of_step(store, i);
  assert_int_equal(starts[3], store->end);
  szgpu_store const callbacks = test_store_of(store);
  for (uint64_t end = 0; end <= starts[3]; end++) {
    int count = 0;
    while (count < 3 && starts[count + 1] <= end) count++;
    uint64_t const rest = end - starts[count];
    szgpu_status const expected = rest == 0   ? SZGPU_OK
                                  : rest < 24 ? SZGPU_UNFINISHED
                                              : SZGPU_TRUNCATED;
    szgpu_series *series;
    store->end = end;
    szgpu_status const status = szgpu_series_open(&series, &callbacks, end);
    if (count == 0 && expected == SZGPU_TRUNCATED) { /* nothing is readable */
      assert_int_equal(status, SZGPU_TRUNCATED);
      assert_null(series);
      continue;
    }
    szgpu_step step = SZGPU_STEP_DEFAULTS;
    assert_int_equal(status, SZGPU_OK);
    assert_int_equal(szgpu_series_count(series), count);
    assert_int_equal(szgpu_series_end(series, &step), expected);
    assert_int_equal(step.archive_offset, starts[count]);
    bool const has_record = count > 0 && rest >= (count == 1 ? 64 : 96);
    assert_true(step.has_time == has_record && step.time == (has_record ? count : 0));
    if (end % 97 == 0) assert_steps(series, count);
    szgpu_series_close(series);
  }
  free(store);
}

static void the_next_append_takes_the_place_of_an_unfinished_step(void **state) {
  (void)state;
  test_store *const whole = test_make_store(), *const store = test_make_store();
  fill(whole, 2);
  uint64_t const start = offset_of_step(whole, 1);
  static uint8_t const zeros[16];
  memcpy(whole->bytes + start + 16, zeros, sizeof zeros); /* the bytes that finish it */
  for (uint64_t end = start + 1; end <= whole->end; end += end < start + 100 ? 1 : 61) {
    szgpu_step step = SZGPU_STEP_DEFAULTS;
    memcpy(store->bytes, whole->bytes, sizeof store->bytes);
    store->end = end;
    szgpu_series *const series = test_open_series(store);
    assert_int_equal(szgpu_series_count(series), 1);
    assert_int_equal(szgpu_series_end(series, &step), SZGPU_UNFINISHED);
    assert_int_equal(append(series, 1), SZGPU_OK);
    assert_int_equal(szgpu_series_end(series, &step), SZGPU_OK);
    assert_steps(series, 2);
    szgpu_series_close(series);
    assert_store(store, 2);
  }
  free(whole);
  free(store);
}

static void a_series_that_was_cut_short_is_appended_to_only_after_szgpu_series_cut(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  fill(store, 2);
  store->end -= 16;
  uint64_t const end = store->end;
  szgpu_series *const series = test_open_series(store);
  assert_int_equal(append(series, 1), SZGPU_TRUNCATED);
  assert_int_equal(store->end, end);
  assert_int_equal(szgpu_series_cut(series), SZGPU_OK);
  assert_int_equal(append(series, 1), SZGPU_OK);
  szgpu_series_close(series);
  assert_store(store, 2);
  free(store);
}

/* As `cat` leaves them; the part may end at any byte. */
static void steps_behind_an_unfinished_one_are_not_cut_off(void **state) {
  (void)state;
  test_store *const whole = test_make_store(), *const store = test_make_store();
  fill(whole, 2);
  uint64_t const start = offset_of_step(whole, 1);
  int unfinished = 0;
  for (uint64_t kept = 1; kept < 200; kept += 13) {
    uint64_t const end = start + kept;
    memcpy(store->bytes, whole->bytes, end);
    memset(store->bytes + start + 16, 0, 16);
    memcpy(store->bytes + end, whole->bytes, whole->end);
    store->end = end + whole->end;
    szgpu_series *const series = test_open_series(store);
    assert_int_equal(szgpu_series_count(series), 1);
    szgpu_status const status = szgpu_series_end(series, NULL);
    assert_true(status == SZGPU_UNFINISHED || status == SZGPU_BAD_DATA ||
                status == SZGPU_NEWER_VERSION || status == SZGPU_BAD_CHECKSUM);
    unfinished += status == SZGPU_UNFINISHED;
    assert_int_equal(append(series, 1), status);
    assert_int_equal(store->end, end + whole->end);
    szgpu_series_close(series);
  }
  assert_true(unfinished > 10);
  free(whole);
  free(store);
}

/* A series of random bytes, which an archive holds as they are, as a field. */
static test_archive compress_copy(const test_store *copied) {
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, copied->end, 0, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_LOSSLESS, 1);
  test_archive const archive = test_compress(ctx, &params, &shape, copied->bytes);
  bool holds_record = false;
  for (size_t i = 0; i + 8 < archive.byte_count; i++)
    holds_record |= memcmp(archive.bytes + i, "\x89SZS\r\n\x1a\n", 8) == 0;
  assert_true(holds_record);
  return archive;
}

static void fill_randomly(test_store *store) {
  static uint8_t bytes[20000];
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, sizeof bytes, 0, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_LOSSLESS, 1);
  szgpu_series *const series = test_open_series(store);
  for (int i = 0; i < 2; i++) {
    for (size_t at = 0; at < sizeof bytes; at++) bytes[at] = (uint8_t)test_random_bits(&random);
    assert_int_equal(szgpu_series_append(series, ctx, &params, &shape, bytes, NULL), SZGPU_OK);
  }
  szgpu_series_close(series);
}

/* Its own bytes were taken for steps of a series that was joined to it, and nothing could be
 * appended. With another series behind it, nothing can. */
static void an_unfinished_step_that_holds_a_copy_of_a_series_gives_way(void **state) {
  (void)state;
  test_store *const copied = test_make_store(), *const store = test_make_store();
  fill_randomly(copied);
  test_archive const copy = compress_copy(copied);
  for (int steps = 0; steps < 2; steps++)
    for (int joined = 0; joined < 2; joined++) {
      test_store *const joined_store = test_make_store();
      store->end = 0;
      fill(store, steps);
      fill(joined_store, joined);
      uint64_t const start = store->end;
      szgpu_series *series = test_open_series(store);
      szgpu_label const label = {"run.szgs", 0, 0};
      assert_int_equal(szgpu_series_append_archive(series, copy.bytes, copy.byte_count, &label),
                       SZGPU_OK);
      szgpu_series_close(series);
      memset(store->bytes + start + 16, 0, 16); /* it is not finished */
      memcpy(store->bytes + store->end, joined_store->bytes, joined_store->end);
      store->end += joined_store->end;
      series = test_open_series(store);
      assert_int_equal(szgpu_series_end(series, NULL), SZGPU_UNFINISHED);
      assert_int_equal(append(series, steps), joined ? SZGPU_UNFINISHED : SZGPU_OK);
      szgpu_series_close(series);
      if (!joined) assert_store(store, steps + 1);
      free(joined_store);
    }
  free(copy.bytes);
  free(copied);
  free(store);
}

/* ---- damage ---- */

static void every_changed_bit_of_a_record_is_told(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  fill(store, 3);
  uint64_t const start = offset_of_step(store, 1);
  for (uint64_t bit = 0; bit < 64 * 8; bit++) {
    store->bytes[start + bit / 8] ^= (uint8_t)(1 << bit % 8);
    szgpu_series *const series = test_open_series(store);
    szgpu_status const status = szgpu_series_end(series, NULL);
    assert_int_equal(szgpu_series_count(series), 1);
    assert_steps(series, 1);
    szgpu_status const expected = bit < 64    ? SZGPU_BAD_DATA
                                  : bit == 64 ? SZGPU_BAD_DATA /* version 0 */
                                  : bit < 96  ? SZGPU_NEWER_VERSION
                                              : SZGPU_BAD_CHECKSUM;
    bool const is_of_name_bytes = bit >= 40 * 8 && bit < 44 * 8;
    assert_true(status == expected || (is_of_name_bytes && status == SZGPU_BAD_DATA));
    assert_int_equal(append(series, 1), status); /* steps may follow: nothing is cut off */
    szgpu_series_close(series);
    store->bytes[start + bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  free(store);
}

static void what_is_no_series_is_told(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  szgpu_store const callbacks = test_store_of(store);
  szgpu_series *series;
  static const char *const contents[] = {"x", "\x89SZG", "\x89SZG\r\n\x1a\n 123456789 123456789",
                                         "SZS", "\x89SZS\r\n\x1a "};
  for (size_t i = 0; i < ARRAY_COUNT(contents); i++) {
    store->end = strlen(contents[i]);
    memcpy(store->bytes, contents[i], store->end);
    assert_int_equal(szgpu_series_open(&series, &callbacks, store->end), SZGPU_NOT_A_SERIES);
    assert_null(series);
  }
  memset(store->bytes, 0, sizeof store->bytes);
  for (store->end = 9; store->end < 10000; store->end += 37)
    assert_int_equal(szgpu_series_open(&series, &callbacks, store->end), SZGPU_NOT_A_SERIES);
  free(store);
}

/* The first bytes of a series are on disk before all others: its length may be, and they not. */
static void a_few_zeros_are_a_series_that_was_begun(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  for (uint64_t end = 1; end <= 8; end++) {
    memset(store->bytes, 0, sizeof store->bytes);
    store->end = end;
    szgpu_series *const series = test_open_series(store);
    assert_int_equal(szgpu_series_end(series, NULL), SZGPU_UNFINISHED);
    assert_int_equal(append(series, 0), SZGPU_OK);
    szgpu_series_close(series);
    assert_store(store, 1);
  }
  free(store);
}

/* A record and an archive that are both as they should be, but not together. */
static void an_archive_of_another_size_is_told(void **state) {
  (void)state;
  test_store *const store = test_make_store(), *const other = test_make_store();
  fill(store, 1);
  fill(other, 2);
  uint64_t const start = offset_of_step(other, 1);
  memcpy(store->bytes + store->end, other->bytes + start, 64);
  memcpy(store->bytes + store->end + 64, archives[2].bytes, archives[2].byte_count);
  store->end = other->end;
  szgpu_series *const series = test_open_series(store);
  szgpu_info info = {.struct_bytes = sizeof info};
  float value;
  assert_int_equal(szgpu_series_count(series), 2);
  assert_int_equal(szgpu_series_inspect(series, 1, &info), SZGPU_BAD_DATA);
  assert_int_equal(szgpu_series_read(series, ctx, 1, 0, NULL, &value, sizeof value),
                   SZGPU_BAD_DATA);
  szgpu_series_close(series);
  free(store);
  free(other);
}

/* ---- stores that fail ---- */

static void after_a_failure_the_series_is_as_before(void **state) {
  (void)state;
  int failures = 0;
  for (int call = 0;; call++) {
    test_store *const store = test_make_store();
    fill(store, 2);
    uint64_t const end = store->end;
    szgpu_series *const series = test_open_series(store);
    store->calls_until_fail = store->calls + call;
    szgpu_status const status = append(series, 2);
    bool const was_reached = store->calls > store->calls_until_fail;
    store->calls_until_fail = -1;
    if (was_reached) {
      failures++;
      assert_true(status == SZGPU_SINK_FAILED || status == SZGPU_SOURCE_FAILED);
      assert_int_equal(store->end, end);
      assert_int_equal(szgpu_series_end(series, NULL), SZGPU_OK);
      assert_int_equal(append(series, 2), SZGPU_OK);
    }
    assert_steps(series, 3);
    szgpu_series_close(series);
    assert_store(store, 3);
    free(store);
    if (!was_reached) break;
  }
  assert_int_equal(failures, 6); /* record, archive, header back, sync, commit, sync */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_series_cut_at_any_byte_has_the_steps_before),
      cmocka_unit_test(the_next_append_takes_the_place_of_an_unfinished_step),
      cmocka_unit_test(a_series_that_was_cut_short_is_appended_to_only_after_szgpu_series_cut),
      cmocka_unit_test(steps_behind_an_unfinished_one_are_not_cut_off),
      cmocka_unit_test(an_unfinished_step_that_holds_a_copy_of_a_series_gives_way),
      cmocka_unit_test(every_changed_bit_of_a_record_is_told),
      cmocka_unit_test(what_is_no_series_is_told),
      cmocka_unit_test(a_few_zeros_are_a_series_that_was_begun),
      cmocka_unit_test(an_archive_of_another_size_is_told),
      cmocka_unit_test(after_a_failure_the_series_is_as_before),
  };
  return cmocka_run_group_tests(tests, make_archives, free_archives);
}
