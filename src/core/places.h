/* places.h - where each tile's share of every section begins, and lists of tiles, on CUDA.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLACES_H
#define SZG_PLACES_H

#include "core/arena.h"
#include "core/device.h"
#include "core/tiles.h"

SZG_C_BEGIN

/* Pointers are to device memory. Scans and selections share the scratch memory, so they must run in
 * one stream; a list is valid until the next selection. */
typedef struct szg_places_cuda {
  szg_tile_place *places; /* [tiles + 1]: the last has the totals */
  szg_tile_place *ends;   /* [tiles]: where the tiles' shares end; places + 1 */
  uint32_t *tiles;        /* [tiles]: the list, in rising order */
  uint32_t *tile_count;   /* tiles in the list */
  void *scratch;
  uint64_t scratch_bytes;
} szg_places_cuda;

/* SZGPU_UNSUPPORTED: more tiles than 32 bits can number. */
szgpu_status szg_places_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                   szg_places_cuda *work) SZG_CHECKED;

/* Writes running sums of the counts to work->places. The device's counts may be wrong. */
szgpu_status szg_places_scan_cuda(const szg_places_cuda *work, const szg_grid *grid,
                                  const szg_tile_counts *counts,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* Lists the tiles with tile_marks[t] != 0. */
szgpu_status szg_places_select_marked_cuda(const szg_places_cuda *work, uint64_t tile_count,
                                           const uint8_t *tile_marks,
                                           struct CUstream_st *stream) SZG_CHECKED;

/* Lists the tiles with counts[t] != 0. */
szgpu_status szg_places_select_counted_cuda(const szg_places_cuda *work, uint64_t tile_count,
                                            const uint16_t *counts,
                                            struct CUstream_st *stream) SZG_CHECKED;

/* Lists the tiles with any of exact[2 t], exact[2 t + 1] and fill_mask_bytes[t]; an array that is
 * NULL counts as zeros. */
szgpu_status szg_places_select_marks_counted_cuda(const szg_places_cuda *work, uint64_t tile_count,
                                                  const uint16_t *exact,
                                                  const uint16_t *fill_mask_bytes,
                                                  struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
