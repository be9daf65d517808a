/* restore_file.c - szgpu -x: restores an archive, or the steps of a series, each to a file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "archive.h"
#include "file_names.h"
#include "restore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL if memory is out, or if the archive does not end in .szg: *has_suffix is then false. */
static char *default_output(const char *archive, bool *has_suffix) {
  *has_suffix = true;
  if (strcmp(archive, "-") == 0) return strdup("-");
  size_t const kept_chars = strlen(archive) - (has_extension(archive, ".szg") ? 4 : 0);
  *has_suffix = has_extension(archive, ".szg") && archive[kept_chars - 1] != '/';
  return *has_suffix ? strndup(archive, kept_chars) : NULL;
}

static int out_of_name(const struct job *job) {
  return report_out_of_memory(&job->report, job->report.file, "its name", strlen(job->report.file));
}

static int refuse_name(const struct job *job, const char *extension) {
  return report_failure(&job->report, CODE_USAGE, job->report.file,
                        "does not end in %s; name the output with -o", extension);
}

/* ---- series ---- */

/* "run.szgs" -> "run-0007.f32", or .npy if that is where the step came from. NULL if memory is out.
 * Names in a series are a stranger's, so they do not name files. */
static char *output_of_step(const char *series, uint64_t index, const szgpu_info *info) {
  enum { LEAST_DIGITS = 4 };
  bool const is_npy = (info->source & SZGPU_SOURCE_NPY) != 0;
  const char *const extension = is_npy ? "npy" : words_for_dtype(info->shape.dtype);
  int const kept_chars = (int)(strlen(series) - strlen(".szgs"));
  size_t const capacity = strlen(series) + 32;
  char *const name = malloc(capacity);
  if (name)
    snprintf(name, capacity, "%.*s-%0*" PRIu64 ".%s", kept_chars, series, LEAST_DIGITS, index,
             extension);
  return name;
}

static int restore_step(const struct job *job, struct step_view *view) {
  szgpu_info info;
  const char *const given_name = job->options->output;
  if (given_name) return restore_archive(job, &view->archive, view, given_name);
  int const code = inspect_whole_archive(&job->report, view->name, view->archive.bytes,
                                         view->archive.byte_count, &info);
  if (code != CODE_OK) return code;
  char *const name = output_of_step(job->report.file, view->index, &info);
  if (!name) return out_of_name(job);
  int const restored = restore_archive(job, &view->archive, view, name);
  free(name);
  return restored;
}

/* Steps that are damaged do not keep the others from being restored. */
static int restore_series(struct series_input *series) {
  const struct job *const job = series->job;
  const struct options *const options = job->options;
  const char *const single = options->original ? "--compare" : options->output ? "-o" : NULL;
  if (single && series->end - series->first != 1)
    return report_failure(&job->report, CODE_USAGE, series->name,
                          "has %" PRIu64
                          " steps to restore, and %s names one output; choose a step with --step N",
                          series->end - series->first, single);
  if (!options->output && !has_extension(job->report.file, ".szgs"))
    return refuse_name(job, ".szgs");
  int worst = CODE_OK;
  for (uint64_t index = series->first; index < series->end; index++) {
    struct step_view view;
    int code = series_input_view(series, index, &view);
    if (code == CODE_OK) code = restore_step(job, &view);
    if (code > worst) worst = code;
  }
  int const end = series_input_end(series);
  return end > worst ? end : worst;
}

/* ---- archives ---- */

/* Whether a file begins like none; of a pipe, that cannot be told before it is read. */
static bool is_no_archive(const struct input *input) {
  unsigned char head[16];
  szgpu_info info;
  if (!input_is_file(input)) return false;
  ssize_t const got = pread(input->descriptor, head, sizeof head, 0);
  return got > 0 && inspect_archive(head, (size_t)got, &info) == SZGPU_NOT_AN_ARCHIVE;
}

static int restore_one(const struct job *job, struct input *archive) {
  bool has_suffix = true;
  char *const name = job->options->output ? strdup(job->options->output)
                                          : default_output(job->report.file, &has_suffix);
  if (!has_suffix && is_no_archive(archive))
    return report_failure(&job->report, CODE_USAGE, job->report.file,
                          "is not an szgpu archive; to compress it, use szgpu -z -e 1e-4 FILE");
  if (!has_suffix) return refuse_name(job, ".szg");
  if (!name) return out_of_name(job);
  int const code = restore_archive(job, archive, NULL, name);
  free(name);
  return code;
}

int restore_file(const struct job *job) { return work_on_input(job, restore_one, restore_series); }
