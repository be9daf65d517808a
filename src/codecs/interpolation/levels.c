/* levels.c - levels frames: grids, tiles and places, and which values have lattice values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/levels.h"

#include <string.h>

#include "codecs/interpolation/levels_lattice.h"
#include "container/format.h"
#include "core/bytes.h"
#include "core/dispatch.h"
#include "quant/quant_core.h"

enum { BASE_ROWS = 8, LEVEL_ROWS = 4 }; /* rows that alternate in the order of places */

/* The axes that can be interpolated: 3, 2 or 1. */
static uint32_t count_axes(const szg_grid *frame) {
  return frame->tile_z > 1 ? 3 : frame->tile_y > 1 ? 2 : 1;
}

static bool make_view(const szg_grid *frame, uint32_t axis_count, uint64_t fold, szg_levels *levels,
                      szg_levels_stage *view) {
  uint32_t const frame_axes = count_axes(frame);
  *view = (szg_levels_stage){.box_count = frame->batch_extent,
                             .z_extent = frame->z_extent,
                             .y_extent = frame->y_extent,
                             .x_extent = frame->x_extent};
  if (fold != 0) {
    if (frame_axes != 1 || axis_count != 2) return false;
    if (fold < 2 || fold > frame->value_count / 2) return false;
    view->y_extent = szg_div_up(frame->value_count, fold);
    view->x_extent = fold;
  } else if (frame_axes == 3 && axis_count == 2) {
    view->box_count *= view->z_extent;
    view->z_extent = 1;
  } else if (frame_axes != axis_count) {
    return false;
  }
  levels->axis_count = axis_count;
  levels->fold = fold;
  levels->value_count = frame->value_count;
  levels->y_stride = view->x_extent;
  levels->z_stride = view->x_extent * view->y_extent;
  levels->box_stride = levels->z_stride * view->z_extent;
  return true;
}

static void set_tile_extents(uint32_t axis_count, bool is_base, szg_levels_stage *stage) {
  stage->tile_x = szg_level_tile_extent(axis_count, 0, stage->spacing);
  stage->tile_y = szg_level_tile_extent(axis_count, 1, stage->spacing);
  stage->tile_z = szg_level_tile_extent(axis_count, 2, stage->spacing);
  if (is_base && axis_count == 3) {
    stage->tile_x = SZG_TILE_3D_X;
    stage->tile_y = SZG_TILE_3D_Y;
    stage->tile_z = SZG_TILE_3D_Z;
  } else if (is_base && axis_count == 2) {
    stage->tile_x = SZG_TILE_2D_X;
    stage->tile_y = SZG_TILE_2D_Y;
  }
  uint32_t const points = stage->tile_z * stage->tile_y * stage->tile_x;
  stage->place_count = is_base ? points : points - (points >> axis_count);
}

static void make_stage(uint32_t axis_count, const szg_levels_stage *view, uint64_t spacing,
                       bool is_base, szg_levels_stage *stage) {
  *stage = *view;
  stage->spacing = spacing;
  stage->unit = 1;
  stage->x_extent = szg_div_up(view->x_extent, spacing);
  if (axis_count >= 2) stage->y_extent = szg_div_up(view->y_extent, spacing);
  if (axis_count == 3) stage->z_extent = szg_div_up(view->z_extent, spacing);
  set_tile_extents(axis_count, is_base, stage);
  stage->x_tiles = szg_div_up(stage->x_extent, stage->tile_x);
  stage->y_tiles = szg_div_up(stage->y_extent, stage->tile_y);
  stage->z_tiles = szg_div_up(stage->z_extent, stage->tile_z);
  stage->tile_count = stage->box_count * stage->z_tiles * stage->y_tiles * stage->x_tiles;
  stage->row_points = axis_count == 3 ? szg_align_up(stage->x_extent, 4) : stage->x_extent;
  stage->plane_points = stage->y_extent * stage->row_points;
  stage->box_points = stage->z_extent * stage->plane_points;
  stage->point_count = stage->box_count * stage->box_points;
}

bool szg_levels_make(const szg_grid *frame, uint32_t axis_count, uint64_t fold,
                     uint32_t level_count, szg_levels *levels) {
  *levels = (szg_levels){.level_count = level_count, .base_axes = SZG_AXIS_X};
  szg_levels_stage view;
  if (level_count > SZG_LEVELS_MOST || axis_count < 1 || axis_count > 3) return false;
  if (!make_view(frame, axis_count, fold, levels, &view)) return false;
  for (uint32_t i = 0; i <= level_count; i++)
    make_stage(axis_count, &view, (uint64_t)1 << (level_count - i), i == 0, &levels->stages[i]);
  return true;
}

bool szg_levels_tile_is_full(const szg_levels *levels, uint32_t stage, uint64_t tile_index) {
  const szg_levels_stage *const s = &levels->stages[stage];
  szg_levels_tile const tile = szg_levels_tile_at(levels, stage, tile_index);
  return tile.x_extent == s->tile_x && tile.y_extent == s->tile_y && tile.z_extent == s->tile_z;
}

/* Marks places, from a group's first on, in which `together` rows of `lane_count` points alternate:
 * those of the first `rows` rows, and of these the first `lanes` points. */
static void mark_places(uint32_t together, uint32_t lane_count, uint32_t rows, uint32_t lanes,
                        uint64_t *groups) {
  uint32_t const lanes_in_group = 64 / together;
  uint64_t const all = ~(uint64_t)0;
  uint64_t const lane_mask = ((uint64_t)1 << rows) - 1;
  uint64_t const lane_starts = together == 1            ? all
                               : together == LEVEL_ROWS ? all / ((1 << LEVEL_ROWS) - 1)
                                                        : all / ((1 << BASE_ROWS) - 1);
  for (uint32_t first = 0; first < lane_count; first += lanes_in_group) {
    uint32_t const here = lanes <= first ? 0 : lanes - first;
    uint64_t const mask = here >= lanes_in_group ? all : ((uint64_t)1 << here * together) - 1;
    groups[first / lanes_in_group] = lane_starts * lane_mask & mask;
  }
}

static uint32_t rows_left(uint32_t count, uint32_t before, uint32_t most) {
  return count <= before ? 0 : count - before < most ? count - before : most;
}

/* Places of points in planes of rows: a full tile has plane_count planes of row_count rows of
 * lane_count points, of which `together` rows alternate; z, y, x of them exist. */
static void mark_planes(uint32_t together, uint32_t plane_count, uint32_t row_count,
                        uint32_t lane_count, uint32_t z, uint32_t y, uint32_t x, uint64_t *groups) {
  for (uint32_t plane = 0; plane < plane_count; plane++)
    for (uint32_t row = 0; row < row_count; row += together) {
      uint32_t const rows = plane < z ? rows_left(y, row, together) : 0;
      mark_places(together, lane_count, rows, x, groups);
      groups += together * lane_count / 64;
    }
}

/* How many of `extent` coordinates are odd, or even. */
static uint32_t count_parity(uint32_t extent, bool is_odd) { return (extent + !is_odd) / 2; }

void szg_levels_existing_places(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                                uint64_t *groups) {
  const szg_levels_stage *const s = &levels->stages[stage];
  szg_levels_tile const tile = szg_levels_tile_at(levels, stage, tile_index);
  uint32_t const d = levels->axis_count;
  uint32_t const z = tile.z_extent, y = tile.y_extent, x = tile.x_extent;
  if (stage == 0) {
    mark_planes(d == 1 ? 1 : BASE_ROWS, s->tile_z, s->tile_y, s->tile_x, z, y, x, groups);
    return;
  }
  uint32_t const planes = d == 3 ? s->tile_z / 2 : 1, rows = d == 1 ? 1 : s->tile_y / 2;
  for (uint32_t class = 1; class < 1u << d; class ++) {
    uint32_t const class_z = count_parity(z, class & SZG_AXIS_Z);
    uint32_t const class_y = count_parity(y, class & SZG_AXIS_Y);
    mark_planes(d == 1 ? 1 : LEVEL_ROWS, planes, rows, s->tile_x / 2, class_z, class_y,
                count_parity(x, class & SZG_AXIS_X), groups);
    groups += planes * rows * (s->tile_x / 2) / 64;
  }
}

/* ---- parts of a frame ---- */

/* The extents of a stage's grid, and of a full tile. */
typedef struct stage_extents {
  uint64_t grid[SZG_BOX_AXES], tile[SZG_BOX_AXES];
} stage_extents;

static stage_extents extents_of(const szg_levels_stage *s) {
  return (stage_extents){{s->box_count, s->z_extent, s->y_extent, s->x_extent},
                         {1, s->tile_z, s->tile_y, s->tile_x}};
}

void szg_levels_narrow_grid(szg_levels_stage *stage, const szg_box *tiles) {
  stage_extents const extents = extents_of(stage);
  uint64_t first[SZG_BOX_AXES], count[SZG_BOX_AXES];
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    uint64_t const tile = extents.tile[axis];
    first[axis] = tiles->first[axis] * tile;
    count[axis] = szg_lesser_u64(tiles->end[axis] * tile, extents.grid[axis]) - first[axis];
  }
  stage->row_points = count[3];
  stage->plane_points = count[2] * stage->row_points;
  stage->box_points = count[1] * stage->plane_points;
  stage->point_count = count[0] * stage->box_points;
  stage->first_point = 0;
  stage->first_point = szg_levels_point_at(stage, first[0], first[1], first[2], first[3]);
}

void szg_levels_tiles_of_points(const szg_levels *levels, uint32_t last, const szg_box *points,
                                szg_box tiles[SZG_LEVELS_MOST + 1]) {
  szg_box wanted = *points;
  for (uint32_t stage = last;; stage--) {
    stage_extents const extents = extents_of(&levels->stages[stage]);
    szg_box *const here = &tiles[stage];
    for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
      here->first[axis] = wanted.first[axis] / extents.tile[axis];
      here->end[axis] = szg_div_up(wanted.end[axis], extents.tile[axis]);
    }
    if (stage == 0) return;
    uint32_t const reach = szg_levels_reach(levels->is_quintic);
    stage_extents const coarse = extents_of(&levels->stages[stage - 1]);
    for (int axis = 1; axis < SZG_BOX_AXES; axis++) {
      uint64_t const first = here->first[axis] * extents.tile[axis] / 2;
      uint64_t const end = here->end[axis] * extents.tile[axis] / 2 + 1 + reach;
      wanted.first[axis] = first > reach ? first - reach : 0;
      wanted.end[axis] = szg_lesser_u64(end, coarse.grid[axis]);
    }
  }
}

szg_box szg_levels_points_of_values(const szg_levels *levels, uint64_t first_value,
                                    uint64_t end_value) {
  uint32_t const d = levels->axis_count;
  const szg_levels_stage *const s = &levels->stages[levels->level_count];
  uint64_t const box = first_value / levels->box_stride;
  uint64_t const last_box = (end_value - 1) / levels->box_stride;
  uint64_t const row_values = d == 3 ? levels->z_stride : d == 2 ? levels->y_stride : 1;
  int const slowest = d == 3 ? 1 : d == 2 ? 2 : 3;
  szg_box points = {.first = {box}, .end = {last_box + 1, s->z_extent, s->y_extent, s->x_extent}};
  if (box != last_box) return points;
  points.first[slowest] = first_value % levels->box_stride / row_values;
  points.end[slowest] = (end_value - 1) % levels->box_stride / row_values + 1;
  return points;
}

void szg_levels_spans_of_values(const szg_levels *levels, uint64_t first_value, uint64_t end_value,
                                szg_tile_range spans[SZG_LEVELS_MOST + 1]) {
  szg_box const points = szg_levels_points_of_values(levels, first_value, end_value);
  szg_box tiles[SZG_LEVELS_MOST + 1];
  szg_levels_tiles_of_points(levels, levels->level_count, &points, tiles);
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    const szg_levels_stage *const s = &levels->stages[i];
    spans[i] = szg_box_range(&tiles[i], s->z_tiles, s->y_tiles, s->x_tiles);
  }
}

/* x / divisor toward zero; x > 0. */
static double divide_toward_zero(double x, double divisor) {
  double quotient = x / divisor;
  if (fma(quotient, divisor, -x) > 0) {
    uint64_t const bits = szg_bits_f64(quotient) - 1;
    memcpy(&quotient, &bits, sizeof quotient);
  }
  return quotient;
}

static float round_toward_zero(double x) {
  float rounded = (float)x;
  if ((double)rounded > x) {
    uint32_t const bits = szg_bits_f32(rounded) - 1;
    memcpy(&rounded, &bits, sizeof rounded);
  }
  return rounded;
}

szg_levels_lattice szg_levels_lattice_make(szgpu_dtype dtype, bool is_wide, uint32_t fine_bits,
                                           double step, bool has_fill, uint64_t fill_bits) {
  szg_levels_lattice lattice = {
      .dtype = dtype, .is_wide = is_wide, .has_fill = has_fill, .fill_bits = fill_bits};
  szg_levels_lattice_set_limits(-INFINITY, INFINITY, &lattice);
  double const parts = (double)((1u << fine_bits) + 1);
  lattice.limit = (uint64_t)1 << (is_wide ? SZG_LEVELS_WIDE_LIMIT_BITS : SZG_LEVELS_LIMIT_BITS);
  lattice.fine = fine_bits ? divide_toward_zero(step, parts) : step;
  if (dtype == SZGPU_F32 && !is_wide) {
    lattice.fine_f32 = round_toward_zero(lattice.fine);
    lattice.fine = (double)lattice.fine_f32;
    lattice.inverse_f32 = 1.0f / lattice.fine_f32;
    lattice.inverse = (double)lattice.inverse_f32;
  } else {
    lattice.inverse = 1.0 / lattice.fine;
  }
  return lattice;
}

void szg_levels_lattice_set_limits(double least, double greatest, szg_levels_lattice *lattice) {
  lattice->least = least;
  lattice->greatest = greatest;
}

void szg_levels_lattice_limit(double greatest, bool may_be_exceeded, szg_levels_lattice *lattice) {
  uint64_t const points = (uint64_t)(greatest / lattice->fine); /* 4 or more if it may be */
  uint64_t const own = may_be_exceeded ? points - 2 : points + 2;
  if (own < lattice->limit) lattice->limit = own;
}

bool szg_levels_has_lattice_value(const szg_levels_lattice *lattice, const void *values,
                                  uint64_t index) {
  uint8_t mark;
  return !szg_levels_mark(lattice, values, index, 1, &mark);
}

/* Most rows have no marks to set: all their values are tested before any is written. */
#define MARK_VALUES(name, VALUE, BITS, POINT, LATTICE)                                             \
  SZG_INLINE bool name##_is_coded(const szg_levels_lattice *k, BITS fill_bits, VALUE value) {      \
    POINT point;                                                                                   \
    BITS bits;                                                                                     \
    memcpy(&bits, &value, sizeof bits);                                                            \
    return (int)LATTICE(k, value, &point) & (int)(bits != fill_bits);                              \
  }                                                                                                \
  SZG_HOT static bool name(const szg_levels_lattice *lattice, const VALUE *values, uint32_t count, \
                           uint8_t *restrict marks) {                                              \
    szg_levels_lattice const k = *lattice;                                                         \
    BITS const fill_bits = k.has_fill ? (BITS)k.fill_bits : ~(BITS)0; /* a NaN */                  \
    BITS others = 0;                                                                               \
    for (uint32_t i = 0; i < count; i++) others |= !name##_is_coded(&k, fill_bits, values[i]);     \
    memset(marks, SZG_MARK_CODED, count);                                                          \
    for (uint32_t i = 0; i < count && others; i++) {                                               \
      BITS bits;                                                                                   \
      memcpy(&bits, &values[i], sizeof bits);                                                      \
      bool const is_fill = k.has_fill && bits == fill_bits;                                        \
      uint8_t const other = is_fill ? SZG_MARK_FILL : SZG_MARK_EXACT;                              \
      if (!name##_is_coded(&k, fill_bits, values[i])) marks[i] = other;                            \
    }                                                                                              \
    return others != 0;                                                                            \
  }
MARK_VALUES(mark_f32, float, uint32_t, int32_t, szg_levels_point_f32)
MARK_VALUES(mark_f32_wide, float, uint32_t, int64_t, szg_levels_point_f32_wide)
MARK_VALUES(mark_f64, double, uint64_t, int32_t, szg_levels_point_f64)
MARK_VALUES(mark_f64_wide, double, uint64_t, int64_t, szg_levels_point_f64_wide)

bool szg_levels_mark(const szg_levels_lattice *lattice, const void *values, uint64_t first,
                     uint32_t count, uint8_t *marks) {
  if (lattice->dtype == SZGPU_F32) {
    const float *const from = (const float *)values + first;
    return (lattice->is_wide ? mark_f32_wide : mark_f32)(lattice, from, count, marks);
  }
  const double *const from = (const double *)values + first;
  return (lattice->is_wide ? mark_f64_wide : mark_f64)(lattice, from, count, marks);
}

#define RESTORE_POINTS(name, VALUE, POINT, RESTORE)                                         \
  SZG_HOT static void name(const szg_levels_lattice *lattice, const POINT *restrict points, \
                           uint64_t stride, uint64_t count, VALUE *restrict values) {       \
    szg_levels_lattice const k = *lattice;                                                  \
    for (uint64_t i = 0; i < count; i++) values[i] = RESTORE(&k, points[i * stride]);       \
  }
RESTORE_POINTS(restore_f32, float, int32_t, szg_levels_value_f32)
RESTORE_POINTS(restore_f32_wide, float, int64_t, szg_levels_value_f32_wide)
RESTORE_POINTS(restore_f64, double, int32_t, szg_levels_value_f64)
RESTORE_POINTS(restore_f64_wide, double, int64_t, szg_levels_value_f64_wide)

void szg_levels_restore_points(const szg_levels_lattice *lattice, const void *points,
                               uint64_t first, uint64_t stride, uint64_t count, void *values) {
  const int32_t *const narrow = (const int32_t *)points + first;
  const int64_t *const wide = (const int64_t *)points + first;
  if (lattice->dtype == SZGPU_F32 && lattice->is_wide)
    restore_f32_wide(lattice, wide, stride, count, values);
  else if (lattice->dtype == SZGPU_F32)
    restore_f32(lattice, narrow, stride, count, values);
  else if (lattice->is_wide)
    restore_f64_wide(lattice, wide, stride, count, values);
  else
    restore_f64(lattice, narrow, stride, count, values);
}
