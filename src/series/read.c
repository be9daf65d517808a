/* read.c - restores steps of a series.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bytes.h"
#include "series/series.h"

/* A header's claims take memory only as the bytes come in. */
szgpu_status szg_series_inspect_at(szgpu_series *series, uint64_t offset, uint64_t archive_bytes,
                                   szgpu_info *info) {
  enum { FIRST_BYTES = 4096, GROWTH = 16 };
  szg_buffer *const head = &series->bytes;
  uint64_t wanted = FIRST_BYTES;
  for (;;) {
    bool const is_all = wanted >= archive_bytes;
    if (is_all) wanted = archive_bytes;
    SZG_TRY(szg_buffer_reset(head, wanted));
    SZG_TRY(szg_series_load(series, offset, head->bytes, wanted, &head->used_bytes));
    bool const is_cut = head->used_bytes < wanted;
    szgpu_status const status = szgpu_inspect(head->bytes, head->used_bytes, info);
    if (status != SZGPU_TRUNCATED || is_all || is_cut) return status;
    wanted *= GROWTH;
  }
}

static szgpu_status inspect_step(szgpu_series *series, uint64_t index, szgpu_info *info) {
  if (index >= szgpu_series_count(series))
    return szg_series_fail(series, SZGPU_BAD_ARGUMENT, "there is no step %llu: the series has %llu",
                           (unsigned long long)index,
                           (unsigned long long)szgpu_series_count(series));
  szg_step_place const place = *szg_series_place(series, index);
  SZG_TRY(szg_series_inspect_at(series, place.archive_offset, place.archive_bytes, info));
  if (info->archive_bytes == place.archive_bytes) return SZGPU_OK;
  return szg_series_fail(series, SZGPU_BAD_DATA,
                         "the archive of step %llu is not as long as its record says",
                         (unsigned long long)index);
}

szgpu_status szgpu_series_inspect(szgpu_series *series, uint64_t index, szgpu_info *info) {
  SZG_TRY(szg_series_enter(series, NULL, index));
  return szg_series_leave(series, inspect_step(series, index, info));
}

/* ---- from memory ---- */

static szgpu_status decompress(szgpu_ctx *ctx, const uint8_t *archive, size_t archive_bytes,
                               int level, const szgpu_region *region, void *field,
                               size_t field_bytes) {
  if (region)
    return szgpu_decompress_region(ctx, archive, archive_bytes, level, region, field, field_bytes);
  if (level != 0)
    return szgpu_decompress_level(ctx, archive, archive_bytes, level, field, field_bytes);
  return szgpu_decompress(ctx, archive, archive_bytes, field, field_bytes);
}

/* The archive as the series' bytes. */
static szgpu_status load_archive(szgpu_series *series, const szg_step_place *place) {
  szg_buffer *const archive = &series->bytes;
  SZG_TRY(szg_buffer_reset(archive, place->archive_bytes));
  SZG_TRY(szg_series_load(series, place->archive_offset, archive->bytes, place->archive_bytes,
                          &archive->used_bytes));
  return archive->used_bytes == place->archive_bytes ? SZGPU_OK : SZGPU_TRUNCATED;
}

static szgpu_status read_field(szgpu_series *series, szgpu_ctx *ctx, uint64_t index, int level,
                               const szgpu_region *region, void *field, size_t field_bytes) {
  szgpu_info info = {.struct_bytes = sizeof info};
  SZG_TRY(inspect_step(series, index, &info));
  szg_step_place const place = *szg_series_place(series, index);
  szg_file_pages const mapping =
      szg_series_file_map(series, place.archive_offset, place.archive_bytes);
  const uint8_t *archive = mapping.bytes;
  if (!archive) {
    SZG_TRY(load_archive(series, &place));
    archive = series->bytes.bytes;
  }
  szgpu_status const status =
      decompress(ctx, archive, place.archive_bytes, level, region, field, field_bytes);
  if (mapping.bytes) szg_series_file_unmap(&mapping);
  return status;
}

szgpu_status szgpu_series_read(szgpu_series *series, szgpu_ctx *ctx, uint64_t index, int level,
                               const szgpu_region *region, void *field, size_t field_bytes) {
  SZG_TRY(szg_series_enter(series, ctx, index));
  return szg_series_leave(series,
                          read_field(series, ctx, index, level, region, field, field_bytes));
}

/* ---- from the store ---- */

/* A step's archive as a source. */
typedef struct step_source {
  szgpu_series *series;
  szg_step_place place;
} step_source;

static int read_step(void *user, uint64_t offset, void *bytes, size_t byte_count,
                     size_t *got_bytes) {
  step_source *const step = user;
  uint64_t const left = step->place.archive_bytes - szg_min_u64(offset, step->place.archive_bytes);
  size_t const wanted = (size_t)szg_min_u64(byte_count, left);
  return szg_series_load(step->series, step->place.archive_offset + offset, bytes, wanted,
                         got_bytes) != SZGPU_OK;
}

static szgpu_status read_stream(szgpu_series *series, szgpu_ctx *const *ctxs, int ctx_count,
                                uint64_t index, const szgpu_sink *sink) {
  szgpu_info info = {.struct_bytes = sizeof info};
  uint64_t archive_bytes;
  SZG_TRY(inspect_step(series, index, &info));
  step_source step = {series, *szg_series_place(series, index)};
  szgpu_source const source = {.read = read_step, .user = &step};
  szgpu_status const status =
      szgpu_decompress_stream(ctxs, ctx_count, &source, sink, &archive_bytes);
  return status == SZGPU_SOURCE_FAILED ? szg_series_blame_store(series, status) : status;
}

szgpu_status szgpu_series_read_stream(szgpu_series *series, szgpu_ctx *const *ctxs, int ctx_count,
                                      uint64_t index, const szgpu_sink *sink) {
  szgpu_ctx *const ctx = ctxs && ctx_count > 0 ? ctxs[0] : NULL;
  SZG_TRY(szg_series_enter(series, ctx, index));
  return szg_series_leave(series, read_stream(series, ctxs, ctx_count, index, sink));
}
