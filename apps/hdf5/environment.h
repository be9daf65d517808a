/* environment.h - the settings in the environment variables SZGPU_H5_*.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "szgpu.h"

typedef struct environment {
  szgpu_backend backend; /* SZGPU_H5_BACKEND: cpu, auto or cuda; CPU if unset */
  int threads;           /* SZGPU_H5_THREADS: 1 to SZGPU_MAX_THREADS; 1 if unset */
  int device;            /* SZGPU_H5_DEVICE: 0 and up; -1: unset */
  uint64_t memory_limit; /* SZGPU_H5_MEMORY_LIMIT: as szgpu_options.memory_limit; 0 if unset */
  int local_rank;        /* of this process among those on its machine, by MPI's launcher; else 0 */
} environment;

/* Both read the environment at each call, so that a program may change it. An empty variable counts
 * as unset. They return NULL, or a sentence about a variable that is wrong. The second reads what
 * restoring needs: threads and memory_limit. */
const char *environment_read(environment *settings);
const char *environment_read_to_restore(environment *settings);

#endif
