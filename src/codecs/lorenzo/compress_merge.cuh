/* compress_merge.cuh - merges 32 lanes into a tile's words, which wait in a ring for their place.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_COMPRESS_MERGE_CUH
#define SZG_COMPRESS_MERGE_CUH

#include "codecs/lorenzo/compress_walk.cuh"
#include "core/lane_head.cuh"

namespace szg {

/* A tile's bits, as its head describes them and as a lane sees them. */
struct TileBits {
  uint32_t words; /* size of the tile: from 0 to that of its values */
  uint32_t head_bits;
  uint32_t busy; /* lanes that have bits */
  uint32_t least, width;
  uint32_t lane_bits; /* of this lane */
  uint32_t first_bit; /* of this lane, from the tile's first on */
  bool is_raw;        /* the tile's values are stored as they are */
  bool is_long;       /* it does not fit the stage */
};

/* Finds a tile's size. lane_bits: 0 if all deltas of the lane are 0. The whole warp calls. */
template <class Policy>
__device__ __forceinline__ TileBits measure_tile(uint32_t lane_bits, bool was_flushed,
                                                 uint32_t raw_words) {
  TileBits tile = {};
  tile.lane_bits = lane_bits;
  tile.busy = __ballot_sync(kAllLanes, lane_bits > 0);
  if (tile.busy == 0) return tile;
  LaneLengths const lengths =
      measure_lanes(lane_bits, lane_bits > 0 ? lane_bits : UINT32_MAX, threadIdx.x % 32);
  tile.least = lengths.least;
  tile.width = lengths.width;
  tile.head_bits = szg_head_excess_at(szg_tile_head_form(), tile.busy != kAllLanes, tile.width,
                                      (uint32_t)__popc((int)tile.busy));
  tile.first_bit = tile.head_bits + lengths.end - lane_bits;
  tile.words = (tile.head_bits + __shfl_sync(kAllLanes, lengths.end, 31) + 31) / 32;
  tile.is_raw = tile.words >= raw_words;
  if (tile.is_raw) tile.words = raw_words;
  tile.is_long = !tile.is_raw && (tile.words > Policy::kRingWords ||
                                  __any_sync(kAllLanes, was_flushed && lane_bits > 0));
  return tile;
}

/* The tile as its values are. */
__device__ __forceinline__ TileBits raw_tile(uint32_t raw_words) {
  TileBits tile = {};
  tile.words = raw_words;
  tile.is_raw = true;
  return tile;
}

__device__ __forceinline__ bool is_merged_tile(const TileBits &bits) {
  return bits.words > 0 && !bits.is_raw && !bits.is_long;
}

/* ---- the ring ---- */

/* A tile's words in the warp's ring, from `first` on. */
template <class Policy>
struct RingWords {
  uint32_t first;
  __device__ __forceinline__ uint32_t *at(uint32_t i) const {
    uint32_t const place = first + i;
    return &shared_block<Policy>()
                .rings[threadIdx.x / 32]
                      [place < Policy::kRingWords ? place : place - Policy::kRingWords];
  }
};

/* A tile's words in the archive. */
struct OutputWords {
  uint32_t *words;
  __device__ __forceinline__ uint32_t *at(uint32_t i) const { return words + i; }
};

template <class Policy>
struct WaitingTile {
  uint32_t tile, words;
  bool is_raw;
  RingWords<Policy> ring;
};

/* Tiles of the warp without a place yet, in order. In the ring each begins at a multiple of 4
 * words. */
template <class Policy>
struct WaitingTiles {
  static constexpr uint32_t kRingWords = Policy::kRingWords;
  static constexpr uint32_t kMost = 4;
  uint32_t entry_tile, entry_words; /* lane i has those of number i modulo 32 */
  uint32_t first, count;            /* numbers */
  uint32_t used_words, end_word;    /* of the ring */

  __device__ __forceinline__ static uint32_t ring_words(uint32_t words, bool is_raw) {
    return is_raw ? 0 : (words + 3) & ~3u;
  }
  __device__ __forceinline__ bool has_room(const TileBits &bits) const {
    uint32_t const words = is_merged_tile(bits) ? ring_words(bits.words, false) : 0;
    return count < kMost && used_words + words <= kRingWords;
  }

  /* Adds a tile, for which there is room, and returns where its words go. */
  __device__ __forceinline__ RingWords<Policy> add(uint32_t tile, const TileBits &bits) {
    if (threadIdx.x % 32 == (first + count) % 32) {
      entry_tile = tile;
      entry_words = bits.words | (bits.is_raw ? kIsRaw : 0);
    }
    count++;
    RingWords<Policy> const ring = {end_word};
    uint32_t const words = ring_words(bits.words, bits.is_raw);
    used_words += words;
    end_word += words;
    if (end_word >= kRingWords) end_word -= kRingWords;
    return ring;
  }

  /* The oldest tile; there is one. */
  __device__ __forceinline__ WaitingTile<Policy> oldest() const {
    uint32_t const words = __shfl_sync(kAllLanes, entry_words, (int)first % 32);
    WaitingTile<Policy> tile;
    tile.tile = __shfl_sync(kAllLanes, entry_tile, (int)first % 32);
    tile.is_raw = (words & kIsRaw) != 0;
    tile.words = words & ~kIsRaw;
    tile.ring = {end_word >= used_words ? end_word - used_words
                                        : end_word + kRingWords - used_words};
    return tile;
  }
  __device__ __forceinline__ void drop_oldest() {
    WaitingTile<Policy> const dropped = oldest();
    used_words -= ring_words(dropped.words, dropped.is_raw);
    first++;
    count--;
  }

 private:
  static constexpr uint32_t kIsRaw = 1u << 31;
};

/* ---- lanes to words ---- */

/* Puts the tile's head into words that are 0. The whole warp calls. */
template <class Words>
__device__ __forceinline__ void put_head(const TileBits &tile, const Words &words) {
  put_head(szg_tile_head_form(), {tile.least, tile.width, tile.busy != kAllLanes}, tile.busy,
           tile.lane_bits > 0, tile.lane_bits - tile.least,
           [&](uint32_t i, uint32_t bits) { atomicOr(words.at(i), bits); });
}

/* Merges the warp's staged words into the tile's in the ring. A lane may share the first and the
 * last word that it writes with other lanes. The whole warp calls. */
template <class Policy>
__device__ __forceinline__ void merge_lanes(const TileBits &tile, const RingWords<Policy> &words) {
  for (uint32_t i = threadIdx.x % 32; i < (tile.words + 3) / 4; i += SZG_LANES)
    *(uint4 *)(void *)words.at(4 * i) = make_uint4(0, 0, 0, 0);
  __syncwarp(); /* before bits are added */
  put_head(tile, words);
  uint32_t const at = tile.first_bit % 32;
  int32_t const word_count = (int32_t)((tile.lane_bits + 31) / 32);
  int32_t const last_put = (int32_t)((at + tile.lane_bits + 31) / 32) - 1;
  /* May be beyond the ring's end. */
  RingWords<Policy> const own = {words.first + tile.first_bit / 32};
  uint32_t before = load_shared(stage_start<Policy>());
  if (tile.lane_bits > 0) atomicOr(own.at(0), before >> at);
  uint32_t const most_puts = (tile.least + (1u << tile.width) + 61) / 32; /* an upper bound */
  uint32_t from = stage_start<Policy>();
#pragma unroll 4
  for (int32_t i = 1; i < (int32_t)most_puts; i++) {
    from += kStepBytes;
    if (i <= last_put) {
      uint32_t const word = i < word_count ? load_shared(from) : 0;
      uint32_t const bits = __funnelshift_r(word, before, at);
      before = word;
      if (i < last_put)
        *own.at((uint32_t)i) = bits;
      else
        atomicOr(own.at((uint32_t)i), bits);
    }
  }
  __syncwarp(); /* the tile is complete */
}

/* ---- to the archive ---- */

template <class Policy>
__device__ __forceinline__ void store_merged(const RingWords<Policy> &words, uint32_t word_count,
                                             uint32_t *out) {
#pragma unroll 4
  for (uint32_t i = threadIdx.x % 32; i < word_count; i += SZG_LANES) out[i] = *words.at(i);
}

/* Writes head and zeros before lanes are walked again; *bits and *stage: where this lane's bits
 * go. */
template <class Policy>
__device__ __forceinline__ void begin_long_tile(const TileBits &tile, uint32_t *out, LaneBits *bits,
                                                LaneStage *stage) {
  for (uint32_t i = threadIdx.x % 32; i < tile.words; i += SZG_LANES) out[i] = 0;
  __syncwarp(); /* before bits are added */
  put_head(tile, OutputWords{out});
  *bits = {0, tile.first_bit % 32, stage_start<Policy>()};
  stage->flushed_words = 0;
  stage->out = tile.lane_bits > 0 ? out + tile.first_bit / 32 : NULL;
}

/* Stores uncoded values, in code order. */
template <class Value>
__device__ __noinline__ void store_raw_tile(const TileShape *shape, const void *frame_values,
                                            uint32_t *out) {
  const Value *const values = (const Value *)frame_values + shape->first_value;
  uint32_t const count = shape->x_extent * shape->y_extent * shape->z_extent;
  for (uint32_t i = threadIdx.x % 32; i < count; i += SZG_LANES) {
    uint32_t const line = i / shape->x_extent, x = i - line * shape->x_extent;
    uint32_t const z = line / shape->y_extent, y = line - z * shape->y_extent;
    Value const value = values[z * shape->z_stride + y * shape->y_stride + x];
    constexpr uint32_t kWords = sizeof(Value) / sizeof(uint32_t);
    uint32_t value_words[kWords];
    memcpy(value_words, &value, sizeof value);
    for (uint32_t word = 0; word < kWords; word++) out[i * kWords + word] = value_words[word];
  }
}

} // namespace szg

#endif
