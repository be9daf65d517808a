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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- the pool ---- */

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

static bool is_every_part_done(int thread_count) {
  if (run(thread_count, 500, UINT64_MAX) != SZGPU_OK || seen.foreign_workers) return false;
  for (uint64_t part = 0; part < 500; part++)
    if (seen.times[part] != 1) return false;
  return true;
}

/* Whether a forked process, whose pool is new, ends well. */
static bool ends_well(bool (*function)(int), int argument) {
  fflush(NULL);
  pid_t const child = fork();
  if (child == 0) _exit(function(argument) ? 0 : 1);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool does_without_threads(int to_be_had) {
  threads_to_be_had = to_be_had;
  return is_every_part_done(4) && threads_to_be_had < to_be_had && is_every_part_done(16);
}

static void threads_that_are_refused_are_done_without(void **state) {
  (void)state;
  for (int to_be_had = 0; to_be_had <= 3; to_be_had++)
    assert_true(ends_well(does_without_threads, to_be_had));
}

static bool blocks_signals(int unused) {
  (void)unused;
  masked_threads = 0;
  sigset_t mask;
  bool const is_done = is_every_part_done(4);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  return is_done && masked_threads == 3 && sigismember(&mask, SIGTERM) == 0;
}

/* Calls of few values start no threads, and wake none. */
static bool starts_threads_that_pay(int unused) {
  (void)unused;
  threads_to_be_had = 100;
  szg_threads threads = {.count = 4, .total_values = 20000};
  memset(&seen, 0, sizeof seen);
  seen.first_failing = UINT64_MAX;
  bool is_done = szg_for_parts(&threads, 500, 0, see_part, &seen) == SZGPU_OK;
  is_done &= threads_to_be_had == 100;
  threads.total_values = 3 << 16;
  is_done &= szg_for_parts(&threads, 500, 0, see_part, &seen) == SZGPU_OK;
  return is_done && threads_to_be_had == 97;
}

static void few_values_take_few_threads(void **state) {
  (void)state;
  assert_true(ends_well(starts_threads_that_pay, 0));
}

static void signals_are_for_the_callers_threads(void **state) {
  (void)state;
  assert_true(ends_well(blocks_signals, 0));
}

static void a_forked_process_has_a_pool_of_its_own(void **state) {
  (void)state;
  assert_true(is_every_part_done(4));
  for (int threads = 1; threads <= 8; threads *= 2)
    assert_true(ends_well(is_every_part_done, threads));
  assert_true(is_every_part_done(4));
}

static bool runs_many_loops(int count) {
  for (int i = 0; i < count; i++)
    if (!is_every_part_done(3)) return false;
  return true;
}

/* Threads are woken and put to sleep at all moments. */
static void many_loops_follow_each_other(void **state) {
  (void)state;
  assert_true(runs_many_loops(3000));
}

/* A loop whose parts wait, in a thread of its own: it holds every thread of the pool. */
typedef struct held_loop {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int waiting;
  bool is_released;
} held_loop;

static szgpu_status wait_in_part(void *job, uint64_t part, int worker) {
  (void)part, (void)worker;
  held_loop *const held = job;
  pthread_mutex_lock(&held->lock);
  held->waiting++;
  pthread_cond_broadcast(&held->changed);
  while (!held->is_released) pthread_cond_wait(&held->changed, &held->lock);
  pthread_mutex_unlock(&held->lock);
  return SZGPU_OK;
}

static void *run_held_loop(void *opaque) {
  szg_threads threads = {.count = SZG_MAX_THREADS};
  szgpu_status const status = szg_for_parts(&threads, 5000, 0, wait_in_part, opaque);
  return status == SZGPU_OK ? opaque : NULL;
}

/* Threads that do not come, here because others keep them, are not waited for. */
static void a_loop_ends_when_its_parts_are_done(void **state) {
  (void)state;
  held_loop held = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  pthread_t thread;
  assert_int_equal(__real_pthread_create(&thread, NULL, run_held_loop, &held), 0);
  pthread_mutex_lock(&held.lock);
  while (held.waiting < 2) pthread_cond_wait(&held.changed, &held.lock);
  pthread_mutex_unlock(&held.lock);
  for (int i = 0; i < 100; i++) assert_true(is_every_part_done(16));
  pthread_mutex_lock(&held.lock);
  held.is_released = true;
  pthread_cond_broadcast(&held.changed);
  pthread_mutex_unlock(&held.lock);
  void *result;
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, &held);
}

typedef struct own_loop {
  unsigned times[500]; /* atomic */
} own_loop;

static szgpu_status count_part(void *job, uint64_t part, int worker) {
  (void)worker;
  own_loop *const own = job;
  __atomic_fetch_add(&own->times[part], 1, __ATOMIC_RELAXED);
  return SZGPU_OK;
}

static void *run_own_loops(void *unused) {
  static own_loop *const wrong = NULL;
  for (int i = 0; i < 300; i++) {
    own_loop own = {{0}};
    szg_threads threads = {.count = 1 + i % 6};
    if (szg_for_parts(&threads, 500, 0, count_part, &own) != SZGPU_OK) return wrong;
    for (int part = 0; part < 500; part++)
      if (own.times[part] != 1) return wrong;
  }
  return unused;
}

static void threads_of_the_program_share_the_pool(void **state) {
  pthread_t threads[6];
  for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
    assert_int_equal(__real_pthread_create(&threads[i], NULL, run_own_loops, &threads), 0);
  for (size_t i = 0; i < ARRAY_COUNT(threads); i++) {
    void *result;
    assert_int_equal(pthread_join(threads[i], &result), 0);
    assert_ptr_equal(result, &threads);
  }
  (void)state;
}

/* ---- fork in the middle of a loop ---- */

static pid_t forked_child = -1;

static int fork_in_progress(void *user, uint64_t done_values, uint64_t total_values) {
  (void)user, (void)done_values, (void)total_values;
  if (forked_child < 0) forked_child = fork();
  return 0;
}

/* The child lacks the workers that had begun parts, and is told so, unless all are done. The parent
 * goes on. */
static void a_process_that_is_forked_in_a_loop_is_refused(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads++) {
    forked_child = -1;
    szg_threads forking = {
        .count = threads, .progress = fork_in_progress, .total_values = UINT64_C(1) << 40};
    memset(&seen, 0, sizeof seen);
    seen.thread_count = threads;
    seen.first_failing = UINT64_MAX;
    fflush(NULL);
    szgpu_status const status = szg_for_parts(&forking, 4000, 1000, see_part, &seen);
    if (forked_child == 0) {
      uint64_t done = 0; /* all, if the last report forked */
      while (done < 4000 && seen.times[done] == 1) done++;
      bool const is_known = status == SZGPU_OTHER_PROCESS || (status == SZGPU_OK && done == 4000);
      _exit(is_known && is_every_part_done(threads) ? 0 : 1);
    }
    assert_int_equal(status, SZGPU_OK);
    int child_status = 0;
    assert_int_equal(waitpid(forked_child, &child_status, 0), forked_child);
    assert_true(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0);
  }
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
      cmocka_unit_test(threads_that_are_refused_are_done_without),
      cmocka_unit_test(few_values_take_few_threads),
      cmocka_unit_test(signals_are_for_the_callers_threads),
      cmocka_unit_test(a_forked_process_has_a_pool_of_its_own),
      cmocka_unit_test(many_loops_follow_each_other),
      cmocka_unit_test(a_loop_ends_when_its_parts_are_done),
      cmocka_unit_test(threads_of_the_program_share_the_pool),
      cmocka_unit_test(a_process_that_is_forked_in_a_loop_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
