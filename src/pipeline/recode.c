/* recode.c - packs an archive's sections with zstd, or unpacks them; nothing else changes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * zstd runs on the CPU. A GPU writes and reads archives without it, and this file converts them.
 */
#include <string.h>

#include "container/writer.h"
#include "core/bytes.h"
#include "frames/kinds.h"
#include "frames/open.h"
#include "pipeline/pipeline.h"

szgpu_status szg_plain_bytes(const szg_opened *opened, uint64_t *plain_bytes) {
  uint64_t offset = szg_frame_offset(opened, 0);
  *plain_bytes = offset;
  for (uint64_t frame = 0; frame < opened->header.frame_count; frame++) {
    szg_frame_header header;
    SZG_REQUIRE(offset < opened->available_bytes, SZGPU_TRUNCATED);
    SZG_TRY(szg_frame_open(opened, frame, opened->bytes + offset, opened->available_bytes - offset,
                           &header, NULL));
    *plain_bytes += szg_frame_header_bytes(header.section_count);
    for (uint32_t i = 0; i < header.section_count; i++)
      *plain_bytes += szg_align_up(header.sections[i].raw_bytes, SZG_ALIGNMENT);
    offset += szg_frame_bytes(opened, frame);
  }
  return SZGPU_OK;
}

/* The frame's values, restored in silence. */
static szgpu_status restore_values(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                                   const uint8_t **values) {
  uint64_t const first_row = frame * opened->header.frame_rows;
  uint64_t const row_count = szg_frame_row_count(opened, frame);
  uint64_t const row_bytes = opened->grid.row_values * szg_dtype_bytes(opened->header.shape.dtype);
  szg_wanted const wanted = szg_wanted_rows(&opened->grid, first_row, row_count);
  szg_threads const threads = ctx->threads;
  szg_buffer *const room = &ctx->kept[SZG_KEPT_SLAB];
  SZG_TRY(szg_buffer_reset(room, row_count * row_bytes));
  ctx->threads.progress = NULL;
  szgpu_status const status = szg_decompress_cpu(ctx, opened, &wanted, room->bytes);
  ctx->threads = threads;
  *values = room->bytes;
  return status;
}

static szgpu_status recode_frame(const szg_opened *opened, uint64_t index, szg_reader *reader,
                                 szg_writer *writer, szg_header *archive, uint64_t *frame_bytes) {
  szg_writer const before = *writer;
  szg_frame_header frame = reader->frame;
  SZG_TRY(szg_writer_begin_frame(writer, &frame, reader->frame.section_count));
  for (uint32_t i = 0; i < reader->frame.section_count; i++) {
    uint32_t const kind = reader->frame.sections[i].kind;
    szg_loaded loaded; /* it only moves: nothing follows from what it holds */
    uint8_t *bytes;
    SZG_TRY(szg_reader_map(reader, kind, &loaded));
    SZG_TRY(szg_writer_begin_section(writer, loaded.byte_count, &bytes));
    if (loaded.bytes) memcpy(bytes, loaded.bytes, loaded.byte_count);
    szg_buffer_release(&reader->ctx->kept[SZG_KEPT_SECTIONS + kind]);
    SZG_TRY(szg_writer_end_section(writer, kind, loaded.byte_count));
  }
  if (archive->mode == SZGPU_MODE_LOSSLESS && writer->zstd_level) {
    const uint8_t *values;
    SZG_TRY(restore_values(reader->ctx, opened, index, &values));
    SZG_TRY(
        szg_frame_replace_packed(values, szg_dtype_bytes(archive->shape.dtype), &before, writer));
  }
  szg_writer_end_frame(writer, frame_bytes);
  szg_header_note_frame(archive, &frame);
  return SZGPU_OK;
}

szgpu_status szg_recode(szgpu_ctx *ctx, const szg_opened *opened, int zstd_level, void *archive,
                        uint64_t capacity, uint64_t *archive_bytes) {
  szg_header header = opened->header;
  uint64_t const header_bytes = szg_frame_offset(opened, 0);
  if (header.mode == SZGPU_MODE_LOSSLESS) header.has_plane_words = false; /* until a frame has */
  if (capacity < header_bytes)
    return szg_fail(ctx, SZGPU_CAPACITY, "the header alone takes %llu bytes",
                    (unsigned long long)header_bytes);
  SZG_TRY(
      szg_buffer_reset(&ctx->kept[SZG_KEPT_PART_STARTS], header.frame_count * sizeof(uint64_t)));
  uint64_t *const frame_bytes = (uint64_t *)(void *)ctx->kept[SZG_KEPT_PART_STARTS].bytes;
  szg_writer writer = {.ctx = ctx,
                       .zstd_level = zstd_level,
                       .archive = archive,
                       .capacity = capacity,
                       .used_bytes = header_bytes};
  uint64_t offset = header_bytes;
  for (uint64_t frame = 0; frame < header.frame_count; frame++) {
    szg_reader reader;
    SZG_TRY(szg_frame_reader_open(ctx, opened, frame, offset, &reader));
    SZG_TRY(recode_frame(opened, frame, &reader, &writer, &header, &frame_bytes[frame]));
    offset += szg_frame_bytes(opened, frame);
  }
  header.archive_bytes = writer.used_bytes;
  szg_header_write(&header, frame_bytes, archive);
  *archive_bytes = writer.used_bytes;
  return SZGPU_OK;
}
