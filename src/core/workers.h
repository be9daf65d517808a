/* workers.h - threads for one loop: by OpenMP, which keeps them, or POSIX's, for each loop anew.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A build has one of workers_openmp.c and workers_posix.c. OpenMP's threads wait for the next loop,
 * which makes short ones faster, but they are the process's: they do not survive fork(), and where
 * the system refuses new ones OpenMP's runtime ends the process. So the HDF5 plugin, a guest in
 * programs that know nothing of it, has POSIX's.
 */
#ifndef SZG_WORKERS_H
#define SZG_WORKERS_H

#include "core/status.h"

SZG_C_BEGIN

typedef void (*szg_work_function)(void *job, int worker);

/* All cores the process may use. */
int szg_core_count(void);

/* Calls work for worker 0 here and, beside it, for the workers 1 .. worker_count - 1, or fewer
 * where there are not as many threads to be had. Returns when all are done. */
void szg_run_workers(int worker_count, szg_work_function work, void *job);

SZG_C_END

#endif
