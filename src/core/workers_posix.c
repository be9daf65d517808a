/* workers_posix.c - workers are POSIX threads that live as long as the loop.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each worker starts the next one, so that they need no memory except their stacks. If the system
 * refuses a thread, the loop does without it and those after it.
 */
#define _GNU_SOURCE /* sched_getaffinity */

#include "core/workers.h"

#include <sched.h>
#include <unistd.h>

#include "core/thread_start.h"

int szg_core_count(void) {
#ifdef __linux__
  enum { MOST_CORES = 1 << 16 }; /* the system refuses sets smaller than its own */
  for (size_t most = CPU_SETSIZE; most <= MOST_CORES; most *= 2) {
    cpu_set_t *const cores = CPU_ALLOC(most);
    if (!cores) break;
    bool const is_told = sched_getaffinity(0, CPU_ALLOC_SIZE(most), cores) == 0;
    int const own_count = is_told ? CPU_COUNT_S(CPU_ALLOC_SIZE(most), cores) : 0;
    CPU_FREE(cores);
    if (is_told) return own_count;
  }
#endif
  long const count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 1 ? (int)count : 1;
}

typedef struct posix_worker {
  int number, count;
  szg_work_function work;
  void *job;
} posix_worker;

static void *run_from(void *opaque);

/* False if there is no further worker, or no thread for it. */
static bool start_next(const posix_worker *own, posix_worker *next, pthread_t *thread) {
  *next = *own;
  next->number++;
  return next->number < own->count && szg_thread_start(thread, run_from, next);
}

static void *run_from(void *opaque) {
  posix_worker const *const own = opaque;
  posix_worker next;
  pthread_t thread;
  bool const has_next = start_next(own, &next, &thread);
  own->work(own->job, own->number);
  if (has_next) pthread_join(thread, NULL);
  return NULL;
}

void szg_run_workers(int worker_count, szg_work_function work, void *job) {
  posix_worker const first = {0, worker_count, work, job};
  posix_worker next;
  pthread_t thread;
  bool const has_next = start_next(&first, &next, &thread);
  work(job, 0);
  if (has_next) pthread_join(thread, NULL);
}
