/* axes.c - the choice of axes and radius.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/axes.h"

#include <string.h>

typedef struct choice_job {
  const szg_quantizer *quantizer;
  const szg_grid *grid;
  const void *frame_values;
  szg_choice_work *work;
  uint32_t sample_count;
} choice_job;

static szgpu_status sample_part(void *job_pointer, uint64_t i, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_choice_work *const work = job->work;
  uint64_t const index = szg_sample_tile(job->grid->tile_count, job->sample_count, i);
  work->tiles[i] = szg_tile_at(job->grid, index);
  szg_tile_quantize(job->quantizer, &work->tiles[i], job->frame_values, &work->sample[i]);
  return SZGPU_OK;
}

/* Four tables by turns, as the histogram of all codes has (huffman/histogram.c says why). */
static void count_codes(const uint16_t *codes, uint32_t code_count,
                        uint32_t counts[4][2 * SZG_COST_RADIUS]) {
  for (uint32_t i = 0; i < code_count; i++) counts[i % 4][codes[i]]++;
}

/* One set of axes: the sample's deltas by class. */
static szgpu_status cost_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_choice_work *const work = job->work;
  uint32_t const axes = (uint32_t)part + 1;
  bool const is_wide = szg_is_wide(job->quantizer->arithmetic);
  uint32_t *const classes = work->classes[axes];
  memset(classes, 0, sizeof work->classes[axes]);
  szg_cost_work *const set = &work->sets[part];
  memset(set->counts, 0, sizeof set->counts);
  for (uint32_t i = 0; i < job->sample_count; i++) {
    const szg_tile *const tile = &work->tiles[i];
    szg_tile_difference(is_wide, tile, axes, &work->sample[i].lattice, &set->tile.deltas);
    uint32_t const escape_count =
        szg_tile_code(is_wide, tile, SZG_COST_RADIUS, &set->tile, set->codes, set->escapes);
    count_codes(set->codes, tile->value_count, set->counts);
    for (uint32_t c = 0; c < escape_count; c++) classes[szg_delta_class(set->escapes[c])]++;
  }
  for (uint32_t s = SZG_ESCAPE_SYMBOL + 1; s < 2 * SZG_COST_RADIUS; s++)
    classes[s] = set->counts[0][s] + set->counts[1][s] + set->counts[2][s] + set->counts[3][s];
  szg_set_sums sums = {{0}, {0}, 0};
  for (uint32_t c = 0; c < SZG_COST_CLASSES; c++) szg_set_sums_add(&sums, c, classes[c]);
  work->has_large[axes] = sums.large.total > 0;
  work->costs[axes] = szg_set_cost(&sums, classes[SZG_COST_RADIUS]);
  return SZGPU_OK;
}

/* Counts every delta of the sample along the chosen axes. */
static uint64_t count_deltas(const choice_job *job, uint32_t axes) {
  szg_choice_work *const work = job->work;
  bool const is_wide = szg_is_wide(job->quantizer->arithmetic);
  memset(work->deltas, 0, sizeof work->deltas);
  work->widest = 0;
  uint64_t total = 0;
  for (uint32_t i = 0; i < job->sample_count; i++) {
    szg_tile_difference(is_wide, &work->tiles[i], axes, &work->sample[i].lattice,
                        &work->sample[i].deltas);
    uint32_t const count = work->tiles[i].value_count;
    for (uint32_t c = 0; c < count; c++) {
      int64_t const delta =
          is_wide ? work->sample[i].deltas.wide[c] : work->sample[i].deltas.narrow[c];
      uint64_t const spread = szg_delta_spread(delta);
      if (delta > -SZG_MAX_RADIUS && delta < SZG_MAX_RADIUS)
        work->deltas[delta + SZG_MAX_RADIUS]++;
      else if (spread > work->widest)
        work->widest = spread;
    }
    total += count;
  }
  return total;
}

static uint32_t choose_radius(const szg_choice_work *work, uint64_t total) {
  const uint32_t *const zero = &work->deltas[SZG_MAX_RADIUS];
  szg_count_sums rings[SZG_RADIUS_CHOICES] = {{0}};
  szg_sums_add(&rings[0], *zero);
  for (int i = 0, magnitude = 1; i < SZG_RADIUS_CHOICES; i++)
    for (; magnitude < (int)szg_radius_choice(i); magnitude++) {
      szg_sums_add(&rings[i], zero[magnitude]);
      szg_sums_add(&rings[i], zero[-magnitude]);
    }
  return szg_cheapest_radius(rings, total, *zero, work->widest);
}

szgpu_status szg_choose(szg_threads *threads, const szg_quantizer *quantizer, const szg_grid *grid,
                        const void *frame_values, uint32_t asked_radius, szg_choice_work *work,
                        szg_choice *choice) {
  choice_job job = {quantizer, grid, frame_values, work, szg_sample_count(grid->tile_count)};
  uint32_t const set_count = szg_grid_axes(grid); /* no set has axes beyond them */
  SZG_TRY(szg_for_parts(threads, job.sample_count, 0, sample_part, &job));
  SZG_TRY(szg_for_parts(threads, set_count, 0, cost_part, &job));
  choice->axes = szg_cheapest_set(work->costs, set_count);
  choice->radius = asked_radius ? asked_radius : SZG_COST_RADIUS;
  if (asked_radius == 0 && work->has_large[choice->axes]) /* otherwise no larger one could gain */
    choice->radius = choose_radius(work, count_deltas(&job, choice->axes));
  return SZGPU_OK;
}
