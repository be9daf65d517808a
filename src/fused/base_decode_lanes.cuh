/* base_decode_lanes.cuh - a lane of the base of three axes: bits to codes, summed along y.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As in huffman/tokens_lanes.cuh, but many codes of a base are large, so entries of classes say how
 * many raw bits follow, and no branch depends on whether a code has some. Eight places are a
 * column: neighbours along y.
 */
#ifndef SZG_BASE_DECODE_LANES_CUH
#define SZG_BASE_DECODE_LANES_CUH

#include "fused/base_tile.cuh"
#include "huffman/tokens_lanes.cuh"

namespace szg {

/* ---- entries of values ---- */

/* A code is the bits `top`, then raw bits, and a sign. An entry has the bits to skip, and from bit
 * 16 on, the sign, and in 5 bits each the length of the symbol's code, the number of raw bits, and
 * top. A rare one has RARE, the length, and from bit 16 on the symbol. */
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
    uint32_t const place = symbol - SZG_LEVELS_FIRST_CLASS;
    uint32_t const raw_bits = szg_token_raw_bits(place / 2);
    if (symbol < SZG_LEVELS_FIRST_CLASS || symbol == SZG_LEVELS_VALUE_ESCAPE ||
        length + raw_bits > 32)
      return symbol << 16 | kRare | length;
    return (2 + place / 2 % 2) << kTop | raw_bits << kRaw | length << kLength | place % 2 << kSign |
           (length + raw_bits);
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

/* Words: StagedWords or ArchiveWords. */
template <class Words>
struct BaseLane {
  const Words words;
  const BaseTables &tables;
  const BaseExtents &extents;
  uint32_t along_y; /* all ones: sums run along y; else 0 */
  BitWindow window; /* its position counts from the tile's first bit */
  bool is_bad;

  __device__ __forceinline__ BaseLane(const Words &tile_words, const BaseTables &base_tables,
                                      const BaseExtents &tile_extents, bool sums_y,
                                      uint32_t first_bit)
      : words(tile_words),
        tables(base_tables),
        extents(tile_extents),
        along_y(sums_y ? kAllLanes : 0),
        is_bad(false) {
    window.start(words, first_bit);
    window.position = first_bit;
  }

  static __device__ __forceinline__ uint32_t prefix_of(uint32_t bits) {
    return bits >> (32 - SZG_LEVELS_CODE_BITS);
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

  /* ---- values ---- */

  /* Of a rare entry, whose own bits are taken. */
  __device__ __forceinline__ uint32_t take_rare(uint32_t symbol) {
    if (symbol == SZG_TOKENS_NO_SYMBOL) {
      is_bad = true;
      return 0;
    }
    if (symbol == SZG_LEVELS_VALUE_ESCAPE) return take(32);
    uint32_t const raw_bits = szg_token_raw_bits((symbol - SZG_LEVELS_FIRST_CLASS) / 2);
    uint64_t raw = take(min(raw_bits, 32u));
    if (raw_bits > 32) raw = raw << (raw_bits - 32) | take(raw_bits - 32);
    return (uint32_t)szg_class_code(symbol, raw, false);
  }
  __device__ __forceinline__ uint32_t take_value() {
    uint32_t const bits = window.window(), entry = tables.values[prefix_of(bits)];
    if (entry & BaseEntry::kRare) {
      skip(entry & SZG_TOKENS_LENGTH);
      return take_rare(entry >> 16);
    }
    skip(entry & BaseEntry::kBits);
    return BaseEntry::code_of(entry, bits);
  }
  /* Two, from one window if it has both. */
  __device__ __forceinline__ void take_two(uint32_t *a, uint32_t *b) {
    uint32_t const bits = window.window(), first = tables.values[prefix_of(bits)];
    uint32_t const more = bits_after(bits, first), second = tables.values[prefix_of(more)];
    uint32_t const count = (first & BaseEntry::kBits) + (second & BaseEntry::kBits);
    if ((first | second) & BaseEntry::kRare || count > 32) {
      *a = take_value();
      *b = take_value();
      return;
    }
    skip(count);
    *a = BaseEntry::code_of(first, bits);
    *b = BaseEntry::code_of(second, more);
  }

  /* ---- columns ---- */

  /* Sets the next value of a column; *sum: what it has so far. */
  __device__ __forceinline__ void set(uint32_t *at, uint32_t code, uint32_t *sum) const {
    *sum = code + (*sum & along_y);
    *at = *sum;
  }

  __device__ __forceinline__ void take_plain(uint32_t *column, uint32_t rows) {
    uint32_t sum = 0;
    if (rows == kBaseY) {
#pragma unroll 1
      for (uint32_t y = 0; y < kBaseY; y += 2) {
        uint32_t a, b;
        take_two(&a, &b);
        set(column + y * kBaseRow, a, &sum);
        set(column + (y + 1) * kBaseRow, b, &sum);
      }
      return;
    }
#pragma unroll 1
    for (uint32_t y = 0; y < rows; y++) set(column + y * kBaseRow, take_value(), &sum);
  }

  __device__ __forceinline__ void take_pairs(uint32_t *column, uint32_t rows) {
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t y = 0; y < rows; y += 2) {
      uint32_t const entry = tables.others[prefix_of(window.window())];
      uint32_t a = (uint32_t)(int8_t)(entry >> 16), b = (uint32_t)(int8_t)(entry >> 24);
      skip(entry & SZG_TOKENS_LENGTH);
      if (entry & SZG_TOKENS_RARE) {
        is_bad |= entry >> 16 == SZG_TOKENS_NO_SYMBOL;
        a = take_value();
        b = take_value();
      }
      is_bad |= b != 0 && y + 1 >= rows;
      set(column + y * kBaseRow, a, &sum);
      set(column + (y + 1) * kBaseRow, b, &sum);
    }
  }

  /* Of marked places. */
  __device__ __forceinline__ void take_marked(uint32_t *column, uint32_t rows, uint32_t mask) {
    uint32_t sum = 0;
    is_bad |= mask >> rows != 0;
#pragma unroll 1
    for (uint32_t y = 0; y < kBaseY; y++) {
      uint32_t code = 0;
      if (mask >> y & 1) {
        code = take_value();
        is_bad |= code == 0;
      }
      set(column + y * kBaseRow, code, &sum);
    }
  }

  /* ---- groups ---- */

  /* A bit for each place with a code other than 0. */
  __device__ __forceinline__ uint64_t take_places() {
    uint32_t entry = tables.others[prefix_of(window.window())] & 0xFFFF;
    skip(entry & SZG_TOKENS_LENGTH);
    is_bad |= entry == 0;
    uint32_t octets = entry >> 4;
    if (octets == SZG_LEVELS_OCTET_ESCAPE) octets = take(8);
    uint64_t places = 0;
    for (; octets; octets &= octets - 1) {
      entry = tables.others[prefix_of(window.window())] >> 16;
      skip(entry & SZG_TOKENS_LENGTH);
      uint64_t mask = entry >> 4;
      if (mask == SZG_LEVELS_MASK_ESCAPE) mask = take(8);
      is_bad |= entry == 0 || mask == 0;
      places |= mask << 8 * (__ffs((int)octets) - 1);
    }
    return places;
  }

  /* Decodes groups first to end - 1 to `sums`, all 0 before; false: bits are invalid. */
  __device__ __forceinline__ bool take_groups(uint32_t mode, uint32_t first, uint32_t end,
                                              uint32_t end_bit, uint32_t *sums) {
#pragma unroll 1
    for (uint32_t group = first; group < end; group++) {
      uint64_t places = mode == SZG_LEVELS_MODE_MASKS ? take_places() : 0;
#pragma unroll 1
      for (uint32_t i = 0; i < kGroupColumns; i++) {
        uint32_t const c = group * kGroupColumns + i, rows = extents.rows_of(c);
        uint32_t *const column = sums + base_column(c);
        if (mode == SZG_LEVELS_MODE_PLAIN)
          take_plain(column, rows);
        else if (mode == SZG_LEVELS_MODE_PAIRS)
          take_pairs(column, rows);
        else if (places >> 8 * i & 255)
          take_marked(column, rows, (uint32_t)(places >> 8 * i) & 255);
      }
      if (is_bad || window.position > end_bit) return false;
    }
    return window.position == end_bit;
  }
};

} // namespace szg

#endif
