/* compression.c - one field of the command line and its archive, in memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "compression.h"

#include "archive.h"
#include "fill_guess.h"
#include "values.h"

#include <inttypes.h>
#include <math.h>

struct compression compression_of(const struct job *job) {
  return (struct compression){
      .job = job, .name = shown_input(job->report.file), .input = INPUT_NONE};
}

int compression_open(struct compression *work) {
  const struct report *report = &work->job->report;
  return input_open_field(report, report->file, &work->input);
}

static int set_params(struct compression *work) {
  const struct dataset *dataset = &work->field.dataset;
  szgpu_params *const params = &work->params;
  *params = work->job->options->params;
  params->source = work->field.source;
  if (dataset->has_fill && !params->has_fill && params->mode != SZGPU_MODE_LOSSLESS) {
    params->has_fill = 1;
    params->fill = dataset->fill;
    work->fill_origin = dataset->fill_origin;
  }
  szgpu_dtype const dtype = work->field.shape.dtype;
  if (!params->has_fill || dtype_has_value(dtype, params->fill)) return CODE_OK;
  return report_failure(&work->job->report, CODE_USAGE, work->name,
                        "holds %s values, and --fill %g does not fit %s; correct it",
                        words_for_dtype(dtype), params->fill, words_for_dtype(dtype));
}

int compression_load(struct compression *work) {
  int const code =
      input_load(&work->job->report, &work->input, field_wanted_bytes, work->job->options);
  return code == CODE_OK ? compression_read(work) : code;
}

int compression_read(struct compression *work) {
  const struct report *report = &work->job->report;
  const struct options *options = work->job->options;
  int code = field_read(report, options, &work->input, &work->field);
  if (code == CODE_OK) code = set_params(work);
  if (code == CODE_OK)
    code = warn_of_field(report, options, &work->input, &work->field, &work->warnings);
  return code;
}

int compression_make(struct compression *work) {
  const struct job *job = work->job;
  const struct report *report = &job->report;
  szgpu_shape const *shape = &work->field.shape;
  size_t most_bytes = 0;
  szgpu_status status = szgpu_sizes(job->ctx, &work->params, shape, NULL, &most_bytes);
  if (status != SZGPU_OK) return report_status(report, work->name, status, job->ctx);
  report_note(report, job->ctx, job->is_note_told);
  memory_give_back(&work->archive);
  work->archive = memory_take(most_bytes);
  if (!work->archive.bytes)
    return report_out_of_memory(report, work->name, "the archive", most_bytes);

  progress_begin(job->progress, report, "compressing", work->name, work->field.byte_count);
  status = memory_limit_ctx(job->ctx);
  if (status == SZGPU_OK)
    status = szgpu_compress(job->ctx, &work->params, shape, work->field.values, work->archive.bytes,
                            most_bytes, &work->archive_bytes);
  work->seconds = progress_end(job->progress);
  if (status != SZGPU_OK) return report_status(report, work->name, status, job->ctx);
  report_note(report, job->ctx, job->is_note_told);
  memory_trim(&work->archive, work->archive_bytes);
  status = inspect_archive(work->archive.bytes, work->archive_bytes, &work->info);
  return status == SZGPU_OK ? CODE_OK : report_status(report, work->name, status, NULL);
}

int compression_warn(struct compression *work) {
  const struct report *const report = &work->job->report;
  const szgpu_shape *const shape = &work->field.shape;
  double const absolute_bound = work->params.mode == SZGPU_MODE_ABS ? work->params.bound : INFINITY;
  szgpu_info info = {.struct_bytes = sizeof info};
  if (work->params.mode == SZGPU_MODE_LOSSLESS || work->params.mode == SZGPU_MODE_PWREL ||
      !may_be_suspicious(work->field.values, shape, absolute_bound))
    return CODE_OK;
  szgpu_status const status =
      szgpu_foresee(work->job->ctx, &work->params, shape, work->field.values, &info);
  if (status != SZGPU_OK) return report_status(report, work->name, status, work->job->ctx);
  return warn_of_values(report, work->name, &work->field, &info, &work->warnings);
}

int compression_judge(const struct compression *work, szgpu_status status) {
  const struct report *report = &work->job->report;
  if (status_is_of_resources(status))
    return report_status(report, work->name, status, work->job->ctx);
  if (status != SZGPU_OK)
    return report_failure(report, CODE_BOUND, work->name,
                          "its archive cannot be restored (%s), so it was not written; please "
                          "report this",
                          szgpu_status_text(status));
  report_note(report, work->job->ctx, work->job->is_note_told);
  if (work->metrics.values_over_bound == 0) return CODE_OK;
  return report_failure(report, CODE_BOUND, work->name,
                        "%" PRIu64
                        " values exceed the bound, by up to %.3g times the bound, so its "
                        "archive was not written; please report this, unless something wrote "
                        "to the field meanwhile",
                        work->metrics.values_over_bound, work->metrics.max_error_over_bound);
}

int compression_verify(struct compression *work) {
  const struct job *job = work->job;
  struct memory restored = memory_take(work->field.byte_count);
  if (!restored.bytes)
    return report_out_of_memory(&job->report, work->name, "--verify", work->field.byte_count);
  progress_begin(job->progress, &job->report, "verifying", work->name, work->field.byte_count);
  szgpu_status status = memory_limit_ctx(job->ctx);
  if (status == SZGPU_OK)
    status = szgpu_decompress(job->ctx, work->archive.bytes, work->archive_bytes, restored.bytes,
                              (size_t)work->field.byte_count);
  work->verify_seconds = progress_end(job->progress);
  if (status == SZGPU_OK)
    work->metrics = metrics_take(&work->info, work->field.values, restored.bytes,
                                 shape_values(&work->field.shape));
  memory_give_back(&restored);
  return compression_judge(work, status);
}

void compression_close(struct compression *work) {
  memory_give_back(&work->archive);
  hdf5_rows_close(&work->rows);
  field_release(&work->field);
  input_close(&work->input);
}
