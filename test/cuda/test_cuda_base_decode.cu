/* test_cuda_base_decode.cu - the base of three axes from words to points in one kernel, against the
 * CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sections are the CPU's, sound and damaged.
 */
#include "codecs/interpolation/levels_fused.h"
#include "cuda/levels_grids.cuh"
#include "cuda/tokens_cases.cuh"

using namespace tokens_cases;
using cuda_test::stream;

namespace {

constexpr size_t kGuard = 64;
int bad_count, sound_count;

/* ---- a base ---- */

struct Base {
  Stage stage;
  szg_levels_lattice lattice;
  Bytes section;
  uint32_t front_bytes;

  const szg_levels_stage &own() const { return stage.levels.stages[0]; }
  uint32_t most_unit() const { return 1u << stage.levels.fine_bits; }
};

Base base_of(const std::vector<uint64_t> &dims, uint32_t level_count) {
  Base made = {stage_of({dims, 3, 0, level_count}, 0, false), {}, {}, 0};
  szg_levels *const levels = &made.stage.levels;
  levels->fine_bits = 4 + (uint32_t)random_below(5);
  levels->base_axes = random_below(2) ? 7 : 1 + (uint32_t)random_below(7);
  levels->stages[0].unit = 1 + (uint32_t)random_below(made.most_unit());
  made.lattice = szg_levels_lattice_make(SZGPU_F32, false, levels->fine_bits, 0.375, false, 0);
  return made;
}

void set_section(const Bytes &codes, uint32_t mode, uint32_t g, bool is_whole, Base *base) {
  szg_tokens_tally const tally =
      count_tiles(base->stage, codes, (uint32_t)base->stage.tiles.tile_count);
  szg_tokens_book_cuda const made = book_of(plan_of(tally, mode, g, is_whole), base->own().unit);
  base->front_bytes = made.front_bytes;
  base->section = section_of(base->stage, codes, made);
}

uint32_t random_lanes() {
  uint32_t const least = szg_tokens_least_lane_groups_log2(SZG_LEVELS_BASE_PLACES / 64);
  return least + (uint32_t)random_below(5 - least);
}

/* ---- both sides ---- */

struct Tiles {
  uint64_t first, end;
};

Bytes restore_on_cpu(const Base &base, const Read &read, const Tiles &tiles) {
  static szg_levels_work work;
  szg_levels levels = base.stage.levels;
  levels.stages[0].unit = read.unit; /* damage may have changed it */
  Bytes grid(4 * base.own().point_count + kGuard, kPoison);
  void *const grids[] = {grid.data()};
  for (uint64_t t = tiles.first; t < tiles.end; t++)
    szg_levels_restore_tile(&levels, 0, t, &base.lattice,
                            read.codes.data() + 4 * t * base.own().place_count, &work, grids,
                            nullptr);
  return grid;
}

/* Opens and decodes on both sides. */
void check(const Base &base, const Tiles &tiles, const char *what, uint64_t detail) {
  Read const expected = read_section(base.stage, base.section, 1, base.most_unit());
  uint64_t const tile_count = base.stage.tiles.tile_count;
  DeviceArray<uint8_t> section(base.section), grid(4 * base.own().point_count + kGuard);
  DeviceArray<szg_tokens_opened_cuda> opened(1);
  DeviceArray<uint16_t> sizes(tile_count);
  DeviceArray<uint64_t> first_words(tile_count + 1);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  szg_tokens_input_cuda const input = {
      base.stage.tiles, section.data(), base.section.size(), 1,
      base.most_unit(), opened.data(),  sizes.data(),        first_words.data()};
  szg_levels_tiles_cuda const chosen = {tiles.first, tiles.end, nullptr};
  CHECK(szg_base_decode_serves(&base.stage.levels), "%s", base.stage.name.c_str());
  MUST(szg_tokens_open_cuda(&input, 1, verdict.data(), stream));
  MUST(szg_base_decode_cuda(&base.stage.levels, &chosen, &base.lattice, &input, grid.data(),
                            verdict.data(), stream));
  bool const is_all = tiles.first == 0 && tiles.end == tile_count;
  bool const is_bad = verdict.host()[0].bad_data != 0;
  (expected.is_bad ? bad_count : sound_count)++;
  CHECK(is_bad == expected.is_bad || (!is_all && !is_bad),
        "%s, %s %llu (mode %u, g %u): bad %d, on the CPU %d (tile %lld)", base.stage.name.c_str(),
        what, (unsigned long long)detail, base.section[0], base.section[1], is_bad, expected.is_bad,
        (long long)expected.bad_tile);
  Bytes const found = grid.host();
  for (size_t i = found.size() - kGuard; i < found.size(); i++)
    CHECK(found[i] == kPoison, "%s, %s: byte %zu behind", base.stage.name.c_str(), what, i);
  if (is_bad || expected.is_bad) return;
  CHECK(levels_cases::without_row_ends(base.own(), 4, kPoison, found) ==
            restore_on_cpu(base, expected, tiles),
        "%s, %s %llu: mode %u, g %u, axes %u, unit %u, tiles %llu to %llu", base.stage.name.c_str(),
        what, (unsigned long long)detail, base.section[0], base.section[1],
        base.stage.levels.base_axes, base.own().unit, (unsigned long long)tiles.first,
        (unsigned long long)tiles.end);
}

void check_all(const Base &base, const char *what, uint64_t detail) {
  check(base, {0, base.stage.tiles.tile_count}, what, detail);
}

/* ---- claims ---- */

/* The last ones have tiles of more words than shared memory has room for. */
constexpr Density kDensities[] = {{1000, 3, 0},   {300, 2, 300}, {30, 9, 500},  {1000, 8, 0},
                                  {900, 16, 100}, {5, 4, 900},   {1000, 31, 0}, {1000, 27, 100}};

Base random_base() {
  std::vector<uint64_t> dims;
  if (random_below(4) == 0) dims.push_back(2 + random_below(2));
  uint32_t const level_count = 1 + (uint32_t)random_below(3);
  for (uint64_t tile : {16, 8, 32}) { /* a tile or a few, cut off or not */
    uint64_t const extent = random_below(2) ? tile : 2 + random_below(2 * tile + 1);
    dims.push_back((extent << level_count) - random_below(1u << level_count));
  }
  Base base = base_of(dims, level_count);
  Density const density = kDensities[random_below(sizeof kDensities / sizeof *kDensities)];
  set_section(codes_of(base.stage, density), 1 + (uint32_t)random_below(3), random_lanes(),
              random_below(2), &base);
  return base;
}

int rounds_of(int rounds) { return cuda_test::is_quick() ? rounds / 20 : rounds; }

void bases_are_the_cpus() {
  for (int i = 0; i < rounds_of(400); i++) check_all(random_base(), "round", (uint64_t)i);
}

void some_tiles_are_the_cpus() {
  for (int i = 0; i < rounds_of(100); i++) {
    Base const base = random_base();
    uint64_t const tile_count = base.stage.tiles.tile_count, first = random_below(tile_count);
    check(base, {first, first + 1 + random_below(tile_count - first)}, "part", (uint64_t)i);
  }
}

void damage_is_judged_as_on_the_cpu() {
  for (int i = 0; i < rounds_of(100); i++) {
    Base const base = random_base();
    for (int k = 0; k < 12; k++) {
      Base damaged = base;
      uint64_t const size = base.section.size();
      bool const is_front = random_below(4) == 0;
      uint64_t const at = is_front ? random_below(base.front_bytes)
                                   : base.front_bytes + random_below(size - base.front_bytes + 1);
      if (at >= size) continue;
      uint64_t const count = random_below(3) ? 1 : 1 + random_below(64);
      damaged.section[at] ^= (uint8_t)(1 << random_below(8));
      for (uint64_t b = at + 1; b < size && b < at + count; b++)
        damaged.section[b] = (uint8_t)random_bits();
      check_all(damaged, "damage at", at);
    }
  }
}

/* The places of points that do not exist get codes, as only a bad encoder gives them. */
void places_that_do_not_exist_have_no_codes() {
  for (int i = 0; i < rounds_of(100); i++) {
    Base base = base_of({20, 13, 70}, 1);
    Bytes codes = codes_of(base.stage, {300, 2, 0});
    Stage full = base.stage;
    for (uint64_t &groups : full.existing) groups = UINT64_MAX;
    uint64_t const place = random_below(codes.size() / 4);
    int32_t const code = 1;
    memcpy(codes.data() + 4 * place, &code, 4);
    std::swap(full.existing, base.stage.existing);
    set_section(codes, 2 + (uint32_t)random_below(2), random_lanes(), false, &base);
    std::swap(full.existing, base.stage.existing);
    check_all(base, "place", place);
  }
}

} // namespace

int main() {
  cuda_test::begin();
  bases_are_the_cpus();
  some_tiles_are_the_cpus();
  damage_is_judged_as_on_the_cpu();
  places_that_do_not_exist_have_no_codes();
  printf("%d bad bases, %d sound ones\n", bad_count, sound_count);
  CHECK(bad_count > 50 / (cuda_test::is_quick() ? 20 : 1) && sound_count > 0, "%d, %d", bad_count,
        sound_count);
  return cuda_test::end();
}
