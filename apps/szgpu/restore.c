/* restore.c - reads an archive and writes its field or a part of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "restore.h"

#include "archive.h"
#include "ctxs.h"
#include "field.h"
#include "file_names.h"
#include "in_frames.h"
#include "memory.h"
#include "metrics.h"
#include "npy.h"
#include "output.h"
#include "text.h"
#include "values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct restoration {
  const struct job *job;
  const char *name;             /* of the archive, as messages show it */
  const struct step_view *step; /* NULL: the archive is none of a series */
  struct input *archive, original;
  struct output output;
  struct field original_field;
  struct memory field;
  szgpu_info info;
  szgpu_shape shape;       /* of what is restored: the field, a slab of it, a preview or a region */
  szgpu_shape level_shape; /* with --level: of the whole preview */
  szgpu_region region;     /* with --region */
  uint64_t first_row, field_bytes;
  struct metrics metrics; /* with --compare */
  double seconds;
};

/* The name that the user gave decides; without one, what was compressed does. An archive of bytes
 * restores the file as it was, whatever its name. */
static bool output_is_npy(const struct restoration *work) {
  const char *chosen = work->job->options->output;
  if (info_is_of_any_file(&work->info)) return false;
  if (chosen && strcmp(chosen, "-") != 0) return has_extension(chosen, ".npy");
  return (work->info.source & SZGPU_SOURCE_NPY) != 0 || has_extension(work->output.name, ".npy");
}

static int choose_values(struct restoration *work) {
  const struct options *options = work->job->options;
  const char *const part = options->has_slab     ? "--slab"
                           : options->has_region ? "--region"
                           : options->has_level  ? "--level"
                                                 : NULL;
  if (part && info_is_of_empty_file(&work->info))
    return report_failure(&work->job->report, CODE_USAGE, work->name,
                          "holds an empty file, which has no parts; leave %s out", part);
  work->shape = work->info.shape;
  if (options->has_slab) {
    uint64_t const row_count = work->info.shape.dims[0];
    uint64_t const end_row =
        options->slab_end_row == UINT64_MAX ? row_count : options->slab_end_row;
    if (end_row > row_count || options->slab_first_row >= end_row)
      return report_failure(&work->job->report, CODE_USAGE, work->name,
                            "has %" PRIu64
                            " rows, but --slab asks for others; give a range within 0:%" PRIu64,
                            row_count, row_count);
    work->first_row = options->slab_first_row;
    work->shape.dims[0] = end_row - options->slab_first_row;
  }
  szgpu_status status = SZGPU_OK;
  if (options->has_level) status = szgpu_level_shape(&work->info, options->level, &work->shape);
  work->level_shape = work->shape;
  if (status == SZGPU_OK && options->has_region) {
    struct slices_fault fault;
    if (!place_slices(&options->region, &work->level_shape, &work->region, &fault))
      return report_failure(&work->job->report, CODE_USAGE, work->name, "%s%s",
                            options->level > 0 ? "as a preview " : "", fault.sentence);
    memcpy(work->shape.dims, work->region.count, sizeof work->shape.dims);
  }
  if (status == SZGPU_OK && !shape_bytes(&work->shape, &work->field_bytes)) status = SZGPU_BAD_DATA;
  return status == SZGPU_OK ? CODE_OK : report_status(&work->job->report, work->name, status, NULL);
}

static int open_files(struct restoration *work) {
  const struct options *options = work->job->options;
  const struct report *report = &work->job->report;
  struct taken_file taken[2];
  size_t taken_count = 0;
  taken[taken_count++] = (struct taken_file){work->name, &work->archive->status};
  if (options->original) {
    int const code = input_open_field(report, options->original, &work->original);
    if (code != CODE_OK) return code;
    taken[taken_count++] =
        (struct taken_file){shown_input(options->original), &work->original.status};
  }
  return output_open(report, work->output.name, options->is_forced, taken, taken_count,
                     &work->output);
}

static int load_archive(struct restoration *work) {
  const struct report *report = &work->job->report;
  int const code =
      work->step ? CODE_OK : input_load(report, work->archive, archive_wanted_bytes, NULL);
  if (code != CODE_OK) return code;
  return inspect_whole_archive(report, work->name, work->archive->bytes, work->archive->byte_count,
                               &work->info);
}

/* Frame by frame, the rest is read as it is restored. */
static int load_head(struct restoration *work) {
  const struct report *report = &work->job->report;
  if (work->step) return load_archive(work); /* mapped: no more is read than the header */
  int const code = input_load_head(report, work->archive, in_frames_wanted_head, NULL);
  if (code != CODE_OK) return code;
  szgpu_status const status =
      inspect_archive(work->archive->bytes, work->archive->byte_count, &work->info);
  return status == SZGPU_OK ? CODE_OK : report_status(report, work->name, status, NULL);
}

static int load_files(struct restoration *work) {
  const struct report *report = &work->job->report;
  int code = options_frame_by_frame(work->job->options) ? load_head(work) : load_archive(work);
  if (code == CODE_OK)
    code = archive_check_decoder(report, &work->job->options->context, work->name, &work->info);
  if (code == CODE_OK && !npy_has_dtype(work->info.shape.dtype) && output_is_npy(work))
    code = report_failure(report, CODE_USAGE, work->name,
                          "holds %s values, which szgpu does not write as .npy; name another "
                          "output with -o",
                          words_for_dtype(work->info.shape.dtype));
  if (code == CODE_OK) code = choose_values(work);
  if (code == CODE_OK && work->job->options->original) {
    code = input_load(report, &work->original, field_wanted_by_archive, &work->info);
    if (code == CODE_OK)
      code = field_read_original(report, &work->info, &work->original, &work->original_field);
  }
  return code;
}

static szgpu_status decompress(struct restoration *work) {
  const struct job *job = work->job;
  const struct input *archive = work->archive;
  size_t const field_bytes = (size_t)work->field_bytes;
  szgpu_status const status = memory_limit_ctx(job->ctx);
  if (status != SZGPU_OK) return status;
  if (job->options->has_slab)
    return szgpu_decompress_slab(job->ctx, archive->bytes, archive->byte_count, work->first_row,
                                 work->shape.dims[0], work->field.bytes, field_bytes);
  if (job->options->has_region)
    return szgpu_decompress_region(job->ctx, archive->bytes, archive->byte_count,
                                   job->options->level, &work->region, work->field.bytes,
                                   field_bytes);
  if (job->options->has_level)
    return szgpu_decompress_level(job->ctx, archive->bytes, archive->byte_count,
                                  job->options->level, work->field.bytes, field_bytes);
  return szgpu_decompress(job->ctx, archive->bytes, archive->byte_count, work->field.bytes,
                          field_bytes);
}

static int restore_values(struct restoration *work) {
  const struct job *job = work->job;
  const struct report *report = &job->report;
  work->field = memory_take(work->field_bytes);
  if (!work->field.bytes)
    return report_out_of_memory(report, work->name, "the restored field", work->field_bytes);
  ctxs_start_cuda(job);
  progress_begin(job->progress, report, "restoring", work->name, work->field_bytes);
  szgpu_status const status = decompress(work);
  work->seconds = progress_end(job->progress);
  if (status == SZGPU_BAD_ARGUMENT && job->options->has_level)
    return report_failure(report, CODE_USAGE, work->name,
                          "%s; give a lower --level or leave it out", szgpu_last_error(job->ctx));
  if (status != SZGPU_OK) return report_status(report, work->name, status, job->ctx);
  report_note(report, job->ctx, job->is_note_told);
  if (job->options->original) {
    uint64_t const row_bytes = work->field_bytes / work->shape.dims[0];
    const char *original = (const char *)work->original_field.values + work->first_row * row_bytes;
    work->metrics =
        metrics_take(&work->info, original, work->field.bytes, shape_values(&work->shape));
  }
  return CODE_OK;
}

/* Writes the header that numpy would write for the values in memory. In Fortran order its shape is
 * the archive's dims reversed, so a slab of dims[0] is one of the last axis. */
static int write_npy_header(struct restoration *work, bool is_big_endian) {
  unsigned char header[NPY_HEADER_CAPACITY];
  struct npy npy = {.shape = work->shape, .is_big_endian = is_big_endian};
  npy.is_fortran = (work->info.source & SZGPU_SOURCE_FORTRAN) != 0;
  for (int axis = 0; npy.is_fortran && axis < npy.shape.ndim; axis++)
    npy.shape.dims[axis] = work->shape.dims[npy.shape.ndim - 1 - axis];
  size_t const header_bytes = npy_write_header(&npy, header);
  return output_write(&work->job->report, &work->output, header, header_bytes);
}

/* The header, if there is one. */
static int begin_output(struct restoration *work, bool *is_swapped) {
  bool const is_npy = output_is_npy(work);
  bool const is_big_endian = is_npy && (work->info.source & SZGPU_SOURCE_BIG_ENDIAN) != 0;
  *is_swapped = is_big_endian != host_is_big_endian();
  return is_npy ? write_npy_header(work, is_big_endian) : CODE_OK;
}

static int write_field(struct restoration *work) {
  const struct report *report = &work->job->report;
  if (info_is_of_empty_file(&work->info)) return CODE_OK;
  bool is_swapped;
  int const code = begin_output(work, &is_swapped);
  if (code != CODE_OK) return code;
  if (is_swapped)
    swap_bytes(work->field.bytes, work->field.bytes, shape_values(&work->shape), work->shape.dtype);
  return output_write(report, &work->output, work->field.bytes, (size_t)work->field_bytes);
}

static int restore_in_frames(struct restoration *work) {
  struct restoring restoring = {.job = work->job,
                                .name = work->name,
                                .archive = work->archive,
                                .step_offset = work->step ? work->step->step.archive_offset : 0,
                                .info = &work->info,
                                .output = &work->output};
  int code = begin_output(work, &restoring.is_swapped);
  if (code == CODE_OK) code = in_frames_restore(&restoring);
  work->seconds = restoring.seconds;
  return code;
}

static uint64_t restored_bytes(const struct restoration *work) {
  return info_is_of_empty_file(&work->info) ? 0 : work->field_bytes;
}

static void print_line(const struct restoration *work) {
  FILE *out = work->job->report.out;
  const szgpu_info *info = &work->info;
  print_name(out, work->name);
  fputs(" -> ", out);
  print_name(out, shown_output(work->output.name));
  fprintf(out, "  ratio %.2f  %s -> %s", archive_ratio(info),
          words_for_bytes(info->archive_bytes).text, words_for_bytes(restored_bytes(work)).text);
  if (work->job->options->has_slab)
    fprintf(out, " (rows %" PRIu64 ":%" PRIu64 " of %" PRIu64 ")", work->first_row,
            work->first_row + work->shape.dims[0], info->shape.dims[0]);
  if (work->job->options->has_level)
    fprintf(out, " (level %d, %s)", work->job->options->level,
            words_for_dims(&work->level_shape).text);
  if (work->job->options->has_region) {
    char text[REGION_CHARS];
    write_region(&work->region, work->shape.ndim, text);
    fprintf(out, " (region %s of %s)", text, words_for_dims(&work->level_shape).text);
  }
  fprintf(out, "  %s  %.3g GB/s", words_for_bound(info).text,
          gigabytes_per_second(restored_bytes(work), work->seconds));
  if (work->job->options->original) metrics_print(&work->metrics, out);
  fputc('\n', out);
  if (work->job->report.is_verbose)
    fprintf(out, "  %s %s, %s %g, frames %" PRIu64 ", %.3g s\n", words_for_dtype(info->shape.dtype),
            words_for_dims(&work->shape).text, words_for_mode(info->mode), info->bound,
            info->frame_count, work->seconds);
}

static void print_json(const struct restoration *work) {
  const szgpu_info *info = &work->info;
  bool const is_over = work->job->options->original && work->metrics.values_over_bound > 0;
  struct json json = report_json(&work->job->report);
  json_text(&json, "output", work->output.name);
  if (work->step) json_step(&json, work->step);
  json_info(&json, info);
  if (work->job->options->has_slab) {
    json_count(&json, "first_row", work->first_row);
    json_count(&json, "row_count", work->shape.dims[0]);
  }
  if (work->job->options->has_level) {
    json_count(&json, "level", (uint64_t)work->job->options->level);
    json_counts(&json, "level_dims", work->level_shape.dims, work->shape.ndim);
  }
  if (work->job->options->has_region) {
    json_counts(&json, "region_first", work->region.first, work->shape.ndim);
    json_counts(&json, "region_dims", work->region.count, work->shape.ndim);
  }
  json_count(&json, "restored_bytes", restored_bytes(work));
  json_real(&json, "seconds", work->seconds);
  json_real(&json, "gb_per_s", gigabytes_per_second(restored_bytes(work), work->seconds));
  if (work->job->options->original) {
    json_text(&json, "original", work->job->options->original);
    metrics_print_json(&work->metrics, &json);
  }
  json_count(&json, "exit_code", is_over ? CODE_BOUND : CODE_OK);
  json_end(&json);
}

/* A field that is over the bound has been written all the same: only the user can find out which of
 * the two files is wrong. */
static int print_result(const struct restoration *work) {
  struct report report = work->job->report;
  bool const is_lossless = work->info.mode == SZGPU_MODE_LOSSLESS;
  if (!report.is_quiet && report.is_json)
    print_json(work);
  else if (!report.is_quiet)
    print_line(work);
  if (!work->job->options->original || work->metrics.values_over_bound == 0) return CODE_OK;
  report.is_json = false; /* this file already has its object */
  return report_failure(&report, CODE_BOUND, work->name,
                        "differs from %s%s in %" PRIu64 " of %" PRIu64
                        " values, by up to %.3g%s; check that it is the original",
                        work->job->options->original, is_lossless ? "" : " by more than the bound",
                        work->metrics.values_over_bound, shape_values(&work->shape),
                        is_lossless ? work->metrics.max_error : work->metrics.max_error_over_bound,
                        is_lossless ? "" : " times the bound");
}

static int run(struct restoration *work) {
  int code = open_files(work);
  if (code == CODE_OK) code = load_files(work);
  if (options_frame_by_frame(work->job->options)) {
    if (code == CODE_OK) code = restore_in_frames(work);
  } else {
    if (code == CODE_OK) code = restore_values(work);
    if (code == CODE_OK) code = write_field(work);
  }
  if (code == CODE_OK) code = output_commit(&work->job->report, &work->output);
  if (code == CODE_OK) code = print_result(work);
  return code;
}

int restore_archive(const struct job *job, struct input *archive, const struct step_view *step,
                    const char *output_name) {
  struct restoration work = {.job = job,
                             .name = step ? step->name : shown_input(job->report.file),
                             .step = step,
                             .archive = archive,
                             .original = INPUT_NONE,
                             .output = OUTPUT_NONE};
  work.output.name = output_name;
  int const code = run(&work);
  memory_give_back(&work.field);
  field_release(&work.original_field);
  input_close(&work.original);
  output_close(&work.output);
  return code;
}
