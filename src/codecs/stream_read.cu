/* stream_read.cu - a codebook, a bitstream and side data to codes on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/read_cuda.h"

void szg_stream_size_read_cuda(const szg_read_frame_cuda *frame, bool takes_bytes,
                               szg_read_sizes_cuda *sizes) {
  const szg_frame_header *const header = &frame->header;
  szg_stream_read_sizes_cuda *const own = &sizes->stream;
  own->takes_bytes = takes_bytes; /* all linear frames of an archive are of one kind */
  szg_at_least(&own->value_count, header->value_count);
  szg_at_least(&own->word_count, szg_section_raw_bytes(header, SZG_SECTION_BITSTREAM) / 4);
  szg_at_least(&own->sequence_count, szg_section_raw_bytes(header, SZG_SECTION_SEQUENCE_CODES) / 2);
}

szgpu_status szg_stream_carve_read_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                        szg_read_plan_cuda *plan) {
  const szg_stream_read_sizes_cuda *const own_sizes = &sizes->stream;
  szg_stream_read_plan_cuda *const own = &plan->stream;
  if (own_sizes->value_count == 0) return SZGPU_OK;
  szg_code_stream_sizes_cuda const streams = {own_sizes->word_count, own_sizes->sequence_count};
  own->decoder = szg_decoder_for_cuda(sizes->decoder, sizes->header->has_gaps);
  own->code_bytes = szg_decoder_code_bytes(own->decoder->gives_bytes, own_sizes->takes_bytes);
  own->book = (szg_decode_book_cuda *)szg_arena_take(arena, szg_decode_book_bytes_cuda(), 1);
  own->codes = szg_arena_take(arena, szg_align_up(own_sizes->value_count, 8), own->code_bytes);
  return own->decoder->carve ? own->decoder->carve(arena, &streams, &own->memory) : SZGPU_OK;
}

void szg_stream_carve_read_pinned(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                  szg_read_plan_cuda *plan) {
  szg_stream_read_plan_cuda *const own = &plan->stream;
  if (sizes->stream.value_count && own->decoder->carve_pinned)
    own->decoder->carve_pinned(arena, &own->memory);
}

szgpu_status szg_stream_open_cuda(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_device_section *const book = &frame->sections[SZG_SECTION_CODEBOOK];
  SZG_TRY(szg_decode_book_build_cuda(book->bytes, book->byte_count, 2 * frame->header.radius,
                                     job->plan->stream.book, frame->verdict, job->device->stream));
  return szg_device_mark(job->device, "codebook");
}

szgpu_status szg_stream_decode_cuda(const szg_read_job_cuda *job, const szg_grid *grid) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_stream_read_plan_cuda *const plan = &job->plan->stream;
  szg_code_stream_cuda stream = {};
  stream.device = job->device;
  stream.book = plan->book;
  stream.book_section = sections[SZG_SECTION_CODEBOOK].bytes;
  stream.book_section_bytes = sections[SZG_SECTION_CODEBOOK].byte_count;
  stream.symbol_count = 2 * frame->header.radius;
  stream.grid = grid;
  stream.verdict = frame->verdict;
  szg_linear_input_cuda *const input = &stream.input;
  input->words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  input->word_count = sections[SZG_SECTION_BITSTREAM].byte_count / 4;
  input->gaps = sections[SZG_SECTION_GAPS].bytes;
  input->gap_bytes = sections[SZG_SECTION_GAPS].byte_count;
  input->sequence_codes = szg_counts_of_cuda(frame, SZG_SECTION_SEQUENCE_CODES);
  input->sequence_count = sections[SZG_SECTION_SEQUENCE_CODES].byte_count / 2;
  input->code_count = frame->grid.value_count;
  input->places = job->plan->places.places;
  input->bit_count = job->plan->bit_count;
  SZG_TRY(plan->decoder->decode(&stream, &plan->memory, plan->code_bytes, plan->codes));
  return szg_device_mark(job->device, "decode");
}
