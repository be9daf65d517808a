/* constant.h - frames of kind "constant": one value, with exceptions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CONSTANT_H
#define SZG_CONSTANT_H

#include "codecs/rules.h"
#include "container/writer.h"
#include "quant/bound.h"

SZG_C_BEGIN

bool szg_constant_frame_may_occur(const szg_header *archive);
bool szg_constant_frame_is_sound(const szg_frame_facts *facts);
bool szg_constant_frame_serves(const szg_write_request *request);
bool szg_constant_frame_suits(const szg_bound_plan *bound);

szgpu_status szg_constant_frame_write(szg_write_job *job, szg_writer *writer,
                                      szg_frame_header *frame, bool *is_written) SZG_CHECKED;
szgpu_status szg_constant_frame_open(szg_read_job *job) SZG_CHECKED;
szgpu_status szg_constant_frame_restore(szg_read_job *job) SZG_CHECKED;
szgpu_status szg_constant_frame_require_level(szgpu_ctx *ctx, const szg_frame_facts *facts,
                                              uint32_t level) SZG_CHECKED;

/* ---- CUDA (constant.cu) ---- */

szgpu_status szg_constant_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                           bool *is_written) SZG_CHECKED;

void szg_constant_frame_size_read_cuda(const szg_read_frame_cuda *frame,
                                       szg_read_sizes_cuda *sizes);
szgpu_status szg_constant_frame_prepare_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
szgpu_status szg_constant_frame_restore_cuda(const szg_read_job_cuda *job,
                                             const szg_frame_rows_cuda *rows) SZG_CHECKED;

SZG_C_END

#endif
