/* test_cuda_tile_compress.cu - frames to tile sections on the GPU, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>

#include "core/bytes.h"
#include "cuda/cuda_test.cuh"
#include "fused/tile.h"
#include "fused/tile_cuda.h"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;
using cuda_test::stream;

namespace {

typedef std::vector<uint8_t> Bytes;
constexpr uint8_t kPoison = 0xA5; /* DeviceArray's */
constexpr size_t kGuard = 64;     /* bytes after an output that must not change */

/* ---- frames to compress ---- */

struct Setup {
  szg_quantizer k;
  uint32_t lattice_bits;
  szg_grid grid;
  uint32_t axes, zero_groups;
  int field; /* kSmooth to kLongestLane */
  bool is_f32() const { return k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE; }
  uint32_t width() const { return is_f32() ? 4 : 8; }
};

const char *name_of(const Setup &s) {
  static char name[200];
  snprintf(name, sizeof name,
           "arithmetic %u, %u bits, axes %u, zero groups %u, field %d, %llu x %llu x %llu x %llu",
           s.k.arithmetic, s.lattice_bits, s.axes, s.zero_groups, s.field,
           (unsigned long long)s.grid.batch_extent, (unsigned long long)s.grid.z_extent,
           (unsigned long long)s.grid.y_extent, (unsigned long long)s.grid.x_extent);
  return name;
}

enum Field {
  kSmooth,      /* like most fields */
  kOffset,      /* the same far from 0 */
  kNoise,       /* a few points up and down */
  kRough,       /* hundreds of them */
  kWild,        /* the whole 16-bit lattice: differences wrap */
  kZero,        /* zeros only */
  kSparse,      /* zeros, except for a few values */
  kSteps,       /* long stretches of one value */
  kSigns,       /* the same magnitude, with alternating signs */
  kSpikes,      /* smooth, except for a few values */
  kHoles,       /* smooth, with stretches of NaN, infinities and values beyond the lattice */
  kFill,        /* smooth, with stretches of a fill value that has a point */
  kOneHole,     /* smooth, with one NaN in every other tile */
  kLongestLane, /* one place of every row is wild */
  kFields
};

/* The value of a field, in steps. */
double point_at(const Setup &s, uint64_t i) {
  double const x = (double)(i % s.grid.x_extent), y = (double)(i / s.grid.x_extent % 1021);
  double const smooth = 90.0 * sin(0.05 * x + 0.3) * cos(0.03 * y) + 20.0 * sin(0.0007 * (double)i);
  double const reach = s.lattice_bits == 16 ? 32700.0 : s.lattice_bits == 32 ? 1e9 : 1e17;
  double const wild = reach * (2.0 * random_unit() - 1.0);
  switch (s.field) {
    case kOffset:
      return smooth + 0.7 * reach;
    case kNoise:
      return 6.0 * random_unit() - 3.0;
    case kRough:
      return 3000.0 * random_unit() - 800.0;
    case kWild:
      return wild;
    case kZero:
      return 0.0;
    case kSparse:
      return random_below(300) ? 0.0 : wild;
    case kSteps:
      return (double)(i / 700 % 5) * 40.0;
    case kSigns:
      return (i % 2 ? 1.0 : -1.0) * 0.99 * reach;
    case kSpikes:
      return random_below(100) ? smooth : wild;
    case kLongestLane:
      return i % s.grid.x_extent % 32 == 7 ? wild : 0.0;
    default:
      return smooth + 0.4 * random_unit();
  }
}

void set_value(const Setup &s, Bytes &values, uint64_t i, double value) {
  float const value_f32 = (float)value;
  if (s.is_f32())
    memcpy(&values[4 * i], &value_f32, 4);
  else
    memcpy(&values[8 * i], &value, 8);
}

constexpr double kFillPoint = -700.0;

Bytes make_field(const Setup &s) {
  static const double holes[] = {NAN, INFINITY, -INFINITY, 3e38, -1e30};
  Bytes values(s.grid.value_count * s.width());
  for (uint64_t i = 0; i < s.grid.value_count; i++)
    set_value(s, values, i, point_at(s, i) * s.k.step);
  if (s.field == kHoles || s.field == kFill) {
    for (uint64_t i = random_below(900); i < s.grid.value_count; i += 1 + random_below(900)) {
      double const hole = s.field == kFill ? kFillPoint * s.k.step : holes[random_below(5)];
      for (uint64_t left = random_below(100); left > 0 && i < s.grid.value_count; left--)
        set_value(s, values, i++, hole);
    }
  }
  for (uint64_t t = 0; s.field == kOneHole && t < s.grid.tile_count; t += 2) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    set_value(s, values,
              tile.first_value + random_below(tile.z_extent) * tile.z_stride +
                  random_below(tile.y_extent) * tile.y_stride + random_below(tile.x_extent),
              NAN);
  }
  return values;
}

/* The step has the margin for values of up to so many steps; 0: a third of the values is out of
 * bound. */
constexpr double kMargins[] = {32700.0, 200.0, 0.0};

Setup setup_of(uint32_t arithmetic, uint32_t lattice_bits, const szg_grid &grid, double margin,
               int field) {
  double const unit = arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? 0x1p-24 : 0x1p-53;
  double const bound = 0x1.23p-7;
  double step = margin > 0.0 ? 2.0 * bound / (1.0 + 8.0 * unit * margin) : 3.0 * bound;
  if (arithmetic == SZG_ARITHMETIC_F32) step = (double)(float)step;
  bool const has_fill = field == kFill;
  uint64_t const fill_bits = szg_bits_of_value(
      arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? SZGPU_F32 : SZGPU_F64, kFillPoint * step);
  Setup s = {szg_quantizer_make(arithmetic, bound, step, has_fill, has_fill ? fill_bits : 0),
             lattice_bits,
             grid,
             szg_grid_axes(&grid),
             0,
             field};
  if (lattice_bits == 16)
    CHECK(szg_quantizer_shorten(32700.0 * step, &s.k), "no 16-bit lattice for the setup");
  return s;
}

/* ---- what the CPU makes of the frames ---- */

struct Book {
  szg_tile_book_cuda parts;
  explicit Book(uint32_t zero_groups) {
    memset(&parts, 0, sizeof parts);
    parts.zero_groups = zero_groups;
    parts.section_bytes = 6 + (uint32_t)random_below(SZG_TILE_SYMBOLS);
    for (uint32_t i = 0; i < parts.section_bytes; i++) parts.section[i] = (uint8_t)random_bits();
  }
};

szg_tile_work work; /* 70 KB */
szg_codebook_work book_work;

void tile_deltas(const Setup &s, const Bytes &values, const szg_tile &tile) {
  szg_tile_values_to_deltas(&s.k, s.lattice_bits, s.axes, &tile, values.data(), &work,
                            &work.deltas);
}

/* A book made from the field's own deltas. */
Book own_book(const Setup &s, const Bytes &values) {
  static szg_tile_tally tally;
  static szg_codebook codebook;
  memset(&tally, 0, sizeof tally);
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    tile_deltas(s, values, tile);
    szg_tile_count(s.lattice_bits, &tile, &work.deltas, &tally);
  }
  Book book(s.zero_groups);
  szg_tile_book_build(&tally, s.zero_groups, &codebook, &book_work);
  szg_tile_encoder_build(&codebook, &book.parts.encoder);
  return book;
}

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
    MUST(szg_tile_compress_cuda(&s.k, s.lattice_bits, &s.grid, field.data() + shift, axes.data(),
                                parts.data(), sections.data(), room_bytes, marks.data(),
                                memory.data(), result.data(), stream));
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

struct Lattice {
  uint32_t arithmetic, bits;
};
constexpr Lattice kLattices[] = {{SZG_ARITHMETIC_F32, 16},       {SZG_ARITHMETIC_F64, 16},
                                 {SZG_ARITHMETIC_F32, 32},       {SZG_ARITHMETIC_F64, 32},
                                 {SZG_ARITHMETIC_F32_CLOSE, 32}, {SZG_ARITHMETIC_F64_WIDE, 64}};

std::vector<szg_grid> all_grids() {
  std::vector<szg_grid> grids;
  for (const auto &dims : std::vector<std::vector<uint64_t>>{{1},
                                                             {33},
                                                             {257},
                                                             {4096},
                                                             {12289},
                                                             {2, 2},
                                                             {64, 64},
                                                             {67, 130},
                                                             {130, 40},
                                                             {16, 8, 32},
                                                             {33, 15, 40},
                                                             {40, 3, 5},
                                                             {2, 17, 9, 100},
                                                             {2, 16, 16, 32}})
    grids.push_back(cuda_test::grid_of(dims));
  szg_grid const whole = cuda_test::grid_of({33, 15, 40});
  grids.push_back(szg_grid_of_rows(&whole, 1));
  return grids;
}

/* Each lattice, shape and field once; margins, axes, zero groups and books in turn. */
void every_frame_is_the_cpus() {
  uint32_t turn = 0;
  for (const Lattice &lattice : kLattices)
    for (const szg_grid &grid : all_grids())
      for (int field = 0; field < kFields; field++, turn++) {
        if (cuda_test::is_left_out(turn, 7)) continue;
        Setup s = setup_of(lattice.arithmetic, lattice.bits, grid, kMargins[turn % 3], field);
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
