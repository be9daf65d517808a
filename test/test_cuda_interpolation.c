/* test_cuda_interpolation.c - levels frames: the GPU writes the CPU's archives, restores its bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_cuda_backend.c has the same claims for all other kinds of frame, and slabs, damage, places
 * of field and archive are in the tests beside it, each with levels frames too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"

/* ---- fields ---- */

typedef struct place {
  uint64_t at[4]; /* by dim */
} place;

static place place_of(const szgpu_shape *shape, uint64_t i) {
  place p = {{0}};
  for (int d = shape->ndim - 1; d >= 0; d--) {
    p.at[d] = i % shape->dims[d];
    i /= shape->dims[d];
  }
  return p;
}

/* Waves so long that interpolation from coarse grids is good, between -101 and 101; `noise` times a
 * number below 1 is added. */
static void *make_smooth(const szgpu_shape *shape, double noise) {
  static const double frequencies[] = {0.031, 0.023, 0.041, 0.017};
  void *const field = test_allocate(test_field_bytes(shape));
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    place const p = place_of(shape, i);
    double value = 0.0;
    for (int d = 0; d < shape->ndim; d++)
      value += sin(frequencies[d] * (double)p.at[d] + 0.3 * value);
    double const share = (double)(test_hash(i) % 1000001) / 1e6 - 0.5;
    test_set_value(shape->dtype, field, i, 25.0 * value + noise * share);
  }
  return field;
}

/* How many frames of the CPU's archive are levels frames. */
static uint64_t count_levels_frames(const cuda_case *c) {
  test_archive archive = test_compress(cuda_cpu, &c->params, &c->shape, c->field);
  uint64_t const frame_count = test_inspect(&archive).frame_count;
  uint64_t count = 0;
  for (uint64_t i = 0; i < frame_count; i++) {
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, i, 1, &frame),
                     SZGPU_OK);
    count += strcmp(frame.kind, "levels") == 0;
  }
  free(archive.bytes);
  return count;
}

static uint64_t levels_frames; /* of all cases so far */

/* Compares with either predictor that may give levels frames. */
static void compare(szgpu_params params, szgpu_shape shape, const void *field) {
  cuda_case c = {params, shape, field};
  c.params.layout = SZGPU_LAYOUT_TILE;
  c.params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  cuda_compare(&c);
  levels_frames += count_levels_frames(&c);
  c.params.predictor = SZGPU_PREDICTOR_AUTO;
  cuda_compare(&c);
}

static void assert_that_levels_frames_were_met(void) {
  cuda_assert_no_complaints();
  assert_true(levels_frames > 0);
  levels_frames = 0;
}

/* ---- shapes, types, bounds ---- */

static const double bounds[] = {3e-1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-13};

static void awkward_shapes(void **state) {
  (void)state;
  size_t const step = cuda_is_quick() ? 13 : 1;
  size_t number = 0;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
      for (size_t b = 0; b < ARRAY_COUNT(bounds); b++) {
        if (number++ % step) continue;
        szgpu_shape shape = test_awkward_shapes[s];
        shape.dtype = (szgpu_dtype)dtype;
        void *const field = number % 2 ? make_smooth(&shape, 0.0) : test_make_waves(&shape);
        szgpu_params params = test_params(SZGPU_MODE_REL, bounds[b]);
        params.frame_rows = b % 3 == 0 ? 1 : 0;
        params.zstd_level = b == 1 ? 3 : 0;
        compare(params, shape, field);
        free(field);
      }
  assert_that_levels_frames_were_met();
}

/* Extents around those of tiles and grids: some tiles are full, others have one point along an
 * axis, and the coarsest grids have one or a few points. */
static void extents_around_those_of_tiles(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {2}},
                                       {SZGPU_F32, 1, {33}},
                                       {SZGPU_F64, 1, {4097}},
                                       {SZGPU_F32, 1, {8192}},
                                       {SZGPU_F64, 1, {12289}},
                                       {SZGPU_F32, 2, {2, 2}},
                                       {SZGPU_F32, 2, {64, 64}},
                                       {SZGPU_F64, 2, {65, 129}},
                                       {SZGPU_F32, 2, {128, 191}},
                                       {SZGPU_F64, 2, {3, 1000}},
                                       {SZGPU_F32, 2, {1000, 3}},
                                       {SZGPU_F32, 3, {2, 2, 2}},
                                       {SZGPU_F64, 3, {17, 9, 65}},
                                       {SZGPU_F32, 3, {16, 8, 64}},
                                       {SZGPU_F64, 3, {33, 17, 129}},
                                       {SZGPU_F32, 3, {64, 64, 128}},
                                       {SZGPU_F32, 3, {5, 100, 100}},
                                       {SZGPU_F64, 3, {100, 5, 7}},
                                       {SZGPU_F32, 4, {3, 9, 17, 33}},
                                       {SZGPU_F64, 4, {7, 2, 30, 40}},
                                       {SZGPU_F32, 4, {40, 2, 2, 2}},
                                       {SZGPU_F64, 4, {2, 33, 34, 35}}};
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (size_t b = s % 2; b < ARRAY_COUNT(bounds); b += cuda_is_quick() ? 5 : 2) {
      void *const field = make_smooth(&shapes[s], b % 3 == 0 ? 0.1 : 0.0);
      compare(test_params(SZGPU_MODE_ABS, 200.0 * bounds[b]), shapes[s], field);
      free(field);
    }
  assert_that_levels_frames_were_met();
}

/* More tiles than are counted for books, several frames, every kind of grid. */
static void large_fields(void **state) {
  (void)state;
  szgpu_shape const shapes[] = {
      test_shape(SZGPU_F32, 3, 310, 170, 330, 0), test_shape(SZGPU_F64, 2, 1500, 2100, 0, 0),
      test_shape(SZGPU_F32, 1, 5000011, 0, 0, 0), test_shape(SZGPU_F64, 4, 9, 65, 66, 67),
      test_shape(SZGPU_F32, 2, 3000, 3001, 0, 0)};
  for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
    for (uint64_t frames = 0; frames < 2; frames++) {
      szgpu_shape shape = shapes[i];
      if (cuda_is_quick()) shape.dims[0] /= 9;
      void *const field = make_smooth(&shape, 0.02);
      szgpu_params params = test_params(SZGPU_MODE_ABS, frames ? 1e-5 : 1e-2);
      params.frame_rows = frames ? shape.dims[0] / 3 : 0;
      compare(params, shape, field);
      for (uint64_t v = 0; v < test_value_count(&shape); v += 1 + test_hash(v) % 4000)
        test_set_value(shape.dtype, field, v, v % 3 ? 1e20 : v % 2 ? 4e5 : (double)NAN);
      compare(params, shape, field);
      free(field);
    }
  assert_that_levels_frames_were_met();
}

/* ---- stages of zeros, sparse stages, stages of noise ---- */

/* From a field that is a plane, of which fine levels have no codes, to one that is noise, of which
 * the next kind makes a frame. */
static void from_a_plane_to_noise(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_F32, 3, {40, 50, 140}},
                                       {SZGPU_F64, 2, {300, 270}},
                                       {SZGPU_F32, 1, {70001}},
                                       {SZGPU_F32, 4, {3, 20, 30, 70}}};
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (double noise = 1e-4; noise < 1e9; noise *= cuda_is_quick() ? 1e5 : 20.0) {
      szgpu_shape const *const shape = &shapes[s];
      void *const field = test_allocate(test_field_bytes(shape));
      for (uint64_t i = 0; i < test_value_count(shape); i++) {
        place const p = place_of(shape, i);
        double const share = (double)(test_hash(i) % 2000001) / 1e6 - 1.0;
        bool const is_noisy = noise > 1.0 || test_hash(i ^ 77) % 300 == 0;
        test_set_value(shape->dtype, field, i,
                       0.5 * (double)(p.at[0] + p.at[1]) - 0.25 * (double)p.at[2] +
                           (is_noisy ? noise * share : 0.0));
      }
      compare(test_params(SZGPU_MODE_ABS, 1e-2), *shape, field);
      free(field);
    }
  assert_that_levels_frames_were_met();
}

/* ---- exact and fill values ---- */

/* Sparse and dense ones, whole tiles of them, and fields of nothing else but a few values. */
static void exact_and_fill_values(void **state) {
  (void)state;
  static const uint64_t percents[] = {0, 1, 30, 90, 99};
  static const szgpu_shape shapes[] = {{SZGPU_F32, 3, {33, 25, 140}},
                                       {SZGPU_F64, 3, {20, 41, 70}},
                                       {SZGPU_F32, 2, {200, 130}},
                                       {SZGPU_F64, 1, {30011}},
                                       {SZGPU_F32, 4, {5, 17, 20, 33}}};
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (size_t p = 0; p < ARRAY_COUNT(percents); p++)
      for (int kind = 0; kind < 3; kind++) { /* exact, fill, both and a coast */
        if (cuda_is_quick() && (s + p + (size_t)kind) % 4) continue;
        szgpu_shape const *const shape = &shapes[s];
        void *const field = make_smooth(shape, 0.0);
        for (uint64_t i = 0; i < test_value_count(shape); i++) {
          bool const is_one = test_hash(i + 1000) % 100 < percents[p];
          bool const is_land = kind == 2 && i / 100 % 7 < 3;
          if (is_one && kind != 1)
            test_set_value(shape->dtype, field, i, i % 3 ? (double)INFINITY : 3e9 + (double)i);
          if (is_land || (is_one && kind == 1)) test_set_value(shape->dtype, field, i, -9999.0);
        }
        szgpu_params params = test_params(SZGPU_MODE_ABS, 1e-3);
        if (kind) params.has_fill = 1, params.fill = -9999.0;
        params.frame_rows = p % 2 ? 16 : 0;
        compare(params, *shape, field);
        free(field);
      }
  assert_that_levels_frames_were_met();
}

/* ---- lines that repeat themselves ---- */

/* Folded into rows, the last of which is not full. */
static void lines_with_a_period(void **state) {
  (void)state;
  static const uint64_t periods[] = {64, 97, 500, 4096, 5001};
  for (size_t i = 0; i < ARRAY_COUNT(periods); i++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, 200003, 0, 0, 0);
      void *const field = test_allocate(test_field_bytes(&shape));
      for (uint64_t v = 0; v < 200003; v++) {
        double const x = (double)(v % periods[i]), y = (double)(v / periods[i]);
        test_set_value(shape.dtype, field, v, 50.0 * sin(0.05 * x) * cos(0.03 * y));
      }
      szgpu_params params = test_params(SZGPU_MODE_REL, i % 2 ? 1e-3 : 1e-5);
      compare(params, shape, field);
      for (uint64_t v = 0; v < 200003; v += 1 + test_hash(v) % 900)
        test_set_value(shape.dtype, field, v, v % 2 ? 1e20 : (double)INFINITY);
      params.frame_rows = 70000;
      compare(params, shape, field);
      free(field);
    }
  assert_that_levels_frames_were_met();
}

/* ---- frames that are not written ---- */

/* Boxes so thin that most places of their tiles do not exist. */
static void thin_boxes_are_left_to_the_next_kind(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 4, 20000, 2, 3, 2);
  void *const field = make_smooth(&shape, 0.0);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 1e-3);
  size_t bytes;
  compare(params, shape, field);
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  assert_int_equal(szgpu_sizes(cuda_gpus[0], &params, &shape, &bytes, NULL), SZGPU_OK);
  assert_in_range(bytes, 1, (size_t)1 << 26);
  free(field);
  cuda_assert_no_complaints();
}

/* ---- memory ---- */

/* 8 bytes for each place of the last stage, which has fewer than values if few tiles are cut off,
 * and for each point of the grids before it; the coder takes a fraction of that. */
static void memory_follows_from_the_shape(void **state) {
  (void)state;
  static const struct {
    szgpu_shape shape;
    double most; /* bytes of a value */
  } cases[] = {{{SZGPU_F32, 3, {512, 512, 512}}, 14.0},
               {{SZGPU_F64, 2, {8192, 8192}}, 14.0},
               {{SZGPU_F32, 1, {100000000}}, 26.0}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
    size_t with_levels, without;
    params.layout = SZGPU_LAYOUT_TILE;
    params.predictor = SZGPU_PREDICTOR_AUTO;
    assert_int_equal(szgpu_sizes(cuda_gpus[0], &params, &cases[i].shape, &with_levels, NULL), 0);
    params.predictor = SZGPU_PREDICTOR_LORENZO;
    assert_int_equal(szgpu_sizes(cuda_gpus[0], &params, &cases[i].shape, &without, NULL), 0);
    double const values = (double)test_value_count(&cases[i].shape);
    assert_true(without < with_levels);
    if ((double)with_levels > cases[i].most * values)
      fail_msg("case %zu: %.2f bytes a value", i, (double)with_levels / values);
  }
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(awkward_shapes),
      cmocka_unit_test(extents_around_those_of_tiles),
      cmocka_unit_test(large_fields),
      cmocka_unit_test(from_a_plane_to_noise),
      cmocka_unit_test(exact_and_fill_values),
      cmocka_unit_test(lines_with_a_period),
      cmocka_unit_test(thin_boxes_are_left_to_the_next_kind),
      cmocka_unit_test(memory_follows_from_the_shape),
  };
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
