/* append.c - adds steps to a series, so that a cut at any moment leaves what was there before.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A step becomes one in this order: its record, which says that it is not finished; its archive;
 * sync; the 16 bytes of the record that say that it is; sync. Between two calls of sync, a loss of
 * power may keep any of what was written, in any order.
 */
#include <string.h>

#include "core/bytes.h"
#include "series/series.h"

/* A step on its way. */
typedef struct step_draft {
  szgpu_series *series;
  szg_record record;
  uint64_t archive_offset;
  uint64_t written_bytes; /* up to the last that was written of the archive */
  szgpu_status status;    /* of the last write of the archive */
} step_draft;

/* Nothing is written to a file of which another program knows better than this one. */
static szgpu_status refuse_changed_file(szgpu_series *series) {
  static const char *const sentences[] = {
      [SZG_FILE_WRITTEN] = "another program has changed the file's length; open the series again",
      [SZG_FILE_REPLACED] = "another file has its name now; open the series again",
      [SZG_FILE_REMOVED] = "its file was removed; open the series again to begin a new one"};
  szg_file_change const change =
      series->has_file ? szg_series_file_change(&series->file) : SZG_FILE_AS_EVER;
  if (change == SZG_FILE_AS_EVER || change == SZG_FILE_MOVED) return SZGPU_OK;
  if (change == SZG_FILE_FAILED) return SZGPU_SINK_FAILED;
  return szg_series_fail(series, SZGPU_SERIES_CHANGED, "%s", sentences[change]);
}

static szgpu_status write_bytes(szgpu_series *series, uint64_t offset, const void *bytes,
                                size_t byte_count) {
  const szgpu_store *const store = &series->store;
  SZG_TRY(refuse_changed_file(series));
  return store->write(store->user, offset, bytes, byte_count) == 0 ? SZGPU_OK : SZGPU_SINK_FAILED;
}

static szgpu_status sync(szgpu_series *series) {
  return series->store.sync(series->store.user) == 0 ? SZGPU_OK : SZGPU_SINK_FAILED;
}

static szgpu_status cut_to(szgpu_series *series, uint64_t byte_count) {
  SZG_TRY(refuse_changed_file(series));
  return series->store.cut(series->store.user, byte_count) == 0 ? SZGPU_OK : SZGPU_SINK_FAILED;
}

/* What follows the last step is lost. Without the sync, its record, which may say that it is
 * finished, could stand before what is written in its place when the power fails. */
static szgpu_status cut(szgpu_series *series) {
  SZG_TRY(cut_to(series, series->end_offset));
  SZG_TRY(sync(series));
  series->end_status = SZGPU_OK;
  series->end_record = (szg_record){0};
  return SZGPU_OK;
}

static szgpu_status cut_if_needed(szgpu_series *series) {
  SZG_REQUIRE(series->store.write, SZGPU_BAD_ARGUMENT);
  return series->end_status == SZGPU_OK ? SZGPU_OK : cut(series);
}

szgpu_status szgpu_series_cut(szgpu_series *series) {
  SZG_TRY(szg_series_enter(series, NULL, szgpu_series_count(series)));
  return szg_series_leave(series, cut_if_needed(series));
}

/* ---- what an unfinished step hides ---- */

/* Whether the unfinished step has all bytes that the header of its archive states, and no more.
 * Then all of them are its own, also what looks like steps: steps that were joined to it would make
 * it longer. */
static szgpu_status look_for_own_end(szgpu_series *series, bool *is_whole) {
  uint8_t bytes[SZG_RECORD_HEAD_BYTES], last[2];
  size_t got_bytes;
  *is_whole = false;
  SZG_TRY(szg_series_load(series, series->end_offset, bytes, sizeof bytes, &got_bytes));
  uint64_t const record_bytes = szg_record_bytes_by_head(bytes);
  if (got_bytes < sizeof bytes || record_bytes > SZG_RECORD_MOST_BYTES) return SZGPU_OK;
  szgpu_info info = {.struct_bytes = sizeof info};
  uint64_t const archive_offset = series->end_offset + record_bytes;
  szgpu_status const status = szg_series_inspect_at(series, archive_offset, UINT64_MAX, &info);
  SZG_REQUIRE(status != SZGPU_SOURCE_FAILED && status != SZGPU_OUT_OF_MEMORY, status);
  if (status != SZGPU_OK || info.archive_bytes > UINT64_MAX - archive_offset) return SZGPU_OK;
  SZG_TRY(szg_series_load(series, archive_offset + info.archive_bytes - 1, last, sizeof last,
                          &got_bytes));
  *is_whole = got_bytes == 1;
  return SZGPU_OK;
}

/* Whether a record of a finished step begins in the first `end` of bytes[byte_count]. */
static bool has_step(const uint8_t *bytes, size_t byte_count, size_t end) {
  szg_record record;
  for (const uint8_t *at = bytes;
       (at = memchr(at, SZG_SERIES_MAGIC[0] & 0xFF, (size_t)(bytes + end - at))) != NULL; at++) {
    size_t const there =
        (size_t)szg_min_u64((uint64_t)(bytes + byte_count - at), SZG_RECORD_MOST_BYTES);
    szgpu_status const status = szg_record_read(at, there, 0, UINT64_MAX, &record);
    if (status == SZGPU_OK || record.archive_bytes > 0) return true;
  }
  return false;
}

/* Nothing that was finished may be cut off: after joining files, steps can follow an unfinished
 * one, at any place. */
static szgpu_status refuse_hidden_steps(szgpu_series *series) {
  enum { PIECE_BYTES = 1 << 20, LOADED_BYTES = PIECE_BYTES + SZG_RECORD_MOST_BYTES };
  szg_buffer *const piece = &series->bytes;
  bool is_own;
  SZG_TRY(look_for_own_end(series, &is_own));
  if (is_own) return SZGPU_OK;
  SZG_TRY(szg_buffer_reset(piece, LOADED_BYTES));
  for (uint64_t offset = series->end_offset;; offset += PIECE_BYTES) {
    size_t got_bytes;
    SZG_TRY(szg_series_load(series, offset, piece->bytes, LOADED_BYTES, &got_bytes));
    size_t const end = got_bytes < PIECE_BYTES ? got_bytes : PIECE_BYTES;
    if (has_step(piece->bytes, got_bytes, end))
      return szg_series_fail(
          series, SZGPU_UNFINISHED,
          "finished steps follow the unfinished step %llu; cutting it off would lose them",
          (unsigned long long)szgpu_series_count(series));
    if (got_bytes < LOADED_BYTES) return SZGPU_OK;
  }
}

/* ---- the order of an append ---- */

static szgpu_status take_label(szgpu_series *series, const szgpu_label *label, szg_record *record) {
  *record = (szg_record){0};
  if (!label) return SZGPU_OK;
  size_t const name_bytes = label->name ? strlen(label->name) : 0;
  if (name_bytes > SZG_RECORD_MOST_NAME_BYTES)
    return szg_series_fail(series, SZGPU_BAD_ARGUMENT,
                           "the step's name has %zu bytes, which are more than %d", name_bytes,
                           (int)SZG_RECORD_MOST_NAME_BYTES);
  if (label->has_time && !szg_is_finite(label->time))
    return szg_series_fail(series, SZGPU_BAD_ARGUMENT, "the step's time, %g, is not finite",
                           label->time);
  if (name_bytes > 0) memcpy(record->name, label->name, name_bytes);
  record->name_bytes = (uint32_t)name_bytes;
  record->has_time = label->has_time != 0;
  record->time = label->has_time ? label->time : 0;
  return SZGPU_OK;
}

/* What of a draft is in the store is unfinished now. */
static szgpu_status write_record(step_draft *draft) {
  szgpu_series *const series = draft->series;
  uint8_t bytes[SZG_RECORD_MOST_BYTES];
  szg_record_write(&draft->record, bytes);
  series->end_status = SZGPU_UNFINISHED;
  series->end_record = draft->record;
  if (series->end_offset == 0) { /* so that a loss of power leaves the magic, or few zeros */
    SZG_TRY(write_bytes(series, 0, bytes, SZG_MAGIC_BYTES));
    SZG_TRY(sync(series));
    if (series->has_file) SZG_TRY(szg_series_file_sync_name(&series->file));
  }
  return write_bytes(series, series->end_offset, bytes, szg_record_bytes(&draft->record));
}

/* Makes the file as long as it is to be, so that look_for_own_end finds what a kill leaves to be
 * the step's own. If the file cannot be made longer, the write says why. */
static szgpu_status begin_archive(step_draft *draft, uint64_t archive_bytes) {
  szgpu_series *const series = draft->series;
  SZG_TRY(write_record(draft));
  if (series->has_file)
    szg_series_file_extend(&series->file, draft->archive_offset + archive_bytes);
  return SZGPU_OK;
}

static szgpu_status refuse_to_write(szgpu_series *series) {
  return szg_series_fail(series, SZGPU_BAD_ARGUMENT, "the series was opened to read only");
}

static szgpu_status begin(szgpu_series *series, const szgpu_label *label, step_draft *draft) {
  if (!series->store.write) return refuse_to_write(series);
  *draft = (step_draft){.series = series};
  SZG_TRY(take_label(series, label, &draft->record));
  SZG_TRY(szg_buffer_reserve(&series->places, sizeof(szg_step_place)));
  draft->archive_offset = series->end_offset + szg_record_bytes(&draft->record);
  if (series->end_status == SZGPU_UNFINISHED) {
    SZG_TRY(refuse_hidden_steps(series));
    SZG_TRY(cut(series));
  }
  if (series->end_status == SZGPU_OK) return SZGPU_OK;
  return szg_series_fail(
      series, series->end_status,
      "cannot be read from step %llu on; replace the series with an intact copy, or cut it there",
      (unsigned long long)szgpu_series_count(series));
}

static int write_archive(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  step_draft *const draft = user;
  if (offset + byte_count > draft->written_bytes) draft->written_bytes = offset + byte_count;
  draft->status = write_bytes(draft->series, draft->archive_offset + offset, bytes, byte_count);
  return draft->status != SZGPU_OK;
}

/* The archive's header, read back from the store, must say that it has these bytes. */
static szgpu_status check_archive(const step_draft *draft, uint64_t archive_bytes) {
  szgpu_info info = {.struct_bytes = sizeof info};
  SZG_TRY(szg_series_inspect_at(draft->series, draft->archive_offset, archive_bytes, &info));
  SZG_REQUIRE(archive_bytes >= info.archive_bytes, SZGPU_TRUNCATED);
  SZG_REQUIRE(archive_bytes == info.archive_bytes, SZGPU_TRAILING_BYTES);
  return SZGPU_OK;
}

static szgpu_status finish(step_draft *draft, uint64_t archive_bytes) {
  szgpu_series *const series = draft->series;
  szg_step_place const place = {draft->archive_offset, archive_bytes};
  uint64_t const end_offset = place.archive_offset + place.archive_bytes;
  uint8_t bytes[SZG_RECORD_MOST_BYTES];
  SZG_TRY(check_archive(draft, archive_bytes));
  if (draft->written_bytes > archive_bytes) SZG_TRY(cut_to(series, end_offset));
  SZG_TRY(sync(series));
  draft->record.archive_bytes = archive_bytes;
  szg_record_write(&draft->record, bytes);
  SZG_TRY(write_bytes(series, series->end_offset + SZG_RECORD_COMMIT_OFFSET,
                      bytes + SZG_RECORD_COMMIT_OFFSET, SZG_RECORD_COMMIT_BYTES));
  SZG_TRY(sync(series));
  memcpy(series->places.bytes + series->places.used_bytes, &place, sizeof place);
  __atomic_store_n(&series->places.used_bytes, series->places.used_bytes + sizeof place,
                   __ATOMIC_RELEASE);
  series->end_offset = end_offset;
  series->end_status = SZGPU_OK;
  series->end_record = (szg_record){0};
  return SZGPU_OK;
}

/* The call's result. After a failure, what was written is cut off, if the store still can. */
static szgpu_status end(step_draft *draft, szgpu_status status, uint64_t archive_bytes) {
  szgpu_series *const series = draft->series;
  if (status == SZGPU_OK) status = finish(draft, archive_bytes);
  if (status == SZGPU_OK) return SZGPU_OK;
  int const error_number = series->file.error_number;
  if (cut(series) != SZGPU_OK) series->file.error_number = error_number;
  return status;
}

/* ---- where the archive comes from ---- */

static szgpu_status append_archive(szgpu_series *series, const void *archive, size_t archive_bytes,
                                   const szgpu_label *label) {
  step_draft draft;
  szgpu_info info = {.struct_bytes = sizeof info};
  SZG_TRY(szgpu_inspect(archive, archive_bytes, &info)); /* before the series is touched */
  SZG_TRY(begin(series, label, &draft));
  szgpu_status status = begin_archive(&draft, archive_bytes);
  if (status == SZGPU_OK && write_archive(&draft, 0, archive, archive_bytes)) status = draft.status;
  return end(&draft, status, archive_bytes);
}

szgpu_status szgpu_series_append_archive(szgpu_series *series, const void *archive,
                                         size_t archive_bytes, const szgpu_label *label) {
  SZG_TRY(szg_series_enter(series, NULL, szgpu_series_count(series)));
  return szg_series_leave(series, append_archive(series, archive, archive_bytes, label));
}

static szgpu_status copy_archive(step_draft *draft, const szgpu_source *archive,
                                 uint64_t archive_bytes) {
  enum { PIECE_BYTES = 1 << 20 };
  szg_buffer *const piece = &draft->series->bytes;
  SZG_TRY(szg_buffer_reset(piece, PIECE_BYTES));
  for (uint64_t offset = 0; offset < archive_bytes;) {
    size_t const wanted = (size_t)szg_min_u64(PIECE_BYTES, archive_bytes - offset);
    size_t got_bytes = 0;
    SZG_REQUIRE(archive->read(archive->user, offset, piece->bytes, wanted, &got_bytes) == 0,
                SZGPU_SOURCE_FAILED);
    SZG_REQUIRE(got_bytes == wanted, SZGPU_TRUNCATED);
    SZG_REQUIRE(write_archive(draft, offset, piece->bytes, got_bytes) == 0, draft->status);
    offset += got_bytes;
  }
  return SZGPU_OK;
}

static szgpu_status append_source(szgpu_series *series, const szgpu_source *archive,
                                  uint64_t archive_bytes, const szgpu_label *label) {
  step_draft draft;
  SZG_REQUIRE(archive && archive->read, SZGPU_BAD_ARGUMENT);
  SZG_TRY(begin(series, label, &draft));
  szgpu_status status = begin_archive(&draft, archive_bytes);
  if (status == SZGPU_OK) status = copy_archive(&draft, archive, archive_bytes);
  return end(&draft, status, archive_bytes);
}

szgpu_status szgpu_series_append_source(szgpu_series *series, const szgpu_source *archive,
                                        uint64_t archive_bytes, const szgpu_label *label) {
  SZG_TRY(szg_series_enter(series, NULL, szgpu_series_count(series)));
  return szg_series_leave(series, append_source(series, archive, archive_bytes, label));
}

static szgpu_status append_stream(szgpu_series *series, szgpu_ctx *const *ctxs, int ctx_count,
                                  const szgpu_params *params, const szgpu_shape *shape,
                                  const szgpu_source *field, const szgpu_label *label) {
  step_draft draft;
  szgpu_sink const sink = {.write = write_archive, .user = &draft};
  uint64_t archive_bytes = 0;
  SZG_TRY(begin(series, label, &draft));
  szgpu_status status = write_record(&draft);
  if (status == SZGPU_OK)
    status = szgpu_compress_stream(ctxs, ctx_count, params, shape, field, &sink, &archive_bytes);
  if (status == SZGPU_SINK_FAILED && draft.status == SZGPU_SERIES_CHANGED)
    status = refuse_changed_file(series); /* once more, in place of the sentence of the sink */
  else if (status == SZGPU_SINK_FAILED)
    status = szg_series_blame_store(series, status);
  return end(&draft, status, archive_bytes);
}

szgpu_status szgpu_series_append_stream(szgpu_series *series, szgpu_ctx *const *ctxs, int ctx_count,
                                        const szgpu_params *params, const szgpu_shape *shape,
                                        const szgpu_source *field, const szgpu_label *label) {
  szgpu_ctx *const ctx = ctxs && ctx_count > 0 ? ctxs[0] : NULL;
  SZG_TRY(szg_series_enter(series, ctx, szgpu_series_count(series)));
  return szg_series_leave(series,
                          append_stream(series, ctxs, ctx_count, params, shape, field, label));
}

static szgpu_status append_field(szgpu_series *series, szgpu_ctx *ctx, const szgpu_params *params,
                                 const szgpu_shape *shape, const void *field,
                                 const szgpu_label *label) {
  size_t most_bytes = 0, archive_bytes = 0;
  szg_buffer *const archive = &series->archive;
  if (!series->store.write) return refuse_to_write(series);
  SZG_TRY(szgpu_sizes(ctx, params, shape, NULL, &most_bytes));
  SZG_TRY(szg_buffer_reset(archive, most_bytes));
  SZG_TRY(szgpu_compress(ctx, params, shape, field, archive->bytes, most_bytes, &archive_bytes));
  return append_archive(series, archive->bytes, archive_bytes, label);
}

szgpu_status szgpu_series_append(szgpu_series *series, szgpu_ctx *ctx, const szgpu_params *params,
                                 const szgpu_shape *shape, const void *field,
                                 const szgpu_label *label) {
  SZG_TRY(szg_series_enter(series, ctx, szgpu_series_count(series)));
  return szg_series_leave(series, append_field(series, ctx, params, shape, field, label));
}
