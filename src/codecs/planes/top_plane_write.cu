/* top_plane_write.cu - a top plane frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --highest plane--> codes counted --> [host: book, places of sections] --> sections
 *
 * The stream waits for the host once, at the bracket. The other planes then go straight to their
 * section.
 */
#include "codecs/planes/top_plane_frame.h"

#include "codecs/planes/top_plane_cuda.h"
#include "codecs/write_cuda.h"

szgpu_status szg_top_plane_frame_carve_zeroed_cuda(szg_arena *arena,
                                                   const szg_write_request *request,
                                                   szg_write_plan_cuda *plan) {
  (void)request;
  plan->top_plane.counts =
      (uint64_t *)szg_arena_take(arena, SZG_PLANES_SYMBOLS, sizeof *plan->top_plane.counts);
  return SZGPU_OK;
}

/* The codes do not follow the field's shape. */
szgpu_status szg_top_plane_frame_carve_write_cuda(szg_arena *arena,
                                                  const szg_write_request *request,
                                                  szg_write_plan_cuda *plan) {
  szg_grid const line = szg_grid_of_line(request->frame_grid.value_count);
  return szg_stream_carve_write_cuda(arena, &line, &plan->stream);
}

void szg_top_plane_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                            szg_write_plan_cuda *plan) {
  (void)request;
  plan->top_plane.counts_back =
      (uint64_t *)szg_arena_take(arena, SZG_PLANES_SYMBOLS, sizeof *plan->top_plane.counts_back);
  szg_stream_carve_write_pinned(arena, &plan->stream);
}

static szgpu_status take_top_plane(const szg_write_job_cuda *job, uint32_t value_bytes) {
  szg_device *const device = &job->ctx->device;
  const szg_top_plane_write_plan_cuda *const plan = &job->plan->top_plane;
  SZG_TRY(szg_top_plane_take_cuda(job->values, job->grid.value_count, value_bytes,
                                  job->plan->stream.codes, plan->counts, device->stream));
  SZG_TRY(szg_device_mark(device, "highest plane"));
  SZG_TRY(szg_device_copy(device, plan->counts_back, plan->counts,
                          SZG_PLANES_SYMBOLS * sizeof *plan->counts));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "counts to host");
}

szgpu_status szg_top_plane_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                            bool *is_written) {
  szg_device *const device = &job->ctx->device;
  szg_grid const line = szg_grid_of_line(job->grid.value_count);
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(job->request->dtype);
  uint64_t const stored_bytes = szg_top_plane_stored_bytes(line.value_count, value_bytes);
  uint64_t bit_count = 0;
  SZG_TRY(take_top_plane(job, value_bytes));
  szg_stream_sizes const sizes = szg_stream_size_cuda(
      job, job->plan->top_plane.counts_back, SZG_TOP_PLANE_RADIUS, line.tile_count, &bit_count);
  *is_written = szg_stream_sizes_sum(&sizes) + stored_bytes < job->raw_bytes;
  if (!*is_written) return SZGPU_OK;
  szg_top_plane_frame_set_header(&layout->header);
  szg_stream_add_sections_cuda(layout, &sizes);
  if (stored_bytes) szg_layout_add_cuda(layout, SZG_SECTION_RAW, stored_bytes);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_stream_write_cuda(job, &line, layout, bit_count));
  SZG_TRY(szg_top_plane_store_cuda(job->values, line.value_count, value_bytes,
                                   layout->at[SZG_SECTION_RAW], device->stream));
  SZG_TRY(szg_device_mark(device, "other planes"));
  return szg_layout_finish_cuda(job, layout);
}
