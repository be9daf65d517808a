/* record.c - writes a record field by field, checks every field on reading.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "series/record.h"

#include <string.h>

#include "container/checksum.h"
#include "core/bytes.h"

enum { CHECKSUM_OFFSET = SZG_RECORD_COMMIT_OFFSET + 8 };

static uint64_t bytes_with_name(uint64_t name_bytes) {
  return SZG_RECORD_HEAD_BYTES + szg_align_up(name_bytes, SZG_ALIGNMENT);
}

uint64_t szg_record_bytes(const szg_record *record) { return bytes_with_name(record->name_bytes); }

uint64_t szg_record_bytes_by_head(const uint8_t *bytes) {
  return bytes_with_name(szg_load_u32(bytes + 40));
}

/* Over the whole record, with zeros in place of the checksum. */
static uint64_t checksum_of(const uint8_t *bytes, uint64_t record_bytes) {
  uint8_t copy[SZG_RECORD_MOST_BYTES];
  memcpy(copy, bytes, record_bytes);
  szg_store_u64(copy + CHECKSUM_OFFSET, 0);
  return szg_checksum_plain(copy, record_bytes);
}

void szg_record_write(const szg_record *record, uint8_t *bytes) {
  uint64_t const record_bytes = szg_record_bytes(record);
  memset(bytes, 0, record_bytes);
  memcpy(bytes, SZG_SERIES_MAGIC, SZG_MAGIC_BYTES);
  szg_store_u32(bytes + 8, SZG_SERIES_VERSION);
  szg_store_u32(bytes + 12, record->has_time ? SZG_RECORD_HAS_TIME : 0);
  szg_store_u64(bytes + SZG_RECORD_COMMIT_OFFSET, record->archive_bytes);
  szg_store_f64(bytes + 32, record->has_time ? record->time : 0);
  szg_store_u32(bytes + 40, record->name_bytes);
  memcpy(bytes + SZG_RECORD_HEAD_BYTES, record->name, record->name_bytes);
  szg_store_u64(bytes + CHECKSUM_OFFSET, checksum_of(bytes, record_bytes));
}

static bool are_zero(const uint8_t *bytes, size_t byte_count) {
  for (size_t i = 0; i < byte_count; i++)
    if (bytes[i]) return false;
  return true;
}

/* The fields of a record that has all its bytes. */
static szgpu_status read_fields(const uint8_t *bytes, uint64_t record_bytes, szg_record *record) {
  uint32_t const flags = szg_load_u32(bytes + 12);
  uint32_t const name_bytes = szg_load_u32(bytes + 40);
  szg_record read = {.archive_bytes = szg_load_u64(bytes + SZG_RECORD_COMMIT_OFFSET),
                     .has_time = flags & SZG_RECORD_HAS_TIME,
                     .time = szg_load_f64(bytes + 32),
                     .name_bytes = name_bytes};
  SZG_REQUIRE(szg_load_u64(bytes + CHECKSUM_OFFSET) == checksum_of(bytes, record_bytes),
              SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(flags <= SZG_RECORD_HAS_TIME && szg_load_u32(bytes + 44) == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(read.has_time ? szg_is_finite(read.time) : szg_load_u64(bytes + 32) == 0,
              SZGPU_BAD_DATA);
  SZG_REQUIRE(read.archive_bytes % SZG_ALIGNMENT == 0, SZGPU_BAD_DATA);
  memcpy(read.name, bytes + SZG_RECORD_HEAD_BYTES, name_bytes);
  uint64_t const name_end = SZG_RECORD_HEAD_BYTES + (uint64_t)name_bytes;
  SZG_REQUIRE(
      strlen(read.name) == name_bytes && are_zero(bytes + name_end, record_bytes - name_end),
      SZGPU_BAD_DATA);
  *record = read;
  return SZGPU_OK;
}

szgpu_status szg_record_read(const uint8_t *bytes, size_t byte_count, uint64_t offset,
                             uint64_t series_bytes, szg_record *record) {
  size_t const magic_bytes = byte_count < SZG_MAGIC_BYTES ? byte_count : SZG_MAGIC_BYTES;
  bool const has_magic = memcmp(bytes, SZG_SERIES_MAGIC, magic_bytes) == 0;
  *record = (szg_record){0};
  /* After a loss of power a file can have zeros where nothing was written. */
  bool const may_be_zero = offset > 0 || byte_count <= SZG_MAGIC_BYTES;
  SZG_REQUIRE(has_magic || (may_be_zero && are_zero(bytes, magic_bytes)),
              offset > 0 ? SZGPU_BAD_DATA : SZGPU_NOT_A_SERIES);
  SZG_REQUIRE(byte_count < 12 || szg_load_u32(bytes + 8) <= SZG_SERIES_VERSION,
              SZGPU_NEWER_VERSION);
  bool const has_commit =
      byte_count >= CHECKSUM_OFFSET && szg_load_u64(bytes + SZG_RECORD_COMMIT_OFFSET) != 0;
  uint32_t const name_bytes =
      byte_count >= SZG_RECORD_HEAD_BYTES ? szg_load_u32(bytes + 40) : UINT32_MAX;
  bool const is_whole = has_magic && name_bytes <= SZG_RECORD_MOST_NAME_BYTES &&
                        bytes_with_name(name_bytes) <= byte_count;
  if (!has_commit) {
    if (is_whole && read_fields(bytes, bytes_with_name(name_bytes), record) != SZGPU_OK)
      *record = (szg_record){0};
    return SZGPU_UNFINISHED;
  }
  SZG_REQUIRE(has_magic && szg_load_u32(bytes + 8) > 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(byte_count >= SZG_RECORD_HEAD_BYTES, SZGPU_TRUNCATED);
  SZG_REQUIRE(name_bytes <= SZG_RECORD_MOST_NAME_BYTES, SZGPU_BAD_DATA);
  SZG_REQUIRE(is_whole, SZGPU_TRUNCATED);
  SZG_TRY(read_fields(bytes, bytes_with_name(name_bytes), record));
  uint64_t const left = series_bytes - offset - bytes_with_name(name_bytes);
  return record->archive_bytes <= left ? SZGPU_OK : SZGPU_TRUNCATED;
}
