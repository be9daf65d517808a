/* header_write_core.h - headers, written field by field by the host and by kernels.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts and warps compute the checksums in ways of their own, and add them.
 */
#ifndef SZG_HEADER_WRITE_CORE_H
#define SZG_HEADER_WRITE_CORE_H

#include "container/header_core.h"

SZG_C_BEGIN

/* ---- the archive's header ---- */

/* What follows the frame table. */
SZG_HD void szg_header_put_more(const szg_header *header, uint8_t *more) {
  if (header->has_limits) {
    szg_store_f64(more, header->least);
    szg_store_f64(more + 8, header->greatest);
    more += SZG_LIMITS_BYTES;
  }
  for (uint32_t i = 0; i < header->more_fill_count; i++)
    szg_store_u64(more + 8 * i, header->more_fill_bits[i]);
}

/* Writes a header of header_bytes, except for its checksum. */
SZG_HD void szg_header_put(const szg_header *header, uint64_t header_bytes,
                           const uint64_t *frame_bytes, uint8_t *bytes) {
  memset(bytes, 0, header_bytes);
  memcpy(bytes, SZG_MAGIC, SZG_MAGIC_BYTES);
  szg_store_u32(bytes + 8, szg_header_version(header));
  bool const is_log = header->mode == SZGPU_MODE_PWREL;
  bool const has_fill = is_log ? header->has_own_fill : header->has_fill;
  szg_store_u32(bytes + 12,
                (has_fill ? (uint32_t)SZG_FLAG_FILL : 0u) |
                    (szg_is_linear_without_gaps(header) ? (uint32_t)SZG_FLAG_NO_GAPS : 0u) |
                    (header->has_limits ? (uint32_t)SZG_FLAG_LIMITS : 0u) |
                    header->more_fill_count << SZG_FLAG_MORE_FILLS_SHIFT |
                    header->joined << SZG_FLAG_JOINED_SHIFT);
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
  szg_header_put_more(header, bytes + SZG_HEADER_BYTES + 8 * header->frame_count);
}

/* ---- a frame's header ---- */

/* What bytes 2 to 7 and 24 to 31 mean depends on the kind. */
SZG_HD void szg_frame_put_particulars(const szg_frame_header *frame, uint8_t *bytes) {
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
                         (frame->levels.is_wide ? SZG_WIDE_LATTICE_FLAG : 0) |
                         (frame->levels.is_halved ? SZG_HALVED_BASE_FLAG : 0) |
                         (frame->levels.is_blended ? SZG_BLENDED_FLAG : 0) |
                         (frame->levels.is_quintic ? SZG_QUINTIC_FLAG : 0));
    szg_store_u32(bytes + 4, szg_levels_pack(&frame->levels));
    szg_store_u64(bytes + 24, frame->levels.fold);
  }
}

/* Writes a frame's header, except for its checksum. */
SZG_HD void szg_frame_header_put(const szg_frame_header *frame, uint8_t *bytes) {
  uint64_t const header_bytes = szg_frame_header_bytes(frame->section_count);
  memset(bytes, 0, header_bytes);
  bytes[0] = (uint8_t)frame->kind;
  bytes[1] = (uint8_t)frame->axes;
  szg_frame_put_particulars(frame, bytes);
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
}

SZG_C_END

#endif
