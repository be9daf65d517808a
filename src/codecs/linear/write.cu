/* write.cu - a linear frame on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --> codes, counts --> [host: codebook, places of all sections] --> sections
 */
#include "codecs/linear/frame.h"

#include "codecs/write_cuda.h"

szgpu_status szg_linear_frame_carve_zeroed_cuda(szg_arena *arena, const szg_write_request *request,
                                                szg_write_plan_cuda *plan) {
  (void)request;
  plan->linear.found = (szg_linear_found *)szg_arena_take(arena, 1, sizeof *plan->linear.found);
  return SZGPU_OK;
}

szgpu_status szg_linear_frame_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                               szg_write_plan_cuda *plan) {
  plan->linear.escape_counts =
      (uint16_t *)szg_arena_take(arena, request->frame_grid.tile_count, sizeof(uint16_t));
  return szg_stream_carve_write_cuda(arena, &request->frame_grid, &plan->stream);
}

void szg_linear_frame_carve_write_pinned(szg_arena *arena, const szg_write_request *request,
                                         szg_write_plan_cuda *plan) {
  (void)request;
  plan->linear.found_back =
      (szg_linear_found *)szg_arena_take(arena, 1, sizeof *plan->linear.found_back);
  szg_stream_carve_write_pinned(arena, &plan->stream);
}

/* ---- [1] values to codes and counts ---- */

static szgpu_status code_frame(const szg_write_job_cuda *job) {
  szg_device *const device = &job->ctx->device;
  const szg_write_plan_cuda *const plan = job->plan;
  szg_linear_found *const found = plan->linear.found;
  SZG_TRY(szg_choose_cuda(&job->quantizer, &job->grid, job->values, job->asked_radius,
                          plan->choice_work, &found->choice, device->stream));
  SZG_TRY(szg_device_mark(device, "axes"));
  szg_coded_frame_cuda const coded = {plan->stream.codes, plan->linear.escape_counts,
                                      plan->outliers.tile_marks, found->escape_extremes};
  SZG_TRY(szg_tiles_code_cuda(&job->quantizer, &job->grid, job->values, &found->choice.axes,
                              &found->choice.radius, &coded, device->stream));
  SZG_TRY(szg_device_mark(device, "predict"));
  SZG_TRY(szg_histogram_cuda(plan->stream.codes, job->grid.value_count, &found->choice.radius,
                             found->counts, device->stream));
  SZG_TRY(szg_device_mark(device, "histogram"));
  SZG_TRY(szg_outliers_measure_cuda(job, plan->linear.escape_counts));
  SZG_TRY(szg_device_copy(device, plan->linear.found_back, found, sizeof *found));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "counts to host");
}

/* ---- [2] sizes ---- */

static szg_linear_sizes size_sections(const szg_write_job_cuda *job, uint64_t *bit_count) {
  const szg_linear_found *const found = job->plan->linear.found_back;
  szg_linear_sizes sizes = {};
  sizes.stream = szg_stream_size_cuda(job, found->counts, found->choice.radius,
                                      job->grid.tile_count, bit_count);
  sizes.outliers = szg_outliers_size_cuda(job);
  szg_linear_sizes_set_escapes(&sizes, job->grid.tile_count,
                               job->plan->outliers.totals_back->escape, found->escape_extremes[0],
                               found->escape_extremes[1]);
  return sizes;
}

/* ---- [3] sections ---- */

static szgpu_status write_escapes(const szg_write_job_cuda *job,
                                  const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const uint16_t *const escape_counts = job->plan->linear.escape_counts;
  const szg_places_cuda *const places = &job->plan->outliers.places;
  uint64_t const tiles = job->grid.tile_count;
  SZG_TRY(szg_device_copy(device, layout->at[SZG_SECTION_ESCAPE_COUNTS], escape_counts, 2 * tiles));
  SZG_TRY(szg_places_select_counted_cuda(places, tiles, escape_counts, device->stream));
  return szg_tiles_write_escapes_cuda(&job->quantizer, &job->grid, job->values, layout->header.axes,
                                      layout->header.radius, places->tiles, places->tile_count,
                                      places->places, layout->header.escape_bytes,
                                      layout->at[SZG_SECTION_ESCAPES], device->stream);
}

static szgpu_status write_sections(const szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                   const szg_linear_sizes *sizes, uint64_t bit_count) {
  const szg_linear_found *const found = job->plan->linear.found_back;
  layout->header.kind = SZG_FRAME_LINEAR;
  layout->header.axes = found->choice.axes;
  layout->header.radius = found->choice.radius;
  layout->header.escape_bytes = sizes->escape_bytes;
  szg_stream_add_sections_cuda(layout, &sizes->stream);
  if (sizes->escapes) {
    szg_layout_add_cuda(layout, SZG_SECTION_ESCAPE_COUNTS, sizes->escape_counts);
    szg_layout_add_cuda(layout, SZG_SECTION_ESCAPES, sizes->escapes);
  }
  szg_outliers_add_sections_cuda(layout, &sizes->outliers);
  SZG_TRY(szg_layout_place_cuda(job, layout));
  SZG_TRY(szg_stream_write_cuda(job, &job->grid, layout, bit_count));
  SZG_TRY(szg_outliers_write_cuda(job, layout)); /* while the list names these tiles */
  if (sizes->escapes) SZG_TRY(write_escapes(job, layout));
  SZG_TRY(szg_device_mark(&job->ctx->device, "outliers"));
  return szg_layout_finish_cuda(job, layout);
}

szgpu_status szg_linear_frame_write_cuda(szg_write_job_cuda *job, szg_frame_layout_cuda *layout,
                                         bool *is_written) {
  uint64_t bit_count = 0;
  SZG_TRY(code_frame(job));
  szg_linear_sizes const sizes = size_sections(job, &bit_count);
  *is_written = szg_linear_sizes_sum(&sizes) < job->raw_bytes;
  job->has_strays =
      !*is_written || szg_outlier_sizes_stray(&sizes.outliers, job->bound, job->request->dtype,
                                              job->grid.value_count);
  return *is_written ? write_sections(job, layout, &sizes, bit_count) : SZGPU_OK;
}
