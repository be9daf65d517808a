/* tokens_count.c - counts the symbols of a level's codes, as each mode would write them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In a tile of many nonzero codes, all symbols of values and pairs are found at once, as bytes, and
 * these are counted; otherwise the nonzero codes are counted one by one.
 */
#include <assert.h>
#include <string.h>

#include "huffman/tokens_places.h"

static_assert(sizeof(szg_tokens_tally) % sizeof(uint64_t) == 0, "a tally is added as numbers");

/* ---- places ---- */

SZG_INLINE void find_nonzero(const void *codes, bool is_wide, uint32_t group_count,
                             uint64_t *restrict nonzero) {
  for (uint32_t group = 0; group < group_count; group++) {
    uint8_t flags[SZG_LEVELS_GROUP];
    for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i++)
      flags[i] = szg_code_at(codes, is_wide, group * SZG_LEVELS_GROUP + i) != 0;
    uint64_t places = 0;
    for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i += 8) /* the product moves bit 8 i to 56 + i */
      places |= szg_load_u64(flags + i) * UINT64_C(0x0102040810204080) >> 56 << i;
    nonzero[group] = places;
  }
}

SZG_HOT static void find_nonzero_wide(const void *codes, uint32_t group_count, uint64_t *nonzero) {
  find_nonzero(codes, true, group_count, nonzero);
}

SZG_HOT void szg_tokens_find_nonzero_plain(const int32_t *codes, uint32_t group_count,
                                           uint64_t *nonzero) {
  find_nonzero(codes, false, group_count, nonzero);
}

void szg_tokens_find_nonzero(const szg_tokens_shape *shape, const void *codes, uint64_t *nonzero) {
  if (shape->is_wide)
    find_nonzero_wide(codes, shape->group_count, nonzero);
  else
    SZG_WITH_AVX2(szg_tokens_find_nonzero_avx2, szg_tokens_find_nonzero_plain)
  (codes, shape->group_count, nonzero);
}

/* ---- one by one ---- */

SZG_INLINE uint32_t popcount(uint64_t bits) { return (uint32_t)__builtin_popcountll(bits); }

/* The octets and masks of a group that has nonzero codes. */
SZG_INLINE void count_masks(uint64_t places, szg_tokens_tally *tally) {
  uint32_t const octets = szg_octets_of_places(places);
  tally->octets[octets]++;
  for (uint32_t left = octets; left; left &= left - 1)
    tally->masks[places >> 8 * __builtin_ctz(left) & 255]++;
}

static void count_group(const void *codes, bool is_wide, uint32_t group, uint64_t places,
                        szg_tokens_tally *tally) {
  uint32_t const first = group * SZG_LEVELS_GROUP;
  count_masks(places, tally);
  for (uint64_t left = places; left; left &= left - 1) {
    uint32_t const place = first + (uint32_t)__builtin_ctzll(left);
    szg_value_token const token = szg_value_token_of(szg_code_at(codes, is_wide, place), is_wide);
    tally->values[token.symbol]++;
    tally->raw_bits += token.raw_bits;
  }
  for (uint64_t left = szg_pairs_of_places(places); left; left &= left - 1) {
    uint32_t const place = first + (uint32_t)__builtin_ctzll(left);
    int64_t const pair[2] = {szg_code_at(codes, is_wide, place),
                             szg_code_at(codes, is_wide, place + 1)};
    uint32_t const symbol = szg_pair_symbol(pair[0], pair[1]);
    tally->pairs[symbol]++;
    for (uint32_t i = 0; symbol == SZG_LEVELS_PAIR_ESCAPE && i < 2; i++) {
      szg_value_token const token = szg_value_token_of(pair[i], is_wide);
      tally->pair_values[token.symbol]++;
      tally->pair_raw_bits += token.raw_bits;
    }
  }
}

/* ---- all at once ---- */

enum { TURNS = 4 }; /* counters of a symbol, taken in turn: equal symbols do not wait */

typedef struct byte_symbols {
  uint8_t values[SZG_TOKENS_MOST_GROUPS * SZG_LEVELS_GROUP];
  uint8_t pairs[SZG_TOKENS_MOST_GROUPS * SZG_LEVELS_GROUP / 2];
} byte_symbols;
typedef struct byte_counts {
  uint32_t values[TURNS][256], pairs[TURNS][256];
} byte_counts;

static_assert(SZG_LEVELS_VALUE_ESCAPE == UINT8_MAX && (int)SZG_LEVELS_PAIRS <= UINT8_MAX,
              "symbols are bytes, and the escape has all bits");

/* The value symbols of a group. A magnitude of a class has as a float, which is exact, the class
 * in its exponent and its highest fraction bit. */
SZG_INLINE void find_value_symbols(const int32_t *restrict codes, uint8_t *restrict symbols) {
  enum { FRACTION_BITS = 23, LEAST_EXPONENT = 127 + 5 }; /* of 32 */
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP; i++) {
    uint32_t const code = (uint32_t)codes[i], sign = code >> 31;
    uint32_t const magnitude = (code ^ (0 - sign)) + sign;
    float const exact = (float)(int32_t)magnitude;
    uint32_t bits;
    memcpy(&bits, &exact, sizeof bits);
    uint32_t const magnitude_class = (bits >> (FRACTION_BITS - 1)) - 2 * LEAST_EXPONENT;
    uint32_t const of_class = SZG_LEVELS_FIRST_CLASS + 2 * magnitude_class + sign;
    uint32_t const of_direct = 2 * magnitude - 1 + sign + (magnitude == 0);
    /* all ones or 0; no branch, so that the compiler takes many codes at once */
    uint32_t const is_direct = 0 - (uint32_t)(magnitude < SZG_LEVELS_DIRECT);
    uint32_t const is_escape = 0 - (uint32_t)(magnitude >> SZG_TOKENS_MAGNITUDE_BITS != 0);
    symbols[i] = (uint8_t)((of_direct & is_direct) | (of_class & ~is_direct) | is_escape);
  }
}

SZG_INLINE void find_pair_symbols(const int32_t *restrict codes, uint8_t *restrict symbols) {
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i++)
    symbols[i] = (uint8_t)szg_narrow_pair_symbol(codes[2 * i], codes[2 * i + 1]);
}

/* The symbols of all places of the groups that have nonzero codes, one group after the other;
 * returns the number of these groups. */
SZG_HOT static uint32_t find_symbols(const int32_t *codes, uint32_t group_count,
                                     const uint64_t *nonzero, byte_symbols *symbols) {
  uint32_t found = 0;
  for (uint32_t group = 0; group < group_count; group++) {
    if (!nonzero[group]) continue;
    const int32_t *const own = codes + group * SZG_LEVELS_GROUP;
    find_value_symbols(own, symbols->values + found * SZG_LEVELS_GROUP);
    find_pair_symbols(own, symbols->pairs + found * (SZG_LEVELS_GROUP / 2));
    found++;
  }
  return found;
}

static void count_bytes(const uint8_t *symbols, uint32_t symbol_count,
                        uint32_t counts[TURNS][256]) {
  for (uint32_t i = 0; i < symbol_count; i += TURNS) {
    uint32_t const four = szg_load_u32(symbols + i);
    counts[0][four & 255]++;
    counts[1][four >> 8 & 255]++;
    counts[2][four >> 16 & 255]++;
    counts[3][four >> 24]++;
  }
}

static uint32_t raw_bits_of(uint32_t symbol) {
  if (symbol == SZG_LEVELS_VALUE_ESCAPE) return 32;
  if (symbol < SZG_LEVELS_FIRST_CLASS) return 0;
  return szg_token_raw_bits((symbol - SZG_LEVELS_FIRST_CLASS) / 2);
}

/* Adds what was counted. Values after a pair escape are those that are in no other pair. */
static void add_bytes(const byte_counts *counts, szg_tokens_tally *tally) {
  uint64_t values[SZG_LEVELS_VALUES], pairs[SZG_LEVELS_PAIRS], raw_bits = 0;
  for (uint32_t s = 0; s < SZG_LEVELS_VALUES; s++) {
    values[s] = 0;
    for (uint32_t turn = 0; turn < TURNS; turn++) values[s] += counts->values[turn][s];
    if (s != 0) tally->values[s] += values[s];
    raw_bits += values[s] * raw_bits_of(s);
  }
  tally->raw_bits += raw_bits;
  tally->pair_raw_bits += raw_bits; /* pairs have small values only */
  for (uint32_t s = 0; s < SZG_LEVELS_PAIRS; s++) {
    pairs[s] = 0;
    for (uint32_t turn = 0; turn < TURNS; turn++) pairs[s] += counts->pairs[turn][s];
    if (s != SZG_LEVELS_PAIR_OF_ZEROS) tally->pairs[s] += pairs[s];
  }
  for (uint32_t a = 0; a < SZG_LEVELS_PAIR_SIDE; a++)
    for (uint32_t b = 0; b < SZG_LEVELS_PAIR_SIDE; b++) {
      uint64_t const count = pairs[SZG_LEVELS_PAIR_SIDE * a + b];
      values[szg_direct_symbol((int32_t)a - SZG_LEVELS_PAIR_REACH)] -= count;
      values[szg_direct_symbol((int32_t)b - SZG_LEVELS_PAIR_REACH)] -= count;
    }
  for (uint32_t s = 0; s < SZG_LEVELS_VALUES; s++) tally->pair_values[s] += values[s];
}

/* ---- lanes ---- */

SZG_HOT static void count_live(const szg_tokens_shape *shape, const uint64_t *nonzero,
                               const uint64_t *existing, szg_tokens_tally *tally) {
  for (uint32_t g = 0; g < SZG_TOKENS_LANE_SIZES; g++) {
    for (uint32_t first = 0; first < shape->group_count; first += 1u << g) {
      uint32_t end = first + (1u << g);
      if (end > shape->group_count) end = shape->group_count;
      uint64_t any = 0;
      for (uint32_t group = first; group < end; group++) any |= nonzero[group];
      if (!any) continue;
      tally->live_lanes[g]++;
      tally->live_groups[g] += end - first;
      if (!existing) {
        tally->live_places[g] += (end - first) * SZG_LEVELS_GROUP;
        tally->live_pairs[g] += (end - first) * (SZG_LEVELS_GROUP / 2);
        continue;
      }
      for (uint32_t group = first; group < end; group++) {
        tally->live_places[g] += popcount(existing[group]);
        tally->live_pairs[g] += popcount(szg_pairs_of_places(existing[group]));
      }
    }
  }
}

/* Counting all bytes of a group takes as long as counting this many codes one by one. */
enum { DENSE_GROUP_CODES = 6 };

static bool is_dense(uint32_t group_count, const uint64_t *nonzero) {
  uint32_t groups = 0, codes = 0;
  for (uint32_t group = 0; group < group_count; group++) {
    groups += nonzero[group] != 0;
    codes += popcount(nonzero[group]);
  }
  return codes > groups * DENSE_GROUP_CODES;
}

void szg_tokens_count(const szg_tokens_shape *shape, const void *codes, const uint64_t *existing,
                      szg_tokens_tally *tally) {
  uint64_t nonzero[SZG_TOKENS_MOST_GROUPS];
  szg_tokens_find_nonzero(shape, codes, nonzero);
  count_live(shape, nonzero, existing, tally);
  if (shape->is_wide || !is_dense(shape->group_count, nonzero)) {
    for (uint32_t group = 0; group < shape->group_count; group++)
      if (nonzero[group]) count_group(codes, shape->is_wide, group, nonzero[group], tally);
    return;
  }
  byte_symbols symbols;
  byte_counts counts;
  uint32_t const found = find_symbols(codes, shape->group_count, nonzero, &symbols);
  memset(&counts, 0, sizeof counts);
  count_bytes(symbols.values, found * SZG_LEVELS_GROUP, counts.values);
  count_bytes(symbols.pairs, found * (SZG_LEVELS_GROUP / 2), counts.pairs);
  add_bytes(&counts, tally);
  for (uint32_t group = 0; group < shape->group_count; group++)
    if (nonzero[group]) count_masks(nonzero[group], tally);
}

void szg_tokens_tally_add(const szg_tokens_tally *from, szg_tokens_tally *tally) {
  uint8_t *const sums = (uint8_t *)tally;
  for (size_t i = 0; i < sizeof *from; i += sizeof(uint64_t))
    szg_store_u64(sums + i, szg_load_u64(sums + i) + szg_load_u64((const uint8_t *)from + i));
}
