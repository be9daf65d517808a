/* arena.h - carves one block of memory; without a block it only measures.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A layout is a function that takes all memory it needs, in order. Run on an empty arena, it
 * measures the bytes; run again on a block of that size, it gives out the pieces.
 */
#ifndef SZG_ARENA_H
#define SZG_ARENA_H

#include <assert.h>

#include "core/bytes.h"

enum { SZG_ARENA_ALIGNMENT = 64 }; /* a cache line */

typedef struct szg_arena {
  uint8_t *base; /* NULL: only measures */
  uint64_t used_bytes;
  uint64_t capacity_bytes;
  bool overflowed; /* the bytes do not fit 64 bits */
} szg_arena;

/* count elements of element_bytes, aligned; NULL when measuring. */
static inline void *szg_arena_take(szg_arena *arena, uint64_t count, size_t element_bytes) {
  uint64_t bytes, end;
  if (!szg_mul_checked(count, element_bytes, &bytes) ||
      !szg_add_checked(arena->used_bytes, bytes, &end) || end > PTRDIFF_MAX - SZG_ARENA_ALIGNMENT) {
    arena->overflowed = true;
    return NULL;
  }
  uint64_t const start = arena->used_bytes;
  arena->used_bytes = szg_align_up(end, SZG_ARENA_ALIGNMENT);
  if (!arena->base) return NULL;
  assert(arena->used_bytes <= arena->capacity_bytes);
  return arena->base + start;
}

#endif
