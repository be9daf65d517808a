/* list_file.c - szgpu -l: lists an archive, or the steps of a series.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive.h"
#include "dataset.h"
#include "hdf5_repack.h"
#include "list.h"
#include "text.h"

#include <inttypes.h>

/* A file of HDF5 may have archives inside. */
static int list_one(const struct job *job, struct input *archive) {
  int const code = input_load(&job->report, archive, archive_wanted_bytes, NULL);
  if (code != CODE_OK) return code;
  bool const is_hdf5 = archive->name == job->report.file && input_is_file(archive) &&
                       container_of_bytes(archive->bytes, archive->byte_count) == CONTAINER_HDF5;
  return is_hdf5 ? hdf5_list(job) : list_archive(job, archive, NULL);
}

/* ---- series: a line for each step, or with --step all of it ---- */

/* A step's header, which is printed only if all of it can be read. */
static int inspect_step(struct series_input *series, uint64_t index, struct step_view *view,
                        szgpu_info *info) {
  int const code = series_input_view(series, index, view);
  if (code != CODE_OK) return code;
  return inspect_whole_archive(&series->job->report, view->name, view->archive.bytes,
                               view->archive.byte_count, info);
}

static int list_steps(struct series_input *series) {
  const struct job *const job = series->job;
  int worst = CODE_OK;
  for (uint64_t index = series->first; index < series->end; index++) {
    struct step_view view;
    int code = series_input_view(series, index, &view);
    if (code == CODE_OK) code = list_archive(job, &view.archive, &view);
    if (code > worst) worst = code;
  }
  return worst;
}

static void print_step(const struct step_view *view, const szgpu_info *info, FILE *out) {
  bool const is_empty = info_is_of_empty_file(info);
  fprintf(out, "  step %" PRIu64 ": %s %s  ratio %.2f  %s -> %s  %s", view->index,
          words_for_dtype(info->shape.dtype), is_empty ? "0" : words_for_dims(&info->shape).text,
          archive_ratio(info), words_for_bytes(info_value_bytes(info)).text,
          words_for_bytes(info->archive_bytes).text, words_for_bound(info).text);
  if (view->step.has_time) fprintf(out, "  time %.9g", view->step.time);
  if (view->step.name[0]) {
    fputs("  ", out);
    print_name(out, view->step.name);
  }
  fputc('\n', out);
}

static int print_steps(struct series_input *series) {
  FILE *const out = series->job->report.out;
  int worst = CODE_OK;
  print_name(out, series->name);
  fprintf(out, "\n  series   %" PRIu64 " step%s\n", series->count, series->count == 1 ? "" : "s");
  for (uint64_t index = 0; index < series->count; index++) {
    struct step_view view;
    szgpu_info info;
    int const code = inspect_step(series, index, &view, &info);
    if (code == CODE_OK) print_step(&view, &info, out);
    if (code > worst) worst = code;
  }
  return worst;
}

/* All headers are read before the object begins, so that there is one or an error. */
static int print_json(struct series_input *series) {
  struct step_view view;
  szgpu_info info;
  for (uint64_t index = 0; index < series->count; index++) {
    int const code = inspect_step(series, index, &view, &info);
    if (code != CODE_OK) return code;
  }
  struct json json = report_json(&series->job->report);
  json_count(&json, "step_count", series->count);
  json_open(&json, "steps", '[');
  for (uint64_t index = 0; index < series->count; index++) {
    if (inspect_step(series, index, &view, &info) != CODE_OK) break;
    json_open(&json, NULL, '{');
    json_step(&json, &view);
    json_info(&json, &info);
    json_close(&json, '}');
  }
  json_close(&json, ']');
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_status const end = szgpu_series_end(series->series, &step);
  json_bool(&json, "is_finished", end == SZGPU_OK);
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
  return CODE_OK;
}

/* An append that is at work is no fault of a series, and is only mentioned. */
static int list_series(struct series_input *series) {
  const struct report *const report = &series->job->report;
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  if (series->job->options->has_step) return list_steps(series);
  szgpu_status const end = szgpu_series_end(series->series, &step);
  int code = CODE_OK;
  if (end != SZGPU_OK && end != SZGPU_UNFINISHED) code = series_input_end(series);
  if (report->is_quiet || (report->is_json && code != CODE_OK)) return code;
  int const listed = report->is_json ? print_json(series) : print_steps(series);
  if (!report->is_json && end == SZGPU_UNFINISHED) {
    fputs("  ", report->out);
    print_name(report->out, words_for_step(series->count, &step).text);
    fputs(" is unfinished: an append is running or was interrupted\n", report->out);
  }
  return listed > code ? listed : code;
}

int list_file(const struct job *job) { return work_on_input(job, list_one, list_series); }
