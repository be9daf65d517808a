/* levels_choose.c - how a levels frame predicts: chosen by cost on blocks of its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/levels.h"
#include "frames/write.h"
#include "predict/levels_choice_core.h"
#include <stdio.h>
#include <stdlib.h>

/* Units of the levels from the finest on, in parts of 256 of the finest one's: what a coarse point
 * costs more, the finer ones that are predicted from it cost less. */
enum { UNIT_PARTS = 256, UNIT_TABLES = 3 };
static const uint16_t unit_tables[UNIT_TABLES][SZG_LEVELS_MOST + 1] = {
    {256, 256, 256, 256, 256, 256, 256},
    {256, 205, 164, 131, 128, 128, 128}, /* 1.25 to the power of the level, but at most 2 */
    {256, 171, 128, 128, 128, 128, 128}, /* 1.5 */
};

/* Below this, halves of a fine step cost more than finer prediction gains. */
enum { LEAST_FINE_BITS = 4 };

static void set_units(uint32_t table, szg_levels *levels) {
  for (uint32_t i = 0; i <= levels->level_count; i++) {
    uint32_t const part = unit_tables[table][levels->level_count - i];
    levels->stages[i].unit = ((part << levels->fine_bits) + UNIT_PARTS / 2) / UNIT_PARTS;
  }
}

/* The finest lattice, narrow if possible, on which every value up to `greatest` has a lattice
 * value. False: there is none. */
static bool find_lattice(const szg_bound_plan *bound, szg_levels *levels) {
  uint32_t const arithmetic = bound->quantizer.arithmetic;
  bool const may_be_narrow = arithmetic == SZG_ARITHMETIC_F32 || arithmetic == SZG_ARITHMETIC_F64;
  double const steps = bound->greatest / bound->quantizer.step;
  uint32_t const most = levels->level_count ? SZG_LEVELS_MOST_FINE : 0;
  uint32_t const least = levels->level_count ? LEAST_FINE_BITS : 0;
  for (int is_wide = !may_be_narrow; is_wide <= 1; is_wide++) {
    double const limit = is_wide ? 0x1p50 : 0x1p22;
    for (uint32_t fine_bits = most + 1; fine_bits-- > least;) {
      double const points = fine_bits ? (double)((1u << fine_bits) + 1) : 1.0;
      if (!(steps * points < limit * (1 - 0x1p-10))) continue;
      levels->is_wide = is_wide;
      levels->fine_bits = fine_bits;
      return true;
    }
  }
  return false;
}

/* ---- candidates ---- */

/* A way to predict. level_count 0: differences only, in the coder of levels frames. */
typedef struct candidate {
  uint32_t axis_count, level_count;
  uint32_t unit_table;
  uint64_t fold;
  bool is_linear;
  uint8_t ranks[3]; /* of x, y, z */
} candidate;

static uint32_t usual_level_count(uint32_t axis_count) {
  static const uint8_t counts[] = {0, 5, 4, 3}; /* coarsest spacings of 32, 16 and 8 */
  return counts[axis_count];
}

/* A frame's levels by the candidate. False: it does not suit the frame. */
static bool make_levels(const szg_bound_plan *bound, const szg_grid *grid, uint32_t base_axes,
                        const candidate *way, szg_levels *levels) {
  if (!szg_levels_make(grid, way->axis_count, way->fold, way->level_count, levels)) return false;
  if (!find_lattice(bound, levels)) return false;
  levels->base_axes = way->level_count ? (1u << way->axis_count) - 1 : base_axes;
  levels->is_linear = way->is_linear;
  memcpy(levels->ranks, way->ranks, sizeof levels->ranks);
  set_units(way->unit_table, levels);
  return true;
}

static szg_levels_lattice make_lattice(szgpu_dtype dtype, const szg_bound_plan *bound,
                                       const szg_levels *levels) {
  const szg_quantizer *const quantizer = &bound->quantizer;
  return szg_levels_lattice_make(dtype, levels->is_wide, levels->fine_bits, quantizer->step,
                                 quantizer->has_fill, quantizer->fill_bits);
}

/* ---- the sample ---- */

/* Row number r of the frame's runs: SZG_PROBE_RUN points along x, or as many as x has. */
typedef struct probe_job {
  const szg_write_job *frame;
  szg_levels levels; /* of the frame, all axes interpolated */
  szg_levels_lattice lattice;
  uint64_t run_count;   /* in the frame */
  uint32_t probe_count; /* of them */
  szg_probe_counts *counts; /* [threads] */
} probe_job;

/* The i-th sampled run: multiples of the golden ratio, modulo 1, spread over all runs, and never
 * line up with rows or planes. */
static uint64_t sampled_run(uint64_t run_count, uint32_t i) {
  uint64_t const fraction = (i + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint64_t)((unsigned __int128)fraction * run_count >> 64);
}

/* The lattice value of a value; false: it has none. */
static bool find_point(const probe_job *job, uint64_t index, int64_t *point) {
  const szg_levels_lattice *const k = &job->lattice;
  if (!szg_levels_has_lattice_value(k, job->frame->values, index)) return false;
  *point = szg_levels_nearest_point(k, job->frame->values, index);
  return true;
}

/* The neighbours of a value along an axis of this extent. False: a near one is missing. */
static bool find_taps(const probe_job *job, uint64_t index, uint64_t at, uint64_t extent,
                      uint64_t stride, uint64_t spacing, szg_probe_taps *taps) {
  static const int64_t places[] = {-3, -1, 1, 3};
  for (int i = 0; i < 4; i++) {
    int64_t const place = (int64_t)at + places[i] * (int64_t)spacing;
    taps->has[i] = place >= 0 && place < (int64_t)extent &&
                   find_point(job, index + (uint64_t)(places[i] * (int64_t)(spacing * stride)),
                              &taps->at[i]);
  }
  return taps->has[1] && taps->has[2];
}

/* Counts one point at one scale, if all its near neighbours exist. */
static void probe_scale(const probe_job *job, uint64_t index, const uint64_t at[3], int64_t point,
                        uint32_t scale, szg_probe_counts *counts) {
  const szg_grid *const grid = &job->frame->grid;
  uint64_t const extents[] = {grid->x_extent, grid->y_extent, grid->z_extent};
  uint64_t const strides[] = {1, grid->x_extent, grid->x_extent * grid->y_extent};
  szg_probe_taps taps[3];
  uint32_t const axis_count = job->levels.axis_count;
  for (uint32_t axis = 0; axis < axis_count; axis++)
    if (!find_taps(job, index, at[axis], extents[axis], strides[axis], (uint64_t)1 << scale,
                   &taps[axis]))
      return;
  for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++) {
    int64_t sums[3] = {0};
    for (uint32_t axis = 0; axis < axis_count; axis++)
      sums[axis] = szg_probe_stencil(&taps[axis], stencil);
    for (uint32_t set = 1; set < 1u << axis_count; set++) {
      int64_t sum = 0;
      uint32_t count = 0;
      for (uint32_t axis = 0; axis < axis_count; axis++) {
        if (!(set >> axis & 1)) continue;
        sum += sums[axis];
        count++;
      }
      int64_t const code = szg_probe_code(point, sum, count, job->levels.fine_bits);
      counts->of[scale][stencil][set - 1][szg_probe_class(code)]++;
    }
  }
}

static szgpu_status probe_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  const szg_grid *const grid = &job->frame->grid;
  uint64_t const runs_of_row = szg_div_up(grid->x_extent, SZG_PROBE_RUN);
  uint64_t const run = sampled_run(job->run_count, (uint32_t)i);
  uint64_t const row = run / runs_of_row;
  uint64_t const first = run % runs_of_row * SZG_PROBE_RUN;
  uint64_t const end = szg_min_u64(first + SZG_PROBE_RUN, grid->x_extent);
  uint64_t const y = row % grid->y_extent, z = row / grid->y_extent % grid->z_extent;
  for (uint64_t x = first; x < end; x++) {
    uint64_t const index = row * grid->x_extent + x;
    uint64_t const at[] = {x, y, z};
    int64_t point;
    if (!find_point(job, index, &point)) continue;
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
      probe_scale(job, index, at, point, scale, &job->counts[worker]);
  }
  return SZGPU_OK;
}

static szgpu_status take_probes(probe_job *job, szg_probe_costs *costs) {
  szg_write_job const *const frame = job->frame;
  int const thread_count = frame->request->thread_count;
  const szg_grid *const grid = &frame->grid;
  job->run_count = grid->value_count / grid->x_extent * szg_div_up(grid->x_extent, SZG_PROBE_RUN);
  job->probe_count = (uint32_t)szg_min_u64(job->run_count, SZG_PROBE_RUNS);
  szg_arena arena = {0};
  job->counts = szg_arena_take(&arena, (uint64_t)thread_count, sizeof *job->counts);
  SZG_TRY(szg_levels_arena_open(frame->ctx, &arena));
  job->counts = szg_arena_take(&arena, (uint64_t)thread_count, sizeof *job->counts);
  memset(job->counts, 0, (size_t)thread_count * sizeof *job->counts);
  SZG_TRY(szg_for_parts(&frame->ctx->threads, job->probe_count, 0, probe_run, job));
  uint32_t *const sums = &job->counts[0].of[0][0][0][0];
  for (int i = 1; i < thread_count; i++)
    for (size_t c = 0; c < sizeof *job->counts / sizeof *sums; c++)
      sums[c] += (&job->counts[i].of[0][0][0][0])[c];
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++)
      for (uint32_t set = 0; set < SZG_PROBE_SETS; set++)
        costs->of[scale][stencil][set] = szg_probe_cost(job->counts[0].of[scale][stencil][set]);
  return SZGPU_OK;
}

szgpu_status szg_levels_choose(szg_write_job *job, szg_levels_choice *choice) {
  probe_job probe = {.frame = job};
  uint32_t const frame_axes = job->grid.tile_z > 1 ? 3 : job->grid.tile_y > 1 ? 2 : 1;
  candidate way = {.axis_count = frame_axes, .level_count = usual_level_count(frame_axes), .unit_table = 1};
  choice->is_chosen = make_levels(job->bound, &job->grid, 1, &way, &probe.levels);
  if (!choice->is_chosen) return SZGPU_OK;
  probe.lattice = make_lattice(job->request->dtype, job->bound, &probe.levels);
  szg_probe_costs costs;
  SZG_TRY(take_probes(&probe, &costs));
  uint64_t best = UINT64_MAX;
  for (uint32_t axis_count = frame_axes; axis_count >= (frame_axes == 3 ? 2 : frame_axes); axis_count--)
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++)
      for (uint32_t r = 0; r < szg_ranking_count(axis_count); r++) {
        candidate other = {.axis_count = axis_count, .level_count = usual_level_count(axis_count), .unit_table = 1, .is_linear = stencil};
        szg_ranking(r, other.ranks);
        uint64_t const cost = szg_probe_frame_cost(&costs, axis_count, other.level_count, stencil, other.ranks);
        if (getenv("SZG_TRACE") && (r < 13)) fprintf(stderr, "d %u linear %u ranks(zyx) %d%d%d %.4f\n", axis_count, stencil, other.ranks[2], other.ranks[1], other.ranks[0], cost/65536.);
        if (cost < best) { best = cost; way = other; }
      }
  const uint32_t *zs = probe.counts[0].of[0][way.is_linear][way.axis_count == 1 ? 0 : way.axis_count == 2 ? 2 : 6];
  uint64_t tot = 0; for (int c = 0; c < SZG_PROBE_CLASSES; c++) tot += zs[c];
  double p0 = (double)zs[31] / (double)tot;
  way.unit_table = p0 > 0.9;
  if (getenv("SZG_TABLE")) way.unit_table = (uint32_t)atoi(getenv("SZG_TABLE"));
  szg_choice axes;
  SZG_TRY(szg_choose(&job->ctx->threads, &job->bound->quantizer, &job->grid, job->values,
                     SZG_COST_RADIUS, job->plan->tile.choice_work, &axes));
  double tile = (double)job->plan->tile.choice_work->costs[axes.axes] / 65536;
  uint64_t nt = 0; for (uint32_t i = 0; i < szg_sample_count(job->grid.tile_count); i++) nt += job->plan->tile.choice_work->tiles[i].value_count;
  tile /= (double)nt;
  if (getenv("SZG_TRACE")) fprintf(stderr, "p0 %.3f best d %u linear %d ranks(zyx) %d%d%d table %d est %.4f; tile floor %.4f\n", p0, way.axis_count, way.is_linear, way.ranks[2], way.ranks[1], way.ranks[0], way.unit_table, best/65536., tile);
  if (job->request->predictor == SZGPU_PREDICTOR_AUTO && best/65536. > tile) choice->is_chosen = false;
  if (!choice->is_chosen) return SZGPU_OK;
  if (!make_levels(job->bound, &job->grid, axes.axes, &way, &choice->levels)) choice->is_chosen = false;
  choice->lattice = make_lattice(job->request->dtype, job->bound, &choice->levels);
  return SZGPU_OK;
}
