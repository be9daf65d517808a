/* tokens_near.h - entries of the CPU's encoder that have a value's raw bits behind its code.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_NEAR_H
#define SZG_TOKENS_NEAR_H

#include "core/dispatch.h"
#include "huffman/tokens_books_core.h"

/* Near entries are bits, left-aligned in 32, and their number in the low 6 bits, or
 * SZG_NO_NEAR_ENTRY. */
enum { SZG_NO_NEAR_ENTRY = 32, SZG_NEAR_LENGTH = 63 };

/* Of an entry of szg_tokens_encoder. */
SZG_INLINE uint32_t szg_entry_length(uint32_t entry) { return entry & SZG_TOKENS_ENCODER_LENGTH; }

#endif
