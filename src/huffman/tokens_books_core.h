/* tokens_books_core.h - the books of a mode, and the choice between modes, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_BOOKS_CORE_H
#define SZG_TOKENS_BOOKS_CORE_H

#include "core/code_cost.h"
#include "huffman/tokens.h"
#include "huffman/tokens_core.h"

/* ---- books of a mode ---- */

enum {
  SZG_TOKENS_OCTETS,
  SZG_TOKENS_MASKS,
  SZG_TOKENS_PAIRS,
  SZG_TOKENS_VALUES,
  SZG_TOKENS_BOOKS,
  SZG_TOKENS_NO_ZERO = UINT16_MAX,
  SZG_TOKENS_MOST_SYMBOLS = SZG_LEVELS_OCTETS
};
static_assert(SZG_TOKENS_MOST_SYMBOLS >= (int)SZG_LEVELS_VALUES &&
                  SZG_TOKENS_MOST_SYMBOLS >= (int)SZG_LEVELS_PAIRS &&
                  SZG_TOKENS_MOST_SYMBOLS >= (int)SZG_LEVELS_MASKS,
              "room for the counts of every book");

typedef struct szg_tokens_book_kind {
  size_t lengths_at; /* in szg_tokens_books */
  uint32_t symbol_count, escape, zero;
} szg_tokens_book_kind;

SZG_HD szg_tokens_book_kind szg_tokens_book_kind_of(uint32_t book) {
  szg_tokens_book_kind const octets = {offsetof(szg_tokens_books, octets), SZG_LEVELS_OCTETS,
                                       SZG_LEVELS_OCTET_ESCAPE, 0};
  szg_tokens_book_kind const masks = {offsetof(szg_tokens_books, masks), SZG_LEVELS_MASKS,
                                      SZG_LEVELS_MASK_ESCAPE, SZG_TOKENS_NO_ZERO};
  szg_tokens_book_kind const pairs = {offsetof(szg_tokens_books, pairs), SZG_LEVELS_PAIRS,
                                      SZG_LEVELS_PAIR_ESCAPE, SZG_LEVELS_PAIR_OF_ZEROS};
  szg_tokens_book_kind const values = {offsetof(szg_tokens_books, values), SZG_LEVELS_VALUES,
                                       SZG_LEVELS_VALUE_ESCAPE, 0};
  return book == SZG_TOKENS_OCTETS  ? octets
         : book == SZG_TOKENS_MASKS ? masks
         : book == SZG_TOKENS_PAIRS ? pairs
                                    : values;
}

SZG_HD uint32_t szg_tokens_book_count(uint32_t mode) {
  return mode == SZG_LEVELS_MODE_MASKS   ? 3
         : mode == SZG_LEVELS_MODE_PAIRS ? 2
         : mode == SZG_LEVELS_MODE_PLAIN ? 1
                                         : 0;
}

/* Book i of a mode, in their order in an archive. */
SZG_HD uint32_t szg_tokens_book_of(uint32_t mode, uint32_t i) {
  if (i + 1 == szg_tokens_book_count(mode)) return SZG_TOKENS_VALUES;
  if (mode == SZG_LEVELS_MODE_PAIRS) return SZG_TOKENS_PAIRS;
  return i == 0 ? SZG_TOKENS_OCTETS : SZG_TOKENS_MASKS;
}

/* ---- counts and choice ---- */

/* Counts of a book's symbols, without those of zeros. */
SZG_HD const uint64_t *szg_tokens_counted(const szg_tokens_tally *tally, uint32_t mode,
                                          uint32_t book) {
  bool const is_after_pairs = book == SZG_TOKENS_VALUES && mode == SZG_LEVELS_MODE_PAIRS;
  return book == SZG_TOKENS_OCTETS  ? tally->octets
         : book == SZG_TOKENS_MASKS ? tally->masks
         : book == SZG_TOKENS_PAIRS ? tally->pairs
         : is_after_pairs           ? tally->pair_values
                                    : tally->values;
}

/* Whether zeros have a symbol that is not counted, in this book in this mode. */
SZG_HD bool szg_tokens_has_zero(uint32_t mode, uint32_t book) {
  return book == SZG_TOKENS_OCTETS || book == SZG_TOKENS_PAIRS ||
         (book == SZG_TOKENS_VALUES && mode == SZG_LEVELS_MODE_PLAIN);
}

/* The count of that symbol in lanes of 2^g groups. sum: of those that are counted. */
SZG_HD uint64_t szg_tokens_zero_count(const szg_tokens_tally *tally, uint32_t g, uint32_t book,
                                      uint64_t sum) {
  return (book == SZG_TOKENS_OCTETS  ? tally->live_groups[g]
          : book == SZG_TOKENS_PAIRS ? tally->live_pairs[g]
                                     : tally->live_places[g]) -
         sum;
}

enum { SZG_TOKENS_MODE_GAIN_SHIFT = 6 }; /* to be chosen over a faster mode, one must save 1/64 */

/* costs: by mode. lane_count: live lanes with the least g. If there are none, codes other than 0
 * are rare. */
SZG_HD uint32_t szg_tokens_choose_mode(const uint64_t *costs, uint64_t lane_count) {
  if (lane_count == 0) return SZG_LEVELS_MODE_MASKS;
  uint32_t best = SZG_LEVELS_MODE_PLAIN;
  for (uint32_t mode = best + 1; mode < SZG_LEVELS_MODES; mode++)
    if (costs[mode] < costs[best] - (costs[best] >> SZG_TOKENS_MODE_GAIN_SHIFT)) best = mode;
  return best;
}

/* lane_bits: as szg_tokens_choose has it. cost: of the mode. lane_count: as above. */
SZG_HD uint32_t szg_tokens_choose_lanes(uint32_t group_count, uint32_t lane_bits, uint64_t cost,
                                        uint64_t lane_count) {
  uint32_t g = szg_tokens_least_lane_groups_log2(group_count);
  uint64_t bits = cost >> SZG_LOG_FRACTION_BITS;
  uint64_t const enough = (uint64_t)lane_bits * (lane_count > 0 ? lane_count : 1);
  for (; g < SZG_LEVELS_LANE_GROUPS_LOG2 && group_count >> g > 1; g++, bits *= 2)
    if (bits >= enough) break;
  return g;
}

/* ---- books in an archive ---- */

enum {
  SZG_TOKENS_UNIT_NONE = 0,  /* symbols without a code: a unit less 1, */
  SZG_TOKENS_UNIT_MANY = 15, /* or this and the number in two units */
  SZG_TOKENS_UNIT_END = 13,
  SZG_TOKENS_SHORTEST_MANY = 16,
  SZG_TOKENS_LONGEST_MANY = SZG_TOKENS_SHORTEST_MANY + 255
};

/* Whether `occurring` symbols that use this many of 2^12 windows are a code: complete, of one
 * symbol with length 1, or of none. */
SZG_HD bool szg_tokens_is_code(uint32_t occurring, uint32_t used) {
  return occurring == 0 || used == 1u << SZG_LEVELS_CODE_BITS ||
         (occurring == 1 && used == 1u << (SZG_LEVELS_CODE_BITS - 1));
}

/* ---- entries of encoders' tables ---- */

enum { SZG_TOKENS_ENCODER_LENGTH = 31 }; /* low bits of an encoder's entry */

/* For a byte without a code: the escape and the byte. */
SZG_HD uint32_t szg_tokens_escaped_byte(uint32_t escape_entry, uint32_t byte) {
  uint32_t const length = escape_entry & SZG_TOKENS_ENCODER_LENGTH;
  if (length == 0) return 0;
  return (escape_entry & ~31u) | byte << (24 - length) | (length + 8);
}

#endif
