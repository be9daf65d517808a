/* tokens_count.cu - counts the codes of a level's tiles, one block per counted tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp takes group after group; its lanes have two places and a pair each. Counts are sums, so
 * that the order of blocks and lanes does not matter.
 *
 * Memory traffic: reads the counted tiles, at most 1024 of 28 or 56 KB; adds up to 10 KB for each.
 */
#include "core/cuda_check.cuh"
#include "huffman/tokens_tile.cuh"

namespace szg {
namespace {

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

struct CountJob {
  szg_tokens_tiles tiles;
  const void *codes;
  uint32_t counted_count;
  bool is_sample;
  szg_tokens_tally *tally;
};

__device__ __forceinline__ void count_value(int64_t code, bool is_wide, uint32_t *symbols,
                                            uint32_t *raw_bits) {
  szg_value_token const token = szg_value_token_of(code, is_wide);
  atomicAdd(&symbols[token.symbol], 1);
  *raw_bits += token.raw_bits;
}

/* The whole warp calls. */
template <class Code>
__device__ void count_group(const GroupCodes<Code> &group, CountMemory *memory, uint32_t *raw_bits,
                            uint32_t *pair_raw_bits) {
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
__device__ void count_live(uint32_t group_count, CountMemory *memory) {
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

template <class Code>
__device__ void count_tile(const szg_tokens_tiles &tiles, uint64_t tile_index, const Code *codes,
                           CountMemory *memory) {
  TokensTile const tile = tokens_tile_at(tiles, tile_index);
  uint32_t raw_bits = 0, pair_raw_bits = 0;
  for (uint32_t i = threadIdx.x / 32; i < tiles.group_count; i += CountPolicy::kWarps) {
    GroupCodes<Code> const group(codes + i * kGroupPlaces);
    uint64_t const existing = existing_places(tiles, tile, i);
    if (threadIdx.x % 32 == 0) {
      memory->is_live[i] = group.nonzero != 0;
      memory->places[i] = (uint8_t)__popcll((long long)existing);
      memory->pairs[i] = (uint8_t)__popcll((long long)szg_pairs_of_places(existing));
    }
    if (group.nonzero) count_group(group, memory, &raw_bits, &pair_raw_bits);
  }
  if (raw_bits) atomicAdd(&memory->sums[SZG_TALLY_AT(raw_bits)], raw_bits);
  if (pair_raw_bits) atomicAdd(&memory->sums[SZG_TALLY_AT(pair_raw_bits)], pair_raw_bits);
}

template <class Code>
__global__ void __launch_bounds__(CountPolicy::kThreads)
    tokens_count_kernel(const __grid_constant__ CountJob job) {
  __shared__ CountMemory memory;
  for (uint32_t i = threadIdx.x; i < kTallyNumbers; i += CountPolicy::kThreads) memory.sums[i] = 0;
  __syncthreads(); /* sums begin at 0 */
  uint64_t const tile_index = szg_sample_tile(job.tiles.tile_count, job.counted_count, blockIdx.x);
  uint64_t const codes_index = job.is_sample ? blockIdx.x : tile_index;
  uint64_t const place_count = (uint64_t)job.tiles.group_count * kGroupPlaces;
  count_tile(job.tiles, tile_index, (const Code *)job.codes + codes_index * place_count, &memory);
  __syncthreads(); /* all groups are counted */
  count_live(job.tiles.group_count, &memory);
  __syncthreads(); /* sums are complete */
  auto *const numbers = reinterpret_cast<unsigned long long *>(job.tally);
  for (uint32_t i = threadIdx.x; i < kTallyNumbers; i += CountPolicy::kThreads)
    if (memory.sums[i]) atomicAdd(&numbers[i], memory.sums[i]);
}

} // namespace
} // namespace szg

szgpu_status szg_tokens_count_cuda(const szg_tokens_tiles *tiles, const void *codes,
                                   uint32_t counted_count, bool is_sample, szg_tokens_tally *tally,
                                   struct CUstream_st *stream) {
  szg::CountJob const job = {*tiles, codes, counted_count, is_sample, tally};
  SZG_TRY_CUDA(cudaMemsetAsync(tally, 0, sizeof *tally, stream));
  if (counted_count == 0) return SZGPU_OK;
  auto const kernel =
      tiles->is_wide ? szg::tokens_count_kernel<int64_t> : szg::tokens_count_kernel<int32_t>;
  kernel<<<counted_count, szg::CountPolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}
