/* tile_decoder.cuh - a block of threads reads and checks a tile frame's codebook section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_DECODER_CUH
#define SZG_TILE_DECODER_CUH

#include <cub/block/block_scan.cuh>

#include "codecs/lorenzo/tile_codes.cuh"

namespace szg {

struct DecoderPolicy {
  static constexpr uint32_t kThreads = 1024;
};

/* Parts of the section; runs are one byte each. */
enum { kHeadBytes = 6, kRunLengthBits = 5, kLongestRun = 8 };
constexpr uint32_t kMostBytes = kHeadBytes + SZG_TILE_SYMBOLS - 1;

typedef cub::BlockScan<uint32_t, DecoderPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> RunScan;

struct DecoderMemory {
  RunScan::TempStorage scan;
  TileCodes codes;
  uint8_t bytes[kMostBytes];
  uint8_t lengths[SZG_TILE_SYMBOLS];
  uint16_t symbols[SZG_TILE_SYMBOLS]; /* by (length, symbol) */
};

/* Reads the lengths of all symbols. False: single lengths already show that the section is invalid.
 * The whole block calls. */
__device__ inline bool read_lengths(const uint8_t *section, uint64_t section_bytes,
                                    DecoderMemory *memory) {
  if (section_bytes < kHeadBytes || section_bytes > kMostBytes) return false;
  uint32_t const byte_count = (uint32_t)section_bytes;
  for (uint32_t i = threadIdx.x; i < byte_count; i += DecoderPolicy::kThreads)
    memory->bytes[i] = section[i];
  for (uint32_t s = threadIdx.x; s < SZG_TILE_SYMBOLS; s += DecoderPolicy::kThreads)
    memory->lengths[s] = 0;
  __syncthreads(); /* bytes are there, and all lengths 0 */
  const uint8_t *const bytes = memory->bytes;
  uint32_t const first = bytes[2] | (uint32_t)bytes[3] << 8;
  uint32_t const count = bytes[4] | (uint32_t)bytes[5] << 8;
  if (bytes[0] < 1 || bytes[0] > SZG_TILE_CODE_BITS || bytes[1] != 0 || first < 1 ||
      first + count > SZG_TILE_SYMBOLS)
    return false;

  constexpr uint32_t kRuns = 2; /* per thread, one after the other */
  static_assert(kRuns * DecoderPolicy::kThreads >= SZG_TILE_SYMBOLS, "runs have threads");
  uint32_t const begin = kHeadBytes + threadIdx.x * kRuns;
  uint32_t covered = 0, before = 0, covered_by_all = 0;
  bool is_sound = true;
  for (uint32_t i = begin; i < min(begin + kRuns, byte_count); i++) {
    covered += (bytes[i] >> kRunLengthBits) + 1u;
    is_sound &= bytes[i] % (1 << kRunLengthBits) <= SZG_TILE_CODE_BITS;
  }
  RunScan(memory->scan).ExclusiveSum(covered, before, covered_by_all);
  if (!__syncthreads_and(is_sound && covered_by_all == count)) return false;
  uint32_t s = first + before;
  for (uint32_t i = begin; i < min(begin + kRuns, byte_count); i++)
    for (uint32_t k = 0; k <= bytes[i] >> kRunLengthBits; k++)
      memory->lengths[s++] = bytes[i] % (1 << kRunLengthBits);
  if (threadIdx.x == 0) memory->lengths[SZG_ESCAPE_SYMBOL] = bytes[0];
  __syncthreads(); /* lengths complete */
  return memory->lengths[SZG_TILE_ZERO] > 0;
}

/* The entry of a window. */
__device__ inline uint32_t entry_of_window(uint32_t window, const DecoderMemory &memory) {
  uint32_t const canonical = window ^ memory.codes.mask;
  uint32_t const length = memory.codes.layout.length_at(canonical);
  return szg_symbol_entry(memory.symbols[memory.codes.layout.rank_at(canonical, length)], length);
}

/* False: the section is invalid, but kernels may safely use the decoder. The whole block calls. */
__device__ inline bool build_decoder(const uint8_t *section, uint64_t section_bytes,
                                     DecoderMemory *memory, szg_tile_decoder *decoder) {
  static_assert(SZG_TILE_ENTRIES % 4 == 0, "whole vectors");
  bool is_good = read_lengths(section, section_bytes, memory);
  if (is_good) { /* the same for the whole block */
    memory->codes.find<DecoderPolicy::kThreads>([=](uint32_t s) { return memory->lengths[s]; });
    is_good = memory->codes.layout.window_count() == SZG_TILE_ENTRIES;
  }
  if (is_good) {
    uint16_t *const symbols = memory->symbols;
    rank_symbols<DecoderPolicy::kThreads>(
        memory->lengths, &memory->codes, [=](uint32_t s, uint32_t length, uint32_t rank) {
          symbols[memory->codes.layout.first_ranks[length] + rank] = (uint16_t)s;
        });
    __syncthreads(); /* symbols and mask known */
  }
  uint32_t const harmless = szg_symbol_entry(SZG_TILE_ZERO, 1);
  for (uint32_t w = 4 * threadIdx.x; w < SZG_TILE_ENTRIES; w += 4 * DecoderPolicy::kThreads) {
    uint4 entries = make_uint4(harmless, harmless, harmless, harmless);
    if (is_good)
      entries = make_uint4(entry_of_window(w, *memory), entry_of_window(w + 1, *memory),
                           entry_of_window(w + 2, *memory), entry_of_window(w + 3, *memory));
    *(uint4 *)(decoder->entries + w) = entries;
  }
  return is_good;
}

} // namespace szg

#endif
