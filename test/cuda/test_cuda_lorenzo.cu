/* test_cuda_lorenzo.cu - values of tiles to codes and back on the GPU, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/lorenzo.h"

#include "cuda/cuda_test.cuh"
#include "cuda/lorenzo_reference.cuh"

using cuda_test::DeviceArray;
using cuda_test::stream;

namespace {

/* Bytes past 16-byte alignment: fields need only the alignment of their values. */
constexpr size_t kShifts[] = {0, 8};

/* ---- comparisons ---- */

/* expected: what the launcher must write, then poison. */
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
  Bytes bytes(shift + field.size(), kPoison);
  memcpy(&bytes[shift], field.data(), field.size());
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

/* Restores the window into `restored`, with guards on both sides. Returns the verdict. */
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
    szg_verdict const verdict = restore_on_gpu(s, stored, window, shift, {0, 0, 0}, &restored);
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

/* Each shape and set of axes with all kinds of field, half of them in each arithmetic of a pair. */
void every_arithmetic_shape_and_set_of_axes_is_the_cpus() {
  size_t turn = 0;
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++) {
    size_t set = arithmetic;
    for (const szg_grid &grid : all_grids())
      for (uint32_t axes = 1; axes <= szg_grid_axes(&grid); axes++, set++)
        for (int kind = (int)(set % 2); kind < kKinds; kind += 2, turn++)
          check_there_and_back(setup_of(arithmetic, grid, axes, kRadii[turn % 6]), kind);
  }
}

/* More tiles than a grid-stride launch has warps on any GPU. */
void many_tiles_are_the_cpus() {
  for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++) {
    check_there_and_back(
        setup_of(arithmetic, cuda_test::grid_of({20011, 2, 2, 2}), SZG_AXES_ALL, 2), kHalfEscapes);
    check_there_and_back(setup_of(arithmetic, cuda_test::grid_of({70, 75, 80}), SZG_AXIS_Z, 512),
                         kFewEscapes);
  }
}

/* Random codes and escapes, so that sums wrap and points lie off the lattice. */
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
    szg_verdict const verdict = restore_on_gpu(s, stored, whole(s), shift, {0, 0, 0}, &restored);
    CHECK(verdict.bad_data != 0, "%s: %s is taken", name_of(s), what);
    CHECK(verdict.bad_sections == 0, "%s: sections are blamed for %s", name_of(s), what);
    for (size_t i = 0; i < kGuard; i++)
      CHECK(restored[i] == kPoison && restored[restored.size() - 1 - i] == kPoison,
            "%s: %s has values written beside the field", name_of(s), what);
  }
}

/* The tile claims `by` escapes more; the section has as many as all tiles claim. */
Stored with_escapes(const Stored &stored, uint64_t tile, int by) {
  Stored other = stored;
  other.escape_counts[tile] = (uint16_t)(other.escape_counts[tile] + by);
  other.escapes.resize(other.escapes.size() + (size_t)((int64_t)by * other.escape_bytes));
  return other;
}

void tiles_that_lie_are_refused(uint32_t arithmetic, const szg_grid &grid) {
  Setup s = setup_of(arithmetic, grid, szg_grid_axes(&grid), 512);
  Bytes const field = make_field(kAllEscapes, s); /* so that one less does not wrap */
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
  Stored lost = stored; /* all codes have one length, so that the bits stay right */
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
      tiles_that_lie_are_refused(arithmetic, cuda_test::grid_of(dims));
}

/* After a bad verdict the codes may be anything, up to 65535. */
void nothing_is_done_after_a_bad_verdict() {
  for (const auto &dims : std::vector<std::vector<uint64_t>>{{20011}, {67, 130}, {33, 15, 40}}) {
    for (uint32_t const radius : kRadii) {
      szg_grid const grid = cuda_test::grid_of(dims);
      Setup const s = setup_of(SZG_ARITHMETIC_F32, grid, szg_grid_axes(&grid), radius);
      Stored stored = random_stored(s);
      stored.codes.assign(stored.codes.size(), 0xFFFF);
      Bytes restored;
      szg_verdict const verdict = restore_on_gpu(s, stored, whole(s), 0, {4, 1, 0}, &restored);
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
