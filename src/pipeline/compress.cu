/* compress.cu - a field to an archive on the GPU; the twin of compress.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   field --range--> [host: bound, step] --frame by frame-->
 *     tile    codebook, tile sizes, bitstream --> [host: places of the others] -->
 *     linear  codes, counts --> [host: codebook, places of all sections] --> sections -->
 *             (without loss there are no outliers, but stored planes)
 *     planes  counts --> [host: books] --> sizes --> [host: places of sections] --> sections -->
 *   checksums --> archive
 *
 * The host is waited for twice, at the brackets, for a field of one frame; once more a frame. The
 * second falls away for a tile frame that is alone and has no outliers, the first one without loss,
 * where no bound is to be derived.
 */
#include "pipeline/compress_cuda.h"
#include "pipeline/decompress_cuda.h"
#include "pipeline/plan.h"
#include "pipeline/planes_frame.h"

/* What of field and archive is in host memory and needs a copy on the device. */
typedef struct szg_copies {
  uint64_t field_bytes, archive_bytes; /* 0: in place */
} szg_copies;

/* What the memory of a call follows from. */
typedef struct plan_request {
  szgpu_layout layout;
  bool is_lossless;
  szgpu_dtype dtype;
  szg_grid frame_grid; /* of the largest frame */
  uint64_t frame_count;
  size_t value_bytes;
  szg_copies copies;
} plan_request;

static plan_request request_of(const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid) {
  plan_request request = {};
  request.layout = params->layout;
  request.is_lossless = params->mode == SZGPU_MODE_LOSSLESS;
  request.dtype = shape->dtype;
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  request.frame_grid = szg_call_grid(params, grid, frame_rows);
  request.frame_count = szg_div_up(grid->row_extent, frame_rows);
  request.value_bytes = szg_dtype_bytes(shape->dtype);
  return request;
}

static szgpu_status carve_stream(szg_arena *arena, const szg_grid *frame_grid,
                                 szg_compress_plan_cuda *plan) {
  plan->codes =
      (uint16_t *)szg_arena_take(arena, szg_align_up(frame_grid->value_count, 8), sizeof(uint16_t));
  return szg_linear_encoder_carve_cuda(arena, frame_grid, &plan->encoder);
}

/* What is 0 when work on a frame begins, but for the rest of choice_work. */
static szgpu_status carve_zeroed(szg_arena *arena, szgpu_layout layout, uint64_t tiles,
                                 szg_compress_plan_cuda *plan) {
  uint64_t const first_byte = arena->used_bytes;
  plan->range_work = (uint8_t *)szg_arena_take(arena, SZG_RANGE_WORK_BYTES, 1);
  plan->ticket = (uint32_t *)szg_arena_take(arena, 1, sizeof *plan->ticket);
  if (layout != SZGPU_LAYOUT_TILE) {
    plan->linear_found = (szg_linear_found *)szg_arena_take(arena, 1, sizeof *plan->linear_found);
  } else {
    SZG_REQUIRE(tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
    plan->tile_found = (szg_tile_found *)szg_arena_take(arena, 1, sizeof *plan->tile_found);
    plan->book_maker = szg_arena_take(arena, szg_tile_book_work_bytes_cuda(), 1);
    plan->tile_work = szg_arena_take(arena, szg_tile_compress_work_bytes_cuda(tiles), 1);
  }
  plan->zeroed = plan->range_work;
  plan->zeroed_bytes = arena->used_bytes - first_byte + szg_choice_zeroed_bytes_cuda();
  plan->choice_work = szg_arena_take(arena, szg_choice_work_bytes_cuda(), 1);
  return SZGPU_OK;
}

/* What frames with a bound work on. */
static szgpu_status carve_bounded(szg_arena *arena, const plan_request *request,
                                  szg_compress_plan_cuda *plan) {
  uint64_t const tiles = request->frame_grid.tile_count;
  SZG_TRY(carve_zeroed(arena, request->layout, tiles, plan));
  plan->exact_counts = (uint16_t *)szg_arena_take(arena, 2 * tiles, sizeof(uint16_t));
  plan->fill_counts = (uint16_t *)szg_arena_take(arena, tiles, sizeof(uint16_t));
  plan->tile_marks = (uint8_t *)szg_arena_take(arena, tiles, 1);
  SZG_TRY(szg_places_carve_cuda(arena, tiles, &plan->places));
  if (request->layout == SZGPU_LAYOUT_LINEAR) {
    plan->escape_counts = (uint16_t *)szg_arena_take(arena, tiles, sizeof(uint16_t));
    return carve_stream(arena, &request->frame_grid, plan);
  }
  return szg_planes_plan_carve_cuda(arena, request->dtype, request->frame_grid.value_count,
                                    &plan->planes);
}

static szgpu_status carve_lossless(szg_arena *arena, const plan_request *request,
                                   szg_compress_plan_cuda *plan) {
  bool const is_linear = request->layout == SZGPU_LAYOUT_LINEAR;
  uint64_t const first_byte = arena->used_bytes;
  plan->ticket = (uint32_t *)szg_arena_take(arena, 1, sizeof *plan->ticket);
  plan->top_counts = (uint64_t *)szg_arena_take(arena, is_linear ? SZG_PLANES_SYMBOLS : 0,
                                                sizeof *plan->top_counts);
  plan->zeroed = (uint8_t *)plan->ticket;
  plan->zeroed_bytes = arena->used_bytes - first_byte;
  if (is_linear) return carve_stream(arena, &request->frame_grid, plan);
  return szg_planes_plan_carve_cuda(arena, request->dtype, request->frame_grid.value_count,
                                    &plan->planes);
}

static szgpu_status carve_device(szg_arena *arena, const plan_request *request,
                                 szg_compress_plan_cuda *plan) {
  SZG_TRY(request->is_lossless ? carve_lossless(arena, request, plan)
                               : carve_bounded(arena, request, plan));
  uint64_t const most_leaves =
      szg_checksum_leaf_count(request->frame_grid.value_count * request->value_bytes) +
      2 * SZG_SECTION_KIND_COUNT;
  plan->leaves = (uint64_t *)szg_arena_take(arena, most_leaves, sizeof *plan->leaves);
  plan->field_copy = (uint8_t *)szg_arena_take(arena, request->copies.field_bytes, 1);
  plan->archive_copy = (uint8_t *)szg_arena_take(arena, request->copies.archive_bytes, 1);
  return SZGPU_OK;
}

static void carve_pinned_linear(szg_arena *arena, bool is_lossless, szg_compress_plan_cuda *plan) {
  if (is_lossless)
    plan->top_counts_back = (uint64_t *)szg_arena_take(arena, SZG_PLANES_SYMBOLS, sizeof(uint64_t));
  else
    plan->linear_found_back =
        (szg_linear_found *)szg_arena_take(arena, 1, sizeof *plan->linear_found_back);
  plan->table = (uint32_t *)szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof *plan->table);
  plan->book_bytes = (uint8_t *)szg_arena_take(arena, SZG_CODEBOOK_MAX_BYTES, 1);
  plan->book = (szg_codebook *)szg_arena_take(arena, 1, sizeof *plan->book);
  plan->book_work = (szg_codebook_work *)szg_arena_take(arena, 1, sizeof *plan->book_work);
}

static szgpu_status carve_pinned(szg_arena *arena, const plan_request *request,
                                 szg_compress_plan_cuda *plan) {
  uint64_t const frames = request->frame_count;
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(frames, &header_bytes), SZGPU_BAD_SHAPE);
  plan->range_back = (uint8_t *)szg_arena_take(arena, SZG_RANGE_WORK_BYTES, 1);
  plan->totals_back = (szg_tile_place *)szg_arena_take(arena, 1, sizeof *plan->totals_back);
  plan->frame_headers = (uint8_t *)szg_arena_take(arena, frames, SZG_MOST_FRAME_HEADER_BYTES);
  plan->header = (uint8_t *)szg_arena_take(arena, header_bytes, 1);
  plan->frame_bytes = (uint64_t *)szg_arena_take(arena, frames, sizeof *plan->frame_bytes);
  if (request->layout == SZGPU_LAYOUT_LINEAR) {
    carve_pinned_linear(arena, request->is_lossless, plan);
    return SZGPU_OK;
  }
  szg_planes_plan_carve_pinned(arena, request->dtype, &plan->planes);
  if (!request->is_lossless)
    plan->tile_found_back =
        (szg_tile_found *)szg_arena_take(arena, 1, sizeof *plan->tile_found_back);
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

/* A call's arguments. Field and archive are on the device; of those in host memory it is copies. */
typedef struct compress_call {
  szgpu_ctx *ctx;
  const szgpu_params *params;
  const szgpu_shape *shape;
  const szg_grid *grid;
  uint64_t frame_rows;
  const uint8_t *field;
  uint8_t *archive;
  uint64_t capacity;
  const void *host_field; /* NULL: the field is on the device */
  uint8_t *host_archive;  /* NULL: the archive stays on the device, for the time being */
  bool is_archive_pinned; /* and in host memory */
} compress_call;

/* A call's result so far. */
typedef struct archive_state {
  szg_header header; /* but for archive_bytes */
  uint64_t used_bytes;
  uint64_t sent_bytes; /* on their way to the host; the header goes last */
  bool is_complete;    /* the header is in its place */
} archive_state;

/* Of an archive, on its way to the host: a tenth of a millisecond on the link. */
enum { PART_BYTES = 1 << 22 };

/* Least, greatest and fill value, and with them the bound; the field is on the device then. */
static szgpu_status find_bound(const compress_call *call, const szg_compress_plan_cuda *plan,
                               szg_bound_plan *bound) {
  szg_device *const device = &call->ctx->device;
  szgpu_dtype const dtype = call->shape->dtype;
  uint64_t const value_count = call->grid->value_count;
  szg_value_source_cuda there;
  szg_upload_cuda upload;
  const szg_value_source *source = &there.source;
  szg_value_source_open_cuda(device, dtype, call->field, value_count, plan->range_work,
                             plan->range_back, &there);
  if (call->host_field) {
    szg_upload_open_cuda(&there, call->host_field, plan->field_copy, &upload);
    source = &upload.source;
  }
  SZG_TRY(szg_device_set(device, plan->zeroed, 0, plan->zeroed_bytes));
  SZG_TRY(szg_call_bound(call->params, source, bound));
  return szg_device_mark(device, "range");
}

/* Without loss nothing is to be known of the values beforehand. */
static szgpu_status bring_field(const compress_call *call, const szg_compress_plan_cuda *plan) {
  szg_device *const device = &call->ctx->device;
  uint64_t const byte_count = call->grid->value_count * szg_dtype_bytes(call->shape->dtype);
  SZG_TRY(szg_device_set(device, plan->zeroed, 0, plan->zeroed_bytes));
  if (!call->host_field) return SZGPU_OK;
  SZG_TRY(szg_device_copy(device, plan->field_copy, call->host_field, byte_count));
  return szg_device_mark(device, "field to device");
}

/* Part of the archive to the host, while the stream goes on. */
static szgpu_status send_down(const compress_call *call, uint64_t first_byte, uint64_t end_byte) {
  szg_device *const device = &call->ctx->device;
  SZG_TRY(szg_device_fork(device, SZG_SIDE_COPIES));
  return szg_device_copy_beside(device, SZG_SIDE_COPIES, call->host_archive + first_byte,
                                call->archive + first_byte, end_byte - first_byte);
}

/* Frames that are complete, where copies leave the host alone. */
static szgpu_status send_frames(const compress_call *call, archive_state *state) {
  bool const pays = state->used_bytes - state->sent_bytes >= PART_BYTES;
  if (!call->is_archive_pinned || !pays) return SZGPU_OK;
  SZG_TRY(send_down(call, state->sent_bytes, state->used_bytes));
  state->sent_bytes = state->used_bytes;
  return SZGPU_OK;
}

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
    job.grid = szg_call_grid(call->params, grid, row_count);
    job.values = call->field + first_row * row_bytes;
    job.index = frame;
    job.asked_radius = call->params->radius;
    job.has_gaps = state->header.has_gaps;
    job.plan = plan;
    job.archive = call->archive;
    job.capacity = call->capacity;
    job.first_byte = state->used_bytes;
    if (frame_count == 1) job.archive_header = &state->header;
    if (frame > 0) SZG_TRY(szg_device_set(&call->ctx->device, plan->zeroed, 0, plan->zeroed_bytes));
    SZG_TRY(szg_compress_frame_cuda(&job, &plan->frame_bytes[frame]));
    state->used_bytes += plan->frame_bytes[frame];
    state->is_complete = job.is_archive_complete;
    state->header.has_planes = state->header.has_planes || job.has_planes;
    if (frame + 1 < frame_count) SZG_TRY(send_frames(call, state));
    uint64_t const total = call->ctx->threads.total_values;
    SZG_TRY(
        szg_report_done(&call->ctx->threads, total / grid->row_extent * (first_row + row_count)));
  }
  return SZGPU_OK;
}

/* The header, unless it is there, and the rest of the archive to the host. */
static szgpu_status finish_archive(const compress_call *call, const szg_compress_plan_cuda *plan,
                                   archive_state *state, uint64_t header_bytes) {
  szg_device *const device = &call->ctx->device;
  if (!state->is_complete) {
    state->header.archive_bytes = state->used_bytes;
    szg_header_write(&state->header, plan->frame_bytes, plan->header);
    SZG_TRY(szg_device_copy(device, call->archive, plan->header, header_bytes));
    SZG_TRY(szg_device_mark(device, "header"));
  }
  if (!call->host_archive) return SZGPU_OK;
  bool const is_begun = state->sent_bytes > header_bytes;
  if (is_begun) SZG_TRY(send_down(call, 0, header_bytes));
  SZG_TRY(send_down(call, is_begun ? state->sent_bytes : 0, state->used_bytes));
  SZG_TRY(szg_device_join(device, SZG_SIDE_COPIES));
  return szg_device_mark(device, "archive to host");
}

/* Without zstd. */
static szgpu_status compress_plain(const compress_call *call, const szg_compress_plan_cuda *plan,
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
  bool const is_lossless = call->params->mode == SZGPU_MODE_LOSSLESS;
  szg_bound_plan bound;
  SZG_TRY(is_lossless ? bring_field(call, plan) : find_bound(call, plan, &bound));
  archive_state state = {};
  state.header = szg_call_header(call->params, call->shape, call->grid, call->frame_rows,
                                 is_lossless ? NULL : &bound);
  state.used_bytes = state.sent_bytes = header_bytes;
  SZG_TRY(compress_frames(call, plan, is_lossless ? NULL : &bound, &state));
  *used_bytes = state.used_bytes;
  return finish_archive(call, plan, &state, header_bytes);
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
  call->host_field = is_device_field ? NULL : field;
  call->archive = copies->archive_bytes ? plan.archive_copy : (uint8_t *)archive;
  call->host_archive = is_device_archive || has_zstd ? NULL : (uint8_t *)archive;
  call->is_archive_pinned = call->host_archive && szg_device_is_pinned(archive);
  call->capacity = has_zstd ? copies->archive_bytes : capacity;
  if (copies->archive_bytes && copies->archive_bytes < call->capacity)
    call->capacity = copies->archive_bytes;
  SZG_TRY(szg_device_mark(&ctx->device, "begin"));
  SZG_TRY(compress_plain(call, &plan, used_bytes));
  if (has_zstd) return pack_with_zstd(call, archive, capacity, is_device_archive, used_bytes);
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
  call.frame_rows = szg_frame_rows(grid, shape->dtype, params->frame_rows);
  return szg_cuda_end(ctx, previous,
                      compress_anywhere(&call, field, archive, capacity, archive_bytes));
}

szgpu_status szg_compress_sizes_cuda(szgpu_ctx *ctx, const szgpu_params *params,
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
  if (request->layout != SZGPU_LAYOUT_TILE || request->is_lossless) return SZGPU_OK;
  return szg_decompress_reserve_cuda(ctx, &request->frame_grid, request->frame_count,
                                     request->value_bytes, request->copies.field_bytes,
                                     request->copies.archive_bytes);
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
