/* levels_tiles.h - the tiles of a stage, as the coder on CUDA sees them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_TILES_H
#define SZG_LEVELS_TILES_H

#include "codecs/interpolation/levels.h"
#include "huffman/tokens_cuda.h"

static inline szg_tokens_tiles szg_tokens_tiles_of(const szg_levels *levels, uint32_t stage) {
  const szg_levels_stage *const s = &levels->stages[stage];
  szg_tokens_tiles tiles;
  tiles.axis_count = levels->axis_count;
  tiles.is_base = stage == 0;
  tiles.is_wide = levels->is_wide;
  tiles.z_extent = s->z_extent;
  tiles.y_extent = s->y_extent;
  tiles.x_extent = s->x_extent;
  tiles.tile_z = s->tile_z;
  tiles.tile_y = s->tile_y;
  tiles.tile_x = s->tile_x;
  tiles.z_tiles = s->z_tiles;
  tiles.y_tiles = s->y_tiles;
  tiles.x_tiles = s->x_tiles;
  tiles.tile_count = s->tile_count;
  tiles.group_count = s->place_count / SZG_LEVELS_GROUP;
  return tiles;
}

/* A box of them, as if the stage had no others. */
static inline szg_tokens_tiles szg_tokens_tiles_in(const szg_levels *levels, uint32_t stage,
                                                   const szg_box *box) {
  szg_tokens_tiles tiles = szg_tokens_tiles_of(levels, stage);
  tiles.z_extent =
      szg_lesser_u64(box->end[1] * tiles.tile_z, tiles.z_extent) - box->first[1] * tiles.tile_z;
  tiles.y_extent =
      szg_lesser_u64(box->end[2] * tiles.tile_y, tiles.y_extent) - box->first[2] * tiles.tile_y;
  tiles.x_extent =
      szg_lesser_u64(box->end[3] * tiles.tile_x, tiles.x_extent) - box->first[3] * tiles.tile_x;
  tiles.z_tiles = box->end[1] - box->first[1];
  tiles.y_tiles = box->end[2] - box->first[2];
  tiles.x_tiles = box->end[3] - box->first[3];
  tiles.tile_count = szg_box_value_count(box);
  return tiles;
}

#endif
