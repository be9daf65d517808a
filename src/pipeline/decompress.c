/* decompress.c - an archive to a field: frame by frame, or the rows of a slab.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   archive --> sections --tile by tile--> deltas --> lattice --> values
 *
 * What is decoded lives only for the 16 tiles that a worker has in hand, so that memory is the
 * field and the archive. A slab takes the tiles that it meets, no others.
 */
#include <string.h>

#include "pipeline/decompress_frame.h"
#include "pipeline/plan.h"
#include "pipeline/planes_frame.h"
#include "pipeline/top_plane.h"

static void carve_planes(szg_arena *arena, int thread_count, szg_decode_plan *plan) {
  plan->planes_decoder = szg_arena_take(arena, 1, sizeof *plan->planes_decoder);
  plan->plane_lengths = szg_arena_take(arena, SZG_PLANES_MOST, sizeof *plan->plane_lengths);
  for (int i = 0; i < thread_count; i++) {
    void *const values = szg_arena_take(arena, SZG_TILE_VALUES, SZG_PLANES_MOST);
    if (plan->workers) plan->workers[i].plane_values = values;
  }
}

static void carve(szg_arena *arena, const szg_header *header, int thread_count,
                  szg_decode_plan *plan) {
  bool const is_linear = header->layout == SZGPU_LAYOUT_LINEAR;
  bool const is_lossless = header->mode == SZGPU_MODE_LOSSLESS;
  plan->workers = szg_arena_take(arena, (uint64_t)thread_count, sizeof *plan->workers);
  if (is_lossless || header->has_planes) carve_planes(arena, thread_count, plan);
  if (is_lossless && !is_linear) return;
  plan->book = szg_arena_take(arena, 1, sizeof *plan->book);
  plan->index = szg_arena_take(arena, !is_linear, sizeof *plan->index);
  plan->tile_decoder = szg_arena_take(arena, !is_linear, sizeof *plan->tile_decoder);
  for (int i = 0; i < thread_count && is_linear; i++) {
    uint16_t *const codes = szg_arena_take(arena, SZG_PART_TILES * SZG_TILE_VALUES, sizeof *codes);
    uint8_t *const symbols = szg_arena_take(arena, is_lossless ? SZG_TILE_VALUES : 0, 1);
    if (!plan->workers) continue; /* measuring */
    plan->workers[i].codes = codes;
    plan->workers[i].symbols = symbols;
  }
}

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

static szgpu_status restore_raw(szg_decode_job *job, uint64_t value_count) {
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

static szgpu_status fill_constant(const szg_decode_job *job, uint64_t value_count) {
  plain_job plain = {.values = job->values,
                     .value_count = value_count,
                     .width = szg_dtype_bytes(job->header->shape.dtype)};
  szg_store_u64(plain.constant, job->reader.frame.constant_bits);
  return szg_for_parts(&job->reader.ctx->threads, szg_div_up(value_count, FILL_PART_VALUES), 0,
                       fill_part, &plain);
}

/* Sections that a frame may have besides those of exact and fill values. */
static uint32_t kinds_of_frame(uint32_t kind, bool has_gaps) {
  uint32_t const gap_kinds = 1u << SZG_SECTION_GAPS | 1u << SZG_SECTION_SEQUENCE_CODES;
  uint32_t const linear_kinds =
      (has_gaps ? gap_kinds : 0) | 1u << SZG_SECTION_ESCAPE_COUNTS | 1u << SZG_SECTION_ESCAPES;
  uint32_t const stream_kinds =
      1u << SZG_SECTION_CODEBOOK | 1u << SZG_SECTION_TILE_SIZES | 1u << SZG_SECTION_BITSTREAM;
  return kind == SZG_FRAME_LINEAR ? linear_kinds | stream_kinds
         : kind == SZG_FRAME_TILE ? stream_kinds
                                  : 0;
}

/* All tiles of rows first_row .. first_row + row_count - 1 of the frame, whole tile rows, into
 * job->values. */
static szgpu_status restore_rows(szg_decode_job *job, uint64_t first_row, uint64_t row_count) {
  uint32_t const marked_kinds = 1u << SZG_SECTION_EXACT_COUNTS | 1u << SZG_SECTION_EXACT_MASK |
                                1u << SZG_SECTION_EXACT_VALUES | 1u << SZG_SECTION_FILL_COUNTS |
                                1u << SZG_SECTION_FILL_MASK;
  uint64_t const value_count = row_count * job->grid.row_values;
  uint32_t const kind = job->reader.frame.kind;
  job->first_value = first_row * job->grid.row_values;
  if (kind == SZG_FRAME_RAW) return restore_raw(job, value_count);
  if (kind == SZG_FRAME_PLANES) return szg_restore_planes(job, value_count);
  if (szg_has_top_plane(job->header)) return szg_restore_top_plane(job, value_count);
  SZG_REQUIRE(
      szg_reader_has_only(&job->reader, kinds_of_frame(kind, job->header->has_gaps) | marked_kinds),
      SZGPU_BAD_DATA);
  if (kind == SZG_FRAME_CONSTANT) {
    SZG_TRY(fill_constant(job, value_count));
    if (job->reader.frame.section_count == 0) return SZGPU_OK; /* nor is any tile looked at */
  }
  uint64_t const row_tiles = /* tiles in one row of tiles of the slowest axis */
      job->grid.tile_count / szg_div_up(job->grid.row_extent, job->grid.row_quantum);
  job->first_tile = first_row / job->grid.row_quantum * row_tiles;
  job->end_tile = szg_div_up(first_row + row_count, job->grid.row_quantum) * row_tiles;
  return szg_decode_tiles(job);
}

/* Rows begin .. end - 1 of the frame into out. Where they cut tiles, the whole tiles go to the
 * ctx's slab buffer first. */
static szgpu_status decode_frame(szg_decode_job *job, uint64_t begin, uint64_t end, uint8_t *out) {
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
  szg_decode_job job = {
      .header = header,
      .quantizer = szg_quantizer_make(header->arithmetic, header->absolute_bound, header->step,
                                      header->has_fill, header->fill_bits),
      .decoder = szg_decoder_for_cpu(ctx->options.decoder, header->has_gaps)};
  szg_arena arena = {0};
  carve(&arena, header, ctx->threads.count, &job.plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  carve(&arena, header, ctx->threads.count, &job.plan);

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
