/* levels_encode_direct.cuh - a tile's codes in shared memory to words in global memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For tiles whose bits do not fit over their codes, as levels_encode_lanes.cuh puts them: all
 * codes are taken twice, first to measure the lanes and then to write them.
 */
#ifndef SZG_LEVELS_ENCODE_DIRECT_CUH
#define SZG_LEVELS_ENCODE_DIRECT_CUH

#include "fused/levels_encode_lanes.cuh"

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

/* A tile whose codes are in shared memory, kCodeBytes each. */
template <uint32_t kCodeBytes>
struct DirectTile {
  const LevelsEncodeTable &table;
  const uint32_t *codes;
  const LevelsExtents &extents;

  /* Puts this thread's groups from bit `at` of words on; returns the bit behind them. any: gets
   * bits if a code is not 0. */
  template <class Groups>
  __device__ __forceinline__ uint32_t put(const Groups &own, uint32_t at, uint32_t *words,
                                          uint32_t *any) const {
    LaneBits<ToGlobal> bits = {
        {words ? words + at / 32 : nullptr, 0}, 0, at % 32, shared_address(&table)};
    put_groups<kCodeBytes>(table.mode, shared_address(codes), own.first, own.end, extents, bits,
                           *any);
    if (words && bits.at % 32) atomicOr(words + at / 32 + bits.words.count, bits.word);
    return at / 32 * 32 + 32 * bits.words.count + bits.at % 32;
  }
};

/* The words of such a tile. kCount: groups of a thread; take_words(word_count): where the words go,
 * or NULL. The whole warp calls. */
template <uint32_t kCodeBytes, uint32_t kCount, class TakeWords>
__device__ __forceinline__ void encode_direct(const LevelsEncodeTable &table, const uint32_t *codes,
                                              const LaneTeam &team, const LevelsExtents &extents,
                                              TakeWords take_words) {
  OwnGroups<kCount> const own;
  DirectTile<kCodeBytes> const tile = {table, codes, extents};
  bool is_live = true;
  uint32_t at = 0, bit_count = 0;
  uint32_t *words = nullptr;
#pragma unroll 1
  for (int pass = 0; pass < 2; pass++) { /* so that the code is there once */
    uint32_t any = 0, end = at;
    if (is_live) end = tile.put(own, at, words, &any);
    __syncwarp(); /* lanes go on together */
    if (pass == 1) break;
    is_live = team.has(any != 0);
    bit_count = is_live ? end : 0;
    TileLayout const layout(bit_count, team);
    words = take_words(layout.word_count);
    if (!words || layout.word_count == 0) break;
    for (uint32_t i = threadIdx.x % 32; i < layout.word_count; i += 32) words[i] = 0;
    __syncwarp(); /* words are zeros */
    layout.put_head(team, [=](uint32_t i, uint32_t bits) { atomicOr(words + i, bits); });
    at = layout.at;
    is_live = bit_count > 0;
  }
}

} // namespace szg

#endif
