/* tokens_reference.c - a decoder of tiles of levels frames, bit by bit from docs/format.md.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tokens_reference.h"

#include <string.h>

typedef struct bits {
  const uint8_t *words;
  uint32_t next, end;
  bool is_bad;
} bits;

static uint64_t take(bits *from, uint32_t count) {
  uint64_t number = 0;
  for (uint32_t i = 0; i < count; i++, from->next++) {
    if (from->next >= from->end) {
      from->is_bad = true;
      return 0;
    }
    uint32_t const byte = from->next / 32 * 4 + 3 - from->next % 32 / 8;
    number = number << 1 | (from->words[byte] >> (7 - from->next % 8) & 1);
  }
  return number;
}

static uint32_t take_symbol(bits *from, const uint8_t *lengths, uint32_t symbol_count) {
  uint32_t read = 0, code = 0;
  for (uint32_t length = 1; length <= 12; length++) {
    read = read << 1 | (uint32_t)take(from, 1);
    code <<= 1;
    for (uint32_t s = 0; s < symbol_count; s++)
      if (lengths[s] == length && code++ == read) return s;
  }
  from->is_bad = true;
  return 0;
}

static int64_t as_code(uint64_t number, bool is_wide) {
  if (is_wide) return (int64_t)number;
  number &= UINT32_MAX;
  return number >> 31 ? (int64_t)number - ((int64_t)1 << 32) : (int64_t)number;
}

static int64_t take_value(bits *from, const szg_tokens_books *books, bool is_wide) {
  uint32_t const symbol = take_symbol(from, books->values, 256);
  if (symbol == 255) return as_code(take(from, is_wide ? 64 : 32), is_wide);
  if (symbol < 63) return symbol % 2 ? (int64_t)(symbol + 1) / 2 : -(int64_t)(symbol / 2);
  uint32_t const c = (symbol - 63) / 2, e = 5 + c / 2;
  uint64_t const magnitude = ((uint64_t)(2 + c % 2) << (e - 1)) + take(from, e - 1);
  return as_code((symbol - 63) % 2 ? 0 - magnitude : magnitude, is_wide);
}

static void take_masks(bits *from, const szg_tokens_books *books, bool is_wide, uint64_t places,
                       int64_t *codes) {
  bool is_set[64] = {false};
  uint32_t octets = take_symbol(from, books->octets, 257);
  if (octets == 256) octets = (uint32_t)take(from, 8);
  for (uint32_t j = 0; j < 8; j++) {
    if (!(octets >> j & 1)) continue;
    uint32_t mask = take_symbol(from, books->masks, 256);
    if (mask == 0) mask = (uint32_t)take(from, 8);
    if (mask == 0) from->is_bad = true;
    for (uint32_t i = 0; i < 8; i++) is_set[8 * j + i] = mask >> i & 1;
  }
  for (uint32_t i = 0; i < 64; i++) {
    if (!is_set[i]) continue;
    codes[i] = take_value(from, books, is_wide);
    if (codes[i] == 0 || !(places >> i & 1)) from->is_bad = true;
  }
}

static void take_pairs(bits *from, const szg_tokens_books *books, bool is_wide, uint64_t places,
                       int64_t *codes) {
  for (uint32_t i = 0; i < 64; i += 2) {
    if (!(places >> i & 3)) continue;
    uint32_t const symbol = take_symbol(from, books->pairs, 226);
    codes[i] = (int64_t)(symbol / 15) - 7;
    codes[i + 1] = (int64_t)(symbol % 15) - 7;
    if (symbol == 225) {
      codes[i] = take_value(from, books, is_wide);
      codes[i + 1] = take_value(from, books, is_wide);
    }
    for (uint32_t k = i; k < i + 2; k++)
      if (codes[k] != 0 && !(places >> k & 1)) from->is_bad = true;
  }
}

static void take_group(bits *from, const szg_tokens_books *books, uint32_t mode, bool is_wide,
                       uint64_t places, int64_t *codes) {
  if (mode == 3) take_masks(from, books, is_wide, places, codes);
  if (mode == 2) take_pairs(from, books, is_wide, places, codes);
  for (uint32_t i = 0; mode == 1 && i < 64; i++)
    if (places >> i & 1) codes[i] = take_value(from, books, is_wide);
}

bool reference_tokens_decode(const szg_tokens_books *books, uint32_t mode,
                             const szg_tokens_shape *shape, const uint64_t *existing,
                             const uint8_t *words, uint32_t word_count, int64_t *codes) {
  memset(codes, 0, shape->group_count * 64 * sizeof *codes);
  if (word_count == 0) return true;
  if (mode == 0) return false;
  uint32_t const lane_groups = 1u << shape->lane_groups_log2;
  uint32_t const lane_count = (shape->group_count + lane_groups - 1) / lane_groups;
  bits head = {words, 0, 32 * word_count, false};
  uint32_t const least = (uint32_t)take(&head, 17), width = (uint32_t)take(&head, 5);
  bool const has_mask = take(&head, 1);
  if (width > 17) return false;
  bool is_live[32], is_any_live = false;
  uint32_t lengths[32] = {0};
  for (uint32_t l = 0; l < lane_count; l++) {
    is_live[l] = !has_mask || take(&head, 1);
    is_any_live |= is_live[l];
  }
  for (uint32_t l = 0; l < lane_count; l++)
    if (is_live[l]) lengths[l] = least + (uint32_t)take(&head, width);
  if (head.is_bad || !is_any_live) return false;
  uint64_t position = head.next;
  for (uint32_t l = 0; l < lane_count; l++) {
    if (!is_live[l]) continue;
    if (lengths[l] == 0 || position + lengths[l] > 32 * (uint64_t)word_count) return false;
    bits lane = {words, (uint32_t)position, (uint32_t)position + lengths[l], false};
    for (uint32_t i = l * lane_groups; i < (l + 1) * lane_groups && i < shape->group_count; i++)
      take_group(&lane, books, mode, shape->is_wide, existing ? existing[i] : UINT64_MAX,
                 codes + 64 * i);
    if (lane.is_bad || lane.next != lane.end) return false;
    position = lane.end;
  }
  bits rest = {words, (uint32_t)position, 32 * word_count, false};
  return 32 * (uint64_t)word_count - position < 32 &&
         take(&rest, 32 * word_count - (uint32_t)position) == 0;
}
