/* levels_encode_table.cuh - a level's books as the fused encoder looks its codes up.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An entry has code and raw bits from bit 31 on and their number in its low six bits, so that two
 * entries are joined and their numbers added without masks. The flag stands for what has no code of
 * its own, or one too long to be joined with another.
 */
#ifndef SZG_LEVELS_ENCODE_TABLE_CUH
#define SZG_LEVELS_ENCODE_TABLE_CUH

#include "huffman/tokens_books_core.h"
#include "huffman/tokens_cuda.h"

namespace szg {

constexpr uint32_t kLevelsEntrySlow = 0x800;
constexpr uint32_t kLevelsEntryBits = ~0xfffu; /* that may be code */
constexpr uint32_t kLevelsJoinedMost = 16;     /* bits of each of two entries in a word */
static_assert(SZG_LEVELS_CODE_BITS + 8 <= 20, "an escaped octet or mask fits an entry");

/* Aligned to 4 * kLevelsTableEntries bytes in shared memory, so that addresses are joined by OR.
 * Masks and octets have the bit of their first place or octet highest. */
constexpr uint32_t kLevelsTableEntries = 256;
struct LevelsEncodeTable {
  uint32_t tops[kLevelsTableEntries];    /* pairs: by (a + 8) | (b + 8) << 4; masks: by octets */
  uint32_t masks[kLevelsTableEntries];   /* by the places of an octet, escapes included */
  uint32_t values[kLevelsTableEntries];  /* by code + 128 */
  uint32_t other_values;                 /* follows them: slow */
  uint32_t symbols[kLevelsTableEntries]; /* of values, as szg_tokens_encoder has them */
  uint32_t pair_escape;
  uint32_t mode, lane_groups_log2;
};
static_assert(sizeof(LevelsEncodeTable) % 16 == 0, "what follows it is aligned");

/* The entry of a value with the bits that follow its symbol, if all of them are few. */
__device__ inline uint32_t levels_value_entry(const szg_tokens_encoder &encoder, int32_t code) {
  szg_value_token const token = szg_value_token_of(code, false);
  uint32_t const entry = encoder.values[token.symbol];
  uint32_t const length = entry & SZG_TOKENS_ENCODER_LENGTH, all = length + token.raw_bits;
  if (entry == 0 || all > kLevelsJoinedMost) return kLevelsEntrySlow;
  uint32_t const raw = token.raw_bits ? (uint32_t)token.raw << (32 - all) : 0;
  return (entry & ~(uint32_t)SZG_TOKENS_ENCODER_LENGTH) | raw | all;
}

__device__ inline uint32_t levels_pair_entry(const szg_tokens_encoder &encoder, uint32_t nibbles) {
  int32_t const a = (int32_t)(nibbles & 15) - 8, b = (int32_t)(nibbles >> 4) - 8;
  uint32_t const entry = encoder.small_pairs[szg_pair_symbol(a, b)];
  return entry ? entry : kLevelsEntrySlow;
}

/* The whole block calls, and synchronizes before it reads. */
__device__ inline void make_levels_table(const szg_tokens_book_cuda &book,
                                         LevelsEncodeTable *table) {
  const szg_tokens_encoder &encoder = book.encoder;
  bool const has_pairs = book.plan.mode == SZG_LEVELS_MODE_PAIRS;
  for (uint32_t i = threadIdx.x; i < kLevelsTableEntries; i += blockDim.x) {
    uint32_t const places = __brev(i) >> 24;
    table->values[i] = levels_value_entry(encoder, (int32_t)i - 128);
    table->tops[i] = has_pairs ? levels_pair_entry(encoder, i) : encoder.octets[places];
    table->masks[i] = encoder.masks[places];
    table->symbols[i] = encoder.values[i];
  }
  if (threadIdx.x > 0) return;
  table->other_values = kLevelsEntrySlow;
  table->pair_escape = encoder.pairs[SZG_LEVELS_PAIR_ESCAPE];
  table->mode = book.plan.mode;
  table->lane_groups_log2 = book.plan.lane_groups_log2;
}

} // namespace szg

#endif
