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
  bool takes_pairs;
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
  PAIR_RADIUS = 1 << (SZG_PAIR_DELTA_BITS - 1),
  LEAST_PAIRED_SAMPLE = 16 /* tables of pairs cost more than they save in fewer */
};

/* What counting a tile's differences along a set needs. */
typedef struct tile_pairs {
  uint32_t spread_bits[BLOCKS]; /* all bits of the spreads (szg_delta_spread) in a block */
  uint32_t pairs[SZG_TILE_VALUES / 2];
} tile_pairs;

SZG_HOT static void find_pairs(const int16_t *deltas, uint32_t block_count, bool takes_pairs,
                               tile_pairs *found) {
  uint32_t const most = PAIR_RADIUS * 2 - 1;
  for (uint32_t b = 0; b < block_count; b++) {
    const int16_t *const block = deltas + b * BLOCK_DELTAS;
    uint16_t bits = 0;
    for (uint32_t i = 0; i < BLOCK_DELTAS; i++) bits |= (uint16_t)(block[i] ^ block[i] >> 15);
    found->spread_bits[b] = bits;
  }
  for (uint32_t i = 0; takes_pairs && i < block_count * BLOCK_DELTAS / 2; i++) {
    uint32_t both; /* in either order */
    memcpy(&both, &deltas[2 * i], sizeof both);
    found->pairs[i] = (both & most) | (both >> 16 & most) << SZG_PAIR_DELTA_BITS;
  }
}

/* Clears what deltas need whose spreads (szg_delta_spread) are in these bits, of small deltas. */
static void widen_counts(uint64_t spread_bits, szg_set_counts *set) {
  uint32_t const before = set->reach;
  if (spread_bits < before || before == SZG_COST_RADIUS) return;
  set->reach = before ? before : 1;
  while (set->reach <= spread_bits && set->reach < SZG_COST_RADIUS) set->reach *= 2;
  for (uint32_t t = 0; t < SZG_COST_TABLES; t++) {
    uint32_t *const zero = set->classes[t] + SZG_COST_RADIUS;
    memset(zero - set->reach, 0, (set->reach - before) * sizeof *zero);
    memset(zero + before, 0, (set->reach - before) * sizeof *zero);
  }
}

/* Clears the classes of large deltas. */
static void open_large(szg_set_counts *set) {
  size_t const bytes = (SZG_COST_CLASSES - SZG_LARGE_CLASSES) * sizeof **set->classes;
  if (set->has_large) return;
  for (uint32_t t = 0; t < SZG_COST_TABLES; t++)
    memset(&set->classes[t][SZG_LARGE_CLASSES], 0, bytes);
  set->has_large = true;
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
static void count_differences(int16_t *deltas, uint32_t count, bool takes_pairs,
                              szg_set_counts *set) {
  tile_pairs found;
  uint32_t const block_count = (count + BLOCK_DELTAS - 1) / BLOCK_DELTAS;
  memset(deltas + count, 0, (block_count * BLOCK_DELTAS - count) * sizeof *deltas);
  find_pairs(deltas, block_count, takes_pairs, &found);
  for (uint32_t first = 0; first < count; first += BLOCK_DELTAS) {
    uint32_t const left = count - first, block = left < BLOCK_DELTAS ? left : BLOCK_DELTAS;
    uint32_t const spread_bits = found.spread_bits[first / BLOCK_DELTAS];
    uint32_t const counted = takes_pairs && spread_bits < PAIR_RADIUS ? block - block % 2 : 0;
    widen_counts(spread_bits, set);
    if (spread_bits >= SZG_COST_RADIUS) open_large(set);
    if (counted && !set->has_pairs) {
      memset(set->pairs, 0, sizeof set->pairs);
      set->has_pairs = true;
    }
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
  widen_counts(UINT64_MAX, set);
  open_large(set);
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
    count_differences(work->differences[axes - 1] + first, count, job->takes_pairs, set);
    if (first > 0) continue;
    uint32_t const first_class = szg_delta_class(first_point);
    if (first_class >= SZG_LARGE_CLASSES)
      open_large(set);
    else
      widen_counts(szg_delta_spread(first_point), set);
    set->classes[0][SZG_COST_RADIUS]--; /* the tile's first point, which counted as 0 */
    set->classes[0][first_class]++;
  }
}

/* Counts a share of the sample by class, for all sets. */
static szgpu_status count_part(void *job_pointer, uint64_t p, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_cost_work *const work = &job->work->parts[p];
  for (uint32_t i = 0; i < job->set_count; i++) {
    work->sets[i].reach = 0;
    work->sets[i].has_large = work->sets[i].has_pairs = false;
  }
  for (uint32_t i = (uint32_t)p; i < job->sample_count; i += job->part_count) {
    sampled_part const part = take_sample(job, i, &work->tile);
    if (part.tile.value_count > part.first_counted) count_sample(job, &part, work);
  }
  return SZGPU_OK;
}

/* ---- costs ---- */

/* Adds the small deltas that were counted two by two. */
static void add_pairs(uint32_t part_count, const szg_cost_work *parts, uint64_t set,
                      uint32_t *zero) {
  for (uint32_t p = 0; p < part_count; p++) {
    const szg_set_counts *const counts = &parts[p].sets[set];
    if (!counts->has_pairs) continue;
    for (uint32_t i = 0; i < SZG_PAIRS; i++) {
      uint32_t pairs = 0;
      for (uint32_t t = 0; t < SZG_COST_TABLES; t++) pairs += counts->pairs[t][i];
      zero[(int)((i % (2 * PAIR_RADIUS)) ^ PAIR_RADIUS) - PAIR_RADIUS] += pairs;
      zero[(int)((i / (2 * PAIR_RADIUS)) ^ PAIR_RADIUS) - PAIR_RADIUS] += pairs;
    }
  }
}

/* Adds all counts of a set into its first table of the first part. */
static void add_counts(const choice_job *job, uint64_t set) {
  szg_cost_work *const parts = job->work->parts;
  szg_set_counts *const sums = &parts[0].sets[set];
  uint32_t *const zero = sums->classes[0] + SZG_COST_RADIUS;
  widen_counts(0, sums);
  for (uint32_t p = 0; p < job->part_count; p++) {
    const szg_set_counts *const counts = &parts[p].sets[set];
    int const reach = (int)counts->reach;
    if (counts->has_large) open_large(sums);
    widen_counts(counts->reach ? counts->reach - 1 : 0, sums);
    for (int t = p == 0; t < SZG_COST_TABLES; t++) {
      const uint32_t *const added = counts->classes[t] + SZG_COST_RADIUS;
      for (int i = -reach; i < reach; i++) zero[i] += added[i];
      for (uint32_t i = SZG_LARGE_CLASSES; i < SZG_COST_CLASSES && counts->has_large; i++)
        sums->classes[0][i] += counts->classes[t][i];
    }
  }
  add_pairs(job->part_count, parts, set, zero);
  if (sums->reach < SZG_COST_RADIUS || zero[-SZG_COST_RADIUS] == 0) return;
  /* count_small puts -SZG_COST_RADIUS into the class below all small deltas; it is a large one. */
  open_large(sums);
  sums->classes[0][szg_delta_class(-SZG_COST_RADIUS)] += zero[-SZG_COST_RADIUS];
  zero[-SZG_COST_RADIUS] = 0;
}

/* szg_sums_add for each of the counts, logarithms many at once. */
SZG_HOT static szg_count_sums sum_counts(const uint32_t *counts, uint32_t class_count) {
  uint64_t found[SZG_COST_CLASSES];
  szg_count_sums sums = {0, 0, 0};
  for (uint32_t c = 0; c < class_count; c++) {
    found[c] = counts[c];
    sums.total += counts[c];
    sums.used += counts[c] != 0;
  }
  sums.logs = szg_logs_of(found, class_count);
  return sums;
}

static szgpu_status cost_set(void *job_pointer, uint64_t set, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_choice_work *const work = job->work;
  add_counts(job, set);
  const szg_set_counts *const found = &work->parts[0].sets[set];
  const uint32_t *const zero = found->classes[0] + SZG_COST_RADIUS;
  const uint32_t *const large_counts = found->classes[0] + SZG_LARGE_CLASSES;
  uint32_t const large_classes = found->has_large ? SZG_COST_CLASSES - SZG_LARGE_CLASSES : 0;
  szg_set_sums sums = {.small = sum_counts(zero - found->reach, 2 * found->reach),
                       .large = sum_counts(large_counts, large_classes)};
  for (uint32_t w = 0; w < large_classes; w++) sums.large_bits += (uint64_t)w * large_counts[w];
  work->has_large[set + 1] = sums.large.total > 0;
  work->costs[set + 1] = szg_set_cost(&sums, *zero);
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
  job.takes_pairs = job.sample_count >= LEAST_PAIRED_SAMPLE;
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
