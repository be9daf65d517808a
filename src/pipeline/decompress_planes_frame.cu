/* decompress_planes_frame.cu - a planes frame on the GPU: sections to values, bit for bit.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/decompress_cuda.h"
#include "pipeline/planes_frame.h"

static szg_planes_input_cuda input_of(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const sections = frame->sections;
  szg_planes_input_cuda input = work->plan->planes;
  input.layout = szg_planes_layout_of(&frame->header);
  input.value_count = frame->grid.value_count * work->width / input.layout.value_bytes;
  input.books = sections[SZG_SECTION_CODEBOOK].bytes;
  input.sizes = work->counts.bits;
  input.words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  input.word_count = sections[SZG_SECTION_BITSTREAM].byte_count / 4;
  input.stored = sections[SZG_SECTION_RAW].bytes;
  return input;
}

szgpu_status szg_planes_frame_open_cuda(const szg_frame_work_cuda *work) {
  szg_planes_input_cuda const input = input_of(work);
  SZG_TRY(szg_planes_open_cuda(&input, work->frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "books, places");
}

szgpu_status szg_planes_frame_restore_cuda(const szg_frame_work_cuda *work,
                                           const szg_frame_rows_cuda *rows) {
  uint64_t const row_bytes = work->frame->grid.row_values * work->width;
  szg_planes_input_cuda const input = input_of(work);
  SZG_TRY(szg_planes_decode_cuda(
      &input, rows->first_row * row_bytes, (rows->end_row - rows->first_row) * row_bytes,
      (uint8_t *)rows->values, work->frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "decode");
}
