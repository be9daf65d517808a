/* kinds_cuda.h - the steps of each kind of frame on the GPU; the twin of kinds.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_KINDS_CUDA_H
#define SZG_KINDS_CUDA_H

#include "codecs/read_cuda.h"
#include "codecs/write_cuda.h"
#include "frames/kinds.h"

SZG_C_BEGIN

/* A kind's steps. Its other properties are in szg_frame_kinds. A NULL step has nothing to do.
 * Carving runs twice, first on an arena that only measures. */
typedef struct szg_frame_kind_cuda {
  /* ---- compression ---- */

  /* Takes device memory that must be zero when work on a frame begins; other device memory; pinned
   * memory. */
  szgpu_status (*carve_zeroed)(szg_arena *arena, const szg_write_request *request,
                               szg_write_plan_cuda *plan);
  szgpu_status (*carve_write)(szg_arena *arena, const szg_write_request *request,
                              szg_write_plan_cuda *plan);
  void (*carve_write_pinned)(szg_arena *arena, const szg_write_request *request,
                             szg_write_plan_cuda *plan);
  /* Writes the frame and gives its size in layout->frame_bytes, or leaves *is_written false if the
   * frame would be no smaller than its values. SZGPU_CAPACITY: it does not fit; nothing is written
   * beyond the capacity. */
  szgpu_status (*write)(szg_write_job_cuda *job, szg_frame_layout_cuda *layout, bool *is_written);

  /* ---- decompression ---- */

  /* The first states what reading the frame needs. The second states what reading any frame of such
   * a compression may need, for szgpu_reserve; NULL: it takes nothing for that. */
  void (*size_read)(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes);
  void (*size_reserve)(const szg_write_request *request, szg_read_sizes_cuda *sizes);
  /* Takes device memory and pinned memory of these sizes. */
  szgpu_status (*carve_read)(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                             szg_read_plan_cuda *plan);
  void (*carve_read_pinned)(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                            szg_read_plan_cuda *plan);
  /* Each puts kernels in the stream. First the tables from the codebook; */
  szgpu_status (*open)(const szg_read_job_cuda *job);
  /* then the work that all rows share; */
  szgpu_status (*prepare)(const szg_read_job_cuda *job);
  /* then values of rows, called once per group of rows. */
  szgpu_status (*restore)(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows);
  /* Which leaves of a section's checksum `restore` has the sums of, if it is called once, for all
   * rows; range: the kind of the section. NULL: none. */
  szg_summed_leaves (*sum)(const szg_read_job_cuda *job);
  /* Whether `restore` can narrow these rows itself (rows->is_narrow); NULL: never. */
  bool (*narrows)(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows);
  /* Regions: what `restore_region` restores for frame->region, and the most tiles that it lists at
   * once. False, or NULL: whole rows, by `prepare` and `restore`. */
  bool (*find_region)(const szg_read_frame_cuda *frame, szg_box *box, uint64_t *tile_count);
  /* After `open`: restores the region's values, at least, into plan->region.values. */
  szgpu_status (*restore_region)(const szg_read_job_cuda *job);
  /* Regions do not read the whole of bulk sections, so these are not checked. */
  bool reads_in_part;
  /* Words of the bitstream may arrive on the device as late as the `restore` of their tiles. */
  bool takes_words_late;
} szg_frame_kind_cuda;

extern const szg_frame_kind_cuda szg_frame_kinds_cuda[SZG_KIND_COUNT];

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
