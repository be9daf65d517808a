/* levels_encode_lanes.cuh - a tile's codes in shared memory to bits of lanes, in place.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes lie in shared memory by place, in regions of 64 words, which are a lane or a share of one.
 * Lanes follow one another without gaps, so a thread can take a region, however long lanes are. A
 * region's codes begin a few words behind its start, so a thread writes its bits over the codes
 * that it has read already. Where bits overtake codes, or a tile's words would not fit the memory
 * that they are put together in, the tile is left to the generic encoder.
 *
 * Codes of one byte have 128 added to them.
 */
#ifndef SZG_LEVELS_ENCODE_LANES_CUH
#define SZG_LEVELS_ENCODE_LANES_CUH

#include "core/bit_writer.cuh"
#include "core/lane_lengths.cuh"
#include "core/shared_memory.cuh"
#include "core/warp.cuh"
#include "fused/levels_encode_table.cuh"
#include "fused/levels_warp.cuh"

namespace szg {

/* ---- where codes lie ---- */

/* The distance of regions is odd, so that lanes that are at the same place of their regions meet
 * different banks. What a lane may write beyond its codes before it finds out is a group of entries
 * of 16 bits over codes of 8, which is more than escaped pairs or octets and masks. */
struct LevelsRegions {
  static constexpr uint32_t kWords = 64, kSlack = 4, kPitch = kWords + kSlack + 1, kCount = 28;
  static constexpr uint32_t kOverrun = SZG_LEVELS_GROUP * kLevelsJoinedMost / 32 - 16 + kSlack;
  static constexpr uint32_t kAllWords = kCount * kPitch + kOverrun;
  static_assert(SZG_LEVELS_CODE_BITS + 2 * (SZG_LEVELS_CODE_BITS + 32) <= 32 * kOverrun, "");
  static_assert(SZG_LEVELS_CODE_BITS + 8 + 8 * (SZG_LEVELS_CODE_BITS + 8) <= 32 * kOverrun, "");
  static_assert(kAllWords % 4 == 0, "what follows is aligned");

  /* Where word w of the codes is, from the start of the memory. */
  static __device__ __forceinline__ uint32_t at(uint32_t w) {
    return w / kWords * kPitch + w % kWords + kSlack;
  }
};

template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t group_word(uint32_t group) {
  return LevelsRegions::at(group * (SZG_LEVELS_GROUP / 4 * kCodeBytes));
}

/* ---- which places exist ---- */

struct LevelsExtents {
  uint32_t z, y, x;    /* of the tile */
  uint32_t half_depth; /* planes of a class in a full tile, a power of two */
  bool is_full;

  __device__ __forceinline__ GroupPlaces places_of(uint32_t group) const {
    if (is_full) return GroupPlaces::all();
    return GroupPlaces::of(z, y, x, (uint32_t)__ffs((int)half_depth) - 1, group);
  }
};

/* ---- appending ---- */

/* Where the words of a region's bits go: over its codes. */
struct OverCodes {
  uint32_t next; /* shared address of the next word */

  __device__ __forceinline__ void put(uint32_t word) {
    store_shared(next, word);
    next += 4;
  }
  /* Whether words lie at this shared address or beyond, where codes are to be read yet. */
  __device__ __forceinline__ bool is_beyond(uint32_t address) const { return next > address; }
};

/* A region's bits. Only the low 6 bits of `at` count. */
template <class Words>
struct LaneBits {
  Words words;
  uint32_t word, at; /* the word at hand */
  uint32_t table;    /* shared address of the LevelsEncodeTable */

  __device__ __forceinline__ void put_full_word() { words.put(word); }
  template <uint32_t kMember>
  __device__ __forceinline__ uint32_t entry_of(uint32_t i) const {
    return load_shared_constant(table + kMember + 4 * i);
  }
  /* at: four times the index, and other bits where only the index is looked at. */
  template <uint32_t kMember>
  __device__ __forceinline__ uint32_t entry_at(uint32_t at) const {
    static_assert(kMember % (4 * kLevelsTableEntries) == 0, "as the table is aligned");
    return load_shared_constant((at & 4 * (kLevelsTableEntries - 1) | table) + kMember);
  }
  __device__ __forceinline__ void put(uint32_t entry) {
    append_joined(*this, entry & kLevelsEntryBits, at + entry);
  }
  /* Two entries that are not slow. */
  __device__ __forceinline__ void put_two(uint32_t first, uint32_t second) {
    uint32_t const joined =
        (first & kLevelsEntryBits) | bits_in_word(second & kLevelsEntryBits, first);
    append_joined(*this, joined, at + first + second);
  }
  __device__ __forceinline__ void put_number(uint32_t number, uint32_t count) {
    if (count > 0) append_joined(*this, number << (32 - count), at + count);
  }
  /* Any code. */
  __device__ __forceinline__ void put_value(int32_t code) {
    constexpr uint32_t kSymbols = offsetof(LevelsEncodeTable, symbols);
    szg_value_token token = szg_value_token_of(code, false);
    uint32_t entry = entry_of<kSymbols>(token.symbol);
    if (entry == 0) {
      token = szg_value_escape(code, false);
      entry = entry_of<kSymbols>(token.symbol);
    }
    put(entry);
    put_number((uint32_t)token.raw, token.raw_bits);
  }
  /* A pair without an entry that is not slow. */
  __device__ __forceinline__ void put_escaped_pair(int32_t a, int32_t b) {
    put(load_shared_constant(table + (uint32_t)offsetof(LevelsEncodeTable, pair_escape)));
    put_value(a);
    put_value(b);
  }
  __device__ __forceinline__ void put_pair(int32_t a, int32_t b) {
    constexpr uint32_t kTops = offsetof(LevelsEncodeTable, tops);
    uint32_t const nibbles = (uint32_t)(a + 8) | (uint32_t)(b + 8) << 4;
    bool const is_small = (uint32_t)(a + 8) < 16 && (uint32_t)(b + 8) < 16;
    uint32_t const entry = is_small ? entry_of<kTops>(nibbles) : kLevelsEntrySlow;
    if (entry & kLevelsEntrySlow)
      put_escaped_pair(a, b);
    else
      put(entry);
  }
};

/* The entry of a value, as the table has it. */
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ uint32_t value_entry(const LaneBits<Words> &bits, int32_t code) {
  uint32_t const i = (uint32_t)(code + 128);
  if (kCodeBytes > 1 && i >= 256) return kLevelsEntrySlow;
  return bits.template entry_of<offsetof(LevelsEncodeTable, values)>(i);
}

/* ---- codes ---- */

/* Code i of the group at shared address `group`. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ int32_t code_in(uint32_t group, uint32_t i) {
  uint32_t const word = load_shared(group + (i * kCodeBytes & ~3u));
  if (kCodeBytes == 4) return (int32_t)word;
  if (kCodeBytes == 2) return (int32_t)(word << (i % 2 ? 0 : 16)) >> 16;
  return (int32_t)(word >> 8 * (i % 4) & 255) - 128;
}

/* Bits for the codes of half a group that are not 0; `from`: its first word. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t nonzero_of_half(const uint32_t *from) {
  uint32_t places = 0;
  if (kCodeBytes == 1) {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      uint32_t const a = from[2 * i] ^ 0x80808080u, b = from[2 * i + 1] ^ 0x80808080u;
      uint32_t const in_a = (((a & 0x7f7f7f7fu) + 0x7f7f7f7fu) | a) & 0x80808080u;
      uint32_t const in_b = (((b & 0x7f7f7f7fu) + 0x7f7f7f7fu) | b) & 0x80808080u;
      places |= ((in_a >> 7 | in_b >> 3) * 0x01020408u >> 24) << 8 * i;
    }
  } else if (kCodeBytes == 2) {
#pragma unroll 8
    for (uint32_t i = 0; i < 16; i++)
      places |= ((from[i] & 0xffff ? 1u : 0u) | (from[i] >> 16 ? 2u : 0u)) << 2 * i;
  } else {
#pragma unroll 8
    for (uint32_t i = 0; i < 32; i++) places |= (from[i] ? 1u : 0u) << i;
  }
  return places;
}

/* Sets two words for each group. The whole warp calls, and synchronizes before it reads. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ void find_nonzero(const uint32_t *memory, uint32_t group_count,
                                             uint32_t *nonzero) {
  for (uint32_t group = threadIdx.x % 32; group < group_count; group += 32) {
    const uint32_t *const from = memory + group_word<kCodeBytes>(group);
    uint32_t any = kCodeBytes > 1; /* mostly none is, where masks are the cheapest */
    if (kCodeBytes == 1) {
#pragma unroll
      for (uint32_t i = 0; i < 16; i++) any |= from[i] ^ 0x80808080u;
    }
    nonzero[2 * group] = any ? nonzero_of_half<kCodeBytes>(from) : 0;
    nonzero[2 * group + 1] = any ? nonzero_of_half<kCodeBytes>(from + 8 * kCodeBytes) : 0;
  }
}

/* ---- groups of a lane ---- */

/* Words of codes, 8 codes of a byte or 4 of more, as their entries. */
template <uint32_t kCodeBytes, bool kIsPairs>
struct CodeWords {
  static constexpr uint32_t kWords = kCodeBytes == 1 ? 2 : kCodeBytes;
  static constexpr uint32_t kCodes = 4 * kWords / kCodeBytes;
  static constexpr uint32_t kEntries = kIsPairs ? kCodes / 2 : kCodes;

  uint32_t entries[kEntries];
  uint32_t slow; /* bits if a code has no entry */

  /* 128 added to both halves. */
  static __device__ __forceinline__ uint32_t add_128(uint32_t two) {
    return ((two & 0x7fff7fffu) + 0x00800080u) ^ (two & 0x80008000u);
  }

  /* Where entries are, as entry_at takes it. */
  __device__ __forceinline__ void find_values(const uint32_t *words, uint32_t *at) {
#pragma unroll
    for (uint32_t k = 0; k < kWords; k++) {
      if (kCodeBytes == 1) {
        at[4 * k] = words[k] << 2, at[4 * k + 1] = words[k] >> 6;
        at[4 * k + 2] = words[k] >> 14, at[4 * k + 3] = words[k] >> 22;
      } else if (kCodeBytes == 2) {
        uint32_t const two = add_128(words[k]);
        slow |= two & 0xff00ff00u;
        at[2 * k] = two << 2, at[2 * k + 1] = two >> 14;
      } else {
        uint32_t const one = words[k] + 128;
        slow |= one & ~255u;
        at[k] = one << 2;
      }
    }
  }
  __device__ __forceinline__ void find_pairs(const uint32_t *words, uint32_t *at) {
#pragma unroll
    for (uint32_t k = 0; k < kWords; k++) {
      if (kCodeBytes == 1) {
        uint32_t const by_8 = words[k] - 0x78787878u, nibbles = by_8 | by_8 >> 4;
        slow |= by_8 & 0xf0f0f0f0u;
        at[2 * k] = nibbles << 2, at[2 * k + 1] = nibbles >> 14;
      } else if (kCodeBytes == 2) {
        uint32_t const by_8 = add_128(words[k]) - 0x00780078u;
        slow |= by_8 & 0xfff0fff0u;
        at[k] = (by_8 | by_8 >> 12) << 2;
      } else if (k % 2 == 0) {
        uint32_t const first = words[k] + 8, second = words[k + 1] + 8;
        slow |= (first | second) & ~15u;
        at[k / 2] = (first | second << 4) << 2;
      }
    }
  }

  template <class Words>
  __device__ __forceinline__ CodeWords(const LaneBits<Words> &bits, const uint32_t *words)
      : slow(0) {
    constexpr uint32_t kTable =
        kIsPairs ? offsetof(LevelsEncodeTable, tops) : offsetof(LevelsEncodeTable, values);
    uint32_t at[kEntries];
    if (kIsPairs)
      find_pairs(words, at);
    else
      find_values(words, at);
#pragma unroll
    for (uint32_t k = 0; k < kEntries; k++) entries[k] = bits.template entry_at<kTable>(at[k]);
  }

  /* Leaves out codes that do not exist, which are 0; existing: a bit for each code. Of a pair the
   * first one exists if the second does. */
  __device__ __forceinline__ void keep(uint32_t existing) {
#pragma unroll
    for (uint32_t k = 0; k < kEntries; k++)
      if (!(existing >> (kIsPairs ? 2 : 1) * k & 1)) entries[k] = 0;
  }
  /* Whether a code has no entry, or one that is slow. */
  __device__ __forceinline__ bool is_slow() const {
    uint32_t all = 0;
#pragma unroll
    for (uint32_t k = 0; k < kEntries; k++) all |= entries[k];
    return (slow | (all & kLevelsEntrySlow)) != 0;
  }
};

/* Each puts a group and returns false if its bits overtook its codes. group: the shared address of
 * its codes; number: its number in the tile. any: gets bits if a code is not 0. */

/* Codes first to end - 1 of the group, one or two at a time. existing: a bit for each of them. */
template <uint32_t kCodeBytes, bool kIsPairs, class Words>
__device__ __forceinline__ bool put_slow(uint32_t group, uint32_t first, uint32_t end,
                                         uint32_t existing, LaneBits<Words> &bits) {
#pragma unroll 1
  for (uint32_t i = first; i < end; i += 2, existing >>= 2) {
    int32_t const a = code_in<kCodeBytes>(group, i), b = code_in<kCodeBytes>(group, i + 1);
    if (kIsPairs) {
      if (existing & 3) bits.put_pair(a, b);
    } else {
      if (existing & 1) bits.put_value(a);
      if (existing & 2) bits.put_value(b);
    }
    if (bits.words.is_beyond(group + ((i + 2) * kCodeBytes & ~3u))) return false;
  }
  return true;
}

/* Words come while those before are put. Entries of pairs, and of codes that take two bytes or
 * more, are no longer than their codes; others are looked at after the group. */
template <uint32_t kCodeBytes, bool kIsPairs, class Words>
__device__ __forceinline__ bool put_codes(uint32_t group, uint32_t number,
                                          const LevelsExtents &tile, LaneBits<Words> &bits,
                                          uint32_t &any) {
  typedef CodeWords<kCodeBytes, kIsPairs> Codes;
  constexpr uint32_t kBytes = 4 * Codes::kWords, kLaneBytes = 4 * kCodeBytes;
  GroupPlaces const places = tile.places_of(number);
  uint32_t const end = group + (places.lanes * kLaneBytes + kBytes - 1) / kBytes * kBytes;
  uint32_t const halves[2] = {places.of_half(0), places.of_half(1)};
  auto const existing_from = [&](uint32_t i) { return halves[i / 32] >> i % 32; };
  uint32_t words[Codes::kWords], next[Codes::kWords];
  bool is_over = false;
#pragma unroll
  for (uint32_t k = 0; k < Codes::kWords; k++) words[k] = load_shared(group + 4 * k);
#pragma unroll 1
  for (uint32_t at = group; at != end;) {
    at += kBytes;
#pragma unroll
    for (uint32_t k = 0; k < Codes::kWords; k++) { /* behind the group is some memory, too */
      next[k] = load_shared(at + 4 * k);
      any |= kCodeBytes == 1 ? words[k] ^ 0x80808080u : words[k];
    }
    Codes coded(bits, words);
    uint32_t const first = (at - group - kBytes) / kCodeBytes;
    if (!tile.is_full) coded.keep(existing_from(first));
    if (!coded.is_slow()) {
#pragma unroll
      for (uint32_t k = 0; k < Codes::kEntries; k += 2)
        bits.put_two(coded.entries[k], coded.entries[k + 1]);
    } else if (!put_slow<kCodeBytes, kIsPairs>(group, first, first + Codes::kCodes,
                                               existing_from(first), bits)) {
      return false;
    }
    if (kCodeBytes == 1 && !kIsPairs) is_over |= bits.words.is_beyond(at);
#pragma unroll
    for (uint32_t k = 0; k < Codes::kWords; k++) words[k] = next[k];
  }
  return !is_over;
}

/* nonzero: the group's two words. */
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ bool put_masks(uint32_t group, const uint32_t *nonzero,
                                          LaneBits<Words> &bits, uint32_t &any) {
  constexpr uint32_t kTops = offsetof(LevelsEncodeTable, tops);
  constexpr uint32_t kMasks = offsetof(LevelsEncodeTable, masks);
  uint32_t const halves[2] = {nonzero[0], nonzero[1]};
  auto const octet_at = [&](uint32_t i) { /* halves are registers, which have no index */
    return (i < 4 ? halves[0] : halves[1]) >> 8 * (i % 4) & 255;
  };
  uint32_t octets = szg_octets_of_places((uint64_t)halves[1] << 32 | halves[0]);
  any |= octets;
  bits.put(bits.template entry_of<kTops>(octets));
  if (octets == 0) return true; /* nothing is written over codes to come: all of them are 0 */
  while (octets) {
    uint32_t const first = (uint32_t)__ffs((int)octets) - 1, left = octets & (octets - 1);
    uint32_t const second = (uint32_t)__ffs((int)left) - 1;
    uint32_t const a = bits.template entry_of<kMasks>(octet_at(first));
    uint32_t const b = left ? bits.template entry_of<kMasks>(octet_at(second)) : 0;
    octets = left & (left - 1);
    if ((a | b) & kLevelsEntrySlow) {
      bits.put(a);
      bits.put(b);
    } else {
      bits.put_two(a, b);
    }
  }
  if (bits.words.is_beyond(group)) return false;
#pragma unroll
  for (uint32_t h = 0; h < 2; h++) {
    for (uint32_t left = halves[h]; left;) {
      uint32_t const i = 32 * h + (uint32_t)__ffs((int)left) - 1;
      left &= left - 1;
      uint32_t const j = left ? 32 * h + (uint32_t)__ffs((int)left) - 1 : i;
      left &= left - 1;
      if (bits.words.is_beyond(group + (i * kCodeBytes & ~3u))) return false;
      int32_t const first = code_in<kCodeBytes>(group, i), second = code_in<kCodeBytes>(group, j);
      uint32_t const a = value_entry<kCodeBytes>(bits, first);
      uint32_t const b = j > i ? value_entry<kCodeBytes>(bits, second) : 0;
      if (!((a | b) & kLevelsEntrySlow)) {
        bits.put_two(a, b);
      } else {
        bits.put_value(first);
        if (j > i) bits.put_value(second);
      }
    }
  }
  return !bits.words.is_beyond(group + SZG_LEVELS_GROUP * kCodeBytes);
}

/* Puts groups first to end - 1 of the tile; false: bits overtook codes. memory: the tile's. */
template <uint32_t kMode, uint32_t kCodeBytes, class Words>
__device__ __forceinline__ bool put_groups(uint32_t memory, uint32_t first, uint32_t end,
                                           const LevelsExtents &tile, const uint32_t *nonzero,
                                           LaneBits<Words> &bits, uint32_t &any) {
#pragma unroll 1
  for (uint32_t number = first; number < end; number++) {
    uint32_t const group = memory + 4 * group_word<kCodeBytes>(number);
    bool fits;
    if (kMode == SZG_LEVELS_MODE_MASKS)
      fits = put_masks<kCodeBytes>(group, nonzero + 2 * number, bits, any);
    else
      fits = put_codes<kCodeBytes, kMode == SZG_LEVELS_MODE_PAIRS>(group, number, tile, bits, any);
    if (!fits) return false;
  }
  return true;
}
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ bool put_groups(uint32_t mode, uint32_t memory, uint32_t first,
                                           uint32_t end, const LevelsExtents &tile,
                                           const uint32_t *nonzero, LaneBits<Words> &bits,
                                           uint32_t &any) {
  if (mode == SZG_LEVELS_MODE_PLAIN)
    return put_groups<SZG_LEVELS_MODE_PLAIN, kCodeBytes>(memory, first, end, tile, nonzero, bits,
                                                         any);
  if (mode == SZG_LEVELS_MODE_PAIRS)
    return put_groups<SZG_LEVELS_MODE_PAIRS, kCodeBytes>(memory, first, end, tile, nonzero, bits,
                                                         any);
  return put_groups<SZG_LEVELS_MODE_MASKS, kCodeBytes>(memory, first, end, tile, nonzero, bits,
                                                       any);
}

/* ---- a tile's words ---- */

/* A region's groups, whose bits one thread writes: a lane, or a half, a fourth and so on of one. */
struct Share {
  const uint32_t *words; /* its bits, from the first word on */
  uint32_t bit_count;    /* 0: all codes of the lane are 0, or there is no such region */
  bool fits;
};

/* The threads that write the same lane as this one. */
struct LaneTeam {
  uint32_t first, size; /* size: a power of two */

  template <uint32_t kCodeBytes>
  static __device__ __forceinline__ LaneTeam of(uint32_t lane_groups_log2) {
    constexpr uint32_t kRegionLog2 = kCodeBytes == 1 ? 2 : kCodeBytes == 2 ? 1 : 0;
    uint32_t const size = 1u << (lane_groups_log2 - kRegionLog2);
    return {threadIdx.x % 32 & ~(size - 1), size};
  }
  __device__ __forceinline__ uint32_t members() const { return lanes_below(size) << first; }
  /* Whether it is true in one of them. The whole warp calls. */
  __device__ __forceinline__ bool has(bool is_true) const {
    return (__ballot_sync(kAllLanes, is_true) & members()) != 0;
  }
  __device__ __forceinline__ bool is_leader() const { return threadIdx.x % 32 == first; }
};

/* The groups of the tile that this thread takes. kCount: of all threads but the last four. */
template <uint32_t kCount>
struct OwnGroups {
  static constexpr uint32_t kAll = kCount * LevelsRegions::kCount;
  uint32_t first, end;

  __device__ __forceinline__ OwnGroups() : first(kCount * (threadIdx.x % 32)) {
    end = threadIdx.x % 32 < LevelsRegions::kCount ? first + kCount : 0;
  }
  /* Finds the nonzero places of all groups, and returns whether this thread's lane has one. The
   * whole warp calls. */
  template <uint32_t kCodeBytes>
  __device__ __forceinline__ bool find_live(const uint32_t *memory, const LaneTeam &team,
                                            uint32_t *nonzero) const {
    uint32_t any = 0;
    find_nonzero<kCodeBytes>(memory, kAll, nonzero);
    __syncwarp(); /* all places are known */
    for (uint32_t i = 2 * first; i < 2 * end; i++) any |= nonzero[i];
    return team.has(any != 0);
  }
};

/* The bits of all regions. memory: the tile's codes; staging: memory for the nonzero places of all
 * groups. The whole warp calls, and synchronizes before it reads. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ Share encode_region(const LevelsEncodeTable &table, uint32_t *memory,
                                               const LaneTeam &team, const LevelsExtents &tile,
                                               uint32_t *staging) {
  OwnGroups<4 / kCodeBytes> const groups;
  uint32_t const at = shared_address(memory), begin = LevelsRegions::kPitch * (threadIdx.x % 32);
  LaneBits<OverCodes> bits = {{at + 4 * begin}, 0, 0, shared_address(&table)};
  uint32_t any = 0;
  bool is_live = true, fits = true;
  if (table.mode == SZG_LEVELS_MODE_MASKS)
    is_live = groups.template find_live<kCodeBytes>(memory, team, staging);
  if (is_live)
    fits = put_groups<kCodeBytes>(table.mode, at, groups.first, groups.end, tile, staging, bits,
                                  any);
  __syncwarp(); /* lanes go on together */
  if (bits.at % 32) store_shared(bits.words.next, bits.word);
  is_live = team.has(any != 0);
  uint32_t const words = (bits.words.next - at) / 4 - begin;
  return {memory + begin, is_live ? 32 * words + bits.at % 32 : 0, fits};
}

/* ORs `count` bits of a number into words that are 0 there. */
__device__ __forceinline__ void or_number(uint32_t number, uint32_t count, uint32_t at,
                                          uint32_t *words) {
  if (count > 0) or_bits(number << (32 - count), count, at, [=](uint32_t i) { return words + i; });
}

/* Copies a share's bits to bit `at` of words that are 0 where shares meet. */
__device__ __forceinline__ void move_share(const Share &own, uint32_t at, uint32_t *words) {
  uint32_t const word_count = (own.bit_count + 31) / 32;
  uint32_t const last = (at % 32 + own.bit_count + 31) / 32 - 1;
  uint32_t *const to = words + at / 32;
  uint32_t before = 0;
#pragma unroll 1
  for (uint32_t i = 0; i <= last; i++) {
    uint32_t const word = i < word_count ? own.words[i] : 0;
    uint32_t const joined = __funnelshift_r(word, before, at);
    before = word;
    if (i == 0 || i == last)
      atomicOr(&to[i], joined);
    else
      to[i] = joined;
  }
}

/* Where a tile's head and shares go, in its words. */
struct TileLayout {
  uint32_t word_count; /* 0: all codes are 0 */
  uint32_t at;         /* of this thread's share */

  uint32_t front;      /* least length, width, and whether there is a mask */
  bool has_mask, is_live_leader;
  uint32_t rank, excess, width; /* of a leader's lane: among live ones; and what the head says */

  static constexpr uint32_t kBegin = SZG_LEVELS_LEAST_BITS + SZG_LEVELS_WIDTH_BITS + 1;

  /* bit_count: of this thread's share. The whole warp calls. */
  __device__ __forceinline__ TileLayout(uint32_t bit_count, const LaneTeam &team) : word_count(0) {
    constexpr uint32_t kLast = LevelsRegions::kCount - 1;
    uint32_t const lane = threadIdx.x % 32, end = sum_to_lane(bit_count, lane);
    uint32_t const lane_end =
        __shfl_sync(kAllLanes, end, (int)min(team.first + team.size - 1, kLast));
    uint32_t const before = __shfl_sync(kAllLanes, end - bit_count, (int)team.first);
    uint32_t const lane_bits = lane <= kLast ? lane_end - before : 0; /* of the whole team */
    is_live_leader = team.is_leader() && lane_bits > 0;
    uint32_t const live = __ballot_sync(kAllLanes, is_live_leader);
    if (live == 0) return;
    LaneLengths const lengths = measure_lanes(lane_bits, lane_bits ? lane_bits : UINT32_MAX, lane);
    uint32_t const lane_count = kLast / team.size + 1, live_count = (uint32_t)__popc((int)live);
    has_mask = live_count != lane_count;
    front = (lengths.least << SZG_LEVELS_WIDTH_BITS | lengths.width) << 1 | (has_mask ? 1 : 0);
    rank = rank_among(live, lane);
    excess = lane_bits - lengths.least, width = lengths.width;
    excesses = kBegin + (has_mask ? lane_count : 0);
    uint32_t const head = excesses + live_count * width;
    at = head + end - bit_count;
    word_count = (head + __shfl_sync(kAllLanes, end, (int)kLast) + 31) / 32;
  }
  /* words: zeros. The whole warp calls. */
  __device__ __forceinline__ void put_head(const LaneTeam &team, uint32_t *words) const {
    uint32_t const lane = threadIdx.x % 32;
    if (lane == 0) or_number(front, kBegin, 0, words);
    if (!is_live_leader) return;
    if (has_mask) or_number(1, 1, kBegin + lane / team.size, words);
    or_number(excess, width, excesses + rank * width, words);
  }

 private:
  uint32_t excesses; /* where they begin in the head */
};

/* Puts a tile's words together; returns their number, or UINT32_MAX if they are too many or a share
 * did not fit. Calls begin(number) before it puts them. words: room for most_words. The whole warp
 * calls, and synchronizes before it reads. */
template <class Begin>
__device__ __forceinline__ uint32_t join_shares(const Share &own, const LaneTeam &team,
                                                uint32_t most_words, uint32_t *words,
                                                Begin begin) {
  if (__any_sync(kAllLanes, !own.fits)) return UINT32_MAX;
  TileLayout const layout(own.bit_count, team);
  if (layout.word_count > most_words) return UINT32_MAX;
  begin(layout.word_count);
  for (uint32_t i = threadIdx.x % 32; i < layout.word_count; i += 32) words[i] = 0;
  __syncwarp(); /* words are zeros */
  if (layout.word_count == 0) return 0;
  layout.put_head(team, words);
  if (own.bit_count > 0) move_share(own, layout.at, words);
  return layout.word_count;
}

} // namespace szg

#endif
