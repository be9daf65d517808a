/* levels_job.cuh - what the kernels of a levels stage know: its geometry, its rules, its tiles.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block per tile. Its first thread finds out where the tile lies, since that takes divisions of
 * 64 bits.
 */
#ifndef SZG_LEVELS_JOB_CUH
#define SZG_LEVELS_JOB_CUH

#include "codecs/interpolation/levels_cuda.h"
#include "codecs/interpolation/levels_lattice.cuh"
#include "codecs/interpolation/levels_stencil_core.h"
#include "container/format.h"
#include "core/cuda_check.cuh"
#include "core/device.h"
#include "predict/axes_core.h"

namespace szg {

struct LevelsPolicy {
  static constexpr int kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
};

/* The tiles of a launch, block by block. Their numbers are those in a box of the stage's tiles,
 * which may be all of them. */
struct LevelsTiles {
  uint64_t first_tile, tile_count; /* of the launch */
  uint64_t box, z, y, x;           /* the first tile of the box of tiles */
  uint64_t z_tiles, y_tiles, x_tiles;
  bool is_whole; /* it is all of the stage */

  /* The number in the stage. */
  __device__ uint64_t in_stage(const szg_levels_stage &stage, uint64_t number) const {
    if (is_whole) return number;
    szg_tile_number const at = szg_tile_number_of(number, z_tiles, y_tiles, x_tiles);
    uint64_t const layer = (box + at.batch) * stage.z_tiles + z + at.z;
    return (layer * stage.y_tiles + y + at.y) * stage.x_tiles + x + at.x;
  }
};

inline LevelsTiles levels_tiles_of(const szg_levels_stage &stage,
                                   const szg_levels_tiles_cuda *chosen) {
  LevelsTiles tiles = {
      0, stage.tile_count, 0, 0, 0, 0, stage.z_tiles, stage.y_tiles, stage.x_tiles, true};
  if (!chosen) return tiles;
  bool const has_tiles = chosen->end_tile > chosen->first_tile;
  tiles.first_tile = chosen->first_tile;
  tiles.tile_count = has_tiles ? chosen->end_tile - chosen->first_tile : 0;
  if (!chosen->box) return tiles;
  const szg_box &box = *chosen->box;
  tiles.box = box.first[0], tiles.z = box.first[1], tiles.y = box.first[2], tiles.x = box.first[3];
  tiles.z_tiles = box.end[1] - box.first[1];
  tiles.y_tiles = box.end[2] - box.first[2];
  tiles.x_tiles = box.end[3] - box.first[3];
  tiles.is_whole = false;
  return tiles;
}

/* Where the points of a stage are, and how they are predicted. */
struct LevelsGrid {
  szg_levels_stage stage;
  LevelsTiles tiles;
  uint64_t coarse_z, coarse_y, coarse_x; /* extents of the grid of the stage before */
  uint64_t coarse_row;                   /* its points from row to row */
  uint64_t z_stride, y_stride, x_stride; /* from point to point of the grid, in values */
  uint64_t box_stride;                   /* points of a box of the view */
  uint64_t value_count;                  /* of the frame */
  UnitRule unit;
  uint32_t axis_count, base_axes;
  bool is_halved, is_linear, is_blended, is_quintic, is_clamped, has_levels;
  bool has_virtual; /* points */
  uint8_t used[8];  /* axes used, by those that have both neighbours, if any has */

  LevelsGrid() = default;
  LevelsGrid(const szg_levels &levels, uint32_t stage_index, const szg_levels_tiles_cuda *chosen)
      : stage(levels.stages[stage_index]),
        tiles(levels_tiles_of(levels.stages[stage_index], chosen)),
        box_stride(levels.box_stride),
        value_count(levels.value_count),
        unit(levels.stages[stage_index].unit),
        axis_count(levels.axis_count),
        base_axes(levels.base_axes),
        is_halved(levels.is_halved),
        is_linear(levels.is_linear),
        is_blended(levels.is_blended),
        is_quintic(levels.is_quintic),
        is_clamped(stage_index < levels.level_count),
        has_levels(levels.level_count > 0),
        has_virtual(levels.fold != 0) {
    const szg_levels_stage &coarse = levels.stages[stage_index > 0 ? stage_index - 1 : 0];
    coarse_z = coarse.z_extent;
    coarse_y = coarse.y_extent;
    coarse_x = coarse.x_extent;
    coarse_row = coarse.row_points;
    z_stride = levels.z_stride * (axis_count == 3 ? stage.spacing : 1);
    y_stride = levels.y_stride * (axis_count >= 2 ? stage.spacing : 1);
    x_stride = stage.spacing;
    for (uint32_t both = 0; both < 8; both++)
      used[both] = (uint8_t)szg_ranked_axes(both, levels.ranks);
  }
};

struct LevelsJob : LevelsGrid {
  szg_levels_lattice lattice;

  LevelsJob() = default;
  LevelsJob(const szg_levels &levels, uint32_t stage_index, const szg_levels_lattice &k,
            const szg_levels_tiles_cuda *chosen)
      : LevelsGrid(levels, stage_index, chosen), lattice(k) {}
};

/* Blocks of a launch over the job's tiles. */
inline szgpu_status levels_blocks(const LevelsGrid &job, unsigned *blocks) {
  SZG_REQUIRE(job.tiles.tile_count < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  *blocks = (unsigned)job.tiles.tile_count;
  return SZGPU_OK;
}

/* ---- a block's tile ---- */

struct LevelsPlace {
  szg_levels_tile tile;
  uint64_t first_value;        /* index of the value at the tile's first point */
  uint64_t first_point;        /* of the tile in the stage's grid */
  uint64_t z_points, y_points; /* distances in that grid */

  __device__ LevelsPlace() {}
  __device__ LevelsPlace(const LevelsGrid &job, uint64_t block)
      : tile(szg_levels_tile_of(&job.stage,
                                job.tiles.in_stage(job.stage, job.tiles.first_tile + block))) {
    y_points = job.stage.row_points;
    z_points = job.stage.row_points * job.stage.y_extent;
    first_value = tile.box * job.box_stride + tile.z * job.z_stride + tile.y * job.y_stride +
                  tile.x * job.x_stride;
    first_point = (tile.box * job.stage.z_extent + tile.z) * z_points + tile.y * y_points + tile.x;
  }
  /* Coordinates here are those in the tile. */
  __device__ __forceinline__ uint64_t value_at(const LevelsGrid &job, uint32_t z, uint32_t y,
                                               uint32_t x) const {
    return first_value + z * job.z_stride + y * job.y_stride + x * job.x_stride;
  }
  __device__ __forceinline__ uint64_t point_at(uint32_t z, uint32_t y, uint32_t x) const {
    return first_point + z * z_points + y * y_points + x;
  }
};

} // namespace szg

#endif
