/* decompress.cu - an archive to a field on the GPU; the twin of decompress.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   archive --> [host: headers] --frame by frame--> places, codes, values --> field
 *
 * If the archive is in device memory the host waits once for its headers, at the bracket, or twice
 * if it has several frames. It waits in the middle of a frame only if the decoder does.
 */
#include <string.h>

#include "container/compact.h"
#include "core/bytes.h"
#include "frames/kinds_cuda.h"
#include "frames/mapped.h"
#include "frames/open.h"
#include "pipeline/cuda.h"
#include "pipeline/decompress_cuda.h"

enum {
  HEAD_BYTES = 1 << 14, /* holds the header and first frame header of nearly every archive */
  FRAME_HEADER_MOST_BYTES = 48 + 32 * SZG_SECTION_KIND_COUNT
};

/* From host memory whole frames go to the device. The CPU is faster if a box is less than this part
 * of their values, and reads only what belongs to the box. */
enum { LEAST_SHARE = 16 };

/* ---- headers ---- */

/* Pinned memory for the archive's first bytes and the word behind them that says they are there. */
static uint64_t pinned_head_bytes(uint64_t head_bytes) {
  return szg_align_up(head_bytes, SZG_ALIGNMENT) + sizeof(uint32_t);
}

/* Copies the archive's first bytes to ctx->kept[SZG_KEPT_HEAD]. */
static szgpu_status fetch_head(szgpu_ctx *ctx, const void *archive, uint64_t byte_count) {
  szg_device *const device = &ctx->device;
  SZG_TRY(szg_device_reserve_pinned(device, pinned_head_bytes(byte_count)));
  uint32_t *const told =
      (uint32_t *)(void *)(device->pinned + szg_align_up(byte_count, SZG_ALIGNMENT));
  SZG_TRY(szg_device_bring(device, device->pinned, archive, byte_count, told));
  SZG_TRY(szg_device_await(device, told, 1));
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_HEAD], byte_count));
  memcpy(ctx->kept[SZG_KEPT_HEAD].bytes, device->pinned, byte_count);
  return SZGPU_OK;
}

static szgpu_status check_alignment(szgpu_ctx *ctx, const void *archive) {
  if ((uintptr_t)archive % SZG_ALIGNMENT == 0) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "an archive on the device must be aligned to %d bytes",
                  (int)SZG_ALIGNMENT);
}

/* An archive in its compact form, whose first head_bytes are here, is brought back on the host. */
static szgpu_status open_compact(szgpu_ctx *ctx, const void *archive, uint64_t head_bytes,
                                 uint64_t archive_bytes, szg_opened *opened) {
  const szg_buffer *const head = &ctx->kept[SZG_KEPT_HEAD];
  uint64_t stated_bytes;
  SZG_TRY(szg_compact_size(head->bytes, head_bytes, &stated_bytes));
  SZG_REQUIRE(stated_bytes <= archive_bytes, SZGPU_TRUNCATED);
  if (stated_bytes > head_bytes) SZG_TRY(fetch_head(ctx, archive, stated_bytes));
  return szg_open(head->bytes, stated_bytes, &ctx->kept[SZG_KEPT_PLAIN], opened);
}

static szgpu_status open_on_device(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                                   szg_opened *opened) {
  SZG_TRY(check_alignment(ctx, archive));
  uint64_t const head_bytes = szg_min_u64(archive_bytes, HEAD_BYTES);
  SZG_TRY(fetch_head(ctx, archive, head_bytes));
  if (szg_is_compact(ctx->kept[SZG_KEPT_HEAD].bytes, head_bytes))
    return open_compact(ctx, archive, head_bytes, archive_bytes, opened);
  szgpu_status const status = szg_open_in_place(ctx->kept[SZG_KEPT_HEAD].bytes, head_bytes, opened);
  uint64_t header_bytes;
  bool const is_longer =
      status == SZGPU_TRUNCATED && head_bytes < archive_bytes && head_bytes >= SZG_HEADER_BYTES &&
      szg_header_bytes(&opened->header, &header_bytes) && header_bytes <= archive_bytes;
  if (!is_longer) return status;
  SZG_TRY(fetch_head(ctx, archive, header_bytes));
  return szg_open_in_place(ctx->kept[SZG_KEPT_HEAD].bytes, header_bytes, opened);
}

szgpu_status szg_open_cuda(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                           szg_opened *opened) {
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  bool is_device_archive = false;
  szgpu_status status = szg_cuda_reaches(ctx, archive, &is_device_archive);
  if (status == SZGPU_OK)
    status = is_device_archive
                 ? open_on_device(ctx, archive, archive_bytes, opened)
                 : szg_open(archive, archive_bytes, &ctx->kept[SZG_KEPT_HEAD], opened);
  return szg_cuda_end(ctx, previous, status);
}

/* ---- the call ---- */

/* SZGPU_BAD_DATA: a frame too short for its header. The check comes before any allocation by the
 * number of frames. */
static szgpu_status find_frames(szg_decompress_call_cuda *call) {
  const szg_header *const header = &call->opened->header;
  call->first_frame = call->first_row / header->frame_rows;
  call->end_frame = szg_div_up(call->first_row + call->row_count, header->frame_rows);
  call->first_byte = szg_frame_offset(call->opened, call->first_frame);
  call->end_byte = call->first_byte;
  for (uint64_t i = call->first_frame; i < call->end_frame; i++) {
    uint64_t const frame_bytes = szg_frame_bytes(call->opened, i);
    SZG_REQUIRE(frame_bytes >= szg_frame_header_bytes(0), SZGPU_BAD_DATA);
    call->end_byte += frame_bytes;
  }
  return SZGPU_OK;
}

/* Copies the headers of the call's frames from device memory, one after the other into pinned
 * memory. */
static szgpu_status fetch_frame_headers(const szg_decompress_call_cuda *call,
                                        const uint8_t **headers) {
  szg_device *const device = &call->ctx->device;
  SZG_TRY(szg_device_reserve_pinned(device, szg_call_frames(call) * FRAME_HEADER_MOST_BYTES));
  uint64_t offset = call->first_byte;
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    uint64_t const frame_bytes = szg_frame_bytes(call->opened, call->first_frame + i);
    SZG_TRY(szg_device_copy(device, device->pinned + i * FRAME_HEADER_MOST_BYTES,
                            call->archive + offset,
                            szg_min_u64(frame_bytes, FRAME_HEADER_MOST_BYTES)));
    offset += frame_bytes;
  }
  *headers = device->pinned;
  return szg_device_wait(device, true);
}

/* Whether the headers of the call's frames are among the bytes that the host has. */
static bool has_frame_headers(const szg_decompress_call_cuda *call) {
  uint64_t const last_start = call->end_byte - szg_frame_bytes(call->opened, call->end_frame - 1);
  return !call->is_device_archive || call->end_byte <= call->opened->available_bytes ||
         last_start + FRAME_HEADER_MOST_BYTES <= call->opened->available_bytes;
}

/* Which of the frame's values are wanted, if it is not rows. */
static void set_region(const szg_decompress_call_cuda *call, uint64_t number,
                       szg_read_frame_cuda *frame) {
  const szg_opened *const opened = call->opened;
  if (!call->box) return;
  szg_region const region = szg_region_of_frame(call->box, 0, &opened->grid, &frame->grid,
                                                number * opened->header.frame_rows);
  szg_read_frame_region_cuda(frame, &region);
}

static szgpu_status read_frame_headers(const szg_decompress_call_cuda *call, bool *has_zstd) {
  const szg_opened *const opened = call->opened;
  bool const is_here = has_frame_headers(call);
  const uint8_t *headers = NULL;
  if (!is_here) SZG_TRY(fetch_frame_headers(call, &headers));
  uint64_t offset = call->first_byte;
  *has_zstd = false;
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    uint64_t const number = call->first_frame + i;
    uint64_t const frame_bytes = szg_frame_bytes(opened, number);
    szg_read_frame_cuda *const frame = &call->frames[i];
    memset(frame, 0, sizeof *frame);
    uint64_t const there_bytes = is_here
                                     ? szg_min_u64(frame_bytes, opened->available_bytes - offset)
                                     : szg_min_u64(frame_bytes, FRAME_HEADER_MOST_BYTES);
    const uint8_t *const bytes =
        is_here ? opened->bytes + offset : headers + i * FRAME_HEADER_MOST_BYTES;
    szg_frame_fault fault;
    szgpu_status const status =
        szg_frame_open(opened, number, bytes, there_bytes, &frame->header, &fault);
    if (status != SZGPU_OK) return szg_frame_fail(call->ctx, status, number, &fault);
    frame->kind = szg_kind_of(&opened->header, &frame->header);
    frame->grid = szg_grid_of_rows(&opened->grid, szg_frame_row_count(opened, number));
    set_region(call, number, frame);
    for (uint32_t s = 0; s < frame->header.section_count; s++)
      *has_zstd = *has_zstd || frame->header.sections[s].codec != SZG_CODEC_STORED;
    offset += frame_bytes;
  }
  return SZGPU_OK;
}

/* Sets where each frame lies on the device and which rows are wanted. values: where the first
 * wanted value goes. */
static void place_frames(const szg_decompress_call_cuda *call, const uint8_t *first_frame_bytes,
                         uint8_t *values, szg_verdict *verdicts) {
  const szg_opened *const opened = call->opened;
  uint64_t const end_row = call->first_row + call->row_count;
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    uint64_t const number = call->first_frame + i;
    uint64_t const frame_first_row = number * opened->header.frame_rows;
    uint64_t const frame_rows = szg_frame_row_count(opened, number);
    szg_read_frame_cuda *const frame = &call->frames[i];
    frame->first_row = call->first_row > frame_first_row ? call->first_row - frame_first_row : 0;
    frame->end_row = szg_min_u64(end_row - frame_first_row, frame_rows);
    frame->values =
        values + (frame_first_row + frame->first_row - call->first_row) * call->row_bytes;
    if (frame->has_region) {
      frame->region.values = values;
      values += frame->region.value_count * szg_dtype_bytes(opened->header.shape.dtype);
    }
    frame->verdict = verdicts + i;
    szg_read_frame_place_cuda(frame, first_frame_bytes);
    first_frame_bytes += szg_frame_bytes(opened, number);
  }
}

/* ---- memory ---- */

/* What decides how much memory a call takes. */
typedef struct plan_request {
  szg_read_sizes_cuda frames;
  uint64_t archive_copy, field_copy, frame_count;
} plan_request;

static plan_request request_of(const szg_decompress_call_cuda *call, bool is_device_field) {
  plan_request request = {};
  request.frame_count = szg_call_frames(call);
  if (!call->is_device_archive) request.archive_copy = call->end_byte - call->first_byte;
  if (!is_device_field) request.field_copy = szg_call_wanted_bytes(call);
  request.frames.header = &call->opened->header;
  request.frames.decoder = call->ctx->options.decoder;
  for (uint64_t i = 0; i < request.frame_count; i++)
    szg_read_sizes_add_cuda(&call->frames[i], &request.frames);
  return request;
}

static szgpu_status carve(szg_arena *arena, const plan_request *request,
                          szg_decompress_plan_cuda *plan) {
  plan->verdicts =
      (szg_verdict *)szg_arena_take(arena, request->frame_count, sizeof *plan->verdicts);
  SZG_TRY(szg_read_plan_carve_cuda(arena, &request->frames, &plan->frames));
  plan->archive_copy = (uint8_t *)szg_arena_take(arena, request->archive_copy, 1);
  plan->field_copy = (uint8_t *)szg_arena_take(arena, request->field_copy, 1);
  return SZGPU_OK;
}

static void carve_pinned(szg_arena *arena, const plan_request *request,
                         szg_decompress_plan_cuda *plan) {
  plan->verdicts_back =
      (szg_verdict *)szg_arena_take(arena, request->frame_count, sizeof *plan->verdicts_back);
  szg_read_plan_carve_pinned(arena, &request->frames, &plan->frames);
}

static szgpu_status make_plan(const szg_decompress_call_cuda *call, bool is_device_field,
                              szg_decompress_plan_cuda *plan) {
  plan_request const request = request_of(call, is_device_field);
  szg_arena device = {}, pinned = {};
  SZG_TRY(carve(&device, &request, plan));
  SZG_TRY(szg_cuda_arena_open(call->ctx, &device, &device));
  SZG_TRY(carve(&device, &request, plan));
  carve_pinned(&pinned, &request, plan);
  SZG_TRY(szg_cuda_pinned_open(call->ctx, &pinned, &pinned));
  carve_pinned(&pinned, &request, plan);
  return SZGPU_OK;
}

szgpu_status szg_decompress_reserve_cuda(szgpu_ctx *ctx, const szg_read_sizes_cuda *sizes,
                                         uint64_t frame_count, uint64_t field_copy,
                                         uint64_t archive_copy) {
  plan_request const request = {*sizes, archive_copy, field_copy, frame_count};
  szg_arena arena = {};
  szg_decompress_plan_cuda plan = {};
  SZG_TRY(carve(&arena, &request, &plan));
  SZG_TRY(szg_cuda_arena_open(ctx, &arena, &arena));
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes_with(frame_count, SZG_MOST_MORE_BYTES, &header_bytes),
              SZGPU_BAD_SHAPE);
  szg_grid const grid = szg_header_grid(sizes->header);
  uint64_t head_bytes = header_bytes > HEAD_BYTES ? header_bytes : (uint64_t)HEAD_BYTES;
  if (szg_is_compacted(grid.value_count, frame_count) && archive_copy > head_bytes)
    head_bytes = archive_copy; /* the host gets all of it */
  SZG_TRY(szg_device_reserve_pinned(
      &ctx->device, pinned_head_bytes(head_bytes) + frame_count * FRAME_HEADER_MOST_BYTES));
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_HEAD], head_bytes));
  return szg_buffer_reset(&ctx->kept[SZG_KEPT_PART_STARTS],
                          frame_count * sizeof(szg_read_frame_cuda));
}

/* ---- frames ---- */

static szgpu_status restore_frames(const szg_decompress_call_cuda *call, void *field,
                                   bool is_device_field) {
  szg_device *const device = &call->ctx->device;
  szg_decompress_plan_cuda plan = {};
  SZG_TRY(make_plan(call, is_device_field, &plan));
  SZG_TRY(szg_device_mark(device, "headers"));
  place_frames(call, call->is_device_archive ? call->archive + call->first_byte : plan.archive_copy,
               is_device_field ? (uint8_t *)field : plan.field_copy, plan.verdicts);
  return szg_restore_frames_cuda(call, &plan, field, is_device_field);
}

static szgpu_status decompress_plain(szg_decompress_call_cuda *call, void *field,
                                     bool is_device_field, bool *has_zstd) {
  szg_buffer *const frames = &call->ctx->kept[SZG_KEPT_PART_STARTS];
  SZG_TRY(find_frames(call));
  SZG_TRY(szg_buffer_reset(frames, szg_call_frames(call) * sizeof *call->frames));
  call->frames = (szg_read_frame_cuda *)(void *)frames->bytes;
  SZG_TRY(read_frame_headers(call, has_zstd));
  return *has_zstd ? SZGPU_OK : restore_frames(call, field, is_device_field);
}

/* Unpacks the sections on the host and decompresses the resulting archive. */
static szgpu_status decompress_packed(const szg_decompress_call_cuda *packed, void *field,
                                      bool is_device_field) {
  szgpu_ctx *const ctx = packed->ctx;
  uint64_t const packed_bytes = packed->opened->header.archive_bytes;
  const uint8_t *bytes = packed->archive;
  if (packed->is_device_archive) {
    SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_PLAIN], packed_bytes));
    SZG_TRY(szg_device_copy(&ctx->device, ctx->kept[SZG_KEPT_PLAIN].bytes, packed->archive,
                            packed_bytes));
    SZG_TRY(szg_device_wait(&ctx->device, true));
    bytes = ctx->kept[SZG_KEPT_PLAIN].bytes;
  }
  szg_opened opened = *packed->opened; /* not opened anew: the archive's header may have changed */
  opened.bytes = bytes;
  opened.available_bytes = packed_bytes;
  uint64_t plain_bytes;
  SZG_TRY(szg_plain_bytes(&opened, &plain_bytes));
  SZG_TRY(szg_buffer_reset(&ctx->kept[SZG_KEPT_RECODED], plain_bytes));
  SZG_TRY(
      szg_recode(ctx, &opened, 0, ctx->kept[SZG_KEPT_RECODED].bytes, plain_bytes, &plain_bytes));
  SZG_TRY(szg_open_in_place(ctx->kept[SZG_KEPT_RECODED].bytes, plain_bytes, &opened));
  szg_decompress_call_cuda call = *packed;
  call.archive = ctx->kept[SZG_KEPT_RECODED].bytes;
  call.is_device_archive = false;
  call.opened = &opened;
  bool has_zstd;
  return decompress_plain(&call, field, is_device_field, &has_zstd);
}

static szgpu_status decompress_anywhere(szg_decompress_call_cuda *call, void *field) {
  szgpu_ctx *const ctx = call->ctx;
  bool is_device_field;
  SZG_TRY(szg_cuda_reaches(ctx, field, &is_device_field));
  SZG_TRY(szg_cuda_reaches(ctx, call->archive, &call->is_device_archive));
  ctx->threads.done_values = 0;
  ctx->threads.total_values = call->row_count * call->opened->grid.row_values;
  bool has_zstd;
  SZG_TRY(decompress_plain(call, field, is_device_field, &has_zstd));
  SZG_REQUIRE(!has_zstd || !call->opened->is_part, SZGPU_UNSUPPORTED); /* the whole is unpacked */
  return has_zstd ? decompress_packed(call, field, is_device_field) : SZGPU_OK;
}

/* Restores the call's box, unless the CPU is to do it. */
static szgpu_status decompress_box(szg_decompress_call_cuda *call, void *field, bool *is_done) {
  szgpu_ctx *const ctx = call->ctx;
  bool is_device_field, has_zstd;
  SZG_TRY(szg_cuda_reaches(ctx, field, &is_device_field));
  SZG_TRY(szg_cuda_reaches(ctx, call->archive, &call->is_device_archive));
  uint64_t const wanted_values = szg_box_value_count(call->box);
  SZG_TRY(find_frames(call));
  uint64_t const frame_rows = call->opened->header.frame_rows;
  uint64_t const sent_rows =
      szg_min_u64(szg_call_frames(call) * frame_rows, call->opened->grid.row_extent);
  if (!call->is_device_archive &&
      wanted_values < sent_rows * call->opened->grid.row_values / LEAST_SHARE)
    return SZGPU_OK;
  ctx->threads.done_values = 0;
  ctx->threads.total_values = wanted_values;
  SZG_TRY(decompress_plain(call, field, is_device_field, &has_zstd));
  *is_done = !has_zstd;
  return SZGPU_OK;
}

static szg_decompress_call_cuda make_call(szgpu_ctx *ctx, const void *archive,
                                          const szg_opened *opened, uint64_t first_row,
                                          uint64_t row_count) {
  szg_decompress_call_cuda call = {};
  call.ctx = ctx;
  call.archive = (const uint8_t *)archive;
  call.opened = opened;
  call.first_row = first_row;
  call.row_count = row_count;
  call.row_bytes = opened->grid.row_values * szg_dtype_bytes(opened->header.shape.dtype);
  return call;
}

/* As szg_cuda_begin, after the archive has been opened: counts those waits too. */
static szgpu_status begin_again(szgpu_ctx *ctx, int *previous) {
  uint32_t const round_trips = ctx->device.round_trips;
  SZG_TRY(szg_cuda_begin(ctx, previous));
  ctx->device.round_trips = round_trips;
  return SZGPU_OK;
}

szgpu_status szg_decompress_cuda(szgpu_ctx *ctx, const void *archive, const szg_opened *opened,
                                 uint64_t first_row, uint64_t row_count, void *field) {
  int previous = 0;
  SZG_TRY(begin_again(ctx, &previous));
  szg_decompress_call_cuda call = make_call(ctx, archive, opened, first_row, row_count);
  return szg_cuda_end(ctx, previous, decompress_anywhere(&call, field));
}

szgpu_status szg_decompress_region_cuda(szgpu_ctx *ctx, const void *archive,
                                        const szg_opened *opened, const szg_box *box, void *field,
                                        bool *is_done) {
  int previous = 0;
  int const row_axis = opened->grid.row_axis;
  *is_done = false;
  if (szg_is_edited(&opened->header)) return SZGPU_OK;
  SZG_TRY(begin_again(ctx, &previous));
  szg_decompress_call_cuda call = make_call(ctx, archive, opened, box->first[row_axis],
                                            box->end[row_axis] - box->first[row_axis]);
  call.box = box;
  return szg_cuda_end(ctx, previous, decompress_box(&call, field, is_done));
}
