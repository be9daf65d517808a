/* axes.c - the choice of axes and radius.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/axes.h"

#include <string.h>

#include "core/dispatch.h"

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

/* szg_delta_class without a branch, so that it vectorizes. A magnitude's width is its exponent as a
 * float; clearing the low 8 bits first keeps it from being rounded up to the next width. */
SZG_INLINE uint32_t narrow_class(int32_t delta) {
  uint32_t const magnitude = delta < 0 ? 0 - (uint32_t)delta : (uint32_t)delta;
  float const rounded = (float)(int32_t)(magnitude & ~UINT32_C(255));
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  uint32_t const large_class = SZG_LARGE_CLASSES + (bits >> 23 & 255) - 126;
  uint32_t const is_small = magnitude < SZG_COST_RADIUS ? UINT32_MAX : 0;
  return (((uint32_t)delta + SZG_COST_RADIUS) & is_small) | (large_class & ~is_small);
}

SZG_HOT static void find_classes(bool is_wide, const szg_tile_points *deltas, uint32_t count,
                                 uint16_t *restrict classes) {
  if (is_wide)
    for (uint32_t i = 0; i < count; i++) classes[i] = (uint16_t)szg_delta_class(deltas->wide[i]);
  else
    for (uint32_t i = 0; i < count; i++) classes[i] = (uint16_t)narrow_class(deltas->narrow[i]);
}

/* Uses several tables in turn, like the histogram of all codes (huffman/histogram.c says why). */
static void count_classes(const uint16_t *classes, uint32_t count,
                          uint32_t counts[SZG_COST_TABLES][SZG_COST_CLASSES]) {
  uint32_t i = 0;
  for (; i + SZG_COST_TABLES <= count; i += SZG_COST_TABLES)
    for (uint32_t t = 0; t < SZG_COST_TABLES; t++) counts[t][classes[i + t]]++;
  for (; i < count; i++) counts[0][classes[i]]++;
}

/* szg_sums_add for each of the counts, in a loop that vectorizes. */
SZG_HOT static szg_count_sums sum_counts(const uint32_t *counts, uint32_t class_count) {
  szg_count_sums sums = {0, 0, 0};
  for (uint32_t c = 0; c < class_count; c++) {
    sums.total += counts[c];
    sums.used += counts[c] != 0;
    sums.logs += counts[c] * szg_log2_fixed(counts[c] | (counts[c] == 0));
  }
  return sums;
}

/* For one set of axes: counts the sample's deltas by class. */
static szgpu_status cost_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_choice_work *const work = job->work;
  uint32_t const axes = (uint32_t)part + 1;
  bool const is_wide = szg_is_wide(job->quantizer->arithmetic);
  szg_cost_work *const set = &work->sets[part];
  uint32_t *const counts = set->counts[0];
  memset(set->counts, 0, sizeof set->counts);
  for (uint32_t i = 0; i < job->sample_count; i++) {
    const szg_tile *const tile = &work->tiles[i];
    szg_tile_difference(is_wide, tile, axes, &work->sample[i].lattice, &set->deltas);
    find_classes(is_wide, &set->deltas, tile->value_count, set->delta_classes);
    count_classes(set->delta_classes, tile->value_count, set->counts);
  }
  for (int t = 1; t < SZG_COST_TABLES; t++)
    for (uint32_t c = 0; c < SZG_COST_CLASSES; c++) counts[c] += set->counts[t][c];
  const uint32_t *const large_counts = counts + SZG_LARGE_CLASSES;
  szg_set_sums sums = {.small = sum_counts(counts, SZG_LARGE_CLASSES),
                       .large = sum_counts(large_counts, SZG_COST_CLASSES - SZG_LARGE_CLASSES)};
  for (uint32_t w = 0; w < SZG_COST_CLASSES - SZG_LARGE_CLASSES; w++)
    sums.large_bits += (uint64_t)w * large_counts[w];
  work->has_large[axes] = sums.large.total > 0;
  work->costs[axes] = szg_set_cost(&sums, counts[SZG_COST_RADIUS]);
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
  uint32_t const set_count = szg_grid_axes(grid); /* the greatest set of a field of this rank */
  SZG_TRY(szg_for_parts(threads, job.sample_count, 0, sample_part, &job));
  SZG_TRY(szg_for_parts(threads, set_count, 0, cost_part, &job));
  choice->axes = szg_cheapest_set(work->costs, set_count);
  choice->radius = asked_radius ? asked_radius : SZG_COST_RADIUS;
  if (asked_radius == 0 && work->has_large[choice->axes]) /* otherwise a larger one gains nothing */
    choice->radius = choose_radius(work, count_deltas(&job, choice->axes));
  return SZGPU_OK;
}
