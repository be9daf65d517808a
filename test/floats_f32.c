/* floats_f32.c - all 2^32 bit patterns of f32, at eight bounds of each mode.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass takes all patterns in one order at one bound, a block at a time. Orders that share a
 * block's sign and exponent give bounds that mean something for all of its values.
 */
#include "floats.h"

enum { BOUND_COUNT = 8, SHAPE_COUNT = 8 };

static const double bounds_rel[BOUND_COUNT] = {1.0, 0.1, 1e-2, 1e-3, 1e-4, 3e-5, 1e-6, 1e-7};
/* Each means something for some 24 binades. The first is the least denormal number. */
static const double bounds_abs[BOUND_COUNT] = {0x1p-149, 1e-38, 1e-30, 1e-20,
                                               1e-10,    1e-3,  1e8,   1e30};
static const double bounds_psnr[BOUND_COUNT] = {1, 20, 45, 70, 85, 100, 120, 140};

/* RISING stands for SCATTERED too: the patterns of a block are the same. */
typedef struct group {
  szgpu_mode mode;
  floats_order order;
  const double *bounds;
  uint32_t bound_count;
} group;
static const double no_bound[] = {0};
static const group groups[] = {{SZGPU_MODE_REL, FLOATS_RISING, bounds_rel, BOUND_COUNT},
                               {SZGPU_MODE_ABS, FLOATS_RISING, bounds_abs, BOUND_COUNT},
                               {SZGPU_MODE_PSNR, FLOATS_RISING, bounds_psnr, BOUND_COUNT},
                               {SZGPU_MODE_LOSSLESS, FLOATS_RISING, no_bound, 1},
                               {SZGPU_MODE_ABS, FLOATS_WOVEN, bounds_abs, BOUND_COUNT},
                               {SZGPU_MODE_REL, FLOATS_MIXED, bounds_rel, BOUND_COUNT},
                               {SZGPU_MODE_ABS, FLOATS_MIXED, bounds_abs, BOUND_COUNT},
                               {SZGPU_MODE_PSNR, FLOATS_MIXED, bounds_psnr, BOUND_COUNT},
                               {SZGPU_MODE_LOSSLESS, FLOATS_MIXED, no_bound, 1}};
enum { GROUP_COUNT = sizeof groups / sizeof *groups, PASS_COUNT = 7 * BOUND_COUNT + 2 };

static uint64_t count_cases(const floats_options *options) {
  uint64_t const blocks = (uint64_t)1 << (32 - options->block_bits);
  return blocks * PASS_COUNT * (options->every_way ? FLOATS_WAY_COUNT : 1);
}

static void set_pass(uint64_t pass, szgpu_params *params, floats_order *order) {
  const group *g = groups;
  for (; pass >= g->bound_count; g++) pass -= g->bound_count;
  params->mode = g->mode;
  params->bound = g->bounds[pass];
  *order = g->order;
}

/* A shape of at least `count` values, even or not. */
static void set_shape(uint32_t count, uint64_t choice, szgpu_shape *shape) {
  uint64_t const slow[SHAPE_COUNT][4] = {{0},      {0},      {256},       {231},
                                         {16, 32}, {31, 37}, {4, 16, 64}, {3, 5, 67}};
  static const int slow_count[SHAPE_COUNT] = {0, 0, 1, 1, 2, 2, 3, 3};
  uint64_t row = count;
  shape->ndim = 1 + slow_count[choice];
  for (int i = 0; i < slow_count[choice]; i++) {
    shape->dims[i] = slow[choice][i];
    row = (row + slow[choice][i] - 1) / slow[choice][i];
  }
  shape->dims[shape->ndim - 1] = row + (choice == 1 ? 4099 : 0);
}

/* One case in four names a fill value: one of the block's own, or NaN. */
static void set_fill(const floats_block *block, uint64_t choice, szgpu_params *params) {
  if (choice % 4 || params->mode == SZGPU_MODE_LOSSLESS) return;
  uint32_t const index = block->first_index + (uint32_t)(choice >> 8) % block->index_count;
  params->has_fill = 1;
  params->fill = choice & 4 ? floats_value_f32(floats_pattern(block->order, index)) : NAN;
  if (isnan(params->fill)) params->fill = NAN; /* conversions may change what NaNs carry */
}

static void run_case(floats_worker *worker, floats_run_block *run_block, uint64_t number) {
  const floats_options *const options = worker->options;
  uint64_t const ways = options->every_way ? FLOATS_WAY_COUNT : 1;
  uint64_t const pass = number / ways % PASS_COUNT, hash = floats_hash(number);
  uint32_t const index_count = (uint32_t)1 << options->block_bits;
  uint64_t const block_number = number / ways / PASS_COUNT;
  floats_block block = {.first_index = (uint32_t)(block_number << options->block_bits),
                        .index_count = index_count};
  worker->params = (szgpu_params)SZGPU_PARAMS_DEFAULTS;
  worker->shape = (szgpu_shape){.dtype = SZGPU_F32};
  set_pass(pass, &worker->params, &block.order);
  if (block.order == FLOATS_RISING && hash & 1) block.order = FLOATS_SCATTERED;
  floats_set_way(options->every_way ? number % ways : (hash >> 1) % FLOATS_WAY_COUNT,
                 &worker->params);
  set_shape(index_count, (hash >> 8) % SHAPE_COUNT, &worker->shape);
  set_fill(&block, hash >> 16, &worker->params);
  if (hash >> 40 & 1) worker->params.frame_rows = (worker->shape.dims[0] + 2) / 3;
  run_block(worker, &block);
}

const floats_sweep floats_sweep_f32 = {"f32", 1, "all bit patterns of f32", count_cases, run_case};

void floats_run_block_cpu(floats_worker *worker, const floats_block *block) {
  uint64_t const count = floats_value_count(&worker->shape);
  uint32_t *const field = floats_room(worker, &worker->field, count * sizeof *field);
  for (uint64_t i = 0; i < count; i++)
    field[i] =
        floats_pattern(block->order, block->first_index + (uint32_t)(i & (block->index_count - 1)));
  floats_round_trip(worker);
}
