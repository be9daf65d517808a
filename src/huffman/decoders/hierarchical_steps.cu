/* hierarchical_steps.cu - the steps of the hierarchical decoder on a GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The host builds the tables: it fetches the codebook and the stream's length and waits for them.
 */
#include "core/bytes.h"
#include "huffman/decoders/hierarchical.h"
#include "huffman/decoders/steps.h"

namespace {

struct OwnMemory {
  szg_hierarchical_tables *tables;
  szg_hierarchical_gaps_cuda made;
  /* pinned */
  uint8_t *section; /* [SZG_CODEBOOK_MAX_BYTES] */
  uint64_t *bit_count;
  szg_codebook *book;
  szg_hierarchical_tables *made_tables;
};
static_assert(sizeof(OwnMemory) <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");

} // namespace

static szgpu_status carve(szg_arena *arena, const szg_code_stream_sizes_cuda *sizes,
                          szg_decoder_memory *memory) {
  OwnMemory own = {};
  own.tables = (szg_hierarchical_tables *)szg_arena_take(arena, 1, sizeof *own.tables);
  SZG_TRY(szg_hierarchical_gaps_carve_cuda(arena, 32 * sizes->word_count, &own.made));
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static void carve_pinned(szg_arena *arena, szg_decoder_memory *memory) {
  OwnMemory own;
  szg_decoder_recall(memory, &own, sizeof own);
  own.section = (uint8_t *)szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  own.bit_count = (uint64_t *)szg_arena_take(arena, 1, sizeof *own.bit_count);
  own.book = (szg_codebook *)szg_arena_take(arena, 1, sizeof *own.book);
  own.made_tables = (szg_hierarchical_tables *)szg_arena_take(arena, 1, sizeof *own.made_tables);
  szg_decoder_keep(memory, &own, sizeof own);
}

/* Copies the codebook and the stream's length to the host, and waits. */
static szgpu_status fetch_book(const szg_code_stream_cuda *stream, const OwnMemory *own) {
  szg_device *const device = stream->device;
  SZG_TRY(szg_device_copy(device, own->section, stream->book_section, stream->book_section_bytes));
  SZG_TRY(szg_device_copy(device, own->bit_count, stream->input.bit_count, sizeof *own->bit_count));
  SZG_TRY(szg_device_wait(device, true));
  return szg_device_mark(device, "book to host");
}

/* Returns false if the frame has no codes that could be decoded. Earlier kernels found that,
 * too. */
static bool build_tables(const szg_code_stream_cuda *stream, const OwnMemory *own) {
  if (szg_div_up(*own->bit_count, 32) != stream->input.word_count) return false;
  if (szg_codebook_read(own->section, stream->book_section_bytes, stream->symbol_count,
                        own->book) != SZGPU_OK)
    return false;
  szg_hierarchical_build(own->book, own->made_tables);
  return true;
}

static szgpu_status decode_blocks(const szg_code_stream_cuda *stream, const OwnMemory *own,
                                  void *codes) {
  const szg_linear_input_cuda *const input = &stream->input;
  szg_verdict *const verdict = stream->verdict;
  struct CUstream_st *const cuda_stream = stream->device->stream;
  SZG_TRY(szg_hierarchical_split_gaps_cuda(own->tables, input, *own->bit_count, &own->made, verdict,
                                           cuda_stream));
  SZG_TRY(szg_device_mark(stream->device, "gaps"));
  szg_hierarchical_stream chained = {};
  chained.words = input->words;
  chained.word_count = input->word_count;
  chained.bit_count = *own->bit_count;
  chained.code_count = input->code_count;
  chained.gap_bits = SZG_HIERARCHICAL_SPLIT_GAP_BITS;
  chained.position_bytes = SZG_HIERARCHICAL_SPLIT_POSITION_BYTES;
  chained.gaps = own->made.gaps;
  chained.positions = own->made.positions;
  return szg_decode_hierarchical_cuda(own->tables, &chained, (uint8_t *)codes, verdict,
                                      cuda_stream);
}

static szgpu_status decode(const szg_code_stream_cuda *stream, const szg_decoder_memory *memory,
                           uint32_t, void *codes) {
  szg_verdict *const verdict = stream->verdict;
  OwnMemory own;
  szg_decoder_recall(memory, &own, sizeof own);
  SZG_TRY(fetch_book(stream, &own));
  if (!build_tables(stream, &own)) /* a checksum error takes precedence */
    return szg_device_set(stream->device, &verdict->bad_data, 1, sizeof verdict->bad_data);
  SZG_TRY(szg_device_copy(stream->device, own.tables, own.made_tables,
                          szg_hierarchical_tables_bytes(own.made_tables)));
  return decode_blocks(stream, &own, codes);
}

const szg_decoder_cuda szg_hierarchical_cuda = {carve, carve_pinned, decode, true};
