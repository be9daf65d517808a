/* kind.h - what there is to know about a kind of frame: the columns of the tables of kinds.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * frames/kinds.c and kinds_cuda.c have the rows. A kind's own header declares by SZG_DECLARE_KIND
 * what it may name there.
 */
#ifndef SZG_KIND_H
#define SZG_KIND_H

#include "codecs/rules.h"
#include "container/checksum.h"
#include "container/writer.h"
#include "core/arena.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* What a kind means for the calls that it serves. */
enum {
  SZG_KIND_HAS_RADIUS = 1 << 0, /* szgpu_params.radius */
  SZG_KIND_HAS_GAPS = 1 << 1,   /* a gap array, unless szgpu_params.without_gaps */
  SZG_KIND_INTERPOLATES = 1 << 2,
  SZG_KIND_HAS_RAW_OUTLIERS = 1 << 3, /* szgpu_params.raw_outliers */
  SZG_KIND_HIDES_STRAYS = 1 << 4 /* codes values for which the bound fails, and does not tell */
};

/* What both backends know about a kind, and its steps on the CPU. A NULL step has nothing to do. */
typedef struct szg_frame_kind {
  const char *name; /* in listings */

  /* ---- an archive's frame ---- */

  /* The kind in its header. Two kinds may share one if they never occur in the same archive. */
  uint32_t header_kind; /* SZG_FRAME_* */
  /* Its values are the field's, bit for bit, not those that a mapping leads to. */
  bool is_of_field;
  /* Whether the archive may have such frames. */
  bool (*may_occur)(const szg_header *archive);
  /* Whether the header's other fields agree with the archive's. */
  bool (*is_sound)(const szg_frame_facts *facts);
  /* Which sections it may have. */
  void (*rules)(const szg_frame_facts *facts, szg_section_rules *rules);
  /* What a listing says about it, in addition to what it says about all frames. */
  void (*describe)(const szg_frame_facts *facts, szgpu_frame_info *info);

  /* ---- compression ---- */

  /* Whether a compression with this request may write such frames. */
  bool (*serves)(const szg_write_request *request);
  uint32_t traits; /* SZG_KIND_... */
  uint32_t passes; /* over the values, as progress counts them, before zstd; 0: one */
  /* Whether it is worth trying on values with this bound (NULL: lossless). */
  bool (*suits)(const szg_bound_plan *bound);
  /* Bytes that writing takes in SZG_KEPT_KIND, except for grids; NULL: none. */
  uint64_t (*write_buffer_bytes)(const szg_write_request *request);
  /* Takes the memory of `write`. */
  void (*carve_write)(szg_arena *arena, const szg_write_request *request, szg_write_plan *plan);
  /* Writes job's values as the writer's next frame and fills in its header, or leaves *is_written
   * false if the frame would be no smaller than its values; the caller then tries the next kind. */
  szgpu_status (*write)(szg_write_job *job, szg_writer *writer, szg_frame_header *frame,
                        bool *is_written);

  /* ---- decompression ---- */

  /* Takes the memory of the other steps. */
  void (*carve_read)(szg_arena *arena, const szg_read_request *request, szg_read_plan *plan);
  /* Loads the frame's sections and makes the tables that decoding needs. */
  szgpu_status (*open)(szg_read_job *job);
  /* Restores the rows, or the region, that the job names. */
  szgpu_status (*restore)(szg_read_job *job);
  /* Fails, and says why, if regions of this level, above 0, cannot be restored. NULL: none can. */
  szgpu_status (*require_level)(szgpu_ctx *ctx, const szg_frame_facts *facts, uint32_t level);
} szg_frame_kind;

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

/* Declares the functions of a kind's rows; those that it lacks stay undefined. */
#define SZG_DECLARE_KIND(kind)                                                                    \
  bool szg_##kind##_frame_may_occur(const szg_header *archive);                                   \
  bool szg_##kind##_frame_is_sound(const szg_frame_facts *facts);                                 \
  void szg_##kind##_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules);          \
  void szg_##kind##_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info);         \
  bool szg_##kind##_frame_serves(const szg_write_request *request);                               \
  bool szg_##kind##_frame_suits(const szg_bound_plan *bound);                                     \
  void szg_##kind##_frame_carve_write(szg_arena *arena, const szg_write_request *request,         \
                                      szg_write_plan *plan);                                      \
  szgpu_status szg_##kind##_frame_write(szg_write_job *job, szg_writer *writer,                   \
                                        szg_frame_header *frame, bool *is_written) SZG_CHECKED;   \
  void szg_##kind##_frame_carve_read(szg_arena *arena, const szg_read_request *request,           \
                                     szg_read_plan *plan);                                        \
  szgpu_status szg_##kind##_frame_open(szg_read_job *job) SZG_CHECKED;                            \
  szgpu_status szg_##kind##_frame_restore(szg_read_job *job) SZG_CHECKED;                         \
  szgpu_status szg_##kind##_frame_require_level(szgpu_ctx *ctx, const szg_frame_facts *facts,     \
                                                uint32_t level) SZG_CHECKED;                      \
  szgpu_status szg_##kind##_frame_carve_zeroed_cuda(                                              \
      szg_arena *arena, const szg_write_request *request, szg_write_plan_cuda *plan) SZG_CHECKED; \
  szgpu_status szg_##kind##_frame_carve_write_cuda(                                               \
      szg_arena *arena, const szg_write_request *request, szg_write_plan_cuda *plan) SZG_CHECKED; \
  void szg_##kind##_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,  \
                                             szg_write_plan_cuda *plan);                          \
  szgpu_status szg_##kind##_frame_write_cuda(                                                     \
      szg_write_job_cuda *job, szg_frame_layout_cuda *layout, bool *is_written) SZG_CHECKED;      \
  void szg_##kind##_frame_size_read_cuda(const szg_read_frame_cuda *frame,                        \
                                         szg_read_sizes_cuda *sizes);                             \
  void szg_##kind##_frame_size_reserve_cuda(const szg_write_request *request,                     \
                                            szg_read_sizes_cuda *sizes);                          \
  szgpu_status szg_##kind##_frame_carve_read_cuda(                                                \
      szg_arena *arena, const szg_read_sizes_cuda *sizes, szg_read_plan_cuda *plan) SZG_CHECKED;  \
  szgpu_status szg_##kind##_frame_open_cuda(const szg_read_job_cuda *job) SZG_CHECKED;            \
  szgpu_status szg_##kind##_frame_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;         \
  szgpu_status szg_##kind##_frame_restore_cuda(const szg_read_job_cuda *job,                      \
                                               const szg_frame_rows_cuda *rows) SZG_CHECKED;      \
  szg_summed_leaves szg_##kind##_frame_sum_cuda(const szg_read_job_cuda *job);                    \
  bool szg_##kind##_frame_narrows_cuda(const szg_read_job_cuda *job,                              \
                                       const szg_frame_rows_cuda *rows);                          \
  bool szg_##kind##_frame_find_region_cuda(const szg_read_frame_cuda *frame, szg_box *box,        \
                                           uint64_t *tile_count);                                 \
  szgpu_status szg_##kind##_frame_restore_region_cuda(const szg_read_job_cuda *job) SZG_CHECKED

SZG_C_END

#endif
