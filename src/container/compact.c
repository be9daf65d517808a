/* compact.c - small archives in their compact form, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/compact.h"

#include "container/checksum.h"
#include "container/compact_core.h"
#include "core/once.h"

enum { MOST_BYTES = 1 << 24 };

/* The leaves of the tree are hashed together with what comes before the checksum. */
static uint32_t checksum_of(const uint8_t *bytes, uint64_t padded_bytes) {
  enum { FRONT_WORDS = SZG_COMPACT_HEAD_BYTES / 8 };
  uint64_t words[FRONT_WORDS + MOST_BYTES / SZG_CHECKSUM_BLOCK_BYTES];
  uint64_t count = FRONT_WORDS;
  words[0] = szg_load_u64(bytes);
  words[1] = szg_load_u32(bytes + 8); /* zeros in place of the checksum */
  for (uint64_t at = SZG_COMPACT_HEAD_BYTES; at < padded_bytes; at += SZG_CHECKSUM_BLOCK_BYTES)
    words[count++] = szg_checksum_plain(
        bytes + at, (size_t)szg_min_u64(SZG_CHECKSUM_BLOCK_BYTES, padded_bytes - at));
  return (uint32_t)szg_checksum_plain((const uint8_t *)words, count * sizeof *words);
}

/* The same tree as of every section. */
static uint64_t section_checksum(const uint8_t *bytes, uint64_t padded_bytes) {
  uint64_t leaves[MOST_BYTES / SZG_CHECKSUM_BLOCK_BYTES];
  uint64_t count = 0;
  for (uint64_t at = 0; at < padded_bytes; at += SZG_CHECKSUM_BLOCK_BYTES)
    leaves[count++] = szg_checksum_plain(
        bytes + at, (size_t)szg_min_u64(SZG_CHECKSUM_BLOCK_BYTES, padded_bytes - at));
  return szg_checksum_plain((const uint8_t *)leaves, count * sizeof *leaves);
}

/* ---- writing ---- */

/* Copies what is copied, and completes the archive. */
static void seal(const uint8_t *plain, const szg_compact_copies *copies, uint64_t content_bytes,
                 uint8_t *bytes) {
  uint64_t const padded_bytes = szg_align_up(content_bytes, SZG_ALIGNMENT);
  for (uint32_t i = 0; i < copies->count; i++)
    memcpy(bytes + copies->compact_at[i], plain + copies->plain_at[i], copies->byte_count[i]);
  memset(bytes + content_bytes, 0, padded_bytes - content_bytes);
  szg_store_u32(bytes + SZG_COMPACT_CHECKSUM_OFFSET, checksum_of(bytes, padded_bytes));
}

/* room: plain_bytes or more. */
static szgpu_status write_roomy(const uint8_t *plain, uint64_t plain_bytes, uint8_t *bytes,
                                uint64_t room, uint64_t *used_bytes) {
  szg_header header;
  szg_frame_header frame;
  szg_compact_copies copies;
  uint64_t header_bytes, content_bytes;
  SZG_TRY(szg_header_read(plain, plain_bytes, &header));
  SZG_REQUIRE(szg_header_bytes(&header, &header_bytes) && header.frame_count == 1, SZGPU_BAD_DATA);
  SZG_TRY(szg_frame_header_read(plain + header_bytes, plain_bytes - header_bytes,
                                plain_bytes - header_bytes, &frame));
  content_bytes = szg_compact_put(plain, &header, &frame, header_bytes, bytes, room, &copies);
  bool const is_smaller = szg_compact_pays(content_bytes, plain_bytes);
  *used_bytes = is_smaller ? szg_align_up(content_bytes, SZG_ALIGNMENT) : plain_bytes;
  if (is_smaller)
    seal(plain, &copies, content_bytes, bytes);
  else
    memcpy(bytes, plain, plain_bytes);
  return SZGPU_OK;
}

szgpu_status szg_compact_write(szgpu_ctx *ctx, const uint8_t *plain, uint64_t plain_bytes,
                               uint8_t *bytes, uint64_t room, uint64_t *used_bytes) {
  if (room >= plain_bytes) return write_roomy(plain, plain_bytes, bytes, room, used_bytes);
  szg_buffer *const own = &ctx->kept[SZG_KEPT_PACKED];
  SZG_TRY(szg_buffer_reset(own, plain_bytes));
  SZG_TRY(write_roomy(plain, plain_bytes, own->bytes, plain_bytes, used_bytes));
  if (*used_bytes > room)
    return szg_fail(ctx, SZGPU_CAPACITY, "over %llu bytes are needed", (unsigned long long)room);
  memcpy(bytes, own->bytes, *used_bytes);
  return SZGPU_OK;
}

/* ---- reading ---- */

bool szg_is_compact(const uint8_t *bytes, uint64_t available_bytes) {
  return available_bytes >= 12 && memcmp(bytes, SZG_MAGIC, SZG_MAGIC_BYTES) == 0 &&
         bytes[8] == SZG_FORMAT_VERSION_COMPACT;
}

szgpu_status szg_compact_size(const uint8_t *bytes, uint64_t available_bytes,
                              uint64_t *archive_bytes) {
  SZG_REQUIRE(available_bytes >= SZG_COMPACT_HEAD_BYTES, SZGPU_TRUNCATED);
  uint32_t const content_bytes = szg_compact_stated_bytes(bytes);
  SZG_REQUIRE(content_bytes > SZG_COMPACT_HEAD_BYTES, SZGPU_BAD_DATA);
  *archive_bytes = szg_align_up(content_bytes, SZG_ALIGNMENT);
  return SZGPU_OK;
}

/* Checks the whole archive, and reads both headers. */
static szgpu_status read_heads(const uint8_t *bytes, uint64_t archive_bytes,
                               szg_compact_archive *archive) {
  SZG_REQUIRE(
      szg_load_u32(bytes + SZG_COMPACT_CHECKSUM_OFFSET) == checksum_of(bytes, archive_bytes),
      SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(szg_compact_take_heads(bytes, szg_compact_stated_bytes(bytes), archive),
              SZGPU_BAD_DATA);
  SZG_REQUIRE(szg_shape_is_valid(&archive->header.shape), SZGPU_BAD_DATA);
  archive->header.frame_rows = szg_header_grid(&archive->header).row_extent;
  szg_header_note_frame(&archive->header, &archive->frame);
  return SZGPU_OK;
}

/* `memory` has the archive, and room for the plain one behind it. */
static szgpu_status expand(szg_compact_archive *archive, const uint8_t *bytes, uint8_t *plain,
                           uint64_t room, uint64_t *plain_bytes) {
  szg_frame_header *const frame = &archive->frame;
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(&archive->header, &header_bytes), SZGPU_BAD_DATA);
  *plain_bytes =
      szg_compact_take(archive, szg_compact_stated_bytes(bytes), header_bytes, plain, room);
  SZG_REQUIRE(*plain_bytes > 0, SZGPU_BAD_DATA);
  const szg_compact_copies *const copies = &archive->copies;
  for (uint32_t i = 0; i < copies->count; i++)
    memcpy(plain + copies->plain_at[i], bytes + copies->compact_at[i], copies->byte_count[i]);
  uint64_t at = header_bytes + szg_frame_header_bytes(frame->section_count);
  for (uint32_t i = 0; i < frame->section_count; i++) {
    uint64_t const padded_bytes = szg_align_up(frame->sections[i].stored_bytes, SZG_ALIGNMENT);
    frame->sections[i].checksum = section_checksum(plain + at, padded_bytes);
    at += padded_bytes;
  }
  uint64_t const frame_bytes = *plain_bytes - header_bytes;
  archive->header.archive_bytes = *plain_bytes;
  szg_header_write(&archive->header, &frame_bytes, plain);
  szg_frame_header_write(frame, plain + header_bytes);
  return SZGPU_OK;
}

szgpu_status szg_compact_read(const uint8_t *bytes, uint64_t available_bytes, szg_buffer *memory,
                              const uint8_t **plain, uint64_t *plain_bytes) {
  szg_compact_archive archive;
  uint64_t archive_bytes, copied_bytes;
  SZG_TRY(szg_compact_size(bytes, available_bytes, &archive_bytes));
  SZG_REQUIRE(archive_bytes <= available_bytes, SZGPU_TRUNCATED);
  SZG_TRY(szg_buffer_reset(memory, archive_bytes));
  szg_copy_once(memory->bytes, bytes, archive_bytes);
  SZG_TRY(szg_compact_size(memory->bytes, archive_bytes, &copied_bytes));
  SZG_REQUIRE(copied_bytes == archive_bytes, SZGPU_BAD_CHECKSUM); /* it has changed meanwhile */
  SZG_TRY(read_heads(memory->bytes, archive_bytes, &archive));
  uint64_t const room = szg_compact_most_plain_bytes(&archive);
  memory->used_bytes = archive_bytes;
  SZG_TRY(szg_buffer_reserve(memory, room));
  archive.in.words = memory->bytes + SZG_COMPACT_HEAD_BYTES; /* it may have moved */
  *plain = memory->bytes + archive_bytes;
  return expand(&archive, memory->bytes, memory->bytes + archive_bytes, room, plain_bytes);
}

szgpu_status szg_compact_read_header(const uint8_t *bytes, uint64_t available_bytes,
                                     szg_header *header) {
  szg_compact_archive archive;
  uint64_t archive_bytes;
  SZG_TRY(szg_compact_size(bytes, available_bytes, &archive_bytes));
  SZG_REQUIRE(archive_bytes <= available_bytes, SZGPU_TRUNCATED);
  SZG_TRY(read_heads(bytes, archive_bytes, &archive));
  *header = archive.header;
  header->archive_bytes = archive_bytes;
  return SZGPU_OK;
}
