/* compact_core.h - a small archive to its compact form and back, except checksums and copies.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   magic, version, size, checksum | bits: headers, books, sizes | bytes of sections as they are
 *
 * docs/format.md, section 21. The bits are read and written one after the other; the bytes that
 * follow are listed, and the caller copies them as it likes.
 */
#ifndef SZG_COMPACT_CORE_H
#define SZG_COMPACT_CORE_H

#include "container/compact.h"
#include "container/compact_sections_core.h"

enum {
  SZG_COMPACT_SIZE_OFFSET = 9, /* u24, behind the version's byte */
  SZG_COMPACT_CHECKSUM_OFFSET = 12
};

/* Bytes to copy, as offsets in the archive and in its compact form. */
typedef struct szg_compact_copies {
  uint32_t count;
  uint64_t plain_at[SZG_SECTION_KIND_COUNT], compact_at[SZG_SECTION_KIND_COUNT];
  uint64_t byte_count[SZG_SECTION_KIND_COUNT];
} szg_compact_copies;

/* compact_at: behind those before; szg_compact_copies_begin adds where the first begins. */
SZG_HD void szg_compact_copy(szg_compact_copies *copies, uint64_t plain_at, uint64_t byte_count) {
  uint32_t const i = copies->count;
  if (byte_count == 0) return;
  copies->plain_at[i] = plain_at;
  copies->byte_count[i] = byte_count;
  copies->compact_at[i] = i ? copies->compact_at[i - 1] + copies->byte_count[i - 1] : 0;
  copies->count++;
}

/* Returns where the last one ends in the compact form. */
SZG_HD uint64_t szg_compact_copies_begin(szg_compact_copies *copies, uint64_t first_at) {
  uint64_t end = first_at;
  for (uint32_t i = 0; i < copies->count; i++) {
    copies->compact_at[i] += first_at;
    end = copies->compact_at[i] + copies->byte_count[i];
  }
  return end;
}

SZG_HD uint32_t szg_compact_stated_bytes(const uint8_t *bytes) {
  return szg_load_u32(bytes + SZG_COMPACT_SIZE_OFFSET) & 0xFFFFFF;
}

/* ---- to the compact form ---- */

/* The sections that are stated: of a tile frame, those that are not empty. */
SZG_HD uint32_t szg_stated_sections(const szg_frame_header *frame) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < frame->section_count; i++)
    if (frame->kind != SZG_FRAME_TILE || frame->sections[i].stored_bytes > 0)
      mask |= 1u << frame->sections[i].kind;
  return mask;
}

/* Writes magic, version, size and bits to `bytes`, as far as there is room, which is at least
 * SZG_COMPACT_HEAD_BYTES. plain: an archive of one frame with these headers, as encoders write it.
 * Returns the bytes of the compact form without padding, which may be over the room; 0: there is
 * none. */
SZG_HD uint64_t szg_compact_put(const uint8_t *plain, const szg_header *header,
                                const szg_frame_header *frame, uint64_t header_bytes,
                                uint8_t *bytes, uint64_t room, szg_compact_copies *copies) {
  uint32_t const mask = szg_stated_sections(frame);
  uint64_t at = header_bytes + szg_frame_header_bytes(frame->section_count);
  szg_packer out = {
      bytes + SZG_COMPACT_HEAD_BYTES, 0, (room - SZG_COMPACT_HEAD_BYTES) / 4, 0, 0, false};
  copies->count = 0;
  szg_put_header(&out, header);
  szg_put_frame_header(&out, header, frame);
  bool const is_usual = mask == szg_usual_sections(header, frame);
  szg_pack_bits(&out, !is_usual, 1);
  if (!is_usual) szg_pack_bits(&out, mask, SZG_SECTION_KIND_COUNT);
  for (uint32_t i = 0; i < frame->section_count; i++) {
    const szg_section *const section = &frame->sections[i];
    uint64_t copied_at = 0;
    bool is_coded = false;
    if (mask >> section->kind & 1) {
      if (section->codec == SZG_CODEC_STORED)
        is_coded = szg_put_section(&out, frame, section->kind, plain + at, section->stored_bytes,
                                   &copied_at);
      else
        szg_pack_bits(&out, SZG_COMPACT_ZSTD, 2);
      if (section->codec == SZG_CODEC_ZSTD) szg_pack_number(&out, section->raw_bytes);
      bool const is_last = mask >> section->kind >> 1 == 0;
      if (!is_coded && !is_last) szg_pack_number(&out, section->stored_bytes);
      szg_compact_copy(copies, at + copied_at, section->stored_bytes - copied_at);
    }
    at += szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  }
  szg_pack_end(&out);
  uint64_t const content_bytes =
      szg_compact_copies_begin(copies, SZG_COMPACT_HEAD_BYTES + 4 * out.word_count);
  if (out.fails || content_bytes >> 24) return 0;
  memcpy(bytes, SZG_MAGIC, SZG_MAGIC_BYTES);
  bytes[8] = SZG_FORMAT_VERSION_COMPACT;
  for (uint32_t i = 0; i < 3; i++)
    bytes[SZG_COMPACT_SIZE_OFFSET + i] = (uint8_t)(content_bytes >> 8 * i);
  memset(bytes + SZG_COMPACT_CHECKSUM_OFFSET, 0, 4);
  return content_bytes;
}

/* Whether the archive is written in its compact form, of so many bytes. */
SZG_HD bool szg_compact_pays(uint64_t content_bytes, uint64_t plain_bytes) {
  return content_bytes > 0 && szg_align_up(content_bytes, SZG_ALIGNMENT) < plain_bytes;
}

/* ---- and back ---- */

typedef struct szg_compact_archive {
  szg_header header; /* except version, archive_bytes and frame_rows */
  szg_frame_header frame;
  uint32_t mask; /* of the sections that are stated */
  szg_unpacker in;
  szg_compact_copies copies;
} szg_compact_archive;

/* Reads both headers of an archive of content_bytes, whose checksum is right. False: they are none
 * that an encoder writes, or the field is too large. */
SZG_HD bool szg_compact_take_heads(const uint8_t *bytes, uint64_t content_bytes,
                                   szg_compact_archive *archive) {
  szg_unpacker *const in = &archive->in;
  szg_frame_header *const frame = &archive->frame;
  memset(archive, 0, sizeof *archive);
  in->words = bytes + SZG_COMPACT_HEAD_BYTES;
  in->word_count = (content_bytes - SZG_COMPACT_HEAD_BYTES) / 4;
  szg_take_header(in, &archive->header, &frame->value_count);
  if (in->is_bad) return false;
  szg_take_frame_header(in, &archive->header, frame);
  bool const is_usual = szg_unpack_bits(in, 1) == 0;
  archive->mask = is_usual ? szg_usual_sections(&archive->header, frame)
                           : szg_unpack_bits(in, SZG_SECTION_KIND_COUNT);
  uint32_t const tile_sections = 1u << SZG_SECTION_CODEBOOK | 1u << SZG_SECTION_TILE_SIZES |
                                 1u << SZG_SECTION_BITSTREAM | 1u << SZG_SECTION_EXACT_COUNTS |
                                 1u << SZG_SECTION_EXACT_MASK | 1u << SZG_SECTION_EXACT_VALUES |
                                 1u << SZG_SECTION_FILL_COUNTS | 1u << SZG_SECTION_FILL_MASK;
  uint32_t const kinds = archive->mask | (frame->kind == SZG_FRAME_TILE ? tile_sections : 0);
  for (uint32_t kind = 0; kind < SZG_SECTION_KIND_COUNT; kind++)
    if (kinds >> kind & 1) frame->sections[frame->section_count++].kind = kind;
  return !in->is_bad && frame->kind < SZG_FRAME_KIND_COUNT;
}

/* The most bytes that the archive may have outside of its compact form: sections take at most the
 * bytes of the values, and stages 16 more. */
SZG_HD uint64_t szg_compact_most_plain_bytes(const szg_compact_archive *archive) {
  const szg_frame_header *const frame = &archive->frame;
  uint64_t const value_bytes = szg_dtype_bytes(archive->header.shape.dtype);
  uint64_t const per_section = SZG_STAGE_HEAD_BYTES + SZG_ALIGNMENT;
  return SZG_HEADER_BYTES + 8 + SZG_MOST_MORE_BYTES + SZG_CHECKSUM_BYTES + SZG_ALIGNMENT +
         szg_frame_header_bytes(frame->section_count) + frame->section_count * per_section +
         frame->value_count * value_bytes;
}

/* Writes what is coded of the sections to `plain`, of which there are `room` bytes, with the
 * padding of all, and their sizes to the section table. header_bytes: of the archive's header,
 * which come first. Returns the size of the archive; 0: the rest is not what an encoder writes. */
SZG_HD uint64_t szg_compact_take(szg_compact_archive *archive, uint64_t content_bytes,
                                 uint64_t header_bytes, uint8_t *plain, uint64_t room) {
  szg_unpacker *const in = &archive->in;
  szg_frame_header *const frame = &archive->frame;
  szg_compact_copies *const copies = &archive->copies;
  szg_section *open = NULL; /* the last one, whose size is what is left */
  szg_compact_room to = {plain, 0, room};
  to.used = header_bytes + szg_frame_header_bytes(frame->section_count);
  if (to.used > room) return 0;
  for (uint32_t i = 0; i < frame->section_count; i++) {
    szg_section *const section = &frame->sections[i];
    uint64_t const start = to.used;
    uint64_t copied_bytes = 0;
    if (archive->mask >> section->kind & 1) {
      uint32_t const form = szg_unpack_bits(in, 2);
      section->codec = form == SZG_COMPACT_ZSTD ? SZG_CODEC_ZSTD : SZG_CODEC_STORED;
      if (form == SZG_COMPACT_ZSTD) section->raw_bytes = szg_unpack_number(in);
      if (form == SZG_COMPACT_CODED)
        szg_take_section(in, frame, section->kind, &to, &copied_bytes);
      else if (archive->mask >> section->kind >> 1)
        copied_bytes = szg_unpack_number(in);
      else
        open = section;
      if (in->is_bad || form > SZG_COMPACT_ZSTD || copied_bytes > room - to.used) return 0;
    }
    szg_compact_copy(copies, to.used, copied_bytes);
    to.used += copied_bytes;
    section->stored_bytes = to.used - start;
    while (to.used % SZG_ALIGNMENT)
      if (!szg_compact_store(&to, 0, 1)) return 0;
  }
  if (!szg_unpack_end(in)) return 0;
  uint64_t const first_at = SZG_COMPACT_HEAD_BYTES + 4 * in->next_word;
  uint64_t end = szg_compact_copies_begin(copies, first_at);
  if (open) {
    uint64_t const start = to.used;
    uint64_t const left = end < content_bytes ? content_bytes - end : 0;
    if (left > room - start || end + left != content_bytes) return 0;
    szg_compact_copy(copies, start, left);
    if (left) copies->compact_at[copies->count - 1] = end;
    open->stored_bytes = left;
    to.used += left;
    end += left;
    while (to.used % SZG_ALIGNMENT)
      if (!szg_compact_store(&to, 0, 1)) return 0;
  }
  for (uint32_t i = 0; i < frame->section_count; i++)
    if (frame->sections[i].codec == SZG_CODEC_STORED)
      frame->sections[i].raw_bytes = frame->sections[i].stored_bytes;
  return end == content_bytes ? to.used : 0;
}

#endif
