/* levels_choose.c - how a levels frame predicts: chosen by cost on blocks of its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/levels.h"
#include "frames/write.h"
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

/* Blocks of the frame, spread over it, each as a small field. For interpolation they have one point
 * more along each axis: then they end with a point of every grid, as most tiles of a large frame
 * do. */
enum {
  BLOCK_3D_X = 64,
  BLOCK_3D_Y = 16,
  BLOCK_3D_Z = 16,
  BLOCK_2D = 128,
  BLOCK_1D = 16384,
  BLOCK_SHARE = 16,
  LEAST_BLOCKS = 4,
  MOST_BLOCKS = 16
};

typedef struct sample {
  szg_grid grid; /* of a block */
  uint32_t block_count;
  uint8_t *values; /* block after block */
} sample;

typedef struct choose_job {
  szg_write_job *frame;
  sample samples[2]; /* for differences, and for interpolation */
  szg_tokens_tally *tallies; /* [threads][SZG_LEVELS_MOST + 1] */
  szg_tile_tally *tile_tallies; /* [threads] */
  szg_levels_memory *memories; /* [threads] */
  const sample *sample;        /* of these, for the candidate at hand */
  szg_levels levels;
  szg_levels_lattice lattice;
  uint32_t axes; /* of tile frames */
} choose_job;

static uint64_t lesser(uint64_t a, uint64_t b) { return szg_min_u64(a, b); }

/* How many blocks of the sample's extents fit each axis, at least one. */
typedef struct block_counts {
  uint64_t batch, z, y, x;
} block_counts;

static block_counts count_blocks(const szg_grid *grid, const szg_grid *block) {
  return (block_counts){grid->batch_extent, grid->z_extent / block->z_extent,
                        grid->y_extent / block->y_extent, grid->x_extent / block->x_extent};
}

static void measure_sample(const szg_grid *grid, uint64_t more, sample *blocks) {
  bool const is_3d = grid->tile_z > 1, is_2d = !is_3d && grid->tile_y > 1;
  uint64_t const x = more + (is_3d ? BLOCK_3D_X : is_2d ? BLOCK_2D : BLOCK_1D);
  uint64_t const y = is_3d ? more + BLOCK_3D_Y : is_2d ? more + BLOCK_2D : 1;
  uint64_t const z = is_3d ? more + BLOCK_3D_Z : 1;
  blocks->grid = szg_grid_of_block(grid, lesser(z, grid->z_extent), lesser(y, grid->y_extent),
                                   lesser(x, grid->x_extent));
  block_counts const fits = count_blocks(grid, &blocks->grid);
  uint64_t const all = fits.batch * fits.z * fits.y * fits.x;
  uint64_t const share = all / BLOCK_SHARE;
  uint64_t const wanted = share < LEAST_BLOCKS ? LEAST_BLOCKS : lesser(share, MOST_BLOCKS);
  blocks->block_count = (uint32_t)lesser(all, wanted);
}

/* Where block i begins, in values of the frame. They are spread evenly over the whole frame. */
static uint64_t block_start(const szg_grid *grid, const sample *blocks, uint32_t i) {
  block_counts const fits = count_blocks(grid, &blocks->grid);
  uint64_t const all = fits.batch * fits.z * fits.y * fits.x;
  uint64_t const index = szg_sample_tile(all, blocks->block_count, i);
  uint64_t const x = index % fits.x * blocks->grid.x_extent;
  uint64_t const y = index / fits.x % fits.y * blocks->grid.y_extent;
  uint64_t const z = index / (fits.x * fits.y) % fits.z * blocks->grid.z_extent;
  uint64_t const batch = index / (fits.x * fits.y * fits.z);
  return ((batch * grid->z_extent + z) * grid->y_extent + y) * grid->x_extent + x;
}

static szgpu_status copy_block(void *job_pointer, uint64_t i, int worker) {
  (void)worker;
  const choose_job *const job = job_pointer;
  const szg_grid *const grid = &job->frame->grid;
  const szg_grid *const block = &job->sample->grid;
  size_t const width = szg_dtype_bytes(job->frame->request->dtype);
  const uint8_t *const from =
      (const uint8_t *)job->frame->values + width * block_start(grid, job->sample, (uint32_t)i);
  uint8_t *to = job->sample->values + i * block->value_count * width;
  for (uint64_t z = 0; z < block->z_extent; z++)
    for (uint64_t y = 0; y < block->y_extent; y++, to += width * block->x_extent)
      memcpy(to, from + width * ((z * grid->y_extent + y) * grid->x_extent),
             width * block->x_extent);
  return SZGPU_OK;
}

/* ---- costs ---- */

static const void *block_values(const choose_job *job, uint64_t i) {
  size_t const width = szg_dtype_bytes(job->frame->request->dtype);
  return job->sample->values + i * job->sample->grid.value_count * width;
}

static szgpu_status count_levels(void *job_pointer, uint64_t block, int worker) {
  const choose_job *const job = job_pointer;
  const szg_levels *const levels = &job->levels;
  const szg_levels_memory *const memory = &job->memories[worker];
  uint64_t existing[SZG_TOKENS_MOST_GROUPS];
  for (uint32_t stage = 0; stage <= levels->level_count; stage++) {
    szg_tokens_tally *const tally = &job->tallies[worker * (SZG_LEVELS_MOST + 1) + (int)stage];
    szg_tokens_shape const shape = {
        .group_count = levels->stages[stage].place_count / SZG_LEVELS_GROUP,
        .is_wide = levels->is_wide};
    for (uint64_t t = 0; t < levels->stages[stage].tile_count; t++) {
      szg_levels_code_tile(levels, stage, t, &job->lattice, block_values(job, block), memory->grids,
                           memory->work, memory->codes);
      szg_levels_existing_places(levels, stage, t, existing);
      szg_tokens_count(&shape, memory->codes, existing, tally);
    }
  }
  return SZGPU_OK;
}

/* The cheapest mode's cost of a stage. */
static uint64_t cost_of_stage(const choose_job *job, uint32_t stage) {
  int const thread_count = job->frame->request->thread_count;
  szg_tokens_tally *const tally = &job->tallies[stage];
  for (int i = 1; i < thread_count; i++)
    szg_tokens_tally_add(&job->tallies[i * (SZG_LEVELS_MOST + 1) + (int)stage], tally);
  uint32_t const least =
      szg_tokens_least_lane_groups_log2(job->levels.stages[stage].place_count / SZG_LEVELS_GROUP);
  uint64_t best = UINT64_MAX;
  for (uint32_t mode = SZG_LEVELS_MODE_PLAIN; mode < SZG_LEVELS_MODES; mode++)
    best = lesser(best, szg_tokens_cost(tally, least, mode));
  return best;
}

/* Cost of a value, in units of 2^-26 bits. */
static uint64_t cost_of_value(const choose_job *job, uint64_t cost) {
  return (cost << 10) / (job->sample->block_count * job->sample->grid.value_count);
}

/* What a value costs; UINT64_MAX: the candidate does not suit the frame. */
static szgpu_status cost_of_levels(choose_job *job, const candidate *way, uint64_t *cost) {
  szg_write_job *const frame = job->frame;
  *cost = UINT64_MAX;
  job->sample = &job->samples[way->level_count > 0];
  if (!make_levels(frame->bound, &job->sample->grid, job->axes, way, &job->levels)) return SZGPU_OK;
  job->lattice = make_lattice(frame->request->dtype, frame->bound, &job->levels);
  memset(job->tallies, 0,
         (size_t)frame->request->thread_count * (SZG_LEVELS_MOST + 1) * sizeof *job->tallies);
  SZG_TRY(szg_for_parts(&frame->ctx->threads, job->sample->block_count, 0, count_levels, job));
  *cost = 0;
  for (uint32_t stage = 0; stage <= job->levels.level_count; stage++)
    *cost += cost_of_stage(job, stage);
  *cost = cost_of_value(job, *cost);
  return SZGPU_OK;
}

static szgpu_status count_tiles(void *job_pointer, uint64_t block, int worker) {
  const choose_job *const job = job_pointer;
  const szg_write_job *const frame = job->frame;
  szg_quantizer quantizer = frame->bound->quantizer;
  bool const has_16_bits = szg_quantizer_take_16_bits(frame->bound->greatest, &quantizer);
  uint32_t const lattice_bits = szg_tile_lattice_bits(quantizer.arithmetic, has_16_bits);
  szg_tile_work *const work = &frame->plan->outliers.tiles[worker];
  for (uint64_t t = 0; t < job->sample->grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&job->sample->grid, t);
    szg_tile_values_to_deltas(&quantizer, lattice_bits, job->axes, &tile, block_values(job, block),
                              work, &work->deltas);
    szg_tile_count(lattice_bits, &tile, &work->deltas, &job->tile_tallies[worker]);
  }
  return SZGPU_OK;
}

static szgpu_status cost_of_tiles(choose_job *job, uint64_t *cost) {
  szg_write_job *const frame = job->frame;
  size_t const thread_count = (size_t)frame->request->thread_count;
  job->sample = &job->samples[0];
  memset(job->tile_tallies, 0, thread_count * sizeof *job->tile_tallies);
  SZG_TRY(szg_for_parts(&frame->ctx->threads, job->sample->block_count, 0, count_tiles, job));
  for (size_t i = 1; i < thread_count; i++)
    szg_tile_tally_add(&job->tile_tallies[i], &job->tile_tallies[0]);
  *cost = cost_of_value(job, szg_tile_cost(&job->tile_tallies[0]));
  return SZGPU_OK;
}

/* ---- the choice ---- */

static void carve_choice(szg_arena *arena, choose_job *job) {
  const szg_write_request *const request = job->frame->request;
  uint64_t const threads = (uint64_t)request->thread_count;
  for (int i = 0; i < 2; i++)
    job->samples[i].values =
        szg_arena_take(arena, job->samples[i].block_count * job->samples[i].grid.value_count,
                       szg_dtype_bytes(request->dtype));
  job->tallies = szg_arena_take(arena, threads * (SZG_LEVELS_MOST + 1), sizeof *job->tallies);
  job->tile_tallies = szg_arena_take(arena, threads, sizeof *job->tile_tallies);
  szg_levels_memory *const memories = szg_arena_take(arena, threads, sizeof *job->memories);
  job->memories = memories;
  for (uint64_t i = 0; i < threads; i++) {
    szg_levels_memory memory = {0};
    for (uint32_t stage = 0; stage < SZG_LEVELS_MOST; stage++) /* more than any grid has */
      memory.grids[stage] = szg_arena_take(arena, job->samples[1].grid.value_count, sizeof(int64_t));
    memory.work = szg_arena_take(arena, 1, sizeof *memory.work);
    memory.codes = szg_arena_take(arena, SZG_LEVELS_MOST_PLACES, sizeof *memory.codes);
    if (memories) memories[i] = memory;
  }
}

static szgpu_status open_samples(choose_job *job) {
  szg_write_job *const frame = job->frame;
  szg_arena arena = {0};
  for (uint32_t i = 0; i < 2; i++) measure_sample(&frame->grid, i, &job->samples[i]);
  carve_choice(&arena, job);
  SZG_TRY(szg_levels_arena_open(frame->ctx, &arena));
  carve_choice(&arena, job);
  for (uint32_t i = 0; i < 2; i++) {
    job->sample = &job->samples[i];
    SZG_TRY(szg_for_parts(&frame->ctx->threads, job->sample->block_count, 0, copy_block, job));
  }
  return SZGPU_OK;
}

/* The best candidate so far. */
typedef struct finding {
  candidate way;
  uint64_t cost;
} finding;

static szgpu_status try_way(choose_job *job, const candidate *way, finding *best) {
  uint64_t cost;
  SZG_TRY(cost_of_levels(job, way, &cost));
  if (getenv("SZG_TRACE")) fprintf(stderr, "d %u L %u table %u linear %d ranks %d%d%d fold %llu: %.4f\n", way->axis_count, way->level_count, way->unit_table, way->is_linear, way->ranks[2], way->ranks[1], way->ranks[0], (unsigned long long)way->fold, cost / 67108864.0);
  if (cost < best->cost) *best = (finding){*way, cost};
  return SZGPU_OK;
}

static szgpu_status search_interpolation(choose_job *job, finding *best) {
  static const uint8_t rankings[][3] = {{1, 1, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                                        {1, 0, 1}, {0, 1, 1}, {2, 1, 0}, {0, 1, 2}};
  uint32_t const frame_axes = job->frame->grid.tile_z > 1 ? 3 : job->frame->grid.tile_y > 1 ? 2 : 1;
  candidate way = {.axis_count = frame_axes,
                   .level_count = usual_level_count(frame_axes),
                   .unit_table = 1};
  SZG_TRY(try_way(job, &way, best));
  if (frame_axes == 3) {
    candidate flat = {.axis_count = 2, .level_count = usual_level_count(2), .unit_table = 1};
    SZG_TRY(try_way(job, &flat, best));
  }
  for (size_t i = 0; i < sizeof rankings / sizeof *rankings; i++) {
    candidate ranked = best->way;
    uint32_t const axis_count = ranked.axis_count;
    if (axis_count == 1 || (axis_count == 2 && i > 0 && (i > 2 || i == 0))) continue;
    if (axis_count == 2 && i != 1 && i != 2) continue;
    memcpy(ranked.ranks, rankings[i], sizeof ranked.ranks);
    if (axis_count == 2) ranked.ranks[2] = 0;
    SZG_TRY(try_way(job, &ranked, best));
  }
  candidate linear = best->way;
  linear.is_linear = true;
  SZG_TRY(try_way(job, &linear, best));
  for (uint32_t table = 0; table < UNIT_TABLES; table += 2) {
    candidate other = best->way;
    other.unit_table = table;
    SZG_TRY(try_way(job, &other, best));
  }
  return SZGPU_OK;
}

szgpu_status szg_levels_choose(szg_write_job *job, szg_levels_choice *choice) {
  szg_choice axes;
  choose_job own = {.frame = job};
  SZG_TRY(szg_choose(&job->ctx->threads, &job->bound->quantizer, &job->grid, job->values,
                     SZG_COST_RADIUS, job->plan->tile.choice_work, &axes));
  own.axes = axes.axes;
  SZG_TRY(open_samples(&own));
  uint64_t tile_cost, difference_cost;
  finding best = {.cost = UINT64_MAX};
  SZG_TRY(cost_of_tiles(&own, &tile_cost));
  uint32_t const frame_axes = job->grid.tile_z > 1 ? 3 : job->grid.tile_y > 1 ? 2 : 1;
  candidate const differences = {.axis_count = frame_axes};
  finding plain = {.cost = UINT64_MAX};
  SZG_TRY(try_way(&own, &differences, &plain));
  difference_cost = plain.cost;
  SZG_TRY(search_interpolation(&own, &best));
  if (getenv("SZG_TRACE")) fprintf(stderr, "tile %.4f differences %.4f levels %.4f\n", tile_cost / 67108864.0, difference_cost / 67108864.0, best.cost / 67108864.0);
  if (job->request->predictor == SZGPU_PREDICTOR_AUTO) {
    uint64_t const gain = tile_cost - (tile_cost >> 5);
    if (plain.cost < gain && plain.cost < best.cost) best = plain;
    choice->is_chosen = best.cost < gain;
  } else {
    choice->is_chosen = best.cost != UINT64_MAX;
  }
  if (!choice->is_chosen) return SZGPU_OK;
  if (!make_levels(job->bound, &job->grid, own.axes, &best.way, &choice->levels)) choice->is_chosen = false;
  choice->lattice = make_lattice(job->request->dtype, job->bound, &choice->levels);
  return SZGPU_OK;
}
