/* ring.c - reads, works on and writes a row of items at the same time, in a few places of memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Item i has slot i % slot_count. Every thread does the same: it takes a step that can be done now,
 * or waits until another thread's step makes one possible. Two helpers read and write; workers,
 * the caller's thread among them, do so only if no helper could be started.
 */
#include "core/ring.h"

#include "core/thread_start.h"

enum { HELPERS = 2, NO_WORKER = -1 };

typedef enum slot_state { SLOT_FREE, SLOT_READ, SLOT_WORKED_ON, SLOT_BUSY } slot_state;

typedef enum ring_step { STEP_NONE, STEP_READ, STEP_WORK, STEP_WRITE } ring_step;

typedef struct szg_ring {
  const szg_ring_steps *steps;
  void *job;
  int slot_count;
  pthread_mutex_t lock; /* of all that follows */
  pthread_cond_t changed;
  uint64_t end_item; /* the number of items, or the lowest one that failed */
  bool has_helpers, is_reading, is_writing;
  uint64_t next_read, next_work, next_write; /* items before them have begun the step */
  slot_state slots[SZG_MOST_RING_SLOTS];     /* the last step that is done */
  szgpu_status status;                       /* of the lowest item that failed */
} szg_ring;

typedef struct ring_thread {
  szg_ring *ring;
  int worker;
} ring_thread;

static int slot_of(const szg_ring *ring, uint64_t item) {
  return (int)(item % (uint64_t)ring->slot_count);
}

static bool is_in(const szg_ring *ring, uint64_t item, slot_state state) {
  return item < ring->end_item && ring->slots[slot_of(ring, item)] == state;
}

static bool is_over(const szg_ring *ring) {
  return ring->next_write >= ring->end_item && !ring->is_writing;
}

/* Takes a step that this thread can do now, and its item. */
static ring_step take_step(szg_ring *ring, int worker, uint64_t *item) {
  bool const may_move = worker == NO_WORKER || !ring->has_helpers;
  ring_step step = STEP_NONE;
  if (worker != NO_WORKER && ring->next_work < ring->next_read &&
      is_in(ring, ring->next_work, SLOT_READ)) {
    step = STEP_WORK;
    *item = ring->next_work++;
  } else if (may_move && !ring->is_writing && ring->next_write < ring->next_work &&
             is_in(ring, ring->next_write, SLOT_WORKED_ON)) {
    step = STEP_WRITE;
    *item = ring->next_write++;
    ring->is_writing = true;
  } else if (may_move && !ring->is_reading && is_in(ring, ring->next_read, SLOT_FREE)) {
    step = STEP_READ;
    *item = ring->next_read++;
    ring->is_reading = true;
  }
  if (step != STEP_NONE) ring->slots[slot_of(ring, *item)] = SLOT_BUSY;
  return step;
}

static szgpu_status do_step(const szg_ring *ring, ring_step step, uint64_t item, int worker) {
  const szg_ring_steps *const steps = ring->steps;
  int const slot = slot_of(ring, item);
  switch (step) {
    case STEP_READ:
      return steps->read ? steps->read(ring->job, item, slot) : SZGPU_OK;
    case STEP_WORK:
      return steps->work ? steps->work(ring->job, item, slot, worker) : SZGPU_OK;
    case STEP_WRITE:
      return steps->write ? steps->write(ring->job, item, slot) : SZGPU_OK;
    case STEP_NONE:
      break;
  }
  return SZGPU_OK;
}

static void end_step(szg_ring *ring, ring_step step, uint64_t item, szgpu_status status) {
  static const slot_state after[] = {
      [STEP_READ] = SLOT_READ, [STEP_WORK] = SLOT_WORKED_ON, [STEP_WRITE] = SLOT_FREE};
  ring->slots[slot_of(ring, item)] = after[step];
  if (step == STEP_READ) ring->is_reading = false;
  if (step == STEP_WRITE) ring->is_writing = false;
  if (status != SZGPU_OK && item < ring->end_item) {
    ring->status = status;
    ring->end_item = item;
  }
}

static void take_part(szg_ring *ring, int worker) {
  pthread_mutex_lock(&ring->lock);
  while (!is_over(ring)) {
    uint64_t item = 0;
    ring_step const step = take_step(ring, worker, &item);
    if (step == STEP_NONE) {
      pthread_cond_wait(&ring->changed, &ring->lock);
      continue;
    }
    pthread_mutex_unlock(&ring->lock);
    szgpu_status const status = do_step(ring, step, item, worker);
    pthread_mutex_lock(&ring->lock);
    end_step(ring, step, item, status);
    pthread_cond_broadcast(&ring->changed);
  }
  pthread_mutex_unlock(&ring->lock);
}

static void *run_thread(void *opaque) {
  const ring_thread *const thread = opaque;
  take_part(thread->ring, thread->worker);
  return NULL;
}

szgpu_status szg_run_ring(uint64_t item_count, int slot_count, int worker_count,
                          const szg_ring_steps *steps, void *job) {
  szg_ring ring = {.steps = steps, .job = job, .slot_count = slot_count, .end_item = item_count};
  ring_thread threads[HELPERS + SZG_MOST_RING_SLOTS];
  pthread_t started[HELPERS + SZG_MOST_RING_SLOTS];
  int started_count = 0;
  if (worker_count > slot_count) worker_count = slot_count; /* no more can be at work */
  SZG_REQUIRE(pthread_mutex_init(&ring.lock, NULL) == 0, SZGPU_OUT_OF_MEMORY);
  if (pthread_cond_init(&ring.changed, NULL) != 0) {
    pthread_mutex_destroy(&ring.lock);
    return SZGPU_OUT_OF_MEMORY;
  }
  pthread_mutex_lock(&ring.lock); /* until it is known whether there are helpers */
  for (int i = 0; i < HELPERS + worker_count - 1; i++) {
    threads[started_count] = (ring_thread){&ring, i < HELPERS ? NO_WORKER : 1 + i - HELPERS};
    if (!szg_thread_start(&started[started_count], run_thread, &threads[started_count])) break;
    started_count++;
  }
  ring.has_helpers = started_count > 0;
  pthread_mutex_unlock(&ring.lock);
  take_part(&ring, 0);
  for (int i = 0; i < started_count; i++) pthread_join(started[i], NULL);
  pthread_cond_destroy(&ring.changed);
  pthread_mutex_destroy(&ring.lock);
  return ring.status;
}
