/* batch.c - the work memory of many lossless archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/batch.h"

static uint64_t most_leaves(const szg_grid *grid, szgpu_dtype dtype) {
  return szg_checksum_leaf_count(grid->value_count * szg_dtype_bytes(dtype)) +
         SZG_PLANES_MOST_SECTIONS;
}

szgpu_status szg_planes_batch_carve_write(szg_arena *zeroed, szg_arena *other, const szg_grid *grid,
                                          szgpu_dtype dtype, szg_batch_item *item) {
  szg_batch_planes_write_work *const work = &item->planes_write;
  szg_planes_output_cuda output = {0};
  work->ticket = szg_arena_take(zeroed, 1, sizeof *work->ticket);
  work->counts = szg_arena_take(zeroed, 1, sizeof *work->counts);
  work->tally = szg_arena_take(zeroed, dtype == SZGPU_U8, sizeof *work->tally);
  work->encoder = szg_arena_take(other, 1, sizeof *work->encoder);
  work->sizes =
      szg_arena_take(other, szg_planes_padded_sizes(grid->value_count), sizeof *work->sizes);
  work->leaves = szg_arena_take(other, most_leaves(grid, dtype), sizeof *work->leaves);
  SZG_TRY(szg_planes_frame_carve_output_cuda(other, dtype, grid->value_count, true, &output));
  work->first_words = output.first_words;
  work->lane_bits = output.lane_bits;
  return SZGPU_OK;
}

/* Of bytes, any number of planes may be coded: those of wider values. */
szgpu_status szg_planes_batch_carve_read(szg_arena *arena, const szg_grid *grid, szgpu_dtype dtype,
                                         szg_batch_item *item) {
  szg_batch_planes_read_work *const work = &item->planes_read;
  szg_planes_input_cuda input = {0};
  szg_planes_layout layout = {.value_bytes = SZG_PLANES_MOST};
  uint32_t const planes = dtype == SZGPU_U8 ? SZG_PLANES_MOST : (uint32_t)szg_dtype_bytes(dtype);
  for (uint32_t plane = 0; plane < planes; plane++)
    layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * plane;
  SZG_TRY(szg_planes_input_carve_cuda(arena, &layout, grid->value_count, &input));
  work->entries = input.entries;
  work->first_words = input.first_words;
  work->counter = input.counter;
  work->verdict = szg_arena_take(arena, 1, sizeof *work->verdict);
  work->leaves = szg_arena_take(arena, most_leaves(grid, dtype), sizeof *work->leaves);
  return SZGPU_OK;
}
