/* outliers_read.cu - puts exact and fill values in place on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/outliers.h"

#include "codecs/read_cuda.h"

void szg_outliers_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  if (szg_section_raw_bytes(&frame->header, SZG_SECTION_EXACT_COUNTS) ||
      szg_section_raw_bytes(&frame->header, SZG_SECTION_FILL_COUNTS))
    szg_at_least(&sizes->placed_tiles, frame->grid.tile_count);
}

szgpu_status szg_outliers_list_cuda(const szg_read_job_cuda *job) {
  if (!job->counts.exact && !job->counts.fill_mask_bytes) return SZGPU_OK;
  return szg_places_select_marks_counted_cuda(&job->plan->places, job->frame->grid.tile_count,
                                              job->counts.exact, job->counts.fill_mask_bytes,
                                              job->device->stream);
}

szgpu_status szg_outliers_apply_cuda(const szg_read_job_cuda *job,
                                     const szg_frame_rows_cuda *rows) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_places_cuda *const places = &job->plan->places;
  if (!job->counts.exact && !job->counts.fill_mask_bytes) return SZGPU_OK;
  szg_outlier_input_cuda input = {};
  input.dtype = szg_header_coded_dtype(job->header);
  input.grid = &frame->grid;
  input.counts = job->counts;
  input.places = places->places;
  input.ends = places->ends;
  input.exact_mask = frame->sections[SZG_SECTION_EXACT_MASK].bytes;
  input.exact_values = frame->sections[SZG_SECTION_EXACT_VALUES].bytes;
  input.fill_mask = frame->sections[SZG_SECTION_FILL_MASK].bytes;
  input.fill_bits = job->header->fill_bits;
  input.tiles = places->tiles;
  input.tile_count = places->tile_count;
  SZG_TRY(szg_outlier_apply_cuda(&input, rows->values, rows->first_value, rows->value_count,
                                 frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "outliers");
}
