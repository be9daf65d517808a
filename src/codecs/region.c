/* region.c - which values of a frame a region has, and copies of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/region.h"

#include <string.h>

#include "core/bytes.h"

szg_region szg_region_of_frame(const szg_box *box, uint32_t level, const szg_grid *whole,
                               const szg_grid *frame, uint64_t first_row) {
  szg_region region = {
      .level = level,
      .extent = {frame->batch_extent, frame->z_extent, frame->y_extent, frame->x_extent},
      .value_count = 1};
  int const row_axis = whole->row_axis;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    uint64_t const step = axis == 0 ? 1 : (uint64_t)1 << level;
    uint64_t const offset = axis == row_axis ? first_row : 0;
    uint64_t first = szg_div_up(offset, step), end = szg_div_up(offset + region.extent[axis], step);
    if (first < box->first[axis]) first = box->first[axis];
    if (end > box->end[axis]) end = box->end[axis];
    region.step[axis] = step;
    region.first[axis] = first < end ? first * step - offset : 0;
    region.count[axis] = first < end ? end - first : 0;
    region.value_count *= region.count[axis];
  }
  return region;
}

szg_box szg_region_tiles(const szg_region *region, const szg_grid *frame) {
  uint64_t const extents[] = {1, frame->tile_z, frame->tile_y, frame->tile_x};
  szg_box tiles;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    uint64_t const last = region->first[axis] + (region->count[axis] - 1) * region->step[axis];
    tiles.first[axis] = region->first[axis] / extents[axis];
    tiles.end[axis] = last / extents[axis] + 1;
  }
  return tiles;
}

/* ---- tiles ---- */

/* How many of the region's values along an axis are before the frame's `at`. */
static uint64_t count_before(const szg_region *region, int axis, uint64_t at) {
  uint64_t const first = region->first[axis];
  if (at <= first) return 0;
  return szg_min_u64(szg_div_up(at - first, region->step[axis]), region->count[axis]);
}

/* Where the tile begins in the frame. */
static void find_origin(const szg_grid *frame, const szg_tile *tile, uint64_t at[SZG_BOX_AXES]) {
  uint64_t const row = tile->first_value / frame->x_extent, plane = row / frame->y_extent;
  at[0] = plane / frame->z_extent;
  at[1] = plane % frame->z_extent;
  at[2] = row % frame->y_extent;
  at[3] = tile->first_value % frame->x_extent;
}

/* A row of values that region and tile share. */
static void copy_row(const szg_region *region, bool is_back, uint64_t count, size_t value_bytes,
                     uint8_t *shown, uint8_t *here) {
  size_t const step_bytes = region->step[3] * value_bytes;
  if (region->step[3] == 1) {
    memcpy(is_back ? shown : here, is_back ? here : shown, count * value_bytes);
    return;
  }
  for (uint64_t i = 0; i < count; i++, shown += value_bytes, here += step_bytes)
    memcpy(is_back ? shown : here, is_back ? here : shown, value_bytes);
}

static void copy_shared(const szg_region *region, const szg_grid *frame, const szg_tile *tile,
                        bool is_back, size_t value_bytes, uint8_t *values) {
  uint64_t const extents[] = {1, tile->z_extent, tile->y_extent, tile->x_extent};
  uint64_t origin[SZG_BOX_AXES], first[SZG_BOX_AXES], end[SZG_BOX_AXES], from[SZG_BOX_AXES];
  find_origin(frame, tile, origin);
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    first[axis] = count_before(region, axis, origin[axis]);
    end[axis] = count_before(region, axis, origin[axis] + extents[axis]);
    from[axis] = region->first[axis] + first[axis] * region->step[axis] - origin[axis];
    if (first[axis] >= end[axis]) return;
  }
  for (uint64_t z = first[1]; z < end[1]; z++)
    for (uint64_t y = first[2]; y < end[2]; y++) {
      uint64_t const row = (first[0] * region->count[1] + z) * region->count[2] + y;
      uint64_t const z_in_tile = from[1] + (z - first[1]) * region->step[1];
      uint64_t const y_in_tile = from[2] + (y - first[2]) * region->step[2];
      uint64_t const in_tile = (z_in_tile * extents[2] + y_in_tile) * extents[3] + from[3];
      copy_row(region, is_back, end[3] - first[3], value_bytes,
               region->values + (row * region->count[3] + first[3]) * value_bytes,
               values + in_tile * value_bytes);
    }
}

void szg_region_take_tile(const szg_region *region, const szg_grid *frame, const szg_tile *tile,
                          size_t value_bytes, uint8_t *values) {
  copy_shared(region, frame, tile, true, value_bytes, values);
}

void szg_region_give_tile(const szg_region *region, const szg_grid *frame, const szg_tile *tile,
                          size_t value_bytes, uint8_t *values) {
  copy_shared(region, frame, tile, false, value_bytes, values);
}

/* ---- lines ---- */

/* Finds the region's first value at or after the frame's value `index`; false: there is none. */
static bool find_next(const szg_region *region, uint64_t index, uint64_t at[SZG_BOX_AXES]) {
  uint64_t coordinates[SZG_BOX_AXES];
  bool is_beyond = false; /* what is found is after `index` along a slower axis */
  for (int axis = SZG_BOX_AXES - 1; axis >= 0; axis--) {
    coordinates[axis] = index % region->extent[axis];
    index /= region->extent[axis];
    at[axis] = 0;
  }
  if (index > 0) return false;
  for (int axis = 0; axis < SZG_BOX_AXES && !is_beyond; axis++) {
    at[axis] = count_before(region, axis, coordinates[axis]);
    is_beyond = coordinates[axis] < region->first[axis];
    for (int slower = axis; at[slower] == region->count[slower]; at[slower]++) {
      is_beyond = true;
      at[slower] = 0;
      if (slower-- == 0) return false;
    }
  }
  return true;
}

bool szg_region_meets_line(const szg_region *region, uint64_t first, uint64_t end) {
  uint64_t at[SZG_BOX_AXES];
  return find_next(region, first, at) && szg_region_index(region, at) < end;
}

void szg_region_take_line(const szg_region *region, uint64_t first, uint64_t end,
                          size_t value_bytes, const uint8_t *values) {
  uint64_t at[SZG_BOX_AXES];
  assert(region->level == 0);
  for (uint64_t next = first; find_next(region, next, at);) {
    uint64_t const index = szg_region_index(region, at);
    if (index >= end) return;
    uint64_t const row = (at[0] * region->count[1] + at[1]) * region->count[2] + at[2];
    uint64_t const count = szg_min_u64(region->count[3] - at[3], end - index);
    memcpy(region->values + (row * region->count[3] + at[3]) * value_bytes,
           values + (index - first) * value_bytes, count * value_bytes);
    next = index + count;
  }
}
