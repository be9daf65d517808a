/* levels_choose.c - how a levels frame predicts: chosen by entropies on a sample of its points.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Short runs of points are taken from all over the frame (probes). A first pass over them ranks the
 * ways to interpolate; a second one finds what the best one costs, and what differences cost. A
 * line of values may also be folded into rows, if it repeats itself at some distance.
 */
#include "frames/levels.h"
#include "frames/write.h"
#include "predict/levels_choice_core.h"

/* Below this, halves of a fine step cost more than finer prediction gains. */
enum { LEAST_FINE_BITS = 4 };

static uint32_t frame_axes_of(const szg_grid *grid) {
  return grid->tile_z > 1 ? 3 : grid->tile_y > 1 ? 2 : 1;
}

/* Coarsest spacings of 32, 16 and 8 points. */
static uint32_t usual_level_count(uint32_t axis_count) {
  return axis_count == 1 ? 5 : axis_count == 2 ? 4 : 3;
}

/* Whether the margin of the step covers rounding to this lattice and back (docs/guarantees.md). */
static bool keeps_bound(const szg_bound_plan *bound, bool is_wide, double fine_step) {
  uint32_t const arithmetic = bound->quantizer.arithmetic;
  bool const is_close = arithmetic == SZG_ARITHMETIC_F32_CLOSE;
  bool const is_f32 = is_close || arithmetic == SZG_ARITHMETIC_F32;
  double const b = bound->quantizer.bound, greatest = bound->greatest;
  if (is_close && !(is_wide && b <= 0x1p-11 * greatest)) return false;
  if (arithmetic == SZG_ARITHMETIC_F64_WIDE && !is_wide) return false;
  /* Restored values are normal numbers or 0, or as near as such ones, and do not overflow. */
  if (is_f32 && !(greatest >= 0x1p-126 && greatest <= 0x1p126)) return false;
  if (!is_f32 && !(greatest <= 0x1p1020)) return false;
  double const least = is_f32 && !is_wide ? 0x1p-126 : 0x1p-960;
  return b <= 2 * greatest && fine_step >= least && fine_step <= 1 / least;
}

/* The finest lattice, narrow if possible, on which every value up to `greatest` has a lattice
 * value. False: there is none. */
static bool find_lattice(const szg_bound_plan *bound, szg_levels *levels) {
  uint32_t const most = levels->level_count ? SZG_LEVELS_MOST_FINE : 0;
  uint32_t const least = levels->level_count ? LEAST_FINE_BITS : 0;
  double const step = bound->quantizer.step;
  for (int is_wide = 0; is_wide <= 1; is_wide++) {
    double const limit = is_wide ? 0x1p50 : 0x1p22;
    for (uint32_t fine_bits = most + 1; fine_bits-- > least;) {
      double const parts = fine_bits ? (double)((1u << fine_bits) + 1) : 1.0;
      if (!keeps_bound(bound, is_wide, step / parts * (1 - 0x1p-10))) continue;
      if (!(bound->greatest / step * parts < limit * (1 - 0x1p-10))) continue;
      levels->is_wide = is_wide;
      levels->fine_bits = fine_bits;
      return true;
    }
  }
  return false;
}

/* ---- ways to predict ---- */

/* level_count 0: differences only, along base_axes. */
typedef struct szg_levels_way {
  uint32_t axis_count, level_count;
  uint64_t fold;
  uint32_t base_axes, unit_table;
  bool is_linear;
  uint8_t ranks[3];
} szg_levels_way;

/* Levels and lattice of a frame that goes this way. False: it cannot. */
static bool go(const szg_write_job *job, const szg_levels_way *way, szg_levels *levels,
               szg_levels_lattice *lattice) {
  const szg_quantizer *const quantizer = &job->bound->quantizer;
  if (!szg_levels_make(&job->grid, way->axis_count, way->fold, way->level_count, levels))
    return false;
  if (!find_lattice(job->bound, levels)) return false;
  levels->base_axes = way->level_count ? (1u << way->axis_count) - 1 : way->base_axes;
  levels->is_linear = way->is_linear;
  memcpy(levels->ranks, way->ranks, sizeof levels->ranks);
  for (uint32_t i = 0; i <= way->level_count; i++)
    levels->stages[i].unit =
        szg_level_unit(way->unit_table, way->level_count - i, levels->fine_bits);
  *lattice = szg_levels_lattice_make(job->request->dtype, levels->is_wide, levels->fine_bits,
                                     quantizer->step, quantizer->has_fill, quantizer->fill_bits);
  szg_levels_lattice_limit(job->bound->greatest, lattice);
  return true;
}

/* ---- probes ---- */

/* Counts of one pass, by class. */
typedef struct ranking_counts {
  uint32_t of[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_SETS][SZG_PROBE_CLASSES];
} ranking_counts;
typedef struct cost_counts {
  uint32_t of[SZG_PROBE_SCALES][SZG_PROBE_SETS][SZG_PROBE_CLASSES];
  uint32_t noisy[SZG_PROBE_TABLES][SZG_PROBE_SETS][SZG_PROBE_CLASSES];
  uint32_t differences[SZG_PROBE_SETS][SZG_PROBE_CLASSES];
} cost_counts;
typedef union probe_counts {
  ranking_counts ranking;
  cost_counts costs;
} probe_counts;

/* Points of the rows around a run, by distance: REACH before and after a run along x. */
enum { REACH = 12, ROW_POINTS = SZG_PROBE_RUN + 2 * REACH, DISTANCES = 6 };
static const uint8_t distances[DISTANCES] = {1, 2, 3, 4, 6, 12};
typedef struct probe_row {
  int64_t points[ROW_POINTS]; /* point x of the run at REACH + x */
  bool has[ROW_POINTS];
} probe_row;
typedef struct probe_rows {
  probe_row own;
  probe_row beside[2][2][DISTANCES]; /* along y and z; before and after */
  probe_row corner;                  /* one before along y and z */
} probe_rows;

/* A box of points along whose axes predictions run. */
typedef struct probe_entry {
  uint32_t set, used;
} probe_entry;
typedef struct probe_view {
  uint32_t axis_count;
  bool is_line; /* of values, folded or not */
  uint32_t entry_count;
  probe_entry entries[SZG_PROBE_SETS]; /* what is counted, by szg_probe_entry */
  uint64_t fold;
  uint64_t extents[3], strides[3];
  uint64_t row_count;
} probe_view;

typedef struct probe_job {
  const szg_write_job *frame;
  probe_view view;
  szg_levels_lattice lattice;
  uint32_t fine_bits;
  uint64_t run_count;   /* runs of the view */
  uint32_t probe_count; /* that are sampled */
  probe_rows *rows;     /* [threads] */
  probe_counts *counts; /* [threads] */
  szg_levels_way way;   /* second pass: the best by the first */
} probe_job;

static void set_entries(probe_view *view) {
  for (uint32_t set = 1; set < 1u << view->axis_count; set++)
    for (uint32_t used = 1; used <= set; used++) {
      uint32_t const entry = szg_probe_entry(view->is_line, set, used);
      if (used & ~set || entry < view->entry_count) continue;
      view->entries[entry] = (probe_entry){set, used};
    }
  view->entry_count = view->is_line && view->axis_count == 2 ? 5 : (1u << view->axis_count) - 1;
}

static probe_view view_of(const szg_grid *grid, uint64_t fold) {
  probe_view view = {.axis_count = frame_axes_of(grid),
                     .is_line = frame_axes_of(grid) == 1,
                     .extents = {grid->x_extent, grid->y_extent, grid->z_extent},
                     .strides = {1, grid->x_extent, grid->x_extent * grid->y_extent},
                     .row_count = grid->value_count / grid->x_extent};
  if (fold) {
    view.axis_count = 2;
    view.fold = fold;
    view.row_count = grid->value_count / fold;
    view.extents[0] = view.strides[1] = fold;
    view.extents[1] = view.row_count;
  }
  set_entries(&view);
  return view;
}

/* The i-th sampled run: multiples of the golden ratio, modulo 1, spread over all runs without ever
 * lining up with rows or planes. */
static uint64_t sampled_run(uint64_t run_count, uint64_t i) {
  uint64_t const fraction = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  return szg_mul_high_u64(fraction, run_count);
}

/* Points first - before to first + SZG_PROBE_RUN + before - 1 of a row. */
static void load_row(const probe_job *job, uint64_t row_index, uint64_t first, uint32_t before,
                     probe_row *row) {
  uint64_t const extent = job->view.extents[0];
  uint64_t const begin = first < before ? 0 : first - before;
  uint64_t const end = szg_min_u64(first + SZG_PROBE_RUN + before, extent);
  uint64_t const place = REACH + begin - first;
  memset(row->has, 0, sizeof row->has);
  szg_levels_points(&job->lattice, job->frame->values, row_index + begin, (uint32_t)(end - begin),
                    row->points + place, row->has + place);
}

/* All rows that predictions of a run need. at: of its first point; index: of that row's start. */
static void load_rows(const probe_job *job, const uint64_t at[3], uint64_t index,
                      probe_rows *rows) {
  const probe_view *const view = &job->view;
  load_row(job, index, at[0], REACH, &rows->own);
  for (uint32_t axis = 1; axis < view->axis_count; axis++) {
    for (uint32_t d = 0; d < DISTANCES; d++) {
      uint64_t const distance = distances[d], offset = distance * view->strides[axis];
      probe_row(*const pair)[DISTANCES] = rows->beside[axis - 1];
      pair[0][d].has[0] = pair[1][d].has[0] = false;
      if (at[axis] >= distance)
        load_row(job, index - offset, at[0], 1, &pair[0][d]);
      else
        memset(pair[0][d].has, 0, sizeof pair[0][d].has);
      if (at[axis] + distance < view->extents[axis])
        load_row(job, index + offset, at[0], 1, &pair[1][d]);
      else
        memset(pair[1][d].has, 0, sizeof pair[1][d].has);
    }
  }
  if (view->axis_count < 3) return;
  if (at[1] > 0 && at[2] > 0)
    load_row(job, index - view->strides[1] - view->strides[2], at[0], 1, &rows->corner);
  else
    memset(rows->corner.has, 0, sizeof rows->corner.has);
}

/* The neighbours along an axis of the point at `place` of its row. False: a near one is missing. */
static bool find_taps(const probe_rows *rows, uint32_t axis, uint32_t scale, uint32_t place,
                      szg_probe_taps *taps) {
  static const uint8_t near_entry[SZG_PROBE_SCALES] = {0, 1, 3}, far_entry[] = {2, 4, 5};
  for (uint32_t i = 0; i < 4; i++) {
    bool const is_after = i >= 2, is_far = i == 0 || i == 3;
    uint32_t const entry = is_far ? far_entry[scale] : near_entry[scale];
    const probe_row *row = &rows->own;
    uint32_t from = is_after ? place + distances[entry] : place - distances[entry];
    if (axis > 0) {
      row = &rows->beside[axis - 1][is_after][entry];
      from = place;
    }
    taps->at[i] = row->points[from];
    taps->has[i] = row->has[from];
  }
  return taps->has[1] && taps->has[2];
}

static uint32_t axes_in(uint32_t set) { return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1); }

static int64_t sum_over(uint32_t set, const int64_t sums[3]) {
  int64_t sum = 0;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (set >> axis & 1) sum += sums[axis];
  return sum;
}

static void count_rankings(const probe_job *job, const probe_rows *rows, uint32_t place,
                           ranking_counts *counts) {
  uint32_t const axis_count = job->view.axis_count;
  uint32_t const unit_bits = job->fine_bits - SZG_PROBE_FINE_BITS;
  /* Restoring adds about the error of rounding to this. */
  int64_t const noise_unit = szg_level_unit(1, 1, job->fine_bits) / 2;
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
    szg_probe_taps taps[3];
    bool is_inside = true;
    for (uint32_t axis = 0; axis < axis_count; axis++)
      is_inside &= find_taps(rows, axis, scale, place, &taps[axis]);
    if (!is_inside) continue;
    for (uint32_t axis = 0; axis < axis_count; axis++)
      for (uint32_t i = 0; i < 4; i++)
        taps[axis].at[i] = szg_probe_rounded(taps[axis].at[i], noise_unit);
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++) {
      int64_t sums[3] = {0};
      for (uint32_t axis = 0; axis < axis_count; axis++)
        sums[axis] = szg_probe_stencil(&taps[axis], stencil);
      uint32_t classes[1 + SZG_PROBE_SETS];
      for (uint32_t used = 1; used < 1u << axis_count; used++)
        classes[used] = szg_probe_class(szg_probe_code(
            rows->own.points[place], sum_over(used, sums), axes_in(used), unit_bits));
      for (uint32_t e = 0; e < job->view.entry_count; e++) {
        const probe_entry *const entry = &job->view.entries[e];
        if (szg_probe_fits(job->view.is_line, entry->set, place - REACH, scale))
          counts->of[scale][stencil][e][classes[entry->used]]++;
      }
    }
  }
}

/* Codes of the chosen way, and, at the finest scale, with neighbours as they would be restored. */
static void count_way(const probe_job *job, const probe_rows *rows, uint32_t place,
                      cost_counts *counts) {
  const szg_levels_way *const way = &job->way;
  int64_t const point = rows->own.points[place];
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
    szg_probe_taps taps[3];
    bool is_inside = true;
    for (uint32_t axis = 0; axis < job->view.axis_count; axis++)
      is_inside &= find_taps(rows, axis, scale, place, &taps[axis]);
    if (!is_inside) continue;
    int64_t sums[1 + SZG_PROBE_TABLES][3] = {{0}};
    for (uint32_t axis = 0; axis < way->axis_count; axis++) {
      sums[0][axis] = szg_probe_stencil(&taps[axis], way->is_linear);
      for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++) {
        szg_probe_taps rounded = taps[axis];
        for (uint32_t i = 0; i < 4; i++)
          rounded.at[i] =
              szg_probe_rounded(rounded.at[i], szg_level_unit(table, 1, job->fine_bits));
        sums[1 + table][axis] = szg_probe_stencil(&rounded, way->is_linear);
      }
    }
    for (uint32_t set = 1; set < 1u << way->axis_count; set++) {
      if (!szg_probe_fits(job->view.is_line, set, place - REACH, scale)) continue;
      uint32_t const used = szg_ranked_axes(set, way->ranks), count = axes_in(used);
      int64_t const code = szg_probe_code(point, sum_over(used, sums[0]), count, job->fine_bits);
      counts->of[scale][set - 1][szg_probe_class(code)]++;
      for (uint32_t table = 0; table < SZG_PROBE_TABLES && scale == 0; table++) {
        int64_t const noisy =
            szg_probe_code(point, sum_over(used, sums[1 + table]), count, job->fine_bits);
        counts->noisy[table][set - 1][szg_probe_class(noisy)]++;
      }
    }
  }
}

/* Differences of whole steps, along every set of axes. */
static void count_differences(const probe_job *job, const probe_rows *rows, uint32_t place,
                              cost_counts *counts) {
  uint32_t const axis_count = job->view.axis_count, fine_bits = job->fine_bits;
  const probe_row *const by_corner[] = {&rows->own, &rows->beside[0][0][0], &rows->beside[1][0][0],
                                        &rows->corner};
  int64_t multiples[8];
  for (uint32_t corner = 0; corner < 1u << axis_count; corner++) {
    const probe_row *const row = by_corner[corner >> 1];
    uint32_t const at = place - (corner & 1);
    if (!row->has[at]) return;
    multiples[corner] = (row->points[at] + ((int64_t)1 << fine_bits >> 1)) >> fine_bits;
  }
  for (uint32_t set = 1; set < 1u << axis_count; set++) {
    int64_t difference = 0;
    for (uint32_t corner = 0; corner < 1u << axis_count; corner++)
      if (!(corner & ~set))
        difference += axes_in(corner) % 2 ? -multiples[corner] : multiples[corner];
    counts->differences[set - 1][szg_probe_class(difference)]++;
  }
}

/* Loads the rows of run i. Returns how many points it has. */
static uint32_t load_run(const probe_job *job, uint64_t i, probe_rows *rows) {
  const probe_view *const view = &job->view;
  uint64_t const runs_of_row = szg_div_up(view->extents[0], SZG_PROBE_RUN);
  uint64_t const run = sampled_run(job->run_count, i);
  uint64_t const row = run / runs_of_row;
  uint64_t const at[] = {run % runs_of_row * SZG_PROBE_RUN, row % view->extents[1],
                         row / view->extents[1] % view->extents[2]};
  load_rows(job, at, row * view->extents[0], rows);
  return (uint32_t)szg_min_u64(SZG_PROBE_RUN, view->extents[0] - at[0]);
}

static szgpu_status rank_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  probe_rows *const rows = &job->rows[worker];
  uint32_t const end = REACH + load_run(job, i, rows);
  for (uint32_t place = REACH; place < end; place++)
    if (rows->own.has[place]) count_rankings(job, rows, place, &job->counts[worker].ranking);
  return SZGPU_OK;
}

static szgpu_status cost_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  probe_rows *const rows = &job->rows[worker];
  uint32_t const end = REACH + load_run(job, i, rows);
  for (uint32_t place = REACH; place < end; place++) {
    if (!rows->own.has[place]) continue;
    count_way(job, rows, place, &job->counts[worker].costs);
    count_differences(job, rows, place, &job->counts[worker].costs);
  }
  return SZGPU_OK;
}

/* Runs a pass; the sums over all threads are then in counts[0]. */
static szgpu_status take_probes(probe_job *job, szg_part_function pass) {
  int const thread_count = job->frame->request->thread_count;
  memset(job->counts, 0, (size_t)thread_count * sizeof *job->counts);
  SZG_TRY(szg_for_parts(&job->frame->ctx->threads, job->probe_count, 0, pass, job));
  uint32_t *const sums = (uint32_t *)(void *)job->counts;
  size_t const count = sizeof *job->counts / sizeof *sums;
  for (size_t i = 1; i < (size_t)thread_count; i++)
    for (size_t c = 0; c < count; c++) sums[c] += sums[i * count + c];
  return SZGPU_OK;
}

/* ---- what the probes say ---- */

/* What a value costs, in units of 2^-16 bits. */
typedef struct finding {
  szg_levels_way interpolation, differences;
  uint64_t interpolation_cost;
  uint64_t differences_cost; /* in the coder of levels frames */
  uint64_t tile_cost;        /* in that of tile frames */
} finding;

/* The cheapest way to interpolate along this many axes, if it beats *cost. */
static void rank_ways(const ranking_counts *counts, const probe_view *view, uint32_t axis_count,
                      szg_levels_way *best, uint64_t *best_cost) {
  uint32_t const level_count = usual_level_count(axis_count);
  for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++) {
    uint64_t costs[SZG_PROBE_SCALES][SZG_PROBE_SETS];
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
      for (uint32_t set = 0; set < SZG_PROBE_SETS; set++)
        costs[scale][set] = szg_probe_cost_of(counts->of[scale][stencil][set]).entropy;
    for (uint32_t r = 0; r < szg_ranking_count(axis_count); r++) {
      szg_levels_way way = {.axis_count = axis_count,
                            .level_count = level_count,
                            .fold = view->fold,
                            .is_linear = stencil};
      szg_ranking(r, way.ranks);
      uint64_t levels[SZG_PROBE_SCALES];
      for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
        levels[scale] = szg_probe_level_cost(costs[scale], view->is_line, axis_count, way.ranks);
      uint64_t const cost = szg_probe_frame_cost(levels, axis_count, level_count);
      if (cost >= *best_cost) continue;
      *best = way;
      *best_cost = cost;
    }
  }
}

/* The sum over the classes of the way's axes. */
static uint64_t sum_classes(const uint32_t (*counts)[SZG_PROBE_CLASSES], uint32_t axis_count) {
  uint64_t sum = 0;
  for (uint32_t set = 1; set < 1u << axis_count; set++)
    sum += szg_probe_cost_of(counts[set - 1]).entropy;
  return sum;
}

static void judge_way(const cost_counts *counts, szg_levels_way *way, uint64_t *cost) {
  uint64_t levels[SZG_PROBE_SCALES], noisy[SZG_PROBE_TABLES];
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
    levels[scale] = sum_classes(counts->of[scale], way->axis_count);
  for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
    noisy[table] = sum_classes(counts->noisy[table], way->axis_count);
  way->unit_table = szg_finer_units_pay(noisy, levels[1], way->axis_count);
  levels[0] = noisy[way->unit_table];
  *cost = szg_probe_frame_cost(levels, way->axis_count, way->level_count);
}

/* Along a set of axes, with the first points of a tile along each, which lack a neighbour there. */
static szg_probe_cost cost_in_tiles(const szg_probe_cost *costs, const probe_view *view,
                                    uint32_t set) {
  static const uint8_t shares_3d[] = {5, 3, 4}, shares_2d[] = {6, 6}, shares_1d[] = {12};
  const uint8_t *const shares = view->axis_count == 3   ? shares_3d
                                : view->axis_count == 2 ? shares_2d
                                                        : shares_1d; /* log2 of extents */
  szg_probe_cost sum = costs[set];
  for (uint32_t axis = 0; axis < view->axis_count; axis++) {
    if (!(set >> axis & 1)) continue;
    const szg_probe_cost *const less = &costs[set & ~(1u << axis)];
    sum.entropy += (less->entropy >> shares[axis]) - (costs[set].entropy >> shares[axis]);
    sum.floor += (less->floor >> shares[axis]) - (costs[set].floor >> shares[axis]);
  }
  return sum;
}

/* Bits of a multiple of the step that nothing predicts. */
static uint64_t bits_of_value(const szg_bound_plan *bound) {
  double const steps = bound->value_range / bound->quantizer.step;
  uint64_t bits = 1;
  for (double limit = 2; limit < steps && bits < 64; limit *= 2) bits++;
  return bits;
}

static void judge_differences(const cost_counts *counts, const szg_bound_plan *bound,
                              const probe_view *view, finding *found) {
  szg_probe_cost costs[1 + SZG_PROBE_SETS]; /* by set */
  costs[0].entropy = costs[0].floor = bits_of_value(bound) << SZG_LOG_FRACTION_BITS;
  for (uint32_t set = 1; set < 1u << view->axis_count; set++)
    costs[set] = szg_probe_cost_of(counts->differences[set - 1]);
  found->differences =
      (szg_levels_way){.axis_count = view->axis_count, .fold = view->fold, .base_axes = 1};
  found->differences_cost = found->tile_cost = UINT64_MAX;
  for (uint32_t set = 1; set < 1u << view->axis_count; set++) {
    szg_probe_cost const cost = cost_in_tiles(costs, view, set);
    if (cost.floor < found->tile_cost) found->tile_cost = cost.floor;
    if (cost.entropy >= found->differences_cost) continue;
    found->differences_cost = cost.entropy;
    found->differences.base_axes = set;
  }
}

/* Judges the ways that view the frame so. False: none is possible. */
static szgpu_status judge_view(const szg_write_job *job, uint64_t fold, probe_job *probe,
                               finding *found, bool *is_possible) {
  szg_levels levels;
  probe->view = view_of(&job->grid, fold);
  szg_levels_way const natural = {.axis_count = probe->view.axis_count,
                                  .level_count = usual_level_count(probe->view.axis_count),
                                  .fold = fold};
  *is_possible = go(job, &natural, &levels, &probe->lattice);
  if (!*is_possible) return SZGPU_OK;
  probe->fine_bits = levels.fine_bits;
  probe->run_count = probe->view.row_count * szg_div_up(probe->view.extents[0], SZG_PROBE_RUN);
  uint64_t const share = job->grid.value_count / (SZG_PROBE_RUN * SZG_PROBE_SHARE);
  uint64_t const wanted = share < SZG_LEAST_PROBES ? SZG_LEAST_PROBES : share;
  probe->probe_count =
      (uint32_t)szg_min_u64(probe->run_count, szg_min_u64(wanted, SZG_MOST_PROBES));
  SZG_TRY(take_probes(probe, rank_run));
  uint64_t cost = UINT64_MAX;
  const ranking_counts *const counts = &probe->counts[0].ranking;
  rank_ways(counts, &probe->view, probe->view.axis_count, &probe->way, &cost);
  if (probe->view.axis_count == 3) rank_ways(counts, &probe->view, 2, &probe->way, &cost);
  SZG_TRY(take_probes(probe, cost_run));
  found->interpolation = probe->way;
  judge_way(&probe->counts[0].costs, &found->interpolation, &found->interpolation_cost);
  judge_differences(&probe->counts[0].costs, job->bound, &probe->view, found);
  return SZGPU_OK;
}

/* ---- folds ---- */

/* A line of values that repeats itself, such as atoms in the order of a lattice, is best predicted
 * from a period before. Periods up to MOST_FOLD are tried on runs of the sample. */
enum { MOST_FOLD = 1024, FOLD_RUNS = 16, LEAST_FOLDED_ROWS = 64, MOST_STEP_WIDTH = 63 };

typedef struct fold_scores {
  uint64_t of[MOST_FOLD + 1];
  int64_t points[MOST_FOLD + SZG_PROBE_RUN];
  bool has[MOST_FOLD + SZG_PROBE_RUN];
} fold_scores;

/* The difference of two points in whole steps, as far as it matters. */
static uint64_t distance_of(int64_t a, int64_t b, uint32_t fine_bits) {
  int64_t const difference = a - b;
  uint64_t const magnitude = difference < 0 ? 0 - (uint64_t)difference : (uint64_t)difference;
  return szg_min_u64(magnitude >> fine_bits, MOST_STEP_WIDTH);
}

/* The shortest period at which values differ about least, if clearly less than from value to value;
 * else 0. */
static uint64_t find_fold(const probe_job *job, const szg_grid *grid, fold_scores *scores) {
  uint64_t const most = szg_min_u64(MOST_FOLD, grid->value_count / LEAST_FOLDED_ROWS);
  if (most < 2) return 0;
  memset(scores->of, 0, sizeof scores->of);
  uint64_t const starts = grid->value_count - most - SZG_PROBE_RUN;
  for (uint64_t i = 0; i < FOLD_RUNS; i++) {
    szg_levels_points(&job->lattice, job->frame->values, sampled_run(starts, i),
                      (uint32_t)most + SZG_PROBE_RUN, scores->points, scores->has);
    for (uint64_t fold = 1; fold <= most; fold++)
      for (uint64_t p = most; p < most + SZG_PROBE_RUN; p++)
        scores->of[fold] +=
            scores->has[p] && scores->has[p - fold]
                ? distance_of(scores->points[p], scores->points[p - fold], job->fine_bits)
                : 0;
  }
  uint64_t least = scores->of[1];
  for (uint64_t fold = 2; fold <= most; fold++) least = szg_min_u64(least, scores->of[fold]);
  if (least >= scores->of[1] - scores->of[1] / 4) return 0;
  uint64_t fold = 2; /* multiples of a period are as good */
  while (scores->of[fold] > least + least / 4) fold++;
  return fold;
}

/* ---- the choice ---- */

static void carve(szg_arena *arena, const szg_write_job *job, probe_job *probe,
                  fold_scores **scores) {
  uint64_t const threads = (uint64_t)job->request->thread_count;
  bool const may_fold = frame_axes_of(&job->grid) == 1;
  probe->rows = szg_arena_take(arena, threads, sizeof *probe->rows);
  probe->counts = szg_arena_take(arena, threads, sizeof *probe->counts);
  *scores = may_fold ? szg_arena_take(arena, 1, sizeof **scores) : NULL;
}

/* The way that is small enough to be worth its time; NULL: tile frames. folded: NULL if there is no
 * fold. What a fold costs varies more over a frame, so it must save more. */
static const szg_levels_way *pick(szgpu_predictor predictor, const finding *plain,
                                  const finding *folded) {
  uint64_t const cost = plain->interpolation_cost;
  bool const folds = folded && folded->interpolation_cost < cost - (cost >> 3);
  const finding *const best = folds ? folded : plain;
  if (predictor == SZGPU_PREDICTOR_INTERPOLATION) return &best->interpolation;
  bool const folds_differences = folded && folded->differences_cost < plain->differences_cost &&
                                 folded->differences_cost < cost - (cost >> 4);
  const finding *const lesser = folds_differences ? folded : plain;
  if (szg_saves_enough(best->interpolation_cost, plain->tile_cost) &&
      szg_saves_enough(best->interpolation_cost, lesser->differences_cost))
    return &best->interpolation;
  return szg_saves_enough(lesser->differences_cost, plain->tile_cost) ? &lesser->differences : NULL;
}

szgpu_status szg_levels_choose(szg_write_job *job, szg_levels_choice *choice) {
  probe_job probe = {.frame = job};
  fold_scores *scores;
  szg_arena arena = {0};
  carve(&arena, job, &probe, &scores);
  SZG_TRY(szg_levels_arena_open(job->ctx, &arena));
  carve(&arena, job, &probe, &scores);
  finding plain, folded;
  bool has_fold = false;
  SZG_TRY(judge_view(job, 0, &probe, &plain, &choice->is_chosen));
  if (!choice->is_chosen) return SZGPU_OK;
  uint64_t const fold = scores ? find_fold(&probe, &job->grid, scores) : 0;
  if (fold) SZG_TRY(judge_view(job, fold, &probe, &folded, &has_fold));
  const szg_levels_way *const way =
      pick(job->request->predictor, &plain, has_fold ? &folded : NULL);
  choice->is_chosen = way && go(job, way, &choice->levels, &choice->lattice);
  return SZGPU_OK;
}
