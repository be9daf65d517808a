/* tokens_lanes.cuh - a tile's words to codes: a thread for each lane, which decodes on its own.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lane looks after each group whether its bits were enough; up to there it may read bits of
 * others, or zeros behind the tile's last word.
 */
#ifndef SZG_TOKENS_LANES_CUH
#define SZG_TOKENS_LANES_CUH

#include "core/bit_reader.cuh"
#include "core/lane_head.cuh"
#include "huffman/tokens_tile.cuh"

namespace szg {

/* ---- tokens ---- */

/* For lanes of all kinds. bits.entry(table): the entry of the code at the position; bits.skip and
 * bits.take: go on. *is_bad becomes true if the token is none. others: of szg_tokens_tables_cuda.
 */

/* Which octets of a group have a code other than 0. */
template <class Bits>
__device__ __forceinline__ uint32_t take_octets(Bits &bits, const uint32_t *others, bool *is_bad) {
  uint32_t const entry = bits.entry(others) & 0xFFFF;
  bits.skip(entry & SZG_TOKENS_LENGTH);
  *is_bad |= entry == 0;
  uint32_t const octets = entry >> 4;
  return octets == SZG_LEVELS_OCTET_ESCAPE ? bits.take(8) : octets;
}

/* Which places of such an octet have one. */
template <class Bits>
__device__ __forceinline__ uint32_t take_mask(Bits &bits, const uint32_t *others, bool *is_bad) {
  uint32_t const entry = bits.entry(others) >> 16;
  bits.skip(entry & SZG_TOKENS_LENGTH);
  uint32_t mask = entry >> 4;
  if (mask == SZG_LEVELS_MASK_ESCAPE) mask = bits.take(8);
  *is_bad |= entry == 0 || mask == 0;
  return mask;
}

template <class Value>
struct ValuePair {
  Value a, b;
};
/* The pair of an entry of others whose bits are not taken; take_value(): of an escaped one. */
template <class Value, class Bits, class TakeValue>
__device__ __forceinline__ ValuePair<Value> take_pair(Bits &bits, uint32_t entry, bool *is_bad,
                                                      TakeValue take_value) {
  ValuePair<Value> pair = {(Value)(int8_t)(entry >> 16), (Value)(int8_t)(entry >> 24)};
  bits.skip(entry & SZG_TOKENS_LENGTH);
  if (entry & SZG_TOKENS_RARE) {
    *is_bad |= entry >> 16 == SZG_TOKENS_NO_SYMBOL;
    pair.a = take_value();
    pair.b = take_value();
  }
  return pair;
}

/* ---- a lane ---- */

/* Bits of a tile from a position on; zeros behind its last word. */
struct TokenBits {
  ArchiveWords words;
  BitWindow window; /* its position counts from the tile's first bit */

  __device__ __forceinline__ TokenBits(ArchiveWords tile_words, uint32_t first_bit, bool has_bits)
      : words(tile_words) {
    window.start(words, first_bit, has_bits);
    window.position = first_bit;
  }
  __device__ __forceinline__ uint32_t position() const { return window.position; }
  __device__ __forceinline__ uint32_t entry(const uint32_t *table) const {
    return table[window.window() >> (32 - SZG_LEVELS_CODE_BITS)];
  }
  __device__ __forceinline__ void skip(uint32_t count) { /* up to 32 */
    window.go_to(words, window.position + count, 32);
  }
  /* 1 to 32 bits. */
  __device__ __forceinline__ uint32_t take(uint32_t count) {
    uint32_t const bits = window.window() >> (32 - count);
    skip(count);
    return bits;
  }
  /* 1 to 64 bits. */
  __device__ __forceinline__ uint64_t take_long(uint32_t count) {
    if (count <= 32) return take(count);
    uint64_t const high = take(count - 32);
    return high << 32 | take(32);
  }
};

/* A lane at work on a group. */
template <class Code>
struct LaneDecoder {
  static constexpr bool kIsWide = sizeof(Code) == 8;
  const szg_tokens_tables_cuda &tables;
  TokenBits bits;
  bool is_bad;

  /* The code of a rare entry, whose own bits are taken. */
  __device__ int64_t take_rare(uint32_t entry) {
    uint32_t const symbol = entry >> 16;
    if (symbol == SZG_TOKENS_NO_SYMBOL) {
      is_bad = true;
      return 0;
    }
    if (symbol == SZG_LEVELS_VALUE_ESCAPE)
      return kIsWide ? (int64_t)bits.take_long(64) : (int32_t)bits.take(32);
    uint32_t const raw_bits = szg_token_raw_bits(szg_symbol_class(symbol));
    return szg_class_code(symbol, bits.take_long(raw_bits), kIsWide);
  }

  __device__ __forceinline__ int64_t take_value() {
    uint32_t const entry = bits.entry(tables.values);
    bits.skip(entry & SZG_TOKENS_LENGTH);
    if (!(entry & SZG_TOKENS_RARE)) return (int32_t)entry >> 16;
    return take_rare(entry);
  }

  /* Codes are 0 already. */
  __device__ __forceinline__ void set(Code *codes, uint32_t place, int64_t code) {
    if (code != 0) codes[place] = (Code)code;
  }

  __device__ void take_plain(Code *codes, uint64_t existing) {
    for (uint64_t left = existing; left; left &= left - 1)
      set(codes, (uint32_t)__ffsll((long long)left) - 1, take_value());
  }

  __device__ void take_pairs(Code *codes, uint64_t existing) {
    for (uint64_t left = szg_pairs_of_places(existing); left; left &= left - 1) {
      uint32_t const i = (uint32_t)__ffsll((long long)left) - 1;
      auto const pair = take_pair<int64_t>(bits, bits.entry(tables.others), &is_bad,
                                           [this] { return take_value(); });
      is_bad |= (pair.a != 0 && !(existing >> i & 1)) || (pair.b != 0 && !(existing >> i >> 1 & 1));
      set(codes, i, pair.a);
      set(codes, i + 1, pair.b);
    }
  }

  /* The places with codes other than 0. */
  __device__ uint64_t take_places() {
    uint64_t places = 0;
    for (uint32_t octets = take_octets(bits, tables.others, &is_bad); octets; octets &= octets - 1)
      places |= (uint64_t)take_mask(bits, tables.others, &is_bad) << 8 * (__ffs((int)octets) - 1);
    return places;
  }

  __device__ void take_masks(Code *codes, uint64_t existing) {
    uint64_t const places = take_places();
    is_bad |= (places & ~existing) != 0;
    for (uint64_t left = places; left; left &= left - 1) {
      int64_t const code = take_value();
      is_bad |= code == 0;
      set(codes, (uint32_t)__ffsll((long long)left) - 1, code);
    }
  }
};

/* ---- a tile ---- */

/* Decodes this lane's groups. existing: by group; NULL: all places exist. Returns whether its bits
 * are valid. */
template <class Code>
__device__ bool decode_lane(const szg_tokens_shape &shape, uint32_t mode,
                            const szg_tokens_tables_cuda &tables, const ArchiveWords &words,
                            const LaneRange &range, const uint64_t *existing, Code *codes) {
  uint32_t const lane = threadIdx.x % 32, g = shape.lane_groups_log2;
  uint32_t const end = min((lane + 1) << g, shape.group_count);
  LaneDecoder<Code> decoder = {tables, TokenBits(words, range.first, true), false};
  for (uint32_t group = lane << g; group < end; group++) {
    uint64_t const places = existing ? existing[group] : UINT64_MAX;
    Code *const group_codes = codes + group * kGroupPlaces;
    if (mode == SZG_LEVELS_MODE_PLAIN)
      decoder.take_plain(group_codes, places);
    else if (mode == SZG_LEVELS_MODE_PAIRS)
      decoder.take_pairs(group_codes, places);
    else
      decoder.take_masks(group_codes, places);
    if (decoder.is_bad || decoder.bits.position() > range.end) return false;
  }
  return decoder.bits.position() == range.end;
}

/* Makes the tile's codes 0. The whole warp calls. */
template <class Code>
__device__ void clear_codes(uint32_t group_count, Code *codes) {
  constexpr uint32_t kAtOnce = 16 / sizeof(Code);
  auto *const vectors = reinterpret_cast<uint4 *>(codes);
  for (uint32_t i = threadIdx.x % 32; i < group_count * kGroupPlaces / kAtOnce; i += 32)
    vectors[i] = make_uint4(0, 0, 0, 0);
}

/* The words of a tile of a section that is_coded; 0 of them if the tile has none. False: there are
 * more than any tile has, or than the section. */
__device__ __forceinline__ bool words_of_tile(const szg_tokens_input_cuda &input,
                                              uint64_t tile_index, ArchiveWords *words) {
  const szg_tokens_opened_cuda &opened = *input.opened;
  uint32_t const word_count = input.sizes[tile_index];
  uint64_t const first_word = input.first_words[tile_index];
  szg_tokens_shape const shape = {input.tiles.group_count, opened.lane_groups_log2, false};
  *words = {reinterpret_cast<const uint32_t *>(input.section + opened.words_at) + first_word,
            word_count};
  return word_count <= szg_tokens_most_words(&shape) &&
         first_word + word_count <= opened.word_count;
}

/* Decodes a tile of an opened section that is_coded. existing: [group_count], for the tile alone,
 * and the whole warp's. False: the tile is invalid. The whole warp calls. */
template <class Code>
__device__ bool decode_tile(const szg_tokens_input_cuda &input, uint64_t tile_index,
                            const szg_tokens_tables_cuda &tables, uint64_t *existing, Code *codes) {
  szg_tokens_shape const shape = {input.tiles.group_count, input.opened->lane_groups_log2,
                                  input.tiles.is_wide};
  ArchiveWords words;
  clear_codes(shape.group_count, codes);
  if (!words_of_tile(input, tile_index, &words)) return false;
  if (words.end == 0) return true;
  TokensTile const tile = tokens_tile_at(input.tiles, tile_index);
  for (uint32_t i = 0; i < shape.group_count && !tile.is_full; i++) {
    uint64_t const places = existing_places(input.tiles, tile, i);
    if (threadIdx.x % 32 == 0) existing[i] = places;
  }
  LaneRange const range = read_head(szg_tokens_head_form(&shape), words);
  __syncwarp(); /* codes are 0, and it is known which places exist */
  bool is_sound = range.is_sound;
  if (is_sound && range.is_live())
    is_sound = decode_lane(shape, input.opened->mode, tables, words, range,
                           tile.is_full ? nullptr : existing, codes);
  return __all_sync(kAllLanes, is_sound); /* codes are there */
}

} // namespace szg

#endif
