/* flow_decompress.c - an archive from a source to a field in a sink, frame by frame.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   source --> header
 *   source --> a frame's part of the archive --> its values --> sink
 */

#include "container/compact.h"
#include "core/bytes.h"
#include "frames/open.h"
#include "pipeline/backend.h"
#include "pipeline/flow.h"

typedef struct flow_restoration {
  szg_flow *flow;
  const szg_opened *opened; /* the header alone */
  uint64_t row_bytes;
  uint64_t most_frame_bytes;
  uint64_t next_byte;  /* of the archive */
  uint64_t next_value; /* of the field, in bytes */
} flow_restoration;

/* ---- the header ---- */

/* The header has byte_count bytes so far; reads those up to wanted_bytes. A header's claims take
 * memory only as the bytes come in. */
static szgpu_status read_on(szg_flow *flow, szg_buffer *head, uint64_t wanted_bytes) {
  enum { MOST_AT_ONCE = 1 << 20 };
  while (head->used_bytes < wanted_bytes) {
    uint64_t const more = szg_min_u64(wanted_bytes - head->used_bytes, MOST_AT_ONCE);
    uint64_t got_bytes;
    SZG_TRY(szg_buffer_reserve(head, more));
    SZG_TRY(
        szg_flow_read(flow, head->used_bytes, head->bytes + head->used_bytes, more, &got_bytes));
    head->used_bytes += got_bytes;
    if (got_bytes < more) return SZGPU_OK; /* what is missing shows */
  }
  return SZGPU_OK;
}

/* The whole of an archive in its compact form, of which the first bytes are there. */
static szgpu_status open_compact(szg_flow *flow, szg_buffer *head, szg_opened *opened) {
  uint64_t archive_bytes;
  SZG_TRY(szg_compact_size(head->bytes, head->used_bytes, &archive_bytes));
  SZG_TRY(read_on(flow, head, archive_bytes));
  return szg_open(head->bytes, head->used_bytes, &flow->ctxs[0]->kept[SZG_KEPT_PLAIN], opened);
}

szgpu_status szg_flow_open_archive(szg_flow *flow, szg_opened *opened) {
  szg_buffer *const head = &flow->ctxs[0]->kept[SZG_KEPT_HEAD];
  uint64_t header_bytes;
  SZG_TRY(szg_buffer_reset(head, SZG_HEADER_BYTES));
  SZG_TRY(read_on(flow, head, SZG_COMPACT_HEAD_BYTES));
  if (szg_is_compact(head->bytes, head->used_bytes)) return open_compact(flow, head, opened);
  SZG_TRY(read_on(flow, head, SZG_HEADER_BYTES));
  szgpu_status const status = szg_open_in_place(head->bytes, head->used_bytes, opened);
  bool const is_longer = status == SZGPU_TRUNCATED && head->used_bytes >= SZG_HEADER_BYTES &&
                         szg_header_bytes(&opened->header, &header_bytes);
  if (!is_longer) return status;
  SZG_TRY(read_on(flow, head, header_bytes));
  return szg_open_in_place(head->bytes, head->used_bytes, opened);
}

/* ---- frames ---- */

static szgpu_status read_frame(void *job, uint64_t frame, int slot_number) {
  flow_restoration *const call = job;
  szg_flow_slot *const slot = &call->flow->slots[slot_number];
  uint64_t const byte_count = szg_frame_bytes(call->opened, frame);
  if (call->opened->is_compact) {
    slot->from = call->opened->bytes + szg_frame_offset(call->opened, frame);
    slot->from_bytes = byte_count;
    return SZGPU_OK;
  }
  SZG_TRY(szg_flow_take(call->flow, call->next_byte, slot->bytes, byte_count, &slot->from,
                        &slot->from_bytes));
  call->next_byte += byte_count;
  if (slot->from_bytes == byte_count) return SZGPU_OK;
  call->flow->cut_frame = frame;
  return SZGPU_TRUNCATED;
}

/* Whether the frame must be unpacked first, which the CPU does. One that cannot be opened has an
 * error that either backend finds. */
static bool has_zstd(const szg_opened *part, uint64_t frame) {
  szg_frame_header header;
  if (szg_frame_open(part, frame, part->bytes, part->available_bytes, &header, NULL) != SZGPU_OK)
    return false;
  for (uint32_t i = 0; i < header.section_count; i++)
    if (header.sections[i].codec == SZG_CODEC_ZSTD) return true;
  return false;
}

static szgpu_status restore_frame(void *job, uint64_t frame, int slot_number, int worker) {
  const flow_restoration *const call = job;
  szg_flow *const flow = call->flow;
  szgpu_ctx *const ctx = flow->ctxs[worker];
  szg_flow_slot *const slot = &flow->slots[slot_number];
  szg_opened const part = szg_opened_frame(call->opened, frame, slot->from, slot->from_bytes);
  uint64_t const first_row = frame * part.header.frame_rows;
  uint64_t const row_count = szg_frame_row_count(&part, frame);
  szg_wanted const wanted = szg_wanted_rows(&part.grid, first_row, row_count);
  bool const with_cuda = flow->has_cuda[worker] && !has_zstd(&part, frame);
  szgpu_status status = SZGPU_UNSUPPORTED;
  szg_environment_set(); /* this may be a thread of the ring */
  SZG_TRY(szg_flow_place(flow, first_row * call->row_bytes, slot->values,
                         row_count * call->row_bytes, &slot->to));
  if (with_cuda)
    status = szg_decompress_cuda(ctx, part.bytes, &part, first_row, row_count, slot->to);
  if (!with_cuda || szg_falls_back(ctx, status))
    status = szg_decompress_cpu(ctx, &part, &wanted, slot->to);
  return szg_flow_end_work(flow, frame, worker, status);
}

static szgpu_status write_frame(void *job, uint64_t frame, int slot) {
  flow_restoration *const call = job;
  uint64_t const byte_count = szg_frame_row_count(call->opened, frame) * call->row_bytes;
  SZG_TRY(szg_flow_write(call->flow, call->next_value, call->flow->slots[slot].to, byte_count));
  call->next_value += byte_count;
  return SZGPU_OK;
}

/* docs/security.md, "The most that an archive can take". */
static uint64_t most_workspace_bytes(const szgpu_ctx *ctx, uint64_t values_bytes,
                                     uint64_t frame_bytes) {
  uint64_t const fixed_bytes = 2 << 20, thread_bytes = 3 << 20;
  return fixed_bytes + thread_bytes * (uint64_t)ctx->threads.count + frame_bytes / 4 +
         values_bytes / 4 * 17;
}

/* Bytes of a frame's values as they are coded, and once more if that is not the field's type. */
static uint64_t coded_values_bytes(const szg_header *header, uint64_t value_count) {
  szgpu_dtype const coded = szg_header_coded_dtype(header);
  return value_count * szg_dtype_bytes(coded) * (coded == header->shape.dtype ? 1 : 2);
}

static szgpu_status decompress_call(flow_restoration *call) {
  static const szg_ring_steps steps = {read_frame, restore_frame, write_frame};
  szg_flow *const flow = call->flow;
  const szg_opened *const opened = call->opened;
  uint64_t const frame_rows = opened->header.frame_rows;
  szg_grid const frame_grid = szg_grid_of_rows(&opened->grid, frame_rows);
  uint64_t const values_bytes = frame_rows * call->row_bytes;
  size_t const width = szg_dtype_bytes(opened->header.shape.dtype);
  uint64_t largest_bytes = 0;
  SZG_REQUIRE(szg_max_archive_bytes(&frame_grid, width, 1, &call->most_frame_bytes),
              SZGPU_BAD_DATA);
  for (uint64_t i = 0; i < opened->header.frame_count; i++)
    if (szg_frame_bytes(opened, i) > largest_bytes) largest_bytes = szg_frame_bytes(opened, i);
  SZG_REQUIRE(largest_bytes <= call->most_frame_bytes, SZGPU_BAD_DATA);
  flow->frame_count = opened->header.frame_count;
  flow->frame_values = frame_grid.value_count;
  uint64_t const coded_bytes = coded_values_bytes(&opened->header, frame_grid.value_count);
  bool const is_there = flow->source->memory || opened->is_compact;
  szg_flow_sizes const sizes = {frame_rows, flow->sink->memory ? 0 : values_bytes,
                                is_there ? 0 : largest_bytes,
                                most_workspace_bytes(flow->ctxs[0], coded_bytes, largest_bytes)};
  SZG_TRY(szg_flow_open(flow, &sizes));
  return szg_run_ring(flow->frame_count, flow->slot_count, flow->ctx_count, &steps, call);
}

szgpu_status szg_flow_decompress(szg_flow *flow, const szg_opened *opened) {
  flow_restoration call = {
      .flow = flow,
      .opened = opened,
      .row_bytes = opened->grid.row_values * szg_dtype_bytes(opened->header.shape.dtype),
      .next_byte = opened->first_offset};
  return szg_flow_end(flow, decompress_call(&call));
}
