/* test_levels_choice.c - whether a small frame is tried as a levels frame, and measured as tiles.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/frame.h"
#include "codecs/interpolation/levels_probe.h"
#include "quant/bound.h"
#include "support.h"

/* Decides for a frame of these extents. The sample says that a tile frame takes `tile_bytes`, as
 * differences do, and that interpolation costs nothing. */
static szg_levels_choice decide(szgpu_predictor predictor, uint64_t z, uint64_t y, uint64_t x,
                                uint64_t tile_bytes) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, z, y, x, 0);
  float const values[2] = {-1.0f, 1.0f};
  szg_threads threads = {.count = 1};
  szg_value_source const source = szg_value_source_cpu(&threads, SZGPU_F32, values, 2);
  szg_write_request request = {.dtype = SZGPU_F32, .predictor = predictor};
  szg_bound_plan bound;
  szg_range range;
  szg_levels_choice choice;
  assert_int_equal(szg_grid_of_shape(&shape, &request.frame_grid), SZGPU_OK);
  assert_int_equal(szg_range_take(&source, NULL, &range), SZGPU_OK);
  assert_int_equal(szg_bound_derive(&source, SZGPU_MODE_REL, 1e-3, &range, &bound), SZGPU_OK);
  szg_probes probes = {.fold = 0};
  uint64_t const bits_shift = SZG_LOG_FRACTION_BITS + 3;
  uint64_t const cost = ((tile_bytes << bits_shift) + request.frame_grid.value_count - 1) /
                        request.frame_grid.value_count;
  for (int set = 0; set < SZG_PROBE_SETS; set++)
    probes.plain.differences[set] = (szg_probe_cost){.entropy = cost, .floor = cost};
  szg_levels_asked const asked = {&request, &bound, &request.frame_grid};
  szg_levels_decide(&asked, &probes, &choice);
  return choice;
}

static bool tries(uint64_t z, uint64_t y, uint64_t x, uint64_t tile_bytes) {
  return decide(SZGPU_PREDICTOR_AUTO, z, y, x, tile_bytes).is_chosen;
}

static uint64_t hopes(uint64_t z, uint64_t y, uint64_t x, uint64_t tile_bytes) {
  return decide(SZGPU_PREDICTOR_AUTO, z, y, x, tile_bytes).doubtful_bytes;
}

/* With 150 bytes for heads and books, levels take as much as a tile frame, or as 3/4 of one. */
static void few_values_are_tried_if_levels_may_save_much(void **state) {
  (void)state;
  assert_false(tries(10, 10, 10, 150));
  assert_true(tries(10, 10, 10, 151));
  assert_false(tries(14, 14, 14, 150));
  assert_true(tries(14, 14, 14, 151));
  assert_false(tries(15, 20, 10, 200));
  assert_true(tries(15, 20, 10, 201));
  assert_false(tries(16, 16, 16, 200));
  assert_true(tries(16, 16, 16, 201));
  assert_true(tries(9, 10, 11, 2));  /* fewer */
  assert_true(tries(16, 16, 17, 2)); /* more */
  assert_true(tries(1, 64, 64, 2));  /* two axes */
  assert_true(decide(SZGPU_PREDICTOR_INTERPOLATION, 16, 16, 16, 2).is_chosen);
}

/* The book of a tile frame comes on top of what the sample says. */
static void few_values_are_measured_beyond_what_the_sample_says(void **state) {
  (void)state;
  assert_int_equal(hopes(16, 16, 16, 1000), 1100);
  assert_int_equal(hopes(9, 9, 9, 500), 550);
  assert_int_equal(hopes(16, 16, 17, 1000), 750);
  assert_int_equal(hopes(1, 64, 64, 1000), 750);
  assert_int_equal(hopes(64, 64, 64, 1000), 875);
  assert_true(hopes(64, 64, 65, 1000) == UINT64_MAX);
  assert_true(decide(SZGPU_PREDICTOR_INTERPOLATION, 16, 16, 16, 1000).doubtful_bytes == UINT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_values_are_tried_if_levels_may_save_much),
      cmocka_unit_test(few_values_are_measured_beyond_what_the_sample_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
