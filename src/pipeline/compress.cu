/* compress.cu - a field to an archive on the GPU; the twin of compress.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   field --range--> [host: bound, step] --frame by frame--> sections, checksums --> archive
 *
 * The stream waits for the host at the bracket, unless the archive is lossless and has no bound to
 * derive. In a frame it waits as often as the frame's kind needs (docs/pipeline.md has the list).
 */
#include <string.h>

#include "container/compact.h"
#include "core/bytes.h"
#include "frames/kinds_cuda.h"
#include "pipeline/cuda.h"
#include "pipeline/decompress_cuda.h"
#include "pipeline/mapped_source.h"
#include "pipeline/upload.h"

/* Device copies of a field or archive in host memory. */
typedef struct szg_copies {
  uint64_t field_bytes, archive_bytes; /* 0: no copy */
} szg_copies;

/* What decides how much memory a call takes. */
typedef struct plan_request {
  szg_write_request frames;
  szg_copies copies;
} plan_request;

/* A call's memory, except the field and the archive. */
typedef struct compress_plan {
  szg_write_plan_cuda frames;
  uint8_t *field_copy;   /* if the field is in host memory */
  uint8_t *archive_copy; /* if the archive goes to host memory */
  /* pinned */
  uint8_t *range_back;
  uint64_t *frame_bytes; /* [frames] */
  uint8_t *header;
} compress_plan;

static plan_request request_of(const szgpu_ctx *ctx, const szgpu_params *params,
                               const szgpu_shape *shape, const szg_grid *grid) {
  return {szg_call_request(ctx, params, shape->dtype, grid), {0, 0}};
}

static szgpu_status max_archive_bytes(const plan_request *request, const szg_grid *grid,
                                      uint64_t *archive_bytes) {
  SZG_REQUIRE(szg_max_archive_bytes(grid, szg_dtype_bytes(request->frames.mapping.outer),
                                    request->frames.frame_count, archive_bytes),
              SZGPU_BAD_SHAPE);
  return SZGPU_OK;
}

static szgpu_status carve_device(szg_arena *arena, const plan_request *request,
                                 compress_plan *plan) {
  SZG_TRY(szg_write_plan_carve_cuda(arena, &request->frames, &plan->frames));
  plan->field_copy = (uint8_t *)szg_arena_take(arena, request->copies.field_bytes, 1);
  plan->archive_copy = (uint8_t *)szg_arena_take(arena, request->copies.archive_bytes, 1);
  return SZGPU_OK;
}

static szgpu_status carve_pinned(szg_arena *arena, const plan_request *request,
                                 compress_plan *plan) {
  uint64_t const frames = request->frames.frame_count;
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes_with(frames, SZG_MOST_MORE_BYTES, &header_bytes), SZGPU_BAD_SHAPE);
  plan->range_back = (uint8_t *)szg_arena_take(arena, SZG_PICK_WORK_BYTES, 1);
  plan->header = (uint8_t *)szg_arena_take(arena, header_bytes, 1);
  plan->frame_bytes = (uint64_t *)szg_arena_take(arena, frames, sizeof *plan->frame_bytes);
  szg_write_plan_carve_pinned(arena, &request->frames, &plan->frames);
  return SZGPU_OK;
}

static szgpu_status make_plan(szgpu_ctx *ctx, const plan_request *request, compress_plan *plan) {
  szg_arena device = {}, pinned = {};
  SZG_TRY(carve_device(&device, request, plan));
  SZG_TRY(szg_cuda_arena_open(ctx, &device, &device));
  SZG_TRY(carve_device(&device, request, plan));
  SZG_TRY(carve_pinned(&pinned, request, plan));
  SZG_TRY(szg_cuda_pinned_open(ctx, &pinned, &pinned));
  return carve_pinned(&pinned, request, plan);
}

/* ---- the call ---- */

/* A call's arguments. Field and archive are on the device, as copies if they are in host memory. */
typedef struct compress_call {
  szgpu_ctx *ctx;
  const szgpu_params *params;
  const szgpu_shape *shape;
  const szg_grid *grid;
  const szg_write_request *request;
  const uint8_t *field;
  uint8_t *archive;
  uint64_t capacity;
  const void *host_field; /* NULL: the field is on the device */
  uint8_t *host_archive;  /* NULL: the archive stays on the device for now */
  bool is_archive_pinned; /* it is in pinned host memory */
  bool is_compacted;      /* on the host, once it is complete */
  szg_frame_piece *piece; /* NULL: the whole archive; else one of its frames, alone: field, grid and
                             archive are the frame's */
} compress_call;

/* A call's result so far. */
typedef struct archive_state {
  szg_header header; /* except archive_bytes */
  uint64_t used_bytes;
  uint64_t sent_bytes; /* on their way to the host; the header goes last */
  bool is_complete;    /* the header is in its place */
} archive_state;

/* An archive goes to the host in parts of at least this size: 0.1 ms on the link. */
enum { PART_BYTES = 1 << 22 };

static szgpu_status set_zeroed(const compress_call *call, const compress_plan *plan) {
  return szg_device_set(&call->ctx->device, plan->frames.zeroed, 0, plan->frames.zeroed_bytes);
}

/* Brings the field to the device if nothing needs to be known about its values. */
static szgpu_status bring_field(const compress_call *call, const compress_plan *plan) {
  szg_device *const device = &call->ctx->device;
  uint64_t const byte_count = call->grid->value_count * szg_dtype_bytes(call->shape->dtype);
  SZG_TRY(set_zeroed(call, plan));
  if (!call->host_field) return SZGPU_OK;
  SZG_TRY(szg_device_copy(device, plan->field_copy, call->host_field, byte_count));
  return szg_device_mark(device, "field to device");
}

/* The same for a field of values that are coded in a wider type. */
static szgpu_status find_mapped_bound(const compress_call *call, const compress_plan *plan,
                                      szg_bound_tries tries, bool *is_there,
                                      szg_bound_plan *bound) {
  szg_device *const device = &call->ctx->device;
  szg_mapped_source_cuda mapped;
  SZG_TRY(*is_there ? set_zeroed(call, plan) : bring_field(call, plan));
  *is_there = true;
  szg_mapped_source_open_cuda(device, &call->request->mapping, call->field, call->grid->value_count,
                              plan->frames.inner_values, call->request->frame_grid.value_count,
                              szg_sign_words_cuda(&plan->frames), plan->frames.range_work,
                              plan->range_back, &mapped);
  SZG_TRY(szg_call_bound(call->params, call->grid, &mapped.source, tries, bound));
  return szg_device_mark(device, "range");
}

/* A declared magnitude: values are only looked at if restored ones are to be kept. */
static szgpu_status find_declared_bound(const compress_call *call, const compress_plan *plan,
                                        szg_bound_tries tries, szg_bound_plan *bound) {
  szg_value_source_cuda there;
  SZG_TRY(bring_field(call, plan));
  szg_value_source_open_cuda(&call->ctx->device, call->request->dtype, call->field,
                             call->grid->value_count, plan->frames.range_work, plan->range_back,
                             &there);
  there.source.mapping = call->request->mapping;
  return szg_call_bound(call->params, call->grid, &there.source, tries, bound);
}

/* Brings the field to the device, slice by slice, each once: what the host's memory then changes to
 * does not matter. Derives the bound from its least, greatest and fill value, or from a sample.
 * is_there: whether the field is on the device. */
static szgpu_status find_bound(const compress_call *call, const compress_plan *plan,
                               szg_bound_tries tries, bool *is_there, szg_bound_plan *bound) {
  const szg_mapping *const mapping = &call->request->mapping;
  if (szg_call_has_declared_bound(call->params, mapping))
    return find_declared_bound(call, plan, tries, bound);
  if (szg_is_mapped(mapping)) return find_mapped_bound(call, plan, tries, is_there, bound);
  szg_device *const device = &call->ctx->device;
  szgpu_dtype const dtype = call->shape->dtype;
  uint64_t const value_count = call->grid->value_count;
  szg_value_source_cuda there;
  szg_upload_cuda upload;
  const szg_value_source *source = &there.source;
  szg_value_source_open_cuda(device, dtype, call->field, value_count, plan->frames.range_work,
                             plan->range_back, &there);
  if (!*is_there) {
    szg_upload_open_cuda(&there, call->host_field, plan->field_copy, is_there, &upload);
    source = &upload.source;
  }
  SZG_TRY(set_zeroed(call, plan));
  SZG_TRY(szg_call_bound(call->params, call->grid, source, tries, bound));
  return szg_device_mark(device, "range");
}

/* Copies part of the archive to the host while the stream goes on. */
static szgpu_status send_down(const compress_call *call, uint64_t first_byte, uint64_t end_byte) {
  szg_device *const device = &call->ctx->device;
  SZG_TRY(szg_device_fork(device, SZG_SIDE_COPIES));
  return szg_device_copy_beside(device, SZG_SIDE_COPIES, call->host_archive + first_byte,
                                call->archive + first_byte, end_byte - first_byte);
}

/* Sends complete frames to the host, if such copies do not block it. */
static szgpu_status send_frames(const compress_call *call, archive_state *state) {
  bool const pays = state->used_bytes - state->sent_bytes >= PART_BYTES;
  if (!call->is_archive_pinned || !pays) return SZGPU_OK;
  SZG_TRY(send_down(call, state->sent_bytes, state->used_bytes));
  state->sent_bytes = state->used_bytes;
  return SZGPU_OK;
}

/* values: of the frame. fails: the bound does; then the frame is missing. */
static szgpu_status compress_frame(const compress_call *call, const compress_plan *plan,
                                   const szg_bound_plan *bound, uint64_t frame,
                                   const szg_grid *grid, const uint8_t *values,
                                   archive_state *state, uint64_t *frame_bytes, bool *fails) {
  szg_write_job_cuda job = {};
  job.ctx = call->ctx;
  job.request = call->request;
  job.asked_radius = call->params->radius;
  job.has_gaps = state->header.has_gaps;
  job.bound = bound;
  job.grid = *grid;
  job.field_values = values;
  job.index = frame;
  job.plan = &plan->frames;
  job.archive = call->archive;
  job.capacity = call->capacity;
  job.first_byte = state->used_bytes;
  if (state->header.frame_count == 1 && !call->piece) job.archive_header = &state->header;
  szgpu_status const status = szg_frame_write_cuda(&job, &state->header, frame_bytes);
  *fails = szg_bound_fails(bound, job.has_strays);
  if (*fails) return SZGPU_OK; /* even if there was no room for the strays */
  SZG_TRY(status);
  state->used_bytes += *frame_bytes;
  state->is_complete = job.is_archive_complete;
  return SZGPU_OK;
}

/* fails: the bound does; then some frames are missing. */
static szgpu_status compress_frames(const compress_call *call, const compress_plan *plan,
                                    const szg_bound_plan *bound, archive_state *state,
                                    bool *fails) {
  const szg_grid *const grid = call->grid;
  uint64_t const row_bytes = grid->row_values * szg_dtype_bytes(call->shape->dtype);
  uint64_t const frame_count = state->header.frame_count;
  uint64_t const frame_rows = state->header.frame_rows;
  *fails = false;
  for (uint64_t frame = 0; frame < frame_count; frame++) {
    uint64_t const first_row = frame * frame_rows;
    uint64_t const row_count = szg_min_u64(frame_rows, grid->row_extent - first_row);
    szg_grid const frame_grid = szg_grid_of_rows(grid, row_count);
    if (frame > 0) SZG_TRY(set_zeroed(call, plan));
    SZG_TRY(compress_frame(call, plan, bound, frame, &frame_grid,
                           call->field + first_row * row_bytes, state, &plan->frame_bytes[frame],
                           fails));
    if (*fails) return SZGPU_OK;
    if (frame + 1 < frame_count) SZG_TRY(send_frames(call, state));
    uint64_t const total = call->ctx->threads.total_values;
    SZG_TRY(
        szg_report_done(&call->ctx->threads, total / grid->row_extent * (first_row + row_count)));
  }
  return SZGPU_OK;
}

/* Writes the header, unless it is written, and copies the rest of the archive to the host. */
static szgpu_status finish_archive(const compress_call *call, const compress_plan *plan,
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

/* Writes the archive. bound: NULL if it is lossless. */
static szgpu_status write_archive(const compress_call *call, const compress_plan *plan,
                                  const szg_bound_plan *bound, uint64_t *used_bytes, bool *fails) {
  szgpu_ctx *const ctx = call->ctx;
  archive_state state = {};
  uint64_t header_bytes;
  ctx->threads.done_values = 0;
  ctx->threads.total_values = call->grid->value_count;
  state.header = szg_call_header(call->params, call->shape, call->grid, bound);
  SZG_REQUIRE(szg_header_bytes(&state.header, &header_bytes), SZGPU_BAD_SHAPE);
  if (call->capacity < header_bytes)
    return szg_fail(ctx, SZGPU_CAPACITY, "the header alone takes %llu bytes",
                    (unsigned long long)header_bytes);
  state.used_bytes = state.sent_bytes = header_bytes;
  SZG_TRY(compress_frames(call, plan, bound, &state, fails));
  if (*fails) return SZGPU_OK;
  *used_bytes = state.used_bytes;
  return finish_archive(call, plan, &state, header_bytes);
}

/* Writes a frame alone, under a bound that is known. */
static szgpu_status write_piece(const compress_call *call, const compress_plan *plan,
                                uint64_t *used_bytes) {
  szg_frame_piece *const piece = call->piece;
  szg_device *const device = &call->ctx->device;
  archive_state state = {};
  state.header = piece->header;
  SZG_TRY(bring_field(call, plan));
  SZG_TRY(compress_frame(call, plan, piece->bound, piece->frame, call->grid, call->field, &state,
                         &plan->frame_bytes[0], &piece->fails));
  if (piece->fails) return SZGPU_OK;
  piece->header = state.header;
  piece->frame_bytes = *used_bytes = state.used_bytes;
  if (!call->host_archive) return SZGPU_OK;
  piece->placed = piece->place(piece->place_user, piece->frame, state.used_bytes);
  void *const to = piece->placed ? piece->placed : call->host_archive;
  SZG_TRY(szg_device_copy(device, to, call->archive, state.used_bytes));
  return szg_device_mark(device, "archive to host");
}

/* Compresses without zstd, under a bound that follows from as few values as possible. */
static szgpu_status compress_plain(const compress_call *call, const compress_plan *plan,
                                   uint64_t *used_bytes) {
  if (call->piece) return write_piece(call, plan, used_bytes);
  szg_bound_tries tries = szg_bound_first_try();
  bool fails, is_there = !call->host_field;
  if (call->request->is_lossless) {
    SZG_TRY(bring_field(call, plan));
    return write_archive(call, plan, NULL, used_bytes, &fails);
  }
  do {
    szg_bound_plan bound;
    SZG_TRY(find_bound(call, plan, tries, &is_there, &bound));
    SZG_TRY(write_archive(call, plan, &bound, used_bytes, &fails));
    szg_bound_next_try(&bound, &tries);
  } while (fails);
  return SZGPU_OK;
}

/* Delivers an archive that is in ctx->kept[from]. */
static szgpu_status deliver(const compress_call *call, int from, void *archive, uint64_t capacity,
                            bool is_device_archive, uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  if (*used_bytes > capacity)
    return szg_fail(ctx, SZGPU_CAPACITY, "%llu bytes are needed", (unsigned long long)*used_bytes);
  if (!is_device_archive) {
    memcpy(archive, ctx->kept[from].bytes, *used_bytes);
    return SZGPU_OK;
  }
  SZG_TRY(szg_device_copy(&ctx->device, archive, ctx->kept[from].bytes, *used_bytes));
  return szg_device_wait(&ctx->device, false);
}

/* Delivers the compact form of an archive that is in ctx->kept[from]. */
static szgpu_status deliver_compact(const compress_call *call, int from, void *archive,
                                    uint64_t capacity, bool is_device_archive,
                                    uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  const szg_buffer *const plain = &ctx->kept[from];
  uint64_t const plain_bytes = *used_bytes;
  int const to = from == SZG_KEPT_PLAIN ? SZG_KEPT_RECODED : SZG_KEPT_PLAIN;
  if (!is_device_archive)
    return szg_compact_write(ctx, plain->bytes, plain_bytes, (uint8_t *)archive, capacity,
                             used_bytes);
  SZG_TRY(szg_buffer_reset(&ctx->kept[to], plain_bytes));
  SZG_TRY(szg_compact_write(ctx, plain->bytes, plain_bytes, ctx->kept[to].bytes, plain_bytes,
                            used_bytes));
  return deliver(call, to, archive, capacity, is_device_archive, used_bytes);
}

/* Brings the archive to the host, packs its sections there and delivers the result. */
static szgpu_status pack_with_zstd(const compress_call *call, void *archive, uint64_t capacity,
                                   bool is_device_archive, uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  uint64_t const plain_bytes = *used_bytes;
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_PLAIN], plain_bytes));
  SZG_TRY(
      szg_device_copy(&ctx->device, ctx->kept[SZG_KEPT_PLAIN].bytes, call->archive, plain_bytes));
  SZG_TRY(szg_device_wait(&ctx->device, true));
  szg_opened opened;
  SZG_TRY(szg_open_in_place(ctx->kept[SZG_KEPT_PLAIN].bytes, plain_bytes, &opened));
  if (!is_device_archive && !call->is_compacted)
    return szg_recode(ctx, &opened, call->params->zstd_level, archive, capacity, used_bytes);
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_RECODED], plain_bytes));
  SZG_TRY(szg_recode(ctx, &opened, call->params->zstd_level, ctx->kept[SZG_KEPT_RECODED].bytes,
                     plain_bytes, used_bytes));
  return call->is_compacted
             ? deliver_compact(call, SZG_KEPT_RECODED, archive, capacity, is_device_archive,
                               used_bytes)
             : deliver(call, SZG_KEPT_RECODED, archive, capacity, is_device_archive, used_bytes);
}

/* Compresses wherever field and archive are: the device gets copies of those in host memory. */
static szgpu_status compress_anywhere(compress_call *call, plan_request *request, const void *field,
                                      void *archive, uint64_t capacity, uint64_t *used_bytes) {
  szgpu_ctx *const ctx = call->ctx;
  bool is_device_field, is_device_archive;
  SZG_TRY(szg_cuda_reaches(ctx, field, &is_device_field));
  SZG_TRY(szg_cuda_reaches(ctx, archive, &is_device_archive));
  bool const has_zstd = call->params->zstd_level != 0;
  szg_copies *const copies = &request->copies;
  if (!is_device_field)
    copies->field_bytes = call->grid->value_count * szg_dtype_bytes(call->shape->dtype);
  bool const is_compacted = !call->piece && request->frames.is_compacted;
  if (!is_device_archive || has_zstd || is_compacted)
    SZG_TRY(max_archive_bytes(request, call->grid, &copies->archive_bytes));
  if (is_device_archive && (uintptr_t)archive % SZG_ALIGNMENT != 0)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "an archive on the device must be aligned to %d bytes",
                    (int)SZG_ALIGNMENT);
  compress_plan plan = {};
  SZG_TRY(make_plan(ctx, request, &plan));
  call->field = is_device_field ? (const uint8_t *)field : plan.field_copy;
  call->host_field = is_device_field ? NULL : field;
  call->archive = copies->archive_bytes ? plan.archive_copy : (uint8_t *)archive;
  call->is_compacted = is_compacted;
  call->host_archive = is_device_archive || has_zstd ? NULL : (uint8_t *)archive;
  if (is_compacted && !has_zstd) {
    SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_PLAIN], copies->archive_bytes));
    call->host_archive = ctx->kept[SZG_KEPT_PLAIN].bytes;
  }
  call->is_archive_pinned = call->host_archive && szg_device_is_pinned(call->host_archive);
  call->capacity = has_zstd || is_compacted ? copies->archive_bytes : capacity;
  if (copies->archive_bytes && copies->archive_bytes < call->capacity)
    call->capacity = copies->archive_bytes;
  SZG_TRY(szg_device_mark(&ctx->device, "begin"));
  SZG_TRY(compress_plain(call, &plan, used_bytes));
  if (has_zstd) return pack_with_zstd(call, archive, capacity, is_device_archive, used_bytes);
  SZG_TRY(szg_device_wait(&ctx->device, false));
  if (!is_compacted) return SZGPU_OK;
  return deliver_compact(call, SZG_KEPT_PLAIN, archive, capacity, is_device_archive, used_bytes);
}

/* Joins axes of a field in either memory. */
static szgpu_status join_anywhere(szgpu_ctx *ctx, const szgpu_params *params,
                                  const szgpu_shape *shape, const void *field, szg_grid *grid) {
  bool is_device_field;
  SZG_TRY(szg_cuda_reaches(ctx, field, &is_device_field));
  if (!is_device_field) return szg_join_cpu(ctx, params, shape, field, grid);
  szg_arena pinned = {};
  (void)szg_arena_take(&pinned, SZG_PICK_WORK_BYTES, 1);
  SZG_TRY(szg_cuda_pinned_open(ctx, &pinned, &pinned));
  void *const back = szg_arena_take(&pinned, SZG_PICK_WORK_BYTES, 1);
  szg_mapping const mapping = szg_mapping_of_params(params, shape->dtype);
  szg_value_source_cuda there;
  szg_value_source_open_cuda(&ctx->device, mapping.inner, field, grid->value_count, NULL, back,
                             &there);
  there.source.mapping = mapping;
  return szg_call_join(params, shape, &there.source, grid);
}

szgpu_status szg_join_cuda(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field, szg_grid *grid) {
  szg_grid grids[SZG_MOST_GRIDS];
  int previous = 0;
  if (szg_call_grids(params, shape, grid, grids) == 1) return SZGPU_OK;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  return szg_cuda_end(ctx, previous, join_anywhere(ctx, params, shape, field, grid));
}

szgpu_status szg_compress_cuda(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, const void *field, void *archive,
                               uint64_t capacity, uint64_t *archive_bytes) {
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  plan_request request = request_of(ctx, params, shape, grid);
  compress_call call = {};
  call.ctx = ctx;
  call.params = params;
  call.shape = shape;
  call.grid = grid;
  call.request = &request.frames;
  return szg_cuda_end(ctx, previous,
                      compress_anywhere(&call, &request, field, archive, capacity, archive_bytes));
}

szgpu_status szg_compress_frame_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                     const szg_grid *grid, const void *values, void *bytes,
                                     uint64_t capacity, szg_frame_piece *piece) {
  uint64_t const first_row = piece->frame * piece->header.frame_rows;
  szg_grid const frame_grid =
      szg_grid_of_rows(grid, szg_min_u64(piece->header.frame_rows, grid->row_extent - first_row));
  uint64_t used_bytes = 0;
  int previous = 0;
  SZG_REQUIRE(!params->zstd_level, SZGPU_UNSUPPORTED); /* packing needs the archive's header */
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  plan_request request = request_of(ctx, params, &piece->header.shape, grid);
  request.frames.frame_count = 1;
  compress_call call = {};
  call.ctx = ctx;
  call.params = params;
  call.shape = &piece->header.shape;
  call.grid = &frame_grid;
  call.request = &request.frames;
  call.piece = piece;
  return szg_cuda_end(ctx, previous,
                      compress_anywhere(&call, &request, values, bytes, capacity, &used_bytes));
}

/* ---- memory ---- */

szgpu_status szg_compress_sizes_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     uint64_t *workspace_bytes, uint64_t *archive_bytes) {
  plan_request in_place = request_of(ctx, params, shape, grid);
  SZG_TRY(max_archive_bytes(&in_place, grid, archive_bytes));
  if (in_place.frames.is_compacted) in_place.copies.archive_bytes = *archive_bytes;
  int previous = 0;
  szg_grid grids[SZG_MOST_GRIDS];
  uint32_t const grid_count = szg_call_grids(params, shape, grid, grids);
  szgpu_status status = SZGPU_OK;
  *workspace_bytes = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  for (uint32_t i = 0; i < grid_count && status == SZGPU_OK; i++) {
    compress_plan plan = {};
    szg_arena arena = {};
    in_place.frames = szg_call_request(ctx, params, shape->dtype, &grids[i]);
    status = carve_device(&arena, &in_place, &plan);
    if (status == SZGPU_OK && arena.overflowed) status = SZGPU_BAD_SHAPE;
    if (arena.used_bytes > *workspace_bytes) *workspace_bytes = arena.used_bytes;
  }
  return szg_cuda_end(ctx, previous, status);
}

/* Reserves memory for a compression and, if its kinds state what that takes, for the decompression
 * of its archive. */
static szgpu_status reserve(szgpu_ctx *ctx, const plan_request *request, const szg_header *header) {
  compress_plan plan = {};
  SZG_TRY(make_plan(ctx, request, &plan));
  szg_read_sizes_cuda sizes = {};
  sizes.header = header;
  sizes.decoder = ctx->options.decoder;
  if (!szg_read_sizes_reserve_cuda(&request->frames, &sizes)) return SZGPU_OK;
  return szg_decompress_reserve_cuda(ctx, &sizes, request->frames.frame_count,
                                     request->copies.field_bytes, request->copies.archive_bytes);
}

szgpu_status szg_compress_reserve_cuda(szgpu_ctx *ctx, const szgpu_params *params,
                                       const szgpu_shape *shape, const szg_grid *grid) {
  plan_request request = request_of(ctx, params, shape, grid);
  if (ctx->options.backend == SZGPU_BACKEND_AUTO) { /* field and archive are in host memory */
    request.copies.field_bytes = grid->value_count * szg_dtype_bytes(shape->dtype);
    SZG_TRY(max_archive_bytes(&request, grid, &request.copies.archive_bytes));
  }
  if (request.frames.is_compacted) {
    uint64_t *const most_bytes = &request.copies.archive_bytes;
    SZG_TRY(max_archive_bytes(&request, grid, most_bytes));
    SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_PLAIN], *most_bytes));
    SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_RECODED], *most_bytes));
  }
  szg_grid grids[SZG_MOST_GRIDS];
  uint32_t const grid_count = szg_call_grids(params, shape, grid, grids);
  szgpu_status status = SZGPU_OK;
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  for (uint32_t i = 0; i < grid_count && status == SZGPU_OK; i++) {
    szg_header const header = szg_call_header(params, shape, &grids[i], NULL);
    request.frames = szg_call_request(ctx, params, shape->dtype, &grids[i]);
    status = reserve(ctx, &request, &header);
  }
  return szg_cuda_end(ctx, previous, status);
}
