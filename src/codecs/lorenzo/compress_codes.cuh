/* compress_codes.cuh - turns deltas into bits during compression.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_COMPRESS_CODES_CUH
#define SZG_COMPRESS_CODES_CUH

#include "codecs/lorenzo/compress_bits.cuh"
#include "codecs/lorenzo/tile_shape.cuh"

namespace szg {

/* The entry in the block's table of a delta that escapes; the fast way does not take those. It
 * appends two codes at once if they and the length of the first fit one word. */
constexpr uint32_t kIsEscape = 32;
constexpr uint32_t kEntryLength = 31; /* in an entry: the code's number of bits */
constexpr uint32_t kMostJoined = 27;  /* bits of two codes */
static_assert(SZG_TILE_CODE_BITS + 7 <= 32 - 7, "a code leaves the bits free that sums need");
static_assert(kMostJoined + 5 <= 32, "two codes and a length");

/* How the codes of a frame are written. */
struct Coder {
  const szg_tile_encoder *encoder;
  uint32_t lattice_bits;
  uint32_t zero_groups;
};

/* ---- one delta of 16 bits ---- */

/* Code and raw bits, left-aligned. */
struct WholeCode {
  uint32_t code, bit_count;
};
static_assert(SZG_TILE_CODE_BITS + 16 <= 32, "an escape and the delta");

__device__ __forceinline__ WholeCode whole_code(int32_t delta) {
  const CompressTables &tables = shared_tables();
  uint32_t entry = 0, raw = 0, raw_bits = 0;
  if (szg_is_direct(delta)) {
    entry = tables.table[delta + SZG_TILE_DIRECT] & ~kIsEscape;
  } else {
    uint32_t const magnitude = (uint32_t)abs(delta), top = 31 - (uint32_t)__clz((int)magnitude);
    raw_bits = top - 1;
    raw = magnitude & ((1u << raw_bits) - 1);
    entry = tables.classes[2 * top + (magnitude >> raw_bits & 1) + (delta < 0 ? kClasses16 : 0)];
  }
  if ((entry & kEntryLength) == 0) {
    entry = tables.escape;
    raw = (uint32_t)delta & 0xFFFF;
    raw_bits = 16;
  }
  uint32_t const bit_count = (entry & kEntryLength) + raw_bits;
  return {(entry & ~kEntryLength) | szg_left_aligned(raw, bit_count), bit_count};
}

/* ---- any delta ---- */

__device__ __forceinline__ void append_entry(LaneBits &bits, uint32_t entry) {
  append_bits(bits, entry & ~kEntryLength, entry & kEntryLength);
}

/* Appends a delta without a direct code, by its class or by the escape. */
template <class Signed>
__device__ __noinline__ LaneBits append_rare(LaneBits bits, Signed delta, Coder coder) {
  uint64_t const magnitude = szg_delta_magnitude(delta) | (delta == 0); /* 0 has no class */
  uint32_t const magnitude_class = szg_magnitude_class(magnitude);
  uint32_t const entry =
      szg_is_direct(delta)
          ? 0
          : coder.encoder->classes[magnitude_class + (delta < 0 ? SZG_TILE_CLASSES : 0)];
  if (entry & kEntryLength) {
    append_bits(bits, entry & ~kEntryLength, entry & kEntryLength);
    append_number(bits, magnitude - szg_class_base(magnitude_class),
                  szg_class_raw_bits(magnitude_class));
    return bits;
  }
  uint32_t const escape = coder.encoder->escape;
  if (escape & kEntryLength) append_bits(bits, escape & ~kEntryLength, escape & kEntryLength);
  append_number(bits, (uint64_t)(int64_t)delta, coder.lattice_bits);
  return bits;
}

template <class Signed>
__device__ __forceinline__ void append_delta(LaneBits &bits, Signed delta, const Coder &coder) {
  if (szg_is_direct(delta)) {
    uint32_t const entry = shared_tables().table[(int32_t)delta + SZG_TILE_DIRECT];
    if (entry & kEntryLength) {
      append_entry(bits, entry);
      return;
    }
  }
  bits = append_rare<Signed>(bits, delta, coder);
}

/* ---- groups ---- */

/* Rows of the first half of a group, in code order 0 4 1 5; the others follow. */
constexpr uint32_t kFirstHalfRows = 0x33;

/* Appends the bit before a group or half, if there is one, and returns whether codes follow. rows:
 * those of the group or half that the lane has; with_deltas: those with a nonzero delta. */
__device__ __forceinline__ bool append_zero_bit(LaneBits &bits, uint32_t rows,
                                                uint32_t with_deltas) {
  if (rows == 0) return false;
  bool const has_codes = (rows & with_deltas) != 0;
  append_bits(bits, has_codes ? 0x80000000u : 0, 1);
  return has_codes;
}

/* Whether the codes of a half of a group follow. Appends the bit that says so: the half's own, or
 * before the first half the group's. */
__device__ __forceinline__ bool has_half_codes(LaneBits &bits, uint32_t half, uint32_t rows,
                                               uint32_t with_deltas, uint32_t zero_groups) {
  if (zero_groups == SZG_ZERO_GROUPS_NONE) return true;
  uint32_t const half_rows = half == 0 ? kFirstHalfRows : kAllRows & ~kFirstHalfRows;
  if (zero_groups == SZG_ZERO_GROUPS_4) return append_zero_bit(bits, rows & half_rows, with_deltas);
  if (half == 0) return append_zero_bit(bits, rows, with_deltas);
  return with_deltas != 0;
}

/* Appends the codes of a group one by one. rows: those that the lane has, as bits. append(row). */
template <class Append>
__device__ __forceinline__ void append_group(LaneBits &bits, uint32_t rows, uint32_t with_deltas,
                                             uint32_t zero_groups, Append append) {
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    if (!has_half_codes(bits, half, rows, with_deltas, zero_groups)) continue;
#pragma unroll
    for (uint32_t i = 4 * half; i < 4 * half + 4; i++) {
      uint32_t const row = szg_group_row(i);
      if (rows >> row & 1) append(row);
    }
  }
}

} // namespace szg

#endif
