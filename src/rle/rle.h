/* rle.h - run-length coding of a mask, which says which values of a tile are marked.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The coded form has run lengths only, because a mask's symbols alternate; the first run is of
 * zeros. A byte below 255 ends its run; 255 means that the same symbol goes on. The last run has no
 * bytes: it extends to the end of the tile. So the positions of all changes are a running sum over
 * the bytes, which many threads can compute together.
 */
#ifndef SZG_RLE_H
#define SZG_RLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/format.h"
#include "core/hd.h"

SZG_C_BEGIN

/* A tile's mask takes at most a byte for each of its values: the last run has no bytes, the first
 * may be empty, and every other one takes no more bytes than it has values. */
enum { SZG_MASK_BYTES_PER_VALUE = 1, SZG_MASK_MAX_BYTES = SZG_TILE_VALUES };

/* mask: value_count (at most SZG_TILE_VALUES) bytes of 0 or 1. distance > 0: each is first XORed
 * with the one `distance` before it, which turns equal planes of a stack into zeros; 0: not.
 * Overwrites mask. Returns the number of bytes written, at most SZG_MASK_MAX_BYTES. */
size_t szg_mask_encode(uint8_t *mask, uint32_t value_count, uint32_t distance, uint8_t *bytes);

/* The inverse. False if the runs are longer than the tile. */
bool szg_mask_decode(const uint8_t *bytes, size_t byte_count, uint32_t value_count,
                     uint32_t distance, uint8_t *mask);

SZG_C_END

#endif
