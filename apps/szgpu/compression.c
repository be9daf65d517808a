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

int compression_keep_fills(struct compression *work) {
  const struct report *const report = &work->job->report;
  szgpu_params *const params = &work->params;
  struct fills *const fills = &work->fills;
  if (fills->count > MOST_FILLS) fills_keep_found(fills);
  if (fills->count > MOST_FILLS)
    return report_failure(report, CODE_USAGE, work->name,
                          "has %d kinds of missing values, and 4 can be kept; compress it "
                          "losslessly, or write some of them as another",
                          fills->count);
  if (fills->has_valid && params->mode == SZGPU_MODE_PWREL)
    return report_failure(report, CODE_USAGE, work->name,
                          "has valid values from %g to %g by its attributes, which -m pwrel cannot "
                          "keep to; use -m rel or -m abs",
                          fills->valid_least, fills->valid_greatest);
  if ((fills->has_valid || fills->count > 1) && params->greatest > 0)
    return report_failure(
        report, CODE_USAGE, work->name, "has %s, which --greatest does not look for; leave it out",
        fills->has_valid ? "valid values by its attributes" : "several missing values");
  params->has_fill = fills->count > 0;
  params->fill = fills->count > 0 ? fills->values[0] : 0;
  params->more_fill_count = fills->count > 1 ? (uint32_t)fills->count - 1 : 0;
  for (int i = 1; i < fills->count; i++) params->more_fills[i - 1] = fills->values[i];
  params->has_valid = fills->has_valid;
  params->valid_least = fills->has_valid ? fills->valid_least : 0;
  params->valid_greatest = fills->has_valid ? fills->valid_greatest : 0;
  return CODE_OK;
}

/* What options and attributes name. */
static int find_fills(struct compression *work) {
  const struct report *const report = &work->job->report;
  const struct dataset *const dataset = &work->field.dataset;
  szgpu_dtype const dtype = work->field.shape.dtype;
  struct fills *const fills = &work->fills;
  *fills = work->job->options->fills;
  for (int i = 0; i < fills->count; i++)
    if (!dtype_has_value(dtype, fills->values[i]))
      return report_failure(report, CODE_USAGE, work->name,
                            "holds %s values, and --fill %g does not fit %s; correct it",
                            words_for_dtype(dtype), fills->values[i], words_for_dtype(dtype));
  if (dataset->fault) return report_failure(report, CODE_USAGE, work->name, "%s", dataset->fault);
  for (int i = 0; i < dataset->fills.count; i++)
    fills_add(fills, dataset->fills.values[i], dataset->fills.origins[i]);
  if (dataset->fills.has_valid)
    fills_limit(fills, dataset->fills.valid_least, dataset->fills.valid_greatest);
  fills_fit(fills, dtype);
  if (fills->count <= MOST_FILLS) return CODE_OK;
  if (work->field.values)
    fills_look(fills, dtype, work->field.values, shape_values(&work->field.shape));
  return CODE_OK;
}

static int set_params(struct compression *work) {
  szgpu_params *const params = &work->params;
  *params = work->job->options->params;
  if (work->field.is_empty) { /* every decoder of the CPU reads the linear layout */
    *params = (szgpu_params)SZGPU_PARAMS_DEFAULTS;
    params->mode = SZGPU_MODE_LOSSLESS;
    params->layout = SZGPU_LAYOUT_LINEAR;
  }
  params->source = work->field.source;
  if (params->mode == SZGPU_MODE_LOSSLESS) return CODE_OK;
  /* Who wrote a dataset may have said nothing about what is missing. */
  if (work->input.dataset && params->greatest == 0) params->keep |= SZGPU_KEEP_MISSING;
  int const code = find_fills(work);
  bool const are_looked_at = work->field.values || work->fills.count <= MOST_FILLS;
  return code == CODE_OK && are_looked_at ? compression_keep_fills(work) : code;
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
