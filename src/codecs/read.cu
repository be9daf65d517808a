/* read.cu - where the shares of a frame's tiles begin, on the GPU, and those of a box of its tiles;
 * the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/read_cuda.h"

#include "codecs/kernels.h"

szgpu_status szg_tiles_place_cuda(const szg_read_job_cuda *job, const szg_grid *grid,
                                  bool has_stream) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_places_cuda *const places = &job->plan->places;
  struct CUstream_st *const stream = job->device->stream;
  SZG_TRY(szg_places_scan_cuda(places, grid, &job->counts, stream));
  szg_frame_sums sums = {};
  sums.is_linear = has_stream;
  sums.has_gaps = job->header->has_gaps;
  sums.escape_bytes = frame->header.escape_bytes;
  sums.value_bytes = job->width;
  sums.escapes = sections[SZG_SECTION_ESCAPES].byte_count;
  sums.exact_mask = sections[SZG_SECTION_EXACT_MASK].byte_count;
  sums.exact_values = sections[SZG_SECTION_EXACT_VALUES].byte_count;
  sums.fill_mask = sections[SZG_SECTION_FILL_MASK].byte_count;
  sums.bitstream = sections[SZG_SECTION_BITSTREAM].byte_count;
  sums.gaps = sections[SZG_SECTION_GAPS].byte_count;
  sums.sequence_codes = sections[SZG_SECTION_SEQUENCE_CODES].byte_count;
  sums.words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  SZG_TRY(szg_frame_sums_check_cuda(&sums, places->places + grid->tile_count, job->plan->bit_count,
                                    frame->verdict, stream));
  return szg_device_mark(job->device, "places");
}

szgpu_status szg_read_box_open_cuda(const szg_read_job_cuda *whole, szg_read_box_cuda *box) {
  const szg_read_frame_cuda *const frame = whole->frame;
  const szg_region_plan_cuda *const lists = &whole->plan->region;
  const szg_tile_counts *const counts = &whole->counts;
  bool const has_outliers = counts->exact || counts->fill_mask_bytes;
  szg_box const tiles = szg_tiles_of_box(&frame->grid, &frame->box);
  szg_tile_lists_cuda all = {};
  box->job = *whole;
  box->frame = *frame;
  box->plan = *whole->plan;
  box->job.frame = &box->frame;
  box->job.plan = &box->plan;
  box->frame.grid = szg_grid_of_box(&frame->grid, &frame->box);
  all.exact = counts->exact;
  all.fill_mask_bytes = counts->fill_mask_bytes;
  if (counts->exact) box->job.counts.exact = lists->exact;
  if (counts->fill_mask_bytes) box->job.counts.fill_mask_bytes = lists->fill_mask_bytes;
  if (has_outliers) {
    all.places = whole->plan->places.places;
    all.ends = whole->plan->places.ends;
    box->plan.places.places = lists->places;
    box->plan.places.ends = lists->ends;
  }
  if (counts->bits) { /* a tile frame's */
    all.sizes = counts->bits;
    all.first_words = whole->plan->tile.first_words;
    box->job.counts.bits = lists->sizes;
    box->plan.tile.first_words = lists->first_words;
  }
  SZG_TRY(szg_region_list_cuda(&tiles, frame->grid.z_tiles, frame->grid.y_tiles,
                               frame->grid.x_tiles, &all, lists, whole->device->stream));
  SZG_TRY(szg_device_mark(whole->device, "tiles of the box"));
  return szg_outliers_list_cuda(&box->job);
}
