/* rle.h - run-length coding of a mask: which values of a tile are meant.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The coded form is run lengths only, since a mask's symbols alternate: the first run is of zeros.
 * A byte below 255 ends its run; 255 says that the same symbol goes on. The last run has no bytes:
 * it lasts to the end of the tile. So the positions of all changes are a running sum over bytes,
 * which is how many threads would find them.
 */
#ifndef SZG_RLE_H
#define SZG_RLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/format.h"
#include "core/hd.h"

SZG_C_BEGIN

/* Most bytes a tile's mask can take: every value another run, or one run in pieces. */
enum { SZG_MASK_MAX_BYTES = SZG_TILE_VALUES + SZG_TILE_VALUES / 255 + 1 };

/* mask: value_count (at most SZG_TILE_VALUES) bytes of 0 or 1. distance > 0: each is first XORed
 * with the one `distance` before it, which turns the like planes of a stack into zeros; 0: not.
 * mask is used up. Returns the bytes written, at most SZG_MASK_MAX_BYTES. */
size_t szg_mask_encode(uint8_t *mask, uint32_t value_count, uint32_t distance, uint8_t *bytes);

/* The inverse. False when the runs are longer than the tile. */
bool szg_mask_decode(const uint8_t *bytes, size_t byte_count, uint32_t value_count,
                     uint32_t distance, uint8_t *mask);

SZG_C_END

#endif
