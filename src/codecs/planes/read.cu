/* read.cu - a planes frame on the GPU: sections to values, bit for bit; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/frame.h"

#include "codecs/read_cuda.h"

/* A frame may treat a field of bytes as one of wider values. */
void szg_planes_frame_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  szg_planes_layout const layout = szg_planes_layout_of(&frame->header);
  uint32_t const coded = szg_planes_of_mode(layout.modes, layout.value_bytes, SZG_PLANE_CODED);
  uint64_t const width = szg_dtype_bytes(sizes->header->shape.dtype);
  szg_at_least(&sizes->planes.value_count, frame->header.value_count * width / layout.value_bytes);
  if (coded > sizes->planes.coded_planes) sizes->planes.coded_planes = coded;
  /* Of several frames, checksums are verified beside the next one's decoding instead. */
  bool const is_alone = sizes->header->frame_count == 1 && !frame->has_region;
  if (sizes->header->mode == SZGPU_MODE_LOSSLESS && is_alone)
    szg_at_least(
        &sizes->planes.summed_bytes,
        szg_planes_stored_bytes(&layout, frame->header.value_count * width / layout.value_bytes));
}

szgpu_status szg_planes_frame_carve_read_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                              szg_read_plan_cuda *plan) {
  szg_planes_layout layout = {};
  if (sizes->planes.value_count == 0) return SZGPU_OK;
  layout.value_bytes = SZG_PLANES_MOST;
  for (uint32_t plane = 0; plane < sizes->planes.coded_planes; plane++)
    layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * plane;
  if (sizes->planes.summed_bytes > 0)
    plan->planes.block_sums = (uint64_t *)szg_arena_take(
        arena, szg_planes_most_sums(sizes->planes.summed_bytes), sizeof(uint64_t));
  return szg_planes_input_carve_cuda(arena, &layout, sizes->planes.value_count, &plan->planes);
}

static szg_planes_input_cuda input_of(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_device_section *const words = &sections[szg_planes_words_kind(job->header)];
  szg_planes_input_cuda input = job->plan->planes;
  input.layout = szg_planes_layout_of(&frame->header);
  input.value_count = frame->grid.value_count * job->field_width / input.layout.value_bytes;
  input.books = sections[SZG_SECTION_CODEBOOK].bytes;
  input.sizes = job->counts.bits;
  input.words = (const uint32_t *)(const void *)words->bytes;
  input.word_count = words->byte_count / 4;
  input.stored = sections[SZG_SECTION_RAW].bytes;
  return input;
}

szgpu_status szg_planes_frame_open_cuda(const szg_read_job_cuda *job) {
  szg_planes_input_cuda const input = input_of(job);
  SZG_TRY(szg_planes_open_cuda(&input, job->frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "books, places");
}

szg_summed_leaves szg_planes_frame_sum_cuda(const szg_read_job_cuda *job) {
  szg_planes_input_cuda const input = input_of(job);
  uint64_t const bytes = szg_planes_summed_bytes_cuda(&input, (const uint8_t *)job->frame->values);
  return {input.block_sums, bytes / SZG_CHECKSUM_BLOCK_BYTES, SZG_SECTION_RAW};
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

/* A frame's values are at least as wide as the field's, so no more tiles than that have the box. */
bool szg_planes_frame_find_region_cuda(const szg_read_frame_cuda *frame, szg_box *box,
                                       uint64_t *tile_count) {
  enum { CUT_TILES = 2, NUMBERS = 1 }; /* at the ends of the box; of the list's entries */
  *box = szg_region_rows(&frame->region, &frame->grid);
  *tile_count = szg_box_value_count(box) / SZG_TILE_VALUES + CUT_TILES + NUMBERS;
  return true;
}

/* The frame is a line of values, so the region's rows are in tiles here and there. */
szgpu_status szg_planes_frame_restore_region_cuda(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  szg_planes_input_cuda input = input_of(job);
  uint64_t const row_bytes = frame->grid.row_values * job->field_width;
  int const row_axis = frame->grid.row_axis;
  uint64_t const first_byte = frame->box.first[row_axis] * row_bytes;
  uint64_t const end_byte = frame->box.end[row_axis] * row_bytes;
  uint64_t const tile_bytes = (uint64_t)SZG_TILE_VALUES * input.layout.value_bytes;
  input.listed_tiles = job->plan->region.line_tiles;
  SZG_TRY(szg_region_line_tiles_cuda(&frame->region, tile_bytes / job->field_width,
                                     job->plan->region.line_tiles, job->device->stream));
  SZG_TRY(szg_planes_decode_cuda(&input, first_byte, end_byte - first_byte,
                                 job->plan->region.values, frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "decode");
}
