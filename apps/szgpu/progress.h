/* progress.h - a bar on the terminal for work that lasts.
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
  double started, drawn; /* seconds of seconds_now */
};

double seconds_now(void); /* a clock that only goes forward */

void progress_begin(struct progress *progress, const char *verb, const char *name);
/* An szgpu_progress; user is the struct. */
int progress_tick(void *user, uint64_t done_values, uint64_t total_values);
/* Erases the bar. Returns the seconds since progress_begin. */
double progress_end(struct progress *progress);

#endif
