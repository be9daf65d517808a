/* top_plane_read.cu - a top plane frame on the GPU: codes and planes to values; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/planes/top_plane_frame.h"

#include "codecs/planes/top_plane_cuda.h"
#include "codecs/read_cuda.h"

/* The codes are those of a one-dimensional grid, whatever the field's shape. */
static szg_grid line_of(const szg_read_frame_cuda *frame) {
  return szg_grid_of_line(frame->grid.value_count);
}

void szg_top_plane_frame_size_read_cuda(const szg_read_frame_cuda *frame,
                                        szg_read_sizes_cuda *sizes) {
  szg_at_least(&sizes->placed_tiles, line_of(frame).tile_count);
  szg_stream_size_read_cuda(frame, true, sizes);
}

szgpu_status szg_top_plane_frame_prepare_cuda(const szg_read_job_cuda *job) {
  szg_grid const line = line_of(job->frame);
  SZG_TRY(szg_tiles_place_cuda(job, &line, true));
  return szg_stream_decode_cuda(job, &line);
}

szgpu_status szg_top_plane_frame_restore_cuda(const szg_read_job_cuda *job,
                                              const szg_frame_rows_cuda *rows) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_stream_read_plan_cuda *const stream = &job->plan->stream;
  szg_top_plane_input_cuda input = {};
  input.value_bytes = job->width;
  input.code_bytes = stream->code_bytes;
  input.value_count = frame->grid.value_count;
  input.codes = stream->codes;
  input.code_lengths = szg_decode_book_lengths_cuda(stream->book);
  input.tile_sizes = job->counts.bits;
  input.stored = frame->sections[SZG_SECTION_RAW].bytes;
  SZG_TRY(szg_top_plane_merge_cuda(&input, rows->first_value, rows->value_count, rows->values,
                                   frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "merge");
}
