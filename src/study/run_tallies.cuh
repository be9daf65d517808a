/* run_tallies.cuh - finds which runs begin before a tile while other tiles are still being counted.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoupled look-back (D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
 * Look-back", 2016). A block publishes what its tile holds as soon as it has counted, and then
 * looks back over the tiles before it to the nearest one with a published prefix. Blocks take tiles
 * in order, by a ticket, and publish before they look back, so the block of the lowest unpublished
 * tile is always running.
 */
#ifndef SZG_RUN_TALLIES_CUH
#define SZG_RUN_TALLIES_CUH

#include "core/warp.cuh"
#include "study/run_length.h"

namespace szg {

constexpr uint32_t kWarp = 32;

/* The runs that begin in a stretch of a tile, in one word. From bit kShareLastBits on: their
 * number. Below: the last run's first symbol, counted from the tile's first symbol, plus 1; 0 if
 * there is no run. A tile has fewer than 2^15 symbols. */
constexpr uint32_t kShareLastBits = 16, kShareLastMask = (1u << kShareLastBits) - 1;
constexpr uint32_t kShareIsKnown = 1u << 31; /* set once the share is of the whole tile */

__device__ __forceinline__ uint32_t join_shares(uint32_t first, uint32_t second) {
  uint32_t const counts = (first & ~kShareLastMask) + (second & ~kShareLastMask);
  return counts | max(first & kShareLastMask, second & kShareLastMask);
}

constexpr unsigned long long kPrefixIsKnown = 1ull << 63;

/* The tally of all tiles up to and including one, with kPrefixIsKnown in both words: a reader
 * checks each word, so the order of the two stores does not matter. */
struct alignas(16) TilePrefix {
  unsigned long long count, last;
};

/* The memory in which tiles publish their counts; zero at first. */
struct TileTallies {
  TilePrefix *prefixes; /* [tiles] */
  uint32_t *shares;     /* [tiles] */
  uint32_t *ticket;     /* the next block's tile */
};

inline uint64_t tile_tallies_bytes(uint64_t tile_count) {
  return tile_count * (sizeof(TilePrefix) + sizeof(uint32_t)) + sizeof(uint32_t);
}

/* Laid out in memory of tile_tallies_bytes, aligned to 16. */
inline TileTallies tile_tallies_in(void *memory, uint64_t tile_count) {
  TilePrefix *const prefixes = (TilePrefix *)memory;
  uint32_t *const shares = (uint32_t *)(prefixes + tile_count);
  return {prefixes, shares, shares + tile_count};
}

/* One thread calls. */
__device__ __forceinline__ void publish_share(const TileTallies &tallies, uint32_t tile,
                                              uint32_t share) {
  *(volatile uint32_t *)&tallies.shares[tile] = share | kShareIsKnown;
}

/* tally: of all tiles up to and including this one. One thread calls. */
__device__ __forceinline__ void publish_tally(const TileTallies &tallies, uint32_t tile,
                                              const szg_run_tally &tally) {
  volatile TilePrefix *const prefix = &tallies.prefixes[tile];
  prefix->count = tally.count | kPrefixIsKnown;
  prefix->last = tally.last | kPrefixIsKnown;
}

/* The result of looking at the 32 tiles before `end`. */
struct TileLook {
  szg_run_tally tally; /* of the tiles looked at */
  bool is_whole;       /* the tally includes all tiles before them, too */
  bool is_wanting;     /* some tile has published nothing yet: look again */
};

/* The whole warp calls; lane 0 looks at the tile just before end. */
__device__ __forceinline__ TileLook look_at_tiles(const TileTallies &tallies, uint32_t end,
                                                  uint32_t tile_symbols) {
  uint32_t const lane = threadIdx.x % kWarp;
  unsigned long long count = kPrefixIsKnown, last = kPrefixIsKnown; /* before tile 0 */
  uint32_t share = 0;
  if (lane < end) {
    uint32_t const tile = end - 1 - lane;
    const volatile TilePrefix *const prefix = &tallies.prefixes[tile];
    share = *(const volatile uint32_t *)&tallies.shares[tile];
    count = prefix->count, last = prefix->last;
  }
  unsigned const whole = __ballot_sync(kAllLanes, (count & last & kPrefixIsKnown) != 0);
  uint32_t const stop = whole ? (uint32_t)__ffs((int)whole) - 1 : kWarp;
  bool const is_nearer = lane < stop;
  uint32_t const own_last = is_nearer ? share & kShareLastMask : 0;
  unsigned const with_runs = __ballot_sync(kAllLanes, own_last != 0);
  uint32_t const nearest = with_runs ? (uint32_t)__ffs((int)with_runs) - 1 : 0;
  uint32_t const place = __shfl_sync(kAllLanes, own_last, (int)nearest);
  TileLook look;
  look.is_wanting = __any_sync(kAllLanes, is_nearer && !(share & kShareIsKnown));
  look.is_whole = stop < kWarp;
  look.tally.count = warp_sum(is_nearer ? (share & ~kShareIsKnown) >> kShareLastBits : 0);
  look.tally.last = with_runs ? (uint64_t)(end - 1 - nearest) * tile_symbols + place - 1 : 0;
  szg_run_tally farther;
  farther.count = __shfl_sync(kAllLanes, count & ~kPrefixIsKnown, (int)(stop % kWarp));
  farther.last = __shfl_sync(kAllLanes, last & ~kPrefixIsKnown, (int)(stop % kWarp));
  if (look.is_whole) look.tally = szg_run_tally_join(farther, look.tally);
  return look;
}

/* A waiting warp sleeps, to leave memory bandwidth to working ones. */
constexpr unsigned kTallyWaitNanoseconds = 100;

/* The tally of all tiles before this one, which has published its share. The whole warp calls. */
__device__ __forceinline__ szg_run_tally tally_before(const TileTallies &tallies, uint32_t tile,
                                                      uint32_t tile_symbols) {
  szg_run_tally tally = {0, 0};
  for (uint32_t end = tile;;) {
    TileLook const look = look_at_tiles(tallies, end, tile_symbols);
    if (look.is_wanting) {
      __nanosleep(kTallyWaitNanoseconds);
      continue;
    }
    tally = szg_run_tally_join(look.tally, tally);
    if (look.is_whole) return tally;
    end -= kWarp;
  }
}

} // namespace szg

#endif
