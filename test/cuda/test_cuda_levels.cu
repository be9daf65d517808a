/* test_cuda_levels.cu - stages of levels frames on the GPU, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/levels_cases.cuh"

#include "codecs/interpolation/levels_sample.h"
#include "codecs/interpolation/levels_tiles.h"

using namespace levels_cases;
using cuda_test::stream;

namespace {

/* ---- coding ---- */

void check_codes_of(const Setup &s, uint32_t stage, const void *values, void *const *grids,
                    const szg_levels_tiles_cuda &tiles, const std::vector<uint64_t> &numbers,
                    const Coded &coded, const char *what) {
  DeviceArray<uint8_t> const codes(numbers.size() * s.tile_bytes(stage) + kGuard);
  MUST(szg_levels_code_stage_cuda(&s.levels, stage, &s.lattice, values, grids, &tiles, codes.data(),
                                  nullptr, stream));
  Bytes expected;
  for (uint64_t t : numbers) {
    auto const from = coded.codes[stage].begin() + (ptrdiff_t)(t * s.tile_bytes(stage));
    expected.insert(expected.end(), from, from + (ptrdiff_t)s.tile_bytes(stage));
  }
  check_equal(s, what, stage, codes.host(), guarded(expected), s.point_bytes(),
              s.stage(stage).place_count);
}

void check_selections(const Setup &s, uint32_t stage, const void *values, void *const *grids,
                      const Coded &coded) {
  uint64_t const tile_count = s.stage(stage).tile_count;
  std::vector<uint64_t> numbers;
  uint64_t const first = random_below(tile_count + 1);
  uint64_t const end = first + random_below(tile_count + 1 - first);
  for (uint64_t t = first; t < end; t++) numbers.push_back(t);
  check_codes_of(s, stage, values, grids, {first, end, nullptr}, numbers, coded, "a range's codes");
}

/* Counts of a stage's sample. */
szg_tokens_tally count_on_cpu(const Setup &s, uint32_t stage, const Bytes &field) {
  static szg_levels_work work;
  Bytes codes(s.tile_bytes(stage));
  uint64_t const tile_count = s.stage(stage).tile_count;
  uint32_t const group_count = s.stage(stage).place_count / SZG_LEVELS_GROUP;
  uint32_t const counted_count = szg_levels_counted_tiles(tile_count);
  szg_tokens_shape const shape = {group_count, 0, s.levels.is_wide};
  szg_tokens_tally tally = {};
  for (uint32_t i = 0; i < counted_count; i++) {
    uint64_t const t = szg_number_in_part(tile_count, counted_count, i);
    uint64_t existing[SZG_TOKENS_MOST_GROUPS];
    szg_levels_existing_places(&s.levels, stage, t, existing);
    szg_levels_estimate_tile(&s.levels, stage, t, &s.lattice, field.data(), &work, codes.data());
    szg_tokens_count(&shape, codes.data(), existing, &tally);
  }
  return tally;
}

void check_sample(const Setup &s, const Bytes &field, const void *values) {
  uint32_t const stage_count = s.levels.level_count + 1;
  szg_tokens_tiles tiles[SZG_TOKENS_MOST_STAGES];
  for (uint32_t i = 0; i < stage_count; i++) tiles[i] = szg_tokens_tiles_of(&s.levels, i);
  DeviceArray<szg_tokens_tally> const tallies(stage_count);
  uint64_t const scratch_bytes = SZG_LEVELS_SAMPLE_BYTES * (1 + random_below(40));
  DeviceArray<uint8_t> const scratch(scratch_bytes);
  MUST(szg_levels_sample_cuda(&s.levels, &s.lattice, tiles, values, tallies.data(), scratch.data(),
                              scratch_bytes, stream));
  std::vector<szg_tokens_tally> const found = tallies.host();
  for (uint32_t i = 0; i < stage_count; i++) {
    szg_tokens_tally const expected = count_on_cpu(s, i, field);
    auto const *const a = (const uint8_t *)&found[i], *const b = (const uint8_t *)&expected;
    check_equal(s, "counts", i, Bytes(a, a + sizeof expected), Bytes(b, b + sizeof expected), 8, 1);
  }
}

void check_coding(const Setup &s, const Bytes &field, const Coded &coded) {
  size_t const shift = random_below(2);
  DeviceArray<uint8_t> const memory(shifted(s, field, shift));
  const void *const values = memory.data() + shift * s.value_bytes();
  DeviceGrids const grids(s);
  DeviceArray<uint8_t> marks(guarded(Bytes(s.grid.tile_count)));
  szg_levels_marks_cuda const wanted = {&s.grid, marks.data(), nullptr};
  for (uint32_t i = 0; i <= s.levels.level_count; i++) {
    DeviceArray<uint8_t> const codes(coded.codes[i].size() + kGuard);
    MUST(szg_levels_code_stage_cuda(&s.levels, i, &s.lattice, values, grids.pointers(), nullptr,
                                    codes.data(), &wanted, stream));
    check_equal(s, "codes", i, codes.host(), guarded(coded.codes[i]), s.point_bytes(),
                s.stage(i).place_count);
    Bytes const untouched(coded.grids[i].size(), kPoison);
    check_grid(s, "coded grid", i, grids, s.is_last(i) ? untouched : coded.grids[i]);
    check_selections(s, i, values, grids.pointers(), coded);
    check_grid(s, "grid coded again", i, grids, s.is_last(i) ? untouched : coded.grids[i]);
  }
  check_equal(s, "marks", 0, marks.host(), guarded(coded.marks), 1, 1);
  check_sample(s, field, values);
}

/* ---- restoring ---- */

/* Values first to end - 1 of the frame from tiles of the last stage. */
void check_window(const Setup &s, uint64_t first_tile, uint64_t end_tile, uint64_t first,
                  uint64_t end, const Bytes &codes, std::vector<Bytes> *grids,
                  const DeviceGrids &device_grids) {
  uint32_t const last = s.levels.level_count;
  size_t const width = s.value_bytes(), tile_bytes = s.tile_bytes(last);
  Bytes all(s.grid.value_count * width, kPoison);
  restore_on_cpu(s, last, first_tile, end_tile, codes, grids, &all);
  DeviceArray<uint8_t> const tile_codes(Bytes(codes.begin() + (ptrdiff_t)(first_tile * tile_bytes),
                                              codes.begin() + (ptrdiff_t)(end_tile * tile_bytes)));
  DeviceArray<uint8_t> const values(kGuard + (end - first) * width + kGuard);
  szg_levels_tiles_cuda const tiles = {first_tile, end_tile, nullptr};
  MUST(szg_levels_restore_stage_cuda(&s.levels, last, &tiles, &s.lattice, nullptr,
                                     tile_codes.data(), device_grids.pointers(),
                                     values.data() + kGuard, first, end, stream));
  Bytes expected(kGuard, kPoison);
  expected.insert(expected.end(), all.begin() + (ptrdiff_t)(first * width),
                  all.begin() + (ptrdiff_t)(end * width));
  char what[160];
  snprintf(what, sizeof what, "tiles %llu to %llu, values %llu to %llu, after a guard of 64 bytes",
           (unsigned long long)first_tile, (unsigned long long)end_tile, (unsigned long long)first,
           (unsigned long long)end);
  check_equal(s, what, last, values.host(), guarded(expected), width, s.grid.x_extent);
}

void check_restoring(const Setup &s, const std::vector<Bytes> &codes) {
  std::vector<Bytes> grids = empty_grids(s);
  DeviceGrids const device_grids(s);
  for (uint32_t i = 0; i <= s.levels.level_count; i++) {
    uint64_t const tiles = s.stage(i).tile_count, middle = random_below(tiles + 1);
    DeviceArray<uint8_t> const device_codes(codes[i]);
    for (int half = 0; half < 2; half++) { /* the second half first: tiles have any order */
      uint64_t const first = half ? 0 : middle, end = half ? middle : tiles;
      restore_on_cpu(s, i, first, end, codes[i], &grids, nullptr);
      szg_levels_tiles_cuda const chosen = {first, end, nullptr};
      MUST(szg_levels_restore_stage_cuda(&s.levels, i, &chosen, &s.lattice, nullptr,
                                         device_codes.data() + first * s.tile_bytes(i),
                                         device_grids.pointers(), nullptr, 0, 0, stream));
      check_grid(s, half ? "restored grid" : "half of a restored grid", i, device_grids, grids[i]);
    }
  }
  uint32_t const last = s.levels.level_count;
  uint64_t const tiles = s.stage(last).tile_count, count = s.grid.value_count;
  check_window(s, 0, tiles, 0, count, codes[last], &grids, device_grids);
  for (int i = 0; i < 3; i++) {
    uint64_t const first = random_below(count), end = first + 1 + random_below(count - first);
    check_window(s, 0, tiles, first, end, codes[last], &grids, device_grids);
    uint64_t const first_tile = random_below(tiles);
    uint64_t const end_tile = first_tile + 1 + random_below(tiles - first_tile);
    check_window(s, first_tile, end_tile, first, end, codes[last], &grids, device_grids);
  }
}

/* Codes that no encoder writes, so that sums wrap. */
std::vector<Bytes> random_codes(const Setup &s) {
  std::vector<Bytes> codes;
  for (uint32_t i = 0; i <= s.levels.level_count; i++) {
    codes.push_back(Bytes(s.stage(i).tile_count * s.tile_bytes(i)));
    for (uint8_t &byte : codes.back()) byte = (uint8_t)cuda_test::random_bits();
  }
  return codes;
}

/* ---- claims ---- */

void check_setup(const Setup &s, Kind kind) {
  Bytes const field = make_field(s, kind);
  Coded const coded = code_on_cpu(s, field);
  check_coding(s, field, coded);
  check_restoring(s, coded.codes);
}

constexpr uint64_t kExtents[] = {2, 3, 5, 17, 33, 63, 64, 65, 127, 128, 129};

/* Dims of about most_values at most, the slowest axis not always the longest. */
std::vector<uint64_t> random_dims(size_t ndim, uint64_t most_values) {
  if (ndim == 1) {
    bool const is_short = random_below(3) == 0;
    return {is_short ? 4 + random_below(130) : 4 + random_below(most_values)};
  }
  std::vector<uint64_t> dims;
  uint64_t count = 1;
  for (size_t i = 0; i < ndim; i++) {
    uint64_t extent = kExtents[random_below(sizeof kExtents / sizeof *kExtents)];
    while (extent > 5 && count * extent > most_values) extent /= 2;
    count *= extent;
    dims.push_back(extent);
  }
  for (size_t i = 0; i < ndim; i++) std::swap(dims[i], dims[random_below(ndim)]);
  return dims;
}

void check_random_shapes(size_t ndim, uint32_t axis_count, bool has_fold, int rounds) {
  for (int round = 0; round < rounds; round++) {
    if (cuda_test::is_left_out((uint64_t)round, 8)) continue;
    std::vector<uint64_t> const dims = random_dims(ndim, ndim >= 3 ? 40000 : 20000);
    uint64_t fold = has_fold ? 2 + random_below(dims[0] / 2 - 1) : 0;
    if (fold > 300 && round % 2) fold = 2 + fold % 200;
    szgpu_dtype const dtype = random_below(2) ? SZGPU_F32 : SZGPU_F64;
    Setup const s = make_setup(dims, axis_count, fold, (uint32_t)random_below(SZG_LEVELS_MOST + 1),
                               dtype, random_below(3) == 0);
    check_setup(s, (Kind)(round % kKinds));
    check_restoring(s, random_codes(s));
  }
}

void every_view_is_the_cpus() {
  check_random_shapes(1, 1, false, 60);
  check_random_shapes(1, 2, true, 60);
  check_random_shapes(2, 2, false, 80);
  check_random_shapes(3, 2, false, 30);
  check_random_shapes(4, 2, false, 10);
  check_random_shapes(3, 3, false, 100);
  check_random_shapes(4, 3, false, 20);
}

/* More tiles than a sample has, and marks in several tiles of each axis. */
void large_fields_are_the_cpus() {
  for (int is_wide = 0; is_wide < (cuda_test::is_quick() ? 0 : 2); is_wide++) {
    check_setup(make_setup({150, 130, 200}, 3, 0, 3, SZGPU_F32, is_wide), kSpecials);
    check_setup(make_setup({3, 70, 75, 80}, 3, 0, 3, SZGPU_F64, is_wide), kSpecials);
    check_setup(make_setup({40, 300, 260}, 2, 0, 4, SZGPU_F32, is_wide), kSpecials);
    check_setup(make_setup({1100, 1300}, 2, 0, 4, SZGPU_F64, is_wide), kSpecials);
    check_setup(make_setup({1500007}, 1, 0, 5, SZGPU_F32, is_wide), kSpecials);
    check_setup(make_setup({1500007}, 1, 0, 0, SZGPU_F32, is_wide), kMostlyNone);
    check_setup(make_setup({1500007}, 2, 1201, 4, SZGPU_F64, is_wide), kSpecials);
  }
}

/* All stages in one graph, launched twice. */
void stages_can_be_captured() {
  Setup const s = make_setup({40, 50, 130}, 3, 0, 3, SZGPU_F32, true);
  Bytes const field = make_field(s, kSpecials);
  Coded const coded = code_on_cpu(s, field);
  DeviceArray<uint8_t> const values(field);
  DeviceArray<uint8_t> marks(Bytes(s.grid.tile_count)), back(field.size());
  szg_levels_marks_cuda const wanted = {&s.grid, marks.data(), nullptr};
  size_t most_bytes = 0;
  for (const Bytes &codes : coded.codes) most_bytes = std::max(most_bytes, codes.size());
  DeviceArray<uint8_t> const codes(most_bytes);
  DeviceGrids const grids(s), restored(s);
  cudaGraph_t graph;
  cudaGraphExec_t program;
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (uint32_t i = 0; i <= s.levels.level_count; i++) {
    MUST(szg_levels_code_stage_cuda(&s.levels, i, &s.lattice, values.data(), grids.pointers(),
                                    nullptr, codes.data(), &wanted, stream));
    szg_levels_tiles_cuda const all = {0, s.stage(i).tile_count, nullptr};
    MUST(szg_levels_restore_stage_cuda(&s.levels, i, &all, &s.lattice, nullptr, codes.data(),
                                       restored.pointers(), back.data(), 0, s.grid.value_count,
                                       stream));
  }
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&program, graph, 0));
  std::vector<Bytes> cpu_grids = coded.grids;
  Bytes expected(field.size());
  uint32_t const last = s.levels.level_count;
  restore_on_cpu(s, last, 0, s.stage(last).tile_count, coded.codes[last], &cpu_grids, &expected);
  for (int round = 0; round < 2; round++) {
    back.poison(), marks.zero();
    MUST(cudaGraphLaunch(program, stream));
    check_equal(s, "values of a graph", last, back.host(), expected, s.value_bytes(),
                s.grid.x_extent);
    check_equal(s, "marks of a graph", 0, marks.host(), coded.marks, 1, 1);
  }
  MUST(cudaGraphExecDestroy(program));
  MUST(cudaGraphDestroy(graph));
}

} // namespace

int main() {
  cuda_test::begin();
  every_view_is_the_cpus();
  large_fields_are_the_cpus();
  stages_can_be_captured();
  return cuda_test::end();
}
