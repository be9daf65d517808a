/* read.cu - a linear frame on the GPU: codes to values; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/linear/frame.h"

#include "codecs/outliers.h"
#include "codecs/read_cuda.h"

void szg_linear_frame_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  szg_at_least(&sizes->placed_tiles, frame->grid.tile_count);
  szg_stream_size_read_cuda(frame, false, sizes);
}

szgpu_status szg_linear_frame_prepare_cuda(const szg_read_job_cuda *job) {
  SZG_TRY(szg_tiles_place_cuda(job, &job->frame->grid, true));
  SZG_TRY(szg_stream_decode_cuda(job, &job->frame->grid));
  return szg_outliers_list_cuda(job);
}

static szgpu_status restore_tiles(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_grid *const grid = &frame->grid;
  uint64_t const row_tiles = grid->tile_count / szg_div_up(grid->row_extent, grid->row_quantum);
  szg_restore_input_cuda input = {};
  input.codes = (const uint16_t *)job->plan->stream.codes;
  input.code_lengths = szg_decode_book_lengths_cuda(job->plan->stream.book);
  input.counts = job->counts;
  input.places = job->plan->places.places;
  input.escapes = frame->sections[SZG_SECTION_ESCAPES].bytes;
  input.escape_bytes = frame->header.escape_bytes;
  input.axes = frame->header.axes;
  input.radius = frame->header.radius;
  SZG_TRY(szg_tiles_restore_cuda(
      &job->quantizer, grid, &input, rows->first_row / grid->row_quantum * row_tiles,
      szg_div_up(rows->end_row, grid->row_quantum) * row_tiles, rows->values, rows->first_value,
      rows->value_count, frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "restore");
}

szgpu_status szg_linear_frame_restore_cuda(const szg_read_job_cuda *job,
                                           const szg_frame_rows_cuda *rows) {
  SZG_TRY(restore_tiles(job, rows));
  return szg_outliers_apply_cuda(job, rows);
}
