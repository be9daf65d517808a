/* tiles.c - arithmetic on shapes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/tiles.h"

#include "container/format.h"
#include "core/bytes.h"

size_t szg_dtype_bytes(szgpu_dtype dtype) {
  static const uint8_t bytes[] = {4, 8, 1, 2, 2, 1}; /* in the order of szgpu_dtype */
  return bytes[dtype];
}

static void count_tiles(szg_grid *grid) {
  grid->z_tiles = szg_div_up(grid->z_extent, grid->tile_z);
  grid->y_tiles = szg_div_up(grid->y_extent, grid->tile_y);
  grid->x_tiles = szg_div_up(grid->x_extent, grid->tile_x);
  grid->tile_count = grid->batch_extent * grid->z_tiles * grid->y_tiles * grid->x_tiles;
  grid->value_count = grid->batch_extent * grid->z_extent * grid->y_extent * grid->x_extent;
}

szgpu_status szg_grid_of_shape(const szgpu_shape *shape, szg_grid *grid) {
  SZG_REQUIRE(shape->dtype <= SZGPU_FP8, SZGPU_BAD_SHAPE);
  SZG_REQUIRE(shape->ndim >= 1 && shape->ndim <= SZG_MAX_DIMS, SZGPU_BAD_SHAPE);
  uint64_t extents[SZG_MAX_DIMS] = {1, 1, 1, 1}; /* x, y, z, batch */
  int axis_count = 0;
  uint64_t bytes = szg_dtype_bytes(shape->dtype);
  for (int i = shape->ndim - 1; i >= 0; i--) {
    SZG_REQUIRE(shape->dims[i] > 0, SZGPU_BAD_SHAPE);
    SZG_REQUIRE(szg_mul_checked(bytes, shape->dims[i], &bytes), SZGPU_BAD_SHAPE);
    if (shape->dims[i] > 1) extents[axis_count++] = shape->dims[i];
  }
  SZG_REQUIRE(bytes <= PTRDIFF_MAX, SZGPU_BAD_SHAPE);
  *grid = (szg_grid){.batch_extent = extents[3],
                     .z_extent = extents[2],
                     .y_extent = extents[1],
                     .x_extent = extents[0]};
  if (axis_count >= 3) {
    grid->tile_x = SZG_TILE_3D_X, grid->tile_y = SZG_TILE_3D_Y, grid->tile_z = SZG_TILE_3D_Z;
  } else if (axis_count == 2) {
    grid->tile_x = SZG_TILE_2D_X, grid->tile_y = SZG_TILE_2D_Y, grid->tile_z = 1;
  } else {
    grid->tile_x = SZG_TILE_1D_X, grid->tile_y = 1, grid->tile_z = 1;
  }
  uint32_t const quanta[SZG_MAX_DIMS] = {grid->tile_x, grid->tile_y, grid->tile_z, 1};
  int const slowest = axis_count > 0 ? axis_count - 1 : 0;
  count_tiles(grid);
  grid->row_extent = extents[slowest];
  grid->row_values = grid->value_count / grid->row_extent;
  grid->row_quantum = quanta[slowest];
  return SZGPU_OK;
}

int szg_slowest_axis(const szg_grid *grid) {
  return grid->batch_extent > 1 ? 0 : grid->z_extent > 1 ? 1 : grid->y_extent > 1 ? 2 : 3;
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
                   .row_quantum = SZG_TILE_1D_X};
  count_tiles(&grid);
  return grid;
}

szg_grid szg_grid_of_rows(const szg_grid *whole, uint64_t row_count) {
  szg_grid part = *whole;
  if (whole->batch_extent > 1)
    part.batch_extent = row_count;
  else if (whole->z_extent > 1)
    part.z_extent = row_count;
  else if (whole->y_extent > 1)
    part.y_extent = row_count;
  else
    part.x_extent = row_count;
  part.row_extent = row_count;
  count_tiles(&part);
  return part;
}

uint64_t szg_frame_rows(const szg_grid *whole, szgpu_dtype dtype, uint64_t asked) {
  uint64_t const values = dtype == SZGPU_U8 ? SZG_DEFAULT_FRAME_BYTES : SZG_DEFAULT_FRAME_VALUES;
  uint64_t rows = asked ? asked : values / whole->row_values;
  if (rows >= whole->row_extent) return whole->row_extent;
  if (rows % whole->row_quantum == 0 && rows > 0) return rows;
  uint64_t const quanta = rows / whole->row_quantum + (asked || rows == 0);
  rows = (quanta ? quanta : 1) * whole->row_quantum;
  return szg_min_u64(rows, whole->row_extent);
}

uint32_t szg_grid_axes(const szg_grid *grid) {
  return SZG_AXIS_X | (grid->tile_y > 1 ? SZG_AXIS_Y : 0) | (grid->tile_z > 1 ? SZG_AXIS_Z : 0);
}
