/* test_cuda_axes.cu - the device chooses the same axes and radius as the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/cuda_test.cuh"
#include "predict/axes.h"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;

namespace {

szg_choice_work cpu_work; /* too large for the stack */

/* The choices that the CPU made; all of them must occur, or they are not tested. */
struct Occurred {
  bool axes[SZG_AXES_ALL + 1], radius_choices[SZG_RADIUS_CHOICES];
} occurred;

struct Shape {
  int ndim;
  uint64_t dims[SZG_MAX_DIMS];
};

const Shape shapes[] = {
    {1, {1, 1, 1, 1}},     {1, {2, 1, 1, 1}},     {1, {31, 1, 1, 1}},     {1, {4095, 1, 1, 1}},
    {1, {4097, 1, 1, 1}},  {1, {94208, 1, 1, 1}}, {1, {300007, 1, 1, 1}}, {2, {2, 2, 1, 1}},
    {2, {63, 65, 1, 1}},   {2, {64, 33, 1, 1}},   {2, {300, 500, 1, 1}},  {2, {5000, 3, 1, 1}},
    {2, {3, 70000, 1, 1}}, {3, {2, 2, 2, 1}},     {3, {16, 8, 32, 1}},    {3, {17, 9, 33, 1}},
    {3, {50, 23, 97, 1}},  {3, {3, 200, 70, 1}},  {3, {640, 130, 2, 1}},  {4, {2, 2, 2, 2}},
    {4, {5, 17, 9, 33}},   {4, {60, 16, 8, 32}},  {4, {3, 2, 300, 40}},
};

/* A field and how it is quantized. */
struct Case {
  szgpu_shape shape;
  szg_grid grid;
  uint32_t arithmetic;
  double step;
  bool has_fill;
  std::vector<double> values;
};

constexpr double kFill = -999.0;

Case make_case(const Shape &shape, uint32_t arithmetic) {
  Case made = {};
  bool const is_f32 = arithmetic == SZG_ARITHMETIC_F32 || arithmetic == SZG_ARITHMETIC_F32_CLOSE;
  made.shape.ndim = shape.ndim;
  made.shape.dtype = is_f32 ? SZGPU_F32 : SZGPU_F64;
  memcpy(made.shape.dims, shape.dims, sizeof shape.dims);
  MUST(szg_grid_of_shape(&made.shape, &made.grid));
  made.arithmetic = arithmetic;
  made.step = arithmetic == SZG_ARITHMETIC_F64_WIDE ? ldexp(1.0, -(int)random_below(50)) : 1.0;
  made.values.resize(made.grid.value_count);
  return made;
}

template <class Value>
szg_choice choose_on_device(const Case &tested, const szg_quantizer &quantizer,
                            uint32_t asked_radius, const std::vector<Value> &values) {
  DeviceArray<uint64_t> work((szg_choice_work_bytes_cuda() + 7) / 8);
  DeviceArray<Value> field(values);
  DeviceArray<szg_choice> choice(1);
  for (int time = 0; time < 2; time++) { /* again in the memory that the first left */
    MUST(cudaMemsetAsync(work.data(), 0, szg_choice_zeroed_bytes_cuda(), cuda_test::stream));
    MUST(szg_choose_cuda(&quantizer, &tested.grid, field.data(), asked_radius, work.data(),
                         choice.data(), cuda_test::stream));
  }
  return choice.host()[0];
}

template <class Value>
void compare_typed(const Case &tested, uint32_t asked_radius, const char *what) {
  std::vector<Value> const values(tested.values.begin(), tested.values.end());
  szg_quantizer const quantizer =
      szg_quantizer_make(tested.arithmetic, tested.step / 2, tested.step, tested.has_fill,
                         szg_bits_of_value(tested.shape.dtype, kFill));
  szg_threads threads = {};
  threads.count = 1;
  szg_choice expected;
  MUST(szg_choose(&threads, &quantizer, &tested.grid, values.data(), asked_radius, &cpu_work,
                  &expected));
  szg_choice const found = choose_on_device(tested, quantizer, asked_radius, values);
  const uint64_t *const dims = tested.shape.dims;
  CHECK(found.axes == expected.axes && found.radius == expected.radius,
        "%s, %d-D %llu %llu %llu %llu, arithmetic %u, asked %u: axes %u radius %u, not %u %u", what,
        tested.shape.ndim, (unsigned long long)dims[0], (unsigned long long)dims[1],
        (unsigned long long)dims[2], (unsigned long long)dims[3], tested.arithmetic, asked_radius,
        found.axes, found.radius, expected.axes, expected.radius);
  occurred.axes[expected.axes] = true;
  for (int i = 0; i < SZG_RADIUS_CHOICES && asked_radius == 0; i++)
    if (expected.radius == szg_radius_choice(i)) occurred.radius_choices[i] = true;
}

void compare(const Case &tested, uint32_t asked_radius, const char *what) {
  if (tested.shape.dtype == SZGPU_F32)
    compare_typed<float>(tested, asked_radius, what);
  else
    compare_typed<double>(tested, asked_radius, what);
}

struct Place {
  uint64_t x, y, z;
};

Place place_of(const Case &made, uint64_t index) {
  uint64_t const row = index / made.grid.x_extent;
  return {index % made.grid.x_extent, row % made.grid.y_extent, row / made.grid.y_extent};
}

/* Best differenced along exactly these axes: for each axis, a random part that does not change
 * along it; and noise, which each further axis would double. */
void fill_for_axes(uint32_t axes, Case *made) {
  std::vector<double> parts[3];
  for (auto &part : parts) {
    part.resize(made->values.size() + 1);
    for (double &value : part) value = (double)random_below(400);
  }
  uint64_t const nx = made->grid.x_extent, ny = made->grid.y_extent;
  for (uint64_t i = 0; i < made->values.size(); i++) {
    Place const at = place_of(*made, i);
    double value = (double)random_below(5);
    if (axes & SZG_AXIS_X) value += parts[0][at.z * ny + at.y];
    if (axes & SZG_AXIS_Y) value += parts[1][at.z * nx + at.x];
    if (axes & SZG_AXIS_Z) value += parts[2][at.y * nx + at.x];
    made->values[i] = made->step * value;
  }
}

/* Smooth along one axis, with noise that may be weaker or stronger than the wave. */
void fill_waves(Case *made) {
  double const amplitude = exp2(24.0 * random_unit()), noise = exp2(24.0 * random_unit() - 6.0);
  double const frequency = 0.3 * random_unit();
  uint64_t const axis = random_below(4);
  for (uint64_t i = 0; i < made->values.size(); i++) {
    Place const at = place_of(*made, i);
    uint64_t const along = axis == 0 ? at.x : axis == 1 ? at.y : axis == 2 ? at.z : at.x + at.y;
    made->values[i] =
        made->step * (amplitude * sin(frequency * (double)along) + noise * random_unit());
  }
}

void fill_spikes(Case *made) {
  double const height = exp2(40.0 * random_unit());
  for (double &value : made->values)
    value = made->step * (random_below(50) ? 40.0 : height) * (random_unit() - 0.5);
}

/* Values of every magnitude, most of them without a lattice point. */
void fill_bits(Case *made) {
  for (double &value : made->values) value = szg_value_of_bits(made->shape.dtype, random_bits());
}

/* Large deltas that repeat. */
void fill_steps(Case *made) {
  double const step = made->step * (double)(300 + random_below(70000));
  for (uint64_t i = 0; i < made->values.size(); i++) {
    Place const at = place_of(*made, i);
    made->values[i] = step * (double)(at.x + 3 * (at.y % 2)) + made->step * (double)random_below(3);
  }
}

/* Differences near SZG_MAX_RADIUS, and near the limits of escapes' widths. */
void fill_limits(Case *made) {
  static const double limits[] = {511, 512, 2047, 2048, 8192, 32767, 32768, 32769, 8388608, 1e9};
  for (double &value : made->values)
    value = made->step * limits[random_below(10)] * (random_below(2) ? 1.0 : -1.0) *
            (random_below(3) ? 0.0 : 1.0);
}

/* Differences at the ends of the CPU's small classes and of its pairs. */
void fill_narrow_limits(Case *made) {
  static const double limits[] = {0, 15, 16, 17, 511, 512, 513, 1024};
  uint64_t const share = 1 + random_below(3), limit = random_below(8);
  for (double &value : made->values)
    value = made->step * (random_below(share) ? (double)random_below(5)
                                              : limits[limit] * (double)random_below(2));
}

/* Punches holes: single values, long runs across rows and tiles, whole stretches. */
void punch_holes(double hole, Case *made) {
  uint64_t const kind = random_below(4), longest = 1 + random_below(6000);
  for (uint64_t i = 0; i < made->values.size(); i++) {
    uint64_t const run = kind == 0 ? 1 : kind == 1 ? 40 : longest;
    if (kind == 3 && random_below(3) == 0) continue;
    if (random_below(kind == 0 ? 3 : 2 * run) == 0)
      for (uint64_t end = i + run; i < end && i < made->values.size(); i++) made->values[i] = hole;
  }
}

/* Fills the field with a random kind and returns its name. */
const char *fill_randomly(Case *made) {
  uint64_t const kind = random_below(9);
  if (kind == 0) return fill_for_axes(1 + (uint32_t)random_below(7), made), "made for axes";
  if (kind == 1) return fill_spikes(made), "spikes";
  if (kind == 2) return fill_bits(made), "any bits";
  if (kind == 3) return fill_steps(made), "steps";
  if (kind == 4) return fill_limits(made), "limits";
  if (kind == 8) return fill_narrow_limits(made), "narrow limits";
  fill_waves(made);
  if (kind == 5) return "waves";
  made->has_fill = kind == 6;
  punch_holes(made->has_fill ? kFill : (double)NAN, made);
  return made->has_fill ? "waves with fill" : "waves with NaN";
}

/* ---- claims ---- */

void choices_are_the_cpus() {
  for (const Shape &shape : shapes)
    for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++)
      for (int round = 0; round < 2; round++) {
        Case made = make_case(shape, arithmetic);
        const char *const what = fill_randomly(&made);
        compare(made, 0, what);
        if (round) compare(made, 2 + (uint32_t)random_below(SZG_MAX_RADIUS - 1), what);
      }
}

void each_set_of_axes_is_found() {
  for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++) {
    Case cube = make_case({3, {50, 23, 97, 1}}, axes % SZG_ARITHMETIC_COUNT);
    fill_for_axes(axes, &cube);
    compare(cube, 0, "a cube made for axes");
    if (axes > (SZG_AXIS_X | SZG_AXIS_Y)) continue;
    Case plane = make_case({2, {300, 500, 1, 1}}, axes);
    fill_for_axes(axes, &plane);
    compare(plane, 0, "a plane made for axes");
  }
  for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++)
    CHECK(occurred.axes[axes], "set %u was not chosen", axes);
}

void each_radius_is_found() {
  for (double amplitude : {10.0, 1000.0, 4000.0, 15000.0, 50000.0, 1e7})
    for (uint32_t arithmetic = 0; arithmetic < SZG_ARITHMETIC_COUNT; arithmetic++) {
      Case line = make_case({1, {200000, 1, 1, 1}}, arithmetic);
      for (double &value : line.values) value = line.step * floor(amplitude * random_unit());
      compare(line, 0, "noise");
    }
  for (int i = 0; i < SZG_RADIUS_CHOICES; i++)
    CHECK(occurred.radius_choices[i], "radius %u was not chosen", szg_radius_choice(i));
}

void equal_costs_give_the_lowest_set() {
  for (const Shape &shape : shapes) {
    Case zeros = make_case(shape, SZG_ARITHMETIC_F32);
    compare(zeros, 0, "zeros");
    Case nothing = make_case(shape, SZG_ARITHMETIC_F64_WIDE);
    for (double &value : nothing.values) value = (double)NAN;
    compare(nothing, 0, "NaN");
  }
}

/* A frame is a part of the field, here rows 32 to 63, and has the field's rank. */
void a_frame_is_chosen_for_alone() {
  Case made = make_case({3, {96, 40, 70, 1}}, SZG_ARITHMETIC_F32);
  fill_waves(&made);
  for (uint64_t row_count : {32, 16, 1}) {
    Case frame = made;
    frame.grid = szg_grid_of_rows(&made.grid, row_count);
    auto const first = made.values.begin() + (ptrdiff_t)(32 * made.grid.row_values);
    frame.values.assign(first, first + (ptrdiff_t)frame.grid.value_count);
    compare(frame, 0, "a frame");
  }
}

/* 1250 tiles: the largest sample, with tiles far into the field. */
void a_large_sample_is_taken() {
  for (uint32_t arithmetic : {SZG_ARITHMETIC_F32, SZG_ARITHMETIC_F64_WIDE}) {
    Case many_small = make_case({3, {400, 400, 2, 1}}, arithmetic);
    fill_waves(&many_small);
    compare(many_small, 0, "many small tiles");
  }
  Case large = make_case({3, {128, 136, 256, 1}}, SZG_ARITHMETIC_F32);
  fill_for_axes(SZG_AXIS_X | SZG_AXIS_Z, &large);
  compare(large, 0, "many tiles");
}

} // namespace

int main() {
  cuda_test::begin();
  choices_are_the_cpus();
  equal_costs_give_the_lowest_set();
  a_frame_is_chosen_for_alone();
  a_large_sample_is_taken();
  each_set_of_axes_is_found();
  each_radius_is_found();
  return cuda_test::end();
}
