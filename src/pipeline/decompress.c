/* decompress.c - an archive to a field: frame by frame, the rows of a slab, or a preview.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   archive --> sections --tile by tile--> deltas --> lattice --> values
 *
 * Each worker holds decoded codes for 16 tiles at most, so memory is little more than the field and
 * the archive. A slab decodes only the tiles that it meets.
 */
#include <string.h>

#include "frames/kinds.h"
#include "frames/open.h"
#include "pipeline/pipeline.h"

/* Decodes rows begin .. end - 1 of the frame into out. If they cut tiles, the whole tiles go to the
 * ctx's slab buffer first. */
static szgpu_status decode_frame(szg_read_job *job, uint64_t begin, uint64_t end, uint8_t *out) {
  uint64_t const quantum = job->grid.row_quantum, extent = job->grid.row_extent;
  uint64_t const first_row = begin / quantum * quantum;
  uint64_t const end_row = szg_min_u64(szg_div_up(end, quantum) * quantum, extent);
  uint64_t const row_bytes = job->grid.row_values * szg_dtype_bytes(job->header->shape.dtype);
  if (first_row == begin && end_row == end) {
    job->values = out;
    return szg_frame_restore(job, first_row, end_row - first_row);
  }
  szg_buffer *const slab = &job->reader.ctx->slab;
  SZG_TRY(szg_buffer_reset(slab, (end_row - first_row) * row_bytes));
  job->values = slab->bytes;
  SZG_TRY(szg_frame_restore(job, first_row, end_row - first_row));
  memcpy(out, slab->bytes + (begin - first_row) * row_bytes, (end - begin) * row_bytes);
  return SZGPU_OK;
}

static szgpu_status make_plan(szgpu_ctx *ctx, const szg_header *header, szg_read_plan *plan) {
  szg_read_request const request = {.header = header, .thread_count = ctx->threads.count};
  szg_arena arena = {0};
  *plan = (szg_read_plan){0};
  szg_read_plan_carve(&arena, &request, plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  szg_read_plan_carve(&arena, &request, plan);
  return SZGPU_OK;
}

static szg_quantizer make_quantizer(const szg_header *header) {
  return szg_quantizer_make(header->arithmetic, header->absolute_bound, header->step,
                            header->has_fill, header->fill_bits);
}

szgpu_status szg_decompress_cpu(szgpu_ctx *ctx, const szg_opened *opened, uint64_t first_row,
                                uint64_t row_count, void *field) {
  const szg_header *const header = &opened->header;
  uint64_t const end_row = first_row + row_count;
  uint64_t const row_bytes = opened->grid.row_values * szg_dtype_bytes(header->shape.dtype);
  szg_quantizer const quantizer = make_quantizer(header);
  szg_read_plan plan;
  ctx->threads.done_values = 0;
  ctx->threads.total_values = row_count * opened->grid.row_values;
  SZG_TRY(make_plan(ctx, header, &plan));
  uint64_t const first_frame = first_row / header->frame_rows;
  uint64_t const end_frame = szg_div_up(end_row, header->frame_rows);
  uint64_t offset = szg_frame_offset(opened, first_frame);
  for (uint64_t frame = first_frame; frame < end_frame; frame++) {
    uint64_t const frame_first_row = frame * header->frame_rows;
    uint64_t const frame_row_count = szg_frame_row_count(opened, frame);
    uint64_t const begin = first_row > frame_first_row ? first_row - frame_first_row : 0;
    uint64_t const end = szg_min_u64(end_row - frame_first_row, frame_row_count);
    szg_read_job job = {.header = header,
                        .quantizer = quantizer,
                        .decoder = szg_decoder_for_cpu(ctx->options.decoder, header->has_gaps),
                        .plan = &plan,
                        .grid = szg_grid_of_rows(&opened->grid, frame_row_count),
                        .wanted_values = (end - begin) * opened->grid.row_values};
    SZG_TRY(szg_frame_reader_open(ctx, opened, frame, offset, &job.reader));
    uint8_t *const out = (uint8_t *)field + (frame_first_row + begin - first_row) * row_bytes;
    uint64_t const done_values = ctx->threads.done_values + job.wanted_values;
    SZG_TRY(decode_frame(&job, begin, end, out));
    SZG_TRY(szg_report_done(&ctx->threads, done_values));
    offset += szg_frame_bytes(opened, frame);
  }
  return SZGPU_OK;
}

/* ---- previews ---- */

uint64_t szg_level_values(const szg_grid *grid, uint32_t level) {
  return szg_preview_of_frame(grid, grid, 0, level).value_count;
}

/* Says why the frame has no such level. */
static szgpu_status fail_level(szgpu_ctx *ctx, const szg_frame_header *frame,
                               const szg_frame_kind *kind, uint32_t level) {
  unsigned long long const number = frame->index;
  if (!kind->has_level)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "frame %llu is a %s frame: it has no levels", number,
                    kind->name);
  if (frame->levels.fold)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "frame %llu is folded to rows of %llu: it has no levels of the field", number,
                    (unsigned long long)frame->levels.fold);
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "frame %llu goes up to level %u, not to %u", number,
                  frame->levels.level_count, level);
}

/* Opens the frame if it has the level. */
static szgpu_status open_level(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                               uint64_t offset, uint32_t level, szg_reader *reader) {
  SZG_TRY(szg_frame_reader_open(ctx, opened, frame, offset, reader));
  szg_frame_facts const facts = {.archive = &opened->header, .frame = &reader->frame};
  const szg_frame_kind *const kind = &szg_frame_kinds[szg_kind_of(&opened->header, &reader->frame)];
  bool const has_level = kind->has_level && kind->has_level(&facts, level);
  return has_level ? SZGPU_OK : fail_level(ctx, &reader->frame, kind, level);
}

/* Checks all frames before any of them is restored, so that one without the level costs no work. */
static szgpu_status check_level(szgpu_ctx *ctx, const szg_opened *opened, uint32_t level) {
  uint64_t offset = szg_frame_offset(opened, 0);
  for (uint64_t frame = 0; frame < opened->header.frame_count; frame++) {
    szg_reader reader;
    SZG_TRY(open_level(ctx, opened, frame, offset, level, &reader));
    offset += szg_frame_bytes(opened, frame);
  }
  return SZGPU_OK;
}

szgpu_status szg_decompress_level_cpu(szgpu_ctx *ctx, const szg_opened *opened, uint32_t level,
                                      void *field) {
  const szg_header *const header = &opened->header;
  size_t const width = szg_dtype_bytes(header->shape.dtype);
  szg_read_plan plan;
  SZG_TRY(check_level(ctx, opened, level));
  ctx->threads.done_values = 0;
  ctx->threads.total_values = szg_level_values(&opened->grid, level);
  SZG_TRY(make_plan(ctx, header, &plan));
  uint64_t offset = szg_frame_offset(opened, 0);
  for (uint64_t frame = 0; frame < header->frame_count; frame++) {
    szg_read_job job = {
        .header = header,
        .quantizer = make_quantizer(header),
        .plan = &plan,
        .grid = szg_grid_of_rows(&opened->grid, szg_frame_row_count(opened, frame))};
    szg_preview preview =
        szg_preview_of_frame(&opened->grid, &job.grid, frame * header->frame_rows, level);
    if (preview.value_count > 0) {
      uint64_t const done_values = ctx->threads.done_values + preview.value_count;
      preview.values = (uint8_t *)field + ctx->threads.done_values * width;
      job.preview = &preview;
      job.wanted_values = preview.value_count;
      SZG_TRY(open_level(ctx, opened, frame, offset, level, &job.reader)); /* it may have changed */
      SZG_TRY(szg_frame_preview(&job));
      SZG_TRY(szg_report_done(&ctx->threads, done_values));
    }
    offset += szg_frame_bytes(opened, frame);
  }
  return SZGPU_OK;
}
