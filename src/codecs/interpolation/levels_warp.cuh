/* levels_warp.cuh - levels of three axes for warps that take a tile each: tiles, order, stencils.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile has 64 x 8 x 2 kPairs points. A lane has the points 2 lane and 2 lane + 1 of each row.
 * Levels are told apart by the bytes that a code has in shared memory, which are also the spacing
 * of the level: 1, 2, and 4 for that of 4 and all coarser ones.
 *
 * Even points are those of the coarser grid; pairs of planes and rows are an even and an odd one.
 * Lattice values are uint32_t, whose sums wrap.
 */
#ifndef SZG_LEVELS_WARP_CUH
#define SZG_LEVELS_WARP_CUH

#include "codecs/interpolation/levels_box.cuh"
#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kWarpTileX = 64, kWarpTileY = 8;

/* Pairs of planes of a tile. */
template <uint32_t kCodeBytes>
constexpr uint32_t kTilePairs = 8 / kCodeBytes;

/* Predictions of coarse levels are clamped. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t clamp_prediction(uint32_t prediction) {
  constexpr int32_t kLimit = 1 << SZG_LEVELS_LIMIT_BITS;
  return kCodeBytes == 1 ? prediction : szg_clamp_prediction(kLimit, prediction);
}

/* `first` and `count` times so many bytes. */
template <class T>
__device__ __forceinline__ T *step_by(T *first, uint32_t count, uint32_t bytes) {
  uint64_t at;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(count), "r"(bytes), "l"((uint64_t)first));
  return (T *)at;
}

/* ---- geometry ---- */

/* A tile: where it lies in the level's grid, its box of the view, and its extents. */
struct WarpTile {
  uint32_t box, z, y, x;
  uint32_t z_extent, y_extent, x_extent;

  /* What a row of the grid has room for: rows end with whole 16 bytes, as copies of rows do. */
  __device__ __forceinline__ uint32_t x_room() const { return (x_extent + 3) / 4 * 4; }
};

/* What a warp keeps in shared memory, since the march needs all registers: its tile, and the number
 * of the next one. */
struct WarpNotes {
  WarpTile tile;
  uint32_t next;
};
static_assert(sizeof(WarpNotes) % 16 == 0, "what follows is aligned");

/* This warp's element of an array. It is found anew at each call, so that no register holds it in
 * between: one that is saved to local memory takes longer. */
template <class T>
__device__ __forceinline__ T *own_of(T *all) {
  uint32_t thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return all + thread / 32;
}

/* Asks for a number from a queue, whose counter goes back to 0 after `last`. The number is there
 * some time later: nothing should be done with it before. One lane calls. */
__device__ __forceinline__ uint32_t ask_ahead(uint32_t *counter, uint32_t last) {
  uint32_t number;
  asm volatile("atom.global.inc.u32 %0, [%1], %2;"
               : "=r"(number)
               : "l"(counter), "r"(last)
               : "memory");
  return number;
}

/* Kernels have forms. kPlain: cubic, all axes of one rank; kAny: also linear ones, and others of
 * ranks. */
enum class LevelsForm { kPlain, kAny, kBlended };

/* Extents are those of one box. A launch has whole layers of tiles, which are numbered through all
 * boxes; or it has a part of the level, all tiles of which are numbered like those of a level. */
struct WarpLevel {
  uint32_t z_extent, y_extent, x_extent, row_points; /* of the grid */
  uint32_t coarse_z, coarse_y, coarse_x, coarse_row; /* of the coarser one */
  uint32_t z_tiles, y_tiles, x_tiles;
  uint32_t part_box, part_z, part_y, part_x; /* the first point of the part */
  uint32_t first_layer, end_layer, first_box, box_count;
  uint64_t z_stride, y_stride, x_stride, box_stride; /* from point to point, in values */
  bool is_linear;
  szg_single_taps taps; /* of blended frames */
  uint8_t used[8];      /* as in LevelsGrid */

  /* The bytes of a plane fit in 32 bits, as in serves. */
  WarpLevel(const LevelsGrid &job, uint64_t first_tile, uint64_t end_tile)
      : z_extent((uint32_t)job.stage.z_extent),
        y_extent((uint32_t)job.stage.y_extent),
        x_extent((uint32_t)job.stage.x_extent),
        row_points((uint32_t)job.stage.row_points),
        coarse_z((uint32_t)job.coarse_z),
        coarse_y((uint32_t)job.coarse_y),
        coarse_x((uint32_t)job.coarse_x),
        coarse_row((uint32_t)job.coarse_row),
        z_tiles((uint32_t)job.tiles.z_tiles),
        y_tiles((uint32_t)job.tiles.y_tiles),
        x_tiles((uint32_t)job.tiles.x_tiles),
        part_box((uint32_t)job.tiles.box),
        part_z((uint32_t)job.tiles.z * job.stage.tile_z),
        part_y((uint32_t)job.tiles.y * job.stage.tile_y),
        part_x((uint32_t)job.tiles.x * job.stage.tile_x),
        first_layer((uint32_t)(first_tile / (job.tiles.y_tiles * job.tiles.x_tiles))),
        end_layer((uint32_t)(end_tile / (job.tiles.y_tiles * job.tiles.x_tiles))),
        first_box(first_layer / z_tiles),
        box_count(end_layer / z_tiles - first_box),
        z_stride(job.z_stride),
        y_stride(job.y_stride),
        x_stride(job.x_stride),
        box_stride(job.box_stride),
        is_linear(job.is_linear),
        taps(szg_single_taps_of(job.is_linear, job.is_quintic)) {
    for (uint32_t both = 0; both < 8; both++) used[both] = job.used[both];
  }

  /* Whether kernels of this kind can take tiles of the stage, a level. */
  static bool serves(const szg_levels &levels, uint32_t stage) {
    const szg_levels_stage &s = levels.stages[stage];
    return stage > 0 && levels.axis_count == 3 && !levels.is_wide && s.tile_count < 1u << 31 &&
           s.z_extent < 1u << 31 && s.y_extent * s.row_points < 1u << 30 &&
           levels.z_stride * s.spacing < 1u << 29;
  }
  static LevelsForm form_of(const szg_levels &levels) {
    if (levels.is_blended) return LevelsForm::kBlended;
    bool const is_plain = !levels.is_linear && levels.ranks[0] == levels.ranks[1] &&
                          levels.ranks[1] == levels.ranks[2];
    return is_plain ? LevelsForm::kPlain : LevelsForm::kAny;
  }

  uint32_t tile_count() const { return (end_layer - first_layer) * y_tiles * x_tiles; }

  __device__ __forceinline__ uint64_t plane_points() const {
    return (uint64_t)row_points * y_extent;
  }
  __device__ __forceinline__ uint64_t coarse_plane() const {
    return (uint64_t)coarse_row * coarse_y;
  }
  /* layer: of all boxes; in_layer: the tile's number in it; tile_z: its full extent. */
  __device__ __forceinline__ WarpTile tile_at(uint32_t layer, uint32_t in_layer,
                                              uint32_t tile_z) const {
    WarpTile tile;
    uint32_t const box = layer / z_tiles, y_tile = in_layer / x_tiles;
    tile.box = part_box + box;
    tile.z = part_z + (layer - box * z_tiles) * tile_z;
    tile.y = part_y + y_tile * kWarpTileY;
    tile.x = part_x + (in_layer - y_tile * x_tiles) * kWarpTileX;
    tile.z_extent = min(tile_z, z_extent - tile.z);
    tile.y_extent = min(kWarpTileY, y_extent - tile.y);
    tile.x_extent = min(kWarpTileX, x_extent - tile.x);
    return tile;
  }

  /* The tile's number, through all boxes of a whole level. */
  template <uint32_t kCodeBytes>
  __device__ __forceinline__ uint32_t index_of(const WarpTile &tile) const {
    uint32_t const layer = tile.box * z_tiles + tile.z / (2 * kTilePairs<kCodeBytes>);
    return (layer * y_tiles + tile.y / kWarpTileY) * x_tiles + tile.x / kWarpTileX;
  }

  /* Where the tile's first point is: in the grid, in the coarser one, and in the field. */
  __device__ __forceinline__ uint64_t first_point(const WarpTile &tile) const {
    uint64_t const row = ((uint64_t)tile.box * z_extent + tile.z) * y_extent + tile.y;
    return row * row_points + tile.x;
  }
  __device__ __forceinline__ uint64_t first_coarse(const WarpTile &tile) const {
    uint64_t const row = ((uint64_t)tile.box * coarse_z + tile.z / 2) * coarse_y + tile.y / 2;
    return row * coarse_row + tile.x / 2;
  }
  __device__ __forceinline__ uint64_t first_value(const WarpTile &tile) const {
    return tile.box * box_stride + tile.z * z_stride + tile.y * y_stride + tile.x * x_stride;
  }

  template <uint32_t kCodeBytes>
  __device__ __forceinline__ bool is_full(const WarpTile &tile) const {
    return tile.x_extent == kWarpTileX && tile.y_extent == kWarpTileY &&
           tile.z_extent == 2 * kTilePairs<kCodeBytes>;
  }
  /* Of a full tile: whether the coarser grid has all planes and rows that stencils reach. */
  template <uint32_t kCodeBytes>
  __device__ __forceinline__ bool is_inner(const WarpTile &tile) const {
    return tile.z > 0 && coarse_z - tile.z / 2 >= kTilePairs<kCodeBytes> + 3 && tile.y > 0 &&
           coarse_y - tile.y / 2 >= kWarpTileY / 2 + 3;
  }
};

/* Places of a group that a tile has. The group is 16 lanes' codes of four rows of a class: of the
 * first `lanes` lanes it has those of the first `rows` rows, and no others. */
struct GroupPlaces {
  uint32_t lanes, rows;

  static __device__ __forceinline__ GroupPlaces all() { return {16, 4}; }
  /* half_depth_log2: of the planes of a class in a full tile. */
  static __device__ __forceinline__ GroupPlaces of(uint32_t z_extent, uint32_t y_extent,
                                                   uint32_t x_extent, uint32_t half_depth_log2,
                                                   uint32_t group) {
    uint32_t const slice = group / 2, point_class = (slice >> half_depth_log2) + 1;
    uint32_t const plane = slice & ((1u << half_depth_log2) - 1), first = 16 * (group % 2);
    uint32_t const in_row = (x_extent + 1 - (point_class & 1)) / 2; /* lanes that have a point */
    bool const has_plane = 2 * plane + (point_class >> 2) < z_extent;
    uint32_t const lanes = in_row > first ? min(in_row - first, 16u) : 0;
    return {has_plane ? lanes : 0, (y_extent + 1 - (point_class >> 1 & 1)) / 2};
  }

  /* Places 32 half to 32 half + 31, a bit for each. */
  __device__ __forceinline__ uint32_t of_half(uint32_t half) const {
    uint32_t const first = 8 * half, count = lanes > first ? lanes - first : 0;
    uint32_t const each = ((1u << rows) - 1) * 0x11111111u;
    return count >= 8 ? each : each & ((1u << 4 * count) - 1);
  }
};

/* The tiles of a launch in the order of work. Those at the far ends of y and z come first, because
 * they take longer. is_backward: the others begin with what the level before wrote last, which the
 * cache still has. */
struct WarpOrder {
  uint32_t layer, in_layer;

  __device__ __forceinline__ WarpOrder(const WarpLevel &level, uint32_t k, bool is_backward) {
    uint32_t const layer_tiles = level.y_tiles * level.x_tiles, inner_z = level.z_tiles - 1;
    uint32_t const first_box = level.first_box, last_layers = level.box_count;
    if (k < last_layers * layer_tiles) { /* the last layers of boxes */
      uint32_t const box = k / layer_tiles;
      in_layer = k - box * layer_tiles;
      layer = (first_box + box) * level.z_tiles + inner_z;
      return;
    }
    k -= last_layers * layer_tiles;
    uint32_t const inner_layers = level.end_layer - level.first_layer - last_layers;
    uint32_t const inner_tiles = layer_tiles - level.x_tiles; /* of a layer */
    uint32_t number; /* of the layer, among those that are not the last of their box */
    if (k < inner_layers * level.x_tiles) { /* their last rows */
      number = k / level.x_tiles;
      in_layer = inner_tiles + k - number * level.x_tiles;
    } else {
      k -= inner_layers * level.x_tiles;
      if (is_backward) k = inner_tiles * inner_layers - 1 - k;
      number = k / inner_tiles;
      in_layer = k - number * inner_tiles;
    }
    number += level.first_layer - first_box; /* as many were last ones */
    layer = number / inner_z * level.z_tiles + number % inner_z;
  }
};

/* ---- predictions ---- */

/* The prediction of a point that is odd along two or three axes. sums: along x, y, z, of which
 * those that are not odd do not matter; before: the value at the neighbour before, along each;
 * both: axes with both neighbours. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t predict_any(const WarpLevel &level, uint32_t odd, uint32_t both,
                                                const uint32_t (&sums)[3],
                                                const uint32_t (&before)[3]) {
  uint32_t const used = both & odd ? level.used[both & odd] : odd;
  uint32_t sum = 0;
#pragma unroll
  for (int axis = 0; axis < 3; axis++)
    if (used >> axis & 1) sum += both & odd ? sums[axis] : szg_sum_one(before[axis]);
  return clamp_prediction<kCodeBytes>(szg_predict((uint32_t)__popc((int)used), sum));
}

} // namespace szg

#endif
