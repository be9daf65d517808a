/* levels.h - levels frames: their grids and tiles, values to codes by interpolation, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/format.md, section 16, has the rules. A frame's values lie on grids, from coarse to fine.
 * Stage 0 codes the coarsest grid, the base, by differences; stage i codes the points that grid
 * L - i has and grid L - i + 1 has not, each predicted from points that are restored already. A
 * tile of a stage depends on no other tile of that stage, so tiles may run in any order.
 *
 * Lattice values and codes are int32_t, or int64_t if the frame is wide; sums wrap.
 */
#ifndef SZG_LEVELS_H
#define SZG_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/tiles.h"

SZG_C_BEGIN

enum {
  SZG_LEVELS_MOST = 6,      /* most levels, base apart */
  SZG_LEVELS_MOST_FINE = 8, /* most fine bits */
  SZG_LEVELS_MOST_RANK = 2,
  SZG_LEVELS_BASE_PLACES = 4096,
  SZG_LEVELS_BASE_ROWS = SZG_LEVELS_BASE_PLACES / 32, /* of a tile at most */
  SZG_LEVELS_MOST_PLACES = 7168, /* of a tile: 7 classes of 8 x 4 x 32 points */
  SZG_LEVELS_ROW = 32            /* points of one class in a row of a tile */
};

/* The extent of a level's tiles along x, y or z (0, 1, 2), in points of its grid. */
SZG_HD uint32_t szg_level_tile_extent(uint32_t axis_count, uint32_t axis, uint64_t spacing) {
  if (axis >= axis_count) return 1;
  if (axis_count == 1) return SZG_TILE_1D_X;
  if (axis == 0) return 64;
  uint32_t const most = axis_count == 2 ? 64 : axis == 1 ? 8 : 16;
  uint32_t const least = axis_count == 2 ? 8 : axis == 1 ? 8 : 4;
  return most / spacing > least ? (uint32_t)(most / spacing) : least;
}

/* Stage 0 is the base (grid L), stage i >= 1 is level L - i. Extents and tiles are those of the
 * stage's grid; coordinates are in units of its spacing. Rows of 3-D grids begin at multiples of 16
 * bytes, which is what GPUs copy at once. */
typedef struct szg_levels_stage {
  uint64_t spacing; /* 2^(L - i) */
  uint64_t box_count, z_extent, y_extent, x_extent;
  uint32_t tile_z, tile_y, tile_x; /* extents of a full tile */
  uint64_t z_tiles, y_tiles, x_tiles, tile_count;
  /* Where memory has the grid's points: (box, z, y, x) at box * box_points + z * plane_points + y *
   * row_points + x - first_point, in arithmetic that wraps. Those of a row beyond x_extent may be
   * anything. point_count in all; on the CPU these may be a part of the grid. */
  uint64_t row_points, plane_points, box_points, first_point, point_count;
  uint32_t place_count; /* of a full tile, a multiple of 64 */
  uint32_t unit;
} szg_levels_stage;

/* What geometry and prediction of a frame need. szg_levels_make sets the rules to those of a frame
 * that is cubic and not wide, with ranks 0, units 1, F = 0 and base axes 1; its caller then changes
 * them. */
typedef struct szg_levels {
  uint32_t axis_count;  /* d */
  uint32_t level_count; /* L */
  uint64_t fold;        /* 0: not folded */
  uint64_t value_count; /* of the frame; points of the view from there on are virtual */
  uint64_t y_stride;    /* values of a row of the view; x has stride 1 */
  uint64_t z_stride;    /* values of a plane */
  uint64_t box_stride;  /* points of a box, virtual ones included */
  szg_levels_stage stages[SZG_LEVELS_MOST + 1];
  uint32_t fine_bits; /* F */
  uint32_t base_axes; /* SZG_AXIS_* */
  bool is_halved;     /* the base: by levels_halves_core.h, not by differences */
  bool is_linear, is_wide;
  bool is_blended;  /* points with several odd axes; ranks are 0 then */
  bool is_quintic;  /* points with one: blended frames that are not linear */
  uint8_t ranks[3]; /* of x, y, z */
} szg_levels;

/* Points of the coarser grid that a tile's stencils need before the tile's first one, along each
 * axis; behind its last one they need one more. */
SZG_HD uint32_t szg_levels_reach(bool is_quintic) { return is_quintic ? 2 : 1; }

/* False if d and fold do not suit the frame, or there are too many levels. */
bool szg_levels_make(const szg_grid *frame, uint32_t axis_count, uint64_t fold,
                     uint32_t level_count, szg_levels *levels);

/* A tile: its first point and its extents, cut off at the grid's ends. */
typedef struct szg_levels_tile {
  uint64_t box, z, y, x;
  uint32_t z_extent, y_extent, x_extent;
} szg_levels_tile;

SZG_HD szg_levels_tile szg_levels_tile_of(const szg_levels_stage *stage, uint64_t tile_index) {
  szg_tile_number const at =
      szg_tile_number_of(tile_index, stage->z_tiles, stage->y_tiles, stage->x_tiles);
  szg_levels_tile tile;
  tile.x = at.x * stage->tile_x;
  tile.y = at.y * stage->tile_y;
  tile.z = at.z * stage->tile_z;
  tile.box = at.batch;
  tile.x_extent = (uint32_t)szg_lesser_u64(stage->tile_x, stage->x_extent - tile.x);
  tile.y_extent = (uint32_t)szg_lesser_u64(stage->tile_y, stage->y_extent - tile.y);
  tile.z_extent = (uint32_t)szg_lesser_u64(stage->tile_z, stage->z_extent - tile.z);
  return tile;
}

static inline szg_levels_tile szg_levels_tile_at(const szg_levels *levels, uint32_t stage,
                                                 uint64_t tile_index) {
  return szg_levels_tile_of(&levels->stages[stage], tile_index);
}

/* Whether all places of the tile exist. */
bool szg_levels_tile_is_full(const szg_levels *levels, uint32_t stage, uint64_t tile_index);

/* Which places exist: bit i mod 64 of groups[i / 64] is place i; place_count / 64 groups. Virtual
 * points exist. */
void szg_levels_existing_places(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                                uint64_t *groups);

/* Where the grid has a point in memory. */
static inline uint64_t szg_levels_point_at(const szg_levels_stage *stage, uint64_t box, uint64_t z,
                                           uint64_t y, uint64_t x) {
  return box * stage->box_points + z * stage->plane_points + y * stage->row_points + x -
         stage->first_point;
}

/* Lets memory have only the points of a box of tiles. */
void szg_levels_narrow_grid(szg_levels_stage *stage, const szg_box *tiles);

/* Boxes of tiles of stage `last` and those before it: all that `points` depend on, a box in the
 * grid of stage `last` that has at least one. */
void szg_levels_tiles_of_points(const szg_levels *levels, uint32_t last, const szg_box *points,
                                szg_box tiles[SZG_LEVELS_MOST + 1]);

/* The points of the last stage that have values first_value to end_value - 1 of the frame, at least
 * one: whole planes of a volume, rows of a plane, or boxes. */
szg_box szg_levels_points_of_values(const szg_levels *levels, uint64_t first_value,
                                    uint64_t end_value);

/* The tiles of each stage that these depend on; they follow one another. */
void szg_levels_spans_of_values(const szg_levels *levels, uint64_t first_value, uint64_t end_value,
                                szg_tile_range spans[SZG_LEVELS_MOST + 1]);

/* Number S of tiles that are counted for a stage's books, of T. */
SZG_HD uint32_t szg_levels_counted_tiles(uint64_t tile_count) {
  return (uint32_t)szg_lesser_u64(tile_count, SZG_LEVELS_MOST_COUNTED);
}
/* How values become lattice values. The encoder's X is value * inverse, rounded once by a fused
 * multiply-add; it must be within the limit, at most 2^22 (wide: 2^50). */
typedef struct szg_levels_lattice {
  szgpu_dtype dtype; /* F32 or F64 */
  bool is_wide;
  bool has_fill;
  uint64_t fill_bits;
  uint64_t limit;              /* lattice values are from -limit to limit - 1 */
  double fine, inverse;        /* h, and 1 / h */
  float fine_f32, inverse_f32; /* the same for f32 that is not wide */
  double least, greatest;      /* restored values are brought between these, as in szg_quantizer */
} szg_levels_lattice;

/* For decoders the limit does not matter. Encoders lower it to just above `greatest`, up to which
 * the step's margin covers rounding, so that all values up to it have a lattice value. If it may be
 * exceeded, there may be values just above it: the limit is then just below it. */
void szg_levels_lattice_limit(double greatest, bool may_be_exceeded, szg_levels_lattice *lattice);
szg_levels_lattice szg_levels_lattice_make(szgpu_dtype dtype, bool is_wide, uint32_t fine_bits,
                                           double step, bool has_fill, uint64_t fill_bits);
/* Limits the values that points are restored to. */
void szg_levels_lattice_set_limits(double least, double greatest, szg_levels_lattice *lattice);

/* Whether value `index` has a lattice value; the frame keeps all others exactly. This is a function
 * of the value alone. */
bool szg_levels_has_lattice_value(const szg_levels_lattice *lattice, const void *values,
                                  uint64_t index);

/* marks[i], SZG_MARK_*, of value first + i, for `count` values. Returns whether any mark is not
 * SZG_MARK_CODED. */
bool szg_levels_mark(const szg_levels_lattice *lattice, const void *values, uint64_t first,
                     uint32_t count, uint8_t *marks);

/* Values 0 to count - 1: what lattice values first, first + stride and so on of `points` stand
 * for. */
void szg_levels_restore_points(const szg_levels_lattice *lattice, const void *points,
                               uint64_t first, uint64_t stride, uint64_t count, void *values);

/* Rows of a tile's box, one class after another. Between rows is a cache line of 4-byte elements,
 * so that rows begin where lines do: its first 4 elements belong to the row before it, its last two
 * to the row after it. Class 0 has 13 x 9 rows, with those around the tile; the seven others have
 * 9 x 5 rows at most. */
enum {
  SZG_LEVELS_ROW_GAP = 16,
  SZG_LEVELS_ROW_TAIL = 4,
  SZG_LEVELS_ROW_STRIDE = SZG_LEVELS_ROW + SZG_LEVELS_ROW_GAP,
  SZG_LEVELS_KNOWN_ROWS = 13 * 9,
  SZG_LEVELS_CLASS_ROWS = 9 * 5,
  SZG_LEVELS_WORK_ROWS = SZG_LEVELS_KNOWN_ROWS + 7 * SZG_LEVELS_CLASS_ROWS,
  SZG_LEVELS_WORK_POINTS = SZG_LEVELS_ROW_GAP + SZG_LEVELS_WORK_ROWS * SZG_LEVELS_ROW_STRIDE
};

/* The work for one tile; each worker has one, best at a cache line. Need not be initialized. */
typedef struct szg_levels_work {
  union {
    uint32_t u32[SZG_LEVELS_WORK_POINTS];
    uint64_t u64[SZG_LEVELS_WORK_POINTS];
  } rows;
  union {
    uint32_t u32[SZG_LEVELS_BASE_PLACES];
    uint64_t u64[SZG_LEVELS_BASE_PLACES];
  } codes;                                  /* of a few rows, in row order; of the base, all */
  uint8_t has_none[SZG_LEVELS_BASE_PLACES]; /* base: points without lattice values */
} szg_levels_work;

/* One tile forward. values: the frame's. codes: place_count of them; those of places that do not
 * exist become 0, and so do those of points without a lattice value. grids[i]: the point_count
 * lattice values of stage i; this reads grids[stage - 1] and writes the tile's points of
 * grids[stage], except in the last stage. */
void szg_levels_code_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                          const szg_levels_lattice *lattice, const void *values, void *const *grids,
                          szg_levels_work *work, void *codes);

/* The codes that a tile will have, nearly, from the values alone; so the books of all stages can be
 * made before the first is coded. Where coding reads grids[stage - 1], this takes the lattice
 * values of the values, rounded to multiples of that stage's unit. Codes of the base are exact. */
void szg_levels_estimate_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                              const szg_levels_lattice *lattice, const void *values,
                              szg_levels_work *work, void *codes);

/* One tile back: codes to the tile's points of grids[stage], or to values if `stage` is the last
 * and values is not NULL. */
void szg_levels_restore_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                             const szg_levels_lattice *lattice, const void *codes,
                             szg_levels_work *work, void *const *grids, void *values);

SZG_C_END

#endif
