/* levels_tile.c - tiles of levels frames: values to codes, and codes to values, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile's points lie in rows of one class, of 32: what is odd along x apart from what is even. All
 * points of a row are predicted at once, and then coded or restored. `lanes`, a constant to the
 * compiler, says how many are taken at once; those behind a row's points get some value.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "codecs/interpolation/levels.h"
#include "codecs/interpolation/levels_halves_core.h"
#include "codecs/interpolation/levels_lattice.h"
#include "codecs/interpolation/levels_stencil_core.h"
#include "container/format.h"
#include "core/dispatch.h"

enum {
  ROW = SZG_LEVELS_ROW,
  NARROW_ROW = 16, /* of tiles that have no more points in a row: those of small fields */
  KNOWN_PITCH = 9, /* rows of a plane of class 0 in 3-D, with those before and after the tile */
  CLASS_PITCH = 5  /* of another class, with the far one */
};

/* Whether rows are those of most fields. Their functions are in line, for each class apart. Those
 * of small and of wide frames are shared, or this file would compile for minutes. */
SZG_INLINE bool is_common(uint32_t lanes, size_t point_bytes) {
  return lanes == ROW && point_bytes == sizeof(int32_t);
}

/* Along an axis: even coordinates in the tile, and in its box; odd ones. */
typedef struct axis_counts {
  uint32_t in_tile, in_box, odd;
} axis_counts;

static axis_counts count_points(uint64_t first, uint32_t extent, uint64_t grid_extent) {
  axis_counts counts = {.in_tile = (extent + 1) / 2, .odd = extent / 2};
  counts.in_box = counts.in_tile + (first + extent < grid_extent);
  return counts;
}

/* A level's unit, and how to divide by it. */
typedef struct unit_rule {
  uint32_t size, half, shift;
  float inverse;
  bool is_power; /* size is 2^shift */
} unit_rule;

static unit_rule unit_rule_of(uint32_t unit) {
  unit_rule const rule = {.size = unit,
                          .half = unit / 2,
                          .shift = 31 - (uint32_t)__builtin_clz(unit),
                          .inverse = 1.0f / (float)unit,
                          .is_power = (unit & (unit - 1)) == 0};
  return rule;
}

/* How many of the tile's points in its row (z, y) are values, and the index of the first. Fewer
 * than the tile's extent only in the last row of a folded frame. */
static uint32_t find_row_values(const szg_levels *levels, const szg_levels_stage *s,
                                const szg_levels_tile *tile, uint32_t z, uint32_t y,
                                uint64_t *first) {
  uint64_t const z_step = levels->axis_count == 3 ? s->spacing : 1;
  uint64_t const y_step = levels->axis_count >= 2 ? s->spacing : 1;
  *first = tile->box * levels->box_stride + (tile->z + z) * z_step * levels->z_stride +
           (tile->y + y) * y_step * levels->y_stride + tile->x * s->spacing;
  if (levels->fold == 0) return tile->x_extent;
  if (*first >= levels->value_count) return 0;
  uint64_t const points = (levels->value_count - 1 - *first) / s->spacing + 1;
  return (uint32_t)szg_lesser_u64(tile->x_extent, points);
}

SZG_INLINE int32_t divide_i32(int32_t a, unit_rule unit) {
  return szg_levels_divide_i32(a, (int32_t)unit.size, unit.inverse);
}

SZG_INLINE int64_t divide_i64(int64_t a, unit_rule unit) {
  int64_t const quotient = a / (int64_t)unit.size;
  return quotient - (quotient * (int64_t)unit.size > a);
}

#define VALUE float
#define BITS uint32_t
#define POINT int32_t
#define UPOINT uint32_t
#define LATTICE szg_levels_point_f32
#define RESTORE szg_levels_value_f32
#define DIVIDE divide_i32
#define SUFFIX f32
#include "codecs/interpolation/levels_rows.inc"

#define VALUE float
#define BITS uint32_t
#define POINT int64_t
#define UPOINT uint64_t
#define LATTICE szg_levels_point_f32_wide
#define RESTORE szg_levels_value_f32_wide
#define DIVIDE divide_i64
#define SUFFIX f32_wide
#include "codecs/interpolation/levels_rows.inc"

#define VALUE double
#define BITS uint64_t
#define POINT int32_t
#define UPOINT uint32_t
#define LATTICE szg_levels_point_f64
#define RESTORE szg_levels_value_f64
#define DIVIDE divide_i32
#define SUFFIX f64
#include "codecs/interpolation/levels_rows.inc"

#define VALUE double
#define BITS uint64_t
#define POINT int64_t
#define UPOINT uint64_t
#define LATTICE szg_levels_point_f64_wide
#define RESTORE szg_levels_value_f64_wide
#define DIVIDE divide_i64
#define SUFFIX f64_wide
#include "codecs/interpolation/levels_rows.inc"

#define POINT int32_t
#define UPOINT uint32_t
#define SUFFIX 32
#include "codecs/interpolation/levels_predict.inc"

#define POINT int64_t
#define UPOINT uint64_t
#define SUFFIX 64
#include "codecs/interpolation/levels_predict.inc"

/* The row functions by the type of values. */
#define ROW_FUNCTIONS(bits, UPOINT, f32, f64)                                                     \
  SZG_INLINE void code_row_##bits(uint32_t lanes, const szg_levels_lattice *lattice,              \
                                  unit_rule unit, const void *values, uint64_t first,             \
                                  uint64_t stride, bool is_odd, uint32_t count,                   \
                                  const UPOINT *predicted, UPOINT *restored, UPOINT *codes) {     \
    if (lattice->dtype == SZGPU_F32)                                                              \
      code_row_##f32(lanes, lattice, unit, (const float *)values + first, stride, is_odd, count,  \
                     predicted, restored, codes);                                                 \
    else                                                                                          \
      code_row_##f64(lanes, lattice, unit, (const double *)values + first, stride, is_odd, count, \
                     predicted, restored, codes);                                                 \
  }                                                                                               \
  SZG_INLINE void restore_row_##bits(uint32_t lanes, const szg_levels_lattice *lattice,           \
                                     const UPOINT *even, const UPOINT *odd, uint32_t count,       \
                                     void *values, uint64_t first) {                              \
    if (lattice->dtype == SZGPU_F32)                                                              \
      restore_row_##f32(lanes, lattice, even, odd, count, (float *)values + first);               \
    else                                                                                          \
      restore_row_##f64(lanes, lattice, even, odd, count, (double *)values + first);              \
  }                                                                                               \
  static bool code_base_row_##bits(const szg_levels_lattice *lattice, unit_rule unit,             \
                                   const void *values, uint64_t first, uint64_t stride,           \
                                   uint32_t count, UPOINT *multiples, uint8_t *has_none) {        \
    if (lattice->dtype == SZGPU_F32)                                                              \
      return code_base_row_##f32(lattice, unit, (const float *)values + first, stride, count,     \
                                 multiples, has_none);                                            \
    return code_base_row_##f64(lattice, unit, (const double *)values + first, stride, count,      \
                               multiples, has_none);                                              \
  }                                                                                               \
  static void restore_base_row_##bits(const szg_levels_lattice *lattice, uint32_t unit,           \
                                      const UPOINT *multiples, uint32_t count, void *values,      \
                                      uint64_t first) {                                           \
    if (lattice->dtype == SZGPU_F32)                                                              \
      restore_base_row_##f32(lattice, unit, multiples, count, (float *)values + first);           \
    else                                                                                          \
      restore_base_row_##f64(lattice, unit, multiples, count, (double *)values + first);          \
  }
ROW_FUNCTIONS(32, uint32_t, f32, f64)
ROW_FUNCTIONS(64, uint64_t, f32_wide, f64_wide)

#define POINT int32_t
#define UPOINT uint32_t
#define LIMIT_BITS SZG_LEVELS_LIMIT_BITS
#define CODE_ROW code_row_32
#define CODE_BASE_ROW code_base_row_32
#define RESTORE_ROW restore_row_32
#define ROWS(work) ((work)->rows.u32)
#define SUFFIX 32
#include "codecs/interpolation/levels_tile.inc"

#define POINT int64_t
#define UPOINT uint64_t
#define LIMIT_BITS SZG_LEVELS_WIDE_LIMIT_BITS
#define CODE_ROW code_row_64
#define CODE_BASE_ROW code_base_row_64
#define RESTORE_ROW restore_row_64
#define ROWS(work) ((work)->rows.u64)
#define SUFFIX 64
#include "codecs/interpolation/levels_tile.inc"

#define POINT int32_t
#define UPOINT uint32_t
#define LIMIT (1 << SZG_LEVELS_LIMIT_BITS)
#define DIVIDE divide_i32
#define CODE_ROWS(work) ((work)->codes.u32)
#define CODE_BASE_ROW code_base_row_32
#define RESTORE_BASE_ROW restore_base_row_32
#define SUFFIX 32
#include "codecs/interpolation/levels_base.inc"

#define POINT int64_t
#define UPOINT uint64_t
#define LIMIT ((int64_t)1 << SZG_LEVELS_WIDE_LIMIT_BITS)
#define DIVIDE divide_i64
#define CODE_ROWS(work) ((work)->codes.u64)
#define CODE_BASE_ROW code_base_row_64
#define RESTORE_BASE_ROW restore_base_row_64
#define SUFFIX 64
#include "codecs/interpolation/levels_base.inc"

/* grids NULL: known points are estimated in multiples of known_unit. */
static void code_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                      const szg_levels_lattice *lattice, const void *values, void *const *grids,
                      uint32_t known_unit, szg_levels_work *work, void *codes) {
  if (stage > 0) {
    if (levels->is_wide)
      run_tile_64(levels, stage, tile_index, lattice, values, grids, known_unit, work, codes, NULL);
    else
      run_tile_32(levels, stage, tile_index, lattice, values, grids, known_unit, work, codes, NULL);
    return;
  }
  void *const grid = grids && levels->level_count > 0 ? grids[0] : NULL;
  if (levels->is_wide)
    code_base_64(levels, tile_index, lattice, values, grid, work, codes);
  else
    code_base_32(levels, tile_index, lattice, values, grid, work, codes);
}

void szg_levels_code_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                          const szg_levels_lattice *lattice, const void *values, void *const *grids,
                          szg_levels_work *work, void *codes) {
  code_tile(levels, stage, tile_index, lattice, values, grids, 0, work, codes);
}

void szg_levels_estimate_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                              const szg_levels_lattice *lattice, const void *values,
                              szg_levels_work *work, void *codes) {
  uint32_t const known_unit = stage > 0 ? levels->stages[stage - 1].unit : 1;
  code_tile(levels, stage, tile_index, lattice, values, NULL, known_unit, work, codes);
}

void szg_levels_restore_tile(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                             const szg_levels_lattice *lattice, const void *codes,
                             szg_levels_work *work, void *const *grids, void *values) {
  void *const restored = stage == levels->level_count ? values : NULL;
  if (stage > 0) {
    void *const c = (void *)(uintptr_t)codes; /* only read when restoring */
    if (levels->is_wide)
      run_tile_64(levels, stage, tile_index, lattice, NULL, grids, 0, work, c, restored);
    else
      run_tile_32(levels, stage, tile_index, lattice, NULL, grids, 0, work, c, restored);
    return;
  }
  void *const grid = restored ? NULL : grids[0];
  if (levels->is_wide)
    restore_base_64(levels, tile_index, lattice, codes, work, grid, restored);
  else
    restore_base_32(levels, tile_index, lattice, codes, work, grid, restored);
}
