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
                          "is not a file; name an existing series or a new file");
  return report_status(&job->report, name, status, NULL);
}

/* A step that is not finished gives way by itself, another only with -f. */
static int check_end(const struct job *job, szgpu_series *series) {
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_status const end = szgpu_series_end(series, &step);
  if (end == SZGPU_OK || end == SZGPU_UNFINISHED || job->options->is_forced) return CODE_OK;
  struct step_words const words = words_for_step(szgpu_series_count(series), &step);
  return report_failure(&job->report, CODE_ARCHIVE, job->options->series,
                        "cannot be read from %s on (%s), so nothing was appended; replace the "
                        "series with an intact copy, or discard that part with -f",
                        words.text, szgpu_status_text(end));
}

static void tell_of_unfinished(const struct job *job, const struct step_words *unfinished) {
  if (job->report.is_quiet) return;
  fputs("szgpu: note: ", stderr);
  print_name(stderr, job->options->series);
  fputs(": ", stderr);
  print_name(stderr, unfinished->text);
  fputs(" was unfinished; this append replaced it\n", stderr);
}

int series_output_open(const struct job *job) {
  struct series_output *const output = job->series;
  if (output->series) return CODE_OK;
  int error_number;
  szgpu_status const status = szgpu_series_open_file(&output->series, job->options->series,
                                                     SZGPU_SERIES_APPEND, &error_number);
  if (status != SZGPU_OK) return report_series(job, status, error_number);
  int const code = check_end(job, output->series);
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
  szgpu_step last = SZGPU_STEP_DEFAULTS;
  szgpu_status const end = szgpu_series_end(series, &last);
  struct step_words const words = words_for_step(*step, &last);
  szgpu_status status =
      end != SZGPU_OK && job->options->is_forced ? szgpu_series_cut(series) : SZGPU_OK;
  if (status != SZGPU_OK) return report_series(job, status, szgpu_series_errno(series));
  status =
      descriptor >= 0
          ? szgpu_series_append_source(series, &source, work->archive_bytes, &label)
          : szgpu_series_append_archive(series, work->archive.bytes, work->archive_bytes, &label);
  if (status == SZGPU_SOURCE_FAILED && from.error_number)
    return report_errno_aside(&job->report, job->options->series,
                              "written through a temporary file", from.error_number);
  if (status == SZGPU_UNFINISHED)
    return report_failure(&job->report, CODE_ARCHIVE, job->options->series,
                          "finished steps follow the unfinished step %" PRIu64
                          ", so nothing was appended; discard all of them with -f",
                          *step);
  if (status != SZGPU_OK) return report_series(job, status, szgpu_series_errno(series));
  job->series->appended_steps++;
  if (end == SZGPU_UNFINISHED) tell_of_unfinished(job, &words);
  return CODE_OK;
}

void series_output_close(struct series_output *output) {
  szgpu_series_close(output->series);
  output->series = NULL;
}
