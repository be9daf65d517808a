/* series_store.h - a store in memory that can fail, or lose its power, at any call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_SERIES_STORE_H
#define SZG_TEST_SERIES_STORE_H

#include <stdbool.h>

#include "support.h"
#include "szgpu_series.h"

enum { TEST_STORE_BYTES = 1 << 17, TEST_MOST_VERSIONS = 16 };

typedef struct test_version {
  uint8_t bytes[TEST_STORE_BYTES];
  uint64_t end;
} test_version;

typedef struct test_store {
  uint8_t bytes[TEST_STORE_BYTES];
  uint64_t end;
  uint64_t read_bytes;  /* in all */
  int calls;            /* in all */
  int calls_until_fail; /* -1: never; this call fails, */
  bool stays_failed;    /* and all after it */
  int failing_call;     /* -1: none; this one fails, too */
  bool is_torn;         /* a write or cut that fails may be done all the same */
  int version_count;    /* what was there at the last sync, and after each write and cut since */
  test_version versions[TEST_MOST_VERSIONS];
} test_store;

/* Empty. */
test_store *test_make_store(void);
szgpu_store test_store_of(test_store *store);
/* A series of what the store has, to append to. */
szgpu_series *test_open_series(test_store *store);

/* Choices one after the other, by chance or, with random as NULL, all that there are: begin anew as
 * long as test_next_choices says so. Zeroed before the first. */
enum { TEST_MOST_CHOICES = 64 };
typedef struct test_choices {
  test_random *random;
  uint64_t chosen[TEST_MOST_CHOICES], limits[TEST_MOST_CHOICES];
  int count, known_count;
} test_choices;
uint64_t test_choose(test_choices *choices, uint64_t limit); /* 0 .. limit - 1 */
bool test_next_choices(test_choices *choices);

/* What a disk may hold when the power fails, as a store of its own: each sector is as it was at the
 * last sync or after any of the writes and cuts since, and so is the end. A write that made the
 * store longer may have come up to any sector. */
void test_lose_power(const test_store *store, test_choices *choices, test_store *left);

#endif
