/* planes_reference.h - tiles of lossless frames as docs/format.md says, a bit at a time.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares no rules with the library, only types and constants.
 */
#ifndef SZG_PLANES_REFERENCE_H
#define SZG_PLANES_REFERENCE_H

#include "lossless/planes.h"
#include "support.h"

/* Byte `plane` of the value at `value`, turned left by one bit where it has several bytes. */
uint8_t test_plane_symbol(const uint8_t *value, uint32_t value_bytes, uint32_t plane);
/* Sets that byte, and no other bits. */
void test_set_plane_symbol(uint8_t *value, uint32_t value_bytes, uint32_t plane, uint8_t symbol);

/* The tile's words; returns how many. */
uint32_t test_encode_planes(const szg_planes_choice *choice, const uint8_t *values,
                            uint32_t value_count, uint8_t *words);

/* False: they are not this tile's words. */
bool test_decode_planes(const szg_planes_choice *choice, const uint8_t *words, uint32_t word_count,
                        const uint8_t *stored, uint64_t stored_stride, uint32_t value_count,
                        uint8_t *values);

#endif
