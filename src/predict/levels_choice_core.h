/* levels_choice_core.h - which prediction a sample of points finds best, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each sampled point is predicted from the points around it, as if it were one that its level
 * adds, by each stencil and set of axes; the codes are counted. The entropy of the counts says what
 * a point of a class costs, and sums over classes and levels say what a value of the frame costs.
 * Neighbours are those of the field itself, not restored ones. docs/format.md, section 16,
 * specifies all of it ("What encoders choose").
 */
#ifndef SZG_LEVELS_CHOICE_CORE_H
#define SZG_LEVELS_CHOICE_CORE_H

#include "core/hd.h"
#include "predict/axes_core.h"
#include "predict/levels.h"

enum {
  SZG_PROBE_SCALES = 3,   /* neighbours 1, 2 and 4 points away */
  SZG_PROBE_STENCILS = 2, /* cubic, linear */
  SZG_PROBE_SETS = 7,     /* of axes; set s has place s - 1 */
  SZG_PROBE_TABLES = 2,   /* tables of units */
  SZG_PROBE_DIRECT = 31,  /* codes up to this magnitude have a class each */
  SZG_PROBE_CLASSES = 112,
  SZG_PROBE_ZERO = SZG_PROBE_DIRECT, /* the class of code 0 */
  SZG_PROBE_RUN = 32,                /* points of a sampled row */
  SZG_PROBE_SHARE = 64,              /* one point in so many is sampled, */
  SZG_LEAST_PROBES = 16,             /* but at least and at most so many runs */
  SZG_MOST_PROBES = 256,
  SZG_PROBE_FINE_BITS = 1, /* codes that rank ways have units of 1/2, which tells good ones apart */
  SZG_MOST_RANKINGS = 13
};

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

/* The code of a point predicted from `count` axes whose stencils sum up to `sum`. */
SZG_HD int64_t szg_probe_code(int64_t point, int64_t sum, uint32_t count, uint32_t unit_bits) {
  int64_t const prediction = count == 1   ? (sum + 8) >> 4
                             : count == 2 ? (sum + 16) >> 5
                                          : (sum + 24) / 48;
  return (point - prediction + ((int64_t)1 << unit_bits >> 1)) >> unit_bits;
}

/* A neighbour as if it were restored with this unit: a multiple of it. The quotient is rounded by
 * f64 arithmetic, the same everywhere. */
SZG_HD int64_t szg_probe_rounded(int64_t point, int64_t unit) {
  double const quotient = (double)(point + unit / 2) * (1.0 / (double)unit);
  int64_t const toward_zero = (int64_t)quotient;
  return (toward_zero - ((double)toward_zero > quotient ? 1 : 0)) * unit;
}

/* ---- costs, in units of 2^-16 bits ---- */

/* What a point costs by its counts. entropy: at best. floor: in a code that gives no symbol less
 * than a bit. 0: nothing was counted. */
typedef struct szg_probe_cost {
  uint64_t entropy, floor;
} szg_probe_cost;

SZG_HD szg_probe_cost szg_probe_cost_of(const uint32_t *counts) {
  uint64_t total = 0, logs = 0, raw_bits = 0;
  szg_probe_cost cost = {0, 0};
  for (uint32_t c = 0; c < SZG_PROBE_CLASSES; c++) {
    total += counts[c];
    logs += szg_count_log(counts[c]);
    raw_bits += (uint64_t)counts[c] * szg_probe_raw_bits(c);
  }
  if (total == 0) return cost;
  uint64_t const raw = raw_bits << SZG_LOG_FRACTION_BITS;
  cost.entropy = (szg_count_log(total) - logs + raw) / total;
  cost.floor = (szg_huffman_cost(total, logs, counts[SZG_PROBE_ZERO]) + raw) / total;
  return cost;
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

/* Where codes of a class are counted that are predicted along the axes `used`. Classes that the
 * same points stand for share a place. */
SZG_HD uint32_t szg_probe_entry(bool is_line, uint32_t set, uint32_t used) {
  return is_line && set == 3 && used < 3 ? 2 + used : used - 1;
}

/* The sum over the classes of a level. costs: by szg_probe_entry. */
SZG_HD uint64_t szg_probe_level_cost(const uint64_t *costs, bool is_line, uint32_t axis_count,
                                     const uint8_t *ranks) {
  uint64_t sum = 0;
  for (uint32_t set = 1; set < 1u << axis_count; set++)
    sum += costs[szg_probe_entry(is_line, set, szg_ranked_axes(set, ranks))];
  return sum;
}

/* What a value of a frame costs by the cost of each level's classes: level j has a
 * 2^(axis_count * (j + 1))-th of the values in each class. */
SZG_HD uint64_t szg_probe_frame_cost(const uint64_t *level_costs, uint32_t axis_count,
                                     uint32_t level_count) {
  uint64_t sum = 0;
  for (uint32_t level = 0; level < level_count; level++) {
    uint32_t const scale = level < SZG_PROBE_SCALES ? level : SZG_PROBE_SCALES - 1;
    sum += level_costs[scale] >> (axis_count * (level + 1));
  }
  return sum;
}

/* Ranks of x, y and z. Frames with `axis_count` axes choose among the first
 * szg_ranking_count(axis_count), of which the first are equal ranks. */
SZG_HD uint32_t szg_ranking_count(uint32_t axis_count) {
  return axis_count == 3 ? SZG_MOST_RANKINGS : axis_count == 2 ? 3 : 1;
}
SZG_HD void szg_ranking(uint32_t index, uint8_t *ranks) {
  uint32_t const packed = index == 0    ? 0x00u /* two bits for each axis, x lowest */
                          : index == 1  ? 0x01u
                          : index == 2  ? 0x04u
                          : index == 3  ? 0x10u
                          : index == 4  ? 0x05u
                          : index == 5  ? 0x11u
                          : index == 6  ? 0x14u
                          : index == 7  ? 0x06u
                          : index == 8  ? 0x09u
                          : index == 9  ? 0x12u
                          : index == 10 ? 0x21u
                          : index == 11 ? 0x18u
                                        : 0x24u;
  for (uint32_t axis = 0; axis < 3; axis++) ranks[axis] = (uint8_t)(packed >> 2 * axis & 3);
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

/* Whether finer units of coarse levels pay. noisy: the costs of the finest level's classes with
 * neighbours restored by table 0, and by table 1. coarse: those of the next level's classes. A
 * point of that level costs about a quarter of a bit more, if it costs a bit at all. */
SZG_HD bool szg_finer_units_pay(const uint64_t *noisy, uint64_t coarse, uint32_t axis_count) {
  uint64_t const bit = (uint64_t)1 << SZG_LOG_FRACTION_BITS;
  uint64_t const point = coarse / ((1u << axis_count) - 1);
  uint64_t const price = (point < bit ? point : bit) >> 2;
  return noisy[0] > noisy[1] + price;
}

/* A slower way must save 1/32. */
SZG_HD bool szg_saves_enough(uint64_t cost, uint64_t of) { return cost < of - (of >> 5); }

#endif
