/* outlier.h - what codes cannot say: escaped deltas, values kept exactly, the fill value's places.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything is kept tile by tile in code order, with a count per tile, so that a tile can be
 * restored alone.
 */
#ifndef SZG_OUTLIER_H
#define SZG_OUTLIER_H

#include <stdbool.h>

#include "core/memory.h"
#include "core/tiles.h"

/* Per-tile counts, arrays over the tiles of a frame. */
typedef struct szg_outlier_counts {
  uint16_t *escapes;          /* escaped deltas */
  uint16_t *exact_mask_bytes; /* of the run-length coded mask; 0: no exact value */
  uint16_t *exact_values;
  uint16_t *fill_mask_bytes;
} szg_outlier_counts;

/* Outliers of a run of tiles. */
typedef struct szg_outlier_lists {
  szg_buffer escapes; /* i32, or i64 on the wide lattice */
  szg_buffer exact_mask;
  szg_buffer exact_values; /* bit patterns, in the field's type */
  szg_buffer fill_mask;
} szg_outlier_lists;

void szg_outlier_lists_release(szg_outlier_lists *lists);

/* Appends one tile's escapes; the tile's count is set. */
szgpu_status szg_outlier_add_escapes(bool is_wide, const int64_t *escapes, uint32_t escape_count,
                                     uint64_t tile_index, szg_outlier_lists *lists,
                                     szg_outlier_counts *counts) SZG_CHECKED;

/* Appends the values that marks (SZG_MARK_*, in code order; NULL: none) says; sets the counts. */
szgpu_status szg_outlier_add_marked(szgpu_dtype dtype, const szg_tile *tile, const uint8_t *marks,
                                    const void *frame_values, uint64_t tile_index,
                                    szg_outlier_lists *lists,
                                    szg_outlier_counts *counts) SZG_CHECKED;

/* One tile's share of the outlier sections. */
typedef struct szg_tile_outliers {
  const uint8_t *exact_mask, *exact_values, *fill_mask;
  uint32_t exact_mask_bytes, exact_count, fill_mask_bytes;
} szg_tile_outliers;

/* Writes exact and fill values over the restored tile. SZGPU_BAD_DATA: a mask that is longer than
 * the tile or marks another number of values than exact_count. */
szgpu_status szg_outlier_apply(szgpu_dtype dtype, const szg_tile *tile,
                               const szg_tile_outliers *outliers, uint64_t fill_bits,
                               void *frame_values) SZG_CHECKED;

#endif
