/* levels_encode_direct.cuh - a tile's codes of 32 bits in global memory to words in global memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For tiles whose codes or bits do not fit in shared memory, as levels_encode_lanes.cuh puts them:
 * all codes are taken twice, first to measure the lanes and then to write them. They come by way of
 * shared memory, a group for each thread at a time. Any codes fit, and any bits.
 */
#ifndef SZG_LEVELS_ENCODE_DIRECT_CUH
#define SZG_LEVELS_ENCODE_DIRECT_CUH

#include "codecs/interpolation/levels_encode_lanes.cuh"

namespace szg {

/* Where the words of a region's bits go: to global memory, or nowhere. The first one may also have
 * bits of the thread before. */
struct ToGlobal {
  uint32_t *words; /* NULL: they are only counted */
  uint32_t count;

  __device__ __forceinline__ void put(uint32_t word) {
    if (words && count == 0)
      atomicOr(words, word);
    else if (words)
      words[count] = word;
    count++;
  }
  __device__ __forceinline__ bool is_beyond(uint32_t) const { return false; }
  __device__ __forceinline__ uint32_t beyond(uint32_t) const { return 0; }
};

/* A tile with such codes. kCount: groups of a thread. */
template <uint32_t kCount>
struct DirectTile {
  static constexpr uint32_t kQuads = SZG_LEVELS_GROUP / 4; /* of codes of a group */
  static_assert(SZG_LEVELS_GROUP == LevelsRegions::kWords, "a group for each region");

  const LevelsEncodeTable &table;
  const uint4 *codes; /* by place, group after group */
  const LevelsExtents &extents;
  uint32_t *memory; /* for a group of each thread: LevelsRegions */

  /* Where the group of this thread is in shared memory, or the group of another one. */
  __device__ __forceinline__ uint32_t *group_of(uint32_t lane) const {
    return memory + LevelsRegions::at(lane * LevelsRegions::kWords);
  }
  /* Group i of each thread comes to shared memory. The whole warp calls. */
  __device__ __forceinline__ void load_groups(uint32_t i) const {
    uint32_t const quad = threadIdx.x % kQuads, first = threadIdx.x % 32 / kQuads;
    __syncwarp(); /* nobody needs the groups before */
#pragma unroll 7
    for (uint32_t k = 0; k < LevelsRegions::kCount; k += 32 / kQuads)
      ((uint4 *)group_of(first + k))[quad] = codes[((first + k) * kCount + i) * kQuads + quad];
    __syncwarp(); /* groups are there */
  }
  /* Puts the group that this thread has there; number: in the tile. */
  __device__ __forceinline__ void put_group(uint32_t number, LevelsBits<ToGlobal> &bits,
                                            uint32_t &any) const {
    uint32_t const group = shared_address(group_of(threadIdx.x % 32));
    if (table.mode == SZG_LEVELS_MODE_MASKS)
      put_masks<4>(group, bits, any);
    else if (table.mode == SZG_LEVELS_MODE_PAIRS)
      put_codes<4, true>(group, number, extents, bits, any);
    else
      put_codes<4, false>(group, number, extents, bits, any);
  }
  /* Puts this thread's groups, unless it has none or is not live, from bit `at` of words on;
   * returns the bit behind them. any: gets bits if a code is not 0. The whole warp calls. */
  __device__ __forceinline__ uint32_t put(bool is_live, uint32_t at, uint32_t *words,
                                          uint32_t *any) const {
    uint32_t const lane = threadIdx.x % 32;
    LevelsBits<ToGlobal> bits = {
        {words ? words + at / 32 : nullptr, 0}, 0, at % 32, shared_address(&table)};
#pragma unroll 1
    for (uint32_t i = 0; i < kCount; i++) {
      load_groups(i);
      if (is_live && lane < LevelsRegions::kCount) put_group(lane * kCount + i, bits, *any);
    }
    if (words && bits.at % 32) atomicOr(words + at / 32 + bits.words.count, bits.word);
    return at / 32 * 32 + 32 * bits.words.count + bits.at % 32;
  }
};

/* The words of such a tile. memory: of a warp, LevelsRegions; take_words(word_count): where the
 * words go, or NULL. The whole warp calls. */
template <uint32_t kCount, class TakeWords>
__device__ __forceinline__ void encode_direct(const LevelsEncodeTable &table, const uint4 *codes,
                                              const LaneTeam &team, const LevelsExtents &extents,
                                              uint32_t *memory, TakeWords take_words) {
  DirectTile<kCount> const tile = {table, codes, extents, memory};
  bool is_live = true;
  uint32_t at = 0;
  uint32_t *words = nullptr;
#pragma unroll 1
  for (int pass = 0; pass < 2; pass++) { /* so that the code is there once */
    uint32_t any = 0;
    uint32_t const end = tile.put(is_live, at, words, &any);
    __syncwarp(); /* lanes go on together */
    if (pass == 1) break;
    uint32_t const bit_count = team.has(any != 0) ? end : 0;
    WordsLayout const layout(bit_count, team);
    words = take_words(layout.word_count);
    if (!words || layout.word_count == 0) break;
    layout.begin_words(team, GlobalWords{words});
    at = layout.at;
    is_live = bit_count > 0;
  }
}

} // namespace szg

#endif
