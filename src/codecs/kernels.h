/* kernels.h - small kernels around a frame's sections. Pointers point to device memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FRAME_KERNELS_H
#define SZG_FRAME_KERNELS_H

#include "container/checksum.h"
#include "core/tiles.h"

SZG_C_BEGIN

/* Splits values into byte planes, and merges the planes of a window into its values. width: 1, 2, 4
 * or 8. */
szgpu_status szg_raw_split_cuda(const void *values, uint64_t value_count, unsigned width,
                                uint8_t *planes, struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_raw_merge_cuda(const uint8_t *planes, uint64_t frame_values, unsigned width,
                                uint64_t first_value, uint64_t value_count, void *values,
                                struct CUstream_st *stream) SZG_CHECKED;

szgpu_status szg_values_fill_cuda(void *values, uint64_t value_count, unsigned width, uint64_t bits,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* What a frame's counts must add up to. */
typedef struct szg_frame_sums {
  bool is_linear;
  unsigned escape_bytes; /* as the frame's header says; 0: none */
  unsigned value_bytes;
  uint64_t escapes, exact_mask, exact_values, fill_mask; /* bytes of the sections; 0: absent */
  uint64_t bitstream, gaps, sequence_codes;              /* the same for a linear frame */
  bool has_gaps;                                         /* and the last two must be present */
  const uint32_t *words;
} szg_frame_sums;

/* Compares with totals (of all tiles) and sets *bit_count. Sets verdict->bad_data if they disagree,
 * or if an unused bit of the last word is not 0. */
szgpu_status szg_frame_sums_check_cuda(const szg_frame_sums *sums, const szg_tile_place *totals,
                                       uint64_t *bit_count, szg_verdict *verdict,
                                       struct CUstream_st *stream) SZG_CHECKED;

/* What the outliers of a tile frame must add up to. */
typedef struct szg_tile_sums {
  const uint16_t *sizes;  /* [tiles] */
  szg_tile_counts counts; /* exact and fill */
  szg_frame_sums shares;  /* exact and fill: is_linear is false, escapes are 0 */
} szg_tile_sums;

/* Compares with totals (of all tiles). Sets verdict->bad_data if they disagree, or if a raw tile
 * has outliers. */
szgpu_status szg_tile_sums_check_cuda(const szg_tile_sums *sums, const szg_grid *grid,
                                      const szg_tile_place *totals, szg_verdict *verdict,
                                      struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
