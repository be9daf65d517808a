/* test_series_power.c - the power fails at any point of an append; stores keep what they like.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What was written since the last sync may be on disk or not, sector by sector and in any order.
 * The steps whose append had returned must be there, others whole, unfinished or not at all, and
 * the next append must work. Small steps meet all that a disk may have; larger ones, much of it by
 * chance.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "series_store.h"

enum { SORTS = 3, MOST_CALLS = 40, RANDOM_TRIES = 60, MOST_STEPS = 8 };

static szgpu_ctx *ctx;
static test_archive archives[SORTS];
static float *fields[SORTS];
static uint64_t const sizes[SORTS] = {41, 200, 5000};

static int make_archives(void **state) {
  (void)state;
  ctx = test_make_ctx(1);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 1e-2);
  for (int i = 0; i < SORTS; i++) {
    szgpu_shape const shape = test_shape(SZGPU_F32, 1, sizes[i], 0, 0, 0);
    void *const field = test_make_waves(&shape);
    archives[i] = test_compress(ctx, &params, &shape, field);
    fields[i] = test_decompress(ctx, &archives[i], sizes[i] * sizeof(float));
    free(field);
  }
  return 0;
}

static int free_archives(void **state) {
  (void)state;
  for (int i = 0; i < SORTS; i++) free(archives[i].bytes);
  for (int i = 0; i < SORTS; i++) free(fields[i]);
  szgpu_destroy(ctx);
  return 0;
}

/* Steps are told from each other by their times: the sort, and 10 for each number. */
static szgpu_status append(szgpu_series *series, int number, int sort) {
  szgpu_label const label = {number % 2 ? "a name that is longer than that of others" : "rho", 1,
                             10 * number + sort};
  return szgpu_series_append_archive(series, archives[sort].bytes, archives[sort].byte_count,
                                     &label);
}

/* Reads a step, which must be whole, and returns its number. */
static int read_step(szgpu_series *series, uint64_t index) {
  static float field[5000];
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  assert_int_equal(szgpu_series_step(series, index, &step), SZGPU_OK);
  int const number = (int)step.time / 10, sort = (int)step.time % 10;
  size_t const field_bytes = sizes[sort] * sizeof *field;
  assert_int_equal(szgpu_series_read(series, ctx, index, 0, NULL, field, field_bytes), SZGPU_OK);
  assert_memory_equal(field, fields[sort], field_bytes);
  return number;
}

/* ---- what is done when the power fails ---- */

typedef struct scenario {
  int steps;           /* that are there before */
  int unfinished_sort; /* of a step that was begun before; -1: none */
  bool is_cut_short;   /* the last of the steps, as a copy is; then szgpu_series_cut comes first */
  bool is_failing;     /* one of the calls of the first append fails */
  int sorts[2];        /* of the steps that are appended; -1: none */
} scenario;

typedef struct outcome {
  int done[MOST_STEPS]; /* the numbers of steps whose append has returned SZGPU_OK */
  int done_count, most_number;
} outcome;

static void begin_unfinished(test_store *store, szgpu_series *series, int sort) {
  uint64_t const start = store->end;
  assert_int_equal(append(series, MOST_STEPS, sort), SZGPU_OK);
  memset(store->bytes + start + 16, 0, 8);
}

/* The store's contents before, all of them on disk. */
static test_store *make_store(const scenario *s, outcome *o) {
  test_store *const store = test_make_store();
  szgpu_series *const series = test_open_series(store);
  *o = (outcome){.done_count = s->steps - s->is_cut_short};
  for (int i = 0; i < s->steps; i++) {
    assert_int_equal(append(series, i, i % 2), SZGPU_OK);
    o->done[i] = i;
  }
  if (s->unfinished_sort >= 0) begin_unfinished(store, series, s->unfinished_sort);
  szgpu_series_close(series);
  szgpu_store const callbacks = test_store_of(store);
  if (s->is_cut_short) assert_int_equal(callbacks.cut(callbacks.user, store->end - 16), 0);
  assert_int_equal(callbacks.sync(callbacks.user), 0);
  return store;
}

static void run(const scenario *s, test_store *store, int failing_call, int last_call, outcome *o) {
  szgpu_series *const series = test_open_series(store);
  store->failing_call = failing_call < 0 ? -1 : store->calls + failing_call;
  store->calls_until_fail = store->calls + last_call;
  store->stays_failed = true;
  store->is_torn = true;
  bool const can_go_on = !s->is_cut_short || szgpu_series_cut(series) == SZGPU_OK;
  for (int i = 0; i < 2 && s->sorts[i] >= 0 && can_go_on; i++) {
    o->most_number = s->steps + i;
    if (append(series, s->steps + i, s->sorts[i]) == SZGPU_OK)
      o->done[o->done_count++] = s->steps + i;
  }
  szgpu_series_close(series);
}

/* ---- what is there afterwards ---- */

static int unfinished_count, whole_count, loss_count;

static void assert_left(const scenario *s, test_store *left, const outcome *o) {
  szgpu_series *series = test_open_series(left);
  uint64_t const count = szgpu_series_count(series);
  szgpu_status const end = szgpu_series_end(series, NULL);
  assert_true(end == SZGPU_OK || end == SZGPU_UNFINISHED ||
              (s->is_cut_short && end == SZGPU_TRUNCATED));
  int done = 0, last_number = -1;
  for (uint64_t i = 0; i < count; i++) {
    int const number = read_step(series, i);
    assert_true(number > last_number);
    last_number = number;
    done += done < o->done_count && number == o->done[done];
  }
  assert_int_equal(done, o->done_count);
  if (end == SZGPU_TRUNCATED) assert_int_equal(szgpu_series_cut(series), SZGPU_OK);
  assert_int_equal(append(series, MOST_STEPS + 1, 0), SZGPU_OK);
  szgpu_series_close(series);
  series = test_open_series(left);
  assert_int_equal(szgpu_series_end(series, NULL), SZGPU_OK);
  assert_int_equal(szgpu_series_count(series), count + 1);
  for (uint64_t i = 0; i <= count; i++) last_number = read_step(series, i);
  assert_int_equal(last_number, MOST_STEPS + 1);
  szgpu_series_close(series);
  unfinished_count += end == SZGPU_UNFINISHED;
  whole_count += count > (uint64_t)o->done_count;
  loss_count++;
}

/* The power fails in this call. False if it was not reached. */
static bool lose_power_at(const scenario *s, int failing_call, int last_call, test_random *random) {
  outcome o;
  test_choices choices = {.random = random};
  test_store *const store = make_store(s, &o), *const left = test_make_store();
  run(s, store, failing_call, last_call, &o);
  bool const was_reached = store->calls > store->calls_until_fail;
  int tries = 0;
  do {
    test_lose_power(store, &choices, left);
    assert_left(s, left, &o);
  } while (random ? ++tries < RANDOM_TRIES : test_next_choices(&choices));
  free(store);
  free(left);
  return was_reached;
}

static void lose_power_at_every_call(const scenario *s, test_random *random) {
  unfinished_count = whole_count = loss_count = 0;
  int calls = 0;
  for (int failing = s->is_failing ? 0 : -1; failing < (s->is_failing ? 8 : 0); failing++)
    for (int last = 0; last < MOST_CALLS && lose_power_at(s, failing, last, random); last++)
      calls++;
  printf("           %d losses at %d calls: %d left unfinished steps, %d whole ones\n", loss_count,
         calls, unfinished_count, whole_count);
  assert_true(unfinished_count > 0 && loss_count > calls);
}

static void of_steps_of_a_few_sectors_all_that_may_be_left(void **state) {
  (void)state;
  for (int steps = 0; steps < 3; steps++)
    for (int sort = 0; sort < 2; sort++)
      lose_power_at_every_call(&(scenario){steps, -1, false, false, {sort, -1}}, NULL);
}

static void of_a_step_in_place_of_an_unfinished_one(void **state) {
  (void)state;
  for (int steps = 0; steps < 2; steps++)
    for (int sorts = 0; sorts < 4; sorts++)
      lose_power_at_every_call(&(scenario){steps, sorts / 2, false, false, {sorts % 2, -1}}, NULL);
}

/* The record of a step whose append had failed, and which said that it was finished, came to stand
 * before parts of the next one. */
static void of_a_step_in_place_of_one_that_failed(void **state) {
  (void)state;
  for (int steps = 0; steps < 2; steps++)
    for (int sorts = 0; sorts < 4; sorts++)
      lose_power_at_every_call(&(scenario){steps, -1, false, true, {sorts / 2, sorts % 2}}, NULL);
}

static void of_a_step_in_place_of_one_that_was_cut_short(void **state) {
  (void)state;
  for (int steps = 2; steps < 4; steps++)
    for (int sort = 0; sort < 2; sort++)
      lose_power_at_every_call(&(scenario){steps, -1, true, false, {sort, -1}}, NULL);
}

static void of_larger_steps_by_chance(void **state) {
  (void)state;
  test_random random = test_random_begin();
  lose_power_at_every_call(&(scenario){2, -1, false, false, {2, 1}}, &random);
  lose_power_at_every_call(&(scenario){0, -1, false, false, {2, 2}}, &random);
  lose_power_at_every_call(&(scenario){1, 2, false, false, {1, 2}}, &random);
  lose_power_at_every_call(&(scenario){1, -1, false, true, {2, 2}}, &random);
  lose_power_at_every_call(&(scenario){3, -1, true, false, {2, -1}}, &random);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_steps_of_a_few_sectors_all_that_may_be_left),
      cmocka_unit_test(of_a_step_in_place_of_an_unfinished_one),
      cmocka_unit_test(of_a_step_in_place_of_one_that_failed),
      cmocka_unit_test(of_a_step_in_place_of_one_that_was_cut_short),
      cmocka_unit_test(of_larger_steps_by_chance),
  };
  return cmocka_run_group_tests(tests, make_archives, free_archives);
}
