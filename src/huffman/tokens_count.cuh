/* tokens_count.cuh - counts the codes of a tile, in shared memory: a block for each tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp takes group after group; its lanes have two places and a pair each. Counts are sums, so
 * that the order of blocks and lanes does not matter.
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

__device__ __forceinline__ void count_value(int64_t code, bool is_wide, uint32_t *symbols,
                                            uint32_t *raw_bits) {
  szg_value_token const token = szg_value_token_of(code, is_wide);
  atomicAdd(&symbols[token.symbol], 1);
  *raw_bits += token.raw_bits;
}

/* The whole warp calls. */
template <class Code>
__device__ inline void count_group(const GroupCodes<Code> &group, CountMemory *memory,
                                   uint32_t *raw_bits, uint32_t *pair_raw_bits) {
  constexpr bool kIsWide = sizeof(Code) == 8;
  uint32_t *const sums = memory->sums;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const octets = szg_octets_of_places(group.nonzero);
  if (lane == 0) atomicAdd(&sums[SZG_TALLY_AT(octets) + octets], 1);
  if (lane < 8 && octets >> lane & 1)
    atomicAdd(&sums[SZG_TALLY_AT(masks) + (group.nonzero >> 8 * lane & 255)], 1);
  uint32_t *const values = sums + SZG_TALLY_AT(values);
  if (group.low != 0) count_value(group.low, kIsWide, values, raw_bits);
  if (group.high != 0) count_value(group.high, kIsWide, values, raw_bits);
  if (group.pair[0] == 0 && group.pair[1] == 0) return;
  uint32_t const symbol = szg_pair_symbol(group.pair[0], group.pair[1]);
  atomicAdd(&sums[SZG_TALLY_AT(pairs) + symbol], 1);
  if (symbol != SZG_LEVELS_PAIR_ESCAPE) return;
  for (uint32_t i = 0; i < 2; i++)
    count_value(group.pair[i], kIsWide, sums + SZG_TALLY_AT(pair_values), pair_raw_bits);
}

/* Counts lanes of each size. The whole block calls, once all groups are counted. */
__device__ inline void count_live(uint32_t group_count, CountMemory *memory) {
  constexpr uint32_t kMost = SZG_TOKENS_MOST_GROUPS;
  for (uint32_t i = threadIdx.x; i < SZG_TOKENS_LANE_SIZES * kMost; i += CountPolicy::kThreads) {
    uint32_t const g = i / kMost, first = i % kMost << g;
    uint32_t const end = min(first + (1u << g), group_count);
    uint32_t is_live = 0, places = 0, pairs = 0;
    for (uint32_t group = first; group < end; group++) {
      is_live |= memory->is_live[group];
      places += memory->places[group];
      pairs += memory->pairs[group];
    }
    if (!is_live) continue;
    atomicAdd(&memory->sums[SZG_TALLY_AT(live_lanes) + g], 1);
    atomicAdd(&memory->sums[SZG_TALLY_AT(live_groups) + g], end - first);
    atomicAdd(&memory->sums[SZG_TALLY_AT(live_pairs) + g], pairs);
    atomicAdd(&memory->sums[SZG_TALLY_AT(live_places) + g], places);
  }
}

/* What a thread has counted of a tile, in addition to the shared sums. */
struct CountedBits {
  uint32_t raw = 0, pair_raw = 0;

  __device__ __forceinline__ void add_to(CountMemory *memory) const {
    if (raw) atomicAdd(&memory->sums[SZG_TALLY_AT(raw_bits)], raw);
    if (pair_raw) atomicAdd(&memory->sums[SZG_TALLY_AT(pair_raw_bits)], pair_raw);
  }
};

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
  if (group.nonzero) count_group(group, memory, &bits->raw, &bits->pair_raw);
}

/* Adds the sums to a tally in device memory. The whole block calls, once they are complete. */
__device__ inline void add_sums(const CountMemory &memory, szg_tokens_tally *tally) {
  auto *const numbers = reinterpret_cast<unsigned long long *>(tally);
  for (uint32_t i = threadIdx.x; i < kTallyNumbers; i += CountPolicy::kThreads)
    if (memory.sums[i]) atomicAdd(&numbers[i], memory.sums[i]);
}

} // namespace szg

#endif
