/* levels_probe.c - samples a frame's points and counts what each way to predict makes of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/levels_probe.h"

#include "core/bytes.h"

/* ---- points around a run ---- */

/* Rows around a run, by distance: REACH points before and after a run along x. */
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

/* Counts of one pass. */
typedef struct entry_counts {
  szg_probe_counts of[SZG_PROBE_SCALES][SZG_PROBE_STENCILS][SZG_PROBE_ENTRIES];
} entry_counts;
typedef struct way_counts {
  szg_probe_counts scales[SZG_PROBE_SCALES][SZG_PROBE_SETS];
  szg_probe_counts noisy[SZG_PROBE_TABLES][SZG_PROBE_SETS];
  szg_probe_counts differences[SZG_PROBE_SETS];
} way_counts;

struct szg_probe_work {
  probe_rows rows;
  union {
    entry_counts entries;
    way_counts way;
  } counts;
};

struct szg_fold_work {
  uint32_t scores[SZG_MOST_FOLD + 1]; /* by period */
  int64_t points[SZG_MOST_FOLD + SZG_PROBE_RUN];
  bool has[SZG_MOST_FOLD + SZG_PROBE_RUN];
};

typedef struct probe_job {
  const szg_probe_source *source;
  szg_probe_view view;
  szg_levels_way way; /* second pass: the best by the first */
  szg_probe_work *workers;
} probe_job;

/* Points first - before to first + SZG_PROBE_RUN + before - 1 of a row, as far as it has them. */
static void load_row(const probe_job *job, uint64_t row_index, uint64_t first, uint32_t before,
                     probe_row *row) {
  uint64_t const begin = first < before ? 0 : first - before;
  uint64_t const end = szg_min_u64(first + SZG_PROBE_RUN + before, job->view.extents[0]);
  uint64_t const place = REACH + begin - first;
  memset(row->has, 0, sizeof row->has);
  szg_levels_points(&job->source->lattice, job->source->values, row_index + begin,
                    (uint32_t)(end - begin), row->points + place, row->has + place);
}

static void load_row_if(bool exists, const probe_job *job, uint64_t row_index, uint64_t first,
                        probe_row *row) {
  if (exists)
    load_row(job, row_index, first, 1, row);
  else
    memset(row->has, 0, sizeof row->has);
}

/* All rows that predictions of a run need. */
static void load_rows(const probe_job *job, const szg_probe_run *run, probe_rows *rows) {
  const szg_probe_view *const view = &job->view;
  const uint64_t *const at = run->at, *const strides = view->strides;
  uint64_t const index = run->index - at[0]; /* of the row's start */
  load_row(job, index, at[0], REACH, &rows->own);
  for (uint32_t axis = 1; axis < view->axis_count; axis++) {
    probe_row(*const pair)[DISTANCES] = rows->beside[axis - 1];
    for (uint32_t d = 0; d < DISTANCES; d++) {
      uint64_t const distance = distances[d], offset = distance * strides[axis];
      bool const is_after_inside = at[axis] + distance < view->extents[axis];
      load_row_if(at[axis] >= distance, job, index - offset, at[0], &pair[0][d]);
      load_row_if(is_after_inside, job, index + offset, at[0], &pair[1][d]);
    }
  }
  if (view->axis_count == 3)
    load_row_if(at[1] > 0 && at[2] > 0, job, index - strides[1] - strides[2], at[0], &rows->corner);
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

/* Point x of a run, with its neighbours. False: it counts for nothing. */
static bool find_point(const probe_job *job, const probe_rows *rows, const szg_probe_run *run,
                       uint32_t x, uint32_t scale, szg_probe_point *point) {
  bool is_inside = rows->own.has[REACH + x];
  memcpy(point->at, run->at, sizeof point->at);
  point->at[0] += x;
  point->value = rows->own.points[REACH + x];
  for (uint32_t axis = 0; axis < job->view.axis_count && is_inside; axis++)
    is_inside = find_taps(rows, axis, scale, REACH + x, &point->taps[axis]);
  return is_inside;
}

/* The point and those before it along each set of axes. False: one is missing. */
static bool find_corners(const probe_job *job, const probe_rows *rows, uint32_t x,
                         int64_t corners[1 + SZG_PROBE_SETS]) {
  const probe_row *const by_corner[] = {&rows->own, &rows->beside[0][0][0], &rows->beside[1][0][0],
                                        &rows->corner};
  for (uint32_t corner = 0; corner < 1u << job->view.axis_count; corner++) {
    const probe_row *const row = by_corner[corner >> 1];
    uint32_t const place = REACH + x - (corner & 1);
    if (!row->has[place]) return false;
    corners[corner] = row->points[place];
  }
  return true;
}

/* ---- passes ---- */

static szgpu_status rank_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  szg_probe_work *const work = &job->workers[worker];
  szg_probe_run const run = szg_probe_run_of(&job->view, i);
  load_rows(job, &run, &work->rows);
  for (uint32_t x = 0; x < run.point_count; x++)
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
      szg_probe_point point;
      if (find_point(job, &work->rows, &run, x, scale, &point))
        szg_probe_count_entries(&job->view, job->source->fine_bits, scale, &point,
                                work->counts.entries.of[scale]);
    }
  return SZGPU_OK;
}

static szgpu_status cost_run(void *job_pointer, uint64_t i, int worker) {
  const probe_job *const job = job_pointer;
  szg_probe_work *const work = &job->workers[worker];
  way_counts *const counts = &work->counts.way;
  uint32_t const fine_bits = job->source->fine_bits;
  bool const is_line = job->view.is_line;
  szg_probe_run const run = szg_probe_run_of(&job->view, i);
  load_rows(job, &run, &work->rows);
  for (uint32_t x = 0; x < run.point_count; x++) {
    szg_probe_point point;
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
      if (find_point(job, &work->rows, &run, x, scale, &point))
        szg_probe_count_way(is_line, &job->way, fine_bits, scale, &point, counts->scales[scale]);
    for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
      if (find_point(job, &work->rows, &run, x, 0, &point))
        szg_probe_count_noisy(is_line, &job->way, fine_bits, table, &point, counts->noisy[table]);
    int64_t corners[1 + SZG_PROBE_SETS];
    if (find_corners(job, &work->rows, x, corners))
      szg_probe_count_differences(job->view.axis_count, fine_bits, corners, counts->differences);
  }
  return SZGPU_OK;
}

/* Runs a pass; the sums over all threads are then in the first worker's counts. */
static szgpu_status take_probes(szg_threads *threads, probe_job *job, szg_part_function pass) {
  size_t const count_bytes = sizeof job->workers->counts;
  for (int i = 0; i < threads->count; i++) memset(&job->workers[i].counts, 0, count_bytes);
  SZG_TRY(szg_for_parts(threads, job->view.probe_count, 0, pass, job));
  uint32_t *const sums = (uint32_t *)(void *)&job->workers[0].counts;
  for (int i = 1; i < threads->count; i++) {
    const uint32_t *const counts = (const uint32_t *)(const void *)&job->workers[i].counts;
    for (size_t c = 0; c < count_bytes / sizeof *sums; c++) sums[c] += counts[c];
  }
  return SZGPU_OK;
}

/* ---- findings ---- */

static szg_probe_cost cost_of(const uint32_t *counts) {
  szg_probe_sums sums = {0};
  for (uint32_t c = 0; c < SZG_PROBE_CLASSES; c++) szg_probe_sums_add(&sums, c, counts[c]);
  return szg_probe_cost_of(&sums, counts[SZG_PROBE_ZERO]);
}

/* The number of the cheapest way. */
static uint32_t find_way(const entry_counts *counts, const szg_probe_view *view) {
  szg_entry_costs costs;
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
    for (uint32_t stencil = 0; stencil < SZG_PROBE_STENCILS; stencil++)
      for (uint32_t entry = 0; entry < SZG_PROBE_ENTRIES; entry++)
        costs.of[scale][stencil][entry] = cost_of(counts->of[scale][stencil][entry]).entropy;
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

static void find_costs(const way_counts *counts, szg_probe_found *found) {
  for (uint32_t i = 0; i < SZG_PROBE_SETS; i++) {
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
      found->scales[scale][i] = cost_of(counts->scales[scale][i]).entropy;
    for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
      found->noisy[table][i] = cost_of(counts->noisy[table][i]).entropy;
    found->differences[i] = cost_of(counts->differences[i]);
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
  uint64_t const most = szg_most_fold(&source->grid);
  if (most < 2) return 0;
  memset(work->scores, 0, sizeof work->scores);
  for (uint64_t i = 0; i < SZG_FOLD_WINDOWS; i++) {
    szg_levels_points(&source->lattice, source->values, szg_fold_window(&source->grid, most, i),
                      (uint32_t)most + SZG_PROBE_RUN, work->points, work->has);
    for (uint64_t fold = 1; fold <= most; fold++)
      for (uint64_t p = most; p < most + SZG_PROBE_RUN; p++)
        if (work->has[p] && work->has[p - fold])
          work->scores[fold] +=
              szg_fold_distance(work->points[p], work->points[p - fold], source->fine_bits);
  }
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
