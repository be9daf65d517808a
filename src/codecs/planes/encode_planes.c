/* encode_planes.c - a tile's values to the words of its coded planes, and to its stored planes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The words before the lanes depend on the lanes' lengths. So the encoder writes lanes first, as
 * bytes, highest bit first, and then moves them to words.
 */
#include <string.h>

#include "codecs/planes/plane_bytes.h"
#include "codecs/planes/planes.h"
#include "core/bit_writer.h"
#include "core/dispatch.h"

enum {
  LANES_ROOM = SZG_LANES * SZG_PLANE_LANE_MOST_BITS / 8,
  OVERHANG = 8 /* stores take 8 bytes, wherever bits end */
};
static_assert(SZG_PLANES_RUN * SZG_PLANES_CODE_BITS <= SZG_PUT_MAX_BITS,
              "the codes of a run are put at once");

/* A sum of the entries of up to a run has the sum of their lengths above the codes, and something
 * above that if a symbol was not counted. */
enum { LENGTH_SHIFT = 16, LENGTH_MASK = 255, SHIFT_MASK = 63 };
static_assert((SZG_PLANES_RUN << SZG_PLANES_CODE_BITS) <= 1 << LENGTH_SHIFT, "codes do not carry");
static_assert(SZG_PLANES_RUN * SZG_PLANES_CODE_BITS <= LENGTH_MASK, "nor do lengths");

SZG_INLINE uint32_t length_of(uint32_t sum) { return sum >> LENGTH_SHIFT & LENGTH_MASK; }

/* A plane of a tile: its symbols, and the bits of each lane. */
typedef struct coded_plane {
  uint8_t symbols[SZG_TILE_VALUES];
  uint32_t lane_bits[SZG_LANES];
} coded_plane;

/* ---- head ---- */

/* What stands before the lanes. */
typedef struct plane_head {
  uint32_t least_bits, width, word_count;
} plane_head;

static plane_head measure(const uint32_t *lane_bits) {
  uint32_t least = UINT32_MAX, most = 0, sum = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    if (lane_bits[lane] < least) least = lane_bits[lane];
    if (lane_bits[lane] > most) most = lane_bits[lane];
    sum += lane_bits[lane];
  }
  plane_head head = {.least_bits = least};
  while ((most - least) >> head.width) head.width++;
  head.word_count = szg_planes_words(head.width, sum);
  return head;
}

/* ---- bits ---- */

/* Returns the sum of the entries. Shifts are masked for the flag of symbols that were not
 * counted, which costs nothing where shifts do so themselves. */
SZG_INLINE uint32_t put_run(szg_bit_writer *writer, const uint32_t *entries,
                            const uint8_t *symbols) {
  uint32_t const entry0 = entries[symbols[0]], entry1 = entries[symbols[1]];
  uint32_t const entry2 = entries[symbols[2]], entry3 = entries[symbols[3]];
  uint32_t const sum23 = entry2 + entry3, sum = entry0 + entry1 + sum23;
  uint32_t const length1 = entry1 >> LENGTH_SHIFT & SHIFT_MASK;
  uint32_t const length3 = entry3 >> LENGTH_SHIFT & SHIFT_MASK;
  uint32_t const length23 = sum23 >> LENGTH_SHIFT & SHIFT_MASK;
  uint64_t const bits01 = (uint64_t)(entry0 & 0xFFFF) << length1 | (entry1 & 0xFFFF);
  uint64_t const bits23 = (uint64_t)(entry2 & 0xFFFF) << length3 | (entry3 & 0xFFFF);
  szg_put_right_aligned(writer, bits01 << length23 | bits23, length_of(sum));
  return sum;
}

/* Writes lanes one after the other from `bytes` on, and their lengths into the plane. False: a
 * symbol was not counted. */
SZG_HOT static bool put_lanes(const uint32_t *restrict entries, uint32_t value_count,
                              coded_plane *restrict plane, uint8_t *restrict bytes) {
  uint32_t const rows = value_count / SZG_PLANES_ROW;
  szg_bit_writer writer = {.next = bytes};
  uint32_t start = 0, flags = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    const uint8_t *symbols = plane->symbols + SZG_PLANES_RUN * lane;
    for (uint32_t row = 0; row < rows; row++, symbols += SZG_PLANES_ROW)
      flags |= put_run(&writer, entries, symbols);
    uint32_t const left = szg_planes_lane_symbols(value_count, lane) - SZG_PLANES_RUN * rows;
    for (uint32_t i = 0; i < left; i++) {
      uint32_t const entry = entries[symbols[i]];
      szg_put_right_aligned(&writer, entry & 0xFFFF, length_of(entry));
      flags |= entry;
    }
    uint32_t const end = (uint32_t)szg_bits_put(bytes, &writer);
    plane->lane_bits[lane] = end - start;
    start = end;
  }
  szg_put_end(&writer);
  return flags < SZG_PLANES_UNCOUNTED_FLAG;
}

/* Writes the head and the lanes' lengths. */
static void write_head(const plane_head *head, const uint32_t *lane_bits, uint8_t *words) {
  szg_store_u32(words, szg_planes_head(head->least_bits, head->width));
  uint64_t pending = 0;
  uint32_t pending_count = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    pending = pending << head->width | (lane_bits[lane] - head->least_bits);
    pending_count += head->width;
    if (pending_count < 32) continue;
    pending_count -= 32;
    words += 4;
    szg_store_u32(words, (uint32_t)(pending >> pending_count));
  }
}

SZG_HOT static void move_to_words(const uint8_t *restrict bytes, uint32_t word_count,
                                  uint8_t *restrict words) {
  for (uint32_t i = 0; i < word_count; i++)
    szg_store_u32(words + 4 * i, __builtin_bswap32(szg_load_u32(bytes + 4 * i)));
}

/* Writes the words of a plane and gives their number. False: a symbol has no code. */
static bool encode_plane(const uint32_t *entries, uint32_t value_count, coded_plane *plane,
                         uint8_t *words, uint32_t *word_count) {
  uint8_t bytes[LANES_ROOM + OVERHANG];
  if (!put_lanes(entries, value_count, plane, bytes)) return false;
  plane_head const head = measure(plane->lane_bits);
  write_head(&head, plane->lane_bits, words);
  uint32_t const first = 1 + head.width;
  move_to_words(bytes, head.word_count - first, words + 4 * first);
  *word_count = head.word_count;
  return true;
}

SZG_HOT static bool is_constant(const uint8_t *restrict symbols, uint32_t value_count,
                                uint8_t constant) {
  uint8_t differences = 0;
  for (uint32_t i = 0; i < value_count; i++) differences |= symbols[i] ^ constant;
  return differences == 0;
}

/* ---- tiles ---- */

bool szg_planes_encode_tile(const szg_planes_encoder *encoder, const void *values,
                            uint32_t value_count, uint8_t *words, uint32_t *word_count) {
  const szg_planes_layout *const layout = &encoder->layout;
  coded_plane plane;
  *word_count = 0;
  for (uint32_t p = 0; p < layout->value_bytes; p++) {
    uint32_t const mode = szg_plane_mode(layout->modes, p);
    if (mode == SZG_PLANE_STORED) continue;
    szg_plane_take(values, value_count, layout->value_bytes, p, plane.symbols);
    if (mode == SZG_PLANE_CONSTANT) {
      uint8_t const constant = (uint8_t)(layout->constant_bits >> 8 * p);
      if (!is_constant(plane.symbols, value_count, constant)) return false;
      continue;
    }
    uint32_t plane_words;
    if (!encode_plane(encoder->entries[p], value_count, &plane, words, &plane_words)) return false;
    words += 4 * (size_t)plane_words;
    *word_count += plane_words;
  }
  return true;
}

void szg_planes_store_tile(const szg_planes_layout *layout, const void *values,
                           uint32_t value_count, uint8_t *stored, uint64_t stored_stride) {
  for (uint32_t p = 0; p < layout->value_bytes; p++) {
    if (szg_plane_mode(layout->modes, p) != SZG_PLANE_STORED) continue;
    szg_plane_take(values, value_count, layout->value_bytes, p, stored);
    memset(stored + value_count, 0, szg_stored_plane_bytes(value_count) - value_count);
    stored += stored_stride;
  }
}
