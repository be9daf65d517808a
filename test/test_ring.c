/* test_ring.c - a ring takes every item through its steps, in order where it must.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/ring.h"

#include <pthread.h>
#include <stdbool.h>

#include "support.h"

/* ---- threads that the system refuses: the linker wraps pthread_create ---- */

static int threads_left = 1 << 20;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument) {
  if (threads_left-- <= 0) return 11; /* EAGAIN */
  return __real_pthread_create(thread, attributes, function, argument);
}

/* ---- steps that watch each other ---- */

enum { MOST_ITEMS = 300, MOST_SLOTS = 7, MOST_WORKERS = 5 };

typedef struct watched_ring {
  pthread_mutex_t lock;
  uint64_t next_read, next_write; /* the items that must come next */
  int readers, writers, workers;  /* in their step now */
  int most_readers, most_writers, most_at_work;
  bool worker_is_busy[MOST_WORKERS];
  int stage[MOST_ITEMS]; /* 0: new, 1: read, 2: worked on, 3: written */
  uint64_t item_in_slot[MOST_SLOTS];
  uint64_t faults; /* claims that did not hold */
  pthread_t caller;
  uint64_t failing_read, failing_work, failing_write; /* items; MOST_ITEMS: none */
} watched_ring;

static void spend_time(uint64_t item) {
  for (volatile uint64_t i = 0; i < test_hash(item) % 3000; i++) continue;
}

static void claim(watched_ring *ring, bool holds) { ring->faults += !holds; }

static int greater(int a, int b) { return a > b ? a : b; }

static szgpu_status watch_read(void *job, uint64_t item, int slot) {
  watched_ring *const ring = job;
  pthread_mutex_lock(&ring->lock);
  claim(ring, item == ring->next_read++ && ring->stage[item] == 0);
  ring->most_readers = greater(ring->most_readers, ++ring->readers);
  ring->item_in_slot[slot] = item;
  pthread_mutex_unlock(&ring->lock);
  spend_time(item);
  pthread_mutex_lock(&ring->lock);
  ring->readers--;
  ring->stage[item] = 1;
  pthread_mutex_unlock(&ring->lock);
  return item == ring->failing_read ? SZGPU_SOURCE_FAILED : SZGPU_OK;
}

static szgpu_status watch_work(void *job, uint64_t item, int slot, int worker) {
  watched_ring *const ring = job;
  pthread_mutex_lock(&ring->lock);
  claim(ring, ring->stage[item] == 1 && ring->item_in_slot[slot] == item);
  claim(ring, !ring->worker_is_busy[worker]);
  claim(ring, (worker == 0) == (pthread_equal(pthread_self(), ring->caller) != 0));
  ring->worker_is_busy[worker] = true;
  ring->most_at_work = greater(ring->most_at_work, ++ring->workers);
  pthread_mutex_unlock(&ring->lock);
  spend_time(item + 1);
  pthread_mutex_lock(&ring->lock);
  ring->workers--;
  ring->worker_is_busy[worker] = false;
  ring->stage[item] = 2;
  pthread_mutex_unlock(&ring->lock);
  return item == ring->failing_work ? SZGPU_BAD_DATA : SZGPU_OK;
}

static szgpu_status watch_write(void *job, uint64_t item, int slot) {
  watched_ring *const ring = job;
  pthread_mutex_lock(&ring->lock);
  claim(ring, item == ring->next_write++ && ring->stage[item] == 2);
  claim(ring, ring->item_in_slot[slot] == item);
  ring->most_writers = greater(ring->most_writers, ++ring->writers);
  pthread_mutex_unlock(&ring->lock);
  spend_time(item + 2);
  pthread_mutex_lock(&ring->lock);
  ring->writers--;
  ring->stage[item] = 3;
  pthread_mutex_unlock(&ring->lock);
  return item == ring->failing_write ? SZGPU_SINK_FAILED : SZGPU_OK;
}

static const szg_ring_steps watched_steps = {watch_read, watch_work, watch_write};

static watched_ring make_ring(void) {
  watched_ring ring = {.failing_read = MOST_ITEMS,
                       .failing_work = MOST_ITEMS,
                       .failing_write = MOST_ITEMS,
                       .caller = pthread_self()};
  pthread_mutex_init(&ring.lock, NULL);
  return ring;
}

/* ---- claims ---- */

static void assert_whole_run(uint64_t item_count, int slot_count, int worker_count) {
  watched_ring ring = make_ring();
  assert_int_equal(szg_run_ring(item_count, slot_count, worker_count, &watched_steps, &ring),
                   SZGPU_OK);
  assert_int_equal(ring.faults, 0);
  assert_int_equal(ring.next_write, item_count);
  assert_true(ring.most_readers <= 1 && ring.most_writers <= 1);
  assert_true(ring.most_at_work <= worker_count && ring.most_at_work <= slot_count);
  for (uint64_t i = 0; i < item_count; i++) assert_int_equal(ring.stage[i], 3);
  pthread_mutex_destroy(&ring.lock);
}

static void every_item_takes_every_step(void **state) {
  (void)state;
  static const uint64_t item_counts[] = {0, 1, 2, 5, MOST_ITEMS};
  for (size_t i = 0; i < ARRAY_COUNT(item_counts); i++)
    for (int slots = 1; slots <= MOST_SLOTS; slots++)
      for (int workers = 1; workers <= MOST_WORKERS; workers++)
        assert_whole_run(item_counts[i], slots, workers);
}

static void it_goes_on_without_threads(void **state) {
  (void)state;
  for (int allowed = 0; allowed <= 3; allowed++)
    for (int workers = 1; workers <= 3; workers++) {
      threads_left = allowed;
      assert_whole_run(100, 4, workers);
    }
  threads_left = 1 << 20;
}

static void the_first_failure_is_the_result(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    watched_ring ring = make_ring();
    ring.failing_write = 40;
    ring.failing_work = 41;
    assert_int_equal(szg_run_ring(MOST_ITEMS, 3, 2, &watched_steps, &ring), SZGPU_SINK_FAILED);
    assert_true(ring.next_write == 41 && ring.next_read <= 45);
    assert_int_equal(ring.faults, 0);
    ring = make_ring();
    ring.failing_read = 17;
    assert_int_equal(szg_run_ring(MOST_ITEMS, 5, 3, &watched_steps, &ring), SZGPU_SOURCE_FAILED);
    assert_int_equal(ring.next_read, 18);
    assert_int_equal(ring.next_write, 17);
    ring = make_ring();
    ring.failing_work = 0;
    assert_int_equal(szg_run_ring(MOST_ITEMS, 5, 3, &watched_steps, &ring), SZGPU_BAD_DATA);
    assert_int_equal(ring.next_write, 0);
  }
}

static void steps_may_be_missing(void **state) {
  (void)state;
  watched_ring ring = make_ring();
  szg_ring_steps const only_reads = {watch_read, NULL, NULL};
  assert_int_equal(szg_run_ring(50, 2, 1, &only_reads, &ring), SZGPU_OK);
  assert_int_equal(ring.next_read, 50);
}

int main(void) {
  struct CMUnitTest const tests[] = {
      cmocka_unit_test(every_item_takes_every_step),
      cmocka_unit_test(it_goes_on_without_threads),
      cmocka_unit_test(the_first_failure_is_the_result),
      cmocka_unit_test(steps_may_be_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
