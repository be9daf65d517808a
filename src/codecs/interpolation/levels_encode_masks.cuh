/* levels_encode_masks.cuh - a group of codes of which most are 0: octets, masks and values to bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of a warp take groups with different numbers of codes, so what counts is how many steps
 * the longest one takes, and how short a step is. Places are bits from the highest one down, which
 * is the one that is found first.
 */
#ifndef SZG_LEVELS_ENCODE_MASKS_CUH
#define SZG_LEVELS_ENCODE_MASKS_CUH

#include "codecs/interpolation/levels_encode_bits.cuh"

namespace szg {

/* ---- places ---- */

/* The highest bit of a word; 31 and no bit have the same low 5 bits, and -1 is for no bit. */
__device__ __forceinline__ uint32_t highest_bit(uint32_t word) {
  return (uint32_t)(31 - __clz((int)word));
}
/* Removes the highest bit; returns where it was. */
__device__ __forceinline__ uint32_t take_highest(uint32_t &word) {
  uint32_t const bit = highest_bit(word);
  word &= ~__funnelshift_l(0, 1, bit);
  return bit;
}

/* The highest bit of each byte that is not 0. */
__device__ __forceinline__ uint32_t highs_of(uint32_t bytes) {
  return (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
}

/* Which codes of half a group are not 0, the first one as the highest bit. from: its shared
 * address. */
template <uint32_t kCodeBytes>
struct HalfPlaces;

template <>
struct HalfPlaces<1> {
  static __device__ __forceinline__ uint32_t find(uint32_t from) {
    uint32_t words[8], any = 0;
    load_shared_words<4>(from, words);
    load_shared_words<4>(from + 16, words + 4);
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) any |= words[i] ^ 0x80808080u;
    if (any == 0) return 0; /* mostly, where masks are the cheapest */
    uint32_t octets[4];     /* in the highest byte */
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
      octets[i] = (nonzero_of(words[2 * i]) >> 3 | nonzero_of(words[2 * i + 1]) >> 7) * 0x08040201u;
    uint32_t const first = __byte_perm(octets[1], octets[0], 0x7300);
    return __byte_perm(__byte_perm(octets[3], octets[2], 0x0073), first, 0x7610);
  }

 private:
  /* As highs_of, of codes. */
  static __device__ __forceinline__ uint32_t nonzero_of(uint32_t four) {
    return (((four & 0x7f7f7f7fu) + 0x7f7f7f7fu) | ~four) & 0x80808080u;
  }
};

template <>
struct HalfPlaces<2> {
  static __device__ __forceinline__ uint32_t find(uint32_t from) {
    uint32_t const a = eight_words(from), b = eight_words(from + 32);
    return (a << 17 | (a & 0x55550000u)) | ((b << 1 & 0xaaaau) | b >> 16);
  }

 private:
  /* In bits 14, 12 to 0 the low codes of the words and in bits 30, 28 to 16 the high ones. */
  static __device__ __forceinline__ uint32_t eight_words(uint32_t from) {
    uint32_t words[8], places = 0;
    load_shared_words<4>(from, words);
    load_shared_words<4>(from + 16, words + 4);
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) places = 4 * places + __vminu2(words[i], 0x00010001u);
    return places;
  }
};

template <>
struct HalfPlaces<4> {
  static __device__ __forceinline__ uint32_t find(uint32_t from) {
    uint32_t places = 0;
#pragma unroll 2
    for (uint32_t i = 0; i < 32; i += 4) {
      uint32_t words[4];
      load_shared_words<4>(from + 4 * i, words);
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) places = 2 * places + min(words[k], 1u);
    }
    return places;
  }
};

/* Which codes of a group are not 0. */
struct GroupMask {
  uint32_t first, second; /* halves */

  /* group: the shared address of its codes. */
  template <uint32_t kCodeBytes>
  static __device__ __forceinline__ GroupMask of(uint32_t group) {
    GroupMask mask = {0, 0};
#pragma unroll 1
    for (uint32_t from = group; from != group + SZG_LEVELS_GROUP * kCodeBytes;
         from += SZG_LEVELS_GROUP / 2 * kCodeBytes) {
      mask.first = mask.second;
      mask.second = HalfPlaces<kCodeBytes>::find(from);
    }
    return mask;
  }
  /* The octets that have places; bit 7: the first one. */
  __device__ __forceinline__ uint32_t octets() const {
    return (highs_of(first) >> 3 | highs_of(second) >> 7) * 0x01020408u >> 24;
  }
  /* The places in the octet of this bit, in the low 8 bits; some places if the bit is none. */
  __device__ __forceinline__ uint32_t octet(uint32_t bit) const {
    return __byte_perm(second, first, bit);
  }
};

/* ---- values ---- */

/* A code and 128, from its shared address. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t code_and_128(uint32_t address) {
  if (kCodeBytes == 1) return load_shared_byte(address);
  if (kCodeBytes == 2) return (uint32_t)load_shared_short(address) + 128;
  return load_shared(address) + 128;
}

/* The entry of a code from that. */
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ uint32_t value_entry(const LevelsBits<Words> &bits, uint32_t code) {
  constexpr uint32_t kValues = offsetof(LevelsEncodeTable, values);
  static_assert(offsetof(LevelsEncodeTable, other_values) == kValues + 4 * kLevelsTableEntries, "");
  return bits.template entry_of<kValues>(kCodeBytes == 1 ? code : min(code, kLevelsTableEntries));
}

/* The codes of a group that are not 0, two at a time. */
template <uint32_t kCodeBytes>
struct NonzeroCodes {
  uint32_t left, rest; /* places of the half at hand, and of the next one */
  uint32_t last, end;  /* shared addresses: of the half's last code, and of the group's */
  uint32_t a, b;       /* the two, and 128 */
  bool has_two;
  uint32_t over; /* the highest bit: codes were overwritten before they were read */

  __device__ __forceinline__ NonzeroCodes(uint32_t group, const GroupMask &mask)
      : left(mask.first),
        rest(mask.second),
        last(group + (SZG_LEVELS_GROUP / 2 - 1) * kCodeBytes),
        end(group + (SZG_LEVELS_GROUP - 1) * kCodeBytes),
        over(0) {}

  __device__ __forceinline__ bool is_empty() const { return (left | rest) == 0; }
  __device__ __forceinline__ bool is_over() const { return over >> 31 != 0; }
  /* Reads the next one or two, or what follows the group if there is none. */
  template <class Words>
  __device__ __forceinline__ void take(const Words &words) {
    if (left == 0) left = rest, rest = 0, last = end;
    uint32_t const at_a = last - kCodeBytes * take_highest(left);
    has_two = left != 0;
    uint32_t const at_b = last - kCodeBytes * take_highest(left);
    over |= words.beyond(at_a);
    a = code_and_128<kCodeBytes>(at_a), b = code_and_128<kCodeBytes>(at_b);
  }
};

/* Codes of which one has no entry, or a slow one; on its own, so that the others' instructions stay
 * together. */
template <class Words>
__device__ __noinline__ LevelsBits<Words> put_rare_values(LevelsBits<Words> bits, int32_t a,
                                                          int32_t b, bool has_two) {
#pragma unroll 1
  for (uint32_t count = has_two ? 2 : 1; count > 0; count--, a = b) bits.put_value(a);
  return bits;
}

/* Returns the highest bit if codes were overwritten before they were read. What is written beyond
 * the group until that is found is less than LevelsRegions has room for: entries are not longer
 * than 16 bits, and none is put that is slow. */
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ uint32_t put_values(uint32_t group, const GroupMask &mask,
                                               LevelsBits<Words> &bits) {
  /* The next codes come while those before are put; the finest level's groups have too few. */
  constexpr bool kIsAhead = kCodeBytes > 1;
  NonzeroCodes<kCodeBytes> codes(group, mask);
  if (kIsAhead) codes.take(bits.words);
  for (bool is_last = false; !is_last;) {
    if (!kIsAhead) codes.take(bits.words);
    uint32_t const code_a = codes.a, code_b = codes.b;
    bool const has_two = codes.has_two;
    uint32_t const a = value_entry<kCodeBytes>(bits, code_a);
    uint32_t const b = has_two ? value_entry<kCodeBytes>(bits, code_b) : 0;
    is_last = codes.is_empty();
    if (kIsAhead) codes.take(bits.words);
    if (!((a | b) & kLevelsEntrySlow)) {
      bits.put_two(a, b);
    } else if (codes.is_over()) {
      break;
    } else {
      bits = put_rare_values(bits, (int32_t)(code_a - 128), (int32_t)(code_b - 128), has_two);
    }
  }
  return codes.over | bits.words.beyond(group + SZG_LEVELS_GROUP * kCodeBytes);
}

/* ---- groups ---- */

/* Puts a group by its masks; returns the highest bit if its bits overtook its codes. group: the
 * shared address of its codes. any: gets bits if a code is not 0. */
template <uint32_t kCodeBytes, class Words>
__device__ __forceinline__ uint32_t put_masks(uint32_t group, LevelsBits<Words> &bits,
                                              uint32_t &any) {
  constexpr uint32_t kTops = offsetof(LevelsEncodeTable, tops);
  constexpr uint32_t kMasks = offsetof(LevelsEncodeTable, masks);
  GroupMask const mask = GroupMask::of<kCodeBytes>(group);
  uint32_t left = mask.octets();
  uint32_t entry = bits.template entry_of<kTops>(left);
  bool const is_zero = left == 0;
  any |= left;
  for (bool is_last = false; !is_last;) {
    is_last = left == 0;
    uint32_t const next = bits.template entry_at<kMasks>(mask.octet(take_highest(left)) << 2);
    bits.put(entry);
    entry = next;
  }
  if (is_zero) return 0; /* nothing is written over codes to come: all of them are 0 */
  uint32_t const over = bits.words.beyond(group);
  return over >> 31 ? over : put_values<kCodeBytes>(group, mask, bits);
}

} // namespace szg

#endif
