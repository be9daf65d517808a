/* constant.cu - a constant frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/simple/simple.h"

#include "codecs/kernels.h"
#include "codecs/read_cuda.h"
#include "codecs/write_cuda.h"

/* Any tile may have exceptions, so all are measured. */
static szgpu_status measure(const szg_write_job_cuda *job) {
  szg_device *const device = &job->ctx->device;
  SZG_TRY(szg_device_set(device, job->plan->outliers.tile_marks, 1, job->grid.tile_count));
  SZG_TRY(szg_outliers_measure_cuda(job, NULL));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "counts to host");
}

szgpu_status szg_constant_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                           bool *is_written) {
  SZG_TRY(measure(job));
  szg_outlier_sizes const sizes = szg_outliers_size_cuda(job);
  *is_written =
      szg_outlier_section_count(&sizes) == 0 || szg_outlier_sizes_sum(&sizes) < job->raw_bytes;
  if (!*is_written) return SZGPU_OK;
  layout->header.kind = SZG_FRAME_CONSTANT;
  layout->header.constant_bits = job->bound->constant_bits;
  szg_outliers_add_sections_cuda(layout, &sizes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_outliers_write_cuda(job, layout));
  SZG_TRY(szg_device_mark(&job->ctx->device, "outliers"));
  return szg_layout_finish_cuda(job, layout);
}

void szg_constant_frame_size_read_cuda(const szg_read_frame_cuda *frame,
                                       szg_read_sizes_cuda *sizes) {
  szg_outliers_size_read_cuda(frame, sizes);
}

szgpu_status szg_constant_frame_prepare_cuda(const szg_read_job_cuda *job) {
  if (!job->counts.exact && !job->counts.fill_mask_bytes) return SZGPU_OK; /* signs at most */
  SZG_TRY(szg_tiles_place_cuda(job, &job->frame->grid, false));
  return szg_outliers_list_cuda(job);
}

szgpu_status szg_constant_frame_restore_cuda(const szg_read_job_cuda *job,
                                             const szg_frame_rows_cuda *rows) {
  SZG_TRY(szg_values_fill_cuda(rows->values, rows->value_count, job->width,
                               job->frame->header.constant_bits, job->device->stream));
  return szg_outliers_apply_cuda(job, rows);
}
