/* series_input.c - the steps of a series that -x, -l and --test work on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "series_input.h"

#include <inttypes.h>
#include <string.h>

struct step_words words_for_step(uint64_t index, const szgpu_step *step) {
  struct step_words words;
  int const chars = snprintf(words.text, sizeof words.text, "step %" PRIu64, index);
  if (step->name[0])
    snprintf(words.text + chars, sizeof words.text - (size_t)chars, " (%s)", step->name);
  return words;
}

struct bytes {
  const void *at;
  size_t count;
};

static int read_bytes(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  const struct bytes *const from = user;
  uint64_t const left = offset < from->count ? from->count - offset : 0;
  *got = byte_count < left ? byte_count : (size_t)left;
  if (*got) memcpy(bytes, (const char *)from->at + offset, *got);
  return 0;
}

enum {
  BYTES_THAT_TELL = 4, /* fewer may begin an archive as well */
  HEAD_BYTES = 9       /* 8 zeros may be a series that was begun, more are none */
};

szgpu_status begins_a_series(const void *bytes, size_t byte_count) {
  struct bytes from = {bytes, byte_count < HEAD_BYTES ? byte_count : HEAD_BYTES};
  szgpu_store const store = {.read = read_bytes, .user = &from};
  szgpu_series *series;
  if (byte_count < BYTES_THAT_TELL) return SZGPU_NOT_A_SERIES;
  szgpu_status const status = szgpu_series_open(&series, &store, from.count);
  szgpu_series_close(series);
  return status;
}

static int read_file(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  szgpu_source const source = file_source(user);
  return source.read(source.user, offset, bytes, byte_count, got);
}

/* "step 7 (rho.f32) was not finished: ..." */
static int report_end(const struct series_input *series) {
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_status const end = szgpu_series_end(series->series, &step);
  struct step_words const words = words_for_step(series->count, &step);
  if (end == SZGPU_UNFINISHED)
    return report_failure(
        &series->job->report, CODE_ARCHIVE, series->name,
        "%s is unfinished: an append is running or was interrupted; the next --append replaces it",
        words.text);
  return report_failure(&series->job->report, CODE_ARCHIVE, series->name,
                        "cannot be read from %s on: %s; replace the series with an "
                        "intact copy",
                        words.text, szgpu_status_text(end));
}

static bool is_whole(const struct series_input *series) {
  return szgpu_series_end(series->series, NULL) == SZGPU_OK;
}

static int choose_steps(struct series_input *series) {
  const struct options *const options = series->job->options;
  series->count = szgpu_series_count(series->series);
  series->first = 0;
  series->end = series->count;
  if (!options->has_step) return CODE_OK;
  const char *const fault = place_step(&options->step, series->count, &series->first, &series->end);
  if (!fault) return CODE_OK;
  /* Whoever asks for the step that is not finished is told so. */
  bool const is_next = options->step.has_first && options->step.first == (int64_t)series->count;
  if (is_next && !is_whole(series)) return report_end(series);
  return report_failure(&series->job->report, CODE_USAGE, series->name, "%s", fault);
}

static int report_read(const struct series_input *series, szgpu_status status) {
  const struct report *const report = &series->job->report;
  if (status == SZGPU_SOURCE_FAILED && series->source.error_number)
    return report_errno(report, series->name, "read", series->source.error_number);
  return report_status(report, series->name, status, NULL);
}

static int open_series(const struct job *job, struct input *input, struct series_input *series) {
  unsigned char head[HEAD_BYTES];
  size_t got = 0;
  *series = (struct series_input){.job = job, .name = shown_input(job->report.file)};
  series->input = input;
  series->source.input = input;
  if (input_is_file(input) && read_file(&series->source, 0, head, sizeof head, &got))
    return report_read(series, SZGPU_SOURCE_FAILED);
  szgpu_status status = begins_a_series(head, got);
  if (status == SZGPU_OUT_OF_MEMORY) return report_read(series, status);
  if (status != SZGPU_OK)
    return job->options->has_step ? report_failure(&job->report, CODE_USAGE, series->name,
                                                   "is not a series file; leave out --step")
                                  : CODE_OK;
  szgpu_store const store = {.read = read_file, .user = &series->source};
  status = szgpu_series_open(&series->series, &store, (uint64_t)input->status.st_size);
  return status == SZGPU_OK ? choose_steps(series) : report_read(series, status);
}

static uint64_t wanted_all(const struct input *input, const void *unused) {
  (void)input, (void)unused;
  return UINT64_MAX;
}

int series_input_view(struct series_input *series, uint64_t index, struct step_view *view) {
  const struct report *const report = &series->job->report;
  struct input *const input = series->input;
  *view = (struct step_view){.index = index, .step = SZGPU_STEP_DEFAULTS, .archive = *input};
  snprintf(view->name, sizeof view->name, "%s: step %" PRIu64, series->name, index);
  szgpu_status status = szgpu_series_step(series->series, index, &view->step);
  if (status != SZGPU_OK) return report_read(series, status);
  if (!input->bytes) {
    int const code = input_load(report, input, wanted_all, NULL);
    if (code != CODE_OK) return code;
  }
  bool const is_there = view->step.archive_offset + view->step.archive_bytes <= input->byte_count;
  if (!is_there) return report_status(report, view->name, SZGPU_TRUNCATED, NULL);
  view->archive.bytes = input->bytes + view->step.archive_offset;
  view->archive.byte_count = (size_t)view->step.archive_bytes;
  return CODE_OK;
}

int series_input_end(const struct series_input *series) {
  return series->job->options->has_step || is_whole(series) ? CODE_OK : report_end(series);
}

void json_step(struct json *json, const struct step_view *view) {
  json_count(json, "step_index", view->index);
  json_text(json, "step_name", view->step.name);
  if (view->step.has_time) json_real(json, "time", view->step.time);
  json_count(json, "archive_offset", view->step.archive_offset);
}

int work_on_input(const struct job *job,
                  int (*on_archive)(const struct job *job, struct input *archive),
                  int (*on_series)(struct series_input *series)) {
  struct input input = INPUT_NONE;
  struct series_input series = {.series = NULL};
  int code = input_open(&job->report, job->report.file, &input);
  if (code == CODE_OK) code = open_series(job, &input, &series);
  if (code == CODE_OK) code = series.series ? on_series(&series) : on_archive(job, &input);
  szgpu_series_close(series.series);
  input_close(&input);
  return code;
}
