/* tile_entries.c - looks up a tile's deltas in an encoder's table, one by one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/lorenzo/tile_entries.h"

#include "core/dispatch.h"

/* Deltas that are not direct get entry 0, which is none. */
SZG_INLINE uint32_t direct_index(int64_t delta) {
  return szg_is_direct(delta) ? (uint32_t)(SZG_TILE_DIRECT + delta) : 0;
}

SZG_HOT void szg_find_entries_plain(const szg_tile_encoder *encoder, uint32_t lattice_bits,
                                    const void *deltas, uint32_t count,
                                    uint32_t *restrict entries) {
  const uint32_t *const direct = encoder->direct;
  const int16_t *const i16 = deltas;
  const int32_t *const i32 = deltas;
  const int64_t *const i64 = deltas;
  if (lattice_bits == 16)
    for (uint32_t i = 0; i < count; i++) entries[i] = direct[direct_index(i16[i])];
  else if (lattice_bits == 32)
    for (uint32_t i = 0; i < count; i++) entries[i] = direct[direct_index(i32[i])];
  else
    for (uint32_t i = 0; i < count; i++) entries[i] = direct[direct_index(i64[i])];
}
