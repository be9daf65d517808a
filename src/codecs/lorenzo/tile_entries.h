/* tile_entries.h - entries of an encoder's table for the deltas of a tile, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_ENTRIES_H
#define SZG_TILE_ENTRIES_H

#include "codecs/lorenzo/tile_core.h"

/* Finds the entries of direct codes by place; 0: there is none. deltas: of lattice_bits, as for
 * szg_tile_encode; the function may read SZG_TILE_VALUES of them. entries: as many. */
typedef void szg_find_entries(const szg_tile_encoder *encoder, uint32_t lattice_bits,
                              const void *deltas, uint32_t count, uint32_t *entries);
szg_find_entries szg_find_entries_plain;
szg_find_entries szg_find_entries_avx2; /* x86-64 with AVX2 only */

#endif
