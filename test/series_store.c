/* series_store.c - a store in memory that can fail, or lose its power, at any call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "series_store.h"

#include <string.h>

enum { SECTOR_BYTES = 512, FAILURE = 77 };

static bool fails(test_store *store) {
  int const call = store->calls++;
  if (store->calls_until_fail < 0) return false;
  return store->stays_failed ? call >= store->calls_until_fail : call == store->calls_until_fail;
}

static int read_store(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  test_store *const store = user;
  *got = 0;
  if (fails(store)) return FAILURE;
  if (offset >= store->end) return 0;
  uint64_t const left = store->end - offset;
  *got = byte_count < left ? byte_count : (size_t)left;
  memcpy(bytes, store->bytes + offset, *got);
  store->read_bytes += *got;
  return 0;
}

static int write_store(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  test_store *const store = user;
  if (fails(store)) return FAILURE;
  assert_true(offset + byte_count <= TEST_STORE_BYTES);
  if (offset > store->end) memset(store->bytes + store->end, 0, offset - store->end);
  memcpy(store->bytes + offset, bytes, byte_count);
  if (offset + byte_count > store->end) store->end = offset + byte_count;
  return 0;
}

static int sync_store(void *user) {
  test_store *const store = user;
  if (fails(store)) return FAILURE;
  memcpy(store->synced, store->bytes, sizeof store->synced);
  store->synced_end = store->end;
  return 0;
}

static int cut_store(void *user, uint64_t byte_count) {
  test_store *const store = user;
  if (fails(store)) return FAILURE;
  assert_true(byte_count <= store->end);
  memset(store->bytes + byte_count, 0, TEST_STORE_BYTES - byte_count);
  store->end = byte_count;
  return 0;
}

test_store *test_make_store(void) {
  test_store *const store = test_allocate(sizeof *store);
  memset(store, 0, sizeof *store);
  store->calls_until_fail = -1;
  return store;
}

szgpu_store test_store_of(test_store *store) {
  return (szgpu_store){read_store, write_store, sync_store, cut_store, store};
}

szgpu_series *test_open_series(test_store *store) {
  szgpu_store const callbacks = test_store_of(store);
  szgpu_series *series;
  assert_int_equal(szgpu_series_open(&series, &callbacks, store->end), SZGPU_OK);
  return series;
}

void test_lose_power(test_store *store, test_random *random) {
  for (size_t at = 0; at < TEST_STORE_BYTES; at += SECTOR_BYTES)
    if (test_random_below(random, 2)) memcpy(store->bytes + at, store->synced + at, SECTOR_BYTES);
  if (test_random_below(random, 2)) store->end = store->synced_end;
  memset(store->bytes + store->end, 0, TEST_STORE_BYTES - store->end);
  memcpy(store->synced, store->bytes, sizeof store->synced);
  store->synced_end = store->end;
}
