/* levels_probe_core.h - what a sampled point of a levels frame counts as, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each sampled point is predicted from the points around it, as if it were one that its level adds,
 * by each stencil and set of axes; the codes are counted by class. Neighbours are those of the
 * field itself, not restored ones. docs/format.md, section 16, specifies all of it ("What encoders
 * choose").
 */
#ifndef SZG_LEVELS_PROBE_CORE_H
#define SZG_LEVELS_PROBE_CORE_H

#include <stdbool.h>

#include "core/hd.h"
#include "core/tiles.h"
#include "predict/levels.h"

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
  SZG_PROBE_SHARE = 64,              /* one point in so many is sampled, */
  SZG_LEAST_PROBES = 16,             /* but at least and at most so many runs */
  SZG_MOST_PROBES = 256,
  SZG_PROBE_LARGE_SHARE = 1024, /* unless that is less than one point in so many: */
  SZG_MOST_LARGE_PROBES = 1024, /* then that share, but at most so many runs */
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

SZG_HD uint64_t szg_probes_wanted(uint64_t value_count) {
  uint64_t const share = value_count / (SZG_PROBE_RUN * SZG_PROBE_SHARE);
  uint64_t const large_share = value_count / (SZG_PROBE_RUN * SZG_PROBE_LARGE_SHARE);
  if (share <= SZG_LEAST_PROBES) return SZG_LEAST_PROBES;
  if (share <= SZG_MOST_PROBES) return share;
  if (large_share <= SZG_MOST_PROBES) return SZG_MOST_PROBES;
  return szg_lesser_u64(large_share, SZG_MOST_LARGE_PROBES);
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
  view.probe_count = (uint32_t)szg_lesser_u64(szg_probes_wanted(grid->value_count), view.run_count);
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
  uint64_t const row = number / runs_of_row;
  szg_probe_run run;
  run.at[0] = number % runs_of_row * SZG_PROBE_RUN;
  run.at[1] = row % view->extents[1];
  run.at[2] = row / view->extents[1] % view->extents[2];
  run.index = row * view->extents[0] + run.at[0];
  run.point_count = (uint32_t)szg_lesser_u64(SZG_PROBE_RUN, view->extents[0] - run.at[0]);
  return run;
}

/* ---- sets of axes ---- */

SZG_HD uint32_t szg_probe_axes_in(uint32_t set) {
  return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1);
}

/* The axes of `set` that are used: those of the greatest rank. */
SZG_HD uint32_t szg_ranked_axes(uint32_t set, const uint8_t *ranks) {
  uint32_t greatest = 0, used = 0;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1 && ranks[axis] > greatest) greatest = ranks[axis];
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1 && ranks[axis] == greatest) used |= 1u << axis;
  return used;
}

/* A point may stand for one of any class, except along a line of values, folded or not: there a
 * pattern often repeats every few values, and a point of class `set` must be odd along x or not, as
 * the class says. */
SZG_HD bool szg_probe_fits(bool is_line, uint32_t set, uint64_t x, uint32_t scale) {
  return !is_line || x % ((uint64_t)2 << scale) == (uint64_t)(set & 1) << scale;
}

/* Where codes of the class `set` are counted that are predicted along the axes `used`: those of
 * classes with several axes apart from those with one. */
SZG_HD uint32_t szg_probe_entry(uint32_t axis_count, uint32_t set, uint32_t used) {
  bool const is_apart = szg_probe_axes_in(used) == 1 && set != used;
  return is_apart ? (1u << axis_count) - 1 + (used >> 1) : used - 1;
}

/* ---- predictions ---- */

/* The neighbours of a point along an axis, 3, 1, 1 and 3 spacings away. */
typedef struct szg_probe_taps {
  int64_t at[4];
  bool has[4];
} szg_probe_taps;

/* Sixteen times the prediction along one axis. Both near neighbours exist. */
SZG_HD int64_t szg_probe_stencil(const szg_probe_taps *taps, bool is_linear) {
  int64_t const near_sum = taps->at[1] + taps->at[2];
  if (is_linear || (!taps->has[0] && !taps->has[3])) return 8 * near_sum;
  if (taps->has[0] && taps->has[3]) return 9 * near_sum - taps->at[0] - taps->at[3];
  if (taps->has[3]) return 6 * near_sum + 6 * taps->at[2] - 2 * taps->at[3];
  return 6 * near_sum + 6 * taps->at[1] - 2 * taps->at[0];
}

/* The code of a point predicted along the axes `used` with these sums of their stencils. */
SZG_HD int64_t szg_probe_code(int64_t point, const int64_t *sums, uint32_t used,
                              uint32_t unit_bits) {
  int64_t sum = 0;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (used >> axis & 1) sum += sums[axis];
  uint32_t const count = szg_probe_axes_in(used);
  int64_t const prediction = count == 1   ? (sum + 8) >> 4
                             : count == 2 ? (sum + 16) >> 5
                                          : (sum + 24) / 48;
  return (point - prediction + ((int64_t)1 << unit_bits >> 1)) >> unit_bits;
}

/* The neighbours that a point of a class with several axes is predicted from: none beyond its tile
 * and the tile's far planes, of which x has none. coordinate: along this axis, in the view; the
 * point stands for one that is odd there. A near neighbour along x that the tile lacks is let be:
 * one point in 32 is concerned. */
SZG_HD szg_probe_taps szg_probe_in_tile(uint32_t axis_count, uint32_t axis, uint32_t scale,
                                        uint64_t coordinate, const szg_probe_taps *taps) {
  uint32_t const extent = szg_level_tile_extent(axis_count, axis, (uint64_t)1 << scale);
  uint32_t const odd = (uint32_t)(coordinate >> scale | 1) % extent;
  uint32_t const last = axis == 0 ? extent - 1 : extent;
  szg_probe_taps own = *taps;
  own.has[0] = own.has[0] && odd >= 3;
  own.has[3] = own.has[3] && odd + 3 <= last;
  return own;
}

/* A neighbour as if it were restored with this unit: a multiple of it. The quotient is rounded by
 * f64 arithmetic, the same everywhere. */
SZG_HD int64_t szg_probe_rounded(int64_t point, int64_t unit) {
  double const quotient = (double)(point + unit / 2) * (1.0 / (double)unit);
  int64_t const toward_zero = (int64_t)quotient;
  return (toward_zero - ((double)toward_zero > quotient ? 1 : 0)) * unit;
}

SZG_HD void szg_probe_round(int64_t unit, szg_probe_taps *taps) {
  for (uint32_t i = 0; i < 4; i++) taps->at[i] = szg_probe_rounded(taps->at[i], unit);
}

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

/* ---- counts ---- */

/* The class that a code is counted in, and the bits that follow a code of that class. */
SZG_HD uint32_t szg_probe_class(int64_t code) {
  uint64_t const magnitude = code < 0 ? 0 - (uint64_t)code : (uint64_t)code;
  if (magnitude <= SZG_PROBE_DIRECT) return (uint32_t)(code + SZG_PROBE_DIRECT);
  uint32_t const highest = 63 - (uint32_t)szg_leading_zeros_u64(magnitude);
  uint32_t const own = 2 * SZG_PROBE_DIRECT + 1 + highest - 5;
  return own < SZG_PROBE_CLASSES ? own : (uint32_t)SZG_PROBE_CLASSES - 1;
}
SZG_HD uint32_t szg_probe_raw_bits(uint32_t probe_class) {
  return probe_class <= 2 * SZG_PROBE_DIRECT ? 0 : probe_class - 2 * SZG_PROBE_DIRECT + 5;
}

typedef uint32_t szg_probe_counts[SZG_PROBE_CLASSES];

/* A sampled point with its neighbours at one scale, which all exist next to it. taps: of the first
 * axis_count axes. */
typedef struct szg_probe_point {
  uint64_t at[3];
  int64_t value;
  szg_probe_taps taps[3];
} szg_probe_point;

/* First pass, one scale: codes of every entry. counts: [SZG_PROBE_STENCILS][SZG_PROBE_ENTRIES].
 * Rounds the neighbours: restoring adds about such an error. */
SZG_HD void szg_probe_count_entries(const szg_probe_view *view, uint32_t fine_bits, uint32_t scale,
                                    szg_probe_point *point,
                                    szg_probe_counts (*counts)[SZG_PROBE_ENTRIES]) {
  uint32_t const all = (1u << view->axis_count) - 1, unit_bits = fine_bits - SZG_PROBE_FINE_BITS;
  int64_t const noise_unit = szg_level_unit(1, 1, fine_bits) / 2;
  for (uint32_t axis = 0; axis < 3; axis++) {
    if (axis >= view->axis_count) continue;
    szg_probe_round(noise_unit, &point->taps[axis]);
    uint32_t const set = 1u << axis;
    if (!szg_probe_fits(view->is_line, set, point->at[0], scale)) continue;
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++) {
      int64_t sums[3] = {0, 0, 0};
      sums[axis] = szg_probe_stencil(&point->taps[axis], stencil);
      int64_t const code = szg_probe_code(point->value, sums, set, unit_bits);
      szg_count_up(&counts[stencil][set - 1][szg_probe_class(code)]);
    }
  }
  if (all == 1 || !szg_probe_fits(view->is_line, all, point->at[0], scale)) return;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (axis < view->axis_count)
      point->taps[axis] =
          szg_probe_in_tile(view->axis_count, axis, scale, point->at[axis], &point->taps[axis]);
  for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++) {
    int64_t sums[3] = {0, 0, 0};
    for (uint32_t axis = 0; axis < 3; axis++)
      if (axis < view->axis_count) sums[axis] = szg_probe_stencil(&point->taps[axis], stencil);
    for (uint32_t used = 1; used <= all; used++) {
      int64_t const code = szg_probe_code(point->value, sums, used, unit_bits);
      uint32_t const entry = szg_probe_entry(view->axis_count, all, used);
      szg_count_up(&counts[stencil][entry][szg_probe_class(code)]);
    }
  }
}

/* How a frame is predicted. level_count 0: by differences only, along base_axes. */
typedef struct szg_levels_way {
  uint32_t axis_count, level_count;
  uint64_t fold;
  uint32_t base_axes, unit_table;
  bool is_linear;
  uint8_t ranks[3];
} szg_levels_way;

/* Second pass, one scale: codes of this way by class of point. counts: [SZG_PROBE_SETS]. */
SZG_HD void szg_probe_count_way(bool is_line, const szg_levels_way *way, uint32_t fine_bits,
                                uint32_t scale, const szg_probe_point *point,
                                szg_probe_counts *counts) {
  int64_t alone[3] = {0, 0, 0}, in_tile[3] = {0, 0, 0};
  for (uint32_t axis = 0; axis < 3; axis++) {
    if (axis >= way->axis_count) continue;
    szg_probe_taps const taps =
        szg_probe_in_tile(way->axis_count, axis, scale, point->at[axis], &point->taps[axis]);
    alone[axis] = szg_probe_stencil(&point->taps[axis], way->is_linear);
    in_tile[axis] = szg_probe_stencil(&taps, way->is_linear);
  }
  for (uint32_t set = 1; set < 1u << way->axis_count; set++) {
    if (!szg_probe_fits(is_line, set, point->at[0], scale)) continue;
    uint32_t const used = szg_ranked_axes(set, way->ranks);
    bool const is_alone = szg_probe_axes_in(set) == 1;
    int64_t const code = szg_probe_code(point->value, is_alone ? alone : in_tile, used, fine_bits);
    szg_count_up(&counts[set - 1][szg_probe_class(code)]);
  }
}

/* The same with neighbours rounded to the units of the next level: as they would be restored by
 * this table. */
SZG_HD void szg_probe_count_noisy(bool is_line, const szg_levels_way *way, uint32_t fine_bits,
                                  uint32_t table, szg_probe_point *point,
                                  szg_probe_counts *counts) {
  for (uint32_t axis = 0; axis < 3; axis++)
    if (axis < way->axis_count)
      szg_probe_round(szg_level_unit(table, 1, fine_bits), &point->taps[axis]);
  szg_probe_count_way(is_line, way, fine_bits, 0, point, counts);
}

/* Differences of whole steps, along every set of axes. corners: the point's lattice value and those
 * before it along each set of axes. */
SZG_HD void szg_probe_count_differences(uint32_t axis_count, uint32_t fine_bits,
                                        const int64_t *corners, szg_probe_counts *counts) {
  int64_t multiples[1 + SZG_PROBE_SETS];
  for (uint32_t corner = 0; corner <= SZG_PROBE_SETS; corner++)
    if (corner < 1u << axis_count)
      multiples[corner] = (corners[corner] + ((int64_t)1 << fine_bits >> 1)) >> fine_bits;
  for (uint32_t set = 1; set < 1u << axis_count; set++) {
    int64_t difference = 0;
    for (uint32_t corner = 0; corner <= SZG_PROBE_SETS; corner++)
      if (corner < 1u << axis_count && !(corner & ~set))
        difference += szg_probe_axes_in(corner) % 2 ? -multiples[corner] : multiples[corner];
    szg_count_up(&counts[set - 1][szg_probe_class(difference)]);
  }
}

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
