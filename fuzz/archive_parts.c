/* archive_parts.c - an archive in parts that can be changed, and put together again.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_parts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
  BLOCK_BYTES = 16384,
  PIECE_BYTES = 1 << 20,
  MOST_RAW_BYTES = 1 << 20, /* of sections to be changed: those of a few KiB unpack to no more */
  /* Offsets in the archive's header and in that of a frame. */
  HEADER_FLAGS = 12,
  HEADER_FRAME_COUNT = 104,
  HEADER_ARCHIVE_BYTES = 112,
  FRAME_SECTION_COUNT = 32,
  /* Of the compact form, and offsets in it. */
  COMPACT_VERSION = 9,
  COMPACT_SIZE = 9,
  COMPACT_CHECKSUM = 12,
  COMPACT_HEAD_BYTES = 16
};

static uint64_t padded(uint64_t byte_count) { return (byte_count + 15) / 16 * 16; }
/* Limits take 16 bytes, fill values after the first 8 each. */
static size_t more_bytes(const uint8_t *header) {
  uint64_t const flags = fuzz_load(header + HEADER_FLAGS, 4);
  return (flags & 4 ? 16 : 0) + 8 * (flags >> 3 & 3);
}
static size_t header_bytes(const uint8_t *header, uint64_t frame_count) {
  return padded(PARTS_HEADER_BYTES + 8 * frame_count + more_bytes(header) + 8);
}

/* ---- checksums ---- */

static uint64_t section_checksum(const uint8_t *bytes, size_t byte_count) {
  size_t const block_count = (byte_count + BLOCK_BYTES - 1) / BLOCK_BYTES;
  uint64_t *const hashes = fuzz_allocate(block_count * sizeof *hashes);
  for (size_t i = 0; i < block_count; i++) {
    size_t const left = byte_count - i * BLOCK_BYTES;
    hashes[i] = XXH3_64bits(bytes + i * BLOCK_BYTES, left < BLOCK_BYTES ? left : BLOCK_BYTES);
  }
  uint64_t const checksum = XXH3_64bits(hashes, block_count * sizeof *hashes);
  free(hashes);
  return checksum;
}

static void mend_frame(uint8_t *frame, size_t byte_count) {
  if (byte_count < PARTS_FRAME_BYTES + 8) return;
  uint64_t const section_count = fuzz_load(frame + FRAME_SECTION_COUNT, 4);
  uint64_t const table_end = PARTS_FRAME_BYTES + PARTS_ENTRY_BYTES * section_count;
  if (section_count > PARTS_MOST_SECTIONS || table_end + 8 > byte_count) return;
  size_t at = table_end + 8;
  for (uint64_t i = 0; i < section_count; i++) {
    uint8_t *const entry = frame + PARTS_FRAME_BYTES + PARTS_ENTRY_BYTES * i;
    uint64_t const stored_bytes = fuzz_load(entry + ENTRY_STORED_BYTES, 8);
    if (stored_bytes > byte_count - at || padded(stored_bytes) > byte_count - at) break;
    fuzz_store(entry + ENTRY_CHECKSUM, 8, section_checksum(frame + at, padded(stored_bytes)));
    at += padded(stored_bytes);
  }
  fuzz_store(frame + table_end, 8, XXH3_64bits(frame, table_end));
}

/* Archives in their compact form are not taken apart. */
static bool is_compact(const uint8_t *archive, size_t archive_bytes) {
  return archive_bytes >= COMPACT_HEAD_BYTES && archive[8] == COMPACT_VERSION;
}

/* Also the size that it states, to that of the data, so that most changes reach what comes next. */
static void mend_compact(uint8_t *archive, size_t archive_bytes) {
  size_t const whole = archive_bytes / 16 * 16, blocks = whole / BLOCK_BYTES + 1;
  uint64_t const stated = fuzz_load(archive + COMPACT_SIZE, 3);
  uint64_t *const words = fuzz_allocate((2 + blocks) * sizeof *words);
  size_t count = 2;
  if (padded(stated) != whole) fuzz_store(archive + COMPACT_SIZE, 3, whole);
  words[0] = fuzz_load(archive, 8);
  words[1] = fuzz_load(archive + 8, 4);
  for (size_t at = COMPACT_HEAD_BYTES; at < whole; at += BLOCK_BYTES)
    words[count++] = XXH3_64bits(archive + at, whole - at < BLOCK_BYTES ? whole - at : BLOCK_BYTES);
  fuzz_store(archive + COMPACT_CHECKSUM, 4, XXH3_64bits(words, count * sizeof *words));
  free(words);
}

void archive_mend(uint8_t *archive, size_t archive_bytes) {
  if (is_compact(archive, archive_bytes)) {
    mend_compact(archive, archive_bytes);
    return;
  }
  if (archive_bytes < PARTS_HEADER_BYTES + 16) return;
  uint64_t const frame_count = fuzz_load(archive + HEADER_FRAME_COUNT, 8);
  if (frame_count > archive_bytes / 8 || header_bytes(archive, frame_count) > archive_bytes) return;
  size_t at = header_bytes(archive, frame_count);
  for (uint64_t i = 0; i < frame_count && at < archive_bytes; i++) {
    mend_frame(archive + at, archive_bytes - at);
    uint64_t const frame_bytes = fuzz_load(archive + PARTS_HEADER_BYTES + 8 * i, 8);
    if (frame_bytes > archive_bytes - at) break;
    at += frame_bytes;
  }
  size_t const end = header_bytes(archive, frame_count) - 8;
  fuzz_store(archive + end, 8, XXH3_64bits(archive, end));
}

/* ---- taking apart ---- */

/* False if the section table does not fit. */
static bool take_frame(const uint8_t *bytes, size_t byte_count, frame_parts *frame) {
  if (byte_count < PARTS_FRAME_BYTES + 8) return false;
  uint64_t const section_count = fuzz_load(bytes + FRAME_SECTION_COUNT, 4);
  size_t at = PARTS_FRAME_BYTES + PARTS_ENTRY_BYTES * section_count + 8;
  if (section_count > PARTS_MOST_SECTIONS || at > byte_count) return false;
  memcpy(frame->header, bytes, PARTS_FRAME_BYTES);
  frame->section_count = (uint32_t)section_count;
  for (uint64_t i = 0; i < section_count; i++) {
    section_parts *const section = &frame->sections[i];
    memcpy(section->entry, bytes + PARTS_FRAME_BYTES + PARTS_ENTRY_BYTES * i, PARTS_ENTRY_BYTES);
    uint64_t const stored_bytes = fuzz_load(section->entry + ENTRY_STORED_BYTES, 8);
    section->byte_count = stored_bytes < byte_count - at ? stored_bytes : byte_count - at;
    section->bytes = fuzz_copy(bytes + at, section->byte_count);
    at += padded(section->byte_count);
    if (at > byte_count) at = byte_count;
  }
  return true;
}

archive_parts *parts_take(const uint8_t *archive, size_t archive_bytes) {
  if (archive_bytes < PARTS_HEADER_BYTES + 16 || is_compact(archive, archive_bytes)) return NULL;
  uint64_t const frame_count = fuzz_load(archive + HEADER_FRAME_COUNT, 8);
  if (frame_count == 0 || frame_count > PARTS_MOST_FRAMES) return NULL;
  if (header_bytes(archive, frame_count) > archive_bytes) return NULL;
  archive_parts *const parts = calloc(1, sizeof *parts);
  FUZZ_CHECK(parts, "no memory");
  memcpy(parts->header, archive, PARTS_HEADER_BYTES);
  memcpy(parts->more, archive + PARTS_HEADER_BYTES + 8 * frame_count, more_bytes(archive));
  size_t at = header_bytes(archive, frame_count);
  for (uint64_t i = 0; i < frame_count; i++) {
    if (!take_frame(archive + at, archive_bytes - at, &parts->frames[i])) break;
    parts->frame_count++;
    uint64_t const frame_bytes = fuzz_load(archive + PARTS_HEADER_BYTES + 8 * i, 8);
    if (frame_bytes > archive_bytes - at) break;
    at += frame_bytes;
  }
  if (parts->frame_count > 0) return parts;
  parts_free(parts);
  return NULL;
}

void frame_free(frame_parts *frame) {
  for (uint32_t i = 0; i < frame->section_count; i++) free(frame->sections[i].bytes);
  frame->section_count = 0;
}

void parts_free(archive_parts *parts) {
  for (uint32_t i = 0; i < parts->frame_count; i++) frame_free(&parts->frames[i]);
  free(parts);
}

/* ---- putting together ---- */

/* Returns the frame's size, or 0 if it does not fit. */
static size_t write_frame(const frame_parts *frame, uint8_t *out, size_t capacity) {
  size_t at = PARTS_FRAME_BYTES + PARTS_ENTRY_BYTES * frame->section_count + 8;
  if (at > capacity) return 0;
  memcpy(out, frame->header, PARTS_FRAME_BYTES);
  fuzz_store(out + FRAME_SECTION_COUNT, 4, frame->section_count);
  for (uint32_t i = 0; i < frame->section_count; i++) {
    const section_parts *const section = &frame->sections[i];
    uint8_t *const entry = out + PARTS_FRAME_BYTES + PARTS_ENTRY_BYTES * i;
    memcpy(entry, section->entry, PARTS_ENTRY_BYTES);
    fuzz_store(entry + ENTRY_STORED_BYTES, 8, section->byte_count);
    size_t const with_padding = padded(section->byte_count);
    if (with_padding > capacity - at) return 0;
    memset(out + at, 0, with_padding);
    memcpy(out + at, section->bytes, section->byte_count);
    at += with_padding;
  }
  return at;
}

size_t parts_write(const archive_parts *parts, uint8_t *archive, size_t capacity) {
  size_t at = header_bytes(parts->header, parts->frame_count);
  if (at > capacity) return 0;
  memset(archive, 0, at);
  memcpy(archive, parts->header, PARTS_HEADER_BYTES);
  memcpy(archive + PARTS_HEADER_BYTES + 8 * (size_t)parts->frame_count, parts->more,
         more_bytes(parts->header));
  for (uint32_t i = 0; i < parts->frame_count; i++) {
    size_t const frame_bytes = write_frame(&parts->frames[i], archive + at, capacity - at);
    if (frame_bytes == 0) return 0;
    fuzz_store(archive + PARTS_HEADER_BYTES + 8 * i, 8, frame_bytes);
    at += frame_bytes;
  }
  fuzz_store(archive + HEADER_ARCHIVE_BYTES, 8, at);
  archive_mend(archive, at);
  return at;
}

void section_copy(const section_parts *from, section_parts *to) {
  *to = *from;
  to->bytes = fuzz_copy(from->bytes, from->byte_count);
}

void frame_copy(const frame_parts *from, frame_parts *to) {
  *to = *from;
  for (uint32_t i = 0; i < from->section_count; i++)
    section_copy(&from->sections[i], &to->sections[i]);
}

/* ---- contents of sections ---- */

bool section_has_zstd(const section_parts *section) {
  return fuzz_load(section->entry + ENTRY_CODEC, 4) == 1;
}

uint8_t *section_unpack(const section_parts *section, size_t room, size_t *byte_count) {
  if (!section_has_zstd(section)) {
    *byte_count = section->byte_count;
    uint8_t *const raw = fuzz_allocate(section->byte_count + room);
    if (section->byte_count > 0) memcpy(raw, section->bytes, section->byte_count);
    return raw;
  }
  uint64_t const raw_bytes = fuzz_load(section->entry + ENTRY_RAW_BYTES, 8);
  if (raw_bytes > MOST_RAW_BYTES) return NULL;
  uint8_t *const raw = fuzz_allocate(raw_bytes + room);
  *byte_count = ZSTD_decompress(raw, raw_bytes, section->bytes, section->byte_count);
  if (!ZSTD_isError(*byte_count)) return raw;
  free(raw);
  return NULL;
}

void section_pack(section_parts *section, uint8_t *raw, size_t byte_count, bool has_zstd) {
  free(section->bytes);
  fuzz_store(section->entry + ENTRY_RAW_BYTES, 8, byte_count);
  fuzz_store(section->entry + ENTRY_CODEC, 4, has_zstd);
  section->bytes = raw;
  section->byte_count = byte_count;
  if (!has_zstd) return;
  size_t const piece_bound =
      ZSTD_compressBound(byte_count < PIECE_BYTES ? byte_count : PIECE_BYTES);
  size_t const piece_count = byte_count / PIECE_BYTES + 1;
  section->bytes = fuzz_allocate(piece_count * piece_bound);
  section->byte_count = 0;
  for (size_t at = 0; at < byte_count; at += PIECE_BYTES) {
    size_t const piece = byte_count - at < PIECE_BYTES ? byte_count - at : PIECE_BYTES;
    section->byte_count +=
        ZSTD_compress(section->bytes + section->byte_count, piece_bound, raw + at, piece, 1);
  }
  free(raw);
}
