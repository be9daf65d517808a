/* lossless.h - fields without loss, on the CPU: what compress.c and decompress.c hand over to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_LOSSLESS_H
#define SZG_PIPELINE_LOSSLESS_H

#include "lossless/planes.h"
#include "pipeline/decompress_frame.h"
#include "pipeline/pipeline.h"
#include "pipeline/planes_plan.h"
#include "pipeline/writer.h"

SZG_C_BEGIN

/* As szg_compress_cpu, szg_compress_bounds_cpu and szg_compress_reserve_cpu, for
 * SZGPU_MODE_LOSSLESS. */
szgpu_status szg_compress_lossless_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                       const szgpu_shape *shape, const szg_grid *grid,
                                       const void *field, void *archive, uint64_t capacity,
                                       uint64_t *archive_bytes) SZG_CHECKED;
szgpu_status szg_lossless_bounds_cpu(const szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     uint64_t *workspace_bytes,
                                     uint64_t *archive_bytes) SZG_CHECKED;
szgpu_status szg_lossless_reserve_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid) SZG_CHECKED;

/* The header of such an archive, but for archive_bytes. */
szg_header szg_lossless_header(const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, uint64_t frame_rows);

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
