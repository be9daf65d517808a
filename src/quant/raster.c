/* raster.c - the sample, and the step that follows from a raster.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/raster.h"

#include <math.h>
#include <string.h>

/* ---- the sample ---- */

/* Runs from all over the field, in which a raster is looked for. */
enum { FIND_RUNS = 64, FIND_RUN_VALUES = 32 };

static void runs_to_find(uint64_t value_count, szg_runs *runs) {
  runs->count = FIND_RUNS;
  runs->run_values = FIND_RUN_VALUES;
  for (uint32_t i = 0; i < FIND_RUNS; i++)
    runs->first[i] =
        FIND_RUN_VALUES * szg_number_in_part(value_count / FIND_RUN_VALUES, FIND_RUNS, i);
}

/* Extents x, y and z of a block, at most SZG_RASTER_BLOCK_VALUES. */
static void block_extents(const szg_grid *grid, uint32_t extents[3]) {
  static const uint32_t of_axes[3][3] = {{512, 1, 1}, {32, 16, 1}, {8, 8, 8}};
  const uint32_t *const most = of_axes[grid->z_extent > 1 ? 2 : grid->y_extent > 1 ? 1 : 0];
  uint64_t const all[3] = {grid->x_extent, grid->y_extent, grid->z_extent};
  for (int axis = 0; axis < 3; axis++) extents[axis] = (uint32_t)szg_min_u64(all[axis], most[axis]);
}

/* The value where a block begins. Blocks at an upper edge are moved inward. */
static uint64_t block_first(const szg_grid *grid, const uint32_t extents[3], uint64_t i) {
  uint64_t const all[3] = {grid->x_extent, grid->y_extent, grid->z_extent};
  uint64_t along[3], at[3];
  for (int axis = 0; axis < 3; axis++) along[axis] = szg_div_up(all[axis], extents[axis]);
  uint64_t number =
      szg_number_in_part(grid->batch_extent * along[0] * along[1] * along[2], SZG_RASTER_BLOCKS, i);
  for (int axis = 0; axis < 3; axis++) {
    at[axis] = szg_min_u64(number % along[axis] * extents[axis], all[axis] - extents[axis]);
    number /= along[axis];
  }
  return ((number * all[2] + at[2]) * all[1] + at[1]) * all[0] + at[0];
}

static void runs_of_blocks(const szg_grid *grid, const uint32_t extents[3], szg_runs *runs) {
  uint32_t const run_values = (uint32_t)szg_min_u64(extents[0], FIND_RUN_VALUES);
  uint32_t count = 0;
  runs->run_values = run_values;
  for (uint32_t i = 0; i < SZG_RASTER_BLOCKS; i++) {
    uint64_t const first = block_first(grid, extents, i);
    for (uint32_t z = 0; z < extents[2]; z++)
      for (uint32_t y = 0; y < extents[1]; y++)
        for (uint32_t x = 0; x < extents[0]; x += run_values)
          runs->first[count++] = first + (z * grid->y_extent + y) * grid->x_extent + x;
  }
  runs->count = count;
}

/* The bits of a value, right-aligned. */
static uint64_t load_bits(const uint8_t *bytes, size_t width) {
  uint16_t two;
  uint32_t four;
  uint64_t eight;
  if (width == 1) return *bytes;
  if (width == 2) return memcpy(&two, bytes, sizeof two), two;
  if (width == 4) return memcpy(&four, bytes, sizeof four), four;
  return memcpy(&eight, bytes, sizeof eight), eight;
}

/* The numbers of a run of values in the field's type. *exact_count grows by those of which the
 * frames will keep the bits. */
static void take_run(const szg_mapping *mapping, const szg_missing *missing, const uint8_t *outer,
                     uint32_t count, double *numbers, uint32_t *exact_count) {
  size_t const width = szg_dtype_bytes(mapping->outer), inner = szg_dtype_bytes(mapping->inner);
  uint64_t inner_values[FIND_RUN_VALUES];
  const uint8_t *values = outer;
  if (szg_is_mapped(mapping)) {
    szg_values_to_inner(mapping, outer, count, inner_values);
    values = (const uint8_t *)inner_values;
  }
  for (uint32_t i = 0; i < count; i++) {
    double const number = szg_value_of_bits(mapping->inner, load_bits(values + i * inner, inner));
    bool const is_fill = szg_is_fill(missing, load_bits(outer + i * width, width));
    bool const is_exact = !is_fill && (!isfinite(number) || szg_is_invalid(missing, number));
    numbers[i] = is_fill || is_exact ? NAN : number;
    *exact_count += is_exact;
  }
}

szgpu_status szg_raster_take_runs(const szg_value_source *source, const szg_missing *missing,
                                  const szg_runs *runs, szg_raster_sample *sample) {
  uint64_t picked[SZG_MOST_PICKED]; /* aligned for every type */
  size_t const run_bytes = runs->run_values * szg_dtype_bytes(source->mapping.outer);
  SZG_TRY(source->pick(source, runs, picked));
  sample->count = runs->count * runs->run_values;
  sample->run_values = runs->run_values;
  sample->exact_count = 0;
  for (uint32_t i = 0; i < runs->count; i++)
    take_run(&source->mapping, missing, (const uint8_t *)picked + i * run_bytes, runs->run_values,
             sample->values + i * runs->run_values, &sample->exact_count);
  return SZGPU_OK;
}

/* ---- the step ---- */

/* A raster's step must be this much larger than the ordinary one to be worth its while. */
#define LEAST_GAIN 1.0625

/* Points of an offset raster lie near multiples of an integer fraction of the spacing. */
enum { MOST_PARTS = 64 };

/* The step next to this part of the spacing whose points are nearest to those of the raster; at
 * most *distance away if values reach a quarter further than the sample's. Where these are far from
 * 0, a slightly longer or shorter step makes up for an offset. */
static double align(const szg_raster *raster, double part, double *distance) {
  double const rest = raster->offset - rint(raster->offset / part) * part;
  double const middle = 0.5 * raster->least + 0.5 * raster->greatest;
  double const reach = 1.25 * (0.5 * raster->greatest - 0.5 * raster->least);
  double const shifted = middle - rest;
  *distance = fabs(rest);
  if (rest == 0.0 || !(fabs(shifted) > reach)) return part;
  *distance = fabs(rest) * (reach / fabs(shifted));
  return part * (middle / shifted);
}

/* The step is a part of the spacing, times the largest odd number with which all points of the
 * raster are within the bound of a multiple: the largest such step. 0: none is so large. */
static double find_step(const szg_raster *raster, double bound, double least_step, bool is_exact,
                        int *step_parts) {
  double const rounding = 4 * raster->rounding;
  double most = 0.0;
  for (int parts = 1; parts <= MOST_PARTS; parts++) {
    double distance;
    double const part = align(raster, raster->spacing / parts, &distance);
    double const left = bound - distance - rounding;
    bool const is_near = distance <= rounding || (!is_exact && left >= bound / 16);
    if (!is_near) continue;
    double const odd = left >= part && !is_exact ? 2 * floor(left / part) + 1 : 1;
    if (!(part * odd > most)) continue;
    most = part * odd;
    *step_parts = odd == 1 ? parts : 1;
  }
  return most >= least_step ? most : 0.0;
}

/* The largest magnitude to code. A value far beyond all of the sample's, such as a fill value that
 * nobody has named, may be kept exactly. */
static double greatest_of(const szg_raster *raster, const szg_bound_plan *plan) {
  double const sampled = fmax(fabs(raster->least), fabs(raster->greatest));
  return plan->magnitude > 1024 * sampled ? 1.5 * sampled : plan->magnitude;
}

/* The quantizer of a step; false: the type has none. */
static bool make_quantizer(const szg_raster *raster, szgpu_dtype dtype, double step, double bound,
                           double greatest, const szg_bound_plan *plan, szg_quantizer *quantizer) {
  double const points = greatest / step;
  bool const is_whole = raster->rounding == 0.0 && (double)(float)step == step;
  bool const has_f32 = (is_whole || bound >= 80.0 * 0x1p-24 * greatest) && step >= 0x1p-126 &&
                       step <= 0x1p126 && points < 0x1p21;
  uint32_t arithmetic = points < 0x1p30 ? SZG_ARITHMETIC_F64 : SZG_ARITHMETIC_F64_WIDE;
  if (dtype == SZGPU_F32) arithmetic = has_f32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F32_CLOSE;
  if (!(points < (arithmetic == SZG_ARITHMETIC_F64_WIDE ? 0x1p50 : 0x1p30))) return false;
  if (arithmetic == SZG_ARITHMETIC_F32) step = (double)(float)step;
  if (!(step >= 0x1p-1000 && step <= 0x1p1000)) return false; /* the check relies on it */
  const szg_quantizer *const before = &plan->quantizer;
  *quantizer = szg_quantizer_make(arithmetic, bound, step, before->has_fill, before->fill_bits);
  return true;
}

/* Whether the value is coded. */
static bool is_coded(const szg_quantizer *k, double value) {
  float const value_f32 = (float)value;
  int32_t q;
  int64_t wide;
  switch (k->arithmetic) {
    case SZG_ARITHMETIC_F32:
      return szg_lattice_f32(k, value_f32, &q) &&
             szg_within_f32(k, value_f32, szg_restore_f32(k, q));
    case SZG_ARITHMETIC_F32_CLOSE:
      return szg_lattice_f32_close(k, value_f32, &q) &&
             szg_within_f32_close(k, value_f32, szg_restore_f32_close(k, q));
    case SZG_ARITHMETIC_F64:
      return szg_lattice_f64(k, value, &q) && szg_within_f64(k, value, szg_restore_f64(k, q));
    default:
      return szg_lattice_f64_wide(k, value, &wide) &&
             szg_within_f64(k, value, szg_restore_f64_wide(k, wide));
  }
}

/* Values of the sample that are there but not coded. */
static uint32_t count_exact(const szg_quantizer *k, const szg_raster_sample *sample) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < sample->count; i++) {
    double const value = sample->values[i];
    bool const is_missing = value != value;
    count += !is_missing && !is_coded(k, value);
  }
  return count;
}

/* ---- the choice ---- */

/* A step that has been found. */
typedef struct raster_step {
  szg_quantizer quantizer;
  double greatest; /* the largest magnitude to code */
  int parts;       /* steps between two points of the raster */
} raster_step;

static bool find(const szg_raster_asked *asked, const szg_raster_sample *sample, szgpu_dtype dtype,
                 const szg_bound_plan *plan, raster_step *found) {
  bool const is_exact = asked->keeps_values_exactly;
  double const bound = plan->quantizer.bound, least_step = LEAST_GAIN * plan->quantizer.step;
  szg_raster raster;
  if (!szg_raster_find(sample, dtype, bound / 8, &raster)) return false;
  double const step = find_step(&raster, bound, least_step, is_exact, &found->parts);
  found->greatest = greatest_of(&raster, plan);
  return step > 0.0 &&
         make_quantizer(&raster, dtype, step, is_exact ? 0.0 : bound, found->greatest, plan,
                        &found->quantizer) &&
         count_exact(&found->quantizer, sample) == 0;
}

/* Whether interpolation takes clearly fewer bits: by the sample, which may be wrong by a quarter in
 * small fields. */
static bool interpolation_pays(const szg_raster_asked *asked, const szg_raster_costs *costs) {
  enum { MOST_WRONG_BY_A_QUARTER = 1 << 17 };
  int const doubt_shift = asked->grid->value_count <= MOST_WRONG_BY_A_QUARTER ? 2 : 5;
  return asked->may_interpolate &&
         costs->differences > costs->interpolation + (costs->interpolation >> doubt_shift);
}

/* Whether the field takes no more bits than without the raster. counts_on_levels: it does if there
 * are no levels frames, which should take fewer. */
static bool pays(const szg_raster_asked *asked, const szg_value_source *source,
                 const szg_raster_sample *blocks, const raster_step *found,
                 const szg_quantizer *ordinary, bool *counts_on_levels) {
  szg_raster_costs const costs =
      szg_raster_costs_of(blocks, found->quantizer.inverse, found->parts, ordinary->inverse);
  bool const is_exact = count_exact(ordinary, blocks) > blocks->count / 2;
  if (asked->may_have_planes && is_exact)
    return costs.differences <= szg_raster_planes_cost(blocks, &source->mapping);
  if (costs.differences > costs.ordinary_differences) return false;
  *counts_on_levels = interpolation_pays(asked, &costs);
  return !*counts_on_levels;
}

szgpu_status szg_raster_settle(const szg_raster_asked *asked, const szg_value_source *source,
                               szg_bound_plan *plan) {
  szg_runs runs;
  szg_raster_sample sample;
  raster_step found = {.parts = 1};
  if (source->value_count < SZG_RASTER_LEAST_VALUES) return SZGPU_OK;
  if (plan->is_constant || plan->is_hopeless) return SZGPU_OK;
  runs_to_find(source->value_count, &runs);
  SZG_TRY(szg_raster_take_runs(source, &plan->missing, &runs, &sample));
  if (!find(asked, &sample, source->dtype, plan, &found)) return SZGPU_OK;
  block_extents(asked->grid, sample.extents);
  runs_of_blocks(asked->grid, sample.extents, &runs);
  SZG_TRY(szg_raster_take_runs(source, &plan->missing, &runs, &sample));
  if (count_exact(&found.quantizer, &sample) > 0) return SZGPU_OK;
  if (!pays(asked, source, &sample, &found, &plan->quantizer, &plan->counts_on_levels))
    return SZGPU_OK;
  plan->quantizer = found.quantizer;
  plan->greatest = found.greatest;
  plan->has_raster = true;
  plan->most_strays = 1 + (plan->is_sampled ? 0 : 2048 * sample.exact_count / sample.count);
  return SZGPU_OK;
}
