/* planes_write.c - a planes frame on the CPU: byte planes, coded if that is smaller.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --> symbols counted --> planes coded, stored or constant --> sections
 */
#include "frames/planes.h"

#include <string.h>

#include "frames/write.h"

/* A worker takes this many values at once. */
enum { PART_VALUES = SZG_PART_TILES * SZG_TILE_VALUES };

/* One planes frame being written. */
typedef struct planes_job {
  szgpu_ctx *ctx;
  const szg_planes_write_plan *plan;
  const uint8_t *values;
  uint64_t byte_count;
  uint64_t loop_values; /* what a pass adds to the progress */
  uint32_t value_bytes;
  uint64_t value_count; /* of value_bytes each */
  uint64_t word_count;
  uint8_t *words, *stored;
} planes_job;

/* A frame may treat a field of bytes as one of fewer, wider values. */
void szg_planes_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                  szg_write_plan *plan) {
  szg_planes_write_plan *const own = &plan->planes;
  uint64_t const tile_count = szg_planes_tile_count(request->frame_grid.value_count);
  own->counts = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *own->counts);
  own->tile_sizes = szg_arena_take(arena, tile_count, sizeof *own->tile_sizes);
  own->part_words =
      szg_arena_take(arena, szg_div_up(tile_count, SZG_PART_TILES), sizeof *own->part_words);
  own->tally = szg_arena_take(arena, 1, sizeof *own->tally);
  own->book = szg_arena_take(arena, 1, sizeof *own->book);
  own->book_work = szg_arena_take(arena, 1, sizeof *own->book_work);
  own->choice = szg_arena_take(arena, 1, sizeof *own->choice);
  own->encoder = szg_arena_take(arena, 1, sizeof *own->encoder);
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

/* Bytes are treated as values of the width that suits them best; other types keep their width. */
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

/* Values may have changed since they were counted or measured. Then nothing is written beyond the
 * places of the words that were measured. */
static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const planes_job *const job = job_pointer;
  bool const has_words = job->word_count > 0; /* some plane is coded */
  uint64_t word = has_words ? job->plan->part_words[part] : 0;
  for (uint64_t t = part * SZG_PART_TILES; t < part_end_tile(job, part); t++) {
    uint32_t const word_count = has_words ? job->plan->tile_sizes[t] : 0;
    SZG_REQUIRE(szg_planes_encode_tile(job->plan->encoder, values_at(job, t * SZG_TILE_VALUES),
                                       tile_value_count(job, t), word_count, job->words + 4 * word,
                                       job->stored + t * SZG_TILE_VALUES,
                                       szg_stored_plane_bytes(job->value_count)),
                SZGPU_FIELD_CHANGED);
    word += word_count;
  }
  return SZGPU_OK;
}

/* ---- [3] the frame ---- */

/* One pass over the values gives the bitstream and, behind it, the stored planes. If zstd shortens
 * the bitstream, the stored planes move up. */
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

static szgpu_status write_sections(planes_job *job, const szg_planes_sizes *sizes,
                                   szg_writer *writer, szg_frame_header *frame) {
  szg_planes_frame_set_header(&job->plan->choice->layout, frame);
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

szgpu_status szg_planes_frame_write(szg_write_job *frame, szg_writer *writer,
                                    szg_frame_header *header, bool *is_written) {
  planes_job job = {.ctx = frame->ctx,
                    .plan = &frame->plan->planes,
                    .values = frame->field_values,
                    .byte_count = frame->raw_bytes,
                    .loop_values = frame->bound ? 0 : frame->grid.value_count};
  job.value_bytes = choose_value_bytes(&job, frame->request->mapping.outer);
  job.value_count = job.byte_count / job.value_bytes;
  SZG_TRY(choose_planes(&job));
  const szg_planes_layout *const layout = &job.plan->choice->layout;
  if (szg_planes_book_bytes(layout)) SZG_TRY(measure_tiles(&job));
  szg_planes_sizes const sizes = szg_planes_sizes_of(layout, job.value_count, job.word_count);
  *is_written = szg_planes_sizes_sum(&sizes) < job.byte_count;
  return *is_written ? write_sections(&job, &sizes, writer, header) : SZGPU_OK;
}
