/* hierarchical_steps.c - the steps of the hierarchical decoder on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/hierarchical.h"
#include "huffman/decoders/steps.h"

typedef struct own_memory {
  szg_hierarchical_tables *tables;
  uint8_t *gaps;
  uint64_t *positions;
} own_memory;
static_assert(sizeof(own_memory) <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");

static szgpu_status carve(szg_arena *arena, const szg_code_stream *stream,
                          szg_decoder_memory *memory) {
  uint64_t const bit_count = stream->input->bit_count;
  own_memory own = {0};
  own.tables = szg_arena_take(arena, 1, sizeof *own.tables);
  own.gaps = szg_arena_take(
      arena, szg_hierarchical_gap_bytes(bit_count, SZG_HIERARCHICAL_SPLIT_GAP_BITS), 1);
  own.positions =
      szg_arena_take(arena, szg_hierarchical_block_count(bit_count) + 1, sizeof *own.positions);
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static szgpu_status open_tables(const szg_code_stream *stream, const szg_decoder_memory *memory) {
  own_memory own;
  szg_decoder_recall(memory, &own, sizeof own);
  szg_hierarchical_build(stream->book, own.tables);
  return szg_hierarchical_split_gaps(own.tables, stream->input, own.gaps, own.positions,
                                     stream->threads);
}

static szgpu_status decode(const szg_code_stream *stream, const szg_decoder_memory *memory,
                           void *codes) {
  own_memory own;
  szg_decoder_recall(memory, &own, sizeof own);
  const szg_linear_input *const input = stream->input;
  szg_hierarchical_stream const chained = {
      .words = input->words,
      .word_count = input->word_bytes / 4,
      .bit_count = input->bit_count,
      .code_count = input->code_count,
      .gap_bits = SZG_HIERARCHICAL_SPLIT_GAP_BITS,
      .position_bytes = SZG_HIERARCHICAL_SPLIT_POSITION_BYTES,
      .gaps = own.gaps,
      .positions = own.positions,
  };
  return szg_decode_hierarchical(own.tables, &chained, codes, stream->threads);
}

const szg_decoder_cpu szg_hierarchical_cpu = {
    .carve = carve, .open = open_tables, .decode_stream = decode, .gives_bytes = true};
