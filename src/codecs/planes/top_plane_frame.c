/* top_plane_frame.c - top plane frames: what headers and sections they may have.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/top_plane_frame.h"

#include <string.h>

bool szg_top_plane_frame_may_occur(const szg_header *archive) {
  return archive->mode == SZGPU_MODE_LOSSLESS && archive->layout == SZGPU_LAYOUT_LINEAR;
}

bool szg_top_plane_frame_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  return frame->axes == 0 && frame->escape_bytes == 0 && frame->radius == SZG_TOP_PLANE_RADIUS &&
         frame->constant_bits == 0;
}

void szg_top_plane_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  uint64_t const values = facts->frame->value_count;
  uint64_t const stored = szg_top_plane_stored_bytes(values, facts->value_bytes);
  szg_stream_rules(facts, szg_planes_tile_count(values), rules);
  if (stored) szg_rule_add_exact(rules, SZG_SECTION_RAW, stored);
}

/* The highest plane is coded, all others are stored. */
void szg_top_plane_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info) {
  memset(info->planes, 's', facts->value_bytes);
  info->planes[0] = 'c';
}

bool szg_top_plane_frame_serves(const szg_write_request *request) {
  return request->is_lossless && request->layout == SZGPU_LAYOUT_LINEAR;
}
