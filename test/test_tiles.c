/* test_tiles.c - grids, tiles, code order and frames.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/tiles.h"

#include <stdlib.h>
#include <string.h>

#include "container/format.h"
#include "support.h"

static szg_grid grid_of(szgpu_dtype dtype, int ndim, uint64_t d0, uint64_t d1, uint64_t d2,
                        uint64_t d3) {
  szgpu_shape const shape = test_shape(dtype, ndim, d0, d1, d2, d3);
  szg_grid grid;
  assert_int_equal(szg_grid_of_shape(&shape, &grid), SZGPU_OK);
  return grid;
}

static szgpu_status status_of(szgpu_shape shape) {
  szg_grid grid;
  return szg_grid_of_shape(&shape, &grid);
}

static void assert_same_grid(const szg_grid *a, const szg_grid *b) {
  assert_int_equal(a->batch_extent, b->batch_extent);
  assert_int_equal(a->z_extent, b->z_extent);
  assert_int_equal(a->y_extent, b->y_extent);
  assert_int_equal(a->x_extent, b->x_extent);
  assert_int_equal(a->tile_z, b->tile_z);
  assert_int_equal(a->tile_y, b->tile_y);
  assert_int_equal(a->tile_x, b->tile_x);
  assert_int_equal(a->tile_count, b->tile_count);
  assert_int_equal(a->value_count, b->value_count);
  assert_int_equal(a->row_extent, b->row_extent);
  assert_int_equal(a->row_values, b->row_values);
  assert_int_equal(a->row_quantum, b->row_quantum);
}

static void tiles_of_every_dimensionality_hold_4096_values(void **state) {
  (void)state;
  szg_grid const one = grid_of(SZGPU_F32, 1, 9000, 0, 0, 0);
  szg_grid const two = grid_of(SZGPU_F32, 2, 200, 300, 0, 0);
  szg_grid const three = grid_of(SZGPU_F32, 3, 40, 50, 60, 0);
  assert_int_equal(one.tile_x, 4096);
  assert_int_equal(one.tile_y * one.tile_z, 1);
  assert_int_equal(two.tile_x, 64);
  assert_int_equal(two.tile_y, 64);
  assert_int_equal(two.tile_z, 1);
  assert_int_equal(three.tile_x, 32);
  assert_int_equal(three.tile_y, 8);
  assert_int_equal(three.tile_z, 16);
}

static void counts_of_a_3d_grid(void **state) { /* by hand */
  (void)state;
  szg_grid const grid = grid_of(SZGPU_F32, 3, 17, 9, 33, 0);
  assert_int_equal(grid.z_tiles, 2);
  assert_int_equal(grid.y_tiles, 2);
  assert_int_equal(grid.x_tiles, 2);
  assert_int_equal(grid.tile_count, 8);
  assert_int_equal(grid.value_count, 5049);
  assert_int_equal(grid.row_extent, 17);
  assert_int_equal(grid.row_values, 297);
  assert_int_equal(grid.row_quantum, 16);
}

static void places_of_a_3d_grid(void **state) { /* by hand */
  (void)state;
  szg_grid const grid = grid_of(SZGPU_F32, 3, 17, 9, 33, 0);
  szg_tile const second = szg_tile_at(&grid, 1), third = szg_tile_at(&grid, 2);
  szg_tile const last = szg_tile_at(&grid, 7);
  assert_int_equal(second.first_value, 32);
  assert_int_equal(second.first_code, 4096);
  assert_int_equal(second.value_count, 16 * 8 * 1);
  assert_int_equal(third.first_value, 8 * 33);
  assert_int_equal(third.first_code, 4096 + 128);
  assert_int_equal(third.value_count, 16 * 1 * 32);
  assert_int_equal(last.first_value, 16 * 297 + 8 * 33 + 32);
  assert_int_equal(last.first_code, 5048);
  assert_int_equal(last.value_count, 1);
  assert_int_equal(last.z_stride, 297);
  assert_int_equal(last.y_stride, 33);
}

static void a_4d_field_is_a_batch_of_3d_ones(void **state) {
  (void)state;
  szg_grid const grid = grid_of(SZGPU_F32, 4, 3, 17, 9, 33);
  szg_tile const tile = szg_tile_at(&grid, 8); /* the first of the second 3-D field */
  assert_int_equal(grid.batch_extent, 3);
  assert_int_equal(grid.tile_count, 24);
  assert_int_equal(tile.first_value, 5049);
  assert_int_equal(tile.first_code, 5049);
  assert_int_equal(grid.row_extent, 3);
  assert_int_equal(grid.row_quantum, 1);
}

static void dims_of_1_are_dropped(void **state) {
  (void)state;
  szg_grid const line = grid_of(SZGPU_F32, 1, 33, 0, 0, 0);
  szg_grid const plane = grid_of(SZGPU_F32, 2, 7, 33, 0, 0);
  szg_grid const cube = grid_of(SZGPU_F32, 3, 5, 7, 33, 0);
  szg_grid const same_as_line[] = {grid_of(SZGPU_F32, 2, 1, 33, 0, 0),
                                   grid_of(SZGPU_F32, 2, 33, 1, 0, 0),
                                   grid_of(SZGPU_F32, 4, 1, 1, 33, 1)};
  szg_grid const same_as_plane[] = {grid_of(SZGPU_F32, 3, 7, 1, 33, 0),
                                    grid_of(SZGPU_F32, 4, 1, 7, 33, 1)};
  szg_grid const same_as_cube[] = {grid_of(SZGPU_F32, 4, 5, 7, 1, 33),
                                   grid_of(SZGPU_F32, 4, 1, 5, 7, 33)};
  for (size_t i = 0; i < 3; i++) assert_same_grid(&same_as_line[i], &line);
  for (size_t i = 0; i < 2; i++) assert_same_grid(&same_as_plane[i], &plane);
  for (size_t i = 0; i < 2; i++) assert_same_grid(&same_as_cube[i], &cube);
}

static void one_value_is_a_grid_of_one_tile(void **state) {
  (void)state;
  for (int ndim = 1; ndim <= 4; ndim++) {
    szg_grid const grid = grid_of(SZGPU_F64, ndim, 1, 1, 1, 1);
    assert_int_equal(grid.tile_count, 1);
    assert_int_equal(grid.row_extent, 1);
    assert_int_equal(szg_tile_at(&grid, 0).value_count, 1);
    assert_int_equal(szg_frame_rows(&grid, SZGPU_F32, SZGPU_MODE_LOSSLESS, 0), 1);
    assert_int_equal(szg_frame_rows(&grid, SZGPU_F32, SZGPU_MODE_LOSSLESS, 5), 1);
  }
}

/* Walks all tiles: they must cover each value once, and their codes must follow one another. */
static void assert_covers_every_value_once(const szg_grid *grid) {
  uint8_t *const seen = calloc(grid->value_count, 1);
  assert_non_null(seen);
  uint64_t next_code = 0;
  for (uint64_t t = 0; t < grid->tile_count; t++) {
    szg_tile const tile = szg_tile_at(grid, t);
    assert_int_equal(tile.first_code, next_code);
    assert_int_equal(tile.value_count, tile.z_extent * tile.y_extent * tile.x_extent);
    assert_in_range(tile.value_count, 1, SZG_TILE_VALUES);
    assert_in_range(tile.z_extent, 1, grid->tile_z);
    assert_in_range(tile.y_extent, 1, grid->tile_y);
    assert_in_range(tile.x_extent, 1, grid->tile_x);
    for (uint64_t z = 0; z < tile.z_extent; z++)
      for (uint64_t y = 0; y < tile.y_extent; y++)
        for (uint64_t x = 0; x < tile.x_extent; x++)
          seen[tile.first_value + z * tile.z_stride + y * tile.y_stride + x]++;
    next_code += tile.value_count;
  }
  assert_int_equal(next_code, grid->value_count);
  for (uint64_t i = 0; i < grid->value_count; i++) assert_int_equal(seen[i], 1);
  free(seen);
}

static void code_order_covers_every_value_once(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1,    31,   32,   33,   255,  256, 257,
                                   2047, 2049, 4095, 4096, 4097, 8191};
  for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
    szg_grid const line = grid_of(SZGPU_F32, 1, sizes[i], 0, 0, 0);
    szg_grid const rows = grid_of(SZGPU_F32, 2, 67, sizes[i], 0, 0);
    szg_grid const columns = grid_of(SZGPU_F32, 2, sizes[i], 67, 0, 0);
    szg_grid const cube = grid_of(SZGPU_F32, 3, 17, 11, sizes[i], 0);
    assert_covers_every_value_once(&line);
    assert_covers_every_value_once(&rows);
    assert_covers_every_value_once(&columns);
    assert_covers_every_value_once(&cube);
  }
  for (size_t i = 0; i < test_awkward_shape_count; i++) {
    szg_grid grid;
    assert_int_equal(szg_grid_of_shape(&test_awkward_shapes[i], &grid), SZGPU_OK);
    assert_covers_every_value_once(&grid);
  }
}

/* The order written again as loops over tiles: batch, z, y, x. */
static void tiles_are_numbered_x_fastest(void **state) {
  (void)state;
  szg_grid const grid = grid_of(SZGPU_F32, 4, 2, 33, 17, 65);
  uint64_t index = 0, code = 0;
  for (uint64_t batch = 0; batch < 2; batch++)
    for (uint64_t z = 0; z < 33; z += 16)
      for (uint64_t y = 0; y < 17; y += 8)
        for (uint64_t x = 0; x < 65; x += 32) {
          szg_tile const tile = szg_tile_at(&grid, index++);
          assert_int_equal(tile.first_value, ((batch * 33 + z) * 17 + y) * 65 + x);
          assert_int_equal(tile.first_code, code);
          code +=
              (z + 16 > 33 ? 33 - z : 16) * (y + 8 > 17 ? 17 - y : 8) * (x + 32 > 65 ? 65 - x : 32);
        }
  assert_int_equal(index, grid.tile_count);
}

static void places_beyond_32_bits_are_right(void **state) {
  (void)state;
  szg_grid const grid = grid_of(SZGPU_F32, 3, 5, 16384, 65536, 0);
  szg_tile const last = szg_tile_at(&grid, grid.tile_count - 1);
  assert_int_equal(grid.tile_count, 2048 * 2048);
  assert_int_equal(last.first_value, UINT64_C(16376) * 65536 + 65504);
  assert_int_equal(last.first_code, grid.value_count - 5 * 8 * 32);
}

/* A last tile of one plane or row still has planes or rows. */
static void planes_are_those_of_the_grids_rank(void **state) {
  (void)state;
  szg_grid const line = grid_of(SZGPU_F32, 1, 9000, 0, 0, 0);
  szg_grid const plane = grid_of(SZGPU_F32, 2, 65, 33, 0, 0);
  szg_grid const cube = grid_of(SZGPU_F32, 3, 17, 9, 33, 0);
  assert_int_equal(szg_tile_at(&line, 0).plane_values, 0);
  assert_int_equal(szg_tile_at(&plane, 0).plane_values, 33);
  assert_int_equal(szg_tile_at(&plane, 1).plane_values, 33);
  assert_int_equal(szg_tile_at(&cube, 0).plane_values, 256);
  assert_int_equal(szg_tile_at(&cube, 6).plane_values, 32);
  assert_int_equal(szg_tile_at(&cube, 7).plane_values, 1);
}

static void axes_are_those_that_tiles_extend_over(void **state) {
  (void)state;
  szg_grid const one = grid_of(SZGPU_F32, 3, 1, 1, 9, 0);
  szg_grid const two = grid_of(SZGPU_F32, 3, 9, 1, 9, 0);
  szg_grid const three = grid_of(SZGPU_F32, 3, 2, 2, 2, 0);
  assert_int_equal(szg_grid_axes(&one), SZG_AXIS_X);
  assert_int_equal(szg_grid_axes(&two), SZG_AXIS_X | SZG_AXIS_Y);
  assert_int_equal(szg_grid_axes(&three), SZG_AXES_ALL);
}

/* ---- frames ---- */

static void frames_hold_whole_tiles(void **state) {
  (void)state;
  szg_grid const cube = grid_of(SZGPU_F32, 3, 100, 9, 33, 0);
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, 1), 16);
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, 16), 16);
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, 17), 32);
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, 97),
                   100); /* 112, but there are only 100 */
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, 100), 100);
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, UINT64_MAX), 100);
  szg_grid const plane = grid_of(SZGPU_F32, 2, 1000, 33, 0, 0);
  assert_int_equal(szg_frame_rows(&plane, SZGPU_F32, SZGPU_MODE_LOSSLESS, 1), 64);
  assert_int_equal(szg_frame_rows(&plane, SZGPU_F32, SZGPU_MODE_LOSSLESS, 129), 192);
  szg_grid const line = grid_of(SZGPU_F32, 1, 10000, 0, 0, 0);
  assert_int_equal(szg_frame_rows(&line, SZGPU_F32, SZGPU_MODE_LOSSLESS, 1), 4096);
  assert_int_equal(szg_frame_rows(&line, SZGPU_F32, SZGPU_MODE_LOSSLESS, 8193), 10000);
  szg_grid const batch = grid_of(SZGPU_F32, 4, 7, 9, 9, 9);
  assert_int_equal(szg_frame_rows(&batch, SZGPU_F32, SZGPU_MODE_LOSSLESS, 3), 3);
}

static void the_default_frame_holds_up_to_2_30_values(void **state) {
  (void)state;
  szg_grid const small = grid_of(SZGPU_F32, 3, 100, 9, 33, 0);
  szg_grid const line = grid_of(SZGPU_F32, 1, UINT64_C(5) << 30, 0, 0, 0);
  szg_grid const cube = grid_of(SZGPU_F32, 3, 2000, 2048, 2048, 0);
  szg_grid const thick = grid_of(SZGPU_F32, 3, 2000, 1 << 15, 1 << 15, 0);
  szg_grid const odd = grid_of(SZGPU_F32, 3, 2000, 2048, 2049, 0);
  assert_int_equal(szg_frame_rows(&small, SZGPU_F32, SZGPU_MODE_LOSSLESS, 0), 100);
  assert_int_equal(szg_frame_rows(&line, SZGPU_F32, SZGPU_MODE_LOSSLESS, 0), UINT64_C(1) << 30);
  assert_int_equal(szg_frame_rows(&line, SZGPU_FP8, SZGPU_MODE_LOSSLESS, 0), UINT64_C(1) << 30);
  assert_int_equal(szg_frame_rows(&line, SZGPU_I32, SZGPU_MODE_LOSSLESS, 0), UINT64_C(1) << 30);
  assert_int_equal(szg_frame_rows(&line, SZGPU_I32, SZGPU_MODE_ABS, 0), UINT64_C(1) << 26);
  assert_int_equal(szg_frame_rows(&line, SZGPU_F64, SZGPU_MODE_ABS, 0), UINT64_C(1) << 30);
  assert_int_equal(szg_frame_rows(&line, SZGPU_U8, SZGPU_MODE_LOSSLESS, 0), UINT64_C(1)
                                                                                << 26); /* bytes */
  assert_int_equal(szg_frame_rows(&cube, SZGPU_F32, SZGPU_MODE_LOSSLESS, 0), 256);
  assert_int_equal(szg_frame_rows(&odd, SZGPU_F32, SZGPU_MODE_LOSSLESS, 0),
                   240); /* 255 rows, rounded to whole tiles */
  assert_int_equal(szg_frame_rows(&thick, SZGPU_F32, SZGPU_MODE_LOSSLESS, 0),
                   16); /* the rows of a tile, though that is more */
}

static void a_frame_is_a_grid_of_its_own(void **state) {
  (void)state;
  for (size_t i = 0; i < test_awkward_shape_count; i++) {
    szg_grid whole;
    assert_int_equal(szg_grid_of_shape(&test_awkward_shapes[i], &whole), SZGPU_OK);
    uint64_t const rows = szg_frame_rows(&whole, SZGPU_F32, SZGPU_MODE_LOSSLESS, 1);
    uint64_t values = 0, tiles = 0;
    for (uint64_t first = 0; first < whole.row_extent; first += rows) {
      uint64_t const left = whole.row_extent - first;
      szg_grid const frame = szg_grid_of_rows(&whole, left < rows ? left : rows);
      assert_int_equal(frame.row_values, whole.row_values);
      uint64_t const extents[] = {frame.batch_extent, frame.z_extent, frame.y_extent,
                                  frame.x_extent};
      assert_int_equal(frame.row_axis, whole.row_axis); /* though the frame may have one row */
      assert_int_equal(extents[frame.row_axis], frame.row_extent);
      assert_int_equal(frame.value_count, frame.row_extent * whole.row_values);
      assert_int_equal(frame.tile_x, whole.tile_x);
      assert_covers_every_value_once(&frame);
      values += frame.value_count;
      tiles += frame.tile_count;
    }
    assert_int_equal(values, whole.value_count);
    assert_int_equal(tiles, whole.tile_count);
  }
}

/* ---- bad shapes ---- */

static void refuses_shapes_that_are_none(void **state) {
  (void)state;
  assert_int_equal(status_of(test_shape(SZGPU_F32, 0, 1, 1, 1, 1)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, -1, 1, 1, 1, 1)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 5, 1, 1, 1, 1)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape((szgpu_dtype)10, 1, 1, 1, 1, 1)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 1, 0, 1, 1, 1)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 4, 3, 3, 3, 0)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 3, 3, 3, 3, 0)), SZGPU_OK); /* no such dim */
}

static void refuses_shapes_whose_bytes_overflow(void **state) {
  (void)state;
  uint64_t const big = UINT64_C(1) << 32, most_f32 = (UINT64_C(1) << 61) - 1;
  assert_int_equal(status_of(test_shape(SZGPU_F32, 2, big, big, 0, 0)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 2, UINT64_MAX, 2, 0, 0)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 4, big, big, big, big)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 4, 0, big, big, big)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 1, most_f32, 0, 0, 0)), SZGPU_OK);
  assert_int_equal(status_of(test_shape(SZGPU_F32, 1, most_f32 + 1, 0, 0, 0)), SZGPU_BAD_SHAPE);
  assert_int_equal(status_of(test_shape(SZGPU_F64, 1, most_f32, 0, 0, 0)), SZGPU_BAD_SHAPE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_of_every_dimensionality_hold_4096_values),
      cmocka_unit_test(counts_of_a_3d_grid),
      cmocka_unit_test(places_of_a_3d_grid),
      cmocka_unit_test(a_4d_field_is_a_batch_of_3d_ones),
      cmocka_unit_test(dims_of_1_are_dropped),
      cmocka_unit_test(one_value_is_a_grid_of_one_tile),
      cmocka_unit_test(code_order_covers_every_value_once),
      cmocka_unit_test(tiles_are_numbered_x_fastest),
      cmocka_unit_test(places_beyond_32_bits_are_right),
      cmocka_unit_test(planes_are_those_of_the_grids_rank),
      cmocka_unit_test(axes_are_those_that_tiles_extend_over),
      cmocka_unit_test(frames_hold_whole_tiles),
      cmocka_unit_test(the_default_frame_holds_up_to_2_30_values),
      cmocka_unit_test(a_frame_is_a_grid_of_its_own),
      cmocka_unit_test(refuses_shapes_that_are_none),
      cmocka_unit_test(refuses_shapes_whose_bytes_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
