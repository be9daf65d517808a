/* look_back.cuh - where each tile's words begin, found while tiles are still being compressed.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoupled look-back (Merrill and Garland, 2016) in two steps. A warp makes its tile's size known
 * as soon as it has it, for the tile and in the sum of its chunk of 32. To place a tile it adds up
 * the sizes before it in its chunk, and to them the words of all chunks before: it goes back over
 * chunks that are complete to the first one whose place somebody has found. Warps take tiles by an
 * atomic counter, and make a size known before they wait for others, so the lowest tile that is not
 * known is always at work. Each fact is one word, so no order among stores is asked for.
 */
#ifndef SZG_LOOK_BACK_CUH
#define SZG_LOOK_BACK_CUH

#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kChunkTiles = 32;
constexpr uint64_t kOneTile = (uint64_t)1 << 32; /* above the words of a chunk */
constexpr uint64_t kIsKnown = (uint64_t)1 << 63;

/* Zeros at first. */
struct alignas(16) ChunkState {
  unsigned long long sum;    /* words of the chunk's tiles, and how many of them in kOneTile */
  unsigned long long before; /* words of all chunks before it and kIsKnown */
};

struct TileSums {
  uint32_t *tile_words; /* [tiles] one more than the tile's words; 0: not known yet */
  ChunkState *chunks;   /* [chunks] */
};

constexpr uint64_t chunks_of(uint64_t tile_count) {
  return (tile_count + kChunkTiles - 1) / kChunkTiles;
}

/* One thread calls. */
__device__ __forceinline__ void publish_words(const TileSums &sums, uint32_t tile, uint32_t words) {
  *(volatile uint32_t *)&sums.tile_words[tile] = words + 1;
  atomicAdd(&sums.chunks[tile / kChunkTiles].sum, (unsigned long long)(kOneTile + words));
}

__device__ __forceinline__ ChunkState load_chunk(const ChunkState *chunk) {
  ChunkState state;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(state.sum), "=l"(state.before)
               : "l"(chunk)
               : "memory");
  return state;
}

/* Waiting warps leave the memory to those that work. */
constexpr unsigned kWaitNanoseconds = 200;

/* Words of the tiles before this one in its chunk. The whole warp calls. */
__device__ __forceinline__ uint32_t words_in_chunk(const TileSums &sums, uint32_t tile) {
  uint32_t const lane = threadIdx.x % 32, before = tile % kChunkTiles;
  const uint32_t *const own = sums.tile_words + (tile - before + lane);
  for (;;) {
    uint32_t const words = lane < before ? *(const volatile uint32_t *)own : 1;
    if (__all_sync(kAllLanes, words != 0)) return warp_sum(words - 1);
    __nanosleep(kWaitNanoseconds);
  }
}

/* What a look at a chunk and the 31 before it gives. */
struct ChunkLook {
  uint64_t words;  /* of those before it, as far as seen */
  bool is_placed;  /* and of all that are farther away */
  bool is_wanting; /* one of them is not complete */
};

/* last: the chunk; is_own: its own words do not count. The whole warp calls. */
__device__ __forceinline__ ChunkLook look_at_chunks(const TileSums &sums, uint32_t last,
                                                    bool is_own) {
  uint32_t const lane = threadIdx.x % 32;
  ChunkState state = {0, kIsKnown}; /* before chunk 0 there are no words */
  if (lane <= last) state = load_chunk(&sums.chunks[last - lane]);
  if (lane >= last) state.before = kIsKnown;
  unsigned const known = __ballot_sync(kAllLanes, (state.before & kIsKnown) != 0);
  uint32_t const stop = known ? (uint32_t)__ffs((int)known) - 1 : 32;
  bool const is_asked = lane <= stop && (lane > 0 || !is_own);
  ChunkLook look;
  look.is_wanting = __any_sync(kAllLanes, is_asked && state.sum < kOneTile * kChunkTiles);
  look.words = warp_sum(is_asked ? (uint32_t)state.sum : 0);
  look.is_placed = stop < 32;
  if (look.is_placed) look.words += __shfl_sync(kAllLanes, state.before & ~kIsKnown, (int)stop);
  return look;
}

/* Words of the chunks before this one; makes that known. The whole warp calls. Most of the time
 * another warp has done so: that asks for one word only, since all look at the same ones. */
__device__ __forceinline__ uint64_t words_before_chunk(const TileSums &sums, uint32_t chunk) {
  ChunkState *const own = &sums.chunks[chunk];
  uint64_t words = 0;
  uint32_t last = chunk;
  for (;;) {
    uint64_t const before = *(const volatile unsigned long long *)&own->before;
    if (before & kIsKnown) return before & ~kIsKnown;
    ChunkLook const look = look_at_chunks(sums, last, last == chunk);
    if (look.is_wanting) {
      __nanosleep(kWaitNanoseconds);
      continue;
    }
    words += look.words;
    if (look.is_placed) break;
    last -= 32;
  }
  if (threadIdx.x % 32 == 0) *(volatile unsigned long long *)&own->before = words | kIsKnown;
  return words;
}

/* The tile's first word in the bitstream. Its own size is known. The whole warp calls. */
__device__ __forceinline__ uint64_t place_tile(const TileSums &sums, uint32_t tile) {
  uint32_t const in_chunk = words_in_chunk(sums, tile);
  return words_before_chunk(sums, tile / kChunkTiles) + in_chunk;
}

} // namespace szg

#endif
