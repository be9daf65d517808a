/* test_cuda_lorenzo.cu - values of tiles to codes and back on the GPU, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/lorenzo.h"

#include "core/bytes.h"
#include "cuda/cuda_test.cuh"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;
using cuda_test::stream;

namespace {

typedef std::vector<uint8_t> Bytes;

constexpr size_t kGuard = 32; /* elements around an output that must stay as they were */
constexpr size_t kShifts[] = {0,
                              8}; /* bytes from 16-byte alignment: fields need their values' only */
constexpr uint8_t kPoison = 0xA5; /* DeviceArray's */
constexpr double kBound = 0x1p-9; /* with this step every value on the lattice is in bound */
constexpr double kStep = 0x1.ff8p-9;
constexpr double kCoarseStep = 0x1.8p-8; /* with this one about a third is not */
constexpr uint32_t kRadii[] = {2,    512,  32768,
                               2048, 2049, 4096}; /* around the shared length table */

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

szg_grid grid_of(const std::vector<uint64_t> &dims) {
  szgpu_shape shape = {};
  shape.dtype = SZGPU_F64;
  shape.ndim = (int)dims.size();
  for (size_t i = 0; i < dims.size(); i++) shape.dims[i] = dims[i];
  szg_grid grid;
  MUST(szg_grid_of_shape(&shape, &grid));
  return grid;
}

/* Of every kind, whole and ragged, with rows and batches that are aligned and that are not; and last
 * frames that are one row thick. */
std::vector<szg_grid> all_grids() {
  std::vector<szg_grid> grids;
  for (const auto &dims : std::vector<std::vector<uint64_t>>{
           {1},         {31},      {33},          {257},          {4096},        {12289},
           {12296},     {2, 2},    {3, 33},       {64, 64},       {67, 130},     {130, 132},
           {1, 300, 1}, {2, 2, 2}, {16, 8, 32},   {17, 9, 33},    {33, 15, 40},  {3, 20, 65},
           {5, 3, 2},   {9, 1, 9}, {2, 5, 9, 33}, {2, 17, 9, 40}, {3, 17, 9, 36}})
    grids.push_back(grid_of(dims));
  for (const auto &dims : std::vector<std::vector<uint64_t>>{{5000}, {130, 132}, {33, 15, 40}}) {
    szg_grid const whole = grid_of(dims);
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

/* Of deltas along the setup's axes, `escape_share` of which have no code. */
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

/* Runs, across rows and lanes, of what has no lattice point, among values of which a third is out
 * of bound. */
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

/* Any bits at all; one of the values is the fill. */
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

/* All is well but for one value of every second tile. */
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
  if (kind <= kAllEscapes) return field_of_deltas(s, shares[kind]);
  if (kind == kHoles) return field_with_holes(s);
  if (kind == kFewHoles) return field_of_few_holes(s);
  if (kind == kBits) return field_of_bits(s);
  if (kind == kLimits) return field_at_limits(s);
  return Bytes(s.grid.value_count * s.width(), 0xFF);
}

/* ---- what the CPU makes of them ---- */

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

/* A frame as an archive holds it, with code lengths out of the air. */
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

/* Which tiles are worked on, and which values are wanted. */
struct Window {
  uint64_t first_tile, end_tile, first_value, value_count;
};

Window whole(const Setup &s) { return {0, s.grid.tile_count, 0, s.grid.value_count}; }

/* The window's values with poison around them, and where no tile wrote. */
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
  Bytes result(kGuard, kPoison);
  const uint8_t *const first = frame.data() + window.first_value * s.width();
  result.insert(result.end(), first, first + window.value_count * s.width());
  result.resize(result.size() + kGuard, kPoison);
  return result;
}

/* ---- comparisons ---- */

/* expected: what the launcher had to write, and poison after it. */
template <class T>
void check_equal(const std::vector<T> &found, const std::vector<T> &expected, const Setup &s,
                 const char *what) {
  if (found == expected) return;
  size_t i = 0;
  while (i < expected.size() && found[i] == expected[i]) i++;
  CHECK(false, "%s, %s: at %zu of %zu there is %lld, not %lld", name_of(s), what, i,
        expected.size(), (long long)found[i], (long long)expected[i]);
}

template <class T>
std::vector<T> guarded(std::vector<T> values) {
  T poison;
  memset(&poison, kPoison, sizeof poison);
  values.resize(values.size() + kGuard, poison);
  return values;
}

Bytes shifted(const Bytes &field, size_t shift) {
  Bytes bytes(shift, kPoison);
  bytes.insert(bytes.end(), field.begin(), field.end());
  return bytes;
}

void check_codes(const Setup &s, const Bytes &field, const Coded &coded) {
  DeviceArray<uint32_t> const choice(std::vector<uint32_t>{s.axes, s.radius});
  DeviceArray<uint16_t> codes(coded.codes.size() + kGuard);
  DeviceArray<uint16_t> escape_counts(s.grid.tile_count + kGuard);
  DeviceArray<uint8_t> tile_marks(s.grid.tile_count + kGuard);
  DeviceArray<int64_t> extremes(2);
  for (size_t const shift : kShifts) {
    DeviceArray<uint8_t> const values(shifted(field, shift));
    codes.poison(), escape_counts.poison(), tile_marks.poison();
    extremes.zero();
    szg_coded_frame_cuda const to = {codes.data(), escape_counts.data(), tile_marks.data(),
                                     extremes.data()};
    MUST(szg_tiles_code_cuda(&s.k, &s.grid, values.data() + shift, choice.data(), choice.data() + 1,
                             &to, stream));
    check_equal(codes.host(), guarded(coded.codes), s, "codes");
    check_equal(escape_counts.host(), guarded(coded.escape_counts), s, "escape counts");
    check_equal(tile_marks.host(), guarded(coded.tile_marks), s, "marks of tiles");
    check_equal(extremes.host(), coded.extremes, s, "extremes");
  }
}

void check_escapes(const Setup &s, const Bytes &field, const Coded &coded, unsigned width) {
  std::vector<uint32_t> listed;
  for (uint32_t t = 0; t < s.grid.tile_count; t++)
    if (coded.escape_counts[t]) listed.push_back(t);
  uint32_t const count = (uint32_t)listed.size();
  listed.resize(s.grid.tile_count, 0xA5A5A5A5u); /* no tile has this number */
  DeviceArray<uint8_t> const values(field);
  DeviceArray<uint32_t> const tiles(listed), tile_count(std::vector<uint32_t>{count});
  DeviceArray<szg_tile_place> const places(places_of(s, coded.escape_counts));
  DeviceArray<uint8_t> escapes(coded.escapes.size() * width + kGuard);
  MUST(szg_tiles_write_escapes_cuda(&s.k, &s.grid, values.data(), s.axes, s.radius, tiles.data(),
                                    tile_count.data(), places.data(), width, escapes.data(),
                                    stream));
  check_equal(escapes.host(), guarded(escape_bytes_of(coded.escapes, width)), s, "escapes");
}

/* Restores the window into `restored`, which has guards around; gives the verdict. */
szg_verdict restore_on_gpu(const Setup &s, const Stored &stored, const Window &window, size_t shift,
                           const szg_verdict &before, Bytes *restored) {
  DeviceArray<uint16_t> const codes(stored.codes), bits(stored.bits), counts(stored.escape_counts);
  DeviceArray<uint8_t> const lengths(stored.lengths), escapes(stored.escapes);
  DeviceArray<szg_tile_place> const places(places_of(s, stored.escape_counts));
  DeviceArray<szg_verdict> const verdict(std::vector<szg_verdict>{before});
  DeviceArray<uint8_t> values(shift + kGuard + window.value_count * s.width() + kGuard);
  szg_restore_input_cuda input = {};
  input.codes = codes.data();
  input.code_lengths = lengths.data();
  input.counts.bits = bits.data();
  input.counts.escapes = counts.count() ? counts.data() : nullptr;
  input.places = places.data();
  input.escapes = counts.count() ? escapes.data() : nullptr;
  input.escape_bytes = stored.escape_bytes;
  input.axes = s.axes;
  input.radius = s.radius;
  MUST(szg_tiles_restore_cuda(&s.k, &s.grid, &input, window.first_tile, window.end_tile,
                              values.data() + shift + kGuard, window.first_value,
                              window.value_count, verdict.data(), stream));
  *restored = values.host();
  restored->erase(restored->begin(), restored->begin() + (ptrdiff_t)shift);
  return verdict.host()[0];
}

void check_restored(const Setup &s, const Stored &stored, const Window &window) {
  Bytes const expected = restore_on_cpu(s, stored, window);
  for (size_t const shift : kShifts) {
    Bytes restored;
    szg_verdict const verdict = restore_on_gpu(s, stored, window, shift, {0, 0}, &restored);
    CHECK(verdict.bad_data == 0 && verdict.bad_sections == 0, "%s: a verdict", name_of(s));
    check_equal(restored, expected, s, "restored bytes");
  }
}

unsigned random_width(const Setup &s) { return 1 + (unsigned)random_below(s.is_wide() ? 8 : 4); }

/* ---- claims ---- */

void check_there_and_back(Setup s, int kind) {
  Bytes const field = make_field(kind, s);
  Coded const coded = code_on_cpu(s, field);
  if (kind == kNoEscape) CHECK(coded.escapes.empty(), "%s: the field has escapes", name_of(s));
  if (kind == kAllEscapes)
    CHECK(coded.escapes.size() == coded.codes.size(), "%s: not all escape", name_of(s));
  unsigned const width = random_width(s);
  check_codes(s, field, coded);
  check_escapes(s, field, coded, width);
  check_restored(s, store(s, coded, width), whole(s));
}

void every_arithmetic_shape_and_set_of_axes_is_the_cpus() {
  size_t turn = 0;
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++)
    for (const szg_grid &grid : all_grids())
      for (uint32_t axes = 1; axes <= szg_grid_axes(&grid); axes++)
        for (int kind = 0; kind < kKinds; kind++, turn++)
          check_there_and_back(setup_of(arithmetic, grid, axes, kRadii[turn % 6]), kind);
}

/* More than the warps of a launch that strides, on any GPU. */
void many_tiles_are_the_cpus() {
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++) {
    check_there_and_back(setup_of(arithmetic, grid_of({20011, 2, 2, 2}), SZG_AXES_ALL, 2),
                         kHalfEscapes);
    check_there_and_back(setup_of(arithmetic, grid_of({70, 75, 80}), SZG_AXIS_Z, 512), kFewEscapes);
  }
}

/* Codes and escapes that no field gave: sums wrap, points lie off the lattice. */
Stored random_stored(const Setup &s) {
  Coded coded;
  for (uint64_t i = 0; i < s.grid.value_count; i++)
    coded.codes.push_back((uint16_t)random_below(2 * s.radius));
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    uint16_t count = 0;
    for (uint32_t i = 0; i < tile.value_count; i++)
      count += coded.codes[tile.first_code + i] == SZG_ESCAPE_SYMBOL;
    coded.escape_counts.push_back(count);
    for (; count > 0; count--) coded.escapes.push_back((int64_t)random_bits());
  }
  return store(s, coded, random_width(s));
}

void any_codes_are_restored_as_on_the_cpu() {
  size_t turn = 0;
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++)
    for (const szg_grid &grid : all_grids())
      for (uint32_t axes = 1; axes <= szg_grid_axes(&grid); axes++, turn++) {
        Setup const s = setup_of(arithmetic, grid, axes, kRadii[turn % 6]);
        check_restored(s, random_stored(s), whole(s));
      }
}

void windows_cut_tiles() {
  size_t turn = 0;
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++)
    for (const szg_grid &grid : all_grids()) {
      Setup const s = setup_of(arithmetic, grid, szg_grid_axes(&grid), kRadii[turn++ % 6]);
      Stored const stored = random_stored(s);
      for (int i = 0; i < 4; i++) {
        Window window;
        window.first_tile = random_below(grid.tile_count + 1);
        window.end_tile = window.first_tile + random_below(grid.tile_count + 1 - window.first_tile);
        window.first_value = random_below(grid.value_count);
        window.value_count = random_below(grid.value_count + 1 - window.first_value);
        check_restored(s, stored, window);
        window.first_tile = 0, window.end_tile = grid.tile_count;
        check_restored(s, stored, window);
      }
    }
}

void expect_refusal(const Setup &s, const Stored &stored, const char *what) {
  for (size_t const shift : kShifts) {
    Bytes restored;
    szg_verdict const verdict = restore_on_gpu(s, stored, whole(s), shift, {0, 0}, &restored);
    CHECK(verdict.bad_data != 0, "%s: %s is taken", name_of(s), what);
    CHECK(verdict.bad_sections == 0, "%s: sections are blamed for %s", name_of(s), what);
    for (size_t i = 0; i < kGuard; i++)
      CHECK(restored[i] == kPoison && restored[restored.size() - 1 - i] == kPoison,
            "%s: %s has values written beside the field", name_of(s), what);
  }
}

/* The tile says `by` escapes more; the section has as many as all tiles say. */
Stored with_escapes(const Stored &stored, uint64_t tile, int by) {
  Stored other = stored;
  other.escape_counts[tile] = (uint16_t)(other.escape_counts[tile] + by);
  other.escapes.resize(other.escapes.size() + (size_t)((int64_t)by * other.escape_bytes));
  return other;
}

void tiles_that_lie_are_refused(uint32_t arithmetic, const szg_grid &grid) {
  Setup s = setup_of(arithmetic, grid, szg_grid_axes(&grid), 512);
  Bytes const field = make_field(kAllEscapes, s); /* so that none less is no wrap */
  Stored const stored = store(s, code_on_cpu(s, field), s.is_wide() ? 8 : 4);
  uint64_t const last = grid.tile_count - 1, t = random_below(grid.tile_count);
  for (int by : {-1, 1}) {
    Stored lie = stored;
    lie.bits[t] = (uint16_t)(lie.bits[t] + by);
    expect_refusal(s, lie, "a wrong number of bits");
    if (t > 0) check_restored(s, lie, {0, t, 0, grid.value_count});
    if (t < last) check_restored(s, lie, {t + 1, grid.tile_count, 0, grid.value_count});
    expect_refusal(s, with_escapes(stored, t, by), "a wrong number of escapes");
    if (t < last)
      expect_refusal(s, with_escapes(with_escapes(stored, t, by), t + 1, -by),
                     "an escape of the next tile");
  }
  expect_refusal(s, with_escapes(stored, t, 65535 - stored.escape_counts[t]), "65535 escapes");
  Stored none = stored;
  none.escape_counts.clear();
  expect_refusal(s, none, "an escape without a section");
  Stored lost = stored; /* of two codes of one length, so that the bits stay right */
  lost.lengths.assign(lost.lengths.size(), 9);
  lost.bits = bits_of(s, lost);
  check_restored(s, lost, whole(s));
  uint64_t place = 0;
  while (lost.codes[place] != SZG_ESCAPE_SYMBOL) place++;
  lost.codes[place] = 1;
  expect_refusal(s, lost, "an escape too many");
}

void lies_are_refused() {
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++)
    for (const auto &dims : std::vector<std::vector<uint64_t>>{
             {200}, {20011}, {67, 130}, {33, 15, 40}, {9, 17, 9, 33}})
      tiles_that_lie_are_refused(arithmetic, grid_of(dims));
}

/* Codes are then whatever was there, up to 65535. */
void nothing_is_done_after_a_bad_verdict() {
  for (const auto &dims : std::vector<std::vector<uint64_t>>{{20011}, {67, 130}, {33, 15, 40}}) {
    for (uint32_t const radius : kRadii) {
      szg_grid const grid = grid_of(dims);
      Setup const s = setup_of(SZG_ARITHMETIC_F32, grid, szg_grid_axes(&grid), radius);
      Stored stored = random_stored(s);
      stored.codes.assign(stored.codes.size(), 0xFFFF);
      Bytes restored;
      szg_verdict const verdict = restore_on_gpu(s, stored, whole(s), 0, {4, 1}, &restored);
      CHECK(verdict.bad_data != 0 && verdict.bad_sections == 4, "%s: the verdict changed",
            name_of(s));
      check_equal(restored, Bytes(restored.size(), kPoison), s, "values after a bad verdict");
    }
  }
}

} // namespace

int main() {
  cuda_test::begin();
  every_arithmetic_shape_and_set_of_axes_is_the_cpus();
  many_tiles_are_the_cpus();
  any_codes_are_restored_as_on_the_cpu();
  windows_cut_tiles();
  lies_are_refused();
  nothing_is_done_after_a_bad_verdict();
  return cuda_test::end();
}
