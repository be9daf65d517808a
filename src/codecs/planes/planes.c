/* planes.c - which planes of a lossless frame are coded, and their books.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes are canonical by (length, symbol). Left-aligned they then come in rising order without
 * gaps, so that a book is one walk over its symbols by length.
 */
#include "codecs/planes/planes.h"

#include <assert.h>
#include <string.h>

#include "codecs/planes/planes_choice_core.h"
#include "core/bytes.h"

static bool is_coded(const szg_planes_layout *layout, uint32_t plane) {
  return plane < layout->value_bytes && szg_plane_mode(layout->modes, plane) == SZG_PLANE_CODED;
}

/* ---- choice ---- */

/* The one symbol that occurs, or SZG_PLANES_SYMBOLS: several do. */
static uint32_t find_lone_symbol(const uint64_t *counts) {
  uint32_t lone = SZG_PLANES_SYMBOLS;
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++) {
    if (counts[s] == 0) continue;
    if (lone < SZG_PLANES_SYMBOLS) return SZG_PLANES_SYMBOLS;
    lone = s;
  }
  return lone;
}

uint64_t szg_planes_counted_values(const szg_planes_counts *counts) {
  uint64_t value_count = 0;
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++) value_count += counts->planes[0][s];
  return value_count;
}

/* Whether coding cannot pay, as even the entropy of the counts is too much. Most planes that are
 * stored are found to be so: their books would take longer to build than all else that is chosen.
 */
static bool is_noise(const uint64_t *counts, uint64_t value_count) {
  enum { SLACK = 16 }; /* of szg_log2_fixed, whose results are a few units too small */
  uint64_t const logs = szg_logs_of(counts, SZG_PLANES_SYMBOLS) + SLACK * value_count;
  uint64_t const all_logs = szg_count_log(value_count);
  uint64_t const least_bits = all_logs > logs ? (all_logs - logs) >> SZG_LOG_FRACTION_BITS : 0;
  return !szg_plane_pays(least_bits, value_count);
}

/* Counts once what the sample may have missed. */
static void count_likely(const uint64_t *counts, uint64_t value_count, uint64_t *own_counts) {
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
    if (counts[s] == 0) own_counts[s] = szg_plane_symbol_is_likely(counts, value_count, s);
}

void szg_planes_choose(const szg_planes_counts *counts, uint64_t value_count, bool is_sample,
                       uint32_t value_bytes, szg_codebook *book, szg_codebook_work *work,
                       szg_planes_choice *choice) {
  assert(value_count > 0);
  memset(choice, 0, sizeof *choice);
  choice->layout.value_bytes = value_bytes;
  for (uint32_t plane = 0; plane < value_bytes; plane++) {
    uint64_t own_counts[SZG_PLANES_SYMBOLS];
    memcpy(own_counts, counts->planes[plane], sizeof own_counts);
    uint32_t const lone = find_lone_symbol(own_counts);
    if (lone < SZG_PLANES_SYMBOLS) {
      choice->layout.modes |= (uint32_t)SZG_PLANE_CONSTANT << 2 * plane;
      choice->layout.constant_bits |= (uint64_t)lone << 8 * plane;
      continue;
    }
    if (is_noise(own_counts, value_count)) continue;
    if (is_sample) count_likely(counts->planes[plane], value_count, own_counts);
    szg_codebook_build(own_counts, SZG_PLANES_SYMBOLS, SZG_PLANES_CODE_BITS, book, work);
    uint64_t coded_bits = 0;
    for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
      coded_bits += own_counts[s] * book->lengths[s];
    if (!szg_plane_pays(coded_bits, value_count)) continue;
    choice->layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * plane;
    memcpy(choice->lengths[plane], book->lengths, SZG_PLANES_SYMBOLS);
    choice->typical_bits[plane] =
        (uint32_t)szg_div_up(SZG_TILE_VALUES / SZG_LANES * coded_bits, value_count);
  }
}

/* ---- books ---- */

void szg_planes_books_write(const szg_planes_choice *choice, uint8_t *bytes) {
  for (uint32_t plane = 0; plane < SZG_PLANES_MOST; plane++) {
    if (!is_coded(&choice->layout, plane)) continue;
    const uint8_t *const lengths = choice->lengths[plane];
    for (uint32_t i = 0; i < SZG_PLANES_BOOK_BYTES; i++)
      *bytes++ = (uint8_t)(lengths[2 * i] | lengths[2 * i + 1] << 4);
  }
}

/* False: not a complete code. One symbol alone has no complete code, for its length is not 0. */
static bool read_book(const uint8_t *bytes, uint8_t *lengths) {
  uint32_t used = 0; /* of 2^12 windows */
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++) {
    lengths[s] = bytes[s / 2] >> 4 * (s % 2) & 15;
    if (lengths[s] > SZG_PLANES_CODE_BITS) return false;
    if (lengths[s] > 0) used += 1u << (SZG_PLANES_CODE_BITS - lengths[s]);
  }
  return used == SZG_PLANES_ENTRIES;
}

szgpu_status szg_planes_books_read(const szg_planes_layout *layout, const uint8_t *bytes,
                                   uint64_t byte_count, uint8_t lengths[][SZG_PLANES_SYMBOLS]) {
  SZG_REQUIRE(byte_count == szg_planes_book_bytes(layout), SZGPU_BAD_DATA);
  for (uint32_t plane = 0; plane < SZG_PLANES_MOST; plane++) {
    memset(lengths[plane], 0, SZG_PLANES_SYMBOLS);
    if (!is_coded(layout, plane)) continue;
    SZG_REQUIRE(read_book(bytes, lengths[plane]), SZGPU_BAD_DATA);
    bytes += SZG_PLANES_BOOK_BYTES;
  }
  return SZGPU_OK;
}

/* ---- tables ---- */

static void build_encoder_entries(const uint8_t *lengths, uint32_t *entries) {
  uint32_t length_counts[SZG_PLANES_CODE_BITS + 1] = {0}, next_codes[SZG_PLANES_CODE_BITS + 1];
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++) length_counts[lengths[s]]++;
  szg_canonical_firsts(length_counts, SZG_PLANES_CODE_BITS, next_codes);
  for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
    entries[s] = lengths[s] ? (uint32_t)lengths[s] << 16 | next_codes[lengths[s]]++
                            : (uint32_t)SZG_PLANES_UNCOUNTED;
}

void szg_planes_encoder_build(const szg_planes_choice *choice, szg_planes_encoder *encoder) {
  memset(encoder, 0, sizeof *encoder);
  encoder->layout = choice->layout;
  for (uint32_t plane = 0; plane < SZG_PLANES_MOST; plane++)
    if (is_coded(&choice->layout, plane))
      build_encoder_entries(choice->lengths[plane], encoder->entries[plane]);
}

static void build_decoder_entries(const uint8_t *lengths, uint16_t *entries) {
  uint32_t window = 0;
  for (uint32_t length = 1; length <= SZG_PLANES_CODE_BITS; length++)
    for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++) {
      if (lengths[s] != length) continue;
      uint32_t const end = window + (1u << (SZG_PLANES_CODE_BITS - length));
      while (window < end) entries[window++] = (uint16_t)(s << 8 | length);
    }
  assert(window == SZG_PLANES_ENTRIES); /* the code is complete */
}

void szg_planes_decoder_build(const szg_planes_layout *layout,
                              uint8_t lengths[][SZG_PLANES_SYMBOLS], szg_planes_decoder *decoder) {
  decoder->layout = *layout;
  for (uint32_t plane = 0; plane < SZG_PLANES_MOST; plane++)
    if (is_coded(layout, plane)) build_decoder_entries(lengths[plane], decoder->entries[plane]);
}
