/* tokens_core.h - the symbols of codes in levels frames, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_CORE_H
#define SZG_TOKENS_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/hd.h"

/* Codes of greater magnitudes are written by the escape: predictions are never that wrong unless
 * values have no lattice value, and those have code 0. */
enum { SZG_TOKENS_MAGNITUDE_BITS = 24, SZG_TOKENS_WIDE_MAGNITUDE_BITS = 52 };

/* Classes: two for each number of bits. A magnitude is the class's top, and raw bits behind it. */
SZG_HD uint32_t szg_token_raw_bits(uint32_t magnitude_class) { return 4 + magnitude_class / 2; }
SZG_HD uint32_t szg_token_top(uint32_t magnitude_class) { return 2 + magnitude_class % 2; }
SZG_HD uint64_t szg_token_base(uint32_t magnitude_class) {
  return (uint64_t)szg_token_top(magnitude_class) << szg_token_raw_bits(magnitude_class);
}

/* Of the symbols of a class, the one of negative magnitudes is odd, counted from the first. */
SZG_HD uint32_t szg_symbol_class(uint32_t symbol) { return (symbol - SZG_LEVELS_FIRST_CLASS) / 2; }
SZG_HD uint32_t szg_symbol_is_negative(uint32_t symbol) {
  return (symbol - SZG_LEVELS_FIRST_CLASS) % 2;
}

/* A value symbol and the bits that follow its code. */
typedef struct szg_value_token {
  uint32_t symbol, raw_bits;
  uint64_t raw; /* below 2^raw_bits */
} szg_value_token;

SZG_HD szg_value_token szg_value_escape(int64_t code, bool is_wide) {
  szg_value_token const token = {SZG_LEVELS_VALUE_ESCAPE, is_wide ? 64u : 32u,
                                 is_wide ? (uint64_t)code : (uint32_t)code};
  return token;
}

SZG_HD bool szg_is_direct_value(int64_t code) {
  return (uint64_t)code + (SZG_LEVELS_DIRECT - 1) < 2 * SZG_LEVELS_DIRECT - 1;
}
SZG_HD uint32_t szg_direct_symbol(int32_t code) {
  return code > 0 ? 2 * (uint32_t)code - 1 : 2 * (0 - (uint32_t)code);
}

/* Has no branch but the one to the escape, because magnitudes come in any order. */
SZG_HD szg_value_token szg_value_token_of(int64_t code, bool is_wide) {
  uint64_t const sign = 0 - ((uint64_t)code >> 63);
  uint64_t const magnitude = ((uint64_t)code ^ sign) - sign;
  if (magnitude >> (is_wide ? SZG_TOKENS_WIDE_MAGNITUDE_BITS : SZG_TOKENS_MAGNITUDE_BITS))
    return szg_value_escape(code, is_wide);
  uint32_t const raw_bits =
      62 - (uint32_t)szg_leading_zeros_u64(magnitude | SZG_LEVELS_DIRECT); /* of a class */
  uint32_t const of_class = SZG_LEVELS_FIRST_CLASS + 2 * (2 * (raw_bits - 4)) +
                            2 * (uint32_t)(magnitude >> raw_bits & 1) + (uint32_t)(sign & 1);
  uint32_t const of_direct = 2 * (uint32_t)magnitude - (uint32_t)(code > 0);
  uint32_t const is_class = 0 - (uint32_t)(magnitude >= SZG_LEVELS_DIRECT);
  uint64_t const raw = magnitude & (((uint64_t)1 << raw_bits) - 1);
  szg_value_token const token = {(of_class & is_class) | (of_direct & ~is_class),
                                 raw_bits & is_class, raw & (0 - (uint64_t)(is_class & 1))};
  return token;
}

/* The code of a symbol that is neither direct nor the escape. In narrow frames only the low 32 bits
 * count, and codes are signed. */
SZG_HD int64_t szg_class_code(uint32_t symbol, uint64_t raw, bool is_wide) {
  uint64_t const magnitude = szg_token_base(szg_symbol_class(symbol)) + raw;
  uint64_t const code = szg_symbol_is_negative(symbol) ? 0 - magnitude : magnitude;
  return is_wide ? (int64_t)code : (int32_t)(uint32_t)code;
}

/* The pair symbol, or SZG_LEVELS_PAIR_ESCAPE. */
SZG_HD uint32_t szg_pair_symbol(int64_t first, int64_t second) {
  uint64_t const a = (uint64_t)first + SZG_LEVELS_PAIR_REACH;
  uint64_t const b = (uint64_t)second + SZG_LEVELS_PAIR_REACH;
  return a < SZG_LEVELS_PAIR_SIDE && b < SZG_LEVELS_PAIR_SIDE
             ? (uint32_t)(SZG_LEVELS_PAIR_SIDE * a + b)
             : (uint32_t)SZG_LEVELS_PAIR_ESCAPE;
}
/* The same of codes with 32 bits, which fit more often into a vector. */
SZG_HD uint32_t szg_narrow_pair_symbol(int32_t first, int32_t second) {
  uint32_t const a = (uint32_t)first + SZG_LEVELS_PAIR_REACH;
  uint32_t const b = (uint32_t)second + SZG_LEVELS_PAIR_REACH;
  bool const is_pair = (int)(a < SZG_LEVELS_PAIR_SIDE) & (int)(b < SZG_LEVELS_PAIR_SIDE);
  return is_pair ? SZG_LEVELS_PAIR_SIDE * a + b : (uint32_t)SZG_LEVELS_PAIR_ESCAPE;
}
enum {
  SZG_LEVELS_PAIR_OF_ZEROS = SZG_LEVELS_PAIR_SIDE * SZG_LEVELS_PAIR_REACH + SZG_LEVELS_PAIR_REACH
};

/* Bit 2 i: place 2 i or 2 i + 1 is in the word. */
SZG_HD uint64_t szg_pairs_of_places(uint64_t places) {
  return (places | places >> 1) & UINT64_C(0x5555555555555555);
}

/* Bit j: one of the places 8 j to 8 j + 7 is in the word. */
SZG_HD uint32_t szg_octets_of_places(uint64_t places) {
  uint64_t any = places | places >> 4;
  any |= any >> 2;
  any |= any >> 1;
  return (uint32_t)((any & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56);
}

#endif
