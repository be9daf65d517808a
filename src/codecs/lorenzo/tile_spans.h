/* tile_spans.h - which rows of a tile each lane has, for the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_SPANS_H
#define SZG_TILE_SPANS_H

#include <assert.h>

#include "codecs/lorenzo/tile_core.h"
#include "core/tiles.h"

/* Lanes with the same rows of a group, and where these rows' values begin in code order. A
 * group's rows in the order of codes are four steps of its first half and four of its second; a
 * half has row_counts[half] of them, from first_values[half] on. */
enum { SZG_HALF_ROWS = SZG_GROUP_ROWS / 2 };
typedef struct szg_tile_span {
  uint16_t first_values[2][SZG_HALF_ROWS];
  uint8_t row_counts[2]; /* the second is 0 if the first is */
  uint8_t first_lane, end_lane;
} szg_tile_span;

/* Bit l: lane l is one of them. */
static inline uint32_t szg_span_lanes(const szg_tile_span *span) {
  return (uint32_t)(((uint64_t)1 << span->end_lane) - ((uint64_t)1 << span->first_lane));
}

/* The longest lane: escapes on the 64-bit lattice, and a bit before each half of a group. */
enum {
  SZG_LANE_MAX_BITS = SZG_LANE_CODES * (SZG_TILE_CODE_BITS + 64) + SZG_LANE_CODES / SZG_HALF_ROWS
};
static_assert(SZG_LANE_MAX_BITS < 1 << SZG_TILE_LEAST_BITS, "a lane's length fits its field");

/* Rows of a group have at most two widths. */
enum { SZG_TILE_MAX_SPANS = 2 * SZG_LANE_CODES / SZG_GROUP_ROWS };

/* Finds spans in the order of groups; returns their number. */
uint32_t szg_tile_spans_find(const szg_tile *tile, szg_tile_span *spans);

#endif
