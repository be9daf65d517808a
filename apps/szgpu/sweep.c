/* sweep.c - szgpu --sweep: what each of several bounds gives for a field; writes nothing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive.h"
#include "compression.h"
#include "job.h"
#include "text.h"

/* With one bound. */
struct outcome {
  szgpu_info info;
  struct metrics metrics;
  double seconds, restore_seconds;
};

struct sweep {
  struct compression work;
  int outcome_count;
  struct outcome outcomes[MOST_SWEEP_BOUNDS];
};

static int take_outcome(struct sweep *sweep, double bound) {
  struct compression *const work = &sweep->work;
  work->params.bound = bound;
  int code = compression_warn(work);
  if (code == CODE_OK) code = compression_make(work);
  if (code == CODE_OK) code = compression_verify(work);
  if (code == CODE_OK)
    sweep->outcomes[sweep->outcome_count++] =
        (struct outcome){work->info, work->metrics, work->seconds, work->verify_seconds};
  return code;
}

/* What the errors of a table are fractions of: under -m pwrel, of each value. */
static double bound_of(const szgpu_info *info) {
  return info->mode == SZGPU_MODE_PWREL ? info->bound : info->absolute_bound;
}

static void print_table(const struct sweep *sweep) {
  const struct compression *work = &sweep->work;
  FILE *out = work->job->report.out;
  const szgpu_info *first = &sweep->outcomes[0].info;
  print_name(out, work->name);
  fprintf(out, ": %s %s, %s, -m %s\n", words_for_dtype(first->shape.dtype),
          words_for_dims(&first->shape).text, words_for_bytes(first->field_bytes).text,
          words_for_mode(first->mode));
  fprintf(out, "  %10s %10s %9s %9s %11s %13s %13s\n", "-e", "bound", "ratio", "PSNR, dB",
          "error/bound", "-z, GB/s", "-x, GB/s");
  for (int i = 0; i < sweep->outcome_count; i++) {
    const struct outcome *outcome = &sweep->outcomes[i];
    uint64_t const field_bytes = outcome->info.field_bytes;
    fprintf(out, "  %10g %10.3g %9.2f %9.1f %11.3f %13.3g %13.3g\n", outcome->info.bound,
            bound_of(&outcome->info), archive_ratio(&outcome->info), outcome->metrics.psnr,
            outcome->metrics.max_error_over_bound,
            gigabytes_per_second(field_bytes, outcome->seconds),
            gigabytes_per_second(field_bytes, outcome->restore_seconds));
  }
}

static void print_json(const struct sweep *sweep) {
  const struct compression *work = &sweep->work;
  const szgpu_info *first = &sweep->outcomes[0].info;
  struct json json = report_json(&work->job->report);
  json_text(&json, "dtype", words_for_dtype(first->shape.dtype));
  json_counts(&json, "dims", first->shape.dims, first->shape.ndim);
  json_text(&json, "mode", words_for_mode(first->mode));
  json_text(&json, "predictor", words_for_predictor(work->params.predictor));
  json_text(&json, "shape_from", work->field.shape_origin);
  fills_print_json(&work->fills, &json);
  packing_print_json(&work->field.dataset, first, &json);
  json_count(&json, "field_bytes", first->field_bytes);
  json_open(&json, "bounds", '[');
  for (int i = 0; i < sweep->outcome_count; i++) {
    const struct outcome *outcome = &sweep->outcomes[i];
    const szgpu_info *info = &outcome->info;
    json_open(&json, NULL, '{');
    json_real(&json, "bound", info->bound);
    json_real(&json, "absolute_bound", info->absolute_bound);
    json_count(&json, "archive_bytes", info->archive_bytes);
    json_real(&json, "ratio", archive_ratio(info));
    metrics_print_json(&outcome->metrics, &json);
    json_real(&json, "seconds", outcome->seconds);
    json_real(&json, "gb_per_s", gigabytes_per_second(info->field_bytes, outcome->seconds));
    json_real(&json, "restore_seconds", outcome->restore_seconds);
    json_real(&json, "restore_gb_per_s",
              gigabytes_per_second(info->field_bytes, outcome->restore_seconds));
    json_close(&json, '}');
  }
  json_close(&json, ']');
  warnings_print_json(&work->warnings, &json);
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
}

int sweep_file(const struct job *job) {
  const struct options *options = job->options;
  struct sweep sweep = {.work = compression_of(job)};
  int code = compression_open(&sweep.work);
  if (code == CODE_OK) code = compression_load(&sweep.work);
  for (int i = 0; code == CODE_OK && i < options->sweep_count; i++)
    code = take_outcome(&sweep, options->sweep_bounds[i]);
  if (code == CODE_OK)
    tell_packing(&job->report, sweep.work.name, &sweep.work.field.dataset, &sweep.outcomes[0].info);
  if (code == CODE_OK && !job->report.is_quiet)
    job->report.is_json ? print_json(&sweep) : print_table(&sweep);
  compression_close(&sweep.work);
  return code;
}
