/* test_cuda_tile_book.cu - the device makes the same codebooks of tile frames as the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/lorenzo/tile_cuda.h"
#include "cuda/cuda_test.cuh"
#include "predict/axes_core.h"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_unit;

namespace {

struct Shape {
  int ndim;
  uint64_t dims[SZG_MAX_DIMS];
};

const Shape shapes[] = {
    {1, {1, 1, 1, 1}},     {1, {31, 1, 1, 1}},     {1, {257, 1, 1, 1}},   {1, {4095, 1, 1, 1}},
    {1, {12345, 1, 1, 1}}, {1, {300007, 1, 1, 1}}, {2, {2, 2, 1, 1}},     {2, {5, 33, 1, 1}},
    {2, {63, 65, 1, 1}},   {2, {64, 31, 1, 1}},    {2, {600, 500, 1, 1}}, {2, {3, 5000, 1, 1}},
    {3, {2, 2, 2, 1}},     {3, {16, 8, 32, 1}},    {3, {17, 9, 33, 1}},   {3, {3, 70, 100, 1}},
    {3, {100, 50, 90, 1}}, {4, {2, 2, 2, 2}},      {4, {5, 17, 9, 33}},
};

constexpr double kFill = -999.0;

/* A field and how it is quantized. */
struct Case {
  szgpu_shape shape;
  szg_grid grid;
  szg_quantizer quantizer;
  uint32_t lattice_bits;
  std::vector<double> values;
};

/* All four arithmetics, and two of them again with a 16-bit lattice. */
constexpr int kLattices = 6;

Case make_case(const Shape &shape, int lattice, bool has_fill) {
  Case made = {};
  uint32_t const arithmetic = lattice < 4 ? (uint32_t)lattice : 2 * ((uint32_t)lattice - 4);
  bool const is_f32 = arithmetic == SZG_ARITHMETIC_F32 || arithmetic == SZG_ARITHMETIC_F32_CLOSE;
  made.shape.ndim = shape.ndim;
  made.shape.dtype = is_f32 ? SZGPU_F32 : SZGPU_F64;
  memcpy(made.shape.dims, shape.dims, sizeof shape.dims);
  MUST(szg_grid_of_shape(&made.shape, &made.grid));
  made.quantizer = szg_quantizer_make(arithmetic, 0.5, 1.0, has_fill,
                                      szg_bits_of_value(made.shape.dtype, kFill));
  made.lattice_bits = arithmetic == SZG_ARITHMETIC_F64_WIDE ? 64 : 32;
  if (lattice >= 4) {
    CHECK(szg_quantizer_take_16_bits(32000.0, &made.quantizer), "the lattice has 16 bits");
    made.lattice_bits = 16;
  }
  made.values.resize(made.grid.value_count);
  return made;
}

/* ---- fields ---- */

void fill_zero(Case *made) {
  for (double &value : made->values) value = 0.0;
}

void fill_waves(Case *made) {
  double const amplitude = exp2(14.0 * random_unit()), frequency = 0.3 * random_unit();
  double const noise = random_below(2) ? 0.0 : 3.0 * random_unit();
  for (uint64_t i = 0; i < made->values.size(); i++)
    made->values[i] = amplitude * sin(frequency * (double)(i % made->grid.x_extent)) +
                      noise * (random_unit() - 0.5);
}

void fill_noise(Case *made) {
  double const height = exp2(14.9 * random_unit());
  for (double &value : made->values) value = height * (random_unit() - 0.5);
}

/* Mostly zeros: empty lanes and groups. */
void fill_specks(Case *made) {
  uint64_t const rarity = 1 + random_below(2000);
  for (double &value : made->values)
    value = random_below(rarity) ? 0.0 : (double)random_below(5) - 2.0;
}

/* Stretches of NaN, of the fill value and of values without a point, among other values. */
void fill_gaps(Case *made) {
  uint64_t left = 0, kind = 0;
  for (double &value : made->values) {
    if (left-- == 0) {
      left = random_below(random_below(4) ? 20 : 6000);
      kind = random_below(5);
    }
    value = kind == 0 ? nan("") : kind == 1 ? kFill : kind == 2 ? 1e30 : 50.0 * random_unit();
  }
}

/* Every magnitude that has a class. */
void fill_huge(Case *made) {
  for (double &value : made->values)
    value = (random_unit() - 0.5) * exp2((double)random_below(made->lattice_bits + 2));
}

/* ---- the comparison ---- */

szg_tile_work tile_work; /* these are too large for the stack */
szg_codebook book;
szg_codebook_work book_work;

struct Expected {
  szg_tile_tally tally;
  szg_tile_book_cuda book;
};

void describe(const szg_codebook &from, szg_tile_book_cuda *made) {
  static uint8_t section[SZG_CODEBOOK_MAX_BYTES];
  szg_tile_encoder_build(&from, &made->encoder);
  made->section_bytes = (uint32_t)szg_codebook_write(&from, section);
  memcpy(made->section, section, made->section_bytes);
}

Expected make_on_cpu(const Case &tested, const void *values, uint32_t axes) {
  Expected expected = {};
  uint32_t const sample_count = szg_counted_tiles(tested.grid.tile_count);
  for (uint32_t i = 0; i < sample_count; i++) {
    szg_tile const tile =
        szg_tile_at(&tested.grid, szg_sample_tile(tested.grid.tile_count, sample_count, i));
    szg_tile_values_to_deltas(&tested.quantizer, tested.lattice_bits, axes, &tile, values,
                              &tile_work, &tile_work.deltas);
    szg_tile_count(tested.lattice_bits, &tile, &tile_work.deltas, &expected.tally);
  }
  expected.book.zero_groups = szg_choose_zero_groups(&expected.tally);
  szg_tile_book_build(&expected.tally, expected.book.zero_groups, &book, &book_work);
  describe(book, &expected.book);
  return expected;
}

bool zero_groups_occurred[SZG_ZERO_GROUPS_COUNT];

template <class Value>
void compare_typed(const Case &tested, const std::vector<Value> &values, uint32_t axes,
                   const char *what) {
  Expected const expected = make_on_cpu(tested, values.data(), axes);
  zero_groups_occurred[expected.book.zero_groups] = true;
  DeviceArray<Value> field(values);
  DeviceArray<uint32_t> device_axes(std::vector<uint32_t>(1, axes));
  DeviceArray<uint8_t> work(szg_tile_book_work_bytes_cuda());
  DeviceArray<szg_tile_book_cuda> device_book(1);
  for (int time = 0; time < 2; time++) { /* again in the memory that the first left */
    work.zero();
    MUST(szg_tile_book_make_cuda(&tested.quantizer, tested.lattice_bits, &tested.grid, field.data(),
                                 device_axes.data(), work.data(), device_book.data(),
                                 cuda_test::stream));
  }
  szg_tile_book_cuda const found = device_book.host()[0];
  szg_tile_tally tally;
  memcpy(&tally, work.host().data(), sizeof tally);
  const uint64_t *const dims = tested.shape.dims;
  char name[200];
  snprintf(name, sizeof name, "%s, %d-D %llu %llu %llu %llu, arithmetic %u, %u bits, axes %u", what,
           tested.shape.ndim, (unsigned long long)dims[0], (unsigned long long)dims[1],
           (unsigned long long)dims[2], (unsigned long long)dims[3], tested.quantizer.arithmetic,
           tested.lattice_bits, axes);
  CHECK(memcmp(&tally, &expected.tally, sizeof tally) == 0, "%s: other counts", name);
  CHECK(found.zero_groups == expected.book.zero_groups, "%s: zero groups %u, not %u", name,
        found.zero_groups, expected.book.zero_groups);
  CHECK(found.section_bytes == expected.book.section_bytes, "%s: %u bytes, not %u", name,
        found.section_bytes, expected.book.section_bytes);
  CHECK(memcmp(found.section, expected.book.section, sizeof found.section) == 0,
        "%s: another section", name);
  CHECK(memcmp(&found.encoder, &expected.book.encoder, sizeof found.encoder) == 0,
        "%s: another encoder", name);
}

void compare(const Case &tested, uint32_t axes, const char *what) {
  if (tested.shape.dtype == SZGPU_F64)
    compare_typed(tested, tested.values, axes, what);
  else
    compare_typed(tested, std::vector<float>(tested.values.begin(), tested.values.end()), axes,
                  what);
}

/* ---- making ---- */

void books_are_the_cpus_for_fields_of_every_kind() {
  struct {
    const char *name;
    void (*fill)(Case *);
  } const fields[] = {{"zero", fill_zero},     {"waves", fill_waves}, {"noise", fill_noise},
                      {"specks", fill_specks}, {"gaps", fill_gaps},   {"huge", fill_huge}};
  uint64_t number = 0;
  for (Shape const &shape : shapes)
    for (int lattice = 0; lattice < kLattices; lattice++)
      for (auto const &field : fields) {
        if (cuda_test::is_left_out(number++, 5)) continue;
        Case made = make_case(shape, lattice, field.fill == fill_gaps);
        field.fill(&made);
        uint32_t const all_axes = szg_grid_axes(&made.grid);
        compare(made, all_axes, field.name);
        compare(made, 1 + (uint32_t)random_below(all_axes), field.name);
      }
  for (int v = 0; v < SZG_ZERO_GROUPS_COUNT; v++)
    CHECK(cuda_test::is_quick() || zero_groups_occurred[v], "no field took zero groups %d", v);
}

void every_set_of_axes_has_its_edge() {
  Shape const cut[] = {{2, {70, 100, 1, 1}}, {3, {20, 12, 50, 1}}};
  for (Shape const &shape : cut)
    for (int lattice = 0; lattice < kLattices; lattice++) {
      Case made = make_case(shape, lattice, true);
      fill_noise(&made);
      for (double &value : made.values)
        if (random_below(50) == 0) value = kFill;
      for (uint32_t axes = 1; axes <= szg_grid_axes(&made.grid); axes++)
        compare(made, axes, "edge");
    }
}

void a_thin_last_frame_is_tiled_as_its_field() {
  Shape const shape = {3, {1, 40, 70, 1}};
  Case made = make_case({3, {16, 40, 70, 1}}, 0, false);
  made.grid = szg_grid_of_rows(&made.grid, shape.dims[0]);
  made.values.resize(made.grid.value_count);
  fill_specks(&made);
  for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++) compare(made, axes, "thin");
}

/* Over 8192 tiles: the largest sample is counted. */
void as_many_tiles_as_are_ever_counted() {
  Case made = make_case({1, {8200 * SZG_TILE_VALUES + 5, 1, 1, 1}}, 0, false);
  made.values = std::vector<double>();
  std::vector<float> values(made.grid.value_count);
  for (uint64_t i = 0; i < values.size(); i++)
    values[i] = (float)((uint32_t)i * 2654435761u >> (8 + i / SZG_TILE_VALUES % 20));
  compare_typed(made, values, SZG_AXIS_X, "most tiles");
}

} // namespace

int main() {
  cuda_test::begin();
  books_are_the_cpus_for_fields_of_every_kind();
  every_set_of_axes_has_its_edge();
  a_thin_last_frame_is_tiled_as_its_field();
  if (!cuda_test::is_quick()) as_many_tiles_as_are_ever_counted();
  return cuda_test::end();
}
