/* progress.h - how far long work is: a line on the terminal that is rewritten, or lines of JSON.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_PROGRESS_H
#define SZGPU_APP_PROGRESS_H

#include "report.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
  bool is_wanted;              /* false: print nothing */
  const struct report *report; /* with is_json: where lines go, and about which file */
  const char *verb;            /* "compressing" */
  const char *name;
  uint64_t byte_count;           /* of the field, or of what is restored of it */
  double part_start, part_share; /* of the work: the library counts a part from 0 to 1 */
  double started, printed;       /* by seconds_now; printed: the last time, 0: never */
  double first_told,
      first_done;   /* when the library first said how far it was; first_told 0: never */
  bool is_complete; /* the line that says so is printed */
};

double seconds_now(void); /* a clock that only goes forward */

/* Prints the first line of JSON. report: of the file, valid until progress_end. */
void progress_begin(struct progress *progress, const struct report *report, const char *verb,
                    const char *name, uint64_t byte_count);
/* The next calls of the library do this share of the work, from `start` on; both from 0 to 1. */
void progress_part(struct progress *progress, double start, double share);
/* A szgpu_progress callback; user is a struct progress. */
int progress_tick(void *user, uint64_t done_values, uint64_t total_values);
/* Erases the line on the terminal. Returns the seconds since progress_begin. */
double progress_end(struct progress *progress);

#endif
