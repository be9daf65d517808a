/* top_plane_frame.h - frames of kind "top plane": every bit of the values, in the linear layout.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The highest of the values' byte planes (planes_core.h) is coded, as one linear stream of
 * 256 symbols without an escape; the other planes are stored. Values are in field order, and tiles
 * have 4096 of them, whatever the field's shape (docs/format.md, section 15). A header calls these
 * frames "linear" too: all linear frames of a lossless archive are of this kind.
 */
#ifndef SZG_TOP_PLANE_H
#define SZG_TOP_PLANE_H

#include "codecs/kind.h"
#include "codecs/planes/planes_core.h"

SZG_C_BEGIN

SZG_DECLARE_KIND(top_plane);

/* Bytes of the section of raw values, which holds all planes except the highest; 0: no such
 * section. */
static inline uint64_t szg_top_plane_stored_bytes(uint64_t value_count, uint64_t value_bytes) {
  return (value_bytes - 1) * szg_stored_plane_bytes(value_count);
}

/* Sets what the header says in addition to index, value count and sections. */
static inline void szg_top_plane_frame_set_header(szg_frame_header *frame) {
  frame->kind = SZG_FRAME_LINEAR;
  frame->radius = SZG_TOP_PLANE_RADIUS;
}

/* ---- CPU: reading (read.c) ---- */

/* A worker's memory for one tile. */
typedef struct szg_top_plane_worker {
  uint8_t symbols[SZG_TILE_VALUES];                  /* of the highest plane */
  uint8_t values[SZG_TILE_VALUES * SZG_PLANES_MOST]; /* if only some are wanted */
} szg_top_plane_worker;

/* Memory for reading top plane frames in addition to their streams. */
typedef struct szg_top_plane_read_plan {
  szg_top_plane_worker *workers; /* [threads] */
} szg_top_plane_read_plan;

/* ---- CUDA: writing (write.cu) ---- */

typedef struct szg_top_plane_write_plan_cuda {
  uint64_t *counts;      /* device: [SZG_PLANES_SYMBOLS], of the highest plane */
  uint64_t *counts_back; /* pinned */
} szg_top_plane_write_plan_cuda;

SZG_C_END

#endif
