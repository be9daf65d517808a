/* top_plane.h - lossless frames of the linear layout: what both backends know of them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Of the values' byte planes (lossless/planes_core.h) the highest is coded, one linear stream of
 * 256 symbols without an escape; the others are stored. Values are in field order, and tiles have
 * 4096 of them, whatever the field's shape. docs/format.md, section 15.
 */
#ifndef SZG_TOP_PLANE_H
#define SZG_TOP_PLANE_H

#include "container/container.h"
#include "core/tiles.h"
#include "lossless/planes_core.h"

SZG_C_BEGIN

/* Whether the linear frames of such an archive are these. */
static inline bool szg_has_top_plane(const szg_header *header) {
  return header->mode == SZGPU_MODE_LOSSLESS && header->layout == SZGPU_LAYOUT_LINEAR;
}

/* Of the section raw values: all planes but the highest; 0: it is not there. */
static inline uint64_t szg_top_plane_stored_bytes(uint64_t value_count, uint64_t value_bytes) {
  return (value_bytes - 1) * szg_stored_plane_bytes(value_count);
}

/* What the frame's header says besides index, value count and sections. */
static inline void szg_set_top_plane_frame(szg_frame_header *frame) {
  frame->kind = SZG_FRAME_LINEAR;
  frame->radius = SZG_TOP_PLANE_RADIUS;
}

SZG_C_END

#endif
