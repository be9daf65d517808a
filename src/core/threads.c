/* threads.c - the parallel loop.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/threads.h"

#include <pthread.h>

#include "core/environment.h"
#include "core/workers.h"

/* State that the workers share. */
typedef struct parts_loop {
  szg_threads *threads;
  uint64_t part_count;
  uint64_t loop_values;
  szg_part_function function;
  void *job;
  uint64_t next_part;      /* atomic: the next part to begin */
  uint64_t done_parts;     /* atomic */
  bool stop;               /* atomic: no further part should begin */
  pthread_mutex_t failure; /* guards the next two */
  uint64_t failed_part;
  szgpu_status status; /* of failed_part */
} parts_loop;

static void note_failure(parts_loop *loop, uint64_t part, szgpu_status status) {
  pthread_mutex_lock(&loop->failure);
  if (loop->status == SZGPU_OK || part < loop->failed_part) {
    loop->status = status;
    loop->failed_part = part;
  }
  pthread_mutex_unlock(&loop->failure);
  __atomic_store_n(&loop->stop, true, __ATOMIC_RELAXED);
}

/* Calls the callback; whether it asks to stop. */
static bool is_stopped(szg_threads *threads, uint64_t done_values) {
  if (threads->reported_values < done_values) threads->reported_values = done_values;
  return threads->progress(threads->progress_user, threads->reported_values,
                           threads->total_values) != 0;
}

/* Only the calling thread reports, so that no other thread runs the caller's callback. */
static void report_progress(parts_loop *loop, uint64_t part) {
  szg_threads *const threads = loop->threads;
  uint64_t const done_parts = __atomic_load_n(&loop->done_parts, __ATOMIC_RELAXED);
  uint64_t const done_values =
      (uint64_t)((double)loop->loop_values * ((double)done_parts / (double)loop->part_count));
  uint64_t const fork_count = szg_fork_count();
  if (is_stopped(threads, threads->done_values + done_values))
    note_failure(loop, part, SZGPU_CANCELLED);
  if (szg_fork_count() != fork_count) /* parts of other workers will never be done here */
    note_failure(loop, part, SZGPU_OTHER_PROCESS);
}

static void run_worker(void *opaque, int worker) {
  parts_loop *const loop = opaque;
  fenv_t callers_environment;
  szg_environment_enter(&callers_environment);
  /* Parts begin in order, so when one fails, every lower one has begun and will have its say. */
  while (!__atomic_load_n(&loop->stop, __ATOMIC_RELAXED)) {
    uint64_t const part = __atomic_fetch_add(&loop->next_part, 1, __ATOMIC_RELAXED);
    if (part >= loop->part_count) break;
    szgpu_status const status = loop->function(loop->job, part, worker);
    if (status != SZGPU_OK) note_failure(loop, part, status);
    __atomic_fetch_add(&loop->done_parts, 1, __ATOMIC_RELAXED);
    if (worker == 0 && loop->threads->progress && loop->loop_values) report_progress(loop, part);
  }
  szg_environment_leave(&callers_environment);
}

/* Fewer than there may be where a call has so few values that waking a thread costs more than it
 * does. A call of unknown values has all. */
static int useful_workers(const szg_threads *threads, uint64_t part_count) {
  enum { LEAST_VALUES = 1 << 16 }; /* of a worker: some 100 us of work */
  uint64_t most = part_count < (uint64_t)threads->count ? part_count : (uint64_t)threads->count;
  uint64_t const useful = 1 + threads->total_values / LEAST_VALUES;
  if (threads->total_values > 0 && useful < most) most = useful;
  return (int)most;
}

szgpu_status szg_for_parts(szg_threads *threads, uint64_t part_count, uint64_t loop_values,
                           szg_part_function function, void *job) {
  parts_loop loop = {.threads = threads,
                     .part_count = part_count,
                     .loop_values = loop_values,
                     .function = function,
                     .job = job,
                     .failure = PTHREAD_MUTEX_INITIALIZER};
  szg_run_workers(useful_workers(threads, part_count), run_worker, &loop);
  SZG_TRY(loop.status);
  return loop_values ? szg_report_done(threads, threads->done_values + loop_values) : SZGPU_OK;
}

szgpu_status szg_report_done(szg_threads *threads, uint64_t done_values) {
  threads->done_values = done_values;
  if (!threads->progress) return SZGPU_OK;
  return is_stopped(threads, done_values) ? SZGPU_CANCELLED : SZGPU_OK;
}
