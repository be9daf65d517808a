/* frame.c - linear frames: what headers and sections they may have.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/linear/frame.h"

#include "core/bytes.h"

bool szg_linear_frame_may_occur(const szg_header *archive) {
  return archive->mode != SZGPU_MODE_LOSSLESS && archive->layout == SZGPU_LAYOUT_LINEAR;
}

bool szg_linear_frame_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  uint32_t const most_escape_bytes = facts->archive->arithmetic == SZG_ARITHMETIC_F64_WIDE ? 8 : 4;
  return szg_axes_are_sound(facts) && frame->radius >= SZG_MIN_RADIUS &&
         frame->radius <= SZG_MAX_RADIUS && frame->escape_bytes <= most_escape_bytes &&
         frame->constant_bits == 0;
}

void szg_linear_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  uint64_t const tiles = facts->grid.tile_count;
  uint64_t const most_escapes = facts->frame->value_count * 8;
  szg_stream_rules(facts, tiles, rules);
  szg_rule_add(rules, SZG_SECTION_ESCAPE_COUNTS, false, 2 * tiles, 2 * tiles, 1);
  if (szg_has_section(facts->frame, SZG_SECTION_ESCAPE_COUNTS))
    szg_rule_add(rules, SZG_SECTION_ESCAPES, true, 1, most_escapes, 1);
  szg_outlier_rules(facts, rules);
}

bool szg_linear_frame_serves(const szg_write_request *request) {
  return !request->is_lossless && request->layout == SZGPU_LAYOUT_LINEAR;
}

bool szg_linear_frame_suits(const szg_bound_plan *bound) {
  return !bound->is_constant && !bound->is_hopeless;
}

void szg_linear_sizes_set_escapes(szg_linear_sizes *sizes, uint64_t tile_count,
                                  uint64_t escape_count, int64_t least, int64_t greatest) {
  if (escape_count == 0) return;
  unsigned const for_least = szg_narrow_bytes(least), for_greatest = szg_narrow_bytes(greatest);
  sizes->escape_bytes = for_least > for_greatest ? for_least : for_greatest;
  sizes->escape_counts = 2 * tile_count;
  sizes->escapes = escape_count * sizes->escape_bytes;
}

uint64_t szg_linear_sizes_sum(const szg_linear_sizes *sizes) {
  return szg_stream_sizes_sum(&sizes->stream) + sizes->escape_counts + sizes->escapes +
         szg_outlier_sizes_sum(&sizes->outliers);
}
