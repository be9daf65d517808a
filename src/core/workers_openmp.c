/* workers_openmp.c - workers are OpenMP's threads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <omp.h>

#include "core/workers.h"

int szg_core_count(void) { return omp_get_num_procs(); }

void szg_run_workers(int worker_count, szg_work_function work, void *job) {
#pragma omp parallel num_threads(worker_count)
  work(job, omp_get_thread_num());
}
