/* decode_planes.cuh - blocks decode the tiles of a lossless frame.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile; each lane has four values of each row.
 */
#ifndef SZG_DECODE_PLANES_CUH
#define SZG_DECODE_PLANES_CUH

#include "codecs/planes/lane_symbols.cuh"
#include "codecs/planes/planes_cuda.h"
#include "codecs/planes/stored_sums.cuh"
#include "core/tile_queue.cuh"

namespace szg {

/* kBlocks: blocks per multiprocessor for which registers suffice. kRows: rows for which a lane
 * loads stored bytes at a time. A lane has a window on each plane that may be coded. Kernels with
 * sums take twice the rows: whole blocks of XXH3 for bf16 and f32. That needs more registers. */
template <class Kind>
struct PlanesDecodePolicy {
  static constexpr bool kIsAny = Kind::kModes == kAnyModes;
  static constexpr uint32_t kValueBytes = Kind::kValueBytes;
  static constexpr int kWarps = 8;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocksWithoutSums = kValueBytes <= 2              ? 4
                                            : kValueBytes == 4 && !kIsAny ? 3
                                                                          : 2;
  static constexpr int kBlocks = kBlocksWithoutSums - (Kind::kHasSums ? 1 : 0);
  static constexpr uint32_t kRowsWithoutSums = (kValueBytes <= 4 ? 4 : 2) / (kIsAny ? 2 : 1);
  static constexpr uint32_t kRows = kRowsWithoutSums * (Kind::kHasSums ? 2 : 1);
  static_assert(kTileRows % kRows == 0, "whole batches");
};

constexpr uint32_t kTableBytes = SZG_PLANES_ENTRIES * sizeof(uint16_t); /* of a coded plane */
constexpr int kLeastStagedWords = 128;

/* The part of the frame's bytes that the caller wants. */
struct WantedBytes {
  uint8_t *bytes; /* where byte `first` goes */
  uint64_t first, count;
  bool are_runs_aligned; /* whole runs can be stored at once */
  bool are_values_whole; /* each is wanted whole or not at all, and can be stored at once */
};

struct PlanesDecodeJob {
  szg_planes_input_cuda input;
  WantedBytes wanted;
  uint64_t stored_plane_bytes;
  uint32_t first_tile, end_tile;
  uint32_t coded_planes;
  uint32_t staged_words; /* room for a tile's words in shared memory, or 0 */
  SumJob stored_sums;
  szg_verdict *verdict;
};

struct DecodeTile {
  uint64_t first_value;
  uint32_t value_count;
};

/* ---- values out ---- */

template <uint32_t kValueBytes>
struct ValueBits;
template <>
struct ValueBits<1> {
  typedef uint8_t Type;
};
template <>
struct ValueBits<2> {
  typedef uint16_t Type;
};
template <>
struct ValueBits<4> {
  typedef uint32_t Type;
};
template <>
struct ValueBits<8> {
  typedef uint64_t Type;
};

/* Value k of a run. */
template <uint32_t kValueBytes>
__device__ __forceinline__ uint64_t value_of(const uint32_t (&run)[kValueBytes], uint32_t k) {
  if constexpr (kValueBytes == 8) return (uint64_t)run[2 * k + 1] << 32 | run[2 * k];
  return run[k * kValueBytes / 4] >> 8 * (k * kValueBytes % 4);
}

/* Stores those of the first `count` values of a run that are wanted. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void store_wanted(const WantedBytes &wanted, uint64_t first_value,
                                             uint32_t count, const uint32_t (&run)[kValueBytes]) {
  typedef typename ValueBits<kValueBytes>::Type Bits;
#pragma unroll
  for (uint32_t k = 0; k < SZG_PLANES_RUN; k++) {
    if (k >= count) break;
    uint64_t const value = value_of<kValueBytes>(run, k);
    uint64_t const place = (first_value + k) * kValueBytes - wanted.first; /* huge: before it */
    if (wanted.are_values_whole) {
      if (place < wanted.count) *(Bits *)(void *)(wanted.bytes + place) = (Bits)value;
    } else {
      for (uint32_t b = 0; b < kValueBytes; b++)
        if (place + b < wanted.count) wanted.bytes[place + b] = (uint8_t)(value >> 8 * b);
    }
  }
}

/* ---- shared memory ---- */

/* Shared memory: keys of sums, tables of coded planes, then each warp's words and what may be read
 * behind. */
template <class Kind>
constexpr uint32_t decode_shared_bytes(uint32_t coded_planes, uint32_t staged_words) {
  uint32_t const warp_words = staged_words > 0 ? staged_words + kOverrunLaneWords : 0;
  return kSumKeyBytes<Kind> + coded_planes * kTableBytes +
         PlanesDecodePolicy<Kind>::kWarps * warp_words * 4;
}
static_assert(decode_shared_bytes<PlanesForm<8, kAnyModes>>(SZG_PLANES_MOST, 0) <=
                  SZG_LEAST_SHARED_BYTES,
              "what every device has");

/* How many words so much memory has room for; negative: not even for the tables. */
template <class Kind>
__host__ __device__ int decode_staged_words(int block_bytes, uint32_t coded_planes) {
  int const other_bytes = (int)(kSumKeyBytes<Kind> + coded_planes * kTableBytes);
  return (block_bytes - other_bytes) / (PlanesDecodePolicy<Kind>::kWarps * 4) -
         (int)kOverrunLaneWords;
}

/* That many, but no more than a tile can have; 0: too few to be useful. */
inline __host__ __device__ uint32_t useful_words(int words, uint32_t coded_planes) {
  int const most_words = (int)(coded_planes * SZG_PLANE_MOST_WORDS);
  return words < kLeastStagedWords ? 0 : (uint32_t)(words < most_words ? words : most_words);
}

extern __shared__ __align__(16) uint4 decode_memory[];

__device__ __forceinline__ uint64_t *first_sum_key() { return (uint64_t *)(void *)decode_memory; }

/* ---- a tile ---- */

/* Values that the lane has in a row. */
__device__ __forceinline__ uint32_t run_values(uint32_t value_count, uint32_t row, unsigned lane) {
  uint32_t const before = row * SZG_PLANES_ROW + lane * SZG_PLANES_RUN;
  return before < value_count ? min(value_count - before, (uint32_t)SZG_PLANES_RUN) : 0;
}

/* The lane's symbols of a row, from planes that are not coded. */
template <class Kind>
__device__ __forceinline__ void load_uncoded(const PlanesDecodeJob &job, uint64_t first_value,
                                             uint32_t count, uint32_t (&run)[Kind::kValueBytes]) {
  const uint8_t *stored = job.input.stored + first_value;
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    uint32_t const mode = Kind::mode(job.input.layout.modes, plane);
    if (mode == SZG_PLANE_STORED) {
      run[plane] = count > 0 ? __ldcs((const uint32_t *)(const void *)stored) : 0;
      stored += job.stored_plane_bytes;
    } else if (mode == SZG_PLANE_CONSTANT) {
      run[plane] = (uint32_t)(job.input.layout.constant_bits >> 8 * plane & 255) * 0x01010101u;
    }
  }
}

/* The lane's symbols of a row, from coded planes. */
template <class Kind, class Words>
__device__ __forceinline__ void take_coded(const PlanesDecodeJob &job, const Words &words,
                                           const uint16_t *entries, uint32_t count,
                                           LaneSymbols (&lanes)[Kind::kValueBytes],
                                           uint32_t (&run)[Kind::kValueBytes]) {
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.input.layout.modes, plane) != SZG_PLANE_CODED) continue;
    run[plane] = lanes[plane].take_run(words, entries, count);
    entries += SZG_PLANES_ENTRIES;
  }
}

/* A batch of rows, without their coded symbols yet. kIsWhole: the tile is full. */
template <class Kind, bool kIsWhole>
struct RowBatch {
  static constexpr uint32_t kRows = PlanesDecodePolicy<Kind>::kRows;
  uint32_t runs[kRows][Kind::kValueBytes], counts[kRows];

  __device__ __forceinline__ void load(const PlanesDecodeJob &job, const DecodeTile &tile,
                                       uint32_t row, unsigned lane) {
    uint64_t const first = tile.first_value + row * SZG_PLANES_ROW + lane * SZG_PLANES_RUN;
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      counts[i] = kIsWhole ? SZG_PLANES_RUN : run_values(tile.value_count, row + i, lane);
      load_uncoded<Kind>(job, first + i * SZG_PLANES_ROW, counts[i], runs[i]);
    }
  }
};

/* Decodes the rows. kIsWhole: in addition, the whole tile is wanted and whole runs can be stored.
 * Loads the stored bytes of a batch while it decodes the one before. */
template <class Kind, bool kIsWhole, class Words>
__device__ __forceinline__ void decode_rows(const PlanesDecodeJob &job, const DecodeTile &tile,
                                            const Words &words, const uint16_t *entries,
                                            LaneSymbols (&lanes)[Kind::kValueBytes],
                                            unsigned lane) {
  StoredSums<Kind> sums;
  sums.key_place = shared_address(first_sum_key() + lane);
  typedef RowBatch<Kind, kIsWhole> Batch;
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  uint32_t const row_count =
      kIsWhole ? kTileRows : (tile.value_count + SZG_PLANES_ROW - 1) / SZG_PLANES_ROW;
  uint64_t first = tile.first_value + lane * SZG_PLANES_RUN;
  Batch coming;
  coming.load(job, tile, 0, lane);
#pragma unroll 1
  for (uint32_t row = 0; row < row_count; row += Batch::kRows) {
    Batch batch = coming;
    if (row + Batch::kRows < row_count) coming.load(job, tile, row + Batch::kRows, lane);
    if constexpr (kIsWhole && Kind::kHasSums)
      sums.add_rows(job.stored_sums, tile.first_value, row, batch.runs, lane);
#pragma unroll
    for (uint32_t i = 0; i < Batch::kRows; i++)
      take_coded<Kind>(job, words, entries, batch.counts[i], lanes, batch.runs[i]);
#pragma unroll
    for (uint32_t i = 0; i < Batch::kRows; i++, first += SZG_PLANES_ROW) {
      join_run<kValueBytes>(batch.runs[i]);
      if (kIsWhole)
        store_run<kValueBytes>(job.wanted.bytes + (first * kValueBytes - job.wanted.first),
                               batch.runs[i]);
      else
        store_wanted<kValueBytes>(job.wanted, first, batch.counts[i], batch.runs[i]);
    }
  }
}

/* False, in all lanes or in one: the words are no tile's. near: the same words, for all lanes to
 * read. The whole warp calls. */
template <class Kind, bool kIsWhole, class Words>
__device__ __forceinline__ bool decode_tile(const PlanesDecodeJob &job, const DecodeTile &tile,
                                            const Words &words, const uint32_t *near,
                                            uint32_t word_count, const uint16_t *entries,
                                            unsigned lane) {
  LaneSymbols lanes[Kind::kValueBytes];
  uint32_t end_bits[Kind::kValueBytes], begin = 0;
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.input.layout.modes, plane) != SZG_PLANE_CODED) continue;
    LanePlace const place = find_lane(near, begin, word_count, lane);
    if (!place.is_good) return false;
    lanes[plane].bits.start(words, place.first_bit);
    end_bits[plane] = place.end_bit;
    begin = place.end_word;
  }
  if (begin != word_count) return false;
  decode_rows<Kind, kIsWhole>(job, tile, words, entries, lanes, lane);
  bool ends_well = true;
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++)
    if (Kind::mode(job.input.layout.modes, plane) == SZG_PLANE_CODED)
      ends_well = ends_well && lanes[plane].bits.bit(words) == end_bits[plane];
  return ends_well;
}

/* Decodes a tile through shared memory if there is room. The whole warp calls. */
template <class Kind, bool kIsWhole>
__device__ __forceinline__ bool decode_words(const PlanesDecodeJob &job, const DecodeTile &tile,
                                             const uint32_t *words, uint32_t word_count,
                                             const uint16_t *entries, uint32_t *staged,
                                             unsigned lane) {
  if (word_count == 0 || word_count > job.staged_words) {
    ArchiveWords const source = {words, word_count};
    return decode_tile<Kind, kIsWhole>(job, tile, source, words, word_count, entries, lane);
  }
  __syncwarp(); /* the tile before is done with the shared memory */
#pragma unroll 8
  for (uint32_t j = lane; j < word_count; j += SZG_LANES) staged[j] = __ldcs(words + j);
  if (lane < BitWindow::kWordsAhead) staged[word_count + lane] = 0;
  __syncwarp(); /* the words are there */
  StagedWords const source = StagedWords::of(staged);
  return decode_tile<Kind, kIsWhole>(job, tile, source, staged, word_count, entries, lane);
}

/* The whole warp calls. */
template <class Kind>
__device__ __forceinline__ bool decode_any_tile(const PlanesDecodeJob &job, uint32_t index,
                                                const uint16_t *entries, uint32_t *staged,
                                                unsigned lane) {
  uint64_t const first_value = (uint64_t)index * SZG_TILE_VALUES;
  uint64_t const left = job.input.value_count - first_value;
  DecodeTile const tile = {first_value,
                           (uint32_t)(left < SZG_TILE_VALUES ? left : SZG_TILE_VALUES)};
  uint32_t word_count = 0;
  uint64_t first_word = 0;
  if (job.coded_planes > 0) {
    word_count = job.input.sizes[index];
    first_word = job.input.first_words[index];
    if (first_word > job.input.word_count || word_count > job.input.word_count - first_word)
      return false;
  }
  const uint32_t *const words = job.input.words + first_word;
  constexpr uint64_t kTileBytes = (uint64_t)SZG_TILE_VALUES * Kind::kValueBytes;
  uint64_t const place = first_value * Kind::kValueBytes - job.wanted.first; /* huge: before it */
  bool const is_whole = job.wanted.are_runs_aligned && tile.value_count == SZG_TILE_VALUES &&
                        place < job.wanted.count && job.wanted.count - place >= kTileBytes;
  if (is_whole)
    return decode_words<Kind, true>(job, tile, words, word_count, entries, staged, lane);
  return decode_words<Kind, false>(job, tile, words, word_count, entries, staged, lane);
}

/* ---- all tiles ---- */

/* One of block_count blocks that decode the wanted tiles. The whole block calls. */
template <class Kind>
__device__ __forceinline__ void decode_tiles(const PlanesDecodeJob &job, uint32_t block_count) {
  typedef PlanesDecodePolicy<Kind> Policy;
  unsigned const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t *const listed = job.input.listed_tiles;
  uint32_t const tile_count = listed ? listed[0] : job.end_tile - job.first_tile;
  RenewedTileQueue queue(job.input.counter, tile_count, block_count * Policy::kWarps);
  queue.ask(lane);
  if (Kind::kHasSums) make_sum_keys(first_sum_key(), Policy::kThreads);
  uint32_t const vector_count = job.coded_planes * (kTableBytes / 16);
  uint4 *const tables = decode_memory + kSumKeyBytes<Kind> / 16;
  for (uint32_t i = threadIdx.x; i < vector_count; i += Policy::kThreads)
    tables[i] = ((const uint4 *)(const void *)job.input.entries)[i];
  __syncthreads(); /* keys and tables are whole */
  const uint16_t *const entries = (const uint16_t *)(const void *)tables;
  uint32_t *const staged =
      (uint32_t *)(void *)(tables + vector_count) + warp * (job.staged_words + kOverrunLaneWords);
  for (uint32_t i = queue.take(); i < tile_count; i = queue.take()) {
    queue.ask(lane);
    uint32_t const tile = listed ? listed[1 + i] : job.first_tile + i;
    if (!decode_any_tile<Kind>(job, tile, entries, staged, lane)) job.verdict->bad_data = 1;
  }
}

} // namespace szg

#endif
