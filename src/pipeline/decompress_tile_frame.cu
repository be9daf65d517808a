/* decompress_tile_frame.cu - one frame in the tile layout on the GPU: sections to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One kernel reads the tiles' words and writes their values. It wants the decoder and where each
 * tile begins, from one kernel before it, and nothing else; frames without outliers pay for none.
 */
#include "core/bytes.h"
#include "pipeline/decompress_cuda.h"
#include "pipeline/frame_kernels.h"

/* The frame's tiles from the given one on. */
static szg_tile_input_cuda tiles_from(const szg_frame_work_cuda *work, uint64_t first_tile) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_decompress_plan_cuda *const plan = work->plan;
  const szg_device_section *const words = &frame->sections[SZG_SECTION_BITSTREAM];
  szg_tile_input_cuda input = {};
  input.decoder = plan->tile_decoder;
  input.sizes = work->counts.bits + first_tile;
  input.first_words = plan->first_words + first_tile;
  input.counters = plan->counters;
  input.words = (const uint32_t *)(const void *)words->bytes;
  input.word_count = words->byte_count / 4;
  input.axes = frame->header.axes;
  input.zero_groups = frame->header.zero_groups;
  return input;
}

szgpu_status szg_tile_frame_open_cuda(const szg_frame_work_cuda *work) {
  const szg_device_section *const book = &work->frame->sections[SZG_SECTION_CODEBOOK];
  szg_tile_input_cuda const input = tiles_from(work, 0);
  SZG_TRY(szg_tile_open_cuda(book->bytes, book->byte_count, &input, work->frame->grid.tile_count,
                             work->frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "book, places");
}

/* Where every tile's outliers begin; that they use up their sections exactly. */
szgpu_status szg_tile_frame_prepare_cuda(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_places_cuda *const places = &work->plan->places;
  struct CUstream_st *const stream = work->device->stream;
  szg_tile_sums sums = {};
  sums.sizes = work->counts.bits;
  sums.counts = work->counts;
  sums.counts.bits = NULL; /* sizes are words here */
  sums.shares.value_bytes = work->width;
  sums.shares.exact_mask = sections[SZG_SECTION_EXACT_MASK].byte_count;
  sums.shares.exact_values = sections[SZG_SECTION_EXACT_VALUES].byte_count;
  sums.shares.fill_mask = sections[SZG_SECTION_FILL_MASK].byte_count;
  if (!sums.counts.exact && !sums.counts.fill_mask_bytes) return SZGPU_OK;
  SZG_TRY(szg_places_scan_cuda(places, &frame->grid, &sums.counts, stream));
  SZG_TRY(szg_tile_sums_check_cuda(&sums, &frame->grid, places->places + frame->grid.tile_count,
                                   frame->verdict, stream));
  return szg_device_mark(work->device, "outlier places");
}

/* The grid of rows first_row .. end_row - 1, which begin and end with tiles. */
static szg_grid grid_between(const szg_grid *whole, uint64_t first_row, uint64_t end_row) {
  uint64_t const row_count = end_row - first_row;
  return row_count == whole->row_extent ? *whole : szg_grid_of_rows(whole, row_count);
}

/* The tiles that hold the rows are taken for a grid of their own, so that they are restored as fast
 * as a frame that is wanted whole. */
szgpu_status szg_tile_frame_restore_cuda(const szg_frame_work_cuda *work,
                                         const szg_frame_rows_cuda *rows) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_grid *const whole = &frame->grid;
  uint64_t const quantum = whole->row_quantum;
  uint64_t const first_row = rows->first_row / quantum * quantum;
  uint64_t const end_row = szg_min_u64(szg_align_up(rows->end_row, quantum), whole->row_extent);
  szg_grid const grid = grid_between(whole, first_row, end_row);
  uint64_t const tiles_before =
      first_row / quantum * (whole->tile_count / szg_div_up(whole->row_extent, quantum));
  szg_tile_input_cuda const input = tiles_from(work, tiles_before);
  uint32_t const lattice_bits =
      szg_lattice_bits(work->quantizer.arithmetic, frame->header.has_16_bits);
  SZG_TRY(szg_tile_decompress_cuda(
      &work->quantizer, lattice_bits, &grid, &input, 0, grid.tile_count, rows->values,
      (rows->first_row - first_row) * whole->row_values,
      (rows->end_row - rows->first_row) * whole->row_values, frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "decode");
}
