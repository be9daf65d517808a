/* compress_pair_codes.cuh - turns pairs of deltas into a lane's bits, two codes at once.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * If a pair of the group has a class or long codes, the codes of the group go one after the other,
 * from the table of compress_wide_codes.cuh. Escapes and rows of a lane that lacks some go row by
 * row.
 */
#ifndef SZG_COMPRESS_PAIR_CODES_CUH
#define SZG_COMPRESS_PAIR_CODES_CUH

#include "codecs/lorenzo/compress_points.cuh"
#include "codecs/lorenzo/compress_wide_codes.cuh"

namespace szg {

/* Places both deltas in the table. If one has no place, a bit of kBeyond is set. */
constexpr uint32_t kTableBias = SZG_TILE_DIRECT + (SZG_TILE_DIRECT << 16);
constexpr uint32_t kBeyond = ~((2u * SZG_TILE_DIRECT - 1) * 0x10001u);
static_assert(SZG_TILE_DIRECT == 512, "a place of the table has 10 bits");

/* The most bits that a group of such pairs takes. */
constexpr uint32_t kGroupBits = kGroupPairs * kMostJoined + 2;
constexpr uint32_t kGroupWords = (31 + kGroupBits) / 32;

/* The same for codes one by one. */
constexpr uint32_t kOddGroupBits = SZG_GROUP_ROWS * (SZG_TILE_CODE_BITS + 16) + 2;
constexpr uint32_t kOddGroupWords = (31 + kOddGroupBits) / 32;

__device__ __forceinline__ uint32_t joined_codes(uint32_t first, uint32_t second) {
  return join_codes(first, second, ~kEntryLength);
}

/* Appends two codes of at most kMostJoined bits together. Lengths add up in the low bits. No entry
 * has bit 5 set, so bit 5 of the sum changes exactly when a word is full. */
__device__ __forceinline__ void append_codes(LaneBits &bits, uint32_t first, uint32_t second) {
  append_joined(bits, joined_codes(first, second), bits.at + first + second);
}

/* Appends the bit of a group that has codes, and then two codes as above. */
__device__ __forceinline__ void append_one_and_codes(LaneBits &bits, uint32_t first,
                                                     uint32_t second) {
  uint32_t const joined = __funnelshift_r(joined_codes(first, second), 1, 1);
  append_joined(bits, joined, bits.at + first + second + 1);
}

__device__ __forceinline__ void append_zero(LaneBits &bits) { append_joined(bits, 0, bits.at + 1); }

/* The table's entries for a group's pairs. */
struct PairCodes {
  uint32_t places[kGroupPairs];
  uint32_t first[kGroupPairs], second[kGroupPairs];

  __device__ __forceinline__ PairCodes(const uint32_t (&deltas)[kGroupPairs], uint32_t table) {
    constexpr uint32_t kMask = 2 * SZG_TILE_DIRECT - 1;
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) {
      places[i] = deltas[i] + kTableBias;
      first[i] = load_shared_constant(table + (places[i] & kMask) * 4);
      second[i] = load_shared_constant(table + (places[i] >> 14 & kMask * 4));
    }
  }

  /* Not 0 if a delta has no place, one of them escapes, or the codes are too long: a bias added to
   * the lengths makes the sum reach 32 then, which sets a bit. */
  __device__ __forceinline__ uint32_t is_odd(uint32_t i) const {
    constexpr uint32_t kToSpare = 31 - kMostJoined, kTooMuch = 32 | 64;
    return (places[i] & kBeyond) | ((first[i] + second[i] + kToSpare) & kTooMuch);
  }
};

/* Appends pairs of which none is odd. */
__device__ __forceinline__ void append_pairs(LaneBits &bits, const PairCodes &codes,
                                             const uint32_t (&deltas)[kGroupPairs],
                                             uint32_t zero_groups) {
  auto const append = [&](uint32_t i) { append_codes(bits, codes.first[i], codes.second[i]); };
  if (zero_groups == SZG_ZERO_GROUPS_NONE) {
#pragma unroll
    for (uint32_t i = 0; i < kGroupPairs; i++) append(i);
    return;
  }
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    uint32_t const i = 2 * half;
    bool const has_bit = half == 0 || zero_groups == SZG_ZERO_GROUPS_4;
    uint32_t const half_deltas = deltas[i] | deltas[i + 1];
    uint32_t const all = zero_groups == SZG_ZERO_GROUPS_4
                             ? half_deltas
                             : deltas[0] | deltas[1] | deltas[2] | deltas[3];
    if (all == 0) {
      if (has_bit) append_zero(bits);
      continue;
    }
    if (has_bit)
      append_one_and_codes(bits, codes.first[i], codes.second[i]);
    else
      append(i);
    append(i + 1);
  }
}

/* The deltas of a group's rows. */
__device__ __forceinline__ void split_pairs(const uint32_t (&pairs)[kGroupPairs],
                                            int32_t (&deltas)[SZG_GROUP_ROWS]) {
#pragma unroll
  for (uint32_t i = 0; i < kGroupPairs; i++) {
    uint32_t const fields = pairs[i] + kFieldBias;
    deltas[i] = (int32_t)(fields & 0xFFFF) - 0x8000;
    deltas[i + kGroupPairs] = (int32_t)(fields >> 16) - 0x8000;
  }
}

/* Appends the codes of a group row by row, whatever they are. There is room for kOddGroupWords. */
__device__ __noinline__ LaneBits append_rows(LaneBits bits, uint4 deltas, uint32_t rows,
                                             uint32_t zero_groups) {
  uint32_t const pairs[kGroupPairs] = {deltas.x, deltas.y, deltas.z, deltas.w};
  int32_t all[SZG_GROUP_ROWS];
  split_pairs(pairs, all);
  uint32_t with_deltas = 0;
#pragma unroll
  for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) with_deltas |= all[row] != 0 ? 1u << row : 0;
  append_group(bits, rows, with_deltas & rows, zero_groups, [&](uint32_t row) {
    WholeCode const whole = whole_code(all[row]);
    append_bits(bits, whole.code, whole.bit_count);
  });
  return bits;
}

/* Appends the lane's codes. missing: rows of the group that it lacks; its bits do not count if it
 * lacks all rows of the tile. common_limit: an address beyond which the stage may lack room. table:
 * its shared address. The whole warp calls. */
template <class Policy>
__device__ __forceinline__ void append_group_pairs(LaneBits &bits,
                                                   const uint32_t (&deltas)[kGroupPairs],
                                                   uint32_t missing, uint32_t zero_groups,
                                                   uint32_t common_limit, uint32_t table,
                                                   LaneStage *stage) {
  PairCodes const codes(deltas, table);
  uint32_t odd = missing;
#pragma unroll
  for (uint32_t i = 0; i < kGroupPairs; i++) odd |= codes.is_odd(i);
  if (!__any_sync(kAllLanes, odd != 0 || bits.next > common_limit)) {
    append_pairs(bits, codes, deltas, zero_groups);
    return;
  }
  keep_room<Policy>(bits, kOddGroupWords, stage);
  int32_t rows[SZG_GROUP_ROWS];
  split_pairs(deltas, rows);
  WideCodes<false> const single_codes(rows);
  if (!__any_sync(kAllLanes, missing != 0 || single_codes.odd != 0))
    append_wide_group<false>(bits, single_codes, rows, zero_groups);
  else
    bits = append_rows(bits, make_uint4(deltas[0], deltas[1], deltas[2], deltas[3]),
                       missing ^ kAllRows, zero_groups);
}

} // namespace szg

#endif
