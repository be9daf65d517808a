/* tokens_count.cuh - counts the codes of a tile, in shared memory: a block for each tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp takes a group from memory, and its lanes have two places and a pair each; or it takes two
 * groups at once from registers, and its lanes have four places and two pairs each. Counts are
 * sums, so that the order of blocks and lanes does not matter.
 */
#ifndef SZG_TOKENS_COUNT_CUH
#define SZG_TOKENS_COUNT_CUH

#include "huffman/tokens_tile.cuh"

namespace szg {

struct CountPolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
};

constexpr uint32_t kTallyNumbers = sizeof(szg_tokens_tally) / sizeof(uint64_t);
static_assert(sizeof(szg_tokens_tally) % sizeof(uint64_t) == 0, "a tally is added as numbers");
static_assert(SZG_TOKENS_MOST_GROUPS * 64 * 64 <= UINT32_MAX, "a tile's sums fit 32 bits");

/* Numbers of a member, as the tally has them one after the other. */
#define SZG_TALLY_AT(member) (offsetof(szg_tokens_tally, member) / sizeof(uint64_t))

struct CountMemory {
  uint32_t sums[kTallyNumbers];
  uint8_t is_live[SZG_TOKENS_MOST_GROUPS];
  uint8_t places[SZG_TOKENS_MOST_GROUPS], pairs[SZG_TOKENS_MOST_GROUPS]; /* that exist */
};

/* ---- symbols ---- */

template <class Code>
__device__ __forceinline__ bool is_direct(Code code) {
  return code > -SZG_LEVELS_DIRECT && code < SZG_LEVELS_DIRECT;
}

template <class Code>
__device__ __forceinline__ void count_value(Code code, uint32_t *symbols, uint32_t *raw_bits) {
  szg_value_token const token = szg_value_token_of(code, sizeof(Code) == 8);
  atomicAdd(&symbols[token.symbol], 1);
  *raw_bits += token.raw_bits;
}

/* Counts the codes that are not 0. Few are not direct: these go one by one. */
template <class Code, uint32_t kCount>
__device__ __forceinline__ void count_values(const Code (&codes)[kCount], uint32_t *symbols,
                                             uint32_t *raw_bits) {
  uint32_t rare = 0;
#pragma unroll
  for (uint32_t i = 0; i < kCount; i++) {
    if (codes[i] == 0) continue;
    if (is_direct(codes[i]))
      atomicAdd(&symbols[szg_direct_symbol((int32_t)codes[i])], 1);
    else
      rare |= 1u << i;
  }
  for (; rare; rare &= rare - 1) {
    Code code = 0; /* the first of them */
#pragma unroll
    for (uint32_t i = kCount; i-- > 0;)
      if (rare >> i & 1) code = codes[i];
    count_value(code, symbols, raw_bits);
  }
}

__device__ __forceinline__ uint32_t pair_symbol_of(int32_t first, int32_t second) {
  return szg_narrow_pair_symbol(first, second);
}
__device__ __forceinline__ uint32_t pair_symbol_of(int64_t first, int64_t second) {
  return szg_pair_symbol(first, second);
}

/* Counts a pair. Pairs of two zeros are not counted. */
template <class Code>
__device__ __forceinline__ void count_pair(Code first, Code second, uint32_t *sums,
                                           uint32_t *pair_raw_bits) {
  if (first == 0 && second == 0) return;
  uint32_t const symbol = pair_symbol_of(first, second);
  atomicAdd(&sums[SZG_TALLY_AT(pairs) + symbol], 1);
  if (symbol != SZG_LEVELS_PAIR_ESCAPE) return;
#pragma unroll 1
  for (uint32_t i = 0; i < 2; i++)
    count_value(i ? second : first, sums + SZG_TALLY_AT(pair_values), pair_raw_bits);
}

/* What a thread has counted of a tile, in addition to the shared sums. */
struct CountedBits {
  uint32_t raw = 0, pair_raw = 0;

  __device__ __forceinline__ void add_to(CountMemory *memory) const {
    if (raw) atomicAdd(&memory->sums[SZG_TALLY_AT(raw_bits)], raw);
    if (pair_raw) atomicAdd(&memory->sums[SZG_TALLY_AT(pair_raw_bits)], pair_raw);
  }
};

/* ---- groups in memory ---- */

/* The whole warp calls. */
template <class Code>
__device__ inline void count_group(const GroupCodes<Code> &group, CountMemory *memory,
                                   CountedBits *bits) {
  uint32_t *const sums = memory->sums;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const octets = szg_octets_of_places(group.nonzero);
  if (lane == 0) atomicAdd(&sums[SZG_TALLY_AT(octets) + octets], 1);
  if (lane < 8 && octets >> lane & 1)
    atomicAdd(&sums[SZG_TALLY_AT(masks) + (group.nonzero >> 8 * lane & 255)], 1);
  Code const own[2] = {group.low, group.high};
  count_values(own, sums + SZG_TALLY_AT(values), &bits->raw);
  count_pair(group.pair[0], group.pair[1], sums, &bits->pair_raw);
}

/* Counts group i of a tile. The whole warp calls. */
template <class Code>
__device__ __forceinline__ void count_codes(const szg_tokens_tiles &tiles, const TokensTile &tile,
                                            uint32_t i, const Code *codes, CountMemory *memory,
                                            CountedBits *bits) {
  GroupCodes<Code> const group(codes);
  uint64_t const existing = existing_places(tiles, tile, i);
  if (threadIdx.x % 32 == 0) {
    memory->is_live[i] = group.nonzero != 0;
    memory->places[i] = (uint8_t)__popcll((long long)existing);
    memory->pairs[i] = (uint8_t)__popcll((long long)szg_pairs_of_places(existing));
  }
  if (group.nonzero) count_group(group, memory, bits);
}

/* ---- groups in registers ---- */

/* Bit 2 i of 16 to bit i. */
__device__ __forceinline__ uint32_t even_bits(uint32_t bits) {
  bits &= 0x5555;
  bits = (bits | bits >> 1) & 0x3333;
  bits = (bits | bits >> 2) & 0x0F0F;
  return (bits | bits >> 4) & 0x00FF;
}

/* Notes how many places and pairs of groups 2 n and 2 n + 1 exist. existing: a bit for each of the
 * lane's four places. The whole warp calls. */
__device__ __forceinline__ void note_existing(uint32_t n, uint32_t existing, CountMemory *memory) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t counts = kGroupPlaces | kGroupPlaces / 2 << 16; /* places; pairs in the high half */
  if (!__all_sync(kAllLanes, existing == 15)) {
    uint32_t const pairs = ((existing & 3) != 0) + ((existing & 12) != 0);
    counts = (uint32_t)__popc((int)existing) | pairs << 16;
#pragma unroll
    for (int step = 8; step > 0; step /= 2) counts += __shfl_xor_sync(kAllLanes, counts, step);
  }
  if (lane % 16 == 0) {
    memory->places[2 * n + lane / 16] = (uint8_t)counts;
    memory->pairs[2 * n + lane / 16] = (uint8_t)(counts >> 16);
  }
}

/* Counts groups 2 n and 2 n + 1 of a tile. codes: of places 4 lane to 4 lane + 3 of both together;
 * those that do not exist are 0. The whole warp calls. */
template <class Code>
__device__ __forceinline__ void count_fours(uint32_t n, const Code (&codes)[4], uint32_t existing,
                                            CountMemory *memory, CountedBits *bits) {
  uint32_t const lane = threadIdx.x % 32, half_at = lane & 16;
  uint32_t *const sums = memory->sums;
  note_existing(n, existing, memory);
  uint32_t nonzero = 0;
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) nonzero |= codes[i] != 0 ? 1u << i : 0;
  uint32_t const live = __ballot_sync(kAllLanes, nonzero != 0);
  if (lane % 16 == 0) memory->is_live[2 * n + lane / 16] = (live >> half_at & 0xFFFF) != 0;
  if (live == 0) return;
  uint32_t const beside = __shfl_down_sync(kAllLanes, nonzero, 1);
  uint32_t const mask = nonzero | beside << 4; /* of an octet, in even lanes */
  bool const has_octet = lane % 2 == 0 && mask != 0;
  uint32_t const octets = even_bits(__ballot_sync(kAllLanes, has_octet) >> half_at);
  if (has_octet) atomicAdd(&sums[SZG_TALLY_AT(masks) + mask], 1);
  if (lane % 16 == 0 && octets) atomicAdd(&sums[SZG_TALLY_AT(octets) + octets], 1);
  count_values(codes, sums + SZG_TALLY_AT(values), &bits->raw);
#pragma unroll 1
  for (uint32_t i = 0; i < 4; i += 2)
    count_pair(i ? codes[2] : codes[0], i ? codes[3] : codes[1], sums, &bits->pair_raw);
}

/* ---- a tile ---- */

/* Counts lanes of each size, a size by each of some warps. The whole block calls, once all groups
 * are counted. */
__device__ inline void count_live(uint32_t group_count, CountMemory *memory) {
  static_assert(SZG_TOKENS_LANE_SIZES <= CountPolicy::kWarps, "a warp has one size");
  static_assert(SZG_LEVELS_LANE_GROUPS_LOG2 < 5, "a lane of bits is within 32 groups");
  uint32_t const g = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (g >= SZG_TOKENS_LANE_SIZES) return;
  uint32_t const first = lane >> g << g; /* of the groups that are a lane of bits with this one */
  uint32_t const together = (uint32_t)(((uint64_t)1 << (1u << g)) - 1) << first;
  uint32_t lanes = 0, groups = 0, pairs = 0, places = 0;
  for (uint32_t at = 0; at < group_count; at += 32) {
    uint32_t const group = at + lane;
    bool const exists = group < group_count;
    uint32_t const live = __ballot_sync(kAllLanes, exists && memory->is_live[group]);
    if (!exists || (live & together) == 0) continue;
    lanes += lane == first;
    groups++;
    pairs += memory->pairs[group];
    places += memory->places[group];
  }
  __syncwarp(); /* lanes that skipped groups are here again */
  lanes = warp_sum(lanes), groups = warp_sum(groups);
  pairs = warp_sum(pairs), places = warp_sum(places);
  if (lane != 0) return;
  memory->sums[SZG_TALLY_AT(live_lanes) + g] = lanes;
  memory->sums[SZG_TALLY_AT(live_groups) + g] = groups;
  memory->sums[SZG_TALLY_AT(live_pairs) + g] = pairs;
  memory->sums[SZG_TALLY_AT(live_places) + g] = places;
}

/* Adds the sums to a tally in device memory. The whole block calls, once they are complete. */
__device__ inline void add_sums(const CountMemory &memory, szg_tokens_tally *tally) {
  auto *const numbers = reinterpret_cast<unsigned long long *>(tally);
  for (uint32_t i = threadIdx.x; i < kTallyNumbers; i += CountPolicy::kThreads)
    if (memory.sums[i]) atomicAdd(&numbers[i], memory.sums[i]);
}

} // namespace szg

#endif
