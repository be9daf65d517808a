/* blocks.h - the block of a 3-D field that each rank holds.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_PARALLEL_BLOCKS_H
#define SZGPU_PARALLEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { FIELD_DIMS = 3 };

/* start[axis] to start[axis] + count[axis] - 1, slowest axis first. A rank without a share has
 * counts of 0. */
struct block {
  uint64_t start[FIELD_DIMS], count[FIELD_DIMS];
};

/* The ranks form a grid whose largest block has the fewest values and, of several such grids, the
 * least surface. Blocks consist of whole chunks, so that each chunk belongs to one rank; with
 * is_unaligned, single values are shared out evenly instead. */
struct block block_of_rank(const uint64_t *dims, const uint64_t *chunk, int rank_count, int rank,
                           bool is_unaligned);

uint64_t block_values(const struct block *block);

#endif
