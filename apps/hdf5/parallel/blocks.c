/* blocks.c - a grid of ranks over a field, cut at chunks or anywhere.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "blocks.h"

/* Piece `part` of part_count pieces of an axis, cut at multiples of unit values. */
static void cut_axis(uint64_t dim, uint64_t unit, uint64_t part_count, uint64_t part,
                     uint64_t *start, uint64_t *count) {
  uint64_t const units = (dim + unit - 1) / unit;
  uint64_t const first = units * part / part_count * unit;
  uint64_t const end = units * (part + 1) / part_count * unit;
  *start = first < dim ? first : dim;
  *count = (end < dim ? end : dim) - *start;
}

/* The values of the largest block along an axis. */
static uint64_t longest_part(uint64_t dim, uint64_t unit, uint64_t part_count) {
  uint64_t longest = 0;
  for (uint64_t part = 0; part < part_count; part++) {
    uint64_t start, count;
    cut_axis(dim, unit, part_count, part, &start, &count);
    if (count > longest) longest = count;
  }
  return longest;
}

struct cost {
  uint64_t volume, surface;
};

static struct cost cost_of_grid(const uint64_t *dims, const uint64_t *unit, const uint64_t *grid) {
  uint64_t longest[FIELD_DIMS];
  for (int axis = 0; axis < FIELD_DIMS; axis++)
    longest[axis] = longest_part(dims[axis], unit[axis], grid[axis]);
  return (struct cost){
      .volume = longest[0] * longest[1] * longest[2],
      .surface = longest[0] * longest[1] + longest[1] * longest[2] + longest[2] * longest[0]};
}

/* The cheapest grid; of equals, the one that cuts the slowest axis most, since its blocks have the
 * longest runs in memory. */
static void choose_grid(const uint64_t *dims, const uint64_t *unit, uint64_t rank_count,
                        uint64_t *grid) {
  struct cost least = {UINT64_MAX, UINT64_MAX};
  for (uint64_t slow = rank_count; slow >= 1; slow--) {
    if (rank_count % slow != 0) continue;
    uint64_t const rest = rank_count / slow;
    for (uint64_t middle = rest; middle >= 1; middle--) {
      if (rest % middle != 0) continue;
      uint64_t const tried[FIELD_DIMS] = {slow, middle, rest / middle};
      struct cost const cost = cost_of_grid(dims, unit, tried);
      if (cost.volume < least.volume ||
          (cost.volume == least.volume && cost.surface < least.surface)) {
        least = cost;
        for (int axis = 0; axis < FIELD_DIMS; axis++) grid[axis] = tried[axis];
      }
    }
  }
}

struct block block_of_rank(const uint64_t *dims, const uint64_t *chunk, int rank_count, int rank,
                           bool is_unaligned) {
  static const uint64_t one_value[FIELD_DIMS] = {1, 1, 1};
  const uint64_t *const unit = is_unaligned ? one_value : chunk;
  uint64_t grid[FIELD_DIMS] = {(uint64_t)rank_count, 1, 1};
  choose_grid(dims, unit, (uint64_t)rank_count, grid);

  uint64_t const place = (uint64_t)rank;
  uint64_t const part[FIELD_DIMS] = {place / (grid[1] * grid[2]), place / grid[2] % grid[1],
                                     place % grid[2]};
  struct block block;
  for (int axis = 0; axis < FIELD_DIMS; axis++)
    cut_axis(dims[axis], unit[axis], grid[axis], part[axis], &block.start[axis],
             &block.count[axis]);
  if (block_values(&block) == 0)
    for (int axis = 0; axis < FIELD_DIMS; axis++) block.count[axis] = 0;
  return block;
}

uint64_t block_values(const struct block *block) {
  return block->count[0] * block->count[1] * block->count[2];
}
