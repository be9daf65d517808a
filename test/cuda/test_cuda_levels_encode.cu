/* test_cuda_levels_encode.cu - stages encoded by the fused kernels, against the CPU's sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/levels_encode.h"

#include <algorithm>

#include "cuda/levels_cases.cuh"
#include "cuda/tokens_cases.cuh"

using namespace levels_cases;
using cuda_test::stream;
using tokens_cases::Stage;

namespace {

constexpr uint64_t kFirstByte = 48; /* where sections begin in the archive */

/* ---- the CPU ---- */

Stage stage_in(const Setup &s, uint32_t i) {
  Stage made;
  made.name = s.name;
  made.levels = s.levels;
  made.stage = i;
  made.tiles = szg_tokens_tiles_of(&s.levels, i);
  made.existing.resize(made.tiles.tile_count * made.tiles.group_count);
  for (uint64_t t = 0; t < made.tiles.tile_count; t++)
    szg_levels_existing_places(&s.levels, i, t, made.existing.data() + t * made.tiles.group_count);
  return made;
}

/* A book of any mode, made for some of the tiles, so that the others have symbols without codes.
 * That of the greatest g that makes sense, or of one below it. */
szg_tokens_book_cuda random_book(const Stage &stage, const Bytes &codes) {
  uint32_t const tile_count = (uint32_t)stage.tiles.tile_count;
  uint32_t const counted = 1 + (uint32_t)random_below(tile_count);
  szg_tokens_tally const tally = tokens_cases::count_tiles(stage, codes, counted);
  uint32_t const least = szg_tokens_least_lane_groups_log2(stage.tiles.group_count);
  uint32_t const g = least + (uint32_t)random_below(SZG_LEVELS_LANE_GROUPS_LOG2 + 1 - least);
  uint32_t const mode = 1 + (uint32_t)random_below(3);
  szg_tokens_plan const plan = tokens_cases::plan_of(tally, mode, g, false);
  return tokens_cases::book_of(plan, stage.levels.stages[stage.stage].unit);
}

/* The stages' books, and the sections that the CPU makes with them. */
struct Sections {
  std::vector<szg_tokens_book_cuda> books;
  std::vector<uint64_t> starts, byte_counts;
  Bytes archive; /* with zeros between sections */
};

Sections sections_on_cpu(const Setup &s, const Coded &coded) {
  Sections made;
  made.archive.assign(kFirstByte, kPoison);
  for (uint32_t i = 0; i <= s.levels.level_count; i++) {
    Stage const stage = stage_in(s, i);
    made.books.push_back(random_book(stage, coded.codes[i]));
    Bytes const section = tokens_cases::section_of(stage, coded.codes[i], made.books.back());
    made.starts.push_back(made.archive.size());
    made.byte_counts.push_back(section.size());
    made.archive.insert(made.archive.end(), section.begin(), section.end());
    made.archive.resize((made.archive.size() + 15) / 16 * 16, 0);
  }
  made.starts.push_back(made.archive.size());
  return made;
}

/* ---- the GPU ---- */

/* Memory for all stages of a frame. */
struct Work {
  DeviceArray<uint8_t> counters, words, slots, tiles;
  szg_levels_encode_work_cuda memory;
  szg_levels_encoded_cuda encoded[SZG_LEVELS_MOST + 1];

  Work(const Setup &s, uint64_t word_capacity, uint32_t slot_count)
      : counters(sizeof(szg_levels_counters_cuda)),
        words(4 * word_capacity + kGuard),
        slots((size_t)slot_count * SZG_LEVELS_MOST_PLACES * sizeof(int32_t)),
        tiles(carve(s, NULL)) {
    counters.zero(), tiles.zero();
    memory = {(szg_levels_counters_cuda *)counters.data(), (uint32_t *)words.data(), word_capacity,
              (int32_t *)slots.data(), slot_count};
    carve(s, tiles.data());
  }
  size_t carve(const Setup &s, uint8_t *bytes) {
    szg_arena arena = {bytes, 0, bytes ? tiles.count() : UINT64_MAX, false};
    for (uint32_t i = 0; i <= s.levels.level_count; i++)
      szg_levels_encoded_carve_cuda(&arena, s.stage(i).tile_count, &encoded[i]);
    for (uint32_t i = 0; i <= s.levels.level_count; i++)
      szg_levels_sums_carve_cuda(&arena, s.stage(i).tile_count, &encoded[i]);
    return arena.used_bytes;
  }
};

void encode(const Setup &s, const void *values, const DeviceGrids &grids,
            const szg_levels_marks_cuda *marks, const DeviceArray<szg_tokens_book_cuda> &books,
            const Work &work) {
  CHECK(szg_base_encode_serves(&s.levels), "%s", s.name.c_str());
  MUST(szg_base_encode_cuda(&s.levels, &s.lattice, values, grids.pointers()[0], books.data(), marks,
                            &work.memory, &work.encoded[0], stream));
  for (uint32_t i = 1; i <= s.levels.level_count; i++) {
    CHECK(szg_levels_encode_serves(&s.levels, i), "%s, stage %u", s.name.c_str(), i);
    MUST(szg_levels_encode_cuda(&s.levels, i, &s.lattice, values, grids.pointers(),
                                books.data() + i, marks, &work.memory, &work.encoded[i], stream));
  }
}

void write_sections(const Setup &s, const DeviceArray<szg_tokens_book_cuda> &books,
                    const Work &work, uint8_t *archive, uint64_t capacity, uint64_t *numbers) {
  uint32_t const stage_count = s.levels.level_count + 1;
  szg_levels_section_cuda sections[SZG_LEVELS_MOST + 1];
  for (uint32_t i = 0; i < stage_count; i++)
    sections[i] = {s.stage(i).tile_count, i, books.data() + i, work.encoded[i]};
  MUST(szg_levels_write_sections_cuda(sections, stage_count, &work.memory, archive, capacity,
                                      numbers, numbers + stage_count + 1, stream));
}

/* Starts of sections, then their sizes: what is found if only the first start is known. */
std::vector<uint64_t> first_start_only(const Setup &s) {
  std::vector<uint64_t> numbers(2 * s.levels.level_count + 3, 0);
  numbers[0] = kFirstByte;
  return numbers;
}

void check_numbers(const Setup &s, const Sections &expected, const DeviceArray<uint64_t> &numbers) {
  std::vector<uint64_t> all = expected.starts;
  all.insert(all.end(), expected.byte_counts.begin(), expected.byte_counts.end());
  CHECK(numbers.host() == all, "%s: starts and sizes of sections", s.name.c_str());
}

void check_archive(const Setup &s, const Sections &expected, const Work &work,
                   const DeviceArray<szg_tokens_book_cuda> &books) {
  DeviceArray<uint64_t> numbers(first_start_only(s));
  DeviceArray<uint8_t> const archive(expected.archive.size() + kGuard);
  write_sections(s, books, work, archive.data(), expected.archive.size(), numbers.data());
  check_numbers(s, expected, numbers);
  check_equal(s, "sections", s.levels.level_count, archive.host(), guarded(expected.archive), 1,
              expected.archive.size());
}

/* A section that does not fit leaves the archive as it is, and so do all after it. */
void check_small_archive(const Setup &s, const Sections &expected, const Work &work,
                         const DeviceArray<szg_tokens_book_cuda> &books) {
  uint32_t const first_left = (uint32_t)random_below(s.levels.level_count + 1);
  DeviceArray<uint64_t> numbers(first_start_only(s));
  DeviceArray<uint8_t> const archive(expected.archive.size());
  write_sections(s, books, work, archive.data(), expected.starts[first_left + 1] - 1,
                 numbers.data());
  check_numbers(s, expected, numbers);
  Bytes left = expected.archive;
  std::fill(left.begin() + (ptrdiff_t)expected.starts[first_left], left.end(), kPoison);
  check_equal(s, "sections that fit", first_left, archive.host(), left, 1, left.size());
}

/* Too little memory for words: sizes are right, and nothing is written behind it. */
void check_few_words(const Setup &s, const Bytes &field, const Sections &expected,
                     const DeviceArray<szg_tokens_book_cuda> &books) {
  uint64_t const word_capacity = random_below(expected.archive.size() / 4);
  Work const work(s, word_capacity, 1 + (uint32_t)random_below(40));
  DeviceArray<uint8_t> const values(field);
  DeviceGrids const grids(s);
  encode(s, values.data(), grids, NULL, books, work);
  DeviceArray<uint64_t> numbers(first_start_only(s));
  DeviceArray<uint8_t> const archive(expected.archive.size() + kGuard);
  write_sections(s, books, work, archive.data(), expected.archive.size(), numbers.data());
  check_numbers(s, expected, numbers);
  Bytes const words = work.words.host(), guard(kGuard, kPoison);
  CHECK(std::equal(guard.begin(), guard.end(), words.end() - (ptrdiff_t)kGuard),
        "%s: words behind their memory", s.name.c_str());
}

void check_setup(const Setup &s, const Bytes &field) {
  Coded const coded = code_on_cpu(s, field);
  Sections const expected = sections_on_cpu(s, coded);
  DeviceArray<szg_tokens_book_cuda> const books(expected.books);
  Work const work(s, expected.archive.size() / 4, 1 + (uint32_t)random_below(3000));
  size_t const shift = random_below(2);
  DeviceArray<uint8_t> const memory(shifted(s, field, shift));
  const void *const values = memory.data() + shift * s.value_bytes();
  DeviceGrids const grids(s);
  DeviceArray<uint8_t> const marks(guarded(Bytes(s.grid.tile_count)));
  DeviceArray<uint32_t> const has_marks(std::vector<uint32_t>{0});
  szg_levels_marks_cuda const wanted = {&s.grid, marks.data(), has_marks.data()};
  encode(s, values, grids, &wanted, books, work);
  check_archive(s, expected, work, books);
  check_small_archive(s, expected, work, books);
  for (uint32_t i = 0; i < s.levels.level_count; i++)
    check_grid(s, "grid", i, grids, coded.grids[i]);
  check_equal(s, "marks", 0, marks.host(), guarded(coded.marks), 1, 1);
  bool const has_any =
      std::any_of(coded.marks.begin(), coded.marks.end(), [](auto m) { return m; });
  CHECK(has_marks.host()[0] == has_any, "%s: whether there are marks", s.name.c_str());
  check_few_words(s, field, expected, books);
}

/* ---- claims ---- */

/* Extents of one tile, and those of a few: full ones, cut ones, and such with little behind. */
uint64_t random_extent(uint64_t most) {
  static const uint64_t near[] = {2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66};
  uint64_t const extent = random_below(2) ? near[random_below(16)] : 2 + random_below(most - 1);
  return extent < most ? extent : most;
}

void check_random_fields(int rounds, uint64_t most_values) {
  for (int round = 0; round < rounds; round++) {
    if (cuda_test::is_left_out((uint64_t)round, 8)) continue;
    std::vector<uint64_t> dims = {random_extent(70), random_extent(40), random_extent(200)};
    if (round % 8 == 7) dims.insert(dims.begin(), 2 + random_below(2));
    if (round % 4 == 3) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    while (dims[0] * dims[1] * dims[2] * (dims.size() > 3 ? dims[3] : 1) > most_values)
      for (uint64_t &extent : dims) extent = extent > 3 ? extent * 3 / 4 : 2;
    szgpu_dtype const dtype = random_below(2) ? SZGPU_F32 : SZGPU_F64;
    Setup const s = make_setup(dims, 3, 0, 1 + (uint32_t)random_below(4), dtype, false);
    check_setup(s, make_field(s, (Kind)(round % kKinds)));
  }
}

/* Tiles in the middle, along all axes, in all levels. */
void full_tiles_are_the_cpus() {
  for (int round = 0; round < 36; round++) {
    if (cuda_test::is_left_out((uint64_t)round, 12)) continue;
    szgpu_dtype const dtype = round % 2 ? SZGPU_F32 : SZGPU_F64;
    std::vector<uint64_t> dims = {40 + random_below(16), 30 + random_below(20), 264};
    if (round % 4 == 3) dims = {2, 40, 40, 129 + random_below(8)};
    if (round % 9 == 8) dims = {64 + random_below(16), 70 + random_below(20), 264};
    Setup const s = make_setup(dims, 3, 0, 1 + (uint32_t)random_below(4), dtype, false);
    check_setup(s, make_field(s, round % 3 ? kSmooth : round % 2 ? kFills : kSpecials));
  }
}

/* Zeros with a spike here and there, of any size: most tiles have at most one large code, in any
 * place. */
Bytes make_spikes(const Setup &s) {
  Bytes field(s.grid.value_count * s.value_bytes(), 0);
  uint64_t const count = 1 + s.grid.value_count / 8192;
  for (uint64_t k = 0; k < count; k++) {
    uint64_t const i = random_below(s.grid.value_count);
    double const points =
        (double)((1u << random_below(23)) + random_below(100)); /* of the lattice */
    double const spike = (random_below(2) ? points : -points) / s.lattice.inverse;
    float const spike_f32 = (float)spike;
    if (s.lattice.dtype == SZGPU_F32)
      memcpy(field.data() + 4 * i, &spike_f32, sizeof spike_f32);
    else
      memcpy(field.data() + 8 * i, &spike, sizeof spike);
  }
  return field;
}

/* A tile's one large code was lost if it was in some classes of its last planes. */
void single_large_codes_are_the_cpus() {
  for (int round = 0; round < 40; round++) {
    if (cuda_test::is_left_out((uint64_t)round, 24)) continue;
    szgpu_dtype const dtype = round % 4 ? SZGPU_F32 : SZGPU_F64;
    Setup const s = make_setup({66, 66, 264}, 3, 0, 1 + (uint32_t)round % 3, dtype, false);
    check_setup(s, make_spikes(s));
  }
}

/* Noise of about so many points of the lattice. */
Bytes make_noise(const Setup &s, uint64_t points) {
  Bytes field(s.grid.value_count * s.value_bytes());
  for (uint64_t i = 0; i < s.grid.value_count; i++) {
    double const value =
        ((double)random_below(2 * points + 1) - (double)points) / s.lattice.inverse;
    float const value_f32 = (float)value;
    if (s.lattice.dtype == SZGPU_F32)
      memcpy(field.data() + 4 * i, &value_f32, sizeof value_f32);
    else
      memcpy(field.data() + 8 * i, &value, sizeof value);
  }
  return field;
}

/* Codes and bits that just fit in memory of all kinds, and such that do not. */
void noisy_tiles_are_the_cpus() {
  for (int round = 0; round < 64; round++) {
    if (cuda_test::is_left_out((uint64_t)round, 32)) continue;
    szgpu_dtype const dtype = round % 4 ? SZGPU_F32 : SZGPU_F64;
    Setup const s = make_setup({33, 35, 131}, 3, 0, 1 + (uint32_t)random_below(3), dtype, false);
    uint64_t const unit = s.stage(s.levels.level_count).unit;
    uint64_t const points =
        round % 2 ? unit * (16 + random_below(48)) : (1u << random_below(22)) + random_below(100);
    check_setup(s, make_noise(s, points));
  }
}

/* Each extent of a cut tile along each axis, in levels of spacing 1, 2 and 4. */
void cut_tiles_are_the_cpus() {
  for (uint64_t round = 0; round < 128; round++) {
    if (cuda_test::is_left_out(round, 16)) continue;
    uint64_t const x = 1 + round % 64, y = 1 + random_below(8), z = 1 + random_below(16);
    std::vector<uint64_t> const dims = {z + (z == 1 || random_below(2) ? 16 : 0),
                                        y + (y == 1 || random_below(2) ? 8 : 0),
                                        x + (x == 1 || random_below(2) ? 64 : 0)};
    szgpu_dtype const dtype = random_below(4) ? SZGPU_F32 : SZGPU_F64;
    Setup const s = make_setup(dims, 3, 0, 1 + (uint32_t)random_below(3), dtype, false);
    check_setup(s, round % 2 ? make_field(s, (Kind)random_below(kKinds)) : make_spikes(s));
  }
}

/* All codes are 0: no tile has words. */
void zero_tiles_are_the_cpus() {
  for (int round = 0; round < 4; round++) {
    Setup const s = make_setup({40, 30, 140}, 3, 0, 3, round % 2 ? SZGPU_F32 : SZGPU_F64, false);
    check_setup(s, Bytes(s.grid.value_count * s.value_bytes(), 0));
  }
}

} // namespace

int main() {
  cuda_test::begin();
  full_tiles_are_the_cpus();
  check_random_fields(200, 60000);
  noisy_tiles_are_the_cpus();
  cut_tiles_are_the_cpus();
  single_large_codes_are_the_cpus();
  zero_tiles_are_the_cpus();
  return cuda_test::end();
}
