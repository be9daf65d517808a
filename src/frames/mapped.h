/* mapped.h - the edge of a frame on the CPU: the field's values to those that are coded, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of frame that code values see only the mapping's inner ones. Kinds that keep all bits
 * (szg_frame_kind.is_of_field) take the field's own.
 */
#ifndef SZG_MAPPED_H
#define SZG_MAPPED_H

#include "frames/read.h"
#include "frames/write.h"

SZG_C_BEGIN

/* Room in the ctx for a frame's inner values. */
szgpu_status szg_mapped_open(szgpu_ctx *ctx, const szg_mapping *mapping,
                             uint64_t value_count) SZG_CHECKED;

/* Sets job->values: the inner values of field_values, in a buffer of the ctx; without a mapping the
 * same. Those that the search for the bound has left there are not mapped again. */
szgpu_status szg_mapped_begin_write(szg_write_job *job) SZG_CHECKED;

/* How the archive's values are coded. */
szg_mapping szg_mapping_of_header(const szg_header *header);

/* Where a frame's values go once they are narrowed. */
typedef struct szg_mapped_target {
  uint8_t *values; /* in the field's type */
  uint64_t value_count;
  szg_region region; /* the job's, with its values in the buffer */
  szg_signs signs;   /* SZG_MAPPING_LOG */
} szg_mapped_target;

/* Lets the job restore inner values into a buffer of the ctx, and then brings them to where the
 * job's values were to go. Only for archives with a mapping. */
szgpu_status szg_mapped_begin_read(szg_read_job *job, const szg_mapping *mapping,
                                   szg_mapped_target *target) SZG_CHECKED;
szgpu_status szg_mapped_end_read(const szg_read_job *job, const szg_mapping *mapping,
                                 const szg_mapped_target *target) SZG_CHECKED;

SZG_C_END

#endif
