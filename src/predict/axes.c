/* axes.c - the choice of axes and radius.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/axes.h"

#include <string.h>

#include "core/dispatch.h"
#include "predict/axes_sets.h"

typedef struct choice_job {
  const szg_quantizer *quantizer;
  const szg_grid *grid;
  const void *frame_values;
  szg_choice_work *work;
  uint32_t sample_count, part_count, lattice_bits;
  uint32_t set_count; /* the greatest set of a field of this rank */
} choice_job;

/* A sampled part of a tile: planes or rows, after the one before them if there is one. */
typedef struct sampled_part {
  szg_tile tile; /* these planes or rows as if they were a tile */
  uint32_t first_counted;
} sampled_part;

/* Sample i, on the lattice. */
static sampled_part take_sample(const choice_job *job, uint32_t i, szg_tile_work *work) {
  uint64_t const index = szg_sample_tile(job->grid->tile_count, job->sample_count, i);
  sampled_part part = {.tile = szg_tile_at(job->grid, index)};
  szg_tile *const tile = &part.tile;
  bool const has_planes = job->grid->tile_z > 1, is_line = job->grid->tile_y == 1;
  uint32_t *const extent = has_planes ? &tile->z_extent : &tile->y_extent;
  uint64_t const stride = has_planes ? tile->z_stride : tile->y_stride;
  if (!is_line) {
    uint32_t const full_extent = has_planes ? job->grid->tile_z : job->grid->tile_y;
    szg_sampled_slices const slices = szg_sampled_slices_of(full_extent, *extent, i);
    uint32_t const before = slices.first > 0;
    tile->first_value += (slices.first - before) * stride;
    *extent = slices.end - slices.first + before;
    tile->value_count = *extent * tile->plane_values;
    part.first_counted = before * tile->plane_values;
  }
  szg_tile_quantize(job->quantizer, tile, job->frame_values, work);
  return part;
}

/* ---- counting ---- */

enum {
  BLOCK_DELTAS = 256,
  BLOCKS = SZG_TILE_VALUES / BLOCK_DELTAS,
  PAIR_RADIUS = 1 << (SZG_PAIR_DELTA_BITS - 1)
};

/* What counting a tile's differences along a set needs. */
typedef struct tile_pairs {
  uint32_t spread_bits[BLOCKS]; /* all bits of the spreads (szg_delta_spread) in a block */
  uint32_t pairs[SZG_TILE_VALUES / 2];
} tile_pairs;

SZG_HOT static void find_pairs(const int16_t *deltas, uint32_t block_count, tile_pairs *found) {
  uint32_t const most = PAIR_RADIUS * 2 - 1;
  for (uint32_t b = 0; b < block_count; b++) {
    const int16_t *const block = deltas + b * BLOCK_DELTAS;
    uint16_t bits = 0;
    for (uint32_t i = 0; i < BLOCK_DELTAS; i++) bits |= (uint16_t)(block[i] ^ block[i] >> 15);
    found->spread_bits[b] = bits;
  }
  for (uint32_t i = 0; i < block_count * BLOCK_DELTAS / 2; i++) {
    uint32_t both; /* in either order */
    memcpy(&both, &deltas[2 * i], sizeof both);
    found->pairs[i] = (both & most) | (both >> 16 & most) << SZG_PAIR_DELTA_BITS;
  }
}

/* Two at a time: half as many steps. */
static void count_pairs(const uint32_t *pairs, uint32_t count, szg_set_counts *set) {
  uint32_t i = 0;
  for (; i + SZG_COST_TABLES <= count; i += SZG_COST_TABLES)
    for (uint32_t t = 0; t < SZG_COST_TABLES; t++) set->pairs[t][pairs[i + t]]++;
  for (; i < count; i++) set->pairs[0][pairs[i]]++;
}

/* Uses several tables in turn, like the histogram of all codes (huffman/histogram.c says why). */
static void count_small(const int16_t *deltas, uint32_t count, szg_set_counts *set) {
  uint32_t *const zeros[SZG_COST_TABLES] = {
      set->classes[0] + SZG_COST_RADIUS, set->classes[1] + SZG_COST_RADIUS,
      set->classes[2] + SZG_COST_RADIUS, set->classes[3] + SZG_COST_RADIUS};
  uint32_t i = 0;
  for (; i + SZG_COST_TABLES <= count; i += SZG_COST_TABLES)
    for (uint32_t t = 0; t < SZG_COST_TABLES; t++) zeros[t][(ptrdiff_t)deltas[i + t]]++;
  for (; i < count; i++) zeros[0][(ptrdiff_t)deltas[i]]++;
}

/* Counts differences along a set, a block at a time by what the block needs. Clears what follows
 * them in their last block. */
static void count_differences(int16_t *deltas, uint32_t count, szg_set_counts *set) {
  tile_pairs found;
  uint32_t const block_count = (count + BLOCK_DELTAS - 1) / BLOCK_DELTAS;
  memset(deltas + count, 0, (block_count * BLOCK_DELTAS - count) * sizeof *deltas);
  find_pairs(deltas, block_count, &found);
  for (uint32_t first = 0; first < count; first += BLOCK_DELTAS) {
    uint32_t const left = count - first, block = left < BLOCK_DELTAS ? left : BLOCK_DELTAS;
    uint32_t const spread_bits = found.spread_bits[first / BLOCK_DELTAS];
    uint32_t const counted = spread_bits < PAIR_RADIUS ? block - block % 2 : 0;
    count_pairs(found.pairs + first / 2, counted / 2, set);
    if (spread_bits < SZG_COST_RADIUS)
      count_small(deltas + first + counted, block - counted, set);
    else
      for (uint32_t i = 0; i < block; i++)
        set->classes[i % SZG_COST_TABLES][szg_delta_class(deltas[first + i])]++;
  }
}

/* Counts a part along a set, whatever its points are. */
static void count_wide(uint32_t lattice_bits, const sampled_part *part, uint32_t axes,
                       szg_tile_work *work, szg_set_counts *set) {
  szg_tile_difference(lattice_bits, &part->tile, axes, &work->lattice, &work->deltas);
  for (uint32_t i = part->first_counted; i < part->tile.value_count; i++) {
    int64_t const delta = lattice_bits == 64 ? work->deltas.i64[i] : work->deltas.i32[i];
    set->classes[i % SZG_COST_TABLES][szg_delta_class(delta)]++;
  }
}

static void count_sample(const choice_job *job, const sampled_part *part, szg_cost_work *work) {
  const szg_tile_points *const lattice = &work->tile.lattice;
  uint32_t const first = part->first_counted, count = part->tile.value_count - first;
  int64_t const first_point = job->lattice_bits == 64 ? lattice->i64[0] : lattice->i32[0];
  bool const are_narrow = szg_tile_difference_sets(job->lattice_bits, &part->tile, lattice,
                                                   job->set_count, work->differences);
  for (uint32_t axes = 1; axes <= job->set_count; axes++) {
    szg_set_counts *const set = &work->sets[axes - 1];
    if (!are_narrow) {
      count_wide(job->lattice_bits, part, axes, &work->tile, set);
      continue;
    }
    count_differences(work->differences[axes - 1] + first, count, set);
    if (first > 0) continue;
    set->classes[0][SZG_COST_RADIUS]--; /* the tile's first point, which counted as 0 */
    set->classes[0][szg_delta_class(first_point)]++;
  }
}

/* Counts a share of the sample by class, for all sets. */
static szgpu_status count_part(void *job_pointer, uint64_t p, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_cost_work *const work = &job->work->parts[p];
  memset(work->sets, 0, job->set_count * sizeof *work->sets);
  for (uint32_t i = (uint32_t)p; i < job->sample_count; i += job->part_count) {
    sampled_part const part = take_sample(job, i, &work->tile);
    if (part.tile.value_count > part.first_counted) count_sample(job, &part, work);
  }
  return SZGPU_OK;
}

/* ---- costs ---- */

/* Adds all counts of a set into its first table of the first part. */
static void add_counts(const choice_job *job, uint64_t set) {
  uint32_t *const classes = job->work->parts[0].sets[set].classes[0];
  uint32_t *const pairs = job->work->parts[0].sets[set].pairs[0];
  for (uint32_t p = 0; p < job->part_count; p++)
    for (int t = p == 0; t < SZG_COST_TABLES; t++) {
      const szg_set_counts *const counts = &job->work->parts[p].sets[set];
      for (uint32_t i = 0; i < SZG_COST_CLASSES; i++) classes[i] += counts->classes[t][i];
      for (uint32_t i = 0; i < SZG_PAIRS; i++) pairs[i] += counts->pairs[t][i];
    }
  uint32_t *const least = classes + SZG_COST_RADIUS - PAIR_RADIUS;
  for (uint32_t i = 0; i < SZG_PAIRS; i++) {
    least[(i % (2 * PAIR_RADIUS)) ^ PAIR_RADIUS] += pairs[i];
    least[(i / (2 * PAIR_RADIUS)) ^ PAIR_RADIUS] += pairs[i];
  }
  /* count_small puts -SZG_COST_RADIUS into the class below all small deltas; it is a large one. */
  classes[szg_delta_class(-SZG_COST_RADIUS)] += classes[0];
  classes[0] = 0;
}

/* szg_sums_add for each of the counts, logarithms many at once. */
static szg_count_sums sum_counts(const uint32_t *counts, uint32_t class_count) {
  uint64_t found[SZG_COST_CLASSES];
  szg_count_sums sums = {0, 0, 0};
  for (uint32_t c = 0; c < class_count; c++) {
    found[sums.used] = counts[c];
    sums.total += counts[c];
    sums.used += counts[c] != 0;
  }
  sums.logs = szg_logs_of(found, sums.used);
  return sums;
}

static szgpu_status cost_set(void *job_pointer, uint64_t set, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_choice_work *const work = job->work;
  add_counts(job, set);
  const uint32_t *const counts = work->parts[0].sets[set].classes[0];
  const uint32_t *const large_counts = counts + SZG_LARGE_CLASSES;
  szg_set_sums sums = {.small = sum_counts(counts, SZG_LARGE_CLASSES),
                       .large = sum_counts(large_counts, SZG_COST_CLASSES - SZG_LARGE_CLASSES)};
  for (uint32_t w = 0; w < SZG_COST_CLASSES - SZG_LARGE_CLASSES; w++)
    sums.large_bits += (uint64_t)w * large_counts[w];
  work->has_large[set + 1] = sums.large.total > 0;
  work->costs[set + 1] = szg_set_cost(&sums, counts[SZG_COST_RADIUS]);
  return SZGPU_OK;
}

/* ---- the radius ---- */

/* Counts every delta of the sample along the chosen axes. */
static uint64_t count_deltas(const choice_job *job, uint32_t axes) {
  szg_choice_work *const work = job->work;
  szg_tile_work *const tile_work = &work->parts[0].tile;
  memset(work->deltas, 0, sizeof work->deltas);
  work->widest = 0;
  uint64_t total = 0;
  for (uint32_t i = 0; i < job->sample_count; i++) {
    sampled_part const part = take_sample(job, i, tile_work);
    uint32_t const count = part.tile.value_count;
    szg_tile_points *const deltas = &tile_work->deltas;
    szg_tile_difference(job->lattice_bits, &part.tile, axes, &tile_work->lattice, deltas);
    for (uint32_t c = part.first_counted; c < count; c++) {
      int64_t const delta = job->lattice_bits == 64 ? deltas->i64[c] : deltas->i32[c];
      uint64_t const spread = szg_delta_spread(delta);
      if (delta > -SZG_MAX_RADIUS && delta < SZG_MAX_RADIUS)
        work->deltas[delta + SZG_MAX_RADIUS]++;
      else if (spread > work->widest)
        work->widest = spread;
    }
    total += count - part.first_counted;
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
  choice_job job = {
      .quantizer = quantizer,
      .grid = grid,
      .frame_values = frame_values,
      .work = work,
      .sample_count = szg_sample_count(grid->tile_count, grid->tile_y == 1),
      .part_count = (uint32_t)szg_lesser_u64((uint64_t)threads->count, SZG_COST_PARTS),
      .lattice_bits = szg_lattice_bits(quantizer->arithmetic),
      .set_count = szg_grid_axes(grid)};
  *choice = (szg_choice){.axes = SZG_AXIS_X, .radius = asked_radius};
  if (job.set_count == 1 && asked_radius) return SZGPU_OK; /* there is no choice */
  SZG_TRY(szg_for_parts(threads, job.part_count, 0, count_part, &job));
  SZG_TRY(szg_for_parts(threads, job.set_count, 0, cost_set, &job));
  choice->axes = szg_cheapest_set(work->costs, job.set_count);
  choice->radius = asked_radius ? asked_radius : SZG_COST_RADIUS;
  if (asked_radius == 0 && work->has_large[choice->axes]) /* otherwise a larger one gains nothing */
    choice->radius = choose_radius(work, count_deltas(&job, choice->axes));
  return SZGPU_OK;
}
