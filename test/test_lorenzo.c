/* test_lorenzo.c - marks, differences, codes and their inverses, tile by tile.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/lorenzo.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "quant/bound.h"
#include "support.h"

static szg_tile_work work, other_work;

static szg_tile make_tile(uint32_t z_extent, uint32_t y_extent, uint32_t x_extent) {
  return (szg_tile){.z_extent = z_extent,
                    .y_extent = y_extent,
                    .x_extent = x_extent,
                    .value_count = z_extent * y_extent * x_extent,
                    .z_stride = (uint64_t)y_extent * x_extent,
                    .y_stride = x_extent};
}

/* Tiles of every kind, whole and ragged. */
static const uint32_t extents[][3] = {
    {1, 1, 1},   {1, 1, 31}, {1, 1, 2049}, {1, 1, 4095}, {1, 1, 4096}, {1, 64, 64}, {1, 63, 17},
    {1, 2, 64},  {1, 64, 1}, {16, 8, 32},  {16, 8, 31},  {16, 7, 32},  {15, 8, 32}, {1, 8, 32},
    {16, 1, 32}, {16, 8, 1}, {2, 3, 5},    {1, 1, 2},    {13, 1, 1},   {11, 7, 1}};

/* ---- differences ---- */

static void assert_differences(szg_tile tile, uint32_t axes, const int32_t *q,
                               const int32_t *expected) {
  memcpy(work.lattice.narrow, q, tile.value_count * sizeof *q);
  szg_tile_difference(false, &tile, axes, &work.lattice, &work.deltas);
  assert_memory_equal(work.deltas.narrow, expected, tile.value_count * sizeof *q);
  for (uint32_t i = 0; i < tile.value_count; i++) work.lattice.wide[i] = q[i];
  szg_tile_difference(true, &tile, axes, &work.lattice, &work.deltas);
  for (uint32_t i = 0; i < tile.value_count; i++)
    assert_int_equal(work.deltas.wide[i], expected[i]);
}

static void differences_of_a_line_by_hand(void **state) {
  (void)state;
  static const int32_t q[] = {3, 5, 4, 4, -1}, d[] = {3, 2, -1, 0, -5};
  assert_differences(make_tile(1, 1, 5), SZG_AXIS_X, q, d);
}

static void differences_of_a_plane_by_hand(void **state) {
  (void)state;
  static const int32_t q[] = {1, 2, 4, 3, 5, 9};
  static const int32_t along_x[] = {1, 1, 2, 2, 2, 4}; /* at x = 0 along y: 3 - 1 */
  static const int32_t along_y[] = {1, 1, 2, 2, 3, 5}; /* at y = 0 along x */
  static const int32_t along_both[] = {1, 1, 2, 2, 1, 2};
  assert_differences(make_tile(1, 2, 3), SZG_AXIS_X, q, along_x);
  assert_differences(make_tile(1, 2, 3), SZG_AXIS_Y, q, along_y);
  assert_differences(make_tile(1, 2, 3), SZG_AXIS_X | SZG_AXIS_Y, q, along_both);
}

static void differences_of_a_cube_by_hand_along_all_7_sets(void **state) {
  (void)state;
  static const int32_t q[] = {1, 2, 4, 8, 3, 5, 9, 20};
  static const int32_t expected[8][8] = {
      [SZG_AXIS_X] = {1, 1, 3, 4, 2, 2, 3, 11},
      [SZG_AXIS_Y] = {1, 1, 3, 6, 2, 1, 6, 15},
      [SZG_AXIS_Z] = {1, 1, 3, 3, 2, 3, 5, 12},
      [SZG_AXIS_X | SZG_AXIS_Y] = {1, 1, 3, 3, 2, 2, 6, 9},
      [SZG_AXIS_X | SZG_AXIS_Z] = {1, 1, 3, 4, 2, 1, 5, 7},
      [SZG_AXIS_Y | SZG_AXIS_Z] = {1, 1, 3, 6, 2, 3, 3, 9},
      [SZG_AXES_ALL] = {1, 1, 3, 3, 2, 1, 3, 6},
  };
  for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++)
    assert_differences(make_tile(2, 2, 2), axes, q, expected[axes]);
}

/* The definition: a signed sum over the corners behind a value, along the axes of S, or along all
 * axes if its coordinates on S are 0. */
static uint64_t difference_by_definition(const szg_tile *tile, uint32_t axes, const int64_t *q,
                                         const uint32_t at[3]) {
  uint32_t along = axes;
  bool is_edge = true;
  for (int a = 0; a < 3; a++) is_edge &= !(axes >> a & 1) || at[a] == 0;
  if (is_edge) along = SZG_AXES_ALL;
  uint64_t sum = 0;
  for (uint32_t corner = 0; corner <= SZG_AXES_ALL; corner++) {
    bool is_inside = !(corner & ~along);
    uint32_t back[3];
    for (int a = 0; a < 3; a++) {
      back[a] = corner >> a & 1;
      is_inside &= at[a] >= back[a];
    }
    if (!is_inside) continue;
    uint64_t const value =
        (uint64_t)q[((at[2] - back[2]) * tile->y_extent + at[1] - back[1]) * tile->x_extent +
                    at[0] - back[0]];
    sum += (back[0] + back[1] + back[2]) % 2 ? 0 - value : value;
  }
  return sum;
}

static int64_t random_point(test_random *random, bool is_wide, int kind) {
  static const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, 1};
  uint64_t const bits = test_random_bits(random);
  if (kind == 0) return (int64_t)(bits % 2001) - 1000;
  int64_t const point = kind == 1 ? (int64_t)bits : extremes[bits % 5];
  return is_wide ? point : (int64_t)(int32_t)(point >> 32 | (point & 1));
}

static void set_lattice(bool is_wide, uint32_t count, const int64_t *q) {
  for (uint32_t i = 0; i < count; i++)
    if (is_wide)
      work.lattice.wide[i] = q[i];
    else
      work.lattice.narrow[i] = (int32_t)q[i];
}

/* A tile of random points, small to extreme; the variant decides whether narrow or wide. */
static szg_tile make_random_tile(test_random *random, const uint32_t *extent, int variant,
                                 int64_t *q) {
  szg_tile const tile = make_tile(extent[0], extent[1], extent[2]);
  for (uint32_t i = 0; i < tile.value_count; i++)
    q[i] = random_point(random, variant % 2, variant / 2);
  set_lattice(variant % 2, tile.value_count, q);
  return tile;
}

static void differences_follow_the_definition(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (size_t e = 0; e < ARRAY_COUNT(extents); e++)
    for (int variant = 0; variant < 6; variant++) {
      bool const is_wide = variant % 2;
      int64_t q[SZG_TILE_VALUES];
      szg_tile const tile = make_random_tile(&random, extents[e], variant, q);
      for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++) {
        szg_tile_difference(is_wide, &tile, axes, &work.lattice, &work.deltas);
        for (uint32_t i = 0; i < tile.value_count; i++) {
          uint32_t const at[3] = {i % tile.x_extent, i / tile.x_extent % tile.y_extent,
                                  i / tile.x_extent / tile.y_extent};
          uint64_t const expected = difference_by_definition(&tile, axes, q, at);
          if (is_wide)
            assert_int_equal((uint64_t)work.deltas.wide[i], expected);
          else
            assert_int_equal((uint32_t)work.deltas.narrow[i], (uint32_t)expected);
        }
      }
    }
}

static void sums_undo_differences(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (size_t e = 0; e < ARRAY_COUNT(extents); e++)
    for (int variant = 0; variant < 6; variant++) {
      bool const is_wide = variant % 2;
      int64_t q[SZG_TILE_VALUES];
      szg_tile const tile = make_random_tile(&random, extents[e], variant, q);
      for (uint32_t axes = 1; axes <= SZG_AXES_ALL; axes++) {
        szg_tile_difference(is_wide, &tile, axes, &work.lattice, &work.deltas);
        szg_tile_sum(is_wide, &tile, axes, &work);
        assert_memory_equal(&work.deltas, &work.lattice, tile.value_count * (is_wide ? 8 : 4));
      }
    }
}

/* ---- codes ---- */

static void codes_by_hand(void **state) {
  (void)state;
  static const int32_t deltas[] = {0, 1, -1, 2, -2, INT32_MAX, INT32_MIN};
  static const uint16_t expected[] = {2, 3, 1, 0, 0, 0, 0};
  szg_tile const tile = make_tile(1, 1, 7);
  uint16_t codes[7];
  int64_t escapes[7];
  memcpy(work.deltas.narrow, deltas, sizeof deltas);
  assert_int_equal(szg_tile_code(false, &tile, 2, &work, codes, escapes), 4);
  assert_memory_equal(codes, expected, sizeof codes);
  for (int i = 0; i < 4; i++) assert_int_equal(escapes[i], deltas[3 + i]);
}

/* Codes deltas, with escapes of escape_bytes each, decodes them and compares. */
static void assert_codes_return(bool is_wide, const szg_tile *tile, uint32_t radius,
                                unsigned escape_bytes) {
  static uint16_t codes[SZG_TILE_VALUES];
  static int64_t escapes[SZG_TILE_VALUES];
  uint32_t const count = szg_tile_code(is_wide, tile, radius, &work, codes, escapes);
  uint8_t *const bytes = test_allocate((size_t)count * escape_bytes);
  for (uint32_t i = 0; i < count; i++)
    szg_store_narrow(bytes + (size_t)i * escape_bytes, (uint64_t)escapes[i], escape_bytes);
  for (uint32_t i = 0; i < tile->value_count; i++) assert_in_range(codes[i], 0, 2 * radius - 1);
  assert_true(
      szg_tile_uncode(is_wide, tile, radius, codes, bytes, count, escape_bytes, &other_work));
  assert_memory_equal(&other_work.deltas, &work.deltas, tile->value_count * (is_wide ? 8 : 4));
  assert_false(
      szg_tile_uncode(is_wide, tile, radius, codes, bytes, count + 1, escape_bytes, &other_work));
  if (count)
    assert_false(
        szg_tile_uncode(is_wide, tile, radius, codes, bytes, count - 1, escape_bytes, &other_work));
  free(bytes);
}

static void codes_return_with_escapes_of_every_width(void **state) {
  (void)state;
  static const uint32_t radii[] = {2, 3, 512, 2048, 32767, 32768};
  test_random random = test_random_begin();
  for (size_t e = 0; e < ARRAY_COUNT(extents); e++)
    for (size_t r = 0; r < ARRAY_COUNT(radii); r++)
      for (unsigned width = 1; width <= 8; width++) {
        szg_tile const tile = make_tile(extents[e][0], extents[e][1], extents[e][2]);
        bool const is_wide = width > 4;
        for (uint32_t i = 0; i < tile.value_count; i++) { /* up to that many bytes, often small */
          unsigned const shift = 64 - 8 * width + (unsigned)test_random_below(&random, 8 * width);
          int64_t const delta = (int64_t)test_random_bits(&random) >> shift;
          if (is_wide)
            work.deltas.wide[i] = delta;
          else
            work.deltas.narrow[i] = (int32_t)delta;
        }
        assert_codes_return(is_wide, &tile, radii[r], width);
      }
}

/* ---- marks ---- */

static void a_value_without_a_point_takes_the_previous_of_its_row(void **state) {
  (void)state;
  float const n = NAN, far = 3e38f, fill = -9999.0f;
  float const values[] = {fill, 5.0f, n,    fill, 7.25f, INFINITY, /* 7.25: out of bound */
                          1.0f, 2.0f, 3.0f, 4.0f, 5.0f,  6.0f,     /* nothing to mark */
                          n,    far,  9.0f, -far, 8.0f,  fill};
  static const int32_t points[] = {0, 5, 5, 5, 7, 7, 1, 2, 3, 4, 5, 6, 0, 0, 9, 9, 8, 8};
  static const uint8_t marks[] = {2, 0, 1, 2, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 2};
  szg_quantizer const k =
      szg_quantizer_make(SZG_ARITHMETIC_F32, 0.125, 1.0, true, szg_bits_f32(fill));
  szg_tile const tile = make_tile(1, 3, 6);
  szg_tile_quantize(&k, &tile, values, &work);
  assert_true(work.has_marks);
  assert_memory_equal(work.lattice.narrow, points, sizeof points);
  assert_memory_equal(work.marks, marks, sizeof marks);
}

/* A field of one tile, with runs of values of all kinds (coded, out of bound, beyond the lattice,
 * NaN, fill), or with coded values only. The block ends with the field. */
static void *make_marked_field(const szg_tile *tile, szgpu_dtype dtype, const szg_quantizer *k,
                               uint32_t run, test_random *random) {
  double const kinds[] = {3.25, 7.4999, 4e4, NAN, -INFINITY, 1e35};
  size_t const width = szg_dtype_bytes(dtype);
  uint8_t *const field = test_allocate(tile->value_count * width);
  uint32_t kind = 0;
  for (uint32_t i = 0; i < tile->value_count; i++) {
    if (run > 0 && test_random_below(random, run) == 0)
      kind = (uint32_t)test_random_below(random, 2) * (uint32_t)test_random_below(random, 7);
    double const value =
        kind == 0 ? (double)test_random_below(random, 20000) - 1e4 : kinds[kind - 1];
    uint64_t const bits = kind == 6 ? k->fill_bits : szg_bits_of_value(dtype, value);
    memcpy(field + i * width, &bits, width);
  }
  return field;
}

/* Marks and points by docs/format.md. */
static bool reference_points(const szg_tile *tile, szgpu_dtype dtype, const szg_quantizer *k,
                             const uint8_t *field, int32_t *points, uint8_t *marks) {
  bool has_marks = false;
  int32_t previous = 0;
  for (uint32_t i = 0; i < tile->value_count; i++) {
    if (i % tile->x_extent == 0) previous = 0;
    uint64_t bits = 0;
    memcpy(&bits, field + i * szg_dtype_bytes(dtype), szg_dtype_bytes(dtype));
    double const value = szg_value_of_bits(dtype, bits);
    int32_t q;
    bool is_coded, has_point;
    if (dtype == SZGPU_F32) {
      has_point = szg_lattice_f32(k, (float)value, &q);
      is_coded = szg_within_f32(k, (float)value, szg_restore_f32(k, q));
    } else {
      has_point = szg_lattice_f64(k, value, &q);
      is_coded = szg_within_f64(k, value, szg_restore_f64(k, q));
    }
    bool const is_fill = k->has_fill && bits == k->fill_bits;
    marks[i] = is_fill ? SZG_MARK_FILL : has_point && is_coded ? SZG_MARK_CODED : SZG_MARK_EXACT;
    has_marks |= marks[i] != SZG_MARK_CODED;
    points[i] = previous = has_point && !is_fill ? q : previous;
  }
  return has_marks;
}

/* The 16-bit lattice equals the 32-bit one modulo 2^16, and both equal the reference. */
static void marks_and_points_are_those_of_the_format_on_both_short_lattices(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static int32_t points[SZG_TILE_VALUES];
  static uint8_t marks[SZG_TILE_VALUES];
  static szg_tile_points sixteen;
  uint32_t const runs[] = {0, 1, 3, 40, 3000};
  for (uint32_t i = 0; i < 800; i++) {
    const uint32_t *const e = extents[i % ARRAY_COUNT(extents)];
    szg_tile const tile = make_tile(e[0], e[1], e[2]);
    szgpu_dtype const dtype = test_random_below(&random, 2) ? SZGPU_F64 : SZGPU_F32;
    bool const has_fill = test_random_below(&random, 2);
    uint64_t const all_ones = dtype == SZGPU_F32 ? UINT32_MAX : UINT64_MAX; /* a NaN */
    uint64_t const fill_bits =
        test_random_below(&random, 2) ? all_ones : szg_bits_of_value(dtype, -9999.0);
    szg_quantizer k =
        szg_quantizer_make(dtype == SZGPU_F32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64, 0.4999,
                           1.0, has_fill, fill_bits);
    assert_true(szg_quantizer_shorten(1e4, &k));
    uint32_t const axes = 1 + (uint32_t)test_random_below(&random, 7);
    uint8_t *const field = make_marked_field(
        &tile, dtype, &k, runs[test_random_below(&random, ARRAY_COUNT(runs))], &random);
    bool const has_marks = reference_points(&tile, dtype, &k, field, points, marks);
    szg_tile_values_to_deltas(&k, 32, axes, &tile, field, &work, &work.deltas);
    assert_int_equal(work.has_marks, has_marks);
    assert_memory_equal(work.lattice.narrow, points, tile.value_count * sizeof *points);
    if (has_marks) assert_memory_equal(work.marks, marks, tile.value_count);
    szg_tile_values_to_deltas(&k, 16, axes, &tile, field, &other_work, &sixteen);
    assert_int_equal(other_work.has_marks, has_marks);
    if (has_marks) assert_memory_equal(other_work.marks, marks, tile.value_count);
    bool are_low_halves = true;
    for (uint32_t v = 0; v < tile.value_count; v++)
      are_low_halves &= sixteen.slim[v] == (int16_t)work.deltas.narrow[v];
    assert_true(are_low_halves);
    other_work.deltas = sixteen;
    uint8_t *const restored = test_allocate(2 * tile.value_count * szg_dtype_bytes(dtype));
    uint8_t *const expected = restored + tile.value_count * szg_dtype_bytes(dtype);
    szg_tile_deltas_to_values(&k, 16, axes, &tile, &other_work, restored);
    szg_tile_deltas_to_values(&k, 32, axes, &tile, &work, expected);
    assert_memory_equal(restored, expected, tile.value_count * szg_dtype_bytes(dtype));
    free(restored);
    free(field);
  }
}

static void a_fill_value_is_told_by_its_bits(void **state) {
  (void)state;
  float const values[] = {0.0f, -0.0f, 1.0f};
  szg_quantizer const k = szg_quantizer_make(SZG_ARITHMETIC_F32, 0.5, 1.0, true, 0x80000000u);
  szg_quantizer const none = szg_quantizer_make(SZG_ARITHMETIC_F32, 0.5, 1.0, false, 0);
  szg_tile const tile = make_tile(1, 1, 3);
  szg_tile_quantize(&k, &tile, values, &work);
  assert_true(work.has_marks);
  assert_int_equal(work.marks[0], SZG_MARK_CODED);
  assert_int_equal(work.marks[1], SZG_MARK_FILL);
  szg_tile_quantize(&none, &tile, values, &work); /* fill_bits are 0 and so is a value: no fill */
  assert_false(work.has_marks);
}

static void a_constant_field_marks_what_differs(void **state) {
  (void)state;
  double const values[] = {-0.0, 0.0, NAN, INFINITY, 1e20, 0.0};
  static const uint8_t marks[] = {0, 0, 1, 1, 2, 0};
  szg_quantizer const k =
      szg_quantizer_make(SZG_ARITHMETIC_F64, 0.0, 0.0, true, szg_bits_f64(1e20));
  szg_tile const tile = make_tile(1, 2, 3), zeros = make_tile(1, 1, 2);
  szg_tile_mark_constant(&k, SZGPU_F64, 0, &tile, values, &work);
  assert_true(work.has_marks);
  assert_memory_equal(work.marks, marks, sizeof marks);
  szg_tile_mark_constant(&k, SZGPU_F64, 0, &zeros, values, &work);
  assert_false(work.has_marks);
}

/* ---- a tile of a field there and back ---- */

static void tiles_of_a_field_return_within_the_bound(void **state) {
  (void)state;
  static const struct {
    szgpu_dtype dtype;
    uint32_t arithmetic;
  } kinds[] = {{SZGPU_F32, SZG_ARITHMETIC_F32},
               {SZGPU_F32, SZG_ARITHMETIC_F32_CLOSE},
               {SZGPU_F64, SZG_ARITHMETIC_F64},
               {SZGPU_F64, SZG_ARITHMETIC_F64_WIDE}};
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (size_t kind = 0; kind < ARRAY_COUNT(kinds); kind++) {
      szgpu_shape shape = test_awkward_shapes[s];
      shape.dtype = kinds[kind].dtype;
      szg_grid grid;
      assert_int_equal(szg_grid_of_shape(&shape, &grid), SZGPU_OK);
      void *const field = test_make_waves(&shape);
      uint8_t *const restored = test_allocate(test_field_bytes(&shape));
      memset(restored, 0xFF, test_field_bytes(&shape)); /* NaN */
      szg_quantizer const k =
          szg_quantizer_make(kinds[kind].arithmetic, 0x1p-9, 0x1.ff8p-9, false, 0);
      bool const is_wide = szg_is_wide(k.arithmetic);
      for (uint64_t t = 0; t < grid.tile_count; t++) {
        szg_tile const tile = szg_tile_at(&grid, t);
        szg_tile_quantize(&k, &tile, field, &work);
        assert_false(work.has_marks);
        szg_tile_difference(is_wide, &tile, SZG_AXES_ALL, &work.lattice, &work.deltas);
        assert_codes_return(is_wide, &tile, 512, 4);
        szg_tile_sum(is_wide, &tile, SZG_AXES_ALL, &work);
        szg_tile_restore(&k, &tile, &work, restored);
      }
      szgpu_info const info = {.absolute_bound = k.bound};
      test_assert_bound(&shape, field, restored, &info);
      free(field);
      free(restored);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(differences_of_a_line_by_hand),
      cmocka_unit_test(differences_of_a_plane_by_hand),
      cmocka_unit_test(differences_of_a_cube_by_hand_along_all_7_sets),
      cmocka_unit_test(differences_follow_the_definition),
      cmocka_unit_test(sums_undo_differences),
      cmocka_unit_test(codes_by_hand),
      cmocka_unit_test(codes_return_with_escapes_of_every_width),
      cmocka_unit_test(a_value_without_a_point_takes_the_previous_of_its_row),
      cmocka_unit_test(marks_and_points_are_those_of_the_format_on_both_short_lattices),
      cmocka_unit_test(a_fill_value_is_told_by_its_bits),
      cmocka_unit_test(a_constant_field_marks_what_differs),
      cmocka_unit_test(tiles_of_a_field_return_within_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
