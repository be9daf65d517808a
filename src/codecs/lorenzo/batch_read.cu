/* batch_read.cu - restores many fields from archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   send       items from the host to a list
 *   headers    a warp each: both headers, checked in full; where sections lie, for the next stages
 *   verify, open, decompress   as for one tile frame, for all items at once
 *   judge      the values of raw frames; the outcomes
 */
#include "codecs/batch_headers.cuh"

namespace szg {
namespace {

/* Checks a frame's header as szg_frame_open does, in an archive that has neither planes nor levels
 * frames. One thread calls. */
__device__ szgpu_status check_frame(const szg_frame_facts &facts, szg_section_rules *rules) {
  uint32_t const kind = facts.frame->kind;
  if (kind == SZG_FRAME_CONSTANT) return SZGPU_OTHER_PARAMS;
  bool const is_tile = kind == SZG_FRAME_TILE;
  SZG_REQUIRE(is_tile || kind == SZG_FRAME_RAW, SZGPU_BAD_DATA);
  SZG_REQUIRE(is_tile ? szg_tile_is_sound(&facts) : szg_raw_is_sound(&facts), SZGPU_BAD_DATA);
  if (is_tile)
    szg_tile_rules(&facts, rules);
  else
    szg_raw_rules(&facts, rules);
  return SZGPU_OK;
}

/* Whether kernels can read a sound frame: its lattice is the class's, nothing is packed, and it has
 * no outliers. One thread calls. */
__device__ bool suits_class(const szg_batch_heads &heads, const szg_frame_header &frame) {
  const uint8_t *const of_class = (const uint8_t *)(const void *)heads.tile;
  bool const has_16_bits = (of_class[3] & SZG_LATTICE_16_FLAG) != 0;
  if (frame.kind == SZG_FRAME_TILE && frame.has_16_bits != has_16_bits) return false;
  for (uint32_t i = 0; i < frame.section_count; i++) {
    const szg_section &section = frame.sections[i];
    bool const is_read = section.kind <= SZG_SECTION_BITSTREAM || section.kind == SZG_SECTION_RAW;
    if (section.codec != SZG_CODEC_STORED || (!is_read && section.raw_bytes > 0)) return false;
  }
  return true;
}

/* Tells the next stages where a checked frame's sections lie. One thread calls. */
__device__ void place_sections(const szg_frame_header &frame, szg_batch_item *item,
                               szg_tile_read_item *tiles, szg_checksum_item *checksums) {
  szg_tile_input_cuda *const input = &tiles->input;
  input->axes = frame.axes;
  input->zero_groups = frame.zero_groups;
  each_section(frame, *item, checksums, [=](const szg_section &section, const uint8_t *bytes) {
    if (section.kind == SZG_SECTION_CODEBOOK) {
      tiles->book = bytes;
      tiles->book_bytes = section.raw_bytes;
    }
    if (section.kind == SZG_SECTION_TILE_SIZES)
      input->sizes = (const uint16_t *)(const void *)bytes;
    if (section.kind == SZG_SECTION_BITSTREAM) {
      input->words = (const uint32_t *)(const void *)bytes;
      input->word_count = section.raw_bytes / 4;
    }
    if (section.kind == SZG_SECTION_RAW) item->raw = bytes;
  });
  tiles->is_there = frame.kind == SZG_FRAME_TILE;
}

/* One warp for each item. */
__global__ void __launch_bounds__(32)
    items_headers_kernel(const __grid_constant__ szg_batch_heads heads, uint32_t value_bytes,
                         szg_batch_lists lists) {
  __shared__ HeadersMemory memory;
  szg_batch_item *const item = &lists.items[blockIdx.x];
  szg_tile_read_item *const tiles = &lists.read_tiles[blockIdx.x];
  szg_checksum_item *const checksums = &lists.checksums[blockIdx.x];
  szg_grid const grid = szg_grid_of_dims(item->dims, (int)item->ndim);
  const szg_batch_read_work &work = item->read;
  szgpu_status const status =
      open_item(heads, *item, grid, value_bytes, &memory, [&](const szg_frame_facts &facts) {
        SZG_TRY(check_frame(facts, &memory.rules));
        SZG_TRY(check_sections(&memory));
        return suits_class(heads, *facts.frame) ? SZGPU_OK : SZGPU_OTHER_PARAMS;
      });
  if (threadIdx.x > 0) return;
  note_headers(status, item, checksums);
  tiles->grid = grid;
  tiles->input.decoder = work.decoder;
  tiles->input.first_words = work.first_words;
  tiles->input.counters = work.counters;
  tiles->values = item->values;
  tiles->verdict = item->verdict;
  tiles->is_there = false;
  if (status == SZGPU_OK) place_sections(memory.headers.frame, item, tiles, checksums);
}

szgpu_status open_archives(const szg_batch_class *batch, uint32_t value_bytes,
                           const szg_batch_lists *lists, cudaStream_t stream) {
  items_headers_kernel<<<batch->item_count, 32, 0, stream>>>(batch->heads, value_bytes, *lists);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_tile_batch_read_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                      const szg_side_stream *side, cudaStream_t stream) {
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(batch->dtype);
  SZG_TRY(szg::open_archives(batch, value_bytes, lists, stream));
  SZG_TRY(szg_batch_verify_cuda(batch, SZG_TILE_SECTION_COUNT, lists->checksums, side, stream));
  SZG_TRY(
      szg_tile_open_items_cuda(lists->read_tiles, batch->most_tiles, batch->item_count, stream));
  SZG_TRY(szg_tile_decompress_items_cuda(&batch->quantizer, batch->lattice_bits, &batch->widest,
                                         batch->most_tiles, batch->is_aligned, lists->read_tiles,
                                         batch->item_count, stream));
  return szg_batch_judge_cuda(batch, lists->items, side, stream);
}
