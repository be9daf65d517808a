/* record.h - the record before each archive of a series; docs/format.md, section 17.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SERIES_RECORD_H
#define SZG_SERIES_RECORD_H

#include <stdbool.h>

#include "container/format.h"
#include "core/status.h"
#include "szgpu_series.h"

static_assert((int)SZGPU_MOST_STEP_NAME_BYTES == (int)SZG_RECORD_MOST_NAME_BYTES, "one limit");

typedef struct szg_record {
  uint64_t archive_bytes; /* 0: the step is not finished */
  bool has_time;
  double time;
  uint32_t name_bytes;
  char name[SZG_RECORD_MOST_NAME_BYTES + 1];
} szg_record;

/* The size of the record, a multiple of SZG_ALIGNMENT. */
uint64_t szg_record_bytes(const szg_record *record);

/* The same by the first SZG_RECORD_HEAD_BYTES bytes of any record, which may claim anything. */
uint64_t szg_record_bytes_by_head(const uint8_t *bytes);

/* Writes szg_record_bytes bytes. */
void szg_record_write(const szg_record *record, uint8_t *bytes);

/* Checks and reads the record at `offset` of a series of series_bytes bytes; bytes[byte_count] are
 * the first SZG_RECORD_MOST_BYTES from there on, or as many as there are, at least one.
 *
 * SZGPU_UNFINISHED: *record then has name and time if they can be told, else none.
 * SZGPU_NOT_A_SERIES, at offset 0 only; SZGPU_NEWER_VERSION, SZGPU_TRUNCATED, SZGPU_BAD_CHECKSUM,
 * SZGPU_BAD_DATA: *record is empty, but after SZGPU_TRUNCATED it has what the record says. */
szgpu_status szg_record_read(const uint8_t *bytes, size_t byte_count, uint64_t offset,
                             uint64_t series_bytes, szg_record *record) SZG_CHECKED;

#endif
