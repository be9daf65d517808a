/* test_roundtrip.c - fields through the public interface and back: the bound, and kept bits.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "ctxs.h"

/* A round trip with both decoders, which must agree. */
static szgpu_info round_trip(const szgpu_params *params, const szgpu_shape *shape,
                             const void *field) {
  size_t const bytes = test_field_bytes(shape);
  test_archive archive = test_compress(ctx, params, shape, field);
  void *const restored = test_decompress(ctx, &archive, bytes);
  void *const by_oracle = test_decompress(serial_ctx, &archive, bytes);
  szgpu_info const info = test_inspect(&archive);
  test_assert_bound(shape, field, restored, &info);
  assert_memory_equal(restored, by_oracle, bytes);
  free(restored);
  free(by_oracle);
  free(archive.bytes);
  return info;
}

/* The kind of the only frame that a field of these values gets. */
static const char *frame_kind(const szgpu_params *params, const szgpu_shape *shape,
                              const void *field) {
  test_archive archive = test_compress(ctx, params, shape, field);
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  free(archive.bytes);
  return frame.kind;
}

static void assert_keeps_all_bits(const szgpu_params *params, const szgpu_shape *shape,
                                  const void *field) {
  test_archive archive = test_compress(ctx, params, shape, field);
  void *const restored = test_decompress(ctx, &archive, test_field_bytes(shape));
  assert_memory_equal(restored, field, test_field_bytes(shape));
  free(restored);
  free(archive.bytes);
}

/* ---- shapes, types, modes ---- */

static void every_shape_returns_in_every_mode(void **state) {
  (void)state;
  static const struct {
    szgpu_mode mode;
    double bound;
  } asked[] = {{SZGPU_MODE_REL, 1e-1},  {SZGPU_MODE_REL, 1e-4},  {SZGPU_MODE_REL, 1e-7},
               {SZGPU_MODE_REL, 1e-14}, {SZGPU_MODE_ABS, 1e-2},  {SZGPU_MODE_ABS, 1e5},
               {SZGPU_MODE_ABS, 1e-12}, {SZGPU_MODE_PSNR, 60.0}, {SZGPU_MODE_PSNR, 120.0}};
  for (size_t s = 0; s < test_awkward_shape_count; s++) {
    szgpu_shape shape = test_awkward_shapes[s];
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      shape.dtype = (szgpu_dtype)dtype;
      void *const field = test_make_waves(&shape);
      for (size_t i = 0; i < ARRAY_COUNT(asked); i++) {
        szgpu_params params = test_params(asked[i].mode, asked[i].bound);
        params.zstd_level = i % 2 ? 3 : 0;
        params.frame_rows = i % 3 == 0 ? 1 : 0;
        round_trip(&params, &shape, field);
      }
      free(field);
    }
  }
}

static void every_length_from_1_to_300_returns(void **state) {
  (void)state;
  szgpu_params const params = test_params(SZGPU_MODE_REL, 1e-3);
  for (uint64_t length = 1; length <= 300; length++) {
    szgpu_shape const shape = test_shape(SZGPU_F32, 1, length, 0, 0, 0);
    void *const field = test_make_waves(&shape);
    round_trip(&params, &shape, field);
    free(field);
  }
}

static void every_radius_returns(void **state) {
  (void)state;
  static const uint32_t radii[] = {2, 3, 16, 511, 512, 5000, 32767, 32768};
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 70, 101, 0, 0);
  void *const field = test_make_waves(&shape);
  for (size_t i = 0; i < ARRAY_COUNT(radii); i++)
    for (double bound = 1e-1; bound > 1e-9; bound *= 0.01) {
      szgpu_params params = test_linear_params(SZGPU_MODE_REL, bound);
      params.radius = radii[i];
      round_trip(&params, &shape, field);
    }
  free(field);
}

/* ---- special values ---- */

/* Each must come back bit-identical, except those that the bound covers. */
static const double specials[] = {-0.0,   INFINITY, -INFINITY, 1e20,    -1e34,
                                  1e30,   -9999.0,  3e38,      -3.4e38, 1e-310,
                                  1e-40,  -1e-45,   FLT_MIN,   DBL_MIN, 9.969209968386869e36,
                                  12345.0};

static void special_values_leave_the_others_alone(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (uint64_t rarity = 1; rarity <= 1000; rarity *= 10)
      for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++) {
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 3, 17, 19, 37, 0);
        void *const field = test_make_waves(&shape);
        for (uint64_t i = 0; i < 17 * 19 * 37; i++)
          if (test_random_below(&random, rarity) == 0)
            test_set_value(shape.dtype, field, i,
                           specials[test_random_below(&random, ARRAY_COUNT(specials))]);
        szgpu_params params = test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 80.0 : 1e-3);
        round_trip(&params, &shape, field);
        params.has_fill = 1;
        params.fill = -9999.0;
        szgpu_info const info = round_trip(&params, &shape, field);
        assert_true(info.has_fill && info.fill == -9999.0);
        free(field);
      }
}

static void nan_payloads_are_kept(void **state) {
  (void)state;
  static const uint32_t payloads[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF,
                                      0x7FC12345, 0xFF812345, 0x7FFFFFFF};
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 5000, 0, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_REL, 1e-3);
  uint32_t *const field = test_make_waves(&shape);
  for (size_t i = 0; i < 700; i++) field[7 * i] = payloads[i % ARRAY_COUNT(payloads)];
  round_trip(&params, &shape, field); /* compares NaN by bits */
  free(field);
}

/* In other compressors a NaN spreads over its whole tile, or an undeclared 1e20 makes the field
 * coarse. Here each costs only its own bytes. */
static void one_wild_value_costs_one_value(void **state) {
  (void)state;
  static const double wild[] = {NAN, INFINITY, 1.2345e20, -3.1e38};
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 100, 200, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 1e-2);
  float *const field = test_make_waves(&shape);
  test_archive clean = test_compress(ctx, &params, &shape, field);
  for (size_t i = 0; i < ARRAY_COUNT(wild); i++) {
    float const kept = field[4321];
    field[4321] = (float)wild[i];
    test_archive archive = test_compress(ctx, &params, &shape, field);
    assert_in_range(archive.byte_count, 1, clean.byte_count + 250);
    round_trip(&params, &shape, field);
    field[4321] = kept;
    free(archive.bytes);
  }
  free(clean.bytes);
  free(field);
}

/* ---- fields of one kind of value ---- */

static void constant_fields_take_a_header(void **state) {
  (void)state;
  static const double constants[] = {0.0, -0.0, 1.5, -1e-40, 1e20, INFINITY, NAN, 3.4e38};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t i = 0; i < ARRAY_COUNT(constants); i++)
      for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++) {
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 1000, 100, 0, 0);
        szgpu_params const params = test_params((szgpu_mode)mode, 1e-3);
        void *const field = test_allocate(test_field_bytes(&shape));
        for (uint64_t v = 0; v < 100000; v++) test_set_value(shape.dtype, field, v, constants[i]);
        round_trip(&params, &shape, field);
        if (isfinite(constants[i])) {
          test_archive archive = test_compress(ctx, &params, &shape, field);
          assert_in_range(archive.byte_count, 1, 2000);
          assert_string_equal(frame_kind(&params, &shape, field), "constant");
          free(archive.bytes);
        }
        free(field);
      }
}

static void fields_of_one_value_return(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t i = 0; i < ARRAY_COUNT(specials); i++)
      for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++) {
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 4, 1, 1, 1, 1);
        szgpu_params const params = test_params((szgpu_mode)mode, 0.5);
        double room;
        test_set_value(shape.dtype, &room, 0, specials[i]);
        round_trip(&params, &shape, &room);
      }
}

static void denormal_fields_keep_the_bound(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (double bound = 0.5; bound > 1e-17; bound *= 0.1)
      for (int scale = 0; scale < 3; scale++) {
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, 3000, 0, 0, 0);
        szgpu_params const params = test_params(SZGPU_MODE_REL, bound);
        void *const field = test_make_waves(&shape);
        int const down = (dtype == SZGPU_F32 ? -149 : -1074) + 13 * scale;
        for (uint64_t i = 0; i < 3000; i++)
          test_set_value(shape.dtype, field, i, ldexp(test_value_at(shape.dtype, field, i), down));
        round_trip(&params, &shape, field);
        free(field);
      }
}

/* A bound under FLT_MIN made another compressor return garbage. */
static void tiny_bounds_keep_every_bit(void **state) {
  (void)state;
  static const double bounds[] = {0x1p-1074, 1e-310, 1e-300, 1e-46, 1e-39};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 60, 70, 0, 0);
      szgpu_params const params = test_params(SZGPU_MODE_ABS, bounds[i]);
      void *const field = test_make_waves(&shape);
      assert_keeps_all_bits(&params, &shape, field);
      free(field);
    }
}

/* ---- the tile layout ---- */

/* Compresses a field of one frame, checks what is restored, and returns the frame. */
static szgpu_frame_info tile_frame(const szgpu_params *params, const szgpu_shape *shape,
                                   const void *field, szgpu_info *info) {
  *info = round_trip(params, shape, field);
  test_archive archive = test_compress(ctx, params, shape, field);
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  free(archive.bytes);
  return frame;
}

/* Differences of 16-bit lattice points need more bits: up to 17 along one axis, 19 along three. */
static void short_lattices_wrap(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int ndim = 1; ndim <= 3; ndim++) {
      szgpu_shape const shape =
          test_shape((szgpu_dtype)dtype, ndim, ndim == 1 ? 9000 : 40, ndim == 2 ? 90 : 20, 50, 0);
      szgpu_params params = test_params(SZGPU_MODE_ABS, 0.52);
      params.layout = SZGPU_LAYOUT_TILE;
      params.predictor = SZGPU_PREDICTOR_LORENZO;
      void *const field = test_allocate(test_field_bytes(&shape));
      for (uint64_t i = 0; i < test_value_count(&shape); i++) {
        double const value = (double)(test_hash(i / 3) % 50) * 15.0 + 32000.0;
        test_set_value(shape.dtype, field, i, test_hash(i / 2) % 2 ? value : -value);
      }
      szgpu_info info;
      szgpu_frame_info const frame = tile_frame(&params, &shape, field, &info);
      assert_string_equal(frame.kind, "tile");
      assert_int_equal(frame.lattice_bits, 16);
      free(field);
    }
}

/* 16 bits if and only if the largest magnitude is below 32766 steps. */
static void the_lattice_is_as_short_as_the_values_allow(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 3000, 0, 0, 0);
  double *const field = test_make_waves(&shape);
  field[100] = -32766.0;
  int seen[2] = {0, 0};
  for (int i = -20; i <= 20; i++) {
    szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5 * (1.0 + 1e-6 * i));
    params.layout = SZGPU_LAYOUT_TILE;
    params.predictor = SZGPU_PREDICTOR_LORENZO;
    szgpu_info info;
    szgpu_frame_info const frame = tile_frame(&params, &shape, field, &info);
    bool const is_short = 32766.0 * (1.0 / info.step) < 32766.0;
    assert_int_equal(frame.lattice_bits, is_short ? 16 : 32);
    for (uint32_t s = 3; s < frame.section_count; s++)
      assert_int_equal(frame.sections[s].raw_bytes, 0); /* every value has a point */
    seen[is_short]++;
  }
  assert_true(seen[0] > 10 && seen[1] > 10);
  free(field);
}

/* Noise that the codebook did not count is stored raw, whatever it holds. */
static void raw_tiles_keep_every_bit(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 4, 512, 2, 2, 5); /* tile per entry */
    szgpu_params params = test_params(SZGPU_MODE_ABS, dtype == SZGPU_F32 ? 5e-4 : 1e-11);
    params.layout = SZGPU_LAYOUT_TILE;
    params.predictor = SZGPU_PREDICTOR_LORENZO;
    void *const field = test_allocate(test_field_bytes(&shape));
    for (uint64_t i = 0; i < test_value_count(&shape); i++)
      test_set_value(shape.dtype, field, i, (double)(test_hash(i) % 64) * 2.0 * params.bound);
    for (uint64_t i = 40; i < 60; i++)
      test_set_value(shape.dtype, field, i, (double)(test_hash(i) >> 11) * 0x1p-46);
    test_set_value(shape.dtype, field, 45, INFINITY);
    test_set_value(shape.dtype, field, 46, 1e20);
    test_set_value(shape.dtype, field, 47, -0.0);
    test_archive archive = archive_compress(ctx, &params, &shape, field);
    szgpu_frame_info frame = {.struct_bytes = sizeof frame};
    assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame),
                     SZGPU_OK);
    assert_string_equal(frame.kind, "tile");
    const uint8_t *const sizes = archive.bytes + frame.sections[1].offset;
    assert_int_equal(sizes[2 * 2], dtype == SZGPU_F32 ? 20 : 40); /* words of tile 2 */
    void *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
    for (uint64_t i = 40; i < 60; i++)
      assert_int_equal(test_bits_at(shape.dtype, restored, i), test_bits_at(shape.dtype, field, i));
    round_trip(&params, &shape, field);
    free(restored);
    free(archive.bytes);
    free(field);
  }
}

/* ---- what broke other compressors ---- */

/* Offset data at 1e-4: elsewhere 6.6 % of the values were out of bound, by up to 1.28 times. */
static void offset_data_keep_the_bound(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 128, 128, 0, 0);
  for (double offset = 1.0; offset < 1e9; offset *= 10.0)
    for (double bound = 1e-1; bound > 1e-8; bound *= 0.1) {
      szgpu_params const params = test_params(SZGPU_MODE_REL, bound);
      float *const field = test_make_waves(&shape);
      for (size_t i = 0; i < 128 * 128; i++) field[i] += (float)offset;
      round_trip(&params, &shape, field);
      free(field);
    }
}

/* Other compressors dropped outliers beyond 10 % of the values, and kept f64 outliers as f32. */
static void many_outliers_of_f64_return_in_full(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 20000, 0, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 1e-3);
  double *const field = test_make_waves(&shape);
  for (size_t i = 0; i < 20000; i += 3) field[i] = 1e200 * (double)(i + 1) / 3.0; /* exact */
  szgpu_info const info = round_trip(&params, &shape, field);
  assert_true(info.step > 0.0);
  for (size_t i = 0; i < 20000; i += 3) field[i] = 1e6 * (double)(i + 1) / 3.0; /* escapes */
  test_ask_radius(&params, 512);
  round_trip(&params, &shape, field);
  assert_string_equal(frame_kind(&params, &shape, field), test_coded_kind());
  free(field);
}

/* Clipping codes without mending the book made the most frequent symbol decode wrongly. */
static void geometric_histograms_return(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 1 << 20, 0, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
  float *const field = test_allocate(test_field_bytes(&shape));
  float sum = 0.0f;
  for (uint64_t i = 0; i < 1 << 20; i++) {
    int const zeros = __builtin_ctzll(test_hash(i) | UINT64_C(1) << 40);
    field[i] = sum += (float)(i % 2 ? zeros : -zeros); /* a delta of n with probability 2^-n */
  }
  test_ask_radius(&params, 512);
  round_trip(&params, &shape, field);
  free(field);
}

static void f64_ranges_that_overflow_keep_the_bound(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 5000, 0, 0, 0);
  double *const field = test_allocate(test_field_bytes(&shape));
  for (uint64_t i = 0; i < 5000; i++) field[i] = DBL_MAX * cos(0.01 * (double)i);
  for (double bound = 0.9; bound > 1e-13; bound *= 0.1)
    for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_ABS; mode++) {
      szgpu_params const params =
          test_params((szgpu_mode)mode, mode == SZGPU_MODE_ABS ? bound * DBL_MAX : bound);
      round_trip(&params, &shape, field);
    }
  free(field);
}

static void random_bits_return_exactly_where_nothing_can_be_gained(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 33, 33, 33, 0);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 1e-30);
  void *const field = test_make_bits(&shape);
  assert_keeps_all_bits(&params, &shape, field);
  assert_string_equal(frame_kind(&params, &shape, field), "raw");
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_returns_in_every_mode),
      cmocka_unit_test(every_length_from_1_to_300_returns),
      cmocka_unit_test(every_radius_returns),
      cmocka_unit_test(special_values_leave_the_others_alone),
      cmocka_unit_test(nan_payloads_are_kept),
      cmocka_unit_test(one_wild_value_costs_one_value),
      cmocka_unit_test(constant_fields_take_a_header),
      cmocka_unit_test(fields_of_one_value_return),
      cmocka_unit_test(denormal_fields_keep_the_bound),
      cmocka_unit_test(tiny_bounds_keep_every_bit),
      cmocka_unit_test(short_lattices_wrap),
      cmocka_unit_test(the_lattice_is_as_short_as_the_values_allow),
      cmocka_unit_test(raw_tiles_keep_every_bit),
      cmocka_unit_test(offset_data_keep_the_bound),
      cmocka_unit_test(many_outliers_of_f64_return_in_full),
      cmocka_unit_test(geometric_histograms_return),
      cmocka_unit_test(f64_ranges_that_overflow_keep_the_bound),
      cmocka_unit_test(random_bits_return_exactly_where_nothing_can_be_gained),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
