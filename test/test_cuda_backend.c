/* test_cuda_backend.c - the GPU writes the CPU's archives and restores its bits, from any field.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_roundtrip.c asserts that the CPU keeps the bound; here the CPU is the oracle.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"

static void compare(szgpu_params params, szgpu_shape shape, const void *field) {
  cuda_case const c = {params, shape, field};
  cuda_compare_layouts(&c);
}

static szgpu_shape line(szgpu_dtype dtype, uint64_t value_count) {
  return test_shape(dtype, 1, value_count, 0, 0, 0);
}

/* ---- shapes, types, modes ---- */

static void every_shape_in_every_mode(void **state) {
  (void)state;
  static const struct {
    szgpu_mode mode;
    double bound;
  } asked[] = {{SZGPU_MODE_REL, 1e-1},  {SZGPU_MODE_REL, 1e-4},  {SZGPU_MODE_REL, 1e-7},
               {SZGPU_MODE_REL, 1e-14}, {SZGPU_MODE_ABS, 1e-2},  {SZGPU_MODE_ABS, 1e5},
               {SZGPU_MODE_ABS, 1e-12}, {SZGPU_MODE_PSNR, 60.0}, {SZGPU_MODE_PSNR, 120.0}};
  size_t const step = cuda_is_quick() ? 11 : 1;
  size_t number = 0;
  for (size_t s = 0; s < test_awkward_shape_count; s++) {
    szgpu_shape shape = test_awkward_shapes[s];
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      shape.dtype = (szgpu_dtype)dtype;
      void *const field = test_make_waves(&shape);
      for (size_t i = 0; i < ARRAY_COUNT(asked); i++) {
        if (number++ % step) continue;
        szgpu_params params = test_params(asked[i].mode, asked[i].bound);
        params.zstd_level = i % 4 == 1 ? 3 : 0;
        params.frame_rows = i % 3 == 0 ? 1 : 0;
        compare(params, shape, field);
      }
      free(field);
    }
  }
  cuda_assert_no_complaints();
}

static void every_length(void **state) {
  (void)state;
  static const uint64_t lengths[] = {1,    2,    3,    7,    8,     15,    16,    31,    32,
                                     33,   63,   64,   65,   127,   128,   129,   251,   255,
                                     256,  257,  509,  511,  512,   513,   1021,  1023,  1024,
                                     1025, 2039, 2047, 2048, 2049,  3583,  4093,  4095,  4096,
                                     4097, 8191, 8192, 8193, 12289, 16381, 65521, 65537, 262147};
  for (size_t i = 0; i < ARRAY_COUNT(lengths); i++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      if (cuda_is_quick() && (i + (size_t)dtype) % 7) continue;
      szgpu_shape const shape = line((szgpu_dtype)dtype, lengths[i]);
      void *const field = test_make_waves(&shape);
      compare(test_params(SZGPU_MODE_REL, 1e-3), shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* More tiles than a GPU runs threads at once, several frames, every kind of grid. */
static void large_fields(void **state) {
  (void)state;
  szgpu_shape const shapes[] = {
      test_shape(SZGPU_F32, 3, 210, 170, 190, 0), test_shape(SZGPU_F64, 2, 1500, 2100, 0, 0),
      test_shape(SZGPU_F32, 1, 5000011, 0, 0, 0), test_shape(SZGPU_F64, 4, 9, 65, 66, 67)};
  for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
    for (uint64_t frames = 0; frames < 2; frames++) {
      szgpu_shape shape = shapes[i];
      if (cuda_is_quick()) shape.dims[0] /= 9;
      void *const field = test_make_waves(&shape);
      for (uint64_t v = 0; v < test_value_count(&shape); v += 1 + test_hash(v) % 4000)
        test_set_value(shape.dtype, field, v, v % 3 ? 1e20 : v % 2 ? 4e5 : (double)NAN);
      szgpu_params params = test_params(SZGPU_MODE_ABS, 1e-2);
      params.frame_rows = frames ? shape.dims[0] / 3 : 0;
      compare(params, shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

static void every_radius(void **state) {
  (void)state;
  static const uint32_t radii[] = {0, 2, 3, 16, 511, 512, 5000, 32767, 32768};
  for (size_t i = 0; i < ARRAY_COUNT(radii); i++)
    for (double bound = 1e-1; bound > 1e-9; bound *= 0.01) {
      szgpu_dtype const dtype = bound < 1e-5 ? SZGPU_F64 : SZGPU_F32;
      szgpu_shape const shape = test_shape(dtype, 2, 70, 101, 0, 0);
      if (cuda_is_quick() && (bound > 1e-2 || bound < 1e-4)) continue;
      void *const field = test_make_waves(&shape);
      szgpu_params params = test_params(SZGPU_MODE_REL, bound);
      params.radius = radii[i];
      compare(params, shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* ---- special values ---- */

static const double specials[] = {-0.0,   INFINITY, -INFINITY, 1e20,    -1e34,
                                  1e30,   -9999.0,  3e38,      -3.4e38, 1e-310,
                                  1e-40,  -1e-45,   FLT_MIN,   DBL_MIN, 9.969209968386869e36,
                                  12345.0};

static void special_values(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (uint64_t rarity = 1; rarity <= 1000; rarity *= 10)
      for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++) {
        if (cuda_is_quick() && mode != dtype) continue;
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 3, 17, 19, 37, 0);
        void *const field = test_make_waves(&shape);
        for (uint64_t i = 0; i < 17 * 19 * 37; i++)
          if (test_random_below(&random, rarity) == 0)
            test_set_value(shape.dtype, field, i,
                           specials[test_random_below(&random, ARRAY_COUNT(specials))]);
        szgpu_params params = test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 80.0 : 1e-3);
        compare(params, shape, field);
        params.has_fill = 1;
        params.fill = rarity == 10 ? (double)NAN : -9999.0;
        compare(params, shape, field);
        free(field);
      }
  cuda_assert_no_complaints();
}

/* Fields with coasts, for each known fill value and for one that the parameters name. */
static void fields_with_fill(void **state) {
  (void)state;
  static const double fills[] = {1e15,  1e20,   1e30,        1e35, 1e36, 9.969209968386869e36,
                                 -1e34, -9999., (double)NAN, 0.0};
  for (size_t i = 0; i < ARRAY_COUNT(fills); i += cuda_is_quick() ? 4 : 1)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 3, 20, 41, 70, 0);
      void *const field = test_make_waves(&shape);
      for (uint64_t v = 0; v < 20 * 41 * 70; v++)
        if ((v / 70 * 3 + v % 70) % 61 < 25) test_set_value(shape.dtype, field, v, fills[i]);
      szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
      compare(params, shape, field);
      params.has_fill = 1;
      params.fill = fills[i];
      params.frame_rows = 16;
      compare(params, shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

static void nan_payloads_and_tiles_of_nan(void **state) {
  (void)state;
  static const uint32_t payloads[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF,
                                      0x7FC12345, 0xFF812345, 0x7FFFFFFF};
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 30, 70, 0);
  uint64_t const count = test_value_count(&shape);
  uint32_t *const field = test_make_waves(&shape);
  for (uint64_t i = 0; i < count; i += 11) field[i] = payloads[i % ARRAY_COUNT(payloads)];
  compare(test_params(SZGPU_MODE_REL, 1e-3), shape, field);
  for (uint64_t i = 0; i < count / 2; i++) field[i] = payloads[test_hash(i) % 7];
  compare(test_params(SZGPU_MODE_REL, 1e-3), shape, field);
  for (uint64_t i = 0; i < count; i++) field[i] = payloads[0];
  compare(test_params(SZGPU_MODE_REL, 1e-3), shape, field);
  for (uint64_t i = 0; i < count; i++) field[i] = payloads[test_hash(i) % 7];
  compare(test_params(SZGPU_MODE_ABS, 1e-3), shape, field);
  free(field);
  cuda_assert_no_complaints();
}

/* ---- fields of one kind ---- */

static void constant_fields_and_fields_of_one_value(void **state) {
  (void)state;
  static const double constants[] = {0.0, -0.0, 1.5, -1e-40, 1e20, INFINITY, NAN, 3.4e38};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t i = 0; i < ARRAY_COUNT(constants); i++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 300, 101, 0, 0);
      uint64_t const count = test_value_count(&shape);
      szgpu_params params = test_params((szgpu_mode)(i % 3), 1e-3);
      params.frame_rows = i % 2 ? 64 : 0;
      void *const field = test_allocate(test_field_bytes(&shape));
      for (uint64_t v = 0; v < count; v++) test_set_value(shape.dtype, field, v, constants[i]);
      compare(params, shape, field);
      for (uint64_t v = 0; v < count; v += 1 + test_hash(v) % 200)
        test_set_value(shape.dtype, field, v, v % 2 ? 1e20 : (double)-INFINITY);
      compare(params, shape, field);
      compare(params, test_shape((szgpu_dtype)dtype, 4, 1, 1, 1, 1), field);
      free(field);
    }
  cuda_assert_no_complaints();
}

static void denormal_fields_and_tiny_bounds(void **state) {
  (void)state;
  static const double bounds[] = {0x1p-1074, 1e-310, 1e-46, 1e-39};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
    szgpu_shape const shape = line((szgpu_dtype)dtype, 6001);
    for (double bound = 0.5; bound > 1e-17; bound *= cuda_is_quick() ? 1e-6 : 1e-2)
      for (int scale = 0; scale < 3; scale++) {
        void *const field = test_make_waves(&shape);
        int const down = (dtype == SZGPU_F32 ? -149 : -1074) + 13 * scale;
        for (uint64_t i = 0; i < 6001; i++)
          test_set_value(shape.dtype, field, i, ldexp(test_value_at(shape.dtype, field, i), down));
        compare(test_params(SZGPU_MODE_REL, bound), shape, field);
        free(field);
      }
    for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
      void *const field = test_make_waves(&shape);
      compare(test_params(SZGPU_MODE_ABS, bounds[i]), shape, field);
      free(field);
    }
  }
  cuda_assert_no_complaints();
}

/* Values far from 0 with bounds near their spacing, which show any difference in rounding. */
static void offset_data(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 128, 128, 0, 0);
  for (double offset = 1.0; offset < 1e9; offset *= cuda_is_quick() ? 1e4 : 10.0)
    for (double bound = 1e-1; bound > 1e-8; bound *= cuda_is_quick() ? 1e-4 : 1e-1) {
      float *const field = test_make_waves(&shape);
      for (size_t i = 0; i < 128 * 128; i++) field[i] += (float)offset;
      compare(test_params(SZGPU_MODE_REL, bound), shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

static void ranges_that_overflow(void **state) {
  (void)state;
  szgpu_shape const shape = line(SZGPU_F64, 5000);
  double *const field = test_allocate(test_field_bytes(&shape));
  for (uint64_t i = 0; i < 5000; i++) field[i] = DBL_MAX * cos(0.01 * (double)i);
  for (double bound = 0.9; bound > 1e-13; bound *= cuda_is_quick() ? 1e-5 : 0.1)
    for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_ABS; mode++)
      compare(test_params((szgpu_mode)mode, mode == SZGPU_MODE_ABS ? bound * DBL_MAX : bound),
              shape, field);
  free(field);
  cuda_assert_no_complaints();
}

/* f64 fields with lattice points of 64 bits. */
static void wide_lattices(void **state) {
  (void)state;
  szgpu_shape const shapes[] = {test_shape(SZGPU_F64, 3, 33, 20, 70, 0), line(SZGPU_F64, 9001),
                                test_shape(SZGPU_F64, 2, 90, 131, 0, 0)};
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (double bound = 1e-9; bound > 1e-18; bound *= cuda_is_quick() ? 1e-4 : 0.1) {
      double *const field = test_make_waves(&shapes[s]);
      for (uint64_t i = 0; i < test_value_count(&shapes[s]); i += 777) field[i] *= 1e3;
      compare(test_params(SZGPU_MODE_ABS, bound), shapes[s], field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* ---- many outliers and escapes ---- */

static void any_share_of_outliers(void **state) {
  (void)state;
  static const uint64_t percents[] = {0, 1, 50, 99, 100};
  /* just beyond the lattice, far beyond it, and an escape */
  static const double wild[] = {3e9, 1.2345e20, 700.0};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t p = 0; p < ARRAY_COUNT(percents); p++)
      for (size_t w = 0; w < ARRAY_COUNT(wild); w++) {
        if (cuda_is_quick() && (p + w) % 2) continue;
        szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 3, 33, 25, 70, 0);
        void *const field = test_make_waves(&shape);
        for (uint64_t i = 0; i < 33 * 25 * 70; i++)
          if (test_hash(i + 1000) % 100 < percents[p])
            test_set_value(shape.dtype, field, i, wild[w] * (double)(1 + test_hash(i) % 1000));
        szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
        params.radius = 16;
        compare(params, shape, field);
        params.radius = 0;
        compare(params, shape, field);
        params.frame_rows = 16;
        compare(params, shape, field);
        free(field);
      }
  cuda_assert_no_complaints();
}

/* ---- histograms that are hard on the codebook ---- */

static void one_symbol(void **state) {
  (void)state;
  szgpu_shape const shape = line(SZGPU_F32, 100000);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (int i = 0; i < 100000; i++) field[i] = (float)(i % 2);
  compare(test_params(SZGPU_MODE_ABS, 10.0), shape, field);
  for (int i = 0; i < 100000; i++) field[i] = (float)(i % 4096) * 8.0f;
  compare(test_params(SZGPU_MODE_ABS, 4.0), shape, field);
  free(field);
  cuda_assert_no_complaints();
}

/* Deltas of n with probability 2^-n: codes of every length up to the longest, 16 bits in the linear
 * layout and 12 in the tile layout. */
static void geometric_histograms(void **state) {
  (void)state;
  uint64_t const count = cuda_is_quick() ? 1 << 16 : 1 << 20;
  szgpu_shape const shape = line(SZGPU_F32, count);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
  float *const field = test_allocate(test_field_bytes(&shape));
  float sum = 0.0f;
  for (uint64_t i = 0; i < count; i++) {
    int const zeros = __builtin_ctzll(test_hash(i) | UINT64_C(1) << 40);
    field[i] = sum += (float)(i % 2 ? zeros : -zeros);
  }
  compare(params, shape, field);
  params.radius = 512;
  compare(params, shape, field);
  free(field);
  cuda_assert_no_complaints();
}

/* All symbols of the largest book, about equally often: codes of 15 and 16 bits. In the tile
 * layout, deltas of every class. */
static void flat_histograms(void **state) {
  (void)state;
  szgpu_shape const shape = line(SZGPU_F32, 300007);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
  float *const field = test_allocate(test_field_bytes(&shape));
  for (uint64_t i = 0; i < 300007; i++) field[i] = (float)(test_hash(i) % 30000);
  compare(params, shape, field);
  params.radius = 32768;
  compare(params, shape, field);
  free(field);
  cuda_assert_no_complaints();
}

/* ---- choices of the tile layout ---- */

/* Just below and above the greatest magnitude that the 16-bit lattice takes. */
static void the_width_of_the_lattice(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 20, 30, 70, 0);
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (double greatest = 32700.0; greatest < 32800.0; greatest += cuda_is_quick() ? 33.0 : 3.0) {
      szgpu_shape typed = shape;
      typed.dtype = (szgpu_dtype)dtype;
      void *const field = test_make_waves(&typed);
      for (uint64_t i = 0; i < test_value_count(&typed); i++)
        test_set_value(typed.dtype, field, i,
                       test_value_at(typed.dtype, field, i) / 101.0 * greatest);
      test_set_value(typed.dtype, field, 77, greatest);
      test_set_value(typed.dtype, field, 99, -greatest);
      compare(test_params(SZGPU_MODE_ABS, 0.5), typed, field);
      test_set_value(typed.dtype, field, 500, 3e30); /* too large for the bound to mean anything */
      compare(test_params(SZGPU_MODE_ABS, 0.5), typed, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* Tiles of zeros only, raw tiles and all kinds between: the share of values that are not 0 rises
 * from tile to tile. */
static void tiles_from_empty_to_raw(void **state) {
  (void)state;
  szgpu_shape const shapes[] = {test_shape(SZGPU_F32, 3, 70, 60, 130, 0),
                                test_shape(SZGPU_F64, 2, 700, 500, 0, 0),
                                test_shape(SZGPU_F32, 1, 300001, 0, 0, 0)};
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (double scale = 1.0; scale < 1e10; scale *= cuda_is_quick() ? 1e6 : 1e3) {
      uint64_t const count = test_value_count(&shapes[s]);
      void *const field = test_make_waves(&shapes[s]);
      for (uint64_t i = 0; i < count; i++) {
        bool const is_zero = test_hash(i) % count > i;
        double const noise = ((double)(test_hash(i + count) % 2000001) - 1e6) * scale;
        test_set_value(shapes[s].dtype, field, i, is_zero ? 0.0 : noise);
      }
      compare(test_params(SZGPU_MODE_ABS, 0.5), shapes[s], field);
      for (uint64_t i = 0; i < count; i += 1 + test_hash(i) % 3000)
        test_set_value(shapes[s].dtype, field, i, i % 3 ? (double)NAN : 1e20);
      compare(test_params(SZGPU_MODE_ABS, 0.5), shapes[s], field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* ---- raw frames ---- */

static void noise(void **state) {
  (void)state;
  static const double bounds[] = {1e-30, 1e-5, 1.0, 1e30};
  for (size_t s = 0; s < test_awkward_shape_count; s += cuda_is_quick() ? 5 : 1)
    for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
      szgpu_shape const shape = test_awkward_shapes[s];
      void *const field = test_make_bits(&shape);
      szgpu_params params = test_params(SZGPU_MODE_ABS, bounds[i]);
      params.zstd_level = s % 4 == 0 ? 3 : 0;
      compare(params, shape, field);
      free(field);
    }
  cuda_assert_no_complaints();
}

/* One archive with frames that are coded, constant and raw, with zstd and without. */
static void frames_of_every_kind(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 80, 30, 40, 0);
  size_t const frame_values = (size_t)16 * 30 * 40;
  float *const field = test_make_waves(&shape);
  uint32_t *const bits = test_make_bits(&shape);
  for (size_t i = 0; i < frame_values; i++) field[frame_values + i] = 2.5f;
  memcpy(field + 2 * frame_values, bits, 4 * frame_values);
  for (size_t i = 0; i < frame_values; i++) field[3 * frame_values + i] = i % 9 ? 1e20f : 2.5f;
  for (int level = 0; level <= 3; level += 3) {
    szgpu_params params = test_params(SZGPU_MODE_ABS, 1e-3);
    params.frame_rows = 16;
    params.zstd_level = level;
    compare(params, shape, field);
  }
  free(bits);
  free(field);
  cuda_assert_no_complaints();
}

/* ---- previews ---- */

/* They are restored on the CPU; what is in memory of the GPU goes through the host's. */
static void previews_come_from_and_go_to_any_memory(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 44, 60, 0);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.05);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  void *const field = test_make_waves(&shape);
  test_archive const archive = test_compress(cuda_cpu, &params, &shape, field);
  static float expected[20 * 22 * 30], found[20 * 22 * 30];
  szgpu_ctx *const gpu = cuda_gpus[0];
  assert_int_equal(szgpu_decompress_level(cuda_cpu, archive.bytes, archive.byte_count, 1, expected,
                                          sizeof expected),
                   SZGPU_OK);
  void *const device_archive = cuda_copy_of(archive.bytes, archive.byte_count);
  memset(found, 0xA5, sizeof found);
  void *const device_field = cuda_copy_of(found, sizeof found);
  for (int place = 0; place < 4; place++) {
    const void *const from = place & 1 ? device_archive : archive.bytes;
    void *const to = place & 2 ? device_field : (void *)found;
    memset(found, 0xA5, sizeof found);
    szgpu_status const status =
        szgpu_decompress_level(gpu, from, archive.byte_count, 1, to, sizeof found);
    if (status != SZGPU_OK) fail_msg("place %d: %d, %s", place, status, szgpu_last_error(gpu));
    void *const back = place & 2 ? cuda_host_copy_of(device_field, sizeof found) : NULL;
    assert_memory_equal(back ? back : found, expected, sizeof found);
    free(back);
  }
  assert_int_equal(
      szgpu_decompress_level(gpu, device_archive, archive.byte_count - 1, 1, found, sizeof found),
      SZGPU_TRUNCATED);
  assert_int_equal(szgpu_decompress_level(gpu, device_archive, archive.byte_count, 1, device_field,
                                          sizeof found - 4),
                   SZGPU_BAD_ARGUMENT);
  cuda_release(device_field);
  cuda_release(device_archive);
  free(archive.bytes);
  free(field);
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_in_every_mode),
      cmocka_unit_test(every_length),
      cmocka_unit_test(large_fields),
      cmocka_unit_test(every_radius),
      cmocka_unit_test(special_values),
      cmocka_unit_test(fields_with_fill),
      cmocka_unit_test(nan_payloads_and_tiles_of_nan),
      cmocka_unit_test(constant_fields_and_fields_of_one_value),
      cmocka_unit_test(denormal_fields_and_tiny_bounds),
      cmocka_unit_test(offset_data),
      cmocka_unit_test(ranges_that_overflow),
      cmocka_unit_test(wide_lattices),
      cmocka_unit_test(any_share_of_outliers),
      cmocka_unit_test(one_symbol),
      cmocka_unit_test(geometric_histograms),
      cmocka_unit_test(flat_histograms),
      cmocka_unit_test(the_width_of_the_lattice),
      cmocka_unit_test(tiles_from_empty_to_raw),
      cmocka_unit_test(noise),
      cmocka_unit_test(frames_of_every_kind),
      cmocka_unit_test(previews_come_from_and_go_to_any_memory),
  };
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
