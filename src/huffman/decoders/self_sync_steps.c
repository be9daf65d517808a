/* self_sync_steps.c - the decoder self-sync as frames call it on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/self_sync.h"
#include "huffman/decoders/steps.h"

typedef struct own_memory {
  szg_sync_table *sync_table;
  szg_decode_table *decode_table;
  szg_self_sync_work work;
} own_memory;
static_assert(sizeof(own_memory) <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");

static szgpu_status carve(szg_arena *arena, const szg_code_stream *stream,
                          szg_decoder_memory *memory) {
  szg_self_sync_options const options = SZG_SELF_SYNC_DEFAULTS;
  own_memory own = {0};
  own.sync_table = szg_arena_take(arena, 1, sizeof *own.sync_table);
  own.decode_table = szg_arena_take(arena, 1, sizeof *own.decode_table);
  SZG_TRY(szg_self_sync_carve(arena, &options, stream->input->bit_count, &own.work));
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static szgpu_status open_tables(const szg_code_stream *stream, const szg_decoder_memory *memory) {
  own_memory own;
  szg_decoder_recall(memory, &own, sizeof own);
  szg_sync_table_build(stream->book, own.sync_table);
  szg_decode_table_build(stream->book, own.decode_table);
  return SZGPU_OK;
}

static szgpu_status decode(const szg_code_stream *stream, const szg_decoder_memory *memory,
                           void *codes) {
  own_memory own;
  szg_decoder_recall(memory, &own, sizeof own);
  return szg_decode_self_sync(own.sync_table, own.decode_table, &own.work, stream->input, codes,
                              stream->threads, NULL);
}

const szg_decoder_cpu szg_self_sync_cpu = {
    .carve = carve, .open = open_tables, .decode_stream = decode};
