/* test_levels_probe.c - what a sample says, point by point as docs/format.md describes it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/levels_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/interpolation/levels_lattice.h"
#include "support.h"

/* ---- the reference ---- */

/* A point of a sampled run. */
typedef struct sampled {
  const szg_probe_source *source;
  const szg_probe_view *view;
  uint64_t at[3], index; /* in the view; of the value */
} sampled;

/* The lattice value of a value, if it has one. */
static bool find_point(const szg_probe_source *source, uint64_t index, int64_t *point) {
  const szg_levels_lattice *const k = &source->lattice;
  int32_t narrow = 0;
  bool has_point;
  if (!szg_levels_has_lattice_value(k, source->values, index)) return false;
  if (k->dtype == SZGPU_F32) {
    float const x = ((const float *)source->values)[index];
    has_point =
        k->is_wide ? szg_levels_point_f32_wide(k, x, point) : szg_levels_point_f32(k, x, &narrow);
  } else {
    double const x = ((const double *)source->values)[index];
    has_point =
        k->is_wide ? szg_levels_point_f64_wide(k, x, point) : szg_levels_point_f64(k, x, &narrow);
  }
  if (!k->is_wide) *point = narrow;
  return has_point;
}

/* The point `steps` away along an axis. */
static bool find_beside(const sampled *p, uint32_t axis, int64_t steps, int64_t *point) {
  int64_t const at = (int64_t)p->at[axis] + steps;
  if (at < 0 || at >= (int64_t)p->view->extents[axis]) return false;
  return find_point(p->source, p->index + (uint64_t)steps * p->view->strides[axis], point);
}

static bool counts_at(const sampled *p, uint32_t scale) {
  int64_t unused;
  if (!find_point(p->source, p->index, &unused)) return false;
  for (uint32_t axis = 0; axis < p->view->axis_count; axis++)
    for (int64_t side = -1; side <= 1; side += 2)
      if (!find_beside(p, axis, side * ((int64_t)1 << scale), &unused)) return false;
  return true;
}

static int64_t round_to(int64_t point, int64_t unit) {
  return unit ? (int64_t)floor((double)(point + unit / 2) * (1.0 / (double)unit)) * unit : point;
}

/* Sixteen times the prediction along an axis. tile_axes: 0, or far neighbours are those in the
 * tile of a frame with so many axes. */
static int64_t sum_along(const sampled *p, uint32_t axis, uint32_t scale, bool is_linear,
                         uint32_t tile_axes, int64_t unit) {
  int64_t const step = (int64_t)1 << scale;
  int64_t a = 0, b = 0, c = 0, d = 0;
  bool has_a = find_beside(p, axis, -3 * step, &a), has_d = find_beside(p, axis, 3 * step, &d);
  (void)find_beside(p, axis, -step, &b);
  (void)find_beside(p, axis, step, &c);
  if (tile_axes) {
    uint32_t const extent = szg_level_tile_extent(tile_axes, axis, (uint64_t)step);
    uint64_t const v = (p->at[axis] >> scale | 1) % extent;
    has_a = has_a && v >= 3;
    has_d = has_d && v + 3 <= (axis == 0 ? extent - 1 : extent);
  }
  a = round_to(a, unit), b = round_to(b, unit), c = round_to(c, unit), d = round_to(d, unit);
  if (is_linear || (!has_a && !has_d)) return 8 * b + 8 * c;
  if (has_a && has_d) return 9 * b + 9 * c - a - d;
  return has_a ? 12 * b + 6 * c - 2 * a : 6 * b + 12 * c - 2 * d;
}

static uint32_t class_of(int64_t code) {
  int64_t const magnitude = code < 0 ? -code : code;
  if (magnitude <= SZG_PROBE_DIRECT) return (uint32_t)(code + SZG_PROBE_DIRECT);
  uint32_t const own =
      2 * SZG_PROBE_DIRECT + 1 + (uint32_t)(63 - szg_leading_zeros_u64((uint64_t)magnitude)) - 5;
  return own < SZG_PROBE_CLASSES - 1 ? own : SZG_PROBE_CLASSES - 1;
}

static int64_t predict_along(const sampled *p, uint32_t used, uint32_t scale, bool is_linear,
                             uint32_t tile_axes, int64_t unit) {
  int64_t sum = 0;
  uint32_t const n = szg_probe_axes_in(used);
  for (uint32_t axis = 0; axis < 3; axis++)
    if (used >> axis & 1) sum += sum_along(p, axis, scale, is_linear, tile_axes, unit);
  return n == 3 ? (sum + 24) / 48 : (sum + 8 * n) >> (3 + n);
}

static int64_t error_of(const sampled *p, int64_t prediction) {
  int64_t point = 0;
  (void)find_point(p->source, p->index, &point);
  return point - prediction;
}

/* Counts the code of an error. */
static void count_error(int64_t error, uint32_t unit_bits, uint32_t *counts) {
  counts[class_of((error + ((int64_t)1 << unit_bits >> 1)) >> unit_bits)]++;
}

/* Counts a point's code, predicted along the axes `used`. */
static void count_code(const sampled *p, uint32_t used, uint32_t scale, bool is_linear,
                       uint32_t tile_axes, int64_t unit, uint32_t unit_bits, uint32_t *counts) {
  count_error(error_of(p, predict_along(p, used, scale, is_linear, tile_axes, unit)), unit_bits,
              counts);
}

/* ---- the reference: disturbed points ---- */

/* What a disturbed point's error gets more, by a stencil of this gain. */
static int64_t disturbance(const sampled *p, const szg_levels_way *way, uint32_t scale,
                           int64_t gain) {
  int64_t const unit = (int64_t)1 << p->source->fine_bits;
  int64_t rest = 0;
  for (uint32_t axis = 0; axis < way->axis_count; axis++) {
    int64_t const e = error_of(p, predict_along(p, 1u << axis, scale, way->is_linear, 0, 0));
    int64_t const nearest = unit * (int64_t)floor(((double)e + (double)unit / 2) / (double)unit);
    rest += e > nearest ? e - nearest : nearest - e;
  }
  int64_t const n = rest * gain * (way->axis_count == 2 ? 128 : 85) / 65536;
  uint32_t const place = (uint32_t)(p->at[0] + p->at[1] + p->at[2]);
  return place * 0x9E3779B1u >> 31 ? -n : n;
}

static void count_disturbed(const sampled *p, const szg_levels_way *way, uint32_t set,
                            uint32_t scale, uint32_t *counts) {
  static const int64_t gains[2][3] = {{205, 145, 118}, {181, 128, 105}};
  uint32_t const used = szg_ranked_axes(set, way->ranks);
  uint32_t const tile_axes = szg_probe_axes_in(set) == 1 ? 0 : way->axis_count;
  int64_t const error = error_of(p, predict_along(p, used, scale, way->is_linear, tile_axes, 0));
  int64_t const gain = gains[way->is_linear][szg_probe_axes_in(used) - 1];
  count_error(error + disturbance(p, way, scale, gain), p->source->fine_bits, counts);
}

/* The point that lies at[axis] * 2^scale away along each axis. In place of one without a lattice
 * value stands that without the last of these offsets. */
static int64_t find_around(const sampled *p, const int at[3], uint32_t scale) {
  uint64_t index = p->index;
  uint32_t last = 0;
  bool is_in_view = true;
  for (uint32_t axis = 0; axis < 3; axis++) {
    if (at[axis] == 0) continue;
    int64_t const offset = at[axis] * ((int64_t)1 << scale);
    int64_t const to = (int64_t)p->at[axis] + offset;
    is_in_view = is_in_view && to >= 0 && to < (int64_t)p->view->extents[axis];
    index += (uint64_t)offset * p->view->strides[axis];
    last = axis;
  }
  int64_t point;
  if (is_in_view && find_point(p->source, index, &point)) return point;
  assert_int_not_equal(last, 0); /* near neighbours along x have lattice values */
  int less[3] = {at[0], at[1], at[2]};
  less[last] = 0;
  return find_around(p, less, scale);
}

/* The sum of the points before and after along each axis of a set, in all combinations. */
static int64_t sum_around(const sampled *p, uint32_t set, uint32_t scale) {
  int64_t sum = 0;
  for (uint32_t after = 0; after < 8; after++) {
    int at[3];
    if (after & ~set) continue;
    for (uint32_t axis = 0; axis < 3; axis++)
      at[axis] = !(set >> axis & 1) ? 0 : after >> axis & 1 ? 1 : -1;
    sum += find_around(p, at, scale);
  }
  return sum;
}

/* Counts a disturbed point's code as one of the class `set`, which has several axes, in a blended
 * frame. */
static void count_blended(const sampled *p, const szg_levels_way *way, uint32_t set, uint32_t scale,
                          uint32_t *counts) {
  int64_t sums[4] = {0}; /* by the number of axes */
  for (uint32_t part = 1; part <= set; part++)
    if (!(part & ~set)) sums[szg_probe_axes_in(part)] += sum_around(p, part, scale);
  int64_t const prediction =
      set == 7 ? (4 * sums[1] - 2 * sums[2] + sums[3] + 4) >> 3 : (2 * sums[1] - sums[2] + 2) >> 2;
  count_error(error_of(p, prediction) + disturbance(p, way, scale, set == 7 ? 394 : 286),
              p->source->fine_bits, counts);
}

/* The quintic prediction along an axis, or the cubic one if a neighbour of that stencil is
 * missing. */
static int64_t predict_quintic(const sampled *p, uint32_t axis, uint32_t scale) {
  static const int64_t distances[] = {-5, -3, -1, 1, 3, 5}, weights[] = {3, -25, 150, 150, -25, 3};
  int64_t sum = 0;
  for (size_t i = 0; i < ARRAY_COUNT(distances); i++) {
    int64_t tap;
    if (!find_beside(p, axis, distances[i] * ((int64_t)1 << scale), &tap))
      return predict_along(p, 1u << axis, scale, false, 0, 0);
    sum += weights[i] * tap;
  }
  return (sum + 128) >> 8;
}

/* Counts a disturbed point's code as one of the class of an axis in a quintic frame. */
static void count_quintic(const sampled *p, const szg_levels_way *way, uint32_t axis,
                          uint32_t scale, uint32_t *counts) {
  count_error(error_of(p, predict_quintic(p, axis, scale)) + disturbance(p, way, scale, 215),
              p->source->fine_bits, counts);
}

typedef struct reference_counts {
  szg_probe_counts entries[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_ENTRIES];
  szg_probe_counts scales[SZG_PROBE_SCALES][SZG_PROBE_SETS],
      disturbed[SZG_PROBE_SCALES][SZG_PROBE_SETS], blended[SZG_PROBE_SCALES][SZG_PROBE_SETS],
      noisy[SZG_PROBE_TABLES][SZG_PROBE_SETS];
  szg_probe_counts differences[SZG_PROBE_SETS];
} reference_counts;

static void rank_point(const sampled *p, uint32_t scale, reference_counts *counts) {
  uint32_t const d = p->view->axis_count, all = (1u << d) - 1, f = p->source->fine_bits;
  int64_t const unit = szg_level_unit(1, 1, f) / 2;
  for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++)
    for (uint32_t used = 1; used <= all; used++) {
      uint32_t *const alone = counts->entries[scale][stencil][szg_probe_entry(d, used, used)];
      if (szg_probe_axes_in(used) == 1 && szg_probe_fits(p->view->is_line, used, p->at[0], scale))
        count_code(p, used, scale, stencil, 0, unit, f - SZG_PROBE_FINE_BITS, alone);
      if (all > 1 && szg_probe_fits(p->view->is_line, all, p->at[0], scale))
        count_code(p, used, scale, stencil, d, unit, f - SZG_PROBE_FINE_BITS,
                   counts->entries[scale][stencil][szg_probe_entry(d, all, used)]);
    }
}

static void cost_point(const sampled *p, const szg_levels_way *way, uint32_t scale, int64_t unit,
                       szg_probe_counts *counts) {
  for (uint32_t set = 1; set < 1u << way->axis_count; set++)
    if (szg_probe_fits(p->view->is_line, set, p->at[0], scale))
      count_code(p, szg_ranked_axes(set, way->ranks), scale, way->is_linear,
                 szg_probe_axes_in(set) == 1 ? 0 : way->axis_count, unit, p->source->fine_bits,
                 counts[set - 1]);
}

/* Counts the disturbed point in all classes: by the way's stencils, and by blended ones and, in
 * those of one axis, quintic ones. */
static void disturb_point(const sampled *p, const szg_levels_way *way, uint32_t scale,
                          szg_probe_counts *counts, szg_probe_counts *blended) {
  for (uint32_t set = 1; set < 1u << way->axis_count; set++) {
    if (!szg_probe_fits(p->view->is_line, set, p->at[0], scale)) continue;
    count_disturbed(p, way, set, scale, counts[set - 1]);
    if (szg_probe_axes_in(set) > 1)
      count_blended(p, way, set, scale, blended[set - 1]);
    else
      count_quintic(p, way, set / 2, scale, blended[set - 1]);
  }
}

static void count_differences(const sampled *p, szg_probe_counts *counts) {
  uint32_t const d = p->view->axis_count, f = p->source->fine_bits;
  int64_t multiples[8];
  for (uint32_t corner = 0; corner < 1u << d; corner++) {
    uint64_t index = p->index;
    for (uint32_t axis = 0; axis < d; axis++) {
      if (!(corner >> axis & 1)) continue;
      if (p->at[axis] == 0) return;
      index -= p->view->strides[axis];
    }
    int64_t point;
    if (!find_point(p->source, index, &point)) return;
    multiples[corner] = (point + ((int64_t)1 << f >> 1)) >> f;
  }
  for (uint32_t set = 1; set < 1u << d; set++) {
    int64_t difference = 0;
    for (uint32_t corner = 0; corner < 1u << d; corner++)
      if (!(corner & ~set))
        difference += szg_probe_axes_in(corner) % 2 ? -multiples[corner] : multiples[corner];
    counts[set - 1][class_of(difference)]++;
  }
}

static szg_probe_sums sums_of(const uint32_t *counts) {
  szg_probe_sums sums = {0};
  for (uint32_t c = 0; c < SZG_PROBE_CLASSES; c++) szg_probe_sums_add(&sums, c, counts[c]);
  return sums;
}

static uint64_t entropy_of(const uint32_t *counts) {
  szg_probe_sums const sums = sums_of(counts);
  return sums.total ? szg_probe_entropy_of(&sums, szg_count_log(sums.total)) : 0;
}

static uint32_t find_way(const szg_probe_view *view, reference_counts *counts) {
  szg_entry_costs costs;
  uint32_t best = 0;
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++)
      for (uint32_t entry = 0; entry < SZG_PROBE_ENTRIES; entry++)
        costs.of[scale][stencil][entry] = entropy_of(counts->entries[scale][stencil][entry]);
  for (uint32_t i = 1; i < szg_way_count(view->axis_count); i++)
    if (szg_way_cost(view, i, &costs) < szg_way_cost(view, best, &costs)) best = i;
  return best;
}

/* Does something at every point of the sample: way NULL: the first pass. */
static void take_points(const szg_probe_source *source, const szg_probe_view *view,
                        const szg_levels_way *way, reference_counts *counts) {
  for (uint64_t i = 0; i < view->probe_count; i++) {
    szg_probe_run const run = szg_probe_run_of(view, i);
    for (uint32_t x = 0; x < run.point_count; x++) {
      sampled const p = {source, view, {run.at[0] + x, run.at[1], run.at[2]}, run.index + x};
      for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
        if (!counts_at(&p, scale)) continue;
        if (!way) rank_point(&p, scale, counts);
        if (way) cost_point(&p, way, scale, 0, counts->scales[scale]);
        if (way && way->axis_count > 1)
          disturb_point(&p, way, scale, counts->disturbed[scale], counts->blended[scale]);
        for (uint32_t table = 0; way && scale == 0 && table < SZG_PROBE_TABLES; table++)
          cost_point(&p, way, 0, szg_level_unit(table, 1, source->fine_bits), counts->noisy[table]);
      }
      if (way) count_differences(&p, counts->differences);
    }
  }
}

static void assert_found(const szg_probe_source *source, uint64_t fold,
                         const szg_probe_found *found) {
  szg_probe_view const view = szg_probe_view_of(&source->grid, fold);
  reference_counts *const counts = test_allocate(sizeof *counts);
  memset(counts, 0, sizeof *counts);
  take_points(source, &view, NULL, counts);
  assert_int_equal(found->way_number, find_way(&view, counts));
  szg_levels_way const way = szg_way(&view, found->way_number);
  take_points(source, &view, &way, counts);
  for (uint32_t i = 0; i < SZG_PROBE_SETS; i++) {
    const uint32_t *const differences = counts->differences[i];
    szg_probe_sums const sums = sums_of(differences);
    szg_probe_cost const cost = szg_probe_differences_cost(&sums, differences[SZG_PROBE_ZERO]);
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
      assert_true(found->scales[scale][i] == entropy_of(counts->scales[scale][i]));
      if (way.axis_count == 1) continue;
      assert_true(found->disturbed[scale][i] == entropy_of(counts->disturbed[scale][i]));
      /* For one axis, the cost is that of quintic stencils. */
      if (szg_probe_axes_in(i + 1) > 1 || !way.is_linear)
        assert_true(found->blended[scale][i] == entropy_of(counts->blended[scale][i]));
    }
    for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
      assert_true(found->noisy[table][i] == entropy_of(counts->noisy[table][i]));
    assert_true(found->differences[i].entropy == cost.entropy);
    assert_true(found->differences[i].floor == cost.floor);
  }
  free(counts);
}

/* ---- cases ---- */

enum { FILL = 1 }; /* which also values of fields without a fill value may have */

/* Waves, noise and, in some fields, values that have no lattice value. Lines repeat themselves. */
static void *make_field(const szg_grid *grid, szgpu_dtype dtype, double noise, bool has_holes,
                        test_random *random) {
  void *const values = test_allocate(grid->value_count * szg_dtype_bytes(dtype));
  double const tilt = 0.02 + 0.3 * test_random_unit(random);
  uint64_t const period = 2 + test_random_below(random, 60);
  for (uint64_t i = 0; i < grid->value_count; i++) {
    double const x = (double)(grid->tile_y > 1 ? i % grid->x_extent : i % period);
    double const y = (double)(i / grid->x_extent % grid->y_extent);
    double const z = (double)(i / grid->x_extent / grid->y_extent);
    double value = sin(tilt * x + 0.1 * y) + cos(0.2 * y - tilt * z) +
                   noise * (test_random_unit(random) - 0.5);
    if (has_holes && test_random_below(random, 40) == 0) value = (double)NAN;
    if (test_random_below(random, 60) == 0) value = FILL;
    if (dtype == SZGPU_F32)
      ((float *)values)[i] = (float)value;
    else
      ((double *)values)[i] = value;
  }
  return values;
}

static void run_case(const szgpu_shape *shape, bool is_wide, uint32_t fine_bits, double noise,
                     bool has_holes, test_random *random) {
  szg_probe_source source = {.fine_bits = fine_bits};
  szg_threads threads = {.count = 1 + (int)test_random_below(random, 2)};
  szg_arena arena = {0};
  szg_probe_plan plan;
  szg_probes probes;
  assert_int_equal(szg_grid_of_shape(shape, &source.grid), SZGPU_OK);
  double const step = is_wide ? 1e-9 : 1.0 / (double)(10 + test_random_below(random, 2000));
  uint64_t const fill_bits = shape->dtype == SZGPU_F32 ? 0x3f800000u : 0x3ff0000000000000u;
  source.lattice =
      szg_levels_lattice_make(shape->dtype, is_wide, fine_bits, step, has_holes, fill_bits);
  void *const values = make_field(&source.grid, shape->dtype, noise, has_holes, random);
  source.values = values;
  szg_levels_probe_carve(&arena, &source.grid, threads.count, &plan);
  arena.capacity_bytes = arena.used_bytes;
  arena.base = test_allocate(arena.capacity_bytes);
  arena.used_bytes = 0;
  szg_levels_probe_carve(&arena, &source.grid, threads.count, &plan);
  assert_int_equal(szg_levels_probe(&threads, &source, &plan, &probes), SZGPU_OK);
  assert_found(&source, 0, &probes.plain);
  if (probes.fold) assert_found(&source, probes.fold, &probes.folded);
  free(arena.base);
  free(values);
}

static void samples_say_what_the_format_says(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{.ndim = 3, .dims = {17, 20, 45}},
                                       {.ndim = 3, .dims = {9, 70, 33}},
                                       {.ndim = 4, .dims = {2, 13, 26, 31}},
                                       {.ndim = 2, .dims = {90, 131}},
                                       {.ndim = 2, .dims = {5, 40}},
                                       {.ndim = 1, .dims = {20011}},
                                       {.ndim = 1, .dims = {130}}};
  test_random random = test_random_begin();
  for (uint32_t round = 0; round < 6; round++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int is_f64 = 0; is_f64 <= 1; is_f64++) {
        szgpu_shape shape = shapes[i];
        shape.dtype = is_f64 ? SZGPU_F64 : SZGPU_F32;
        double const noise = pow(10.0, -4.0 * test_random_unit(&random));
        run_case(&shape, round == 5, round == 5 ? 8 : 4 + round, noise, round % 2, &random);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(samples_say_what_the_format_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
