/* test_outlier.c - escapes, values kept exactly and fill masks, tile by tile.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "outlier/outlier.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "rle/rle.h"
#include "support.h"

enum { MOST_TILES = 64 };

/* Lists and counts of a few tiles. */
typedef struct outliers {
  szg_outlier_lists lists;
  uint16_t escapes[MOST_TILES], exact_mask_bytes[MOST_TILES], exact_values[MOST_TILES],
      fill_mask_bytes[MOST_TILES];
  szg_outlier_counts counts;
} outliers;

static void begin(outliers *o) {
  memset(o, 0, sizeof *o);
  o->counts =
      (szg_outlier_counts){o->escapes, o->exact_mask_bytes, o->exact_values, o->fill_mask_bytes};
}

static void widths_that_hold_a_delta(void **state) {
  (void)state;
  static const struct {
    int64_t delta;
    unsigned bytes;
  } cases[] = {{0, 1},
               {127, 1},
               {-128, 1},
               {128, 2},
               {-129, 2},
               {32767, 2},
               {-32768, 2},
               {32768, 3},
               {-32769, 3},
               {8388607, 3},
               {8388608, 4},
               {INT32_MAX, 4},
               {INT32_MIN, 4},
               {INT32_MAX + INT64_C(1), 5},
               {INT64_C(1) << 39, 6},
               {INT64_C(1) << 55, 8},
               {INT64_MAX, 8},
               {INT64_MIN, 8}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    assert_int_equal(szg_narrow_bytes(cases[i].delta), cases[i].bytes);
    for (unsigned width = cases[i].bytes; width <= 8; width++) {
      uint8_t bytes[9] = {[8] = 0xCC};
      bytes[width] = 0xCC;
      szg_store_narrow(bytes, (uint64_t)cases[i].delta, width);
      assert_true(szg_load_narrow(bytes, width) == cases[i].delta);
      assert_int_equal(bytes[width], 0xCC);
    }
  }
}

static void escapes_are_kept_in_order_with_a_count_per_tile(void **state) {
  (void)state;
  static const int64_t first[] = {600, -700}, third[] = {INT32_MIN};
  static const uint8_t expected[] = {0x58, 2, 0, 0, 0x44, 0xFD, 0xFF, 0xFF, 0, 0, 0, 0x80};
  outliers o;
  begin(&o);
  o.escapes[1] = 99;
  assert_int_equal(szg_outlier_add_escapes(false, first, 2, 0, &o.lists, &o.counts), SZGPU_OK);
  assert_int_equal(szg_outlier_add_escapes(false, NULL, 0, 1, &o.lists, &o.counts), SZGPU_OK);
  assert_int_equal(szg_outlier_add_escapes(false, third, 1, 2, &o.lists, &o.counts), SZGPU_OK);
  assert_int_equal(o.escapes[0], 2);
  assert_int_equal(o.escapes[1], 0);
  assert_int_equal(o.escapes[2], 1);
  assert_int_equal(o.lists.escapes.used_bytes, sizeof expected);
  assert_memory_equal(o.lists.escapes.bytes, expected, sizeof expected);
  szg_outlier_lists_release(&o.lists);
}

static void wide_escapes_take_8_bytes(void **state) {
  (void)state;
  static const int64_t escapes[] = {INT64_MIN, INT64_MAX};
  outliers o;
  begin(&o);
  assert_int_equal(szg_outlier_add_escapes(true, escapes, 2, 0, &o.lists, &o.counts), SZGPU_OK);
  assert_int_equal(o.lists.escapes.used_bytes, 16);
  for (size_t i = 0; i < 2; i++)
    assert_true((int64_t)szg_load_u64(o.lists.escapes.bytes + 8 * i) == escapes[i]);
  szg_outlier_lists_release(&o.lists);
}

static void a_full_tile_of_escapes_fits(void **state) {
  (void)state;
  static int64_t escapes[SZG_TILE_VALUES];
  outliers o;
  begin(&o);
  assert_int_equal(szg_outlier_add_escapes(false, escapes, SZG_TILE_VALUES, 0, &o.lists, &o.counts),
                   SZGPU_OK);
  assert_int_equal(o.escapes[0], SZG_TILE_VALUES);
  szg_outlier_lists_release(&o.lists);
}

static void marked_values_by_hand(void **state) {
  (void)state;
  static const float values[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}, exact[] = {2.0f, 5.0f};
  static const uint8_t marks[] = {SZG_MARK_CODED, SZG_MARK_EXACT, SZG_MARK_FILL, SZG_MARK_FILL,
                                  SZG_MARK_EXACT};
  static const uint8_t exact_mask[] = {1, 1, 2}, fill_mask[] = {2, 2};
  szg_tile const tile = {.z_extent = 1, .y_extent = 1, .x_extent = 5, .value_count = 5};
  outliers o;
  begin(&o);
  assert_int_equal(szg_outlier_add_marked(SZGPU_F32, &tile, marks, values, 0, &o.lists, &o.counts),
                   SZGPU_OK);
  assert_int_equal(o.exact_values[0], 2);
  assert_int_equal(o.exact_mask_bytes[0], sizeof exact_mask);
  assert_int_equal(o.fill_mask_bytes[0], sizeof fill_mask);
  assert_memory_equal(o.lists.exact_mask.bytes, exact_mask, sizeof exact_mask);
  assert_memory_equal(o.lists.fill_mask.bytes, fill_mask, sizeof fill_mask);
  assert_memory_equal(o.lists.exact_values.bytes, exact, sizeof exact);
  szg_outlier_lists_release(&o.lists);
}

static void a_tile_without_marks_leaves_nothing(void **state) {
  (void)state;
  static const uint8_t marks[4] = {0};
  szg_tile const tile = {.z_extent = 1, .y_extent = 1, .x_extent = 4, .value_count = 4};
  float const values[4] = {0};
  outliers o;
  for (int kind = 0; kind < 2; kind++) {
    begin(&o);
    o.exact_mask_bytes[3] = o.exact_values[3] = o.fill_mask_bytes[3] = 99;
    assert_int_equal(szg_outlier_add_marked(SZGPU_F32, &tile, kind ? marks : NULL, values, 3,
                                            &o.lists, &o.counts),
                     SZGPU_OK);
    assert_int_equal(o.exact_mask_bytes[3] + o.exact_values[3] + o.fill_mask_bytes[3], 0);
    assert_int_equal(o.lists.exact_mask.used_bytes + o.lists.exact_values.used_bytes +
                         o.lists.fill_mask.used_bytes,
                     0);
    szg_outlier_lists_release(&o.lists);
  }
}

/* Marks random values of every tile of a field, keeps the outliers, spoils the field and puts them
 * back: marked values must be bit-identical again, and the others untouched. */
static void assert_field_returns(const szgpu_shape *shape, test_random *random, uint64_t rarity) {
  szg_grid grid;
  assert_int_equal(szg_grid_of_shape(shape, &grid), SZGPU_OK);
  assert_in_range(grid.tile_count, 1, MOST_TILES);
  static uint8_t marks[MOST_TILES][SZG_TILE_VALUES];
  uint64_t const fill_bits = UINT64_C(0x4415AF1D78B58C40) >> (shape->dtype == SZGPU_F32 ? 32 : 0);
  size_t const bytes = test_field_bytes(shape), width = szg_dtype_bytes(shape->dtype);
  uint8_t *const field = test_make_bits(shape), *const restored = test_allocate(bytes);
  memset(restored, 0x55, bytes);
  outliers o;
  begin(&o);
  for (uint64_t t = 0; t < grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&grid, t);
    for (uint32_t i = 0; i < tile.value_count; i++)
      marks[t][i] = test_random_below(random, rarity) ? 0 : 1 + test_random_below(random, 2);
    assert_int_equal(
        szg_outlier_add_marked(shape->dtype, &tile, marks[t], field, t, &o.lists, &o.counts),
        SZGPU_OK);
  }
  szg_tile_outliers share = {
      o.lists.exact_mask.bytes, o.lists.exact_values.bytes, o.lists.fill_mask.bytes, 0, 0, 0};
  for (uint64_t t = 0; t < grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&grid, t);
    share.exact_mask_bytes = o.exact_mask_bytes[t];
    share.exact_count = o.exact_values[t];
    share.fill_mask_bytes = o.fill_mask_bytes[t];
    assert_int_equal(szg_outlier_apply(shape->dtype, &tile, &share, fill_bits, restored), SZGPU_OK);
    if (share.exact_mask) share.exact_mask += share.exact_mask_bytes;
    if (share.exact_values) share.exact_values += share.exact_count * width;
    if (share.fill_mask) share.fill_mask += share.fill_mask_bytes;
    for (uint32_t i = 0; i < tile.value_count; i++) {
      uint32_t const row = i / tile.x_extent;
      uint64_t const at = tile.first_value + row / tile.y_extent * tile.z_stride +
                          row % tile.y_extent * tile.y_stride + i % tile.x_extent;
      uint64_t const untouched = UINT64_C(0x5555555555555555) >> (64 - 8 * width);
      uint64_t const expected = marks[t][i] == SZG_MARK_EXACT
                                    ? test_bits_at(shape->dtype, field, at)
                                : marks[t][i] == SZG_MARK_FILL ? fill_bits
                                                               : untouched;
      assert_true(test_bits_at(shape->dtype, restored, at) == expected);
    }
  }
  szg_outlier_lists_release(&o.lists);
  free(field);
  free(restored);
}

static void outliers_of_awkward_fields_return(void **state) {
  (void)state;
  static const uint64_t rarities[] = {1, 2, 100, 3000, UINT64_MAX};
  test_random random = test_random_begin();
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (size_t r = 0; r < ARRAY_COUNT(rarities); r++)
      assert_field_returns(&test_awkward_shapes[s], &random, rarities[r]);
}

static void like_planes_of_fill_cost_one_plane(void **state) {
  (void)state;
  static uint8_t marks[SZG_TILE_VALUES];
  static float values[SZG_TILE_VALUES];
  szg_tile const tile = {.z_extent = 16,
                         .y_extent = 8,
                         .x_extent = 32,
                         .value_count = SZG_TILE_VALUES,
                         .z_stride = 256,
                         .y_stride = 32,
                         .plane_values = 256};
  outliers o;
  begin(&o);
  for (uint32_t i = 0; i < SZG_TILE_VALUES; i++)
    marks[i] = i % 32 >= 10 && i % 32 < 20 ? SZG_MARK_FILL : SZG_MARK_CODED;
  assert_int_equal(szg_outlier_add_marked(SZGPU_F32, &tile, marks, values, 0, &o.lists, &o.counts),
                   SZGPU_OK);
  assert_in_range(o.fill_mask_bytes[0], 16, 16 + 1); /* 8 rows of two changes, then zeros */
  szg_outlier_lists_release(&o.lists);
}

/* ---- what an archive may claim ---- */

static szgpu_status apply(const uint8_t *exact_mask, uint32_t mask_bytes, uint32_t exact_count,
                          const uint8_t *fill_mask, uint32_t fill_mask_bytes) {
  static const float values[16] = {0};
  float restored[17];
  restored[10] = 7.0f;
  szg_tile const tile = {.z_extent = 1, .y_extent = 1, .x_extent = 10, .value_count = 10};
  szg_tile_outliers const share = {exact_mask,  (const uint8_t *)values, fill_mask, mask_bytes,
                                   exact_count, fill_mask_bytes};
  szgpu_status const status = szg_outlier_apply(SZGPU_F32, &tile, &share, 0, restored);
  assert_true(restored[10] == 7.0f); /* nothing is written beyond the tile */
  return status;
}

static void refuses_masks_that_contradict_their_tile(void **state) {
  (void)state;
  static const uint8_t six_of_ten[] = {4}, too_long[] = {11}, too_long_in_all[] = {5, 5, 1};
  assert_int_equal(apply(six_of_ten, 1, 6, NULL, 0), SZGPU_OK);
  assert_int_equal(apply(six_of_ten, 1, 5, NULL, 0), SZGPU_BAD_DATA);
  assert_int_equal(apply(six_of_ten, 1, 7, NULL, 0), SZGPU_BAD_DATA);
  assert_int_equal(apply(too_long, 1, 0, NULL, 0), SZGPU_BAD_DATA);
  assert_int_equal(apply(too_long_in_all, 3, 5, NULL, 0), SZGPU_BAD_DATA);
  assert_int_equal(apply(NULL, 0, 0, NULL, 0), SZGPU_OK);
  assert_int_equal(apply(NULL, 0, 3, NULL, 0), SZGPU_BAD_DATA);
  assert_int_equal(apply(NULL, 0, 0, six_of_ten, 1), SZGPU_OK);
  assert_int_equal(apply(NULL, 0, 0, too_long, 1), SZGPU_BAD_DATA);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(widths_that_hold_a_delta),
      cmocka_unit_test(escapes_are_kept_in_order_with_a_count_per_tile),
      cmocka_unit_test(wide_escapes_take_8_bytes),
      cmocka_unit_test(a_full_tile_of_escapes_fits),
      cmocka_unit_test(marked_values_by_hand),
      cmocka_unit_test(a_tile_without_marks_leaves_nothing),
      cmocka_unit_test(outliers_of_awkward_fields_return),
      cmocka_unit_test(like_planes_of_fill_cost_one_plane),
      cmocka_unit_test(refuses_masks_that_contradict_their_tile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
