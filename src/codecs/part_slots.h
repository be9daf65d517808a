/* part_slots.h - puts the words of a frame's parts one after the other while they are being coded.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A worker codes a part into a slot. As soon as all parts before it are done, its place in the
 * stream is known, and it is copied straight into the archive.
 */
#ifndef SZG_PART_SLOTS_H
#define SZG_PART_SLOTS_H

#include <pthread.h>
#include <stdbool.h>

#include "core/arena.h"

SZG_C_BEGIN

/* The words of a part, from its start until they are in the archive. Part p has slot p %
 * slot_count. */
typedef struct szg_part_slot {
  uint8_t *words;
  uint64_t byte_count; /* of the words; the worker counts them */
  uint64_t offset;     /* in the stream */
  uint64_t free_for;   /* the part that may have the slot */
  bool is_done;        /* and waits for its place */
} szg_part_slot;

typedef struct szg_part_slots {
  szg_part_slot *slots;
  uint32_t slot_count;
} szg_part_slots;

/* part_bytes: room for the words of one part. */
void szg_part_slots_carve(szg_arena *arena, uint64_t part_count, int thread_count,
                          uint64_t part_bytes, szg_part_slots *slots);

/* One stream being put together. */
typedef struct szg_part_stream {
  const szg_part_slots *slots;
  uint64_t part_count;
  uint8_t *words;         /* where the stream goes */
  uint64_t room;          /* bytes; what does not fit is only counted */
  pthread_mutex_t places; /* guards what follows, and the slots' free_for and is_done */
  pthread_cond_t freed;   /* a slot has become free */
  uint64_t next_part;     /* the first that has no place yet */
  uint64_t byte_count;    /* of the parts before it */
} szg_part_stream;

void szg_part_stream_open(const szg_part_slots *slots, uint64_t part_count, uint8_t *words,
                          uint64_t room, szg_part_stream *stream);

/* Waits until the part's slot is free, and empties it. Parts must be begun in order. */
szg_part_slot *szg_part_slot_take(szg_part_stream *stream, uint64_t part);

/* Gives the slot back; also for a part that failed, because later ones wait for it. */
void szg_part_slot_finish(szg_part_stream *stream, szg_part_slot *slot);

SZG_C_END

#endif
