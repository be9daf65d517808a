/* test_cuda_outlier.cu - masks, exact and fill values on CUDA, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "outlier/outlier.h"

#include "cuda/cuda_test.cuh"
#include "predict/lorenzo.h"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

typedef std::vector<uint8_t> Bytes;

constexpr uint8_t kPoison = 0xA5;
constexpr uint64_t kGuardBytes = 512;

/* ---- fields with marks ---- */

enum Pattern { NONE, RARE, HALF, ALL, ALTERNATING, RUNS, LIKE_PLANES, PATTERN_COUNT };

struct Field {
  szgpu_dtype dtype;
  szg_grid grid;
  szg_quantizer quantizer;
  bool is_constant;
  uint64_t constant_bits, width;
  Bytes values;

  void set(uint64_t i, uint64_t bits) { memcpy(&values[i * width], &bits, width); }
};

/* A value that no code restores: NaN with a payload, infinite, too large. */
uint64_t exact_bits(szgpu_dtype dtype) {
  uint64_t const sign = random_below(2), payload = random_bits();
  if (dtype == SZGPU_F32) {
    static const uint32_t bases[] = {0x7F800001u, 0x7FC00001u, 0x7F800000u, 0x7E967699u};
    uint64_t const kind = random_below(4);
    return (bases[kind] | (kind < 2 ? payload & 0x3FFFFE : 0)) | sign << 31;
  }
  static const uint64_t bases[] = {0x7FF0000000000001u, 0x7FF8000000000001u, 0x7FF0000000000000u,
                                   0x7FE1CCF385EBC8A0u};
  uint64_t const kind = random_below(4);
  return (bases[kind] | (kind < 2 ? payload & 0x7FFFFFFFFFFFE : 0)) | sign << 63;
}

bool is_marked_by(Pattern pattern, const szg_grid &grid, uint64_t i) {
  static const uint32_t runs[] = {254, 254, 255, 255, 256, 256, 510, 510, 4096, 4096, 1, 3};
  uint64_t const plane = grid.tile_z > 1 ? grid.y_extent * grid.x_extent : grid.x_extent;
  switch (pattern) {
    case RARE:
      return random_below(100) == 0;
    case HALF:
      return random_below(2);
    case ALL:
      return true;
    case ALTERNATING:
      return i % 2 == 0;
    case RUNS: { /* runs in code order if tiles are rows */
      uint64_t place = i % 10405;
      unsigned run = 0;
      for (; place >= runs[run]; run++) place -= runs[run];
      return run % 2;
    }
    case LIKE_PLANES:
      return (i % plane / 7 * 2654435761u >> 13 & 3) == 0 && random_below(500);
    default:
      return false;
  }
}

/* Values near 0; those in the pattern are exact or fill. Bits of `kind`: 1 marks may be fill, 2
 * they may be exact too, 4 the fill value is a NaN, 8 the field is constant. */
Field make_field(uint32_t arithmetic, const std::vector<uint64_t> &dims, Pattern pattern,
                 unsigned kind) {
  Field field = {};
  field.dtype = arithmetic < SZG_ARITHMETIC_F64 ? SZGPU_F32 : SZGPU_F64;
  field.width = szg_dtype_bytes(field.dtype);
  bool const is_f32 = field.dtype == SZGPU_F32;
  szgpu_shape shape = {};
  shape.dtype = field.dtype;
  shape.ndim = (int)dims.size();
  for (size_t i = 0; i < dims.size(); i++) shape.dims[i] = dims[i];
  MUST(szg_grid_of_shape(&shape, &field.grid));
  static const uint64_t fills_f32[] = {0x60AD78ECu, 0, 0x7FC00000u}; /* 1e20, 0, NaN */
  static const uint64_t fills_f64[] = {0x4415AF1D78B58C40u, 0, 0x7FF8000000000000u};
  uint64_t const which_fill = kind & 4 ? 2 : random_below(2);
  uint64_t const fill_bits = is_f32 ? fills_f32[which_fill] : fills_f64[which_fill];
  double const step = arithmetic == SZG_ARITHMETIC_F64_WIDE ? 0x1p-42 : 0x1p-9;
  /* bound < step / 2: some values are exact although they have a lattice point */
  field.quantizer = szg_quantizer_make(arithmetic, pattern == HALF ? 0.499 * step : 0.51 * step,
                                       step, kind & 1, kind & 1 ? fill_bits : 0);
  field.is_constant = kind & 8;
  static const double constants[] = {0.0, -0.0, 1.5};
  double const constant = field.is_constant ? constants[random_below(3)] : 0.0;
  field.constant_bits = szg_bits_of_value(field.dtype, constant);
  field.values.resize(field.grid.value_count * field.width);
  for (uint64_t i = 0; i < field.grid.value_count; i++) {
    double ordinary = 200.0 * cuda_test::random_unit() - 100.0;
    if (field.is_constant) /* 0 and -0 are equal */
      ordinary = constant == 0.0 && random_below(2) ? -constant : constant;
    uint64_t bits = szg_bits_of_value(field.dtype, ordinary);
    if (is_marked_by(pattern, field.grid, i))
      bits = (kind & 1) && (!(kind & 2) || random_below(2)) ? fill_bits : exact_bits(field.dtype);
    field.set(i, bits);
  }
  return field;
}

/* The CPU's results for a field: its outlier sections, and which tiles have marks. */
struct Outliers {
  std::vector<uint8_t> tile_has_marks;
  std::vector<uint16_t> exact, fill;
  Bytes exact_mask, exact_values, fill_mask;
  std::vector<szg_tile_place> places; /* [tiles + 1] */
};

void set_places(Outliers *o) {
  szg_tile_place sum = {};
  o->places.clear();
  for (size_t t = 0; t < o->fill.size(); t++) {
    o->places.push_back(sum);
    sum.exact_mask += o->exact[2 * t];
    sum.exact_value += o->exact[2 * t + 1];
    sum.fill_mask += o->fill[t];
  }
  o->places.push_back(sum);
}

Outliers outliers_on_cpu(const Field &field) {
  static szg_tile_work work;
  uint64_t const tile_count = field.grid.tile_count;
  std::vector<uint16_t> escapes(tile_count), mask_bytes(tile_count), values(tile_count);
  Outliers o;
  o.fill.resize(tile_count);
  szg_outlier_lists lists = {};
  szg_outlier_counts counts = {escapes.data(), mask_bytes.data(), values.data(), o.fill.data()};
  for (uint64_t t = 0; t < tile_count; t++) {
    szg_tile const tile = szg_tile_at(&field.grid, t);
    if (field.is_constant)
      szg_tile_mark_constant(&field.quantizer, field.dtype, field.constant_bits, &tile,
                             field.values.data(), &work);
    else
      szg_tile_quantize(&field.quantizer, &tile, field.values.data(), &work);
    MUST(szg_outlier_add_marked(field.dtype, &tile, work.has_marks ? work.marks : nullptr,
                                field.values.data(), t, &lists, &counts));
    o.tile_has_marks.push_back(work.has_marks);
    o.exact.push_back(mask_bytes[t]);
    o.exact.push_back(values[t]);
  }
  auto const bytes_of = [](const szg_buffer &list) {
    return list.bytes ? Bytes(list.bytes, list.bytes + list.used_bytes) : Bytes();
  };
  o.exact_mask = bytes_of(lists.exact_mask);
  o.exact_values = bytes_of(lists.exact_values);
  o.fill_mask = bytes_of(lists.fill_mask);
  szg_outlier_lists_release(&lists);
  set_places(&o);
  return o;
}

std::vector<uint32_t> listed_tiles(const std::vector<uint8_t> &is_listed) {
  std::vector<uint32_t> tiles;
  for (uint32_t t = 0; t < is_listed.size(); t++)
    if (is_listed[t]) tiles.push_back(t);
  return tiles;
}

/* Device bytes, followed by poison that must not change. */
struct Section {
  explicit Section(uint64_t byte_count) : bytes(byte_count + kGuardBytes) {}
  /* NULL if the frame does not have the section. */
  uint8_t *data() const { return bytes.count() > kGuardBytes ? bytes.data() : nullptr; }
  void check(Bytes expected, const char *what, const char *which) const {
    expected.resize(expected.size() + kGuardBytes, kPoison);
    CHECK(bytes.host() == expected, "%s of %s", which, what);
  }
  DeviceArray<uint8_t> bytes;
};

/* ---- writing ---- */

void check_writing(const Field &field, const Outliers &o, bool lists_all, const char *what) {
  std::vector<uint8_t> const all(o.tile_has_marks.size(), 1);
  DeviceArray<uint32_t> const tiles(listed_tiles(lists_all ? all : o.tile_has_marks));
  DeviceArray<uint32_t> const tile_count(std::vector<uint32_t>(1, (uint32_t)tiles.count()));
  DeviceArray<uint8_t> const values(field.values);
  DeviceArray<uint16_t> exact(o.exact.size()), fill(o.fill.size());
  DeviceArray<szg_tile_place> const places(o.places);
  szg_marked_frame_cuda frame = {};
  frame.dtype = field.dtype;
  frame.quantizer = &field.quantizer;
  frame.grid = &field.grid;
  frame.values = values.data();
  frame.exact_values = values.data();
  frame.is_constant = field.is_constant;
  frame.constant_bits = field.constant_bits;
  frame.tiles = tiles.data();
  frame.tile_count = tile_count.data();
  Section const exact_mask(o.exact_mask.size()), exact_values(o.exact_values.size()),
      fill_mask(o.fill_mask.size());
  for (int run = 0; run < 2; run++) {
    exact.zero();
    fill.zero();
    MUST(szg_marks_measure_cuda(&frame, exact.data(), fill.data(), stream));
    CHECK(exact.host() == o.exact, "exact counts of %s", what);
    CHECK(fill.host() == o.fill, "fill counts of %s", what);
    MUST(szg_marks_write_cuda(&frame, places.data(), exact_mask.data(), exact_values.data(),
                              fill_mask.data(), stream));
    exact_mask.check(o.exact_mask, what, "exact mask");
    exact_values.check(o.exact_values, what, "exact values");
    fill_mask.check(o.fill_mask, what, "fill mask");
  }
}

/* ---- reading ---- */

/* Rows of a frame, as values. */
struct Rows {
  uint64_t first_value, value_count;
};

Rows whole(const szg_grid &grid) { return {0, grid.value_count}; }

Rows random_rows(const szg_grid &grid) {
  uint64_t const first = random_below(grid.row_extent);
  uint64_t const count = 1 + random_below(grid.row_extent - first);
  return {first * grid.row_values, count * grid.row_values};
}

bool has_tile(const Rows &rows, const szg_grid &grid, const szg_tile &tile) {
  uint64_t const last = tile.first_value + (tile.z_extent - 1) * tile.z_stride +
                        (tile.y_extent - 1) * tile.y_stride + tile.x_extent - 1;
  return last / grid.row_values * grid.row_values >= rows.first_value &&
         tile.first_value < rows.first_value + rows.value_count;
}

/* The frame's values, with poison wherever nothing is written; empty if the CPU refuses. */
Bytes apply_on_cpu(const Field &field, const Outliers &o, const Rows &rows) {
  Bytes values(field.values.size(), kPoison);
  for (uint64_t t = 0; t < field.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&field.grid, t);
    szg_tile_place const place = o.places[t];
    szg_tile_outliers const share = {o.exact_mask.data() + place.exact_mask,
                                     o.exact_values.data() + place.exact_value * field.width,
                                     o.fill_mask.data() + place.fill_mask,
                                     o.exact[2 * t],
                                     o.exact[2 * t + 1],
                                     o.fill[t]};
    if (has_tile(rows, field.grid, tile) &&
        szg_outlier_apply(field.dtype, &tile, &share, field.quantizer.fill_bits, values.data()) !=
            SZGPU_OK)
      return Bytes();
  }
  return values;
}

/* Applies a field's outliers to poison, and compares the verdict, the values if it is good, and the
 * bytes around them. found_before: what other kernels have set in the verdict. changed: has other
 * counts, which the kernel finds instead of those that the places were made of. */
void check_reading(const Field &field, const Outliers &o, const Rows &rows, uint32_t found_before,
                   const char *what, const Outliers *changed = nullptr) {
  std::vector<uint8_t> has_counts(o.fill.size());
  for (size_t t = 0; t < o.fill.size(); t++)
    has_counts[t] = (o.exact[2 * t] | o.exact[2 * t + 1] | o.fill[t]) != 0;
  DeviceArray<uint32_t> const tiles(listed_tiles(has_counts));
  DeviceArray<uint32_t> const tile_count(std::vector<uint32_t>(1, (uint32_t)tiles.count()));
  DeviceArray<uint16_t> const exact(changed ? changed->exact : o.exact);
  DeviceArray<uint16_t> const fill(changed ? changed->fill : o.fill);
  DeviceArray<szg_tile_place> const places(o.places);
  DeviceArray<uint8_t> const exact_mask(o.exact_mask), exact_values(o.exact_values),
      fill_mask(o.fill_mask);
  DeviceArray<szg_verdict> verdict(std::vector<szg_verdict>(1, {0, found_before, 0}));
  uint64_t const byte_count = rows.value_count * field.width;
  DeviceArray<uint8_t> values(kGuardBytes + byte_count + kGuardBytes);
  szg_outlier_input_cuda input = {};
  input.dtype = field.dtype;
  input.grid = &field.grid;
  input.counts.exact = o.exact_mask.empty() && o.exact_values.empty() ? nullptr : exact.data();
  input.counts.fill_mask_bytes = o.fill_mask.empty() ? nullptr : fill.data();
  input.places = places.data();
  input.ends = places.data() + 1;
  input.exact_mask = exact_mask.data();
  input.exact_values = exact_values.data();
  input.fill_mask = fill_mask.data();
  input.fill_bits = field.quantizer.fill_bits;
  input.tiles = tiles.data();
  input.tile_count = tile_count.data();
  MUST(szg_outlier_apply_cuda(&input, values.data() + kGuardBytes, rows.first_value,
                              rows.value_count, verdict.data(), stream));

  Bytes expected(values.count(), kPoison);
  Bytes const on_cpu = apply_on_cpu(field, o, rows);
  Bytes found = values.host();
  szg_verdict const said = verdict.host()[0];
  CHECK((said.bad_data != 0) == (found_before || on_cpu.empty()), "verdict on %s", what);
  CHECK(said.bad_sections == 0, "%s", what);
  if (!found_before && on_cpu.empty()) /* then the values do not matter */
    memset(&found[kGuardBytes], kPoison, byte_count);
  else if (!found_before)
    memcpy(&expected[kGuardBytes], &on_cpu[rows.first_value * field.width], byte_count);
  CHECK(found == expected, "values of %s", what);
}

/* ---- claims ---- */

const std::vector<std::vector<uint64_t>> &all_dims() {
  static const std::vector<std::vector<uint64_t>> dims = {
      {1},         {31},         {33},         {4095},       {4097},       {20011},
      {2, 3},      {64, 64},     {65, 130},    {2, 4099},    {5, 3, 2},    {16, 8, 32},
      {17, 9, 33}, {2, 2, 1031}, {1031, 2, 2}, {40, 30, 70}, {2, 2, 2, 2}, {3, 17, 9, 33}};
  return dims;
}

void outliers_are_written_and_applied_as_on_the_cpu() {
  static const unsigned kinds[] = {0, 1, 3, 7, 8, 11, 15};
  unsigned kind = 0;
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++)
    for (const auto &dims : all_dims())
      for (int pattern = 0; pattern < PATTERN_COUNT; pattern++, kind++) {
        Field const field =
            make_field(arithmetic, dims, (Pattern)pattern, kinds[kind % (sizeof kinds / 4)]);
        Outliers const o = outliers_on_cpu(field);
        char what[100];
        snprintf(what, sizeof what, "arithmetic %u, %zu-D, %llu values, pattern %d, kind %u",
                 arithmetic, dims.size(), (unsigned long long)field.grid.value_count, pattern,
                 kinds[kind % (sizeof kinds / 4)]);
        check_writing(field, o, random_below(2), what);
        check_reading(field, o, whole(field.grid), 0, what);
        check_reading(field, o, random_rows(field.grid), 0, what);
      }
}

/* Moves a part of a count from one tile to another, so that the sum still fits the sections. */
void move_counts(std::vector<uint16_t> *counts, size_t step, size_t offset) {
  size_t const tile_count = counts->size() / step;
  uint16_t *const from = &(*counts)[random_below(tile_count) * step + offset];
  uint16_t *const to = &(*counts)[random_below(tile_count) * step + offset];
  uint64_t const most = *from < 0xFFFF - *to ? *from : 0xFFFF - *to;
  uint16_t const moved = (uint16_t)random_below(most < 3 || random_below(3) ? most + 1 : 3);
  *from = (uint16_t)(*from - moved);
  *to = (uint16_t)(*to + moved);
}

void spoil_bytes(Bytes *bytes) {
  if (bytes->empty()) return;
  uint64_t const first = random_below(bytes->size()), byte = random_bits();
  uint64_t const count = 1 + random_below(random_below(2) ? 1 : bytes->size() - first);
  bool const is_even = random_below(2);
  static const uint8_t fixed[] = {0, 1, 254, 255};
  for (uint64_t i = first; i < first + count; i++)
    (*bytes)[i] = is_even ? fixed[byte % 4] : (uint8_t)random_bits();
}

void damage(Outliers *o) {
  switch (random_below(5)) {
    case 0:
      return spoil_bytes(&o->exact_mask);
    case 1:
      return spoil_bytes(&o->fill_mask);
    case 2:
      return move_counts(&o->exact, 2, 0);
    case 3:
      return move_counts(&o->exact, 2, 1);
    default:
      return move_counts(&o->fill, 1, 0);
  }
}

void corrupt_outliers_are_refused_as_on_the_cpu() {
  static const std::vector<uint64_t> dims[] = {{7},         {20011},      {65, 130},
                                               {17, 9, 33}, {40, 30, 70}, {9, 2, 5, 3}};
  unsigned refused_count = 0, taken_count = 0;
  for (int round = 0; round < 400; round++) {
    static const Pattern patterns[] = {RARE, HALF, LIKE_PLANES};
    Field const field =
        make_field(round % SZG_ARITHMETIC_COUNT, dims[round % 6], patterns[random_below(3)], 3);
    Outliers o = outliers_on_cpu(field);
    for (uint64_t left = 1 + random_below(3); left > 0; left--) damage(&o);
    set_places(&o);
    char what[60];
    snprintf(what, sizeof what, "damage %d", round);
    Rows const rows = random_below(2) ? whole(field.grid) : random_rows(field.grid);
    check_reading(field, o, rows, 0, what);
    unsigned *const count = apply_on_cpu(field, o, rows).empty() ? &refused_count : &taken_count;
    ++*count;
  }
  CHECK(refused_count > 50 && taken_count > 50, "%u refused, %u taken", refused_count, taken_count);
}

/* The archive may be in device memory and change: once led out of the sections. */
void counts_that_change_after_the_sums_do_not_matter() {
  for (int pattern = 0; pattern < PATTERN_COUNT; pattern++) {
    Field const field = make_field(SZG_ARITHMETIC_F32, {40, 30, 70}, (Pattern)pattern, 3);
    Outliers const o = outliers_on_cpu(field);
    Outliers changed = o;
    for (uint16_t &count : changed.exact) count = 0xFFFF;
    for (uint16_t &count : changed.fill) count = 0xFFFF;
    check_reading(field, o, whole(field.grid), 0, "changed counts", &changed);
  }
}

void nothing_is_applied_after_a_bad_verdict() {
  Field const field = make_field(SZG_ARITHMETIC_F32, {40, 30, 70}, HALF, 3);
  check_reading(field, outliers_on_cpu(field), whole(field.grid), 1, "a bad archive");
}

} // namespace

int main() {
  cuda_test::begin();
  outliers_are_written_and_applied_as_on_the_cpu();
  corrupt_outliers_are_refused_as_on_the_cpu();
  counts_that_change_after_the_sums_do_not_matter();
  nothing_is_applied_after_a_bad_verdict();
  return cuda_test::end();
}
