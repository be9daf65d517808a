/* tokens_reference.h - a decoder of tiles of levels frames, bit by bit from docs/format.md.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_REFERENCE_H
#define SZG_TOKENS_REFERENCE_H

#include "huffman/tokens.h"

/* Writes group_count * 64 codes. False: the words are invalid. */
bool reference_tokens_decode(const szg_tokens_books *books, uint32_t mode,
                             const szg_tokens_shape *shape, const uint64_t *existing,
                             const uint8_t *words, uint32_t word_count, int64_t *codes);

#endif
