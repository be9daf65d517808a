/* batch.c - planes frames of many fields at once: classes and work memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/batch.h"

/* Bytes, and values of 1, 2, 4 and 8 bytes. */
static uint32_t class_of(szgpu_dtype dtype, const szg_grid *grid) {
  uint32_t number = 1;
  (void)grid;
  if (dtype == SZGPU_U8) return 0;
  for (uint64_t width = szg_dtype_bytes(dtype); width > 1; width /= 2) number++;
  return number;
}

static szgpu_status carve_write(szg_arena *zeroed, szg_arena *other, const szg_grid *grid,
                                szgpu_dtype dtype, szg_batch_item *item) {
  szg_batch_planes_write_work *const work = &item->planes_write;
  szg_planes_output_cuda output = {0};
  work->counts = szg_arena_take(zeroed, 1, sizeof *work->counts);
  work->tally = szg_arena_take(zeroed, dtype == SZGPU_U8, sizeof *work->tally);
  work->encoder = szg_arena_take(other, 1, sizeof *work->encoder);
  work->sizes =
      szg_arena_take(other, szg_planes_padded_sizes(grid->value_count), sizeof *work->sizes);
  SZG_TRY(szg_planes_frame_carve_output_cuda(other, dtype, grid->value_count, true, &output));
  work->first_words = output.first_words;
  work->lane_bits = output.lane_bits;
  return SZGPU_OK;
}

/* Of bytes, any number of planes may be coded: those of wider values. */
static szgpu_status carve_read(szg_arena *arena, const szg_grid *grid, szgpu_dtype dtype,
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
  return SZGPU_OK;
}

const szg_batch_kind szg_planes_batch = {.class_count = 5,
                                         .class_of = class_of,
                                         .most_sections = SZG_PLANES_MOST_SECTIONS,
                                         .write_bytes = sizeof(szg_planes_write_item),
                                         .read_bytes = sizeof(szg_planes_read_item),
                                         .carve_write = carve_write,
                                         .carve_read = carve_read,
                                         .send = szg_planes_batch_send_cuda,
                                         .write = szg_planes_batch_write_cuda,
                                         .read = szg_planes_batch_read_cuda};
