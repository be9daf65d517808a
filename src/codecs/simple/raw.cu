/* raw.cu - a raw frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/simple/simple.h"

#include "codecs/kernels.h"
#include "codecs/read_cuda.h"
#include "codecs/write_cuda.h"

szgpu_status szg_raw_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                      bool *is_written) {
  szg_device *const device = &job->ctx->device;
  unsigned const width = (unsigned)szg_dtype_bytes(job->request->mapping.outer);
  *is_written = true;
  layout->header.kind = SZG_FRAME_RAW;
  szg_layout_add_cuda(layout, SZG_SECTION_RAW, job->raw_bytes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_raw_split_cuda(job->field_values, job->grid.value_count, width,
                             layout->at[SZG_SECTION_RAW], device->stream));
  SZG_TRY(szg_device_mark(device, "raw"));
  return szg_layout_finish_cuda(job, layout);
}

szgpu_status szg_raw_frame_restore_cuda(const szg_read_job_cuda *job,
                                        const szg_frame_rows_cuda *rows) {
  const szg_read_frame_cuda *const frame = job->frame;
  SZG_TRY(szg_raw_merge_cuda(frame->sections[SZG_SECTION_RAW].bytes, frame->grid.value_count,
                             job->field_width, rows->first_value, rows->value_count, rows->values,
                             job->device->stream));
  return szg_device_mark(job->device, "raw");
}
