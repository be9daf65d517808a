/* tile.c - tile frames: what headers and sections they may have.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/tile.h"

#include "rle/rle.h"

enum { MOST_BOOK_BYTES = 6 + SZG_TILE_SYMBOLS }; /* docs/format.md, section 13 */

bool szg_tile_frame_may_occur(const szg_header *archive) {
  return archive->mode != SZGPU_MODE_LOSSLESS && archive->layout == SZGPU_LAYOUT_TILE;
}

bool szg_tile_frame_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  uint32_t const arithmetic = facts->archive->arithmetic;
  bool const may_have_16_bits =
      arithmetic == SZG_ARITHMETIC_F32 || arithmetic == SZG_ARITHMETIC_F64;
  return szg_axes_are_sound(facts) && frame->radius == 0 && frame->escape_bytes == 0 &&
         frame->constant_bits == 0 && (may_have_16_bits || !frame->has_16_bits);
}

/* All eight sections are present. Without outliers, their sections are empty. */
void szg_tile_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  const szg_frame_header *const frame = facts->frame;
  uint64_t const tiles = facts->grid.tile_count, width = facts->value_bytes;
  uint64_t const values_bytes = frame->value_count * width;
  uint64_t const most_mask = SZG_MASK_BYTES_PER_VALUE * frame->value_count;
  bool const has_exact = szg_section_raw_bytes(frame, SZG_SECTION_EXACT_COUNTS) > 0;
  bool const has_fill =
      facts->archive->has_fill && szg_section_raw_bytes(frame, SZG_SECTION_FILL_COUNTS) > 0;
  szg_rule_add(rules, SZG_SECTION_CODEBOOK, true, 1, MOST_BOOK_BYTES, 1);
  szg_rule_add_exact(rules, SZG_SECTION_TILE_SIZES, 2 * tiles);
  szg_rule_add(rules, SZG_SECTION_BITSTREAM, true, 0, values_bytes, 4);
  szg_rule_add_exact(rules, SZG_SECTION_EXACT_COUNTS, has_exact ? 4 * tiles : 0);
  szg_rule_add(rules, SZG_SECTION_EXACT_MASK, true, has_exact, has_exact ? most_mask : 0, 1);
  szg_rule_add(rules, SZG_SECTION_EXACT_VALUES, true, has_exact ? width : 0,
               has_exact ? values_bytes : 0, width);
  szg_rule_add_exact(rules, SZG_SECTION_FILL_COUNTS, has_fill ? 2 * tiles : 0);
  szg_rule_add(rules, SZG_SECTION_FILL_MASK, true, has_fill, has_fill ? most_mask : 0, 1);
}

void szg_tile_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info) {
  static const uint32_t zero_group_rows[] = {0, 8, 4}; /* rows that a bit can leave out */
  static_assert(sizeof zero_group_rows / sizeof *zero_group_rows == SZG_ZERO_GROUPS_COUNT,
                "one for each SZG_ZERO_GROUPS_*");
  info->zero_groups = zero_group_rows[facts->frame->zero_groups];
  info->lattice_bits = szg_tile_lattice_bits(facts->archive->arithmetic, facts->frame->has_16_bits);
}

bool szg_tile_frame_serves(const szg_write_request *request) {
  return !request->is_lossless && request->layout == SZGPU_LAYOUT_TILE;
}

bool szg_tile_frame_suits(const szg_bound_plan *bound) {
  return !bound->is_constant && !bound->is_hopeless;
}

uint64_t szg_tile_frame_sizes_sum(const szg_tile_frame_sizes *sizes) {
  return sizes->book + sizes->tile_sizes + sizes->bitstream +
         szg_outlier_sizes_sum(&sizes->outliers);
}
