/* tile_shape.cuh - where a frame's tiles lie, and which places of a tile have values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For kernels with one warp per tile and one lane per place, eight rows of 32 places at a time.
 */
#ifndef SZG_TILE_SHAPE_CUH
#define SZG_TILE_SHAPE_CUH

#include "codecs/lorenzo/tile_core.h"
#include "core/tiles.h"

namespace szg {

/* How tiles lie in the frame, in 32-bit numbers if these suffice. */
struct TileLayout {
  uint32_t x_tiles, y_tiles, z_tiles;
  uint32_t tile_x, tile_y, tile_z;
  uint64_t x_extent, y_extent, z_extent;
};

__host__ __device__ inline TileLayout layout_of(const szg_grid &grid) {
  return {(uint32_t)grid.x_tiles,
          (uint32_t)grid.y_tiles,
          (uint32_t)grid.z_tiles,
          grid.tile_x,
          grid.tile_y,
          grid.tile_z,
          grid.x_extent,
          grid.y_extent,
          grid.z_extent};
}

struct TileShape {
  uint64_t first_value; /* offset in the frame */
  uint64_t y_stride, z_stride;
  uint32_t x_extent, y_extent, z_extent;
};

/* Like szg_tile_at, but without 64-bit divisions. */
__device__ __forceinline__ TileShape tile_shape(const TileLayout &layout, uint32_t tile_index) {
  uint32_t const row = tile_index / layout.x_tiles, plane = row / layout.y_tiles;
  uint32_t const batch = plane / layout.z_tiles;
  szg_grid grid;
  grid.x_extent = layout.x_extent, grid.y_extent = layout.y_extent;
  grid.z_extent = layout.z_extent;
  grid.tile_x = layout.tile_x, grid.tile_y = layout.tile_y, grid.tile_z = layout.tile_z;
  szg_tile const tile =
      szg_tile_of_number(&grid, {batch, plane - batch * layout.z_tiles,
                                 row - plane * layout.y_tiles, tile_index - row * layout.x_tiles});
  return {tile.first_value, tile.y_stride, tile.z_stride,
          tile.x_extent,    tile.y_extent, tile.z_extent};
}

constexpr uint32_t kAllRows = 0xFF; /* of a group, one bit each */

/* Values of a row of a 2-D group's lines, and lines of a group; values of a 1-D group. */
constexpr uint32_t kGroupLines = SZG_GROUP_ROWS / 2;
constexpr uint32_t kGroupValues = SZG_GROUP_ROWS * SZG_LANES;

template <int kDims>
__device__ __forceinline__ uint32_t group_count(const TileShape &shape) {
  if (kDims == 3) return shape.z_extent;
  if (kDims == 2) return (shape.y_extent + kGroupLines - 1) / kGroupLines;
  return (shape.x_extent + kGroupValues - 1) / kGroupValues;
}

__device__ __forceinline__ uint32_t value_count(const TileShape &shape) {
  return shape.x_extent * shape.y_extent * shape.z_extent;
}
__device__ __forceinline__ bool is_full(const TileShape &shape) {
  return value_count(shape) == SZG_TILE_VALUES;
}

/* Whether every lane has all rows of every group. */
template <int kDims>
__device__ __forceinline__ bool is_whole(const TileShape &shape) {
  if (kDims == 3) return shape.x_extent == SZG_TILE_3D_X && shape.y_extent == SZG_TILE_3D_Y;
  if (kDims == 2) return shape.x_extent == SZG_TILE_2D_X && shape.y_extent % kGroupLines == 0;
  return shape.x_extent % kGroupValues == 0;
}

/* The rows of a group in which the lane has a value, as bits. */
template <int kDims>
__device__ __forceinline__ uint32_t rows_of_lane(const TileShape &shape, uint32_t group,
                                                 uint32_t lane) {
  if (kDims == 3) return lane < shape.x_extent ? (1u << shape.y_extent) - 1 : 0;
  if (kDims == 2) {
    uint32_t const lines_left = shape.y_extent - group * kGroupLines;
    uint32_t const rows = lines_left < kGroupLines ? (1u << 2 * lines_left) - 1 : kAllRows;
    return rows &
           ((lane < shape.x_extent ? 0x55u : 0) | (lane + SZG_LANES < shape.x_extent ? 0xAAu : 0));
  }
  uint32_t const first = group * kGroupValues + lane;
  if (first >= shape.x_extent) return 0;
  uint32_t const rows = (shape.x_extent - first + SZG_LANES - 1) / SZG_LANES;
  return rows < SZG_GROUP_ROWS ? (1u << rows) - 1 : kAllRows;
}

/* Offset of the lane's value in a row of a group, from the tile's first value. */
template <int kDims>
__device__ __forceinline__ uint64_t value_offset(const TileShape &shape, uint32_t group,
                                                 uint32_t row, uint32_t lane) {
  if (kDims == 3) return group * shape.z_stride + row * shape.y_stride + lane;
  if (kDims == 2)
    return (group * kGroupLines + row / 2) * shape.y_stride + row % 2 * SZG_LANES + lane;
  return group * kGroupValues + row * SZG_LANES + lane;
}

} // namespace szg

#endif
