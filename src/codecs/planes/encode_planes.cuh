/* encode_planes.cuh - blocks measure and write the tiles of a lossless frame.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile; each lane has four values of each row.
 */
#ifndef SZG_ENCODE_PLANES_CUH
#define SZG_ENCODE_PLANES_CUH

#include "codecs/planes/lane_bits.cuh"
#include "codecs/planes/planes_cuda.h"

namespace szg {

/* Blocks per multiprocessor for which registers suffice. kRows: rows with loads in flight at a
 * time. */
template <class Kind>
struct PlanesEncodePolicy {
  static constexpr bool kIsNarrow = Kind::kValueBytes <= 2;
  static constexpr int kWarps = 8;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocks = Kind::kValueBytes <= 4 ? 4 : 3;
  static constexpr uint32_t kRows = kIsNarrow ? 8 : Kind::kValueBytes == 4 ? 4 : 2;
  static_assert(kTileRows % kRows == 0, "whole batches");
};

struct PlanesEncodeJob {
  szg_planes_output_cuda output;
  uint64_t tile_count, stored_plane_bytes;
  uint32_t coded_planes;
  uint32_t staged_words; /* room for a tile's words in shared memory, or 0 */
  bool are_runs_aligned; /* whole runs of values can be loaded at once */
};

/* ---- shared memory of blocks that write ---- */

/* Entries of coded planes, then each warp's words. */
template <class Kind>
__host__ __device__ constexpr uint32_t encode_shared_bytes(uint32_t coded_planes,
                                                           uint32_t staged_words) {
  return (coded_planes * SZG_PLANES_SYMBOLS + PlanesEncodePolicy<Kind>::kWarps * staged_words) *
         (uint32_t)sizeof(uint32_t);
}

/* As many words as so much memory has room for, and no more than a tile can have. */
template <class Kind>
__host__ __device__ uint32_t encode_staged_words(int block_bytes, uint32_t coded_planes) {
  int const room_bytes = block_bytes - (int)encode_shared_bytes<Kind>(coded_planes, 0);
  uint32_t const words =
      room_bytes > 0 ? (uint32_t)room_bytes / (PlanesEncodePolicy<Kind>::kWarps * 4) : 0;
  uint32_t const most_words = coded_planes * SZG_PLANE_MOST_WORDS;
  return words < most_words ? words : most_words;
}

/* ---- tiles ---- */

struct EncodeTile {
  uint64_t index, first_value;
  uint32_t value_count;
};

__device__ __forceinline__ EncodeTile tile_at(const PlanesEncodeJob &job, uint64_t index) {
  uint64_t const first_value = index * SZG_TILE_VALUES;
  uint64_t const left = job.output.value_count - first_value;
  return {index, first_value, (uint32_t)(left < SZG_TILE_VALUES ? left : SZG_TILE_VALUES)};
}

/* ---- sections and their padding ---- */

/* Stores a tile's size; the last tile sets the padding behind it. The whole warp calls. */
__device__ __forceinline__ void store_size(const PlanesEncodeJob &job, uint64_t index,
                                           uint32_t word_count, unsigned lane) {
  constexpr uint32_t kUnit = SZG_ALIGNMENT / sizeof(uint16_t);
  if (lane == 0) job.output.sizes[index] = (uint16_t)word_count;
  if (index + 1 < job.tile_count || lane == 0) return;
  if (lane < kUnit && index % kUnit + lane < kUnit) job.output.sizes[index + lane] = 0;
}

/* Says how many words there are, and sets the padding behind them. The whole warp calls. */
__device__ __forceinline__ void finish_words(const PlanesEncodeJob &job, uint64_t word_count,
                                             unsigned lane) {
  constexpr uint32_t kUnit = SZG_ALIGNMENT / sizeof(uint32_t);
  if (lane == 0) job.output.first_words[job.tile_count] = word_count;
  if (word_count > job.output.room_words || word_count % kUnit == 0) return;
  if (lane < kUnit - word_count % kUnit) job.output.words[word_count + lane] = 0;
}

/* ---- values in ---- */

/* The first values of a run. */
struct RunPlace {
  uint64_t first_value;
  uint32_t count, padded_count; /* values of the run; these and zeros that pad a stored plane */
};

/* The lane's run in a row. kIsWhole: the tile is full. */
template <bool kIsWhole>
__device__ __forceinline__ RunPlace run_at(const EncodeTile &tile, uint32_t row, unsigned lane) {
  uint32_t const before = row * SZG_PLANES_ROW + lane * SZG_PLANES_RUN;
  RunPlace run = {tile.first_value + before, SZG_PLANES_RUN, SZG_PLANES_RUN};
  if (!kIsWhole) {
    uint32_t const left = before < tile.value_count ? tile.value_count - before : 0;
    uint32_t const padded = (tile.value_count + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
    run.count = min(left, (uint32_t)SZG_PLANES_RUN);
    run.padded_count = before < padded ? SZG_PLANES_RUN : 0;
  }
  return run;
}

/* Loads a run as words of planes; missing values give symbols 0. kIsWhole: and runs are aligned. */
template <class Kind, bool kIsWhole>
__device__ __forceinline__ void load_values(const PlanesEncodeJob &job, const RunPlace &place,
                                            uint32_t (&run)[Kind::kValueBytes]) {
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  const uint8_t *const from = (const uint8_t *)job.output.values + place.first_value * kValueBytes;
  if (kIsWhole)
    load_run<kValueBytes>(from, run);
  else
    load_run_bytes<kValueBytes>(from, place.count * kValueBytes, run);
}

/* The lane's runs of several rows, whose loads are in flight at the same time. kIsWhole: as for
 * load_values. */
template <class Kind, bool kIsWhole>
struct RunBatch {
  static constexpr uint32_t kRows = PlanesEncodePolicy<Kind>::kRows;
  uint32_t runs[kRows][Kind::kValueBytes];
  RunPlace places[kRows];

  __device__ __forceinline__ void load(const PlanesEncodeJob &job, const EncodeTile &tile,
                                       uint32_t first_row, unsigned lane) {
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      places[i] = run_at<kIsWhole>(tile, first_row + i, lane);
      load_values<Kind, kIsWhole>(job, places[i], runs[i]);
    }
  }
};

/* ---- lengths ---- */

/* What a symbol without a code has in place of a length: sums of lengths stay below it. */
constexpr uint32_t kNoCode = 1 << 12;
static_assert(SZG_PLANE_LANE_MOST_BITS < kNoCode, "lengths of a lane");
static_assert(SZG_TILE_VALUES / SZG_LANES * kNoCode < 1u << 31, "a lane without any code");

/* Bits in which a constant plane's first `count` symbols differ from its constant. */
__device__ __forceinline__ uint32_t differences(uint32_t symbols, uint32_t constant,
                                                uint32_t count) {
  uint32_t const wanted = count < SZG_PLANES_RUN ? (1u << 8 * count) - 1 : 0xFFFFFFFFu;
  return (symbols ^ constant * 0x01010101u) & wanted;
}

/* lengths: of codes, by plane. lane_bits: of constant planes, whether they are not constant. */
template <class Kind, bool kIsWhole>
__device__ __forceinline__ void sum_lengths(const PlanesEncodeJob &job, const EncodeTile &tile,
                                            const uint16_t *lengths, unsigned lane,
                                            uint32_t (&lane_bits)[Kind::kValueBytes]) {
  constexpr uint32_t kRows = RunBatch<Kind, kIsWhole>::kRows;
#pragma unroll 1
  for (uint32_t row = 0; row < kTileRows; row += kRows) {
    RunBatch<Kind, kIsWhole> batch;
    batch.load(job, tile, row, lane);
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      uint32_t(&run)[Kind::kValueBytes] = batch.runs[i];
      uint32_t const count = batch.places[i].count;
      split_run<Kind::kValueBytes>(run);
#pragma unroll
      for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
        uint32_t const mode = Kind::mode(job.output.layout.modes, plane);
        if (mode == SZG_PLANE_CONSTANT)
          lane_bits[plane] |= differences(
              run[plane], (uint32_t)(job.output.layout.constant_bits >> 8 * plane & 255), count);
        if (mode != SZG_PLANE_CODED) continue;
        const uint16_t *const own = lengths + plane * SZG_PLANES_SYMBOLS;
#pragma unroll
        for (uint32_t k = 0; k < SZG_PLANES_RUN; k++)
          if (k < count) lane_bits[plane] += own[run[plane] >> 8 * k & 255];
      }
    }
  }
}

/* Measures the share of a block of block_count. The whole block calls. */
template <class Kind>
__device__ __forceinline__ void measure_tiles(const PlanesEncodeJob &job, uint32_t block,
                                              uint32_t block_count) {
  typedef PlanesEncodePolicy<Kind> Policy;
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  __shared__ uint16_t lengths[kValueBytes * SZG_PLANES_SYMBOLS];
  unsigned const lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x; i < kValueBytes * SZG_PLANES_SYMBOLS; i += Policy::kThreads) {
    uint32_t const entry =
        job.output.encoder->entries[i / SZG_PLANES_SYMBOLS][i % SZG_PLANES_SYMBOLS];
    lengths[i] = (uint16_t)(entry & SZG_PLANES_UNCOUNTED_FLAG ? kNoCode : entry >> 16 & 255);
  }
  __syncthreads(); /* lengths are there */
  uint64_t const stride = (uint64_t)block_count * Policy::kWarps;
  uint64_t const first = (uint64_t)block * Policy::kWarps + threadIdx.x / 32;
  for (uint64_t index = first; index < job.tile_count; index += stride) {
    EncodeTile const tile = tile_at(job, index);
    uint32_t lane_bits[kValueBytes] = {};
    if (job.are_runs_aligned && tile.value_count == SZG_TILE_VALUES)
      sum_lengths<Kind, true>(job, tile, lengths, lane, lane_bits);
    else
      sum_lengths<Kind, false>(job, tile, lengths, lane, lane_bits);
    uint16_t *to = job.output.lane_bits + index * job.coded_planes * SZG_LANES + lane;
    uint32_t words = 0;
    bool is_misled = false;
#pragma unroll
    for (uint32_t plane = 0; plane < kValueBytes; plane++) {
      uint32_t const mode = Kind::mode(job.output.layout.modes, plane);
      if (mode == SZG_PLANE_CONSTANT) is_misled = is_misled || lane_bits[plane] != 0;
      if (mode != SZG_PLANE_CODED) continue;
      is_misled = is_misled || lane_bits[plane] >= kNoCode;
      uint32_t const bits = lane_bits[plane] % kNoCode;
      *to = (uint16_t)bits;
      to += SZG_LANES;
      words += head_of(bits, lane).word_count;
    }
    if (is_misled) job.output.first_words[job.tile_count + 1] = 1;
    store_size(job, index, words, lane);
  }
}

/* ---- bits ---- */

template <class Kind>
__device__ __forceinline__ void append_run(const PlanesEncodeJob &job, const uint32_t *entries,
                                           uint32_t count, const uint32_t (&run)[Kind::kValueBytes],
                                           PlaneBits (&bits)[Kind::kValueBytes], uint32_t *words) {
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    uint32_t own[SZG_PLANES_RUN];
#pragma unroll
    for (uint32_t k = 0; k < SZG_PLANES_RUN; k++)
      own[k] = k < count ? entries[run[plane] >> 8 * k & 255] : 0;
    bits[plane].append_two(own[0], own[1], words);
    bits[plane].append_two(own[2], own[3], words);
    entries += SZG_PLANES_SYMBOLS;
  }
}

template <class Kind>
__device__ __forceinline__ void store_stored(const PlanesEncodeJob &job, const RunPlace &place,
                                             const uint32_t (&run)[Kind::kValueBytes]) {
  if (place.padded_count == 0) return;
  uint8_t *to = job.output.stored + place.first_value;
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.output.layout.modes, plane) != SZG_PLANE_STORED) continue;
    __stcs((uint32_t *)(void *)to, run[plane]);
    to += job.stored_plane_bytes;
  }
}

/* ---- tiles ---- */

/* Writes a tile's bits into zeroed `words`, and its share of stored planes. lane_bits: the lane's,
 * by plane. The whole warp calls. */
template <class Kind, bool kIsWhole>
__device__ __forceinline__ void write_tile(const PlanesEncodeJob &job, const EncodeTile &tile,
                                           const uint32_t *entries,
                                           const uint32_t (&lane_bits)[Kind::kValueBytes],
                                           uint32_t *words, unsigned lane) {
  constexpr uint32_t kValueBytes = Kind::kValueBytes, kRows = RunBatch<Kind, kIsWhole>::kRows;
  PlaneBits bits[kValueBytes];
  uint32_t begin = 0;
#pragma unroll
  for (uint32_t plane = 0; plane < kValueBytes; plane++) {
    if (Kind::mode(job.output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    PlaneHead const head = head_of(lane_bits[plane], lane);
    write_head(head, lane_bits[plane], words + begin, lane);
    bits[plane] = {0, 32 * begin + head.first_bit};
    begin += head.word_count;
  }
#pragma unroll 1
  for (uint32_t row = 0; row < kTileRows; row += kRows) {
    RunBatch<Kind, kIsWhole> batch;
    batch.load(job, tile, row, lane);
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      split_run<kValueBytes>(batch.runs[i]);
      store_stored<Kind>(job, batch.places[i], batch.runs[i]);
      append_run<Kind>(job, entries, batch.places[i].count, batch.runs[i], bits, words);
    }
  }
#pragma unroll
  for (uint32_t plane = 0; plane < kValueBytes; plane++)
    if (Kind::mode(job.output.layout.modes, plane) == SZG_PLANE_CODED) bits[plane].finish(words);
}

template <class Kind>
__device__ __forceinline__ void write_any_tile(const PlanesEncodeJob &job, const EncodeTile &tile,
                                               const uint32_t *entries,
                                               const uint32_t (&lane_bits)[Kind::kValueBytes],
                                               uint32_t *words, uint32_t word_count,
                                               unsigned lane) {
  for (uint32_t j = lane; j < word_count; j += SZG_LANES) words[j] = 0;
  __syncwarp(); /* all are 0 */
  if (job.are_runs_aligned && tile.value_count == SZG_TILE_VALUES)
    write_tile<Kind, true>(job, tile, entries, lane_bits, words, lane);
  else
    write_tile<Kind, false>(job, tile, entries, lane_bits, words, lane);
  __syncwarp(); /* the words are complete */
}

/* What measuring has found. */
template <class Kind>
__device__ __forceinline__ void load_lane_bits(const PlanesEncodeJob &job, uint64_t index,
                                               unsigned lane,
                                               uint32_t (&lane_bits)[Kind::kValueBytes]) {
  const uint16_t *own = job.output.lane_bits + index * job.coded_planes * SZG_LANES + lane;
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    lane_bits[plane] = *own;
    own += SZG_LANES;
  }
}

/* Writes the share of a block of block_count. Dynamic shared memory: entries of coded planes, then
 * each warp's words. The whole block calls. */
template <class Kind>
__device__ __forceinline__ void write_tiles(const PlanesEncodeJob &job, uint32_t block,
                                            uint32_t block_count) {
  typedef PlanesEncodePolicy<Kind> Policy;
  extern __shared__ __align__(16) uint32_t encode_memory[];
  unsigned const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t *entries = encode_memory;
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    for (uint32_t s = threadIdx.x; s < SZG_PLANES_SYMBOLS; s += Policy::kThreads)
      entries[s] = left_aligned(job.output.encoder->entries[plane][s]);
    entries += SZG_PLANES_SYMBOLS;
  }
  __syncthreads(); /* entries are there */
  uint32_t *const staged = entries + warp * job.staged_words;
  uint64_t const stride = (uint64_t)block_count * Policy::kWarps;
  uint64_t const first = (uint64_t)block * Policy::kWarps + warp;
  for (uint64_t index = first; index < job.tile_count; index += stride) {
    EncodeTile const tile = tile_at(job, index);
    uint32_t const word_count = job.coded_planes > 0 ? job.output.sizes[index] : 0;
    uint64_t const first_word = job.coded_planes > 0 ? job.output.first_words[index] : 0;
    uint64_t const end_word = first_word + word_count;
    uint32_t *const words = job.output.words + first_word;
    if (job.coded_planes > 0 && index + 1 == job.tile_count) finish_words(job, end_word, lane);
    if (end_word > job.output.room_words) continue;
    uint32_t lane_bits[Kind::kValueBytes];
    load_lane_bits<Kind>(job, index, lane, lane_bits);
    if (word_count <= job.staged_words) {
      write_any_tile<Kind>(job, tile, encode_memory, lane_bits, staged, word_count, lane);
      for (uint32_t j = lane; j < word_count; j += SZG_LANES) __stcs(words + j, staged[j]);
      __syncwarp(); /* all are stored before others take their place */
    } else {
      write_any_tile<Kind>(job, tile, encode_memory, lane_bits, words, word_count, lane);
    }
  }
}

} // namespace szg

#endif
