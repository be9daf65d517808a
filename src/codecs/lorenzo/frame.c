/* frame.c - tile frames: what headers and sections they may have.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/lorenzo/frame.h"

#include "codecs/rules_core.h"

bool szg_tile_frame_may_occur(const szg_header *archive) {
  return archive->mode != SZGPU_MODE_LOSSLESS && archive->layout == SZGPU_LAYOUT_TILE;
}

bool szg_tile_frame_is_sound(const szg_frame_facts *facts) { return szg_tile_is_sound(facts); }

void szg_tile_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  szg_tile_rules(facts, rules);
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
