/* planes_reference.h - tiles of lossless frames by docs/format.md, one bit at a time.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares only types and constants with the library, no rules.
 */
#ifndef SZG_PLANES_REFERENCE_H
#define SZG_PLANES_REFERENCE_H

#include "codecs/planes/planes.h"
#include "support.h"

/* Byte `plane` of the value at `value`; several bytes are turned left by one bit first. */
uint8_t test_plane_symbol(const uint8_t *value, uint32_t value_bytes, uint32_t plane);
/* Sets that byte and leaves all other bits. */
void test_set_plane_symbol(uint8_t *value, uint32_t value_bytes, uint32_t plane, uint8_t symbol);

/* Writes the tile's words and returns how many there are. */
uint32_t test_encode_planes(const szg_planes_choice *choice, const uint8_t *values,
                            uint32_t value_count, uint8_t *words);

/* False if the words are not a tile's. */
bool test_decode_planes(const szg_planes_choice *choice, const uint8_t *words, uint32_t word_count,
                        const uint8_t *stored, uint64_t stored_stride, uint32_t value_count,
                        uint8_t *values);

#endif
