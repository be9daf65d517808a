/* flow_compress.c - a field from a source to an archive in a sink, frame by frame.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   source --range, in pieces--> bound and step
 *   source --> values of a frame --> its part of the archive --> sink, and the header last
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "container/compact.h"
#include "core/bytes.h"
#include "pipeline/backend.h"
#include "pipeline/flow.h"
#include "quant/restored.h"

enum { LEAST_PIECE_BYTES = 1 << 20 }; /* of a pass over the values */

typedef struct flow_compression {
  szg_flow *flow;
  const szgpu_params *params;
  const szgpu_shape *shape;
  const szg_grid *grid; /* of the field */
  uint64_t row_bytes;
  uint64_t capacity;    /* of a slot's bytes */
  uint64_t piece_bytes; /* most at once in a pass over the values */
  const szg_bound_plan *bound;
  szg_header header;
  bool is_compacted;      /* the archive's bytes go to the first ctx's memory first */
  szg_buffer frame_bytes; /* u64 [frames]; 0: not known yet */
  /* of the frames that are written */
  uint64_t next_byte;   /* of the archive */
  szg_header notes;     /* what their headers note of them */
  pthread_mutex_t lock; /* of the next two, and of frame_bytes while frames are coded */
  uint64_t sized_frames, sized_bytes; /* the sizes of so many first frames are known; their end */
  bool fails;                         /* the bound does; atomic */
} flow_compression;

/* ---- passes over the values ---- */

typedef enum pass_kind {
  PASS_EXTREMES,
  PASS_SAMPLE,
  PASS_GREATEST,
  PASS_SURVEY,
  PASS_RESTORED
} pass_kind;

/* One pass. Pieces hold whole spans, except the last one; in the search for restored values they
 * are frames. All values are a piece if they are in memory: one loop of all threads. */
typedef struct range_pass {
  flow_compression *call;
  const szg_value_source *source; /* that asks for it */
  pass_kind kind;
  const uint64_t *named_fill;
  const szg_range *range;
  double limit;
  const szg_survey *survey;
  const szg_restored_look *look;
  uint64_t piece_values;
  szg_extremes extremes;
  double greatest;
  szg_ends ends;
  szg_restored_found restored;
} range_pass;

/* Whether the source has all bytes of the field that were read at `offset`. */
static szgpu_status has_all(flow_compression *call, uint64_t offset, uint64_t got_bytes,
                            uint64_t byte_count) {
  if (got_bytes == byte_count) return SZGPU_OK;
  call->flow->source_code = 0;
  call->flow->source_offset = offset + got_bytes;
  return SZGPU_SOURCE_FAILED;
}

/* Takes byte_count bytes of the field, which must be there, to a slot. */
static szgpu_status take_values(flow_compression *call, uint64_t offset, uint64_t byte_count,
                                int slot_number) {
  szg_flow *const flow = call->flow;
  szg_flow_slot *const slot = &flow->slots[slot_number];
  uint64_t got_bytes;
  SZG_TRY(szg_flow_take(flow, offset, slot->values, byte_count, &slot->from, &got_bytes));
  return has_all(call, offset, got_bytes, byte_count);
}

static uint64_t values_of_piece(const range_pass *pass, uint64_t piece) {
  uint64_t const left = pass->call->grid->value_count - piece * pass->piece_values;
  return szg_min_u64(left, pass->piece_values);
}

static szgpu_status read_piece(void *job, uint64_t piece, int slot) {
  const range_pass *const pass = job;
  uint64_t const width = szg_dtype_bytes(pass->call->shape->dtype);
  return take_values(pass->call, piece * pass->piece_values * width,
                     values_of_piece(pass, piece) * width, slot);
}

static szgpu_status look_at_restored(range_pass *pass, uint64_t piece, int slot, int worker) {
  const szg_flow *const flow = pass->call->flow;
  uint64_t const value_count = values_of_piece(pass, piece);
  szg_value_source const source = szg_value_source_cpu(
      &flow->ctxs[worker]->threads, pass->call->shape->dtype, flow->slots[slot].from, value_count);
  bool const is_last = piece * pass->piece_values + value_count == pass->call->grid->value_count;
  szg_restored_found found;
  SZG_TRY(source.find_restored(&source, pass->look, &found));
  if (!is_last) found.runs &= ~(uint32_t)SZG_RESTORED_HAS_REST;
  szg_restored_merge(&found, &pass->restored);
  return SZGPU_OK;
}

static szgpu_status look_at_piece(void *job, uint64_t piece, int slot, int worker) {
  range_pass *const pass = job;
  if (pass->kind == PASS_RESTORED) return look_at_restored(pass, piece, slot, worker);
  const szg_flow *const flow = pass->call->flow;
  szg_value_source source =
      szg_value_source_mapped_cpu(&flow->ctxs[worker]->threads, &pass->source->mapping,
                                  flow->slots[slot].from, values_of_piece(pass, piece));
  source.first_span = (piece * pass->piece_values) >> SZG_RANGE_SPAN_LOG2;
  if (pass->kind == PASS_GREATEST) {
    double greatest;
    SZG_TRY(source.greatest_up_to(&source, pass->range, pass->limit, &greatest));
    if (greatest > pass->greatest) pass->greatest = greatest;
    return SZGPU_OK;
  }
  if (pass->kind == PASS_SURVEY) {
    szg_ends ends;
    SZG_TRY(source.survey(&source, pass->survey, &ends));
    szg_ends_merge(&ends, &pass->ends);
    return SZGPU_OK;
  }
  szg_extremes found;
  SZG_TRY(pass->kind == PASS_SAMPLE ? source.sample_extremes(&source, &found)
                                    : source.find_extremes(&source, pass->named_fill, &found));
  szg_extremes_merge(&found, &pass->extremes);
  return SZGPU_OK;
}

static szgpu_status run_pass(range_pass *pass) {
  static const szg_ring_steps steps = {read_piece, look_at_piece, NULL};
  const szg_flow *const flow = pass->call->flow;
  uint64_t const span_bytes = szg_dtype_bytes(pass->call->shape->dtype) << SZG_RANGE_SPAN_LOG2;
  uint64_t const spans = pass->call->piece_bytes / span_bytes;
  pass->piece_values = pass->look ? pass->look->frame_values : spans << SZG_RANGE_SPAN_LOG2;
  if (flow->source->memory) pass->piece_values = pass->call->grid->value_count;
  pass->extremes = (szg_extremes){INFINITY, -INFINITY, 0};
  pass->ends = (szg_ends){UINT64_MAX, 0, 0, 0};
  return szg_run_ring(szg_div_up(pass->call->grid->value_count, pass->piece_values),
                      flow->slot_count, 1, &steps, pass);
}

static szgpu_status find_extremes(const szg_value_source *source, const uint64_t *named_fill,
                                  szg_extremes *extremes) {
  range_pass pass = {
      .call = source->where, .source = source, .kind = PASS_EXTREMES, .named_fill = named_fill};
  SZG_TRY(run_pass(&pass));
  *extremes = pass.extremes;
  return SZGPU_OK;
}

static szgpu_status sample_extremes(const szg_value_source *source, szg_extremes *extremes) {
  range_pass pass = {.call = source->where, .source = source, .kind = PASS_SAMPLE};
  SZG_TRY(run_pass(&pass));
  *extremes = pass.extremes;
  return SZGPU_OK;
}

static szgpu_status greatest_up_to(const szg_value_source *source, const szg_range *range,
                                   double limit, double *greatest) {
  range_pass pass = {.call = source->where,
                     .source = source,
                     .kind = PASS_GREATEST,
                     .range = range,
                     .limit = limit};
  SZG_TRY(run_pass(&pass));
  *greatest = pass.greatest;
  return SZGPU_OK;
}

static szgpu_status survey_values(const szg_value_source *source, const szg_survey *survey,
                                  szg_ends *ends) {
  range_pass pass = {
      .call = source->where, .source = source, .kind = PASS_SURVEY, .survey = survey};
  SZG_TRY(run_pass(&pass));
  *ends = pass.ends;
  return SZGPU_OK;
}

static szgpu_status find_restored(const szg_value_source *source, const szg_restored_look *look,
                                  szg_restored_found *found) {
  range_pass pass = {.call = source->where, .source = source, .kind = PASS_RESTORED, .look = look};
  SZG_TRY(run_pass(&pass));
  *found = pass.restored;
  return SZGPU_OK;
}

/* Reads each run where it is: there are few. */
static szgpu_status pick(const szg_value_source *source, const szg_runs *runs, void *picked) {
  flow_compression *const call = source->where;
  uint64_t const width = szg_dtype_bytes(source->mapping.outer);
  uint64_t const run_bytes = runs->run_values * width;
  uint64_t got_bytes;
  for (uint32_t i = 0; i < runs->count; i++) {
    uint64_t const offset = runs->first[i] * width;
    SZG_TRY(szg_flow_read(call->flow, offset, (uint8_t *)picked + i * run_bytes, run_bytes,
                          &got_bytes));
    SZG_TRY(has_all(call, offset, got_bytes, run_bytes));
  }
  return SZGPU_OK;
}

/* ---- frames ---- */

static uint64_t values_bytes_of(const flow_compression *call, uint64_t frame) {
  uint64_t const rows = call->header.frame_rows;
  return szg_min_u64(rows, call->grid->row_extent - frame * rows) * call->row_bytes;
}

static szgpu_status read_frame(void *job, uint64_t frame, int slot) {
  flow_compression *const call = job;
  return take_values(call, frame * call->header.frame_rows * call->row_bytes,
                     values_bytes_of(call, frame), slot);
}

/* Notes how many bytes the frame takes. Returns where it goes in the sink's memory, if the sizes of
 * all frames before it are known and there is room; else NULL. */
static void *place_frame(void *job, uint64_t frame, uint64_t byte_count) {
  flow_compression *const call = job;
  uint64_t *const frame_bytes = (uint64_t *)(void *)call->frame_bytes.bytes;
  void *place = NULL;
  pthread_mutex_lock(&call->lock);
  frame_bytes[frame] = byte_count;
  if (call->sized_frames == frame && !call->is_compacted)
    place = szg_flow_place_in_memory(call->flow, call->sized_bytes, byte_count);
  for (; call->sized_frames < call->header.frame_count && frame_bytes[call->sized_frames] > 0;
       call->sized_frames++)
    call->sized_bytes += frame_bytes[call->sized_frames];
  pthread_mutex_unlock(&call->lock);
  return place;
}

static szgpu_status compress_frame(void *job, uint64_t frame, int slot_number, int worker) {
  flow_compression *const call = job;
  szg_flow *const flow = call->flow;
  szgpu_ctx *const ctx = flow->ctxs[worker];
  szg_flow_slot *const slot = &flow->slots[slot_number];
  szg_frame_piece const fresh = {.frame = frame,
                                 .bound = call->bound,
                                 .header = call->header,
                                 .place = place_frame,
                                 .place_user = call};
  bool const with_cuda = flow->has_cuda[worker] && !call->params->zstd_level;
  szgpu_status status = SZGPU_UNSUPPORTED;
  szg_environment_set(); /* this may be a thread of the ring */
  slot->piece = fresh;
  if (with_cuda)
    status = szg_compress_frame_cuda(ctx, call->params, call->grid, slot->from, slot->bytes,
                                     call->capacity, &slot->piece);
  if (!with_cuda || szg_falls_back(ctx, status)) {
    slot->piece = fresh;
    status = szg_compress_frame_cpu(ctx, call->params, call->grid, slot->from, slot->bytes,
                                    call->capacity, &slot->piece);
    if (status == SZGPU_OK && !slot->piece.fails)
      (void)place_frame(call, frame, slot->piece.frame_bytes); /* it is in the slot */
  }
  if (status == SZGPU_OK && slot->piece.fails) {
    __atomic_store_n(&call->fails, true, __ATOMIC_RELAXED);
    return SZGPU_CANCELLED; /* the ring, not the call */
  }
  slot->to = slot->piece.placed ? slot->piece.placed : slot->bytes;
  return szg_flow_end_work(flow, frame, worker, status);
}

/* Writes bytes of the archive to the sink, or to where it is put in its compact form. */
static szgpu_status put_bytes(flow_compression *call, uint64_t offset, const void *bytes,
                              uint64_t byte_count) {
  if (!call->is_compacted) return szg_flow_write(call->flow, offset, bytes, byte_count);
  memcpy(call->flow->ctxs[0]->kept[SZG_KEPT_PLAIN].bytes + offset, bytes, byte_count);
  return SZGPU_OK;
}

/* The archive is complete, in the first ctx's memory. */
static szgpu_status write_compact(flow_compression *call, uint64_t plain_bytes,
                                  uint64_t *archive_bytes) {
  szgpu_ctx *const ctx = call->flow->ctxs[0];
  szg_buffer compact = {.account = &ctx->account};
  SZG_TRY(szg_buffer_reset(&compact, plain_bytes));
  szgpu_status status = szg_compact_write(ctx, ctx->kept[SZG_KEPT_PLAIN].bytes, plain_bytes,
                                          compact.bytes, plain_bytes, archive_bytes);
  if (status == SZGPU_OK) status = szg_flow_write(call->flow, 0, compact.bytes, *archive_bytes);
  szg_buffer_release(&compact);
  return status;
}

static szgpu_status write_frame(void *job, uint64_t frame, int slot_number) {
  flow_compression *const call = job;
  const szg_flow_slot *const slot = &call->flow->slots[slot_number];
  const szg_frame_piece *const piece = &slot->piece;
  SZG_TRY(put_bytes(call, call->next_byte, slot->to, piece->frame_bytes));
  call->next_byte += piece->frame_bytes;
  (void)frame; /* frames come in their order */
  szg_header_add_notes(&piece->header, &call->notes);
  return SZGPU_OK;
}

/* header: the archive's, except what its frames tell. */
static szgpu_status write_archive(flow_compression *call, const szg_header *header,
                                  uint64_t *archive_bytes) {
  static const szg_ring_steps steps = {read_frame, compress_frame, write_frame};
  szg_flow *const flow = call->flow;
  szg_buffer head = {.account = &flow->ctxs[0]->account};
  uint64_t header_bytes;
  SZG_REQUIRE(szg_header_bytes(header, &header_bytes), SZGPU_BAD_SHAPE);
  call->header = *header;
  call->next_byte = call->sized_bytes = header_bytes;
  call->sized_frames = 0;
  memset(call->frame_bytes.bytes, 0, header->frame_count * sizeof(uint64_t));
  call->notes = (szg_header){0};
  call->fails = false;
  flow->done_frames = 0;
  SZG_TRY(szg_run_ring(header->frame_count, flow->slot_count, flow->ctx_count, &steps, call));
  call->header.archive_bytes = call->next_byte;
  szg_header_add_notes(&call->notes, &call->header);
  SZG_TRY(szg_buffer_reset(&head, header_bytes));
  szg_header_write(&call->header, (uint64_t *)(void *)call->frame_bytes.bytes, head.bytes);
  szgpu_status const status = put_bytes(call, 0, head.bytes, header_bytes);
  szg_buffer_release(&head);
  *archive_bytes = call->next_byte;
  if (status != SZGPU_OK || !call->is_compacted) return status;
  return write_compact(call, call->next_byte, archive_bytes);
}

/* Whether the bound fails, and nothing else does. */
static bool begins_anew(const flow_compression *call, szgpu_status status) {
  return call->fails && status == SZGPU_CANCELLED && !call->flow->is_cancelled;
}

static szg_value_source source_of(flow_compression *call) {
  szg_mapping const mapping = szg_mapping_of_params(call->params, call->shape->dtype);
  return (szg_value_source){.dtype = mapping.inner,
                            .mapping = mapping,
                            .value_count = call->grid->value_count,
                            .where = call,
                            .find_extremes = find_extremes,
                            .sample_extremes = sample_extremes,
                            .greatest_up_to = greatest_up_to,
                            .survey = survey_values,
                            .find_restored = find_restored,
                            .pick = pick};
}

/* Under a bound that follows from as few values as possible. */
static szgpu_status compress_bounded(flow_compression *call, uint64_t *archive_bytes) {
  szg_value_source const source = source_of(call);
  szg_bound_tries tries = szg_bound_first_try();
  szgpu_status status;
  do {
    szg_bound_plan bound;
    SZG_TRY(szg_call_bound(call->params, call->grid, &source, tries, &bound));
    call->bound = &bound;
    szg_header const header = szg_call_header(call->params, call->shape, call->grid, &bound);
    status = write_archive(call, &header, archive_bytes);
    szg_bound_next_try(&bound, &tries);
    for (int i = 0; i < call->flow->ctx_count && begins_anew(call, status); i++)
      call->flow->ctxs[i]->error[0] = '\0'; /* of frames that failed */
  } while (begins_anew(call, status));
  return status;
}

szgpu_status szg_flow_compress_sizes(const szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     szg_flow_sizes *sizes) {
  size_t const width = szg_dtype_bytes(shape->dtype);
  uint64_t whole_bytes;
  sizes->frame_rows = szg_frame_rows(grid, shape->dtype, params->mode, params->frame_rows);
  szg_grid const frame_grid = szg_grid_of_rows(grid, sizes->frame_rows);
  uint64_t const values_bytes = frame_grid.value_count * width;
  sizes->values_bytes = values_bytes > LEAST_PIECE_BYTES ? values_bytes : LEAST_PIECE_BYTES;
  SZG_REQUIRE(szg_max_archive_bytes(&frame_grid, width, 1, &sizes->bytes_bytes), SZGPU_BAD_SHAPE);
  return szg_compress_sizes_cpu(ctx, params, shape, grid, &sizes->workspace_bytes, &whole_bytes);
}

static szgpu_status open_ring(flow_compression *call) {
  szg_flow *const flow = call->flow;
  szg_flow_sizes sizes;
  SZG_TRY(szg_flow_compress_sizes(flow->ctxs[0], call->params, call->shape, call->grid, &sizes));
  call->capacity = sizes.bytes_bytes;
  call->piece_bytes = sizes.values_bytes;
  if (flow->source->memory) sizes.values_bytes = 0;
  flow->frame_count = szg_div_up(call->grid->row_extent, sizes.frame_rows);
  flow->frame_values = sizes.frame_rows * call->grid->row_values;
  return szg_flow_open(flow, &sizes);
}

static szgpu_status make_room(const flow_compression *call) {
  szgpu_ctx *const first = call->flow->ctxs[0];
  uint64_t most_bytes;
  SZG_REQUIRE(
      szg_max_archive_bytes(call->grid, szg_dtype_bytes(call->shape->dtype), 1, &most_bytes),
      SZGPU_BAD_SHAPE);
  return szg_ctx_make_room(first, &first->kept[SZG_KEPT_PLAIN], most_bytes, "room for an archive");
}

static szgpu_status compress_call(flow_compression *call, uint64_t *archive_bytes) {
  szg_flow *const flow = call->flow;
  szg_value_source const source = source_of(call);
  szg_grid joined = *call->grid;
  SZG_TRY(szg_call_join(call->params, call->shape, &source, &joined));
  call->grid = &joined;
  call->row_bytes = joined.row_values * szg_dtype_bytes(call->shape->dtype);
  SZG_TRY(open_ring(call));
  SZG_TRY(szg_buffer_reset(&call->frame_bytes, flow->frame_count * sizeof(uint64_t)));
  call->is_compacted = szg_is_compacted(call->grid->value_count, flow->frame_count);
  if (call->is_compacted) SZG_TRY(make_room(call));
  if (call->params->mode != SZGPU_MODE_LOSSLESS) return compress_bounded(call, archive_bytes);
  szg_header const header = szg_call_header(call->params, call->shape, call->grid, NULL);
  return write_archive(call, &header, archive_bytes);
}

szgpu_status szg_flow_compress(szg_flow *flow, const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, uint64_t *archive_bytes) {
  flow_compression call = {.flow = flow,
                           .params = params,
                           .shape = shape,
                           .grid = grid,
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .frame_bytes.account = &flow->ctxs[0]->account};
  szgpu_status const status = compress_call(&call, archive_bytes);
  szg_buffer_release(&call.frame_bytes);
  pthread_mutex_destroy(&call.lock);
  return szg_flow_end(flow, status);
}
