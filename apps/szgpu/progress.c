/* progress.c - a progress bar on the terminal.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "progress.h"

#include "report.h"
#include "text.h"

#include <string.h>
#include <time.h>

enum { BAR_CHARS = 30, NAME_CHARS = 25 }; /* so short that the line does not wrap */

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *verb, const char *name) {
  progress->verb = verb;
  const char *slash = strrchr(name, '/');
  progress->name = slash ? slash + 1 : name;
  progress->is_drawn = false;
  progress->drawn = 0;
  progress->started = seconds_now();
}

int progress_tick(void *user, uint64_t done_values, uint64_t total_values) {
  struct progress *progress = user;
  if (!progress->is_wanted || total_values == 0) return 0;
  double const now = seconds_now();
  bool const is_early = now - progress->started < 1.0; /* short work needs no bar */
  bool const is_recent = now - progress->drawn < 0.1;
  if (is_early || is_recent) return 0;
  double const done = done_values < total_values ? (double)done_values / (double)total_values : 1;
  char bar[BAR_CHARS + 1], name[NAME_CHARS + 1];
  snprintf(name, sizeof name, "%s", progress->name);
  memset(bar, ' ', BAR_CHARS);
  memset(bar, '=', (size_t)(done * BAR_CHARS));
  bar[BAR_CHARS] = '\0';
  fprintf(stderr, "\r%s [%s] %3d %%  ", progress->verb, bar, (int)(done * 100));
  print_name(stderr, name);
  fputs("\033[K", stderr); /* erases what is left of a longer line */
  fflush(stderr);
  progress->drawn = now;
  progress->is_drawn = true;
  return 0;
}

double progress_end(struct progress *progress) {
  double const seconds = seconds_now() - progress->started;
  if (progress->is_drawn) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
  }
  progress->is_drawn = false;
  return seconds;
}
