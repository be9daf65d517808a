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
  const szg_bound_plan *bound;   /* NULL: there is no loss */
  const szg_planes_plan *planes; /* NULL: frames that are kept exactly are raw */
  szg_grid grid;                 /* of the frame */
  const void *values;
  bool has_gaps;      /* linear layout: gap arrays are written */
  uint64_t raw_bytes; /* of the values */
  szg_compress_plan *plan;
  uint64_t part_count;
  szg_choice choice;
  uint64_t sure_bytes; /* atomic: what the sections hold at least, by the parts done so far */
  uint64_t bit_count;  /* of the stream */
  szg_linear_stream stream;
} szg_frame_job;

/* Bytes that an escape takes in the parts' lists. */
static inline unsigned szg_escape_list_bytes(const szg_frame_job *job) {
  return szg_is_wide(job->bound->quantizer.arithmetic) ? 8 : 4;
}

/* Compresses job's values as the writer's next frame. */
szgpu_status szg_compress_frame(szg_frame_job *job, const szgpu_params *params,
                                uint64_t frame_index, szg_writer *writer,
                                uint64_t *frame_bytes) SZG_CHECKED;

/* ---- for the kinds of frame ---- */

static inline uint64_t szg_part_end_tile(const szg_frame_job *job, uint64_t part) {
  return szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
}

/* Sections that outgrow the values themselves mean a raw frame, however the rest turns out: then
 * there is no need to go on. Only what they will surely hold is counted, so that stopping early
 * changes nothing. */
static inline void szg_frame_add_sure_bytes(szg_frame_job *job, uint64_t bytes) {
  __atomic_fetch_add(&job->sure_bytes, bytes, __ATOMIC_RELAXED);
}
static inline bool szg_frame_is_outgrown(szg_frame_job *job) {
  return __atomic_load_n(&job->sure_bytes, __ATOMIC_RELAXED) > job->raw_bytes;
}

/* Gives back what the parts' lists hold. */
void szg_frame_release_lists(szg_frame_job *job);

/* Of exact and fill values in a part's lists. */
uint64_t szg_marked_bytes(const szg_outlier_lists *lists);

/* A linear frame's codes, once job->choice says how many symbols there are. First the workers'
 * counts at zero; then each adds codes that it made; then book, bits of each tile and of all. */
void szg_codes_reset(szg_frame_job *job);
void szg_codes_count(const szg_frame_job *job, szg_compress_worker *worker, const uint16_t *codes,
                     uint64_t code_count);
szgpu_status szg_codes_measure(szg_frame_job *job) SZG_CHECKED;

/* A frame of kind SZG_FRAME_TILE, or a raw one if that is no larger. */
szgpu_status szg_write_tile_frame(szg_frame_job *job, szg_writer *writer,
                                  szg_frame_header *frame) SZG_CHECKED;
szgpu_status szg_write_raw_frame(szg_frame_job *job, szg_writer *writer,
                                 szg_frame_header *frame) SZG_CHECKED;
/* Every bit of the values: a linear frame of the highest plane, or a raw one
 * (compress_top_plane.c). */
szgpu_status szg_write_top_plane_frame(szg_frame_job *job, szg_writer *writer,
                                       szg_frame_header *frame) SZG_CHECKED;
/* Every bit of the values: a frame of planes, where they pay, or a raw one
 * (compress_planes_frame.c). */
szgpu_status szg_write_exact_frame(szg_frame_job *job, szg_writer *writer,
                                   szg_frame_header *frame) SZG_CHECKED;

SZG_C_END

#endif
