/* kinds_cuda.h - the steps of each kind of frame on the GPU; the twin of kinds.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_KINDS_CUDA_H
#define SZG_KINDS_CUDA_H

#include "codecs/batch.h"
#include "codecs/read_cuda.h"
#include "codecs/write_cuda.h"
#include "frames/kinds.h"

SZG_C_BEGIN

extern const szg_frame_kind_cuda szg_frame_kinds_cuda[SZG_KIND_COUNT];

/* How calls that only put work in a stream code their frames. */
const szg_batch_kind *szg_batch_kind_of(bool is_lossless);

/* Takes the device memory and pinned memory of a compression. */
szgpu_status szg_write_plan_carve_cuda(szg_arena *arena, const szg_write_request *request,
                                       szg_write_plan_cuda *plan) SZG_CHECKED;
void szg_write_plan_carve_pinned(szg_arena *arena, const szg_write_request *request,
                                 szg_write_plan_cuda *plan);

/* Writes the frame, gives its size and updates the archive's header as its kind requires.
 * SZGPU_CAPACITY: it does not fit; nothing is written beyond the capacity. */
szgpu_status szg_frame_write_cuda(szg_write_job_cuda *job, szg_header *archive,
                                  uint64_t *frame_bytes) SZG_CHECKED;

/* Adds what reading the frame needs. */
void szg_read_sizes_add_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes);
/* States what reading an archive of such a compression may need. False: szgpu_reserve does not take
 * it. */
bool szg_read_sizes_reserve_cuda(const szg_write_request *request, szg_read_sizes_cuda *sizes);

/* Takes the device memory and pinned memory of a decompression. */
szgpu_status szg_read_plan_carve_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                      szg_read_plan_cuda *plan) SZG_CHECKED;
void szg_read_plan_carve_pinned(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                szg_read_plan_cuda *plan);

/* Finds the sections of a frame that begins at `bytes`, in device memory. */
void szg_read_frame_place_cuda(szg_read_frame_cuda *frame, const uint8_t *bytes);

/* The steps of reading a frame, in their order: each puts kernels in the stream. */
szgpu_status szg_frame_open_cuda(szgpu_ctx *ctx, const szg_header *header,
                                 const szg_read_plan_cuda *plan, const szg_read_frame_cuda *frame,
                                 szg_read_job_cuda *job) SZG_CHECKED;
/* As the kind's `sum`. */
szg_summed_leaves szg_frame_sum_cuda(const szg_read_job_cuda *job);
/* Checks the checksums in SZG_SIDE_CHECKS; only the verdict waits for them. The whole frame must be
 * on the device before the fork. summed: NULL, or from szg_frame_sum_cuda, and all rows are
 * restored before the fork. */
szgpu_status szg_frame_verify_cuda(const szg_read_job_cuda *job,
                                   const szg_summed_leaves *summed) SZG_CHECKED;
/* Does the work that all rows share. Waits for the stream if the frame's decoder does. */
szgpu_status szg_frame_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
/* Restores rows first_row .. end_row - 1 of the frame. */
szgpu_status szg_frame_restore_cuda(const szg_read_job_cuda *job, uint64_t first_row,
                                    uint64_t end_row, void *values) SZG_CHECKED;

/* Lets only a region of the frame be restored, which is not empty. */
void szg_read_frame_region_cuda(szg_read_frame_cuda *frame, const szg_region *region);
/* Restores it into frame->region.values, instead of `prepare` and `restore`. */
szgpu_status szg_frame_restore_region_cuda(const szg_read_job_cuda *job) SZG_CHECKED;

SZG_C_END

#endif
