/* tile_decoder.cuh - a block of threads reads and checks a tile frame's codebook section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_DECODER_CUH
#define SZG_TILE_DECODER_CUH

#include "codecs/lorenzo/tile_codes.cuh"
#include "huffman/book_section.cuh"

namespace szg {

struct DecoderPolicy {
  static constexpr uint32_t kThreads = 1024;
};

constexpr uint32_t kMostBytes = SZG_BOOK_HEAD_BYTES + SZG_TILE_SYMBOLS - 1;

typedef BookSection<DecoderPolicy::kThreads> TileBookSection;

struct DecoderMemory {
  TileBookSection::Memory section;
  TileCodes codes;
  uint8_t bytes[kMostBytes];
  uint8_t lengths[SZG_TILE_SYMBOLS];
  uint16_t symbols[SZG_TILE_SYMBOLS]; /* by (length, symbol) */
};

/* Reads the lengths of all symbols. False: single lengths already show that the section is invalid.
 * The whole block calls. */
__device__ inline bool read_lengths(const uint8_t *section, uint64_t section_bytes,
                                    DecoderMemory *memory) {
  if (section_bytes > kMostBytes) return false;
  uint32_t const byte_count = (uint32_t)section_bytes;
  for (uint32_t i = threadIdx.x; i < byte_count; i += DecoderPolicy::kThreads)
    memory->bytes[i] = section[i];
  for (uint32_t s = threadIdx.x; s < SZG_TILE_SYMBOLS; s += DecoderPolicy::kThreads)
    memory->lengths[s] = 0;
  __syncthreads(); /* bytes are there, and all lengths 0 */
  if (!TileBookSection::read(memory->bytes, byte_count, SZG_TILE_SYMBOLS, SZG_TILE_CODE_BITS,
                             &memory->section, memory->lengths))
    return false;
  __syncthreads(); /* lengths complete */
  return memory->lengths[SZG_ESCAPE_SYMBOL] > 0 && memory->lengths[SZG_TILE_ZERO] > 0;
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
