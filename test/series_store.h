/* series_store.h - a store in memory that can fail, or lose its power, at any call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_SERIES_STORE_H
#define SZG_TEST_SERIES_STORE_H

#include <stdbool.h>

#include "support.h"
#include "szgpu_series.h"

enum { TEST_STORE_BYTES = 1 << 17 };

typedef struct test_store {
  uint8_t bytes[TEST_STORE_BYTES];
  uint64_t end;
  uint8_t synced[TEST_STORE_BYTES]; /* what was there at the last sync */
  uint64_t synced_end;
  uint64_t read_bytes;  /* in all */
  int calls;            /* in all */
  int calls_until_fail; /* -1: never; this call fails, */
  bool stays_failed;    /* and all after it */
} test_store;

/* Empty. */
test_store *test_make_store(void);
szgpu_store test_store_of(test_store *store);
/* A series of what the store has, to append to. */
szgpu_series *test_open_series(test_store *store);

/* What a disk may hold after a loss of power: each sector is as it was at the last sync or as it is
 * now, by chance, and so is the end. */
void test_lose_power(test_store *store, test_random *random);

#endif
