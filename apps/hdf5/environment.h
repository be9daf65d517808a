/* environment.h - what SZGPU_H5_* in the environment ask for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "szgpu.h"

typedef struct environment {
  szgpu_backend backend; /* SZGPU_H5_BACKEND: cpu, auto or cuda; CPU if unset */
  int threads;           /* SZGPU_H5_THREADS: 1 to SZGPU_MAX_THREADS; 1 if unset */
  int device;            /* SZGPU_H5_DEVICE: 0 and up; -1: unset */
  int local_rank;        /* of this process among those on its machine, by MPI's launcher; else 0 */
} environment;

/* Both read anew, so that a program may change them. An empty one is as good as none. NULL, or a
 * sentence on a wrong one. Restoring needs no more than threads. */
const char *environment_read(environment *settings);
const char *environment_read_threads(int *threads);

#endif
