/* decompress_top_plane.cu - a lossless linear frame on the GPU: its codes and planes to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Its codes are decoded like those of any linear frame.
 */
#include "lossless/top_plane_cuda.h"
#include "pipeline/decompress_cuda.h"

szgpu_status szg_top_plane_restore_cuda(const szg_frame_work_cuda *work,
                                        const szg_frame_rows_cuda *rows) {
  const szg_frame_input_cuda *const frame = work->frame;
  uint64_t const row_values = frame->grid.row_values;
  szg_top_plane_input_cuda input = {};
  input.value_bytes = work->width;
  input.code_bytes = work->plan->code_bytes;
  input.value_count = frame->grid.value_count;
  input.codes = work->plan->codes;
  input.code_lengths = szg_decode_book_lengths_cuda(work->plan->book);
  input.tile_sizes = work->counts.bits;
  input.stored = frame->sections[SZG_SECTION_RAW].bytes;
  SZG_TRY(szg_top_plane_merge_cuda(&input, rows->first_row * row_values,
                                   (rows->end_row - rows->first_row) * row_values, rows->values,
                                   frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "merge");
}
