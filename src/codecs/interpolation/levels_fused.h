/* levels_fused.h - stages of a frame on the GPU, each in one pass from words to points.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For levels of three axes that are not wide, and for their base. Everything else goes by
 * szg_tokens_decode_cuda and szg_levels_restore_stage_cuda, which give the same.
 */
#ifndef SZG_LEVELS_FUSED_H
#define SZG_LEVELS_FUSED_H

#include "codecs/interpolation/levels_cuda.h"
#include "huffman/tokens_cuda.h"

SZG_C_BEGIN

/* What is to be decoded: `tiles`, which are whole layers of tiles; or, if they are in a box, all of
 * that, and `input` has its tiles alone. As in
 * szg_levels_restore_stage_cuda, they go to grids[stage], or, if the stage is the last, to values
 * first_value to end_value - 1 of the frame, the first of which goes to `values`. */
typedef struct szg_levels_decode_job {
  const szg_levels *levels;
  uint32_t stage;
  szg_levels_tiles_cuda tiles;
  const szg_levels_lattice *lattice;
  const szg_tokens_input_cuda *input; /* opened */
  void *const *grids;
  void *values;
  uint64_t first_value, end_value;
  int32_t *codes;      /* device: [slot_count][place_count], of tiles with codes that are rare */
  uint64_t slot_count; /* SZG_LEVELS_SLOTS, or the stage's tiles if they are fewer */
} szg_levels_decode_job;

/* Warps that decode at once, at most; each may need a slot. */
enum { SZG_LEVELS_SLOTS = 4096 };

bool szg_levels_decode_serves(const szg_levels *levels, uint32_t stage);

/* verdict->bad_data: a tile is invalid; what it restores to may be anything. */
szgpu_status szg_levels_decode_cuda(const szg_levels_decode_job *job, szg_verdict *verdict,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* Whether szg_base_decode_cuda takes the base of such a frame. */
bool szg_base_decode_serves(const szg_levels *levels);

/* Tiles of the base to their points of `grid`, that of stage 0. input: opened, as above.
 * verdict->bad_data: as above. */
szgpu_status szg_base_decode_cuda(const szg_levels *levels, const szg_levels_tiles_cuda *tiles,
                                  const szg_levels_lattice *lattice,
                                  const szg_tokens_input_cuda *input, void *grid,
                                  szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
