/* outliers_write.cu - writes exact values and the fill mask on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/levels_lattice.h"
#include "codecs/write_cuda.h"

szgpu_status szg_outliers_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                           szg_outlier_write_plan_cuda *plan) {
  uint64_t const tiles = request->frame_grid.tile_count;
  plan->exact_counts = (uint16_t *)szg_arena_take(arena, 2 * tiles, sizeof(uint16_t));
  plan->fill_counts = (uint16_t *)szg_arena_take(arena, tiles, sizeof(uint16_t));
  plan->tile_marks = (uint8_t *)szg_arena_take(arena, tiles, 1);
  return szg_places_carve_cuda(arena, tiles, &plan->places);
}

void szg_outliers_carve_write_pinned(szg_arena *arena, szg_outlier_write_plan_cuda *plan) {
  plan->totals_back = (szg_tile_place *)szg_arena_take(arena, 1, sizeof *plan->totals_back);
}

static szg_marked_frame_cuda marked_frame(const szg_write_job_cuda *job) {
  szg_marked_frame_cuda marked = {};
  marked.dtype = job->request->dtype;
  marked.quantizer = &job->quantizer;
  marked.grid = &job->grid;
  marked.values = job->values;
  marked.exact_values = job->exact_values;
  marked.is_constant = job->bound->is_constant;
  marked.constant_bits = job->bound->constant_bits;
  if (job->lattice) {
    marked.near_limit = job->lattice->limit;
    marked.near_is_f32 = job->lattice->dtype == SZGPU_F32 && !job->lattice->is_wide;
    marked.near_inverse = job->lattice->inverse;
  }
  marked.tiles = job->plan->outliers.places.tiles;
  marked.tile_count = job->plan->outliers.places.tile_count;
  return marked;
}

szgpu_status szg_outliers_measure_cuda(const szg_write_job_cuda *job,
                                       const uint16_t *escape_counts) {
  szg_device *const device = &job->ctx->device;
  const szg_outlier_write_plan_cuda *const plan = &job->plan->outliers;
  uint64_t const tiles = job->grid.tile_count;
  szg_marked_frame_cuda const marked = marked_frame(job);
  SZG_TRY(szg_device_set(device, plan->exact_counts, 0, 4 * tiles));
  SZG_TRY(szg_device_set(device, plan->fill_counts, 0, 2 * tiles));
  SZG_TRY(szg_places_select_marked_cuda(&plan->places, tiles, plan->tile_marks, device->stream));
  SZG_TRY(szg_marks_measure_cuda(&marked, plan->exact_counts, plan->fill_counts, device->stream));
  szg_tile_counts const counts = {NULL, escape_counts, plan->exact_counts, plan->fill_counts};
  SZG_TRY(szg_places_scan_cuda(&plan->places, &job->grid, &counts, device->stream));
  SZG_TRY(szg_device_copy(device, plan->totals_back, plan->places.places + tiles,
                          sizeof *plan->totals_back));
  return szg_device_mark(device, "outliers measured");
}

szg_outlier_sizes szg_outliers_size_cuda(const szg_write_job_cuda *job) {
  const szg_tile_place *const totals = job->plan->outliers.totals_back;
  szg_outlier_sizes sizes = {};
  sizes.exact_mask = totals->exact_mask;
  sizes.exact_values = totals->exact_value * szg_dtype_bytes(job->request->dtype);
  sizes.fill_mask = totals->fill_mask;
  if (sizes.exact_mask) sizes.exact_counts = 4 * job->grid.tile_count;
  if (sizes.fill_mask) sizes.fill_counts = 2 * job->grid.tile_count;
  return sizes;
}

static void add_exact(szg_frame_layout_cuda *layout, const szg_outlier_sizes *sizes) {
  szg_layout_add_cuda(layout, SZG_SECTION_EXACT_COUNTS, sizes->exact_counts);
  szg_layout_add_cuda(layout, SZG_SECTION_EXACT_MASK, sizes->exact_mask);
  szg_layout_add_cuda(layout, SZG_SECTION_EXACT_VALUES, sizes->exact_values);
}

static void add_fill(szg_frame_layout_cuda *layout, const szg_outlier_sizes *sizes) {
  szg_layout_add_cuda(layout, SZG_SECTION_FILL_COUNTS, sizes->fill_counts);
  szg_layout_add_cuda(layout, SZG_SECTION_FILL_MASK, sizes->fill_mask);
}

void szg_outliers_add_sections_cuda(szg_frame_layout_cuda *layout, const szg_outlier_sizes *sizes) {
  if (sizes->exact_mask) add_exact(layout, sizes);
  if (sizes->fill_mask) add_fill(layout, sizes);
}

void szg_outliers_add_all_sections_cuda(szg_frame_layout_cuda *layout,
                                        const szg_outlier_sizes *sizes) {
  add_exact(layout, sizes);
  add_fill(layout, sizes);
}

szgpu_status szg_outliers_write_cuda(const szg_write_job_cuda *job,
                                     const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_outlier_write_plan_cuda *const plan = &job->plan->outliers;
  uint64_t const tiles = job->grid.tile_count;
  uint8_t *const *const at = layout->at;
  if (at[SZG_SECTION_EXACT_COUNTS])
    SZG_TRY(szg_device_copy(device, at[SZG_SECTION_EXACT_COUNTS], plan->exact_counts, 4 * tiles));
  if (at[SZG_SECTION_FILL_COUNTS])
    SZG_TRY(szg_device_copy(device, at[SZG_SECTION_FILL_COUNTS], plan->fill_counts, 2 * tiles));
  if (!at[SZG_SECTION_EXACT_MASK] && !at[SZG_SECTION_FILL_MASK]) return SZGPU_OK;
  szg_marked_frame_cuda const marked = marked_frame(job);
  return szg_marks_write_cuda(&marked, plan->places.places, at[SZG_SECTION_EXACT_MASK],
                              at[SZG_SECTION_EXACT_VALUES], at[SZG_SECTION_FILL_MASK],
                              device->stream);
}
