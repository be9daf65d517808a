/* compress_wide_codes.cuh - turns deltas into bits where classes are as common as direct codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One look at a table serves a delta of either kind, without a branch. As a float, a magnitude has
 * its class in the bits from the exponent to the first one behind it, and its sign above them. With
 * n the length of the class's code and raw bits, the code of a magnitude m is
 *
 *     (m << (32 - n)) + the class's entry,
 *
 * left-aligned: the entry is the class's code minus what m's two highest bits add up to there. So
 * its low bits are free for n, as in other entries, and with m = 0 the same sum serves a direct
 * code. On lattices of f64, sums have 64 bits, of which the entry is the upper half.
 */
#ifndef SZG_COMPRESS_WIDE_CODES_CUH
#define SZG_COMPRESS_WIDE_CODES_CUH

#include "codecs/lorenzo/compress_codes.cuh"

namespace szg {

/* An entry has a code's number of bits, raw ones included, in its low bits. With kOdd set, the
 * delta goes the slow way: it escapes, or its bits are too many. */
template <bool kTwoWords>
struct WideCodeEntry {
  static constexpr uint32_t kLength = kTwoWords ? 63 : 31, kOdd = kLength + 1;
  /* One word: the sum has the length below the code, and a bit that stays 0 when positions are
   * added. Two: classes of 32 bits. */
  static constexpr uint32_t kMostBits = kTwoWords ? SZG_TILE_CODE_BITS + 30 : 26;
};
static_assert(SZG_TILE_CODE_BITS + 7 <= WideCodeEntry<false>::kMostBits, "direct codes");
static_assert(WideCodeEntry<false>::kOdd == kIsEscape, "the pairs' tables");
static_assert(SZG_TILE_CODE_BITS <= 32 - 7, "a class's entry has its low 7 bits free");

/* The entry of a class of magnitudes >= 2. */
template <bool kTwoWords>
__device__ __forceinline__ uint32_t wide_class_entry(uint32_t class_entry,
                                                     uint32_t magnitude_class) {
  typedef WideCodeEntry<kTwoWords> Entry;
  uint32_t const length = class_entry & kEntryLength;
  uint32_t const bit_count = length + szg_class_raw_bits(magnitude_class);
  if (length == 0 || bit_count > Entry::kMostBits) return Entry::kOdd;
  uint32_t const highest_two = 2 + (magnitude_class & 1);
  return ((class_entry & ~kEntryLength) - (highest_two << (32 - length))) | bit_count;
}

/* Fills the block's tables. The whole block calls. */
template <class Policy, bool kTwoWords>
__device__ __forceinline__ void load_tables(const szg_tile_encoder *encoder) {
  CompressTables &tables = shared_tables();
  for (uint32_t i = threadIdx.x; i < 2 * SZG_TILE_DIRECT; i += Policy::kThreads) {
    uint32_t const entry = i == 0 ? 0 : encoder->direct[i], length = entry & kEntryLength;
    tables.table[i] = length == 0 ? WideCodeEntry<kTwoWords>::kOdd : entry;
  }
  for (uint32_t i = threadIdx.x; i < 2 * kClasses32; i += Policy::kThreads) {
    uint32_t const k = i % kClasses32;
    bool const is_negative = i >= kClasses32;
    uint32_t const entry = encoder->classes[k + (is_negative ? SZG_TILE_CLASSES : 0)];
    tables.class_codes[k + (is_negative ? kNegativeClasses : 0)] =
        k < 2 ? WideCodeEntry<kTwoWords>::kOdd : wide_class_entry<kTwoWords>(entry, k);
    if (k < kClasses16) tables.classes[k + (is_negative ? kClasses16 : 0)] = entry;
  }
  if (threadIdx.x == 0) tables.escape = encoder->escape;
}

/* ---- codes ---- */

/* The codes of a group's deltas. One word: code and length, like an entry. Two: the entry, and the
 * magnitude of a delta that has a class; 0 for others. */
template <bool kTwoWords>
struct WideCodes {
  uint32_t codes[SZG_GROUP_ROWS], magnitudes[kTwoWords ? SZG_GROUP_ROWS : 1];
  uint32_t odd; /* not 0: a delta has to go the slow way */

  __device__ __forceinline__ explicit WideCodes(const int32_t (&deltas)[SZG_GROUP_ROWS]) {
    constexpr uint32_t kFirstClass = 2 * 127; /* a float's exponent of 0, and the bit behind it */
    constexpr int32_t kClassPlace =
        (int32_t)(offsetof(CompressTables, class_codes) / sizeof(uint32_t)) - (int32_t)kFirstClass;
    uint32_t const base = shared_address(&shared_tables()) + kClassPlace * 4;
    odd = 0;
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
      int32_t const delta = deltas[row];
      uint32_t const magnitude = delta < 0 ? 0u - (uint32_t)delta : (uint32_t)delta;
      bool const is_direct = magnitude < SZG_TILE_DIRECT;
      /* Rounded toward zero, so that it stays in its class. */
      uint32_t const class_place = __float_as_uint(__int2float_rz(delta)) >> 22;
      uint32_t const place =
          is_direct ? (uint32_t)(delta + SZG_TILE_DIRECT - kClassPlace) : class_place;
      uint32_t const entry = load_shared_constant(base + place * 4);
      uint32_t const in_class = is_direct ? 0 : magnitude;
      odd |= entry;
      codes[row] = kTwoWords ? entry : entry + __funnelshift_r(0, in_class, entry);
      if (kTwoWords) magnitudes[kTwoWords ? row : 0] = in_class;
    }
    odd &= WideCodeEntry<kTwoWords>::kOdd;
  }

  /* Appends the code of a delta that is not odd. There is room for another word than its own. */
  __device__ __forceinline__ void append(LaneBits &bits, uint32_t row) const {
    uint32_t const code = codes[row];
    if (!kTwoWords) {
      append_joined(bits, code & ~kEntryLength, bits.at + code);
      return;
    }
    uint32_t const bit_count = code & WideCodeEntry<true>::kLength;
    uint64_t const raw = (uint64_t)magnitudes[kTwoWords ? row : 0] << (64 - bit_count);
    append_two_words(bits, code - bit_count + (uint32_t)(raw >> 32), (uint32_t)raw, bit_count);
  }

 private:
  /* Appends up to 64 bits, left-aligned in two words. Stores words that are not full yet, too. */
  static __device__ __forceinline__ void append_two_words(LaneBits &bits, uint32_t high,
                                                          uint32_t low, uint32_t bit_count) {
    uint32_t const at = bits.at % 32, to = at + bit_count, full_words = to / 32;
    uint32_t const first = bits.word | bits_in_word(high, at);
    uint32_t const second = __funnelshift_r(low, high, at);
    store_shared(bits.next, first);
    store_shared(bits.next + kStepBytes, second);
    bits.next += full_words * kStepBytes;
    /* Kept, or the compiler makes a branch of it. */
    uint32_t const third = kept_in_register(bits_in_next_word(low, at));
    uint32_t const next = full_words == 1 ? second : third;
    bits.word = full_words == 0 ? first : next;
    bits.at = to;
  }
};

/* The most bits of a group of such codes, zero groups included, and the words that they take;
 * append stores one more. */
template <bool kTwoWords>
constexpr uint32_t kWideGroupWords =
    (31 + SZG_GROUP_ROWS * WideCodeEntry<kTwoWords>::kMostBits + 2) / 32 + (kTwoWords ? 1 : 0);

/* Appends the codes of a group of which the lane has all rows and none is odd. */
template <bool kTwoWords>
__device__ __forceinline__ void append_wide_group(LaneBits &bits, const WideCodes<kTwoWords> &codes,
                                                  const int32_t (&deltas)[SZG_GROUP_ROWS],
                                                  uint32_t zero_groups) {
  uint32_t with_deltas = 0;
  if (zero_groups != SZG_ZERO_GROUPS_NONE) {
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
      with_deltas |= deltas[row] != 0 ? 1u << row : 0;
  }
  append_group(bits, kAllRows, with_deltas, zero_groups,
               [&](uint32_t row) { codes.append(bits, row); });
}

} // namespace szg

#endif
