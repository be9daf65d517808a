/* tiles.c - arithmetic on shapes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/tiles.h"

szgpu_status szg_grid_of_shape(const szgpu_shape *shape, szg_grid *grid) {
  SZG_REQUIRE(szg_shape_is_valid(shape), SZGPU_BAD_SHAPE);
  *grid = szg_grid_of_dims(shape->dims, shape->ndim);
  return SZGPU_OK;
}

szg_box szg_box_of_level(const szg_grid *grid, uint32_t level) {
  uint64_t const step = (uint64_t)1 << level;
  return (szg_box){.end = {grid->batch_extent, szg_div_up(grid->z_extent, step),
                           szg_div_up(grid->y_extent, step), szg_div_up(grid->x_extent, step)}};
}

uint64_t szg_box_value_count(const szg_box *box) {
  uint64_t count = 1;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) count *= box->end[axis] - box->first[axis];
  return count;
}

szg_tile_range szg_box_range(const szg_box *box, uint64_t z_tiles, uint64_t y_tiles,
                             uint64_t x_tiles) {
  const uint64_t *const first = box->first, *const end = box->end;
  return (szg_tile_range){
      ((first[0] * z_tiles + first[1]) * y_tiles + first[2]) * x_tiles + first[3],
      (((end[0] - 1) * z_tiles + end[1] - 1) * y_tiles + end[2] - 1) * x_tiles + end[3]};
}

szg_grid szg_grid_of_line(uint64_t value_count) {
  szg_grid grid = {.batch_extent = 1,
                   .z_extent = 1,
                   .y_extent = 1,
                   .x_extent = value_count,
                   .tile_z = 1,
                   .tile_y = 1,
                   .tile_x = SZG_TILE_1D_X,
                   .row_extent = value_count,
                   .row_values = 1,
                   .row_quantum = SZG_TILE_1D_X,
                   .row_axis = SZG_BOX_AXES - 1};
  szg_grid_count_tiles(&grid);
  return grid;
}

szg_grid szg_grid_of_rows(const szg_grid *whole, uint64_t row_count) {
  szg_grid part = *whole;
  uint64_t *const extents[] = {&part.batch_extent, &part.z_extent, &part.y_extent, &part.x_extent};
  *extents[whole->row_axis] = row_count;
  part.row_extent = row_count;
  szg_grid_count_tiles(&part);
  return part;
}

uint64_t szg_frame_rows(const szg_grid *whole, szgpu_dtype dtype, szgpu_mode mode, uint64_t asked) {
  uint64_t const values = dtype == SZGPU_U8 ? SZG_DEFAULT_FRAME_BYTES
                          : mode == SZGPU_MODE_PWREL || szg_coded_dtype(mode, dtype) != dtype
                              ? SZG_DEFAULT_FRAME_MAPPED
                              : SZG_DEFAULT_FRAME_VALUES;
  uint64_t rows = asked ? asked : values / whole->row_values;
  if (whole->joined) return whole->row_extent;
  if (rows >= whole->row_extent) return whole->row_extent;
  if (rows % whole->row_quantum == 0 && rows > 0) return rows;
  uint64_t const quanta = rows / whole->row_quantum + (asked || rows == 0);
  rows = (quanta ? quanta : 1) * whole->row_quantum;
  return szg_min_u64(rows, whole->row_extent);
}
