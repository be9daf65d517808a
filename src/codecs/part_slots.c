/* part_slots.c - puts the words of a frame's parts one after the other.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/part_slots.h"

#include <string.h>

#include "core/bytes.h"

/* More slots than threads, so that a slow thread does not hold up the others. */
enum { SLOTS_OF_THREAD = 4 };

void szg_part_slots_carve(szg_arena *arena, uint64_t part_count, int thread_count,
                          uint64_t part_bytes, szg_part_slots *slots) {
  uint64_t const wanted = thread_count > 1 ? (uint64_t)thread_count * SLOTS_OF_THREAD : 1;
  slots->slot_count = (uint32_t)szg_min_u64(wanted, part_count);
  slots->slots = szg_arena_take(arena, slots->slot_count, sizeof *slots->slots);
  for (uint32_t i = 0; i < slots->slot_count; i++) {
    uint8_t *const words = szg_arena_take(arena, part_bytes, 1);
    if (slots->slots) slots->slots[i].words = words;
  }
}

void szg_part_stream_open(const szg_part_slots *slots, uint64_t part_count, uint8_t *words,
                          uint64_t room, szg_part_stream *stream) {
  *stream = (szg_part_stream){.slots = slots,
                              .part_count = part_count,
                              .words = words,
                              .room = room,
                              .places = PTHREAD_MUTEX_INITIALIZER,
                              .freed = PTHREAD_COND_INITIALIZER};
  for (uint32_t i = 0; i < slots->slot_count; i++) {
    slots->slots[i].free_for = i;
    slots->slots[i].is_done = false;
  }
}

/* This ends: parts begin in order, so every part before this one has begun, and the lowest part
 * that is not done finds its slot free. */
szg_part_slot *szg_part_slot_take(szg_part_stream *stream, uint64_t part) {
  szg_part_slot *const slot = &stream->slots->slots[part % stream->slots->slot_count];
  pthread_mutex_lock(&stream->places);
  while (slot->free_for != part) pthread_cond_wait(&stream->freed, &stream->places);
  pthread_mutex_unlock(&stream->places);
  slot->byte_count = 0;
  return slot;
}

/* Gives places to the finished parts, in order, up to the first that is not done. */
static uint64_t place_parts(szg_part_stream *stream) {
  const szg_part_slots *const slots = stream->slots;
  uint64_t part = stream->next_part;
  for (; part < stream->part_count; part++) {
    szg_part_slot *const slot = &slots->slots[part % slots->slot_count];
    if (!slot->is_done) break;
    slot->is_done = false;
    slot->offset = stream->byte_count;
    stream->byte_count += slot->byte_count;
  }
  stream->next_part = part;
  return part;
}

void szg_part_slot_finish(szg_part_stream *stream, szg_part_slot *slot) {
  const szg_part_slots *const slots = stream->slots;
  uint64_t first_part, end_part;
  pthread_mutex_lock(&stream->places);
  slot->is_done = true;
  first_part = stream->next_part;
  end_part = place_parts(stream);
  pthread_mutex_unlock(&stream->places);
  for (uint64_t part = first_part; part < end_part; part++) {
    szg_part_slot *const placed = &slots->slots[part % slots->slot_count];
    if (placed->offset <= stream->room && placed->byte_count <= stream->room - placed->offset)
      memcpy(stream->words + placed->offset, placed->words, placed->byte_count);
  }
  if (first_part == end_part) return;
  pthread_mutex_lock(&stream->places);
  for (uint64_t part = first_part; part < end_part; part++)
    slots->slots[part % slots->slot_count].free_for = part + slots->slot_count;
  pthread_cond_broadcast(&stream->freed);
  pthread_mutex_unlock(&stream->places);
}
