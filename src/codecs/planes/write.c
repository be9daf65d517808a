/* write.c - a planes frame on the CPU: a sample for modes and books, then one pass.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   values --sample--> planes coded, stored or constant --> stored planes, words --> sections
 *
 * The place of every section is known before its contents are: words come last. If the sample has
 * misled, all values are counted, and the loop over them is done again.
 */
#include "codecs/planes/frame.h"

#include <string.h>

#include "codecs/write.h"

/* A worker takes this many values at once. */
enum { PART_VALUES = SZG_PART_TILES * SZG_TILE_VALUES };

/* One planes frame being written. */
typedef struct planes_job {
  szgpu_ctx *ctx;
  const szg_planes_write_plan *plan;
  const uint8_t *values;
  uint64_t byte_count;
  uint64_t loop_values; /* what a loop adds to the progress */
  uint32_t value_bytes;
  uint64_t value_count; /* of value_bytes each */
  uint32_t counted_tiles;
  szg_part_stream stream; /* the words */
  uint8_t *stored;        /* where stored planes go; NULL: there is nothing or no room to store */
  bool is_misled;         /* atomic: some symbol has no code, or a plane is not constant */
} planes_job;

/* A frame may treat a field of bytes as one of fewer, wider values. */
void szg_planes_frame_carve_write(szg_arena *arena, const szg_write_request *request,
                                  szg_write_plan *plan) {
  szg_planes_write_plan *const own = &plan->planes;
  uint64_t const tile_count = szg_planes_tile_count(request->frame_grid.value_count);
  uint64_t const part_count = szg_div_up(tile_count, SZG_PART_TILES);
  szgpu_dtype const dtype = request->mapping.outer;
  uint64_t const most_planes = dtype == SZGPU_U8 ? SZG_PLANES_MOST : szg_dtype_bytes(dtype);
  uint64_t const part_bytes = SZG_PART_TILES * SZG_PLANE_MOST_WORDS * 4 * most_planes;
  own->counts = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *own->counts);
  own->tile_sizes = szg_arena_take(arena, tile_count, sizeof *own->tile_sizes);
  own->tally = szg_arena_take(arena, 1, sizeof *own->tally);
  own->book = szg_arena_take(arena, 1, sizeof *own->book);
  own->book_work = szg_arena_take(arena, 1, sizeof *own->book_work);
  own->choice = szg_arena_take(arena, 1, sizeof *own->choice);
  own->encoder = szg_arena_take(arena, 1, sizeof *own->encoder);
  szg_part_slots_carve(arena, part_count, request->thread_count, part_bytes, &own->slots);
}

static uint64_t tile_count_of(const planes_job *job) {
  return szg_planes_tile_count(job->value_count);
}
static uint64_t part_count_of(const planes_job *job) {
  return szg_div_up(job->value_count, PART_VALUES);
}
static uint64_t part_end_tile(const planes_job *job, uint64_t part) {
  return szg_min_u64((part + 1) * SZG_PART_TILES, tile_count_of(job));
}
static uint32_t tile_value_count(const planes_job *job, uint64_t tile) {
  return (uint32_t)szg_min_u64(SZG_TILE_VALUES, job->value_count - tile * SZG_TILE_VALUES);
}
static const uint8_t *values_of_tile(const planes_job *job, uint64_t tile) {
  return job->values + tile * SZG_TILE_VALUES * job->value_bytes;
}

/* ---- [1] symbols counted, planes chosen ---- */

/* Bytes are treated as values of the width that suits them best; other types keep their width. */
static uint32_t choose_value_bytes(const planes_job *job, szgpu_dtype dtype) {
  if (dtype != SZGPU_U8) return (uint32_t)szg_dtype_bytes(dtype);
  return szg_planes_split(job->values, job->byte_count, job->plan->tally);
}

static szgpu_status count_tile(void *job_pointer, uint64_t i, int worker) {
  const planes_job *const job = job_pointer;
  uint64_t const tile = szg_sample_tile(tile_count_of(job), job->counted_tiles, i);
  szg_planes_count(values_of_tile(job, tile), tile_value_count(job, tile), job->value_bytes,
                   &job->plan->counts[worker]);
  return SZGPU_OK;
}

static szgpu_status count_part(void *job_pointer, uint64_t part, int worker) {
  const planes_job *const job = job_pointer;
  szg_planes_count(values_of_tile(job, part * SZG_PART_TILES),
                   szg_min_u64(PART_VALUES, job->value_count - part * PART_VALUES),
                   job->value_bytes, &job->plan->counts[worker]);
  return SZGPU_OK;
}

/* Counts the sample, or all values, and makes what encodes the frame. */
static szgpu_status choose_planes(planes_job *job, bool is_sample) {
  szg_threads *const threads = &job->ctx->threads;
  szg_planes_counts *const counts = job->plan->counts;
  memset(counts, 0, (size_t)threads->count * sizeof *counts);
  if (is_sample)
    SZG_TRY(szg_for_parts(threads, job->counted_tiles, 0, count_tile, job));
  else
    SZG_TRY(szg_for_parts(threads, part_count_of(job), 0, count_part, job));
  for (int i = 1; i < threads->count; i++)
    for (uint32_t p = 0; p < job->value_bytes; p++)
      for (int s = 0; s < SZG_PLANES_SYMBOLS; s++) counts[0].planes[p][s] += counts[i].planes[p][s];
  szg_planes_choose(&counts[0], szg_planes_counted_values(&counts[0]), is_sample, job->value_bytes,
                    job->plan->book, job->plan->book_work, job->plan->choice);
  szg_planes_encoder_build(job->plan->choice, job->plan->encoder);
  return SZGPU_OK;
}

/* ---- [2] words and stored planes ---- */

/* False: the choice does not suit the part. */
static bool encode_tiles(const planes_job *job, uint64_t part, szg_part_slot *slot) {
  for (uint64_t t = part * SZG_PART_TILES; t < part_end_tile(job, part); t++) {
    const uint8_t *const values = values_of_tile(job, t);
    uint32_t const value_count = tile_value_count(job, t);
    uint32_t word_count;
    if (!szg_planes_encode_tile(job->plan->encoder, values, value_count,
                                slot->words + slot->byte_count, &word_count))
      return false;
    job->plan->tile_sizes[t] = (uint16_t)word_count;
    slot->byte_count += 4 * (uint64_t)word_count;
    if (job->stored)
      szg_planes_store_tile(&job->plan->choice->layout, values, value_count,
                            job->stored + t * SZG_TILE_VALUES,
                            szg_stored_plane_bytes(job->value_count));
  }
  return true;
}

static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  planes_job *const job = job_pointer;
  szg_part_slot *const slot = szg_part_slot_take(&job->stream, part);
  if (!__atomic_load_n(&job->is_misled, __ATOMIC_RELAXED) && !encode_tiles(job, part, slot))
    __atomic_store_n(&job->is_misled, true, __ATOMIC_RELAXED);
  szg_part_slot_finish(&job->stream, slot);
  return SZGPU_OK;
}

/* Leaves room for header, books and tile sizes before stored planes and words. If no plane is coded
 * or stored, this only makes sure that constant planes are. */
static szgpu_status encode_parts(planes_job *job, const szg_writer *writer) {
  szg_planes_sizes const sizes =
      szg_planes_sizes_of(&job->plan->choice->layout, job->value_count, 0);
  uint64_t const first_byte =
      writer->used_bytes + szg_frame_header_bytes(szg_planes_section_count(&sizes)) +
      szg_align_up(sizes.books, SZG_ALIGNMENT) + szg_align_up(sizes.tile_sizes, SZG_ALIGNMENT);
  uint64_t const words = szg_min_u64(first_byte + sizes.stored, writer->capacity);
  bool const has_room = first_byte + sizes.stored <= writer->capacity;
  bool const may_shrink = sizes.stored < job->byte_count;
  job->stored = sizes.stored && has_room && may_shrink ? writer->archive + first_byte : NULL;
  szg_part_stream_open(&job->plan->slots, part_count_of(job), writer->archive + words,
                       writer->capacity - words, &job->stream);
  job->is_misled = false;
  return szg_for_parts(&job->ctx->threads, part_count_of(job), job->loop_values, encode_part, job);
}

/* Chooses and encodes, by the sample and, if that misleads, by all values. Progress counts the
 * first loop only. */
static szgpu_status encode_frame(planes_job *job, const szg_writer *writer) {
  bool is_sample = !szg_planes_count_all(tile_count_of(job));
  uint64_t const loop_values = job->loop_values;
  SZG_TRY(choose_planes(job, is_sample));
  SZG_TRY(encode_parts(job, writer));
  if (job->is_misled && is_sample) {
    job->loop_values = 0;
    SZG_TRY(choose_planes(job, false));
    SZG_TRY(encode_parts(job, writer));
    job->loop_values = loop_values;
  }
  SZG_REQUIRE(!job->is_misled, SZGPU_FIELD_CHANGED); /* all symbols were counted */
  return SZGPU_OK;
}

/* ---- [3] the frame ---- */

static szgpu_status write_books(const planes_job *job, const szg_planes_sizes *sizes,
                                szg_writer *writer) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, sizes->books, &bytes));
  szg_planes_books_write(job->plan->choice, bytes);
  return szg_writer_end_section(writer, SZG_SECTION_CODEBOOK, sizes->books);
}

/* Stored planes and words are in their place already, unless zstd shortened what comes before
 * them. */
static szgpu_status write_sections(const planes_job *job, const szg_planes_sizes *sizes,
                                   szg_writer *writer, szg_frame_header *frame) {
  szg_planes_frame_set_header(&job->plan->choice->layout, frame);
  SZG_TRY(szg_writer_begin_frame(writer, frame, szg_planes_section_count(sizes)));
  SZG_TRY(szg_writer_require_room(writer, szg_align_up(sizes->books, SZG_ALIGNMENT) +
                                              szg_align_up(sizes->tile_sizes, SZG_ALIGNMENT) +
                                              sizes->stored +
                                              szg_align_up(sizes->words, SZG_ALIGNMENT)));
  if (sizes->books) {
    SZG_TRY(write_books(job, sizes, writer));
    SZG_TRY(
        szg_write_copy(writer, SZG_SECTION_TILE_SIZES, job->plan->tile_sizes, sizes->tile_sizes));
  }
  if (sizes->stored) SZG_TRY(szg_write_copy(writer, SZG_SECTION_RAW, job->stored, sizes->stored));
  if (!sizes->books) return SZGPU_OK;
  return szg_write_copy(writer, SZG_SECTION_PLANE_WORDS, job->stream.words, sizes->words);
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
  job.counted_tiles = szg_planes_counted_tiles(tile_count_of(&job));
  SZG_TRY(encode_frame(&job, writer));
  szg_planes_sizes const sizes =
      szg_planes_sizes_of(&job.plan->choice->layout, job.value_count, job.stream.byte_count / 4);
  *is_written = szg_planes_sizes_sum(&sizes) < job.byte_count;
  return *is_written ? write_sections(&job, &sizes, writer, header) : SZGPU_OK;
}
