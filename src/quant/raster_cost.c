/* raster_cost.c - whether differences along a raster take no more bits than interpolation would.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The same points of sampled blocks are predicted in both ways: in points of the raster's step by
 * differences along sets of axes, as tile frames do; and in 16ths of the ordinary step by the
 * stencils of levels frames, from neighbours at a distance of 1 and 2. What levels frames restore
 * there is finer than the step, so neighbours are taken as they are. All sums are of integers.
 */
#include <math.h>
#include <string.h>

#include "quant/raster.h"
#include "quant/sample_code.h"

enum { AXES = 3, SETS = 1 << AXES, FINE_BITS = 4, FINE_HALF = 1 << (FINE_BITS - 1) };

/* Sums of so many points or fine steps do not overflow. Levels frames have no finer ones. */
#define MOST_POINTS 0x1p50

/* Tile frames have symbols for differences up to this. */
enum { MOST_SYMBOL = 511 };

/* Of points that are so many steps apart, all differences are multiples of that. A symbol can say
 * so; the bits of larger ones cannot. */
static void count_difference(int64_t difference, int64_t parts, szg_sample_code *c) {
  szg_sample_code_count(difference / parts, c);
  if (szg_sample_magnitude(difference) > MOST_SYMBOL)
    c->raw_bits += szg_sample_bits((uint64_t)parts) - 1;
}

/* What is counted. By set of axes, or by axis. */
typedef struct tallies {
  szg_sample_code differences[SETS], ordinary[SETS]; /* of points of either step */
  szg_sample_code linear[SETS];
  szg_sample_code cubic[AXES], far[AXES]; /* far: the linear stencil at a distance of 2 */
} tallies;

typedef struct block {
  const uint32_t *extents;
  int64_t parts; /* steps between two points of the raster */
  uint32_t stride[AXES];
  uint32_t axes;    /* set of those along which points have neighbours */
  bool is_too_fine; /* there are too many fine steps in some value */
  bool is_there[SZG_RASTER_BLOCK_VALUES];
  int64_t points[SZG_RASTER_BLOCK_VALUES];   /* of the raster's step */
  int64_t ordinary[SZG_RASTER_BLOCK_VALUES]; /* of the ordinary one */
  int64_t fine[SZG_RASTER_BLOCK_VALUES];     /* 16ths of that */
} block;

static void load_block(const double *values, double raster_inverse, double ordinary_inverse,
                       block *b) {
  uint32_t const count = b->extents[0] * b->extents[1] * b->extents[2];
  double const factor = ordinary_inverse * (1 << FINE_BITS);
  for (uint32_t i = 0; i < count; i++) {
    double const fine = rint(values[i] * factor), point = rint(values[i] * raster_inverse);
    b->is_there[i] = fabs(point) <= MOST_POINTS; /* false for NaN */
    b->points[i] = b->is_there[i] ? (int64_t)point : 0;
    bool const is_too_fine = !(fabs(fine) <= MOST_POINTS);
    b->fine[i] = is_too_fine ? 0 : (int64_t)fine;
    b->ordinary[i] = (b->fine[i] + FINE_HALF) >> FINE_BITS;
    b->is_too_fine |= b->is_there[i] && is_too_fine;
  }
}

static bool has(uint32_t set, int axis) { return set >> axis & 1; }

/* Differences along every set of axes, from the corners before a point. False: one is missing. */
static bool take_differences(const block *b, const int64_t *points, uint32_t at,
                             int64_t differences[SETS]) {
  for (uint32_t set = 0; set < SETS; set++) {
    if (set & ~b->axes) continue;
    uint32_t corner = at;
    for (int axis = 0; axis < AXES; axis++)
      if (has(set, axis)) corner -= b->stride[axis];
    if (!b->is_there[corner]) return false;
    differences[set] = points[corner];
  }
  for (int axis = 0; axis < AXES; axis++)
    for (uint32_t set = SETS; set-- > 0;)
      if (has(set, axis) && !(set & ~b->axes))
        differences[set] = differences[set & ~(1u << axis)] - differences[set];
  return true;
}

/* The sum of both neighbours along each axis. False: one is missing. */
static bool take_neighbours(const block *b, uint32_t at, uint32_t distance, int64_t sums[AXES]) {
  for (int axis = 0; axis < AXES; axis++) {
    if (!has(b->axes, axis)) continue;
    uint32_t const before = at - distance * b->stride[axis];
    uint32_t const after = at + distance * b->stride[axis];
    if (!b->is_there[before] || !b->is_there[after]) return false;
    sums[axis] = b->fine[before] + b->fine[after];
  }
  return true;
}

static void count_prediction(const block *b, uint32_t at, int64_t prediction, szg_sample_code *c) {
  szg_sample_code_count((b->fine[at] - prediction + FINE_HALF) >> FINE_BITS, c);
}

/* Stencils along one axis that reach `distance` points. */
static void count_far(const block *b, uint32_t at, const uint32_t c[AXES], const int64_t near[AXES],
                      tallies *t) {
  for (int axis = 0; axis < AXES; axis++) {
    if (!has(b->axes, axis)) continue;
    for (uint32_t distance = 2; distance <= 3; distance++) {
      if (c[axis] < distance || c[axis] + distance >= b->extents[axis]) continue;
      uint32_t const before = at - distance * b->stride[axis];
      uint32_t const after = at + distance * b->stride[axis];
      if (!b->is_there[before] || !b->is_there[after]) continue;
      int64_t const sum = b->fine[before] + b->fine[after];
      if (distance == 2) count_prediction(b, at, sum >> 1, &t->far[axis]);
      if (distance == 3) count_prediction(b, at, (9 * near[axis] - sum + 8) >> 4, &t->cubic[axis]);
    }
  }
}

static void count_point(const block *b, const uint32_t c[AXES], tallies *t) {
  uint32_t const at = c[0] + b->stride[1] * c[1] + b->stride[2] * c[2];
  int64_t differences[SETS], ordinary[SETS], sums[AXES] = {0};
  if (!b->is_there[at] || !take_differences(b, b->points, at, differences) ||
      !take_differences(b, b->ordinary, at, ordinary) || !take_neighbours(b, at, 1, sums))
    return;
  for (uint32_t set = 1; set < SETS; set++) {
    if (set & ~b->axes) continue;
    int64_t sum = 0, terms = 0;
    for (int axis = 0; axis < AXES; axis++) {
      if (!has(set, axis)) continue;
      sum += sums[axis];
      terms += 2;
    }
    count_difference(differences[set], b->parts, &t->differences[set]);
    count_difference(ordinary[set], 1, &t->ordinary[set]);
    count_prediction(b, at, (sum + terms / 2) / terms, &t->linear[set]);
  }
  count_far(b, at, c, sums, t);
}

static void count_block(const block *b, tallies *t) {
  uint32_t first[AXES], end[AXES], c[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    bool const is_used = has(b->axes, axis);
    first[axis] = is_used ? 1 : 0;
    end[axis] = is_used ? b->extents[axis] - 1 : b->extents[axis];
  }
  for (c[2] = first[2]; c[2] < end[2]; c[2]++)
    for (c[1] = first[1]; c[1] < end[1]; c[1]++)
      for (c[0] = first[0]; c[0] < end[0]; c[0]++) count_point(b, c, t);
}

/* ---- the two costs of a value ---- */

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t cost_of_differences(const szg_sample_code by_set[SETS], uint32_t axes) {
  uint64_t least = UINT64_MAX;
  for (uint32_t set = 1; set < SETS; set++)
    if (!(set & ~axes)) least = lesser(least, szg_sample_code_cost(&by_set[set], true));
  return least;
}

/* Of a value of the finest level, a class being the set of axes along which a point is odd, and as
 * much more for each coarser level, which has fewer values, as prediction is worse at twice the
 * distance. */
static uint64_t cost_of_interpolation(const tallies *t, uint32_t axes) {
  uint64_t by_set[SETS] = {0}, sum = 0, classes = 0, more = UINT64_MAX;
  for (uint32_t set = 1; set < SETS; set++) {
    if (set & ~axes) continue;
    by_set[set] = szg_sample_code_cost(&t->linear[set], false);
    for (int axis = 0; axis < AXES; axis++) {
      uint32_t const one = 1u << axis;
      if (set == one && t->cubic[axis].total > 0)
        by_set[set] = lesser(by_set[set], szg_sample_code_cost(&t->cubic[axis], false));
      if (set & one && set != one) by_set[set] = lesser(by_set[set], by_set[set & ~one]);
    }
    sum += by_set[set];
    classes++;
  }
  for (int axis = 0; axis < AXES; axis++) {
    if (!has(axes, axis)) continue;
    uint64_t const near = szg_sample_code_cost(&t->linear[1u << axis], false);
    uint64_t const far = szg_sample_code_cost(&t->far[axis], false);
    more = lesser(more, far > near ? far - near : 0);
  }
  return sum / classes + more / classes;
}

szg_raster_costs szg_raster_costs_of(const szg_raster_sample *blocks, double raster_inverse,
                                     int parts, double ordinary_inverse) {
  enum { LEAST_EXTENT = 5 }; /* so that points have neighbours at a distance of 2 */
  tallies t;
  block b = {.extents = blocks->extents, .parts = parts, .stride = {1, blocks->extents[0]}};
  uint32_t const count = blocks->extents[0] * blocks->extents[1] * blocks->extents[2];
  b.stride[2] = blocks->extents[0] * blocks->extents[1];
  memset(&t, 0, sizeof t);
  for (int axis = 0; axis < AXES; axis++)
    if (blocks->extents[axis] >= LEAST_EXTENT) b.axes |= 1u << axis;
  if (b.axes == 0) return (szg_raster_costs){0, 0, 0};
  for (uint32_t i = 0; i < SZG_RASTER_BLOCKS; i++) {
    load_block(blocks->values + i * count, raster_inverse, ordinary_inverse, &b);
    count_block(&b, &t);
  }
  uint64_t const most = UINT64_MAX / 2;
  return (szg_raster_costs){
      .differences = cost_of_differences(t.differences, b.axes),
      .ordinary_differences = b.is_too_fine ? most : cost_of_differences(t.ordinary, b.axes),
      .interpolation = b.is_too_fine ? most : cost_of_interpolation(&t, b.axes)};
}

uint64_t szg_raster_planes_cost(const szg_raster_sample *sample, const szg_mapping *mapping) {
  size_t const planes = szg_dtype_bytes(mapping->outer);
  uint32_t of_planes[sizeof(uint64_t)][256];
  uint64_t total = 0, cost = 0;
  memset(of_planes, 0, sizeof of_planes);
  for (uint32_t i = 0; i < sample->count; i++) {
    double const value = sample->values[i];
    uint64_t bits = szg_bits_of_value(mapping->inner, value);
    if (value != value) continue;
    if (szg_is_mapped(mapping)) bits = szg_mapping_outer_bits(mapping, bits);
    for (size_t plane = 0; plane < planes; plane++) of_planes[plane][bits >> 8 * plane & 0xFF]++;
    total++;
  }
  for (size_t plane = 0; plane < planes && total > 0; plane++) {
    uint64_t logs = 0;
    for (int byte = 0; byte < 256; byte++) logs += szg_count_log(of_planes[plane][byte]);
    cost += (szg_count_log(total) - logs) / total;
  }
  return cost;
}
