/* compress_planes_frame.c - one frame without loss: byte planes, coded where it pays, or raw.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --> symbols counted --> planes coded, stored or constant --> sections
 */
#include <string.h>

#include "pipeline/compress_frame.h"
#include "pipeline/planes_frame.h"

/* Values handled as one by a worker. */
enum { PART_VALUES = SZG_PART_TILES * SZG_TILE_VALUES };

/* One frame at work. */
typedef struct planes_job {
  szgpu_ctx *ctx;
  const szg_planes_plan *plan;
  const uint8_t *values;
  uint64_t byte_count;
  uint64_t loop_values; /* what a pass adds to the progress */
  uint32_t value_bytes;
  uint64_t value_count; /* of so many bytes each */
  uint64_t word_count;
  uint8_t *words, *stored;
} planes_job;

void szg_planes_plan_carve(szg_arena *arena, uint64_t value_count, int thread_count,
                           szg_planes_plan *plan) {
  uint64_t const tile_count = szg_planes_tile_count(value_count);
  plan->counts = szg_arena_take(arena, (uint64_t)thread_count, sizeof *plan->counts);
  plan->tile_sizes = szg_arena_take(arena, tile_count, sizeof *plan->tile_sizes);
  plan->part_words =
      szg_arena_take(arena, szg_div_up(tile_count, SZG_PART_TILES), sizeof *plan->part_words);
  plan->tally = szg_arena_take(arena, 1, sizeof *plan->tally);
  plan->book = szg_arena_take(arena, 1, sizeof *plan->book);
  plan->book_work = szg_arena_take(arena, 1, sizeof *plan->book_work);
  plan->choice = szg_arena_take(arena, 1, sizeof *plan->choice);
  plan->encoder = szg_arena_take(arena, 1, sizeof *plan->encoder);
}

/* ---- [1] symbols counted, planes chosen ---- */

static uint64_t part_value_count(const planes_job *job, uint64_t part) {
  return szg_min_u64(PART_VALUES, job->value_count - part * PART_VALUES);
}
static const uint8_t *values_at(const planes_job *job, uint64_t i) {
  return job->values + i * job->value_bytes;
}

static szgpu_status count_part(void *job_pointer, uint64_t part, int worker) {
  const planes_job *const job = job_pointer;
  szg_planes_count(values_at(job, part * PART_VALUES), part_value_count(job, part),
                   job->value_bytes, &job->plan->counts[worker]);
  return SZGPU_OK;
}

/* Bytes are taken for values of the width that suits them; others for what they are. */
static uint32_t choose_value_bytes(const planes_job *job, szgpu_dtype dtype) {
  if (dtype != SZGPU_U8) return (uint32_t)szg_dtype_bytes(dtype);
  return szg_planes_split(job->values, job->byte_count, job->plan->tally);
}

static szgpu_status choose_planes(planes_job *job) {
  szg_threads *const threads = &job->ctx->threads;
  szg_planes_counts *const counts = job->plan->counts;
  memset(counts, 0, (size_t)threads->count * sizeof *counts);
  SZG_TRY(szg_for_parts(threads, szg_div_up(job->value_count, PART_VALUES), job->loop_values,
                        count_part, job));
  for (int i = 1; i < threads->count; i++)
    for (uint32_t p = 0; p < job->value_bytes; p++)
      for (int s = 0; s < SZG_PLANES_SYMBOLS; s++) counts[0].planes[p][s] += counts[i].planes[p][s];
  szg_planes_choose(&counts[0], job->value_count, job->value_bytes, job->plan->book,
                    job->plan->book_work, job->plan->choice);
  szg_planes_encoder_build(job->plan->choice, job->plan->encoder);
  return SZGPU_OK;
}

/* ---- [2] tiles measured and encoded ---- */

static uint32_t tile_value_count(const planes_job *job, uint64_t tile) {
  return (uint32_t)szg_min_u64(SZG_TILE_VALUES, job->value_count - tile * SZG_TILE_VALUES);
}
static uint64_t part_end_tile(const planes_job *job, uint64_t part) {
  return szg_min_u64((part + 1) * SZG_PART_TILES, szg_planes_tile_count(job->value_count));
}

static szgpu_status measure_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const planes_job *const job = job_pointer;
  for (uint64_t t = part * SZG_PART_TILES; t < part_end_tile(job, part); t++)
    job->plan->tile_sizes[t] = (uint16_t)szg_planes_tile_words(
        job->plan->encoder, values_at(job, t * SZG_TILE_VALUES), tile_value_count(job, t));
  return SZGPU_OK;
}

static szgpu_status measure_tiles(planes_job *job) {
  uint64_t const part_count = szg_div_up(job->value_count, PART_VALUES);
  SZG_TRY(szg_for_parts(&job->ctx->threads, part_count, job->loop_values, measure_part, job));
  job->word_count = 0;
  for (uint64_t part = 0; part < part_count; part++) {
    job->plan->part_words[part] = job->word_count;
    for (uint64_t t = part * SZG_PART_TILES; t < part_end_tile(job, part); t++)
      job->word_count += job->plan->tile_sizes[t];
  }
  return SZGPU_OK;
}

static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const planes_job *const job = job_pointer;
  uint64_t word = job->word_count > 0 ? job->plan->part_words[part] : 0; /* or none are coded */
  for (uint64_t t = part * SZG_PART_TILES; t < part_end_tile(job, part); t++)
    word += szg_planes_encode_tile(job->plan->encoder, values_at(job, t * SZG_TILE_VALUES),
                                   tile_value_count(job, t), job->words + 4 * word,
                                   job->stored + t * SZG_TILE_VALUES,
                                   szg_stored_plane_bytes(job->value_count));
  return SZGPU_OK;
}

/* ---- [3] the frame ---- */

szg_planes_sizes szg_planes_sizes_of(const szg_planes_layout *layout, uint64_t value_count,
                                     uint64_t word_count) {
  uint64_t const books = szg_planes_book_bytes(layout);
  return (szg_planes_sizes){.books = books,
                            .tile_sizes = books ? 2 * szg_planes_tile_count(value_count) : 0,
                            .bitstream = 4 * word_count,
                            .stored = szg_planes_stored_bytes(layout, value_count)};
}

uint64_t szg_planes_sizes_sum(const szg_planes_sizes *sizes) {
  return sizes->books + sizes->tile_sizes + sizes->bitstream + sizes->stored;
}

void szg_set_planes_frame(const szg_planes_layout *layout, szg_frame_header *frame) {
  frame->kind = SZG_FRAME_PLANES;
  frame->value_bytes = layout->value_bytes;
  frame->plane_modes = layout->modes;
  frame->constant_bits = layout->constant_bits;
}

/* Bitstream and stored planes come from one pass over the values, so the latter are written behind
 * the former; where zstd makes that one shorter, they are moved up. */
static szgpu_status write_streams(planes_job *job, const szg_planes_sizes *sizes,
                                  szg_writer *writer) {
  uint64_t const words_room = szg_align_up(sizes->bitstream, SZG_ALIGNMENT);
  SZG_TRY(szg_writer_require_room(writer, words_room + szg_align_up(sizes->stored, SZG_ALIGNMENT)));
  job->words = writer->archive + writer->used_bytes;
  job->stored = job->words + words_room;
  SZG_TRY(szg_for_parts(&job->ctx->threads, szg_div_up(job->value_count, PART_VALUES),
                        job->loop_values, encode_part, job));
  uint8_t *bytes;
  if (sizes->bitstream) {
    SZG_TRY(szg_writer_begin_section(writer, sizes->bitstream, &bytes));
    SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_BITSTREAM, sizes->bitstream));
  }
  if (!sizes->stored) return SZGPU_OK;
  SZG_TRY(szg_writer_begin_section(writer, sizes->stored, &bytes));
  if (bytes != job->stored) memmove(bytes, job->stored, sizes->stored);
  return szg_writer_end_section(writer, SZG_SECTION_RAW, sizes->stored);
}

static szgpu_status write_planes_frame(planes_job *job, const szg_planes_sizes *sizes,
                                       szg_writer *writer, szg_frame_header *frame) {
  szg_set_planes_frame(&job->plan->choice->layout, frame);
  uint32_t const section_count = (sizes->books ? 3u : 0u) + (sizes->stored ? 1u : 0u);
  SZG_TRY(szg_writer_begin_frame(writer, frame, section_count));
  uint8_t *bytes;
  if (sizes->books) {
    SZG_TRY(szg_writer_begin_section(writer, sizes->books, &bytes));
    szg_planes_books_write(job->plan->choice, bytes);
    SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_CODEBOOK, sizes->books));
    SZG_TRY(szg_writer_begin_section(writer, sizes->tile_sizes, &bytes));
    for (uint64_t t = 0; t < sizes->tile_sizes / 2; t++)
      szg_store_u16(bytes + 2 * t, job->plan->tile_sizes[t]);
    SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_TILE_SIZES, sizes->tile_sizes));
  }
  return write_streams(job, sizes, writer);
}

/* Planes, where they pay. */
static szgpu_status try_planes(planes_job *job, szgpu_dtype dtype, szg_writer *writer,
                               szg_frame_header *frame, bool *pays) {
  job->value_bytes = choose_value_bytes(job, dtype);
  job->value_count = job->byte_count / job->value_bytes;
  SZG_TRY(choose_planes(job));
  const szg_planes_layout *const layout = &job->plan->choice->layout;
  job->word_count = 0;
  if (szg_planes_book_bytes(layout)) SZG_TRY(measure_tiles(job));
  szg_planes_sizes const sizes = szg_planes_sizes_of(layout, job->value_count, job->word_count);
  *pays = szg_planes_sizes_sum(&sizes) < job->byte_count;
  return *pays ? write_planes_frame(job, &sizes, writer, frame) : SZGPU_OK;
}

szgpu_status szg_write_exact_frame(szg_frame_job *job, szg_writer *writer,
                                   szg_frame_header *frame) {
  planes_job planes = {.ctx = job->ctx,
                       .plan = job->planes,
                       .values = job->values,
                       .byte_count = job->raw_bytes,
                       .loop_values = job->bound ? 0 : job->grid.value_count};
  bool pays = false;
  szg_frame_release_lists(job);
  if (job->planes) SZG_TRY(try_planes(&planes, job->dtype, writer, frame, &pays));
  return pays ? SZGPU_OK : szg_write_raw_frame(job, writer, frame);
}
