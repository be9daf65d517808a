/* run_masks.h - which values of a frame are negative, or hold a further fill value: more sections.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames that code magnitudes have a mask of signs, and frames of an archive with several fill
 * values one mask for each of these but the first. Runs of SZG_SIGN_RUN values, in the field's
 * order, each have a share of a mask: nothing if no value is marked, else the mask's run lengths
 * (rle/rle.h), or one bit for each value if these are not shorter. A frame without marked values
 * has no such sections.
 */
#ifndef SZG_FRAMES_RUN_MASKS_H
#define SZG_FRAMES_RUN_MASKS_H

#include "codecs/read.h"
#include "codecs/read_cuda.h"
#include "codecs/write.h"
#include "codecs/write_cuda.h"
#include "rle/rle.h"

SZG_C_BEGIN

/* Bytes of a run's share if it has one bit for each value: the most that it takes. */
static inline uint32_t szg_run_bits_bytes(uint32_t value_count) { return (value_count + 7) / 8; }

/* Values of a run that begins at value `first` of a frame. */
static inline uint32_t szg_run_values(uint64_t frame_values, uint64_t first) {
  return (uint32_t)szg_min_u64(SZG_SIGN_RUN, frame_values - first);
}

/* The sections of mask `which`: of the shares' sizes, and of the shares. */
static inline uint32_t szg_run_sizes_section(uint32_t which) {
  if (which == SZG_RUN_MASK_SIGNS) return SZG_SECTION_SIGN_SIZES;
  return SZG_SECTION_FILL_2_SIZES + 2 * (which - 1);
}
static inline uint32_t szg_run_masks_section(uint32_t which) {
  return szg_run_sizes_section(which) + 1;
}

/* Which sections a frame may have. */
void szg_run_mask_rules(const szg_frame_facts *facts, szg_section_rules *rules);

/* ---- writing ---- */

/* The most that szg_run_masks_find takes in buffers of the ctx. */
uint64_t szg_run_masks_buffer_bytes(const szg_write_request *request);

/* Finds the masks of the job's field_values; sets job->mask_bytes. */
szgpu_status szg_run_masks_find(szg_write_job *job) SZG_CHECKED;
/* Appends the sections to the frame, which has announced them. */
szgpu_status szg_run_masks_write(szg_write_job *job, szg_writer *writer) SZG_CHECKED;

/* ---- reading ---- */

/* Loads the sections and finds where the runs' shares begin; SZGPU_BAD_DATA: they do not fit. */
szgpu_status szg_run_mask_open(szg_read_job *job, uint32_t which, szg_run_mask *mask) SZG_CHECKED;

/* A worker's latest run. */
typedef struct szg_mask_run {
  uint64_t run; /* its number; UINT64_MAX: none yet */
  uint8_t are_marked[SZG_SIGN_RUN];
} szg_mask_run;

/* Gives the marks of value_count values of the frame, from value `first` on and in steps of `step`.
 * SZGPU_BAD_DATA: the mask of a run is longer than the run. */
szgpu_status szg_run_mask_take(const szg_run_mask *mask, uint64_t first, uint64_t step,
                               uint64_t value_count, szg_mask_run *latest,
                               uint8_t *are_marked) SZG_CHECKED;

/* ---- CUDA (run_masks.cu) ---- */

void szg_run_masks_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                    szg_run_masks_write_plan_cuda *plan);

/* As szg_run_masks_find; signs are in the plan's slots as bits. Waits once for each mask. */
szgpu_status szg_run_masks_find_cuda(szg_write_job_cuda *job,
                                     const szg_mapping *mapping) SZG_CHECKED;
/* Appends the sections to the layout, and writes them where it has them. */
void szg_run_masks_add_sections_cuda(const szg_write_job_cuda *job, szg_frame_layout_cuda *layout);
szgpu_status szg_run_masks_write_cuda(const szg_write_job_cuda *job,
                                      const szg_frame_layout_cuda *layout) SZG_CHECKED;

/* Adds what reading a frame's masks needs. */
void szg_run_masks_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes);
/* The same for any frame of a request. */
void szg_run_masks_size_reserve_cuda(const szg_write_request *request, szg_read_sizes_cuda *sizes);
/* Finds where the runs' shares begin; sets the frame's verdict if they do not fit. */
szgpu_status szg_run_masks_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
/* Leads the rows' logarithms, with their signs, to the field's values. */
szgpu_status szg_signs_raise_cuda(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows,
                                  void *outer) SZG_CHECKED;
/* Writes the further fill values over the rows, whose values are the field's. */
szgpu_status szg_fills_apply_cuda(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows,
                                  void *outer) SZG_CHECKED;

SZG_C_END

#endif
