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

#include "codecs/planes/planes_core.h"
#include "codecs/rules.h"
#include "container/writer.h"
#include "core/arena.h"

SZG_C_BEGIN

/* ---- top_plane.c ---- */

bool szg_top_plane_frame_may_occur(const szg_header *archive);
bool szg_top_plane_frame_is_sound(const szg_frame_facts *facts);
void szg_top_plane_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules);
void szg_top_plane_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info);
bool szg_top_plane_frame_serves(const szg_write_request *request);

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

/* ---- CPU: writing (top_plane_write.c) ---- */

void szg_top_plane_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                     szg_write_plan *plan);
szgpu_status szg_top_plane_frame_write(szg_write_job *job, szg_writer *writer,
                                       szg_frame_header *frame, bool *is_written) SZG_CHECKED;

/* ---- CPU: reading (top_plane_read.c) ---- */

/* A worker's memory for one tile. */
typedef struct szg_top_plane_worker {
  uint8_t symbols[SZG_TILE_VALUES];                  /* of the highest plane */
  uint8_t values[SZG_TILE_VALUES * SZG_PLANES_MOST]; /* if only some are wanted */
} szg_top_plane_worker;

/* Memory for reading top plane frames in addition to their streams. */
typedef struct szg_top_plane_read_plan {
  szg_top_plane_worker *workers; /* [threads] */
} szg_top_plane_read_plan;

void szg_top_plane_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                    szg_read_plan *plan);
szgpu_status szg_top_plane_frame_open(szg_read_job *job) SZG_CHECKED;
szgpu_status szg_top_plane_frame_restore(szg_read_job *job) SZG_CHECKED;

/* ---- CUDA: writing (top_plane_write.cu) ---- */

typedef struct szg_top_plane_write_plan_cuda {
  uint64_t *counts;      /* device: [SZG_PLANES_SYMBOLS], of the highest plane */
  uint64_t *counts_back; /* pinned */
} szg_top_plane_write_plan_cuda;

szgpu_status szg_top_plane_frame_carve_zeroed_cuda(szg_arena *arena,
                                                   const szg_write_request *request,
                                                   szg_write_plan_cuda *plan) SZG_CHECKED;
szgpu_status szg_top_plane_frame_carve_write_cuda(szg_arena *arena,
                                                  const szg_write_request *request,
                                                  szg_write_plan_cuda *plan) SZG_CHECKED;
void szg_top_plane_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                            szg_write_plan_cuda *plan);
szgpu_status szg_top_plane_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                            bool *is_written) SZG_CHECKED;

/* ---- CUDA: reading (top_plane_read.cu) ---- */

void szg_top_plane_frame_size_read_cuda(const szg_read_frame_cuda *frame,
                                        szg_read_sizes_cuda *sizes);
szgpu_status szg_top_plane_frame_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
szgpu_status szg_top_plane_frame_restore_cuda(const szg_read_job_cuda *job,
                                              const szg_frame_rows_cuda *rows) SZG_CHECKED;

SZG_C_END

#endif
