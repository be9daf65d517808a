/* levels_cuda.h - stages of levels frames on the GPU: values to codes, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The twins of szg_levels_code_tile and szg_levels_restore_tile, for many tiles of one stage in one
 * launch. Codes, grids and values are bit-identical to the CPU's. A stage needs the grid of the
 * stage before it, so stages go into the stream in order. Nothing waits for the device, and all
 * arguments are known beforehand, so calls may be part of a graph.
 *
 * Pointers in structs and arguments are to device memory, except those to const structs and `grids`
 * itself, which are read during the call. Lattice values and codes are int32_t, or int64_t if the
 * frame is wide. codes must be aligned to 16 bytes, grids to their elements.
 */
#ifndef SZG_LEVELS_CUDA_H
#define SZG_LEVELS_CUDA_H

#include "codecs/interpolation/levels.h"

SZG_C_BEGIN

/* Tiles first_tile to end_tile - 1 of a stage. box: NULL, or in host memory a box of the stage's
 * tiles. Then these are their numbers in it, where they follow one another as in a stage. */
typedef struct szg_levels_tiles_cuda {
  uint64_t first_tile, end_tile;
  const szg_box *box;
} szg_levels_tiles_cuda;

/* Where to note values that have no lattice value; fill values are among them. marks[t] becomes 1
 * if tile t of the frame, as in its szg_grid, has such a value among those that the stage codes,
 * and otherwise stays as it is: zeroed before the first stage, marks are complete after the last.
 * They are the tile_marks of szg_outlier_write_plan_cuda. */
typedef struct szg_levels_marks_cuda {
  const szg_grid *frame; /* host memory; what szg_levels_make got */
  uint8_t *marks;        /* [frame->tile_count] */
  uint32_t *has_marks;   /* becomes 1 if a mark does; NULL: not needed */
} szg_levels_marks_cuda;

/* Values to codes. values: the frame's. grids[i]: [stages[i].point_count]; this reads
 * grids[stage - 1] and writes the tiles' points of grids[stage], except in the last stage, where
 * that may be NULL. tiles: NULL for all. codes: [tiles][place_count], those of places that do not
 * exist and of points without a lattice value are 0. marks: NULL if not needed, as when the same
 * tiles are coded again. Coding a tile twice gives the same codes, lattice values and marks. */
szgpu_status szg_levels_code_stage_cuda(const szg_levels *levels, uint32_t stage,
                                        const szg_levels_lattice *lattice, const void *values,
                                        void *const *grids, const szg_levels_tiles_cuda *tiles,
                                        void *codes, const szg_levels_marks_cuda *marks,
                                        struct CUstream_st *stream) SZG_CHECKED;

/* Codes of these tiles, [end_tile - first_tile][place_count], to their points of grids[stage]; or,
 * if `stage` is the last and values is not NULL, to values first_value to end_value - 1 of the
 * frame. Value first_value goes to `values`; tiles may have others, which are left out. unit: that
 * of the stage, in device memory, because the host does not read it; NULL: the one in `levels`.
 * Codes are untrusted. */
szgpu_status szg_levels_restore_stage_cuda(const szg_levels *levels, uint32_t stage,
                                           const szg_levels_tiles_cuda *tiles,
                                           const szg_levels_lattice *lattice, const uint32_t *unit,
                                           const void *codes, void *const *grids, void *values,
                                           uint64_t first_value, uint64_t end_value,
                                           struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
