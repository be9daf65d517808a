/* test_threads.c - the loop over parts: each once, the lowest failure, the environment, progress.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* pthread_sigmask */

#include "core/threads.h"
#include "core/workers.h"

#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { MOST_PARTS = 5000, MOST_WORKERS = 16 };

typedef struct parts_seen {
  unsigned times[MOST_PARTS]; /* atomic */
  int thread_count;
  int foreign_workers;     /* atomic: worker numbers out of range */
  int foreign_environment; /* atomic: parts that did not round to nearest with denormals */
  uint64_t first_failing;  /* it and all later parts fail, each with its own status */
} parts_seen;

static szgpu_status status_of_part(uint64_t part) {
  return (szgpu_status)(SZGPU_BAD_ARGUMENT + part % 6);
}

static szgpu_status see_part(void *job, uint64_t part, int worker) {
  parts_seen *const seen = job;
  __atomic_fetch_add(&seen->times[part], 1, __ATOMIC_RELAXED);
  if (worker < 0 || worker >= seen->thread_count)
    __atomic_fetch_add(&seen->foreign_workers, 1, __ATOMIC_RELAXED);
  volatile float const denormal = FLT_MIN / 4;
  volatile double const third = 1.0 / (double)(part * 0 + 3);
  if (fegetround() != FE_TONEAREST || denormal * 2 != FLT_MIN / 2 || third != 0x1.5555555555555p-2)
    __atomic_fetch_add(&seen->foreign_environment, 1, __ATOMIC_RELAXED);
  return part >= seen->first_failing ? status_of_part(part) : SZGPU_OK;
}

static parts_seen seen;

static szgpu_status run(int thread_count, uint64_t part_count, uint64_t first_failing) {
  memset(&seen, 0, sizeof seen);
  seen.thread_count = thread_count;
  seen.first_failing = first_failing;
  szg_threads threads = {.count = thread_count};
  return szg_for_parts(&threads, part_count, 0, see_part, &seen);
}

static void every_part_is_done_once(void **state) {
  (void)state;
  uint64_t const part_counts[] = {0, 1, 2, 3, 7, 31, 32, 33, 257, 4999};
  int const thread_counts[] = {1, 2, 3, MOST_WORKERS};
  for (size_t t = 0; t < ARRAY_COUNT(thread_counts); t++)
    for (size_t p = 0; p < ARRAY_COUNT(part_counts); p++) {
      assert_int_equal(run(thread_counts[t], part_counts[p], UINT64_MAX), SZGPU_OK);
      for (uint64_t part = 0; part < MOST_PARTS; part++)
        assert_int_equal(seen.times[part], part < part_counts[p]);
      assert_int_equal(seen.foreign_workers, 0);
    }
}

static void the_lowest_failing_part_has_its_say(void **state) {
  (void)state;
  uint64_t const first_failing[] = {0, 1, 2, 5, 100, 998, 999};
  for (int round = 0; round < 20; round++)
    for (int threads = 1; threads <= MOST_WORKERS; threads *= 2)
      for (size_t i = 0; i < ARRAY_COUNT(first_failing); i++) {
        assert_int_equal(run(threads, 1000, first_failing[i]), status_of_part(first_failing[i]));
        for (uint64_t part = 0; part <= first_failing[i]; part++)
          assert_int_equal(seen.times[part], 1);
      }
}

static void nothing_begins_after_a_failure_is_known(void **state) {
  (void)state;
  assert_int_equal(run(1, 1000, 10), status_of_part(10));
  for (uint64_t part = 11; part < 1000; part++) assert_int_equal(seen.times[part], 0);
}

static void workers_round_to_nearest_and_the_caller_gets_its_rounding_back(void **state) {
  (void)state;
  int const roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  for (int threads = 1; threads <= 4; threads++)
    for (size_t i = 0; i < ARRAY_COUNT(roundings); i++) {
      assert_int_equal(fesetround(roundings[i]), 0);
      szgpu_status const status = run(threads, 200, UINT64_MAX);
      int const after = fegetround();
      fesetround(FE_TONEAREST);
      assert_int_equal(status, SZGPU_OK);
      assert_int_equal(seen.foreign_environment, 0);
      assert_int_equal(after, roundings[i]);
    }
}

#ifdef __SSE2__
static void workers_keep_denormals_where_the_caller_flushes_them(void **state) {
  (void)state;
  unsigned const flush_and_zero = 0x8040; /* FTZ and DAZ of MXCSR */
  unsigned const before = __builtin_ia32_stmxcsr();
  for (int threads = 1; threads <= 2; threads++) {
    __builtin_ia32_ldmxcsr(before | flush_and_zero);
    szgpu_status const status = run(threads, 200, UINT64_MAX);
    unsigned const after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    assert_int_equal(status, SZGPU_OK);
    assert_int_equal(seen.foreign_environment, 0);
    assert_int_equal(after & flush_and_zero, flush_and_zero);
  }
}
#endif

typedef struct progress_seen {
  int calls, cancel_at;
  uint64_t last_done, total;
  bool went_back;
} progress_seen;

static int note_progress(void *user, uint64_t done_values, uint64_t total_values) {
  progress_seen *const progress = user;
  if (done_values < progress->last_done) progress->went_back = true;
  progress->last_done = done_values;
  progress->total = total_values;
  return ++progress->calls == progress->cancel_at;
}

static szg_threads reporting_threads(int count, progress_seen *progress) {
  return (szg_threads){
      .count = count, .progress = note_progress, .progress_user = progress, .total_values = 3000};
}

static void progress_rises_from_loop_to_loop_up_to_the_total(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads++) {
    progress_seen progress = {0};
    szg_threads reporting = reporting_threads(threads, &progress);
    memset(&seen, 0, sizeof seen);
    seen.thread_count = threads;
    seen.first_failing = UINT64_MAX;
    for (uint64_t loop = 1; loop <= 3; loop++) {
      assert_int_equal(szg_for_parts(&reporting, 50, 1000, see_part, &seen), SZGPU_OK);
      assert_int_equal(reporting.done_values, 1000 * loop);
      assert_int_equal(progress.last_done, 1000 * loop); /* whichever thread did the last part */
    }
    assert_false(progress.went_back);
    assert_int_equal(progress.total, 3000);
    if (threads == 1) assert_true(progress.calls >= 150); /* after each part */
  }
}

static void a_loop_that_stands_for_no_values_reports_nothing(void **state) {
  (void)state;
  progress_seen progress = {0};
  szg_threads reporting = reporting_threads(1, &progress);
  memset(&seen, 0, sizeof seen);
  seen.first_failing = UINT64_MAX;
  assert_int_equal(szg_for_parts(&reporting, 50, 0, see_part, &seen), SZGPU_OK);
  assert_int_equal(progress.calls, 0);
}

static void the_callback_cancels_what_has_not_begun(void **state) {
  (void)state;
  progress_seen progress = {.cancel_at = 3};
  szg_threads reporting = reporting_threads(1, &progress);
  memset(&seen, 0, sizeof seen);
  seen.thread_count = 1;
  seen.first_failing = UINT64_MAX;
  assert_int_equal(szg_for_parts(&reporting, 50, 1000, see_part, &seen), SZGPU_CANCELLED);
  assert_int_equal(progress.calls, 3);
  for (uint64_t part = 0; part < 50; part++) assert_int_equal(seen.times[part], part < 3);
}

static void a_failure_before_the_cancelled_part_wins(void **state) {
  (void)state;
  progress_seen progress = {.cancel_at = 3};
  szg_threads reporting = reporting_threads(1, &progress);
  memset(&seen, 0, sizeof seen);
  seen.thread_count = 1;
  seen.first_failing = 2;
  assert_int_equal(szg_for_parts(&reporting, 50, 1000, see_part, &seen), status_of_part(2));
}

#ifdef WORKERS_ARE_POSIX
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int threads_to_be_had = 1 << 20; /* atomic */
static int masked_threads; /* atomic: threads that block signals, except faults of their own */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  if (sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGSEGV))
    __atomic_fetch_add(&masked_threads, 1, __ATOMIC_RELAXED);
  if (__atomic_fetch_sub(&threads_to_be_had, 1, __ATOMIC_RELAXED) <= 0) return EAGAIN;
  return __real_pthread_create(thread, attributes, start, argument);
}

static void threads_that_are_refused_are_done_without(void **state) {
  (void)state;
  for (int to_be_had = 0; to_be_had <= 4; to_be_had++) {
    threads_to_be_had = to_be_had;
    assert_int_equal(run(5, 500, UINT64_MAX), SZGPU_OK);
    for (uint64_t part = 0; part < 500; part++) assert_int_equal(seen.times[part], 1);
    assert_int_equal(seen.foreign_workers, 0);
    assert_int_equal(threads_to_be_had, to_be_had < 4 ? -1 : 0);
  }
  threads_to_be_had = 1 << 20;
}

static void signals_are_for_the_callers_threads(void **state) {
  (void)state;
  masked_threads = 0;
  assert_int_equal(run(4, 500, UINT64_MAX), SZGPU_OK);
  assert_int_equal(masked_threads, 3);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  assert_int_equal(sigismember(&mask, SIGTERM), 0);
}
#endif

static void there_is_a_core(void **state) {
  (void)state;
  assert_true(szg_core_count() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_part_is_done_once),
      cmocka_unit_test(the_lowest_failing_part_has_its_say),
      cmocka_unit_test(nothing_begins_after_a_failure_is_known),
      cmocka_unit_test(workers_round_to_nearest_and_the_caller_gets_its_rounding_back),
#ifdef __SSE2__
      cmocka_unit_test(workers_keep_denormals_where_the_caller_flushes_them),
#endif
      cmocka_unit_test(progress_rises_from_loop_to_loop_up_to_the_total),
      cmocka_unit_test(a_loop_that_stands_for_no_values_reports_nothing),
      cmocka_unit_test(the_callback_cancels_what_has_not_begun),
      cmocka_unit_test(a_failure_before_the_cancelled_part_wins),
#ifdef WORKERS_ARE_POSIX
      cmocka_unit_test(threads_that_are_refused_are_done_without),
      cmocka_unit_test(signals_are_for_the_callers_threads),
#endif
      cmocka_unit_test(there_is_a_core),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
