/* base_tile.cuh - tiles of the base of three axes: geometry, and where points are in shared memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block takes a tile of 32 x 8 x 16 points, with a warp for each y and a lane for each x, which
 * has the points along z in registers. Places go by columns of 8 along y.
 */
#ifndef SZG_BASE_TILE_CUH
#define SZG_BASE_TILE_CUH

#include "codecs/interpolation/levels_base.cuh"
#include "huffman/tokens_tile.cuh"

namespace szg {

constexpr uint32_t kBaseX = SZG_TILE_3D_X, kBaseY = SZG_TILE_3D_Y, kBaseZ = SZG_TILE_3D_Z;
static_assert(kBaseX == 32 && kBaseY == LevelsPolicy::kWarps && kBaseY == 8,
              "a lane for each x, a warp for each y, and a column is an octet of places");

/* Points in shared memory are as in BaseShared: [z][y][x] with rows of kBaseRow. */
constexpr uint32_t kBaseRow = kBaseX + kBaseRowEnd;
static_assert(kBaseRoom == kBaseZ * kBaseY * kBaseRow, "room for all rows");

constexpr uint32_t kBaseGroups = SZG_LEVELS_BASE_PLACES / kGroupPlaces;
constexpr uint32_t kGroupColumns = kGroupPlaces / kBaseY;

/* Where column c begins, which has places 8 c to 8 c + 7. */
__device__ __forceinline__ uint32_t base_column(uint32_t c) {
  return c / kBaseX * (kBaseY * kBaseRow) + c % kBaseX;
}

/* Of a tile. x_room: what a row of the grid has room for, as in WarpTile. */
struct BaseExtents {
  uint32_t z, y, x, x_room;

  /* How many places of a column exist: the first ones. */
  __device__ __forceinline__ uint32_t rows_of(uint32_t c) const {
    return c / kBaseX < z && c % kBaseX < x ? y : 0;
  }
  __device__ __forceinline__ bool has(uint32_t at_z, uint32_t at_y, uint32_t at_x) const {
    return at_z < z && at_y < y && at_x < x;
  }
  __device__ __forceinline__ bool stores(uint32_t at_z, uint32_t at_y, uint32_t at_x) const {
    return at_z < z && at_y < y && at_x < x_room;
  }
};

/* A base, all of whose numbers of points fit 32 bits along an axis, and whose tiles do. */
struct BaseLevel {
  uint32_t z_extent, y_extent, x_extent, row_points; /* of the grid */
  uint32_t z_tiles, y_tiles, x_tiles;                /* of the part of the base that a launch has */
  uint32_t part_box, part_z, part_y, part_x;         /* its first point */
  uint64_t z_stride, y_stride, x_stride, box_stride; /* from point to point, in values */

  explicit BaseLevel(const LevelsGrid &job)
      : z_extent((uint32_t)job.stage.z_extent),
        y_extent((uint32_t)job.stage.y_extent),
        x_extent((uint32_t)job.stage.x_extent),
        row_points((uint32_t)job.stage.row_points),
        z_tiles((uint32_t)job.tiles.z_tiles),
        y_tiles((uint32_t)job.tiles.y_tiles),
        x_tiles((uint32_t)job.tiles.x_tiles),
        part_box((uint32_t)job.tiles.box),
        part_z((uint32_t)job.tiles.z * job.stage.tile_z),
        part_y((uint32_t)job.tiles.y * job.stage.tile_y),
        part_x((uint32_t)job.tiles.x * job.stage.tile_x),
        z_stride(job.z_stride),
        y_stride(job.y_stride),
        x_stride(job.x_stride),
        box_stride(job.box_stride) {}

  /* Whether the frame has such a base, with levels above it. */
  static bool serves(const szg_levels &levels) {
    const szg_levels_stage &s = levels.stages[0];
    uint64_t const most = (uint64_t)1 << 31;
    return levels.axis_count == 3 && levels.level_count > 0 && !levels.is_wide &&
           s.tile_count < most && s.z_extent < most && s.y_extent < most && s.row_points < most;
  }
};

/* A tile: its box, its first point, and its extents. */
struct BasePlace {
  uint32_t box, z, y, x;
  BaseExtents extents;

  __device__ __forceinline__ BasePlace(const BaseLevel &level, uint32_t t) {
    uint32_t const row = t / level.x_tiles, layer = row / level.y_tiles;
    uint32_t const part_box = layer / level.z_tiles;
    box = level.part_box + part_box;
    z = level.part_z + (layer - part_box * level.z_tiles) * kBaseZ;
    y = level.part_y + (row - layer * level.y_tiles) * kBaseY;
    x = level.part_x + (t - row * level.x_tiles) * kBaseX;
    extents = {min(kBaseZ, level.z_extent - z), min(kBaseY, level.y_extent - y),
               min(kBaseX, level.x_extent - x), min(kBaseX, level.row_points - x)};
  }
  /* The tile's first point in the grid, and in the field. */
  __device__ __forceinline__ uint64_t first_point(const BaseLevel &level) const {
    uint64_t const row = ((uint64_t)box * level.z_extent + z) * level.y_extent + y;
    return row * level.row_points + x;
  }
  __device__ __forceinline__ uint64_t first_value(const BaseLevel &level) const {
    return box * level.box_stride + z * level.z_stride + y * level.y_stride + x * level.x_stride;
  }
};

/* Entries by the next 12 bits. */
struct BaseTables {
  uint32_t values[SZG_TOKENS_ENTRIES]; /* as BaseEntry says */
  uint32_t others[SZG_TOKENS_ENTRIES]; /* as in szg_tokens_tables_cuda */
};

} // namespace szg

#endif
