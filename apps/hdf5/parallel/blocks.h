/* blocks.h - which block of a 3-D field each rank has.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_PARALLEL_BLOCKS_H
#define SZGPU_PARALLEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { FIELD_DIMS = 3 };

/* start[axis] .. start[axis] + count[axis] - 1; a rank for which nothing is left has counts of 0.
 * Slowest axis first. */
struct block {
  uint64_t start[FIELD_DIMS], count[FIELD_DIMS];
};

/* The ranks form a grid, chosen so that the largest block is as small as can be and then has the
 * least surface. Blocks begin and end at chunks, so that each chunk is one rank's, unless
 * is_unaligned: then the values themselves are dealt out evenly. */
struct block block_of_rank(const uint64_t *dims, const uint64_t *chunk, int rank_count, int rank,
                           bool is_unaligned);

uint64_t block_values(const struct block *block);

#endif
