/* compress_frame.h - one frame: values to sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_COMPRESS_FRAME_H
#define SZG_COMPRESS_FRAME_H

#include "pipeline/plan.h"
#include "pipeline/writer.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* One frame at work; also what the parts of its loops share. */
typedef struct szg_frame_job {
  szgpu_ctx *ctx;
  szgpu_dtype dtype;
  const szg_bound_plan *bound;
  szg_grid grid; /* of the frame */
  const void *values;
  uint64_t raw_bytes; /* of the values */
  szg_compress_plan *plan;
  uint64_t part_count;
  szg_choice choice;
  uint64_t outlier_bytes; /* atomic: what the outlier sections hold at least, so far */
  uint64_t bit_count;     /* of the stream */
  szg_linear_stream stream;
} szg_frame_job;

/* Bytes that an escape takes in the parts' lists. */
static inline unsigned szg_escape_list_bytes(const szg_frame_job *job) {
  return szg_is_wide(job->bound->quantizer.arithmetic) ? 8 : 4;
}

/* Compresses job's values as the writer's next frame. asked_radius: 0, or the radius to take. */
szgpu_status szg_compress_frame(szg_frame_job *job, uint32_t asked_radius, uint64_t frame_index,
                                szg_writer *writer, uint64_t *frame_bytes) SZG_CHECKED;

SZG_C_END

#endif
