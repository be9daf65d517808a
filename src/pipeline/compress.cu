/* compress.cu - a field to an archive on the GPU; the twin of compress.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   field --range--> [host: bound, step] --frame by frame-->
 *     tile    codebook, tile sizes, bitstream --> [host: places of the others] -->
 *     linear  codes, counts --> [host: codebook, places of all sections] --> sections -->
 *   checksums --> archive
 *
 * The host is waited for twice, at the brackets, for a field of one frame; once more a frame. The
 * second falls away for a tile frame that is alone and has no outliers.
 */
#include "pipeline/compress_cuda.h"
#include "pipeline/decompress_cuda.h"
#include "pipeline/plan.h"

/* What of field and archive is in host memory and needs a copy on the device. */
typedef struct szg_copies {
  uint64_t field_bytes, archive_bytes; /* 0: in place */
} szg_copies;

/* What the memory of a call follows from. */
typedef struct plan_request {
  szgpu_layout layout;
  const szg_grid *grid;
  uint64_t frame_rows, frame_count;
  size_t value_bytes;
  szg_copies copies;
} plan_request;

static plan_request request_of(const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid) {
  plan_request request = {};
  request.layout = params->layout;
  request.grid = grid;
  request.frame_rows = szg_frame_rows(grid, params->frame_rows);
  request.frame_count = szg_div_up(grid->row_extent, request.frame_rows);
  request.value_bytes = szg_dtype_bytes(shape->dtype);
  return request;
}

static szgpu_status carve_linear(szg_arena *arena, const szg_grid *frame_grid,
                                 szg_compress_plan_cuda *plan) {
  plan->linear_found = (szg_linear_found *)szg_arena_take(arena, 1, sizeof *plan->linear_found);
  plan->codes = (uint16_t *)szg_arena_take(arena, frame_grid->value_count, sizeof *plan->codes);
  plan->escape_counts = (uint16_t *)szg_arena_take(arena, frame_grid->tile_count, sizeof(uint16_t));
  return szg_linear_encoder_carve_cuda(arena, frame_grid, &plan->encoder);
}

static szgpu_status carve_tile(szg_arena *arena, const szg_grid *frame_grid,
                               szg_compress_plan_cuda *plan) {
  uint64_t const tiles = frame_grid->tile_count;
  SZG_REQUIRE(tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  plan->tile_found = (szg_tile_found *)szg_arena_take(arena, 1, sizeof *plan->tile_found);
  plan->tile_ranges = (szg_checksum_ranges *)szg_arena_take(arena, 1, sizeof *plan->tile_ranges);
  plan->book_maker = szg_arena_take(arena, szg_tile_book_work_bytes_cuda(), 1);
  plan->tile_work = szg_arena_take(arena, szg_tile_compress_work_bytes_cuda(tiles), 1);
  return SZGPU_OK;
}

static szgpu_status carve_device(szg_arena *arena, const plan_request *request,
                                 szg_compress_plan_cuda *plan) {
  szg_grid const frame_grid = szg_grid_of_rows(request->grid, request->frame_rows);
  uint64_t const tiles = frame_grid.tile_count;
  plan->range_work = (uint8_t *)szg_arena_take(arena, SZG_RANGE_WORK_BYTES, 1);
  plan->choice_work = szg_arena_take(arena, szg_choice_work_bytes_cuda(), 1);
  plan->exact_counts = (uint16_t *)szg_arena_take(arena, 2 * tiles, sizeof(uint16_t));
  plan->fill_counts = (uint16_t *)szg_arena_take(arena, tiles, sizeof(uint16_t));
  plan->tile_marks = (uint8_t *)szg_arena_take(arena, tiles, 1);
  SZG_TRY(szg_places_carve_cuda(arena, tiles, &plan->places));
  uint64_t const most_leaves =
      szg_checksum_leaf_count(frame_grid.value_count * request->value_bytes) +
      2 * SZG_SECTION_KIND_COUNT;
  plan->leaves = (uint64_t *)szg_arena_take(arena, most_leaves, sizeof *plan->leaves);
  plan->roots = (uint64_t *)szg_arena_take(arena, SZG_SECTION_KIND_COUNT, sizeof *plan->roots);
  SZG_TRY(request->layout == SZGPU_LAYOUT_TILE ? carve_tile(arena, &frame_grid, plan)
                                               : carve_linear(arena, &frame_grid, plan));
  plan->field_copy = (uint8_t *)szg_arena_take(arena, request->copies.field_bytes, 1);
  plan->archive_copy = (uint8_t *)szg_arena_take(arena, request->copies.archive_bytes, 1);
  return SZGPU_OK;
}

static szgpu_status carve_pinned(szg_arena *arena, const plan_request *request,
                                 szg_compress_plan_cuda *plan) {
  uint64_t const frames = request->frame_count;
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(frames, &header_bytes), SZGPU_BAD_SHAPE);
  plan->range_back = (uint8_t *)szg_arena_take(arena, SZG_RANGE_WORK_BYTES, 1);
  plan->totals_back = (szg_tile_place *)szg_arena_take(arena, 1, sizeof *plan->totals_back);
  plan->frame_headers = (uint8_t *)szg_arena_take(arena, frames, SZG_MOST_FRAME_HEADER_BYTES);
  plan->header = (uint8_t *)szg_arena_take(arena, header_bytes + SZG_MOST_FRAME_HEADER_BYTES, 1);
  plan->frame_bytes = (uint64_t *)szg_arena_take(arena, frames, sizeof *plan->frame_bytes);
  if (request->layout == SZGPU_LAYOUT_TILE) {
    plan->tile_found_back =
        (szg_tile_found *)szg_arena_take(arena, 1, sizeof *plan->tile_found_back);
    return SZGPU_OK;
  }
  plan->linear_found_back =
      (szg_linear_found *)szg_arena_take(arena, 1, sizeof *plan->linear_found_back);
  plan->table = (uint32_t *)szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *plan->table);
  plan->book_bytes = (uint8_t *)szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  plan->book = (szg_codebook *)szg_arena_take(arena, 1, sizeof *plan->book);
  plan->book_work = (szg_codebook_work *)szg_arena_take(arena, 1, sizeof *plan->book_work);
  return SZGPU_OK;
}

static szgpu_status make_plan(szgpu_ctx *ctx, const plan_request *request,
                              szg_compress_plan_cuda *plan) {
  szg_arena device = {}, pinned = {};
  SZG_TRY(carve_device(&device, request, plan));
  SZG_TRY(szg_cuda_arena_open(ctx, &device, &device));
  SZG_TRY(carve_device(&device, request, plan));
  SZG_TRY(carve_pinned(&pinned, request, plan));
  SZG_TRY(szg_cuda_pinned_open(ctx, &pinned, &pinned));
  return carve_pinned(&pinned, request, plan);
}

/* ---- the call ---- */

/* A call's arguments, with both ends of the work in device memory. */
typedef struct compress_call {
  szgpu_ctx *ctx;
  const szgpu_params *params;
  const szgpu_shape *shape;
  const szg_grid *grid;
  uint64_t frame_rows;
  const uint8_t *field;
  uint8_t *archive;
  uint64_t capacity;
} compress_call;

/* A call's result so far. */
typedef struct archive_state {
  szg_header header; /* but for archive_bytes */
  uint64_t used_bytes;
  bool is_complete; /* the header is in its place */
} archive_state;

static szgpu_status compress_frames(const compress_call *call, const szg_compress_plan_cuda *plan,
                                    const szg_bound_plan *bound, archive_state *state) {
  const szg_grid *const grid = call->grid;
  uint64_t const row_bytes = grid->row_values * szg_dtype_bytes(call->shape->dtype);
  uint64_t const frame_count = state->header.frame_count;
  for (uint64_t frame = 0; frame < frame_count; frame++) {
    uint64_t const first_row = frame * call->frame_rows;
    uint64_t const row_count = szg_min_u64(call->frame_rows, grid->row_extent - first_row);
    szg_frame_job_cuda job = {};
    job.ctx = call->ctx;
    job.dtype = call->shape->dtype;
    job.layout = call->params->layout;
    job.bound = bound;
    job.grid = szg_grid_of_rows(grid, row_count);
    job.values = call->field + first_row * row_bytes;
    job.index = frame;
    job.asked_radius = call->params->radius;
    job.plan = plan;
    job.archive = call->archive;
    job.capacity = call->capacity;
    job.first_byte = state->used_bytes;
    if (frame_count == 1) job.archive_header = &state->header;
    SZG_TRY(szg_compress_frame_cuda(&job, &plan->frame_bytes[frame]));
    state->used_bytes += plan->frame_bytes[frame];
    state->is_complete = job.is_archive_complete;
    uint64_t const total = call->ctx->threads.total_values;
    SZG_TRY(
        szg_report_done(&call->ctx->threads, total / grid->row_extent * (first_row + row_count)));
  }
  return SZGPU_OK;
}

/* Everything in device memory, without zstd. */
static szgpu_status compress_in_place(const compress_call *call, const szg_compress_plan_cuda *plan,
                                      uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  uint64_t const frame_count = szg_div_up(call->grid->row_extent, call->frame_rows);
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(frame_count, &header_bytes), SZGPU_BAD_SHAPE);
  if (call->capacity < header_bytes)
    return szg_fail(ctx, SZGPU_CAPACITY, "the header alone takes %llu bytes",
                    (unsigned long long)header_bytes);
  ctx->threads.done_values = 0;
  ctx->threads.total_values = call->grid->value_count;
  szg_value_source_cuda source;
  szg_value_source_open_cuda(&ctx->device, call->shape->dtype, call->field, call->grid->value_count,
                             plan->range_work, plan->range_back, &source);
  szg_bound_plan bound;
  SZG_TRY(szg_call_bound(call->params, &source.source, &bound));
  SZG_TRY(szg_device_mark(&ctx->device, "range"));
  archive_state state = {};
  state.header = szg_call_header(call->params, call->shape, call->grid, call->frame_rows, &bound);
  state.used_bytes = header_bytes;
  SZG_TRY(compress_frames(call, plan, &bound, &state));
  *used_bytes = state.used_bytes;
  if (state.is_complete) return SZGPU_OK;
  state.header.archive_bytes = state.used_bytes;
  szg_header_write(&state.header, plan->frame_bytes, plan->header);
  SZG_TRY(szg_device_copy(&ctx->device, call->archive, plan->header, header_bytes));
  return szg_device_mark(&ctx->device, "header");
}

/* Brings the archive to the host, packs its sections there and hands the result on. */
static szgpu_status pack_with_zstd(const compress_call *call, void *archive, uint64_t capacity,
                                   bool is_device_archive, uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  uint64_t const plain_bytes = *used_bytes;
  SZG_TRY(szg_buffer_reset(&ctx->plain, plain_bytes));
  SZG_TRY(szg_device_copy(&ctx->device, ctx->plain.bytes, call->archive, plain_bytes));
  SZG_TRY(szg_device_wait(&ctx->device, true));
  szg_opened opened;
  SZG_TRY(szg_open(ctx->plain.bytes, plain_bytes, &opened));
  if (!is_device_archive)
    return szg_recode(ctx, &opened, call->params->zstd_level, archive, capacity, used_bytes);
  SZG_TRY(szg_buffer_reset(&ctx->recoded, plain_bytes));
  SZG_TRY(szg_recode(ctx, &opened, call->params->zstd_level, ctx->recoded.bytes, plain_bytes,
                     used_bytes));
  if (*used_bytes > capacity)
    return szg_fail(ctx, SZGPU_CAPACITY, "%llu bytes are needed", (unsigned long long)*used_bytes);
  SZG_TRY(szg_device_copy(&ctx->device, archive, ctx->recoded.bytes, *used_bytes));
  return szg_device_wait(&ctx->device, false);
}

/* Field and archive to where the kernels can reach them, and back. */
static szgpu_status compress_anywhere(compress_call *call, const void *field, void *archive,
                                      uint64_t capacity, uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  bool is_device_field, is_device_archive;
  SZG_TRY(szg_cuda_reaches(ctx, field, &is_device_field));
  SZG_TRY(szg_cuda_reaches(ctx, archive, &is_device_archive));
  bool const has_zstd = call->params->zstd_level != 0;
  plan_request request = request_of(call->params, call->shape, call->grid);
  szg_copies *const copies = &request.copies;
  if (!is_device_field) copies->field_bytes = call->grid->value_count * request.value_bytes;
  if (!is_device_archive || has_zstd)
    SZG_REQUIRE(szg_max_archive_bytes(call->grid, request.value_bytes, request.frame_count,
                                      &copies->archive_bytes),
                SZGPU_BAD_SHAPE);
  if (is_device_archive && (uintptr_t)archive % SZG_ALIGNMENT != 0)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "an archive on the device must be aligned to %d bytes",
                    (int)SZG_ALIGNMENT);
  szg_compress_plan_cuda plan = {};
  SZG_TRY(make_plan(ctx, &request, &plan));
  call->field = is_device_field ? (const uint8_t *)field : plan.field_copy;
  call->archive = copies->archive_bytes ? plan.archive_copy : (uint8_t *)archive;
  call->capacity = has_zstd ? copies->archive_bytes : capacity;
  if (copies->archive_bytes && copies->archive_bytes < call->capacity)
    call->capacity = copies->archive_bytes;
  SZG_TRY(szg_device_mark(&ctx->device, "begin"));
  if (!is_device_field)
    SZG_TRY(szg_device_copy(&ctx->device, plan.field_copy, field, copies->field_bytes));
  SZG_TRY(szg_device_mark(&ctx->device, "field to device"));
  SZG_TRY(compress_in_place(call, &plan, used_bytes));
  if (has_zstd) return pack_with_zstd(call, archive, capacity, is_device_archive, used_bytes);
  if (!is_device_archive)
    SZG_TRY(szg_device_copy(&ctx->device, archive, call->archive, *used_bytes));
  SZG_TRY(szg_device_mark(&ctx->device, "archive to host"));
  return szg_device_wait(&ctx->device, false);
}

szgpu_status szg_compress_cuda(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, const void *field, void *archive,
                               uint64_t capacity, uint64_t *archive_bytes) {
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  compress_call call = {};
  call.ctx = ctx;
  call.params = params;
  call.shape = shape;
  call.grid = grid;
  call.frame_rows = szg_frame_rows(grid, params->frame_rows);
  return szg_cuda_end(ctx, previous,
                      compress_anywhere(&call, field, archive, capacity, archive_bytes));
}

szgpu_status szg_compress_bounds_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid,
                                      uint64_t *workspace_bytes, uint64_t *archive_bytes) {
  plan_request const in_place = request_of(params, shape, grid);
  SZG_REQUIRE(
      szg_max_archive_bytes(grid, in_place.value_bytes, in_place.frame_count, archive_bytes),
      SZGPU_BAD_SHAPE);
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  szg_compress_plan_cuda plan = {};
  szg_arena arena = {};
  szgpu_status status = carve_device(&arena, &in_place, &plan);
  if (status == SZGPU_OK && arena.overflowed) status = SZGPU_BAD_SHAPE;
  *workspace_bytes = arena.used_bytes;
  return szg_cuda_end(ctx, previous, status);
}

/* For a compression and, of tile frames, for the decompression of what it gives. */
static szgpu_status reserve(szgpu_ctx *ctx, const plan_request *request) {
  szg_compress_plan_cuda plan = {};
  SZG_TRY(make_plan(ctx, request, &plan));
  if (request->layout != SZGPU_LAYOUT_TILE) return SZGPU_OK;
  szg_grid const frame_grid = szg_grid_of_rows(request->grid, request->frame_rows);
  return szg_decompress_reserve_cuda(ctx, &frame_grid, request->frame_count, request->value_bytes,
                                     request->copies.field_bytes, request->copies.archive_bytes);
}

szgpu_status szg_compress_reserve_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                       const szgpu_shape *shape, const szg_grid *grid) {
  plan_request request = request_of(params, shape, grid);
  if (ctx->options.backend == SZGPU_BACKEND_AUTO) { /* both are in host memory */
    request.copies.field_bytes = grid->value_count * request.value_bytes;
    SZG_REQUIRE(szg_max_archive_bytes(grid, request.value_bytes, request.frame_count,
                                      &request.copies.archive_bytes),
                SZGPU_BAD_SHAPE);
  }
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  return szg_cuda_end(ctx, previous, reserve(ctx, &request));
}
