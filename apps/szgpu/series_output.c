/* series_output.c - the series that --append makes longer by a step for each input.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "series_output.h"

#include "dataset.h"
#include "file_stream.h"
#include "series_input.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int report_series(const struct job *job, szgpu_status status, int error_number) {
  const char *const name = job->options->series;
  if ((status == SZGPU_SINK_FAILED || status == SZGPU_SOURCE_FAILED) && error_number)
    return report_errno(&job->report, name, status == SZGPU_SINK_FAILED ? "written" : "read",
                        error_number);
  if (status == SZGPU_BAD_ARGUMENT)
    return report_failure(&job->report, CODE_IO, name,
                          "is not a file; name a file, or one that is to be made");
  return report_status(&job->report, name, status, NULL);
}

/* A step that is not finished gives way by itself, another only with -f. */
static int open_end(const struct job *job, szgpu_series *series) {
  const char *const name = job->options->series;
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_status const end = szgpu_series_end(series, &step);
  if (end == SZGPU_OK) return CODE_OK;
  struct step_words const words = words_for_step(szgpu_series_count(series), &step);
  if (end == SZGPU_UNFINISHED && !job->report.is_quiet) {
    fputs("szgpu: note: ", stderr);
    print_name(stderr, name);
    fputs(": ", stderr);
    print_name(stderr, words.text);
    fputs(" was not finished; this append takes its place\n", stderr);
  }
  if (job->options->is_forced) {
    szgpu_status const status = szgpu_series_cut(series);
    return status == SZGPU_OK ? CODE_OK : report_series(job, status, szgpu_series_errno(series));
  }
  if (end == SZGPU_UNFINISHED) return CODE_OK;
  return report_failure(&job->report, CODE_ARCHIVE, name,
                        "%s cannot be read (%s), so nothing is appended; replace the series with "
                        "an intact copy, or cut this step and all behind it off with -f",
                        words.text, szgpu_status_text(end));
}

int series_output_open(const struct job *job) {
  struct series_output *const output = job->series;
  if (output->series) return CODE_OK;
  int error_number;
  szgpu_status const status = szgpu_series_open_file(&output->series, job->options->series,
                                                     SZGPU_SERIES_APPEND, &error_number);
  if (status != SZGPU_OK) return report_series(job, status, error_number);
  int const code = open_end(job, output->series);
  if (code != CODE_OK) series_output_close(output);
  return code;
}

/* The input's name without its folder, as far as it fits; a dataset's with its path. */
static void name_step(const struct compression *work, char *name, size_t capacity) {
  const char *const input = work->job->report.file;
  size_t const file_chars = dataset_file_chars(input);
  size_t last = file_chars ? file_chars : strlen(input);
  while (last > 0 && input[last - 1] != '/') last--;
  copy_name(name, capacity, strcmp(input, "-") == 0 ? "" : input + last);
}

int series_output_append(const struct compression *work, int descriptor, uint64_t *step) {
  const struct job *const job = work->job;
  szgpu_series *const series = job->series->series;
  char name[SZGPU_MOST_STEP_NAME_BYTES + 1];
  name_step(work, name, sizeof name);
  szgpu_label const label = {name, job->options->has_time, job->options->time};
  struct input const made = {.descriptor = descriptor};
  struct file_source from = {.input = &made};
  szgpu_source const source = file_source(&from);
  *step = szgpu_series_count(series);
  szgpu_status const status =
      descriptor >= 0
          ? szgpu_series_append_source(series, &source, work->archive_bytes, &label)
          : szgpu_series_append_archive(series, work->archive.bytes, work->archive_bytes, &label);
  if (status == SZGPU_SOURCE_FAILED && from.error_number)
    return report_errno(&job->report, job->options->series, "written by way of a temporary file",
                        from.error_number);
  if (status == SZGPU_UNFINISHED)
    return report_failure(&job->report, CODE_ARCHIVE, job->options->series,
                          "whole steps follow step %" PRIu64
                          ", which was not finished, so nothing is appended; cut all of them off "
                          "with -f",
                          *step);
  return status == SZGPU_OK ? CODE_OK : report_series(job, status, szgpu_series_errno(series));
}

void series_output_close(struct series_output *output) {
  szgpu_series_close(output->series);
  output->series = NULL;
}
