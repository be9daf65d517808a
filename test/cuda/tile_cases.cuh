/* tile_cases.cuh - frames of many kinds for the tests of the tile layout's kernels.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_CASES_CUH
#define SZG_TILE_CASES_CUH

#include <math.h>

#include "codecs/lorenzo/tile.h"
#include "codecs/lorenzo/tile_cuda.h"
#include "core/bytes.h"
#include "cuda/cuda_test.cuh"
#include "quant/bound.h"

namespace tile_cases {

using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;

typedef std::vector<uint8_t> Bytes;

/* ---- frames ---- */

struct Setup {
  szg_quantizer k;
  uint32_t lattice_bits;
  szg_grid grid;
  uint32_t axes, zero_groups;
  int field; /* kSmooth to kWidths */
  bool is_f32() const { return k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE; }
  uint32_t width() const { return is_f32() ? 4 : 8; }
};

inline const char *name_of(const Setup &s) {
  static char name[200];
  snprintf(name, sizeof name,
           "arithmetic %u, %u bits, axes %u, zero groups %u, field %d, %llu x %llu x %llu x %llu",
           s.k.arithmetic, s.lattice_bits, s.axes, s.zero_groups, s.field,
           (unsigned long long)s.grid.batch_extent, (unsigned long long)s.grid.z_extent,
           (unsigned long long)s.grid.y_extent, (unsigned long long)s.grid.x_extent);
  return name;
}

enum Field {
  kSmooth,      /* like most fields */
  kOffset,      /* the same far from 0 */
  kNoise,       /* a few points up and down */
  kRough,       /* hundreds of them */
  kWild,        /* the whole 16-bit lattice: differences wrap */
  kZero,        /* zeros only */
  kSparse,      /* zeros, except for a few values */
  kSteps,       /* long stretches of one value */
  kSigns,       /* the same magnitude, with alternating signs */
  kSpikes,      /* smooth, except for a few values */
  kHoles,       /* smooth, with stretches of NaN, infinities and values beyond the lattice */
  kFill,        /* smooth, with stretches of a fill value that has a point */
  kOneHole,     /* smooth, with one NaN in every other tile */
  kLongestLane, /* one place of every row is wild */
  kWidths,      /* differences of all widths, the widest in a part of the field */
  kFields
};

/* The value of a field, in steps. */
inline double point_at(const Setup &s, uint64_t i) {
  double const x = (double)(i % s.grid.x_extent), y = (double)(i / s.grid.x_extent % 1021);
  double const smooth = 90.0 * sin(0.05 * x + 0.3) * cos(0.03 * y) + 20.0 * sin(0.0007 * (double)i);
  double const reach = s.lattice_bits == 16 ? 32700.0 : s.lattice_bits == 32 ? 1e9 : 1e17;
  double const wild = reach * (2.0 * random_unit() - 1.0);
  switch (s.field) {
    case kOffset:
      return smooth + 0.7 * reach;
    case kNoise:
      return 6.0 * random_unit() - 3.0;
    case kRough:
      return 3000.0 * random_unit() - 800.0;
    case kWild:
      return wild;
    case kZero:
      return 0.0;
    case kSparse:
      return random_below(300) ? 0.0 : wild;
    case kSteps:
      return (double)(i / 700 % 5) * 40.0;
    case kSigns:
      return (i % 2 ? 1.0 : -1.0) * 0.99 * reach;
    case kSpikes:
      return random_below(100) ? smooth : wild;
    case kWidths: {
      double const most = s.lattice_bits == 16                        ? 14.9
                          : s.k.arithmetic == SZG_ARITHMETIC_F32      ? 21.0
                          : s.k.arithmetic == SZG_ARITHMETIC_F64_WIDE ? 44.0
                                                                      : 29.0;
      double const width = most * (double)(1 + i / 3000 % 8) / 8.0 * random_unit();
      return (random_below(2) ? 1.0 : -1.0) * exp2(width);
    }
    case kLongestLane:
      return i % s.grid.x_extent % 32 == 7 ? wild : 0.0;
    default:
      return smooth + 0.4 * random_unit();
  }
}

inline void set_value(const Setup &s, Bytes &values, uint64_t i, double value) {
  float const value_f32 = (float)value;
  if (s.is_f32())
    memcpy(&values[4 * i], &value_f32, 4);
  else
    memcpy(&values[8 * i], &value, 8);
}

constexpr double kFillPoint = -700.0;

inline Bytes make_field(const Setup &s) {
  static const double holes[] = {NAN, INFINITY, -INFINITY, 3e38, -1e30};
  Bytes values(s.grid.value_count * s.width());
  for (uint64_t i = 0; i < s.grid.value_count; i++)
    set_value(s, values, i, point_at(s, i) * s.k.step);
  if (s.field == kHoles || s.field == kFill) {
    for (uint64_t i = random_below(900); i < s.grid.value_count; i += 1 + random_below(900)) {
      double const hole = s.field == kFill ? kFillPoint * s.k.step : holes[random_below(5)];
      for (uint64_t left = random_below(100); left > 0 && i < s.grid.value_count; left--)
        set_value(s, values, i++, hole);
    }
  }
  for (uint64_t t = 0; s.field == kOneHole && t < s.grid.tile_count; t += 2) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    set_value(s, values,
              tile.first_value + random_below(tile.z_extent) * tile.z_stride +
                  random_below(tile.y_extent) * tile.y_stride + random_below(tile.x_extent),
              NAN);
  }
  return values;
}

/* The step has the margin for values of up to so many steps; 0: a third of the values is out of
 * bound. kWide: as many as the arithmetic suits. */
constexpr double kWide = -1.0;
constexpr double kMargins[] = {32700.0, 200.0, 0.0, kWide};

inline double wide_margin(uint32_t arithmetic) {
  return arithmetic == SZG_ARITHMETIC_F32        ? 1e6
         : arithmetic == SZG_ARITHMETIC_F64_WIDE ? 1e13
                                                 : 1e5;
}

inline Setup setup_of(uint32_t arithmetic, uint32_t lattice_bits, const szg_grid &grid,
                      double margin, int field) {
  double const unit = arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? 0x1p-24 : 0x1p-53;
  double const bound = 0x1.23p-7;
  if (margin == kWide) margin = wide_margin(arithmetic);
  double step = margin > 0.0 ? 2.0 * bound / (1.0 + 8.0 * unit * margin) : 3.0 * bound;
  if (arithmetic == SZG_ARITHMETIC_F32) step = (double)(float)step;
  bool const has_fill = field == kFill;
  uint64_t const fill_bits = szg_bits_of_value(
      arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? SZGPU_F32 : SZGPU_F64, kFillPoint * step);
  Setup s = {szg_quantizer_make(arithmetic, bound, step, has_fill, has_fill ? fill_bits : 0),
             lattice_bits,
             grid,
             szg_grid_axes(&grid),
             0,
             field};
  if (lattice_bits == 16)
    CHECK(szg_quantizer_take_16_bits(32700.0 * step, &s.k), "no 16-bit lattice for the setup");
  return s;
}

/* ---- books ---- */

struct Book {
  szg_tile_book_cuda parts;
  szg_codebook codebook; /* only own_book's */
  explicit Book(uint32_t zero_groups) {
    memset(&parts, 0, sizeof parts);
    parts.zero_groups = zero_groups;
    parts.section_bytes = 6 + (uint32_t)random_below(SZG_TILE_SYMBOLS);
    for (uint32_t i = 0; i < parts.section_bytes; i++) parts.section[i] = (uint8_t)random_bits();
  }
};

inline szg_tile_work work; /* 70 KB */
inline szg_codebook_work book_work;

inline void tile_deltas(const Setup &s, const Bytes &values, const szg_tile &tile) {
  szg_tile_values_to_deltas(&s.k, s.lattice_bits, s.axes, &tile, values.data(), &work,
                            &work.deltas);
}

/* A book made from the field's own deltas. */
inline Book own_book(const Setup &s, const Bytes &values) {
  static szg_tile_tally tally;
  memset(&tally, 0, sizeof tally);
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    tile_deltas(s, values, tile);
    szg_tile_count(s.lattice_bits, &tile, &work.deltas, &tally);
  }
  Book book(s.zero_groups);
  szg_tile_book_build(&tally, s.zero_groups, &book.codebook, &book_work);
  szg_tile_encoder_build(&book.codebook, &book.parts.encoder);
  return book;
}

struct Lattice {
  uint32_t arithmetic, bits;
};
constexpr Lattice kLattices[] = {{SZG_ARITHMETIC_F32, 16},       {SZG_ARITHMETIC_F64, 16},
                                 {SZG_ARITHMETIC_F32, 32},       {SZG_ARITHMETIC_F64, 32},
                                 {SZG_ARITHMETIC_F32_CLOSE, 32}, {SZG_ARITHMETIC_F64_WIDE, 64}};

inline std::vector<szg_grid> all_grids() {
  std::vector<szg_grid> grids;
  for (const auto &dims : std::vector<std::vector<uint64_t>>{{1},
                                                             {33},
                                                             {257},
                                                             {4096},
                                                             {12289},
                                                             {2, 2},
                                                             {64, 64},
                                                             {67, 130},
                                                             {130, 40},
                                                             {16, 8, 32},
                                                             {33, 15, 40},
                                                             {40, 3, 5},
                                                             {2, 17, 9, 100},
                                                             {2, 16, 16, 32}})
    grids.push_back(cuda_test::grid_of(dims));
  szg_grid const whole = cuda_test::grid_of({33, 15, 40});
  grids.push_back(szg_grid_of_rows(&whole, 1));
  return grids;
}

} // namespace tile_cases

#endif
