/* ring.h - reads, works on and writes a row of items at the same time, in a few places of memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_RING_H
#define SZG_RING_H

#include <stdint.h>

#include "core/status.h"

SZG_C_BEGIN

enum { SZG_MOST_RING_SLOTS = 64 };

/* The steps of an item. They may run in different threads, but one after the other for an item, and
 * slot number `slot` belongs to it from its first step to its last. `read` and `write` each take
 * the items in their order, one at a time. `work` runs for several items at once, for one item on
 * each worker; worker 0 is in the caller's thread. NULL: nothing to do. */
typedef struct szg_ring_steps {
  szgpu_status (*read)(void *job, uint64_t item, int slot);
  szgpu_status (*work)(void *job, uint64_t item, int slot, int worker);
  szgpu_status (*write)(void *job, uint64_t item, int slot);
} szg_ring_steps;

/* Takes items 0 .. item_count - 1 through the steps. If a step fails, the items before its own go
 * on and all others stop; the result is that of the lowest item that failed, whatever the threads
 * do. If the system refuses threads, those that there
 * are do everything. 1 <= slot_count <= SZG_MOST_RING_SLOTS, worker_count >= 1. */
szgpu_status szg_run_ring(uint64_t item_count, int slot_count, int worker_count,
                          const szg_ring_steps *steps, void *job) SZG_CHECKED;

SZG_C_END

#endif
