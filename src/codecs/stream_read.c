/* stream_read.c - codebook, bitstream and side data to codes, by the chosen decoder.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/read.h"

void szg_stream_carve_read(szg_arena *arena, int thread_count, szg_stream_read_plan *plan) {
  plan->book = szg_arena_take(arena, 1, sizeof *plan->book);
  plan->codes = szg_arena_take(arena, (uint64_t)thread_count, sizeof *plan->codes);
  for (int i = 0; i < thread_count; i++) {
    uint16_t *const codes = szg_arena_take(arena, SZG_PART_TILES * SZG_TILE_VALUES, sizeof *codes);
    if (plan->codes) plan->codes[i] = codes;
  }
}

/* ---- the stream ---- */

/* Side data for parallel decoders, which an archive may leave out. Who reads only a part of a
 * stream finds it by the tiles' sizes. */
static szgpu_status load_gaps(szg_read_job *job) {
  szg_linear_input *const stream = &job->stream.linear;
  uint64_t const gap_bytes = szg_div_up(szg_subsequence_count(stream->bit_count), 2);
  uint64_t const sequence_bytes = 2 * szg_sequence_count(stream->bit_count);
  szg_loaded gaps, sequence_codes;
  if (!job->header->has_gaps || job->reader.is_partial) return SZGPU_OK;
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_GAPS, &gaps));
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_SEQUENCE_CODES, &sequence_codes));
  SZG_REQUIRE(gaps.byte_count == gap_bytes, SZGPU_BAD_DATA);
  SZG_REQUIRE(sequence_codes.byte_count == sequence_bytes, SZGPU_BAD_DATA);
  stream->gaps = gaps.bytes;
  stream->sequence_codes = sequence_codes.bytes;
  return SZGPU_OK;
}

/* A book without codes passes for complete, but no frame has one. */
static bool has_codes(const szg_codebook *book) {
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s))
    if (book->lengths[s]) return true;
  return false;
}

static szgpu_status open_book(szg_read_job *job) {
  const szg_loaded *const section = &job->stream.book;
  szg_codebook *const book = job->plan->stream.book;
  SZG_TRY(
      szg_codebook_read(section->bytes, section->byte_count, 2 * job->reader.frame.radius, book));
  SZG_REQUIRE(has_codes(book), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* There must be as many words as the bits take, and the rest of the last one must be zero, which
 * who reads only a part does not see. */
static szgpu_status open_words(szg_read_job *job, uint64_t bit_count) {
  szg_loaded const words = job->stream.words;
  SZG_REQUIRE(words.byte_count == szg_div_up(bit_count, 32) * 4, SZGPU_BAD_DATA);
  unsigned const unused_bits = (unsigned)(words.byte_count * 8 - bit_count);
  bool const has_last = words.byte_count > 0 && !job->reader.is_partial;
  uint32_t const last_word = has_last ? szg_load_u32(words.bytes + words.byte_count - 4) : 0;
  SZG_REQUIRE((last_word & (((uint64_t)1 << unused_bits) - 1)) == 0, SZGPU_BAD_DATA);
  job->stream.linear = (szg_linear_input){.words = words.bytes,
                                          .word_bytes = words.byte_count,
                                          .bit_count = bit_count,
                                          .code_count = job->grid.value_count};
  return SZGPU_OK;
}

/* ---- the decoder ---- */

static szg_code_stream code_stream_of(const szg_read_job *job) {
  return (szg_code_stream){job->plan->stream.book, &job->stream.linear, &job->reader.ctx->threads};
}

/* Takes memory for the decoder and, if it decodes the whole frame at once, for all codes. */
static szgpu_status carve_decoder(szg_read_job *job, bool takes_bytes, szg_arena *arena) {
  szg_stream_input *const input = &job->stream;
  szg_code_stream const stream = code_stream_of(job);
  uint64_t const whole_codes = job->decoder->decode_stream ? job->grid.value_count : 0;
  bool const are_bytes = szg_decoder_code_bytes(job->decoder->gives_bytes, takes_bytes) == 1;
  if (whole_codes && are_bytes) input->symbols = szg_arena_take(arena, whole_codes, 1);
  if (whole_codes && !are_bytes)
    input->codes = szg_arena_take(arena, whole_codes, sizeof *input->codes);
  return job->decoder->carve(arena, &stream, &input->memory);
}

/* Takes memory for codes and decoder in the ctx. */
static szgpu_status open_memory(szg_read_job *job, bool takes_bytes) {
  szgpu_ctx *const ctx = job->reader.ctx;
  szg_arena arena = {0};
  SZG_TRY(carve_decoder(job, takes_bytes, &arena));
  SZG_TRY(szg_arena_open_in(ctx, &ctx->kept[SZG_KEPT_KIND], &arena, &arena));
  return carve_decoder(job, takes_bytes, &arena);
}

/* Bits that the tile's codes take. */
static uint64_t tile_bits(const szg_read_job *job, const szg_tile *tile) {
  const szg_codebook *const book = job->plan->stream.book;
  const szg_stream_input *const input = &job->stream;
  if (input->codes)
    return szg_linear_bits(book, input->codes + tile->first_code, tile->value_count);
  uint64_t bits = 0;
  for (uint32_t i = 0; i < tile->value_count; i++)
    bits += book->lengths[input->symbols[tile->first_code + i]];
  return bits;
}

/* Whether each tile of the part ends where the archive says; decoders of a whole stream do not
 * check it. */
static szgpu_status check_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const szg_read_job *const job = job_pointer;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    SZG_REQUIRE(tile_bits(job, &tile) == szg_stream_share_at(job, t, tile.value_count),
                SZGPU_BAD_DATA);
  }
  return SZGPU_OK;
}

/* Builds tables for decoding any part, or decodes all codes if the decoder takes a whole stream. */
static szgpu_status open_decoder(szg_read_job *job, bool takes_bytes) {
  szgpu_ctx *const ctx = job->reader.ctx;
  const szg_decoder_cpu *const decoder = job->decoder;
  szg_stream_input *const input = &job->stream;
  szg_code_stream const stream = code_stream_of(job);
  if (decoder->most_codes && job->grid.value_count > decoder->most_codes)
    return szg_fail(ctx, SZGPU_UNSUPPORTED, "the decoder takes frames of up to %llu values",
                    (unsigned long long)decoder->most_codes);
  SZG_TRY(open_memory(job, takes_bytes));
  SZG_TRY(decoder->open(&stream, &input->memory));
  if (!decoder->decode_stream) return SZGPU_OK;
  void *const codes = input->codes ? (void *)input->codes : input->symbols;
  SZG_TRY(decoder->decode_stream(&stream, &input->memory, codes));
  return szg_for_parts(&ctx->threads, szg_div_up(job->grid.tile_count, SZG_PART_TILES), 0,
                       check_part, job);
}

szgpu_status szg_stream_load(szg_read_job *job) {
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_CODEBOOK, &job->stream.book));
  return szg_reader_map(&job->reader, SZG_SECTION_BITSTREAM, &job->stream.words);
}

szgpu_status szg_stream_open(szg_read_job *job, uint64_t bit_count, bool takes_bytes) {
  SZG_TRY(open_book(job));
  SZG_TRY(open_words(job, bit_count));
  SZG_TRY(load_gaps(job));
  return open_decoder(job, takes_bytes);
}

/* ---- codes ---- */

/* Tile k of the part goes to k * tile size. */
static uint16_t *codes_of_tile(const szg_read_job *job, uint64_t tile_index, int worker) {
  return job->plan->stream.codes[worker] + tile_index % SZG_PART_TILES * SZG_TILE_VALUES;
}

/* The words that have a tile's bits. */
static szgpu_status ask_for_run(const szg_read_job *job, const szg_code_run *run) {
  uint64_t const first = run->first_bit / 32, end = szg_div_up(run->first_bit + run->bit_count, 32);
  return szg_reader_ask(&job->reader, &job->stream.words, 4 * first, 4 * (end - first));
}

szgpu_status szg_stream_decode_part(const szg_read_job *job, uint64_t part, int worker) {
  szg_code_run runs[SZG_PART_TILES];
  size_t run_count = 0;
  if (!job->decoder->decode_runs) return SZGPU_OK; /* all codes are decoded */
  uint64_t bit = job->starts[part].stream;
  uint64_t const end_tile = szg_min_u64((part + 1) * SZG_PART_TILES, job->end_tile);
  for (uint64_t t = part * SZG_PART_TILES; t < end_tile; t++) {
    uint32_t const code_count = szg_tile_at(&job->grid, t).value_count;
    uint64_t const bit_count = szg_stream_share_at(job, t, code_count);
    if (szg_tile_is_wanted(job, t))
      runs[run_count++] = (szg_code_run){bit, bit_count, code_count, codes_of_tile(job, t, worker)};
    bit += bit_count;
  }
  if (szg_reader_only_asks(&job->reader)) {
    for (size_t i = 0; i < run_count; i++) SZG_TRY(ask_for_run(job, &runs[i]));
    return SZGPU_OK;
  }
  szg_code_stream const stream = code_stream_of(job);
  return job->decoder->decode_runs(&stream, &job->stream.memory, runs, run_count);
}

const uint16_t *szg_stream_codes_of(const szg_read_job *job, uint64_t tile_index,
                                    const szg_tile *tile, int worker) {
  if (job->stream.symbols) return NULL;
  return job->stream.codes ? job->stream.codes + tile->first_code
                           : codes_of_tile(job, tile_index, worker);
}
