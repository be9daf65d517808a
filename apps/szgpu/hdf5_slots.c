/* hdf5_slots.c - the ring of boxes between the thread of HDF5 and those of the library: its memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_slots.h"

#include "../chunks/lost.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { SPARE_SLOTS = 2, CACHE_BYTES = 4 << 20 }; /* HDF5's */

struct plan_name squeeze_name_of(const struct squeeze *squeeze, const struct squeeze_work *work) {
  return plan_name_of(squeeze->name, work->variable->path);
}

uint64_t squeeze_count_chunks(const struct squeeze_work *work) {
  uint64_t count = 1;
  for (int axis = 0; axis < work->variable->rank; axis++)
    count *= (work->variable->dims[axis] - 1) / work->chunk[axis] + 1;
  return count;
}

void squeeze_drop_slots(struct squeeze *squeeze) {
  for (int i = 0; i < squeeze->slot_count; i++) {
    memory_give_back(&squeeze->slots[i].values);
    memory_give_back(&squeeze->slots[i].room);
    memory_give_back(&squeeze->slots[i].other_values);
    memory_give_back(&squeeze->slots[i].other_room);
    free(squeeze->slots[i].box.pieces);
    free(squeeze->slots[i].other.pieces);
  }
  free(squeeze->slots);
  squeeze->slots = NULL;
  squeeze->slot_count = 0;
  for (int i = 0; i <= squeeze->thread_count; i++) memory_give_back(&squeeze->squeezers[i].scratch);
}

/* What a run takes: for each slot, for each squeezer, and in any case. */
struct needs {
  uint64_t slot_bytes, squeezer_bytes, other_bytes;
  uint64_t value_bytes, room_bytes; /* of a slot */
  uint64_t piece_count;
  uint64_t other_value_bytes, other_room_bytes, other_piece_count;
  uint64_t scratch_bytes; /* of a squeezer */
};

static szgpu_status find_needs(const struct squeeze *squeeze, const struct squeeze_work *work,
                               bool is_wide, struct needs *needs) {
  size_t workspace_bytes, archive_bytes, other_workspace_bytes, other_archive_bytes;
  const struct pieces_source *const source = &work->source;
  const struct squeezer *const squeezer = &squeeze->squeezers[is_wide ? squeeze->thread_count : 0];
  szgpu_params const lossless =
      chunk_lossless_params(&work->params); /* where values would be lost */
  szgpu_status status =
      szgpu_sizes(squeezer->ctx, &work->params, &work->shape, &workspace_bytes, &archive_bytes);
  if (status == SZGPU_OK)
    status = szgpu_sizes(squeezer->ctx, &lossless, &work->shape, &other_workspace_bytes,
                         &other_archive_bytes);
  if (status != SZGPU_OK) return status;
  if (other_workspace_bytes > workspace_bytes) workspace_bytes = other_workspace_bytes;
  if (other_archive_bytes > archive_bytes) archive_bytes = other_archive_bytes;
  needs->piece_count = pieces_in(source, work->chunk);
  needs->value_bytes = source->value_bytes;
  for (int axis = 0; axis < work->variable->rank; axis++) needs->value_bytes *= work->chunk[axis];
  uint64_t const raw_bytes = needs->piece_count * source->most_raw_bytes;
  needs->room_bytes = work->kind == SQUEEZE_TO_ARCHIVES ? archive_bytes : raw_bytes;
  if (needs->room_bytes < raw_bytes) needs->room_bytes = raw_bytes;
  needs->scratch_bytes = 2 * source->piece_bytes;
  if (work->kind == SQUEEZE_COMPARE) {
    const struct pieces_source *const other = &work->other;
    needs->other_value_bytes = needs->value_bytes;
    needs->other_piece_count = pieces_in(other, work->chunk);
    needs->other_room_bytes = needs->other_piece_count * other->most_raw_bytes;
    if (needs->scratch_bytes < 2 * other->piece_bytes)
      needs->scratch_bytes = 2 * other->piece_bytes;
  }
  needs->slot_bytes =
      needs->value_bytes + needs->room_bytes + needs->other_value_bytes + needs->other_room_bytes;
  needs->squeezer_bytes = workspace_bytes + needs->scratch_bytes;
  if (work->fills.count > 0) needs->squeezer_bytes += needs->value_bytes; /* chunk_find_lost */
  needs->other_bytes = CACHE_BYTES + (source->are_raw ? 0 : 3 * source->piece_bytes);
  return SZGPU_OK;
}

static bool take_box(uint64_t value_bytes, uint64_t room_bytes, uint64_t piece_count,
                     struct memory *values, struct memory *room, struct box *box) {
  *values = memory_take(value_bytes);
  *room = memory_take(room_bytes);
  box->pieces = calloc((size_t)piece_count + 1, sizeof *box->pieces);
  box->values = values->bytes;
  box->raw = room->bytes;
  return values->bytes && room->bytes && box->pieces;
}

static bool take_slot(const struct needs *needs, bool has_other, struct slot *slot) {
  slot->is_done = true; /* there is nothing in it */
  return take_box(needs->value_bytes, needs->room_bytes, needs->piece_count, &slot->values,
                  &slot->room, &slot->box) &&
         (!has_other ||
          take_box(needs->other_value_bytes, needs->other_room_bytes, needs->other_piece_count,
                   &slot->other_values, &slot->other_room, &slot->other));
}

/* Each thread needs a slot of its own, and there may be fewer chunks. */
int squeeze_take_slots(struct squeeze *squeeze, const struct squeeze_work *work, bool is_wide) {
  struct needs needs = {0};
  const struct report *const report = &squeeze->job->report;
  szgpu_status const status = find_needs(squeeze, work, is_wide, &needs);
  if (status != SZGPU_OK)
    return report_status(report, squeeze_name_of(squeeze, work).text, status, NULL);
  uint64_t const chunk_count = squeeze_count_chunks(work);
  int slots = is_wide ? 1 : squeeze->thread_count + SPARE_SLOTS;
  if ((uint64_t)slots > chunk_count) slots = (int)chunk_count;
  uint64_t wanted;
  for (;; slots--) {
    int const busy = slots < squeeze->thread_count ? slots : squeeze->thread_count;
    wanted = needs.other_bytes + (uint64_t)slots * needs.slot_bytes +
             (uint64_t)busy * needs.squeezer_bytes;
    if (memory_allows(wanted)) break;
    if (slots == 1)
      return report_failure(report, CODE_RESOURCE, squeeze_name_of(squeeze, work).text,
                            "needs %s %" PRIu64 "M at least; give more", memory_limit_option(),
                            (wanted >> 20) + 1);
  }
  assert(slots > 0); /* a dataset that has values has chunks */
  squeeze->slots = calloc((size_t)slots, sizeof *squeeze->slots);
  squeeze->slot_count = squeeze->slots ? slots : 0;
  bool has_room = squeeze->slots != NULL;
  for (int i = 0; i < slots && has_room; i++) {
    struct slot *const slot = &squeeze->slots[i];
    has_room = take_slot(&needs, work->kind == SQUEEZE_COMPARE, slot);
    slot->box.value_count = slot->other.value_count = needs.value_bytes / work->source.value_bytes;
  }
  for (int i = 0; i <= squeeze->thread_count && has_room; i++) {
    squeeze->squeezers[i].scratch = memory_take(needs.scratch_bytes);
    has_room = squeeze->squeezers[i].scratch.bytes != NULL;
  }
  return has_room ? CODE_OK
                  : report_out_of_memory(report, squeeze_name_of(squeeze, work).text, "its chunks",
                                         wanted);
}
