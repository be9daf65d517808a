/* decompress.c - an archive to a field: frames, their tiles, values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   archive --> sections --tile by tile--> codes --> deltas --> lattice --> values
 *
 * Codes live only for the 16 tiles that a worker has in hand, so that memory is the field and the
 * archive. A slab takes the tiles that it meets, no others.
 */
#include <string.h>

#include "huffman/huffman.h"
#include "outlier/outlier.h"
#include "pipeline/plan.h"
#include "pipeline/reader.h"
#include "quant/bound.h"
#include "rle/rle.h"

/* Per worker. */
typedef struct decode_worker {
  szg_tile_work tile;
  uint16_t codes[SZG_PART_TILES * SZG_TILE_VALUES];
} decode_worker;

/* Where a part's share of each section begins. */
typedef struct part_start {
  uint64_t bit, escape, exact_mask, exact_value, fill_mask;
} part_start;

typedef struct decode_plan {
  szg_codebook *book;
  szg_decode_table *table;
  szg_canonical_index *index;
  decode_worker *workers; /* [threads] */
} decode_plan;

/* One frame at work. */
typedef struct decode_job {
  szg_reader reader;
  const szg_header *header;
  szg_quantizer quantizer;
  szg_grid grid; /* of the frame */
  uint64_t first_tile, end_tile;
  uint64_t first_value; /* of the frame's values, the one that *values is */
  uint8_t *values;
  bool is_serial;
  szg_loaded tile_bits, escape_counts, escapes, exact_counts, exact_mask, exact_values, fill_counts,
      fill_mask;
  szg_linear_input stream;
  part_start *starts;     /* [parts of the frame], in the ctx's buffer */
  uint64_t wanted_values; /* of the frame: those that were asked for */
  decode_plan plan;
} decode_job;

static void carve(szg_arena *arena, int thread_count, decode_plan *plan) {
  plan->book = szg_arena_take(arena, 1, sizeof *plan->book);
  plan->table = szg_arena_take(arena, 1, sizeof *plan->table);
  plan->index = szg_arena_take(arena, 1, sizeof *plan->index);
  plan->workers = szg_arena_take(arena, (uint64_t)thread_count, sizeof *plan->workers);
}

/* ---- sections of a frame ---- */

static uint32_t number_at(const szg_loaded *loaded, uint64_t i) {
  return loaded->bytes ? szg_load_u16(loaded->bytes + 2 * i) : 0;
}
/* A tile's share of a section, if the frame has it. */
static const uint8_t *share(const szg_loaded *loaded, uint64_t offset) {
  return loaded->bytes ? loaded->bytes + offset : NULL;
}
static uint32_t exact_mask_bytes_at(const decode_job *job, uint64_t tile) {
  return number_at(&job->exact_counts, 2 * tile);
}
static uint32_t exact_count_at(const decode_job *job, uint64_t tile) {
  return number_at(&job->exact_counts, 2 * tile + 1);
}
static uint64_t tile_bits_at(const decode_job *job, uint64_t tile_index, uint32_t code_count) {
  return job->tile_bits.bytes ? number_at(&job->tile_bits, tile_index) + (uint64_t)code_count : 0;
}

static szgpu_status load_outliers(decode_job *job) {
  szg_reader *const reader = &job->reader;
  uint64_t const tiles = job->grid.tile_count;
  uint64_t const values = job->grid.value_count;
  uint64_t const most_mask = tiles * SZG_MASK_MAX_BYTES;
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_ESCAPE_COUNTS, false, 2 * tiles, 2 * tiles,
                          &job->escape_counts));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_ESCAPES, job->escape_counts.bytes != NULL, 1,
                          values * 8, &job->escapes));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_EXACT_COUNTS, false, 4 * tiles, 4 * tiles,
                          &job->exact_counts));
  bool const has_exact = job->exact_counts.bytes != NULL;
  SZG_TRY(
      szg_reader_load(reader, SZG_SECTION_EXACT_MASK, has_exact, 1, most_mask, &job->exact_mask));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_EXACT_VALUES, has_exact, width, values * width,
                          &job->exact_values));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_FILL_COUNTS, false, 2 * tiles, 2 * tiles,
                          &job->fill_counts));
  return szg_reader_load(reader, SZG_SECTION_FILL_MASK, job->fill_counts.bytes != NULL, 1,
                         most_mask, &job->fill_mask);
}

/* The running sums over tiles; they must use up every section exactly. */
static szgpu_status scan_tiles(decode_job *job) {
  uint64_t const part_count = szg_div_up(job->grid.tile_count, SZG_PART_TILES);
  szg_buffer *const buffer = &job->reader.ctx->part_starts;
  SZG_TRY(szg_buffer_reset(buffer, part_count * sizeof *job->starts));
  job->starts = (part_start *)(void *)buffer->bytes;
  part_start at = {0};
  for (uint64_t t = 0; t < job->grid.tile_count; t++) {
    if (t % SZG_PART_TILES == 0) job->starts[t / SZG_PART_TILES] = at;
    at.bit += tile_bits_at(job, t, szg_tile_at(&job->grid, t).value_count);
    at.escape += number_at(&job->escape_counts, t);
    at.exact_mask += exact_mask_bytes_at(job, t);
    at.exact_value += exact_count_at(job, t);
    at.fill_mask += number_at(&job->fill_counts, t);
  }
  size_t const width = szg_dtype_bytes(job->header->shape.dtype);
  SZG_REQUIRE(at.escape * job->reader.frame.escape_bytes == job->escapes.byte_count,
              SZGPU_BAD_DATA);
  SZG_REQUIRE((at.escape > 0) == (job->reader.frame.escape_bytes > 0), SZGPU_BAD_DATA);
  SZG_REQUIRE(at.exact_mask == job->exact_mask.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.exact_value * width == job->exact_values.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.fill_mask == job->fill_mask.byte_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(at.fill_mask == 0 || job->header->has_fill, SZGPU_BAD_DATA);
  job->stream.bit_count = at.bit;
  return SZGPU_OK;
}

static szgpu_status load_stream(decode_job *job) {
  szg_reader *const reader = &job->reader;
  szg_linear_input *const stream = &job->stream;
  uint64_t const stream_bytes = szg_div_up(stream->bit_count, 32) * 4;
  uint64_t const gap_bytes = szg_div_up(szg_subsequence_count(stream->bit_count), 2);
  uint64_t const sequence_bytes = 2 * szg_sequence_count(stream->bit_count);
  szg_loaded loaded;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_CODEBOOK, true, 1, SZG_CODEBOOK_MAX_BYTES, &loaded));
  SZG_TRY(
      szg_codebook_read(loaded.bytes, loaded.byte_count, 2 * reader->frame.radius, job->plan.book));
  SZG_TRY(
      szg_reader_load(reader, SZG_SECTION_BITSTREAM, true, stream_bytes, stream_bytes, &loaded));
  unsigned const unused_bits = (unsigned)(stream_bytes * 8 - stream->bit_count);
  uint32_t const last_word = stream_bytes ? szg_load_u32(loaded.bytes + stream_bytes - 4) : 0;
  SZG_REQUIRE((last_word & (((uint64_t)1 << unused_bits) - 1)) == 0, SZGPU_BAD_DATA);
  stream->words = loaded.bytes;
  stream->word_bytes = stream_bytes;
  stream->code_count = job->grid.value_count;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_GAPS, true, gap_bytes, gap_bytes, &loaded));
  stream->gaps = loaded.bytes;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_SEQUENCE_CODES, true, sequence_bytes, sequence_bytes,
                          &loaded));
  stream->sequence_codes = loaded.bytes;
  if (job->is_serial) {
    szg_canonical_index_build(job->plan.book, job->plan.index);
    return szg_linear_verify(job->plan.index, stream);
  }
  szg_decode_table_build(job->plan.book, job->plan.table);
  return SZGPU_OK;
}

/* ---- tiles ---- */

/* Decodes the part's tiles that are wanted into the worker's codes, tile k at k * tile size. */
static szgpu_status decode_part_codes(const decode_job *job, uint64_t part, decode_worker *worker) {
  szg_code_run runs[SZG_PART_TILES];
  size_t run_count = 0;
  uint64_t bit = job->starts[part].bit;
  uint64_t const first_tile = part * SZG_PART_TILES;
  uint64_t const end_tile = szg_min_u64(first_tile + SZG_PART_TILES, job->end_tile);
  for (uint64_t t = first_tile; t < end_tile; t++) {
    uint32_t const code_count = szg_tile_at(&job->grid, t).value_count;
    uint64_t const bit_count = tile_bits_at(job, t, code_count);
    if (t >= job->first_tile)
      runs[run_count++] = (szg_code_run){bit, bit_count, code_count,
                                         worker->codes + (t - first_tile) * SZG_TILE_VALUES};
    bit += bit_count;
  }
  if (job->is_serial) return szg_decode_serial(job->plan.index, &job->stream, runs, run_count);
  return szg_decode_runs(job->plan.table, &job->stream, runs, run_count);
}

/* Codes to values, then the outliers on top; `at` is where the tile's share begins. */
static szgpu_status restore_tile(const decode_job *job, uint64_t tile_index, const uint16_t *codes,
                                 const part_start *at, szg_tile_work *work) {
  const szg_frame_header *const frame = &job->reader.frame;
  szgpu_dtype const dtype = job->header->shape.dtype;
  bool const is_wide = szg_is_wide(job->header->arithmetic);
  szg_tile tile = szg_tile_at(&job->grid, tile_index);
  tile.first_value -= job->first_value;
  if (frame->kind == SZG_FRAME_LINEAR) {
    SZG_REQUIRE(
        szg_tile_uncode(is_wide, &tile, frame->radius, codes,
                        share(&job->escapes, at->escape * frame->escape_bytes),
                        number_at(&job->escape_counts, tile_index), frame->escape_bytes, work),
        SZGPU_BAD_DATA);
    szg_tile_sum(is_wide, &tile, frame->axes, work);
    szg_tile_restore(&job->quantizer, &tile, work, job->values);
  }
  uint32_t const exact_mask_bytes = exact_mask_bytes_at(job, tile_index);
  uint32_t const fill_mask_bytes = number_at(&job->fill_counts, tile_index);
  uint32_t const exact_count = exact_count_at(job, tile_index);
  if (!(exact_mask_bytes | fill_mask_bytes | exact_count)) return SZGPU_OK;
  szg_tile_outliers const outliers = {
      .exact_mask = share(&job->exact_mask, at->exact_mask),
      .exact_values = share(&job->exact_values, at->exact_value * szg_dtype_bytes(dtype)),
      .fill_mask = share(&job->fill_mask, at->fill_mask),
      .exact_mask_bytes = exact_mask_bytes,
      .exact_count = exact_count,
      .fill_mask_bytes = fill_mask_bytes,
  };
  return szg_outlier_apply(dtype, &tile, &outliers, job->header->fill_bits, job->values);
}

static szgpu_status decode_part(void *job_pointer, uint64_t part_from_first, int worker_index) {
  const decode_job *const job = job_pointer;
  uint64_t const part = job->first_tile / SZG_PART_TILES + part_from_first;
  decode_worker *const worker = &job->plan.workers[worker_index];
  uint64_t const first_tile = part * SZG_PART_TILES;
  uint64_t const end_tile = szg_min_u64(first_tile + SZG_PART_TILES, job->end_tile);
  if (job->reader.frame.kind == SZG_FRAME_LINEAR) SZG_TRY(decode_part_codes(job, part, worker));
  part_start at = job->starts[part];
  for (uint64_t t = first_tile; t < end_tile; t++) {
    if (t >= job->first_tile)
      SZG_TRY(restore_tile(job, t, worker->codes + (t - first_tile) * SZG_TILE_VALUES, &at,
                           &worker->tile));
    at.escape += number_at(&job->escape_counts, t);
    at.exact_mask += exact_mask_bytes_at(job, t);
    at.exact_value += exact_count_at(job, t);
    at.fill_mask += number_at(&job->fill_counts, t);
  }
  return SZGPU_OK;
}

/* ---- frames ---- */

/* The wanted values of a frame without tiles. */
typedef struct plain_job {
  uint8_t *values;
  uint64_t first_value, value_count; /* of the frame's values */
  uint64_t frame_values;
  size_t width;
  uint8_t constant[8];
} plain_job;

/* Bytes of the raw section, plane after plane, to the values they are of. */
static void merge_planes(void *job_pointer, uint64_t offset, const uint8_t *bytes,
                         size_t byte_count) {
  const plain_job *const job = job_pointer;
  uint64_t const end_value = job->first_value + job->value_count;
  for (uint64_t const end = offset + byte_count; offset < end;) {
    uint64_t const plane = offset / job->frame_values, first = offset % job->frame_values;
    uint64_t const count = szg_min_u64(end - offset, job->frame_values - first);
    for (uint64_t i = 0; i < count; i++)
      if (first + i >= job->first_value && first + i < end_value)
        job->values[(first + i - job->first_value) * job->width + plane] = bytes[i];
    bytes += count;
    offset += count;
  }
}

static szgpu_status restore_raw(decode_job *job, uint64_t value_count) {
  plain_job plain = {.values = job->values,
                     .first_value = job->first_value,
                     .value_count = value_count,
                     .frame_values = job->grid.value_count,
                     .width = szg_dtype_bytes(job->header->shape.dtype)};
  SZG_REQUIRE(szg_reader_has_only(&job->reader, 1u << SZG_SECTION_RAW), SZGPU_BAD_DATA);
  return szg_reader_stream(&job->reader, SZG_SECTION_RAW, plain.frame_values * plain.width,
                           job->wanted_values, merge_planes, &plain);
}

enum { FILL_PART_VALUES = 1 << 18 };

static szgpu_status fill_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const plain_job *const job = job_pointer;
  uint64_t const end = szg_min_u64((part + 1) * FILL_PART_VALUES, job->value_count);
  for (uint64_t i = part * FILL_PART_VALUES; i < end; i++)
    memcpy(job->values + i * job->width, job->constant, job->width);
  return SZGPU_OK;
}

static szgpu_status fill_constant(const decode_job *job, uint64_t value_count) {
  plain_job plain = {.values = job->values,
                     .value_count = value_count,
                     .width = szg_dtype_bytes(job->header->shape.dtype)};
  szg_store_u64(plain.constant, job->reader.frame.constant_bits);
  return szg_for_parts(&job->reader.ctx->threads, szg_div_up(value_count, FILL_PART_VALUES), 0,
                       fill_part, &plain);
}

/* All tiles of rows first_row .. first_row + row_count - 1 of the frame, whole tile rows, into
 * job->values. */
static szgpu_status restore_rows(decode_job *job, uint64_t first_row, uint64_t row_count) {
  uint32_t const raw_kind = 1u << SZG_SECTION_RAW;
  uint32_t const stream_kinds = 1u << SZG_SECTION_CODEBOOK | 1u << SZG_SECTION_TILE_BITS |
                                1u << SZG_SECTION_BITSTREAM | 1u << SZG_SECTION_GAPS |
                                1u << SZG_SECTION_SEQUENCE_CODES | 1u << SZG_SECTION_ESCAPE_COUNTS |
                                1u << SZG_SECTION_ESCAPES;
  uint64_t const value_count = row_count * job->grid.row_values;
  uint32_t const kind = job->reader.frame.kind;
  job->first_value = first_row * job->grid.row_values;
  if (kind == SZG_FRAME_RAW) return restore_raw(job, value_count);
  bool const is_linear = kind == SZG_FRAME_LINEAR;
  SZG_REQUIRE(szg_reader_has_only(&job->reader, is_linear ? ~raw_kind : ~(raw_kind | stream_kinds)),
              SZGPU_BAD_DATA);
  if (kind == SZG_FRAME_CONSTANT) {
    SZG_TRY(fill_constant(job, value_count));
    if (job->reader.frame.section_count == 0) return SZGPU_OK; /* nor is any tile looked at */
  }
  uint64_t const row_tiles = /* tiles in one row of tiles of the slowest axis */
      job->grid.tile_count / szg_div_up(job->grid.row_extent, job->grid.row_quantum);
  job->first_tile = first_row / job->grid.row_quantum * row_tiles;
  job->end_tile = szg_div_up(first_row + row_count, job->grid.row_quantum) * row_tiles;
  uint64_t const tile_bytes = 2 * job->grid.tile_count;
  job->tile_bits = (szg_loaded){0};
  if (is_linear)
    SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_TILE_BITS, true, tile_bytes, tile_bytes,
                            &job->tile_bits));
  SZG_TRY(load_outliers(job));
  SZG_TRY(scan_tiles(job));
  if (is_linear) SZG_TRY(load_stream(job));
  uint64_t const first_part = job->first_tile / SZG_PART_TILES;
  uint64_t const end_part = szg_div_up(job->end_tile, SZG_PART_TILES);
  return szg_for_parts(&job->reader.ctx->threads, end_part - first_part, job->wanted_values,
                       decode_part, job);
}

/* Rows begin .. end - 1 of the frame into out. Where they cut tiles, the whole tiles go to the
 * ctx's slab buffer first. */
static szgpu_status decode_frame(decode_job *job, uint64_t begin, uint64_t end, uint8_t *out) {
  uint64_t const quantum = job->grid.row_quantum, extent = job->grid.row_extent;
  uint64_t const first_row = begin / quantum * quantum;
  uint64_t const end_row = szg_min_u64(szg_div_up(end, quantum) * quantum, extent);
  uint64_t const row_bytes = job->grid.row_values * szg_dtype_bytes(job->header->shape.dtype);
  if (first_row == begin && end_row == end) {
    job->values = out;
    return restore_rows(job, first_row, end_row - first_row);
  }
  szg_buffer *const slab = &job->reader.ctx->slab;
  SZG_TRY(szg_buffer_reset(slab, (end_row - first_row) * row_bytes));
  job->values = slab->bytes;
  SZG_TRY(restore_rows(job, first_row, end_row - first_row));
  memcpy(out, slab->bytes + (begin - first_row) * row_bytes, (end - begin) * row_bytes);
  return SZGPU_OK;
}

szgpu_status szg_decompress_cpu(szgpu_ctx *ctx, const szg_opened *opened, uint64_t first_row,
                                uint64_t row_count, void *field) {
  const szg_header *const header = &opened->header;
  uint64_t const end_row = first_row + row_count;
  uint64_t const row_bytes = opened->grid.row_values * szg_dtype_bytes(header->shape.dtype);
  ctx->threads.done_values = 0;
  ctx->threads.total_values = row_count * opened->grid.row_values;
  decode_job job = {
      .header = header,
      .quantizer = szg_quantizer_make(header->arithmetic, header->absolute_bound, header->step,
                                      header->has_fill, header->fill_bits),
      .is_serial = ctx->options.decoder == SZGPU_DECODER_SERIAL};
  szg_arena arena = {0};
  carve(&arena, ctx->threads.count, &job.plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  carve(&arena, ctx->threads.count, &job.plan);

  uint64_t offset = szg_frame_offset(opened, 0);
  for (uint64_t frame = 0; frame < header->frame_count; frame++) {
    uint64_t const frame_first_row = frame * header->frame_rows;
    uint64_t const frame_row_count = szg_frame_row_count(opened, frame);
    uint64_t const begin = first_row > frame_first_row ? first_row - frame_first_row : 0;
    uint64_t const end =
        end_row > frame_first_row ? szg_min_u64(end_row - frame_first_row, frame_row_count) : 0;
    if (begin < end) {
      SZG_TRY(szg_reader_open_frame(ctx, opened, frame, offset, &job.reader));
      job.grid = szg_grid_of_rows(&opened->grid, frame_row_count);
      uint8_t *const out = (uint8_t *)field + (frame_first_row + begin - first_row) * row_bytes;
      job.wanted_values = (end - begin) * opened->grid.row_values;
      uint64_t const done_values = ctx->threads.done_values + job.wanted_values;
      SZG_TRY(decode_frame(&job, begin, end, out));
      SZG_TRY(szg_report_done(&ctx->threads, done_values));
    }
    offset += szg_header_frame_bytes(opened->bytes, frame);
  }
  return SZGPU_OK;
}
