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
