/* raw.h - frames of kind "raw": the values as stored byte planes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_RAW_H
#define SZG_RAW_H

#include "codecs/rules.h"
#include "container/writer.h"

SZG_C_BEGIN

bool szg_raw_frame_may_occur(const szg_header *archive);
bool szg_raw_frame_is_sound(const szg_frame_facts *facts);
void szg_raw_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules);
bool szg_raw_frame_serves(const szg_write_request *request);

szgpu_status szg_raw_frame_write(szg_write_job *job, szg_writer *writer, szg_frame_header *frame,
                                 bool *is_written) SZG_CHECKED;
szgpu_status szg_raw_frame_restore(szg_read_job *job) SZG_CHECKED;

/* ---- CUDA (raw.cu) ---- */

szgpu_status szg_raw_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                      bool *is_written) SZG_CHECKED;

szgpu_status szg_raw_frame_restore_cuda(const szg_read_job_cuda *job,
                                        const szg_frame_rows_cuda *rows) SZG_CHECKED;

SZG_C_END

#endif
