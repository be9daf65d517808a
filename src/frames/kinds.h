/* kinds.h - the table of the kinds of frame: a kind is one row.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Code that writes or reads frames asks the table and names no kind. To add one, write its files
 * and give it a row in kinds.c and one in kinds_cuda.c; CONTRIBUTING.md says how.
 */
#ifndef SZG_KINDS_H
#define SZG_KINDS_H

#include "codecs/kind.h"
#include "codecs/read.h"
#include "codecs/write.h"

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

extern const szg_frame_kind szg_frame_kinds[SZG_KIND_COUNT];

/* The row of a frame with this header; SZG_KIND_COUNT: no such row. */
uint32_t szg_kind_of(const szg_header *archive, const szg_frame_header *frame);

/* Whether a compression with this request tries the kind on values with this bound. */
bool szg_kind_is_tried(uint32_t kind, const szg_write_request *request,
                       const szg_bound_plan *bound);

/* Whether the values are to be coded anew rather than by this kind: the bound counts on levels
 * frames, and none was written. */
bool szg_kind_disappoints(uint32_t kind, const szg_bound_plan *bound);

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

/* Before the end of a frame of a lossless archive: writes it again as another kind if that is
 * smaller under zstd. values: the frame's, of `width` bytes; before: the writer before it. */
szgpu_status szg_frame_replace_packed(const void *values, size_t width, const szg_writer *before,
                                      szg_writer *writer) SZG_CHECKED;

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
