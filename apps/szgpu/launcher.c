/* launcher.c - the threads of a process that an MPI launcher started beside others.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "launcher.h"

#include <stdlib.h>

#include "szgpu.h"

/* The variables of Open MPI, MVAPICH, MPICH and Intel MPI, and Slurm, whose "4(x2),3" begins with
 * the number of processes on each of the first machines. */
static long processes_here(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                                      "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *const text = getenv(names[i]);
    long const count = text ? strtol(text, NULL, 10) : 0;
    if (count > 0) return count;
  }
  return 1;
}

int launcher_threads(long cores) {
  long const processes = processes_here();
  if (processes == 1) return 0;
  long const share = cores / processes;
  return share < 1 ? 1 : share < SZGPU_MAX_THREADS ? (int)share : SZGPU_MAX_THREADS;
}
