/* decode_stream.c - a linear frame's codes by decoders that take the stream as one.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * They know nothing of tiles: whether each tile ends where the archive says is looked at here.
 */
#include "huffman/decoders/all_offsets.h"
#include "huffman/decoders/hierarchical.h"
#include "huffman/decoders/self_sync.h"
#include "pipeline/decompress_frame.h"
#include "pipeline/plan.h"

/* Memory of a stream's decoding, in the ctx's buffer for codes. */
typedef struct stream_work {
  uint16_t *codes; /* or, from the hierarchical decoder: */
  uint8_t *symbols;
  szg_sync_table *sync_table;
  szg_self_sync_work self_sync;
  szg_all_offsets_book *offsets_book;
  szg_all_offsets_tables offsets_tables;
  szg_hierarchical_tables *chained_tables;
  uint8_t *gaps;
  uint64_t *positions;
} stream_work;

static const szg_self_sync_options self_sync_options = SZG_SELF_SYNC_DEFAULTS;
static const szg_all_offsets_options all_offsets_options = SZG_ALL_OFFSETS_DEFAULTS;

/* Of the codes that there are, one at least. */
static void code_lengths(const szg_codebook *book, uint32_t *shortest, uint32_t *longest) {
  *shortest = SZG_MAX_CODE_BITS;
  *longest = 1;
  for (uint32_t s = 0; s < book->symbol_count; s++) {
    uint32_t const length = book->lengths[s];
    if (length > 0 && length < *shortest) *shortest = length;
    if (length > *longest) *longest = length;
  }
}

static void carve_hierarchical(const szg_decode_job *job, szg_arena *arena, stream_work *work) {
  uint64_t const bit_count = job->linear_stream.bit_count;
  work->symbols = szg_arena_take(arena, job->grid.value_count, 1);
  work->chained_tables = szg_arena_take(arena, 1, sizeof *work->chained_tables);
  work->gaps = szg_arena_take(
      arena, szg_hierarchical_gap_bytes(bit_count, SZG_HIERARCHICAL_SPLIT_GAP_BITS), 1);
  work->positions =
      szg_arena_take(arena, szg_hierarchical_block_count(bit_count) + 1, sizeof *work->positions);
}

static szgpu_status carve(const szg_decode_job *job, szg_arena *arena, stream_work *work) {
  if (job->decoder == SZGPU_DECODER_HIERARCHICAL) {
    carve_hierarchical(job, arena, work);
    return SZGPU_OK;
  }
  work->codes = szg_arena_take(arena, job->grid.value_count, sizeof *work->codes);
  if (job->decoder == SZGPU_DECODER_SELF_SYNC) {
    work->sync_table = szg_arena_take(arena, 1, sizeof *work->sync_table);
    return szg_self_sync_carve(arena, &self_sync_options, job->linear_stream.bit_count,
                               &work->self_sync);
  }
  uint32_t shortest, longest;
  code_lengths(job->plan.book, &shortest, &longest);
  work->offsets_book = szg_arena_take(arena, 1, sizeof *work->offsets_book);
  szg_all_offsets_carve(arena, &all_offsets_options, shortest, longest, &work->offsets_tables);
  return SZGPU_OK;
}

static szgpu_status open_work(szg_decode_job *job, stream_work *work) {
  szgpu_ctx *const ctx = job->reader.ctx;
  szg_arena arena = {0};
  SZG_TRY(carve(job, &arena, work));
  uint64_t const bytes = arena.used_bytes + SZG_ARENA_ALIGNMENT;
  if (arena.overflowed || szg_buffer_reset(&ctx->codes, bytes) != SZGPU_OK)
    return szg_fail(ctx, SZGPU_OUT_OF_MEMORY, "codes and decoder need %llu bytes",
                    (unsigned long long)bytes);
  size_t const skip = (size_t)(-(uintptr_t)ctx->codes.bytes % SZG_ARENA_ALIGNMENT);
  arena = (szg_arena){.base = ctx->codes.bytes + skip, .capacity_bytes = bytes - skip};
  return carve(job, &arena, work);
}

/* Bits that the tile's codes take. */
static uint64_t tile_bits(const szg_decode_job *job, const szg_tile *tile) {
  const szg_codebook *const book = job->plan.book;
  if (job->codes) return szg_linear_bits(book, job->codes + tile->first_code, tile->value_count);
  uint64_t bits = 0;
  for (uint32_t i = 0; i < tile->value_count; i++)
    bits += book->lengths[job->symbols[tile->first_code + i]];
  return bits;
}

static szgpu_status check_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const szg_decode_job *const job = job_pointer;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    SZG_REQUIRE(
        tile_bits(job, &tile) == szg_count_at(&job->tile_sizes, t) + (uint64_t)tile.value_count,
        SZGPU_BAD_DATA);
  }
  return SZGPU_OK;
}

static szgpu_status decode_self_sync(const szg_decode_job *job, const stream_work *work,
                                     szg_threads *threads) {
  szg_sync_table_build(job->plan.book, work->sync_table);
  szg_decode_table_build(job->plan.book, job->plan.table);
  return szg_decode_self_sync(work->sync_table, job->plan.table, &work->self_sync,
                              &job->linear_stream, work->codes, threads, NULL);
}

static szgpu_status decode_all_offsets(const szg_decode_job *job, const stream_work *work,
                                       szg_threads *threads) {
  const szg_linear_input *const stream = &job->linear_stream;
  szg_all_offsets_book_build(job->plan.book, work->offsets_book);
  if (stream->code_count > UINT32_MAX)
    return szg_fail(job->reader.ctx, SZGPU_UNSUPPORTED,
                    "all-offsets takes frames of up to 2^32 - 1 values");
  szg_code_run const run = {0, stream->bit_count, (uint32_t)stream->code_count, work->codes};
  return szg_decode_all_offsets(work->offsets_book, &work->offsets_tables, stream, &run, threads,
                                NULL);
}

static szgpu_status decode_hierarchical(const szg_decode_job *job, const stream_work *work,
                                        szg_threads *threads) {
  const szg_linear_input *const stream = &job->linear_stream;
  szg_hierarchical_build(job->plan.book, work->chained_tables);
  SZG_TRY(szg_hierarchical_split_gaps(work->chained_tables, stream, work->gaps, work->positions,
                                      threads));
  szg_hierarchical_stream const chained = {
      .words = stream->words,
      .word_count = stream->word_bytes / 4,
      .bit_count = stream->bit_count,
      .code_count = stream->code_count,
      .gap_bits = SZG_HIERARCHICAL_SPLIT_GAP_BITS,
      .position_bytes = SZG_HIERARCHICAL_SPLIT_POSITION_BYTES,
      .gaps = work->gaps,
      .positions = work->positions,
  };
  szg_hierarchical_output const output = {work->symbols, NULL};
  return szg_decode_hierarchical(work->chained_tables, &chained, &output, threads);
}

szgpu_status szg_decode_whole_stream(szg_decode_job *job) {
  szg_threads *const threads = &job->reader.ctx->threads;
  stream_work work = {0};
  SZG_TRY(open_work(job, &work));
  if (job->decoder == SZGPU_DECODER_SELF_SYNC)
    SZG_TRY(decode_self_sync(job, &work, threads));
  else if (job->decoder == SZGPU_DECODER_HIERARCHICAL)
    SZG_TRY(decode_hierarchical(job, &work, threads));
  else
    SZG_TRY(decode_all_offsets(job, &work, threads));
  job->codes = work.codes;
  job->symbols = work.symbols;
  return szg_for_parts(threads, szg_div_up(job->grid.tile_count, SZG_PART_TILES), 0, check_part,
                       job);
}
