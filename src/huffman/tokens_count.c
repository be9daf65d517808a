/* tokens_count.c - counts the symbols of a level's codes, as each mode would write them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In a tile of many nonzero codes, all symbols of pairs are found at once, as bytes, and these are
 * counted; so are those of values, if many follow pair escapes, and otherwise pairs tell of values.
 * In other tiles the nonzero codes are counted one by one.
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

enum { TURNS = 8 }; /* counters of a symbol, taken in turn: equal symbols do not wait */

typedef uint32_t byte_counts[TURNS][256];
typedef struct byte_symbols {
  uint8_t values[SZG_TOKENS_MOST_GROUPS * SZG_LEVELS_GROUP];
  uint8_t pairs[SZG_TOKENS_MOST_GROUPS * SZG_LEVELS_GROUP / 2];
} byte_symbols;

static_assert(SZG_LEVELS_VALUE_ESCAPE == UINT8_MAX && (int)SZG_LEVELS_PAIRS <= UINT8_MAX,
              "symbols are bytes, and the escape has all bits");
static_assert(SZG_LEVELS_GROUP / 2 % TURNS == 0, "a group's pairs are whole turns");

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

/* The pair symbols of the groups that have nonzero codes, one group after the other; returns the
 * number of these groups. */
SZG_INLINE uint32_t find_pairs(const int32_t *codes, uint32_t group_count, const uint64_t *nonzero,
                               uint8_t *symbols) {
  uint32_t found = 0;
  for (uint32_t group = 0; group < group_count; group++)
    if (nonzero[group])
      find_pair_symbols(codes + group * SZG_LEVELS_GROUP,
                        symbols + found++ * (SZG_LEVELS_GROUP / 2));
  return found;
}

/* Their value symbols. */
SZG_INLINE void find_values(const int32_t *codes, uint32_t group_count, const uint64_t *nonzero,
                            uint8_t *symbols) {
  for (uint32_t group = 0; group < group_count; group++) {
    if (!nonzero[group]) continue;
    find_value_symbols(codes + group * SZG_LEVELS_GROUP, symbols);
    symbols += SZG_LEVELS_GROUP;
  }
}

/* Counts symbols, a multiple of TURNS of them. */
SZG_INLINE void count_bytes(const uint8_t *symbols, uint32_t symbol_count, uint64_t *sums) {
  byte_counts counts;
  memset(counts, 0, sizeof counts);
  for (uint32_t i = 0; i < symbol_count; i += TURNS) {
    uint64_t const turn = szg_load_u64(symbols + i);
    for (uint32_t k = 0; k < TURNS; k++) counts[k][turn >> 8 * k & 255]++;
  }
  for (uint32_t s = 0; s < 256; s++) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < TURNS; k++) sum += counts[k][s];
    sums[s] = sum;
  }
}

/* How often each value symbol is in the pairs that are counted. */
SZG_INLINE void count_values_in_pairs(const uint64_t *pairs, uint64_t *values) {
  uint64_t counts[SZG_LEVELS_PAIR_SIDE] = {0};
  memset(values, 0, SZG_LEVELS_VALUES * sizeof *values);
  for (uint32_t a = 0; a < SZG_LEVELS_PAIR_SIDE; a++) {
    uint64_t of_first = 0;
    for (uint32_t b = 0; b < SZG_LEVELS_PAIR_SIDE; b++) {
      of_first += pairs[SZG_LEVELS_PAIR_SIDE * a + b];
      counts[b] += pairs[SZG_LEVELS_PAIR_SIDE * a + b];
    }
    values[szg_direct_symbol((int32_t)a - SZG_LEVELS_PAIR_REACH)] = of_first;
  }
  for (uint32_t b = 0; b < SZG_LEVELS_PAIR_SIDE; b++)
    values[szg_direct_symbol((int32_t)b - SZG_LEVELS_PAIR_REACH)] += counts[b];
}

/* Counts the values after the pair escapes of a group, one by one. */
SZG_INLINE void count_escaped(const int32_t *codes, const uint8_t *pairs, uint64_t *values) {
  uint64_t const escapes = SZG_LEVELS_PAIR_ESCAPE * UINT64_C(0x0101010101010101);
  uint64_t const low_bits = UINT64_C(0x7F7F7F7F7F7F7F7F);
  for (uint32_t i = 0; i < SZG_LEVELS_GROUP / 2; i += 8) {
    uint64_t const other = szg_load_u64(pairs + i) ^ escapes; /* escapes are bytes of 0 */
    uint64_t left = ~(((other & low_bits) + low_bits) | other | low_bits);
    for (; left; left &= left - 1) {
      const int32_t *const pair = codes + 2 * (i + (uint32_t)__builtin_ctzll(left) / 8);
      values[szg_value_token_of(pair[0], false).symbol]++;
      values[szg_value_token_of(pair[1], false).symbol]++;
    }
  }
}

/* Counting all values of a group takes as long as counting those after this many escapes. */
enum { FEW_ESCAPES = 4 };

/* The values after pair escapes: all that are in no other pair. */
SZG_INLINE void count_pair_values(const int32_t *codes, uint32_t group_count,
                                  const uint64_t *nonzero, uint32_t found, uint64_t escape_count,
                                  const uint64_t *in_pairs, byte_symbols *symbols,
                                  uint64_t *pair_values) {
  if (escape_count > found * FEW_ESCAPES) {
    find_values(codes, group_count, nonzero, symbols->values);
    count_bytes(symbols->values, found * SZG_LEVELS_GROUP, pair_values);
    for (uint32_t s = 0; s < SZG_LEVELS_VALUES; s++) pair_values[s] -= in_pairs[s];
    return;
  }
  const uint8_t *pairs = symbols->pairs;
  memset(pair_values, 0, SZG_LEVELS_VALUES * sizeof *pair_values);
  for (uint32_t group = 0; group < group_count && escape_count; group++) {
    if (!nonzero[group]) continue;
    count_escaped(codes + group * SZG_LEVELS_GROUP, pairs, pair_values);
    pairs += SZG_LEVELS_GROUP / 2;
  }
}

/* The octets and masks of all groups that have nonzero codes. */
SZG_INLINE void count_all_masks(uint32_t group_count, const uint64_t *nonzero,
                                szg_tokens_tally *tally) {
  uint64_t masks[SZG_LEVELS_MASKS];
  static_assert(SZG_LEVELS_MASKS == 256, "bytes");
  count_bytes((const uint8_t *)nonzero, group_count * sizeof *nonzero, masks);
  for (uint32_t mask = 1; mask < SZG_LEVELS_MASKS; mask++) tally->masks[mask] += masks[mask];
  for (uint32_t group = 0; group < group_count; group++)
    if (nonzero[group]) tally->octets[szg_octets_of_places(nonzero[group])]++;
}

/* Adds the symbols of groups. Only values after escapes have raw bits: pairs have small ones. */
SZG_INLINE void add_symbols(const uint64_t *pairs, const uint64_t *in_pairs,
                            const uint64_t *pair_values, szg_tokens_tally *tally) {
  uint64_t const pairs_of_zeros = tally->pairs[SZG_LEVELS_PAIR_OF_ZEROS];
  uint64_t const zeros = tally->values[0];
  uint64_t raw_bits = 32 * pair_values[SZG_LEVELS_VALUE_ESCAPE];
  for (uint32_t s = 0; s < SZG_LEVELS_PAIRS; s++) tally->pairs[s] += pairs[s];
  for (uint32_t s = 0; s < SZG_LEVELS_VALUES; s++) tally->pair_values[s] += pair_values[s];
  for (uint32_t s = 0; s < SZG_LEVELS_VALUES; s++) tally->values[s] += in_pairs[s] + pair_values[s];
  for (uint32_t s = SZG_LEVELS_FIRST_CLASS; s < SZG_LEVELS_VALUE_ESCAPE; s++)
    raw_bits += pair_values[s] * szg_token_raw_bits((s - SZG_LEVELS_FIRST_CLASS) / 2);
  tally->pairs[SZG_LEVELS_PAIR_OF_ZEROS] = pairs_of_zeros;
  tally->values[0] = zeros;
  tally->raw_bits += raw_bits;
  tally->pair_raw_bits += raw_bits;
}

SZG_HOT static void count_dense(const int32_t *codes, uint32_t group_count, const uint64_t *nonzero,
                                szg_tokens_tally *tally) {
  byte_symbols symbols;
  uint64_t pairs[256], in_pairs[SZG_LEVELS_VALUES], pair_values[SZG_LEVELS_VALUES];
  uint32_t const found = find_pairs(codes, group_count, nonzero, symbols.pairs);
  count_bytes(symbols.pairs, found * (SZG_LEVELS_GROUP / 2), pairs);
  count_values_in_pairs(pairs, in_pairs);
  count_pair_values(codes, group_count, nonzero, found, pairs[SZG_LEVELS_PAIR_ESCAPE], in_pairs,
                    &symbols, pair_values);
  add_symbols(pairs, in_pairs, pair_values, tally);
  count_all_masks(group_count, nonzero, tally);
}

/* ---- lanes ---- */

/* Lanes of one group, then of two, and so on: each lane is two of the size before. */
SZG_HOT static void count_live(const szg_tokens_shape *shape, const uint64_t *nonzero,
                               const uint64_t *existing, szg_tokens_tally *tally) {
  uint64_t any[SZG_TOKENS_MOST_GROUPS + 1];
  uint32_t groups[SZG_TOKENS_MOST_GROUPS + 1], places[SZG_TOKENS_MOST_GROUPS + 1],
      pairs[SZG_TOKENS_MOST_GROUPS + 1];
  uint32_t count = shape->group_count;
  for (uint32_t lane = 0; lane < count; lane++) {
    uint64_t const own = existing ? existing[lane] : UINT64_MAX;
    any[lane] = nonzero[lane];
    groups[lane] = 1;
    places[lane] = popcount(own);
    pairs[lane] = popcount(szg_pairs_of_places(own));
  }
  for (uint32_t g = 0; g < SZG_TOKENS_LANE_SIZES; g++) {
    for (uint32_t lane = 0; lane < count; lane++) {
      uint32_t const is_live = any[lane] != 0;
      tally->live_lanes[g] += is_live;
      tally->live_groups[g] += groups[lane] * is_live;
      tally->live_places[g] += places[lane] * is_live;
      tally->live_pairs[g] += pairs[lane] * is_live;
    }
    any[count] = groups[count] = places[count] = pairs[count] = 0;
    count = (count + 1) / 2;
    for (uint32_t lane = 0; lane < count; lane++) {
      any[lane] = any[2 * lane] | any[2 * lane + 1];
      groups[lane] = groups[2 * lane] + groups[2 * lane + 1];
      places[lane] = places[2 * lane] + places[2 * lane + 1];
      pairs[lane] = pairs[2 * lane] + pairs[2 * lane + 1];
    }
  }
}

/* Counting all pairs of a group takes as long as counting this many codes one by one. */
enum { DENSE_GROUP_CODES = 4 };

SZG_HOT static bool is_dense(uint32_t group_count, const uint64_t *nonzero) {
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
  count_dense(codes, shape->group_count, nonzero, tally);
}

void szg_tokens_tally_add(const szg_tokens_tally *from, szg_tokens_tally *tally) {
  uint8_t *const sums = (uint8_t *)tally;
  for (size_t i = 0; i < sizeof *from; i += sizeof(uint64_t))
    szg_store_u64(sums + i, szg_load_u64(sums + i) + szg_load_u64((const uint8_t *)from + i));
}
