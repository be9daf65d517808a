/* tokens_encode_tables.c - books of a level to tables for encoding.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "huffman/tokens_near.h"

static void build_entries(const uint8_t *lengths, uint32_t symbol_count, uint32_t *entries) {
  uint32_t counts[SZG_LEVELS_CODE_BITS + 1] = {0}, next_codes[SZG_LEVELS_CODE_BITS + 1] = {0};
  uint32_t end = symbol_count;
  while (end > 0 && lengths[end - 1] == 0) end--;
  for (uint32_t s = 0; s < end; s++) counts[lengths[s]]++;
  for (uint32_t length = 1; length < SZG_LEVELS_CODE_BITS; length++)
    next_codes[length + 1] = (next_codes[length] + counts[length]) << 1;
  memset(entries + end, 0, (symbol_count - end) * sizeof *entries);
  for (uint32_t s = 0; s < end; s++) {
    uint32_t const length = lengths[s];
    entries[s] = length ? next_codes[length]++ << (32 - length) | length : 0;
  }
}

/* Gives bytes without a code the escape, if that has one, and themselves. */
static void build_byte_entries(const uint8_t *lengths, uint32_t symbol_count, uint32_t escape,
                               uint32_t *entries) {
  uint32_t own[SZG_LEVELS_OCTETS];
  build_entries(lengths, symbol_count, own);
  for (uint32_t byte = 0; byte < 256; byte++) {
    bool const has_code = own[byte] != 0 && byte != escape;
    entries[byte] = has_code ? own[byte] : szg_tokens_escaped_byte(own[escape], byte);
  }
}

SZG_INLINE uint32_t near_entry_of(uint32_t entry) { return entry ? entry : SZG_NO_NEAR_ENTRY; }

/* The bits of a value that is not escaped, the raw ones too. */
SZG_INLINE uint32_t near_entry(const szg_tokens_encoder *encoder, int32_t code) {
  szg_value_token const token = szg_value_token_of(code, false);
  uint32_t const entry = encoder->values[token.symbol], length = szg_entry_length(entry);
  if (!entry) return SZG_NO_NEAR_ENTRY;
  uint32_t const raw_end = 32 - length - token.raw_bits;
  return (entry & ~31u) | (uint32_t)token.raw << raw_end | (length + token.raw_bits);
}

/* Near entries of a class, from `base`, its value nearest to 0, on: they differ by raw bits. */
SZG_INLINE void build_near_class(const szg_tokens_encoder *encoder, int32_t base, uint32_t *near) {
  uint32_t const entry = near_entry(encoder, base);
  uint32_t const step = entry == SZG_NO_NEAR_ENTRY ? 0 : 1u << (32 - (entry & SZG_NEAR_LENGTH));
  uint32_t const count = 1u << szg_value_token_of(base, false).raw_bits;
  bool const is_negative = base < 0;
  uint32_t *const least = near + (SZG_TOKENS_NEAR + base) - (is_negative ? count - 1 : 0);
  uint32_t const first = is_negative ? entry + (count - 1) * step : entry;
  uint32_t const rise = is_negative ? 0 - step : step;
  for (uint32_t i = 0; i < count; i++) least[i] = first + i * rise;
}

SZG_HOT static void build_near(const szg_tokens_encoder *encoder, uint32_t *near) {
  for (int32_t code = 1 - SZG_LEVELS_DIRECT; code < SZG_LEVELS_DIRECT; code++)
    near[SZG_TOKENS_NEAR + code] = near_entry_of(encoder->direct[SZG_LEVELS_DIRECT + code]);
  for (uint32_t c = 0; szg_token_base(c) < SZG_TOKENS_NEAR; c++) {
    build_near_class(encoder, (int32_t)szg_token_base(c), near);
    build_near_class(encoder, -(int32_t)szg_token_base(c), near);
  }
  near[0] = near_entry(encoder, -SZG_TOKENS_NEAR);
  near[2 * SZG_TOKENS_NEAR] = SZG_NO_NEAR_ENTRY;
}

/* Entries of books that the mode does not have are not set. */
static void build_shared(const szg_tokens_plan *plan, szg_tokens_encoder *encoder) {
  const szg_tokens_books *const books = &plan->books;
  encoder->mode = plan->mode;
  build_entries(books->values, SZG_LEVELS_VALUES, encoder->values);
  if (plan->mode == SZG_LEVELS_MODE_MASKS) {
    build_byte_entries(books->octets, SZG_LEVELS_OCTETS, SZG_LEVELS_OCTET_ESCAPE, encoder->octets);
    build_byte_entries(books->masks, SZG_LEVELS_MASKS, SZG_LEVELS_MASK_ESCAPE, encoder->masks);
  }
  if (plan->mode == SZG_LEVELS_MODE_PAIRS) {
    build_entries(books->pairs, SZG_LEVELS_PAIRS, encoder->pairs);
    memcpy(encoder->small_pairs, encoder->pairs, sizeof encoder->small_pairs);
    encoder->small_pairs[SZG_LEVELS_PAIR_ESCAPE] = 0;
  }
  encoder->direct[0] = 0;
  for (int32_t code = 1 - SZG_LEVELS_DIRECT; code < SZG_LEVELS_DIRECT; code++)
    encoder->direct[SZG_LEVELS_DIRECT + code] = encoder->values[szg_direct_symbol(code)];
}

void szg_tokens_encoder_build(const szg_tokens_plan *plan, szg_tokens_cpu_encoder *encoder) {
  build_shared(plan, &encoder->shared);
  build_near(&encoder->shared, encoder->near);
  for (uint32_t s = 0; s < SZG_LEVELS_PAIRS && plan->mode == SZG_LEVELS_MODE_PAIRS; s++)
    encoder->near_pairs[s] = near_entry_of(encoder->shared.small_pairs[s]);
}
