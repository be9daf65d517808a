/* levels_encode_groups.cuh - groups of a tile's codes in shared memory to bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plain codes and pairs. levels_encode_masks.cuh has the third mode.
 */
#ifndef SZG_LEVELS_ENCODE_GROUPS_CUH
#define SZG_LEVELS_ENCODE_GROUPS_CUH

#include "codecs/interpolation/levels_encode_bits.cuh"
#include "codecs/interpolation/levels_encode_masks.cuh"

namespace szg {

/* Code i of the group at shared address `group`. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ int32_t code_in(uint32_t group, uint32_t i) {
  uint32_t const word = load_shared(group + (i * kCodeBytes & ~3u));
  if (kCodeBytes == 4) return (int32_t)word;
  if (kCodeBytes == 2) return (int32_t)(word << (i % 2 ? 0 : 16)) >> 16;
  return (int32_t)(word >> 8 * (i % 4) & 255) - 128;
}

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
  __device__ __forceinline__ CodeWords(const LevelsBits<Words> &bits, const uint32_t *words)
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
                                         uint32_t existing, LevelsBits<Words> &bits) {
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
                                          const LevelsExtents &tile, LevelsBits<Words> &bits,
                                          uint32_t &any) {
  typedef CodeWords<kCodeBytes, kIsPairs> Codes;
  constexpr uint32_t kBytes = 4 * Codes::kWords, kLaneBytes = 4 * kCodeBytes;
  GroupPlaces const places = tile.places_of(number);
  uint32_t const end = group + (places.lanes * kLaneBytes + kBytes - 1) / kBytes * kBytes;
  uint32_t const low = places.of_half(0), high = places.of_half(1);
  auto const existing_from = [&](uint32_t i) { return (i < 32 ? low : high) >> i % 32; };
  uint32_t words[Codes::kWords], next[Codes::kWords];
  bool is_over = false;
  load_shared_words<Codes::kWords>(group, words);
#pragma unroll 1
  for (uint32_t at = group; at != end;) {
    at += kBytes;
    load_shared_words<Codes::kWords>(at, next); /* behind the group is some memory, too */
#pragma unroll
    for (uint32_t k = 0; k < Codes::kWords; k++)
      any |= kCodeBytes == 1 ? words[k] ^ 0x80808080u : words[k];
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

/* Puts groups first to end - 1 of the tile; false: bits overtook codes. memory: the tile's. */
template <uint32_t kMode, uint32_t kCodeBytes, class Words>
__device__ __forceinline__ bool put_groups(uint32_t memory, uint32_t first, uint32_t end,
                                           const LevelsExtents &tile, LevelsBits<Words> &bits,
                                           uint32_t &any) {
  constexpr uint32_t kWords = SZG_LEVELS_GROUP / 4 * kCodeBytes;
  uint32_t group = memory + 4 * LevelsRegions::at(first * kWords), number = first;
#pragma unroll 1
  for (uint32_t left = end - first; left > 0; left--) {
    if (kMode == SZG_LEVELS_MODE_MASKS) {
      if (put_masks<kCodeBytes>(group, bits, any) >> 31) return false;
    } else if (!put_codes<kCodeBytes, kMode == SZG_LEVELS_MODE_PAIRS>(group, number, tile, bits,
                                                                      any)) {
      return false;
    }
    number++;
    group += 4 * kWords;
    if (number * kWords % LevelsRegions::kWords == 0)
      group += 4 * (LevelsRegions::kPitch - LevelsRegions::kWords);
  }
  return true;
}
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ bool put_groups(uint32_t mode, uint32_t memory, uint32_t first,
                                           uint32_t end, const LevelsExtents &tile,
                                           LevelsBits<Words> &bits, uint32_t &any) {
  if (mode == SZG_LEVELS_MODE_PLAIN)
    return put_groups<SZG_LEVELS_MODE_PLAIN, kCodeBytes>(memory, first, end, tile, bits, any);
  if (mode == SZG_LEVELS_MODE_PAIRS)
    return put_groups<SZG_LEVELS_MODE_PAIRS, kCodeBytes>(memory, first, end, tile, bits, any);
  return put_groups<SZG_LEVELS_MODE_MASKS, kCodeBytes>(memory, first, end, tile, bits, any);
}

} // namespace szg

#endif
