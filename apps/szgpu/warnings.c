/* warnings.c - warns of what is allowed, but seldom meant.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "warnings.h"

#include "file_names.h"
#include "fill_guess.h"
#include "text.h"
#include "values.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

static const double loose_bound = 0.1; /* of the range */
static const double loose_psnr = 25;   /* dB: a bound of 0.1 has 24.8 */

static int warn(const struct report *report, const char *name, struct warnings *warnings,
                const char *format, ...) REPORT_FORMAT(4, 5);
static int warn(const struct report *report, const char *name, struct warnings *warnings,
                const char *format, ...) {
  assert(warnings->count < MOST_WARNINGS);
  char *const sentence = warnings->sentences[warnings->count++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, WARNING_CHARS, format, arguments);
  va_end(arguments);
  if (report->is_strict) return report_failure(report, CODE_USAGE, name, "%s", sentence);
  if (report->is_quiet) return CODE_OK;
  fputs("szgpu: ", stderr);
  if (name) {
    print_name(stderr, name);
    fputs(": ", stderr);
  }
  fputs("warning: ", stderr);
  print_name(stderr, sentence);
  fputc('\n', stderr);
  return CODE_OK;
}

int warn_of_bound(const struct report *report, const char *name, const szgpu_params *params,
                  struct warnings *warnings) {
  if (params->mode == SZGPU_MODE_REL && params->bound >= loose_bound)
    return warn(report, name, warnings,
                "-e %g lets values be off by %g times their range; if the bound is in the field's "
                "unit, add -m abs",
                params->bound, params->bound);
  if (params->mode == SZGPU_MODE_PWREL && params->bound >= loose_bound)
    return warn(report, name, warnings,
                "-m pwrel -e %g lets each value be off by %g times itself; if that is too much, "
                "give a smaller bound, such as 1e-3",
                params->bound, params->bound);
  if (params->mode == SZGPU_MODE_PSNR && params->bound < loose_psnr)
    return warn(report, name, warnings,
                "-m psnr -e %g asks for %g dB, which leaves little of the values; give a target "
                "in dB, such as 80",
                params->bound, params->bound);
  return CODE_OK;
}

static int warn_of_type(const struct report *report, const char *name,
                        const struct options *options, const struct field *field,
                        struct warnings *warnings) {
  szgpu_dtype const asked = options->shape.dtype;
  if (!options->has_dtype || asked == SZGPU_U8) return CODE_OK; /* any file is bytes */
  if (field->has_npy_header)
    return warn(report, name, warnings,
                "begins like a .npy file, but -t %s treats its header as values; leave -t out",
                words_for_dtype(asked));
  szgpu_dtype of_name = asked;
  bool const is_known = dtype_of_name(name, &of_name) && of_name != SZGPU_U8;
  if (!is_known || of_name == asked) return CODE_OK;
  return warn(
      report, name, warnings,
      "is named like a file of %s values, but -t says %s; leave -t out unless that is intended",
      words_for_dtype(of_name), words_for_dtype(asked));
}

/* Without dims of 1. */
static szgpu_shape essential_shape(const szgpu_shape *shape) {
  szgpu_shape essential = {.dtype = shape->dtype};
  for (int axis = 0; axis < shape->ndim; axis++)
    if (shape->dims[axis] > 1) essential.dims[essential.ndim++] = shape->dims[axis];
  return essential;
}

static bool has_same_dims(const szgpu_shape *a, const szgpu_shape *b) {
  return a->ndim == b->ndim && memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) == 0;
}

/* A single dim says no more than how many values there are. */
static int warn_of_dims(const struct report *report, const char *name,
                        const struct options *options, const struct field *field,
                        struct warnings *warnings) {
  bool const is_lossless = options->params.mode == SZGPU_MODE_LOSSLESS; /* hardly gains by dims */
  if (strcmp(field->shape_origin, "guess") == 0 && !is_lossless)
    return warn(report, name, warnings,
                "no dims given, so its %s values are treated as one row; give them with -d",
                words_for_dims(&field->shape).text);
  if (!options->has_dims) return CODE_OK;
  szgpu_shape const stated = essential_shape(&field->stated_shape);
  szgpu_shape const asked = essential_shape(&options->shape);
  if (stated.ndim < 2 || has_same_dims(&stated, &asked)) return CODE_OK;
  return warn(report, name, warnings,
              "has dims %s by its %s, but -d says %s; leave -d out unless that is intended",
              words_for_dims(&field->stated_shape).text, field->stated_by,
              words_for_dims(&options->shape).text);
}

int warn_of_field(const struct report *report, const struct options *options,
                  const struct input *input, const struct field *field, struct warnings *warnings) {
  const char *name = shown_input(input->name);
  if (field->is_empty && options->params.mode != SZGPU_MODE_LOSSLESS)
    return warn(report, name, warnings,
                "is empty, and restored as such; check it, or leave it out");
  if (field->is_empty) return CODE_OK;
  int const code = warn_of_type(report, name, options, field, warnings);
  return code == CODE_OK ? warn_of_dims(report, name, options, field, warnings) : code;
}

int warn_of_values(const struct report *report, const char *name, const struct field *field,
                   const szgpu_info *info, struct warnings *warnings) {
  char sentence[FILL_SENTENCE_CHARS];
  szgpu_info of_these = *info; /* perhaps of a sample */
  of_these.shape = field->shape;
  if (!warnings->is_fill_told && warn_of_fill(field->values, &of_these, "--fill ", sentence)) {
    warnings->is_fill_told = true;
    return warn(report, name, warnings, "%s", sentence);
  }
  bool const has_range = info->value_range > 0;
  if (info->mode == SZGPU_MODE_ABS && has_range && info->absolute_bound >= info->value_range)
    return warn(report, name, warnings,
                "-m abs -e %g is more than the range of the values, %.3g, so nothing of them is "
                "left; give a smaller bound",
                info->bound, info->value_range);
  return CODE_OK;
}

static bool has_packed_bound(const struct dataset *dataset, const szgpu_info *info) {
  bool const is_of_stored = info->mode != SZGPU_MODE_LOSSLESS && info->mode != SZGPU_MODE_PWREL;
  return dataset->is_packed && is_of_stored;
}

static double unpacked_bound(const struct dataset *dataset, const szgpu_info *info) {
  return info->absolute_bound * fabs(dataset->scale);
}

void tell_packing(const struct report *report, const char *name, const struct dataset *dataset,
                  const szgpu_info *info) {
  if (report->is_quiet || !has_packed_bound(dataset, info)) return;
  fputs("szgpu: note: ", stderr);
  print_name(stderr, name);
  fprintf(stderr,
          ": its values are packed (%g * stored %c %g): the bound of %.3g is %.3g unpacked\n",
          dataset->scale, dataset->offset < 0 ? '-' : '+', fabs(dataset->offset),
          info->absolute_bound, unpacked_bound(dataset, info));
}

void packing_print_json(const struct dataset *dataset, const szgpu_info *info, struct json *json) {
  if (!dataset->is_packed) return;
  json_real(json, "scale_factor", dataset->scale);
  json_real(json, "add_offset", dataset->offset);
  if (has_packed_bound(dataset, info))
    json_real(json, "unpacked_bound", unpacked_bound(dataset, info));
}

void warnings_print_json(const struct warnings *warnings, struct json *json) {
  json_open(json, "warnings", '[');
  for (int i = 0; i < warnings->count; i++) json_text(json, NULL, warnings->sentences[i]);
  json_close(json, ']');
}
