/* header_core.h - what a header may say: parsed and checked alike by the host and by kernels.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each check is in two parts, because hosts and warps compute the checksum between them in ways of
 * their own. Bytes do not change meanwhile: the caller has copied them.
 */
#ifndef SZG_HEADER_CORE_H
#define SZG_HEADER_CORE_H

#include <string.h>

#include "container/container.h"
#include "core/bytes.h"
#include "core/tiles.h"

SZG_C_BEGIN

enum {
  SZG_FRAME_HEADER_MOST_BYTES =
      SZG_FRAME_HEADER_BYTES + SZG_SECTION_KIND_COUNT * SZG_SECTION_ENTRY_BYTES + SZG_CHECKSUM_BYTES
};

/* Byte 3 of the header of a tile frame, and of a levels frame. */
enum { SZG_ZERO_GROUPS_MASK = 3, SZG_LATTICE_16_FLAG = 4 };
enum {
  SZG_LINEAR_STENCILS_FLAG = 1,
  SZG_WIDE_LATTICE_FLAG = 2,
  SZG_HALVED_BASE_FLAG = 4,
  SZG_BLENDED_FLAG = 8,
  SZG_QUINTIC_FLAG = 16,
  SZG_LEVELS_FLAGS = 31
};

/* ---- the archive's header ---- */

SZG_HD bool szg_is_linear_without_gaps(const szg_header *header) {
  return header->layout == SZGPU_LAYOUT_LINEAR && !header->has_gaps;
}

/* Whether older versions have no such values, or not under a bound. */
SZG_HD bool szg_header_needs_types(const szg_header *header) {
  szgpu_dtype const dtype = header->shape.dtype;
  return dtype > SZGPU_FP8 || szg_header_coded_dtype(header) != dtype ||
         header->mode == SZGPU_MODE_PWREL;
}

/* The lowest version that has all features of the archive, which is what its header states. */
SZG_HD uint32_t szg_header_version(const szg_header *header) {
  bool const is_linear = header->layout == SZGPU_LAYOUT_LINEAR;
  if (header->has_blended) return SZG_FORMAT_VERSION_BLENDED;
  if (header->joined) return SZG_FORMAT_VERSION_JOINED;
  if (header->has_halved) return SZG_FORMAT_VERSION_HALVED;
  if (header->has_limits || header->more_fill_count || header->source & SZGPU_SOURCE_EMPTY)
    return SZG_FORMAT_VERSION_KEPT;
  if (header->has_plane_words) return SZG_FORMAT_VERSION_PLANE_WORDS;
  if (szg_header_needs_types(header)) return SZG_FORMAT_VERSION_TYPES;
  if (header->has_levels) return SZG_FORMAT_VERSION_LEVELS;
  if (header->mode == SZGPU_MODE_LOSSLESS && is_linear) return SZG_FORMAT_VERSION_TOP_PLANE;
  if (header->mode == SZGPU_MODE_LOSSLESS || header->has_planes ||
      szg_is_linear_without_gaps(header))
    return SZG_FORMAT_VERSION_LOSSLESS;
  return is_linear ? SZG_FORMAT_VERSION_LINEAR : SZG_FORMAT_VERSION_TILE;
}

/* The fill value that the header names is the field's; the logarithms have another. */
SZG_HD void szg_header_take_log_fill(szg_header *header) {
  header->has_own_fill = header->has_fill;
  header->own_fill_bits = header->fill_bits;
  header->has_fill = true;
  header->fill_bits =
      szg_header_coded_dtype(header) == SZGPU_F32 ? SZG_LOG_FILL_F32 : SZG_LOG_FILL_F64;
}

/* bytes: SZG_HEADER_BYTES. */
SZG_HD void szg_header_load(const uint8_t *bytes, szg_header *header) {
  header->shape.dtype = (szgpu_dtype)bytes[16];
  header->shape.ndim = bytes[17];
  header->mode = (szgpu_mode)bytes[18];
  header->layout = (szgpu_layout)bytes[19];
  header->format_version = szg_load_u32(bytes + 8);
  header->source = szg_load_u32(bytes + 20);
  header->arithmetic = szg_load_u32(bytes + 120);
  header->has_fill = (szg_load_u32(bytes + 12) & SZG_FLAG_FILL) != 0;
  header->has_gaps =
      bytes[19] == SZGPU_LAYOUT_LINEAR && !(szg_load_u32(bytes + 12) & SZG_FLAG_NO_GAPS);
  header->fill_bits = szg_load_u64(bytes + 88);
  header->bound = szg_load_f64(bytes + 56);
  header->absolute_bound = szg_load_f64(bytes + 64);
  header->step = szg_load_f64(bytes + 72);
  header->value_range = szg_load_f64(bytes + 80);
  header->frame_rows = szg_load_u64(bytes + 96);
  header->frame_count = szg_load_u64(bytes + 104);
  header->archive_bytes = szg_load_u64(bytes + 112);
  bool const is_tile = header->layout == SZGPU_LAYOUT_TILE;
  bool const is_bounded_tile = is_tile && header->mode != SZGPU_MODE_LOSSLESS;
  header->has_plane_words = is_tile && header->format_version >= SZG_FORMAT_VERSION_PLANE_WORDS;
  header->has_levels = is_bounded_tile && header->format_version >= SZG_FORMAT_VERSION_LEVELS;
  header->has_halved = header->has_levels && header->format_version >= SZG_FORMAT_VERSION_HALVED;
  header->has_blended = header->has_levels && header->format_version >= SZG_FORMAT_VERSION_BLENDED;
  header->has_planes = header->has_levels ||
                       (is_bounded_tile && header->format_version == SZG_FORMAT_VERSION_LOSSLESS);
  for (int i = 0; i < SZG_MAX_DIMS; i++) header->shape.dims[i] = szg_load_u64(bytes + 24 + 8 * i);
  header->has_own_fill = false;
  header->own_fill_bits = 0;
  header->has_limits = (szg_load_u32(bytes + 12) & SZG_FLAG_LIMITS) != 0;
  header->more_fill_count =
      szg_load_u32(bytes + 12) >> SZG_FLAG_MORE_FILLS_SHIFT & SZG_MOST_MORE_FILLS;
  header->joined = szg_load_u32(bytes + 12) >> SZG_FLAG_JOINED_SHIFT & SZG_MOST_JOINED;
  if (header->mode == SZGPU_MODE_PWREL) szg_header_take_log_fill(header);
}

/* more: szg_header_more_bytes bytes, those after the frame table. */
SZG_HD void szg_header_load_more(const uint8_t *more, szg_header *header) {
  const uint8_t *const fills = more + (header->has_limits ? SZG_LIMITS_BYTES : 0);
  header->least = header->has_limits ? szg_load_f64(more) : 0;
  header->greatest = header->has_limits ? szg_load_f64(more + 8) : 0;
  for (uint32_t i = 0; i < SZG_MOST_MORE_FILLS; i++)
    header->more_fill_bits[i] = i < header->more_fill_count ? szg_load_u64(fills + 8 * i) : 0;
}

/* Whether x is a finite number of the coded type, and not -0: told from its bits, whatever the host
 * does to denormals. */
SZG_HD bool szg_limit_is_sound(double x, bool is_f32) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t const exponent = (uint32_t)(bits >> 52) & 0x7FF;
  if (bits << 1 == 0) return bits == 0;
  if (!is_f32 || exponent == 0x7FF) return exponent < 0x7FF;
  uint32_t const least_normal = 1023 - 126, least = least_normal - 23, greatest = 1023 + 127;
  if (exponent < least || exponent > greatest) return false;
  uint32_t const missing_bits = exponent < least_normal ? least_normal - exponent : 0;
  return bits << (64 - 29 - missing_bits) == 0; /* f32 has 29 bits less, denormals even fewer */
}

SZG_HD bool szg_limits_are_sound(const szg_header *header) {
  bool const is_f32 = szg_header_coded_dtype(header) == SZGPU_F32;
  return szg_limit_is_sound(header->least, is_f32) &&
         szg_limit_is_sound(header->greatest, is_f32) && header->least <= header->greatest;
}

/* A further fill value is one of the field's type, and comes after a first one. */
SZG_HD bool szg_more_fills_are_sound(const szg_header *header) {
  uint32_t const unused_bits = 64 - 8 * (uint32_t)szg_dtype_bytes(header->shape.dtype);
  bool const has_first = header->mode == SZGPU_MODE_PWREL ? header->has_own_fill : header->has_fill;
  bool sound = header->more_fill_count == 0 || has_first;
  for (uint32_t i = 0; i < header->more_fill_count; i++)
    sound &= header->more_fill_bits[i] <= UINT64_MAX >> unused_bits;
  return sound;
}

/* A lossless archive has no bound and nothing that follows from one. */
SZG_HD bool szg_lossless_is_sound(const szg_header *header) {
  bool sound = szg_dtype_has_mode(header->shape.dtype, header->mode) && header->arithmetic == 0 &&
               !header->has_fill;
  sound &= !header->has_limits && !header->more_fill_count;
  return sound && header->bound == 0 && header->absolute_bound == 0 && header->step == 0 &&
         header->value_range == 0;
}

SZG_HD bool szg_header_bound_is_sound(const szg_header *header) {
  bool const is_f32 = szg_header_coded_dtype(header) == SZGPU_F32;
  uint32_t const first_arithmetic = is_f32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64;
  bool sound = szg_dtype_has_mode(header->shape.dtype, header->mode);
  sound &= header->arithmetic - first_arithmetic <= 1; /* one of the type's two */
  sound &= !is_f32 || header->fill_bits <= UINT32_MAX;
  if (header->mode == SZGPU_MODE_PWREL) {
    sound &= header->shape.dtype != SZGPU_F32 || header->own_fill_bits <= UINT32_MAX;
    sound &= header->shape.dtype != SZGPU_F64 || !is_f32; /* its logarithms are f64 */
    sound &= header->bound < 1.0;
  }
  sound &= !header->has_limits || szg_limits_are_sound(header);
  sound &= szg_more_fills_are_sound(header);
  sound &= szg_is_positive(header->bound);
  sound &= szg_is_zero_or_positive(header->absolute_bound);
  sound &= szg_is_zero_or_positive(header->step);
  sound &= szg_is_zero_or_positive(header->value_range);
  if (header->arithmetic == SZG_ARITHMETIC_F32 && szg_is_positive(header->step))
    sound &= header->step >= 0x1p-126 && header->step <= 0x1p126 &&
             (double)(float)header->step == header->step;
  return sound;
}

/* Whether the fields, with those after the frame table, agree with one another. The checksum has
 * shown that they are as written. */
SZG_HD bool szg_header_is_sound(const uint8_t *bytes, const szg_header *header) {
  uint32_t const flags = szg_load_u32(bytes + 12);
  bool sound = header->shape.ndim >= 1 && header->shape.ndim <= SZG_MAX_DIMS;
  sound &= header->mode <= SZGPU_MODE_PWREL && header->layout <= SZGPU_LAYOUT_TILE;
  sound &= header->format_version == szg_header_version(header);
  sound &= flags >> SZG_FLAG_JOINED_SHIFT <= SZG_MOST_JOINED;
  sound &= header->joined == 0 ||
           (header->layout == SZGPU_LAYOUT_TILE && header->mode != SZGPU_MODE_LOSSLESS);
  sound &= header->layout == SZGPU_LAYOUT_LINEAR || !(flags & SZG_FLAG_NO_GAPS);
  sound &= szg_load_u32(bytes + 124) == 0;
  sound &= szg_source_is_sound(header->source, header->mode, &header->shape);
  sound &= (flags & SZG_FLAG_FILL) != 0 || szg_load_u64(bytes + 88) == 0;
  sound = sound && szg_joined_are_sound(header->joined, header->shape.ndim);
  for (int i = header->shape.ndim; sound && i < SZG_MAX_DIMS; i++)
    sound = header->shape.dims[i] == 1;
  return sound && (header->mode == SZGPU_MODE_LOSSLESS ? szg_lossless_is_sound(header)
                                                       : szg_header_bound_is_sound(header));
}

/* What comes before the checksum: loads the header from its first bytes, of which the lesser of
 * available_bytes and SZG_HEADER_BYTES are there. *header_bytes: its size, all of it available. */
SZG_HD szgpu_status szg_header_begin(const uint8_t *bytes, uint64_t available_bytes,
                                     szg_header *header, uint64_t *header_bytes) {
  SZG_REQUIRE(available_bytes > 0, SZGPU_TRUNCATED);
  for (uint64_t i = 0; i < szg_min_u64(available_bytes, SZG_MAGIC_BYTES); i++)
    SZG_REQUIRE(bytes[i] == (uint8_t)SZG_MAGIC[i], SZGPU_NOT_AN_ARCHIVE);
  SZG_REQUIRE(available_bytes >= 12, SZGPU_TRUNCATED);
  uint32_t const version = szg_load_u32(bytes + 8);
  SZG_REQUIRE(version <= SZG_FORMAT_VERSION, SZGPU_NEWER_VERSION);
  SZG_REQUIRE(version > 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(available_bytes >= SZG_HEADER_BYTES, SZGPU_TRUNCATED);
  szg_header_load(bytes, header);
  SZG_REQUIRE(szg_header_bytes(header, header_bytes), SZGPU_BAD_DATA);
  SZG_REQUIRE(available_bytes >= *header_bytes, SZGPU_TRUNCATED);
  return SZGPU_OK;
}

/* Whether the frame table adds up to the archive. */
SZG_HD bool szg_frame_table_is_sound(const uint8_t *table, uint64_t header_bytes,
                                     const szg_header *header) {
  uint64_t end = header_bytes;
  for (uint64_t i = 0; i < header->frame_count; i++) {
    uint64_t const frame_bytes = szg_load_u64(table + 8 * i);
    if (frame_bytes % SZG_ALIGNMENT != 0) return false;
    if (!szg_add_checked(end, frame_bytes, &end)) return false;
  }
  return end == header->archive_bytes;
}

/* Whether the frames are those of the shape, which is valid; grid: the header's. */
SZG_HD bool szg_header_frames_are_sound(const szg_header *header, const szg_grid *grid) {
  uint64_t const rows = header->frame_rows;
  return rows > 0 && rows <= grid->row_extent &&
         (rows == grid->row_extent || rows % grid->row_quantum == 0) &&
         header->frame_count == szg_div_up(grid->row_extent, rows) &&
         (grid->joined == 0 || header->frame_count == 1);
}

/* ---- a frame's header ---- */

/* A levels frame: how it predicts, in the place of the radius. */
SZG_HD uint32_t szg_levels_pack(const szg_levels_facts *levels) {
  return levels->level_count | levels->fine_bits << 8 | (uint32_t)levels->ranks[0] << 16 |
         (uint32_t)levels->ranks[1] << 18 | (uint32_t)levels->ranks[2] << 20;
}

SZG_HD void szg_levels_facts_load(const uint8_t *bytes, szg_levels_facts *levels) {
  levels->axis_count = bytes[2];
  levels->level_count = bytes[4];
  levels->fine_bits = bytes[5];
  levels->is_linear = (bytes[3] & SZG_LINEAR_STENCILS_FLAG) != 0;
  levels->is_wide = (bytes[3] & SZG_WIDE_LATTICE_FLAG) != 0;
  levels->is_halved = (bytes[3] & SZG_HALVED_BASE_FLAG) != 0;
  levels->is_blended = (bytes[3] & SZG_BLENDED_FLAG) != 0;
  levels->is_quintic = (bytes[3] & SZG_QUINTIC_FLAG) != 0;
  for (int axis = 0; axis < 3; axis++) levels->ranks[axis] = bytes[6] >> 2 * axis & 3;
  levels->fold = szg_load_u64(bytes + 24);
}

/* What bytes 2 to 7 and 24 to 31 mean depends on the kind. Members of other kinds are 0. */
SZG_HD void szg_frame_load_particulars(const uint8_t *bytes, szg_frame_header *frame) {
  bool const is_planes = frame->kind == SZG_FRAME_PLANES,
             is_levels = frame->kind == SZG_FRAME_LEVELS;
  if (is_levels) szg_levels_facts_load(bytes, &frame->levels);
  if (is_levels) return;
  frame->escape_bytes = is_planes ? 0 : bytes[2];
  frame->value_bytes = is_planes ? bytes[2] : 0;
  frame->plane_modes = is_planes ? szg_load_u32(bytes + 4) : 0;
  frame->radius = is_planes ? 0 : szg_load_u32(bytes + 4);
  frame->zero_groups = bytes[3] & SZG_ZERO_GROUPS_MASK;
  frame->has_16_bits = (bytes[3] & SZG_LATTICE_16_FLAG) != 0;
  frame->constant_bits = szg_load_u64(bytes + 24);
}

/* Whether the flags in byte 3, and the unused bits of a levels frame, are those of the kind. */
SZG_HD bool szg_frame_flags_are_sound(const szg_frame_header *frame, const uint8_t *bytes) {
  uint32_t flags = 0;
  if (frame->kind == SZG_FRAME_TILE) flags = SZG_ZERO_GROUPS_MASK | SZG_LATTICE_16_FLAG;
  if (frame->kind == SZG_FRAME_LEVELS) flags = SZG_LEVELS_FLAGS;
  bool const is_packed =
      frame->kind != SZG_FRAME_LEVELS || szg_load_u32(bytes + 4) == szg_levels_pack(&frame->levels);
  return !(bytes[3] & ~flags) && frame->zero_groups < SZG_ZERO_GROUPS_COUNT && is_packed;
}

/* The section table: kinds in order, sizes that fill the frame exactly. */
SZG_HD bool szg_frame_sections_are_sound(const szg_frame_header *frame, uint64_t frame_bytes) {
  uint64_t end = szg_frame_header_bytes(frame->section_count);
  for (uint32_t i = 0; i < frame->section_count; i++) {
    const szg_section *const section = &frame->sections[i];
    if (section->kind >= SZG_SECTION_KIND_COUNT || section->codec > SZG_CODEC_ZSTD) return false;
    if (i > 0 && section->kind <= frame->sections[i - 1].kind) return false;
    if (section->codec == SZG_CODEC_STORED && section->stored_bytes != section->raw_bytes)
      return false;
    if (section->stored_bytes > section->raw_bytes) return false; /* zstd is there to save space */
    if (section->stored_bytes > frame_bytes) return false;
    if (!szg_add_checked(end, section->stored_bytes, &end)) return false;
    if (end > frame_bytes) return false;
    end = szg_align_up(end, SZG_ALIGNMENT); /* frame_bytes is a multiple: no overflow */
  }
  return end == frame_bytes;
}

/* What comes before the checksum: loads the header of a frame of frame_bytes bytes into *frame,
 * which is 0. Of the frame's bytes the first available_bytes are there, up to
 * SZG_FRAME_HEADER_MOST_BYTES. *header_bytes: its size, all of it available. */
SZG_HD szgpu_status szg_frame_header_begin(const uint8_t *bytes, uint64_t frame_bytes,
                                           uint64_t available_bytes, szg_frame_header *frame,
                                           uint64_t *header_bytes) {
  SZG_REQUIRE(frame_bytes >= SZG_FRAME_HEADER_BYTES + SZG_CHECKSUM_BYTES, SZGPU_BAD_DATA);
  SZG_REQUIRE(available_bytes >= SZG_FRAME_HEADER_BYTES, SZGPU_TRUNCATED);
  frame->kind = bytes[0];
  frame->axes = bytes[1];
  frame->index = szg_load_u64(bytes + 8);
  frame->value_count = szg_load_u64(bytes + 16);
  frame->section_count = szg_load_u32(bytes + 32);
  szg_frame_load_particulars(bytes, frame);
  /* A count beyond the number of kinds can only be damage: no checksum was made for it. */
  SZG_REQUIRE(frame->section_count <= SZG_SECTION_KIND_COUNT, SZGPU_BAD_CHECKSUM);
  *header_bytes = szg_frame_header_bytes(frame->section_count);
  SZG_REQUIRE(*header_bytes <= frame_bytes, SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(*header_bytes <= available_bytes, SZGPU_TRUNCATED);
  const uint8_t *entry = bytes + SZG_FRAME_HEADER_BYTES;
  for (uint32_t i = 0; i < frame->section_count; i++, entry += SZG_SECTION_ENTRY_BYTES) {
    szg_section *const section = &frame->sections[i];
    section->kind = szg_load_u32(entry);
    section->codec = szg_load_u32(entry + 4);
    section->raw_bytes = szg_load_u64(entry + 8);
    section->stored_bytes = szg_load_u64(entry + 16);
    section->checksum = szg_load_u64(entry + 24);
  }
  return SZGPU_OK;
}

/* What comes after the checksum. */
SZG_HD bool szg_frame_header_is_sound(const uint8_t *bytes, uint64_t frame_bytes,
                                      const szg_frame_header *frame) {
  return frame->kind < SZG_FRAME_KIND_COUNT && szg_frame_flags_are_sound(frame, bytes) &&
         szg_load_u32(bytes + 36) == 0 && szg_frame_sections_are_sound(frame, frame_bytes);
}

SZG_C_END

#endif
