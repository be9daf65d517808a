/* tile_spans.c - which lanes have which rows.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/lorenzo/tile_spans.h"

#include <string.h>

/* The rows of one group: where each begins in code order, and how many places it has. */
typedef struct group_rows {
  uint16_t first_values[SZG_GROUP_ROWS];
  uint8_t widths[SZG_GROUP_ROWS];
} group_rows;

static uint8_t row_width(uint32_t extent, uint32_t first) {
  uint32_t const left = extent > first ? extent - first : 0;
  return (uint8_t)(left < SZG_LANES ? left : SZG_LANES);
}

/* If a 2-D tile cannot be told from a 3-D one, both have the same rows. */
static void find_rows(const szg_tile *tile, uint32_t group, group_rows *rows) {
  bool const is_line = tile->plane_values == 0;
  bool const is_plane = tile->z_extent == 1 && tile->plane_values == tile->x_extent;
  for (uint32_t i = 0; i < SZG_GROUP_ROWS; i++) {
    uint32_t const row = group * SZG_GROUP_ROWS + i;
    uint32_t first_value, x, y;
    if (is_line) {
      x = row * SZG_LANES, y = 0;
      first_value = x;
    } else if (is_plane) {
      x = row % 2 * SZG_LANES, y = row / 2;
      first_value = y * tile->x_extent + x;
    } else {
      x = 0, y = i;
      first_value = group * tile->plane_values + y * tile->x_extent;
    }
    bool const is_there = y < tile->y_extent && (is_line || is_plane || group < tile->z_extent);
    rows->widths[i] = is_there ? row_width(tile->x_extent, x) : 0;
    rows->first_values[i] = (uint16_t)(is_there ? first_value : 0);
  }
}

/* The rows of lane `lane`, and the lanes from there on with the same rows. False: it has none. */
static bool find_span(const group_rows *rows, uint32_t lane, szg_tile_span *span) {
  memset(span, 0, sizeof *span);
  span->first_lane = (uint8_t)lane;
  span->end_lane = SZG_LANES;
  for (uint32_t i = 0; i < SZG_GROUP_ROWS; i++) {
    uint32_t const row = szg_group_row(i), half = i / SZG_HALF_ROWS;
    if (rows->widths[row] <= lane) continue;
    if (rows->widths[row] < span->end_lane) span->end_lane = rows->widths[row];
    span->first_values[half][span->row_counts[half]++] = rows->first_values[row];
  }
  return span->row_counts[0] > 0;
}

static uint32_t find_full_spans(szg_tile_span *spans) {
  uint32_t const group_count = SZG_LANE_CODES / SZG_GROUP_ROWS;
  for (uint32_t g = 0; g < group_count; g++) {
    spans[g] = (szg_tile_span){.row_counts = {SZG_HALF_ROWS, SZG_HALF_ROWS}, .end_lane = SZG_LANES};
    for (uint32_t i = 0; i < SZG_GROUP_ROWS; i++)
      spans[g].first_values[i / SZG_HALF_ROWS][i % SZG_HALF_ROWS] =
          (uint16_t)((g * SZG_GROUP_ROWS + szg_group_row(i)) * SZG_LANES);
  }
  return group_count;
}

uint32_t szg_tile_spans_find(const szg_tile *tile, szg_tile_span *spans) {
  if (tile->value_count == SZG_TILE_VALUES) return find_full_spans(spans);
  uint32_t span_count = 0;
  for (uint32_t group = 0; group < SZG_LANE_CODES / SZG_GROUP_ROWS; group++) {
    group_rows rows;
    find_rows(tile, group, &rows);
    for (uint32_t lane = 0; lane < SZG_LANES; lane = spans[span_count++].end_lane)
      if (!find_span(&rows, lane, &spans[span_count])) break;
  }
  return span_count;
}
