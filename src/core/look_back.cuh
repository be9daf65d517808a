/* look_back.cuh - finds where each tile's words begin while tiles are being encoded.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoupled look-back (D. Merrill and M. Garland, 2016) in two steps. A warp publishes its tile's
 * size as soon as it has it, for the tile and in the sum of its chunk of 32. To place a tile, it
 * adds the sizes before the tile in its chunk and the words of all chunks before: it goes back over
 * complete chunks to the first one that another warp has placed. Warps take tiles from an atomic
 * counter and publish a size before they wait for others, so some warp is always at work on the
 * lowest unpublished tile. Each fact is one word, so the order of stores does not matter.
 */
#ifndef SZG_LOOK_BACK_CUH
#define SZG_LOOK_BACK_CUH

#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kChunkTiles = 32;
constexpr uint64_t kOneTile = (uint64_t)1 << 32; /* above the words of a chunk */
constexpr uint64_t kIsKnown = (uint64_t)1 << 63;

/* Zero before the launch. */
struct alignas(16) ChunkState {
  unsigned long long sum;    /* words of the chunk's tiles, and how many of them in kOneTile */
  unsigned long long before; /* words of all chunks before it and kIsKnown */
};

struct TileSums {
  uint32_t *tile_words; /* [tiles] one more than the tile's words; 0: not known yet */
  ChunkState *chunks;   /* [chunks] */
};

__host__ __device__ constexpr uint64_t chunks_of(uint64_t tile_count) {
  return (tile_count + kChunkTiles - 1) / kChunkTiles;
}

/* Publishes a tile's size. One thread calls. */
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

/* How long waiting warps sleep, to leave the memory to those that work. */
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

/* The result of a look at a chunk and the 31 before it. */
struct ChunkLook {
  uint64_t words;  /* of those before it, as far as visible */
  bool is_placed;  /* words include those of all chunks farther back */
  bool is_wanting; /* one of the chunks is not complete */
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

/* Words of the chunks before this one; publishes them. The whole warp calls. Mostly another warp
 * has done so already, and one load answers. */
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

/* The tile's first word among those of all. Its own size is published. The whole warp calls. */
__device__ __forceinline__ uint64_t place_tile(const TileSums &sums, uint32_t tile) {
  uint32_t const in_chunk = words_in_chunk(sums, tile);
  return words_before_chunk(sums, tile / kChunkTiles) + in_chunk;
}

} // namespace szg

#endif
