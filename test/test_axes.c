/* test_axes.c - the choice of axes and radius.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/axes_sets.h"
#include "quant/bound.h"
#include "support.h"

/* ---- the logarithm ---- */

static void powers_of_two_have_exact_logarithms(void **state) {
  (void)state;
  for (unsigned i = 0; i < 64; i++)
    assert_int_equal(szg_log2_fixed(UINT64_C(1) << i), (uint64_t)i << 16);
}

static void logarithms_are_right_to_a_few_units(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int round = 0; round < 200000; round++) {
    uint64_t const bits = test_random_bits(&random) >> test_random_below(&random, 64);
    uint64_t const x = round < 100000 ? (uint64_t)round + 1 : bits | 1;
    long double const excess = 0x1p16L * log2l((long double)x) - (long double)szg_log2_fixed(x);
    assert_true(excess >= -1e-6L && excess < 3.0L); /* rounded down, and not by much */
  }
}

static void logarithms_of_many_counts_are_those_of_each(void **state) {
  (void)state;
  test_random random = test_random_begin();
  uint64_t counts[300];
  for (size_t count = 0; count <= sizeof counts / sizeof *counts; count++) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
      uint64_t const bits = test_random_bits(&random) >> (20 + test_random_below(&random, 44));
      counts[i] = test_random_below(&random, 3) ? bits : 0;
      sum += szg_count_log(counts[i]);
    }
    assert_true(szg_logs_of(counts, count) == sum);
  }
}

static void logarithms_of_small_counts_are_those_of_each(void **state) {
  (void)state;
  for (uint64_t count = 0; count < 5000; count++)
    assert_true(szg_logs_of(&count, 1) == szg_count_log(count));
}

/* ---- differences along all sets ---- */

/* A tile as in a field of its own. */
static szg_tile lone_tile(uint32_t z_extent, uint32_t y_extent, uint32_t x_extent) {
  return (szg_tile){.z_extent = z_extent,
                    .y_extent = y_extent,
                    .x_extent = x_extent,
                    .value_count = z_extent * y_extent * x_extent};
}

/* Points around `first`, at most `most` from it. */
static void make_points(uint32_t lattice_bits, int64_t first, int64_t most, szg_tile_points *made) {
  for (uint32_t i = 0; i < SZG_TILE_VALUES; i++) {
    uint64_t const away = i ? test_hash(i) % (2 * (uint64_t)most + 1) : (uint64_t)most;
    uint64_t const point = (uint64_t)first + away - (uint64_t)most; /* may wrap */
    if (lattice_bits == 64)
      made->i64[i] = (int64_t)point;
    else
      made->i32[i] = (int32_t)(uint32_t)point;
  }
}

static void differences_along_all_sets_are_those_along_each(void **state) {
  (void)state;
  static const uint32_t extents[][3] = {{16, 8, 32}, {1, 1, 1},   {5, 8, 32},   {4, 3, 17},
                                        {1, 64, 64}, {1, 17, 64}, {1, 1, 4096}, {2, 1, 1}};
  static int16_t sets[SZG_AXES_SETS][SZG_TILE_VALUES];
  static szg_tile_points points, deltas;
  for (size_t e = 0; e < ARRAY_COUNT(extents); e++)
    for (uint32_t lattice_bits = 32; lattice_bits <= 64; lattice_bits += 32)
      for (int round = 0; round < 3; round++) {
        szg_tile const tile = lone_tile(extents[e][0], extents[e][1], extents[e][2]);
        int64_t const first = round == 0 ? 7 : round == 1 ? INT32_MAX : -123456;
        make_points(lattice_bits, first, 4095, &points);
        assert_true(szg_tile_difference_sets(lattice_bits, &tile, &points, SZG_AXES_ALL, sets));
        for (uint32_t set = 1; set <= SZG_AXES_ALL; set++) {
          szg_tile_difference(lattice_bits, &tile, set, &points, &deltas);
          for (uint32_t i = 1; i < tile.value_count; i++)
            assert_int_equal(sets[set - 1][i], lattice_bits == 64 ? deltas.i64[i] : deltas.i32[i]);
          assert_int_equal(sets[set - 1][0], 0);
        }
      }
}

static void points_far_from_the_first_have_no_narrow_differences(void **state) {
  (void)state;
  static int16_t sets[SZG_AXES_SETS][SZG_TILE_VALUES];
  static szg_tile_points points;
  szg_tile const tile = lone_tile(16, 8, 32);
  for (int below = 0; below < 2; below++) {
    make_points(32, 0, 10, &points);
    points.i32[4095] = below ? -4097 : 4096;
    assert_false(szg_tile_difference_sets(32, &tile, &points, SZG_AXES_ALL, sets));
    make_points(64, 0, 10, &points);
    points.i64[4095] = below ? INT64_MIN : INT64_C(1) << 32;
    assert_false(szg_tile_difference_sets(64, &tile, &points, SZG_AXES_ALL, sets));
  }
}

/* ---- the choice ---- */

static szg_choice_work work;

static szg_choice choose(const szgpu_shape *shape, const void *field, uint32_t asked_radius,
                         int thread_count) {
  szg_quantizer const quantizer = szg_quantizer_make(
      shape->dtype == SZGPU_F32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64_WIDE, 0.5, 1.0, false, 0);
  szg_threads threads = {.count = thread_count};
  szg_grid grid;
  szg_choice choice;
  memset(&work, 0x5A, sizeof work); /* the memory need not be zero */
  assert_int_equal(szg_grid_of_shape(shape, &grid), SZGPU_OK);
  assert_int_equal(szg_choose(&threads, &quantizer, &grid, field, asked_radius, &work, &choice),
                   SZGPU_OK);
  return choice;
}

/* A field that is best differenced along exactly the axes of S: for each axis, a random part that
 * does not change along it; and noise, which each further axis would double. */
static void *make_field_for(const szgpu_shape *shape, uint32_t axes) {
  uint64_t const nz = shape->dims[0], ny = shape->dims[1], nx = shape->dims[2];
  void *const field = test_allocate(test_field_bytes(shape));
  for (uint64_t z = 0; z < nz; z++)
    for (uint64_t y = 0; y < ny; y++)
      for (uint64_t x = 0; x < nx; x++) {
        uint64_t const i = (z * ny + y) * nx + x;
        uint64_t value = test_hash(i) % 5;
        if (axes & SZG_AXIS_X) value += test_hash(1000000 + z * ny + y) % 400;
        if (axes & SZG_AXIS_Y) value += test_hash(2000000 + z * nx + x) % 400;
        if (axes & SZG_AXIS_Z) value += test_hash(3000000 + y * nx + x) % 400;
        test_set_value(shape->dtype, field, i, (double)value);
      }
  return field;
}

static void finds_the_axes_that_the_field_was_made_for(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
    szgpu_shape const cube = test_shape((szgpu_dtype)dtype, 3, 50, 23, 97, 0);
    szgpu_shape const plane = test_shape((szgpu_dtype)dtype, 3, 1, 300, 500, 0);
    for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++) {
      void *const field = make_field_for(&cube, axes);
      assert_int_equal(choose(&cube, field, 0, 1).axes, axes);
      free(field);
    }
    for (uint32_t axes = 1; axes <= (SZG_AXIS_X | SZG_AXIS_Y); axes++) {
      void *const field = make_field_for(&plane, axes);
      assert_int_equal(choose(&plane, field, 0, 1).axes, axes);
      free(field);
    }
  }
}

static void chooses_only_axes_that_there_are(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++) {
    szgpu_shape const *const shape = &test_awkward_shapes[s];
    szg_grid grid;
    assert_int_equal(szg_grid_of_shape(shape, &grid), SZGPU_OK);
    void *const field = test_make_waves(shape);
    uint32_t const axes = choose(shape, field, 0, 1).axes;
    assert_true(axes != 0 && (axes & ~szg_grid_axes(&grid)) == 0);
    free(field);
  }
}

static void takes_the_lowest_set_where_costs_are_equal(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 20, 20, 40, 0);
  void *const zeros = calloc(1, test_field_bytes(&shape));
  assert_non_null(zeros);
  assert_int_equal(choose(&shape, zeros, 0, 1).axes, SZG_AXIS_X);
  free(zeros);
}

/* What the sample of a field of one tile must cost, counted delta by delta. */
static uint64_t plain_cost(const szgpu_shape *shape, const float *field, uint32_t axes) {
  static szg_tile_points points, deltas;
  static uint32_t classes[SZG_COST_CLASSES];
  szg_grid grid;
  szg_set_sums sums = {{0, 0, 0}, {0, 0, 0}, 0};
  assert_int_equal(szg_grid_of_shape(shape, &grid), SZGPU_OK);
  szg_tile const tile = szg_tile_at(&grid, 0);
  for (uint32_t i = 0; i < tile.value_count; i++) points.i32[i] = (int32_t)field[i];
  szg_tile_difference(32, &tile, axes, &points, &deltas);
  memset(classes, 0, sizeof classes);
  for (uint32_t i = 0; i < tile.value_count; i++) classes[szg_delta_class(deltas.i32[i])]++;
  for (uint32_t c = 0; c < SZG_COST_CLASSES; c++)
    if (classes[c]) szg_set_sums_add(&sums, c, classes[c]);
  return szg_set_cost(&sums, classes[SZG_COST_RADIUS]);
}

/* Deltas at the ends of small classes and of pairs, and beyond; alone and among all others. */
static void costs_are_those_of_the_classes(void **state) {
  (void)state;
  static const int ends[] = {511, 512, 513, 15, 16, 17, 1023, 1024, 1025};
  szgpu_shape const shapes[] = {test_shape(SZGPU_F32, 2, 64, 64, 0, 0),
                                test_shape(SZGPU_F32, 2, 64, 33, 0, 0),
                                test_shape(SZGPU_F32, 3, 16, 8, 32, 0)};
  static float field[SZG_TILE_VALUES];
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (size_t e = 0; e < ARRAY_COUNT(ends); e++)
      for (unsigned share = 1; share <= 64; share *= 8) {
        for (uint64_t i = 0; i < test_value_count(&shapes[s]); i++) {
          int const small = (int)(test_hash(2 * i) % 5);
          field[i] = (float)(test_hash(i) % share ? small : test_hash(i + 9999) % 2 ? ends[e] : 0);
        }
        choose(&shapes[s], field, 512, 1);
        for (uint32_t set = 1; set <= (shapes[s].ndim == 3 ? 7u : 3u); set++)
          assert_true(work.costs[set] == plain_cost(&shapes[s], field, set));
      }
}

/* The radius chosen for noise of the given amplitude along a line. */
static uint32_t radius_for(double amplitude, uint32_t asked) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 200000, 0, 0, 0);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (uint64_t i = 0; i < 200000; i++)
    field[i] = (float)floor((double)(test_hash(i) >> 11) * 0x1p-53 * amplitude);
  uint32_t const radius = choose(&shape, field, asked, 1).radius;
  free(field);
  return radius;
}

static void wider_deltas_get_a_larger_radius(void **state) {
  (void)state;
  assert_int_equal(radius_for(10.0, 0), 512);
  assert_int_equal(radius_for(500.0, 0), 512);
  assert_int_equal(radius_for(1900.0, 0), 2048);
  assert_int_equal(radius_for(7900.0, 0), 8192);
  assert_true(radius_for(1e7, 0) <= SZG_MAX_RADIUS);
}

static void an_asked_radius_is_taken(void **state) {
  (void)state;
  static const uint32_t radii[] = {SZG_MIN_RADIUS, 3, 511, 512, 32767, SZG_MAX_RADIUS};
  for (size_t i = 0; i < ARRAY_COUNT(radii); i++) {
    assert_int_equal(radius_for(10.0, radii[i]), radii[i]);
    assert_int_equal(radius_for(7900.0, radii[i]), radii[i]);
  }
}

static void the_choice_does_not_depend_on_threads(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int kind = 0; kind < 2; kind++) {
      szgpu_shape const *const shape = &test_awkward_shapes[s];
      void *const field = kind ? test_make_bits(shape) : test_make_waves(shape);
      szg_choice const one = choose(shape, field, 0, 1);
      for (int threads = 2; threads <= 7; threads += 5) {
        szg_choice const more = choose(shape, field, 0, threads);
        assert_int_equal(more.axes, one.axes);
        assert_int_equal(more.radius, one.radius);
      }
      free(field);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(powers_of_two_have_exact_logarithms),
      cmocka_unit_test(logarithms_are_right_to_a_few_units),
      cmocka_unit_test(logarithms_of_many_counts_are_those_of_each),
      cmocka_unit_test(logarithms_of_small_counts_are_those_of_each),
      cmocka_unit_test(differences_along_all_sets_are_those_along_each),
      cmocka_unit_test(points_far_from_the_first_have_no_narrow_differences),
      cmocka_unit_test(finds_the_axes_that_the_field_was_made_for),
      cmocka_unit_test(chooses_only_axes_that_there_are),
      cmocka_unit_test(takes_the_lowest_set_where_costs_are_equal),
      cmocka_unit_test(costs_are_those_of_the_classes),
      cmocka_unit_test(wider_deltas_get_a_larger_radius),
      cmocka_unit_test(an_asked_radius_is_taken),
      cmocka_unit_test(the_choice_does_not_depend_on_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
