/* threads.h - a loop over independent parts, in the floating-point environment that the format
 * needs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_THREADS_H
#define SZG_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

SZG_C_BEGIN

enum { SZG_MAX_THREADS = 1024 };

/* Does part `part` on worker `worker` (below the thread count). The result must not depend on
 * which worker does which part, nor when. */
typedef szgpu_status (*szg_part_function)(void *job, uint64_t part, int worker);

typedef struct szg_threads {
  int count; /* 1 .. SZG_MAX_THREADS */
  szgpu_progress progress;
  void *progress_user;
  uint64_t done_values; /* before this loop */
  uint64_t total_values;
  uint64_t reported_values; /* the most of the call: work that begins anew reports no less */
} szg_threads;

/* Runs parts 0 .. part_count - 1 and returns the status of the lowest part that failed. Every
 * worker rounds to nearest and keeps denormals, and restores its environment afterwards.
 * SZGPU_OTHER_PROCESS: the callback forked, and this is the child, which lacks the other workers.
 * loop_values: the values that the whole loop counts for in the progress report; 0: no report. */
szgpu_status szg_for_parts(szg_threads *threads, uint64_t part_count, uint64_t loop_values,
                           szg_part_function function, void *job) SZG_CHECKED;

/* Reports that done_values are done. SZGPU_CANCELLED: the callback asked to stop. */
szgpu_status szg_report_done(szg_threads *threads, uint64_t done_values) SZG_CHECKED;

SZG_C_END

#endif
