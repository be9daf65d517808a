/* base_decode_lanes.cuh - a lane of the base of three axes: bits to codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As in huffman/tokens_lanes.cuh, but many codes of a base are large, so entries of classes say how
 * many raw bits follow, and no branch depends on whether a code has some. Eight places are a
 * column: neighbours along y.
 */
#ifndef SZG_BASE_DECODE_LANES_CUH
#define SZG_BASE_DECODE_LANES_CUH

#include "codecs/interpolation/base_tile.cuh"
#include "huffman/tokens_lanes.cuh"

namespace szg {

/* ---- entries of values ---- */

/* A code is the bits `top`, then raw bits, and a sign. An entry has the bits to skip, at most 31;
 * and from bit 16 on, the sign, and in 5 bits each the length of the symbol's code, the number of
 * raw bits, and top. A rare one has RARE, the length, and from bit 16 on the symbol. */
struct BaseEntry {
  static constexpr uint32_t kBits = 63, kRare = 1u << 15;
  static constexpr int kSign = 16, kLength = 17, kRaw = 22, kTop = 27;

  /* entry: of szg_tokens_tables_cuda. */
  static __device__ __forceinline__ uint32_t of(uint32_t entry) {
    uint32_t const length = entry & SZG_TOKENS_LENGTH, symbol = entry >> 16;
    if (!(entry & SZG_TOKENS_RARE)) {
      int32_t const value = (int32_t)entry >> 16;
      return (uint32_t)abs(value) << kTop | length << kLength | (value < 0 ? 1u << kSign : 0) |
             length;
    }
    uint32_t const magnitude_class = szg_symbol_class(symbol);
    uint32_t const raw_bits = szg_token_raw_bits(magnitude_class);
    if (symbol < SZG_LEVELS_FIRST_CLASS || symbol == SZG_LEVELS_VALUE_ESCAPE ||
        length + raw_bits > 31)
      return symbol << 16 | kRare | length;
    return szg_token_top(magnitude_class) << kTop | raw_bits << kRaw | length << kLength |
           szg_symbol_is_negative(symbol) << kSign | (length + raw_bits);
  }
  /* The code of an entry that is not rare. window: from the symbol's code on. */
  static __device__ __forceinline__ uint32_t code_of(uint32_t entry, uint32_t window) {
    uint32_t const raw = bits_after(window, entry >> kLength);
    uint32_t const magnitude = __funnelshift_l(raw, entry >> kTop, entry >> kRaw);
    uint32_t const sign = 0 - (entry >> kSign & 1);
    return (magnitude ^ sign) - sign;
  }
};
static_assert(SZG_LEVELS_DIRECT <= 32, "top has 5 bits");

/* ---- a lane ---- */

__device__ __forceinline__ uint32_t prefix_of(uint32_t window) {
  return window >> (32 - SZG_LEVELS_CODE_BITS);
}

/* Bits of a tile from a position on. Words: StagedWords or ArchiveWords. */
template <class Words>
struct BaseBits {
  const Words words;
  uint32_t position; /* from the tile's first bit */

  /* 64 bits from the position on, in two words. */
  __device__ __forceinline__ void look(uint32_t *high, uint32_t *low) const {
    uint32_t const place = words.place_of(position / 32);
    uint32_t const first = words.at(place, 0), second = words.at(place, 1),
                   third = words.at(place, 2);
    *high = bits_from(second, first, position);
    *low = bits_from(third, second, position);
  }
  __device__ __forceinline__ uint32_t window() const {
    uint32_t const place = words.place_of(position / 32);
    return bits_from(words.at(place, 1), words.at(place, 0), position);
  }
  __device__ __forceinline__ uint32_t entry(const uint32_t *table) const {
    return table[prefix_of(window())];
  }
  __device__ __forceinline__ void skip(uint32_t count) { position += count; }
  /* 1 to 32 bits. */
  __device__ __forceinline__ uint32_t take(uint32_t count) {
    uint32_t const bits = window() >> (32 - count);
    position += count;
    return bits;
  }
};

/* The next two values, of which only those count that are not rare. */
struct BaseLook {
  uint32_t high, more;    /* windows from their codes on */
  uint32_t first, second; /* entries */

  template <class Words>
  __device__ __forceinline__ BaseLook(const BaseBits<Words> &bits, const uint32_t *values) {
    uint32_t low;
    bits.look(&high, &low);
    first = values[prefix_of(high)];
    more = bits_from(low, high, first);
    second = values[prefix_of(more)];
  }
  __device__ __forceinline__ bool has_rare() const {
    return ((first | second) & BaseEntry::kRare) != 0;
  }
  __device__ __forceinline__ uint32_t bit_count() const {
    return (first & BaseEntry::kBits) + (second & BaseEntry::kBits);
  }
};

template <class Words>
struct BaseLane {
  const BaseTables &tables;
  const BaseExtents &extents;
  BaseBits<Words> bits;
  bool is_bad;

  /* ---- values ---- */

  /* Of a rare entry, whose own bits are taken. */
  __device__ __forceinline__ uint32_t take_rare(uint32_t symbol) {
    if (symbol == SZG_TOKENS_NO_SYMBOL) {
      is_bad = true;
      return 0;
    }
    if (symbol == SZG_LEVELS_VALUE_ESCAPE) return bits.take(32);
    uint32_t const raw_bits = szg_token_raw_bits(szg_symbol_class(symbol));
    uint64_t raw = bits.take(min(raw_bits, 32u));
    if (raw_bits > 32) raw = raw << (raw_bits - 32) | bits.take(raw_bits - 32);
    return (uint32_t)szg_class_code(symbol, raw, false);
  }
  /* Of any entry; window: from its code on. */
  __device__ __forceinline__ uint32_t take_entry(uint32_t entry, uint32_t window) {
    if (entry & BaseEntry::kRare) {
      bits.position += entry & SZG_TOKENS_LENGTH;
      return take_rare(entry >> 16);
    }
    bits.position += entry & BaseEntry::kBits;
    return BaseEntry::code_of(entry, window);
  }
  __device__ __forceinline__ uint32_t take_value() {
    uint32_t const window = bits.window();
    return take_entry(tables.values[prefix_of(window)], window);
  }

  /* ---- plain codes and pairs ---- */

  /* Both of a column: neighbours along y, kBaseRow words apart. Two values come from one look at
   * the bits, unless one of them is rare. */
  __device__ __forceinline__ void take_plain(uint32_t *column, uint32_t rows) {
    uint32_t y = 0;
#pragma unroll 1
    while (y < rows) {
      BaseLook const look(bits, tables.values);
      uint32_t *const at = column + y * kBaseRow;
      if (y + 1 == rows || look.has_rare()) {
        *at = take_entry(look.first, look.high);
        y++;
        continue;
      }
      bits.position += look.bit_count();
      at[0] = BaseEntry::code_of(look.first, look.high);
      at[kBaseRow] = BaseEntry::code_of(look.second, look.more);
      y += 2;
    }
  }

  /* Sets the pair of an entry that is not rare. */
  static __device__ __forceinline__ void set_pair(uint32_t *at, uint32_t entry) {
    at[0] = (uint32_t)(int8_t)(entry >> 16);
    at[kBaseRow] = (uint32_t)(int8_t)(entry >> 24);
  }
  /* The same for two pairs, if all their places exist. */
  __device__ __forceinline__ void take_pairs(uint32_t *column, uint32_t rows) {
    uint32_t y = 0;
#pragma unroll 1
    while (y < rows) {
      uint32_t const window = bits.window(), first = tables.others[prefix_of(window)];
      uint32_t const second = tables.others[prefix_of(bits_after(window, first))];
      uint32_t *const at = column + y * kBaseRow;
      if (y + 4 <= rows && !((first | second) & SZG_TOKENS_RARE)) {
        bits.position += (first & SZG_TOKENS_LENGTH) + (second & SZG_TOKENS_LENGTH);
        set_pair(at, first);
        set_pair(at + 2 * kBaseRow, second);
        y += 4;
        continue;
      }
      auto const pair = take_pair<uint32_t>(bits, first, &is_bad, [this] { return take_value(); });
      is_bad |= pair.b != 0 && y + 1 >= rows;
      at[0] = pair.a;
      at[kBaseRow] = pair.b;
      y += 2;
    }
  }

  /* ---- masks ---- */

  /* A bit for each place of a group with a code other than 0. */
  __device__ __forceinline__ uint64_t take_places(uint32_t group) {
    uint64_t places = 0;
#pragma unroll 1
    for (uint32_t octets = take_octets(bits, tables.others, &is_bad); octets;
         octets &= octets - 1) {
      auto const octet = (uint32_t)__ffs((int)octets) - 1;
      uint32_t const mask = take_mask(bits, tables.others, &is_bad);
      is_bad |= mask >> extents.rows_of(group * kGroupColumns + octet) != 0;
      places |= (uint64_t)mask << 8 * octet;
    }
    return places;
  }

  /* From the first place of a group to the lowest of these places. */
  static __device__ __forceinline__ uint32_t lowest_of(uint64_t places) {
    auto const place = (uint32_t)__ffsll((long long)places) - 1;
    return place / kBaseY + place % kBaseY * kBaseRow;
  }
  /* Values of marked places: like plain ones, but no column ends what one look gives. */
  __device__ __forceinline__ void take_marked(uint32_t *group, uint64_t places) {
#pragma unroll 1
    while (places) {
      BaseLook const look(bits, tables.values);
      uint64_t const others = places & (places - 1);
      uint32_t *const at = group + lowest_of(places);
      if (others == 0 || look.has_rare()) {
        uint32_t const code = take_entry(look.first, look.high);
        *at = code;
        is_bad |= code == 0;
        places = others;
        continue;
      }
      bits.position += look.bit_count();
      uint32_t const a = BaseEntry::code_of(look.first, look.high);
      uint32_t const b = BaseEntry::code_of(look.second, look.more);
      *at = a;
      group[lowest_of(others)] = b;
      is_bad |= a == 0 || b == 0;
      places = others & (others - 1);
    }
  }

  /* ---- groups ---- */

  /* Decodes groups first to end - 1 to `codes`, all 0 before; false: bits are invalid. */
  __device__ __forceinline__ bool take_groups(uint32_t mode, uint32_t first, uint32_t end,
                                              uint32_t end_bit, uint32_t *codes) {
#pragma unroll 1
    for (uint32_t group = first; group < end; group++) {
      uint32_t const c = group * kGroupColumns;
      if (mode == SZG_LEVELS_MODE_MASKS) {
        take_marked(codes + base_column(c), take_places(group));
      } else {
#pragma unroll 1
        for (uint32_t i = c; i < c + kGroupColumns; i++) {
          if (mode == SZG_LEVELS_MODE_PLAIN)
            take_plain(codes + base_column(i), extents.rows_of(i));
          else
            take_pairs(codes + base_column(i), extents.rows_of(i));
        }
      }
      if (is_bad || bits.position > end_bit) return false;
    }
    return bits.position == end_bit;
  }
};
static_assert(kBaseX % kGroupColumns == 0, "the columns of a group are neighbours along x");

} // namespace szg

#endif
