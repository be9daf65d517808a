/* workers.c - a pool of threads that wait for loops to take part in.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A loop is open while worker 0, its caller, is at work. Threads of the pool that are awake join
 * it; each wakes another one, so that the caller wakes one only. Threads are started when a loop
 * finds too few idle, up to most_threads, and stay until the library is unloaded. If the system
 * refuses threads, loops have fewer workers. A forked process begins with an empty pool.
 */
#define _DEFAULT_SOURCE

#include "core/workers.h"

#include <pthread.h>
#include <stdbool.h>

#include "core/cores.h"
#include "core/thread_start.h"
#include "core/threads.h"

/* A loop that threads may join. */
typedef struct team {
  szg_work_function work;
  void *job;
  int worker_count;
  int joined_count; /* the next worker's number */
  int busy_count;   /* of those from the pool */
  pthread_cond_t left;
  struct team *next;
} team;

enum { LEAST_POOL = 3 }; /* for callers that ask for more threads than there are cores */

static struct {
  pthread_mutex_t lock; /* of all that follows */
  pthread_cond_t wanted;
  team *open;
  pthread_t threads[SZG_MAX_THREADS];
  int thread_count, idle_count;
  int most_threads;
  int group_cores; /* read once */
  bool is_over;
  uint64_t fork_count;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER};

static void close_team(team *of) {
  for (team **at = &pool.open; *at; at = &(*at)->next)
    if (*at == of) {
      *at = of->next;
      return;
    }
}

/* With the lock. A thread that is woken and finds no loop sleeps again. */
static void wake_one(void) {
  if (pool.open && pool.idle_count > 0) pthread_cond_signal(&pool.wanted);
}

static void *wait_for_loops(void *unused) {
  pthread_mutex_lock(&pool.lock);
  while (!pool.is_over) {
    team *const joined = pool.open;
    if (!joined) {
      pool.idle_count++;
      pthread_cond_wait(&pool.wanted, &pool.lock);
      pool.idle_count--;
      continue;
    }
    int const worker = joined->joined_count++;
    joined->busy_count++;
    if (joined->joined_count == joined->worker_count) close_team(joined);
    wake_one();
    pthread_mutex_unlock(&pool.lock);
    joined->work(joined->job, worker);
    pthread_mutex_lock(&pool.lock);
    close_team(joined); /* nothing is left to begin */
    if (--joined->busy_count == 0) pthread_cond_signal(&joined->left);
  }
  pthread_mutex_unlock(&pool.lock);
  return unused;
}

/* With the lock. */
static void start_threads(int wanted_count) {
  int missing = wanted_count - pool.idle_count;
  for (; missing > 0 && pool.thread_count < pool.most_threads; missing--) {
    if (!szg_thread_start(&pool.threads[pool.thread_count], wait_for_loops, NULL)) return;
    pool.thread_count++;
  }
}

/* ---- fork, and the end ---- */

static void before_fork(void) { pthread_mutex_lock(&pool.lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&pool.lock); }

/* Only the thread that called fork is there. */
static void after_fork_in_child(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.wanted, NULL);
  pool.open = NULL;
  pool.thread_count = pool.idle_count = 0;
  __atomic_store_n(&pool.fork_count, pool.fork_count + 1, __ATOMIC_RELAXED);
}

static int usable_cores(void) {
  int const affine = szg_affine_cores();
  return affine < pool.group_cores ? affine : pool.group_cores;
}

static void fill_pool(void) {
  pool.group_cores = szg_group_cores();
  int const cores = usable_cores();
  int const most = cores - 1 > LEAST_POOL ? cores - 1 : LEAST_POOL;
  pool.most_threads = most < SZG_MAX_THREADS ? most : SZG_MAX_THREADS;
  /* Without the handlers a forked process would wait for threads that it has not. */
  if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
    pool.most_threads = 0;
}

static bool open_pool(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  return pthread_once(&once, fill_pool) == 0;
}

/* Unloaded code must have no threads. At the end of a process that is in the middle of a call, they
 * are left alone. */
__attribute__((destructor)) static void close_pool(void) {
  pthread_mutex_lock(&pool.lock);
  bool const is_idle = pool.idle_count == pool.thread_count;
  int const count = is_idle ? pool.thread_count : 0;
  pool.is_over = true;
  pthread_cond_broadcast(&pool.wanted);
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < count; i++) pthread_join(pool.threads[i], NULL);
}

/* ---- a loop ---- */

int szg_usable_cores(void) { return open_pool() ? usable_cores() : 1; }

uint64_t szg_fork_count(void) { return __atomic_load_n(&pool.fork_count, __ATOMIC_RELAXED); }

void szg_run_workers(int worker_count, szg_work_function work, void *job) {
  team own = {.work = work, .job = job, .worker_count = worker_count, .joined_count = 1};
  if (worker_count <= 1 || !open_pool() || pthread_cond_init(&own.left, NULL) != 0) {
    work(job, 0);
    return;
  }
  pthread_mutex_lock(&pool.lock);
  uint64_t const fork_count = pool.fork_count;
  start_threads(worker_count - 1);
  own.next = pool.open;
  pool.open = &own;
  wake_one();
  pthread_mutex_unlock(&pool.lock);
  work(job, 0);
  pthread_mutex_lock(&pool.lock);
  if (pool.fork_count == fork_count) {
    close_team(&own);
    while (own.busy_count > 0) pthread_cond_wait(&own.left, &pool.lock);
    pthread_cond_destroy(&own.left);
  }
  pthread_mutex_unlock(&pool.lock);
}
