/* container.h - the archive's headers: writes them field by field, checks every field on reading.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CONTAINER_H
#define SZG_CONTAINER_H

#include <stdbool.h>

#include "container/format.h"
#include "core/bytes.h"
#include "core/status.h"
#include "core/tiles.h"

SZG_C_BEGIN

/* What readers and writers keep in a ctx (core/context.h). */
enum {
  SZG_KEPT_PACKED,   /* a section under zstd; a small archive */
  SZG_KEPT_LEAVES,   /* of a checksum tree */
  SZG_KEPT_SECTIONS, /* of the frame being read, if not as stored */
  SZG_KEPT_PARTS = SZG_KEPT_SECTIONS + SZG_SECTION_KIND_COUNT /* codecs/frame.h */
};

typedef struct szg_header {
  szgpu_shape shape;
  szgpu_mode mode;
  szgpu_layout layout;
  uint32_t format_version;
  uint32_t source;
  uint32_t arithmetic;
  bool has_fill, has_gaps;
  bool has_planes;      /* with a bound: some frames are, or may be, planes frames */
  bool has_levels;      /* some frames are levels frames */
  bool has_halved;      /* some of them have a halved base */
  bool has_blended;     /* some of them have blended stencils */
  bool has_plane_words; /* planes frames have their words after their stored planes */
  uint32_t joined;      /* axes, as in szg_grid */
  uint64_t fill_bits;   /* of the values that are coded */
  bool has_own_fill;    /* SZGPU_MODE_PWREL: the field has a fill value, with these bits */
  uint64_t own_fill_bits;
  uint32_t more_fill_count;                     /* fill values after the first */
  uint64_t more_fill_bits[SZG_MOST_MORE_FILLS]; /* in the field's type */
  bool has_limits; /* restored values of frames that code values are brought between these: */
  double least, greatest; /* numbers of the type that is coded, not -0 */
  double bound, absolute_bound, step, value_range;
  uint64_t frame_rows, frame_count;
  uint64_t archive_bytes;
} szg_header;

/* The field's grid, if its shape is valid. */
SZG_HD szg_grid szg_header_grid(const szg_header *header) {
  return szg_grid_of_joined(header->shape.dims, header->shape.ndim, header->joined);
}

typedef struct szg_section {
  uint32_t kind;  /* SZG_SECTION_* */
  uint32_t codec; /* SZG_CODEC_* */
  uint64_t raw_bytes;
  uint64_t stored_bytes;
  uint64_t checksum; /* tree over the stored bytes and the zero padding */
} szg_section;

enum { SZG_CHECKSUM_BYTES = 8 }; /* at the end of a header */

enum { SZG_TILE_SECTION_COUNT = 8 }; /* every tile frame's */

/* What the header of a levels frame says of it; docs/format.md, section 16. */
typedef struct szg_levels_facts {
  uint32_t axis_count;  /* interpolated axes */
  uint32_t level_count; /* levels above the base */
  uint32_t fine_bits;   /* lattice values are multiples of step / (2^this + 1); 0: of the step */
  bool is_linear;       /* stencils of two points, not of four */
  bool is_wide;         /* 64-bit lattice values */
  bool is_halved;       /* the base of a line is predicted by halves, not by differences */
  bool is_blended;      /* points of several odd axes come from blended stencils */
  bool is_quintic;      /* and those of one from stencils of six points */
  uint8_t ranks[3];     /* of x, y, z */
  uint64_t fold;        /* 1-D fields as rows of this many values; 0: not */
} szg_levels_facts;

typedef struct szg_frame_header {
  uint32_t kind; /* SZG_FRAME_* */
  uint32_t axes;
  uint32_t escape_bytes;
  uint32_t radius;
  uint32_t value_bytes; /* planes frames: the bytes of a value */
  uint32_t plane_modes; /* planes frames: two bits per plane, plane 0 lowest */
  uint32_t zero_groups; /* tile frames: SZG_ZERO_GROUPS_* */
  bool has_16_bits;     /* tile frames: lattice points of 16 bits */
  szg_levels_facts levels;
  uint64_t index;
  uint64_t value_count;
  uint64_t constant_bits;
  uint32_t section_count;
  szg_section sections[SZG_SECTION_KIND_COUNT];
} szg_frame_header;

/* The type in which the archive's frames code values. */
SZG_HD szgpu_dtype szg_header_coded_dtype(const szg_header *header) {
  if (header->mode == SZGPU_MODE_PWREL)
    return header->arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? SZGPU_F32 : SZGPU_F64;
  return szg_coded_dtype(header->mode, header->shape.dtype);
}

/* Known bits; an empty file has one byte in its place, losslessly. */
SZG_HD bool szg_source_is_sound(uint32_t source, szgpu_mode mode, const szgpu_shape *shape) {
  bool const is_empty = (source & SZGPU_SOURCE_EMPTY) != 0;
  return (source & ~(uint32_t)SZGPU_SOURCE_ALL) == 0 &&
         (!is_empty || (source == SZGPU_SOURCE_EMPTY && mode == SZGPU_MODE_LOSSLESS &&
                        shape->dtype == SZGPU_U8 && shape->ndim == 1 && shape->dims[0] == 1));
}

/* The name of a kind of section in listings and errors. In a levels frame, a level's section is
 * named after the level; without a frame, levels count from the coarsest. */
const char *szg_section_name(uint32_t kind);
const char *szg_section_name_in(const szg_frame_header *frame, uint32_t kind);

/* What a header may have after its frame table: the limits, then the further fill values. */
enum { SZG_LIMITS_BYTES = 16, SZG_MOST_MORE_BYTES = SZG_LIMITS_BYTES + 8 * SZG_MOST_MORE_FILLS };

/* The size of header, frame table, the more_bytes after it, padding and checksum. False if it
 * overflows. */
SZG_CHECKED SZG_HD bool szg_header_bytes_with(uint64_t frame_count, uint64_t more_bytes,
                                              uint64_t *header_bytes) {
  uint64_t const around = SZG_HEADER_BYTES + more_bytes + SZG_CHECKSUM_BYTES;
  uint64_t table_bytes;
  if (!szg_mul_checked(frame_count, 8, &table_bytes)) return false;
  if (!szg_add_checked(table_bytes, around + SZG_ALIGNMENT, header_bytes)) return false;
  *header_bytes = szg_align_up(table_bytes + around, SZG_ALIGNMENT);
  return true;
}

SZG_HD uint64_t szg_header_more_bytes(const szg_header *header) {
  return (header->has_limits ? SZG_LIMITS_BYTES : 0) + 8 * (uint64_t)header->more_fill_count;
}

SZG_CHECKED SZG_HD bool szg_header_bytes(const szg_header *header, uint64_t *header_bytes) {
  return szg_header_bytes_with(header->frame_count, szg_header_more_bytes(header), header_bytes);
}

/* Updates the archive's header with what one of its frames implies. */
SZG_HD void szg_header_note_frame(szg_header *header, const szg_frame_header *frame) {
  uint32_t const count = frame->section_count;
  bool const has_words = count > 0 && frame->sections[count - 1].kind == SZG_SECTION_PLANE_WORDS;
  if (frame->kind == SZG_FRAME_PLANES) header->has_planes = true;
  if (frame->kind == SZG_FRAME_PLANES && has_words) header->has_plane_words = true;
  if (frame->kind == SZG_FRAME_LEVELS) header->has_levels = true;
  if (frame->kind == SZG_FRAME_LEVELS && frame->levels.is_halved) header->has_halved = true;
  if (frame->kind == SZG_FRAME_LEVELS && frame->levels.is_blended) header->has_blended = true;
}
/* Adds what another header notes of frames of the same archive. */
void szg_header_add_notes(const szg_header *other, szg_header *header);

/* Writes szg_header_bytes bytes; frame_bytes becomes the frame table. */
void szg_header_write(const szg_header *header, const uint64_t *frame_bytes, uint8_t *bytes);

/* Reads and checks an archive's header from the first available_bytes of the archive, which may end
 * after the header. *header is of a copy, so it is as checked even if the bytes change meanwhile;
 * the frame table is not copied (szg_open does that). */
szgpu_status szg_header_read(const uint8_t *bytes, uint64_t available_bytes,
                             szg_header *header) SZG_CHECKED;

/* The bytes of frame `frame` by the table of a checked header that does not change. */
uint64_t szg_header_frame_bytes(const uint8_t *bytes, uint64_t frame);

SZG_HD uint64_t szg_frame_header_bytes(uint32_t section_count) {
  return SZG_FRAME_HEADER_BYTES + (uint64_t)section_count * SZG_SECTION_ENTRY_BYTES +
         SZG_CHECKSUM_BYTES;
}
static_assert((SZG_FRAME_HEADER_BYTES + SZG_CHECKSUM_BYTES) % SZG_ALIGNMENT == 0,
              "sections are aligned");
static_assert(SZG_SECTION_ENTRY_BYTES % SZG_ALIGNMENT == 0, "sections are aligned");

void szg_frame_header_write(const szg_frame_header *frame, uint8_t *bytes);

/* Reads and checks the header of a frame of frame_bytes bytes, of which the first available_bytes
 * are available. Checks it by itself, not against the field's shape, and on a copy, so *frame is as
 * checked. */
szgpu_status szg_frame_header_read(const uint8_t *bytes, uint64_t frame_bytes,
                                   uint64_t available_bytes, szg_frame_header *frame) SZG_CHECKED;

SZG_C_END

#endif
