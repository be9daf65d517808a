/* tile_reference.c - books, tiles, and the tile layout written by the definition.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tile_reference.h"

#include <string.h>

#include "core/bytes.h"

test_tile_coder coder;

/* ---- books ---- */

void test_build_tile_book_of(const uint64_t *counts) {
  szg_codebook_build(counts, SZG_TILE_SYMBOLS, SZG_TILE_CODE_BITS, &coder.book, &coder.work);
  szg_tile_encoder_build(&coder.book, &coder.encoder);
  assert_int_equal(szg_tile_decoder_build(&coder.book, &coder.decoder), SZGPU_OK);
  szg_canonical_index_build(&coder.book, &coder.index);
}

void test_build_tile_book(int kind, test_random *random) {
  uint64_t counts[SZG_TILE_SYMBOLS] = {[SZG_ESCAPE_SYMBOL] = 1, [SZG_TILE_ZERO] = 1};
  for (uint32_t s = 1; s < SZG_TILE_SYMBOLS; s++) {
    uint32_t const distance = s < SZG_TILE_ZERO ? SZG_TILE_ZERO - s : s - SZG_TILE_ZERO;
    bool const is_class = distance >= SZG_TILE_DIRECT;
    if (kind == TEST_BOOK_STEEP && distance < 40) counts[s] = (uint64_t)1 << (40 - distance);
    if (kind == TEST_BOOK_CLASSES && is_class) counts[s] = 5;
    if (kind == TEST_BOOK_FLAT) counts[s] = 3;
    if (kind == TEST_BOOK_RANDOM && test_random_below(random, 3))
      counts[s] = test_random_below(random, (uint64_t)1 << test_random_below(random, 40));
  }
  if (counts[SZG_TILE_ZERO] == 0) counts[SZG_TILE_ZERO] = 1;
  test_build_tile_book_of(counts);
}

/* ---- tiles ---- */

szg_tile test_make_tile(int ndim, uint32_t z_extent, uint32_t y_extent, uint32_t x_extent) {
  uint64_t const z = SZG_TILE_3D_Z + z_extent;
  uint64_t const y = (ndim == 3 ? SZG_TILE_3D_Y : SZG_TILE_2D_Y) + y_extent;
  uint64_t const x = (ndim == 3   ? SZG_TILE_3D_X
                      : ndim == 2 ? SZG_TILE_2D_X
                                  : SZG_TILE_1D_X) +
                     x_extent;
  szgpu_shape const shape = ndim == 3   ? test_shape(SZGPU_F32, 3, z, y, x, 1)
                            : ndim == 2 ? test_shape(SZGPU_F32, 2, y, x, 1, 1)
                                        : test_shape(SZGPU_F32, 1, x, 1, 1, 1);
  szg_grid grid;
  assert_int_equal(szg_grid_of_shape(&shape, &grid), SZGPU_OK);
  szg_tile const tile = szg_tile_at(&grid, grid.tile_count - 1);
  assert_int_equal(tile.value_count, z_extent * y_extent * x_extent);
  return tile;
}

static int64_t delta_of(const test_tile_case *c, const szg_tile_points *points, uint32_t i) {
  return c->lattice_bits == 64   ? points->wide[i]
         : c->lattice_bits == 32 ? points->narrow[i]
                                 : points->slim[i];
}

static void set_delta(test_tile_case *c, uint32_t i, uint64_t bits) {
  int64_t const delta = szg_delta_of_bits(bits, c->lattice_bits);
  if (c->lattice_bits == 64)
    c->deltas.wide[i] = delta;
  else if (c->lattice_bits == 32)
    c->deltas.narrow[i] = (int32_t)delta;
  else
    c->deltas.slim[i] = (int16_t)delta;
}

/* Near the edges of direct deltas, of classes and of the lattice. */
static uint64_t edge_delta(test_random *random) {
  uint64_t const e = test_random_below(random, 64);
  uint64_t const half = e ? test_random_below(random, 2) << (e - 1) : 0;
  uint64_t const edge = test_random_below(random, 4) ? ((uint64_t)1 << e) + half : 512;
  uint64_t const magnitude = edge + test_random_below(random, 3) - 1;
  return test_random_below(random, 2) ? magnitude : 0 - magnitude;
}

static uint64_t small_delta(test_random *random) {
  uint64_t const magnitude = (uint64_t)__builtin_clzll(test_random_bits(random) | 1);
  return test_random_below(random, 2) ? magnitude : 0 - magnitude;
}

void test_make_deltas(test_tile_case *c, int kind, test_random *random) {
  uint32_t const count = c->tile.value_count, x_extent = c->tile.x_extent;
  uint32_t const lone_value = (uint32_t)test_random_below(random, count);
  uint32_t const lane = (uint32_t)test_random_below(random, x_extent) % SZG_LANES;
  uint32_t const lanes = (uint32_t)test_random_bits(random);
  memset(&c->deltas, 0, sizeof c->deltas);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t const own = i % x_extent % SZG_LANES;
    uint64_t const small = small_delta(random), edge = edge_delta(random);
    uint64_t const bits = test_random_bits(random);
    if (kind == TEST_DELTAS_ONE_VALUE && i == lone_value) set_delta(c, i, bits);
    if (kind == TEST_DELTAS_SPARSE && bits % 20 == 0) set_delta(c, i, small);
    if (kind == TEST_DELTAS_SMALL) set_delta(c, i, bits % 300 ? small : edge);
    if (kind == TEST_DELTAS_ALTERNATING) set_delta(c, i, i % 2 ? 1 : UINT64_MAX);
    if (kind == TEST_DELTAS_EDGES) set_delta(c, i, edge);
    if (kind == TEST_DELTAS_ONE_LANE && own == lane)
      set_delta(c, i, (uint64_t)1 << 63 >> (bits & 1));
    if (kind == TEST_DELTAS_SOME_LANES && lanes >> own & 1) set_delta(c, i, small);
    if (kind == TEST_DELTAS_BITS) set_delta(c, i, bits);
  }
}

/* ---- the layout ---- */

void test_add_bits(test_bits *row, uint64_t bits, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) row->bits[row->count++] = bits >> i & 1;
}

uint32_t test_words_of_bits(test_bits *row, uint8_t *words, uint32_t room_words) {
  while (row->count % 32) test_add_bits(row, 0, 1);
  for (uint32_t w = 0; w < row->count / 32 && w < room_words; w++) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 32; i++) word = word << 1 | row->bits[32 * w + i];
    szg_store_u32(words + 4 * w, word);
  }
  return row->count / 32;
}

static void add_delta(test_bits *row, const test_tile_case *c, int64_t delta) {
  uint32_t const direct = szg_is_direct(delta) ? szg_delta_symbol(delta) : SZG_ESCAPE_SYMBOL;
  uint64_t const magnitude = szg_delta_magnitude(delta);
  uint32_t const k = magnitude ? szg_magnitude_class(magnitude) : 0;
  uint32_t const in_class = szg_class_symbol(k, delta < 0);
  const uint8_t *const lengths = coder.book.lengths;
  uint32_t symbol = SZG_ESCAPE_SYMBOL;
  if (direct != SZG_ESCAPE_SYMBOL && lengths[direct])
    symbol = direct;
  else if (magnitude && lengths[in_class])
    symbol = in_class;
  test_add_bits(row, coder.book.codes[symbol], lengths[symbol]);
  if (symbol == SZG_ESCAPE_SYMBOL)
    test_add_bits(row, (uint64_t)delta, c->lattice_bits);
  else if (symbol == in_class)
    test_add_bits(row, magnitude - szg_class_base(k), szg_class_raw_bits(k));
}

/* The index of the value at a place of a row in code order; -1 if there is none. */
static int value_at(const test_tile_case *c, uint32_t row, uint32_t place) {
  const szg_tile *const t = &c->tile;
  uint32_t const z = c->ndim == 3 ? row / 8 : 0;
  uint32_t const y = c->ndim == 3 ? row % 8 : c->ndim == 2 ? row / 2 : 0;
  uint32_t const x = place + (c->ndim == 3 ? 0 : c->ndim == 2 ? row % 2 * 32 : row * 32);
  if (z >= t->z_extent || y >= t->y_extent || x >= t->x_extent) return -1;
  return (int)((z * t->y_extent + y) * t->x_extent + x);
}

/* Appends a lane's codes; false if its deltas are all 0. */
static bool add_lane(test_bits *row, const test_tile_case *c, uint32_t lane) {
  static const uint32_t order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  uint32_t const step = c->zero_groups == SZG_ZERO_GROUPS_4 ? 4 : 8;
  bool is_busy = false;
  for (uint32_t first = 0; first < SZG_LANE_CODES; first += step) {
    int64_t deltas[8];
    uint32_t count = 0;
    bool is_group_busy = false;
    for (uint32_t i = first; i < first + step; i++) {
      int const value = value_at(c, i / 8 * 8 + order[i % 8], lane);
      if (value < 0) continue;
      deltas[count] = delta_of(c, &c->deltas, (uint32_t)value);
      is_group_busy |= deltas[count++] != 0;
    }
    is_busy |= is_group_busy;
    if (count && c->zero_groups != SZG_ZERO_GROUPS_NONE) {
      test_add_bits(row, is_group_busy, 1);
      if (!is_group_busy) continue;
    }
    for (uint32_t i = 0; i < count; i++) add_delta(row, c, deltas[i]);
  }
  return is_busy;
}

void test_encode_tile(const test_tile_case *c, test_bits *bits) {
  static test_bits lanes;
  uint32_t lengths[SZG_LANES], mask = 0, least = UINT32_MAX, most = 0;
  lanes.count = bits->count = 0;
  for (uint32_t lane = 0; lane < SZG_LANES; lane++) {
    uint32_t const start = lanes.count;
    bool const is_busy = add_lane(&lanes, c, lane);
    if (!is_busy) lanes.count = start;
    lengths[lane] = lanes.count - start;
    mask = mask << 1 | is_busy;
    if (is_busy && lengths[lane] < least) least = lengths[lane];
    if (is_busy && lengths[lane] > most) most = lengths[lane];
  }
  if (mask == 0) return;
  uint32_t width = 0;
  while (most - least >= 1u << width) width++;
  test_add_bits(bits, least, 14);
  test_add_bits(bits, width, 4);
  test_add_bits(bits, mask != UINT32_MAX, 1);
  if (mask != UINT32_MAX) test_add_bits(bits, mask, 32);
  for (uint32_t lane = 0; lane < SZG_LANES; lane++)
    if (lengths[lane]) test_add_bits(bits, lengths[lane] - least, width);
  for (uint32_t i = 0; i < lanes.count; i++) test_add_bits(bits, lanes.bits[i], 1);
}
