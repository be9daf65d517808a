/* workers.h - the threads that take part in loops: one pool for the process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_WORKERS_H
#define SZG_WORKERS_H

#include <stdint.h>

#include "core/status.h"

SZG_C_BEGIN

typedef void (*szg_work_function)(void *job, int worker);

/* Calls work for worker 0 in this thread, and meanwhile for up to worker_count - 1 others in
 * threads of the pool. Returns when worker 0 is done, and so are all that have begun: a thread that
 * the system has not scheduled by then is not waited for, so worker 0 must be able to do
 * everything. In a process that was forked meanwhile there are no others, and what they had begun
 * is lost. */
void szg_run_workers(int worker_count, szg_work_function work, void *job);

/* The cores that this thread may use: those of its affinity, as far as the time that the control
 * group grants fills them. At least 1. */
int szg_usable_cores(void);

/* How many forks lie between this process and the one that loaded the library, of those that were
 * made while there was a pool. */
uint64_t szg_fork_count(void);

SZG_C_END

#endif
