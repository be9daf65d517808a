/* frame.h - frames of kind "linear": deltas as one stream of codes, with escapes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LINEAR_H
#define SZG_LINEAR_H

#include "codecs/outliers.h"
#include "codecs/rules.h"
#include "codecs/stream.h"
#include "predict/axes.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* ---- linear.c ---- */

bool szg_linear_frame_may_occur(const szg_header *archive);
bool szg_linear_frame_is_sound(const szg_frame_facts *facts);
void szg_linear_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules);
bool szg_linear_frame_serves(const szg_write_request *request);
bool szg_linear_frame_suits(const szg_bound_plan *bound);

/* Bytes of the sections' contents before zstd. */
typedef struct szg_linear_sizes {
  szg_stream_sizes stream;
  uint64_t escape_counts, escapes;
  unsigned escape_bytes; /* of one escape */
  szg_outlier_sizes outliers;
} szg_linear_sizes;

/* Sets what follows from the number of escapes and the extremes of their deltas. */
void szg_linear_sizes_set_escapes(szg_linear_sizes *sizes, uint64_t tile_count,
                                  uint64_t escape_count, int64_t least, int64_t greatest);
uint64_t szg_linear_sizes_sum(const szg_linear_sizes *sizes);

/* ---- CPU: writing (linear_write.c) ---- */

/* The escapes of one worker's tiles. */
typedef struct szg_linear_worker {
  int64_t escapes[SZG_TILE_VALUES];
  int64_t least_escape, greatest_escape; /* of all the worker's tiles */
} szg_linear_worker;

/* Memory of linear frames in addition to their streams and outliers. */
typedef struct szg_linear_write_plan {
  szg_choice_work *choice_work;
  szg_linear_worker *workers; /* [threads] */
} szg_linear_write_plan;

void szg_linear_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                  szg_write_plan *plan);
szgpu_status szg_linear_frame_write(szg_write_job *job, szg_writer *writer, szg_frame_header *frame,
                                    bool *is_written) SZG_CHECKED;

/* ---- CPU: reading (linear_read.c) ---- */

void szg_linear_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                 szg_read_plan *plan);
szgpu_status szg_linear_frame_open(szg_read_job *job) SZG_CHECKED;
szgpu_status szg_linear_frame_restore(szg_read_job *job) SZG_CHECKED;

/* ---- CUDA: writing (linear_write.cu) ---- */

/* What the host needs to know to lay out a frame's sections; one copy brings all of it. */
typedef struct szg_linear_found {
  szg_choice choice;
  int64_t escape_extremes[2];
  uint64_t counts[SZG_MAX_SYMBOLS]; /* of the frame's codes */
} szg_linear_found;

typedef struct szg_linear_write_plan_cuda {
  szg_linear_found *found;      /* device */
  szg_linear_found *found_back; /* pinned */
  uint16_t *escape_counts;      /* device: [tiles] */
} szg_linear_write_plan_cuda;

szgpu_status szg_linear_frame_carve_zeroed_cuda(szg_arena *arena, const szg_write_request *request,
                                                szg_write_plan_cuda *plan) SZG_CHECKED;
szgpu_status szg_linear_frame_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                               szg_write_plan_cuda *plan) SZG_CHECKED;
void szg_linear_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                         szg_write_plan_cuda *plan);
szgpu_status szg_linear_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                         bool *is_written) SZG_CHECKED;

/* ---- CUDA: reading (linear_read.cu) ---- */

void szg_linear_frame_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes);
szgpu_status szg_linear_frame_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
szgpu_status szg_linear_frame_restore_cuda(const szg_read_job_cuda *job,
                                           const szg_frame_rows_cuda *rows) SZG_CHECKED;

SZG_C_END

#endif
