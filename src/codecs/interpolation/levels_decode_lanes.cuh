/* levels_decode_lanes.cuh - a tile's words to codes of 1, 2 or 4 bytes in shared memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One lane of bits for each thread, as in huffman/tokens_lanes.cuh, whose tables these are. This is
 * for the tiles that nearly all are: it declines those with a code that does not fit, with a long
 * lane, and with anything that may be invalid. The other form then finds out what they are.
 *
 * Codes of a lane of the march are neighbours: place p of the tile is code p % 64 of group p / 64.
 * Groups stand in regions of 64 words with an odd pitch, so that lanes that work at the same place
 * of theirs use different banks.
 */
#ifndef SZG_LEVELS_DECODE_LANES_CUH
#define SZG_LEVELS_DECODE_LANES_CUH

#include "codecs/interpolation/levels_warp.cuh"
#include "huffman/tokens_lanes.cuh"

namespace szg {

/* ---- codes in shared memory ---- */

/* Of a tile, whatever its codes' bytes are: 7 classes of 8 pairs of planes of 128 bytes. */
constexpr uint32_t kCodeRegion = 64, kCodePitch = kCodeRegion + 1, kCodeRegions = 28;
constexpr uint32_t kCodeWords = (kCodeRegions * kCodePitch + 3) / 4 * 4; /* uint4 clear them */

/* Where word i of a tile's codes is; words of a group follow each other. */
__device__ __forceinline__ uint32_t code_word(uint32_t i) {
  return i / kCodeRegion * kCodePitch + i % kCodeRegion;
}

template <uint32_t kCodeBytes>
struct CodeOf;
template <>
struct CodeOf<1> {
  typedef int8_t Type;
};
template <>
struct CodeOf<2> {
  typedef int16_t Type;
};
template <>
struct CodeOf<4> {
  typedef int32_t Type;
};

/* ---- bits ---- */

/* The bits of a lane from the word where it begins. Sums of table entries may be added to the
 * position, of which only the low 16 bits count. */
struct ShortBits {
  static constexpr uint32_t kWordMask = 0x1FFC; /* bytes of 2^16 bits, by whole words */

  const uint32_t *words;
  uint32_t position;

  __device__ __forceinline__ uint32_t window() const {
    const char *const at = (const char *)words + (position >> 3 & kWordMask);
    return bits_from(((const uint32_t *)at)[1], *(const uint32_t *)at, position);
  }
  static __device__ __forceinline__ uint32_t entry_of(const uint32_t *table, uint32_t window) {
    constexpr uint32_t kByteShift = 32 - SZG_LEVELS_CODE_BITS - 2;
    return *(const uint32_t *)((const char *)table + (window >> kByteShift & ~3u));
  }
  __device__ __forceinline__ uint32_t entry(const uint32_t *table) const {
    return entry_of(table, window());
  }
  __device__ __forceinline__ void skip(uint32_t count) { position += count; }
  /* 0 to 31 bits. */
  __device__ __forceinline__ uint32_t take(uint32_t count) {
    uint32_t const bits = window() >> 1 >> (31 - count);
    position += count;
    return bits;
  }
};

/* A group takes at most so many words, if every code is an escape; a lane looks after each group
 * whether it has left its bits, and looks a window ahead. */
constexpr uint32_t kGroupMostWords = SZG_LEVELS_GROUP * (SZG_LEVELS_CODE_BITS * 3 / 2 + 32) / 32;
constexpr uint32_t kOverrunWords = kGroupMostWords + 4;
/* So many words of a tile leave positions below 2^16. */
constexpr uint32_t kMostShortWords = (1 << 16) / 32 - kOverrunWords;

/* ---- a lane ---- */

/* A lane at work. Codes are 0 before. has_declined: the tile is for the other form. */
template <uint32_t kCodeBytes>
struct ShortLane {
  typedef typename CodeOf<kCodeBytes>::Type Code;
  static constexpr uint32_t kMostRawBits =
      30; /* of symbols that narrow frames need; take's limit */

  const szg_tokens_tables_cuda &tables;
  const WarpTile &tile;
  bool is_full; /* the tile */
  ShortBits bits;
  bool has_declined;

  __device__ __forceinline__ GroupPlaces places_of(uint32_t group) const {
    constexpr uint32_t kLog2 = kCodeBytes == 1 ? 3 : kCodeBytes == 2 ? 2 : 1;
    static_assert(1u << kLog2 == kTilePairs<kCodeBytes>, "");
    if (is_full) return GroupPlaces::all();
    return GroupPlaces::of(tile.z_extent, tile.y_extent, tile.x_extent, kLog2, group);
  }

  __device__ __forceinline__ void set(uint32_t *codes, uint32_t place, int32_t code) {
    if (kCodeBytes < 4) has_declined |= (Code)code != code;
    ((Code *)codes)[place] = (Code)code;
  }

  /* The code of a rare entry, whose own bits are taken. */
  __device__ int32_t take_rare(uint32_t entry) {
    uint32_t const symbol = entry >> 16, magnitude_class = szg_symbol_class(symbol);
    if (symbol == SZG_LEVELS_VALUE_ESCAPE) {
      uint32_t const code = bits.window();
      bits.position += 32;
      return (int32_t)code;
    }
    uint32_t const raw_bits = szg_token_raw_bits(magnitude_class);
    if (symbol < SZG_LEVELS_FIRST_CLASS || raw_bits > kMostRawBits) {
      has_declined = true;
      return 0;
    }
    uint32_t const magnitude = (szg_token_top(magnitude_class) << raw_bits) + bits.take(raw_bits);
    return (int32_t)(szg_symbol_is_negative(symbol) ? 0 - magnitude : magnitude);
  }
  __device__ __forceinline__ int32_t take_value() {
    uint32_t const entry = bits.entry(tables.values);
    bits.position += entry & SZG_TOKENS_LENGTH;
    if (!(entry & SZG_TOKENS_RARE)) return (int32_t)entry >> 16;
    return take_rare(entry);
  }

  /* ---- plain ---- */

  /* Codes 4 i to 4 i + 3, all of which exist. They are held in the upper halves of words if they
   * have so few bits. */
  __device__ __forceinline__ void take_four(uint32_t *codes, uint32_t i) {
    constexpr uint32_t kHeldBits = kCodeBytes < 4 ? 16 : 0;
    uint32_t held[4];
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
      uint32_t const window = bits.window();
      uint32_t const first = ShortBits::entry_of(tables.values, window);
      uint32_t const second = ShortBits::entry_of(tables.values, bits_after(window, first));
      if ((first | second) & SZG_TOKENS_RARE) {
        int32_t const a = take_value(), b = take_value();
        has_declined |= (Code)a != a || (Code)b != b;
        held[k] = (uint32_t)a << kHeldBits, held[k + 1] = (uint32_t)b << kHeldBits;
      } else {
        bits.position += first + second;
        held[k] = (uint32_t)((int32_t)first >> (16 - kHeldBits));
        held[k + 1] = (uint32_t)((int32_t)second >> (16 - kHeldBits));
      }
    }
    if (kCodeBytes == 1) {
      codes[i] = __byte_perm(__byte_perm(held[0], held[1], 0x0062),
                             __byte_perm(held[2], held[3], 0x0062), 0x5410);
    } else if (kCodeBytes == 2) {
      codes[2 * i] = __byte_perm(held[0], held[1], 0x7632);
      codes[2 * i + 1] = __byte_perm(held[2], held[3], 0x7632);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) codes[4 * i + k] = held[k];
    }
  }
  __device__ __forceinline__ void take_plain(uint32_t group, uint32_t *codes) {
    GroupPlaces const places = places_of(group);
#pragma unroll 1
    for (uint32_t i = 0; i < places.lanes; i++) {
      if (places.rows == 4)
        take_four(codes, i);
      else
        for (uint32_t k = 0; k < places.rows; k++) set(codes, 4 * i + k, take_value());
    }
  }

  /* ---- pairs ---- */

  /* The pair of an entry whose bits are not taken yet; the second place need not exist. */
  __device__ __forceinline__ void set_pair(uint32_t *codes, uint32_t place, uint32_t entry,
                                           bool has_second) {
    auto const pair =
        take_pair<int32_t>(bits, entry, &has_declined, [this] { return take_value(); });
    has_declined |= pair.b != 0 && !has_second;
    set(codes, place, pair.a);
    set(codes, place + 1, pair.b);
  }
  /* Two pairs, all of whose places exist. */
  __device__ __forceinline__ void take_two_pairs(uint32_t *codes, uint32_t i) {
    uint32_t const window = bits.window();
    uint32_t const first = ShortBits::entry_of(tables.others, window);
    uint32_t const second = ShortBits::entry_of(tables.others, bits_after(window, first));
    if ((first | second) & SZG_TOKENS_RARE) {
      set_pair(codes, 4 * i, first, true);
      set_pair(codes, 4 * i + 2, bits.entry(tables.others), true);
      return;
    }
    bits.position += first + second;
    if (kCodeBytes == 1) {
      codes[i] = __byte_perm(first, second, 0x7632);
      return;
    }
    set(codes, 4 * i, (int8_t)(first >> 16));
    set(codes, 4 * i + 1, (int8_t)(first >> 24));
    set(codes, 4 * i + 2, (int8_t)(second >> 16));
    set(codes, 4 * i + 3, (int8_t)(second >> 24));
  }
  __device__ __forceinline__ void take_pairs(uint32_t group, uint32_t *codes) {
    GroupPlaces const places = places_of(group);
#pragma unroll 1
    for (uint32_t i = 0; i < places.lanes; i++) {
      if (places.rows == 4)
        take_two_pairs(codes, i);
      else
        for (uint32_t k = 0; k < places.rows; k += 2)
          set_pair(codes, 4 * i + k, bits.entry(tables.others), k + 1 < places.rows);
    }
  }

  /* ---- masks ---- */

  /* The places with codes other than 0: of the lower and of the upper half of the group. */
  __device__ __forceinline__ void take_marks(uint32_t *marks) {
    uint32_t octets = take_octets(bits, tables.others, &has_declined);
    marks[0] = marks[1] = 0;
    while (octets) {
      uint32_t const shift = 8 * ((uint32_t)__ffs((int)octets) - 1);
      octets &= octets - 1;
      uint32_t const mask = take_mask(bits, tables.others, &has_declined);
      if (shift < 32)
        marks[0] |= mask << shift;
      else
        marks[1] |= mask << (shift - 32);
    }
  }
  /* The codes of marked places; none is 0: in this mode the symbol of 0 has rare entries. */
  __device__ __forceinline__ void take_marked(uint32_t *codes, uint32_t first, uint32_t marks) {
    while (marks) {
      uint32_t const window = bits.window();
      uint32_t const place = first + (uint32_t)__ffs((int)marks) - 1;
      uint32_t const entry = ShortBits::entry_of(tables.values, window);
      marks &= marks - 1;
      if (entry & SZG_TOKENS_RARE) {
        bits.position += entry & SZG_TOKENS_LENGTH;
        int32_t const code = take_rare(entry);
        has_declined |= code == 0;
        set(codes, place, code);
        continue;
      }
      uint32_t length = entry & SZG_TOKENS_LENGTH;
      ((Code *)codes)[place] = (Code)((int32_t)entry >> 16);
      if (marks) { /* the window has a second one's bits too */
        uint32_t const second = ShortBits::entry_of(tables.values, bits_after(window, length));
        if (!(second & SZG_TOKENS_RARE)) {
          ((Code *)codes)[first + (uint32_t)__ffs((int)marks) - 1] = (Code)((int32_t)second >> 16);
          marks &= marks - 1;
          length += second & SZG_TOKENS_LENGTH;
        }
      }
      bits.position += length;
    }
  }
  __device__ __forceinline__ void take_masks(uint32_t group, uint32_t *codes) {
    uint32_t marks[2];
    take_marks(marks);
    if (!is_full) { /* declines marks of places that do not exist */
      GroupPlaces const places = places_of(group);
      has_declined |= (marks[0] & ~places.of_half(0)) != 0 || (marks[1] & ~places.of_half(1)) != 0;
    }
    take_marked(codes, 0, marks[0]);
    take_marked(codes, 32, marks[1]);
  }

  /* ---- all of it ---- */

  /* Groups first to end - 1 of the tile. False: declined. */
  template <uint32_t kMode>
  __device__ __forceinline__ bool take_groups(uint32_t first, uint32_t end, uint32_t end_position,
                                              uint32_t *codes) {
#pragma unroll 1
    for (uint32_t group = first; group < end; group++) {
      uint32_t *const group_codes = codes + code_word(group * (kGroupPlaces * kCodeBytes / 4));
      if (kMode == SZG_LEVELS_MODE_PLAIN) take_plain(group, group_codes);
      if (kMode == SZG_LEVELS_MODE_PAIRS) take_pairs(group, group_codes);
      if (kMode == SZG_LEVELS_MODE_MASKS) take_masks(group, group_codes);
      if (has_declined || (bits.position & 0xFFFF) > end_position) return false;
    }
    return (bits.position & 0xFFFF) == end_position;
  }
};

/* ---- a tile ---- */

/* range: of this lane, by read_head. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ bool decode_short_lane(const szg_tokens_opened_cuda &opened,
                                                  const szg_tokens_tables_cuda &tables,
                                                  const uint32_t *words, const LaneRange &range,
                                                  const WarpTile &tile, uint32_t *codes) {
  constexpr uint32_t kGroups = SZG_TOKENS_MOST_GROUPS / kCodeBytes;
  uint32_t const lane = threadIdx.x % 32, g = opened.lane_groups_log2;
  uint32_t const first = lane << g, end = min((lane + 1) << g, kGroups);
  bool const is_full = tile.x_extent == kWarpTileX && tile.y_extent == kWarpTileY &&
                       tile.z_extent == 2 * kTilePairs<kCodeBytes>;
  uint32_t const end_position = range.end - range.first / 32 * 32;
  ShortLane<kCodeBytes> short_lane = {
      tables, tile, is_full, {words + range.first / 32, range.first % 32}, false};
  if (opened.mode == SZG_LEVELS_MODE_PLAIN)
    return short_lane.template take_groups<SZG_LEVELS_MODE_PLAIN>(first, end, end_position, codes);
  if (opened.mode == SZG_LEVELS_MODE_PAIRS)
    return short_lane.template take_groups<SZG_LEVELS_MODE_PAIRS>(first, end, end_position, codes);
  return short_lane.template take_groups<SZG_LEVELS_MODE_MASKS>(first, end, end_position, codes);
}

} // namespace szg

#endif
