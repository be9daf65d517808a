/* region_cuda.h - regions of frames on the GPU: a box of values around a region is restored, from
 * the tiles that it consists of, and the region is taken from it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The box lies in memory of its own, without gaps, x fastest. So its tiles are what a frame of the
 * box's extents would have, and the same kernels restore them; lists of what belongs to these tiles
 * are taken from the lists of all tiles.
 */
#ifndef SZG_REGION_CUDA_H
#define SZG_REGION_CUDA_H

#include "codecs/region.h"
#include "core/arena.h"

SZG_C_BEGIN

/* Lists over tiles, in device memory. NULL: not needed. */
typedef struct szg_tile_lists_cuda {
  const uint16_t *sizes;
  const uint64_t *first_words;
  const uint16_t *exact; /* two per tile */
  const uint16_t *fill_mask_bytes;
  const szg_tile_place *places, *ends;
} szg_tile_lists_cuda;

/* Device memory for the region of a frame. */
typedef struct szg_region_plan_cuda {
  uint8_t *values; /* of the box */
  uint16_t *sizes; /* [tiles] each, from here on */
  uint64_t *first_words;
  uint16_t *exact; /* [2 tiles] */
  uint16_t *fill_mask_bytes;
  szg_tile_place *places, *ends;
  uint32_t *line_tiles; /* [tiles]: of szg_region_line_tiles_cuda */
} szg_region_plan_cuda;

/* byte_count: of the box's values; tile_count: the most tiles that are listed at once. */
void szg_region_carve_cuda(szg_arena *arena, uint64_t byte_count, uint64_t tile_count,
                           szg_region_plan_cuda *plan);

/* The least box of values that has the region and, along each axis, begins and ends at multiples of
 * `units`, which are powers of two, or at the frame's end. */
szg_box szg_region_box(const szg_region *region, const uint64_t units[SZG_BOX_AXES]);
/* The least whole rows of the frame that have it. */
szg_box szg_region_rows(const szg_region *region, const szg_grid *frame);

/* The box as a grid of its own, with the frame's tiles. */
szg_grid szg_grid_of_box(const szg_grid *frame, const szg_box *box);
/* The box's tiles, of those of the frame. */
szg_box szg_tiles_of_box(const szg_grid *frame, const szg_box *box);

/* Takes the entries of a box of tiles from lists of all tiles into the plan's. */
szgpu_status szg_region_list_cuda(const szg_box *tiles, uint64_t z_tiles, uint64_t y_tiles,
                                  uint64_t x_tiles, const szg_tile_lists_cuda *all,
                                  const szg_region_plan_cuda *plan,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* For frames that are read as a line of values, tile_values to a tile: lists the tiles that have
 * values of the region, in any order, behind their number. `tiles` has room for that and for all
 * tiles from the first one to the last. */
szgpu_status szg_region_line_tiles_cuda(const szg_region *region, uint64_t tile_values,
                                        uint32_t *tiles, struct CUstream_st *stream) SZG_CHECKED;

/* Copies the region from the box's values to region->values, in device memory. width: bytes of a
 * value, 1, 2, 4 or 8. */
szgpu_status szg_region_take_cuda(const szg_region *region, const szg_box *box, unsigned width,
                                  const uint8_t *box_values,
                                  struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
