/* decompress_top_plane.cu - a linear frame without loss on the GPU: its codes and planes to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes are decoded as of any linear frame, or by the decoder hierarchical, for which the host
 * makes the tables: it reads the codebook and how long the stream is, and is waited for.
 */
#include "core/bytes.h"
#include "lossless/top_plane_cuda.h"
#include "pipeline/decompress_cuda.h"

szgpu_status szg_hierarchical_plan_carve_cuda(szg_arena *arena, uint64_t word_count,
                                              szg_hierarchical_plan_cuda *plan) {
  plan->tables = (szg_hierarchical_tables *)szg_arena_take(arena, 1, sizeof *plan->tables);
  return szg_hierarchical_gaps_carve_cuda(arena, 32 * word_count, &plan->made);
}

void szg_hierarchical_plan_carve_pinned(szg_arena *arena, szg_hierarchical_plan_cuda *plan) {
  plan->section = (uint8_t *)szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  plan->bit_count = (uint64_t *)szg_arena_take(arena, 1, sizeof *plan->bit_count);
  plan->book = (szg_codebook *)szg_arena_take(arena, 1, sizeof *plan->book);
  plan->made_tables =
      (szg_hierarchical_tables *)szg_arena_take(arena, 1, sizeof *plan->made_tables);
}

/* Brings down what the host has to know. */
static szgpu_status fetch_book(const szg_frame_work_cuda *work) {
  szg_device *const device = work->device;
  const szg_hierarchical_plan_cuda *const own = &work->plan->hierarchical;
  const szg_device_section *const section = &work->frame->sections[SZG_SECTION_CODEBOOK];
  SZG_TRY(szg_device_copy(device, own->section, section->bytes, section->byte_count));
  SZG_TRY(szg_device_copy(device, own->bit_count, work->plan->bit_count, sizeof *own->bit_count));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "book to host");
}

/* False: there are no codes to be decoded. The kernels have found that, too. */
static bool build_tables(const szg_frame_work_cuda *work, const szg_linear_input_cuda *input) {
  const szg_hierarchical_plan_cuda *const own = &work->plan->hierarchical;
  uint64_t const section_bytes = work->frame->sections[SZG_SECTION_CODEBOOK].byte_count;
  if (szg_div_up(*own->bit_count, 32) != input->word_count) return false;
  if (szg_codebook_read(own->section, section_bytes, SZG_PLANES_SYMBOLS, own->book) != SZGPU_OK)
    return false;
  szg_hierarchical_build(own->book, own->made_tables);
  return true;
}

static szgpu_status decode_stream(const szg_frame_work_cuda *work,
                                  const szg_linear_input_cuda *input) {
  const szg_hierarchical_plan_cuda *const own = &work->plan->hierarchical;
  szg_verdict *const verdict = work->frame->verdict;
  struct CUstream_st *const cuda_stream = work->device->stream;
  SZG_TRY(szg_hierarchical_split_gaps_cuda(own->tables, input, *own->bit_count, &own->made, verdict,
                                           cuda_stream));
  SZG_TRY(szg_device_mark(work->device, "gaps"));
  szg_hierarchical_stream stream = {};
  stream.words = input->words;
  stream.word_count = input->word_count;
  stream.bit_count = *own->bit_count;
  stream.code_count = input->code_count;
  stream.gap_bits = SZG_HIERARCHICAL_SPLIT_GAP_BITS;
  stream.position_bytes = SZG_HIERARCHICAL_SPLIT_POSITION_BYTES;
  stream.gaps = own->made.gaps;
  stream.positions = own->made.positions;
  szg_hierarchical_output const output = {work->plan->codes, NULL};
  return szg_decode_hierarchical_cuda(own->tables, &stream, &output, verdict, cuda_stream);
}

szgpu_status szg_top_plane_decode_cuda(const szg_frame_work_cuda *work,
                                       const szg_linear_input_cuda *input) {
  szg_device *const device = work->device;
  const szg_hierarchical_plan_cuda *const own = &work->plan->hierarchical;
  szg_verdict *const verdict = work->frame->verdict;
  SZG_TRY(fetch_book(work));
  if (!build_tables(work, input)) /* what checksums say comes first */
    return szg_device_set(device, &verdict->bad_data, 1, sizeof verdict->bad_data);
  SZG_TRY(szg_device_copy(device, own->tables, own->made_tables,
                          szg_hierarchical_tables_bytes(own->made_tables)));
  return decode_stream(work, input);
}

szgpu_status szg_top_plane_restore_cuda(const szg_frame_work_cuda *work,
                                        const szg_frame_rows_cuda *rows) {
  const szg_frame_input_cuda *const frame = work->frame;
  uint64_t const row_values = frame->grid.row_values;
  szg_top_plane_input_cuda input = {};
  input.value_bytes = work->width;
  input.code_bytes = szg_code_bytes_cuda(work->decoder, work->header);
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
