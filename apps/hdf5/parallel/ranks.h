/* ranks.h - what the ranks of a run agree on: whether all is well, and how it ends where it is not.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_PARALLEL_RANKS_H
#define SZGPU_PARALLEL_RANKS_H

#include <mpi.h>
#include <stdbool.h>

/* As of the szgpu command. */
enum exit_code { EXIT_FINE = 0, EXIT_USAGE = 1, EXIT_FILES = 2, EXIT_BOUND = 4 };

struct ranks {
  MPI_Comm comm;
  int rank, count;
};

/* A sentence without its full stop, "" where all is well; only the first is kept. */
struct fault {
  enum exit_code code;
  char text[400];
};

void fault_set(struct fault *fault, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool has_fault(const struct fault *fault);

/* MPI_Init, and a communicator of the run's own, so that HDF5's messages and ours do not meet. */
struct ranks ranks_begin(int *argc, char ***argv);
void ranks_end(struct ranks *ranks);

/* Collective: every rank says how it fares; true where all fare well. Otherwise rank 0 prints the
 * fault of the lowest rank that has one, all ranks get its code in fault, and the result is false.
 * Where the others do not come within some seconds, because they wait for this rank inside HDF5,
 * this rank prints its fault and ends the whole run. */
bool ranks_agree(const struct ranks *ranks, struct fault *fault);

/* Prints the line on rank 0. */
void ranks_say(const struct ranks *ranks, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Seconds, the same on every rank, once all have come this far. */
double ranks_clock(const struct ranks *ranks);

#endif
