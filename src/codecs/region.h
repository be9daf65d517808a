/* region.h - the part of a frame that a call wants, if it is not whole rows: a box of its values,
 * or of every 2^level-th of them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A frame's tiles, or what else its kind restores at a time, go through memory of the worker;
 * from there the region takes its values. A preview is the region that has all of a level.
 */
#ifndef SZG_REGION_H
#define SZG_REGION_H

#include "codecs/frame.h"

SZG_C_BEGIN

/* Value i along an axis (batch, z, y, x) is the frame's value first + i * step. */
typedef struct szg_region {
  uint32_t level;
  uint64_t first[SZG_BOX_AXES], count[SZG_BOX_AXES];
  uint64_t step[SZG_BOX_AXES];   /* 2^level; 1 along the batch */
  uint64_t extent[SZG_BOX_AXES]; /* of the frame */
  uint64_t value_count;
  uint8_t *values; /* where they go, without gaps, x fastest */
} szg_region;

/* The part of `box`, a box of the field's grid at `level`, that a frame has. The frame begins at
 * row first_row of the field, which is `whole`; it may begin between two rows of the level's grid.
 * value_count can be 0. */
szg_region szg_region_of_frame(const szg_box *box, uint32_t level, const szg_grid *whole,
                               const szg_grid *frame, uint64_t first_row);

/* The frame's index of the region's value `at` (batch, z, y, x). */
SZG_HD uint64_t szg_region_index(const szg_region *region, const uint64_t at[SZG_BOX_AXES]) {
  uint64_t index = 0;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++)
    index = index * region->extent[axis] + region->first[axis] + at[axis] * region->step[axis];
  return index;
}

/* That of the first value of the region's row'th row; and the number of rows. */
SZG_HD uint64_t szg_region_row_at(const szg_region *region, uint64_t row) {
  uint64_t const plane = row / region->count[2];
  uint64_t const at[] = {plane / region->count[1], plane % region->count[1], row % region->count[2],
                         0};
  return szg_region_index(region, at);
}
SZG_HD uint64_t szg_region_row_count(const szg_region *region) {
  return region->count[0] * region->count[1] * region->count[2];
}

/* The least box of tiles of `frame` that has the region. */
szg_box szg_region_tiles(const szg_region *region, const szg_grid *frame);

/* Copies the values that region and tile share, of value_bytes each: from `values`, which has those
 * of the tile alone, to the region, or back. */
void szg_region_take_tile(const szg_region *region, const szg_grid *frame, const szg_tile *tile,
                          size_t value_bytes, uint8_t *values);
void szg_region_give_tile(const szg_region *region, const szg_grid *frame, const szg_tile *tile,
                          size_t value_bytes, uint8_t *values);

/* For frames that are read as a line of values, which have no levels. Whether the region has any of
 * the frame's values first to end - 1; copies them from `values`, which has all of these. */
bool szg_region_meets_line(const szg_region *region, uint64_t first, uint64_t end);
void szg_region_take_line(const szg_region *region, uint64_t first, uint64_t end,
                          size_t value_bytes, const uint8_t *values);

SZG_C_END

#endif
