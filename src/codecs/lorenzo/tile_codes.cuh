/* tile_codes.cuh - canonical codes of a tile frame's book, by a block of threads.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks symbols by (length, symbol) in strips of 32, with one lane per symbol. A rank adds how many
 * symbols of each length are in earlier strips and how many in earlier lanes.
 */
#ifndef SZG_TILE_CODES_CUH
#define SZG_TILE_CODES_CUH

#include "codecs/lorenzo/tile_core.h"
#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kStrips = SZG_TILE_SYMBOLS / 32;
constexpr uint32_t kLengths = SZG_TILE_CODE_BITS + 1;
static_assert(kStrips * 32 == SZG_TILE_SYMBOLS && kStrips <= 64, "two strips a lane");
constexpr int kLengthBits = 4;
static_assert(kLengths <= 1 << kLengthBits, "a length fits");

struct CodesMemory {
  uint16_t strip_ranks[kStrips][kLengths]; /* counts, then those of the strips before */
  /* By length: */
  uint32_t counts[kLengths];
  uint32_t first_codes[kLengths];
  uint32_t first_ranks[kLengths];
  uint32_t limits[kLengths]; /* where its codes end, in windows of SZG_TILE_CODE_BITS */
  uint32_t mask;             /* delta 0's code as such a window */
};

/* Turns a length's counts by strip into sums over the strips before. One warp per length. */
__device__ inline void sum_strips(uint32_t length, CodesMemory *memory) {
  uint32_t const lane = threadIdx.x % 32, strip = 2 * lane;
  uint32_t const first = strip < kStrips ? memory->strip_ranks[strip][length] : 0;
  uint32_t const second = strip + 1 < kStrips ? memory->strip_ranks[strip + 1][length] : 0;
  uint32_t const sum = sum_to_lane(first + second, lane);
  if (strip < kStrips) memory->strip_ranks[strip][length] = (uint16_t)(sum - first - second);
  if (strip + 1 < kStrips) memory->strip_ranks[strip + 1][length] = (uint16_t)(sum - second);
  if (lane == 31) memory->counts[length] = sum;
}

/* Finds where the codes of each length begin and end. The code is complete if the last limit is
 * SZG_TILE_ENTRIES. Lengths are at most SZG_TILE_CODE_BITS. The whole block calls. */
template <uint32_t kThreads>
__device__ void lay_out_codes(const uint8_t *lengths, CodesMemory *memory) {
  static_assert(kThreads / 32 >= kLengths, "a warp a length");
  uint32_t const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (uint32_t strip = warp; strip < kStrips; strip += kThreads / 32) {
    uint32_t const length = lengths[strip * 32 + lane], alike = lanes_alike<kLengthBits>(length);
    if (lane < kLengths) memory->strip_ranks[strip][lane] = 0;
    __syncwarp(); /* 0 before another lane counts */
    if ((alike & lanes_below(lane)) == 0)
      memory->strip_ranks[strip][length] = (uint16_t)__popc((int)alike);
  }
  __syncthreads(); /* all strips counted */
  if (warp < kLengths) sum_strips(warp, memory);
  __syncthreads(); /* lengths counted */
  if (threadIdx.x < kLengths) {
    uint32_t const length = threadIdx.x;
    uint32_t code = 0, rank = 0;
#pragma unroll
    for (uint32_t shorter = 1; shorter < kLengths - 1; shorter++) { /* loads all counts at once */
      uint32_t const count = memory->counts[shorter];
      if (shorter >= length) continue;
      code += count << (length - shorter);
      rank += count;
    }
    memory->first_codes[length] = code;
    memory->first_ranks[length] = rank;
    memory->limits[length] =
        length ? (code + memory->counts[length]) << (SZG_TILE_CODE_BITS - length) : 0;
  }
  __syncthreads(); /* layout complete */
}

/* Calls use(symbol, length, code, rank) for every symbol that has a code: its canonical one, and
 * its rank by (length, symbol). Sets the mask. The whole block calls, after lay_out_codes, and
 * synchronizes before it reads. */
template <uint32_t kThreads, class Use>
__device__ void rank_symbols(const uint8_t *lengths, CodesMemory *memory, Use use) {
  for (uint32_t strip = threadIdx.x / 32; strip < kStrips; strip += kThreads / 32) {
    uint32_t const lane = threadIdx.x % 32, symbol = strip * 32 + lane;
    uint32_t const length = lengths[symbol], alike = lanes_alike<kLengthBits>(length);
    uint32_t const rank = memory->strip_ranks[strip][length] + rank_among(alike, lane);
    uint32_t const code = memory->first_codes[length] + rank;
    if (length > 0) use(symbol, length, code, memory->first_ranks[length] + rank);
    if (length > 0 && symbol == SZG_TILE_ZERO) memory->mask = code << (SZG_TILE_CODE_BITS - length);
  }
}

} // namespace szg

#endif
