/* levels_probe.c - samples a frame's points and counts what each way to predict makes of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/levels_probe.h"

#include <assert.h>

#include "codecs/interpolation/levels_lattice.h"
#include "core/bytes.h"
#include "core/dispatch.h"

/* Rows around a run, by distance: REACH points before and after a run along x. */
enum {
  REACH = 20,
  ROW_POINTS = SZG_PROBE_RUN + 2 * REACH,
  DISTANCES = 9,
  FIRST_PASS_DISTANCES = 6,
  MOST_NEAR = 1 << (SZG_PROBE_SCALES - 1)
};
static const uint8_t distances[DISTANCES] = {1, 2, 3, 4, 6, 12, 5, 10, 20};
static const uint8_t scales[DISTANCES] = {0, 1, 0, 2, 1, 2, 0, 1, 2}; /* that need them */
static const uint8_t near_entries[SZG_PROBE_SCALES] = {0, 1, 3}, far_entries[] = {2, 4, 5},
                     outer_entries[] = {6, 7, 8};

typedef struct probe_job {
  const szg_probe_source *source;
  szg_probe_view view;
  szg_levels_way way; /* second pass: the best by the first */
  szg_probe_work *workers;
} probe_job;

/* ---- counts ---- */

/* Points of a run that are not counted have NO_CLASS, which has a count too. */
enum { NO_CLASS = 127, CLASSES = 128 };
typedef uint16_t class_counts[CLASSES];
static_assert(SZG_MOST_LARGE_PROBES * SZG_PROBE_RUN <= UINT16_MAX,
              "all points may be of one class");

/* Counts of one pass. */
typedef struct entry_counts {
  class_counts of[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_ENTRIES];
} entry_counts;
typedef struct way_counts {
  class_counts scales[SZG_PROBE_SCALES][SZG_PROBE_SETS];
  class_counts disturbed[SZG_PROBE_SCALES][SZG_PROBE_SETS];
  class_counts blended[SZG_PROBE_SCALES][SZG_PROBE_SETS];
  class_counts noisy[SZG_PROBE_TABLES][SZG_PROBE_SETS];
  class_counts differences[SZG_PROBE_SETS];
} way_counts;

/* Classes of one scale in the second pass. */
typedef struct way_classes {
  uint8_t own[SZG_PROBE_SETS][SZG_PROBE_RUN];
  uint8_t disturbed[SZG_PROBE_SETS][SZG_PROBE_RUN], blended[SZG_PROBE_SETS][SZG_PROBE_RUN];
} way_classes;

/* Takes the sets in turn, so that equal classes do not wait for each other. */
static void count_sets(uint32_t set_count, uint32_t width, uint8_t (*classes)[SZG_PROBE_RUN],
                       class_counts *counts) {
  for (uint32_t x = 0; x < width; x++)
    for (uint32_t set = 0; set < set_count; set++) counts[set][classes[set][x]]++;
}

/* ---- passes ---- */

/* What of a run can be predicted: neighbours are missing near the ends of the axes. */
typedef struct run_parts {
  bool has_scale[SZG_PROBE_SCALES];
  bool has_differences;
} run_parts;

static run_parts parts_of(const szg_probe_view *view, const szg_probe_run *run) {
  run_parts parts = {.has_differences = true};
  for (uint32_t axis = 1; axis < view->axis_count; axis++)
    parts.has_differences &= run->at[axis] > 0;
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
    uint64_t const near = (uint64_t)1 << scale;
    parts.has_scale[scale] = view->extents[0] > 2 * near;
    for (uint32_t axis = 1; axis < view->axis_count; axis++)
      parts.has_scale[scale] &= run->at[axis] >= near && run->at[axis] + near < view->extents[axis];
  }
  return parts;
}

/* Asks for the values of a run that is likely to be looked at soon. They are all over the frame, so
 * the processor does not foresee them. */
static void fetch_rows(const probe_job *job, uint64_t i) {
  enum { LINE_BYTES = 64, LEAST_FETCHED = 1 << 15 /* fewer values are in a cache */ };
  const szg_probe_view *const view = &job->view;
  if (i >= view->probe_count || job->source->grid.value_count < LEAST_FETCHED) return;
  szg_probe_run const run = szg_probe_run_of(view, i);
  size_t const value_bytes = szg_dtype_bytes(job->source->lattice.dtype);
  const char *const values = job->source->values;
  for (uint32_t axis = 1; axis < view->axis_count; axis++)
    for (uint32_t d = 0; d < DISTANCES; d++) {
      uint64_t const offset = distances[d] * view->strides[axis];
      bool const has_before = run.at[axis] >= distances[d];
      bool const has_after = run.at[axis] + distances[d] < view->extents[axis];
      for (size_t byte = 0; byte < run.point_count * value_bytes; byte += LINE_BYTES) {
        if (has_before) __builtin_prefetch(values + (run.index - offset) * value_bytes + byte);
        if (has_after) __builtin_prefetch(values + (run.index + offset) * value_bytes + byte);
      }
    }
}

/* Points that are taken at once: the run's, rounded up. */
static uint32_t width_of(const szg_probe_run *run) {
  return run->point_count <= 16 ? 16 : SZG_PROBE_RUN;
}

#define DIVIDES szg_levels_rounds_by_division
#define POINT int32_t
#define UPOINT uint32_t
#define FLOAT float
#define FRACTION_BITS 23
#define EXPONENT_BIAS 127
#define LATTICE_F32 szg_levels_point_f32
#define LATTICE_F64 szg_levels_point_f64
#define SUFFIX 32
#include "codecs/interpolation/levels_probe_rows.inc"

#define DIVIDES(unit) false /* wide points are too large for it */
#define POINT int64_t
#define UPOINT uint64_t
#define FLOAT double
#define FRACTION_BITS 52
#define EXPONENT_BIAS 1023
#define LATTICE_F32 szg_levels_point_f32_wide
#define LATTICE_F64 szg_levels_point_f64_wide
#define SUFFIX 64
#include "codecs/interpolation/levels_probe_rows.inc"

struct szg_probe_work {
  union {
    probe_rows_32 i32;
    probe_rows_64 i64;
  } rows;
  union {
    entry_counts entries;
    way_counts way;
  } counts;
};

enum { WINDOW_POINTS = SZG_MOST_FOLD + SZG_PROBE_RUN };
struct szg_fold_work {
  uint32_t scores[SZG_MOST_FOLD + 1]; /* by period */
  union {
    int32_t i32[WINDOW_POINTS];
    int64_t i64[WINDOW_POINTS];
  } points, has;
};

static szgpu_status rank_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  szg_probe_work *const work = &job->workers[worker];
  if (job->source->lattice.is_wide)
    rank_run_64(job, i, &work->rows.i64, &work->counts.entries);
  else
    rank_run_32(job, i, &work->rows.i32, &work->counts.entries);
  return SZGPU_OK;
}

static szgpu_status cost_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  szg_probe_work *const work = &job->workers[worker];
  if (job->source->lattice.is_wide)
    cost_run_64(job, i, &work->rows.i64, &work->counts.way);
  else
    cost_run_32(job, i, &work->rows.i32, &work->counts.way);
  return SZGPU_OK;
}

/* Runs a pass; the sums over all threads are then in the first worker's counts. */
static szgpu_status take_probes(szg_threads *threads, probe_job *job, szg_part_function pass) {
  size_t const count_bytes = sizeof job->workers->counts;
  for (int i = 0; i < threads->count; i++) memset(&job->workers[i].counts, 0, count_bytes);
  SZG_TRY(szg_for_parts(threads, job->view.probe_count, 0, pass, job));
  uint16_t *const sums = (uint16_t *)(void *)&job->workers[0].counts;
  for (int i = 1; i < threads->count; i++) {
    const uint16_t *const counts = (const uint16_t *)(const void *)&job->workers[i].counts;
    for (size_t c = 0; c < count_bytes / sizeof *sums; c++)
      sums[c] = (uint16_t)(sums[c] + counts[c]);
  }
  return SZGPU_OK;
}

/* ---- findings ---- */

/* The sums over the classes, most of which have no points, as a rule. */
static szg_probe_sums sum_classes(const uint16_t *counts) {
  enum { AT_ONCE = sizeof(uint64_t) / sizeof *counts };
  static_assert(SZG_PROBE_CLASSES % AT_ONCE == 0, "whole groups");
  uint64_t found[SZG_PROBE_CLASSES];
  uint32_t found_count = 0;
  szg_probe_sums sums = {0, 0, 0};
  for (uint32_t first = 0; first < SZG_PROBE_CLASSES; first += AT_ONCE) {
    uint64_t any;
    memcpy(&any, counts + first, sizeof any);
    if (!any) continue;
    for (uint32_t c = first; c < first + AT_ONCE; c++) {
      found[found_count++] = counts[c];
      sums.total += counts[c];
      sums.raw_bits += (uint64_t)counts[c] * szg_probe_raw_bits(c);
    }
  }
  sums.logs = szg_logs_of(found, found_count);
  return sums;
}

static uint64_t entropy_of(const uint16_t *counts) {
  szg_probe_sums const sums = sum_classes(counts);
  return sums.total ? szg_probe_entropy_of(&sums, szg_logs_of(&sums.total, 1)) : 0;
}

/* The number of the cheapest way. */
static uint32_t find_way(entry_counts *counts, const szg_probe_view *view) {
  szg_entry_costs costs;
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++)
      for (uint32_t entry = 0; entry < SZG_PROBE_ENTRIES; entry++)
        costs.of[scale][stencil][entry] = entropy_of(counts->of[scale][stencil][entry]);
  uint32_t best = 0;
  uint64_t best_cost = UINT64_MAX;
  for (uint32_t number = 0; number < szg_way_count(view->axis_count); number++) {
    uint64_t const cost = szg_way_cost(view, number, &costs);
    if (cost >= best_cost) continue;
    best = number;
    best_cost = cost;
  }
  return best;
}

static void find_costs(way_counts *counts, szg_probe_found *found) {
  for (uint32_t i = 0; i < SZG_PROBE_SETS; i++) {
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
      found->scales[scale][i] = entropy_of(counts->scales[scale][i]);
      found->disturbed[scale][i] = entropy_of(counts->disturbed[scale][i]);
      found->blended[scale][i] = entropy_of(counts->blended[scale][i]);
    }
    for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
      found->noisy[table][i] = entropy_of(counts->noisy[table][i]);
    szg_probe_sums const sums = sum_classes(counts->differences[i]);
    found->differences[i] =
        szg_probe_differences_cost(&sums, counts->differences[i][SZG_PROBE_ZERO]);
  }
}

static szgpu_status probe_view(szg_threads *threads, const szg_probe_source *source, uint64_t fold,
                               szg_probe_work *workers, szg_probe_found *found) {
  probe_job job = {.source = source, .workers = workers};
  job.view = szg_probe_view_of(&source->grid, fold);
  SZG_TRY(take_probes(threads, &job, rank_run));
  found->way_number = find_way(&workers[0].counts.entries, &job.view);
  job.way = szg_way(&job.view, found->way_number);
  SZG_TRY(take_probes(threads, &job, cost_run));
  find_costs(&workers[0].counts.way, found);
  return SZGPU_OK;
}

/* The shortest period at which values differ about least, if clearly less than from value to value;
 * else 0. */
static uint32_t find_fold(const szg_probe_source *source, szg_fold_work *work) {
  uint32_t const most = (uint32_t)szg_most_fold(&source->grid);
  if (most < 2) return 0;
  memset(work->scores, 0, sizeof work->scores);
  if (source->lattice.is_wide)
    score_folds_64(source, most, work->points.i64, work->has.i64, work->scores);
  else
    score_folds_32(source, most, work->points.i32, work->has.i32, work->scores);
  uint32_t least = work->scores[1];
  for (uint64_t fold = 2; fold <= most; fold++)
    if (work->scores[fold] < least) least = work->scores[fold];
  if (!szg_fold_pays(least, work->scores[1])) return 0;
  uint32_t fold = 2;
  while (!szg_fold_is_about_best(work->scores[fold], least)) fold++;
  return fold;
}

/* ---- the interface ---- */

void szg_levels_probe_carve(szg_arena *arena, const szg_grid *grid, int thread_count,
                            szg_probe_plan *plan) {
  plan->workers = szg_arena_take(arena, (uint64_t)thread_count, sizeof *plan->workers);
  plan->fold = szg_most_fold(grid) < 2 ? NULL : szg_arena_take(arena, 1, sizeof *plan->fold);
}

szgpu_status szg_levels_probe(szg_threads *threads, const szg_probe_source *source,
                              const szg_probe_plan *plan, szg_probes *probes) {
  SZG_TRY(probe_view(threads, source, 0, plan->workers, &probes->plain));
  probes->fold = plan->fold ? find_fold(source, plan->fold) : 0;
  return probes->fold ? probe_view(threads, source, probes->fold, plan->workers, &probes->folded)
                      : SZGPU_OK;
}
