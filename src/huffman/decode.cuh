/* decode.cuh - a codebook's tables for decoders on the device, and what these share.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The next kWindowBits bits of the stream index tables with all whole codes among them. Longer
 * codes are found by canonical order: XORed with the mask, codes rise with their length, so
 * comparisons with the last code of each length give the length.
 */
#ifndef SZG_DECODE_CUH
#define SZG_DECODE_CUH

#include "core/bit_reader.cuh"
#include "core/warp.cuh"
#include "huffman/huffman.h"

namespace szg {

constexpr int kWindowBits =
    11; /* two blocks a multiprocessor of sm_90 have room for their tables */
constexpr uint32_t kWindows = 1u << kWindowBits;
constexpr uint32_t kNarrowSymbols = 1 << 10; /* books up to this size have narrow entries */

/* Entries have up to four symbols in 16-bit lanes from the low end, the sum of their bits, and how
 * many of 64 bits their lanes fill: 16 times their number modulo 64, so 0 for four symbols. */

/* Symbols below kNarrowSymbols: the unused bits of their lanes hold the numbers. */
struct NarrowEntry {
  static constexpr bool kIsNarrow = true;
  static constexpr uint32_t kMostSymbols = 4;
  static constexpr uint64_t kLaneMask = 0x03FF03FF03FF03FFu;
  static __device__ uint64_t of(uint64_t symbols, uint32_t count, uint32_t bits) {
    return symbols | (uint64_t)(count % 4 * 16) << 58 | (uint64_t)bits << 26;
  }
  static __device__ uint32_t bits(uint64_t entry) { return (uint32_t)entry >> 26; }
  static __device__ uint32_t fill(uint64_t entry) { return (uint32_t)(entry >> 32) >> 26; }
  /* Symbols in their lanes; the caller masks them with kLaneMask. */
  static __device__ uint64_t symbols(uint64_t entry) { return entry; }
};

/* Symbols of any size: at most two. */
struct WideEntry {
  static constexpr bool kIsNarrow = false;
  static constexpr uint32_t kMostSymbols = 2;
  static constexpr uint64_t kLaneMask = ~(uint64_t)0;
  static __device__ uint64_t of(uint64_t symbols, uint32_t count, uint32_t bits) {
    return symbols | (uint64_t)(count * 16) << 58 | (uint64_t)bits << 32;
  }
  static __device__ uint32_t bits(uint64_t entry) { return (uint32_t)(entry >> 32) & 31; }
  static __device__ uint32_t fill(uint64_t entry) { return (uint32_t)(entry >> 32) >> 26; }
  static __device__ uint64_t symbols(uint64_t entry) { return (uint32_t)entry; }
};

/* A span: a number of codes and a number of bits in one sum. */
constexpr int kSpanPlaceBits = 10; /* for places in a subsequence and a little beyond */
constexpr uint32_t kSpanPlaceMask = (1u << kSpanPlaceBits) - 1;
static_assert(SZG_SUBSEQUENCE_BITS + 2 * SZG_MAX_CODE_BITS <= kSpanPlaceMask, "places fit");
SZG_HD uint32_t span_of(uint32_t code_count, uint32_t bits) {
  return code_count << kSpanPlaceBits | bits;
}

/* Codes longer than a window come last in canonical order. As numbers of 16 bits they fill slots:
 * their share of the code space times 2^16. The first slots are in a table. */
constexpr uint32_t kLongSlots = 2048;

/* Tables for where codes end. A window that begins with a longer code has span 0 and border 1. */
struct alignas(16) SpanTables {
  uint16_t spans[kWindows];   /* of all whole codes in the window */
  uint16_t borders[kWindows]; /* bit i: a code begins, or the last whole one ends, at bit i */
  uint16_t
      long_codes[kLongSlots]; /* (length - kWindowBits - 1) << 10 | low 10 bits of the symbol */
  uint32_t mask;              /* from 16 bits of the stream to canonical codes and back */
  uint32_t first_long;        /* canonical code of slot 0 */
  uint32_t limits[SZG_MAX_CODE_BITS + 1]; /* canonical codes of up to L bits are less */
  int32_t ranks[SZG_MAX_CODE_BITS + 1];   /* L-bit canonical code + this = its symbol's rank */
  uint32_t is_lone; /* one symbol only: a bit 1 is not a code, whatever the tables say */
  uint32_t unused[3];
};
static_assert(sizeof(SpanTables) % 16 == 0, "copied 16 bytes at a time");

/* Tables for shared memory. Entries come last, so that kernels that only look for where codes end
 * can do without them. */
struct alignas(16) DecodeTables : SpanTables {
  uint64_t entries[kWindows]; /* NarrowEntry or WideEntry; 0: the first code is longer */
};
static_assert(sizeof(DecodeTables) % 16 == 0, "copied 16 bytes at a time");
static_assert(SZG_MAX_CODE_BITS - kWindowBits - 1 < 1 << (16 - 10), "long_codes");

/* The slot of the long code at the start of `bits`. */
inline __device__ uint32_t long_slot(const SpanTables *tables, uint32_t bits) {
  return (bits >> 16 ^ tables->mask) - tables->first_long;
}

/* The length of a slot's code; for any slot, over kWindowBits and at most SZG_MAX_CODE_BITS. */
inline __device__ uint32_t long_code_bits(const SpanTables *tables, uint32_t slot) {
  if (slot < kLongSlots) return (tables->long_codes[slot] >> 10) + kWindowBits + 1;
  uint32_t length = kWindowBits + 1;
#pragma unroll
  for (int l = kWindowBits + 1; l < SZG_MAX_CODE_BITS; l++)
    length += slot + tables->first_long >= tables->limits[l];
  return length;
}

/* The rank of a slot's symbol in (length, symbol) order; for any slot, below SZG_MAX_SYMBOLS. */
inline __device__ uint32_t long_code_rank(const SpanTables *tables, uint32_t slot,
                                          uint32_t length) {
  uint32_t const code = (slot + tables->first_long) >> (SZG_MAX_CODE_BITS - length);
  return (uint32_t)((int32_t)code + tables->ranks[length]) % SZG_MAX_SYMBOLS;
}

} // namespace szg

/* In device memory; szg_decode_book_build_cuda makes it. */
struct szg_decode_book_cuda {
  szg::DecodeTables tables;
  uint32_t single[szg::kWindows];    /* first code of the window: bits << 16 | symbol, 0: longer */
  uint16_t symbols[SZG_MAX_SYMBOLS]; /* by (length, symbol) */
  uint8_t lengths[SZG_MAX_SYMBOLS];  /* by symbol */
};

#endif
