/* container.c - the archive's headers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/container.h"

#include <string.h>

#include "container/checksum.h"
#include "container/header_core.h"
#include "core/once.h"

const char *szg_section_name(uint32_t kind) {
  static const char *const names[] = {
#define NAME_OF_SECTION(name, text) text,
      SZG_SECTION_LIST(NAME_OF_SECTION)
#undef NAME_OF_SECTION
  };
  return names[kind];
}

const char *szg_section_name_in(const szg_frame_header *frame, uint32_t kind) {
  static const char *const names[] = {"level 0", "level 1", "level 2",
                                      "level 3", "level 4", "level 5"};
  uint32_t const last = SZG_SECTION_BASE + frame->levels.level_count; /* has level 0 */
  bool const is_level = frame->kind == SZG_FRAME_LEVELS && kind > SZG_SECTION_BASE && kind <= last;
  bool const has_name = is_level && last - kind < sizeof names / sizeof *names;
  return has_name ? names[last - kind] : szg_section_name(kind);
}

/* Levels frames, planes frames in archives with a bound, and plane words need a later version. */
void szg_header_note_frame(szg_header *header, const szg_frame_header *frame) {
  uint32_t const count = frame->section_count;
  bool const has_words = count > 0 && frame->sections[count - 1].kind == SZG_SECTION_PLANE_WORDS;
  if (frame->kind == SZG_FRAME_PLANES) header->has_planes = true;
  if (frame->kind == SZG_FRAME_PLANES && has_words) header->has_plane_words = true;
  if (frame->kind == SZG_FRAME_LEVELS) header->has_levels = true;
}

void szg_header_add_notes(const szg_header *other, szg_header *header) {
  header->has_planes |= other->has_planes;
  header->has_plane_words |= other->has_plane_words;
  header->has_levels |= other->has_levels;
}

/* What follows the frame table. */
static void write_more(const szg_header *header, uint8_t *more) {
  if (header->has_limits) {
    szg_store_f64(more, header->least);
    szg_store_f64(more + 8, header->greatest);
    more += SZG_LIMITS_BYTES;
  }
  for (uint32_t i = 0; i < header->more_fill_count; i++)
    szg_store_u64(more + 8 * i, header->more_fill_bits[i]);
}

void szg_header_write(const szg_header *header, const uint64_t *frame_bytes, uint8_t *bytes) {
  uint64_t header_bytes = 0;
  bool const fits = szg_header_bytes(header, &header_bytes);
  assert(fits);
  (void)fits;
  memset(bytes, 0, header_bytes);
  memcpy(bytes, SZG_MAGIC, SZG_MAGIC_BYTES);
  szg_store_u32(bytes + 8, szg_header_version(header));
  bool const is_log = header->mode == SZGPU_MODE_PWREL;
  bool const has_fill = is_log ? header->has_own_fill : header->has_fill;
  szg_store_u32(bytes + 12, (has_fill ? SZG_FLAG_FILL : 0u) |
                                (szg_is_linear_without_gaps(header) ? SZG_FLAG_NO_GAPS : 0u) |
                                (header->has_limits ? SZG_FLAG_LIMITS : 0u) |
                                header->more_fill_count << SZG_FLAG_MORE_FILLS_SHIFT);
  bytes[16] = (uint8_t)header->shape.dtype;
  bytes[17] = (uint8_t)header->shape.ndim;
  bytes[18] = (uint8_t)header->mode;
  bytes[19] = (uint8_t)header->layout;
  szg_store_u32(bytes + 20, header->source);
  for (int i = 0; i < SZG_MAX_DIMS; i++)
    szg_store_u64(bytes + 24 + 8 * i, i < header->shape.ndim ? header->shape.dims[i] : 1);
  szg_store_f64(bytes + 56, header->bound);
  szg_store_f64(bytes + 64, header->absolute_bound);
  szg_store_f64(bytes + 72, header->step);
  szg_store_f64(bytes + 80, header->value_range);
  uint64_t const fill_bits = is_log ? header->own_fill_bits : header->fill_bits;
  szg_store_u64(bytes + 88, has_fill ? fill_bits : 0);
  szg_store_u64(bytes + 96, header->frame_rows);
  szg_store_u64(bytes + 104, header->frame_count);
  szg_store_u64(bytes + 112, header->archive_bytes);
  szg_store_u32(bytes + 120, header->arithmetic);
  for (uint64_t i = 0; i < header->frame_count; i++)
    szg_store_u64(bytes + SZG_HEADER_BYTES + 8 * i, frame_bytes[i]);
  write_more(header, bytes + SZG_HEADER_BYTES + 8 * header->frame_count);
  uint8_t *const checksum = bytes + header_bytes - SZG_CHECKSUM_BYTES;
  szg_store_u64(checksum, szg_checksum_plain(bytes, header_bytes - SZG_CHECKSUM_BYTES));
}

uint64_t szg_header_frame_bytes(const uint8_t *bytes, uint64_t frame) {
  return szg_load_u64(bytes + SZG_HEADER_BYTES + 8 * frame);
}

szgpu_status szg_header_read(const uint8_t *bytes, uint64_t available_bytes, szg_header *header) {
  uint8_t fixed[SZG_HEADER_BYTES], more[SZG_MOST_MORE_BYTES]; /* copies: checked and used */
  uint64_t header_bytes;
  szg_copy_once(fixed, bytes, szg_min_u64(available_bytes, sizeof fixed));
  SZG_TRY(szg_header_begin(fixed, available_bytes, header, &header_bytes));
  uint64_t const checksum = szg_load_u64(bytes + header_bytes - SZG_CHECKSUM_BYTES);
  SZG_REQUIRE(checksum == szg_checksum_plain(bytes, header_bytes - SZG_CHECKSUM_BYTES),
              SZGPU_BAD_CHECKSUM);
  szg_copy_once(more, bytes + SZG_HEADER_BYTES + 8 * header->frame_count,
                szg_header_more_bytes(header));
  szg_header_load_more(more, header);
  SZG_REQUIRE(szg_header_is_sound(fixed, header) &&
                  szg_frame_table_is_sound(bytes + SZG_HEADER_BYTES, header_bytes, header),
              SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* What bytes 2 to 7 and 24 to 31 mean depends on the kind. */
static void write_particulars(const szg_frame_header *frame, uint8_t *bytes) {
  bytes[2] = (uint8_t)frame->escape_bytes;
  bytes[3] = (uint8_t)(frame->zero_groups | (frame->has_16_bits ? SZG_LATTICE_16_FLAG : 0));
  szg_store_u32(bytes + 4, frame->radius);
  szg_store_u64(bytes + 24, frame->constant_bits);
  if (frame->kind == SZG_FRAME_PLANES) {
    bytes[2] = (uint8_t)frame->value_bytes;
    szg_store_u32(bytes + 4, frame->plane_modes);
  } else if (frame->kind == SZG_FRAME_LEVELS) {
    bytes[2] = (uint8_t)frame->levels.axis_count;
    bytes[3] = (uint8_t)((frame->levels.is_linear ? SZG_LINEAR_STENCILS_FLAG : 0) |
                         (frame->levels.is_wide ? SZG_WIDE_LATTICE_FLAG : 0));
    szg_store_u32(bytes + 4, szg_levels_pack(&frame->levels));
    szg_store_u64(bytes + 24, frame->levels.fold);
  }
}

void szg_frame_header_write(const szg_frame_header *frame, uint8_t *bytes) {
  uint64_t const header_bytes = szg_frame_header_bytes(frame->section_count);
  memset(bytes, 0, header_bytes);
  bytes[0] = (uint8_t)frame->kind;
  bytes[1] = (uint8_t)frame->axes;
  write_particulars(frame, bytes);
  szg_store_u64(bytes + 8, frame->index);
  szg_store_u64(bytes + 16, frame->value_count);
  szg_store_u32(bytes + 32, frame->section_count);
  uint8_t *entry = bytes + SZG_FRAME_HEADER_BYTES;
  for (uint32_t i = 0; i < frame->section_count; i++, entry += SZG_SECTION_ENTRY_BYTES) {
    szg_store_u32(entry, frame->sections[i].kind);
    szg_store_u32(entry + 4, frame->sections[i].codec);
    szg_store_u64(entry + 8, frame->sections[i].raw_bytes);
    szg_store_u64(entry + 16, frame->sections[i].stored_bytes);
    szg_store_u64(entry + 24, frame->sections[i].checksum);
  }
  szg_store_u64(entry, szg_checksum_plain(bytes, header_bytes - SZG_CHECKSUM_BYTES));
}

szgpu_status szg_frame_header_read(const uint8_t *bytes, uint64_t frame_bytes,
                                   uint64_t available_bytes, szg_frame_header *frame) {
  uint8_t copy[SZG_FRAME_HEADER_MOST_BYTES]; /* what is checked is what is used */
  uint64_t const copied_bytes = szg_min_u64(available_bytes, sizeof copy);
  uint64_t header_bytes;
  szg_copy_once(copy, bytes, copied_bytes);
  *frame = (szg_frame_header){0};
  SZG_TRY(szg_frame_header_begin(copy, frame_bytes, copied_bytes, frame, &header_bytes));
  uint64_t const hashed_bytes = header_bytes - SZG_CHECKSUM_BYTES;
  SZG_REQUIRE(szg_load_u64(copy + hashed_bytes) == szg_checksum_plain(copy, hashed_bytes),
              SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(szg_frame_header_is_sound(copy, frame_bytes, frame), SZGPU_BAD_DATA);
  return SZGPU_OK;
}
