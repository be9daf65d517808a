/* progress.h - a progress bar on the terminal.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_PROGRESS_H
#define SZGPU_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
  bool is_wanted; /* false: draw nothing */
  bool is_drawn;
  const char *verb; /* "compressing" */
  const char *name;
  double started, drawn; /* by seconds_now */
};

double seconds_now(void); /* a clock that only goes forward */

void progress_begin(struct progress *progress, const char *verb, const char *name);
/* A szgpu_progress callback; user is a struct progress. */
int progress_tick(void *user, uint64_t done_values, uint64_t total_values);
/* Erases the bar. Returns the seconds since progress_begin. */
double progress_end(struct progress *progress);

#endif
