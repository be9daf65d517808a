/* stream_write.c - codes to a codebook, a bitstream and its side data.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "codecs/write.h"

/* Codes per subsequence and per sequence of the longest possible stream. Dividing the values by
 * these cannot overflow; the bits of 2^60 values would. */
enum {
  SUBSEQUENCE_CODES = SZG_SUBSEQUENCE_BITS / SZG_MAX_CODE_BITS,
  SEQUENCE_CODES = SZG_SEQUENCE_BITS / SZG_MAX_CODE_BITS
};
static_assert(SZG_SUBSEQUENCE_BITS % SZG_MAX_CODE_BITS == 0, "the longest codes fill subsequences");

void szg_stream_carve_write(szg_arena *arena, const szg_grid *frame_grid, int thread_count,
                            szg_stream_write_plan *plan) {
  uint64_t const tile_count = frame_grid->tile_count, value_count = frame_grid->value_count;
  plan->book_bytes = szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  plan->book = szg_arena_take(arena, 1, sizeof *plan->book);
  plan->book_work = szg_arena_take(arena, 1, sizeof *plan->book_work);
  plan->tile_bits = szg_arena_take(arena, tile_count, sizeof *plan->tile_bits);
  plan->runs = szg_arena_take(arena, szg_div_up(tile_count, SZG_PART_TILES), sizeof *plan->runs);
  plan->gaps =
      szg_arena_take(arena, szg_div_up(value_count, SUBSEQUENCE_CODES), sizeof *plan->gaps);
  plan->sequence_codes =
      szg_arena_take(arena, szg_div_up(value_count, SEQUENCE_CODES), sizeof *plan->sequence_codes);
  plan->encoder_table = szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *plan->encoder_table);
  plan->counts = szg_arena_take(arena, (uint64_t)thread_count, sizeof *plan->counts);
  for (int i = 0; i < thread_count; i++) {
    uint32_t *const histogram =
        szg_arena_take(arena, SZG_HISTOGRAM_COPIES * SZG_MAX_SYMBOLS, sizeof *histogram);
    uint64_t *const totals = szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *totals);
    if (!plan->counts) continue; /* measuring */
    plan->counts[i].histogram = histogram;
    plan->counts[i].totals = totals;
  }
}

uint64_t szg_stream_codes_bytes(const szg_write_request *request) {
  return request->frame_grid.value_count * sizeof(uint16_t);
}

/* ---- counting ---- */

szgpu_status szg_stream_begin(szg_write_job *job, uint32_t radius) {
  uint32_t const symbol_count = 2 * radius;
  szg_buffer *const codes = &job->ctx->kept[SZG_KEPT_KIND];
  SZG_TRY(szg_ctx_make_room(job->ctx, codes, job->grid.value_count * sizeof(uint16_t),
                            "room for codes"));
  job->plan->stream.codes = (uint16_t *)(void *)codes->bytes;
  for (int i = 0; i < job->ctx->threads.count; i++) {
    szg_code_counts *const counts = &job->plan->stream.counts[i];
    memset(counts->totals, 0, symbol_count * sizeof *counts->totals);
    memset(counts->histogram, 0, SZG_HISTOGRAM_COPIES * symbol_count * sizeof *counts->histogram);
    counts->unflushed_codes = 0;
  }
  return SZGPU_OK;
}

static void flush_histogram(szg_code_counts *counts, uint32_t symbol_count) {
  for (int copy = 0; copy < SZG_HISTOGRAM_COPIES; copy++)
    for (uint32_t s = 0; s < symbol_count; s++)
      counts->totals[s] += counts->histogram[(size_t)copy * symbol_count + s];
  memset(counts->histogram, 0, SZG_HISTOGRAM_COPIES * symbol_count * sizeof *counts->histogram);
  counts->unflushed_codes = 0;
}

void szg_stream_count(const szg_write_job *job, uint32_t radius, const uint16_t *codes,
                      uint64_t code_count, int worker) {
  szg_code_counts *const counts = &job->plan->stream.counts[worker];
  uint32_t const symbol_count = 2 * radius;
  szg_histogram_add(codes, code_count, symbol_count, counts->histogram);
  counts->unflushed_codes += code_count;
  if (counts->unflushed_codes > UINT32_MAX / 2) flush_histogram(counts, symbol_count);
}

/* ---- the codebook, and where each part's bits begin ---- */

/* Sums the workers' histograms into the first one's totals and builds the book. */
static void build_codebook(szg_write_job *job, uint32_t symbol_count) {
  szg_stream_write_plan *const plan = &job->plan->stream;
  szg_code_counts *const counts = plan->counts;
  for (int i = 0; i < job->ctx->threads.count; i++) {
    flush_histogram(&counts[i], symbol_count);
    if (i == 0) continue;
    for (uint32_t s = 0; s < symbol_count; s++) counts[0].totals[s] += counts[i].totals[s];
  }
  szg_codebook_build(counts[0].totals, symbol_count, SZG_MAX_CODE_BITS, plan->book,
                     plan->book_work);
  szg_encoder_table(plan->book, plan->encoder_table);
}

static szgpu_status measure_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  szg_write_job *const job = job_pointer;
  const szg_stream_write_plan *const plan = &job->plan->stream;
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    plan->tile_bits[t] =
        (uint32_t)szg_linear_bits(plan->book, plan->codes + tile.first_code, tile.value_count);
  }
  return SZGPU_OK;
}

static uint64_t scan_parts(szg_write_job *job) {
  const szg_stream_write_plan *const plan = &job->plan->stream;
  uint64_t bit = 0;
  for (uint64_t part = 0; part < job->part_count; part++) {
    uint64_t const first_tile = part * SZG_PART_TILES;
    plan->runs[part].first_bit = bit;
    plan->runs[part].first_code = szg_tile_at(&job->grid, first_tile).first_code;
    for (uint64_t t = first_tile; t < szg_part_end_tile(job, part); t++) bit += plan->tile_bits[t];
  }
  return bit;
}

szgpu_status szg_stream_measure(szg_write_job *job, uint32_t radius, uint64_t *bit_count) {
  build_codebook(job, 2 * radius);
  SZG_TRY(szg_for_parts(&job->ctx->threads, job->part_count, 0, measure_part, job));
  *bit_count = scan_parts(job);
  return SZGPU_OK;
}

/* ---- sections ---- */

szg_stream_sizes szg_stream_sizes_of(uint64_t bit_count, uint64_t tile_count, bool has_gaps) {
  szg_stream_sizes sizes = {0};
  sizes.tile_sizes = 2 * tile_count;
  sizes.bitstream = szg_div_up(bit_count, 32) * 4;
  if (!has_gaps) return sizes;
  sizes.gaps = szg_div_up(szg_subsequence_count(bit_count), 2);
  sizes.sequence_codes = 2 * szg_sequence_count(bit_count);
  return sizes;
}

szg_stream_sizes szg_stream_size(const szg_write_job *job, uint64_t bit_count) {
  const szg_stream_write_plan *const plan = &job->plan->stream;
  szg_stream_sizes sizes = szg_stream_sizes_of(bit_count, job->grid.tile_count, job->has_gaps);
  sizes.book = szg_codebook_write(plan->book, plan->book_bytes);
  return sizes;
}

/* One stream being encoded. */
typedef struct encode_job {
  const szg_write_job *frame;
  szg_linear_stream stream;
} encode_job;

static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  encode_job *const job = job_pointer;
  const szg_stream_write_plan *const plan = &job->frame->plan->stream;
  szg_linear_run *const run = &plan->runs[part];
  uint64_t const end_code = part + 1 < job->frame->part_count ? plan->runs[part + 1].first_code
                                                              : job->frame->grid.value_count;
  szg_linear_encode(plan->encoder_table, plan->codes + run->first_code, end_code - run->first_code,
                    run, &job->stream);
  return SZGPU_OK;
}

static szgpu_status write_bitstream(szg_write_job *frame, szg_writer *writer, uint64_t byte_count,
                                    uint64_t bit_count) {
  const szg_stream_write_plan *const plan = &frame->plan->stream;
  encode_job job = {.frame = frame, .stream = {NULL, bit_count, plan->gaps, plan->sequence_codes}};
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &job.stream.words));
  SZG_TRY(szg_for_parts(&frame->ctx->threads, frame->part_count, frame->grid.value_count,
                        encode_part, &job));
  szg_linear_merge(plan->runs, frame->part_count, &job.stream);
  if (writer->zstd_level) szg_stream_release(frame); /* zstd can use its memory */
  return szg_writer_end_section(writer, SZG_SECTION_BITSTREAM, byte_count);
}

static uint64_t spare_tile_bits(const szg_write_job *job, uint64_t i) {
  return job->plan->stream.tile_bits[i] - szg_tile_at(&job->grid, i).value_count;
}

static szgpu_status write_sequence_codes(const szg_write_job *job, szg_writer *writer,
                                         uint64_t sequence_count) {
  const uint64_t *const first_codes = job->plan->stream.sequence_codes;
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, 2 * sequence_count, &bytes));
  for (uint64_t i = 0; i < sequence_count; i++) {
    uint64_t const end = i + 1 < sequence_count ? first_codes[i + 1] : job->grid.value_count;
    szg_store_u16(bytes + 2 * i, (uint16_t)(end - first_codes[i]));
  }
  return szg_writer_end_section(writer, SZG_SECTION_SEQUENCE_CODES, 2 * sequence_count);
}

szgpu_status szg_stream_write(szg_write_job *job, szg_writer *writer, const szg_stream_sizes *sizes,
                              uint64_t bit_count) {
  const szg_stream_write_plan *const plan = &job->plan->stream;
  uint8_t *bytes;
  SZG_TRY(szg_write_copy(writer, SZG_SECTION_CODEBOOK, plan->book_bytes, sizes->book));
  SZG_TRY(szg_write_numbers(job, writer, SZG_SECTION_TILE_SIZES, job->grid.tile_count,
                            spare_tile_bits));
  SZG_TRY(write_bitstream(job, writer, sizes->bitstream, bit_count));
  if (!job->has_gaps) return SZGPU_OK;
  SZG_TRY(szg_writer_begin_section(writer, sizes->gaps, &bytes));
  szg_gaps_pack(plan->gaps, szg_subsequence_count(bit_count), bytes);
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_GAPS, sizes->gaps));
  return write_sequence_codes(job, writer, szg_sequence_count(bit_count));
}

void szg_stream_release(szg_write_job *job) { szg_buffer_release(&job->ctx->kept[SZG_KEPT_KIND]); }
