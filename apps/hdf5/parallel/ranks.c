/* ranks.c - votes of all ranks, which do not hang if one rank is lost.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ranks.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How long a rank with a fault waits for the others. Either they reach the same vote soon, or they
 * are inside a collective call that this rank has left, and never do. */
static const double most_seconds_to_wait = 5;

void fault_set(struct fault *fault, enum exit_code code, const char *format, ...) {
  if (has_fault(fault)) return;
  fault->code = code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault->text, sizeof fault->text, format, arguments);
  va_end(arguments);
}

bool has_fault(const struct fault *fault) { return fault->code != EXIT_FINE; }

struct ranks ranks_begin(int *argc, char ***argv) {
  struct ranks ranks;
  MPI_Init(argc, argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &ranks.comm);
  MPI_Comm_rank(ranks.comm, &ranks.rank);
  MPI_Comm_size(ranks.comm, &ranks.count);
  return ranks;
}

void ranks_end(struct ranks *ranks) {
  MPI_Comm_free(&ranks->comm);
  MPI_Finalize();
}

/* is_everywhere: all ranks failed, so of the same cause, and the sentence names no rank. */
static void print_fault(int rank, bool is_everywhere, const struct fault *fault) {
  if (is_everywhere)
    fprintf(stderr, "szgpu_parallel: %s.\n", fault->text);
  else
    fprintf(stderr, "szgpu_parallel: rank %d: %s.\n", rank, fault->text);
  fflush(stderr);
}

/* Waits for a vote that this rank takes part in with a fault. */
static void wait_or_abort(const struct ranks *ranks, const struct fault *fault,
                          MPI_Request *request) {
  double const begin = MPI_Wtime();
  int is_done = 0;
  while (!is_done) {
    MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
    if (!is_done && MPI_Wtime() - begin > most_seconds_to_wait) {
      print_fault(ranks->rank, false, fault);
      MPI_Abort(ranks->comm, fault->code);
    }
  }
}

bool ranks_agree(const struct ranks *ranks, struct fault *fault) {
  /* The lowest rank with a fault, and whether every rank has one. */
  int const mine[2] = {has_fault(fault) ? ranks->rank : INT_MAX, has_fault(fault)};
  int least[2] = {INT_MAX, 0};
  MPI_Request request;
  MPI_Iallreduce(mine, least, 2, MPI_INT, MPI_MIN, ranks->comm, &request);
  if (has_fault(fault))
    wait_or_abort(ranks, fault, &request);
  else
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): wait_or_abort waits, by MPI_Test */
  if (least[0] == INT_MAX) return true;

  MPI_Bcast(fault, (int)sizeof *fault, MPI_BYTE, least[0], ranks->comm);
  if (ranks->rank == 0) print_fault(least[0], least[1] == 1, fault);
  MPI_Barrier(ranks->comm); /* no rank ends before rank 0 has printed it */
  return false;
}

void ranks_say(const struct ranks *ranks, const char *format, ...) {
  if (ranks->rank != 0) return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

double ranks_clock(const struct ranks *ranks) {
  double seconds;
  MPI_Barrier(ranks->comm);
  seconds = MPI_Wtime();
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, ranks->comm);
  return seconds;
}
