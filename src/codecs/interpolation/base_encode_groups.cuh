/* base_encode_groups.cuh - codes of a tile of the base of three axes to words, all groups at once.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp takes a group at a time: each thread finds the bits of two of its places, and a running
 * sum says where they belong. So groups are gone through twice, once to know what they take.
 */
#ifndef SZG_BASE_ENCODE_GROUPS_CUH
#define SZG_BASE_ENCODE_GROUPS_CUH

#include "codecs/interpolation/base_tile.cuh"
#include "huffman/tokens_encode_tile.cuh"

namespace szg {

/* Columns in shared memory have an odd pitch: threads write neighbours along x at once, and read
 * neighbours along y. */
constexpr uint32_t kBasePitch = kBaseY + 1;
constexpr uint32_t kBaseColumns = SZG_LEVELS_BASE_PLACES / kBaseY;

/* Bits of a tile whose codes are all as long as they can be in narrow frames, in pairs. */
constexpr uint32_t kNarrowValueBits = SZG_LEVELS_CODE_BITS + 32;
constexpr uint32_t kBaseGroupBits = kGroupPlaces * (kNarrowValueBits + SZG_LEVELS_CODE_BITS / 2);
constexpr uint32_t kBaseTileWords =
    ((SZG_TOKENS_HEAD_MOST_BITS + kBaseGroups * kBaseGroupBits + 31) / 32 + 3) / 4 * 4;

struct BaseGroups {
  szg_tokens_encoder encoder;
  uint32_t lane_groups_log2;
  uint32_t columns[kBaseColumns * kBasePitch]; /* what is left to do is the difference along y */
  uint32_t ends[kBaseGroups][32];              /* by group and thread: as GroupSums says */
  TileGroups groups;
  uint32_t group_starts[kBaseGroups]; /* bits from the tile's first one */
  uint32_t word_count;
  unsigned long long place; /* of the tile's words */
};

/* ---- strings of bits ---- */

/* Left-aligned, up to 44 of them; the others are 0. */
struct BitString {
  uint64_t bits;
  uint32_t count;
};

__device__ __forceinline__ BitString string_of_entry(uint32_t entry) {
  return {(uint64_t)(entry & ~(uint32_t)SZG_TOKENS_ENCODER_LENGTH) << 32, entry_length(entry)};
}

__device__ __forceinline__ BitString string_of_value(const szg_tokens_encoder &encoder,
                                                     int32_t code) {
  uint32_t const entry = direct_entry(encoder, code);
  if (entry) return string_of_entry(entry);
  szg_value_token const token = rare_token(encoder, code, false);
  BitString string = string_of_entry(encoder.values[token.symbol]);
  string.count += token.raw_bits; /* at least 4 */
  string.bits |= token.raw << (64 - string.count);
  return string;
}

/* Adds a string to words that are 0 there. Other threads may be at work on the same words. */
__device__ __forceinline__ void put_string(const BitString &string, uint32_t at, uint32_t *words) {
  auto const high = (uint32_t)(string.bits >> 32), low = (uint32_t)string.bits;
  uint32_t const first = bits_in_word(high, at), second = __funnelshift_r(low, high, at);
  uint32_t const third = bits_in_next_word(low, at);
  if (first) atomicOr(&words[at / 32], first);
  if (second) atomicOr(&words[at / 32 + 1], second);
  if (third) atomicOr(&words[at / 32 + 2], third);
}

/* ---- a thread's share of a group ---- */

/* In pairs mode a thread has a pair, and its three strings follow one another. Otherwise it has
 * places `lane` and 32 + lane, and the first strings of all threads come first (octets and masks),
 * then the second ones, then the third ones. */
struct GroupShare {
  BitString strings[3];
  uint64_t nonzero; /* of the group: 0 if all its codes are */

  __device__ __forceinline__ uint32_t count() const {
    return strings[0].count + strings[1].count + strings[2].count;
  }
};

/* Sums of what shares take, over this thread and those below: in pairs mode one number, otherwise
 * one for each string, all in one word. */
struct GroupSums {
  static constexpr int kFirst = 22, kSecond = 11;
  static constexpr uint32_t kMask = (1u << kSecond) - 1;
  static_assert(32 * kNarrowValueBits <= kMask, "32 values of a group");
  static_assert(9 * (SZG_LEVELS_CODE_BITS + 8) < 1u << (32 - kFirst), "its octets and masks");

  static __device__ __forceinline__ uint32_t pack(const GroupShare &share, bool is_pairs) {
    return is_pairs ? share.count()
                    : share.strings[0].count << kFirst | share.strings[1].count << kSecond |
                          share.strings[2].count;
  }
  static __device__ __forceinline__ uint32_t all(uint32_t sums, bool is_pairs) {
    return is_pairs ? sums : (sums >> kFirst) + (sums >> kSecond & kMask) + (sums & kMask);
  }
};

/* The code of a place of the tile; *exists: whether that place does. */
__device__ __forceinline__ int32_t base_code_of(const BaseGroups &memory,
                                                const BaseExtents &extents, bool along_y,
                                                uint32_t place, bool *exists) {
  uint32_t const column = place / kBaseY, y = place % kBaseY;
  const uint32_t *const at = memory.columns + column * kBasePitch + y;
  *exists = y < extents.rows_of(column);
  uint32_t const before = along_y && y > 0 ? at[-1] : 0;
  return *exists ? (int32_t)(*at - before) : 0;
}

/* The whole warp calls. */
__device__ __forceinline__ GroupShare share_of_group(const BaseGroups &memory,
                                                     const BaseExtents &extents, bool along_y,
                                                     uint32_t group) {
  const szg_tokens_encoder &encoder = memory.encoder;
  uint32_t const lane = threadIdx.x % 32, mode = encoder.mode;
  bool const is_pairs = mode == SZG_LEVELS_MODE_PAIRS;
  uint32_t const first = group * kGroupPlaces + (is_pairs ? 2 * lane : lane);
  bool has_a, has_b;
  int32_t const a = base_code_of(memory, extents, along_y, first, &has_a);
  int32_t const b = base_code_of(memory, extents, along_y, first + (is_pairs ? 1 : 32), &has_b);
  GroupShare share = {};
  share.nonzero = places_with(a != 0, b != 0);
  if (is_pairs) {
    if (!has_a) return share; /* neither does b exist: it is farther along y */
    uint32_t const entry = encoder.small_pairs[szg_narrow_pair_symbol(a, b)];
    share.strings[0] = string_of_entry(entry ? entry : encoder.pairs[SZG_LEVELS_PAIR_ESCAPE]);
    has_a = has_b = !entry;
  } else if (mode == SZG_LEVELS_MODE_MASKS) {
    uint32_t const octets = szg_octets_of_places(share.nonzero), octet = lane - 1;
    if (lane == 0) share.strings[0] = string_of_entry(encoder.octets[octets]);
    if (octet < 8 && octets >> octet & 1)
      share.strings[0] = string_of_entry(encoder.masks[share.nonzero >> 8 * octet & 255]);
    has_a = a != 0, has_b = b != 0;
  }
  if (has_a) share.strings[1] = string_of_value(encoder, a);
  if (has_b) share.strings[2] = string_of_value(encoder, b);
  return share;
}

/* ---- a group ---- */

/* Notes what a group takes. The whole warp calls. */
__device__ __forceinline__ void measure_group(const BaseExtents &extents, bool along_y,
                                              uint32_t group, BaseGroups *memory) {
  uint32_t const lane = threadIdx.x % 32;
  bool const is_pairs = memory->encoder.mode == SZG_LEVELS_MODE_PAIRS;
  GroupShare const share = share_of_group(*memory, extents, along_y, group);
  uint32_t const end = sum_to_lane(GroupSums::pack(share, is_pairs), lane);
  memory->ends[group][lane] = end;
  if (lane == 31) {
    memory->groups.nonzero[group] = share.nonzero;
    memory->groups.bits[group] = (uint16_t)GroupSums::all(end, is_pairs);
  }
}

/* Adds a group to words. The whole warp calls. */
__device__ __forceinline__ void put_group_bits(const BaseExtents &extents, bool along_y,
                                               uint32_t group, const BaseGroups &memory,
                                               uint32_t *words) {
  uint32_t const lane = threadIdx.x % 32;
  bool const is_pairs = memory.encoder.mode == SZG_LEVELS_MODE_PAIRS;
  GroupShare const share = share_of_group(memory, extents, along_y, group);
  uint32_t const end = memory.ends[group][lane], all = memory.ends[group][31];
  uint32_t at[3] = {memory.group_starts[group]};
  if (is_pairs) {
    at[0] += end - share.count();
    at[1] = at[0] + share.strings[0].count;
    at[2] = at[1] + share.strings[1].count;
  } else {
    at[1] = at[0] + (all >> GroupSums::kFirst);
    at[2] = at[1] + (all >> GroupSums::kSecond & GroupSums::kMask);
    at[0] += (end >> GroupSums::kFirst) - share.strings[0].count;
    at[1] += (end >> GroupSums::kSecond & GroupSums::kMask) - share.strings[1].count;
    at[2] += (end & GroupSums::kMask) - share.strings[2].count;
  }
#pragma unroll
  for (uint32_t i = 0; i < 3; i++) put_string(share.strings[i], at[i], words);
}

/* ---- the head ---- */

/* Finds where groups begin, and adds the tile's head to words; returns the tile's words. Groups are
 * measured. The whole warp calls. */
__device__ __forceinline__ uint32_t start_groups(BaseGroups *memory, uint32_t *words) {
  static_assert(kBaseGroups == 2 * 32, "a thread has two groups");
  uint32_t const lane = threadIdx.x % 32;
  szg_tokens_shape const shape = {kBaseGroups, memory->lane_groups_log2, false};
  drop_dead_lanes(shape, &memory->groups);
  __syncwarp(); /* what groups take is final */
  TileHead const head = measure_head(shape, memory->groups.bits);
  uint32_t const first = memory->groups.bits[2 * lane], second = memory->groups.bits[2 * lane + 1];
  uint32_t const end = head.head_bits + sum_to_lane(first + second, lane);
  memory->group_starts[2 * lane] = end - second - first;
  memory->group_starts[2 * lane + 1] = end - second;
  if (head.live) put_head(head, words);
  return head.live ? (head.all_bits + 31) / 32 : 0;
}

} // namespace szg

#endif
