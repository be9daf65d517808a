/* signs.h - which values of a frame are negative: sections of frames that code magnitudes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of SZG_SIGN_RUN values, in the field's order, each have a share: nothing if no value is
 * negative, else the mask's run lengths (rle/rle.h), or one bit for each value if these are not
 * shorter. A frame without negative values has no such sections.
 */
#ifndef SZG_FRAMES_SIGNS_H
#define SZG_FRAMES_SIGNS_H

#include "frames/read.h"
#include "frames/read_cuda.h"
#include "frames/write.h"
#include "frames/write_cuda.h"
#include "rle/rle.h"

SZG_C_BEGIN

/* Bytes of a run's share if it has one bit for each value: the most that it takes. */
static inline uint32_t szg_sign_bits_bytes(uint32_t value_count) { return (value_count + 7) / 8; }

/* Values of a run that begins at value `first` of a frame. */
static inline uint32_t szg_sign_run_values(uint64_t frame_values, uint64_t first) {
  return (uint32_t)szg_min_u64(SZG_SIGN_RUN, frame_values - first);
}

/* Which sections a frame may have. */
void szg_sign_rules(const szg_frame_facts *facts, szg_section_rules *rules);

/* ---- writing ---- */

/* The most that szg_signs_find takes in a buffer of the ctx; 0: the request needs no signs. */
uint64_t szg_signs_buffer_bytes(const szg_write_request *request);

/* Finds the signs of the job's field_values: job->sign_bytes gets the bytes of both sections, 0 if
 * no value is negative. */
szgpu_status szg_signs_find(szg_write_job *job) SZG_CHECKED;
/* Appends the sections to the frame, which has announced them. */
szgpu_status szg_signs_write(szg_write_job *job, szg_writer *writer) SZG_CHECKED;

/* ---- reading ---- */

/* Loads the sections and finds where the runs' shares begin; SZGPU_BAD_DATA: they do not fit. */
szgpu_status szg_signs_open(szg_read_job *job, szg_signs *signs) SZG_CHECKED;

/* A worker's latest run. */
typedef struct szg_sign_run {
  uint64_t run; /* its number; UINT64_MAX: none yet */
  uint8_t are_negative[SZG_SIGN_RUN];
} szg_sign_run;

/* Gives the signs of value_count values of the frame, from value `first` on and in steps of `step`.
 * SZGPU_BAD_DATA: the mask of a run is longer than the run. */
szgpu_status szg_signs_take(const szg_signs *signs, uint64_t first, uint64_t step,
                            uint64_t value_count, szg_sign_run *latest,
                            uint8_t *are_negative) SZG_CHECKED;

/* ---- CUDA (signs.cu) ---- */

void szg_signs_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                szg_signs_write_plan_cuda *plan);

/* As szg_signs_find, from the bits in the plan's slots; waits once. */
szgpu_status szg_signs_find_cuda(szg_write_job_cuda *job) SZG_CHECKED;
/* Appends the sections to the layout, and writes them where it has them. */
void szg_signs_add_sections_cuda(const szg_write_job_cuda *job, szg_frame_layout_cuda *layout);
szgpu_status szg_signs_write_cuda(const szg_write_job_cuda *job,
                                  const szg_frame_layout_cuda *layout) SZG_CHECKED;

/* Adds what reading a frame's signs needs. */
void szg_signs_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes);
/* The same for any frame of a request. */
void szg_signs_size_reserve_cuda(const szg_write_request *request, szg_read_sizes_cuda *sizes);
/* Finds where the runs' shares begin; sets the frame's verdict if they do not fit. */
szgpu_status szg_signs_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
/* Leads the rows' logarithms, with their signs, to the field's values. */
szgpu_status szg_signs_raise_cuda(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows,
                                  void *outer) SZG_CHECKED;

SZG_C_END

#endif
