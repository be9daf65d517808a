/* open.c - headers of an archive, checked against the shape that they state.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bytes.h"
#include "pipeline/pipeline.h"

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

szgpu_status szg_open_frame_at(const szg_opened *opened, uint64_t frame, const uint8_t *bytes,
                               uint64_t available_bytes, szg_frame_header *header) {
  SZG_TRY(szg_frame_header_read(bytes, szg_header_frame_bytes(opened->bytes, frame),
                                available_bytes, header));
  uint64_t const value_count = szg_frame_row_count(opened, frame) * opened->grid.row_values;
  SZG_REQUIRE(header->index == frame && header->value_count == value_count, SZGPU_BAD_DATA);
  uint32_t const grid_axes = szg_grid_axes(&opened->grid);
  bool const is_linear = header->kind == SZG_FRAME_LINEAR;
  if (is_linear) {
    SZG_REQUIRE(header->axes > 0 && !(header->axes & ~grid_axes), SZGPU_BAD_DATA);
    SZG_REQUIRE(header->radius >= SZG_MIN_RADIUS && header->radius <= SZG_MAX_RADIUS,
                SZGPU_BAD_DATA);
    bool const is_wide = opened->header.arithmetic == SZG_ARITHMETIC_F64_WIDE;
    SZG_REQUIRE(header->escape_bytes <= (is_wide ? 8u : 4u), SZGPU_BAD_DATA);
    SZG_REQUIRE(szg_is_positive(opened->header.step), SZGPU_BAD_DATA);
  } else {
    SZG_REQUIRE(header->axes == 0 && header->radius == 0 && header->escape_bytes == 0,
                SZGPU_BAD_DATA);
  }
  uint64_t const most_constant = opened->header.shape.dtype == SZGPU_F32 ? UINT32_MAX : UINT64_MAX;
  SZG_REQUIRE(header->constant_bits <= (header->kind == SZG_FRAME_CONSTANT ? most_constant : 0),
              SZGPU_BAD_DATA);
  return SZGPU_OK;
}
