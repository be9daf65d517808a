/* compress.c - szgpu -z: reads a field and writes its archive.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "archive.h"
#include "compression.h"
#include "dataset.h"
#include "file_names.h"
#include "in_frames.h"
#include "job.h"
#include "options.h"
#include "output.h"
#include "series_output.h"
#include "target.h"
#include "text.h"
#include "values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writing {
  struct compression work;
  struct output output;
  int trial_count; /* with --target-ratio */
  uint64_t step;   /* with --append */
};

/* NULL if memory is out. A dataset's archive is named after the .npy file that -x makes of it. */
static char *default_output(const char *input) {
  if (strcmp(input, "-") == 0) return strdup("-");
  size_t const file_chars = dataset_file_chars(input);
  char *const npy_name = file_chars > 0 ? dataset_npy_name(input, file_chars) : strdup(input);
  if (!npy_name) return NULL;
  size_t const capacity = strlen(npy_name) + sizeof ".szg";
  char *output = malloc(capacity);
  if (output) snprintf(output, capacity, "%s.szg", npy_name);
  free(npy_name);
  return output;
}

static int refuse_by_name(const struct job *job, const char *name) {
  const char *const extension = has_extension(name, ".szg") ? ".szg" : ".szgs";
  if (has_extension(name, extension) && !job->options->is_forced)
    return report_failure(&job->report, CODE_USAGE, name,
                          "already ends in %s; use -x to restore it, or -f to compress it again",
                          extension);
  return CODE_OK;
}

static void print_line(const struct writing *writing) {
  const struct compression *work = &writing->work;
  FILE *out = work->job->report.out;
  const szgpu_info *info = &work->info;
  print_name(out, work->name);
  fputs(" -> ", out);
  print_name(out, shown_output(writing->output.name));
  if (work->job->options->series) fprintf(out, " step %" PRIu64, writing->step);
  fprintf(out, "  ratio %.2f  %s -> %s  %s  %.3g GB/s", archive_ratio(info),
          words_for_bytes(info_value_bytes(info)).text, words_for_bytes(info->archive_bytes).text,
          words_for_bound(info).text, gigabytes_per_second(info_value_bytes(info), work->seconds));
  if (work->job->options->is_verified) metrics_print(&work->metrics, out);
  fputc('\n', out);
  if (!work->job->report.is_verbose) return;
  fprintf(out, "  %s %s, shape from %s, ", words_for_dtype(info->shape.dtype),
          words_for_dims(&info->shape).text, work->field.shape_origin);
  if (writing->trial_count > 0) fprintf(out, "bound found in %d trials, ", writing->trial_count);
  fills_print(&work->fills, out);
  fprintf(out, "%s %g, range %s%g, step %g, frames %" PRIu64 ", %.3g s\n",
          words_for_mode(info->mode), info->bound, words_before_range(info), info->value_range,
          info->step, info->frame_count, work->seconds);
}

static void print_json(const struct writing *writing) {
  const struct compression *work = &writing->work;
  const szgpu_info *info = &work->info;
  struct json json = report_json(&work->job->report);
  json_text(&json, "output", writing->output.name);
  if (work->job->options->series) json_count(&json, "step_index", writing->step);
  json_info(&json, info);
  json_text(&json, "predictor", words_for_predictor(work->job->options->params.predictor));
  json_text(&json, "shape_from", work->field.shape_origin);
  fills_print_json(&work->fills, &json);
  packing_print_json(&work->field.dataset, info, &json);
  json_real(&json, "seconds", work->seconds);
  json_real(&json, "gb_per_s", gigabytes_per_second(info_value_bytes(info), work->seconds));
  if (work->job->options->is_verified) {
    json_real(&json, "verify_seconds", work->verify_seconds);
    metrics_print_json(&work->metrics, &json);
  }
  if (writing->trial_count > 0) {
    json_real(&json, "target_ratio", work->job->options->target_ratio);
    json_count(&json, "trials", (uint64_t)writing->trial_count);
  }
  warnings_print_json(&work->warnings, &json);
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
}

static int open_output(struct writing *writing) {
  const struct compression *const work = &writing->work;
  const struct job *const job = work->job;
  if (job->options->series) return series_output_open(job);
  struct taken_file const taken = {work->name, &work->input.status};
  return output_open(&job->report, writing->output.name, job->options->is_forced, &taken, 1,
                     &writing->output);
}

/* The archive, which is in memory, to where it belongs. */
static int write_archive(struct writing *writing) {
  const struct compression *const work = &writing->work;
  const struct report *const report = &work->job->report;
  if (work->job->options->series) return series_output_append(work, -1, &writing->step);
  int const code = output_write(report, &writing->output, work->archive.bytes, work->archive_bytes);
  return code == CODE_OK ? output_commit(report, &writing->output) : code;
}

/* The same frame by frame. A step is made in a temporary file first, so that a series never has
 * what cannot be finished or verified. */
static int make_in_frames(struct writing *writing) {
  struct compression *const work = &writing->work;
  if (!work->job->options->series) {
    int const code = in_frames_compress(work, &writing->output);
    return code == CODE_OK ? output_commit(&work->job->report, &writing->output) : code;
  }
  int descriptor = -1;
  int code = in_frames_compress_aside(work, writing->output.name, &descriptor);
  if (code == CODE_OK) code = series_output_append(work, descriptor, &writing->step);
  if (descriptor >= 0) close(descriptor);
  return code;
}

/* Of the first bytes of a lossless file: what they take with these params. 0: unknown. */
static size_t bytes_of_beginning(const struct compression *work, int zstd_level, uint64_t count) {
  szgpu_params params = work->params;
  szgpu_shape const shape = {.dtype = SZGPU_U8, .ndim = 1, .dims = {count}};
  size_t most_bytes = 0, archive_bytes = 0;
  params.zstd_level = zstd_level;
  if (szgpu_sizes(work->job->ctx, &params, &shape, NULL, &most_bytes) != SZGPU_OK) return 0;
  struct memory archive = memory_take(most_bytes);
  if (archive.bytes && szgpu_compress(work->job->ctx, &params, &shape, work->field.values,
                                      archive.bytes, most_bytes, &archive_bytes) != SZGPU_OK)
    archive_bytes = 0;
  memory_give_back(&archive);
  return archive_bytes;
}

/* A note, which is no warning: that zstd makes the file smaller, as it does with text and programs,
 * which are no fields. */
static void tell_zstd(const struct compression *work) {
  enum { MOST_TRIED_BYTES = 1 << 20, LEAST_TRIED_BYTES = 4096 };
  const struct report *const report = &work->job->report;
  uint64_t const count = work->field.byte_count;
  if (report->is_quiet || !work->field.values || work->params.mode != SZGPU_MODE_LOSSLESS ||
      work->params.zstd_level > 0 || work->field.shape.dtype != SZGPU_U8 ||
      count < LEAST_TRIED_BYTES)
    return;
  uint64_t const tried = count < MOST_TRIED_BYTES ? count : MOST_TRIED_BYTES;
  size_t const without = tried < count ? bytes_of_beginning(work, 0, tried) : work->archive_bytes;
  size_t const with = bytes_of_beginning(work, DEFAULT_ZSTD_LEVEL, tried);
  if (with == 0 || with >= without - without / 10) return;
  fputs("szgpu: note: ", stderr);
  print_name(stderr, work->name);
  fprintf(stderr,
          ": %s %.0f %% smaller with --zstd, as text and programs often are, which are no fields\n",
          tried < count ? "its first 2^20 bytes become" : "becomes",
          100 - 100 * (double)with / (double)without);
}

static int run(struct writing *writing) {
  struct compression *const work = &writing->work;
  const struct job *job = work->job;
  const struct report *report = &job->report;
  int code = refuse_by_name(job, report->file);
  if (code == CODE_OK) code = compression_open(work);
  if (code != CODE_OK) return code;
  code = open_output(writing);
  bool is_in_frames = options_frame_by_frame(job->options) != NULL;
  if (code == CODE_OK) code = is_in_frames ? in_frames_load(work) : compression_load(work);
  is_in_frames = is_in_frames && !work->field.is_empty;
  double const target_ratio = job->options->target_ratio;
  if (code == CODE_OK && target_ratio > 0)
    code = target_find(work, target_ratio, &writing->trial_count);
  if (code == CODE_OK) code = warn_of_bound(report, work->name, &work->params, &work->warnings);
  if (is_in_frames) {
    if (code == CODE_OK) code = make_in_frames(writing);
  } else {
    if (code == CODE_OK) code = compression_warn(work);
    if (code == CODE_OK && target_ratio == 0) code = compression_make(work);
    if (code == CODE_OK && job->options->is_verified) code = compression_verify(work);
    if (code == CODE_OK) code = write_archive(writing);
  }
  if (code != CODE_OK || report->is_quiet) return code;
  tell_packing(report, work->name, &work->field.dataset, &work->info);
  tell_zstd(work);
  if (report->is_json)
    print_json(writing);
  else
    print_line(writing);
  return CODE_OK;
}

int compress_file(const struct job *job) {
  const char *input_name = job->report.file;
  const char *const given_name = job->options->series ? job->options->series : job->options->output;
  char *output_name = given_name ? strdup(given_name) : default_output(input_name);
  if (!output_name)
    return report_out_of_memory(&job->report, input_name, "its name", strlen(input_name));
  struct writing writing = {.work = compression_of(job), .output = OUTPUT_NONE};
  writing.output.name = output_name;
  int const code = run(&writing);
  compression_close(&writing.work);
  output_close(&writing.output);
  free(output_name);
  return code;
}
