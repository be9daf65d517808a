/* test_cuda_levels_decode.cu - levels from words to points in one kernel, against the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sections are the CPU's, sound and damaged; the grid before a level is random.
 */
#include "codecs/interpolation/levels_fused.h"
#include "cuda/levels_grids.cuh"
#include "cuda/tokens_cases.cuh"

using namespace tokens_cases;
using cuda_test::stream;

namespace {

constexpr size_t kGuard = 64;
int bad_count, sound_count;

/* ---- a level ---- */

struct Level {
  Stage stage;
  szg_levels_lattice lattice;
  szg_grid grid;
  Bytes coarse; /* lattice values */
  Bytes section;
  uint32_t front_bytes;

  const szg_levels_stage &own() const { return stage.levels.stages[stage.stage]; }
  bool is_last() const { return stage.stage == stage.levels.level_count; }
  size_t value_bytes() const { return lattice.dtype == SZGPU_F32 ? 4 : 8; }
  uint32_t unit_of_finest() const { return 1u << stage.levels.fine_bits; }
};

/* has_any_points: the coarser grid has lattice values beyond the limit. */
Level level_of(const std::vector<uint64_t> &dims, uint32_t level_count, uint32_t stage,
               szgpu_dtype dtype, bool has_any_points) {
  Level made = {stage_of({dims, 3, 0, level_count}, stage, false), {}, {}, {}, {}, 0};
  szg_levels *const levels = &made.stage.levels;
  bool const has_ranks = random_below(2);
  made.grid = cuda_test::grid_of(dims);
  levels->is_linear = random_below(4) == 0;
  levels->fine_bits = 4 + (uint32_t)random_below(5);
  for (uint8_t &rank : levels->ranks) rank = has_ranks ? (uint8_t)random_below(3) : 0;
  levels->stages[stage].unit =
      made.is_last() ? made.unit_of_finest() : 1 + (uint32_t)random_below(made.unit_of_finest());
  made.lattice = szg_levels_lattice_make(dtype, false, levels->fine_bits, 0.375, false, 0);
  made.coarse.resize(4 * levels->stages[stage - 1].point_count);
  for (size_t i = 0; i < made.coarse.size(); i += 4) {
    int32_t const near = (int32_t)random_below(1u << 23) - (1 << 22);
    int32_t const point = has_any_points ? (int32_t)random_bits() : near;
    memcpy(made.coarse.data() + i, &point, 4);
  }
  return made;
}

void set_section(const Bytes &codes, uint32_t mode, uint32_t g, bool is_whole, Level *level) {
  szg_tokens_tally const tally =
      count_tiles(level->stage, codes, (uint32_t)level->stage.tiles.tile_count);
  szg_tokens_book_cuda const made = book_of(plan_of(tally, mode, g, is_whole), level->own().unit);
  level->front_bytes = made.front_bytes;
  level->section = section_of(level->stage, codes, made);
}

uint32_t random_lanes(const Level &level) {
  uint32_t const least = szg_tokens_least_lane_groups_log2(level.stage.tiles.group_count);
  return least + (uint32_t)random_below(5 - least);
}

/* ---- both sides ---- */

/* Values of the frame that are wanted, and the tiles that they need. */
struct Window {
  uint64_t first_value, end_value;
  szg_tile_range span;
};

Window window_of(const Level &level, uint64_t first_value, uint64_t end_value) {
  szg_tile_range spans[SZG_LEVELS_MOST + 1];
  szg_levels_spans_of_values(&level.stage.levels, first_value, end_value, spans);
  return {first_value, end_value, spans[level.stage.stage]};
}
Window whole(const Level &level) { return window_of(level, 0, level.grid.value_count); }

/* The level's grid, or the window's values; then a guard. */
Bytes poisoned_output(const Level &level, const Window &window) {
  size_t const bytes = level.is_last()
                           ? (window.end_value - window.first_value) * level.value_bytes()
                           : 4 * level.own().point_count;
  return Bytes(bytes + kGuard, kPoison);
}

Bytes restore_on_cpu(const Level &level, const Bytes &codes, const Window &window) {
  static szg_levels_work work;
  const szg_levels *const levels = &level.stage.levels;
  Bytes coarse = level.coarse, output = poisoned_output(level, window);
  Bytes values(level.is_last() ? level.grid.value_count * level.value_bytes() : 0);
  void *grids[SZG_LEVELS_MOST + 1] = {};
  grids[level.stage.stage - 1] = coarse.data();
  grids[level.stage.stage] = output.data();
  for (uint64_t t = window.span.first_tile; t < window.span.end_tile; t++)
    szg_levels_restore_tile(levels, level.stage.stage, t, &level.lattice,
                            codes.data() + 4 * t * level.own().place_count, &work, grids,
                            level.is_last() ? values.data() : nullptr);
  if (level.is_last())
    memcpy(output.data(), values.data() + window.first_value * level.value_bytes(),
           output.size() - kGuard);
  return output;
}

/* Device memory of a level; what it restores lies behind `lead` bytes. */
struct Device {
  DeviceArray<uint8_t> section, coarse;
  DeviceArray<szg_tokens_opened_cuda> opened;
  DeviceArray<uint16_t> sizes;
  DeviceArray<uint64_t> first_words;
  DeviceArray<szg_verdict> verdict;
  DeviceArray<int32_t> codes;
  uint64_t slot_count;
  szg_tokens_input_cuda input;

  explicit Device(const Level &level)
      : section(level.section),
        coarse(level.coarse),
        opened(1),
        sizes(level.stage.tiles.tile_count),
        first_words(level.stage.tiles.tile_count + 1),
        verdict(1),
        codes(szg_lesser_u64(level.stage.tiles.tile_count, SZG_LEVELS_SLOTS) *
              level.own().place_count),
        slot_count(szg_lesser_u64(level.stage.tiles.tile_count, SZG_LEVELS_SLOTS)) {
    verdict.zero();
    input = {};
    input.tiles = level.stage.tiles;
    input.section = section.data();
    input.section_bytes = level.section.size();
    input.least_unit = level.is_last() ? level.unit_of_finest() : 1;
    input.most_unit = level.unit_of_finest();
    input.opened = opened.data();
    input.sizes = sizes.data();
    input.first_words = first_words.data();
  }
  void decode(const Level &level, const Window &window, uint8_t *output) {
    void *grids[SZG_LEVELS_MOST + 1] = {};
    grids[level.stage.stage - 1] = coarse.data();
    if (!level.is_last()) grids[level.stage.stage] = output;
    szg_levels_decode_job const job = {&level.stage.levels,
                                       level.stage.stage,
                                       {window.span.first_tile, window.span.end_tile, nullptr},
                                       &level.lattice,
                                       &input,
                                       grids,
                                       output,
                                       window.first_value,
                                       window.end_value,
                                       codes.data(),
                                       slot_count};
    MUST(szg_levels_decode_cuda(&job, verdict.data(), stream));
  }
};

/* Opens and decodes on both sides. The window plays no part unless the level is the last. */
void check(const Level &level, const Window &window, const char *what, uint64_t detail) {
  uint32_t const most_unit = level.unit_of_finest();
  Read const expected =
      read_section(level.stage, level.section, level.is_last() ? most_unit : 1, most_unit);
  Device device(level);
  /* Values of any alignment that their type allows. */
  size_t const lead = level.is_last() && random_below(2) ? level.value_bytes() : 0;
  DeviceArray<uint8_t> output(lead + poisoned_output(level, window).size());
  MUST(szg_tokens_open_cuda(&device.input, 1, device.verdict.data(), stream));
  device.decode(level, window, output.data() + lead);
  bool const is_bad = device.verdict.host()[0].bad_data != 0;
  (expected.is_bad ? bad_count : sound_count)++;
  CHECK(is_bad == expected.is_bad, "%s, %s %llu (mode %u, g %u): bad %d, on the CPU %d",
        level.stage.name.c_str(), what, (unsigned long long)detail, level.section[0],
        level.section[1], is_bad, expected.is_bad);
  CHECK(device.opened.host()[0].ticket == 0, "%s, %s", level.stage.name.c_str(), what);
  Bytes found = output.host();
  found.erase(found.begin(), found.begin() + (ptrdiff_t)lead);
  for (size_t i = found.size() - kGuard; i < found.size(); i++)
    CHECK(found[i] == kPoison, "%s, %s: byte %zu behind", level.stage.name.c_str(), what, i);
  if (is_bad || expected.is_bad) return;
  if (!level.is_last())
    found = levels_cases::without_row_ends(level.own(), 4, kPoison, std::move(found));
  CHECK(found == restore_on_cpu(level, expected.codes, window),
        "%s, %s %llu: mode %u, g %u, values %llu to %llu, %s", level.stage.name.c_str(), what,
        (unsigned long long)detail, level.section[0], level.section[1],
        (unsigned long long)window.first_value, (unsigned long long)window.end_value,
        level.lattice.dtype == SZGPU_F32 ? "f32" : "f64");
}

/* ---- claims ---- */

/* Few bits, which is what the kernel is for; some that do not fit; all sizes. */
constexpr Density kDensities[] = {{1000, 3, 0},  {300, 2, 300},  {30, 9, 500}, {1000, 6, 0},
                                  {900, 16, 10}, {700, 31, 100}, {5, 4, 900}};
constexpr uint64_t kExtents[] = {2, 3, 5, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 66, 130};

std::vector<uint64_t> random_dims() {
  bool const is_inner = random_below(2); /* full tiles with others around them */
  std::vector<uint64_t> dims;
  if (random_below(4) == 0) dims.push_back(2 + random_below(2));
  if (is_inner) {
    dims.insert(dims.end(), {34 + random_below(30), 18 + random_below(20), 64 + random_below(80)});
    return dims;
  }
  for (int axis = 0; axis < 3; axis++)
    dims.push_back(kExtents[random_below(sizeof kExtents / sizeof *kExtents)]);
  return dims;
}

Level random_level(const std::vector<uint64_t> &dims) {
  uint32_t const level_count = 1 + (uint32_t)random_below(4);
  uint32_t const stage = random_below(2) ? level_count : 1 + (uint32_t)random_below(level_count);
  szgpu_dtype const dtype = random_below(2) ? SZGPU_F32 : SZGPU_F64;
  Level level = level_of(dims, level_count, stage, dtype, random_below(4) == 0);
  Density const density = kDensities[random_below(sizeof kDensities / sizeof *kDensities)];
  set_section(codes_of(level.stage, density), 1 + (uint32_t)random_below(3), random_lanes(level),
              random_below(2), &level);
  return level;
}

int rounds_of(int rounds) { return cuda_test::is_quick() ? rounds / 20 : rounds; }

void levels_are_the_cpus() {
  for (int i = 0; i < rounds_of(600); i++) {
    Level const level = random_level(random_dims());
    check(level, whole(level), "round", (uint64_t)i);
  }
}

void parts_of_the_field_are_the_cpus() {
  for (int i = 0; i < rounds_of(200); i++) {
    Level const level = random_level(random_dims());
    uint64_t const count = level.grid.value_count, first = random_below(count);
    uint64_t const end = first + 1 + random_below(count - first);
    check(level, window_of(level, first, end), "part", (uint64_t)i);
  }
}

/* Each extent of a cut tile along x, y and z, with a full one before it or not. */
void cut_tiles_are_the_cpus() {
  for (uint64_t i = 0; i < (uint64_t)rounds_of(256); i++) {
    uint64_t const x = 2 + i % 64, y = 2 + random_below(8), z = 2 + random_below(16);
    Level const level =
        random_level({z + 16 * random_below(2), y + 8 * random_below(2), x + 64 * random_below(2)});
    check(level, whole(level), "cut", i);
  }
}

/* More tiles than warps. */
void large_levels_are_the_cpus() {
  for (uint32_t stage = 1; stage <= 3; stage++)
    for (uint32_t mode = 1; mode <= (cuda_test::is_quick() ? 1 : 3); mode++) {
      Level level = level_of({530, 330, 200}, 3, stage, SZGPU_F32, false);
      set_section(codes_of(level.stage, {400, 3, 100}), mode, 2, false, &level);
      check(level, whole(level), "large", mode);
    }
}

/* One code that does not fit, and tiles with more words than shared memory holds. */
void rare_codes_are_the_cpus() {
  for (uint32_t stage = 1; stage <= 3; stage++)
    for (int i = 0; i < rounds_of(60); i++) {
      Level level = level_of({40, 30, 140}, 3, stage, SZGPU_F32, false);
      Bytes codes = codes_of(level.stage, {i % 3 ? 300u : 1000u, i % 3 ? 2u : 12u, 0});
      uint64_t place = random_below(codes.size() / 4);
      while (!(level.stage.existing[place / 64] >> place % 64 & 1))
        place = random_below(codes.size() / 4);
      int32_t const code = (int32_t)((int64_t)random_bits() >> (32 + random_below(28)));
      memcpy(codes.data() + 4 * place, &code, 4);
      set_section(codes, 1 + (uint32_t)i % 3, random_lanes(level), true, &level);
      check(level, whole(level), "rare code", (uint64_t)i);
    }
}

void damage_is_judged_as_on_the_cpu() {
  for (int i = 0; i < rounds_of(60); i++) {
    Level const level = random_level(random_dims());
    for (int k = 0; k < 12; k++) {
      Level damaged = level;
      uint64_t const size = level.section.size();
      bool const is_front = random_below(4) == 0;
      uint64_t const at = is_front ? random_below(level.front_bytes)
                                   : level.front_bytes + random_below(size - level.front_bytes + 1);
      if (at >= size) continue;
      uint64_t const count = random_below(3) ? 1 : 1 + random_below(64);
      damaged.section[at] ^= (uint8_t)(1 << random_below(8));
      for (uint64_t b = at + 1; b < size && b < at + count; b++)
        damaged.section[b] = (uint8_t)random_bits();
      check(damaged, whole(damaged), "damage at", at);
    }
  }
}

/* The places of points that do not exist get codes, as only a bad encoder gives them. */
void places_that_do_not_exist_have_no_codes() {
  for (int i = 0; i < rounds_of(100); i++) {
    Level level = level_of({9, 13, 70}, 2, 1 + (uint32_t)random_below(2), SZGPU_F32, false);
    Bytes codes = codes_of(level.stage, {300, 2, 0});
    Stage full = level.stage;
    for (uint64_t &groups : full.existing) groups = UINT64_MAX;
    uint64_t const place = random_below(codes.size() / 4);
    int32_t const code = 1;
    memcpy(codes.data() + 4 * place, &code, 4);
    std::swap(full.existing, level.stage.existing);
    set_section(codes, 2 + (uint32_t)random_below(2), random_lanes(level), false, &level);
    std::swap(full.existing, level.stage.existing);
    check(level, whole(level), "place", place);
  }
}

/* Twice, since a launch leaves what the next one needs. */
void a_level_can_be_captured() {
  Level level = level_of({40, 30, 140}, 2, 2, SZGPU_F32, false);
  set_section(codes_of(level.stage, {400, 9, 0}), 1, 2, false, &level);
  Window const window = whole(level);
  Read const read =
      read_section(level.stage, level.section, level.unit_of_finest(), level.unit_of_finest());
  Bytes const right = restore_on_cpu(level, read.codes, window);
  Device device(level);
  DeviceArray<uint8_t> output(right.size());
  cudaGraph_t graph;
  cudaGraphExec_t program;
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  MUST(szg_tokens_open_cuda(&device.input, 1, device.verdict.data(), stream));
  device.decode(level, window, output.data());
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&program, graph, 0));
  for (int round = 0; round < 2; round++) {
    output.poison();
    MUST(cudaGraphLaunch(program, stream));
    CHECK(output.host() == right, "launch %d", round);
  }
  CHECK(device.verdict.host()[0].bad_data == 0, "a sound level");
  MUST(cudaGraphExecDestroy(program));
  MUST(cudaGraphDestroy(graph));
}

} // namespace

int main() {
  cuda_test::begin();
  levels_are_the_cpus();
  cut_tiles_are_the_cpus();
  parts_of_the_field_are_the_cpus();
  large_levels_are_the_cpus();
  rare_codes_are_the_cpus();
  damage_is_judged_as_on_the_cpu();
  places_that_do_not_exist_have_no_codes();
  a_level_can_be_captured();
  printf("%d bad levels, %d sound ones\n", bad_count, sound_count);
  CHECK(bad_count > 50 / (cuda_test::is_quick() ? 20 : 1) && sound_count > bad_count, "%d, %d",
        bad_count, sound_count);
  return cuda_test::end();
}
