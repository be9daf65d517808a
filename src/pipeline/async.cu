/* async.cu - many fields to archives and back, by work in a stream and no wait for it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Items go to the device as kernels' arguments, class by class: fields of one type and one number
 * of axes, or, without a bound, of one width. Each class then takes one sequence of launches,
 * however many items it has. Small archives are written to the workspace, and from there in their
 * compact form; before they are read, they are brought back to the workspace.
 */
#include "container/compact.h"
#include "core/cuda_check.cuh"
#include "frames/kinds_cuda.h"
#include "pipeline/async.h"
#include "pipeline/cuda.h"

namespace {

/* A call and its memory. */
struct AsyncCall : szg_async_call {
  const szg_batch_kind *kind;
  szg_batch_lists lists;
  szg_arena zeroed, other, plain; /* of all items */
  uint32_t sent_items;

  explicit AsyncCall(const szg_async_call &call)
      : szg_async_call(call),
        kind(szg_batch_kind_of(call.params->mode == SZGPU_MODE_LOSSLESS)),
        lists{},
        zeroed{},
        other{},
        plain{},
        sent_items(0) {}

  size_t frame_bytes() const { return writes ? kind->write_bytes : kind->read_bytes; }
};

/* ---- classes ---- */

szg_grid grid_of(const szgpu_async_item &item) {
  return szg_grid_of_dims(item.shape.dims, item.shape.ndim);
}

bool is_aligned(const szgpu_async_item &item, const szg_grid &grid) {
  return (uintptr_t)item.field % 16 == 0 &&
         ((grid.tile_z == 1 && grid.tile_y == 1) ||
          grid.x_extent * szg_dtype_bytes(item.shape.dtype) % 16 == 0);
}

/* Adds an item to what a class knows of all of them. */
void note_item(const szgpu_async_item &item, const szg_grid &grid, szg_batch_class *batch) {
  if (batch->item_count == 0) batch->dtype = item.shape.dtype;
  if (batch->item_count == 0 || grid.x_extent > batch->widest.x_extent) batch->widest = grid;
  if (grid.tile_count > batch->most_tiles) batch->most_tiles = grid.tile_count;
  if (grid.value_count > batch->most_values) batch->most_values = grid.value_count;
  batch->is_aligned = (batch->item_count == 0 || batch->is_aligned) && is_aligned(item, grid);
  batch->item_count++;
}

/* ---- memory ---- */

/* The lists of all items. */
void carve_lists(szg_arena *arena, AsyncCall *call) {
  uint64_t const count = call->item_count;
  szg_batch_lists *const lists = &call->lists;
  lists->items = (szg_batch_item *)szg_arena_take(arena, count, sizeof *lists->items);
  lists->frames = szg_arena_take(arena, count, call->frame_bytes());
  if (call->writes)
    lists->choices = (szg_choice_item *)szg_arena_take(arena, count, call->kind->choice_bytes);
  else
    lists->checksums = (szg_checksum_item *)szg_arena_take(arena, count, sizeof *lists->checksums);
}

szgpu_status carve_item(AsyncCall *call, const szgpu_async_item &item, const szg_grid &grid,
                        szg_batch_item *carved) {
  szgpu_dtype const dtype = item.shape.dtype;
  uint64_t const leaves = szg_checksum_leaf_count(grid.value_count * szg_dtype_bytes(dtype)) +
                          call->kind->most_sections;
  carved->leaves = (uint64_t *)szg_arena_take(&call->other, leaves, sizeof *carved->leaves);
  if (!call->writes) {
    carved->verdict = (szg_verdict *)szg_arena_take(&call->other, 1, sizeof *carved->verdict);
    return call->kind->carve_read(&call->other, &grid, dtype, carved);
  }
  carved->ticket = (uint32_t *)szg_arena_take(&call->zeroed, 1, sizeof *carved->ticket);
  return call->kind->carve_write(&call->zeroed, &call->other, &grid, dtype, carved);
}

/* Takes room for an item's archive outside of its compact form, if it has one, and says how it is
 * brought from or to that form. *compact: else empty. */
szgpu_status carve_plain(szg_arena *arena, bool writes, const szgpu_async_item &item,
                         const szg_grid &grid, szg_compact_item *compact) {
  uint64_t plain_bytes;
  *compact = {};
  if (!szg_is_compacted(grid.value_count, 1)) return SZGPU_OK;
  SZG_REQUIRE(szg_max_archive_bytes(&grid, szg_dtype_bytes(item.shape.dtype), 1, &plain_bytes),
              SZGPU_BAD_SHAPE);
  uint8_t *const plain = (uint8_t *)szg_arena_take(arena, plain_bytes, 1);
  compact->from = writes ? plain : (const uint8_t *)item.archive;
  compact->from_bytes = writes ? plain_bytes : item.archive_bytes;
  compact->from_bytes_at = item.archive_bytes_at;
  compact->to = writes ? (uint8_t *)item.archive : plain;
  compact->room = writes ? item.archive_bytes : plain_bytes;
  compact->outcome = item.outcome;
  if (!writes) compact->result = (uint64_t *)szg_arena_take(arena, 1, sizeof *compact->result);
  return SZGPU_OK;
}

/* Has the kernels of the classes work on what the item is outside of its compact form. */
void take_plain(const szg_compact_item &compact, bool writes, szg_batch_item *made) {
  made->archive = writes ? (uint8_t *)compact.from : compact.to;
  made->archive_bytes = writes ? compact.from_bytes : compact.room;
  made->archive_bytes_at = writes ? NULL : compact.result;
  made->was_compact = true;
}

/* The pieces of a call's workspace, in their order. */
struct Pieces {
  uint64_t lists, zeroed, other, plain;
  bool overflowed;
};

szgpu_status measure(const szg_async_call &asked, Pieces *pieces) {
  AsyncCall call(asked);
  szg_arena lists = {};
  szg_batch_item unused = {};
  szg_compact_item unused_too = {};
  carve_lists(&lists, &call);
  for (uint32_t i = 0; i < call.item_count; i++) {
    szg_grid const grid = grid_of(call.items[i]);
    SZG_TRY(carve_item(&call, call.items[i], grid, &unused));
    SZG_TRY(carve_plain(&call.plain, call.writes, call.items[i], grid, &unused_too));
  }
  *pieces = {
      lists.used_bytes, call.zeroed.used_bytes, call.other.used_bytes, call.plain.used_bytes,
      lists.overflowed || call.zeroed.overflowed || call.other.overflowed || call.plain.overflowed};
  return SZGPU_OK;
}

szgpu_status bytes_of(const Pieces &pieces, uint64_t *bytes) {
  SZG_REQUIRE(!pieces.overflowed && szg_add_checked(pieces.lists, pieces.zeroed, bytes) &&
                  szg_add_checked(*bytes, pieces.other, bytes) &&
                  szg_add_checked(*bytes, pieces.plain, bytes),
              SZGPU_BAD_SHAPE);
  return SZGPU_OK;
}

/* Takes the workspace, and clears what must be 0. */
szgpu_status take_workspace(szgpu_ctx *ctx, AsyncCall *call) {
  Pieces pieces;
  uint64_t needed_bytes;
  SZG_TRY(measure(*call, &pieces));
  SZG_TRY(bytes_of(pieces, &needed_bytes));
  if (call->workspace_bytes < needed_bytes)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "the workspace has %llu bytes, and %llu are needed: see szgpu_async_bytes",
                    (unsigned long long)call->workspace_bytes, (unsigned long long)needed_bytes);
  uint8_t *const bytes = (uint8_t *)call->workspace;
  szg_arena lists = {bytes, 0, pieces.lists, false};
  call->zeroed = {bytes + pieces.lists, 0, pieces.zeroed, false};
  call->other = {bytes + pieces.lists + pieces.zeroed, 0, pieces.other, false};
  call->plain = {bytes + pieces.lists + pieces.zeroed + pieces.other, 0, pieces.plain, false};
  carve_lists(&lists, call);
  if (pieces.zeroed > 0)
    SZG_TRY_CUDA(cudaMemsetAsync(call->zeroed.base, 0, pieces.zeroed, call->stream));
  return SZGPU_OK;
}

/* ---- launches ---- */

/* The next part of the items, which go from `first` of the lists on. */
szgpu_status send(const AsyncCall &call, const szg_batch_sent &sent, uint32_t count,
                  uint32_t first) {
  if (count == 0) return SZGPU_OK;
  return call.writes
             ? call.kind->send(&sent, count, first, &call.lists, call.stream)
             : szg_batch_send_reads_cuda(&sent, count, first, call.lists.items, call.stream);
}

szgpu_status make_item(AsyncCall *call, const szgpu_async_item &item, const szg_grid &grid,
                       szg_batch_item *made) {
  szg_header const header = szg_call_header(call->params, &item.shape, &grid, NULL);
  *made = {};
  made->ndim = (uint8_t)item.shape.ndim;
  made->dtype = (uint8_t)item.shape.dtype;
  made->version = szg_header_version(&header);
  for (uint32_t i = 0; i < made->ndim; i++) made->dims[i] = item.shape.dims[i];
  made->values = item.field;
  made->archive = (uint8_t *)item.archive;
  made->archive_bytes = item.archive_bytes;
  made->archive_bytes_at = item.archive_bytes_at;
  made->outcome = item.outcome;
  return carve_item(call, item, grid, made);
}

/* Items on their way from or to their compact form. */
struct CompactQueue {
  szg_compact_sent sent;
  uint32_t pending;
};

szgpu_status flush(const AsyncCall &call, CompactQueue *queue) {
  uint32_t const count = queue->pending;
  queue->pending = 0;
  if (count == 0) return SZGPU_OK;
  return call.writes ? szg_compact_write_items_cuda(&queue->sent, count, call.stream)
                     : szg_compact_read_items_cuda(&queue->sent, count, call.stream);
}

szgpu_status enqueue(const AsyncCall &call, const szg_compact_item &compact, CompactQueue *queue) {
  queue->sent.items[queue->pending++] = compact;
  return queue->pending < SZG_COMPACT_SENT ? SZGPU_OK : flush(call, queue);
}

/* Brings the archives of a class, which are written, to their compact form. plain: as it was before
 * the class. */
szgpu_status compact_class(const AsyncCall &call, uint32_t number, szg_arena plain) {
  CompactQueue queue = {};
  for (uint32_t i = 0; i < call.item_count; i++) {
    const szgpu_async_item &item = call.items[i];
    szg_grid const grid = grid_of(item);
    szg_compact_item compact;
    if (call.kind->class_of(item.shape.dtype, &grid) != number) continue;
    SZG_TRY(carve_plain(&plain, call.writes, item, grid, &compact));
    if (compact.from) SZG_TRY(enqueue(call, compact, &queue));
  }
  return flush(call, &queue);
}

/* Sends the items of a class, and finds what they have in common. */
szgpu_status send_class(AsyncCall *call, uint32_t number, szg_batch_class *batch) {
  szg_batch_sent sent;
  CompactQueue queue = {};
  uint32_t pending = 0, first = call->sent_items;
  for (uint32_t i = 0; i < call->item_count; i++) {
    const szgpu_async_item &item = call->items[i];
    szg_grid const grid = grid_of(item);
    if (call->kind->class_of(item.shape.dtype, &grid) != number) continue;
    note_item(item, grid, batch);
    szg_compact_item compact;
    SZG_TRY(make_item(call, item, grid, &sent.items[pending]));
    SZG_TRY(carve_plain(&call->plain, call->writes, item, grid, &compact));
    if (compact.from) take_plain(compact, call->writes, &sent.items[pending]);
    if (compact.from && !call->writes) SZG_TRY(enqueue(*call, compact, &queue));
    pending++;
    if (pending < SZG_BATCH_SENT) continue;
    SZG_TRY(send(*call, sent, pending, first));
    first += pending;
    pending = 0;
  }
  call->sent_items += batch->item_count;
  SZG_TRY(flush(*call, &queue));
  return send(*call, sent, pending, first);
}

/* Works on a class that begins with item `first` of the lists. */
szgpu_status run_class(const AsyncCall &call, uint32_t first, const szg_side_stream *side,
                       szg_batch_class *batch) {
  bool const is_bounded = call.params->mode != SZGPU_MODE_LOSSLESS;
  szg_bound_plan bound;
  szgpu_shape const shape = {batch->dtype, 0, {}};
  szg_mapping const mapping = szg_mapping_of(call.params->mode, batch->dtype);
  if (is_bounded) SZG_TRY(szg_call_declared_bound(call.params, &mapping, &bound));
  const szg_bound_plan *const known = is_bounded ? &bound : NULL;
  szg_header const header = szg_call_header(call.params, &shape, &batch->widest, known);
  szg_batch_class_open(&header, known, batch);
  szg_batch_lists lists = call.lists;
  lists.items += first;
  lists.frames = (uint8_t *)lists.frames + first * call.frame_bytes();
  if (call.writes) {
    lists.choices += first;
    return call.kind->write(batch, &lists, call.stream);
  }
  lists.checksums += first;
  return call.kind->read(batch, &lists, side, call.stream);
}

szgpu_status run(szgpu_ctx *ctx, AsyncCall *call) {
  const szg_side_stream *const side = &ctx->device.sides[SZG_SIDE_CHECKS];
  SZG_TRY(take_workspace(ctx, call));
  for (uint32_t number = 0; number < call->kind->class_count; number++) {
    uint32_t const first = call->sent_items;
    szg_arena const plain = call->plain;
    szg_batch_class batch = {};
    SZG_TRY(send_class(call, number, &batch));
    if (batch.item_count == 0) continue;
    SZG_TRY(run_class(*call, first, side, &batch));
    if (call->writes) SZG_TRY(compact_class(*call, number, plain));
  }
  return SZGPU_OK;
}

} // namespace

szgpu_status szg_async_bytes_cuda(szgpu_ctx *ctx, const szg_async_call *call,
                                  uint64_t *workspace_bytes) {
  int previous = 0;
  Pieces pieces;
  uint64_t bytes_each[2];
  for (int writes = 0; writes < 2; writes++) {
    szg_async_call asked = *call;
    asked.writes = writes;
    SZG_TRY(measure(asked, &pieces));
    SZG_TRY(bytes_of(pieces, &bytes_each[writes]));
  }
  *workspace_bytes = bytes_each[0] > bytes_each[1] ? bytes_each[0] : bytes_each[1];
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  return szg_cuda_end(ctx, previous, SZGPU_OK);
}

szgpu_status szg_async_run_cuda(szgpu_ctx *ctx, const szg_async_call *call) {
  int previous = 0;
  AsyncCall running(*call);
  SZG_TRY(szg_cuda_begin(ctx, &previous));
  return szg_cuda_end(ctx, previous, run(ctx, &running));
}
