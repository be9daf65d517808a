/* mapped.h - the edge of a frame on the CPU: the field's values to those that are coded, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of frame that code values see only the mapping's inner ones, edited if the field has more
 * than one fill value or values that are not valid (quant/missing.h): further fill values look like
 * the first one, and invalid values like NaNs, which no kind codes. Masks (run_masks.h) say where
 * the former were; the latter are exact values, whose bits come from the values before the edit.
 * Kinds that keep all bits (szg_frame_kind.is_of_field) take the field's own.
 */
#ifndef SZG_MAPPED_H
#define SZG_MAPPED_H

#include "codecs/read.h"
#include "codecs/write.h"

SZG_C_BEGIN

/* Buffers of a ctx, after those of codecs/frame.h. */
enum {
  SZG_KEPT_INNER = SZG_KEPT_VALUES, /* values of a frame in the type that is coded */
  SZG_KEPT_UNEDITED,                /* the same, if the former have lost something */
  SZG_KEPT_CALLS                    /* pipeline/pipeline.h */
};

/* Room in the ctx for a frame's inner values. */
szgpu_status szg_mapped_open(szgpu_ctx *ctx, const szg_mapping *mapping,
                             uint64_t value_count) SZG_CHECKED;

/* Sets job->values, job->exact_values and the masks: the inner values of field_values, in a buffer
 * of the ctx; without a mapping and an edit the same. Those that the search for the bound has left
 * there are not mapped again. */
szgpu_status szg_mapped_begin_write(szg_write_job *job) SZG_CHECKED;

/* Whether what frames restore must be led to the field's values. */
bool szg_is_edited(const szg_header *header);

/* How the archive's values are coded. */
szg_mapping szg_mapping_of_header(const szg_header *header);

/* What restores them from lattice points. */
szg_quantizer szg_quantizer_of_header(const szg_header *header);

/* Where a frame's values go once they are narrowed. */
typedef struct szg_mapped_target {
  szg_mapping mapping;
  uint8_t *values; /* in the field's type */
  uint64_t value_count;
  szg_region region; /* the job's, with its values in the buffer */
  szg_run_mask masks[SZG_RUN_MASKS];
} szg_mapped_target;

/* Lets the job restore inner values into a buffer of the ctx, if there is a mapping, and then
 * brings them to where the job's values were to go. Only for archives that are edited. */
szgpu_status szg_mapped_begin_read(szg_read_job *job, szg_mapped_target *target) SZG_CHECKED;
szgpu_status szg_mapped_end_read(const szg_read_job *job,
                                 const szg_mapped_target *target) SZG_CHECKED;

SZG_C_END

#endif
