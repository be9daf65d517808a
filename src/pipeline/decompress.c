/* decompress.c - an archive to a field, frame by frame, or to a part of it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   archive --> sections --tile by tile--> deltas --> lattice --> values
 *
 * Each worker holds decoded codes for 16 tiles at most, so memory is little more than the field and
 * the archive. Only the frames and tiles that have wanted values are decoded.
 */
#include <string.h>

#include "frames/kinds.h"
#include "frames/mapped.h"
#include "frames/open.h"
#include "pipeline/pipeline.h"

/* Decodes rows begin .. end - 1 of the frame into out. If they cut tiles, the whole tiles go to the
 * ctx's slab buffer first. */
static szgpu_status decode_rows(szg_read_job *job, uint64_t begin, uint64_t end, uint8_t *out) {
  uint64_t const quantum = job->grid.row_quantum, extent = job->grid.row_extent;
  uint64_t const first_row = begin / quantum * quantum;
  uint64_t const end_row = szg_min_u64(szg_div_up(end, quantum) * quantum, extent);
  uint64_t const row_bytes = job->grid.row_values * szg_dtype_bytes(job->header->shape.dtype);
  if (first_row == begin && end_row == end) {
    job->values = out;
    return szg_frame_restore(job, first_row, end_row - first_row);
  }
  szg_buffer *const slab = &job->reader.ctx->kept[SZG_KEPT_SLAB];
  if (szg_reader_only_asks(&job->reader))
    return szg_frame_restore(job, first_row, end_row - first_row);
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

/* ---- levels ---- */

/* Opens the frame if it has the level; every frame has level 0. */
static szgpu_status open_frame(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                               uint64_t offset, uint32_t level, szg_reader *reader) {
  SZG_TRY(szg_frame_reader_open(ctx, opened, frame, offset, reader));
  if (reader->is_waiting) return SZGPU_OK;
  szg_frame_facts const facts = {.archive = &opened->header, .frame = &reader->frame};
  const szg_frame_kind *const kind = &szg_frame_kinds[szg_kind_of(&opened->header, &reader->frame)];
  if (level == 0) return SZGPU_OK;
  if (kind->require_level) return kind->require_level(ctx, &facts, level);
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "frame %llu is a %s frame: it has no levels",
                  (unsigned long long)frame, kind->name);
}

/* ---- frames ---- */

/* Rows first to end - 1 of the field's slowest axis longer than 1 that the wanted box spans. */
typedef struct row_range {
  uint64_t first, end;
} row_range;

static row_range find_rows(const szg_grid *grid, const szg_wanted *wanted) {
  const szg_box *const box = &wanted->box;
  int const axis = grid->row_axis;
  uint32_t const shift = axis == 0 ? 0 : wanted->level;
  return (row_range){box->first[axis] << shift,
                     szg_min_u64(box->end[axis] << shift, grid->row_extent)};
}

/* Whether the box is all that the field has in these rows. */
static bool is_whole_rows(const szg_grid *grid, const szg_wanted *wanted) {
  row_range const rows = find_rows(grid, wanted);
  return wanted->level == 0 &&
         szg_box_value_count(&wanted->box) == (rows.end - rows.first) * grid->row_values;
}

/* Frames that have some of the rows, and where the first one begins. */
typedef struct frame_range {
  uint64_t first, end, offset;
} frame_range;

static frame_range find_frames(const szg_opened *opened, const szg_wanted *wanted) {
  row_range const rows = find_rows(&opened->grid, wanted);
  uint64_t const frame_rows = opened->header.frame_rows;
  frame_range range = {rows.first / frame_rows, szg_div_up(rows.end, frame_rows), 0};
  range.offset = szg_frame_offset(opened, range.first);
  return range;
}

/* Checks all frames before any of them is restored, so that one without the level costs no work. */
static szgpu_status check_level(szgpu_ctx *ctx, const szg_opened *opened,
                                const szg_wanted *wanted) {
  frame_range const frames = find_frames(opened, wanted);
  uint64_t offset = frames.offset;
  for (uint64_t frame = frames.first; frame < frames.end; frame++) {
    szg_reader reader;
    SZG_TRY(open_frame(ctx, opened, frame, offset, wanted->level, &reader));
    offset += szg_frame_bytes(opened, frame);
  }
  return SZGPU_OK;
}

/* Restores the frame's wanted values to where the region says. */
static szgpu_status restore_frame(szg_read_job *job, const szg_opened *opened,
                                  const szg_wanted *wanted, szg_region *region, uint64_t offset,
                                  uint64_t frame) {
  szgpu_ctx *const ctx = job->reader.ctx;
  uint64_t const first_row = frame * opened->header.frame_rows;
  uint64_t const done_values = ctx->threads.done_values + region->value_count;
  SZG_TRY(open_frame(ctx, opened, frame, offset, wanted->level, &job->reader));
  if (job->reader.is_waiting) return SZGPU_OK;
  job->reader.is_partial = wanted->is_partial;
  job->wanted_values = region->value_count;
  if (is_whole_rows(&opened->grid, wanted)) {
    row_range const rows = find_rows(&opened->grid, wanted);
    uint64_t const begin = rows.first > first_row ? rows.first - first_row : 0;
    uint64_t const end = szg_min_u64(rows.end - first_row, szg_frame_row_count(opened, frame));
    SZG_TRY(decode_rows(job, begin, end, region->values));
  } else {
    job->region = region;
    SZG_TRY(szg_frame_restore_region(job));
  }
  return szg_report_done(&ctx->threads, done_values);
}

szg_wanted szg_wanted_rows(const szg_grid *grid, uint64_t first_row, uint64_t row_count) {
  szg_wanted wanted = {.box = szg_box_of_level(grid, 0)};
  wanted.box.first[grid->row_axis] = first_row;
  wanted.box.end[grid->row_axis] = first_row + row_count;
  return wanted;
}

szgpu_status szg_decompress_cpu(szgpu_ctx *ctx, const szg_opened *opened, const szg_wanted *wanted,
                                void *field) {
  const szg_header *const header = &opened->header;
  size_t const width = szg_dtype_bytes(header->shape.dtype);
  szgpu_decoder const decoder = wanted->is_partial ? SZGPU_DECODER_AUTO : ctx->options.decoder;
  frame_range const frames = find_frames(opened, wanted);
  szg_read_plan plan;
  if (wanted->level > 0) SZG_TRY(check_level(ctx, opened, wanted));
  ctx->threads.done_values = 0;
  ctx->threads.total_values = szg_box_value_count(&wanted->box);
  SZG_TRY(make_plan(ctx, header, &plan));
  uint64_t offset = frames.offset;
  for (uint64_t frame = frames.first; frame < frames.end; frame++) {
    szg_read_job job = {
        .reader = {.ctx = ctx},
        .header = header,
        .quantizer = szg_quantizer_of_header(header),
        .decoder = szg_decoder_for_cpu(decoder, header->has_gaps),
        .plan = &plan,
        .grid = szg_grid_of_rows(&opened->grid, szg_frame_row_count(opened, frame))};
    szg_region region = szg_region_of_frame(&wanted->box, wanted->level, &opened->grid, &job.grid,
                                            frame * header->frame_rows);
    if (field) region.values = (uint8_t *)field + ctx->threads.done_values * width;
    if (region.value_count > 0)
      SZG_TRY(restore_frame(&job, opened, wanted, &region, offset, frame));
    offset += szg_frame_bytes(opened, frame);
  }
  return SZGPU_OK;
}
