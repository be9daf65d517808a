/* compress.c - szgpu -z: reads a field and writes its archive.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "archive.h"
#include "dataset.h"
#include "field.h"
#include "file_names.h"
#include "input.h"
#include "job.h"
#include "memory.h"
#include "metrics.h"
#include "output.h"
#include "text.h"
#include "values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct compression {
  const struct job *job;
  const char *name; /* of the input, as messages show it */
  struct input input;
  struct output output;
  struct field field;
  struct memory archive;
  size_t archive_bytes;
  szgpu_info info;
  struct metrics metrics; /* with --verify */
  double seconds, verify_seconds;
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
  if (has_extension(name, ".szg") && !job->options->is_forced)
    return report_failure(&job->report, CODE_USAGE, name,
                          "already ends in .szg; use -x to restore it, or -f to compress it again");
  return CODE_OK;
}

static bool takes_fill_of_dataset(const struct compression *work) {
  const szgpu_params *params = &work->job->options->params;
  return work->field.dataset.has_fill && !params->has_fill && params->mode != SZGPU_MODE_LOSSLESS;
}

static int compress_values(struct compression *work) {
  const struct job *job = work->job;
  const struct report *report = &job->report;
  szgpu_shape const shape = work->field.shape;
  szgpu_params params = job->options->params;
  params.source = work->field.source;
  if (takes_fill_of_dataset(work)) {
    params.has_fill = 1;
    params.fill = work->field.dataset.fill;
  }
  bool const fill_fits =
      shape.dtype == SZGPU_F64 || !isfinite(params.fill) || isfinite((float)params.fill);
  if (params.has_fill && !fill_fits)
    return report_failure(report, CODE_USAGE, work->name,
                          "holds f32 values, and --fill %g does not fit f32; correct it",
                          params.fill);
  size_t most_bytes = 0;
  szgpu_status status = szgpu_sizes(job->ctx, &params, &shape, NULL, &most_bytes);
  if (status != SZGPU_OK) return report_status(report, work->name, status, job->ctx);
  report_note(report, job->ctx, job->is_note_told);
  work->archive = memory_take(most_bytes);
  if (!work->archive.bytes)
    return report_out_of_memory(report, work->name, "the archive", most_bytes);

  progress_begin(job->progress, "compressing", work->name);
  status = memory_limit_ctx(job->ctx);
  if (status == SZGPU_OK)
    status = szgpu_compress(job->ctx, &params, &shape, work->field.values, work->archive.bytes,
                            most_bytes, &work->archive_bytes);
  work->seconds = progress_end(job->progress);
  if (status != SZGPU_OK) return report_status(report, work->name, status, job->ctx);
  report_note(report, job->ctx, job->is_note_told);
  memory_trim(&work->archive, work->archive_bytes);
  status = inspect_archive(work->archive.bytes, work->archive_bytes, &work->info);
  return status == SZGPU_OK ? CODE_OK : report_status(report, work->name, status, NULL);
}

static int verify_archive(struct compression *work) {
  const struct job *job = work->job;
  const struct report *report = &job->report;
  struct memory restored = memory_take(work->field.byte_count);
  if (!restored.bytes)
    return report_out_of_memory(report, work->name, "--verify", work->field.byte_count);
  progress_begin(job->progress, "verifying", work->name);
  szgpu_status status = memory_limit_ctx(job->ctx);
  if (status == SZGPU_OK)
    status = szgpu_decompress(job->ctx, work->archive.bytes, work->archive_bytes, restored.bytes,
                              (size_t)work->field.byte_count);
  work->verify_seconds = progress_end(job->progress);
  int code = CODE_OK;
  if (status == SZGPU_OK) report_note(report, job->ctx, job->is_note_told);
  if (status_is_of_resources(status)) {
    code = report_status(report, work->name, status, job->ctx);
  } else if (status != SZGPU_OK) {
    code = report_failure(report, CODE_BOUND, work->name,
                          "its archive cannot be restored (%s), so it was not written; please "
                          "report this",
                          szgpu_status_text(status));
  } else {
    work->metrics = metrics_take(&work->info, work->field.values, restored.bytes,
                                 shape_values(&work->field.shape));
    if (work->metrics.values_over_bound > 0)
      code = report_failure(report, CODE_BOUND, work->name,
                            "%" PRIu64
                            " values exceed the bound, by up to %.3g times the bound, so its "
                            "archive was not written; please report this, unless something wrote "
                            "to the field meanwhile",
                            work->metrics.values_over_bound, work->metrics.max_error_over_bound);
  }
  memory_give_back(&restored);
  return code;
}

static void print_line(const struct compression *work) {
  FILE *out = work->job->report.out;
  const szgpu_info *info = &work->info;
  print_name(out, work->name);
  fputs(" -> ", out);
  print_name(out, shown_output(work->output.name));
  fprintf(out, "  ratio %.2f  %s -> %s  %s  %.3g GB/s", archive_ratio(info),
          words_for_bytes(info->field_bytes).text, words_for_bytes(info->archive_bytes).text,
          words_for_bound(info).text, gigabytes_per_second(info->field_bytes, work->seconds));
  if (work->job->options->is_verified) metrics_print(&work->metrics, out);
  fputc('\n', out);
  if (!work->job->report.is_verbose) return;
  fprintf(out, "  %s %s, shape from %s, ", words_for_dtype(info->shape.dtype),
          words_for_dims(&info->shape).text, work->field.shape_origin);
  if (takes_fill_of_dataset(work))
    fprintf(out, "fill %g from %s, ", work->field.dataset.fill, work->field.dataset.fill_origin);
  fprintf(out, "%s %g, range %g, step %g, frames %" PRIu64 ", %.3g s\n", words_for_mode(info->mode),
          info->bound, info->value_range, info->step, info->frame_count, work->seconds);
}

static void print_json(const struct compression *work) {
  const szgpu_info *info = &work->info;
  struct json json = json_begin(work->job->report.out);
  json_text(&json, "command", "compress");
  json_text(&json, "input", work->job->report.file);
  json_text(&json, "output", work->output.name);
  json_info(&json, info);
  json_text(&json, "predictor", words_for_predictor(work->job->options->params.predictor));
  json_text(&json, "shape_from", work->field.shape_origin);
  if (takes_fill_of_dataset(work)) json_text(&json, "fill_from", work->field.dataset.fill_origin);
  json_real(&json, "seconds", work->seconds);
  json_real(&json, "gb_per_s", gigabytes_per_second(info->field_bytes, work->seconds));
  if (work->job->options->is_verified) {
    json_real(&json, "verify_seconds", work->verify_seconds);
    metrics_print_json(&work->metrics, &json);
  }
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
}

static void print_result(const struct compression *work) {
  const struct report *report = &work->job->report;
  if (report->is_quiet) return;
  if (report->is_json)
    print_json(work);
  else
    print_line(work);
  bool const needs_dims = work->info.mode != SZGPU_MODE_LOSSLESS; /* or hardly gains by them */
  if (needs_dims && strcmp(work->field.shape_origin, "guess") == 0) {
    fputs("szgpu: ", stderr);
    print_name(stderr, work->name);
    fprintf(stderr, ": no dims given, so its %s values were taken as one row; give them with -d\n",
            words_for_dims(&work->info.shape).text);
  }
}

static int run(struct compression *work) {
  const struct job *job = work->job;
  const struct report *report = &job->report;
  int code = refuse_by_name(job, report->file);
  if (code == CODE_OK) code = input_open_field(report, report->file, &work->input);
  if (code != CODE_OK) return code;
  struct taken_file const taken = {work->name, &work->input.status};
  code = output_open(report, work->output.name, job->options->is_forced, &taken, 1, &work->output);
  if (code == CODE_OK) code = input_load(report, &work->input, field_wanted_bytes, job->options);
  if (code == CODE_OK) code = field_read(report, job->options, &work->input, &work->field);
  if (code == CODE_OK) code = compress_values(work);
  if (code == CODE_OK && job->options->is_verified) code = verify_archive(work);
  if (code == CODE_OK)
    code = output_write(report, &work->output, work->archive.bytes, work->archive_bytes);
  if (code == CODE_OK) code = output_commit(report, &work->output);
  if (code == CODE_OK) print_result(work);
  return code;
}

int compress_file(const struct job *job) {
  const char *input_name = job->report.file;
  char *output_name =
      job->options->output ? strdup(job->options->output) : default_output(input_name);
  if (!output_name)
    return report_out_of_memory(&job->report, input_name, "its name", strlen(input_name));
  struct compression work = {
      .job = job, .name = shown_input(input_name), .input = INPUT_NONE, .output = OUTPUT_NONE};
  work.output.name = output_name;
  int const code = run(&work);
  memory_give_back(&work.archive);
  field_release(&work.field);
  input_close(&work.input);
  output_close(&work.output);
  free(output_name);
  return code;
}
