/* reader.c - reads a frame's sections from the archive.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/reader.h"

#include "container/checksum.h"
#include "container/codec.h"
#include "core/once.h"

/* What sections of small frames may keep, so that memory is not taken anew for each frame. */
enum { KEPT_SECTION_BYTES = 1 << 19 };

static szgpu_status check_section(szg_reader *reader, const szg_section *section,
                                  const uint8_t *stored) {
  szgpu_ctx *const ctx = reader->ctx;
  uint64_t const padded_bytes = szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  uint64_t const leaf_bytes = szg_checksum_leaf_count(padded_bytes) * sizeof(uint64_t);
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_LEAVES], leaf_bytes + 1));
  uint64_t checksum;
  SZG_TRY(szg_checksum_tree(&ctx->threads, stored, padded_bytes,
                            (uint64_t *)(void *)ctx->kept[SZG_KEPT_LEAVES].bytes, &checksum));
  SZG_REQUIRE(checksum == section->checksum, SZGPU_BAD_CHECKSUM);
  return SZGPU_OK;
}

void szg_reader_make_room(szg_reader *reader, uint64_t values_bytes) {
  szg_buffer *const sections = &reader->ctx->kept[SZG_KEPT_SECTIONS];
  uint64_t bytes = 0;
  for (uint32_t kind = 0; kind < SZG_SECTION_KIND_COUNT; kind++)
    bytes += sections[kind].capacity_bytes;
  for (uint32_t i = 0; i < reader->frame.section_count; i++) {
    const szg_section *const section = &reader->frame.sections[i];
    uint64_t const room = sections[section->kind].capacity_bytes;
    if (section->raw_bytes > room) bytes += section->raw_bytes - room;
  }
  if (bytes <= values_bytes + KEPT_SECTION_BYTES) return;
  for (uint32_t kind = 0; kind < SZG_SECTION_KIND_COUNT; kind++)
    szg_buffer_release(&sections[kind]);
}

/* Finds the section of this kind and its stored bytes; *section is NULL if there is none. */
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
  uint64_t const available_bytes = reader->opened->available_bytes;
  SZG_REQUIRE(offset <= available_bytes, SZGPU_TRUNCATED);
  SZG_REQUIRE(szg_align_up((*section)->stored_bytes, SZG_ALIGNMENT) <= available_bytes - offset,
              SZGPU_TRUNCATED);
  *stored = reader->opened->bytes + offset;
  return SZGPU_OK;
}

szgpu_status szg_reader_ask(const szg_reader *reader, const szg_loaded *mapped, uint64_t offset,
                            uint64_t byte_count) {
  if (!mapped->offset) return SZGPU_OK; /* it was under zstd, all of which is there */
  SZG_REQUIRE(offset <= mapped->byte_count && byte_count <= mapped->byte_count - offset,
              SZGPU_BAD_DATA);
  return szg_ask(reader->opened->asking, mapped->offset + offset, byte_count);
}

szgpu_status szg_reader_require(szg_reader *reader, uint64_t offset, uint64_t byte_count,
                                bool *are_there) {
  szg_asking *const asking = reader->opened->asking;
  *are_there = !asking || szg_are_present(asking, offset, byte_count);
  if (*are_there) return SZGPU_OK;
  reader->is_waiting = true;
  return szg_ask(asking, offset, byte_count);
}

/* Notes which section failed. */
static szgpu_status fail_section(szg_reader *reader, uint32_t kind, szgpu_status status) {
  return szg_fail(reader->ctx, status, "section '%s' of frame %llu",
                  szg_section_name_in(&reader->frame, kind),
                  (unsigned long long)reader->frame.index);
}

/* Checks a section under zstd and undoes that, in the ctx's memory. */
static szgpu_status unpack(szg_reader *reader, const szg_section *section, const uint8_t *stored,
                           szg_loaded *loaded) {
  szg_buffer *const raw = &reader->ctx->kept[SZG_KEPT_SECTIONS + section->kind];
  SZG_TRY(check_section(reader, section, stored));
  SZG_TRY(szg_buffer_reset(raw, section->raw_bytes + 1));
  *loaded = (szg_loaded){raw->bytes, section->raw_bytes, 0};
  return szg_zstd_decompress(&reader->ctx->threads, &reader->ctx->account, stored,
                             section->stored_bytes, raw->bytes, section->raw_bytes);
}

static szgpu_status copy_section(szg_reader *reader, const szg_section *section,
                                 const uint8_t *stored, szg_loaded *loaded) {
  uint64_t const padded_bytes = szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  szg_buffer *const copy = &reader->ctx->kept[SZG_KEPT_SECTIONS + section->kind];
  SZG_TRY(szg_buffer_reset(copy, padded_bytes));
  szg_copy_once(copy->bytes, stored, padded_bytes);
  SZG_TRY(check_section(reader, section, copy->bytes));
  *loaded = (szg_loaded){copy->bytes, section->raw_bytes, 0};
  return SZGPU_OK;
}

static szgpu_status map_section(szg_reader *reader, const szg_section *section,
                                const uint8_t *stored, szg_loaded *mapped) {
  if (!reader->is_partial) SZG_TRY(check_section(reader, section, stored));
  *mapped = (szg_loaded){stored, section->raw_bytes, (uint64_t)(stored - reader->opened->bytes)};
  return SZGPU_OK;
}

static szgpu_status take_section(szg_reader *reader, uint32_t kind, bool is_mapped,
                                 szg_loaded *loaded) {
  const szg_section *section;
  const uint8_t *stored = NULL;
  *loaded = (szg_loaded){0};
  SZG_TRY(find_section(reader, kind, &section, &stored));
  if (!section) return SZGPU_OK;
  bool const is_read_in_part =
      is_mapped && reader->is_partial && section->codec == SZG_CODEC_STORED;
  if (!is_read_in_part) {
    bool is_there;
    SZG_TRY(szg_reader_require(reader, (uint64_t)(stored - reader->opened->bytes),
                               szg_align_up(section->stored_bytes, SZG_ALIGNMENT), &is_there));
    if (!is_there) return SZGPU_OK;
  }
  if (!section->raw_bytes) return check_section(reader, section, stored);
  if (section->codec == SZG_CODEC_ZSTD) return unpack(reader, section, stored, loaded);
  return is_mapped ? map_section(reader, section, stored, loaded)
                   : copy_section(reader, section, stored, loaded);
}

szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, szg_loaded *loaded) {
  szgpu_status const status = take_section(reader, kind, false, loaded);
  return status == SZGPU_OK ? SZGPU_OK : fail_section(reader, kind, status);
}

szgpu_status szg_reader_map(szg_reader *reader, uint32_t kind, szg_loaded *mapped) {
  szgpu_status const status = take_section(reader, kind, true, mapped);
  return status == SZGPU_OK ? SZGPU_OK : fail_section(reader, kind, status);
}

szgpu_status szg_reader_load_front(szg_reader *reader, uint32_t kind, const szg_loaded *mapped,
                                   uint64_t byte_count, const uint8_t **front) {
  szg_buffer *const copy = &reader->ctx->kept[SZG_KEPT_SECTIONS + kind];
  bool is_there;
  assert(byte_count <= mapped->byte_count);
  *front = mapped->bytes;
  if (!mapped->offset) return SZGPU_OK; /* it was under zstd, or is missing as a whole */
  *front = NULL;
  SZG_TRY(szg_reader_require(reader, mapped->offset, byte_count, &is_there));
  if (!is_there) return SZGPU_OK;
  SZG_TRY(szg_buffer_reset(copy, byte_count + 1));
  szg_copy_once(copy->bytes, mapped->bytes, byte_count);
  *front = copy->bytes;
  return SZGPU_OK;
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
  bool is_there;
  szgpu_status status = find_section(reader, kind, &section, &stored);
  assert(status != SZGPU_OK || section);
  if (status == SZGPU_OK && szg_reader_only_asks(reader))
    return szg_reader_require(reader, (uint64_t)(stored - reader->opened->bytes),
                              szg_align_up(section->stored_bytes, SZG_ALIGNMENT), &is_there);
  if (status == SZGPU_OK) status = check_section(reader, section, stored);
  if (status == SZGPU_OK && section->codec == SZG_CODEC_ZSTD) {
    status = szg_zstd_decompress_each(threads, &reader->ctx->account, stored, section->stored_bytes,
                                      section->raw_bytes, loop_values, sink, target);
  } else if (status == SZGPU_OK) {
    stored_job job = {stored, section->raw_bytes, sink, target};
    status = szg_for_parts(threads, szg_div_up(section->raw_bytes, SZG_ZSTD_PIECE_BYTES),
                           loop_values, stored_part, &job);
  }
  return status == SZGPU_OK ? SZGPU_OK : fail_section(reader, kind, status);
}
