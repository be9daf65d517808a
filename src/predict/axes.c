/* axes.c - the choice of axes and radius.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/axes.h"

#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"

enum {
  LOG_FRACTION_BITS = 16,
  SYMBOL_COST_BITS = 8, /* of a symbol in the codebook, about */
  RADIUS_GAIN_SHIFT = 6 /* a larger radius must save 1/64: a small table decodes faster */
};

uint64_t szg_log2_fixed(uint64_t x) {
  unsigned const whole = 63 - (unsigned)__builtin_clzll(x);
  uint64_t mantissa = whole > 31 ? x >> (whole - 31) : x << (31 - whole); /* [1, 2) in Q31 */
  uint64_t result = whole;
  for (int i = 0; i < LOG_FRACTION_BITS; i++) {
    mantissa = mantissa * mantissa >> 31;
    uint64_t const carry = mantissa >> 32;
    mantissa >>= carry;
    result = result << 1 | carry;
  }
  return result;
}

/* Bits, in units of 2^-16, that an entropy code takes for `total` symbols of these counts. */
static uint64_t entropy_cost(const uint32_t *counts, size_t count_count, uint64_t total) {
  if (total == 0) return 0;
  uint64_t cost = total * szg_log2_fixed(total);
  for (size_t i = 0; i < count_count; i++)
    if (counts[i]) cost -= counts[i] * szg_log2_fixed(counts[i]);
  return cost;
}

/* As a Huffman code would: no code is shorter than a bit, so a symbol that makes up more than half
 * of all costs 1 bit, and the others 1 bit and what they cost among themselves. */
static uint64_t huffman_cost(uint32_t *counts, size_t count_count, size_t likely, uint64_t total) {
  uint32_t const likely_count = counts[likely];
  if (2 * (uint64_t)likely_count <= total) return entropy_cost(counts, count_count, total);
  counts[likely] = 0;
  uint64_t const rest = entropy_cost(counts, count_count, total - likely_count);
  counts[likely] = likely_count;
  return (total << LOG_FRACTION_BITS) + rest;
}

static unsigned magnitude_width(int64_t delta) {
  uint64_t const magnitude = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
  return 64 - (unsigned)__builtin_clzll(magnitude | 1);
}

typedef struct choice_job {
  const szg_quantizer *quantizer;
  const szg_grid *grid;
  const void *frame_values;
  szg_choice_work *work;
  uint32_t sample_count;
  uint32_t grid_axes;
} choice_job;

static szgpu_status sample_part(void *job_pointer, uint64_t i, int worker) {
  (void)worker;
  choice_job *const job = job_pointer;
  szg_choice_work *const work = job->work;
  uint64_t const tile_count = job->grid->tile_count;
  /* floor((2 i + 1) T / (2 S)), in a form that cannot overflow */
  uint64_t const twice = 2 * (uint64_t)job->sample_count;
  uint64_t const index =
      (2 * i + 1) * (tile_count / twice) + (2 * i + 1) * (tile_count % twice) / twice;
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
  work->costs[axes] = UINT64_MAX;
  if (axes & ~job->grid_axes) return SZGPU_OK;
  bool const is_wide = szg_is_wide(job->quantizer->arithmetic);
  uint32_t *const classes = work->classes[axes];
  memset(classes, 0, sizeof work->classes[axes]);
  uint64_t total = 0, raw_bits = 0;
  szg_cost_work *const set = &work->sets[part];
  memset(set->counts, 0, sizeof set->counts);
  for (uint32_t i = 0; i < job->sample_count; i++) {
    const szg_tile *const tile = &work->tiles[i];
    szg_tile_difference(is_wide, tile, axes, &work->sample[i].lattice, &set->tile.deltas);
    uint32_t const escape_count =
        szg_tile_code(is_wide, tile, SZG_COST_RADIUS, &set->tile, set->codes, set->escapes);
    count_codes(set->codes, tile->value_count, set->counts);
    for (uint32_t c = 0; c < escape_count; c++) {
      unsigned const width = magnitude_width(set->escapes[c]);
      classes[2 * SZG_COST_RADIUS + width]++;
      raw_bits += width;
    }
    total += tile->value_count;
  }
  for (uint32_t s = SZG_ESCAPE_SYMBOL + 1; s < 2 * SZG_COST_RADIUS; s++)
    classes[s] = set->counts[0][s] + set->counts[1][s] + set->counts[2][s] + set->counts[3][s];
  work->has_large[axes] = raw_bits > 0;
  work->costs[axes] = huffman_cost(classes, SZG_COST_CLASSES, SZG_COST_RADIUS, total) +
                      (raw_bits << LOG_FRACTION_BITS);
  return SZGPU_OK;
}

/* Counts every delta of the sample along the chosen axes. */
static uint64_t count_deltas(const choice_job *job, uint32_t axes) {
  szg_choice_work *const work = job->work;
  bool const is_wide = szg_is_wide(job->quantizer->arithmetic);
  memset(work->deltas, 0, sizeof work->deltas);
  memset(work->wide_deltas, 0, sizeof work->wide_deltas);
  uint64_t total = 0;
  for (uint32_t i = 0; i < job->sample_count; i++) {
    szg_tile_difference(is_wide, &work->tiles[i], axes, &work->sample[i].lattice,
                        &work->sample[i].deltas);
    uint32_t const count = work->tiles[i].value_count;
    for (uint32_t c = 0; c < count; c++) {
      int64_t const delta =
          is_wide ? work->sample[i].deltas.wide[c] : work->sample[i].deltas.narrow[c];
      if (delta > -SZG_MAX_RADIUS && delta < SZG_MAX_RADIUS)
        work->deltas[delta + SZG_MAX_RADIUS]++;
      else
        work->wide_deltas[szg_narrow_bytes(delta)]++;
    }
    total += count;
  }
  return total;
}

/* Codes within the radius and the escape, the escaped deltas, the codebook. */
static uint64_t radius_cost(szg_choice_work *work, uint32_t radius, uint64_t total) {
  uint32_t *const codes = work->deltas + SZG_MAX_RADIUS - radius; /* [0] will be the escape */
  uint64_t coded = 0, symbols = 0;
  unsigned escape_bytes = szg_narrow_bytes(radius);
  uint32_t const outer_code = codes[0];
  for (uint32_t s = 1; s < 2 * radius; s++) {
    coded += codes[s];
    symbols += codes[s] != 0;
  }
  for (unsigned width = 1; width <= 8; width++)
    if (work->wide_deltas[width] && width > escape_bytes) escape_bytes = width;
  uint64_t const escapes = total - coded;
  codes[0] = (uint32_t)escapes;
  uint64_t const cost = huffman_cost(codes, 2 * radius, radius, total);
  codes[0] = outer_code;
  return cost + ((escapes * 8 * escape_bytes + symbols * SYMBOL_COST_BITS) << LOG_FRACTION_BITS);
}

static uint32_t choose_radius(szg_choice_work *work, uint64_t total) {
  static const uint32_t radii[] = {512, 2048, 8192, SZG_MAX_RADIUS};
  uint32_t best = radii[0];
  uint64_t best_cost = radius_cost(work, best, total);
  for (size_t i = 1; i < sizeof radii / sizeof *radii; i++) {
    uint64_t const cost = radius_cost(work, radii[i], total);
    if (cost < best_cost - (best_cost >> RADIUS_GAIN_SHIFT)) {
      best = radii[i];
      best_cost = cost;
    }
  }
  return best;
}

/* A sixteenth of the tiles, within limits. */
static uint32_t sample_count(uint64_t tile_count) {
  if (tile_count <= SZG_LEAST_SAMPLE) return (uint32_t)tile_count;
  uint64_t const share = tile_count / SZG_SAMPLE_SHARE;
  return share < SZG_LEAST_SAMPLE ? SZG_LEAST_SAMPLE
                                  : (uint32_t)szg_min_u64(share, SZG_MOST_SAMPLE);
}

szgpu_status szg_choose(szg_threads *threads, const szg_quantizer *quantizer, const szg_grid *grid,
                        const void *frame_values, uint32_t asked_radius, szg_choice_work *work,
                        szg_choice *choice) {
  choice_job job = {quantizer,          grid, frame_values, work, sample_count(grid->tile_count),
                    szg_grid_axes(grid)};
  SZG_TRY(szg_for_parts(threads, job.sample_count, 0, sample_part, &job));
  SZG_TRY(szg_for_parts(threads, SZG_AXES_SETS, 0, cost_part, &job));
  choice->axes = SZG_AXIS_X;
  for (uint32_t axes = 1; axes <= SZG_AXES_SETS; axes++)
    if (work->costs[axes] < work->costs[choice->axes]) choice->axes = axes;
  choice->radius = asked_radius ? asked_radius : SZG_COST_RADIUS;
  if (asked_radius == 0 && work->has_large[choice->axes]) /* otherwise no larger one could gain */
    choice->radius = choose_radius(work, count_deltas(&job, choice->axes));
  return SZGPU_OK;
}
