/* open.c - reads an archive's header and checks it against the shape that it states.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/open.h"

#include "container/compact.h"
#include "container/header_core.h"
#include "core/once.h"

/* What follows from the header, which is checked by itself. */
static szgpu_status check_shape(szg_opened *opened) {
  szg_header *const header = &opened->header;
  szg_grid *const grid = &opened->grid;
  SZG_REQUIRE(szg_shape_is_valid(&header->shape), SZGPU_BAD_DATA);
  *grid = szg_header_grid(header);
  SZG_REQUIRE(szg_header_frames_are_sound(header, grid), SZGPU_BAD_DATA);
  SZG_REQUIRE(szg_header_bytes(header, &opened->first_offset), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

static szgpu_status open_plain(const uint8_t *archive, uint64_t available_bytes,
                               szg_opened *opened) {
  *opened = (szg_opened){.bytes = archive, .available_bytes = available_bytes, .head = archive};
  SZG_TRY(szg_header_read(archive, available_bytes, &opened->header));
  opened->archive_bytes = opened->header.archive_bytes;
  return check_shape(opened);
}

/* The header as it would be, without a frame, is checked like any other. */
static szgpu_status open_compact_header(const uint8_t *archive, uint64_t available_bytes,
                                        szg_opened *opened) {
  enum { MOST_BYTES = SZG_HEADER_BYTES + 8 + SZG_MOST_MORE_BYTES + SZG_CHECKSUM_BYTES + 8 };
  uint8_t bytes[MOST_BYTES];
  uint64_t header_bytes, archive_bytes;
  szg_header header;
  SZG_TRY(szg_compact_read_header(archive, available_bytes, &header));
  SZG_REQUIRE(szg_header_bytes(&header, &header_bytes), SZGPU_BAD_DATA);
  assert(header_bytes <= sizeof bytes);
  archive_bytes = header.archive_bytes;
  header.archive_bytes = header_bytes;
  szg_header_write(&header, (uint64_t[]){0}, bytes);
  SZG_TRY(open_plain(bytes, header_bytes, opened));
  opened->bytes = opened->head = NULL;
  opened->available_bytes = 0;
  opened->archive_bytes = archive_bytes;
  opened->is_compact = true;
  return SZGPU_OK;
}

szgpu_status szg_open_in_place(const void *archive, uint64_t available_bytes, szg_opened *opened) {
  return szg_is_compact(archive, available_bytes)
             ? open_compact_header(archive, available_bytes, opened)
             : open_plain(archive, available_bytes, opened);
}

static szgpu_status open_compact(const uint8_t *archive, uint64_t available_bytes, szg_buffer *head,
                                 szg_opened *opened) {
  const uint8_t *plain;
  uint64_t plain_bytes, archive_bytes;
  SZG_TRY(szg_compact_read(archive, available_bytes, head, &plain, &plain_bytes));
  SZG_TRY(szg_compact_size(head->bytes, head->used_bytes, &archive_bytes));
  SZG_TRY(open_plain(plain, plain_bytes, opened));
  opened->archive_bytes = archive_bytes;
  opened->is_compact = true;
  return SZGPU_OK;
}

/* The first check says how large the copy is, and that the archive has so many bytes. Only the
 * second one counts. */
szgpu_status szg_open(const void *archive, uint64_t available_bytes, szg_buffer *head,
                      szg_opened *opened) {
  uint64_t head_bytes = 0;
  if (szg_is_compact(archive, available_bytes))
    return open_compact(archive, available_bytes, head, opened);
  SZG_TRY(open_plain(archive, available_bytes, opened));
  SZG_REQUIRE(szg_header_bytes(&opened->header, &head_bytes), SZGPU_BAD_DATA);
  SZG_TRY(szg_buffer_reset(head, head_bytes));
  szg_copy_once(head->bytes, archive, head_bytes);
  SZG_TRY(open_plain(head->bytes, head_bytes, opened));
  opened->bytes = archive;
  opened->available_bytes = available_bytes;
  return SZGPU_OK;
}

szg_opened szg_opened_frame(const szg_opened *opened, uint64_t frame, const void *bytes,
                            uint64_t available_bytes) {
  szg_opened part = *opened;
  part.bytes = bytes;
  part.available_bytes = available_bytes;
  part.first_frame = frame;
  part.first_offset = 0;
  part.is_part = true;
  return part;
}

uint64_t szg_frame_bytes(const szg_opened *opened, uint64_t frame) {
  return szg_header_frame_bytes(opened->head, frame);
}

uint64_t szg_frame_offset(const szg_opened *opened, uint64_t frame) {
  uint64_t offset = opened->first_offset;
  assert(frame >= opened->first_frame);
  for (uint64_t i = opened->first_frame; i < frame; i++) offset += szg_frame_bytes(opened, i);
  return offset;
}

uint64_t szg_frame_row_count(const szg_opened *opened, uint64_t frame) {
  uint64_t const rows = opened->header.frame_rows;
  return szg_min_u64(rows, opened->grid.row_extent - frame * rows);
}
