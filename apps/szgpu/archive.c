/* archive.c - what all commands read from an archive and print about it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "decoders.h"
#include "series_input.h"
#include "values.h"

szgpu_status inspect_archive(const void *archive, size_t archive_bytes, szgpu_info *info) {
  memset(info, 0, sizeof *info);
  info->struct_bytes = sizeof *info;
  return szgpu_inspect(archive, archive_bytes, info);
}

uint64_t archive_wanted_bytes(const struct input *input, const void *unused) {
  (void)unused;
  szgpu_info info;
  szgpu_status const status = inspect_archive(input->bytes, input->byte_count, &info);
  if (status == SZGPU_TRUNCATED) return UINT64_MAX; /* not yet the whole header */
  return status == SZGPU_OK ? info.archive_bytes : 0;
}

int inspect_whole_archive(const struct report *report, const char *name, const void *archive,
                          size_t archive_bytes, szgpu_info *info) {
  szgpu_status status = inspect_archive(archive, archive_bytes, info);
  if (status == SZGPU_OK && info->archive_bytes > archive_bytes) status = SZGPU_TRUNCATED;
  if (status == SZGPU_OK && info->archive_bytes < archive_bytes) status = SZGPU_TRAILING_BYTES;
  if (status == SZGPU_NOT_AN_ARCHIVE && begins_a_series(archive, archive_bytes) == SZGPU_OK)
    return report_failure(report, CODE_USAGE, name,
                          "is a series, which cannot be read from a pipe; name the file");
  return status == SZGPU_OK ? CODE_OK : report_status(report, name, status, NULL);
}

int archive_check_decoder(const struct report *report, const szgpu_options *context,
                          const char *name, const szgpu_info *info) {
  const char *refusal = szgpu_decoder_refusal(context->decoder, info);
  if (!refusal) return CODE_OK;
  struct words const names =
      words_for_decoders(info, szgpu_has_cuda() ? context->backend : SZGPU_BACKEND_CPU);
  return report_failure(report, CODE_USAGE, name,
                        "%s: --decoder %s does not read it; choose from %s, or leave it out",
                        refusal, szgpu_decoder_name(context->decoder), names.text);
}

bool info_is_of_empty_file(const szgpu_info *info) {
  return (info->source & SZGPU_SOURCE_EMPTY) != 0;
}

uint64_t info_value_bytes(const szgpu_info *info) {
  return info_is_of_empty_file(info) ? 0 : info->field_bytes;
}

struct words words_for_bound(const szgpu_info *info) {
  struct words words = {"lossless"};
  if (info->mode == SZGPU_MODE_PWREL)
    snprintf(words.text, sizeof words.text, "bound %.3g of each value", info->bound);
  else if (info->mode != SZGPU_MODE_LOSSLESS)
    snprintf(words.text, sizeof words.text, "bound %.3g", info->absolute_bound);
  return words;
}

const char *words_before_range(const szgpu_info *info) {
  return info->value_range < DBL_MAX ? "" : "over ";
}

double archive_ratio(const szgpu_info *info) {
  return info->archive_bytes ? (double)info_value_bytes(info) / (double)info->archive_bytes : 0;
}

double gigabytes_per_second(uint64_t byte_count, double seconds) {
  return seconds > 0 ? (double)byte_count * 1e-9 / seconds : 0;
}

static void json_bits(struct json *json, const char *key, uint64_t bits, szgpu_dtype dtype) {
  char text[24];
  snprintf(text, sizeof text, "0x%0*" PRIx64, (int)(2 * dtype_bytes(dtype)), bits);
  json_text(json, key, text);
}

/* Fill values; those after the first are in lists of their own. */
static void json_fills(struct json *json, const szgpu_info *info) {
  szgpu_dtype const dtype = info->shape.dtype;
  json_bool(json, "has_fill", info->has_fill != 0);
  if (!info->has_fill) return;
  json_real(json, "fill", info->fill);
  json_bits(json, "fill_bits", info->fill_bits, dtype);
  json_open(json, "more_fills", '[');
  for (uint32_t i = 0; i < info->more_fill_count; i++) json_real(json, NULL, info->more_fills[i]);
  json_close(json, ']');
  json_open(json, "more_fill_bits", '[');
  for (uint32_t i = 0; i < info->more_fill_count; i++)
    json_bits(json, NULL, info->more_fill_bits[i], dtype);
  json_close(json, ']');
}

szgpu_shape info_joined_shape(const szgpu_info *info) {
  szgpu_shape shape = {info->shape.dtype, 0, {1, 1, 1, 1}};
  for (int i = 0; i < info->shape.ndim; i++) {
    shape.dims[shape.ndim] *= info->shape.dims[i];
    shape.ndim += !(info->joined_axes >> i & 1);
  }
  return shape;
}

void json_info(struct json *json, const szgpu_info *info) {
  json_text(json, "dtype", words_for_dtype(info->shape.dtype));
  json_counts(json, "dims", info_is_of_empty_file(info) ? (uint64_t[]){0} : info->shape.dims,
              info->shape.ndim);
  szgpu_shape const joined = info_joined_shape(info);
  if (info->joined_axes) json_counts(json, "joined_dims", joined.dims, joined.ndim);
  json_text(json, "mode", words_for_mode(info->mode));
  json_real(json, "bound", info->bound);
  json_real(json, "absolute_bound", info->absolute_bound);
  json_real(json, "step", info->step);
  json_real(json, "value_range", info->value_range);
  json_fills(json, info);
  json_bool(json, "has_limits", info->has_limits != 0);
  if (info->has_limits) {
    json_real(json, "least", info->least);
    json_real(json, "greatest", info->greatest);
  }
  json_bool(json, "from_npy", (info->source & SZGPU_SOURCE_NPY) != 0);
  json_bool(json, "fortran_order", (info->source & SZGPU_SOURCE_FORTRAN) != 0);
  json_bool(json, "big_endian", (info->source & SZGPU_SOURCE_BIG_ENDIAN) != 0);
  json_count(json, "format_version", info->format_version);
  json_text(json, "layout", words_for_layout(info->layout));
  json_bool(json, "has_gaps", info->has_gaps != 0);
  json_open(json, "decoders", '[');
  for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++)
    if (szgpu_decoder_reads((szgpu_decoder)d, info))
      json_text(json, NULL, szgpu_decoder_name((szgpu_decoder)d));
  json_close(json, ']');
  json_count(json, "frame_rows", info->frame_rows);
  json_count(json, "frames", info->frame_count);
  json_count(json, "field_bytes", info_value_bytes(info));
  json_count(json, "archive_bytes", info->archive_bytes);
  json_real(json, "ratio", archive_ratio(info));
}
