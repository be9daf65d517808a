/* kinds.h - the table of the kinds of frame: a kind is one row.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Code that writes or reads frames asks the table and names no kind. To add one, write its files
 * and give it a row in kinds.c and one in kinds_cuda.c; CONTRIBUTING.md says how.
 */
#ifndef SZG_KINDS_H
#define SZG_KINDS_H

#include "codecs/frame.h"
#include "codecs/read.h"
#include "codecs/rules.h"
#include "codecs/write.h"
#include "container/writer.h"

SZG_C_BEGIN

/* The rows. A compression tries the kinds in this order. */
enum {
  SZG_KIND_CONSTANT,
  SZG_KIND_LINEAR,
  SZG_KIND_LEVELS,
  SZG_KIND_TILE,
  SZG_KIND_TOP_PLANE,
  SZG_KIND_PLANES,
  SZG_KIND_RAW,
  SZG_KIND_COUNT
};

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

extern const szg_frame_kind szg_frame_kinds[SZG_KIND_COUNT];

/* The row of a frame with this header; SZG_KIND_COUNT: no such row. */
uint32_t szg_kind_of(const szg_header *archive, const szg_frame_header *frame);

/* Whether a compression with this request tries the kind on values with this bound. */
bool szg_kind_is_tried(uint32_t kind, const szg_write_request *request,
                       const szg_bound_plan *bound);

/* The traits of all kinds that serve such a compression, and the most passes of one. */
uint32_t szg_kinds_traits(const szg_write_request *request);
uint32_t szg_kinds_passes(const szg_write_request *request);

/* Takes the memory of a compression. */
void szg_write_plan_carve(szg_arena *arena, const szg_write_request *request, szg_write_plan *plan);
/* The most that a kind takes in SZG_KEPT_KIND, except for grids. */
uint64_t szg_write_buffer_bytes(const szg_write_request *request);

/* Compresses job's values as the writer's next frame, and updates the archive's header as its kind
 * requires. */
szgpu_status szg_frame_write(szg_write_job *job, uint64_t frame_index, szg_writer *writer,
                             szg_header *archive, uint64_t *frame_bytes) SZG_CHECKED;

/* Takes the memory of a decompression. */
void szg_read_plan_carve(szg_arena *arena, const szg_read_request *request, szg_read_plan *plan);

/* Restores rows first_row .. first_row + row_count - 1 of the frame that job->reader has open into
 * job->values. They must be whole rows of tiles. */
szgpu_status szg_frame_restore(szg_read_job *job, uint64_t first_row,
                               uint64_t row_count) SZG_CHECKED;

/* Restores job->region, at least one value of a frame that has its level. Not for whole rows at
 * level 0, which szg_frame_restore restores, and so not for any region of a line there. */
szgpu_status szg_frame_restore_region(szg_read_job *job) SZG_CHECKED;

SZG_C_END

#endif
