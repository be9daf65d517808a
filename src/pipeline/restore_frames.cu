/* restore_frames.cu - restores frames on the GPU, with copies from and to the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The three streams of a call, with archive and field in host memory:
 *
 *   the call's  | frame up | places | rows 0 | rows 1 | rows 2 | next frame up | ...
 *   checks                 | checksums |
 *   copies                          | rows 0 down | rows 1 down | ...
 *
 * Decoding is safe on any bits, so only the verdict waits for checksums. If a tile frame takes
 * several slices, each slice's words go up just before its rows are restored, which keeps both
 * directions of the link busy; its checksums then come last. So do those of a frame that is alone
 * and has been summed up while its rows were restored.
 *
 * This holds if the field is in pinned memory and its first frame takes several slices; otherwise
 * all frames go up at once. A field in pageable memory is copied in one piece at the end.
 */
#include "core/bytes.h"
#include "frames/kinds_cuda.h"
#include "pipeline/decompress_cuda.h"

enum { SLICE_BYTES = 1 << 25 }; /* of values: half a millisecond on the link */

typedef struct restoration {
  const szg_decompress_call_cuda *call;
  const szg_decompress_plan_cuda *plan;
  uint8_t *host_field; /* NULL: the field is on the device */
  bool takes_slices;
  bool sends_frames;                  /* frames go up one by one; otherwise all are up already */
  uint64_t restored_bytes, sent_down; /* of the call's rows: queued; sent to the host */
} restoration;

/* ---- up ---- */

/* A frame on its way to the device. The bytes around the words go first, at once. */
typedef struct frame_way {
  const uint8_t *from; /* NULL: the frame is there already */
  uint8_t *to;
  uint64_t frame_bytes;
  uint64_t words_begin, words_end; /* in the frame; equal if nothing goes by slices */
  const uint8_t *sizes;            /* tile sizes */
  uint64_t sent_tiles, sent_end;   /* how far words are sent: tiles, bytes of the frame */
} frame_way;

/* Where a slice that begins at `row` of the frame ends. */
static uint64_t end_of_slice(const restoration *r, const szg_read_frame_cuda *frame, uint64_t row) {
  if (!r->takes_slices) return frame->end_row;
  uint64_t const quantum = frame->grid.row_quantum;
  uint64_t const quanta = SLICE_BYTES / r->call->row_bytes / quantum;
  return szg_min_u64((row / quantum + (quanta ? quanta : 1)) * quantum, frame->end_row);
}

static bool has_slices(const restoration *r, const szg_read_frame_cuda *frame) {
  return end_of_slice(r, frame, frame->first_row) < frame->end_row;
}

static frame_way way_of(const restoration *r, const szg_read_frame_cuda *frame, uint64_t offset) {
  const szg_decompress_call_cuda *const call = r->call;
  frame_way way = {};
  if (!r->sends_frames) return way;
  way.from = call->archive + offset;
  way.to = r->plan->archive_copy + (offset - call->first_byte);
  way.frame_bytes = szg_frame_bytes(call->opened, frame->header.index);
  way.words_begin = way.words_end = way.sent_end = way.frame_bytes;
  const szg_device_section *const words = &frame->sections[SZG_SECTION_BITSTREAM];
  bool const may_be_late = szg_frame_kinds_cuda[frame->kind].takes_words_late;
  if (!may_be_late || !has_slices(r, frame) || !words->bytes) return way;
  way.words_begin = way.sent_end = (uint64_t)(words->bytes - way.to);
  way.words_end = way.words_begin + words->byte_count;
  way.sizes = way.from + (frame->sections[SZG_SECTION_TILE_SIZES].bytes - way.to);
  return way;
}

static bool goes_by_slices(const frame_way *way) { return way->words_begin < way->words_end; }

static szgpu_status send_part(szg_device *device, const frame_way *way, uint64_t begin,
                              uint64_t end) {
  return szg_device_copy(device, way->to + begin, way->from + begin, end - begin);
}

static szgpu_status send_around_words(szg_device *device, const frame_way *way) {
  if (!way->from) return SZGPU_OK;
  SZG_TRY(send_part(device, way, 0, way->words_begin));
  SZG_TRY(send_part(device, way, way->words_end, way->frame_bytes));
  return szg_device_mark(device, "archive to device");
}

/* Sends the words of the tiles up to end_tile. The tile sizes are untrusted: the kernels detect
 * sizes that do not add up, and all words are sent in the end. */
static szgpu_status send_words(szg_device *device, frame_way *way, uint64_t end_tile,
                               uint64_t tile_count) {
  uint64_t word_count = 0;
  for (; way->sent_tiles < end_tile; way->sent_tiles++)
    word_count += szg_load_u16(way->sizes + 2 * way->sent_tiles);
  uint64_t const left_bytes = way->words_end - way->sent_end;
  uint64_t const end =
      way->sent_end +
      (end_tile == tile_count ? left_bytes : szg_min_u64(4 * word_count, left_bytes));
  SZG_TRY(send_part(device, way, way->sent_end, end));
  way->sent_end = end;
  return SZGPU_OK;
}

/* ---- down ---- */

/* Sends the rows that were queued since the last call. */
static szgpu_status send_down(restoration *r) {
  szg_device *const device = &r->call->ctx->device;
  uint64_t const begin = r->sent_down;
  r->sent_down = r->restored_bytes;
  SZG_TRY(szg_device_fork(device, SZG_SIDE_COPIES));
  return szg_device_copy_beside(device, SZG_SIDE_COPIES, r->host_field + begin,
                                r->plan->field_copy + begin, r->restored_bytes - begin);
}

static szgpu_status note_restored(restoration *r, uint64_t row_count) {
  r->restored_bytes += row_count * r->call->row_bytes;
  bool const pays = r->restored_bytes - r->sent_down >= SLICE_BYTES / 2;
  return r->takes_slices && pays ? send_down(r) : SZGPU_OK;
}

/* ---- frames ---- */

static szgpu_status restore_rows(restoration *r, const szg_read_job_cuda *job, frame_way *way) {
  const szg_read_frame_cuda *const frame = job->frame;
  const szg_grid *const grid = &frame->grid;
  uint64_t const row_tiles = grid->tile_count / szg_div_up(grid->row_extent, grid->row_quantum);
  uint64_t row = frame->first_row;
  while (row < frame->end_row) {
    uint64_t const end = end_of_slice(r, frame, row);
    uint8_t *const values =
        (uint8_t *)frame->values + (row - frame->first_row) * r->call->row_bytes;
    if (goes_by_slices(way))
      SZG_TRY(send_words(job->device, way, szg_div_up(end, grid->row_quantum) * row_tiles,
                         grid->tile_count));
    SZG_TRY(szg_frame_restore_cuda(job, row, end, values));
    SZG_TRY(note_restored(r, end - row));
    row = end;
  }
  return SZGPU_OK;
}

/* The frame's region, to its place in the box. The frame is on the device. */
static szgpu_status restore_region(restoration *r, const szg_read_frame_cuda *frame) {
  szgpu_ctx *const ctx = r->call->ctx;
  szg_read_job_cuda job;
  SZG_TRY(szg_device_fork(&ctx->device, SZG_SIDE_CHECKS));
  SZG_TRY(szg_frame_open_cuda(ctx, &r->call->opened->header, &r->plan->frames, frame, &job));
  SZG_TRY(szg_frame_verify_cuda(&job, NULL));
  SZG_TRY(szg_frame_restore_region_cuda(&job));
  r->restored_bytes += frame->region.value_count * job.field_width;
  return SZGPU_OK;
}

/* Leaves that need not be read to check the frame's checksums once its rows are restored. */
static szg_summed_leaves leaves_summed(const restoration *r, const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  bool const is_one_piece =
      frame->first_row == 0 && frame->end_row == frame->grid.row_extent && !has_slices(r, frame);
  return is_one_piece ? szg_frame_sum_cuda(job) : szg_summed_leaves{};
}

/* offset: of the frame in the archive. */
static szgpu_status restore_frame(restoration *r, const szg_read_frame_cuda *frame,
                                  uint64_t offset) {
  szgpu_ctx *const ctx = r->call->ctx;
  szg_device *const device = &ctx->device;
  if (frame->has_region) return restore_region(r, frame);
  frame_way way = way_of(r, frame, offset);
  bool const is_whole = !goes_by_slices(&way);
  SZG_TRY(send_around_words(device, &way));
  if (is_whole) SZG_TRY(szg_device_fork(device, SZG_SIDE_CHECKS));
  szg_read_job_cuda job;
  SZG_TRY(szg_frame_open_cuda(ctx, &r->call->opened->header, &r->plan->frames, frame, &job));
  szg_summed_leaves const summed = leaves_summed(r, &job);
  bool const verifies_first = is_whole && summed.leaf_count == 0;
  if (verifies_first) SZG_TRY(szg_frame_verify_cuda(&job, NULL)); /* while the codebook is read */
  SZG_TRY(szg_frame_prepare_cuda(&job));
  SZG_TRY(restore_rows(r, &job, &way));
  if (!is_whole) SZG_TRY(send_words(device, &way, frame->grid.tile_count, frame->grid.tile_count));
  if (verifies_first) return SZGPU_OK;
  SZG_TRY(szg_device_fork(device, SZG_SIDE_CHECKS));
  return szg_frame_verify_cuda(&job, &summed);
}

/* Reports what the kernels found. */
static szgpu_status judge(const szg_decompress_call_cuda *call, const szg_verdict *verdicts) {
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    unsigned long long const frame = call->first_frame + i;
    for (uint32_t kind = 0; kind < SZG_SECTION_KIND_COUNT; kind++)
      if (verdicts[i].bad_sections >> kind & 1)
        return szg_fail(call->ctx, SZGPU_BAD_CHECKSUM, "section '%s' of frame %llu",
                        szg_section_name_in(&call->frames[i].header, kind), frame);
    if (verdicts[i].bad_data)
      return szg_fail(call->ctx, SZGPU_BAD_DATA, "frame %llu contradicts itself", frame);
  }
  return SZGPU_OK;
}

/* Sends all frames up at once, if they do not go one by one. */
static szgpu_status send_frames(const restoration *r) {
  const szg_decompress_call_cuda *const call = r->call;
  szg_device *const device = &call->ctx->device;
  if (call->is_device_archive || r->sends_frames) return SZGPU_OK;
  SZG_TRY(szg_device_copy(device, r->plan->archive_copy, call->archive + call->first_byte,
                          call->end_byte - call->first_byte));
  return szg_device_mark(device, "archive to device");
}

/* Sends the rest of the rows and the verdict to the host. */
static szgpu_status finish(restoration *r, uint64_t verdict_bytes) {
  szg_device *const device = &r->call->ctx->device;
  if (r->host_field) {
    SZG_TRY(send_down(r));
    SZG_TRY(szg_device_join(device, SZG_SIDE_COPIES));
    SZG_TRY(szg_device_mark(device, "field to host"));
  }
  SZG_TRY(szg_device_join(device, SZG_SIDE_CHECKS));
  SZG_TRY(szg_device_bring(device, r->plan->verdicts_back, r->plan->verdicts, verdict_bytes, NULL));
  SZG_TRY(szg_device_mark(device, "verdict"));
  return szg_device_wait(device, false);
}

szgpu_status szg_restore_frames_cuda(const szg_decompress_call_cuda *call,
                                     const szg_decompress_plan_cuda *plan, void *field,
                                     bool is_device_field) {
  szg_device *const device = &call->ctx->device;
  szg_threads *const threads = &call->ctx->threads;
  uint64_t const verdict_bytes = szg_call_frames(call) * sizeof(szg_verdict);
  restoration r = {};
  r.call = call;
  r.plan = plan;
  r.host_field = is_device_field ? NULL : (uint8_t *)field;
  /* Timed stages must run in one piece. */
  r.takes_slices = r.host_field && !call->box && !device->is_timed && szg_device_is_pinned(field);
  r.sends_frames = !call->is_device_archive && has_slices(&r, &call->frames[0]);
  SZG_TRY(szg_device_set(device, plan->verdicts, 0, verdict_bytes));
  SZG_TRY(send_frames(&r));
  uint64_t offset = call->first_byte;
  for (uint64_t i = 0; i < szg_call_frames(call); i++) {
    const szg_read_frame_cuda *const frame = &call->frames[i];
    SZG_TRY(restore_frame(&r, frame, offset));
    offset += szg_frame_bytes(call->opened, call->first_frame + i);
    uint64_t const wanted =
        frame->has_region ? frame->region.value_count
                          : (frame->end_row - frame->first_row) * call->opened->grid.row_values;
    SZG_TRY(szg_report_done(threads, threads->done_values + wanted));
  }
  SZG_TRY(finish(&r, verdict_bytes));
  return judge(call, plan->verdicts_back);
}
