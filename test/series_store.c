/* series_store.c - a store in memory that can fail, or lose its power, at any call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "series_store.h"

#include <string.h>

enum { SECTOR_BYTES = 512, FAILURE = 77 };

static bool fails(test_store *store) {
  int const call = store->calls++;
  if (call == store->failing_call) return true;
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

static void keep_version(test_store *store) {
  assert_true(store->version_count < TEST_MOST_VERSIONS);
  test_version *const version = &store->versions[store->version_count++];
  memcpy(version->bytes, store->bytes, sizeof version->bytes);
  version->end = store->end;
}

/* All that is there is on disk. */
static void keep_only_version(test_store *store) {
  store->version_count = 0;
  keep_version(store);
}

static int write_store(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  test_store *const store = user;
  bool const is_failing = fails(store);
  if (is_failing && !store->is_torn) return FAILURE;
  assert_true(offset + byte_count <= TEST_STORE_BYTES);
  if (offset > store->end) memset(store->bytes + store->end, 0, offset - store->end);
  memcpy(store->bytes + offset, bytes, byte_count);
  if (offset + byte_count > store->end) store->end = offset + byte_count;
  keep_version(store);
  return is_failing ? FAILURE : 0;
}

static int sync_store(void *user) {
  test_store *const store = user;
  if (fails(store)) return FAILURE;
  keep_only_version(store);
  return 0;
}

/* Whole sectors that a cut gives back keep what they have. */
static void keep_cut_version(test_store *store) {
  keep_version(store);
  test_version *const version = &store->versions[store->version_count - 1];
  size_t const at = (store->end + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
  memcpy(version->bytes + at, version[-1].bytes + at, TEST_STORE_BYTES - at);
}

static int cut_store(void *user, uint64_t byte_count) {
  test_store *const store = user;
  bool const is_failing = fails(store);
  if (is_failing && !store->is_torn) return FAILURE;
  assert_true(byte_count <= store->end);
  memset(store->bytes + byte_count, 0, TEST_STORE_BYTES - byte_count);
  store->end = byte_count;
  keep_cut_version(store);
  return is_failing ? FAILURE : 0;
}

test_store *test_make_store(void) {
  test_store *const store = test_allocate(sizeof *store);
  memset(store, 0, offsetof(test_store, versions));
  store->calls_until_fail = -1;
  store->failing_call = -1;
  keep_only_version(store);
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

/* ---- choices ---- */

uint64_t test_choose(test_choices *choices, uint64_t limit) {
  if (choices->random) return test_random_below(choices->random, limit);
  int const at = choices->count++;
  assert_true(at < TEST_MOST_CHOICES);
  if (at >= choices->known_count) {
    choices->chosen[at] = 0;
    choices->known_count = at + 1;
  }
  choices->limits[at] = limit;
  return choices->chosen[at];
}

/* The last choice that has another way takes it, and those after it begin anew. */
bool test_next_choices(test_choices *choices) {
  int last = choices->count - 1;
  while (last >= 0 && choices->chosen[last] + 1 == choices->limits[last]) last--;
  choices->count = 0;
  choices->known_count = last + 1;
  if (last >= 0) choices->chosen[last]++;
  return last >= 0;
}

/* ---- a loss of power ---- */

/* Whether no version before `index` has the same in this sector. */
static bool is_first(const test_store *store, int index, size_t at) {
  for (int i = 0; i < index; i++)
    if (memcmp(store->versions[i].bytes + at, store->versions[index].bytes + at, SECTOR_BYTES) == 0)
      return false;
  return true;
}

static const uint8_t *choose_sector(const test_store *store, size_t at, test_choices *choices) {
  int different[TEST_MOST_VERSIONS], count = 0;
  for (int i = 0; i < store->version_count; i++)
    if (is_first(store, i, at)) different[count++] = i;
  int const chosen = count > 1 ? different[test_choose(choices, (uint64_t)count)] : different[0];
  return store->versions[chosen].bytes + at;
}

static uint64_t choose_end(const test_store *store, test_choices *choices) {
  uint64_t ends[2 * TEST_STORE_BYTES / SECTOR_BYTES];
  size_t count = 0;
  for (int i = 0; i < store->version_count; i++) {
    uint64_t const end = store->versions[i].end;
    uint64_t const before = i > 0 ? store->versions[i - 1].end : end;
    for (uint64_t at = before / SECTOR_BYTES * SECTOR_BYTES + SECTOR_BYTES; at < end;
         at += SECTOR_BYTES)
      ends[count++] = at;
    if (i == 0 || end != before) ends[count++] = end;
    assert_true(count < ARRAY_COUNT(ends) / 2);
  }
  return ends[count > 1 ? test_choose(choices, count) : 0];
}

void test_lose_power(const test_store *store, test_choices *choices, test_store *left) {
  for (size_t at = 0; at < TEST_STORE_BYTES; at += SECTOR_BYTES)
    memcpy(left->bytes + at, choose_sector(store, at, choices), SECTOR_BYTES);
  left->end = choose_end(store, choices);
  memset(left->bytes + left->end, 0, TEST_STORE_BYTES - left->end);
  keep_only_version(left);
}
