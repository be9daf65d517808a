/* levels_probe_core.h - which points of a levels frame are sampled, and what is counted apart, for
 * both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/format.md, section 16, specifies all of it ("What encoders choose").
 */
#ifndef SZG_LEVELS_PROBE_CORE_H
#define SZG_LEVELS_PROBE_CORE_H

#include <stdbool.h>

#include "codecs/interpolation/levels.h"
#include "codecs/interpolation/levels_stencil_core.h"
#include "core/hd.h"
#include "core/tiles.h"

enum {
  SZG_PROBE_SCALES = 3,   /* neighbours 1, 2 and 4 points away */
  SZG_PROBE_STENCILS = 2, /* cubic, linear */
  SZG_PROBE_SETS = 7,     /* of axes; set s has place s - 1 */
  SZG_PROBE_ENTRIES = 10, /* what is told apart when ways are ranked, see szg_probe_entry */
  SZG_PROBE_TABLES = 2,   /* tables of units */
  SZG_PROBE_DIRECT = 31,  /* codes up to this magnitude have a class each */
  SZG_PROBE_CLASSES = 112,
  SZG_PROBE_ZERO = SZG_PROBE_DIRECT, /* the class of code 0 */
  SZG_PROBE_RUN = 32,                /* points of a sampled row */
  SZG_PROBE_SHARE = 128,             /* one point in so many is sampled, */
  SZG_PROBE_LINE_SHARE = 64,         /* of a line one in so many, since folds are hard to tell, */
  SZG_LEAST_PROBES = 16,             /* but at least and at most so many runs */
  SZG_MOST_PROBES = 256,
  SZG_PROBE_LARGE_SHARE = 1024, /* unless that is less than one point in so many: */
  SZG_MOST_LARGE_PROBES = 512,  /* then that share, but at most so many runs */
  SZG_PROBE_FINE_BITS = 1 /* codes that rank ways have units of 1/2, which tells good ones apart */
};

/* ---- the sample ---- */

/* A box of points along whose axes predictions run: the frame, or a line of values that is folded
 * into rows. Of a fold only full rows count. */
typedef struct szg_probe_view {
  uint32_t axis_count;
  bool is_line; /* of values, folded or not */
  uint64_t fold;
  uint64_t extents[3], strides[3]; /* of x, y, z */
  uint64_t run_count;              /* each SZG_PROBE_RUN points along x; the last of a row fewer */
  uint32_t probe_count;            /* runs that are sampled */
} szg_probe_view;

SZG_HD uint64_t szg_probes_by_share(uint64_t value_count, uint32_t share_points) {
  uint64_t const share = value_count / (SZG_PROBE_RUN * share_points);
  uint64_t const large_share = value_count / (SZG_PROBE_RUN * SZG_PROBE_LARGE_SHARE);
  if (share <= SZG_LEAST_PROBES) return SZG_LEAST_PROBES;
  if (share <= SZG_MOST_PROBES) return share;
  if (large_share <= SZG_MOST_PROBES) return SZG_MOST_PROBES;
  return szg_lesser_u64(large_share, SZG_MOST_LARGE_PROBES);
}

/* Of a line. */
SZG_HD uint64_t szg_probes_wanted(uint64_t value_count) {
  return szg_probes_by_share(value_count, SZG_PROBE_LINE_SHARE);
}

/* fold: 0 for none. */
SZG_HD szg_probe_view szg_probe_view_of(const szg_grid *grid, uint64_t fold) {
  szg_probe_view view;
  view.axis_count = grid->tile_z > 1 ? 3 : grid->tile_y > 1 || fold ? 2 : 1;
  view.is_line = grid->tile_y == 1;
  view.fold = fold;
  uint64_t const row_count = grid->value_count / (fold ? fold : grid->x_extent);
  view.extents[0] = fold ? fold : grid->x_extent;
  view.extents[1] = fold ? row_count : grid->y_extent;
  view.extents[2] = grid->z_extent;
  view.strides[0] = 1;
  view.strides[1] = view.extents[0];
  view.strides[2] = view.extents[0] * view.extents[1];
  view.run_count = row_count * ((view.extents[0] + SZG_PROBE_RUN - 1) / SZG_PROBE_RUN);
  uint64_t const wanted = view.is_line ? szg_probes_wanted(grid->value_count)
                                       : szg_probes_by_share(grid->value_count, SZG_PROBE_SHARE);
  view.probe_count = (uint32_t)szg_lesser_u64(wanted, view.run_count);
  return view;
}

/* The i-th number of a sample of the numbers below `count`: multiples of the golden ratio, modulo
 * 1, spread over all without ever lining up with rows or planes. */
SZG_HD uint64_t szg_sampled_number(uint64_t count, uint64_t i) {
  uint64_t const fraction = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  return szg_mul_high_u64(fraction, count);
}

/* Points of one row, from its first one on. */
typedef struct szg_probe_run {
  uint64_t at[3]; /* coordinates of the first point in the view; the box of a batch is left out */
  uint64_t index; /* of its value */
  uint32_t point_count;
} szg_probe_run;

SZG_HD szg_probe_run szg_probe_run_of(const szg_probe_view *view, uint64_t i) {
  uint64_t const runs_of_row = (view->extents[0] + SZG_PROBE_RUN - 1) / SZG_PROBE_RUN;
  uint64_t const number = szg_sampled_number(view->run_count, i);
  uint64_t const row = number / runs_of_row, plane = row / view->extents[1];
  szg_probe_run run;
  run.at[0] = (number - row * runs_of_row) * SZG_PROBE_RUN;
  run.at[1] = row - plane * view->extents[1];
  run.at[2] = plane % view->extents[2];
  run.index = row * view->extents[0] + run.at[0];
  run.point_count = (uint32_t)szg_lesser_u64(SZG_PROBE_RUN, view->extents[0] - run.at[0]);
  return run;
}

/* ---- sets of axes ---- */

SZG_HD uint32_t szg_probe_axes_in(uint32_t set) {
  return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1);
}

/* A point may stand for one of any class, except along a line of values, folded or not: there a
 * pattern often repeats every few values, and a point of class `set` must be odd along x or not, as
 * the class says. */
SZG_HD bool szg_probe_fits(bool is_line, uint32_t set, uint64_t x, uint32_t scale) {
  return !is_line || x % ((uint64_t)2 << scale) == (uint64_t)(set & 1) << scale;
}

/* A point of a class with several axes has no neighbours beyond its tile and the tile's far planes,
 * of which x has none. It stands for one that is odd along the axis, at this place in a tile of
 * `extent`, a power of 2. A near neighbour along x that the tile lacks is let be: one point in 32
 * is concerned. */
SZG_HD_INLINE uint32_t szg_probe_odd(uint32_t coordinate, uint32_t scale, uint32_t extent) {
  return (coordinate >> scale | 1) & (extent - 1);
}
/* Whether the neighbours 3 spacings away are in the tile's box. */
SZG_HD_INLINE bool szg_probe_has_before(uint32_t odd) { return odd >= 3; }
SZG_HD_INLINE bool szg_probe_has_after(uint32_t odd, uint32_t axis, uint32_t extent) {
  return odd + 3 <= (axis == 0 ? extent - 1 : extent);
}

/* Where codes of the class `set` are counted that are predicted along the axes `used`: those of
 * classes with several axes apart from those with one. */
SZG_HD uint32_t szg_probe_entry(uint32_t axis_count, uint32_t set, uint32_t used) {
  bool const is_apart = szg_probe_axes_in(used) == 1 && set != used;
  return is_apart ? (1u << axis_count) - 1 + (used >> 1) : used - 1;
}

/* ---- restored neighbours ---- */

/* Neighbours are restored with errors, of which each stencil makes more or less. Where the point's
 * own predictions along single axes err by less than half a unit, so do those of its neighbours,
 * whose codes are then 0 and whose errors stay. So the point is disturbed by the mean of what its
 * own errors leave behind multiples of the unit, times a gain of the stencil: the root of the sum
 * of the squares of its weights, in 256ths. */
enum {
  SZG_GAIN_LINEAR = 181,
  SZG_GAIN_CUBIC = 205,
  SZG_GAIN_QUINTIC = 215,
  SZG_GAIN_BLEND_TWO = 286,
  SZG_GAIN_BLEND_THREE = 394
};
/* The mean of stencils along so many axes. */
SZG_HD_INLINE uint32_t szg_gain_of_mean(bool is_linear, uint32_t axis_count) {
  if (axis_count == 1) return is_linear ? SZG_GAIN_LINEAR : SZG_GAIN_CUBIC;
  if (axis_count == 2) return is_linear ? 128 : 145;
  return is_linear ? 105 : 118;
}
/* Of points with so many odd axes in a frame that is blended and quintic. */
SZG_HD_INLINE uint32_t szg_gain_of_blended(uint32_t odd_count) {
  return odd_count == 1   ? SZG_GAIN_QUINTIC
         : odd_count == 2 ? SZG_GAIN_BLEND_TWO
                          : SZG_GAIN_BLEND_THREE;
}
/* What an error leaves behind a multiple of 2^unit_bits; low_bits: of the error. */
SZG_HD_INLINE uint32_t szg_probe_residue(uint32_t low_bits, uint32_t unit_bits) {
  uint32_t const half = 1u << unit_bits >> 1, rest = (low_bits + half) & ((1u << unit_bits) - 1);
  return rest < half ? half - rest : rest - half;
}
/* sum: of the residues along axis_count axes, 2 or 3; place: the sum of the coordinates. */
SZG_HD_INLINE int32_t szg_probe_disturbance(uint32_t sum, uint32_t axis_count, uint32_t gain,
                                            uint32_t place) {
  uint32_t const share = axis_count == 2 ? 128 : 85; /* of 256 */
  int32_t const size = (int32_t)(sum * gain * share >> 16);
  return place * 0x9E3779B1u >> 31 ? -size : size;
}

/* ---- units ---- */

/* Units of the levels, in parts of 256 of the finest one's: what a coarse point costs more, those
 * that are predicted from it may cost less. Table 1: 1.25 to the power of the level, at most 2. */
enum { SZG_UNIT_PARTS = 256 };
SZG_HD uint32_t szg_unit_part(uint32_t table, uint32_t level) {
  if (table == 0 || level == 0) return SZG_UNIT_PARTS;
  return level == 1 ? 205 : level == 2 ? 164 : level == 3 ? 131 : 128;
}
SZG_HD uint32_t szg_level_unit(uint32_t table, uint32_t level, uint32_t fine_bits) {
  return ((szg_unit_part(table, level) << fine_bits) + SZG_UNIT_PARTS / 2) / SZG_UNIT_PARTS;
}

/* ---- classes ---- */

/* Codes with larger magnitudes than SZG_PROBE_DIRECT are counted by the place of the highest bit,
 * from 5 on; the last class has all from 2^53 on. These bits follow a code of a class. */
enum { SZG_PROBE_FIRST_WIDTH = 2 * SZG_PROBE_DIRECT + 1 - 5 };
SZG_HD uint32_t szg_probe_raw_bits(uint32_t probe_class) {
  return probe_class <= 2 * SZG_PROBE_DIRECT ? 0 : probe_class - SZG_PROBE_FIRST_WIDTH + 1;
}

typedef uint32_t szg_probe_counts[SZG_PROBE_CLASSES];

/* ---- ways ---- */

/* How a frame is predicted. level_count 0: by differences only, along base_axes. */
typedef struct szg_levels_way {
  uint32_t axis_count, level_count;
  uint64_t fold;
  uint32_t base_axes, unit_table;
  bool is_halved, is_linear, is_blended, is_quintic;
  uint8_t ranks[3];
} szg_levels_way;

/* ---- folds ---- */

/* A line of values that repeats itself, such as atoms in the order of a lattice, is best predicted
 * from a period before. Periods up to SZG_MOST_FOLD are tried in windows of the sample. */
enum {
  SZG_MOST_FOLD = 1024,
  SZG_FOLD_WINDOWS = 16,
  SZG_LEAST_FOLDED_ROWS = 64,
  SZG_MOST_FOLD_DISTANCE = 63
};

/* The longest period that is tried; below 2: none is. */
SZG_HD uint64_t szg_most_fold(const szg_grid *grid) {
  if (grid->tile_y > 1) return 0;
  return szg_lesser_u64(SZG_MOST_FOLD, grid->value_count / SZG_LEAST_FOLDED_ROWS);
}

/* Window i begins here; it has most_fold + SZG_PROBE_RUN values, of which the last SZG_PROBE_RUN
 * are compared with those before. */
SZG_HD uint64_t szg_fold_window(const szg_grid *grid, uint64_t most_fold, uint64_t i) {
  return szg_sampled_number(grid->value_count - most_fold - SZG_PROBE_RUN, i);
}

/* The difference of two points in whole steps, as far as it matters. */
SZG_HD uint32_t szg_fold_distance(int64_t a, int64_t b, uint32_t fine_bits) {
  int64_t const difference = a - b;
  uint64_t const magnitude = difference < 0 ? 0 - (uint64_t)difference : (uint64_t)difference;
  return (uint32_t)szg_lesser_u64(magnitude >> fine_bits, SZG_MOST_FOLD_DISTANCE);
}

/* Whether values differ clearly less from those a period before, at best, than from value to
 * value. */
SZG_HD bool szg_fold_pays(uint32_t least_score, uint32_t score_of_1) {
  return least_score < score_of_1 - score_of_1 / 4;
}

/* Multiples of a period are as good: the first period that is about the best is the fold. */
SZG_HD bool szg_fold_is_about_best(uint32_t score, uint32_t least_score) {
  return score <= least_score + least_score / 4;
}

#endif
