/* compress.c - a field to an archive: start reading here.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   field --range--> bound and step --frame by frame--> codes and outliers --> sections --> archive
 *   lossless:                       --frame by frame--> byte planes        --> sections --> archive
 */
#include "codecs/run_masks.h"
#include "container/compact.h"
#include "container/writer.h"
#include "frames/kinds.h"
#include "frames/mapped.h"
#include "pipeline/calls.h"
#include "pipeline/pipeline.h"

/* What progress counts: the passes of the kinds of frame, and bits through zstd, or, if lossless,
 * coded and stored planes. */
static uint64_t progress_values(const szg_grid *grid, const szg_write_request *request,
                                int zstd_level) {
  uint32_t const zstd_passes = request->is_lossless ? 2 : 1;
  return grid->value_count * (szg_kinds_passes(request) + (zstd_level ? zstd_passes : 0));
}

bool szg_max_archive_bytes(const szg_grid *grid, size_t value_bytes, uint64_t frame_count,
                           uint64_t *archive_bytes) {
  uint64_t header_bytes, frame_headers_bytes, field_bytes;
  uint64_t const per_frame =
      szg_frame_header_bytes(SZG_SECTION_KIND_COUNT) + SZG_SECTION_KIND_COUNT * SZG_ALIGNMENT;
  return szg_header_bytes_with(frame_count, SZG_MOST_MORE_BYTES, &header_bytes) &&
         szg_mul_checked(frame_count, per_frame, &frame_headers_bytes) &&
         szg_mul_checked(grid->value_count, value_bytes, &field_bytes) &&
         szg_add_checked(header_bytes, frame_headers_bytes, archive_bytes) &&
         szg_add_checked(*archive_bytes, field_bytes, archive_bytes);
}

/* A call's memory. */
typedef struct compress_plan {
  uint64_t *frame_bytes; /* [frames] */
  szg_write_plan frames;
} compress_plan;

static void carve(szg_arena *arena, const szg_write_request *request, compress_plan *plan) {
  plan->frame_bytes = szg_arena_take(arena, request->frame_count, sizeof *plan->frame_bytes);
  szg_write_plan_carve(arena, request, &plan->frames);
}

/* Measures the plan, allocates the memory, carves the plan. */
static szgpu_status make_plan(szgpu_ctx *ctx, const szg_write_request *request,
                              compress_plan *plan) {
  szg_arena arena = {0};
  *plan = (compress_plan){0};
  carve(&arena, request, plan);
  SZG_TRY(szg_arena_open(ctx, &arena, &arena));
  carve(&arena, request, plan);
  return SZGPU_OK;
}

/* A call's arguments and what follows from them. */
typedef struct compress_call {
  szgpu_ctx *ctx;
  const szgpu_params *params;
  const szg_write_request *request;
  const szg_grid *grid;
  const uint8_t *field;
  const szg_bound_plan *bound; /* NULL: lossless */
} compress_call;

/* values: of the frame. fails: the bound does; then the frame is missing. */
static szgpu_status compress_frame(const compress_call *call, compress_plan *plan, uint64_t frame,
                                   const void *values, szg_header *header, szg_writer *writer,
                                   uint64_t *frame_bytes, bool *fails) {
  uint64_t const first_row = frame * header->frame_rows;
  uint64_t const row_count = szg_min_u64(header->frame_rows, call->grid->row_extent - first_row);
  szg_write_job job = {
      .ctx = call->ctx,
      .request = call->request,
      .asked_radius = call->params->radius,
      .has_gaps = header->has_gaps,
      .bound = call->bound,
      .grid = szg_grid_of_rows(call->grid, row_count),
      .mapping = call->bound ? szg_bound_mapping(call->bound, &call->request->mapping)
                             : call->request->mapping,
      .field_values = values,
      .plan = &plan->frames,
  };
  szgpu_status const status = szg_frame_write(&job, frame, writer, header, frame_bytes);
  *fails = szg_bound_fails(call->bound, job.has_strays);
  return *fails ? SZGPU_OK : status; /* even if there was no room for the strays */
}

/* fails: the bound does; then some frames are missing. */
static szgpu_status compress_frames(const compress_call *call, compress_plan *plan,
                                    szg_header *header, szg_writer *writer, bool *fails) {
  const szg_grid *const grid = call->grid;
  szg_threads *const threads = &call->ctx->threads;
  uint64_t const row_bytes = grid->row_values * szg_dtype_bytes(call->request->mapping.outer);
  *fails = false;
  for (uint64_t frame = 0; frame < header->frame_count; frame++) {
    uint64_t const first_row = frame * header->frame_rows;
    SZG_TRY(compress_frame(call, plan, frame, call->field + first_row * row_bytes, header, writer,
                           &plan->frame_bytes[frame], fails));
    if (*fails) return SZGPU_OK;
    /* Progress is the same whichever passes this kind of frame took. */
    uint64_t const done_rows = szg_min_u64(first_row + header->frame_rows, grid->row_extent);
    SZG_TRY(szg_report_done(threads, threads->total_values / grid->row_extent * done_rows));
  }
  return SZGPU_OK;
}

typedef struct archive_room {
  void *archive;
  uint64_t capacity;
  uint64_t *archive_bytes;
} archive_room;

/* Writes the archive as readers that know nothing of the compact form know it. */
static szgpu_status write_plain(const compress_call *call, compress_plan *plan, szg_header *header,
                                const archive_room *room, bool *fails) {
  szgpu_ctx *const ctx = call->ctx;
  szg_writer writer;
  ctx->threads.done_values = 0;
  ctx->threads.total_values = progress_values(call->grid, call->request, call->params->zstd_level);
  SZG_TRY(szg_writer_open(ctx, call->params->zstd_level, header, room->archive, room->capacity,
                          &writer));
  SZG_TRY(compress_frames(call, plan, header, &writer, fails));
  if (*fails) return SZGPU_OK;
  header->archive_bytes = writer.used_bytes;
  szg_header_write(header, plan->frame_bytes, room->archive);
  *room->archive_bytes = writer.used_bytes;
  return SZGPU_OK;
}

/* Writes the archive. A small one is written to the ctx's memory first: the room may suffice for
 * its compact form alone. */
static szgpu_status write_archive(const compress_call *call, compress_plan *plan,
                                  szg_header *header, const archive_room *room, bool *fails) {
  const szg_grid *const grid = call->grid;
  if (!call->request->is_compacted) return write_plain(call, plan, header, room, fails);
  szg_buffer *const plain = &call->ctx->kept[SZG_KEPT_PLAIN];
  uint64_t most_bytes, plain_bytes = 0;
  size_t const value_bytes = szg_dtype_bytes(call->request->mapping.outer);
  SZG_REQUIRE(szg_max_archive_bytes(grid, value_bytes, 1, &most_bytes), SZGPU_BAD_SHAPE);
  SZG_TRY(szg_ctx_make_room(call->ctx, plain, most_bytes, "room for an archive"));
  archive_room const own = {plain->bytes, most_bytes, &plain_bytes};
  SZG_TRY(write_plain(call, plan, header, &own, fails));
  if (*fails) return SZGPU_OK;
  return szg_compact_write(call->ctx, plain->bytes, plain_bytes, room->archive, room->capacity,
                           room->archive_bytes);
}

/* Under a bound that follows from as few values as possible. */
static szgpu_status compress_bounded(compress_call *call, compress_plan *plan,
                                     const szgpu_shape *shape, const archive_room *room) {
  szg_bound_plan bound;
  const szg_mapping *const mapping = &call->request->mapping;
  uint64_t const value_count = call->grid->value_count;
  szg_value_source source =
      szg_value_source_mapped_cpu(&call->ctx->threads, mapping, call->field, value_count);
  if (szg_is_mapped(mapping) && call->request->frame_count == 1) {
    SZG_TRY(szg_mapped_open(call->ctx, mapping, value_count));
    source.inner_values = call->ctx->kept[SZG_KEPT_INNER].bytes;
  }
  szg_bound_tries tries = szg_bound_first_try();
  bool fails;
  do {
    SZG_TRY(szg_call_bound(call->params, call->grid, &source, tries, &bound));
    call->bound = &bound;
    szg_header header = szg_call_header(call->params, shape, call->grid, &bound);
    SZG_TRY(write_archive(call, plan, &header, room, &fails));
    szg_bound_next_try(&bound, &tries);
  } while (fails);
  return SZGPU_OK;
}

szgpu_status szg_join_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                          const void *field, szg_grid *grid) {
  szg_mapping const mapping = szg_mapping_of_params(params, shape->dtype);
  szg_value_source const source =
      szg_value_source_mapped_cpu(&ctx->threads, &mapping, field, grid->value_count);
  return szg_call_join(params, shape, &source, grid);
}

szgpu_status szg_compress_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const szg_grid *grid, const void *field, void *archive,
                              uint64_t capacity, uint64_t *archive_bytes) {
  szg_write_request const request = szg_call_request(ctx, params, shape->dtype, grid);
  archive_room const room = {archive, capacity, archive_bytes};
  compress_call call = {
      .ctx = ctx, .params = params, .request = &request, .grid = grid, .field = field};
  compress_plan plan;
  bool fails;
  SZG_TRY(make_plan(ctx, &request, &plan));
  if (!request.is_lossless) return compress_bounded(&call, &plan, shape, &room);
  szg_header header = szg_call_header(params, shape, grid, NULL);
  return write_archive(&call, &plan, &header, &room, &fails);
}

szgpu_status szg_foresee_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                             const szg_grid *grid, const void *field, szgpu_info *info) {
  szg_threads silent = ctx->threads;
  silent.progress = NULL;
  szg_bound_plan bound;
  bool const is_lossless = params->mode == SZGPU_MODE_LOSSLESS;
  szg_mapping const mapping = szg_mapping_of_params(params, shape->dtype);
  szg_value_source const source =
      szg_value_source_mapped_cpu(&silent, &mapping, field, grid->value_count);
  if (!is_lossless) SZG_TRY(szg_call_bound(params, grid, &source, szg_bound_first_try(), &bound));
  szg_header const header = szg_call_header(params, shape, grid, is_lossless ? NULL : &bound);
  szg_describe_header(&header, grid, info);
  return SZGPU_OK;
}

szgpu_status szg_compress_frame_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                    const szg_grid *grid, const void *values, void *bytes,
                                    uint64_t capacity, szg_frame_piece *piece) {
  szg_write_request request = szg_call_request(ctx, params, piece->header.shape.dtype, grid);
  request.frame_count = 1;
  compress_call const call = {
      .ctx = ctx, .params = params, .request = &request, .grid = grid, .bound = piece->bound};
  compress_plan plan;
  SZG_TRY(make_plan(ctx, &request, &plan));
  szg_writer writer = szg_writer_of_frames(ctx, params->zstd_level, bytes, capacity);
  return compress_frame(&call, &plan, piece->frame, values, &piece->header, &writer,
                        &piece->frame_bytes, &piece->fails);
}

/* ---- memory ---- */

/* What a frame takes in addition to the plan. Exact values, escapes
 * and the other lists grow by halves, and the frame is given up before any list outgrows its
 * values. zstd has a buffer for its output, which grows too: the old one and the new one, which may
 * be half as large again, are there together for a while. */
static bool add_buffers(const szgpu_params *params, const szg_write_request *request,
                        uint64_t *bytes) {
  uint64_t const value_count = request->frame_grid.value_count;
  uint64_t const values_bytes = value_count * szg_dtype_bytes(request->dtype);
  uint64_t const inner_count = szg_is_mapped(&request->mapping) ? 1 : 0;
  uint64_t const edited_count = request->may_edit ? 1 : 0;
  uint64_t const inner_bytes = (inner_count + edited_count) * values_bytes;
  uint64_t const masks_bytes = szg_run_masks_buffer_bytes(request);
  uint64_t const packed_bytes = values_bytes + values_bytes / 64 + 4096;
  bool const may_be_raw = request->is_lossless && params->zstd_level;
  uint64_t const planes_bytes = may_be_raw ? values_bytes : 0;
  uint64_t lists_bytes, zstd_bytes;
  uint64_t const leaves_bytes = values_bytes / 2048 + 4096; /* of checksums */
  return szg_mul_checked(values_bytes, request->is_lossless ? 0 : 3, &lists_bytes) &&
         szg_mul_checked(packed_bytes, params->zstd_level ? 3 : 0, &zstd_bytes) &&
         szg_add_checked(*bytes, lists_bytes, bytes) &&
         szg_add_checked(*bytes, inner_bytes, bytes) &&
         szg_add_checked(*bytes, masks_bytes, bytes) &&
         szg_add_checked(*bytes, planes_bytes, bytes) &&
         szg_add_checked(*bytes, szg_write_buffer_bytes(request), bytes) &&
         szg_add_checked(*bytes, leaves_bytes, bytes) && szg_add_checked(*bytes, zstd_bytes, bytes);
}

static szgpu_status sizes_with(const szgpu_ctx *ctx, const szgpu_params *params,
                               const szgpu_shape *shape, const szg_grid *grid,
                               uint64_t *workspace_bytes, uint64_t *archive_bytes) {
  szg_write_request const request = szg_call_request(ctx, params, shape->dtype, grid);
  szg_arena arena = {0};
  compress_plan plan = {0};
  carve(&arena, &request, &plan);
  SZG_REQUIRE(!arena.overflowed, SZGPU_BAD_SHAPE);
  *workspace_bytes = arena.used_bytes;
  SZG_REQUIRE(add_buffers(params, &request, workspace_bytes), SZGPU_BAD_SHAPE);
  SZG_REQUIRE(szg_max_archive_bytes(grid, szg_dtype_bytes(shape->dtype), request.frame_count,
                                    archive_bytes),
              SZGPU_BAD_SHAPE);
  if (request.is_compacted) *workspace_bytes += *archive_bytes;
  return SZGPU_OK;
}

szgpu_status szg_compress_sizes_cpu(const szgpu_ctx *ctx, const szgpu_params *params,
                                    const szgpu_shape *shape, const szg_grid *grid,
                                    uint64_t *workspace_bytes, uint64_t *archive_bytes) {
  szg_grid grids[SZG_MOST_GRIDS];
  uint32_t const count = szg_call_grids(params, shape, grid, grids);
  *workspace_bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t bytes;
    SZG_TRY(sizes_with(ctx, params, shape, &grids[i], &bytes, archive_bytes));
    if (bytes > *workspace_bytes) *workspace_bytes = bytes;
  }
  return SZGPU_OK;
}

static szgpu_status reserve_with(szgpu_ctx *ctx, const szgpu_params *params,
                                 const szgpu_shape *shape, const szg_grid *grid) {
  szg_write_request const request = szg_call_request(ctx, params, shape->dtype, grid);
  compress_plan plan;
  SZG_TRY(szg_ctx_make_room(ctx, &ctx->kept[SZG_KEPT_KIND], szg_write_buffer_bytes(&request),
                            "room for codes"));
  uint64_t most_bytes;
  SZG_REQUIRE(
      szg_max_archive_bytes(grid, szg_dtype_bytes(shape->dtype), request.frame_count, &most_bytes),
      SZGPU_BAD_SHAPE);
  if (request.is_compacted)
    SZG_TRY(szg_ctx_make_room(ctx, &ctx->kept[SZG_KEPT_PLAIN], most_bytes, "room for an archive"));
  return make_plan(ctx, &request, &plan);
}

szgpu_status szg_compress_reserve_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid) {
  szg_grid grids[SZG_MOST_GRIDS];
  uint32_t const count = szg_call_grids(params, shape, grid, grids);
  for (uint32_t i = 0; i < count; i++) SZG_TRY(reserve_with(ctx, params, shape, &grids[i]));
  return SZGPU_OK;
}
