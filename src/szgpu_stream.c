/* szgpu_stream.c - the public entry points for fields and archives that need not be in memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "szgpu.h"

#include "core/bytes.h"
#include "pipeline/calls.h"
#include "pipeline/flow.h"

static_assert(SZGPU_MAX_CTXS + 2 <= SZG_MOST_RING_SLOTS, "each ctx has a frame at work");

/* Takes all ctxs for a call, or none. The ring takes what a limit leaves, so nothing is kept of
 * earlier calls then. */
static szgpu_status begin_flow(szgpu_ctx *const *ctxs, int ctx_count, const szgpu_source *source,
                               const szgpu_sink *sink, szg_flow *flow) {
  SZG_REQUIRE(ctxs && ctx_count >= 1 && ctx_count <= SZGPU_MAX_CTXS, SZGPU_BAD_ARGUMENT);
  for (int i = 0; i < ctx_count; i++) {
    szgpu_status status = szg_begin_call(ctxs[i]);
    if (status == SZGPU_OK) continue;
    if (i > 0) status = szg_fail(ctxs[0], status, "ctx %d is missing or in use", i);
    for (int k = i; k > 0; k--) (void)szg_end_call(ctxs[k - 1], SZGPU_OK);
    return status;
  }
  for (int i = 0; i < ctx_count; i++)
    if (ctxs[i]->account.limit_bytes) szg_give_memory_back(ctxs[i]);
  *flow = (szg_flow){.ctxs = ctxs,
                     .ctx_count = ctx_count,
                     .source = source,
                     .sink = sink,
                     .cut_frame = UINT64_MAX};
  return SZGPU_OK;
}

static szgpu_status end_flow(const szg_flow *flow, szgpu_status status) {
  szgpu_ctx *const first = flow->ctxs[0];
  for (int i = flow->ctx_count - 1; i > 0; i--) {
    szgpu_ctx *const ctx = flow->ctxs[i];
    bool const is_its_limit =
        status == SZGPU_MEMORY_LIMIT && ctx->account.refused_bytes && !first->account.refused_bytes;
    (void)szg_end_call(ctx, status);
    if (is_its_limit) status = szg_fail(first, status, "%s", ctx->error);
  }
  return szg_end_call(first, status);
}

/* What the call's workspace is compared with. */
static void note_callers_bytes(const szg_flow *flow, uint64_t bytes) {
  for (int i = 0; i < flow->ctx_count; i++) flow->ctxs[i]->callers_bytes = bytes;
}

static bool has_ends(const szg_flow *flow) {
  return flow->source && (flow->source->read || flow->source->memory) && flow->sink &&
         (flow->sink->write || flow->sink->memory);
}

static szgpu_status compress_stream(szg_flow *flow, const szgpu_params *given,
                                    const szgpu_shape *shape, uint64_t *archive_bytes) {
  szg_grid grid;
  szgpu_params known;
  const szgpu_params *const params = &known;
  SZG_TRY(szg_check_request(flow->ctxs[0], given, shape, &known, &grid));
  SZG_REQUIRE(has_ends(flow) && archive_bytes, SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_check_alignment(flow->ctxs[0], shape->dtype, flow->source->memory));
  note_callers_bytes(flow, szg_field_bytes(shape, &grid));
  szg_flow_begin(flow, szg_compressing_job(params), szg_field_bytes(shape, &grid));
  return szg_flow_compress(flow, params, shape, &grid, archive_bytes);
}

szgpu_status szgpu_compress_stream(szgpu_ctx *const *ctxs, int ctx_count,
                                   const szgpu_params *params, const szgpu_shape *shape,
                                   const szgpu_source *source, const szgpu_sink *sink,
                                   uint64_t *archive_bytes) {
  szg_flow flow;
  SZG_TRY(begin_flow(ctxs, ctx_count, source, sink, &flow));
  return end_flow(&flow, compress_stream(&flow, params, shape, archive_bytes));
}

static szgpu_status find_sizes(szgpu_ctx *ctx, int ctx_count, const szgpu_params *given,
                               const szgpu_shape *shape, size_t *memory_bytes,
                               uint64_t *frame_rows) {
  szg_grid grid;
  szgpu_params known;
  const szgpu_params *const params = &known;
  szg_flow_sizes sizes;
  uint64_t bytes_at, slot_bytes, ring_bytes, all_bytes;
  SZG_REQUIRE(ctx_count >= 1 && ctx_count <= SZGPU_MAX_CTXS, SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_check_request(ctx, given, shape, &known, &grid));
  SZG_TRY(szg_flow_compress_sizes(ctx, params, shape, &grid, &sizes));
  SZG_REQUIRE(szg_flow_slot_bytes(&sizes, &bytes_at, &slot_bytes) &&
                  szg_mul_checked(slot_bytes, (uint64_t)szg_flow_slots(ctx_count), &ring_bytes) &&
                  szg_add_checked(ring_bytes, sizes.workspace_bytes, &all_bytes),
              SZGPU_BAD_SHAPE);
  if (memory_bytes) *memory_bytes = all_bytes;
  if (frame_rows) *frame_rows = sizes.frame_rows;
  return SZGPU_OK;
}

szgpu_status szgpu_stream_sizes(szgpu_ctx *ctx, int ctx_count, const szgpu_params *params,
                                const szgpu_shape *shape, size_t *memory_bytes,
                                uint64_t *frame_rows) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(ctx, find_sizes(ctx, ctx_count, params, shape, memory_bytes, frame_rows));
}

static szgpu_status decompress_stream(szg_flow *flow, uint64_t *archive_bytes) {
  szg_opened opened;
  SZG_REQUIRE(has_ends(flow) && archive_bytes, SZGPU_BAD_ARGUMENT);
  szgpu_status status = szg_flow_open_archive(flow, &opened);
  if (status == SZGPU_OK)
    for (int i = 0; i < flow->ctx_count && status == SZGPU_OK; i++)
      status = szg_check_decoder(flow->ctxs[i], &opened.header);
  if (status == SZGPU_OK)
    status = szg_check_alignment(flow->ctxs[0], opened.header.shape.dtype, flow->sink->memory);
  if (status != SZGPU_OK) return szg_flow_end(flow, status);
  uint64_t const field_bytes = szg_field_bytes(&opened.header.shape, &opened.grid);
  note_callers_bytes(flow, field_bytes);
  szg_flow_begin(flow, szg_restoring_job(&opened), field_bytes);
  *archive_bytes = opened.archive_bytes;
  return szg_flow_decompress(flow, &opened);
}

szgpu_status szgpu_decompress_stream(szgpu_ctx *const *ctxs, int ctx_count,
                                     const szgpu_source *source, const szgpu_sink *sink,
                                     uint64_t *archive_bytes) {
  szg_flow flow;
  SZG_TRY(begin_flow(ctxs, ctx_count, source, sink, &flow));
  return end_flow(&flow, decompress_stream(&flow, archive_bytes));
}
