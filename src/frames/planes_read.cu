/* planes_read.cu - a planes frame on the GPU: sections to values, bit for bit; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/planes.h"

#include "frames/read_cuda.h"

/* A frame may treat a field of bytes as one of wider values. */
void szg_planes_frame_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  szg_planes_layout const layout = szg_planes_layout_of(&frame->header);
  uint32_t const coded = szg_planes_of_mode(layout.modes, layout.value_bytes, SZG_PLANE_CODED);
  uint64_t const width = szg_dtype_bytes(sizes->header->shape.dtype);
  szg_at_least(&sizes->planes.value_count, frame->header.value_count * width / layout.value_bytes);
  if (coded > sizes->planes.coded_planes) sizes->planes.coded_planes = coded;
}

szgpu_status szg_planes_frame_carve_read_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                              szg_read_plan_cuda *plan) {
  szg_planes_layout layout = {};
  if (sizes->planes.value_count == 0) return SZGPU_OK;
  layout.value_bytes = SZG_PLANES_MOST;
  for (uint32_t plane = 0; plane < sizes->planes.coded_planes; plane++)
    layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * plane;
  return szg_planes_input_carve_cuda(arena, &layout, sizes->planes.value_count, &plan->planes);
}

static szg_planes_input_cuda input_of(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_device_section *const sections = frame->sections;
  szg_planes_input_cuda input = job->plan->planes;
  input.layout = szg_planes_layout_of(&frame->header);
  input.value_count = frame->grid.value_count * job->field_width / input.layout.value_bytes;
  input.books = sections[SZG_SECTION_CODEBOOK].bytes;
  input.sizes = job->counts.bits;
  input.words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  input.word_count = sections[SZG_SECTION_BITSTREAM].byte_count / 4;
  input.stored = sections[SZG_SECTION_RAW].bytes;
  return input;
}

szgpu_status szg_planes_frame_open_cuda(const szg_read_job_cuda *job) {
  szg_planes_input_cuda const input = input_of(job);
  SZG_TRY(szg_planes_open_cuda(&input, job->frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "books, places");
}

szgpu_status szg_planes_frame_restore_cuda(const szg_read_job_cuda *job,
                                           const szg_frame_rows_cuda *rows) {
  uint64_t const row_bytes = job->frame->grid.row_values * job->field_width;
  szg_planes_input_cuda const input = input_of(job);
  SZG_TRY(szg_planes_decode_cuda(
      &input, rows->first_row * row_bytes, (rows->end_row - rows->first_row) * row_bytes,
      (uint8_t *)rows->values, job->frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "decode");
}

/* ---- regions ---- */

bool szg_planes_frame_find_region_cuda(const szg_read_frame_cuda *frame, szg_box *box,
                                       uint64_t *tile_count) {
  *box = szg_region_rows(&frame->region, &frame->grid);
  *tile_count = 0; /* nothing is listed */
  return true;
}

/* Tiles that follow one another, of which the rows of the box have some values. */
struct tile_run {
  uint64_t first, end;
};

static szgpu_status restore_run(const szg_read_job_cuda *job, const szg_planes_input_cuda *input,
                                tile_run run) {
  const szg_read_frame_cuda *const frame = job->frame;
  uint64_t const tile_bytes = (uint64_t)SZG_TILE_VALUES * input->layout.value_bytes;
  uint64_t const row_bytes = frame->grid.row_values * job->field_width;
  int const row_axis = frame->grid.row_axis;
  uint64_t const box_first = frame->box.first[row_axis] * row_bytes;
  uint64_t const box_end = frame->box.end[row_axis] * row_bytes;
  uint64_t const first = run.first * tile_bytes > box_first ? run.first * tile_bytes : box_first;
  uint64_t const end = szg_min_u64(run.end * tile_bytes, box_end);
  return szg_planes_decode_cuda(input, first, end - first,
                                job->plan->region.values + (first - box_first), frame->verdict,
                                job->device->stream);
}

/* The frame is a line of values, so the region's rows are in tiles here and there. Those of rows
 * whose tiles touch are restored by one launch. */
szgpu_status szg_planes_frame_restore_region_cuda(const szg_read_job_cuda *job) {
  const szg_region *const region = &job->frame->region;
  szg_planes_input_cuda const input = input_of(job);
  uint64_t const tile_bytes = (uint64_t)SZG_TILE_VALUES * input.layout.value_bytes;
  uint64_t const row_count = szg_region_row_count(region);
  tile_run run = {0, 0};
  for (uint64_t row = 0; row < row_count; row++) {
    uint64_t const first = szg_region_row_at(region, row);
    uint64_t const first_tile = first * job->field_width / tile_bytes;
    uint64_t const end_tile = szg_div_up((first + region->count[3]) * job->field_width, tile_bytes);
    if (row > 0 && first_tile > run.end) {
      SZG_TRY(restore_run(job, &input, run));
      run.first = first_tile;
    }
    if (row == 0) run.first = first_tile;
    run.end = end_tile;
  }
  SZG_TRY(restore_run(job, &input, run));
  return szg_device_mark(job->device, "decode");
}
