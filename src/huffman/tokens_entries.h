/* tokens_entries.h - entries of the CPU's tables for decoding the codes of levels.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries of values and pairs begin with the number of bits that they take, raw bits included, in
 * 6 bits. A pair has its two codes from bit 16 on, 8 bits each. A value has a sign in bit 10 and a
 * number from bit 11 on: the bits that it takes, as a number and inverted if the sign is set, plus
 * this number are its code. Far entries have the symbol from bit 16 on: none if no code has these
 * bits, escapes, and classes of more raw bits than near ones have; they take as many bits as the
 * code alone. Entries of octets and masks are the symbol << 4 and the length, or 0 if no code has
 * these bits.
 */
#ifndef SZG_TOKENS_ENTRIES_H
#define SZG_TOKENS_ENTRIES_H

#include "huffman/tokens_places.h"

enum {
  SZG_ENTRY_LENGTH_MASK = 15, /* of octets and masks */
  SZG_ENTRY_BITS_MASK = 63,   /* of values and pairs */
  SZG_ENTRY_FAR = 64,
  SZG_ENTRY_SIGN_SHIFT = 10,
  SZG_ENTRY_NUMBER_SHIFT = 11,
  SZG_ENTRY_NO_SYMBOL = 0,
  SZG_ENTRY_NEAR_RAW_BITS = 8
};
static_assert(SZG_LEVELS_CODE_BITS + SZG_ENTRY_NEAR_RAW_BITS + 1 <= 32 - SZG_ENTRY_NUMBER_SHIFT,
              "a near value");
static_assert(SZG_TOKENS_ENTRIES == 1 << SZG_LEVELS_CODE_BITS, "tables are complete");

#endif
