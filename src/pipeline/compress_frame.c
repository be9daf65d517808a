/* compress_frame.c - one frame: predict and quantize, histogram, codebook, encode, sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/compress_frame.h"

#include <string.h>

/* ---- [1] values to codes and outliers, part by part ---- */

static void flush_histogram(szg_compress_worker *worker, uint32_t symbol_count) {
  for (int copy = 0; copy < SZG_HISTOGRAM_COPIES; copy++)
    for (uint32_t s = 0; s < symbol_count; s++)
      worker->totals[s] += worker->histogram[(size_t)copy * symbol_count + s];
  memset(worker->histogram, 0, SZG_HISTOGRAM_COPIES * symbol_count * sizeof *worker->histogram);
  worker->unflushed_codes = 0;
}

static void reset_workers(szg_frame_job *job) {
  uint32_t const symbol_count = 2 * job->choice.radius;
  for (int i = 0; i < job->ctx->threads.count; i++) {
    szg_compress_worker *const worker = &job->plan->workers[i];
    memset(worker->totals, 0, symbol_count * sizeof *worker->totals);
    memset(worker->histogram, 0, SZG_HISTOGRAM_COPIES * symbol_count * sizeof *worker->histogram);
    worker->least_escape = worker->greatest_escape = 0;
    worker->unflushed_codes = 0;
  }
}

static uint64_t part_end(const szg_frame_job *job, uint64_t part) {
  return szg_min_u64((part + 1) * SZG_PART_TILES, job->grid.tile_count);
}

/* Outliers that outgrow the values themselves mean a raw frame, however the rest turns out: then
 * there is no need to go on. */
static bool is_outgrown(szg_frame_job *job) {
  return __atomic_load_n(&job->list_bytes, __ATOMIC_RELAXED) > job->raw_bytes;
}

static szgpu_status code_tile(szg_frame_job *job, szg_compress_worker *worker,
                              const szg_tile *tile, uint64_t tile_index,
                              szg_outlier_lists *lists) {
  const szg_quantizer *const quantizer = &job->bound->quantizer;
  bool const is_wide = szg_is_wide(quantizer->arithmetic);
  szg_tile_work *const work = &worker->tile;
  szg_tile_quantize(quantizer, tile, job->values, work);
  szg_tile_difference(is_wide, tile, job->choice.axes, work);
  uint32_t const escape_count =
      szg_tile_code(is_wide, tile, job->choice.radius, work, job->plan->codes + tile->first_code,
                    worker->escapes);
  for (uint32_t i = 0; i < escape_count; i++) {
    int64_t const delta = worker->escapes[i];
    if (delta < worker->least_escape) worker->least_escape = delta;
    if (delta > worker->greatest_escape) worker->greatest_escape = delta;
  }
  SZG_TRY(szg_outlier_add_escapes(is_wide, worker->escapes, escape_count, tile_index, lists,
                                  &job->plan->counts));
  return szg_outlier_add_marked(job->dtype, tile, work, job->values, tile_index, lists,
                                &job->plan->counts);
}

static szgpu_status code_part(void *job_pointer, uint64_t part, int worker_index) {
  szg_frame_job *const job = job_pointer;
  if (is_outgrown(job)) return SZGPU_OK;
  szg_compress_worker *const worker = &job->plan->workers[worker_index];
  szg_outlier_lists *const lists = &job->plan->lists[part];
  uint64_t const first_tile = part * SZG_PART_TILES, end_tile = part_end(job, part);
  uint64_t first_code = 0, end_code = 0;
  for (uint64_t t = first_tile; t < end_tile; t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    if (t == first_tile) first_code = tile.first_code;
    end_code = tile.first_code + tile.value_count;
    SZG_TRY(code_tile(job, worker, &tile, t, lists));
  }
  uint32_t const symbol_count = 2 * job->choice.radius;
  szg_histogram_add(job->plan->codes + first_code, end_code - first_code, symbol_count,
                    worker->histogram);
  worker->unflushed_codes += end_code - first_code;
  if (worker->unflushed_codes > UINT32_MAX / 2) flush_histogram(worker, symbol_count);
  __atomic_fetch_add(&job->list_bytes, szg_outlier_lists_bytes(lists), __ATOMIC_RELAXED);
  return SZGPU_OK;
}

/* A constant field's frame has only exact and fill values. */
static szgpu_status mark_part(void *job_pointer, uint64_t part, int worker_index) {
  szg_frame_job *const job = job_pointer;
  if (is_outgrown(job)) return SZGPU_OK;
  szg_tile_work *const work = &job->plan->workers[worker_index].tile;
  szg_outlier_lists *const lists = &job->plan->lists[part];
  for (uint64_t t = part * SZG_PART_TILES; t < part_end(job, part); t++) {
    szg_tile const tile = szg_tile_at(&job->grid, t);
    szg_tile_mark_constant(&job->bound->quantizer, job->dtype, job->bound->constant_bits, &tile,
                           job->values, work);
    job->plan->counts.escapes[t] = 0;
    SZG_TRY(szg_outlier_add_marked(job->dtype, &tile, work, job->values, t, lists,
                                   &job->plan->counts));
  }
  __atomic_fetch_add(&job->list_bytes, szg_outlier_lists_bytes(lists), __ATOMIC_RELAXED);
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
  szg_codebook_build(workers[0].totals, symbol_count, job->plan->book, job->plan->book_work);
  szg_encoder_table(job->plan->book, job->plan->encoder_table);
}

static szgpu_status measure_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  szg_frame_job *const job = job_pointer;
  for (uint64_t t = part * SZG_PART_TILES; t < part_end(job, part); t++) {
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
    for (uint64_t t = first_tile; t < part_end(job, part); t++) bit += job->plan->tile_bits[t];
  }
  job->bit_count = bit;
}

static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  szg_frame_job *const job = job_pointer;
  szg_linear_run *const run = &job->plan->runs[part];
  uint64_t const end_code = part + 1 < job->part_count ? job->plan->runs[part + 1].first_code
                                                       : job->grid.value_count;
  szg_linear_encode(job->plan->encoder_table, job->plan->codes + run->first_code,
                    end_code - run->first_code, run, &job->stream);
  return SZGPU_OK;
}

/* ---- [3] sections ---- */

/* What the frame's sections hold, in bytes, before any zstd. */
typedef struct section_sizes {
  uint64_t book, tile_bits, bitstream, gaps, sequence_codes;
  uint64_t escape_counts, escapes;
  uint64_t exact_counts, exact_mask, exact_values;
  uint64_t fill_counts, fill_mask;
  unsigned escape_bytes;
} section_sizes;

static void size_outliers(const szg_frame_job *job, section_sizes *sizes) {
  uint64_t escape_list_bytes = 0;
  for (uint64_t part = 0; part < job->part_count; part++) {
    const szg_outlier_lists *const lists = &job->plan->lists[part];
    escape_list_bytes += lists->escapes.used_bytes;
    sizes->exact_mask += lists->exact_mask.used_bytes;
    sizes->exact_values += lists->exact_values.used_bytes;
    sizes->fill_mask += lists->fill_mask.used_bytes;
  }
  uint64_t const tile_count = job->grid.tile_count;
  if (escape_list_bytes) {
    int64_t least = 0, greatest = 0;
    for (int i = 0; i < job->ctx->threads.count; i++) {
      const szg_compress_worker *const worker = &job->plan->workers[i];
      if (worker->least_escape < least) least = worker->least_escape;
      if (worker->greatest_escape > greatest) greatest = worker->greatest_escape;
    }
    unsigned const for_least = szg_delta_bytes(least), for_greatest = szg_delta_bytes(greatest);
    sizes->escape_bytes = for_least > for_greatest ? for_least : for_greatest;
    unsigned const list_width = szg_is_wide(job->bound->quantizer.arithmetic) ? 8 : 4;
    sizes->escape_counts = 2 * tile_count;
    sizes->escapes = escape_list_bytes / list_width * sizes->escape_bytes;
  }
  if (sizes->exact_mask) sizes->exact_counts = 4 * tile_count;
  if (sizes->fill_mask) sizes->fill_counts = 2 * tile_count;
}

static void size_stream(const szg_frame_job *job, section_sizes *sizes) {
  sizes->book = szg_codebook_write(job->plan->book, job->plan->book_bytes);
  sizes->tile_bits = 2 * job->grid.tile_count;
  sizes->bitstream = szg_div_up(job->bit_count, 32) * 4;
  sizes->gaps = szg_div_up(szg_subsequence_count(job->bit_count), 2);
  sizes->sequence_codes = 2 * szg_sequence_count(job->bit_count);
}

static uint64_t total_bytes(const section_sizes *sizes) {
  return sizes->book + sizes->tile_bits + sizes->bitstream + sizes->gaps + sizes->sequence_codes +
         sizes->escape_counts + sizes->escapes + sizes->exact_counts + sizes->exact_mask +
         sizes->exact_values + sizes->fill_counts + sizes->fill_mask;
}

/* Numbers of up to 16 bits as a section. */
typedef uint64_t (*number_at)(const szg_frame_job *job, uint64_t i);

static szgpu_status write_numbers(szg_frame_job *job, szg_writer *writer, uint32_t kind,
                                  uint64_t count, number_at at) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, 2 * count, &bytes));
  for (uint64_t i = 0; i < count; i++) szg_store_u16(bytes + 2 * i, (uint16_t)at(job, i));
  return szg_writer_end_section(writer, kind, 2 * count);
}

static uint64_t spare_tile_bits(const szg_frame_job *job, uint64_t i) {
  return job->plan->tile_bits[i] - szg_tile_at(&job->grid, i).value_count;
}
static uint64_t sequence_codes_at(const szg_frame_job *job, uint64_t i) {
  bool const is_last = i + 1 == szg_sequence_count(job->bit_count);
  uint64_t const end = is_last ? job->grid.value_count : job->plan->sequence_codes[i + 1];
  return end - job->plan->sequence_codes[i];
}
static uint64_t escapes_at(const szg_frame_job *job, uint64_t i) {
  return job->plan->counts.escapes[i];
}
/* Two a tile: bytes of its mask, values. */
static uint64_t exact_counts_at(const szg_frame_job *job, uint64_t i) {
  return i % 2 ? job->plan->counts.exact_values[i / 2] : job->plan->counts.exact_mask_bytes[i / 2];
}
static uint64_t fill_mask_bytes_at(const szg_frame_job *job, uint64_t i) {
  return job->plan->counts.fill_mask_bytes[i];
}

/* The parts' lists one after the other; each is given back as soon as it is copied. */
static szgpu_status write_lists(szg_frame_job *job, szg_writer *writer, uint32_t kind,
                                size_t list_offset, uint64_t byte_count) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  for (uint64_t part = 0; part < job->part_count; part++) {
    szg_buffer *const list =
        (szg_buffer *)(void *)((char *)&job->plan->lists[part] + list_offset);
    if (list->used_bytes) memcpy(bytes, list->bytes, list->used_bytes);
    bytes += list->used_bytes;
    szg_buffer_release(list);
  }
  return szg_writer_end_section(writer, kind, byte_count);
}

/* As write_lists, each delta narrowed to the frame's width. */
static szgpu_status write_escapes(szg_frame_job *job, szg_writer *writer, uint64_t byte_count,
                                  unsigned width) {
  unsigned const list_width = szg_is_wide(job->bound->quantizer.arithmetic) ? 8 : 4;
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  for (uint64_t part = 0; part < job->part_count; part++) {
    szg_buffer *const list = &job->plan->lists[part].escapes;
    for (size_t i = 0; i < list->used_bytes; i += list_width, bytes += width)
      szg_store_narrow(bytes, (uint64_t)szg_load_narrow(list->bytes + i, list_width), width);
    szg_buffer_release(list);
  }
  return szg_writer_end_section(writer, SZG_SECTION_ESCAPES, byte_count);
}

static szgpu_status write_outliers(szg_frame_job *job, szg_writer *writer,
                                   const section_sizes *sizes) {
  uint64_t const tile_count = job->grid.tile_count;
  if (sizes->escapes) {
    SZG_TRY(write_numbers(job, writer, SZG_SECTION_ESCAPE_COUNTS, tile_count, escapes_at));
    SZG_TRY(write_escapes(job, writer, sizes->escapes, sizes->escape_bytes));
  }
  if (sizes->exact_mask) {
    SZG_TRY(write_numbers(job, writer, SZG_SECTION_EXACT_COUNTS, 2 * tile_count, exact_counts_at));
    SZG_TRY(write_lists(job, writer, SZG_SECTION_EXACT_MASK,
                        offsetof(szg_outlier_lists, exact_mask), sizes->exact_mask));
    SZG_TRY(write_lists(job, writer, SZG_SECTION_EXACT_VALUES,
                        offsetof(szg_outlier_lists, exact_values), sizes->exact_values));
  }
  if (sizes->fill_mask) {
    SZG_TRY(write_numbers(job, writer, SZG_SECTION_FILL_COUNTS, tile_count, fill_mask_bytes_at));
    SZG_TRY(write_lists(job, writer, SZG_SECTION_FILL_MASK,
                        offsetof(szg_outlier_lists, fill_mask), sizes->fill_mask));
  }
  return SZGPU_OK;
}

static szgpu_status write_stream(szg_frame_job *job, szg_writer *writer,
                                 const section_sizes *sizes) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, sizes->book, &bytes));
  memcpy(bytes, job->plan->book_bytes, sizes->book);
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_CODEBOOK, sizes->book));
  SZG_TRY(write_numbers(job, writer, SZG_SECTION_TILE_BITS, job->grid.tile_count, spare_tile_bits));
  SZG_TRY(szg_writer_begin_section(writer, sizes->bitstream, &bytes));
  job->stream = (szg_linear_stream){bytes, job->bit_count, job->plan->gaps,
                                    job->plan->sequence_codes};
  SZG_TRY(szg_for_parts(&job->ctx->threads, job->part_count, job->grid.value_count, encode_part,
                        job));
  szg_linear_merge(job->plan->runs, job->part_count, &job->stream);
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_BITSTREAM, sizes->bitstream));
  SZG_TRY(szg_writer_begin_section(writer, sizes->gaps, &bytes));
  szg_gaps_pack(job->plan->gaps, szg_subsequence_count(job->bit_count), bytes);
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_GAPS, sizes->gaps));
  return write_numbers(job, writer, SZG_SECTION_SEQUENCE_CODES,
                       szg_sequence_count(job->bit_count), sequence_codes_at);
}

static uint32_t outlier_section_count(const section_sizes *sizes) {
  return (sizes->escapes ? 2u : 0u) + (sizes->exact_mask ? 3u : 0u) + (sizes->fill_mask ? 2u : 0u);
}

/* ---- the kinds of frame ---- */

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

static szgpu_status write_raw_frame(szg_frame_job *job, szg_writer *writer,
                                    szg_frame_header *frame) {
  frame->kind = SZG_FRAME_RAW;
  frame->axes = frame->radius = 0;
  SZG_TRY(szg_writer_begin_frame(writer, frame, 1));
  raw_job raw = {job->values, job->grid.value_count, szg_dtype_bytes(job->dtype), NULL};
  SZG_TRY(szg_writer_begin_section(writer, job->raw_bytes, &raw.planes));
  SZG_TRY(szg_for_parts(&job->ctx->threads, szg_div_up(raw.value_count, RAW_PART_VALUES), 0,
                        split_part, &raw));
  return szg_writer_end_section(writer, SZG_SECTION_RAW, job->raw_bytes);
}

static szgpu_status write_constant_frame(szg_frame_job *job, szg_writer *writer,
                                         szg_frame_header *frame) {
  section_sizes sizes = {0};
  SZG_TRY(szg_for_parts(&job->ctx->threads, job->part_count, job->grid.value_count, mark_part, job));
  if (is_outgrown(job)) return write_raw_frame(job, writer, frame);
  size_outliers(job, &sizes);
  if (total_bytes(&sizes) >= job->raw_bytes && outlier_section_count(&sizes))
    return write_raw_frame(job, writer, frame);
  frame->kind = SZG_FRAME_CONSTANT;
  frame->constant_bits = job->bound->constant_bits;
  SZG_TRY(szg_writer_begin_frame(writer, frame, outlier_section_count(&sizes)));
  return write_outliers(job, writer, &sizes);
}

static szgpu_status write_linear_frame(szg_frame_job *job, uint32_t asked_radius,
                                       szg_writer *writer, szg_frame_header *frame) {
  enum { STREAM_SECTIONS = 5 };
  szg_threads *const threads = &job->ctx->threads;
  section_sizes sizes = {0};
  SZG_TRY(szg_choose(threads, &job->bound->quantizer, &job->grid, job->values, asked_radius,
                     job->plan->choice_work, &job->choice));
  reset_workers(job);
  SZG_TRY(szg_for_parts(threads, job->part_count, job->grid.value_count, code_part, job));
  if (is_outgrown(job)) return write_raw_frame(job, writer, frame);
  build_codebook(job);
  SZG_TRY(szg_for_parts(threads, job->part_count, 0, measure_part, job));
  scan_parts(job);
  size_stream(job, &sizes);
  size_outliers(job, &sizes);
  if (total_bytes(&sizes) >= job->raw_bytes) return write_raw_frame(job, writer, frame);
  frame->kind = SZG_FRAME_LINEAR;
  frame->axes = job->choice.axes;
  frame->radius = job->choice.radius;
  frame->escape_bytes = sizes.escape_bytes;
  SZG_TRY(szg_writer_begin_frame(writer, frame, STREAM_SECTIONS + outlier_section_count(&sizes)));
  SZG_TRY(write_stream(job, writer, &sizes));
  return write_outliers(job, writer, &sizes);
}

szgpu_status szg_compress_frame(szg_frame_job *job, uint32_t asked_radius, uint64_t frame_index,
                                szg_writer *writer, uint64_t *frame_bytes) {
  szg_frame_header frame = {.index = frame_index, .value_count = job->grid.value_count};
  job->part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  job->raw_bytes = job->grid.value_count * szg_dtype_bytes(job->dtype);
  job->list_bytes = 0;
  memset(job->plan->lists, 0, job->part_count * sizeof *job->plan->lists);
  szgpu_status status;
  if (job->bound->is_constant)
    status = write_constant_frame(job, writer, &frame);
  else if (job->bound->is_hopeless)
    status = write_raw_frame(job, writer, &frame);
  else
    status = write_linear_frame(job, asked_radius, writer, &frame);
  for (uint64_t part = 0; part < job->part_count; part++)
    szg_outlier_lists_release(&job->plan->lists[part]);
  if (status == SZGPU_OK) szg_writer_end_frame(writer, frame_bytes);
  return status;
}
