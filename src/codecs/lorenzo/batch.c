/* batch.c - tile frames of many fields at once: classes and work memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/batch.h"

enum { MOST_AXES = 3 }; /* that tiles extend over */

static uint32_t class_of(szgpu_dtype dtype, const szg_grid *grid) {
  uint32_t const axes = grid->tile_z > 1 ? 3 : grid->tile_y > 1 ? 2 : 1;
  return (uint32_t)dtype * MOST_AXES + axes - 1;
}

static szgpu_status carve_write(szg_arena *zeroed, szg_arena *other, const szg_grid *grid,
                                szgpu_dtype dtype, szg_batch_item *item) {
  szg_batch_write_work *const work = &item->write;
  (void)other;
  (void)dtype;
  work->choice = szg_arena_take(zeroed, szg_choice_axes_bytes_cuda(), 1);
  work->book = szg_arena_take(zeroed, szg_tile_book_work_bytes_cuda(), 1);
  work->tiles = szg_arena_take(zeroed, szg_tile_compress_work_bytes_cuda(grid->tile_count), 1);
  work->found = szg_arena_take(zeroed, 1, sizeof *work->found);
  return SZGPU_OK;
}

static szgpu_status carve_read(szg_arena *arena, const szg_grid *grid, szgpu_dtype dtype,
                               szg_batch_item *item) {
  szg_batch_read_work *const work = &item->read;
  (void)dtype;
  work->decoder = szg_arena_take(arena, 1, sizeof *work->decoder);
  work->first_words = szg_arena_take(arena, grid->tile_count + 1, sizeof *work->first_words);
  work->counters = szg_arena_take(arena, 1, sizeof *work->counters);
  return SZGPU_OK;
}

const szg_batch_kind szg_tile_batch = {.class_count = 2 * MOST_AXES, /* types by axes */
                                       .class_of = class_of,
                                       .most_sections = 2 * SZG_TILE_SECTION_COUNT,
                                       .write_bytes = sizeof(szg_tile_item),
                                       .read_bytes = sizeof(szg_tile_read_item),
                                       .choice_bytes = sizeof(szg_choice_item),
                                       .carve_write = carve_write,
                                       .carve_read = carve_read,
                                       .send = szg_tile_batch_send_cuda,
                                       .write = szg_tile_batch_write_cuda,
                                       .read = szg_tile_batch_read_cuda};
