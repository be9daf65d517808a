/* joins.c - which grids a field may have, and what its values take in each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where two axes are joined, neighbours along the new axis are as far apart in memory as those
 * along the faster one. So the axes of all grids are among those of the field, and one sample
 * serves all: it says what differences along each set of axes take, and interpolation. Grids differ
 * in which axes they have, and in how many of their values lie at the beginning of a tile.
 */
#include "quant/joins.h"

#include <math.h>
#include <string.h>

#include "quant/raster.h"
#include "quant/sample_code.h"

/* ---- the grids ---- */

/* An axis of so few values is thin. */
enum { MOST_THIN = 4 };

/* Pairs of neighbouring axes longer than 1 that may be joined, as sets of dims: those of a thin
 * axis, and all of four axes. */
static int find_pairs(const szgpu_shape *shape, uint32_t pairs[SZG_MAX_DIMS]) {
  int count = 0, before = -1, axis_count = 0;
  for (int i = 0; i < shape->ndim; i++) axis_count += shape->dims[i] > 1;
  for (int i = 0; i < shape->ndim; i++) {
    if (shape->dims[i] == 1) continue;
    bool const is_thin =
        before >= 0 && (shape->dims[i] <= MOST_THIN || shape->dims[before] <= MOST_THIN);
    if (before >= 0 && (is_thin || axis_count == SZG_MAX_DIMS))
      pairs[count++] = ((1u << i) - 1) & ~((1u << before) - 1); /* with the dims of 1 in between */
    before = i;
  }
  return count;
}

uint32_t szg_joins_grids(const szgpu_shape *shape, szg_grid grids[SZG_MOST_GRIDS]) {
  enum { MANY_VALUES = 1 << 18, FEW_VALUES = 1 << 13, NEARLY_EMPTY = 256 };
  uint32_t pairs[SZG_MAX_DIMS];
  szg_grid const own = szg_grid_of_dims(shape->dims, shape->ndim);
  bool const is_worth_it =
      own.value_count >= MANY_VALUES ||
      (own.value_count >= FEW_VALUES && own.value_count / own.tile_count < NEARLY_EMPTY);
  int const pair_count = is_worth_it ? find_pairs(shape, pairs) : 0;
  for (uint32_t set = 0; set < 1u << pair_count; set++) {
    uint32_t joined = 0;
    for (int i = 0; i < pair_count; i++) joined |= set >> i & 1 ? pairs[i] : 0;
    grids[set] = szg_grid_of_joined(shape->dims, shape->ndim, joined);
  }
  return 1u << pair_count;
}

/* ---- the sample ---- */

/* Groups of points that follow one another in memory. Of each group, runs are picked that have the
 * points and FAR values on both sides: those of the corners before the points, and of the
 * neighbours at a distance of 1 and 3 along each axis but the fastest. */
enum {
  AXES = SZG_MAX_DIMS, /* 0: the fastest */
  SETS = 1 << AXES,
  FAR = 3,
  POINTS = 8, /* of a group */
  RUN_VALUES = POINTS + 2 * FAR,
  CORNERS = SETS / 2, /* without the fastest axis, whose corners are in the run */
  NEIGHBOURS = 3,     /* of a point: 1 and 3 behind it, 3 before it; 1 before it is a corner */
  RUNS = CORNERS + NEIGHBOURS * (AXES - 1),
  MOST_GROUPS = 16, /* that are picked at once */
  TURNS = 4
};
static_assert(MOST_GROUPS * RUNS <= SZG_MOST_RUNS &&
                  MOST_GROUPS * RUNS * RUN_VALUES <= SZG_MOST_PICKED,
              "they are picked at once");

typedef struct field_axes {
  uint32_t count;
  uint64_t extent[AXES], stride[AXES]; /* in values */
  uint64_t reach[AXES];                /* the distance of neighbours on both sides: 0, 1 or FAR */
  uint64_t first, end;                 /* points in between have all of these */
} field_axes;

static uint64_t corner_offset(const field_axes *axes, uint32_t set) {
  uint64_t offset = 0;
  for (uint32_t axis = 1; axis < axes->count; axis++)
    offset += set >> (axis - 1) & 1 ? axes->stride[axis] : 0;
  return offset;
}

/* Asks for neighbours at that distance, perhaps across the end of a line of the axis, unless too
 * few points have them. */
static void reach_to(uint64_t distance, uint32_t axis, uint64_t value_count, field_axes *axes) {
  uint64_t const offset = distance * axes->stride[axis];
  uint64_t const first = offset + FAR > axes->first ? offset + FAR : axes->first;
  uint64_t const behind = offset + RUN_VALUES;
  uint64_t const end = behind < value_count ? szg_min_u64(axes->end, value_count - behind) : 0;
  if (end < first + TURNS * MOST_GROUPS) return;
  axes->first = first;
  axes->end = end;
  axes->reach[axis] = distance;
}

static field_axes axes_of(const szgpu_shape *shape) {
  field_axes axes = {0};
  uint64_t value_count = 1;
  for (int i = shape->ndim - 1; i >= 0; i--) {
    if (shape->dims[i] == 1) continue;
    axes.extent[axes.count] = shape->dims[i];
    axes.stride[axes.count++] = value_count;
    value_count *= shape->dims[i];
  }
  axes.first = corner_offset(&axes, CORNERS - 1) + FAR;
  axes.end = value_count - RUN_VALUES;
  for (uint32_t axis = 0; axis < axes.count; axis++) reach_to(1, axis, value_count, &axes);
  for (uint32_t axis = 0; axis < axes.count; axis++)
    if (axes.reach[axis]) reach_to(FAR, axis, value_count, &axes);
  return axes;
}

/* Where the runs of a group begin. Of those that would not be in the field, others are picked that
 * nobody asks for. */
static void place_runs(const field_axes *axes, uint64_t value_count, uint64_t first,
                       uint64_t runs[RUNS]) {
  static const int64_t distances[NEIGHBOURS] = {1, FAR, -FAR};
  int64_t const last = (int64_t)(value_count - RUN_VALUES), begin = (int64_t)first - FAR;
  for (uint32_t set = 0; set < CORNERS; set++)
    runs[set] = (uint64_t)(begin - (int64_t)corner_offset(axes, set));
  for (uint32_t axis = 1; axis < AXES; axis++)
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
      int64_t const at = begin + distances[i] * (int64_t)axes->stride[axis];
      runs[CORNERS + NEIGHBOURS * (axis - 1) + i] = (uint64_t)(at < 0 ? 0 : at > last ? last : at);
    }
}

/* ---- what the sample says ---- */

enum { FINE_BITS = 4, FINE_HALF = 1 << (FINE_BITS - 1) };
#define MOST_FINE 0x1p50 /* sums of so many fine steps do not overflow */

/* A set of axes, and which of them are wrapped: the point's neighbours along them lie across the
 * end of a line. Numbers to base 3, a digit for each axis: 0 if it is not in the set. */
enum { MARKED_SETS = 81 };

static uint32_t marked_set(uint32_t set, uint32_t wrapped) {
  static const uint8_t to_base_3[SETS] = {0,  1,  3,  4,  9,  10, 12, 13,
                                          27, 28, 30, 31, 36, 37, 39, 40};
  return (uint32_t)to_base_3[set] + to_base_3[set & wrapped];
}

typedef struct tallies {
  szg_sample_code differences[MARKED_SETS], interpolation[MARKED_SETS];
  szg_sample_code near[AXES], far[AXES]; /* linear, at a distance of 1 and 3, not wrapped */
} tallies;

/* A group's values in fine steps, 16ths of the step. */
typedef struct group {
  int64_t fine[RUNS][RUN_VALUES];
  bool is_there[RUNS][RUN_VALUES];
} group;

static void load_group(const double *values, double inverse, group *g) {
  for (uint32_t run = 0; run < RUNS; run++)
    for (uint32_t i = 0; i < RUN_VALUES; i++) {
      double const fine = rint(values[run * RUN_VALUES + i] * inverse * (1 << FINE_BITS));
      g->is_there[run][i] = fabs(fine) <= MOST_FINE; /* false for NaN */
      g->fine[run][i] = g->is_there[run][i] ? (int64_t)fine : 0;
    }
}

static int64_t rounded(int64_t fine) { return (fine + FINE_HALF) >> FINE_BITS; }

/* Differences of the point's code along every set of axes. */
static void count_differences(const group *g, uint32_t at, uint32_t wrapped, tallies *t) {
  int64_t corners[SETS];
  for (uint32_t set = 0; set < SETS; set++)
    corners[set] = rounded(g->fine[set >> 1][at - (set & 1)]);
  for (uint32_t axis = 0; axis < AXES; axis++)
    for (uint32_t set = SETS; set-- > 0;)
      if (set >> axis & 1) corners[set] = corners[set & ~(1u << axis)] - corners[set];
  for (uint32_t set = 1; set < SETS; set++)
    szg_sample_code_count(corners[set], &t->differences[marked_set(set, wrapped)]);
}

/* The neighbours before and behind the point along an axis. */
typedef struct neighbours {
  int64_t near, far; /* sums of two */
} neighbours;

static neighbours neighbours_of(const group *g, uint32_t axis, uint32_t at) {
  if (axis == 0)
    return (neighbours){g->fine[0][at - 1] + g->fine[0][at + 1],
                        g->fine[0][at - FAR] + g->fine[0][at + FAR]};
  uint32_t const first = CORNERS + NEIGHBOURS * (axis - 1), corner = 1u << (axis - 1);
  return (neighbours){g->fine[corner][at] + g->fine[first][at],
                      g->fine[first + 1][at] + g->fine[first + 2][at]};
}

/* Of so many sums of 16 times a value. */
static int64_t mean_of(int64_t sum, uint32_t count) {
  return count == 3 ? sum / 48 : sum >> (count == 1 ? 4 : count == 2 ? 5 : 6);
}

static void count_interpolation(const group *g, const field_axes *axes, uint32_t at,
                                uint32_t wrapped, tallies *t) {
  int64_t const value = g->fine[0][at];
  int64_t sums[AXES]; /* 16 times the prediction along an axis */
  uint32_t reached = 0;
  for (uint32_t axis = 0; axis < axes->count; axis++) {
    neighbours const n = neighbours_of(g, axis, at);
    bool const is_cubic = axes->reach[axis] == FAR;
    reached |= (uint32_t)(axes->reach[axis] > 0) << axis;
    sums[axis] = is_cubic ? 9 * n.near - n.far : 8 * n.near;
    if (!is_cubic || wrapped >> axis & 1) continue;
    szg_sample_code_count(rounded(value - (n.near >> 1)), &t->near[axis]);
    szg_sample_code_count(rounded(value - (n.far >> 1)), &t->far[axis]);
  }
  for (uint32_t set = 1; set < 1u << axes->count; set++) {
    int64_t sum = 0;
    uint32_t count = 0;
    if (set & ~reached) continue;
    for (uint32_t axis = 0; axis < axes->count; axis++) {
      if (!(set >> axis & 1)) continue;
      sum += sums[axis];
      count++;
    }
    szg_sample_code_count(rounded(value - mean_of(sum, count)),
                          &t->interpolation[marked_set(set, wrapped)]);
  }
}

/* The axes along which a value has no neighbour in its line at that distance: before it, or on both
 * sides. */
static uint32_t wrapped_axes(const field_axes *axes, uint64_t place, uint64_t distance,
                             bool on_both_sides) {
  uint32_t wrapped = 0;
  for (uint32_t axis = 0; axis < axes->count; axis++) {
    uint64_t const at = place / axes->stride[axis] % axes->extent[axis];
    bool const is_last = on_both_sides && at + distance >= axes->extent[axis];
    wrapped |= (uint32_t)(at < distance || is_last) << axis;
  }
  return wrapped;
}

/* first: the place of the group's first point in the field. */
static void count_group(const group *g, const field_axes *axes, uint64_t first, tallies *t) {
  for (uint32_t i = 0; i < POINTS; i++) {
    uint32_t const at = FAR + i;
    bool are_there = true;
    for (uint32_t run = 0; run < RUNS; run++) are_there &= g->is_there[run][at];
    for (uint32_t k = 0; k < RUN_VALUES; k++) are_there &= g->is_there[0][k];
    for (uint32_t set = 0; set < CORNERS; set++) are_there &= g->is_there[set][at - 1];
    if (!are_there) continue;
    count_differences(g, at, wrapped_axes(axes, first + i, 1, false), t);
    count_interpolation(g, axes, at, wrapped_axes(axes, first + i, FAR, true), t);
  }
}

/* ---- the costs of a grid ---- */

/* The axes that a grid predicts along, which are some of the field's. */
typedef struct grid_axes {
  uint32_t count;
  uint32_t of[3];     /* numbers of the field's axes */
  uint64_t extent[3]; /* of joined ones together */
  uint32_t joined;    /* set of the field's axes whose lines follow one another */
} grid_axes;

static grid_axes axes_in(const szg_grid *grid, const field_axes *field) {
  uint64_t const extents[3] = {grid->x_extent, grid->y_extent, grid->z_extent};
  grid_axes axes = {0};
  uint32_t axis = 0;
  do {
    uint64_t extent = 1;
    axes.of[axes.count] = axis;
    axes.extent[axes.count] = extents[axes.count];
    axes.joined |= (uint32_t)(field->extent[axis] < extents[axes.count]) << axis;
    while (extent < extents[axes.count]) extent *= field->extent[axis++];
    axes.count++;
  } while (axes.count < 3 && axis < field->count);
  return axes;
}

/* The field's axes of a set of the grid's. */
static uint32_t set_of_field(const grid_axes *axes, uint32_t set) {
  uint32_t of_field = 0;
  for (uint32_t i = 0; i < axes->count; i++) of_field |= (set >> i & 1) << axes->of[i];
  return of_field;
}

/* What a value takes by its codes along a set of the grid's axes. UINT64_MAX: no point tells. */
static uint64_t cost_along(const szg_sample_code *codes, const grid_axes *axes, uint32_t set,
                           bool is_floored) {
  uint32_t const of_field = set_of_field(axes, set);
  szg_sample_code sum = codes[marked_set(of_field, 0)];
  for (uint32_t wrapped = 1; wrapped < SETS; wrapped++)
    if (!(wrapped & ~(of_field & axes->joined)))
      szg_sample_code_add(&codes[marked_set(of_field, wrapped)], &sum);
  return sum.total > 0 ? szg_sample_code_cost(&sum, is_floored) : UINT64_MAX;
}

/* By differences in tiles, whose first values along an axis have no neighbour there. */
static uint64_t cost_by_differences(const tallies *t, const grid_axes *axes, uint32_t value_bits) {
  uint64_t least = UINT64_MAX;
  uint64_t costs[8] = {(uint64_t)value_bits << SZG_LOG_FRACTION_BITS};
  for (uint32_t set = 1; set < 1u << axes->count; set++) {
    costs[set] = cost_along(t->differences, axes, set, true);
    uint64_t cost = costs[set];
    for (uint32_t i = 0; i < axes->count; i++) {
      uint64_t const tile = (uint64_t)1 << szg_tile_extent_log2(axes->count, i);
      uint64_t const share = szg_min_u64(tile, axes->extent[i]);
      if (set >> i & 1) cost += costs[set & ~(1u << i)] / share - costs[set] / share;
    }
    if (costs[set] < UINT64_MAX) least = szg_min_u64(least, cost);
  }
  return least;
}

/* Of a value of the finest level, a class being the set of axes along which a point is odd, and as
 * much more for each coarser level, which has fewer values, as prediction is worse there. */
static uint64_t cost_by_interpolation(const tallies *t, const grid_axes *axes) {
  uint64_t best[8], sum = 0, more = UINT64_MAX;
  uint32_t const sets = 1u << axes->count;
  for (uint32_t set = 1; set < sets; set++) {
    best[set] = cost_along(t->interpolation, axes, set, false);
    for (uint32_t i = 0; i < axes->count; i++)
      if (set >> i & 1 && set != 1u << i)
        best[set] = szg_min_u64(best[set], best[set & ~(1u << i)]);
    if (best[set] == UINT64_MAX) return UINT64_MAX;
    sum += best[set];
  }
  for (uint32_t i = 0; i < axes->count; i++) {
    uint64_t const near = szg_sample_code_cost(&t->near[axes->of[i]], false);
    uint64_t const far = szg_sample_code_cost(&t->far[axes->of[i]], false);
    more = szg_min_u64(more, far > near ? far - near : 0);
  }
  return (sum + more) / (sets - 1);
}

/* Of a value in units of 2^-16 bits, with its share of the head of its tile. */
static uint64_t cost_in(const szg_grid *grid, const field_axes *field, const tallies *t,
                        uint32_t value_bits) {
  enum { HEAD_BITS = 24 };
  grid_axes const axes = axes_in(grid, field);
  uint64_t const head = (uint64_t)HEAD_BITS << SZG_LOG_FRACTION_BITS;
  uint64_t const by_differences = cost_by_differences(t, &axes, value_bits);
  uint64_t const cost = szg_min_u64(by_differences, cost_by_interpolation(t, &axes));
  uint64_t const share = head / (grid->value_count / grid->tile_count);
  return cost < UINT64_MAX - share ? cost + share : UINT64_MAX;
}

/* ---- the choice ---- */

/* About the step that the bound will lead to, and how many of them the sample spans. 0: no step. */
static double step_of(szgpu_mode mode, double bound, const szg_mapping *mapping,
                      const szg_raster_sample *sample, double *steps) {
  double least = INFINITY, greatest = -INFINITY;
  for (uint32_t i = 0; i < sample->count; i++) {
    double const value = sample->values[i];
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  if (!(least < greatest)) return 0.0;
  double const step = mode == SZGPU_MODE_PWREL
                          ? 2 * bound * 1.4426950408889634 /* of logarithms to 2 */
                          : 2 * szg_bound_of_range(mode, bound, mapping, least, greatest);
  *steps = (greatest - least) / step;
  return step > 0.0 && 1.0 / step < INFINITY ? step : 0.0;
}

/* Bits of a multiple of the step that nothing predicts. */
static uint32_t bits_of(double steps) {
  uint32_t bits = 1;
  for (; bits < 64 && steps > 2; steps /= 2) bits++;
  return bits;
}

/* No values, or too few of them that have all neighbours: *value_bits is 0. */
static szgpu_status take_sample(const field_axes *axes, szgpu_mode mode, double bound,
                                const szg_missing *missing, const szg_value_source *source,
                                tallies *t, uint32_t *value_bits) {
  szg_runs runs = {.count = MOST_GROUPS * RUNS, .run_values = RUN_VALUES};
  szg_raster_sample sample;
  uint64_t first[MOST_GROUPS];
  group g;
  double step = 0.0, steps = 0.0;
  *value_bits = 0;
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    for (uint32_t i = 0; i < MOST_GROUPS; i++) {
      first[i] = axes->first +
                 szg_number_in_part(axes->end - axes->first, TURNS * MOST_GROUPS, TURNS * i + turn);
      place_runs(axes, source->value_count, first[i], runs.first + i * RUNS);
    }
    SZG_TRY(szg_raster_take_runs(source, missing, &runs, &sample));
    if (turn == 0) step = step_of(mode, bound, &source->mapping, &sample, &steps);
    if (step == 0.0) return SZGPU_OK;
    for (uint32_t i = 0; i < MOST_GROUPS; i++) {
      load_group(sample.values + i * RUNS * RUN_VALUES, 1.0 / step, &g);
      count_group(&g, axes, first[i], t);
    }
  }
  *value_bits = bits_of(steps);
  return SZGPU_OK;
}

szgpu_status szg_joins_choose(const szgpu_shape *shape, szgpu_mode mode, double bound,
                              const szg_missing *missing, const szg_value_source *source,
                              szg_grid *chosen) {
  szg_grid grids[SZG_MOST_GRIDS];
  uint32_t const count = szg_joins_grids(shape, grids);
  field_axes const axes = axes_of(shape);
  uint64_t costs[SZG_MOST_GRIDS] = {0};
  uint32_t best = 0, value_bits;
  tallies t;
  memset(&t, 0, sizeof t);
  SZG_TRY(take_sample(&axes, mode, bound, missing, source, &t, &value_bits));
  if (value_bits == 0) return SZGPU_OK;
  for (uint32_t i = 0; i < count; i++) {
    costs[i] = cost_in(&grids[i], &axes, &t, value_bits);
    if (costs[i] < costs[best]) best = i;
  }
  /* Samples differ by as much. */
  *chosen = grids[costs[best] < costs[0] - (costs[0] >> 4) ? best : 0];
  return SZGPU_OK;
}
