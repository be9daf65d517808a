/* all_offsets_steps.c - the steps of the all-offsets decoder on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/all_offsets.h"
#include "huffman/decoders/steps.h"

typedef struct own_memory {
  szg_all_offsets_book *book;
  szg_all_offsets_tables tables;
} own_memory;
static_assert(sizeof(own_memory) <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");

/* Finds the shortest and longest length of the book's codes; it has at least one. */
static void code_lengths(const szg_codebook *book, uint32_t *shortest, uint32_t *longest) {
  *shortest = SZG_MAX_CODE_BITS;
  *longest = 1;
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (length > 0 && length < *shortest) *shortest = length;
    if (length > *longest) *longest = length;
  }
}

static szgpu_status carve(szg_arena *arena, const szg_code_stream *stream,
                          szg_decoder_memory *memory) {
  szg_all_offsets_options const options = SZG_ALL_OFFSETS_DEFAULTS;
  uint32_t shortest, longest;
  code_lengths(stream->book, &shortest, &longest);
  own_memory own = {0};
  own.book = szg_arena_take(arena, 1, sizeof *own.book);
  szg_all_offsets_carve(arena, &options, shortest, longest, &own.tables);
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static szgpu_status open_tables(const szg_code_stream *stream, const szg_decoder_memory *memory) {
  own_memory own;
  szg_decoder_recall(memory, &own, sizeof own);
  szg_all_offsets_book_build(stream->book, own.book);
  return SZGPU_OK;
}

static szgpu_status decode(const szg_code_stream *stream, const szg_decoder_memory *memory,
                           void *codes) {
  own_memory own;
  szg_decoder_recall(memory, &own, sizeof own);
  const szg_linear_input *const input = stream->input;
  assert(input->code_count <= UINT32_MAX);
  szg_code_run const run = {0, input->bit_count, (uint32_t)input->code_count, codes};
  return szg_decode_all_offsets(own.book, &own.tables, input, &run, stream->threads);
}

const szg_decoder_cpu szg_all_offsets_cpu = {
    .carve = carve, .open = open_tables, .decode_stream = decode, .most_codes = UINT32_MAX};
