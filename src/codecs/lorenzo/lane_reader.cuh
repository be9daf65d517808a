/* lane_reader.cuh - reads a lane of a coded tile: a window on its bits, and its codes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LANE_READER_CUH
#define SZG_LANE_READER_CUH

#include "codecs/lorenzo/point_pair.cuh"
#include "codecs/lorenzo/tile_core.h"
#include "core/bit_reader.cuh"

namespace szg {

/* How far a lane can go if all codes and what follows them are as long as possible. */
constexpr uint32_t kOverrunWords = (SZG_LANE_CODES * (1 + SZG_TILE_CODE_BITS + 64) + 31) / 32 + 4;

/* A lane on its way through its codes. */
template <class Words>
struct LaneReader {
  Words words;
  BitWindow bits;
  uint32_t crossing; /* 32, or 0 for a lane without bits: that one stays where it is, in a window of
                        zeros, and so reads delta 0 again and again */

  __device__ __forceinline__ void start(uint32_t first_bit, bool has_bits) {
    bits.start(words, first_bit, has_bits);
    crossing = has_bits ? 32 : 0;
  }
  __device__ __forceinline__ uint32_t position() const { return bits.position; }
  __device__ __forceinline__ uint32_t window() const { return bits.window(); }
  __device__ __forceinline__ void go_to(uint32_t to) { bits.go_to(words, to, crossing); }

  /* Reads up to 64 bits as a number. */
  __device__ __forceinline__ uint64_t take(uint32_t bit_count) {
    uint64_t value = 0;
    if (bit_count > 32) {
      value = window();
      go_to(position() + 32);
      bit_count -= 32;
      value <<= bit_count;
    }
    if (bit_count > 0) {
      value |= window() >> (32 - bit_count);
      go_to(position() + bit_count);
    }
    return value;
  }
};

/* The entry for a window, from szg_tile_decoder's table in shared memory. */
__device__ __forceinline__ uint32_t entry_of(const uint32_t *entries, uint32_t window) {
  return entries[window >> (32 - SZG_TILE_CODE_BITS)];
}

/* Reads one code of any kind, and what follows it. Entries are szg_tile_decoder's. */
template <uint32_t kLatticeBits, class Words>
__device__ __forceinline__ int64_t take_delta(LaneReader<Words> *reader, uint32_t entry) {
  uint32_t const window = reader->window();
  uint32_t const length = entry & SZG_ENTRY_LENGTH;
  if (!(entry & SZG_ENTRY_RARE)) {
    reader->go_to(reader->position() + length);
    return (int32_t)entry >> 16;
  }
  uint32_t const magnitude_class = entry >> 16 & (SZG_TILE_CLASSES - 1);
  uint32_t const raw_bits =
      entry & SZG_ENTRY_ESCAPE ? kLatticeBits : szg_class_raw_bits(magnitude_class);
  uint64_t raw;
  if (length + raw_bits <= 32) { /* as always on the 16-bit lattice: all of it is in the window */
    raw = raw_bits > 0 ? window << length >> (32 - raw_bits) : 0;
    reader->go_to(reader->position() + length + raw_bits);
  } else {
    reader->go_to(reader->position() + length);
    raw = reader->take(raw_bits);
  }
  if (entry & SZG_ENTRY_ESCAPE) return szg_delta_of_bits(raw, kLatticeBits);
  uint64_t const magnitude = szg_class_base(magnitude_class) + raw;
  return (int64_t)(entry & SZG_ENTRY_NEGATIVE ? 0 - magnitude : magnitude);
}

/* ---- lattices of 32 and 64 bits, where codes of classes are as common as others ---- */

/* The block's table has entries of another kind there, which say in the same way what any delta is.
 * From the highest bit: 11 signed bits, the top; 5, the code's length; 10 of 0; 6, the number of
 * bits of code and raw bits. The magnitude is the top, followed by the raw bits; for a negative
 * delta the top is the complement, and so are the raw bits to be. Entries with SZG_ENTRY_RARE set
 * are szg_tile_decoder's: escapes, and classes with too many bits for one look. */
template <uint32_t kLatticeBits>
__device__ __forceinline__ uint32_t wide_entry(uint32_t entry) {
  /* 32: code and raw bits fit a window. 64: raw bits fit one, and the magnitude has 31 bits. */
  constexpr uint32_t kMostRaw = kLatticeBits == 32 ? 31 : 29;
  constexpr uint32_t kMostBits = kLatticeBits == 32 ? 32 : 63;
  uint32_t const length = entry & SZG_ENTRY_LENGTH;
  if (!(entry & SZG_ENTRY_RARE)) {
    int32_t const delta = (int32_t)entry >> 16;
    return (uint32_t)(delta < 0 ? delta - 1 : delta) << 21 | length << 16 | length;
  }
  uint32_t const magnitude_class = entry >> 16 & (SZG_TILE_CLASSES - 1);
  uint32_t const raw_bits = szg_class_raw_bits(magnitude_class);
  if (entry & SZG_ENTRY_ESCAPE || raw_bits > kMostRaw || length + raw_bits > kMostBits)
    return entry;
  uint32_t const top = magnitude_class < 2 ? 1 : 2 + (magnitude_class & 1);
  return (entry & SZG_ENTRY_NEGATIVE ? ~top : top) << 21 | length << 16 | (length + raw_bits);
}
static_assert(SZG_TILE_DIRECT <= 1 << 10, "a top has 11 bits");
static_assert(SZG_ENTRY_RARE > 63 && SZG_ENTRY_RARE < 1 << 16, "a bit that others have as 0");

/* Reads a code that is not rare; a rare one reads as anything. is_there: whether the lane has a
 * code there; if not, the result is delta 0. */
template <uint32_t kLatticeBits, class Words>
__device__ __forceinline__ int32_t take_wide_delta(LaneReader<Words> *reader,
                                                   const uint32_t *entries, bool is_there,
                                                   uint32_t *seen) {
  uint32_t window = reader->window();
  uint32_t const entry = is_there ? entry_of(entries, window) : 0;
  *seen |= entry;
  uint32_t const code_bits = entry >> 16, to = reader->position() + entry; /* see bits_from */
  if (kLatticeBits == 32) {
    window = bits_after(window, code_bits);
  } else {
    reader->go_to(reader->position() + (code_bits & SZG_ENTRY_LENGTH));
    window = reader->window();
  }
  reader->go_to(to);
  int32_t const top = (int32_t)entry >> 21;
  uint32_t const sign = (uint32_t)(top >> 31), raw_bits = entry - code_bits;
  return (int32_t)(bits_from(window ^ sign, (uint32_t)top, raw_bits) - sign);
}

/* Reads a code of any kind with entries of that kind. */
template <uint32_t kLatticeBits, class Words>
__device__ __forceinline__ int64_t take_any_delta(LaneReader<Words> *reader,
                                                  const uint32_t *entries) {
  uint32_t const entry = entry_of(entries, reader->window());
  uint32_t seen = 0;
  if (entry & SZG_ENTRY_RARE) return take_delta<kLatticeBits>(reader, entry);
  return take_wide_delta<kLatticeBits>(reader, entries, true, &seen);
}

/* Like take_pair. */
template <uint32_t kLatticeBits, class Words>
__device__ __forceinline__ PointPair<kLatticeBits> take_wide_pair(LaneReader<Words> *reader,
                                                                  const uint32_t *entries,
                                                                  bool is_low, bool is_high) {
  LaneReader<Words> const before = *reader;
  uint32_t seen = 0;
  int32_t const first = take_wide_delta<kLatticeBits>(reader, entries, is_low, &seen);
  int32_t const second = take_wide_delta<kLatticeBits>(reader, entries, is_high, &seen);
  if (__builtin_expect(seen & SZG_ENTRY_RARE, 0)) {
    *reader = before;
    int64_t low = 0, high = 0;
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
      low = high;
      high = (i == 0 ? is_low : is_high) ? take_any_delta<kLatticeBits>(reader, entries) : 0;
    }
    return PointPair<kLatticeBits>::of(low, high);
  }
  return PointPair<kLatticeBits>::of(first, second);
}

/* Reads two successive codes. is_low, is_high: whether the lane has a code there; if not, the
 * result is delta 0. */
template <uint32_t kLatticeBits, class Words>
__device__ __forceinline__ PointPair<kLatticeBits> take_pair(LaneReader<Words> *reader,
                                                             const uint32_t *entries, bool is_low,
                                                             bool is_high) {
  uint32_t const window = reader->window();
  uint32_t first = 0, second = 0;
  if (is_low) first = entry_of(entries, window);
  uint32_t const rest = bits_after(window, first);
  if (is_high) second = entry_of(entries, rest);
  if (__builtin_expect((first | second) & SZG_ENTRY_RARE, 0)) {
    int64_t low = 0, high = 0;
#pragma unroll 1
    for (int i = 0; i < 2; i++) { /* a loop, because its code is long and rarely runs */
      low = high;
      high = (i == 0 ? is_low : is_high)
                 ? take_delta<kLatticeBits>(reader, entry_of(entries, reader->window()))
                 : 0;
    }
    return PointPair<kLatticeBits>::of(low, high);
  }
  reader->go_to(reader->position() + first + second);
  return PointPair<kLatticeBits>::of_entries(first, second);
}

} // namespace szg

#endif
