/* levels_choice_core.h - which prediction a sample of points finds best, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each sampled point is predicted from the points around it, as if it were one that its level
 * adds, by every stencil and set of axes; the codes are counted. The entropy of the counts says
 * what a point of a class would cost, and sums over classes and levels what a frame would cost.
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
  SZG_PROBE_SETS = 7,     /* of axes; set s is entry s - 1 */
  SZG_PROBE_DIRECT = 31,  /* codes up to this magnitude have a class each, both signs */
  SZG_PROBE_CLASSES = 112,
  SZG_PROBE_RUN = 32,      /* points of a sampled row */
  SZG_PROBE_RUNS = 256,    /* at most */
  SZG_PROBE_MOST_RANKINGS = 13
};

typedef struct szg_probe_counts {
  uint32_t of[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_SETS][SZG_PROBE_CLASSES];
} szg_probe_counts;

/* The class that a code is counted in, and the bits that follow a code of that class. */
SZG_HD uint32_t szg_probe_class(int64_t code) {
  uint64_t const magnitude = code < 0 ? 0 - (uint64_t)code : (uint64_t)code;
  if (magnitude <= SZG_PROBE_DIRECT) return (uint32_t)(code + SZG_PROBE_DIRECT);
  uint32_t const highest = 63 - (uint32_t)szg_leading_zeros_u64(magnitude);
  uint32_t const last = SZG_PROBE_CLASSES - 1;
  uint32_t const own = 2 * SZG_PROBE_DIRECT + 1 + highest - 5;
  return own < last ? own : last;
}
SZG_HD uint32_t szg_probe_raw_bits(uint32_t probe_class) {
  return probe_class <= 2 * SZG_PROBE_DIRECT ? 0 : probe_class - (2 * SZG_PROBE_DIRECT + 1) + 6;
}

/* The four neighbours of a point along an axis, 3, 1, 1 and 3 spacings away. */
typedef struct szg_probe_taps {
  int64_t at[4];
  bool has[4];
} szg_probe_taps;

/* Sixteen times the prediction along one axis, or linear. Both near neighbours exist. */
SZG_HD int64_t szg_probe_stencil(const szg_probe_taps *taps, bool is_linear) {
  int64_t const near = taps->at[1] + taps->at[2];
  if (is_linear || (!taps->has[0] && !taps->has[3])) return 8 * near;
  if (taps->has[0] && taps->has[3]) return 9 * near - taps->at[0] - taps->at[3];
  if (taps->has[3]) return 6 * near + 6 * taps->at[2] - 2 * taps->at[3];
  return 6 * near + 6 * taps->at[1] - 2 * taps->at[0];
}

/* The code of a point predicted from `count` axes whose stencils sum up to `sum`. */
SZG_HD int64_t szg_probe_code(int64_t point, int64_t sum, uint32_t count, uint32_t unit_bits) {
  int64_t const shares = 16 * (int64_t)count;
  int64_t const half = shares / 2;
  int64_t const prediction = (sum >= 0 ? sum + half : sum - half) / shares;
  int64_t const half_unit = unit_bits ? (int64_t)1 << (unit_bits - 1) : 0;
  return (point - prediction + half_unit) >> unit_bits;
}

/* ---- costs, in units of 2^-16 bits ---- */

/* Of a point, by the entropy of the counts; their number is 0 or fits 32 bits. */
SZG_HD uint64_t szg_probe_cost(const uint32_t counts[SZG_PROBE_CLASSES]) {
  uint64_t total = 0, logs = 0, raw_bits = 0;
  for (uint32_t c = 0; c < SZG_PROBE_CLASSES; c++) {
    total += counts[c];
    logs += szg_count_log(counts[c]);
    raw_bits += (uint64_t)counts[c] * szg_probe_raw_bits(c);
  }
  if (total == 0) return 0;
  return (szg_count_log(total) - logs + (raw_bits << SZG_LOG_FRACTION_BITS)) / total;
}

typedef struct szg_probe_costs {
  uint64_t of[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_SETS];
} szg_probe_costs;

/* The axes of `set` that are used: those of the greatest rank. */
SZG_HD uint32_t szg_ranked_axes(uint32_t set, const uint8_t ranks[3]) {
  uint32_t greatest = 0, used = 0;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1 && ranks[axis] > greatest) greatest = ranks[axis];
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1 && ranks[axis] == greatest) used |= 1u << axis;
  return used;
}

/* What a value of a frame with these levels costs: level j has a 2^(d (j + 1))-th of the values in
 * each class. */
SZG_HD uint64_t szg_probe_frame_cost(const szg_probe_costs *costs, uint32_t axis_count,
                                     uint32_t level_count, uint32_t stencil,
                                     const uint8_t ranks[3]) {
  uint64_t sum = 0;
  for (uint32_t level = 0; level < level_count; level++) {
    uint32_t const scale = level < SZG_PROBE_SCALES ? level : SZG_PROBE_SCALES - 1;
    uint64_t classes = 0;
    for (uint32_t set = 1; set < 1u << axis_count; set++)
      classes += costs->of[scale][stencil][szg_ranked_axes(set, ranks) - 1];
    sum += classes >> (axis_count * (level + 1));
  }
  return sum;
}

/* Ranks of x, y and z. Those of `axis_count` axes are the first szg_ranking_count. */
SZG_HD uint32_t szg_ranking_count(uint32_t axis_count) {
  return axis_count == 3 ? SZG_PROBE_MOST_RANKINGS : axis_count == 2 ? 3 : 1;
}
SZG_HD void szg_ranking(uint32_t index, uint8_t ranks[3]) {
  /* two bits for each axis, x lowest */
  uint32_t const packed = index == 0    ? 0x00u
                          : index == 1  ? 0x01u  /* x */
                          : index == 2  ? 0x04u  /* y */
                          : index == 3  ? 0x10u  /* z */
                          : index == 4  ? 0x05u  /* x, y */
                          : index == 5  ? 0x11u  /* x, z */
                          : index == 6  ? 0x14u  /* y, z */
                          : index == 7  ? 0x06u  /* x 2, y 1 */
                          : index == 8  ? 0x09u  /* x 1, y 2 */
                          : index == 9  ? 0x12u  /* x 2, z 1 */
                          : index == 10 ? 0x21u  /* x 1, z 2 */
                          : index == 11 ? 0x18u  /* y 2, z 1 */
                                        : 0x24u; /* y 1, z 2 */
  for (uint32_t axis = 0; axis < 3; axis++) ranks[axis] = (uint8_t)(packed >> 2 * axis & 3);
}

#endif
