/* axes_core.h - the rule that chooses axes and radius, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Costs are those of core/code_cost.h. docs/format.md, section 12, explains them.
 */
#ifndef SZG_AXES_CORE_H
#define SZG_AXES_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/code_cost.h"
#include "core/hd.h"

enum {
  SZG_COST_RADIUS = 512, /* smaller deltas have a class each, larger ones one per width */
  SZG_LARGE_CLASSES = 2 * SZG_COST_RADIUS, /* class of width w: this + w */
  SZG_COST_CLASSES = SZG_LARGE_CLASSES + 65,
  SZG_AXES_SETS = 7,
  SZG_SYMBOL_COST_BITS = 8,  /* about what a symbol takes in the codebook */
  SZG_RADIUS_GAIN_SHIFT = 6, /* a larger radius must save 1/64: a small table decodes faster */
  SZG_RADIUS_CHOICES = 4     /* SZG_COST_RADIUS and then four times the one before */
};

/* ---- axes ---- */

/* A sample is a quarter of a tile, along the tile's slowest axis; of a line, it is a tile. Sample i
 * is of tile szg_sample_tile(T, count, i) of T. */
SZG_HD uint32_t szg_sample_count(uint64_t tile_count, bool is_line) {
  uint64_t const share = tile_count / SZG_SAMPLE_SHARE | 1;
  uint64_t const least = SZG_LEAST_SAMPLE, greatest = SZG_MOST_SAMPLE;
  uint64_t const most = is_line ? tile_count : SZG_SAMPLE_QUARTERS * tile_count;
  uint64_t const count = share < least ? least : share < greatest ? share : greatest;
  return (uint32_t)(count < most ? count : most);
}

/* Planes of a 3-D tile or rows of a 2-D one: first .. end - 1, none if first = end. */
typedef struct szg_sampled_slices {
  uint32_t first, end;
} szg_sampled_slices;

/* Those of sample i. full_extent: of a full tile; extent: of this one. */
SZG_HD szg_sampled_slices szg_sampled_slices_of(uint32_t full_extent, uint32_t extent, uint32_t i) {
  uint32_t const quarter = full_extent / SZG_SAMPLE_QUARTERS;
  uint32_t const first = i % SZG_SAMPLE_QUARTERS * quarter, end = first + quarter;
  szg_sampled_slices const slices = {first < extent ? first : extent, end < extent ? end : extent};
  return slices;
}

SZG_HD uint32_t szg_magnitude_width(int64_t delta) {
  uint64_t const magnitude = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
  return 64 - (uint32_t)szg_leading_zeros_u64(magnitude | 1);
}

SZG_HD uint32_t szg_delta_class(int64_t delta) {
  if (delta > -SZG_COST_RADIUS && delta < SZG_COST_RADIUS)
    return (uint32_t)(delta + SZG_COST_RADIUS);
  return SZG_LARGE_CLASSES + szg_magnitude_width(delta);
}

/* The classes of the sample's deltas along a set of axes, summed up. */
typedef struct szg_set_sums {
  szg_count_sums small, large; /* classes below SZG_LARGE_CLASSES, and the others */
  uint64_t large_bits;         /* widths of the large deltas */
} szg_set_sums;

SZG_HD void szg_set_sums_add(szg_set_sums *sums, uint32_t delta_class, uint32_t count) {
  if (delta_class < SZG_LARGE_CLASSES) {
    szg_sums_add(&sums->small, count);
  } else {
    szg_sums_add(&sums->large, count);
    sums->large_bits += (uint64_t)(delta_class - SZG_LARGE_CLASSES) * count;
  }
}

SZG_HD uint64_t szg_set_cost(const szg_set_sums *sums, uint64_t zero_count) {
  szg_count_sums const all = szg_sums_merged(sums->small, sums->large);
  return szg_huffman_cost(all.total, all.logs, zero_count) +
         (sums->large_bits << SZG_LOG_FRACTION_BITS);
}

/* The cheapest of the sets 1 .. set_count; the lowest if several are. A field's rank allows the
 * first 1, 3 or 7 of them. */
SZG_HD uint32_t szg_cheapest_set(const uint64_t *costs, uint32_t set_count) {
  uint32_t best = 1;
  for (uint32_t set = 2; set <= set_count; set++)
    if (costs[set] < costs[best]) best = set;
  return best;
}

/* ---- radius ---- */

SZG_HD uint32_t szg_radius_choice(int i) { return (uint32_t)SZG_COST_RADIUS << 2 * i; }

/* Not negative; the more bytes a delta takes, the greater. */
SZG_HD uint64_t szg_delta_spread(int64_t delta) {
  return delta < 0 ? ~(uint64_t)delta : (uint64_t)delta;
}

/* Bytes of a signed integer of this spread. */
SZG_HD uint64_t szg_spread_bytes(uint64_t spread) {
  return (64 - (uint64_t)szg_leading_zeros_u64(spread | 1)) / 8 + 1;
}

/* The cost of codes with the escape, of escaped deltas, and of the codebook. inside: counts of the
 * deltas within the radius. widest: the spread of the widest delta that no radius reaches. */
SZG_HD uint64_t szg_radius_cost(uint32_t radius, const szg_count_sums *inside, uint64_t total,
                                uint64_t zero_count, uint64_t widest) {
  uint64_t const escapes = total - inside->total;
  uint64_t const escape_bits = 8 * szg_spread_bytes(widest > radius ? widest : radius);
  uint64_t const logs = inside->logs + szg_count_log(escapes);
  return szg_huffman_cost(total, logs, zero_count) +
         ((escapes * escape_bits + inside->used * SZG_SYMBOL_COST_BITS) << SZG_LOG_FRACTION_BITS);
}

/* rings[i]: counts of the deltas that choice i of the radius reaches but choice i - 1 does not. */
SZG_HD uint32_t szg_cheapest_radius(const szg_count_sums *rings, uint64_t total,
                                    uint64_t zero_count, uint64_t widest) {
  szg_count_sums inside = rings[0];
  uint32_t best = szg_radius_choice(0);
  uint64_t best_cost = szg_radius_cost(best, &inside, total, zero_count, widest);
  for (int i = 1; i < SZG_RADIUS_CHOICES; i++) {
    uint32_t const radius = szg_radius_choice(i);
    inside = szg_sums_merged(inside, rings[i]);
    uint64_t const cost = szg_radius_cost(radius, &inside, total, zero_count, widest);
    if (cost < best_cost - (best_cost >> SZG_RADIUS_GAIN_SHIFT)) {
      best = radius;
      best_cost = cost;
    }
  }
  return best;
}

static_assert(SZG_COST_RADIUS << 2 * (SZG_RADIUS_CHOICES - 1) == SZG_MAX_RADIUS,
              "the last choice of radius is the largest");

static_assert(SZG_TILE_3D_Z % SZG_SAMPLE_QUARTERS == 0, "quarters are of whole planes");
static_assert(SZG_TILE_2D_Y % SZG_SAMPLE_QUARTERS == 0, "quarters are of whole rows");

#endif
