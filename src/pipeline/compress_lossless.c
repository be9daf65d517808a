/* compress_lossless.c - a field to an archive without loss: byte planes, coded where it pays.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   field --frame by frame--> symbols counted --> planes coded, stored or constant --> archive
 */
#include <string.h>

#include "pipeline/compress_frame.h"
#include "pipeline/lossless.h"

/* Values handled as one by a worker. */
enum { PART_VALUES = SZG_PART_TILES * SZG_TILE_VALUES };

/* What a call works on besides field and archive. */
typedef struct lossless_plan {
  uint64_t *frame_bytes; /* [frames] */
  szg_planes_plan planes;
} lossless_plan;

/* One frame at work. */
typedef struct lossless_job {
  szgpu_ctx *ctx;
  const szg_planes_plan *plan;
  const uint8_t *values;
  uint64_t byte_count;
  uint64_t loop_values; /* what a pass adds to the progress */
  uint32_t value_bytes;
  uint64_t value_count; /* of so many bytes each */
  uint64_t word_count;
  uint8_t *words, *stored;
} lossless_job;

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

/* Measures the plan for a call; with arena->base it is carved besides. */
static void plan_call(const szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                      const szg_grid *grid, szg_arena *arena, lossless_plan *plan) {
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  uint64_t const frame_count = szg_div_up(grid->row_extent, frame_rows);
  plan->frame_bytes = szg_arena_take(arena, frame_count, sizeof *plan->frame_bytes);
  szg_planes_plan_carve(arena, frame_rows * grid->row_values, ctx->threads.count, &plan->planes);
}

static szgpu_status make_plan(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const szg_grid *grid, lossless_plan *plan) {
  szg_arena arena = {0};
  plan_call(ctx, params, shape, grid, &arena, plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  plan_call(ctx, params, shape, grid, &arena, plan);
  return SZGPU_OK;
}

/* ---- [1] symbols counted, planes chosen ---- */

static uint64_t part_value_count(const lossless_job *job, uint64_t part) {
  return szg_min_u64(PART_VALUES, job->value_count - part * PART_VALUES);
}
static const uint8_t *values_at(const lossless_job *job, uint64_t i) {
  return job->values + i * job->value_bytes;
}

static szgpu_status count_part(void *job_pointer, uint64_t part, int worker) {
  const lossless_job *const job = job_pointer;
  szg_planes_count(values_at(job, part * PART_VALUES), part_value_count(job, part),
                   job->value_bytes, &job->plan->counts[worker]);
  return SZGPU_OK;
}

/* Bytes are taken for values of the width that suits them; others for what they are. */
static uint32_t choose_value_bytes(const lossless_job *job, szgpu_dtype dtype) {
  if (dtype != SZGPU_U8) return (uint32_t)szg_dtype_bytes(dtype);
  return szg_planes_split(job->values, job->byte_count, job->plan->tally);
}

static szgpu_status choose_planes(lossless_job *job) {
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

static uint32_t tile_value_count(const lossless_job *job, uint64_t tile) {
  return (uint32_t)szg_min_u64(SZG_TILE_VALUES, job->value_count - tile * SZG_TILE_VALUES);
}
static uint64_t part_end_tile(const lossless_job *job, uint64_t part) {
  return szg_min_u64((part + 1) * SZG_PART_TILES, szg_planes_tile_count(job->value_count));
}

static szgpu_status measure_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const lossless_job *const job = job_pointer;
  for (uint64_t t = part * SZG_PART_TILES; t < part_end_tile(job, part); t++)
    job->plan->tile_sizes[t] = (uint16_t)szg_planes_tile_words(
        job->plan->encoder, values_at(job, t * SZG_TILE_VALUES), tile_value_count(job, t));
  return SZGPU_OK;
}

static szgpu_status measure_tiles(lossless_job *job) {
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
  const lossless_job *const job = job_pointer;
  uint64_t word = job->plan->part_words[part];
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
static szgpu_status write_streams(lossless_job *job, const szg_planes_sizes *sizes,
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

static szgpu_status write_planes_frame(lossless_job *job, const szg_planes_sizes *sizes,
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
static szgpu_status try_planes(lossless_job *job, szgpu_dtype dtype, szg_writer *writer,
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
  lossless_job planes = {.ctx = job->ctx,
                         .plan = job->planes,
                         .values = job->values,
                         .byte_count = job->raw_bytes,
                         .loop_values = job->bound ? 0 : job->raw_bytes};
  bool pays = false;
  szg_frame_release_lists(job);
  if (job->planes) SZG_TRY(try_planes(&planes, job->dtype, writer, frame, &pays));
  return pays ? SZGPU_OK : szg_write_raw_frame(job, writer, frame);
}

/* ---- [4] the call ---- */

szg_header szg_lossless_header(const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, uint64_t frame_rows) {
  return (szg_header){.shape = *shape,
                      .mode = params->mode,
                      .layout = params->layout,
                      .source = params->source,
                      .frame_rows = frame_rows,
                      .frame_count = szg_div_up(grid->row_extent, frame_rows)};
}

szgpu_status szg_compress_lossless_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                       const szgpu_shape *shape, const szg_grid *grid,
                                       const void *field, void *archive, uint64_t capacity,
                                       uint64_t *archive_bytes) {
  enum { PASSES = 3 }; /* counted, measured, encoded: what progress counts */
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  uint64_t const row_bytes = grid->row_values * szg_dtype_bytes(shape->dtype);
  ctx->threads.done_values = 0;
  ctx->threads.total_values =
      row_bytes * grid->row_extent * (uint64_t)(params->zstd_level ? PASSES + 1 : PASSES);
  lossless_plan plan;
  SZG_TRY(make_plan(ctx, params, shape, grid, &plan));
  szg_header header = szg_lossless_header(params, shape, grid, frame_rows);
  szg_writer writer;
  SZG_TRY(szg_writer_open(ctx, params->zstd_level, header.frame_count, archive, capacity, &writer));
  for (uint64_t frame = 0; frame < header.frame_count; frame++) {
    uint64_t const first_row = frame * frame_rows;
    uint64_t const row_count = szg_min_u64(frame_rows, grid->row_extent - first_row);
    szg_frame_job job = {.ctx = ctx,
                         .dtype = shape->dtype,
                         .planes = &plan.planes,
                         .grid = szg_grid_of_rows(grid, row_count),
                         .values = (const uint8_t *)field + first_row * row_bytes,
                         .raw_bytes = row_count * row_bytes};
    szg_frame_header frame_header = {.index = frame, .value_count = job.grid.value_count};
    SZG_TRY(szg_write_exact_frame(&job, &writer, &frame_header));
    szg_writer_end_frame(&writer, &plan.frame_bytes[frame]);
    SZG_TRY(szg_report_done(
        &ctx->threads, ctx->threads.total_values / grid->row_extent * (first_row + row_count)));
  }
  header.archive_bytes = writer.used_bytes;
  szg_header_write(&header, plan.frame_bytes, archive);
  *archive_bytes = writer.used_bytes;
  return SZGPU_OK;
}

szgpu_status szg_lossless_bounds_cpu(const szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     uint64_t *workspace_bytes, uint64_t *archive_bytes) {
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  size_t const value_bytes = szg_dtype_bytes(shape->dtype);
  uint64_t const frame_bytes = frame_rows * grid->row_values * value_bytes;
  szg_arena arena = {0};
  lossless_plan plan;
  plan_call(ctx, params, shape, grid, &arena, &plan);
  SZG_REQUIRE(!arena.overflowed, SZGPU_BAD_SHAPE);
  uint64_t const scratch_bytes = params->zstd_level ? frame_bytes + frame_bytes / 64 : 0;
  SZG_REQUIRE(szg_add_checked(arena.used_bytes, scratch_bytes, workspace_bytes), SZGPU_BAD_SHAPE);
  SZG_REQUIRE(szg_max_archive_bytes(grid, value_bytes, szg_div_up(grid->row_extent, frame_rows),
                                    archive_bytes),
              SZGPU_BAD_SHAPE);
  return SZGPU_OK;
}

szgpu_status szg_lossless_reserve_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid) {
  lossless_plan plan;
  return make_plan(ctx, params, shape, grid, &plan);
}
