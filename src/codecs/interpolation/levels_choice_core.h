/* levels_choice_core.h - what counts of sampled points say about ways to predict, for both
 * backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The entropy of the counts says what a point of a class costs, and sums over classes and levels
 * say what a value of the frame costs. docs/format.md, section 16, specifies it ("What encoders
 * choose").
 */
#ifndef SZG_LEVELS_CHOICE_CORE_H
#define SZG_LEVELS_CHOICE_CORE_H

#include "codecs/interpolation/levels_probe_core.h"
#include "core/code_cost.h"

/* ---- costs, in units of 2^-16 bits ---- */

enum { SZG_LEAST_DIFFERENCE = 1 << (SZG_LOG_FRACTION_BITS - 1) }; /* half a bit */

/* What a point costs by its counts. entropy: at best. floor: in a code that gives no symbol less
 * than a bit. 0: nothing was counted. */
typedef struct szg_probe_cost {
  uint64_t entropy, floor;
} szg_probe_cost;

/* Sums over classes. */
typedef struct szg_probe_sums {
  uint64_t total, logs, raw_bits;
} szg_probe_sums;

SZG_HD void szg_probe_sums_add(szg_probe_sums *sums, uint32_t probe_class, uint32_t count) {
  if (count == 0) return;
  sums->total += count;
  sums->logs += szg_count_log(count);
  sums->raw_bits += (uint64_t)count * szg_probe_raw_bits(probe_class);
}

/* total is not 0. total_log: its szg_count_log. */
SZG_HD uint64_t szg_probe_entropy_of(const szg_probe_sums *sums, uint64_t total_log) {
  uint64_t const raw = sums->raw_bits << SZG_LOG_FRACTION_BITS;
  return (total_log - sums->logs + raw) / sums->total;
}
SZG_HD uint64_t szg_probe_floor_of(const szg_probe_sums *sums, uint32_t zero_count) {
  uint64_t const raw = sums->raw_bits << SZG_LOG_FRACTION_BITS;
  uint64_t const cost = (szg_huffman_cost(sums->total, sums->logs, zero_count) + raw) / sums->total;
  return szg_raised_cost(cost, (uint64_t)1 << SZG_LOG_FRACTION_BITS, sums->total, zero_count);
}

SZG_HD szg_probe_cost szg_probe_differences_cost(const szg_probe_sums *sums, uint32_t zero_count) {
  szg_probe_cost cost = {0, 0};
  if (sums->total == 0) return cost;
  uint64_t const entropy = szg_probe_entropy_of(sums, szg_count_log(sums->total));
  cost.entropy = szg_raised_cost(entropy, SZG_LEAST_DIFFERENCE, sums->total, zero_count);
  cost.floor = szg_probe_floor_of(sums, zero_count);
  return cost;
}

/* ---- ways to interpolate ---- */

/* Coarsest spacings of 32, 16 and 8 points. */
SZG_HD uint32_t szg_usual_level_count(uint32_t axis_count) {
  return axis_count == 1 ? 5 : axis_count == 2 ? 4 : 3;
}

/* Ranks of x, y and z. Frames with `axis_count` axes choose among the first
 * szg_ranking_count(axis_count), of which the first are equal ranks. */
SZG_HD uint32_t szg_ranking_count(uint32_t axis_count) {
  return axis_count == 3 ? 13 : axis_count == 2 ? 3 : 1;
}
SZG_HD void szg_ranking(uint32_t index, uint8_t *ranks) {
  /* Two bits for each axis, x lowest. Six bits for each ranking: words instead of a table, so that
   * a GPU need not load it. */
  uint64_t const low = (uint64_t)0x01 << 6 | (uint64_t)0x04 << 12 | (uint64_t)0x10 << 18 |
                       (uint64_t)0x05 << 24 | (uint64_t)0x11 << 30 | (uint64_t)0x14 << 36 |
                       (uint64_t)0x06 << 42 | (uint64_t)0x09 << 48 | (uint64_t)0x12 << 54;
  uint64_t const high = 0x21 | 0x18 << 6 | 0x24 << 12;
  uint32_t const packed = (uint32_t)(index < 10 ? low >> 6 * index : high >> 6 * (index - 10));
  for (uint32_t axis = 0; axis < 3; axis++) ranks[axis] = (uint8_t)(packed >> 2 * axis & 3);
}

/* The ways of a view have numbers: by axis_count, the largest first, then stencil and ranking. Of
 * those that cost the same, the first is taken. */
enum { SZG_MOST_WAYS = 32 };
SZG_HD uint32_t szg_way_count(uint32_t view_axes) {
  uint32_t const planar = view_axes == 3 ? szg_ranking_count(2) : 0;
  return SZG_PROBE_STENCILS * (szg_ranking_count(view_axes) + planar);
}
SZG_HD szg_levels_way szg_way(const szg_probe_view *view, uint32_t number) {
  uint32_t const own = SZG_PROBE_STENCILS * szg_ranking_count(view->axis_count);
  uint32_t const axis_count = number < own ? view->axis_count : 2;
  uint32_t const place = number < own ? number : number - own;
  szg_levels_way way;
  way.axis_count = axis_count;
  way.level_count = szg_usual_level_count(axis_count);
  way.fold = view->fold;
  way.base_axes = (1u << axis_count) - 1;
  way.unit_table = 0;
  way.is_halved = axis_count == 1;
  way.is_blended = way.is_quintic = false;
  way.is_linear = place >= szg_ranking_count(axis_count);
  szg_ranking(place % szg_ranking_count(axis_count), way.ranks);
  return way;
}

/* What a value of a frame costs by the sum over each scale's classes: level j has a
 * 2^(axis_count * (j + 1))-th of the values in each class. */
SZG_HD uint64_t szg_probe_frame_cost(const uint64_t *scale_costs, const szg_levels_way *way) {
  uint64_t sum = 0;
  for (uint32_t level = 0; level < way->level_count; level++) {
    uint32_t const scale = level < SZG_PROBE_SCALES ? level : SZG_PROBE_SCALES - 1;
    sum += scale_costs[scale] >> (way->axis_count * (level + 1));
  }
  return sum;
}

/* Entropies of a view's entries. */
typedef struct szg_entry_costs {
  uint64_t of[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_ENTRIES];
} szg_entry_costs;

/* The entry that has the classes of `set`, one of the way's. */
SZG_HD uint32_t szg_way_entry(const szg_probe_view *view, const szg_levels_way *way, uint32_t set) {
  return szg_probe_entry(view->axis_count, set, szg_ranked_axes(set, way->ranks));
}

SZG_HD uint64_t szg_way_cost(const szg_probe_view *view, uint32_t number,
                             const szg_entry_costs *costs) {
  szg_levels_way const way = szg_way(view, number);
  uint64_t scales[SZG_PROBE_SCALES] = {0, 0, 0};
  for (uint32_t set = 1; set < 1u << way.axis_count; set++) {
    uint32_t const entry = szg_way_entry(view, &way, set);
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
      scales[scale] += costs->of[scale][way.is_linear][entry];
  }
  return szg_probe_frame_cost(scales, &way);
}

/* ---- decisions ---- */

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
