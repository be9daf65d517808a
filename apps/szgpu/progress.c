/* progress.c - how far long work is: a line on the terminal that is rewritten, or lines of JSON.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "progress.h"

#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { BAR_CHARS = 16, NAME_CHARS = 16 }; /* so short that the line does not wrap */

/* Seconds: what is done before has no bar, and lines follow each other no faster. */
static double const BAR_DELAY = 1.0, BAR_PERIOD = 0.1, JSON_PERIOD = 0.5;

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How fast the work goes and when it will be done; NaN if that is not known yet. What comes before
 * the library's first word, such as a pass for the range of the values, says nothing of that. */
struct pace {
  double bytes_per_second, seconds_left;
};

static struct pace find_pace(const struct progress *progress, double now, double done) {
  double const seconds = now - progress->first_told, gain = done - progress->first_done;
  if (progress->first_told == 0 || !(seconds > 0 && gain > 0)) return (struct pace){NAN, NAN};
  return (struct pace){gain * (double)progress->byte_count / seconds, (1 - done) / gain * seconds};
}

static void print_json(struct progress *progress, double now, double done) {
  struct pace const pace = find_pace(progress, now, done);
  struct json json = report_json(progress->report);
  json_text(&json, "event", "progress");
  json_text(&json, "work", progress->verb);
  json_count(&json, "done_bytes", (uint64_t)(done * (double)progress->byte_count));
  json_count(&json, "total_bytes", progress->byte_count);
  json_real(&json, "seconds", now - progress->started);
  json_real(&json, "gb_per_s", pace.bytes_per_second / 1e9);
  json_real(&json, "seconds_left", done < 1 ? pace.seconds_left : 0);
  json_end(&json);
}

static void print_time(double seconds) {
  uint64_t const whole = (uint64_t)ceil(seconds);
  if (whole >= 3600)
    fprintf(stderr, "%" PRIu64 ":%02d:%02d left  ", whole / 3600, (int)(whole / 60 % 60),
            (int)(whole % 60));
  else
    fprintf(stderr, "%d:%02d left  ", (int)(whole / 60), (int)(whole % 60));
}

static void draw_bar(const struct progress *progress, double now, double done) {
  struct pace const pace = find_pace(progress, now, done);
  char bar[BAR_CHARS + 1], name[NAME_CHARS + 1];
  snprintf(name, sizeof name, "%s", progress->name);
  memset(bar, ' ', BAR_CHARS);
  memset(bar, '=', (size_t)(done * BAR_CHARS));
  bar[BAR_CHARS] = '\0';
  fprintf(stderr, "\r%s [%s] %3d %%  ", progress->verb, bar, (int)(done * 100));
  if (isfinite(pace.bytes_per_second)) {
    fprintf(stderr, "%s/s  ", words_for_bytes((uint64_t)pace.bytes_per_second).text);
    print_time(pace.seconds_left);
  }
  print_name(stderr, name);
  fputs("\033[K", stderr); /* erases what is left of a longer line */
  fflush(stderr);
}

void progress_begin(struct progress *progress, const struct report *report, const char *verb,
                    const char *name, uint64_t byte_count) {
  const char *const slash = strrchr(name, '/');
  *progress = (struct progress){.is_wanted = progress->is_wanted,
                                .report = report,
                                .verb = verb,
                                .name = slash ? slash + 1 : name,
                                .byte_count = byte_count,
                                .part_share = 1,
                                .started = seconds_now()};
  if (!progress->is_wanted || !report->is_json) return;
  print_json(progress, progress->started, 0);
  progress->printed = progress->started;
}

void progress_part(struct progress *progress, double start, double share) {
  progress->part_start = start;
  progress->part_share = share;
}

int progress_tick(void *user, uint64_t done_values, uint64_t total_values) {
  struct progress *const progress = user;
  if (!progress->is_wanted || total_values == 0) return 0;
  double const now = seconds_now();
  double const of_part =
      done_values < total_values ? (double)done_values / (double)total_values : 1;
  double const sum = progress->part_start + of_part * progress->part_share;
  double const done = sum < 1 ? sum : 1;
  bool const is_json = progress->report->is_json, is_last = is_json && done == 1;
  bool const is_recent = now - progress->printed < (is_json ? JSON_PERIOD : BAR_PERIOD);
  bool const is_early = !is_json && now - progress->started < BAR_DELAY;
  if (progress->is_complete) return 0;
  if (is_last || !(is_early || is_recent)) {
    if (is_json)
      print_json(progress, now, done);
    else
      draw_bar(progress, now, done);
    progress->printed = now;
    progress->is_complete = is_last;
  }
  if (progress->first_told == 0) {
    progress->first_told = now;
    progress->first_done = done;
  }
  return 0;
}

double progress_end(struct progress *progress) {
  double const seconds = seconds_now() - progress->started;
  if (progress->printed > 0 && !progress->report->is_json) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
  }
  progress->printed = 0;
  return seconds;
}
