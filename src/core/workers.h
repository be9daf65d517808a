/* workers.h - threads for a loop: OpenMP's, which stay, or POSIX's, started for each loop.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A build has workers_openmp.c or workers_posix.c. OpenMP's threads wait for the next loop, which
 * makes short loops faster, but they belong to the process: they do not survive fork(), and if the
 * system refuses new ones, OpenMP's runtime ends the process. So the HDF5 plugin, which runs in
 * programs that do not know of it, uses POSIX's.
 */
#ifndef SZG_WORKERS_H
#define SZG_WORKERS_H

#include "core/status.h"

SZG_C_BEGIN

typedef void (*szg_work_function)(void *job, int worker);

/* The number of cores that the process may use. */
int szg_core_count(void);

/* Calls work for worker 0 in this thread, and for workers 1 .. worker_count - 1 in others at the
 * same time, or for fewer if the system refuses threads. Returns when all are done. */
void szg_run_workers(int worker_count, szg_work_function work, void *job);

SZG_C_END

#endif
