/* lorenzo_reference.cuh - fields to try, and the results of the CPU's functions, tile by tile.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LORENZO_REFERENCE_CUH
#define SZG_LORENZO_REFERENCE_CUH

#include "core/bytes.h"
#include "cuda/cuda_test.cuh"
#include "predict/lorenzo.h"
#include "quant/bound.h"

namespace {

using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;

typedef std::vector<uint8_t> Bytes;

constexpr size_t kGuard = 32;     /* elements around an output that must not change */
constexpr uint8_t kPoison = 0xA5; /* DeviceArray's */
constexpr double kBound = 0x1p-9; /* with kStep every value on the lattice is in bound */
constexpr double kStep = 0x1.ff8p-9;
constexpr double kCoarseStep = 0x1.8p-8; /* with this step about a third is not */
constexpr uint32_t kRadii[] = {2, 512, 32768, 2048, 2049, 4096};

/* One way to code a frame. */
struct Setup {
  szg_quantizer k;
  szg_grid grid;
  uint32_t axes, radius;
  bool is_wide() const { return szg_is_wide(k.arithmetic); }
  bool is_f32() const { return k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE; }
  size_t width() const { return is_f32() ? 4 : 8; }
};

const char *name_of(const Setup &s) {
  static char name[160];
  snprintf(name, sizeof name, "arithmetic %u, axes %u, radius %u, %llu x %llu x %llu x %llu",
           s.k.arithmetic, s.axes, s.radius, (unsigned long long)s.grid.batch_extent,
           (unsigned long long)s.grid.z_extent, (unsigned long long)s.grid.y_extent,
           (unsigned long long)s.grid.x_extent);
  return name;
}

/* Grids of every kind, whole and ragged, with aligned and unaligned rows and batches; and last
 * frames that are one row thick. */
std::vector<szg_grid> all_grids() {
  std::vector<szg_grid> grids;
  for (const auto &dims : std::vector<std::vector<uint64_t>>{
           {1},         {31},      {33},          {257},          {4096},        {12289},
           {12296},     {2, 2},    {3, 33},       {64, 64},       {67, 130},     {130, 132},
           {1, 300, 1}, {2, 2, 2}, {16, 8, 32},   {17, 9, 33},    {33, 15, 40},  {3, 20, 65},
           {5, 3, 2},   {9, 1, 9}, {2, 5, 9, 33}, {2, 17, 9, 40}, {3, 17, 9, 36}})
    grids.push_back(cuda_test::grid_of(dims));
  for (const auto &dims : std::vector<std::vector<uint64_t>>{{5000}, {130, 132}, {33, 15, 40}}) {
    szg_grid const whole = cuda_test::grid_of(dims);
    grids.push_back(szg_grid_of_rows(&whole, 1));
  }
  return grids;
}

Setup setup_of(uint32_t arithmetic, const szg_grid &grid, uint32_t axes, uint32_t radius) {
  return {szg_quantizer_make(arithmetic, kBound, kStep, false, 0), grid, axes, radius};
}

/* ---- fields ---- */

void set_value(const Setup &s, Bytes &field, uint64_t i, double value) {
  float const value_f32 = (float)value;
  if (s.is_f32())
    memcpy(&field[4 * i], &value_f32, 4);
  else
    memcpy(&field[8 * i], &value, 8);
}

szg_tile_work work; /* 70 KB */

/* A field made from deltas along the setup's axes; `escape_share` of them have no code. */
Bytes field_of_deltas(const Setup &s, double escape_share) {
  Bytes field(s.grid.value_count * s.width());
  uint64_t const reach = s.radius == 2 ? 100 : s.is_wide() ? (uint64_t)1 << 34 : 3 * s.radius;
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    for (uint32_t i = 0; i < tile.value_count; i++) {
      bool const is_escape = random_unit() < escape_share;
      uint64_t const size = is_escape ? s.radius + random_below(reach) : random_below(s.radius);
      int64_t const delta = random_bits() % 2 ? (int64_t)size : -(int64_t)size;
      if (s.is_wide())
        work.deltas.wide[i] = delta;
      else
        work.deltas.narrow[i] = (int32_t)delta;
    }
    szg_tile_sum(s.is_wide(), &tile, s.axes, &work);
    szg_tile_restore(&s.k, &tile, &work, field.data());
  }
  return field;
}

/* Runs of values without a lattice point, across rows and lanes. A third of the rest is out of
 * bound. */
Bytes field_with_holes(Setup &s) {
  static const double holes[] = {NAN, INFINITY, -INFINITY, 3e38, -1e30, -9999.0};
  s.k = szg_quantizer_make(s.k.arithmetic, kBound, kCoarseStep, true,
                           szg_bits_of_value(s.is_f32() ? SZGPU_F32 : SZGPU_F64, -9999.0));
  Bytes field(s.grid.value_count * s.width());
  for (uint64_t i = 0; i < s.grid.value_count;) {
    uint64_t const run = 1 + random_below((uint64_t)1 << random_below(8));
    double const hole = holes[random_below(6)];
    bool const is_hole = random_bits() % 2;
    for (uint64_t end = i + run; i < end && i < s.grid.value_count; i++)
      set_value(s, field, i, is_hole ? hole : 2.0 * random_unit());
  }
  return field;
}

/* Random bits; one of the values is the fill value. */
Bytes field_of_bits(Setup &s) {
  Bytes field(s.grid.value_count * s.width());
  for (uint8_t &byte : field) byte = (uint8_t)random_bits();
  uint64_t fill_bits = 0;
  memcpy(&fill_bits, &field[random_below(s.grid.value_count) * s.width()], s.width());
  s.k = szg_quantizer_make(s.k.arithmetic, kBound, kStep, true, fill_bits);
  return field;
}

/* Close to the ends of the lattice, so that differences wrap. */
Bytes field_at_limits(const Setup &s) {
  Bytes field(s.grid.value_count * s.width());
  double const limit = 0.9999 * (s.is_wide() ? SZG_LATTICE_LIMIT_WIDE : SZG_LATTICE_LIMIT) * kStep;
  for (uint64_t i = 0; i < s.grid.value_count; i++)
    set_value(s, field, i, limit * (double)((int)random_below(3) - 1));
  return field;
}

/* Every second tile has one NaN, and there is no other trouble. */
Bytes field_of_few_holes(const Setup &s) {
  Bytes field = field_of_deltas(s, 0.0);
  for (uint64_t t = 0; t < s.grid.tile_count; t += 2) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    uint64_t const z = random_below(tile.z_extent), y = random_below(tile.y_extent);
    set_value(
        s, field,
        tile.first_value + z * tile.z_stride + y * tile.y_stride + random_below(tile.x_extent),
        NAN);
  }
  return field;
}

enum { kNoEscape, kFewEscapes, kHalfEscapes, kAllEscapes, kHoles, kFewHoles, kBits, kLimits, kNan };
constexpr int kKinds = kNan + 1;

/* May change the setup's quantizer. */
Bytes make_field(int kind, Setup &s) {
  static const double shares[] = {0.0, 0.01, 0.5, 1.0};
  if (kind == kFewEscapes) /* 0 is the fill value, but a lattice point too */
    s.k = szg_quantizer_make(s.k.arithmetic, kBound, kStep, true, 0);
  if (kind <= kAllEscapes) return field_of_deltas(s, shares[kind]);
  if (kind == kHoles) return field_with_holes(s);
  if (kind == kFewHoles) return field_of_few_holes(s);
  if (kind == kBits) return field_of_bits(s);
  if (kind == kLimits) return field_at_limits(s);
  return Bytes(s.grid.value_count * s.width(), 0xFF);
}

/* ---- what the CPU makes of the fields ---- */

struct Coded {
  std::vector<uint16_t> codes, escape_counts;
  Bytes tile_marks;
  std::vector<int64_t> escapes;
  std::vector<int64_t> extremes = {0, 0};
};

Coded code_on_cpu(const Setup &s, const Bytes &field) {
  static int64_t escapes[SZG_TILE_VALUES];
  Coded coded;
  coded.codes.resize(s.grid.value_count);
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    szg_tile_quantize(&s.k, &tile, field.data(), &work);
    szg_tile_difference(s.is_wide(), &tile, s.axes, &work.lattice, &work.deltas);
    uint32_t const count =
        szg_tile_code(s.is_wide(), &tile, s.radius, &work, &coded.codes[tile.first_code], escapes);
    coded.escape_counts.push_back((uint16_t)count);
    coded.tile_marks.push_back(work.has_marks);
    for (uint32_t i = 0; i < count; i++) {
      coded.escapes.push_back(escapes[i]);
      if (escapes[i] < coded.extremes[0]) coded.extremes[0] = escapes[i];
      if (escapes[i] > coded.extremes[1]) coded.extremes[1] = escapes[i];
    }
  }
  return coded;
}

/* A frame as an archive holds it, with made-up code lengths. */
struct Stored {
  std::vector<uint16_t> codes, bits;
  std::vector<uint16_t> escape_counts; /* empty: no such section */
  Bytes lengths, escapes;
  unsigned escape_bytes = 0;
};

std::vector<uint16_t> bits_of(const Setup &s, const Stored &stored) {
  std::vector<uint16_t> bits;
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < tile.value_count; i++)
      sum += stored.lengths[stored.codes[tile.first_code + i]];
    bits.push_back((uint16_t)(sum - tile.value_count));
  }
  return bits;
}

Bytes escape_bytes_of(const std::vector<int64_t> &escapes, unsigned width) {
  Bytes bytes(escapes.size() * width);
  for (size_t i = 0; i < escapes.size(); i++)
    szg_store_narrow(&bytes[i * width], (uint64_t)escapes[i], width);
  return bytes;
}

Stored store(const Setup &s, const Coded &coded, unsigned escape_bytes) {
  Stored stored;
  stored.codes = coded.codes;
  for (uint32_t i = 0; i < 2 * s.radius; i++)
    stored.lengths.push_back((uint8_t)(1 + random_below(SZG_MAX_CODE_BITS)));
  stored.bits = bits_of(s, stored);
  if (coded.escapes.empty()) return stored;
  stored.escape_counts = coded.escape_counts;
  stored.escape_bytes = escape_bytes;
  stored.escapes = escape_bytes_of(coded.escapes, escape_bytes);
  return stored;
}

std::vector<szg_tile_place> places_of(const Setup &s, const std::vector<uint16_t> &escape_counts) {
  szg_tile_place place;
  memset(&place, kPoison, sizeof place);
  place.escape = 0;
  std::vector<szg_tile_place> places = {place};
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    place.escape += escape_counts.empty() ? 0 : escape_counts[t];
    places.push_back(place);
  }
  return places;
}

/* The tiles to restore, and the values wanted. */
struct Window {
  uint64_t first_tile, end_tile, first_value, value_count;
};

Window whole(const Setup &s) { return {0, s.grid.tile_count, 0, s.grid.value_count}; }

/* The window's values, with poison around them and wherever no tile wrote. */
Bytes restore_on_cpu(const Setup &s, const Stored &stored, const Window &window) {
  Bytes frame(s.grid.value_count * s.width(), kPoison);
  std::vector<szg_tile_place> const places = places_of(s, stored.escape_counts);
  for (uint64_t t = window.first_tile; t < window.end_tile; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    CHECK(szg_tile_uncode(s.is_wide(), &tile, s.radius, &stored.codes[tile.first_code],
                          stored.escapes.data() + places[t].escape * stored.escape_bytes,
                          stored.escape_counts.empty() ? 0 : stored.escape_counts[t],
                          stored.escape_bytes, &work),
          "the test's own codes");
    szg_tile_sum(s.is_wide(), &tile, s.axes, &work);
    szg_tile_restore(&s.k, &tile, &work, frame.data());
  }
  size_t const bytes = window.value_count * s.width();
  Bytes result(kGuard + bytes + kGuard, kPoison);
  if (bytes) memcpy(&result[kGuard], &frame[window.first_value * s.width()], bytes);
  return result;
}

} // namespace

#endif
