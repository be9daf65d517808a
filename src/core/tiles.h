/* tiles.h - how a field is cut into frames and a frame into tiles: pure arithmetic on shapes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Axes that are joined are taken for one, and axes of extent 1 are dropped. Up to three of the
 * remaining axes form a grid (x fastest); a fourth is a batch of grids. Tiles come x fastest, then
 * y, z, batch; inside a tile values come x fastest. That is code order. Tiles at the upper edges
 * are smaller, never padded.
 */
#ifndef SZG_TILES_H
#define SZG_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/bytes.h"
#include "core/status.h"

SZG_C_BEGIN

/* A field, or one frame of it. Extents in values. */
typedef struct szg_grid {
  uint64_t batch_extent, z_extent, y_extent, x_extent;
  uint32_t tile_z, tile_y, tile_x;    /* extents of a full tile */
  uint64_t z_tiles, y_tiles, x_tiles; /* tiles along each axis */
  uint64_t tile_count, value_count;
  uint64_t row_extent;  /* rows of the field's slowest axis longer than 1 */
  uint64_t row_values;  /* values in one of those rows */
  uint32_t row_quantum; /* frames hold a multiple of this many rows */
  int row_axis;         /* of a box; a frame of one row has it from its field */
  uint32_t joined; /* bit i: dims i and i + 1 of the field are one axis; then it is one frame */
} szg_grid;

/* A box in a grid, of values or of tiles: first to end - 1 along batch, z, y and x. */
enum { SZG_BOX_AXES = 4 };
typedef struct szg_box {
  uint64_t first[SZG_BOX_AXES], end[SZG_BOX_AXES];
} szg_box;

typedef struct szg_tile {
  uint64_t first_value;                  /* offset of its origin in the grid */
  uint64_t first_code;                   /* values of the tiles before it */
  uint32_t z_extent, y_extent, x_extent; /* the tile's own extents */
  uint32_t value_count;
  uint32_t plane_values;       /* values of a plane in 3-D, of a row in 2-D; 0 in 1-D */
  uint64_t z_stride, y_stride; /* distances in the grid, in values */
} szg_tile;

/* How a value is kept. EXACT: bit for bit. FILL: as the fill value. */
enum { SZG_MARK_CODED = 0, SZG_MARK_EXACT = 1, SZG_MARK_FILL = 2 };

/* SZGPU_BAD_SHAPE: ndim not 1..4, a zero dim, or more bytes than 64 bits (or size_t) can count. */
szgpu_status szg_grid_of_shape(const szgpu_shape *shape, szg_grid *grid) SZGPU_MUST_CHECK;

/* The whole grid at `level`: every 2^level-th value along each axis except the batch. */
szg_box szg_box_of_level(const szg_grid *grid, uint32_t level);
uint64_t szg_box_value_count(const szg_box *box);

/* Where a tile stands among the tiles along each axis. */
typedef struct szg_tile_number {
  uint64_t batch, z, y, x;
} szg_tile_number;
SZG_HD_INLINE szg_tile_number szg_tile_number_of(uint64_t tile_index, uint64_t z_tiles,
                                                 uint64_t y_tiles, uint64_t x_tiles) {
  uint64_t const row = tile_index / x_tiles, plane = row / y_tiles, batch = plane / z_tiles;
  szg_tile_number const number = {batch, plane - batch * z_tiles, row - plane * y_tiles,
                                  tile_index - row * x_tiles};
  return number;
}

/* Whether tile tile_index is in a box of tiles; z_tiles, y_tiles, x_tiles: of the whole grid. */
static inline bool szg_box_has_tile(const szg_box *box, uint64_t z_tiles, uint64_t y_tiles,
                                    uint64_t x_tiles, uint64_t tile_index) {
  szg_tile_number const at = szg_tile_number_of(tile_index, z_tiles, y_tiles, x_tiles);
  return at.x >= box->first[3] && at.x < box->end[3] && at.y >= box->first[2] &&
         at.y < box->end[2] && at.z >= box->first[1] && at.z < box->end[1] &&
         at.batch >= box->first[0] && at.batch < box->end[0];
}

/* The indices of the first tile of a box, and the one after its last. */
typedef struct szg_tile_range {
  uint64_t first_tile, end_tile;
} szg_tile_range;
szg_tile_range szg_box_range(const szg_box *box, uint64_t z_tiles, uint64_t y_tiles,
                             uint64_t x_tiles);

/* value_count > 0 values as a line, whatever the field's shape: tiles of SZG_TILE_1D_X. */
szg_grid szg_grid_of_line(uint64_t value_count);

/* The grid of rows first_row .. first_row + row_count - 1. */
szg_grid szg_grid_of_rows(const szg_grid *whole, uint64_t row_count);

/* The number of rows per frame if the caller asks for `asked` (0: the default of the type and the
 * mode), which are rows of a grid without joined axes. */
uint64_t szg_frame_rows(const szg_grid *whole, szgpu_dtype dtype, szgpu_mode mode, uint64_t asked);

/* The axes that can be differenced along: SZG_AXIS_* of those that tiles extend over. */
SZG_HD uint32_t szg_grid_axes(const szg_grid *grid) {
  return SZG_AXIS_X | (grid->tile_y > 1 ? SZG_AXIS_Y : 0) | (grid->tile_z > 1 ? SZG_AXIS_Z : 0);
}

/* The logarithm to 2 of a full tile's extent along an axis of a grid of so many axes: x, y, z. */
SZG_HD uint32_t szg_tile_extent_log2(uint32_t axis_count, uint32_t axis) {
  uint32_t const of_three = axis == 0 ? 5 : axis == 1 ? 3 : 4;
  return axis_count == 3 ? of_three : axis_count == 2 ? 6 : 12;
}

/* Bytes of a value. */
SZG_HD size_t szg_dtype_bytes(szgpu_dtype dtype) {
  switch (dtype) {
    case SZGPU_F64:
      return 8;
    case SZGPU_F32:
    case SZGPU_I32:
      return 4;
    case SZGPU_BF16:
    case SZGPU_F16:
    case SZGPU_U16:
    case SZGPU_I16:
      return 2;
    default:
      return 1;
  }
}

/* Whether values of the type can be compressed under the mode: those of fp8, which may be of two
 * formats, only losslessly; others than F32 and F64 not under a bound relative to each value. */
SZG_HD bool szg_dtype_has_mode(szgpu_dtype dtype, szgpu_mode mode) {
  if (mode == SZGPU_MODE_PWREL) return dtype <= SZGPU_F64;
  return dtype <= SZGPU_I32 && (mode == SZGPU_MODE_LOSSLESS || dtype != SZGPU_FP8);
}

/* The type in which a mode codes values: their own, or, under a bound, one that holds them all. */
SZG_HD szgpu_dtype szg_coded_dtype(szgpu_mode mode, szgpu_dtype dtype) {
  if (mode == SZGPU_MODE_LOSSLESS || dtype <= SZGPU_F64) return dtype;
  return dtype == SZGPU_I32 ? SZGPU_F64 : SZGPU_F32;
}

/* Whether a shape is one that szg_grid_of_shape accepts. */
SZG_HD bool szg_shape_is_valid(const szgpu_shape *shape) {
  if (!(shape->dtype <= SZGPU_I32 && shape->ndim >= 1 && shape->ndim <= SZG_MAX_DIMS)) return false;
  uint64_t bytes = szg_dtype_bytes(shape->dtype);
  for (int i = shape->ndim - 1; i >= 0; i--)
    if (shape->dims[i] == 0 || !szg_mul_checked(bytes, shape->dims[i], &bytes)) return false;
  return bytes <= PTRDIFF_MAX;
}

SZG_HD uint64_t szg_lesser_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* floor(i N / S), without overflow: the i-th of S parts of the numbers below N begins there. */
SZG_HD uint64_t szg_start_of_part(uint64_t count, uint32_t part_count, uint64_t i) {
  return i * (count / part_count) + i * (count % part_count) / part_count;
}
/* The i-th number of a sample, in ascending order: one of each part, where a multiple of the golden
 * ratio says. Equal steps would meet only a few columns of tiles. */
SZG_HD uint64_t szg_number_in_part(uint64_t count, uint32_t part_count, uint64_t i) {
  uint64_t const start = szg_start_of_part(count, part_count, i);
  uint64_t const end = szg_start_of_part(count, part_count, i + 1);
  return start + szg_mul_high_u64((i + 1) * UINT64_C(0x9E3779B97F4A7C15), end - start);
}

/* Completes a grid that has extents and tiles. */
SZG_HD void szg_grid_count_tiles(szg_grid *grid) {
  grid->z_tiles = szg_div_up(grid->z_extent, grid->tile_z);
  grid->y_tiles = szg_div_up(grid->y_extent, grid->tile_y);
  grid->x_tiles = szg_div_up(grid->x_extent, grid->tile_x);
  grid->tile_count = grid->batch_extent * grid->z_tiles * grid->y_tiles * grid->x_tiles;
  grid->value_count = grid->batch_extent * grid->z_extent * grid->y_extent * grid->x_extent;
}

/* The grid of dims that szg_shape_is_valid allows. */
SZG_HD szg_grid szg_grid_of_dims(const uint64_t *dims, int ndim) {
  uint64_t extents[SZG_MAX_DIMS] = {1, 1, 1, 1}; /* x, y, z, batch */
  int axis_count = 0;
  for (int i = ndim - 1; i >= 0; i--)
    if (dims[i] > 1) extents[axis_count++] = dims[i];
  szg_grid grid;
  grid.batch_extent = extents[3];
  grid.z_extent = extents[2];
  grid.y_extent = extents[1];
  grid.x_extent = extents[0];
  grid.tile_z = axis_count >= 3 ? SZG_TILE_3D_Z : 1;
  grid.tile_y = axis_count >= 3 ? SZG_TILE_3D_Y : axis_count == 2 ? SZG_TILE_2D_Y : 1;
  grid.tile_x = axis_count >= 3 ? SZG_TILE_3D_X : axis_count == 2 ? SZG_TILE_2D_X : SZG_TILE_1D_X;
  szg_grid_count_tiles(&grid);
  grid.row_extent = extents[axis_count > 0 ? axis_count - 1 : 0];
  grid.row_values = grid.value_count / grid.row_extent;
  grid.row_quantum = axis_count == 4   ? 1
                     : axis_count == 3 ? grid.tile_z
                     : axis_count == 2 ? grid.tile_y
                                       : grid.tile_x;
  grid.row_axis = axis_count > 0 ? SZG_MAX_DIMS - axis_count : SZG_MAX_DIMS - 1;
  grid.joined = 0;
  return grid;
}

/* The grid of such dims with joined axes: a set of szg_joined_are_sound. */
SZG_HD szg_grid szg_grid_of_joined(const uint64_t *dims, int ndim, uint32_t joined) {
  uint64_t axes[SZG_MAX_DIMS] = {1, 1, 1, 1};
  int count = 0;
  for (int i = 0; i < ndim; i++) {
    axes[count] *= dims[i];
    count += !(joined >> i & 1);
  }
  szg_grid grid = szg_grid_of_dims(axes, count);
  grid.joined = joined;
  return grid;
}

/* The last axis has none behind it to be joined with. */
SZG_HD bool szg_joined_are_sound(uint32_t joined, int ndim) { return joined >> (ndim - 1) == 0; }

/* Of the grid's extents and tile extents alone. */
SZG_HD_INLINE szg_tile szg_tile_of_number(const szg_grid *grid, szg_tile_number number) {
  uint64_t const x = number.x * grid->tile_x, y = number.y * grid->tile_y;
  uint64_t const z = number.z * grid->tile_z;
  szg_tile tile;
  tile.y_stride = grid->x_extent;
  tile.z_stride = grid->x_extent * grid->y_extent;
  tile.z_extent = (uint32_t)szg_lesser_u64(grid->tile_z, grid->z_extent - z);
  tile.y_extent = (uint32_t)szg_lesser_u64(grid->tile_y, grid->y_extent - y);
  tile.x_extent = (uint32_t)szg_lesser_u64(grid->tile_x, grid->x_extent - x);
  tile.value_count = tile.z_extent * tile.y_extent * tile.x_extent;
  tile.plane_values = grid->tile_z > 1   ? tile.y_extent * tile.x_extent
                      : grid->tile_y > 1 ? tile.x_extent
                                         : 0;
  uint64_t const first_plane = (number.batch * grid->z_extent + z) * tile.z_stride;
  tile.first_value = first_plane + y * tile.y_stride + x;
  tile.first_code = first_plane + tile.z_extent * (y * grid->x_extent + tile.y_extent * x);
  return tile;
}

SZG_HD szg_tile szg_tile_at(const szg_grid *grid, uint64_t tile_index) {
  return szg_tile_of_number(
      grid, szg_tile_number_of(tile_index, grid->z_tiles, grid->y_tiles, grid->x_tiles));
}

/* The index of the i-th sampled tile: floor((2 i + 1) T / (2 S)), without overflow. */
SZG_HD uint64_t szg_sample_tile(uint64_t tile_count, uint32_t sample_count, uint64_t i) {
  uint64_t const twice = 2 * (uint64_t)sample_count;
  return (2 * i + 1) * (tile_count / twice) + (2 * i + 1) * (tile_count % twice) / twice;
}
/* The only sample that can be this tile: the first whose number, before rounding down, is not below
 * it. */
SZG_HD uint64_t szg_sample_of_tile(uint64_t tile_count, uint32_t sample_count,
                                   uint64_t tile_index) {
  return (2 * tile_index * sample_count + tile_count - 1) / (2 * tile_count);
}

/* Each tile's share of each section, as the archive's sections have it: u16 arrays over the tiles.
 * NULL: no tile has any. */
typedef struct szg_tile_counts {
  const uint16_t *bits; /* minus the tile's number of values */
  const uint16_t *escapes;
  const uint16_t *exact; /* two per tile: bytes of its mask, number of values */
  const uint16_t *fill_mask_bytes;
} szg_tile_counts;

/* Where a tile's share of each section begins, in the section's unit. */
typedef struct szg_tile_place {
  uint64_t bit, escape, exact_mask, exact_value, fill_mask;
} szg_tile_place;

SZG_C_END

#endif
