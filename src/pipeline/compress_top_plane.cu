/* compress_top_plane.cu - one frame without loss, linear layout, on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --highest plane--> codes counted --> [host: book, places of sections] --> sections
 *
 * The host is waited for once, at the bracket. The other planes go straight to their section then.
 */
#include "core/bytes.h"
#include "lossless/top_plane_cuda.h"
#include "pipeline/compress_cuda.h"
#include "pipeline/top_plane.h"

static szgpu_status take_top_plane(const szg_frame_job_cuda *job, uint32_t value_bytes) {
  szg_device *const device = &job->ctx->device;
  const szg_compress_plan_cuda *const plan = job->plan;
  SZG_TRY(szg_top_plane_take_cuda(job->values, job->grid.value_count, value_bytes, plan->codes,
                                  plan->top_counts, device->stream));
  SZG_TRY(szg_device_mark(device, "highest plane"));
  SZG_TRY(szg_device_copy(device, plan->top_counts_back, plan->top_counts,
                          SZG_PLANES_SYMBOLS * sizeof *plan->top_counts));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "counts to host");
}

szgpu_status szg_top_plane_frame_write_cuda(const szg_frame_job_cuda *job,
                                            szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  uint64_t const value_count = job->grid.value_count;
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(job->dtype);
  uint64_t const stored_bytes = szg_top_plane_stored_bytes(value_count, value_bytes);
  SZG_TRY(take_top_plane(job, value_bytes));
  szg_section_sizes sizes = {};
  uint64_t const bit_count =
      szg_stream_size_cuda(job, job->plan->top_counts_back, SZG_TOP_PLANE_RADIUS, &sizes);
  if (szg_sections_bytes(&sizes) + stored_bytes >= value_count * value_bytes)
    return szg_raw_frame_write_cuda(job, layout);
  szg_set_top_plane_frame(&layout->header);
  szg_stream_add_sections_cuda(layout, &sizes);
  if (stored_bytes) szg_header_add_cuda(&layout->header, SZG_SECTION_RAW, stored_bytes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_stream_write_cuda(job, layout, bit_count));
  SZG_TRY(szg_top_plane_store_cuda(job->values, value_count, value_bytes,
                                   layout->at[SZG_SECTION_RAW], device->stream));
  SZG_TRY(szg_device_mark(device, "other planes"));
  return szg_frame_finish_cuda(job, layout);
}
