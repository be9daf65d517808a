/* compress.c - a field to an archive: start reading here.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   field --range--> bound and step --frame by frame--> codes and outliers --> sections --> archive
 *   without loss:                   --frame by frame--> byte planes        --> sections --> archive
 */
#include <math.h>

#include "pipeline/compress_frame.h"
#include "pipeline/pipeline.h"

static bool is_lossless(const szgpu_params *params) { return params->mode == SZGPU_MODE_LOSSLESS; }

/* What progress counts: values to codes, codes to bits (in one, tile layout), bits through zstd;
 * without loss values counted, measured and coded (linear layout: taken apart, coded and stored),
 * coded and stored planes through zstd. */
static uint64_t progress_values(const szg_grid *grid, const szgpu_params *params) {
  int const passes = is_lossless(params) ? 3 : params->layout == SZGPU_LAYOUT_LINEAR ? 2 : 1;
  int const zstd_passes = is_lossless(params) ? 2 : 1;
  return grid->value_count * (uint64_t)(params->zstd_level ? passes + zstd_passes : passes);
}

/* Without loss the linear layout does not look at the field's shape. */
szg_grid szg_call_grid(const szgpu_params *params, const szg_grid *grid, uint64_t row_count) {
  bool const is_line = is_lossless(params) && params->layout == SZGPU_LAYOUT_LINEAR;
  return is_line ? szg_grid_of_line(row_count * grid->row_values)
                 : szg_grid_of_rows(grid, row_count);
}

static szg_plan_request request_plan(const szgpu_ctx *ctx, const szgpu_params *params,
                                     szgpu_dtype dtype, const szg_grid *grid) {
  uint64_t const frame_rows = szg_frame_rows(grid, dtype, params->frame_rows);
  return (szg_plan_request){.layout = params->layout,
                            .is_lossless = is_lossless(params),
                            .dtype = dtype,
                            .frame_grid = szg_call_grid(params, grid, frame_rows),
                            .frame_count = szg_div_up(grid->row_extent, frame_rows),
                            .thread_count = ctx->threads.count};
}

/* Measures the plan, gets the memory, carves the plan. */
static szgpu_status make_plan(szgpu_ctx *ctx, const szgpu_params *params, szgpu_dtype dtype,
                              const szg_grid *grid, szg_compress_plan *plan) {
  szg_plan_request const request = request_plan(ctx, params, dtype, grid);
  szg_arena arena = {0};
  szg_compress_plan_carve(&arena, &request, plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  szg_compress_plan_carve(&arena, &request, plan);
  return SZGPU_OK;
}

szgpu_status szg_call_bound(const szgpu_params *params, const szg_value_source *source,
                            szg_bound_plan *bound) {
  uint64_t const named_fill = szg_bits_of_value(source->dtype, params->fill);
  szg_range range;
  SZG_TRY(szg_range_take(source, params->has_fill ? &named_fill : NULL, &range));
  return szg_bound_derive(source, params->mode, params->bound, &range, bound);
}

szg_header szg_call_header(const szgpu_params *params, const szgpu_shape *shape,
                           const szg_grid *grid, uint64_t frame_rows, const szg_bound_plan *bound) {
  szg_header header = {
      .shape = *shape,
      .mode = params->mode,
      .layout = params->layout,
      .source = params->source,
      .has_gaps = params->layout == SZGPU_LAYOUT_LINEAR && !params->without_gaps,
      .frame_rows = frame_rows,
      .frame_count = szg_div_up(grid->row_extent, frame_rows),
  };
  if (!bound) return header;
  header.arithmetic = bound->quantizer.arithmetic;
  header.has_fill = bound->quantizer.has_fill;
  header.fill_bits = bound->quantizer.fill_bits;
  header.bound = params->bound;
  header.absolute_bound = bound->quantizer.bound;
  header.step = bound->quantizer.step;
  header.value_range = bound->value_range;
  return header;
}

szgpu_status szg_compress_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const szg_grid *grid, const void *field, void *archive,
                              uint64_t capacity, uint64_t *archive_bytes) {
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  size_t const value_bytes = szg_dtype_bytes(shape->dtype);
  ctx->threads.done_values = 0;
  ctx->threads.total_values = progress_values(grid, params);
  szg_compress_plan plan;
  SZG_TRY(make_plan(ctx, params, shape->dtype, grid, &plan));
  szg_bound_plan found;
  szg_value_source const source =
      szg_value_source_cpu(&ctx->threads, shape->dtype, field, grid->value_count);
  if (!is_lossless(params)) SZG_TRY(szg_call_bound(params, &source, &found));
  const szg_bound_plan *const bound = is_lossless(params) ? NULL : &found;
  szg_header header = szg_call_header(params, shape, grid, frame_rows, bound);
  szg_writer writer;
  SZG_TRY(szg_writer_open(ctx, params->zstd_level, header.frame_count, archive, capacity, &writer));
  for (uint64_t frame = 0; frame < header.frame_count; frame++) {
    uint64_t const first_row = frame * frame_rows;
    uint64_t const row_count = szg_min_u64(frame_rows, grid->row_extent - first_row);
    szg_frame_job job = {
        .ctx = ctx,
        .dtype = shape->dtype,
        .bound = bound,
        .planes = params->layout == SZGPU_LAYOUT_TILE ? &plan.planes : NULL,
        .has_gaps = header.has_gaps,
        .grid = szg_call_grid(params, grid, row_count),
        .values = (const uint8_t *)field + first_row * grid->row_values * value_bytes,
        .plan = &plan,
    };
    SZG_TRY(szg_compress_frame(&job, params, frame, &writer, &plan.frame_bytes[frame]));
    uint64_t const done_rows = first_row + row_count; /* whichever passes this kind of frame took */
    SZG_TRY(
        szg_report_done(&ctx->threads, ctx->threads.total_values / grid->row_extent * done_rows));
  }
  header.archive_bytes = writer.used_bytes;
  header.has_planes = writer.has_planes;
  szg_header_write(&header, plan.frame_bytes, archive);
  *archive_bytes = writer.used_bytes;
  return SZGPU_OK;
}

szgpu_status szg_compress_sizes_cpu(const szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     uint64_t *workspace_bytes, uint64_t *archive_bytes) {
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  szg_plan_request const request = request_plan(ctx, params, shape->dtype, grid);
  szg_arena arena = {0};
  szg_compress_plan plan;
  szg_compress_plan_carve(&arena, &request, &plan);
  /* Outlier lists: escapes and the rest, each given up before it outgrows the frame's values; they
   * grow by halves. */
  size_t const value_bytes = szg_dtype_bytes(shape->dtype);
  uint64_t const frame_bytes = frame_rows * grid->row_values * value_bytes;
  uint64_t const codes_bytes = params->layout == SZGPU_LAYOUT_LINEAR
                                   ? frame_rows * grid->row_values * sizeof *plan.codes
                                   : 0;
  uint64_t const scratch_bytes = params->zstd_level ? frame_bytes + frame_bytes / 64 : 0;
  SZG_REQUIRE(!arena.overflowed, SZGPU_BAD_SHAPE);
  uint64_t lists_bytes;
  SZG_REQUIRE(szg_mul_checked(frame_bytes, is_lossless(params) ? 0 : 3, &lists_bytes) &&
                  szg_add_checked(arena.used_bytes, lists_bytes, workspace_bytes) &&
                  szg_add_checked(*workspace_bytes, codes_bytes, workspace_bytes) &&
                  szg_add_checked(*workspace_bytes, scratch_bytes, workspace_bytes),
              SZGPU_BAD_SHAPE);
  SZG_REQUIRE(szg_max_archive_bytes(grid, value_bytes, szg_div_up(grid->row_extent, frame_rows),
                                    archive_bytes),
              SZGPU_BAD_SHAPE);
  return SZGPU_OK;
}

szgpu_status szg_compress_reserve_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid) {
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  szg_compress_plan plan;
  if (params->layout == SZGPU_LAYOUT_LINEAR)
    SZG_TRY(szg_codes_open(ctx, frame_rows * grid->row_values, &plan.codes));
  return make_plan(ctx, params, shape->dtype, grid, &plan);
}
