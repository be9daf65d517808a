/* writer.c - writes a frame's sections to the archive.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/writer.h"

#include "container/checksum.h"
#include "container/codec.h"

szgpu_status szg_writer_open(szgpu_ctx *ctx, int zstd_level, const szg_header *header,
                             void *archive, uint64_t capacity, szg_writer *writer) {
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(header, &header_bytes), SZGPU_BAD_SHAPE);
  if (capacity < header_bytes)
    return szg_fail(ctx, SZGPU_CAPACITY, "the header alone takes %llu bytes",
                    (unsigned long long)header_bytes);
  *writer = szg_writer_of_frames(ctx, zstd_level, archive, capacity);
  writer->used_bytes = header_bytes;
  return SZGPU_OK;
}

szg_writer szg_writer_of_frames(szgpu_ctx *ctx, int zstd_level, void *bytes, uint64_t capacity) {
  return (szg_writer){.ctx = ctx, .zstd_level = zstd_level, .archive = bytes, .capacity = capacity};
}

szgpu_status szg_writer_require_room(const szg_writer *writer, uint64_t bytes) {
  if (bytes <= writer->capacity - writer->used_bytes) return SZGPU_OK;
  return szg_fail(writer->ctx, SZGPU_CAPACITY, "over %llu bytes are needed",
                  (unsigned long long)writer->capacity);
}

szgpu_status szg_writer_begin_frame(szg_writer *writer, szg_frame_header *frame,
                                    uint32_t section_count) {
  section_count += writer->more_sections;
  uint64_t const header_bytes = szg_frame_header_bytes(section_count);
  SZG_TRY(szg_writer_require_room(writer, header_bytes));
  writer->frame = frame;
  writer->frame_start = writer->used_bytes;
  writer->used_bytes += header_bytes;
  writer->announced_sections = section_count;
  frame->section_count = 0;
  return SZGPU_OK;
}

szgpu_status szg_writer_begin_section(szg_writer *writer, uint64_t raw_bytes, uint8_t **bytes) {
  SZG_TRY(szg_writer_require_room(writer, szg_align_up(raw_bytes, SZG_ALIGNMENT)));
  *bytes = writer->archive + writer->used_bytes;
  return SZGPU_OK;
}

/* Pads the section that has begun, whose bytes are in place, and enters it in the table. */
static szgpu_status enter_section(szg_writer *writer, szg_section section) {
  szgpu_ctx *const ctx = writer->ctx;
  uint8_t *const bytes = writer->archive + writer->used_bytes;
  uint64_t const padded_bytes = szg_align_up(section.stored_bytes, SZG_ALIGNMENT);
  memset(bytes + section.stored_bytes, 0, padded_bytes - section.stored_bytes);
  uint64_t const leaf_bytes = szg_checksum_leaf_count(padded_bytes) * sizeof(uint64_t);
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_LEAVES], leaf_bytes + 1));
  SZG_TRY(szg_checksum_tree(&ctx->threads, bytes, padded_bytes,
                            (uint64_t *)(void *)ctx->kept[SZG_KEPT_LEAVES].bytes,
                            &section.checksum));
  writer->used_bytes += padded_bytes;
  writer->frame->sections[writer->frame->section_count++] = section;
  return SZGPU_OK;
}

szgpu_status szg_writer_end_packed_section(szg_writer *writer, uint32_t kind, uint64_t raw_bytes) {
  const szg_buffer *const packed = &writer->ctx->kept[SZG_KEPT_PACKED];
  memcpy(writer->archive + writer->used_bytes, packed->bytes, packed->used_bytes);
  return enter_section(writer, (szg_section){.kind = kind,
                                             .codec = SZG_CODEC_ZSTD,
                                             .raw_bytes = raw_bytes,
                                             .stored_bytes = packed->used_bytes});
}

szgpu_status szg_writer_end_section(szg_writer *writer, uint32_t kind, uint64_t raw_bytes) {
  szgpu_ctx *const ctx = writer->ctx;
  if (writer->zstd_level && raw_bytes) {
    bool const is_main =
        kind == SZG_SECTION_BITSTREAM || kind == SZG_SECTION_RAW || kind == SZG_SECTION_PLANE_WORDS;
    bool pays;
    SZG_TRY(szg_zstd_compress(
        &ctx->threads, writer->zstd_level, writer->archive + writer->used_bytes, raw_bytes,
        is_main ? writer->frame->value_count : 0, &ctx->kept[SZG_KEPT_PACKED], &pays));
    if (pays) return szg_writer_end_packed_section(writer, kind, raw_bytes);
  }
  return enter_section(writer, (szg_section){.kind = kind,
                                             .codec = SZG_CODEC_STORED,
                                             .raw_bytes = raw_bytes,
                                             .stored_bytes = raw_bytes});
}

void szg_writer_end_frame(const szg_writer *writer, uint64_t *frame_bytes) {
  assert(writer->frame->section_count == writer->announced_sections);
  szg_frame_header_write(writer->frame, writer->archive + writer->frame_start);
  *frame_bytes = writer->used_bytes - writer->frame_start;
}
