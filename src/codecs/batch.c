/* batch.c - what the host knows of many archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/batch.h"

static void write_frame_head(uint32_t kind, bool has_16_bits, const uint32_t *sections,
                             uint32_t section_count, uint64_t *words) {
  szg_frame_header frame = {
      .kind = kind, .has_16_bits = has_16_bits, .section_count = section_count};
  for (uint32_t i = 0; i < section_count; i++) frame.sections[i].kind = sections[i];
  szg_frame_header_write(&frame, (uint8_t *)words);
}

void szg_batch_class_open(const szg_header *header, const szg_bound_plan *bound,
                          szg_batch_class *batch) {
  static const uint32_t tile_sections[SZG_TILE_SECTION_COUNT] = {
      SZG_SECTION_CODEBOOK,     SZG_SECTION_TILE_SIZES, SZG_SECTION_BITSTREAM,
      SZG_SECTION_EXACT_COUNTS, SZG_SECTION_EXACT_MASK, SZG_SECTION_EXACT_VALUES,
      SZG_SECTION_FILL_COUNTS,  SZG_SECTION_FILL_MASK};
  static const uint32_t raw_sections[] = {SZG_SECTION_RAW};
  szg_header of_class = *header;
  uint64_t const no_bytes = 0;
  of_class.shape.dtype = SZGPU_F32; /* items have their own type, as they have dims */
  of_class.shape.ndim = 0;
  of_class.frame_rows = 0;
  of_class.frame_count = 1;
  szg_header_write(&of_class, &no_bytes, (uint8_t *)batch->heads.archive);
  write_frame_head(SZG_FRAME_RAW, false, raw_sections, 1, batch->heads.raw);
  if (!bound) return;
  batch->quantizer = bound->quantizer;
  bool const has_16_bits = szg_quantizer_take_16_bits(bound->greatest, &batch->quantizer);
  batch->lattice_bits = szg_tile_lattice_bits(batch->quantizer.arithmetic, has_16_bits);
  batch->greatest_point = bound->greatest * batch->quantizer.inverse;
  write_frame_head(SZG_FRAME_TILE, has_16_bits, tile_sections, SZG_TILE_SECTION_COUNT,
                   batch->heads.tile);
}

static uint64_t most_leaves(const szg_grid *grid, szgpu_dtype dtype) {
  return szg_checksum_leaf_count(grid->value_count * szg_dtype_bytes(dtype)) +
         2 * SZG_TILE_SECTION_COUNT;
}

void szg_batch_carve_write(szg_arena *zeroed, szg_arena *other, const szg_grid *grid,
                           szgpu_dtype dtype, szg_batch_item *item) {
  szg_batch_write_work *const work = &item->write;
  work->ticket = szg_arena_take(zeroed, 1, sizeof *work->ticket);
  work->choice = szg_arena_take(zeroed, szg_choice_axes_bytes_cuda(), 1);
  work->book = szg_arena_take(zeroed, szg_tile_book_work_bytes_cuda(), 1);
  work->tiles = szg_arena_take(zeroed, szg_tile_compress_work_bytes_cuda(grid->tile_count), 1);
  work->found = szg_arena_take(zeroed, 1, sizeof *work->found);
  work->leaves = szg_arena_take(other, most_leaves(grid, dtype), sizeof *work->leaves);
}

void szg_batch_carve_read(szg_arena *arena, const szg_grid *grid, szgpu_dtype dtype,
                          szg_batch_item *item) {
  szg_batch_read_work *const work = &item->read;
  work->decoder = szg_arena_take(arena, 1, sizeof *work->decoder);
  work->first_words = szg_arena_take(arena, grid->tile_count + 1, sizeof *work->first_words);
  work->counters = szg_arena_take(arena, 1, sizeof *work->counters);
  work->verdict = szg_arena_take(arena, 1, sizeof *work->verdict);
  work->leaves = szg_arena_take(arena, most_leaves(grid, dtype), sizeof *work->leaves);
}
