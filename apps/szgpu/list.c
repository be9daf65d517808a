/* list.c - lists what the headers of an archive say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "list.h"

#include "archive.h"
#include "decoders.h"
#include "json.h"
#include "memory.h"
#include "text.h"
#include "values.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  FIRST_FRAMES = 3,         /* shown without -v */
  LEAST_WINDOW_FRAMES = 64, /* inspected at once, or a share of the frames if that is more: */
  WINDOWS = 64              /* each call checks the whole header, so they must not be too many */
};

struct listing {
  const struct job *job;
  const char *name;
  const struct step_view *step; /* NULL: it is none of a series */
  const struct input *archive;
  szgpu_info info;
  uint64_t window_start; /* of the frames in window; valid if window_count > 0 */
  uint64_t window_count;
  uint64_t window_frames; /* at most */
  szgpu_frame_info *window;
};

static int make_window(struct listing *work) {
  uint64_t const frame_count = work->info.frame_count, share = frame_count / WINDOWS;
  uint64_t const wanted = share < LEAST_WINDOW_FRAMES ? LEAST_WINDOW_FRAMES : share + 1;
  work->window_frames = wanted < frame_count ? wanted : frame_count;
  /* Frames have headers, so their number is far below what a product of sizes can overflow. */
  size_t const window_bytes = (size_t)work->window_frames * sizeof *work->window;
  work->window = memory_allows(window_bytes) ? malloc(window_bytes) : NULL;
  if (work->window) return CODE_OK;
  return report_out_of_memory(&work->job->report, work->name, "its list of frames", window_bytes);
}

/* Gives frame `index`, and refills the window if the frame is not in it. */
static szgpu_status inspect_frame(struct listing *work, uint64_t index,
                                  const szgpu_frame_info **frame) {
  assert(work->window); /* make_window has made it */
  if (index < work->window_start || index - work->window_start >= work->window_count) {
    uint64_t const left = work->info.frame_count - index;
    work->window_count = 0;
    uint64_t const count = left < work->window_frames ? left : work->window_frames;
    for (uint64_t i = 0; i < count; i++) work->window[i].struct_bytes = sizeof work->window[i];
    szgpu_status const status = szgpu_inspect_frames(
        work->archive->bytes, work->archive->byte_count, index, count, work->window);
    if (status != SZGPU_OK) return status;
    work->window_start = index;
    work->window_count = count;
  }
  *frame = &work->window[index - work->window_start];
  return SZGPU_OK;
}

/* Checks all frames, before anything is printed. */
static szgpu_status check_headers(struct listing *work) {
  szgpu_status status = SZGPU_OK;
  const szgpu_frame_info *frame;
  for (uint64_t i = 0; i < work->info.frame_count && status == SZGPU_OK; i++)
    status = inspect_frame(work, i, &frame);
  return status;
}

static const char *words_for_source(uint32_t source) {
  if (!(source & SZGPU_SOURCE_NPY)) return "";
  switch (source & (SZGPU_SOURCE_FORTRAN | SZGPU_SOURCE_BIG_ENDIAN)) {
    case SZGPU_SOURCE_FORTRAN:
      return ", from .npy in Fortran order";
    case SZGPU_SOURCE_BIG_ENDIAN:
      return ", from .npy, big-endian";
    case SZGPU_SOURCE_FORTRAN | SZGPU_SOURCE_BIG_ENDIAN:
      return ", from .npy in Fortran order, big-endian";
    default:
      return ", from .npy";
  }
}

static void print_fill(double fill, uint64_t bits, szgpu_dtype dtype, FILE *out) {
  fprintf(out, "%g (0x%0*" PRIx64 ")", fill, (int)(2 * dtype_bytes(dtype)), bits);
}

/* What comes back exactly, and what other values do not leave. */
static void print_missing(const szgpu_info *info, FILE *out) {
  szgpu_dtype const dtype = info->shape.dtype;
  if (info->has_fill) {
    fputs("  fill     ", out);
    print_fill(info->fill, info->fill_bits, dtype, out);
    for (uint32_t i = 0; i < info->more_fill_count; i++) {
      fputs(", ", out);
      print_fill(info->more_fills[i], info->more_fill_bits[i], dtype, out);
    }
    fputc('\n', out);
  }
  if (info->has_limits) fprintf(out, "  limits   %g to %g\n", info->least, info->greatest);
}

static void print_header(const struct listing *work) {
  FILE *out = work->job->report.out;
  const szgpu_info *info = &work->info;
  print_name(out, work->name);
  if (info_is_of_empty_file(info))
    fputs("\n  field    none: an empty file\n", out);
  else
    fprintf(out, "\n  field    %s %s%s\n", words_for_dtype(info->shape.dtype),
            words_for_dims(&info->shape).text, words_for_source(info->source));
  fprintf(out, "  size     %s -> %s, ratio %.2f\n", words_for_bytes(info_value_bytes(info)).text,
          words_for_bytes(info->archive_bytes).text, archive_ratio(info));
  if (info->mode == SZGPU_MODE_LOSSLESS) {
    fputs("  bound    lossless: every bit is restored\n", out);
  } else if (info->mode == SZGPU_MODE_PWREL) {
    fprintf(out, "  bound    pwrel %g of each value", info->bound);
    if (info->step > 0) fprintf(out, ", step %g of log2", info->step);
    fprintf(out, ", range %g of log2\n", info->value_range);
  } else {
    fprintf(out, "  bound    %s %g, absolute %g", words_for_mode(info->mode), info->bound,
            info->absolute_bound);
    if (info->step > 0) fprintf(out, ", step %g", info->step);
    fprintf(out, ", range %s%g\n", words_before_range(info), info->value_range);
  }
  print_missing(info, out);
  szgpu_shape const joined = info_joined_shape(info);
  if (info->joined_axes) fprintf(out, "  joined   as %s\n", words_for_dims(&joined).text);
  fprintf(out,
          "  format   version %" PRIu32 ", %s layout, %" PRIu64 " frame%s of %" PRIu64 " rows\n",
          info->format_version, words_for_layout(info->layout), info->frame_count,
          info->frame_count == 1 ? "" : "s", info->frame_rows);
  fprintf(out, "  decoders %s\n", words_for_decoders(info, SZGPU_BACKEND_AUTO).text);
}

/* A levels frame predicts in two ways: its base by differences, the rest by interpolation. */
static void print_prediction(const szgpu_frame_info *frame, FILE *out) {
  if (frame->interpolated_axes)
    fprintf(out, ", %s interpolation along %" PRIu32 " ax%ss, %" PRIu32 " level%s and a base",
            frame->stencil, frame->interpolated_axes, frame->interpolated_axes == 1 ? "i" : "e",
            frame->level_count, frame->level_count == 1 ? "" : "s");
  if (frame->axes[0]) fprintf(out, " along %s", frame->axes);
  if (frame->axes[0] && frame->radius) fprintf(out, ", radius %" PRIu32, frame->radius);
  if (frame->fold) fprintf(out, ", folded to rows of %" PRIu64, frame->fold);
}

static szgpu_status print_frame(struct listing *work, uint64_t index) {
  FILE *out = work->job->report.out;
  const szgpu_frame_info *frame;
  szgpu_status const status = inspect_frame(work, index, &frame);
  if (status != SZGPU_OK) return status;
  fprintf(out, "  frame %" PRIu64 ": rows %" PRIu64 ":%" PRIu64 ", %s", index, frame->first_row,
          frame->first_row + frame->row_count, frame->kind);
  print_prediction(frame, out);
  if (frame->planes[0]) fprintf(out, " %s", frame->planes);
  if (frame->lattice_bits) fprintf(out, ", lattice of %" PRIu32 " bits", frame->lattice_bits);
  if (frame->zero_groups) fprintf(out, ", zero groups of %" PRIu32, frame->zero_groups);
  fprintf(out, ", %" PRIu64 " bytes\n", frame->frame_bytes);
  for (uint32_t k = 0; k < frame->section_count; k++) {
    const szgpu_section_info *const section = &frame->sections[k];
    fprintf(out, "    %-16s %-6s %14" PRIu64 " of %14" PRIu64 " bytes at %" PRIu64 "\n",
            section->name, section->codec, section->stored_bytes, section->raw_bytes,
            section->offset);
  }
  return SZGPU_OK;
}

static szgpu_status print_text(struct listing *work) {
  FILE *out = work->job->report.out;
  bool const is_long = work->info.frame_count > FIRST_FRAMES + 1 && !work->job->report.is_verbose;
  uint64_t const shown_frames = is_long ? FIRST_FRAMES : work->info.frame_count;
  szgpu_status status = SZGPU_OK;
  print_header(work);
  for (uint64_t i = 0; i < shown_frames && status == SZGPU_OK; i++) status = print_frame(work, i);
  if (is_long)
    fprintf(out, "  and %" PRIu64 " more frames; -v shows them\n",
            work->info.frame_count - shown_frames);
  return status;
}

static szgpu_status json_frame(struct listing *work, struct json *json, uint64_t index) {
  const szgpu_frame_info *frame;
  szgpu_status const status = inspect_frame(work, index, &frame);
  if (status != SZGPU_OK) return status;
  json_open(json, NULL, '{');
  json_text(json, "kind", frame->kind);
  json_text(json, "predictor", frame->predictor);
  json_text(json, "axes", frame->axes);
  json_count(json, "radius", frame->radius);
  json_text(json, "planes", frame->planes);
  json_count(json, "lattice_bits", frame->lattice_bits);
  json_count(json, "zero_groups", frame->zero_groups);
  json_text(json, "stencil", frame->stencil);
  json_count(json, "interpolated_axes", frame->interpolated_axes);
  json_count(json, "level_count", frame->level_count);
  json_count(json, "fold", frame->fold);
  json_count(json, "first_row", frame->first_row);
  json_count(json, "row_count", frame->row_count);
  json_count(json, "frame_bytes", frame->frame_bytes);
  json_open(json, "sections", '[');
  for (uint32_t k = 0; k < frame->section_count; k++) {
    const szgpu_section_info *const section = &frame->sections[k];
    json_open(json, NULL, '{');
    json_text(json, "name", section->name);
    json_text(json, "codec", section->codec);
    json_count(json, "offset", section->offset);
    json_count(json, "stored_bytes", section->stored_bytes);
    json_count(json, "raw_bytes", section->raw_bytes);
    json_close(json, '}');
  }
  json_close(json, ']');
  json_close(json, '}');
  return SZGPU_OK;
}

static szgpu_status print_json(struct listing *work) {
  szgpu_status status = SZGPU_OK;
  struct json json = report_json(&work->job->report);
  if (work->step) json_step(&json, work->step);
  json_info(&json, &work->info);
  json_open(&json, "frame_list", '[');
  for (uint64_t i = 0; i < work->info.frame_count && status == SZGPU_OK; i++)
    status = json_frame(work, &json, i);
  json_close(&json, ']');
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
  return status;
}

int list_archive(const struct job *job, const struct input *archive, const struct step_view *step) {
  const struct report *const report = &job->report;
  struct listing work = {.job = job,
                         .name = step ? step->name : shown_input(report->file),
                         .step = step,
                         .archive = archive};
  szgpu_status status = SZGPU_OK;
  int code =
      inspect_whole_archive(report, work.name, archive->bytes, archive->byte_count, &work.info);
  if (code == CODE_OK) code = make_window(&work);
  if (code == CODE_OK) {
    status = check_headers(&work);
    if (status == SZGPU_OK && !report->is_quiet)
      status = report->is_json ? print_json(&work) : print_text(&work);
    if (status != SZGPU_OK) code = report_status(report, work.name, status, NULL);
  }
  free(work.window);
  return code;
}
