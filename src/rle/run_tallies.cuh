/* run_tallies.cuh - which runs begin before a tile, found while others are still being counted.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoupled look-back (Merrill and Garland, 2016). A block makes known what its tile holds as soon
 * as it has counted, and then goes back over the tiles before it to the nearest whose tally, with
 * all before it, somebody has found. Blocks take tiles in order, by a ticket, and tell before they
 * ask, so the lowest tile that is not known is always at work.
 */
#ifndef SZG_RUN_TALLIES_CUH
#define SZG_RUN_TALLIES_CUH

#include "rle/run_length.h"

namespace szg {

constexpr uint32_t kWarp = 32, kAllLanes = 0xFFFFFFFFu;

/* The runs that begin in a stretch of a tile, in a word: their number above kShareLastBits, below
 * it one more than where the last of them begins, counted from the tile's first symbol; 0: there is
 * none. A tile has fewer than 2^15 symbols. */
constexpr uint32_t kShareLastBits = 16, kShareLastMask = (1u << kShareLastBits) - 1;
constexpr uint32_t kShareIsKnown = 1u << 31; /* of a whole tile */

__device__ __forceinline__ uint32_t join_shares(uint32_t first, uint32_t second) {
  uint32_t const counts = (first & ~kShareLastMask) + (second & ~kShareLastMask);
  return counts | max(first & kShareLastMask, second & kShareLastMask);
}

constexpr unsigned long long kPrefixIsKnown = 1ull << 63;

/* The tally of all tiles up to one, kPrefixIsKnown in both: each is a word, so that no order among
 * stores is asked for. */
struct alignas(16) TilePrefix {
  unsigned long long count, last;
};

/* What tiles tell each other; zeros at first. */
struct TileTallies {
  TilePrefix *prefixes; /* [tiles] */
  uint32_t *shares;     /* [tiles] */
  uint32_t *ticket;     /* of the next block */
};

inline uint64_t tile_tallies_bytes(uint64_t tile_count) {
  return tile_count * (sizeof(TilePrefix) + sizeof(uint32_t)) + sizeof(uint32_t);
}

/* In memory of as many bytes, aligned to 16. */
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

/* tally: up to the tile and with it. One thread calls. */
__device__ __forceinline__ void publish_tally(const TileTallies &tallies, uint32_t tile,
                                              const szg_run_tally &tally) {
  volatile TilePrefix *const prefix = &tallies.prefixes[tile];
  prefix->count = tally.count | kPrefixIsKnown;
  prefix->last = tally.last | kPrefixIsKnown;
}

__device__ __forceinline__ uint32_t sum_of_warp(uint32_t value) {
  for (uint32_t distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, (int)distance);
  return value;
}

/* What a look at the 32 tiles before `end` gives. */
struct TileLook {
  szg_run_tally tally; /* of those as far as seen */
  bool is_whole;       /* and of all before them */
  bool is_wanting;     /* one of them is not known yet */
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
  look.tally.count = sum_of_warp(is_nearer ? (share & ~kShareIsKnown) >> kShareLastBits : 0);
  look.tally.last = with_runs ? (uint64_t)(end - 1 - nearest) * tile_symbols + place - 1 : 0;
  szg_run_tally farther;
  farther.count = __shfl_sync(kAllLanes, count & ~kPrefixIsKnown, (int)(stop % kWarp));
  farther.last = __shfl_sync(kAllLanes, last & ~kPrefixIsKnown, (int)(stop % kWarp));
  if (look.is_whole) look.tally = szg_run_tally_join(farther, look.tally);
  return look;
}

/* Waiting warps leave the memory to those that work. */
constexpr unsigned kTallyWaitNanoseconds = 100;

/* Of all tiles before this one, whose own share is known. The whole warp calls. */
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
