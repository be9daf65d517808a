/* planes_reference.c - tiles of lossless frames, one bit at a time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "planes_reference.h"

#include <string.h>

enum { LANES = 32, ROW = 128, LANE_RUN = 4, LONGEST = 12 };

/* ---- values ---- */

/* The bit of the value that ends up at turned_bit: values are turned left by one bit, so the
 * highest bit becomes bit 0, before they are cut into planes. */
static uint32_t source_bit(uint32_t value_bytes, uint32_t turned_bit) {
  if (value_bytes == 1) return turned_bit;
  return turned_bit == 0 ? 8 * value_bytes - 1 : turned_bit - 1;
}

uint8_t test_plane_symbol(const uint8_t *value, uint32_t value_bytes, uint32_t plane) {
  uint32_t symbol = 0;
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t const bit = source_bit(value_bytes, 8 * plane + i);
    symbol |= (uint32_t)(value[bit / 8] >> bit % 8 & 1) << i;
  }
  return (uint8_t)symbol;
}

void test_set_plane_symbol(uint8_t *value, uint32_t value_bytes, uint32_t plane, uint8_t symbol) {
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t const bit = source_bit(value_bytes, 8 * plane + i);
    value[bit / 8] &= (uint8_t) ~(1u << bit % 8);
    value[bit / 8] |= (uint8_t)((symbol >> i & 1u) << bit % 8);
  }
}

static uint32_t mode_of(const szg_planes_choice *choice, uint32_t plane) {
  return choice->layout.modes / (1u << 2 * plane) % 4;
}

static bool is_of_lane(uint32_t value, uint32_t lane) { return value % ROW / LANE_RUN == lane; }

/* ---- bits ---- */

/* A bit of little-endian 32-bit words; the first bit of a word is its highest. */
static uint32_t word_bit(const uint8_t *words, uint64_t bit) {
  const uint8_t *const word = words + bit / 32 * 4;
  return word[3 - bit % 32 / 8] >> (7 - bit % 8) & 1u;
}

static void put_bits(uint8_t *words, uint64_t *bit, uint32_t number, uint32_t count) {
  for (uint32_t i = 0; i < count; i++, ++*bit) {
    if (*bit % 32 == 0) memset(words + *bit / 8, 0, 4);
    uint32_t const one = number >> (count - 1 - i) & 1;
    words[*bit / 32 * 4 + 3 - *bit % 32 / 8] |= (uint8_t)(one << (7 - *bit % 8));
  }
}

static uint32_t get_bits(const uint8_t *words, uint64_t *bit, uint32_t count) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < count; i++) number = 2 * number + word_bit(words, (*bit)++);
  return number;
}

/* ---- codes ---- */

static void make_codes(const uint8_t *lengths, uint32_t *codes) {
  uint32_t code = 0;
  for (uint32_t length = 1; length <= LONGEST; length++) {
    code = 2 * code;
    for (uint32_t s = 0; s < 256; s++)
      if (lengths[s] == length) codes[s] = code++;
  }
}

static void encode_plane(const uint8_t *lengths, const uint8_t *symbols, uint32_t value_count,
                         uint8_t *words, uint64_t *bit) {
  uint32_t codes[256], lane_bits[LANES] = {0}, least = UINT32_MAX, most = 0, width = 0;
  make_codes(lengths, codes);
  for (uint32_t i = 0; i < value_count; i++) lane_bits[i % ROW / LANE_RUN] += lengths[symbols[i]];
  for (uint32_t lane = 0; lane < LANES; lane++) {
    if (lane_bits[lane] < least) least = lane_bits[lane];
    if (lane_bits[lane] > most) most = lane_bits[lane];
  }
  while (most - least >= 1u << width) width++;
  put_bits(words, bit, width, 16);
  put_bits(words, bit, least, 16);
  for (uint32_t lane = 0; lane < LANES; lane++)
    put_bits(words, bit, lane_bits[lane] - least, width);
  for (uint32_t lane = 0; lane < LANES; lane++)
    for (uint32_t i = 0; i < value_count; i++)
      if (is_of_lane(i, lane)) put_bits(words, bit, codes[symbols[i]], lengths[symbols[i]]);
  while (*bit % 32 != 0) put_bits(words, bit, 0, 1);
}

uint32_t test_encode_planes(const szg_planes_choice *choice, const uint8_t *values,
                            uint32_t value_count, uint8_t *words) {
  uint32_t const value_bytes = choice->layout.value_bytes;
  uint64_t bit = 0;
  for (uint32_t plane = 0; plane < value_bytes; plane++) {
    if (mode_of(choice, plane) != SZG_PLANE_CODED) continue;
    uint8_t symbols[SZG_TILE_VALUES];
    for (uint32_t i = 0; i < value_count; i++)
      symbols[i] = test_plane_symbol(values + (size_t)i * value_bytes, value_bytes, plane);
    encode_plane(choice->lengths[plane], symbols, value_count, words, &bit);
  }
  return (uint32_t)(bit / 32);
}

/* Reads one code that begins at *bit and ends before `end`; 256: there is none. */
static uint32_t read_symbol(const uint8_t *lengths, const uint32_t *codes, const uint8_t *words,
                            uint64_t end, uint64_t *bit) {
  uint32_t code = 0;
  for (uint32_t length = 1; length <= LONGEST && *bit < end; length++) {
    code = 2 * code + word_bit(words, (*bit)++);
    for (uint32_t s = 0; s < 256; s++)
      if (lengths[s] == length && codes[s] == code) return s;
  }
  return 256;
}

/* Decodes a plane from word *word on and advances it. */
static bool decode_plane(const uint8_t *lengths, const uint8_t *words, uint32_t word_count,
                         uint32_t value_count, uint32_t *word, uint8_t *symbols) {
  if (*word >= word_count) return false;
  uint64_t bit = 32 * (uint64_t)*word;
  uint64_t const all_bits = 32 * (uint64_t)word_count;
  uint32_t const width = get_bits(words, &bit, 16), least = get_bits(words, &bit, 16);
  if (width > 11 || all_bits - bit < 32 * width) return false;
  uint64_t ends[LANES], start = bit + 32 * width;
  for (uint32_t lane = 0; lane < LANES; lane++)
    ends[lane] = start += least + get_bits(words, &bit, width);
  if (start > all_bits) return false;
  uint32_t codes[256];
  make_codes(lengths, codes);
  for (uint32_t lane = 0; lane < LANES; lane++) {
    for (uint32_t i = 0; i < value_count; i++) {
      if (!is_of_lane(i, lane)) continue;
      uint32_t const symbol = read_symbol(lengths, codes, words, ends[lane], &bit);
      if (symbol == 256) return false;
      symbols[i] = (uint8_t)symbol;
    }
    if (bit != ends[lane]) return false;
  }
  while (bit % 32 != 0)
    if (get_bits(words, &bit, 1) != 0) return false;
  *word = (uint32_t)(bit / 32);
  return true;
}

bool test_decode_planes(const szg_planes_choice *choice, const uint8_t *words, uint32_t word_count,
                        const uint8_t *stored, uint64_t stored_stride, uint32_t value_count,
                        uint8_t *values) {
  uint32_t const value_bytes = choice->layout.value_bytes;
  uint32_t word = 0;
  for (uint32_t plane = 0; plane < value_bytes; plane++) {
    uint8_t symbols[SZG_TILE_VALUES];
    uint32_t const mode = mode_of(choice, plane);
    if (mode == SZG_PLANE_CODED &&
        !decode_plane(choice->lengths[plane], words, word_count, value_count, &word, symbols))
      return false;
    if (mode == SZG_PLANE_STORED) {
      memcpy(symbols, stored, value_count);
      stored += stored_stride;
    }
    if (mode == SZG_PLANE_CONSTANT)
      memset(symbols, (int)(choice->layout.constant_bits >> 8 * plane & 255), value_count);
    for (uint32_t i = 0; i < value_count; i++)
      test_set_plane_symbol(values + (size_t)i * value_bytes, value_bytes, plane, symbols[i]);
  }
  return word == word_count;
}
