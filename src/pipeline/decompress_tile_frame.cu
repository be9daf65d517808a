/* decompress_tile_frame.cu - one frame in the tile layout on the GPU: sections to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One kernel reads the tiles' words and writes their values. It wants the decoder and where each
 * tile begins, and nothing else; frames without outliers pay for none.
 */
#include "pipeline/decompress_cuda.h"
#include "pipeline/frame_kernels.h"

/* Where every tile's words and outliers begin; that they use up their sections exactly. */
static szgpu_status place_tiles(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_decompress_plan_cuda *const plan = work->plan;
  struct CUstream_st *const stream = work->device->stream;
  uint64_t const tiles = frame->grid.tile_count;
  szg_tile_sums sums = {};
  sums.sizes = work->counts.bits;
  sums.first_words = plan->first_words;
  sums.word_count = sections[SZG_SECTION_BITSTREAM].byte_count / 4;
  sums.counts = work->counts;
  sums.counts.bits = NULL; /* sizes are words here */
  sums.shares.value_bytes = work->width;
  sums.shares.exact_mask = sections[SZG_SECTION_EXACT_MASK].byte_count;
  sums.shares.exact_values = sections[SZG_SECTION_EXACT_VALUES].byte_count;
  sums.shares.fill_mask = sections[SZG_SECTION_FILL_MASK].byte_count;
  SZG_TRY(szg_tile_scan_cuda(sums.sizes, tiles, plan->first_words, plan->scan_work, stream));
  const szg_tile_place *totals = NULL;
  if (sums.counts.exact || sums.counts.fill_mask_bytes) {
    SZG_TRY(szg_places_scan_cuda(&plan->places, &frame->grid, &sums.counts, stream));
    totals = plan->places.places + tiles;
  }
  SZG_TRY(szg_tile_sums_check_cuda(&sums, &frame->grid, totals, frame->verdict, stream));
  return szg_device_mark(work->device, "places");
}

szgpu_status szg_tile_frame_restore_cuda(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_decompress_plan_cuda *const plan = work->plan;
  struct CUstream_st *const stream = work->device->stream;
  SZG_TRY(szg_tile_decoder_build_cuda(sections[SZG_SECTION_CODEBOOK].bytes,
                                      sections[SZG_SECTION_CODEBOOK].byte_count, plan->tile_decoder,
                                      frame->verdict, stream));
  SZG_TRY(szg_device_mark(work->device, "book"));
  SZG_TRY(place_tiles(work));
  szg_tile_input_cuda input = {};
  input.decoder = plan->tile_decoder;
  input.sizes = work->counts.bits;
  input.first_words = plan->first_words;
  input.counters = plan->counters;
  input.words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  input.word_count = sections[SZG_SECTION_BITSTREAM].byte_count / 4;
  input.axes = frame->header.axes;
  input.zero_groups = frame->header.zero_groups;
  uint32_t const lattice_bits =
      szg_lattice_bits(work->quantizer.arithmetic, frame->header.has_16_bits);
  SZG_TRY(szg_tile_decompress_cuda(&work->quantizer, lattice_bits, &frame->grid, &input,
                                   work->first_tile, work->end_tile, frame->values,
                                   work->first_value, work->value_count, frame->verdict, stream));
  return szg_device_mark(work->device, "decode");
}
