/* series.c - opens a series by its records, and describes what is there.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "series/series.h"

#include <string.h>
#include <unistd.h>

#include "core/bytes.h"

const szg_step_place *szg_series_place(const szgpu_series *series, uint64_t index) {
  return (const szg_step_place *)(const void *)series->places.bytes + index;
}

uint64_t szgpu_series_count(const szgpu_series *series) {
  if (!series || series->process != getpid()) return 0;
  return __atomic_load_n(&series->places.used_bytes, __ATOMIC_ACQUIRE) / sizeof(szg_step_place);
}

szgpu_status szg_series_load(szgpu_series *series, uint64_t offset, void *bytes, size_t byte_count,
                             size_t *got_bytes) {
  const szgpu_store *const store = &series->store;
  *got_bytes = 0;
  bool const is_read = store->read(store->user, offset, bytes, byte_count, got_bytes) == 0;
  return is_read && *got_bytes <= byte_count ? SZGPU_OK : SZGPU_SOURCE_FAILED;
}

/* Reads the record at `offset`, which is before the end of the series. *record_bytes is its size if
 * the step is whole. */
static szgpu_status read_record(szgpu_series *series, uint64_t offset, uint64_t series_bytes,
                                szg_record *record) {
  uint8_t bytes[SZG_RECORD_MOST_BYTES];
  size_t const wanted = (size_t)szg_min_u64(sizeof bytes, series_bytes - offset);
  size_t got_bytes;
  *record = (szg_record){0};
  SZG_TRY(szg_series_load(series, offset, bytes, wanted, &got_bytes));
  SZG_REQUIRE(got_bytes == wanted, SZGPU_TRUNCATED);
  return szg_record_read(bytes, wanted, offset, series_bytes, record);
}

szgpu_status szg_series_scan(szgpu_series *series, uint64_t byte_count) {
  uint64_t offset = 0;
  szgpu_status status = SZGPU_OK;
  while (status == SZGPU_OK && offset < byte_count) {
    szg_record *const record = &series->end_record;
    status = read_record(series, offset, byte_count, record);
    if (status != SZGPU_OK) break;
    szg_step_place const place = {offset + szg_record_bytes(record), record->archive_bytes};
    SZG_TRY(szg_buffer_reserve(&series->places, sizeof place));
    memcpy(series->places.bytes + series->places.used_bytes, &place, sizeof place);
    series->places.used_bytes += sizeof place;
    offset = place.archive_offset + place.archive_bytes;
  }
  SZG_REQUIRE(status != SZGPU_SOURCE_FAILED, status);
  SZG_REQUIRE(offset > 0 || status == SZGPU_OK || status == SZGPU_UNFINISHED, status);
  series->end_offset = offset;
  series->end_status = status;
  return SZGPU_OK;
}

/* NULL if memory is out. */
static szgpu_series *make_series(void) {
  szgpu_series *const series = szg_allocate_zeroed(sizeof *series);
  if (!series) return NULL;
  series->self = series;
  series->process = getpid();
  return series;
}

szgpu_status szgpu_series_open(szgpu_series **series, const szgpu_store *store,
                               uint64_t byte_count) {
  SZG_REQUIRE(series, SZGPU_BAD_ARGUMENT);
  *series = NULL;
  SZG_REQUIRE(store && store->read, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(!store->write == !store->sync && !store->write == !store->cut, SZGPU_BAD_ARGUMENT);
  szgpu_series *const made = make_series();
  SZG_REQUIRE(made, SZGPU_OUT_OF_MEMORY);
  made->store = *store;
  szgpu_status const status = szg_series_scan(made, byte_count);
  if (status == SZGPU_OK)
    *series = made;
  else
    szg_series_release(made);
  return status;
}

szgpu_status szgpu_series_open_file(szgpu_series **series, const char *path,
                                    szgpu_series_access access, int *error_number) {
  if (error_number) *error_number = 0;
  SZG_REQUIRE(series, SZGPU_BAD_ARGUMENT);
  *series = NULL;
  SZG_REQUIRE(path && access <= SZGPU_SERIES_APPEND, SZGPU_BAD_ARGUMENT);
  szgpu_series *const made = make_series();
  SZG_REQUIRE(made, SZGPU_OUT_OF_MEMORY);
  szgpu_status status = szg_series_file_open(made, path, access);
  if (status == SZGPU_OK) status = szg_series_scan(made, made->file.byte_count);
  if (error_number) *error_number = made->file.error_number;
  if (status == SZGPU_OK)
    *series = made;
  else
    szg_series_release(made);
  return status;
}

int szgpu_series_errno(const szgpu_series *series) {
  return series && series->has_file ? series->file.error_number : 0;
}

int szgpu_series_descriptor(const szgpu_series *series) {
  return series && series->has_file ? series->file.descriptor : -1;
}

void szg_series_describe(const szg_record *record, szgpu_step *step) {
  step->archive_bytes = record->archive_bytes;
  step->has_time = record->has_time;
  step->time = record->has_time ? record->time : 0;
  memcpy(step->name, record->name, sizeof step->name);
}

static bool is_struct(const szgpu_step *step) { return step && step->struct_bytes >= sizeof *step; }

static szgpu_status describe_step(szgpu_series *series, uint64_t index, szgpu_step *step) {
  SZG_REQUIRE(is_struct(step) && index < szgpu_series_count(series), SZGPU_BAD_ARGUMENT);
  const szg_step_place *const place = szg_series_place(series, index);
  uint64_t const offset = index > 0 ? place[-1].archive_offset + place[-1].archive_bytes : 0;
  szg_record record;
  SZG_TRY(read_record(series, offset, place->archive_offset + place->archive_bytes, &record));
  SZG_REQUIRE(offset + szg_record_bytes(&record) == place->archive_offset &&
                  record.archive_bytes == place->archive_bytes,
              SZGPU_BAD_DATA);
  szg_series_describe(&record, step);
  step->archive_offset = place->archive_offset;
  return SZGPU_OK;
}

szgpu_status szgpu_series_step(szgpu_series *series, uint64_t index, szgpu_step *step) {
  SZG_TRY(szg_series_enter(series, NULL, index));
  return szg_series_leave(series, describe_step(series, index, step));
}

szgpu_status szgpu_series_end(const szgpu_series *series, szgpu_step *step) {
  SZG_REQUIRE(series && (!step || is_struct(step)), SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_series_take(series->self, NULL));
  if (step) {
    szg_record const none = {0};
    szg_series_describe(series->end_status == SZGPU_OK ? &none : &series->end_record, step);
    step->archive_offset = series->end_offset;
  }
  return szg_series_give_back(series->self, series->end_status);
}
