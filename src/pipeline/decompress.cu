/* decompress.cu - an archive to a field on the GPU; the twin of decompress.c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   archive --> [host: headers] --frame by frame--> places, codes, values --> field
 *
 * The host is waited for once, at the bracket, where the archive is in device memory; twice if it
 * has several frames; and once a frame where the decoder has the host build its tables.
 */
#include <string.h>

#include "core/bytes.h"
#include "pipeline/decompress_cuda.h"
#include "pipeline/planes_frame.h"
#include "pipeline/reader.h"

enum {
  HEAD_BYTES = 1 << 14, /* header and first frame header of nearly every archive */
  FRAME_HEADER_MOST_BYTES = 48 + 32 * SZG_SECTION_KIND_COUNT
};

/* ---- headers ---- */

/* The archive's first bytes to ctx->head. */
static szgpu_status fetch_head(szgpu_ctx *ctx, const void *archive, uint64_t byte_count) {
  szg_device *const device = &ctx->device;
  SZG_TRY(szg_device_reserve_pinned(device, byte_count));
  SZG_TRY(szg_device_copy(device, device->pinned, archive, byte_count));
  SZG_TRY(szg_device_wait(device, true));
  SZG_TRY(szg_buffer_reset(&ctx->head, byte_count));
  memcpy(ctx->head.bytes, device->pinned, byte_count);
  return SZGPU_OK;
}

static szgpu_status check_alignment(szgpu_ctx *ctx, const void *archive) {
  if ((uintptr_t)archive % SZG_ALIGNMENT == 0) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "an archive on the device must be aligned to %d bytes",
                  (int)SZG_ALIGNMENT);
}

static szgpu_status open_on_device(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                                   szg_opened *opened) {
  SZG_TRY(check_alignment(ctx, archive));
  uint64_t const head_bytes = szg_min_u64(archive_bytes, HEAD_BYTES);
  SZG_TRY(fetch_head(ctx, archive, head_bytes));
  szgpu_status const status = szg_open(ctx->head.bytes, head_bytes, opened);
  uint64_t header_bytes;
  bool const is_longer =
      status == SZGPU_TRUNCATED && head_bytes < archive_bytes && head_bytes >= SZG_HEADER_BYTES &&
      szg_header_bytes(opened->header.frame_count, &header_bytes) && header_bytes <= archive_bytes;
  if (!is_longer) return status;
  SZG_TRY(fetch_head(ctx, archive, header_bytes));
  return szg_open(ctx->head.bytes, header_bytes, opened);
}

szgpu_status szg_open_cuda(szgpu_ctx *ctx, const void *archive, uint64_t archive_bytes,
                           szg_opened *opened) {
  int previous = 0;
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  bool is_device_archive = false;
  szgpu_status status = szg_cuda_reaches(ctx, archive, &is_device_archive);
  if (status == SZGPU_OK)
    status = is_device_archive ? open_on_device(ctx, archive, archive_bytes, opened)
                               : szg_open(archive, archive_bytes, opened);
  return szg_cuda_end(ctx, previous, status);
}

/* ---- the call ---- */

/* SZGPU_BAD_DATA: a frame too short for its header; before memory is taken for many such. */
static szgpu_status find_frames(szg_decompress_call_cuda *call) {
  const szg_header *const header = &call->opened->header;
  call->first_frame = call->first_row / header->frame_rows;
  call->end_frame = szg_div_up(call->first_row + call->row_count, header->frame_rows);
  call->first_byte = szg_frame_offset(call->opened, call->first_frame);
  call->end_byte = call->first_byte;
  for (uint64_t i = call->first_frame; i < call->end_frame; i++) {
    uint64_t const frame_bytes = szg_header_frame_bytes(call->opened->bytes, i);
    SZG_REQUIRE(frame_bytes >= szg_frame_header_bytes(0), SZGPU_BAD_DATA);
    call->end_byte += frame_bytes;
  }
  return SZGPU_OK;
}

/* Headers of the call's frames out of device memory, next to each other into pinned memory. */
static szgpu_status fetch_frame_headers(const szg_decompress_call_cuda *call,
                                        const uint8_t **headers) {
  szg_device *const device = &call->ctx->device;
  SZG_TRY(szg_device_reserve_pinned(device, szg_call_frames(call) * FRAME_HEADER_MOST_BYTES));
  uint64_t offset = call->first_byte;
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    uint64_t const frame_bytes = szg_header_frame_bytes(call->opened->bytes, call->first_frame + i);
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
  uint64_t const last_start =
      call->end_byte - szg_header_frame_bytes(call->opened->bytes, call->end_frame - 1);
  return !call->is_device_archive || call->end_byte <= call->opened->available_bytes ||
         last_start + FRAME_HEADER_MOST_BYTES <= call->opened->available_bytes;
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
    uint64_t const frame_bytes = szg_header_frame_bytes(opened->bytes, number);
    szg_frame_input_cuda *const frame = &call->frames[i];
    memset(frame, 0, sizeof *frame);
    uint64_t const there_bytes = is_here
                                     ? szg_min_u64(frame_bytes, opened->available_bytes - offset)
                                     : szg_min_u64(frame_bytes, FRAME_HEADER_MOST_BYTES);
    const uint8_t *const bytes =
        is_here ? opened->bytes + offset : headers + i * FRAME_HEADER_MOST_BYTES;
    szgpu_status const status =
        szg_open_frame_at(opened, number, bytes, there_bytes, &frame->header);
    if (status != SZGPU_OK)
      return szg_fail(call->ctx, status, "frame %llu has a bad header", (unsigned long long)number);
    frame->grid = szg_grid_of_rows(&opened->grid, szg_frame_row_count(opened, number));
    frame->code_grid = szg_has_top_plane(&opened->header)
                           ? szg_grid_of_line(frame->grid.value_count)
                           : frame->grid;
    SZG_TRY(szg_frame_check_cuda(call->ctx, &opened->header, frame));
    for (uint32_t s = 0; s < frame->header.section_count; s++)
      *has_zstd = *has_zstd || frame->header.sections[s].codec != SZG_CODEC_STORED;
    offset += frame_bytes;
  }
  return SZGPU_OK;
}

/* Where each frame lies on the device and what of it is wanted; values: where the first wanted row
 * goes. */
static void place_frames(const szg_decompress_call_cuda *call, const uint8_t *first_frame_bytes,
                         uint8_t *values, szg_verdict *verdicts) {
  const szg_opened *const opened = call->opened;
  uint64_t const end_row = call->first_row + call->row_count;
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    uint64_t const number = call->first_frame + i;
    uint64_t const frame_first_row = number * opened->header.frame_rows;
    uint64_t const frame_rows = szg_frame_row_count(opened, number);
    szg_frame_input_cuda *const frame = &call->frames[i];
    frame->first_row = call->first_row > frame_first_row ? call->first_row - frame_first_row : 0;
    frame->end_row = szg_min_u64(end_row - frame_first_row, frame_rows);
    frame->values =
        values + (frame_first_row + frame->first_row - call->first_row) * call->row_bytes;
    frame->verdict = verdicts + i;
    szg_frame_place_cuda(frame, first_frame_bytes);
    first_frame_bytes += szg_header_frame_bytes(opened->bytes, number);
  }
}

/* ---- memory ---- */

/* The most that one frame of the call needs, and the copies. */
typedef struct decompress_sizes {
  uint64_t leaves;
  uint64_t placed_tiles;             /* of a frame of which outliers or codes are placed */
  uint64_t linear_values, sequences; /* of a linear frame; values 0: there is none */
  uint64_t linear_words;
  const szg_decoder_cuda *linear_decoder;
  uint32_t code_bytes;
  uint64_t planes_values;    /* of a planes frame */
  uint32_t coded_planes;     /* 0: there is no such frame, or none of its planes is coded */
  uint64_t tile_frame_tiles; /* of a tile frame; 0: there is none */
  uint64_t archive_copy, field_copy, frames;
} decompress_sizes;

static void at_least(uint64_t *most, uint64_t size) {
  if (size > *most) *most = size;
}

static void size_planes(const szg_decompress_call_cuda *call, const szg_frame_header *header,
                        decompress_sizes *sizes) {
  szg_planes_layout const layout = szg_planes_layout_of(header);
  uint32_t const coded = szg_planes_of_mode(layout.modes, layout.value_bytes, SZG_PLANE_CODED);
  uint64_t const width = szg_dtype_bytes(call->opened->header.shape.dtype);
  at_least(&sizes->planes_values, header->value_count * width / layout.value_bytes);
  if (coded > sizes->coded_planes) sizes->coded_planes = coded;
}

static void size_frame(const szg_frame_input_cuda *frame, decompress_sizes *sizes) {
  const szg_frame_header *const header = &frame->header;
  uint64_t const tiles = frame->code_grid.tile_count;
  bool const is_tile = header->kind == SZG_FRAME_TILE, is_linear = header->kind == SZG_FRAME_LINEAR;
  bool has_places = is_linear;
  uint64_t leaves = 0;
  for (uint32_t s = 0; s < header->section_count; s++) {
    const szg_section *const section = &header->sections[s];
    leaves += szg_checksum_leaf_count(szg_align_up(section->stored_bytes, SZG_ALIGNMENT));
    if (section->kind == SZG_SECTION_SEQUENCE_CODES)
      at_least(&sizes->sequences, section->raw_bytes / 2);
    if (is_linear && section->kind == SZG_SECTION_BITSTREAM)
      at_least(&sizes->linear_words, section->raw_bytes / 4);
    has_places = has_places || (section->raw_bytes && (section->kind == SZG_SECTION_EXACT_COUNTS ||
                                                       section->kind == SZG_SECTION_FILL_COUNTS));
  }
  at_least(&sizes->leaves, leaves);
  if (has_places) at_least(&sizes->placed_tiles, tiles);
  if (is_linear) at_least(&sizes->linear_values, frame->grid.value_count);
  if (is_tile) at_least(&sizes->tile_frame_tiles, tiles);
}

static decompress_sizes size_call(const szg_decompress_call_cuda *call, bool is_device_field) {
  decompress_sizes sizes = {};
  sizes.frames = szg_call_frames(call);
  if (!call->is_device_archive) sizes.archive_copy = call->end_byte - call->first_byte;
  if (!is_device_field) sizes.field_copy = call->row_count * call->row_bytes;
  const szg_header *const header = &call->opened->header;
  sizes.linear_decoder = szg_decoder_for_cuda(call->ctx->options.decoder, header->has_gaps);
  sizes.code_bytes =
      szg_decoder_code_bytes(sizes.linear_decoder->gives_bytes, szg_has_top_plane(header));
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    size_frame(&call->frames[i], &sizes);
    if (call->frames[i].header.kind == SZG_FRAME_PLANES)
      size_planes(call, &call->frames[i].header, &sizes);
  }
  return sizes;
}

static szgpu_status carve_linear(szg_arena *arena, const decompress_sizes *sizes,
                                 szg_decompress_plan_cuda *plan) {
  szg_code_stream_sizes_cuda const streams = {sizes->linear_words, sizes->sequences};
  plan->decoder = sizes->linear_decoder;
  plan->code_bytes = sizes->code_bytes;
  plan->book = (szg_decode_book_cuda *)szg_arena_take(arena, szg_decode_book_bytes_cuda(), 1);
  plan->codes = szg_arena_take(arena, szg_align_up(sizes->linear_values, 8), sizes->code_bytes);
  return plan->decoder->carve ? plan->decoder->carve(arena, &streams, &plan->decoder_memory)
                              : SZGPU_OK;
}

static szgpu_status carve_planes(szg_arena *arena, const decompress_sizes *sizes,
                                 szg_decompress_plan_cuda *plan) {
  szg_planes_layout layout = {};
  layout.value_bytes = SZG_PLANES_MOST;
  for (uint32_t plane = 0; plane < sizes->coded_planes; plane++)
    layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * plane;
  return szg_planes_input_carve_cuda(arena, &layout, sizes->planes_values, &plan->planes);
}

static szgpu_status carve_tile(szg_arena *arena, uint64_t tiles, szg_decompress_plan_cuda *plan) {
  SZG_REQUIRE(tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED);
  plan->tile_decoder = (szg_tile_decoder *)szg_arena_take(arena, 1, sizeof *plan->tile_decoder);
  plan->first_words = (uint64_t *)szg_arena_take(arena, tiles + 1, sizeof *plan->first_words);
  plan->counters = (uint32_t *)szg_arena_take(arena, 1, sizeof *plan->counters);
  return SZGPU_OK;
}

static szgpu_status carve(szg_arena *arena, const decompress_sizes *sizes,
                          szg_decompress_plan_cuda *plan) {
  plan->verdicts = (szg_verdict *)szg_arena_take(arena, sizes->frames, sizeof *plan->verdicts);
  plan->bit_count = (uint64_t *)szg_arena_take(arena, 1, sizeof *plan->bit_count);
  plan->leaves = (uint64_t *)szg_arena_take(arena, sizes->leaves, sizeof *plan->leaves);
  if (sizes->placed_tiles)
    SZG_TRY(szg_places_carve_cuda(arena, sizes->placed_tiles, &plan->places));
  if (sizes->linear_values) SZG_TRY(carve_linear(arena, sizes, plan));
  if (sizes->planes_values) SZG_TRY(carve_planes(arena, sizes, plan));
  if (sizes->tile_frame_tiles) SZG_TRY(carve_tile(arena, sizes->tile_frame_tiles, plan));
  plan->archive_copy = (uint8_t *)szg_arena_take(arena, sizes->archive_copy, 1);
  plan->field_copy = (uint8_t *)szg_arena_take(arena, sizes->field_copy, 1);
  return SZGPU_OK;
}

static void carve_pinned(szg_arena *arena, const decompress_sizes *sizes,
                         szg_decompress_plan_cuda *plan) {
  plan->verdicts_back =
      (szg_verdict *)szg_arena_take(arena, sizes->frames, sizeof *plan->verdicts_back);
  if (sizes->linear_values && plan->decoder->carve_pinned)
    plan->decoder->carve_pinned(arena, &plan->decoder_memory);
}

static szgpu_status make_plan(const szg_decompress_call_cuda *call, bool is_device_field,
                              szg_decompress_plan_cuda *plan) {
  decompress_sizes const sizes = size_call(call, is_device_field);
  szg_arena device = {}, pinned = {};
  SZG_TRY(carve(&device, &sizes, plan));
  SZG_TRY(szg_cuda_arena_open(call->ctx, &device, &device));
  SZG_TRY(carve(&device, &sizes, plan));
  carve_pinned(&pinned, &sizes, plan);
  SZG_TRY(szg_cuda_pinned_open(call->ctx, &pinned, &pinned));
  carve_pinned(&pinned, &sizes, plan);
  return SZGPU_OK;
}

szgpu_status szg_decompress_reserve_cuda(szgpu_ctx *ctx, const szg_grid *frame_grid,
                                         uint64_t frame_count, size_t value_bytes,
                                         uint64_t field_copy, uint64_t archive_copy) {
  decompress_sizes sizes = {};
  sizes.frames = frame_count;
  sizes.leaves =
      szg_checksum_leaf_count(frame_grid->value_count * value_bytes) + 2 * SZG_SECTION_KIND_COUNT;
  sizes.placed_tiles = sizes.tile_frame_tiles = frame_grid->tile_count;
  sizes.field_copy = field_copy;
  sizes.archive_copy = archive_copy;
  szg_arena arena = {};
  szg_decompress_plan_cuda plan = {};
  SZG_TRY(carve(&arena, &sizes, &plan));
  SZG_TRY(szg_cuda_arena_open(ctx, &arena, &arena));
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(frame_count, &header_bytes), SZGPU_BAD_SHAPE);
  uint64_t const head_bytes = header_bytes > HEAD_BYTES ? header_bytes : (uint64_t)HEAD_BYTES;
  SZG_TRY(
      szg_device_reserve_pinned(&ctx->device, head_bytes + frame_count * FRAME_HEADER_MOST_BYTES));
  SZG_TRY(szg_buffer_reset(&ctx->head, head_bytes));
  return szg_buffer_reset(&ctx->part_starts, frame_count * sizeof(szg_frame_input_cuda));
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
  szg_buffer *const frames = &call->ctx->part_starts;
  SZG_TRY(find_frames(call));
  SZG_TRY(szg_buffer_reset(frames, szg_call_frames(call) * sizeof *call->frames));
  call->frames = (szg_frame_input_cuda *)(void *)frames->bytes;
  SZG_TRY(read_frame_headers(call, has_zstd));
  return *has_zstd ? SZGPU_OK : restore_frames(call, field, is_device_field);
}

/* Undoes zstd on the host and goes on with what comes of it. */
static szgpu_status decompress_packed(const szg_decompress_call_cuda *packed, void *field,
                                      bool is_device_field) {
  szgpu_ctx *const ctx = packed->ctx;
  uint64_t const packed_bytes = packed->opened->header.archive_bytes;
  const uint8_t *bytes = packed->archive;
  if (packed->is_device_archive) {
    SZG_TRY(szg_buffer_reset(&ctx->plain, packed_bytes));
    SZG_TRY(szg_device_copy(&ctx->device, ctx->plain.bytes, packed->archive, packed_bytes));
    SZG_TRY(szg_device_wait(&ctx->device, true));
    bytes = ctx->plain.bytes;
  }
  szg_opened opened;
  uint64_t plain_bytes;
  SZG_TRY(szg_open(bytes, packed_bytes, &opened));
  SZG_TRY(szg_plain_bytes(&opened, &plain_bytes));
  SZG_TRY(szg_buffer_reset(&ctx->recoded, plain_bytes));
  SZG_TRY(szg_recode(ctx, &opened, 0, ctx->recoded.bytes, plain_bytes, &plain_bytes));
  SZG_TRY(szg_open(ctx->recoded.bytes, plain_bytes, &opened));
  szg_decompress_call_cuda call = *packed;
  call.archive = ctx->recoded.bytes;
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
  return has_zstd ? decompress_packed(call, field, is_device_field) : SZGPU_OK;
}

szgpu_status szg_decompress_cuda(szgpu_ctx *ctx, const void *archive, const szg_opened *opened,
                                 uint64_t first_row, uint64_t row_count, void *field) {
  int previous = 0;
  uint32_t const round_trips = ctx->device.round_trips; /* of opening the archive */
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  ctx->device.round_trips = round_trips;
  szg_decompress_call_cuda call = {};
  call.ctx = ctx;
  call.archive = (const uint8_t *)archive;
  call.opened = opened;
  call.first_row = first_row;
  call.row_count = row_count;
  call.row_bytes = opened->grid.row_values * szg_dtype_bytes(opened->header.shape.dtype);
  return szg_cuda_end(ctx, previous, decompress_anywhere(&call, field));
}
