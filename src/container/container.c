/* container.c - the archive's headers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/container.h"

#include <string.h>

#include "container/checksum.h"
#include "core/bytes.h"
#include "core/once.h"

enum {
  CHECKSUM_BYTES = 8,
  FRAME_HEADER_MOST_BYTES =
      SZG_FRAME_HEADER_BYTES + SZG_SECTION_KIND_COUNT * SZG_SECTION_ENTRY_BYTES + CHECKSUM_BYTES
};

/* Byte 3 of the header of a tile frame, and of a levels frame. */
enum { ZERO_GROUPS_MASK = 3, LATTICE_16_FLAG = 4 };
enum { LINEAR_STENCILS_FLAG = 1, WIDE_LATTICE_FLAG = 2 };

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

bool szg_header_bytes(uint64_t frame_count, uint64_t *header_bytes) {
  uint64_t table_bytes;
  if (!szg_mul_checked(frame_count, 8, &table_bytes)) return false;
  if (!szg_add_checked(table_bytes, SZG_HEADER_BYTES + CHECKSUM_BYTES + SZG_ALIGNMENT,
                       header_bytes))
    return false;
  *header_bytes = szg_align_up(SZG_HEADER_BYTES + table_bytes + CHECKSUM_BYTES, SZG_ALIGNMENT);
  return true;
}

static bool is_linear_without_gaps(const szg_header *header) {
  return header->layout == SZGPU_LAYOUT_LINEAR && !header->has_gaps;
}

/* The lowest version that has all features of the archive, which is what its header states. */
static uint32_t version_of(const szg_header *header) {
  bool const is_linear = header->layout == SZGPU_LAYOUT_LINEAR;
  if (header->has_levels) return SZG_FORMAT_VERSION_LEVELS;
  if (header->mode == SZGPU_MODE_LOSSLESS && is_linear) return SZG_FORMAT_VERSION_TOP_PLANE;
  if (header->mode == SZGPU_MODE_LOSSLESS || header->has_planes || is_linear_without_gaps(header))
    return SZG_FORMAT_VERSION_LOSSLESS;
  return is_linear ? SZG_FORMAT_VERSION_LINEAR : SZG_FORMAT_VERSION_TILE;
}

/* Levels frames, and planes frames in archives with a bound, need a later version. */
void szg_header_note_frame(szg_header *header, const szg_frame_header *frame) {
  if (frame->kind == SZG_FRAME_PLANES) header->has_planes = true;
  if (frame->kind == SZG_FRAME_LEVELS) header->has_levels = true;
}

void szg_header_write(const szg_header *header, const uint64_t *frame_bytes, uint8_t *bytes) {
  uint64_t header_bytes = 0;
  bool const fits = szg_header_bytes(header->frame_count, &header_bytes);
  assert(fits);
  (void)fits;
  memset(bytes, 0, header_bytes);
  memcpy(bytes, SZG_MAGIC, SZG_MAGIC_BYTES);
  szg_store_u32(bytes + 8, version_of(header));
  szg_store_u32(bytes + 12, (header->has_fill ? SZG_FLAG_FILL : 0u) |
                                (is_linear_without_gaps(header) ? SZG_FLAG_NO_GAPS : 0u));
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
  szg_store_u64(bytes + 88, header->has_fill ? header->fill_bits : 0);
  szg_store_u64(bytes + 96, header->frame_rows);
  szg_store_u64(bytes + 104, header->frame_count);
  szg_store_u64(bytes + 112, header->archive_bytes);
  szg_store_u32(bytes + 120, header->arithmetic);
  for (uint64_t i = 0; i < header->frame_count; i++)
    szg_store_u64(bytes + SZG_HEADER_BYTES + 8 * i, frame_bytes[i]);
  uint8_t *const checksum = bytes + header_bytes - CHECKSUM_BYTES;
  szg_store_u64(checksum, szg_checksum_plain(bytes, header_bytes - CHECKSUM_BYTES));
}

uint64_t szg_header_frame_bytes(const uint8_t *bytes, uint64_t frame) {
  return szg_load_u64(bytes + SZG_HEADER_BYTES + 8 * frame);
}

static void load_header(const uint8_t *bytes, szg_header *header) {
  *header = (szg_header){
      .shape = {.dtype = (szgpu_dtype)bytes[16], .ndim = bytes[17]},
      .mode = (szgpu_mode)bytes[18],
      .layout = (szgpu_layout)bytes[19],
      .format_version = szg_load_u32(bytes + 8),
      .source = szg_load_u32(bytes + 20),
      .arithmetic = szg_load_u32(bytes + 120),
      .has_fill = szg_load_u32(bytes + 12) & SZG_FLAG_FILL,
      .has_gaps =
          bytes[19] == SZGPU_LAYOUT_LINEAR && !(szg_load_u32(bytes + 12) & SZG_FLAG_NO_GAPS),
      .fill_bits = szg_load_u64(bytes + 88),
      .bound = szg_load_f64(bytes + 56),
      .absolute_bound = szg_load_f64(bytes + 64),
      .step = szg_load_f64(bytes + 72),
      .value_range = szg_load_f64(bytes + 80),
      .frame_rows = szg_load_u64(bytes + 96),
      .frame_count = szg_load_u64(bytes + 104),
      .archive_bytes = szg_load_u64(bytes + 112),
  };
  bool const is_bounded_tile =
      header->layout == SZGPU_LAYOUT_TILE && header->mode != SZGPU_MODE_LOSSLESS;
  header->has_levels = is_bounded_tile && header->format_version == SZG_FORMAT_VERSION_LEVELS;
  header->has_planes = header->has_levels ||
                       (is_bounded_tile && header->format_version == SZG_FORMAT_VERSION_LOSSLESS);
  for (int i = 0; i < SZG_MAX_DIMS; i++) header->shape.dims[i] = szg_load_u64(bytes + 24 + 8 * i);
}

/* A lossless archive has no bound and nothing that follows from one. */
static bool lossless_is_sound(const szg_header *header) {
  bool sound = header->shape.dtype <= SZGPU_FP8 && header->arithmetic == 0 && !header->has_fill;
  return sound && header->bound == 0 && header->absolute_bound == 0 && header->step == 0 &&
         header->value_range == 0;
}

static bool bound_is_sound(const szg_header *header) {
  bool const is_f32 = header->shape.dtype == SZGPU_F32;
  uint32_t const first_arithmetic = is_f32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64;
  bool sound = is_f32 || header->shape.dtype == SZGPU_F64;
  sound &= header->arithmetic - first_arithmetic <= 1; /* one of the type's two */
  sound &= !is_f32 || header->fill_bits <= UINT32_MAX;
  sound &= szg_is_positive(header->bound);
  sound &= szg_is_zero_or_positive(header->absolute_bound);
  sound &= szg_is_zero_or_positive(header->step);
  sound &= szg_is_zero_or_positive(header->value_range);
  if (header->arithmetic == SZG_ARITHMETIC_F32 && szg_is_positive(header->step))
    sound &= header->step >= 0x1p-126 && header->step <= 0x1p126 &&
             (double)(float)header->step == header->step;
  return sound;
}

/* Whether the fields agree with one another. The checksum has shown that they are as written. */
static bool header_is_sound(const uint8_t *bytes, const szg_header *header) {
  uint32_t const flags = szg_load_u32(bytes + 12);
  bool sound = header->shape.ndim >= 1 && header->shape.ndim <= SZG_MAX_DIMS;
  sound &= header->mode <= SZGPU_MODE_LOSSLESS && header->layout <= SZGPU_LAYOUT_TILE;
  sound &= header->format_version == version_of(header);
  sound &= (flags & ~(uint32_t)(SZG_FLAG_FILL | SZG_FLAG_NO_GAPS)) == 0;
  sound &= header->layout == SZGPU_LAYOUT_LINEAR || !(flags & SZG_FLAG_NO_GAPS);
  sound &= szg_load_u32(bytes + 124) == 0;
  sound &= (header->source & ~(uint32_t)SZGPU_SOURCE_ALL) == 0;
  sound &= header->has_fill || header->fill_bits == 0;
  for (int i = header->shape.ndim; sound && i < SZG_MAX_DIMS; i++)
    sound = header->shape.dims[i] == 1;
  return sound &&
         (header->mode == SZGPU_MODE_LOSSLESS ? lossless_is_sound(header) : bound_is_sound(header));
}

szgpu_status szg_header_read(const uint8_t *bytes, uint64_t available_bytes, szg_header *header) {
  SZG_REQUIRE(available_bytes > 0, SZGPU_TRUNCATED);
  uint64_t const magic_bytes = szg_min_u64(available_bytes, SZG_MAGIC_BYTES);
  SZG_REQUIRE(memcmp(bytes, SZG_MAGIC, magic_bytes) == 0, SZGPU_NOT_AN_ARCHIVE);
  SZG_REQUIRE(available_bytes >= 12, SZGPU_TRUNCATED);
  uint32_t const version = szg_load_u32(bytes + 8);
  SZG_REQUIRE(version <= SZG_FORMAT_VERSION, SZGPU_NEWER_VERSION);
  SZG_REQUIRE(version > 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(available_bytes >= SZG_HEADER_BYTES, SZGPU_TRUNCATED);
  uint8_t fixed[SZG_HEADER_BYTES]; /* a copy: what is checked is what is used */
  szg_copy_once(fixed, bytes, sizeof fixed);
  load_header(fixed, header);
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(header->frame_count, &header_bytes), SZGPU_BAD_DATA);
  SZG_REQUIRE(available_bytes >= header_bytes, SZGPU_TRUNCATED);
  uint64_t const checksum = szg_load_u64(bytes + header_bytes - CHECKSUM_BYTES);
  SZG_REQUIRE(checksum == szg_checksum_plain(bytes, header_bytes - CHECKSUM_BYTES),
              SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(header_is_sound(fixed, header), SZGPU_BAD_DATA);
  uint64_t end = header_bytes;
  for (uint64_t i = 0; i < header->frame_count; i++) {
    uint64_t const frame_bytes = szg_header_frame_bytes(bytes, i);
    SZG_REQUIRE(frame_bytes % SZG_ALIGNMENT == 0, SZGPU_BAD_DATA);
    SZG_REQUIRE(szg_add_checked(end, frame_bytes, &end), SZGPU_BAD_DATA);
  }
  SZG_REQUIRE(end == header->archive_bytes, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

uint64_t szg_frame_header_bytes(uint32_t section_count) {
  return SZG_FRAME_HEADER_BYTES + (uint64_t)section_count * SZG_SECTION_ENTRY_BYTES +
         CHECKSUM_BYTES;
}
static_assert((SZG_FRAME_HEADER_BYTES + CHECKSUM_BYTES) % SZG_ALIGNMENT == 0,
              "sections are aligned");
static_assert(SZG_SECTION_ENTRY_BYTES % SZG_ALIGNMENT == 0, "sections are aligned");

/* A levels frame: how it predicts, in the place of the radius. */
static uint32_t pack_levels(const szg_levels_facts *levels) {
  return levels->level_count | levels->fine_bits << 8 | (uint32_t)levels->ranks[0] << 16 |
         (uint32_t)levels->ranks[1] << 18 | (uint32_t)levels->ranks[2] << 20;
}

static szg_levels_facts load_levels(const uint8_t *bytes) {
  return (szg_levels_facts){
      .axis_count = bytes[2],
      .level_count = bytes[4],
      .fine_bits = bytes[5],
      .is_linear = bytes[3] & LINEAR_STENCILS_FLAG,
      .is_wide = bytes[3] & WIDE_LATTICE_FLAG,
      .ranks = {bytes[6] & 3, bytes[6] >> 2 & 3, bytes[6] >> 4 & 3},
      .fold = szg_load_u64(bytes + 24),
  };
}

/* What bytes 2 to 7 and 24 to 31 mean depends on the kind. */
static void write_particulars(const szg_frame_header *frame, uint8_t *bytes) {
  bytes[2] = (uint8_t)frame->escape_bytes;
  bytes[3] = (uint8_t)(frame->zero_groups | (frame->has_16_bits ? LATTICE_16_FLAG : 0));
  szg_store_u32(bytes + 4, frame->radius);
  szg_store_u64(bytes + 24, frame->constant_bits);
  if (frame->kind == SZG_FRAME_PLANES) {
    bytes[2] = (uint8_t)frame->value_bytes;
    szg_store_u32(bytes + 4, frame->plane_modes);
  } else if (frame->kind == SZG_FRAME_LEVELS) {
    bytes[2] = (uint8_t)frame->levels.axis_count;
    bytes[3] = (uint8_t)((frame->levels.is_linear ? LINEAR_STENCILS_FLAG : 0) |
                         (frame->levels.is_wide ? WIDE_LATTICE_FLAG : 0));
    szg_store_u32(bytes + 4, pack_levels(&frame->levels));
    szg_store_u64(bytes + 24, frame->levels.fold);
  }
}

static void load_particulars(const uint8_t *bytes, szg_frame_header *frame) {
  if (frame->kind == SZG_FRAME_LEVELS) {
    frame->levels = load_levels(bytes);
    return;
  }
  bool const is_planes = frame->kind == SZG_FRAME_PLANES;
  frame->escape_bytes = is_planes ? 0 : bytes[2];
  frame->value_bytes = is_planes ? bytes[2] : 0;
  frame->plane_modes = is_planes ? szg_load_u32(bytes + 4) : 0;
  frame->radius = is_planes ? 0 : szg_load_u32(bytes + 4);
  frame->zero_groups = bytes[3] & ZERO_GROUPS_MASK;
  frame->has_16_bits = bytes[3] & LATTICE_16_FLAG;
  frame->constant_bits = szg_load_u64(bytes + 24);
}

/* Whether the flags in byte 3, and the unused bits of a levels frame, are those of the kind. */
static bool flags_are_sound(const szg_frame_header *frame, const uint8_t *bytes) {
  uint32_t flags = 0;
  if (frame->kind == SZG_FRAME_TILE) flags = ZERO_GROUPS_MASK | LATTICE_16_FLAG;
  if (frame->kind == SZG_FRAME_LEVELS) flags = LINEAR_STENCILS_FLAG | WIDE_LATTICE_FLAG;
  bool const is_packed =
      frame->kind != SZG_FRAME_LEVELS || szg_load_u32(bytes + 4) == pack_levels(&frame->levels);
  return !(bytes[3] & ~flags) && frame->zero_groups < SZG_ZERO_GROUPS_COUNT && is_packed;
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
  szg_store_u64(entry, szg_checksum_plain(bytes, header_bytes - CHECKSUM_BYTES));
}

/* The section table: kinds in order, sizes that fill the frame exactly. */
static bool sections_are_sound(const szg_frame_header *frame, uint64_t frame_bytes) {
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

/* Checks the first available_bytes of a frame, which do not change. */
static szgpu_status read_frame_header(const uint8_t *bytes, uint64_t frame_bytes,
                                      uint64_t available_bytes, szg_frame_header *frame) {
  SZG_REQUIRE(frame_bytes >= SZG_FRAME_HEADER_BYTES + CHECKSUM_BYTES, SZGPU_BAD_DATA);
  SZG_REQUIRE(available_bytes >= SZG_FRAME_HEADER_BYTES, SZGPU_TRUNCATED);
  *frame = (szg_frame_header){
      .kind = bytes[0],
      .axes = bytes[1],
      .index = szg_load_u64(bytes + 8),
      .value_count = szg_load_u64(bytes + 16),
      .section_count = szg_load_u32(bytes + 32),
  };
  load_particulars(bytes, frame);
  /* A count beyond the number of kinds can only be damage: no checksum was made for it. */
  SZG_REQUIRE(frame->section_count <= SZG_SECTION_KIND_COUNT, SZGPU_BAD_CHECKSUM);
  uint64_t const header_bytes = szg_frame_header_bytes(frame->section_count);
  SZG_REQUIRE(header_bytes <= frame_bytes, SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(header_bytes <= available_bytes, SZGPU_TRUNCATED);
  const uint8_t *entry = bytes + SZG_FRAME_HEADER_BYTES;
  for (uint32_t i = 0; i < frame->section_count; i++, entry += SZG_SECTION_ENTRY_BYTES)
    frame->sections[i] =
        (szg_section){szg_load_u32(entry), szg_load_u32(entry + 4), szg_load_u64(entry + 8),
                      szg_load_u64(entry + 16), szg_load_u64(entry + 24)};
  SZG_REQUIRE(szg_load_u64(entry) == szg_checksum_plain(bytes, header_bytes - CHECKSUM_BYTES),
              SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(frame->kind < SZG_FRAME_KIND_COUNT, SZGPU_BAD_DATA);
  SZG_REQUIRE(flags_are_sound(frame, bytes) && szg_load_u32(bytes + 36) == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(sections_are_sound(frame, frame_bytes), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_frame_header_read(const uint8_t *bytes, uint64_t frame_bytes,
                                   uint64_t available_bytes, szg_frame_header *frame) {
  uint8_t copy[FRAME_HEADER_MOST_BYTES];
  uint64_t const copied_bytes = szg_min_u64(available_bytes, sizeof copy);
  szg_copy_once(copy, bytes, copied_bytes);
  return read_frame_header(copy, frame_bytes, copied_bytes, frame);
}
