/* decode_planes.c - the words of a tile's coded planes, and its stored planes, to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each code of a lane depends on the code before it, but lanes are independent: the loops change
 * lanes every row, so that the processor can work on many of them at once. The lanes' words stand
 * in reverse order (core/bit_reader.h).
 */
#include <string.h>

#include "codecs/planes/plane_bytes.h"
#include "codecs/planes/planes.h"
#include "core/bit_reader.h"
#include "core/dispatch.h"
#include "core/once.h"

static_assert(SZG_PLANES_RUN * SZG_PLANES_CODE_BITS <= 57, "the codes of a run are in a window");

/* Only at a lane's end can a decoder tell whether its bits were valid: it may read on until
 * then. */
enum {
  OVERRUN_BYTES = SZG_PLANE_LANE_MOST_BITS / 8 + 16,
  LANES_ROOM = SZG_LANES * SZG_PLANE_LANE_MOST_BITS / 8
};

/* Masks of an entry: lengths are below 64, and a 64-bit shift uses no more bits. */
enum { ENTRY_LENGTH = 255, ENTRY_SHIFT = 63 };

/* The lanes of a plane of a tile. Lane l has the bits from positions[l] to ends[l] - 1. */
typedef struct plane_lanes {
  uint32_t positions[SZG_LANES], ends[SZG_LANES];
  uint32_t bit_count; /* of all lanes */
  const uint8_t *first_window;
  uint8_t bytes[OVERRUN_BYTES + LANES_ROOM];
} plane_lanes;

/* ---- the head ---- */

/* Lane l's excess from the `width` words after the head. */
static uint32_t excess_at(const uint32_t *width_words, uint32_t width, uint32_t lane) {
  uint32_t const bit = width * lane;
  uint64_t const two = (uint64_t)width_words[bit / 32] << 32 | width_words[bit / 32 + 1];
  return (uint32_t)(two << bit % 32 >> (63 - width) >> 1);
}

/* Words before the lanes; 0: not a head, or its lanes are longer than codes can be. */
static uint32_t read_head(const uint8_t *words, uint32_t word_count, uint32_t value_count,
                          plane_lanes *lanes) {
  if (word_count == 0) return 0;
  uint32_t const head = szg_load_u32_once(words); /* the archive's */
  uint32_t const least = szg_planes_head_least(head), width = szg_planes_head_width(head);
  if (width > SZG_PLANE_MOST_WIDTH || 1 + width > word_count) return 0;
  uint32_t width_words[SZG_PLANE_MOST_WIDTH + 2] = {0};
  for (uint32_t i = 0; i < width; i++) width_words[i] = szg_load_u32(words + 4 * (1 + i));
  uint32_t position = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    uint32_t const lane_bits = least + excess_at(width_words, width, lane);
    if (lane_bits > SZG_PLANES_CODE_BITS * szg_planes_lane_symbols(value_count, lane)) return 0;
    lanes->positions[lane] = position;
    position += lane_bits;
    lanes->ends[lane] = position;
  }
  lanes->bit_count = position;
  return 1 + width;
}

/* ---- lanes ---- */

/* False: some bit after the last lane is not 0. */
static bool take_lanes(const uint8_t *words, uint32_t word_count, plane_lanes *lanes) {
  memset(lanes->bytes, 0, OVERRUN_BYTES);
  lanes->first_window = szg_copy_reversed(words, word_count, lanes->bytes + OVERRUN_BYTES);
  uint32_t const unused_bits = 32 * word_count - lanes->bit_count;
  return unused_bits == 0 ||
         szg_load_u32(words + 4 * (size_t)(word_count - 1)) << (32 - unused_bits) == 0;
}

SZG_INLINE uint32_t entry_at(const uint16_t *entries, uint64_t window) {
  return entries[window >> (64 - SZG_PLANES_CODE_BITS)];
}

SZG_HOT static void decode_rows(const uint16_t *restrict entries, uint32_t row_count,
                                plane_lanes *restrict lanes, uint8_t *restrict symbols) {
  const uint8_t *const first_window = lanes->first_window;
  uint32_t *const restrict positions = lanes->positions;
  for (uint32_t row = 0; row < row_count; row++)
    for (uint32_t lane = 0; lane < SZG_LANES; lane++, symbols += SZG_PLANES_RUN) {
      uint64_t window = szg_reversed_window(first_window, positions[lane]);
      uint32_t sum = 0; /* its low byte: the sum of the codes' lengths */
      for (uint32_t i = 0; i < SZG_PLANES_RUN; i++) {
        uint32_t const entry = entry_at(entries, window);
        window <<= entry & ENTRY_SHIFT;
        sum += entry;
        symbols[i] = (uint8_t)(entry >> 8);
      }
      positions[lane] += sum & ENTRY_LENGTH;
    }
}

/* Decodes the row that is not full. */
static void decode_rest(const uint16_t *entries, uint32_t rest, plane_lanes *lanes,
                        uint8_t *symbols) {
  for (uint32_t i = 0; i < rest; i++) {
    uint32_t *const position = &lanes->positions[i / SZG_PLANES_RUN];
    uint32_t const entry = entry_at(entries, szg_reversed_window(lanes->first_window, *position));
    symbols[i] = (uint8_t)(entry >> 8);
    *position += entry & ENTRY_LENGTH;
  }
}

/* Decodes a plane and returns its number of words; 0: they are invalid. */
static uint32_t decode_plane(const uint16_t *entries, const uint8_t *words, uint32_t word_count,
                             uint32_t value_count, uint8_t *symbols) {
  plane_lanes lanes;
  uint32_t const first = read_head(words, word_count, value_count, &lanes);
  if (first == 0) return 0;
  uint32_t const lane_words = (lanes.bit_count + 31) / 32;
  if (lane_words > word_count - first) return 0;
  if (!take_lanes(words + 4 * (size_t)first, lane_words, &lanes)) return 0;
  uint32_t const rows = value_count / SZG_PLANES_ROW;
  decode_rows(entries, rows, &lanes, symbols);
  decode_rest(entries, value_count % SZG_PLANES_ROW, &lanes, symbols + SZG_PLANES_ROW * rows);
  bool const are_at_end = memcmp(lanes.positions, lanes.ends, sizeof lanes.ends) == 0;
  return are_at_end ? first + lane_words : 0;
}

/* ---- tiles ---- */

szgpu_status szg_planes_decode_tile(const szg_planes_decoder *decoder, const uint8_t *words,
                                    uint32_t word_count, const uint8_t *stored,
                                    uint64_t stored_stride, uint32_t value_count, void *values) {
  const szg_planes_layout *const layout = &decoder->layout;
  uint8_t symbols[SZG_PLANES_MOST][SZG_TILE_VALUES];
  const uint8_t *planes[SZG_PLANES_MOST];
  for (uint32_t p = 0; p < layout->value_bytes; p++) {
    uint32_t const mode = szg_plane_mode(layout->modes, p);
    planes[p] = symbols[p];
    if (mode == SZG_PLANE_CODED) {
      uint32_t const used =
          decode_plane(decoder->entries[p], words, word_count, value_count, symbols[p]);
      SZG_REQUIRE(used > 0, SZGPU_BAD_DATA);
      words += 4 * (size_t)used;
      word_count -= used;
    } else if (mode == SZG_PLANE_STORED) {
      planes[p] = stored;
      stored += stored_stride;
    } else {
      memset(symbols[p], (int)(layout->constant_bits >> 8 * p & 255), value_count);
    }
  }
  SZG_REQUIRE(word_count == 0, SZGPU_BAD_DATA);
  szg_planes_join(planes, value_count, layout->value_bytes, values);
  return SZGPU_OK;
}
