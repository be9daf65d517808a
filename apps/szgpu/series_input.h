/* series_input.h - the steps of a series that -x, -l and --test work on.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls return an exit code, and print a sentence if it is not CODE_OK.
 */
#ifndef SZGPU_APP_SERIES_INPUT_H
#define SZGPU_APP_SERIES_INPUT_H

#include "file_stream.h"
#include "input.h"
#include "job.h"
#include "szgpu_series.h"

struct series_input {
  const struct job *job;
  const char *name;
  struct input *input;
  struct file_source source;  /* of the series' records */
  szgpu_series *series;       /* NULL: the input is no series */
  uint64_t count, first, end; /* steps in all; those that are asked for */
};

/* An archive within a series, as if it were in a file of its own. */
struct step_view {
  uint64_t index;
  szgpu_step step;
  struct input archive; /* not to be closed: its bytes are the series' */
  char name[1024];      /* "run.szgs: step 7", for messages */
};

/* SZGPU_OK: bytes begin as a series does, so far as they are there. */
szgpu_status begins_a_series(const void *bytes, size_t byte_count);

/* Opens the input of job->report.file, and calls on_series if it is a series, which must be a file,
 * else on_archive, which still has to load it. If it is no series, --step is refused. */
int work_on_input(const struct job *job,
                  int (*on_archive)(const struct job *job, struct input *archive),
                  int (*on_series)(struct series_input *series));
/* Gives step `index`, with its archive in memory. */
int series_input_view(struct series_input *series, uint64_t index, struct step_view *view);
/* Tells what is wrong behind the last step, unless --step asked for others. */
int series_input_end(const struct series_input *series);

/* The members of a JSON object about a step. */
void json_step(struct json *json, const struct step_view *view);

struct step_words {
  char text[320];
};
/* "step 7 (rho.f32)" */
struct step_words words_for_step(uint64_t index, const szgpu_step *step);

#endif
