/* frame.c - planes frames: what headers say, and where the kind may occur.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/frame.h"

#include "codecs/rules_core.h"

void szg_planes_frame_set_header(const szg_planes_layout *layout, szg_frame_header *frame) {
  frame->kind = SZG_FRAME_PLANES;
  frame->value_bytes = layout->value_bytes;
  frame->plane_modes = layout->modes;
  frame->constant_bits = layout->constant_bits;
}

bool szg_planes_frame_may_occur(const szg_header *archive) {
  return archive->layout == SZGPU_LAYOUT_TILE &&
         (archive->mode == SZGPU_MODE_LOSSLESS || archive->has_planes);
}

bool szg_planes_frame_is_sound(const szg_frame_facts *facts) { return szg_planes_is_sound(facts); }

void szg_planes_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  szg_planes_rules(facts, rules);
}

void szg_planes_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info) {
  static const char letters[] = {'s', 'c', 'k'};
  static_assert(sizeof letters == SZG_PLANE_MODES, "one for each SZG_PLANE_*");
  const szg_frame_header *const frame = facts->frame;
  for (uint32_t p = 0; p < frame->value_bytes; p++)
    info->planes[frame->value_bytes - 1 - p] = letters[szg_plane_mode(frame->plane_modes, p)];
}

/* A frame with a bound may be a planes frame too, if the bound gains nothing. */
bool szg_planes_frame_serves(const szg_write_request *request) {
  return request->layout == SZGPU_LAYOUT_TILE && !request->raw_outliers;
}
