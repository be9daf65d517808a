/* planes_frame.h - frames without loss: what headers say of them, their sizes, their values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANES_FRAME_H
#define SZG_PLANES_FRAME_H

#include "lossless/planes.h"
#include "pipeline/decompress_frame.h"

SZG_C_BEGIN

/* What a planes frame's header says, and how many values of that width the frame has. */
static inline szg_planes_layout szg_planes_layout_of(const szg_frame_header *frame) {
  return (szg_planes_layout){frame->value_bytes, frame->plane_modes, frame->constant_bits};
}

/* The frame's header for a choice; kind and layout. */
void szg_set_planes_frame(const szg_planes_layout *layout, szg_frame_header *frame);

/* What the sections of a planes frame hold, in bytes, before any zstd; 0 where there is none. */
typedef struct szg_planes_sizes {
  uint64_t books, tile_sizes, bitstream, stored;
} szg_planes_sizes;
szg_planes_sizes szg_planes_sizes_of(const szg_planes_layout *layout, uint64_t value_count,
                                     uint64_t word_count);
uint64_t szg_planes_sizes_sum(const szg_planes_sizes *sizes);

/* Restores value_count values of a planes frame, from job->first_value on. */
szgpu_status szg_restore_planes(szg_decode_job *job, uint64_t value_count) SZG_CHECKED;

SZG_C_END

#endif
