/* compress_frame.c - one frame: predict and quantize, histogram, codebook, encode, sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/compress_frame.h"

#include <string.h>

#include "pipeline/frame_sections.h"

/* ---- [1] values to codes and outliers, part by part ---- */

static void flush_histogram(szg_compress_worker *worker, uint32_t symbol_count) {
  for (int copy = 0; copy < SZG_HISTOGRAM_COPIES; copy++)
    for (uint32_t s = 0; s < symbol_count; s++)
      worker->totals[s] += worker->histogram[(size_t)copy * symbol_count + s];
  memset(worker->histogram, 0, SZG_HISTOGRAM_COPIES * symbol_count * sizeof *worker->histogram);
  worker->unflushed_codes = 0;
}

void szg_codes_reset(szg_frame_job *job) {
  uint32_t const symbol_count = 2 * job->choice.radius;
  for (int i = 0; i < job->ctx->threads.count; i++) {
    szg_compress_worker *const worker = &job->plan->workers[i];
    memset(worker->totals, 0, symbol_count * sizeof *worker->totals);
    memset(worker->histogram, 0, SZG_HISTOGRAM_COPIES * symbol_count * sizeof *worker->histogram);
    worker->least_escape = worker->greatest_escape = 0;
    worker->unflushed_codes = 0;
  }
}

void szg_codes_count(const szg_frame_job *job, szg_compress_worker *worker, const uint16_t *codes,
                     uint64_t code_count) {
  uint32_t const symbol_count = 2 * job->choice.radius;
  szg_histogram_add(codes, code_count, symbol_count, worker->histogram);
  worker->unflushed_codes += code_count;
  if (worker->unflushed_codes > UINT32_MAX / 2) flush_histogram(worker, symbol_count);
}

uint64_t szg_marked_bytes(const szg_outlier_lists *lists) {
  return lists->exact_mask.used_bytes + lists->exact_values.used_bytes +
         lists->fill_mask.used_bytes;
}

static szgpu_status code_tile(szg_frame_job *job, szg_compress_worker *worker, const szg_tile *tile,
                              uint64_t tile_index, szg_outlier_lists *lists) {
  const szg_quantizer *const quantizer = &job->bound->quantizer;
  bool const is_wide = szg_is_wide(quantizer->arithmetic);
  szg_tile_work *const work = &worker->tile;
  szg_tile_quantize(quantizer, tile, job->values, work);
  szg_tile_difference(is_wide, tile, job->choice.axes, &work->lattice, &work->deltas);
  uint32_t const escape_count = szg_tile_code(is_wide, tile, job->choice.radius, work,
                                              job->plan->codes + tile->first_code, worker->escapes);
  for (uint32_t i = 0; i < escape_count; i++) {
    int64_t const delta = worker->escapes[i];
    if (delta < worker->least_escape) worker->least_escape = delta;
    if (delta > worker->greatest_escape) worker->greatest_escape = delta;
  }
  SZG_TRY(szg_outlier_add_escapes(is_wide, worker->escapes, escape_count, tile_index, lists,
                                  &job->plan->counts));
  return szg_outlier_add_marked(job->dtype, tile, work->has_marks ? work->marks : NULL, job->values,
                                tile_index, lists, &job->plan->counts);
}

static szgpu_status code_part(void *job_pointer, uint64_t part, int worker_index) {
  szg_frame_job *const job = job_pointer;
  if (szg_frame_is_outgrown(job)) return SZGPU_OK;
  szg_compress_worker *const worker = &job->plan->workers[worker_index];
  szg_outlier_lists *const lists = &job->plan->lists[part];
  uint64_t const first_tile = part * SZG_PART_TILES, end_tile = szg_part_end_tile(job, part);
  uint64_t first_code = 0, end_code = 0;
  for (uint64_t t = first_tile; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    if (t == first_tile) first_code = tile.first_code;
    end_code = tile.first_code + tile.value_count;
    SZG_TRY(code_tile(job, worker, &tile, t, lists));
  }
  szg_codes_count(job, worker, job->plan->codes + first_code, end_code - first_code);
  /* An escape takes a byte at least. */
  szg_frame_add_sure_bytes(
      job, szg_marked_bytes(lists) + lists->escapes.used_bytes / szg_escape_list_bytes(job));
  return SZGPU_OK;
}

/* A constant field's frame has only exact and fill values. */
static szgpu_status mark_part(void *job_pointer, uint64_t part, int worker_index) {
  szg_frame_job *const job = job_pointer;
  if (szg_frame_is_outgrown(job)) return SZGPU_OK;
  szg_tile_work *const work = &job->plan->workers[worker_index].tile;
  szg_outlier_lists *const lists = &job->plan->lists[part];
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    szg_tile_mark_constant(&job->bound->quantizer, job->dtype, job->bound->constant_bits, &tile,
                           job->values, work);
    SZG_TRY(szg_outlier_add_marked(job->dtype, &tile, work->has_marks ? work->marks : NULL,
                                   job->values, t, lists, &job->plan->counts));
  }
  szg_frame_add_sure_bytes(job, szg_marked_bytes(lists));
  return SZGPU_OK;
}

/* ---- [2] codes to bits ---- */

/* Sums the workers' histograms into the first one's totals and builds the book. */
static void build_codebook(szg_frame_job *job) {
  uint32_t const symbol_count = 2 * job->choice.radius;
  szg_compress_worker *const workers = job->plan->workers;
  for (int i = 0; i < job->ctx->threads.count; i++) {
    flush_histogram(&workers[i], symbol_count);
    if (i == 0) continue;
    for (uint32_t s = 0; s < symbol_count; s++) workers[0].totals[s] += workers[i].totals[s];
  }
  szg_codebook_build(workers[0].totals, symbol_count, SZG_MAX_CODE_BITS, job->plan->book,
                     job->plan->book_work);
  szg_encoder_table(job->plan->book, job->plan->encoder_table);
}

static szgpu_status measure_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  szg_frame_job *const job = job_pointer;
  for (uint64_t t = part * SZG_PART_TILES; t < szg_part_end_tile(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    job->plan->tile_bits[t] = (uint32_t)szg_linear_bits(
        job->plan->book, job->plan->codes + tile.first_code, tile.value_count);
  }
  return SZGPU_OK;
}

/* Where each part's bits begin; the stream's length. */
static void scan_parts(szg_frame_job *job) {
  uint64_t bit = 0;
  for (uint64_t part = 0; part < job->part_count; part++) {
    uint64_t const first_tile = part * SZG_PART_TILES;
    job->plan->runs[part].first_bit = bit;
    job->plan->runs[part].first_code = szg_tile_at(&job->grid, first_tile).first_code;
    for (uint64_t t = first_tile; t < szg_part_end_tile(job, part); t++)
      bit += job->plan->tile_bits[t];
  }
  job->bit_count = bit;
}

szgpu_status szg_codes_measure(szg_frame_job *job) {
  build_codebook(job);
  SZG_TRY(szg_for_parts(&job->ctx->threads, job->part_count, 0, measure_part, job));
  scan_parts(job);
  return SZGPU_OK;
}

/* ---- [3] the kinds of frame ---- */

typedef struct raw_job {
  const uint8_t *values;
  uint64_t value_count;
  size_t width;
  uint8_t *planes;
} raw_job;

enum { RAW_PART_VALUES = 1 << 18 };

static szgpu_status split_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const raw_job *const raw = job_pointer;
  uint64_t const end = szg_min_u64((part + 1) * RAW_PART_VALUES, raw->value_count);
  for (size_t plane = 0; plane < raw->width; plane++)
    for (uint64_t i = part * RAW_PART_VALUES; i < end; i++)
      raw->planes[plane * raw->value_count + i] = raw->values[i * raw->width + plane];
  return SZGPU_OK;
}

/* What the lists hold is not needed: the values are all there is. No bound, no lists. */
void szg_frame_release_lists(szg_frame_job *job) {
  if (!job->bound) return;
  for (uint64_t part = 0; part < job->part_count; part++)
    szg_outlier_lists_release(&job->plan->lists[part]);
}

szgpu_status szg_write_raw_frame(szg_frame_job *job, szg_writer *writer, szg_frame_header *frame) {
  szg_frame_release_lists(job);
  szg_buffer_release(&job->ctx->codes);
  frame->kind = SZG_FRAME_RAW;
  SZG_TRY(szg_writer_begin_frame(writer, frame, 1));
  raw_job raw = {job->values, job->grid.value_count, szg_dtype_bytes(job->dtype), NULL};
  SZG_TRY(szg_writer_begin_section(writer, job->raw_bytes, &raw.planes));
  SZG_TRY(szg_for_parts(&job->ctx->threads, szg_div_up(raw.value_count, RAW_PART_VALUES), 0,
                        split_part, &raw));
  return szg_writer_end_section(writer, SZG_SECTION_RAW, job->raw_bytes);
}

static szgpu_status write_constant_frame(szg_frame_job *job, szg_writer *writer,
                                         szg_frame_header *frame) {
  szg_section_sizes sizes = {0};
  SZG_TRY(
      szg_for_parts(&job->ctx->threads, job->part_count, job->grid.value_count, mark_part, job));
  if (szg_frame_is_outgrown(job)) return szg_write_exact_frame(job, writer, frame);
  szg_size_outliers(job, &sizes);
  if (szg_sections_bytes(&sizes) >= job->raw_bytes && szg_outlier_section_count(&sizes))
    return szg_write_exact_frame(job, writer, frame);
  frame->kind = SZG_FRAME_CONSTANT;
  frame->constant_bits = job->bound->constant_bits;
  SZG_TRY(szg_writer_begin_frame(writer, frame, szg_outlier_section_count(&sizes)));
  return szg_write_outliers(job, writer, &sizes);
}

static szgpu_status write_linear_frame(szg_frame_job *job, uint32_t asked_radius,
                                       szg_writer *writer, szg_frame_header *frame) {
  szg_threads *const threads = &job->ctx->threads;
  szg_section_sizes sizes = {0};
  SZG_TRY(szg_choose(threads, &job->bound->quantizer, &job->grid, job->values, asked_radius,
                     job->plan->choice_work, &job->choice));
  SZG_TRY(szg_codes_open(job->ctx, job->grid.value_count, &job->plan->codes));
  szg_codes_reset(job);
  SZG_TRY(szg_for_parts(threads, job->part_count, job->grid.value_count, code_part, job));
  if (szg_frame_is_outgrown(job)) return szg_write_raw_frame(job, writer, frame);
  SZG_TRY(szg_codes_measure(job));
  szg_size_stream(job, &sizes);
  szg_size_outliers(job, &sizes);
  if (szg_sections_bytes(&sizes) >= job->raw_bytes) return szg_write_raw_frame(job, writer, frame);
  frame->kind = SZG_FRAME_LINEAR;
  frame->axes = job->choice.axes;
  frame->radius = job->choice.radius;
  frame->escape_bytes = sizes.escape_bytes;
  uint32_t const stream_sections = szg_stream_section_count(job->has_gaps);
  SZG_TRY(
      szg_writer_begin_frame(writer, frame, stream_sections + szg_outlier_section_count(&sizes)));
  SZG_TRY(szg_write_stream(job, writer, &sizes));
  return szg_write_outliers(job, writer, &sizes);
}

szgpu_status szg_compress_frame(szg_frame_job *job, const szgpu_params *params,
                                uint64_t frame_index, szg_writer *writer, uint64_t *frame_bytes) {
  szg_frame_header frame = {.index = frame_index, .value_count = job->grid.value_count};
  job->part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  job->raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  job->sure_bytes = 0;
  if (job->bound) memset(job->plan->lists, 0, job->part_count * sizeof *job->plan->lists);
  szgpu_status status;
  if (!job->bound && params->layout == SZGPU_LAYOUT_LINEAR)
    status = szg_write_top_plane_frame(job, writer, &frame);
  else if (!job->bound)
    status = szg_write_exact_frame(job, writer, &frame);
  else if (job->bound->is_constant)
    status = write_constant_frame(job, writer, &frame);
  else if (job->bound->is_hopeless)
    status = szg_write_exact_frame(job, writer, &frame);
  else if (params->layout == SZGPU_LAYOUT_LINEAR)
    status = write_linear_frame(job, params->radius, writer, &frame);
  else
    status = szg_write_tile_frame(job, writer, &frame);
  szg_frame_release_lists(job);
  if (status == SZGPU_OK) szg_writer_end_frame(writer, frame_bytes);
  return status;
}
