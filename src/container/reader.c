/* reader.c - reads a frame's sections from the archive.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/reader.h"

#include "container/checksum.h"
#include "container/codec.h"

static szgpu_status check_section(szg_reader *reader, const szg_section *section,
                                  const uint8_t *stored) {
  szgpu_ctx *const ctx = reader->ctx;
  uint64_t const padded_bytes = szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  uint64_t const leaf_bytes = szg_checksum_leaf_count(padded_bytes) * sizeof(uint64_t);
  SZG_TRY(szg_buffer_reset(&ctx->leaves, leaf_bytes + 1));
  uint64_t checksum;
  SZG_TRY(szg_checksum_tree(&ctx->threads, stored, padded_bytes,
                            (uint64_t *)(void *)ctx->leaves.bytes, &checksum));
  SZG_REQUIRE(checksum == section->checksum, SZGPU_BAD_CHECKSUM);
  return SZGPU_OK;
}

/* Finds the section of this kind and checks its stored bytes; *section is NULL if there is none. */
static szgpu_status find_section(szg_reader *reader, uint32_t kind, const szg_section **section,
                                 const uint8_t **stored) {
  const szg_frame_header *const frame = &reader->frame;
  uint64_t offset = reader->frame_offset + szg_frame_header_bytes(frame->section_count);
  *section = NULL;
  for (uint32_t i = 0; i < frame->section_count && !*section; i++) {
    if (frame->sections[i].kind == kind)
      *section = &frame->sections[i];
    else
      offset += szg_align_up(frame->sections[i].stored_bytes, SZG_ALIGNMENT);
  }
  if (!*section) return SZGPU_OK;
  SZG_REQUIRE(szg_align_up((*section)->stored_bytes, SZG_ALIGNMENT) <=
                  reader->opened->available_bytes - offset,
              SZGPU_TRUNCATED);
  *stored = reader->opened->bytes + offset;
  return check_section(reader, *section, *stored);
}

/* Notes which section failed. */
static szgpu_status fail_section(szg_reader *reader, uint32_t kind, szgpu_status status) {
  return szg_fail(reader->ctx, status, "section '%s' of frame %llu",
                  szg_section_name_in(&reader->frame, kind),
                  (unsigned long long)reader->frame.index);
}

static szgpu_status unpack(szg_reader *reader, const szg_section *section, const uint8_t *stored,
                           szg_loaded *loaded) {
  *loaded = (szg_loaded){stored, section->raw_bytes};
  if (section->codec == SZG_CODEC_STORED) return SZGPU_OK;
  szg_buffer *const raw = &reader->ctx->sections[section->kind];
  SZG_TRY(szg_buffer_reset(raw, section->raw_bytes + 1));
  loaded->bytes = raw->bytes;
  return szg_zstd_decompress(&reader->ctx->threads, stored, section->stored_bytes, raw->bytes,
                             section->raw_bytes);
}

szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, szg_loaded *loaded) {
  const szg_section *section;
  const uint8_t *stored = NULL;
  *loaded = (szg_loaded){0};
  szgpu_status status = find_section(reader, kind, &section, &stored);
  if (status == SZGPU_OK && section && section->raw_bytes)
    status = unpack(reader, section, stored, loaded);
  return status == SZGPU_OK ? SZGPU_OK : fail_section(reader, kind, status);
}

/* A stored section, passed on in pieces like one under zstd. */
typedef struct stored_job {
  const uint8_t *stored;
  uint64_t byte_count;
  szg_piece_sink sink;
  void *target;
} stored_job;

static szgpu_status stored_part(void *job_pointer, uint64_t piece, int worker) {
  (void)worker;
  const stored_job *const job = job_pointer;
  uint64_t const offset = piece * SZG_ZSTD_PIECE_BYTES;
  size_t const count = (size_t)szg_min_u64(SZG_ZSTD_PIECE_BYTES, job->byte_count - offset);
  job->sink(job->target, offset, job->stored + offset, count);
  return SZGPU_OK;
}

szgpu_status szg_reader_stream(szg_reader *reader, uint32_t kind, uint64_t loop_values,
                               szg_piece_sink sink, void *target) {
  szg_threads *const threads = &reader->ctx->threads;
  const szg_section *section;
  const uint8_t *stored = NULL;
  szgpu_status status = find_section(reader, kind, &section, &stored);
  assert(status != SZGPU_OK || section);
  if (status == SZGPU_OK && section->codec == SZG_CODEC_ZSTD) {
    status = szg_zstd_decompress_each(threads, stored, section->stored_bytes, section->raw_bytes,
                                      loop_values, sink, target);
  } else if (status == SZGPU_OK) {
    stored_job job = {stored, section->raw_bytes, sink, target};
    status = szg_for_parts(threads, szg_div_up(section->raw_bytes, SZG_ZSTD_PIECE_BYTES),
                           loop_values, stored_part, &job);
  }
  return status == SZGPU_OK ? SZGPU_OK : fail_section(reader, kind, status);
}
