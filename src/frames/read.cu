/* read.cu - where the shares of a frame's tiles begin, on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/read_cuda.h"

#include "frames/kernels.h"

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
