/* ranks.h - the ranks of a run agree whether all is well and, if not, end it together.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_PARALLEL_RANKS_H
#define SZGPU_PARALLEL_RANKS_H

#include <mpi.h>
#include <stdbool.h>

/* The same as the szgpu command's. */
enum exit_code { EXIT_FINE = 0, EXIT_USAGE = 1, EXIT_FILES = 2, EXIT_BOUND = 4 };

struct ranks {
  MPI_Comm comm;
  int rank, count;
};

/* A sentence without its full stop; "" if all is well. Only the first fault is kept. */
struct fault {
  enum exit_code code;
  char text[400];
};

void fault_set(struct fault *fault, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool has_fault(const struct fault *fault);

/* Calls MPI_Init and makes a communicator, which keeps our messages apart from HDF5's. */
struct ranks ranks_begin(int *argc, char ***argv);
void ranks_end(struct ranks *ranks);

/* Collective. Returns true if no rank has a fault. Otherwise rank 0 prints the fault of the lowest
 * rank that has one, all ranks get it in *fault, and the result is false. If this rank has a fault
 * and the others do not call within some seconds, because they wait for it inside HDF5, this rank
 * prints its fault and ends the whole run. */
bool ranks_agree(const struct ranks *ranks, struct fault *fault);

/* Rank 0 prints the text. */
void ranks_say(const struct ranks *ranks, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Waits for all ranks. Returns the time in seconds, the same on every rank. */
double ranks_clock(const struct ranks *ranks);

#endif
