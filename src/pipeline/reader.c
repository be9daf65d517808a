/* reader.c - a frame's sections out of the archive.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/reader.h"

#include "container/checksum.h"
#include "container/codec.h"

szgpu_status szg_reader_open_frame(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                                   uint64_t offset, szg_reader *reader) {
  *reader = (szg_reader){.ctx = ctx, .opened = opened, .frame_offset = offset};
  szgpu_status const status = szg_open_frame(opened, frame, offset, &reader->frame);
  if (status == SZGPU_OK) return SZGPU_OK;
  return szg_fail(ctx, status, "frame %llu has a bad header", (unsigned long long)frame);
}

bool szg_reader_has_only(const szg_reader *reader, uint32_t kinds) {
  for (uint32_t i = 0; i < reader->frame.section_count; i++)
    if (!(kinds >> reader->frame.sections[i].kind & 1)) return false;
  return true;
}

static szgpu_status check_and_unpack(szg_reader *reader, const szg_section *section,
                                     const uint8_t *stored, szg_loaded *loaded) {
  szgpu_ctx *const ctx = reader->ctx;
  uint64_t const padded_bytes = szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  uint64_t const leaf_bytes = szg_checksum_leaf_count(padded_bytes) * sizeof(uint64_t);
  SZG_TRY(szg_buffer_reset(&ctx->leaves, leaf_bytes + 1));
  uint64_t checksum;
  SZG_TRY(szg_checksum_tree(&ctx->threads, stored, padded_bytes,
                            (uint64_t *)(void *)ctx->leaves.bytes, &checksum));
  SZG_REQUIRE(checksum == section->checksum, SZGPU_BAD_CHECKSUM);
  *loaded = (szg_loaded){stored, section->raw_bytes};
  if (section->codec == SZG_CODEC_STORED) return SZGPU_OK;
  szg_buffer *const raw = &ctx->sections[section->kind];
  SZG_TRY(szg_buffer_reset(raw, section->raw_bytes + 1));
  loaded->bytes = raw->bytes;
  return szg_zstd_decompress(&ctx->threads, stored, section->stored_bytes, raw->bytes,
                             section->raw_bytes);
}

szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, bool is_required,
                             uint64_t least_bytes, uint64_t most_bytes, szg_loaded *loaded) {
  const szg_frame_header *const frame = &reader->frame;
  *loaded = (szg_loaded){0};
  uint64_t offset = reader->frame_offset + szg_frame_header_bytes(frame->section_count);
  for (uint32_t i = 0; i < frame->section_count; i++) {
    const szg_section *const section = &frame->sections[i];
    uint64_t const padded_bytes = szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
    if (section->kind != kind) {
      offset += padded_bytes;
      continue;
    }
    szgpu_status status = SZGPU_OK;
    if (section->raw_bytes < least_bytes || section->raw_bytes > most_bytes)
      status = SZGPU_BAD_DATA;
    else if (padded_bytes > reader->opened->available_bytes - offset)
      status = SZGPU_TRUNCATED;
    else
      status = check_and_unpack(reader, section, reader->opened->bytes + offset, loaded);
    if (status == SZGPU_OK) return SZGPU_OK;
    return szg_fail(reader->ctx, status, "section '%s' of frame %llu", szg_section_name(kind),
                    (unsigned long long)frame->index);
  }
  if (!is_required) return SZGPU_OK;
  return szg_fail(reader->ctx, SZGPU_BAD_DATA, "frame %llu has no section '%s'",
                  (unsigned long long)frame->index, szg_section_name(kind));
}
