/* outlier.h - what codes cannot say: escaped deltas, values kept exactly, the fill value's places.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything is kept tile by tile in code order, with a count per tile, so that each tile can be
 * restored alone.
 */
#ifndef SZG_OUTLIER_H
#define SZG_OUTLIER_H

#include <stdbool.h>

#include "core/device.h"
#include "core/memory.h"
#include "core/tiles.h"
#include "quant/quant_core.h"

SZG_C_BEGIN

/* Per-tile counts, arrays over the tiles of a frame. */
typedef struct szg_outlier_counts {
  uint16_t *escapes;          /* escaped deltas */
  uint16_t *exact_mask_bytes; /* of the run-length coded mask; 0: no exact value */
  uint16_t *exact_values;
  uint16_t *fill_mask_bytes;
} szg_outlier_counts;

/* Outliers of a run of tiles. */
typedef struct szg_outlier_lists {
  szg_buffer escapes; /* i32, or i64 on the 64-bit lattice */
  szg_buffer exact_mask;
  szg_buffer exact_values; /* bit patterns, in the field's type */
  szg_buffer fill_mask;
} szg_outlier_lists;

/* Empty lists, whose memory counts to the account. */
szg_outlier_lists szg_outlier_lists_make(szg_account *account);
void szg_outlier_lists_release(szg_outlier_lists *lists);

/* Appends one tile's escapes and sets the tile's count. */
szgpu_status szg_outlier_add_escapes(uint32_t lattice_bits, const int64_t *escapes,
                                     uint32_t escape_count, uint64_t tile_index,
                                     szg_outlier_lists *lists,
                                     szg_outlier_counts *counts) SZG_CHECKED;

/* Appends the values that marks names (SZG_MARK_*, in code order; NULL: none); sets the counts. */
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

/* ---- CUDA: all pointers except quantizer and grid are to device memory ---- */

/* What a pass over a frame's values needs to tell exact values from fill values. */
typedef struct szg_marked_frame_cuda {
  szgpu_dtype dtype;
  const szg_quantizer *quantizer;
  const szg_grid *grid;
  const void *values;       /* of the frame */
  const void *exact_values; /* the same, with all bits of those that are kept exactly */
  bool is_constant; /* values that equal constant_bits as numbers are coded, and no others */
  uint64_t constant_bits;
  const uint32_t *tiles; /* numbers of the tiles that have marks */
  const uint32_t *tile_count;
  /* near_limit > 0: a levels frame, which codes a value if its product with near_inverse, rounded
   * once, is from -near_limit to near_limit - 1. near_is_f32: the product is one of f32. */
  uint64_t near_limit;
  bool near_is_f32;
  double near_inverse;
} szg_marked_frame_cuda;

/* Counts the listed tiles: exact[2 t], exact[2 t + 1], fill_mask_bytes[t]. */
szgpu_status szg_marks_measure_cuda(const szg_marked_frame_cuda *frame, uint16_t *exact,
                                    uint16_t *fill_mask_bytes,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* Writes masks and exact values of the listed tiles, each at its place in its section. A section
 * that the frame does not have is NULL. */
szgpu_status szg_marks_write_cuda(const szg_marked_frame_cuda *frame, const szg_tile_place *places,
                                  uint8_t *exact_mask, uint8_t *exact_values, uint8_t *fill_mask,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* Writes exact and fill values over the restored ones. Unless *verdict says otherwise, the sections
 * have the lengths that the places need; their contents are untrusted. Sets verdict->bad_data as
 * szg_outlier_apply fails; does nothing if it is set already. `values` is where value first_value
 * of the frame goes. Only value_count values from there on are written, and tiles without any of
 * them are skipped. tiles: those that have counts. */
typedef struct szg_outlier_input_cuda {
  szgpu_dtype dtype;
  const szg_grid *grid;
  szg_tile_counts counts;
  const szg_tile_place *places, *ends;                  /* of the tiles' shares */
  const uint8_t *exact_mask, *exact_values, *fill_mask; /* NULL: the frame has none */
  uint64_t fill_bits;
  const uint32_t *tiles;
  const uint32_t *tile_count;
} szg_outlier_input_cuda;
szgpu_status szg_outlier_apply_cuda(const szg_outlier_input_cuda *input, void *values,
                                    uint64_t first_value, uint64_t value_count,
                                    szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
