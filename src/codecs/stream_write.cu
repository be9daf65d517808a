/* stream_write.cu - codes to a codebook, a bitstream and side data on the GPU; twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The host builds the codebook. From it the host knows the size and place of every section before
 * the kernels write them straight into the archive.
 */
#include "codecs/write_cuda.h"

szgpu_status szg_stream_carve_write_cuda(szg_arena *arena, const szg_grid *frame_grid,
                                         szg_stream_write_plan_cuda *plan) {
  plan->codes =
      (uint16_t *)szg_arena_take(arena, szg_align_up(frame_grid->value_count, 8), sizeof(uint16_t));
  return szg_linear_encoder_carve_cuda(arena, frame_grid, &plan->encoder);
}

void szg_stream_carve_write_pinned(szg_arena *arena, szg_stream_write_plan_cuda *plan) {
  plan->table = (uint32_t *)szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *plan->table);
  plan->book_bytes = (uint8_t *)szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  plan->book = (szg_codebook *)szg_arena_take(arena, 1, sizeof *plan->book);
  plan->book_work = (szg_codebook_work *)szg_arena_take(arena, 1, sizeof *plan->book_work);
}

szg_stream_sizes szg_stream_size_cuda(const szg_write_job_cuda *job, const uint64_t *counts,
                                      uint32_t radius, uint64_t tile_count, uint64_t *bit_count) {
  const szg_stream_write_plan_cuda *const plan = &job->plan->stream;
  uint32_t const symbol_count = 2 * radius;
  szg_codebook_build(counts, symbol_count, SZG_MAX_CODE_BITS, plan->book, plan->book_work);
  *bit_count = 0;
  for (uint32_t s = 0; s < symbol_count; s++) *bit_count += counts[s] * plan->book->lengths[s];
  szg_stream_sizes sizes = szg_stream_sizes_of(*bit_count, tile_count, job->has_gaps);
  sizes.book = szg_codebook_write(plan->book, plan->book_bytes);
  return sizes;
}

void szg_stream_add_sections_cuda(szg_frame_layout_cuda *layout, const szg_stream_sizes *sizes) {
  szg_layout_add_cuda(layout, SZG_SECTION_CODEBOOK, sizes->book);
  szg_layout_add_cuda(layout, SZG_SECTION_TILE_SIZES, sizes->tile_sizes);
  szg_layout_add_cuda(layout, SZG_SECTION_BITSTREAM, sizes->bitstream);
  if (!sizes->gaps) return;
  szg_layout_add_cuda(layout, SZG_SECTION_GAPS, sizes->gaps);
  szg_layout_add_cuda(layout, SZG_SECTION_SEQUENCE_CODES, sizes->sequence_codes);
}

szgpu_status szg_stream_write_cuda(const szg_write_job_cuda *job, const szg_grid *grid,
                                   const szg_frame_layout_cuda *layout, uint64_t bit_count) {
  szg_device *const device = &job->ctx->device;
  const szg_stream_write_plan_cuda *const plan = &job->plan->stream;
  uint32_t const symbol_count = 2 * layout->header.radius;
  szg_encoder_table(plan->book, plan->table);
  SZG_TRY(szg_device_copy(device, plan->encoder.table, plan->table,
                          symbol_count * sizeof *plan->table));
  SZG_TRY(szg_device_copy(device, layout->at[SZG_SECTION_CODEBOOK], plan->book_bytes,
                          layout->header.sections[0].raw_bytes));
  SZG_TRY(szg_device_mark(device, "codebook"));
  szg_linear_output_cuda output = {};
  output.bit_count = bit_count;
  output.tile_bits = (uint16_t *)layout->at[SZG_SECTION_TILE_SIZES];
  output.words = (uint32_t *)layout->at[SZG_SECTION_BITSTREAM];
  output.gaps = layout->at[SZG_SECTION_GAPS];
  output.sequence_codes = (uint16_t *)layout->at[SZG_SECTION_SEQUENCE_CODES];
  SZG_TRY(szg_linear_encode_cuda(&plan->encoder, grid, symbol_count, plan->codes, &output,
                                 device->stream));
  return szg_device_mark(device, "encode");
}
