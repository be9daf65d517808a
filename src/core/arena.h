/* arena.h - carves one block of memory; with no block it only measures.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A layout is one function that takes what it needs in order. Run first on an empty arena it says
 * how many bytes that is; run again on a block of that size it hands out the pieces.
 */
#ifndef SZG_ARENA_H
#define SZG_ARENA_H

#include <assert.h>

#include "core/bytes.h"

enum { SZG_ARENA_ALIGNMENT = 64 }; /* a cache line */

typedef struct szg_arena {
  uint8_t *base; /* NULL: measure */
  uint64_t used_bytes;
  uint64_t capacity_bytes;
  bool overflowed; /* more bytes than 64 bits can say */
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
