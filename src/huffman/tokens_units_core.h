/* tokens_units_core.h - the units that books of levels frames are written in, eight at once.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A token is a length, a run of absent symbols or the end of a book: 1, 2 or 4 units. Where tokens
 * begin depends only on the units before, and of these only on how far the last token reaches into
 * the word: 0 to 3 units. So the way through a word is a map of four entries to four exits, and the
 * ways through words can be joined in any grouping.
 */
#ifndef SZG_TOKENS_UNITS_CORE_H
#define SZG_TOKENS_UNITS_CORE_H

#include "huffman/tokens_books_core.h"

enum { SZG_UNITS_WORD = 8, SZG_UNITS_ENTRIES = 4 }; /* units of a word; ways into it */

typedef struct szg_units_token {
  uint32_t unit; /* the first one */
  uint32_t units, symbols;
} szg_units_token;

/* The units of two words as they are in an archive, the first one highest. */
SZG_HD uint64_t szg_units_of_words(uint32_t word, uint32_t next) {
  uint64_t const both = (uint64_t)next << 32 | word;
  uint64_t units =
      (both & UINT64_C(0x00FF00FF00FF00FF)) << 8 | (both >> 8 & UINT64_C(0x00FF00FF00FF00FF));
  units =
      (units & UINT64_C(0x0000FFFF0000FFFF)) << 16 | (units >> 16 & UINT64_C(0x0000FFFF0000FFFF));
  return units << 32 | units >> 32;
}

SZG_HD uint32_t szg_unit_of(uint64_t units, uint32_t i) {
  return (uint32_t)(units >> (60 - 4 * i)) & 15;
}

/* The token at unit i, 0 to 7, of the first word. */
SZG_HD szg_units_token szg_units_token_at(uint64_t units, uint32_t i) {
  uint32_t const unit = szg_unit_of(units, i), next = szg_unit_of(units, i + 1);
  bool const is_run = unit == SZG_TOKENS_UNIT_NONE;
  bool const is_many = is_run && next == SZG_TOKENS_UNIT_MANY;
  uint32_t const many = 16 * szg_unit_of(units, i + 2) + szg_unit_of(units, i + 3);
  szg_units_token token = {unit, 1, unit < SZG_TOKENS_UNIT_END ? 1u : 0u};
  if (is_run) token.units = 2, token.symbols = next + 1;
  if (is_many) token.units = 4, token.symbols = SZG_TOKENS_SHORTEST_MANY + many;
  return token;
}

/* The way through the first word: 2 bits for each entry, the exit, which is where tokens go on in
 * the next word. */
SZG_HD uint32_t szg_units_way(uint64_t units) {
  uint32_t exits =
      0xE4u << 2 * SZG_UNITS_WORD; /* from each unit on; of the next word, where it is */
  for (uint32_t i = SZG_UNITS_WORD; i-- > 0;)
    exits |= (exits >> 2 * (i + szg_units_token_at(units, i).units) & 3) << 2 * i;
  return exits & 0xFF;
}

SZG_HD uint32_t szg_units_exit(uint32_t way, uint32_t entry) { return way >> 2 * entry & 3; }

/* The way through what `first` goes through, and then `second`. */
SZG_HD uint32_t szg_units_join(uint32_t first, uint32_t second) {
  uint32_t way = 0;
  for (uint32_t i = 0; i < SZG_UNITS_ENTRIES; i++)
    way |= szg_units_exit(second, szg_units_exit(first, i)) << 2 * i;
  return way;
}

#endif
