/* test_cuda_tile_compress.cu - frames to tile sections on the GPU, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/tile_cases.cuh"

using cuda_test::DeviceArray;
using cuda_test::stream;
using namespace tile_cases;

namespace {

constexpr uint8_t kPoison = 0xA5; /* DeviceArray's */
constexpr size_t kGuard = 64;     /* bytes after an output that must not change */

/* ---- what the CPU makes of the frames ---- */

/* Entries of random lengths, and escapes. Their codes could not be decoded. */
Book any_book(const Setup &s) {
  Book book(s.zero_groups);
  szg_tile_encoder *const encoder = &book.parts.encoder;
  auto const entry = [](uint32_t most_bits) {
    uint32_t const length = (uint32_t)random_below(most_bits + 1);
    if (length == 0) return 0u;
    uint32_t const code = (uint32_t)random_bits() | 0x80000000u;
    return (code & ~(UINT32_MAX >> 1 >> (length - 1))) | length;
  };
  for (uint32_t i = 1; i < 2 * SZG_TILE_DIRECT; i++) encoder->direct[i] = entry(19);
  for (uint32_t i = 0; i < 2 * SZG_TILE_CLASSES; i++) encoder->classes[i] = entry(12);
  encoder->direct[SZG_TILE_DIRECT] = 1 + (uint32_t)random_below(12); /* delta 0: a code of zeros */
  encoder->escape = 0xFFF00000u | 12;
  return book;
}

struct Expected {
  Bytes sections, tile_marks;
  szg_tile_result_cuda result;
};

void pad(Bytes &bytes) {
  bytes.resize((bytes.size() + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT, 0);
}

/* Appends a tile's raw values in code order. */
void append_raw(const Setup &s, const Bytes &values, const szg_tile &tile, Bytes *words) {
  for (uint64_t z = 0; z < tile.z_extent; z++)
    for (uint64_t y = 0; y < tile.y_extent; y++) {
      const uint8_t *const row =
          &values[(tile.first_value + z * tile.z_stride + y * tile.y_stride) * s.width()];
      words->insert(words->end(), row, row + tile.x_extent * s.width());
    }
}

Expected expect(const Setup &s, const Bytes &values, const Book &book) {
  Expected expected = {};
  Bytes words, room(SZG_TILE_VALUES * 8);
  Bytes &sections = expected.sections;
  sections.assign(book.parts.section, book.parts.section + book.parts.section_bytes);
  pad(sections);
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    tile_deltas(s, values, tile);
    uint32_t const raw_words = szg_raw_tile_words(tile.value_count, s.width());
    uint32_t const word_count = szg_tile_encode(&book.parts.encoder, s.lattice_bits, s.zero_groups,
                                                &tile, &work.deltas, raw_words, room.data());
    if (word_count == raw_words)
      append_raw(s, values, tile, &words);
    else
      words.insert(words.end(), room.begin(), room.begin() + 4 * (ptrdiff_t)word_count);
    sections.push_back((uint8_t)word_count), sections.push_back((uint8_t)(word_count >> 8));
    expected.tile_marks.push_back(work.has_marks && word_count < raw_words);
    if (expected.tile_marks.back()) expected.result.marked_tiles = 1;
  }
  pad(sections);
  expected.result.word_count = words.size() / 4;
  sections.insert(sections.end(), words.begin(), words.end());
  pad(sections);
  return expected;
}

/* ---- comparisons ---- */

void check_bytes(const Setup &s, const char *what, const Bytes &found, Bytes expected) {
  expected.resize(expected.size() + kGuard, kPoison);
  size_t i = 0;
  while (i < expected.size() && found[i] == expected[i]) i++;
  CHECK(i == expected.size(), "%s, %s: at %zu of %zu there is %u, not %u", name_of(s), what, i,
        expected.size() - kGuard, found[i], expected[i]);
}

/* shift: of the values past 16-byte alignment. */
void check_frame(const Setup &s, const Bytes &values, const Book &book, size_t shift) {
  Expected const expected = expect(s, values, book);
  Bytes shifted(shift, kPoison);
  shifted.insert(shifted.end(), values.begin(), values.end());
  DeviceArray<uint8_t> const field(shifted);
  DeviceArray<szg_tile_book_cuda> const parts(std::vector<szg_tile_book_cuda>{book.parts});
  DeviceArray<uint32_t> const axes(std::vector<uint32_t>{s.axes});
  uint64_t const room = expected.sections.size();
  DeviceArray<uint8_t> sections(room + kGuard), marks(s.grid.tile_count + kGuard);
  DeviceArray<uint8_t> memory(szg_tile_compress_work_bytes_cuda(s.grid.tile_count));
  DeviceArray<szg_tile_result_cuda> result(1);
  auto const compress = [&](uint64_t room_bytes) {
    sections.poison(), marks.poison(), memory.zero(), result.zero();
    double const greatest_point = random_below(2) ? 32000.0 : 0.0; /* both must do */
    MUST(szg_tile_compress_cuda(&s.k, s.lattice_bits, greatest_point, &s.grid, field.data() + shift,
                                axes.data(), parts.data(), false, sections.data(), room_bytes,
                                marks.data(), memory.data(), result.data(), stream));
    szg_tile_result_cuda const found = result.host()[0];
    CHECK(found.word_count == expected.result.word_count, "%s: %llu words, not %llu", name_of(s),
          (unsigned long long)found.word_count, (unsigned long long)expected.result.word_count);
    CHECK((found.marked_tiles != 0) == (expected.result.marked_tiles != 0), "%s", name_of(s));
    CHECK((found.is_too_large != 0) == (room_bytes < room), "%s: room for %llu of %llu", name_of(s),
          (unsigned long long)room_bytes, (unsigned long long)room);
    check_bytes(s, "marks", marks.host(), expected.tile_marks);
  };
  for (int turn = 0; turn < 2; turn++) { /* the second time in used memory */
    compress(room);
    check_bytes(s, "sections", sections.host(), expected.sections);
  }
  for (uint64_t const less : {random_below(room), room - 1}) {
    compress(less);
    Bytes const found = sections.host();
    for (uint64_t i = less; i < found.size(); i++)
      CHECK(found[i] == kPoison, "%s: room for %llu bytes, but %llu is written", name_of(s),
            (unsigned long long)less, (unsigned long long)i);
  }
}

/* ---- claims ---- */

/* Each lattice, shape and field once; margins, axes, zero groups and books in turn. */
void every_frame_is_the_cpus() {
  uint32_t turn = 0;
  for (const Lattice &lattice : kLattices)
    for (const szg_grid &grid : all_grids())
      for (int field = 0; field < kFields; field++, turn++) {
        if (cuda_test::is_left_out(turn, 7)) continue;
        Setup s = setup_of(lattice.arithmetic, lattice.bits, grid, kMargins[turn % 4], field);
        s.axes = 1 + (uint32_t)random_below(szg_grid_axes(&grid));
        if (turn % 4 < 2) s.axes = szg_grid_axes(&grid);
        s.zero_groups = turn / 2 % SZG_ZERO_GROUPS_COUNT;
        Bytes const values = make_field(s);
        check_frame(s, values, turn % 5 < 3 ? own_book(s, values) : any_book(s),
                    turn % 2 * s.width());
      }
}

void all_axes_and_zero_groups_are_the_cpus() {
  szg_grid const grid = cuda_test::grid_of({20, 20, 70});
  uint64_t number = 0;
  for (const Lattice &lattice : kLattices)
    for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++)
      for (uint32_t zero_groups = 0; zero_groups < SZG_ZERO_GROUPS_COUNT; zero_groups++)
        for (int const field : {kSmooth, kSparse, kHoles}) {
          if (cuda_test::is_left_out(number++, 13)) continue;
          Setup s = setup_of(lattice.arithmetic, lattice.bits, grid, kMargins[0], field);
          s.axes = axes, s.zero_groups = zero_groups;
          Bytes const values = make_field(s);
          check_frame(s, values, own_book(s, values), 0);
        }
}

/* More chunks than blocks that run at once, so that look-backs are long. */
void many_tiles_are_the_cpus() {
  for (int const field : {kSmooth, kSpikes}) {
    Setup const tiny =
        setup_of(SZG_ARITHMETIC_F32, 16, cuda_test::grid_of({30011, 2, 2, 2}), kMargins[0], field);
    Setup const large =
        setup_of(SZG_ARITHMETIC_F32, 16, cuda_test::grid_of({200, 250, 300}), 200.0, field);
    for (const Setup &s : {tiny, large}) {
      Bytes const values = make_field(s);
      check_frame(s, values, own_book(s, values), 0);
    }
  }
}

} // namespace

int main() {
  cuda_test::begin();
  every_frame_is_the_cpus();
  all_axes_and_zero_groups_are_the_cpus();
  if (!cuda_test::is_quick()) many_tiles_are_the_cpus();
  return cuda_test::end();
}
