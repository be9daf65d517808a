/* open.c - headers of an archive, checked against the shape that they state.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bytes.h"
#include "lossless/planes.h"
#include "pipeline/pipeline.h"
#include "pipeline/top_plane.h"
#include "rle/rle.h"

szgpu_status szg_open(const void *archive, uint64_t available_bytes, szg_opened *opened) {
  *opened = (szg_opened){.bytes = archive, .available_bytes = available_bytes};
  szg_header *const header = &opened->header;
  SZG_TRY(szg_header_read(opened->bytes, available_bytes, header));
  szg_grid *const grid = &opened->grid;
  SZG_REQUIRE(szg_grid_of_shape(&header->shape, grid) == SZGPU_OK, SZGPU_BAD_DATA);
  uint64_t const rows = header->frame_rows;
  SZG_REQUIRE(rows > 0 && rows <= grid->row_extent, SZGPU_BAD_DATA);
  SZG_REQUIRE(rows == grid->row_extent || rows % grid->row_quantum == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(header->frame_count == szg_div_up(grid->row_extent, rows), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

uint64_t szg_frame_offset(const szg_opened *opened, uint64_t frame) {
  uint64_t offset = 0;
  bool const fits = szg_header_bytes(opened->header.frame_count, &offset);
  assert(fits);
  (void)fits;
  for (uint64_t i = 0; i < frame; i++) offset += szg_header_frame_bytes(opened->bytes, i);
  return offset;
}

uint64_t szg_frame_row_count(const szg_opened *opened, uint64_t frame) {
  uint64_t const rows = opened->header.frame_rows;
  return szg_min_u64(rows, opened->grid.row_extent - frame * rows);
}

szgpu_status szg_open_frame(const szg_opened *opened, uint64_t frame, uint64_t offset,
                            szg_frame_header *header) {
  SZG_REQUIRE(offset < opened->available_bytes, SZGPU_TRUNCATED);
  return szg_open_frame_at(opened, frame, opened->bytes + offset, opened->available_bytes - offset,
                           header);
}

/* What the section table of a tile frame may say of a section. */
typedef struct section_rule {
  uint32_t kind;
  uint64_t least_bytes, most_bytes;
  uint32_t unit; /* raw bytes are a multiple of it */
} section_rule;

static bool keeps_rule(const szg_section *section, const section_rule *rule) {
  if (section->kind != rule->kind) return false;
  if (section->raw_bytes == 0 && section->codec != SZG_CODEC_STORED) return false;
  return section->raw_bytes >= rule->least_bytes && section->raw_bytes <= rule->most_bytes &&
         section->raw_bytes % rule->unit == 0;
}

/* The eight sections of a tile frame. Outliers that the frame does not have leave theirs empty. */
static bool has_tile_sections(const szg_opened *opened, uint64_t frame,
                              const szg_frame_header *header) {
  enum { EXACT_COUNTS = 3, FILL_COUNTS = 6 }; /* places in the table */
  const szg_section *const sections = header->sections;
  if (header->section_count != SZG_TILE_SECTION_COUNT) return false;
  uint64_t const row_count = szg_frame_row_count(opened, frame);
  uint64_t const tiles = szg_grid_of_rows(&opened->grid, row_count).tile_count;
  uint32_t const width = (uint32_t)szg_dtype_bytes(opened->header.shape.dtype);
  uint64_t const values_bytes = header->value_count * width;
  bool const has_exact = sections[EXACT_COUNTS].raw_bytes > 0;
  bool const has_fill = sections[FILL_COUNTS].raw_bytes > 0;
  uint64_t const most_exact_mask = has_exact ? tiles * SZG_MASK_MAX_BYTES : 0;
  uint64_t const most_fill_mask = has_fill ? tiles * SZG_MASK_MAX_BYTES : 0;
  section_rule const rules[SZG_TILE_SECTION_COUNT] = {
      {SZG_SECTION_CODEBOOK, 1, SZG_TILE_BOOK_MAX_BYTES, 1},
      {SZG_SECTION_TILE_SIZES, 2 * tiles, 2 * tiles, 1},
      {SZG_SECTION_BITSTREAM, 0, values_bytes, 4},
      {SZG_SECTION_EXACT_COUNTS, has_exact ? 4 * tiles : 0, 4 * tiles, 1},
      {SZG_SECTION_EXACT_MASK, has_exact, most_exact_mask, 1},
      {SZG_SECTION_EXACT_VALUES, has_exact ? width : 0, has_exact ? values_bytes : 0, width},
      {SZG_SECTION_FILL_COUNTS, has_fill ? 2 * tiles : 0, opened->header.has_fill ? 2 * tiles : 0,
       1},
      {SZG_SECTION_FILL_MASK, has_fill, most_fill_mask, 1},
  };
  for (uint32_t i = 0; i < SZG_TILE_SECTION_COUNT; i++)
    if (!keeps_rule(&sections[i], &rules[i])) return false;
  return true;
}

/* The sections of a planes frame, as its planes say. */
static bool has_planes_sections(const szg_planes_layout *layout, uint64_t value_count,
                                const szg_frame_header *header) {
  uint64_t const tiles = szg_planes_tile_count(value_count);
  uint64_t const books = szg_planes_book_bytes(layout);
  uint64_t const stored = szg_planes_stored_bytes(layout, value_count);
  uint64_t const coded_planes = books / SZG_PLANES_BOOK_BYTES;
  section_rule const rules[] = {
      {SZG_SECTION_CODEBOOK, books, books, 1},
      {SZG_SECTION_TILE_SIZES, 2 * tiles, 2 * tiles, 1},
      {SZG_SECTION_BITSTREAM, 4 * coded_planes, 4 * coded_planes * tiles * SZG_PLANE_MOST_WORDS, 4},
      {SZG_SECTION_RAW, stored, stored, 1},
  };
  uint32_t const first = books ? 0 : 3, end = stored ? 4 : 3;
  if (header->section_count != end - first) return false;
  for (uint32_t i = first; i < end; i++)
    if (!keeps_rule(&header->sections[i - first], &rules[i])) return false;
  return true;
}

static szgpu_status check_planes_frame(const szg_opened *opened, const szg_frame_header *header) {
  bool const may_be = opened->header.mode == SZGPU_MODE_LOSSLESS || opened->header.has_planes;
  SZG_REQUIRE(may_be && opened->header.layout == SZGPU_LAYOUT_TILE, SZGPU_BAD_DATA);
  SZG_REQUIRE(header->axes == 0, SZGPU_BAD_DATA);
  szgpu_dtype const dtype = opened->header.shape.dtype;
  uint64_t const frame_bytes = header->value_count * szg_dtype_bytes(dtype);
  szg_planes_layout const layout = {header->value_bytes, header->plane_modes,
                                    header->constant_bits};
  SZG_TRY(szg_planes_layout_check(&layout));
  SZG_REQUIRE(dtype == SZGPU_U8 ? frame_bytes % layout.value_bytes == 0
                                : layout.value_bytes == szg_dtype_bytes(dtype),
              SZGPU_BAD_DATA);
  SZG_REQUIRE(has_planes_sections(&layout, frame_bytes / layout.value_bytes, header),
              SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* The sections of a linear frame without loss. The words of the stream say how many subsequences
 * and sequences there are, whatever the last of them holds. In words nothing overflows; of a field
 * of 2^60 bytes and more, bits would. */
static bool has_top_plane_sections(const szg_header *archive, const szg_frame_header *header) {
  enum { BITSTREAM = 2, STREAM_SECTIONS = 3, GAP_SECTIONS = 2 }; /* places in the table, numbers */
  enum { LEAST_CODES = 32 / SZG_MAX_CODE_BITS };                 /* of a word, on the average */
  static_assert(32 % SZG_MAX_CODE_BITS == 0, "the longest codes fill words");
  uint64_t const values = header->value_count;
  uint64_t const tiles = szg_planes_tile_count(values);
  uint64_t const stored = szg_top_plane_stored_bytes(values, szg_dtype_bytes(archive->shape.dtype));
  uint32_t const end_stream = STREAM_SECTIONS + (archive->has_gaps ? GAP_SECTIONS : 0);
  if (header->section_count != end_stream + (stored ? 1 : 0)) return false;
  uint64_t const words = header->sections[BITSTREAM].raw_bytes / 4;
  if (words < szg_div_up(values, 32) || words > szg_div_up(values, LEAST_CODES)) return false;
  uint64_t const subsequences = szg_div_up(words, SZG_SUBSEQUENCE_BITS / 32);
  uint64_t const gaps = szg_div_up(subsequences, 2);
  uint64_t const sequence_codes = 2 * szg_div_up(words, SZG_SEQUENCE_BITS / 32);
  section_rule const rules[] = {
      {SZG_SECTION_CODEBOOK, 1, SZG_CODEBOOK_MAX_BYTES, 1},
      {SZG_SECTION_TILE_SIZES, 2 * tiles, 2 * tiles, 1},
      {SZG_SECTION_BITSTREAM, 4 * words, 4 * words, 1},
      {SZG_SECTION_GAPS, gaps, gaps, 1},
      {SZG_SECTION_SEQUENCE_CODES, sequence_codes, sequence_codes, 1},
  };
  section_rule const stored_rule = {SZG_SECTION_RAW, stored, stored, 1};
  for (uint32_t i = 0; i < end_stream; i++)
    if (!keeps_rule(&header->sections[i], &rules[i])) return false;
  return !stored || keeps_rule(&header->sections[end_stream], &stored_rule);
}

static szgpu_status check_top_plane_frame(const szg_opened *opened,
                                          const szg_frame_header *header) {
  SZG_REQUIRE(header->axes == 0 && header->escape_bytes == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(header->radius == SZG_TOP_PLANE_RADIUS, SZGPU_BAD_DATA);
  SZG_REQUIRE(header->constant_bits == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(has_top_plane_sections(&opened->header, header), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_open_frame_at(const szg_opened *opened, uint64_t frame, const uint8_t *bytes,
                               uint64_t available_bytes, szg_frame_header *header) {
  SZG_TRY(szg_frame_header_read(bytes, szg_header_frame_bytes(opened->bytes, frame),
                                available_bytes, header));
  uint64_t const value_count = szg_frame_row_count(opened, frame) * opened->grid.row_values;
  SZG_REQUIRE(header->index == frame && header->value_count == value_count, SZGPU_BAD_DATA);
  bool const has_loss = opened->header.mode != SZGPU_MODE_LOSSLESS;
  if (header->kind == SZG_FRAME_PLANES) return check_planes_frame(opened, header);
  bool const is_linear = header->kind == SZG_FRAME_LINEAR, is_tile = header->kind == SZG_FRAME_TILE;
  if (is_linear && szg_has_top_plane(&opened->header)) return check_top_plane_frame(opened, header);
  SZG_REQUIRE(has_loss || header->kind == SZG_FRAME_RAW, SZGPU_BAD_DATA);
  uint32_t const grid_axes = szg_grid_axes(&opened->grid);
  uint32_t const arithmetic = opened->header.arithmetic;
  if (is_linear || is_tile) {
    szgpu_layout const layout = is_tile ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR;
    SZG_REQUIRE(opened->header.layout == layout, SZGPU_BAD_DATA);
    SZG_REQUIRE(header->axes > 0 && !(header->axes & ~grid_axes), SZGPU_BAD_DATA);
    SZG_REQUIRE(szg_is_positive(opened->header.step), SZGPU_BAD_DATA);
  } else {
    SZG_REQUIRE(header->axes == 0, SZGPU_BAD_DATA);
  }
  if (is_linear) {
    SZG_REQUIRE(header->radius >= SZG_MIN_RADIUS && header->radius <= SZG_MAX_RADIUS,
                SZGPU_BAD_DATA);
    bool const is_wide = arithmetic == SZG_ARITHMETIC_F64_WIDE;
    SZG_REQUIRE(header->escape_bytes <= (is_wide ? 8u : 4u), SZGPU_BAD_DATA);
  } else {
    SZG_REQUIRE(header->radius == 0 && header->escape_bytes == 0, SZGPU_BAD_DATA);
  }
  if (is_tile) {
    bool const may_be_short = arithmetic == SZG_ARITHMETIC_F32 || arithmetic == SZG_ARITHMETIC_F64;
    SZG_REQUIRE(may_be_short || !header->has_16_bits, SZGPU_BAD_DATA);
    SZG_REQUIRE(has_tile_sections(opened, frame, header), SZGPU_BAD_DATA);
  }
  uint64_t const most_constant = opened->header.shape.dtype == SZGPU_F32 ? UINT32_MAX : UINT64_MAX;
  SZG_REQUIRE(header->constant_bits <= (header->kind == SZG_FRAME_CONSTANT ? most_constant : 0),
              SZGPU_BAD_DATA);
  return SZGPU_OK;
}
