/* planes_core.h - the rules of lossless frames, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are taken as unsigned integers of w = 1, 2, 4 or 8 bytes, turned left by one bit if w > 1,
 * so that a float's sign comes last and its exponent first. Byte p of them is plane p. A plane of
 * one symbol is constant, one that gains by coding is coded, the others are stored as they are. To
 * code exponents apart from signs and mantissas is the idea of DFloat11: T. Zhang et al., "70%
 * Size, 100% Accuracy: Lossless LLM Compression for Efficient GPU Inference via Dynamic-Length
 * Float", 2025.
 *
 * A tile is 4096 values of the frame in field order. Its rows are of 128 values, four to a lane:
 * value i stands in row i / 128, lane i % 128 / 4. A lane has its symbols of a plane one after the
 * other, and 32 lanes are read side by side. docs/format.md, section 15, specifies them in prose.
 */
#ifndef SZG_PLANES_CORE_H
#define SZG_PLANES_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/hd.h"

/* ---- values and planes ---- */

/* A value of w = value_bytes, right-aligned and turned. */
SZG_HD uint64_t szg_planes_turned(uint64_t value, uint32_t value_bytes) {
  uint32_t const bits = 8 * value_bytes;
  if (value_bytes == 1) return value;
  uint64_t const turned = value << 1 | value >> (bits - 1);
  return bits == 64 ? turned : turned & ((UINT64_C(1) << bits) - 1);
}
SZG_HD uint64_t szg_planes_turned_back(uint64_t turned, uint32_t value_bytes) {
  uint32_t const bits = 8 * value_bytes;
  if (value_bytes == 1) return turned;
  return turned >> 1 | (turned & 1) << (bits - 1);
}

/* Modes of a frame's planes, two bits each in the frame header's radius field, plane 0 lowest. */
SZG_HD uint32_t szg_plane_mode(uint32_t modes, uint32_t plane) { return modes >> (2 * plane) & 3; }

/* How many of the first `plane_count` planes have the mode. */
SZG_HD uint32_t szg_planes_of_mode(uint32_t modes, uint32_t plane_count, uint32_t mode) {
  uint32_t count = 0;
  for (uint32_t plane = 0; plane < plane_count; plane++)
    count += szg_plane_mode(modes, plane) == mode;
  return count;
}

/* ---- tiles and lanes ---- */

SZG_HD uint64_t szg_planes_tile_count(uint64_t value_count) {
  return value_count / SZG_TILE_VALUES + (value_count % SZG_TILE_VALUES != 0);
}

/* Symbols that a lane has of a plane of a tile with `values` values. */
SZG_HD uint32_t szg_planes_lane_symbols(uint32_t values, uint32_t lane) {
  uint32_t const rows = values / SZG_PLANES_ROW, rest = values % SZG_PLANES_ROW;
  uint32_t const first = SZG_PLANES_RUN * lane;
  uint32_t const run = SZG_PLANES_RUN;
  uint32_t const last_row = rest <= first ? 0 : rest - first < run ? rest - first : run;
  return SZG_PLANES_RUN * rows + last_row;
}

/* A coded plane of a tile is a head word - the bits of its shortest lane, and `width` above them -
 * then `width` words, in which each lane has `width` bits, lane 0's highest: its bits less those of
 * the shortest; then the lanes' bits one after the other, and zeros to the end of the word. */
SZG_HD uint32_t szg_planes_head(uint32_t least_bits, uint32_t width) {
  return width << 16 | least_bits;
}
SZG_HD uint32_t szg_planes_head_least(uint32_t head) { return head & 0xFFFF; }
SZG_HD uint32_t szg_planes_head_width(uint32_t head) { return head >> 16; }

/* Words of a coded plane of a tile. */
SZG_HD uint32_t szg_planes_words(uint32_t width, uint32_t lane_bits) {
  return 1 + width + (lane_bits + 31) / 32;
}

/* ---- choices ---- */

/* Modes and books follow from a sample of the frame's tiles: all of them, if there are few. The
 * sample may miss symbols. So the neighbours of its *rare* symbols, of which it has at most one in
 * 2^SZG_PLANES_RARE_SHIFT, get codes: those at most SZG_PLANES_REACH_DOWN below them or
 * SZG_PLANES_REACH_UP above, and symbol 0. (Large fields have smaller values than their samples,
 * and hardly any greater ones.) */
enum {
  SZG_PLANES_MOST_COUNTED = 512,
  SZG_PLANES_RARE_SHIFT = 8,
  SZG_PLANES_REACH_DOWN = 16,
  SZG_PLANES_REACH_UP = 2
};

/* Number C of tiles counted, of T; the i-th is szg_sample_tile(T, C, i). */
SZG_HD uint32_t szg_planes_counted_tiles(uint64_t tile_count) {
  return tile_count < SZG_PLANES_MOST_COUNTED ? (uint32_t)tile_count
                                              : (uint32_t)SZG_PLANES_MOST_COUNTED;
}
SZG_HD bool szg_plane_symbol_is_rare(uint64_t count, uint64_t value_count) {
  return count > 0 && count <= value_count >> SZG_PLANES_RARE_SHIFT;
}
SZG_HD bool szg_planes_count_all(uint64_t tile_count) {
  return tile_count <= SZG_PLANES_MOST_COUNTED;
}

/* Whether coding pays for a plane of `count` values and at least two symbols whose codes take
 * coded_bits. The book, heads and sizes count with about their greatest cost. */
SZG_HD bool szg_plane_pays(uint64_t coded_bits, uint64_t count) {
  uint64_t const side_bytes =
      SZG_PLANES_BOOK_BYTES + SZG_PLANES_TILE_SIDE_BYTES * szg_planes_tile_count(count);
  return coded_bits / 8 + side_bytes < count;
}

/* Bytes that a stored plane takes in its section: a multiple of 16, so that each begins at one. */
SZG_HD uint64_t szg_stored_plane_bytes(uint64_t value_count) {
  return (value_count + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
}

#endif
