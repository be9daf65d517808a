/* test_cuda_places.cu - starts of the tiles' shares, and lists of tiles, against plain loops.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/places.h"

#include "cuda/cuda_test.cuh"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

constexpr uint64_t kGuardBytes = 4096;

/* Arena and layout for tile_count tiles, followed by bytes that must not change. */
struct Memory {
  explicit Memory(uint64_t tile_count)
      : tile_count(tile_count), used_bytes(carve(nullptr, 0)), bytes(used_bytes + kGuardBytes) {
    CHECK(carve(bytes.data(), used_bytes) == used_bytes, "measured and carved differ");
  }
  uint64_t carve(uint8_t *base, uint64_t capacity_bytes) {
    szg_arena arena = {};
    arena.base = base;
    arena.capacity_bytes = capacity_bytes;
    MUST(szg_places_carve_cuda(&arena, tile_count, &work));
    return arena.used_bytes;
  }
  template <class T>
  std::vector<T> fetch(const T *from, uint64_t count) const {
    MUST(cudaStreamSynchronize(stream));
    std::vector<T> values(count);
    if (count) MUST(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  bool is_guard_untouched() const {
    for (uint8_t const byte : fetch(bytes.data() + used_bytes, kGuardBytes))
      if (byte != 0xA5) return false;
    return true;
  }
  uint64_t tile_count;
  szg_places_cuda work = {};
  uint64_t used_bytes;
  DeviceArray<uint8_t> bytes;
};

szg_grid grid_of(std::vector<uint64_t> const &dims) {
  szgpu_shape shape = {};
  shape.dtype = SZGPU_F32;
  shape.ndim = (int)dims.size();
  for (size_t i = 0; i < dims.size(); i++) shape.dims[i] = dims[i];
  szg_grid grid;
  MUST(szg_grid_of_shape(&shape, &grid));
  return grid;
}

/* Tile counts around what one block scans, ragged tiles, more tiles than blocks. */
const std::vector<std::vector<uint64_t>> &all_dims() {
  static const std::vector<std::vector<uint64_t>> dims = {{1},
                                                          {4097},
                                                          {31 * 4096},
                                                          {31 * 4096 + 1},
                                                          {32 * 4096 + 1},
                                                          {65, 130},
                                                          {17, 9, 33},
                                                          {40, 30, 70},
                                                          {127, 2, 2, 2},
                                                          {128, 2, 2, 2},
                                                          {129, 2, 2, 2},
                                                          {2047, 2, 2, 2},
                                                          {2049, 2, 2, 2},
                                                          {9973, 3, 2, 2},
                                                          {3, 33, 50, 65},
                                                          {300007, 2, 2, 2}};
  return dims;
}

/* ---- running sums ---- */

struct Counts {
  explicit Counts(uint64_t tile_count)
      : bits(tile_count), escapes(tile_count), exact(2 * tile_count), fill(tile_count) {
    for (auto *const array : {&bits, &escapes, &exact, &fill}) {
      uint64_t const limit = (uint64_t)1 << random_below(17); /* sometimes the full range of u16 */
      for (uint16_t &count : *array) count = (uint16_t)random_below(limit);
    }
  }
  std::vector<uint16_t> bits, escapes, exact, fill;
};

bool is_place(const szg_tile_place &a, const szg_tile_place &b) {
  return a.bit == b.bit && a.escape == b.escape && a.exact_mask == b.exact_mask &&
         a.exact_value == b.exact_value && a.fill_mask == b.fill_mask;
}

/* which: one bit for each of the four arrays, set if the array is present. */
void check_scan(Memory &memory, const szg_grid &grid, const Counts &counts, unsigned which) {
  DeviceArray<uint16_t> const bits(counts.bits), escapes(counts.escapes), exact(counts.exact),
      fill(counts.fill);
  szg_tile_counts const given = {
      which & 1 ? bits.data() : nullptr, which & 2 ? escapes.data() : nullptr,
      which & 4 ? exact.data() : nullptr, which & 8 ? fill.data() : nullptr};
  memory.bytes.poison();
  MUST(szg_places_scan_cuda(&memory.work, &grid, &given, stream));
  std::vector<szg_tile_place> const places = memory.fetch(memory.work.places, grid.tile_count + 1);
  szg_tile_place sum = {};
  for (uint64_t t = 0;; t++) {
    if (!is_place(places[t], sum)) {
      CHECK(false, "place of tile %llu of %llu, arrays %u", (unsigned long long)t,
            (unsigned long long)grid.tile_count, which);
      break;
    }
    if (t == grid.tile_count) break;
    if (which & 1) sum.bit += counts.bits[t] + (uint64_t)szg_tile_at(&grid, t).value_count;
    if (which & 2) sum.escape += counts.escapes[t];
    if (which & 4) sum.exact_mask += counts.exact[2 * t];
    if (which & 4) sum.exact_value += counts.exact[2 * t + 1];
    if (which & 8) sum.fill_mask += counts.fill[t];
  }
  CHECK(memory.is_guard_untouched(), "scan of %llu tiles", (unsigned long long)grid.tile_count);
}

void places_are_the_running_sums_of_all_counts() {
  for (const auto &dims : all_dims()) {
    szg_grid const grid = grid_of(dims);
    Memory memory(grid.tile_count);
    Counts const counts(grid.tile_count);
    for (unsigned which : {15u, 0u, 1u, 14u, 15u}) check_scan(memory, grid, counts, which);
  }
}

void sums_pass_32_bits() {
  szg_grid const grid = grid_of({300007, 2, 2, 2});
  Memory memory(grid.tile_count);
  Counts counts(grid.tile_count);
  for (auto *const array : {&counts.bits, &counts.escapes, &counts.exact, &counts.fill})
    for (uint16_t &count : *array) count = 0xFFFF;
  check_scan(memory, grid, counts, 15);
}

/* ---- lists ---- */

/* What selects each tile, and the lists that must result. */
struct Selection {
  std::vector<uint8_t> marks;
  std::vector<uint16_t> counts, exact, fill;
  std::vector<uint32_t> marked, counted, exact_or_fill, only_fill;
};

/* Selects one in `rarity` tiles; 0: none. */
Selection random_selection(uint64_t tile_count, uint64_t rarity) {
  auto const is_hit = [rarity] { return rarity && random_below(rarity) == 0; };
  auto const count = [] { return (uint16_t)((random_below(255) + 1) << 8 * random_below(2)); };
  Selection s;
  for (uint32_t t = 0; t < tile_count; t++) {
    s.marks.push_back(is_hit() ? (uint8_t)(1 + random_below(255)) : 0);
    s.counts.push_back(is_hit() ? count() : 0);
    s.exact.push_back(is_hit() ? count() : 0);
    s.exact.push_back(is_hit() ? count() : 0); /* archives may claim values without a mask */
    s.fill.push_back(is_hit() ? count() : 0);
    if (s.marks[t]) s.marked.push_back(t);
    if (s.counts[t]) s.counted.push_back(t);
    if (s.fill[t]) s.only_fill.push_back(t);
    if (s.exact[2 * t] || s.exact[2 * t + 1] || s.fill[t]) s.exact_or_fill.push_back(t);
  }
  return s;
}

void check_list(const Memory &memory, const std::vector<uint32_t> &expected, const char *what) {
  uint32_t const count = memory.fetch(memory.work.tile_count, 1)[0];
  CHECK(count == expected.size(), "%s: %u of %llu tiles, not %zu", what, count,
        (unsigned long long)memory.tile_count, expected.size());
  if (count != expected.size()) return;
  CHECK(memory.fetch(memory.work.tiles, count) == expected, "%s: of %llu tiles", what,
        (unsigned long long)memory.tile_count);
  CHECK(memory.is_guard_untouched(), "%s", what);
}

void lists_have_the_tiles_wanted_in_rising_order() {
  for (const auto &dims : all_dims()) {
    uint64_t const tile_count = grid_of(dims).tile_count;
    Memory memory(tile_count);
    for (uint64_t rarity : {0, 1, 2, 100, 5000}) {
      Selection const s = random_selection(tile_count, rarity);
      DeviceArray<uint8_t> const marks(s.marks);
      DeviceArray<uint16_t> const counts(s.counts), exact(s.exact), fill(s.fill);
      memory.bytes.poison();
      MUST(szg_places_select_marked_cuda(&memory.work, tile_count, marks.data(), stream));
      check_list(memory, s.marked, "marked");
      MUST(szg_places_select_counted_cuda(&memory.work, tile_count, counts.data(), stream));
      check_list(memory, s.counted, "counted");
      MUST(szg_places_select_marks_counted_cuda(&memory.work, tile_count, exact.data(), fill.data(),
                                                stream));
      check_list(memory, s.exact_or_fill, "exact or fill");
      MUST(szg_places_select_marks_counted_cuda(&memory.work, tile_count, nullptr, fill.data(),
                                                stream));
      check_list(memory, s.only_fill, "fill");
      MUST(
          szg_places_select_marks_counted_cuda(&memory.work, tile_count, nullptr, nullptr, stream));
      check_list(memory, {}, "nothing");
    }
  }
}

/* The last frame of a field has fewer tiles than the memory was laid out for. */
void memory_for_more_tiles_serves_fewer() {
  szg_grid const grid = grid_of({127, 2, 2, 2});
  Memory memory(5 * grid.tile_count);
  check_scan(memory, grid, Counts(grid.tile_count), 15);
  Selection const s = random_selection(grid.tile_count, 3);
  DeviceArray<uint8_t> const marks(s.marks);
  MUST(szg_places_select_marked_cuda(&memory.work, grid.tile_count, marks.data(), stream));
  check_list(memory, s.marked, "marked");
}

void refuses_more_tiles_than_32_bits_number() {
  szg_arena arena = {};
  szg_places_cuda work;
  CHECK(szg_places_carve_cuda(&arena, UINT32_MAX, &work) == SZGPU_OK, "2^32 - 1 tiles");
  CHECK(szg_places_carve_cuda(&arena, (uint64_t)UINT32_MAX + 1, &work) == SZGPU_UNSUPPORTED,
        "2^32 tiles");
}

} // namespace

int main() {
  cuda_test::begin();
  places_are_the_running_sums_of_all_counts();
  sums_pass_32_bits();
  lists_have_the_tiles_wanted_in_rising_order();
  memory_for_more_tiles_serves_fewer();
  refuses_more_tiles_than_32_bits_number();
  return cuda_test::end();
}
