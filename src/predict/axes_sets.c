/* axes_sets.c - a tile's differences along all sets of axes at once, in 16 bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Differences along several axes are made of those along fewer. Values whose coordinates on all
 * axes of a set are 0 are differenced along all other axes, and along those of the set they have
 * nothing before them: their differences are those along all axes.
 */
#include "predict/axes_sets.h"

#include <assert.h>
#include <string.h>

#include "core/dispatch.h"

/* A difference along three axes adds eight points, so it is less than 2^15. */
enum { MOST_DISTANCE = (1 << 12) - 1 };

/* The points minus the tile's first. Returns whether all are near enough. */
SZG_HOT static bool narrow_32(const int32_t *restrict points, uint32_t count,
                              int16_t *restrict narrow) {
  uint32_t const first = (uint32_t)points[0];
  uint32_t far = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t const distance = (uint32_t)points[i] - first;
    far |= distance + MOST_DISTANCE + 1;
    narrow[i] = (int16_t)distance;
  }
  return far < 2 * (MOST_DISTANCE + 1);
}

SZG_HOT static bool narrow_64(const int64_t *restrict points, uint32_t count,
                              int16_t *restrict narrow) {
  uint64_t const first = (uint64_t)points[0];
  uint64_t far = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t const distance = (uint64_t)points[i] - first;
    far |= distance + MOST_DISTANCE + 1;
    narrow[i] = (int16_t)distance;
  }
  return far < 2 * (MOST_DISTANCE + 1);
}

SZG_INLINE void subtract(const int16_t *restrict from, const int16_t *restrict before,
                         uint32_t count, int16_t *restrict to) {
  for (uint32_t i = 0; i < count; i++) to[i] = (int16_t)(from[i] - before[i]);
}

/* In each run, all values but the first `distance` minus those so far before them. */
SZG_INLINE void subtract_runs(const int16_t *restrict from, uint32_t count, uint32_t run,
                              uint32_t distance, int16_t *restrict to) {
  for (uint32_t start = 0; start < count; start += run) {
    memcpy(to + start, from + start, distance * sizeof *to);
    subtract(from + start + distance, from + start, run - distance, to + start + distance);
  }
}

SZG_HOT static void subtract_x(const szg_tile *tile, const int16_t *restrict from,
                               int16_t *restrict to) {
  uint32_t const width = tile->x_extent, count = tile->value_count;
  subtract(from + 1, from, count - 1, to + 1);
  for (uint32_t row = 0; row < count; row += width) to[row] = from[row];
}

SZG_HOT static void subtract_y(const szg_tile *tile, const int16_t *restrict from,
                               int16_t *restrict to) {
  uint32_t const width = tile->x_extent;
  subtract_runs(from, tile->value_count, tile->y_extent * width, width, to);
}

SZG_HOT static void subtract_z(const szg_tile *tile, const int16_t *restrict from,
                               int16_t *restrict to) {
  uint32_t const plane = tile->y_extent * tile->x_extent;
  subtract_runs(from, tile->value_count, tile->value_count, plane, to);
}

/* Values with coordinate 0 on all axes of the set. */
static void copy_edge(const szg_tile *tile, uint32_t set, const int16_t *restrict from,
                      int16_t *restrict to) {
  uint32_t const width = tile->x_extent, plane = tile->y_extent * width;
  uint32_t const z_extent = set & SZG_AXIS_Z ? 1 : tile->z_extent;
  uint32_t const y_extent = set & SZG_AXIS_Y ? 1 : tile->y_extent;
  for (uint32_t z = 0; z < z_extent; z++)
    for (uint32_t y = 0; y < y_extent; y++) {
      uint32_t const row = z * plane + y * width;
      if (set & SZG_AXIS_X)
        to[row] = from[row];
      else
        memcpy(to + row, from + row, width * sizeof *to);
    }
}

bool szg_tile_difference_sets(uint32_t lattice_bits, const szg_tile *tile,
                              const szg_tile_points *lattice, uint32_t set_count,
                              int16_t (*differences)[SZG_TILE_VALUES]) {
  assert(set_count == 1 || set_count == 3 || set_count == SZG_AXES_ALL);
  int16_t points[SZG_TILE_VALUES];
  bool const are_near = lattice_bits == 64 ? narrow_64(lattice->i64, tile->value_count, points)
                                           : narrow_32(lattice->i32, tile->value_count, points);
  if (!are_near) return false;
  int16_t(*const of_set)[SZG_TILE_VALUES] = differences - 1;
  subtract_x(tile, points, of_set[SZG_AXIS_X]);
  if (set_count >= 3) {
    subtract_y(tile, points, of_set[SZG_AXIS_Y]);
    subtract_y(tile, of_set[SZG_AXIS_X], of_set[SZG_AXIS_X | SZG_AXIS_Y]);
  }
  for (uint32_t set = SZG_AXIS_Z; set <= set_count; set++)
    subtract_z(tile, set == SZG_AXIS_Z ? points : of_set[set - SZG_AXIS_Z], of_set[set]);
  for (uint32_t set = 1; set < set_count; set++)
    copy_edge(tile, set, of_set[set_count], of_set[set]);
  return true;
}
