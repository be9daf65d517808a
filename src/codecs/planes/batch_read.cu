/* batch_read.cu - restores many fields from lossless archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   send       items from the host to a list
 *   headers    a warp each: both headers, checked in full; where sections lie, for the next stages
 *   verify, open, decode   as for one planes frame, for all items at once
 *   judge      the values of raw frames; the outcomes
 */
#include "codecs/batch_headers.cuh"

namespace szg {
namespace {

/* Checks a frame's header as szg_frame_open does, in a lossless archive of the tile layout. One
 * thread calls. */
__device__ szgpu_status check_frame(const szg_frame_facts &facts, szg_section_rules *rules) {
  bool const is_planes = facts.frame->kind == SZG_FRAME_PLANES;
  SZG_REQUIRE(is_planes || facts.frame->kind == SZG_FRAME_RAW, SZGPU_BAD_DATA);
  SZG_REQUIRE(is_planes ? szg_planes_is_sound(&facts) : szg_raw_is_sound(&facts), SZGPU_BAD_DATA);
  if (is_planes)
    szg_planes_rules(&facts, rules);
  else
    szg_raw_rules(&facts, rules);
  return SZGPU_OK;
}

/* Whether kernels can read a sound frame: nothing is packed. */
__device__ bool suits_class(const szg_frame_header &frame) {
  bool is_stored = true;
  for (uint32_t i = 0; i < frame.section_count; i++)
    is_stored = is_stored && frame.sections[i].codec == SZG_CODEC_STORED;
  return is_stored;
}

/* Tells the next stages where a checked frame's sections lie. One thread calls. */
__device__ void place_sections(const szg_frame_header &frame, szg_batch_item *item,
                               szg_planes_read_item *planes, szg_checksum_item *checksums) {
  szg_planes_input_cuda *const input = &planes->input;
  bool const is_raw = frame.kind == SZG_FRAME_RAW;
  planes->is_there = !is_raw;
  if (!is_raw) {
    input->layout = szg_planes_layout_of(&frame);
    input->value_count = planes->byte_count / input->layout.value_bytes;
  }
  each_section(frame, *item, checksums, [=](const szg_section &section, const uint8_t *bytes) {
    if (section.kind == SZG_SECTION_CODEBOOK) input->books = bytes;
    if (section.kind == SZG_SECTION_TILE_SIZES)
      input->sizes = (const uint16_t *)(const void *)bytes;
    if (section.kind == SZG_SECTION_BITSTREAM || section.kind == SZG_SECTION_PLANE_WORDS) {
      input->words = (const uint32_t *)(const void *)bytes;
      input->word_count = section.raw_bytes / 4;
    }
    if (section.kind != SZG_SECTION_RAW) return;
    if (is_raw)
      item->raw = bytes;
    else
      input->stored = bytes;
  });
}

/* One warp for each item. value_bytes: of the field. */
__global__ void __launch_bounds__(32)
    items_headers_kernel(const __grid_constant__ szg_batch_heads heads, uint32_t value_bytes,
                         szg_batch_lists lists) {
  __shared__ HeadersMemory memory;
  szg_batch_item *const item = &lists.items[blockIdx.x];
  szg_checksum_item *const checksums = &lists.checksums[blockIdx.x];
  szg_grid const grid = szg_grid_of_dims(item->dims, (int)item->ndim);
  const szg_batch_planes_read_work &work = item->planes_read;
  szgpu_status const status =
      open_item(heads, *item, grid, value_bytes, &memory, [&](const szg_frame_facts &facts) {
        SZG_TRY(check_frame(facts, &memory.rules));
        SZG_TRY(check_sections(&memory));
        return suits_class(*facts.frame) ? SZGPU_OK : SZGPU_OTHER_PARAMS;
      });
  if (threadIdx.x > 0) return;
  szg_planes_read_item planes = {};
  planes.input.entries = work.entries;
  planes.input.first_words = work.first_words;
  planes.input.counter = work.counter;
  planes.bytes = (uint8_t *)item->values;
  planes.byte_count = grid.value_count * value_bytes;
  planes.verdict = item->verdict;
  note_headers(status, item, checksums);
  if (status == SZGPU_OK) place_sections(memory.headers.frame, item, &planes, checksums);
  lists.read_planes[blockIdx.x] = planes;
}

szgpu_status open_archives(const szg_batch_class *batch, uint32_t value_bytes,
                           const szg_batch_lists *lists, cudaStream_t stream) {
  items_headers_kernel<<<batch->item_count, 32, 0, stream>>>(batch->heads, value_bytes, *lists);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_planes_batch_read_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                        const szg_side_stream *side, cudaStream_t stream) {
  uint32_t const width = (uint32_t)szg_dtype_bytes(batch->dtype);
  szg_planes_read_list const list = {lists->read_planes, batch->item_count,
                                     batch->dtype == SZGPU_U8 ? 0 : width,
                                     batch->most_values * width};
  SZG_TRY(szg::open_archives(batch, width, lists, stream));
  SZG_TRY(szg_batch_verify_cuda(batch, SZG_PLANES_MOST_SECTIONS, lists->checksums, side, stream));
  SZG_TRY(szg_planes_open_items_cuda(&list, stream));
  SZG_TRY(szg_planes_decode_items_cuda(&list, stream));
  return szg_batch_judge_cuda(batch, lists->items, side, stream);
}
