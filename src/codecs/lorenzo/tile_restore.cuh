/* tile_restore.cuh - a warp turns one tile's words into values: head, lanes, sums, stores.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One lane per place, eight rows at a time. The code trusts nothing in the words (docs/predict.md,
 * "Tiles on a GPU").
 */
#ifndef SZG_TILE_RESTORE_CUH
#define SZG_TILE_RESTORE_CUH

#include "codecs/lorenzo/lane_reader.cuh"
#include "codecs/lorenzo/tile_cuda.h"
#include "codecs/lorenzo/tile_output.cuh"
#include "codecs/lorenzo/tile_shape.cuh"
#include "codecs/lorenzo/tile_sums.cuh"
#include "core/lane_head.cuh"
#include "quant/arithmetic.cuh"

namespace szg {

/* ---- values ---- */

/* Both points of four neighbours. On the 16-bit lattice a point becomes f32 as the low mantissa
 * bits of 2^23 + (q + 2^15), from which 2^23 + 2^15 is subtracted: exact, and faster than a
 * conversion. */
template <class A, uint32_t kLatticeBits>
struct Restorer {
  static __device__ __forceinline__ void restore(const szg_quantizer &k,
                                                 PointPair<kLatticeBits> pair,
                                                 typename A::Value *low, typename A::Value *high) {
    *low = A::value(k, pair.low());
    *high = A::value(k, pair.high());
  }
};

template <>
struct Restorer<Arithmetic<SZG_ARITHMETIC_F32>, 16> {
  static __device__ __forceinline__ void restore(const szg_quantizer &k, PointPair<16> pair,
                                                 float *low, float *high) {
    uint32_t const raised = pair.both ^ 0x80008000u; /* 2^15 more, in both halves */
    float const less = 8388608.0f + 32768.0f;
    float const low_point = __uint_as_float(__byte_perm(raised, 0x4B00u, 0x5410)) - less;
    float const high_point = __uint_as_float(__byte_perm(raised, 0x4B00u, 0x5432)) - less;
    *low = szg_limit_f32(low_point * k.step_f32, k.least_f32, k.greatest_f32);
    *high = szg_limit_f32(high_point * k.step_f32, k.least_f32, k.greatest_f32);
  }
};

template <class Inner, uint32_t kLatticeBits>
struct Restorer<Narrowing<Inner>, kLatticeBits> : Restorer<Inner, kLatticeBits> {};

/* ---- a tile ---- */

/* Stores a raw tile's values, which are in code order. */
template <class Value, class Output>
__device__ void copy_raw_tile(const TileShape &tile, const uint32_t *words, unsigned lane,
                              const Output &wanted) {
  uint32_t const plane = tile.x_extent * tile.y_extent;
  for (uint32_t i = lane; i < value_count(tile); i += 32) {
    uint32_t const z = i / plane, y = i % plane / tile.x_extent, x = i % tile.x_extent;
    Value value;
    memcpy(&value, words + (size_t)i * (sizeof value / 4), 4);
    if (sizeof value == 8)
      memcpy((char *)&value + 4, words + (size_t)i * (sizeof value / 4) + 1, 4);
    wanted.store(tile.first_value + z * tile.z_stride + y * tile.y_stride + x, value);
  }
}

/* The kernels' arguments other than the tiles. */
template <class A>
struct TileDecodeJob {
  szg_quantizer quantizer;
  TileLayout layout;
  szg_tile_input_cuda input;
  uint32_t first_tile, end_tile;
  uint32_t staged_words; /* room for a tile's words in shared memory */
  typename OutputOf<A>::Output wanted;
  bool is_whole; /* the whole frame is wanted */
  szg_verdict *verdict;
};

/* The deltas of a group. rows: those that the lane has, as bits. */
template <uint32_t kLatticeBits, bool kMayGroup, class Words>
__device__ __forceinline__ void take_group(LaneReader<Words> *reader, const uint32_t *entries,
                                           uint32_t zero_groups, uint32_t rows,
                                           PointPair<kLatticeBits> (&pairs)[kPairs]) {
  bool has_codes = true, any_has = true;
#pragma unroll
  for (int i = 0; i < kPairs; i++) {
    bool const is_low = (rows >> i & 1) != 0, is_high = (rows >> (i + kPairs) & 1) != 0;
    bool const begins = i == 0 || (i == 2 && zero_groups == SZG_ZERO_GROUPS_4);
    if (kMayGroup && begins && zero_groups != SZG_ZERO_GROUPS_NONE) {
      /* A lane that lacks row 0 or 2 lacks the others too. */
      has_codes = is_low && reader->window() >> 31;
      any_has = __any_sync(kAllLanes, has_codes);
      reader->go_to(reader->position() + (is_low ? 1 : 0));
    }
    if (kMayGroup && !any_has)
      pairs[i] = PointPair<kLatticeBits>::of(0, 0);
    else if (kLatticeBits == 16)
      pairs[i] =
          take_pair<kLatticeBits>(reader, entries, is_low && has_codes, is_high && has_codes);
    else
      pairs[i] =
          take_wide_pair<kLatticeBits>(reader, entries, is_low && has_codes, is_high && has_codes);
  }
}

/* Four neighbours of a plane in shared memory. */
template <class Pair>
__device__ __forceinline__ void load_four(const Pair *from, Pair (&four)[4]) {
  static_assert(sizeof four % 16 == 0, "whole vectors");
  uint4 vectors[sizeof four / 16];
#pragma unroll
  for (size_t i = 0; i < sizeof four / 16; i++) vectors[i] = ((const uint4 *)from)[i];
  memcpy(four, vectors, sizeof four);
}

/* Turns a group's points, four neighbours per lane, into values. Each goes to the lane of its
 * place, so that the warp stores whole rows wherever they begin. `plane` is where `four` came
 * from. */
template <class A, uint32_t kLatticeBits, int kDims>
__device__ __forceinline__ void store_rows(const TileDecodeJob<A> &job, const TileShape &tile,
                                           uint32_t group, unsigned lane, uint32_t rows,
                                           PointPair<kLatticeBits> *plane,
                                           const PointPair<kLatticeBits> (&four)[4]) {
  typedef typename A::Value Value;
#pragma unroll
  for (int c = 0; c < 4; c++) plane[4 * lane + c] = four[c];
  __syncwarp(); /* all points are there */
  uint64_t const first = tile.first_value + value_offset<kDims>(tile, group, 0, lane);
  char *const to = job.wanted.at(first);
#pragma unroll
  for (uint32_t i = 0; i < kPairs; i++) {
    Value low, high;
    Restorer<A, kLatticeBits>::restore(job.quantizer, plane[i * SZG_LANES + lane], &low, &high);
    bool const is_low = (rows >> i & 1) != 0, is_high = (rows >> (i + kPairs) & 1) != 0;
    uint64_t const low_offset = value_offset<kDims>(tile, 0, i, 0);
    uint64_t const high_offset = value_offset<kDims>(tile, 0, i + kPairs, 0);
    if (job.is_whole) {
      if (is_low) job.wanted.put(to, low_offset, low);
      if (is_high) job.wanted.put(to, high_offset, high);
    } else {
      if (is_low) job.wanted.store(first + low_offset, low);
      if (is_high) job.wanted.store(first + high_offset, high);
    }
  }
}

/* How a tile is restored. kIsFull: it has all rows. kIsAligned: in addition, rows can be stored
 * 16 bytes at a time, and the whole frame is wanted. kMayGroup: the frame may have zero groups. */
template <bool kMayGroupGiven, bool kIsFullGiven, bool kIsAlignedGiven>
struct TileForm {
  static constexpr bool kMayGroup = kMayGroupGiven, kIsFull = kIsFullGiven,
                        kIsAligned = kIsAlignedGiven;
};

template <class A, uint32_t kLatticeBits, int kDims, class Kind, bool kHasAll, class Words>
__device__ __forceinline__ void restore_tile(const TileDecodeJob<A> &job, const TileShape &tile,
                                             LaneReader<Words> *reader, const uint32_t *entries,
                                             PointPair<kLatticeBits> *points, unsigned lane) {
  typedef typename A::Value Value;
  typedef PointPair<kLatticeBits> Pair;
  AxesSet const set = axes_set(job.input.axes);
  uint32_t const group_count =
      Kind::kIsFull ? SZG_LANE_CODES / SZG_GROUP_ROWS : szg::group_count<kDims>(tile);
  uint32_t const row = lane / 8, place = lane % 8 * 4;
  uint64_t const low_offset = tile.first_value + value_offset<kDims>(tile, 0, row, place);
  uint64_t const high_offset = tile.first_value + value_offset<kDims>(tile, 0, row + kPairs, place);
  char *low_to = job.wanted.at(low_offset), *high_to = job.wanted.at(high_offset);
  uint64_t const stride_bytes = value_offset<kDims>(tile, 1, 0, 0) * job.wanted.value_bytes();
  uint32_t write_at = lane, read_at = 4 * lane; /* alternates between two planes */
  LaneSums<Pair, kDims> sums;
  sums.start();
  Pair carry = Pair::of(0, 0);
#pragma unroll 1
  for (uint32_t group = 0; group < group_count; group++) {
    uint32_t const rows = Kind::kIsFull ? kAllRows : rows_of_lane<kDims>(tile, group, lane);
    Pair pairs[kPairs];
    take_group<kLatticeBits, Kind::kMayGroup>(reader, entries, job.input.zero_groups, rows, pairs);
    sums.template add<kHasAll>(set, group, lane, pairs);
#pragma unroll
    for (int i = 0; i < kPairs; i++) points[write_at + i * SZG_LANES] = pairs[i];
    __syncwarp(); /* the plane is whole; the one before is not read any more */
    Pair *const plane = points + (read_at - 4 * lane);
    Pair four[4];
    load_four(points + read_at, four);
    write_at ^= kPairs * SZG_LANES;
    read_at ^= kPairs * SZG_LANES;
    if (kHasAll || set.x) sum_along_x<Pair, kDims>(&carry, four);
    if (Kind::kIsAligned) {
      Value low[4], high[4];
#pragma unroll
      for (int c = 0; c < 4; c++)
        Restorer<A, kLatticeBits>::restore(job.quantizer, four[c], &low[c], &high[c]);
      job.wanted.put_four(low_to, low);
      job.wanted.put_four(high_to, high);
      low_to += stride_bytes;
      high_to += stride_bytes;
    } else {
      store_rows<A, kLatticeBits, kDims>(job, tile, group, lane, rows, plane, four);
    }
  }
}

/* Stores a tile in which all deltas are 0. */
template <class A, int kDims, bool kIsAligned>
__device__ __forceinline__ void zero_tile(const TileDecodeJob<A> &job, const TileShape &tile,
                                          unsigned lane) {
  typedef typename A::Value Value;
  Value const zero = A::value(job.quantizer, 0);
  if (kIsAligned) {
    Value const zeros[4] = {zero, zero, zero, zero};
    for (uint32_t group = 0; group < SZG_LANE_CODES / SZG_GROUP_ROWS; group++)
      for (uint32_t row = lane / 8; row < SZG_GROUP_ROWS; row += kPairs)
        job.wanted.put_four(
            job.wanted.at(tile.first_value + value_offset<kDims>(tile, group, row, lane % 8 * 4)),
            zeros);
  } else {
    for (uint32_t group = 0; group < group_count<kDims>(tile); group++) {
      uint32_t const rows = rows_of_lane<kDims>(tile, group, lane);
      for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
        if (rows >> row & 1)
          job.wanted.store(tile.first_value + value_offset<kDims>(tile, group, row, lane), zero);
    }
  }
}

/* Restores a coded tile from words in any memory. */
template <class A, uint32_t kLatticeBits, int kDims, class Kind, class Words>
__device__ __forceinline__ void decode_tile(const TileDecodeJob<A> &job, const TileShape &tile,
                                            const Words &words, const LaneRange &range,
                                            const uint32_t *entries,
                                            PointPair<kLatticeBits> *points, unsigned lane) {
  LaneReader<Words> reader;
  reader.words = words;
  reader.start(range.first, range.is_live());
  uint32_t const begin = reader.position();
  constexpr uint32_t kAll = kDims == 3 ? 7 : kDims == 2 ? 3 : 1;
  if (Kind::kIsFull && job.input.axes == kAll)
    restore_tile<A, kLatticeBits, kDims, Kind, Kind::kIsFull>(job, tile, &reader, entries, points,
                                                              lane);
  else
    restore_tile<A, kLatticeBits, kDims, Kind, false>(job, tile, &reader, entries, points, lane);
  bool const ends_well =
      !range.is_live() || ((reader.position() - begin) & 0xFFFF) == range.end - range.first;
  if (!ends_well) job.verdict->bad_data = 1;
}

/* Whether a tile's size is one that it can have; the warp's first words of it. */
template <class A>
__device__ __forceinline__ bool find_words(const TileDecodeJob<A> &job, uint32_t tile_index,
                                           uint32_t raw_words, const uint32_t **words,
                                           uint32_t *word_count) {
  uint64_t const first_word = job.input.first_words[tile_index];
  *word_count = job.input.sizes[tile_index];
  *words = job.input.words + first_word;
  return *word_count <= raw_words && first_word <= job.input.word_count &&
         *word_count <= job.input.word_count - first_word;
}

} // namespace szg

#endif
