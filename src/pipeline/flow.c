/* flow.c - what both directions share: the ring's memory, the callbacks, the errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/flow.h"

#include <string.h>

#include "core/bytes.h"

static int slots_within(const szg_flow *flow, uint64_t slot_bytes, uint64_t workspace_bytes) {
  const szg_account *const account = &flow->ctxs[0]->account;
  int wanted = szg_flow_slots(flow->ctx_count);
  if ((uint64_t)wanted > flow->frame_count) wanted = (int)flow->frame_count;
  if (!account->limit_bytes || slot_bytes == 0) return wanted;
  uint64_t const left = account->limit_bytes - szg_min_u64(account->limit_bytes, workspace_bytes);
  uint64_t const within = left / slot_bytes;
  return within >= (uint64_t)wanted ? wanted : within > 0 ? (int)within : 1;
}

void szg_flow_begin(szg_flow *flow, szg_job job, uint64_t field_bytes) {
  for (int i = 0; i < flow->ctx_count; i++) {
    szgpu_ctx *const ctx = flow->ctxs[i];
    ctx->threads.progress = NULL;
    flow->failed_frame[i] = UINT64_MAX;
    flow->has_cuda[i] = szg_takes_cuda(ctx, job, field_bytes / (uint64_t)flow->ctx_count);
  }
}

static bool align_up_checked(uint64_t bytes, uint64_t *aligned) {
  if (!szg_add_checked(bytes, SZG_ARENA_ALIGNMENT - 1, aligned)) return false;
  *aligned -= *aligned % SZG_ARENA_ALIGNMENT;
  return true;
}

bool szg_flow_slot_bytes(const szg_flow_sizes *sizes, uint64_t *bytes_at, uint64_t *slot_bytes) {
  return align_up_checked(sizes->values_bytes, bytes_at) &&
         szg_add_checked(*bytes_at, sizes->bytes_bytes, slot_bytes) &&
         align_up_checked(*slot_bytes, slot_bytes);
}

szgpu_status szg_flow_open(szg_flow *flow, const szg_flow_sizes *sizes) {
  szgpu_ctx *const first = flow->ctxs[0];
  uint64_t slot_bytes, ring_bytes, bytes_at;
  SZG_REQUIRE(szg_flow_slot_bytes(sizes, &bytes_at, &slot_bytes), SZGPU_OUT_OF_MEMORY);
  int const slot_count = slots_within(flow, slot_bytes, sizes->workspace_bytes);
  SZG_REQUIRE(szg_mul_checked(slot_bytes, (uint64_t)slot_count, &ring_bytes), SZGPU_OUT_OF_MEMORY);
  if (ring_bytes > first->ring.capacity_bytes) szg_unpin_ring_cuda(first);
  szgpu_status const status = szg_buffer_reset(&first->ring, ring_bytes);
  if (status == SZGPU_OUT_OF_MEMORY)
    return szg_fail(first, status, "%d frames on their way take %llu bytes each", slot_count,
                    (unsigned long long)slot_bytes);
  SZG_TRY(status);
  if (flow->has_cuda[0] && ring_bytes > 0) szg_pin_ring_cuda(first);
  first->error[0] = '\0'; /* it goes without */
  for (int i = 0; i < slot_count && ring_bytes > 0; i++) {
    flow->slots[i].values = first->ring.bytes + (uint64_t)i * slot_bytes;
    flow->slots[i].bytes = flow->slots[i].values + bytes_at;
  }
  flow->slot_count = slot_count;
  return SZGPU_OK;
}

szgpu_status szg_flow_take(szg_flow *flow, uint64_t offset, void *bytes, uint64_t byte_count,
                           const void **taken, uint64_t *got_bytes) {
  const szgpu_source *const source = flow->source;
  *taken = bytes;
  if (!source->memory) return szg_flow_read(flow, offset, bytes, byte_count, got_bytes);
  uint64_t const left = source->memory_bytes - szg_min_u64(source->memory_bytes, offset);
  *got_bytes = szg_min_u64(left, byte_count);
  if (*got_bytes > 0) *taken = (const uint8_t *)source->memory + offset;
  return SZGPU_OK;
}

szgpu_status szg_flow_read(szg_flow *flow, uint64_t offset, void *bytes, uint64_t byte_count,
                           uint64_t *got_bytes) {
  if (flow->source->memory) {
    const void *taken;
    SZG_TRY(szg_flow_take(flow, offset, bytes, byte_count, &taken, got_bytes));
    if (*got_bytes > 0) memcpy(bytes, taken, *got_bytes);
    return SZGPU_OK;
  }
  size_t got = 0;
  *got_bytes = 0;
  if (byte_count == 0) return SZGPU_OK;
  int const code = flow->source->read(flow->source->user, offset, bytes, byte_count, &got);
  *got_bytes = got;
  if (code == 0 && got <= byte_count) return SZGPU_OK;
  flow->source_code = code;
  flow->source_offset = offset;
  return SZGPU_SOURCE_FAILED;
}

void *szg_flow_place_in_memory(const szg_flow *flow, uint64_t offset, uint64_t byte_count) {
  const szgpu_sink *const sink = flow->sink;
  bool const has_room =
      sink->memory && offset <= sink->memory_bytes && byte_count <= sink->memory_bytes - offset;
  return has_room ? (uint8_t *)sink->memory + offset : NULL;
}

szgpu_status szg_flow_place(szg_flow *flow, uint64_t offset, void *bytes, uint64_t byte_count,
                            void **place) {
  *place = bytes;
  if (!flow->sink->memory) return SZGPU_OK;
  *place = szg_flow_place_in_memory(flow, offset, byte_count);
  if (*place) return SZGPU_OK;
  __atomic_store_n(&flow->is_sink_full, true, __ATOMIC_RELAXED);
  return SZGPU_CAPACITY;
}

szgpu_status szg_flow_write(szg_flow *flow, uint64_t offset, const void *bytes,
                            uint64_t byte_count) {
  if (flow->sink->memory) {
    void *place;
    SZG_TRY(szg_flow_place(flow, offset, NULL, byte_count, &place));
    if (place != bytes) memcpy(place, bytes, byte_count);
    return SZGPU_OK;
  }
  int const code = flow->sink->write(flow->sink->user, offset, bytes, byte_count);
  if (code == 0) return SZGPU_OK;
  flow->sink_code = code;
  flow->sink_offset = offset;
  return SZGPU_SINK_FAILED;
}

static szgpu_status report(szg_flow *flow, uint64_t done_frames) {
  const szgpu_options *const options = &flow->ctxs[0]->options;
  if (!options->progress) return SZGPU_OK;
  int const answer = options->progress(options->progress_user, done_frames * flow->frame_values,
                                       flow->frame_count * flow->frame_values);
  flow->is_cancelled = answer != 0;
  return answer == 0 ? SZGPU_OK : SZGPU_CANCELLED;
}

szgpu_status szg_flow_end_work(szg_flow *flow, uint64_t frame, int worker, szgpu_status status) {
  flow->has_cuda[worker] = flow->has_cuda[worker] && !flow->ctxs[worker]->is_device_given_up;
  if (status != SZGPU_OK) {
    if (frame < flow->failed_frame[worker]) flow->failed_frame[worker] = frame;
    return status;
  }
  uint64_t const done = __atomic_add_fetch(&flow->done_frames, 1, __ATOMIC_RELAXED);
  return worker == 0 ? report(flow, done) : SZGPU_OK; /* in the caller's thread */
}

/* What the ctx has to say that failed first, if any did. */
static const char *first_text(const szg_flow *flow) {
  int first = 0;
  for (int i = 1; i < flow->ctx_count; i++)
    if (flow->failed_frame[i] < flow->failed_frame[first]) first = i;
  return flow->ctxs[first]->error;
}

static szgpu_status explain(const szg_flow *flow, szgpu_status status) {
  szgpu_ctx *const first = flow->ctxs[0];
  char text[sizeof first->error];
  memcpy(text, first_text(flow), sizeof text);
  if (status == SZGPU_SOURCE_FAILED)
    return szg_fail(first, status, "reading at byte %llu returned %d",
                    (unsigned long long)flow->source_offset, flow->source_code);
  if (status == SZGPU_SINK_FAILED)
    return szg_fail(first, status, "writing at byte %llu returned %d",
                    (unsigned long long)flow->sink_offset, flow->sink_code);
  if (status == SZGPU_CAPACITY && flow->is_sink_full)
    return szg_fail(first, status, "the sink's memory has %llu bytes, which are too few",
                    (unsigned long long)flow->sink->memory_bytes);
  if (status == SZGPU_TRUNCATED && flow->cut_frame < UINT64_MAX)
    return szg_fail(first, status, "in frame %llu", (unsigned long long)flow->cut_frame);
  return szg_fail(first, status, "%s", text);
}

szgpu_status szg_flow_end(szg_flow *flow, szgpu_status status) {
  for (int i = 0; i < flow->ctx_count; i++)
    flow->ctxs[i]->threads.progress = flow->ctxs[i]->options.progress;
  if (status != SZGPU_OK) return explain(flow, status);
  return flow->ctx_count > 1 && flow->done_frames > 0 ? report(flow, flow->frame_count) : SZGPU_OK;
}
