/* archive_edit.c - changes to archives that keep their checksums right.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_edit.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "container/compact.h"

/* Offsets and sizes of docs/format.md, not taken from the code. */
enum {
  VERSION = 8,
  FLAGS = 12,
  NO_GAPS = 2,
  HAS_LIMITS = 4,
  DTYPE = 16,
  LAYOUT = 19,
  FRAME_COUNT = 104,
  ARCHIVE_BYTES = 112,
  FRAME_TABLE = 128,
  FRAME_HEADER_BYTES = 40,
  SECTION_COUNT = 32,
  ENTRY_BYTES = 32,
  ENTRY_RAW = 8,
  ENTRY_STORED = 16,
  ENTRY_CHECKSUM = 24,
  MOST_SECTIONS = 16,
  BITSTREAM = 2,
  PLANE_WORDS = 22,
  BLOCK_BYTES = 16384
};

test_archive archive_plain(test_archive archive) {
  szg_buffer memory = {0};
  const uint8_t *bytes;
  uint64_t byte_count;
  if (!szg_is_compact(archive.bytes, archive.byte_count)) return archive;
  assert_int_equal(
      szg_compact_read(archive.bytes, archive.byte_count, &memory, &bytes, &byte_count), SZGPU_OK);
  test_archive const plain = {test_allocate(byte_count), byte_count};
  memcpy(plain.bytes, bytes, byte_count);
  szg_buffer_release(&memory);
  free(archive.bytes);
  return plain;
}

test_archive archive_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const void *field) {
  return archive_plain(test_compress(ctx, params, shape, field));
}

uint32_t archive_plain_version(const test_archive *archive) {
  test_archive const plain = archive_plain(archive_copy(archive, archive->byte_count));
  uint32_t const version = test_inspect(&plain).format_version;
  free(plain.bytes);
  return version;
}

static uint64_t load(const uint8_t *bytes, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; i++) value |= (uint64_t)bytes[i] << 8 * i;
  return value;
}

static void store(uint8_t *bytes, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t round_up(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

test_archive archive_copy(const test_archive *archive, size_t byte_count) {
  test_archive const copy = {test_allocate(byte_count), byte_count};
  if (byte_count) memcpy(copy.bytes, archive->bytes, byte_count);
  return copy;
}

/* Bytes of further fill values, which come after the limits. */
static uint64_t fills_bytes(uint64_t flags) { return 8 * (flags >> 3 & 3); }
static uint64_t limits_bytes(uint64_t flags) { return flags & HAS_LIMITS ? 16 : 0; }

size_t archive_header_bytes(const test_archive *archive) {
  uint64_t const flags = load(archive->bytes + FLAGS, 4);
  uint64_t const more_bytes = limits_bytes(flags) + fills_bytes(flags);
  return round_up(FRAME_TABLE + 8 * load(archive->bytes + FRAME_COUNT, 8) + more_bytes + 8);
}

/* The version of an archive with a bound and these flags, as high as its layout permits. */
static uint64_t version_of(const test_archive *archive, uint64_t flags) {
  if (load(archive->bytes + VERSION, 4) > 8) return load(archive->bytes + VERSION, 4);
  if (limits_bytes(flags) + fills_bytes(flags) > 0) return 8;
  if (archive->bytes[LAYOUT] == SZGPU_LAYOUT_TILE) return 7;
  if (archive->bytes[DTYPE] > SZGPU_F64) return 6;
  return flags & NO_GAPS ? 3 : 1;
}

test_archive archive_with_limits(const test_archive *archive, const double limits[2]) {
  uint64_t const old_flags = load(archive->bytes + FLAGS, 4);
  uint64_t const flags = (old_flags & ~(uint64_t)HAS_LIMITS) | (limits ? HAS_LIMITS : 0);
  size_t const table_end = FRAME_TABLE + 8 * (size_t)load(archive->bytes + FRAME_COUNT, 8);
  size_t const fills = fills_bytes(flags), own = limits_bytes(flags);
  size_t const old_header = archive_header_bytes(archive);
  size_t const header = round_up(table_end + own + fills + 8);
  test_archive made = {.byte_count = archive->byte_count - old_header + header};
  made.bytes = test_allocate(made.byte_count);
  memset(made.bytes, 0, header);
  memcpy(made.bytes, archive->bytes, table_end);
  if (limits) memcpy(made.bytes + table_end, limits, own);
  memcpy(made.bytes + table_end + own, archive->bytes + table_end + limits_bytes(old_flags), fills);
  memcpy(made.bytes + header, archive->bytes + old_header, archive->byte_count - old_header);
  store(made.bytes + VERSION, 4, version_of(archive, flags));
  store(made.bytes + FLAGS, 4, flags);
  store(made.bytes + ARCHIVE_BYTES, 8, made.byte_count);
  archive_rehash(&made);
  return made;
}

size_t archive_frame_offset(const test_archive *archive, uint64_t frame) {
  size_t offset = archive_header_bytes(archive);
  for (uint64_t i = 0; i < frame; i++) offset += load(archive->bytes + FRAME_TABLE + 8 * i, 8);
  return offset;
}

uint32_t archive_section_count(const test_archive *archive, uint64_t frame) {
  return (uint32_t)load(archive->bytes + archive_frame_offset(archive, frame) + SECTION_COUNT, 4);
}

size_t archive_entry_offset(const test_archive *archive, uint64_t frame, uint32_t section) {
  return archive_frame_offset(archive, frame) + FRAME_HEADER_BYTES + (size_t)ENTRY_BYTES * section;
}

size_t archive_section_offset(const test_archive *archive, uint64_t frame, uint32_t section) {
  size_t offset = archive_entry_offset(archive, frame, archive_section_count(archive, frame)) + 8;
  for (uint32_t i = 0; i < section; i++)
    offset +=
        round_up(load(archive->bytes + archive_entry_offset(archive, frame, i) + ENTRY_STORED, 8));
  return offset;
}

uint32_t archive_section_of_kind(const test_archive *archive, uint64_t frame, uint32_t kind) {
  for (uint32_t i = 0; i < archive_section_count(archive, frame); i++)
    if (load(archive->bytes + archive_entry_offset(archive, frame, i), 4) == kind) return i;
  fail_msg("no section of kind %u", kind);
  return 0;
}

void archive_store(test_archive *archive, size_t offset, unsigned width, uint64_t value) {
  assert_true(offset + width <= archive->byte_count);
  store(archive->bytes + offset, width, value);
}

void archive_resize_section(test_archive *archive, uint64_t frame, uint32_t section,
                            uint64_t byte_count) {
  size_t const entry = archive_entry_offset(archive, frame, section);
  size_t const begin = archive_section_offset(archive, frame, section);
  uint64_t const old_bytes = load(archive->bytes + entry + ENTRY_STORED, 8);
  uint64_t const old_room = round_up(old_bytes), room = round_up(byte_count);
  uint64_t const frame_bytes = load(archive->bytes + FRAME_TABLE + 8 * frame, 8);
  test_archive resized = {test_allocate(archive->byte_count + room - old_room),
                          archive->byte_count + room - old_room};
  memcpy(resized.bytes, archive->bytes, begin);
  memset(resized.bytes + begin, 0, room);
  memcpy(resized.bytes + begin, archive->bytes + begin,
         old_bytes < byte_count ? old_bytes : byte_count);
  memcpy(resized.bytes + begin + room, archive->bytes + begin + old_room,
         archive->byte_count - begin - old_room);
  store(resized.bytes + entry + ENTRY_RAW, 8, byte_count);
  store(resized.bytes + entry + ENTRY_STORED, 8, byte_count);
  store(resized.bytes + FRAME_TABLE + 8 * frame, 8, frame_bytes + room - old_room);
  store(resized.bytes + ARCHIVE_BYTES, 8, resized.byte_count);
  free(archive->bytes);
  *archive = resized;
}

void archive_order_as_before_7(test_archive *archive, uint64_t frame) {
  uint32_t const count = archive_section_count(archive, frame), last = count - 1;
  if (count < 3 ||
      load(archive->bytes + archive_entry_offset(archive, frame, last), 4) != PLANE_WORDS)
    return;
  size_t const entries = archive_entry_offset(archive, frame, 2);
  size_t const begin = archive_section_offset(archive, frame, 2);
  size_t const words = archive_section_offset(archive, frame, last);
  size_t const end = archive_frame_offset(archive, frame + 1);
  test_archive const old = archive_copy(archive, archive->byte_count);
  memcpy(archive->bytes + entries, old.bytes + archive_entry_offset(&old, frame, last),
         ENTRY_BYTES);
  archive_store(archive, entries, 4, BITSTREAM);
  memcpy(archive->bytes + entries + ENTRY_BYTES, old.bytes + entries,
         (size_t)ENTRY_BYTES * (last - 2));
  memcpy(archive->bytes + begin, old.bytes + words, end - words);
  memcpy(archive->bytes + begin + (end - words), old.bytes + begin, words - begin);
  free(old.bytes);
}

static uint64_t tree(const uint8_t *bytes, uint64_t byte_count) {
  uint64_t const leaf_count = (byte_count + BLOCK_BYTES - 1) / BLOCK_BYTES;
  uint8_t *const leaves = test_allocate(8 * leaf_count);
  for (uint64_t i = 0; i < leaf_count; i++) {
    uint64_t const left = byte_count - i * BLOCK_BYTES;
    store(leaves + 8 * i, 8,
          XXH3_64bits(bytes + i * BLOCK_BYTES, left < BLOCK_BYTES ? left : BLOCK_BYTES));
  }
  uint64_t const checksum = XXH3_64bits(leaves, 8 * leaf_count);
  free(leaves);
  return checksum;
}

/* Rehashes one frame: its sections, then its header. left: bytes of the archive from here. */
static void rehash_frame(uint8_t *frame, uint64_t left) {
  if (left < FRAME_HEADER_BYTES + 8) return;
  uint64_t const section_count = load(frame + SECTION_COUNT, 4);
  uint64_t const table_end = FRAME_HEADER_BYTES + ENTRY_BYTES * section_count;
  if (section_count > MOST_SECTIONS || table_end + 8 > left) return;
  uint64_t at = table_end + 8;
  for (uint64_t i = 0; i < section_count; i++) {
    uint8_t *const entry = frame + FRAME_HEADER_BYTES + ENTRY_BYTES * i;
    uint64_t const stored_bytes = load(entry + ENTRY_STORED, 8);
    if (stored_bytes > left - at || round_up(stored_bytes) > left - at) break;
    store(entry + ENTRY_CHECKSUM, 8, tree(frame + at, round_up(stored_bytes)));
    at += round_up(stored_bytes);
  }
  store(frame + table_end, 8, XXH3_64bits(frame, table_end));
}

void archive_rehash(test_archive *archive) {
  uint64_t const byte_count = archive->byte_count;
  if (byte_count < FRAME_TABLE + 16) return;
  uint64_t const frame_count = load(archive->bytes + FRAME_COUNT, 8);
  if (frame_count > (byte_count - FRAME_TABLE - 8) / 8) return;
  uint64_t const header_bytes = archive_header_bytes(archive);
  if (header_bytes > byte_count) return;
  uint64_t at = header_bytes;
  for (uint64_t frame = 0; frame < frame_count && at < byte_count; frame++) {
    rehash_frame(archive->bytes + at, byte_count - at);
    uint64_t const frame_bytes = load(archive->bytes + FRAME_TABLE + 8 * frame, 8);
    if (frame_bytes > byte_count - at) break;
    at += frame_bytes;
  }
  store(archive->bytes + header_bytes - 8, 8, XXH3_64bits(archive->bytes, header_bytes - 8));
}

test_archive archive_without_section(test_archive archive, uint32_t section) {
  size_t const frame = archive_frame_offset(&archive, 0);
  size_t const frame_bytes = archive_frame_offset(&archive, 1) - frame;
  uint32_t const section_count = archive_section_count(&archive, 0);
  size_t const entry = archive_entry_offset(&archive, 0, section);
  size_t const begin = archive_section_offset(&archive, 0, section);
  size_t const end = section + 1 < section_count ? archive_section_offset(&archive, 0, section + 1)
                                                 : frame + frame_bytes;
  memmove(archive.bytes + begin, archive.bytes + end, archive.byte_count - end);
  memmove(archive.bytes + entry, archive.bytes + entry + 32, archive.byte_count - entry - 32);
  archive.byte_count -= end - begin + 32;
  archive_store(&archive, frame + 32, 4, section_count - 1);
  archive_store(&archive, 112, 8, archive.byte_count);
  archive_store(&archive, 128, 8, frame_bytes - (end - begin) - 32);
  return archive;
}
