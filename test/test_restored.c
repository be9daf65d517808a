/* test_restored.c - the lattice of SZGPU_KEEP_RESTORED, and how restored values are found.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/interpolation/levels_lattice.h"
#include "ctxs.h"
#include "memory_streams.h"
#include "quant/restored.h"
#include "quant/restored_core.h"

static szgpu_params keeping(double bound, szgpu_predictor predictor) {
  szgpu_params params = test_params(SZGPU_MODE_ABS, bound);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = predictor;
  params.keep = SZGPU_KEEP_RESTORED;
  return params;
}

/* The step of the archive. */
static double step_of(const szgpu_params *params, const szgpu_shape *shape, const void *field) {
  szgpu_info info = {.struct_bytes = sizeof info};
  assert_int_equal(szgpu_foresee(ctx, params, shape, field, &info), SZGPU_OK);
  return info.step;
}

/* The coarse step of a bound. */
static double coarse_step(szgpu_dtype dtype, double bound) {
  szgpu_shape const shape = test_shape(dtype, 1, 100, 0, 0, 0);
  void *const field = test_make_bits(&shape); /* no lattice */
  for (uint64_t i = 0; i < 100; i++)
    test_set_value(dtype, field, i,
                   (double)(i % 7) * bound * (dtype <= SZGPU_F64 ? 3.14 : 0) +
                       (dtype <= SZGPU_F64 ? 0 : (double)i));
  szgpu_params const params = keeping(bound, SZGPU_PREDICTOR_LORENZO);
  double const step = step_of(&params, &shape, field);
  free(field);
  return step;
}

static szg_restored_look look_at(szgpu_dtype dtype, double fine, uint64_t value_count) {
  bool const is_f32 = dtype == SZGPU_F32;
  return (szg_restored_look){.half = fine / 2,
                             .inverse = 2 / fine,
                             .half_f32 = (float)(fine / 2),
                             .inverse_f32 = (float)(2 / fine),
                             .exponent = ilogb(fine) + (is_f32 ? 127 + 23 : 1023 + 52),
                             .least_evidence = is_f32 ? 1 : 4,
                             .needed = 30,
                             .frame_values = value_count,
                             .line_values = value_count};
}

/* What the fine point restores. */
static double restored(szgpu_dtype dtype, double halves, double fine) {
  return dtype == SZGPU_F32 ? (double)(float)(halves * (fine / 2)) : halves * (fine / 2);
}

/* ---- the lattice ---- */

static void the_step_depends_on_the_bound_and_the_type_alone(void **state) {
  (void)state;
  static const szgpu_dtype dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_BF16, SZGPU_I16};
  szgpu_shape shape = test_shape(SZGPU_F32, 2, 50, 40, 0, 0);
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++)
    for (double bound = 1e-3; bound < 100; bound *= 3.7) {
      shape.dtype = dtypes[t];
      void *const field = test_make_waves(&(szgpu_shape){SZGPU_F64, 2, {50, 40, 0, 0}});
      void *const values = test_allocate(2000 * sizeof(double));
      double const expected = coarse_step(shape.dtype, bound);
      for (double scale = 1; scale < 1000; scale *= 7)
        for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
          for (uint64_t i = 0; i < 2000; i++)
            test_set_value(
                shape.dtype, values, i,
                rint(((double *)field)[i] * scale / 6) + (t < 2 ? 0.1 * ((double)i / 2) : 0));
          szgpu_params params = keeping(bound, (szgpu_predictor)p);
          assert_true(step_of(&params, &shape, values) == expected);
          params.greatest = 1e4;
          assert_true(step_of(&params, &shape, values) == expected);
          if (p != SZGPU_PREDICTOR_LORENZO) continue;
          params.layout = SZGPU_LAYOUT_LINEAR;
          assert_true(step_of(&params, &shape, values) == expected);
        }
      free(values);
      free(field);
    }
}

static void steps_leave_a_margin_and_few_bits(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (double bound = 1e-20; bound < 1e20; bound *= 1.37) {
      double const margin = dtype == SZGPU_F32 ? 0x1p-7 : 0x1p-16;
      double const coarse = coarse_step((szgpu_dtype)dtype, bound), fine = coarse / 129;
      int const bits = dtype == SZGPU_F32 ? 16 : 45;
      assert_true(coarse <= 2 * bound * (1 - margin));
      assert_true(coarse > 2 * bound * (1 - margin) * (1 - ldexp(1, 3 - bits)));
      assert_true(fine * 129 == coarse); /* exact, like the division */
      double const units = scalbn(fine, bits - 1 - ilogb(fine));
      assert_true(units == rint(units) && fmod(units, 2) == 1);
    }
}

static void coarse_points_are_fine_points_to_the_bit(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int i = 0; i < 200; i++) {
      double const bound = pow(10, 40 * test_random_unit(&random) - 20);
      double const step = coarse_step((szgpu_dtype)dtype, bound);
      szg_levels_lattice const fine = szg_levels_lattice_make(
          (szgpu_dtype)dtype, false, SZG_RESTORED_FINE_BITS, step, false, 0);
      assert_true(fine.fine * 129 == step);
      uint32_t const first = dtype == SZGPU_F32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64;
      szg_quantizer const k = szg_quantizer_make(first, bound, step, false, 0);
      szg_quantizer const close =
          szg_quantizer_make(SZG_ARITHMETIC_F32_CLOSE, bound, step, false, 0);
      for (int j = 0; j < 100; j++) {
        int32_t const q = (int32_t)test_random_below(&random, 64000) - 32000;
        if (dtype == SZGPU_F32) {
          float const value = szg_levels_value_f32(&fine, 129 * q);
          assert_true(szg_restore_f32(&k, q) == value);
          assert_true(szg_restore_f32_close(&close, q) == value);
          assert_true(szg_levels_value_f32_wide(&fine, 129 * (int64_t)q) == value);
        } else {
          assert_true(szg_restore_f64(&k, q) == szg_levels_value_f64(&fine, 129 * q));
        }
      }
    }
}

/* ---- notes of values ---- */

static void assert_note(szgpu_dtype dtype, const szg_restored_look *look, double x) {
  double const fine = 2 * look->half;
  bool const is_f32 = dtype == SZGPU_F32;
  double const magnitude = fabs(x);
  double const ulp = is_f32 ? nextafterf((float)magnitude, INFINITY) - (float)magnitude
                            : nextafter(magnitude, INFINITY) - magnitude;
  int evidence = 0, kind = 0;
  if (magnitude >= (is_f32 ? FLT_MIN : DBL_MIN) && isfinite(ulp))
    evidence = ilogb(fine) - ilogb(ulp);
  if (evidence < (is_f32 ? 1 : 4)) evidence = 0;
  if (evidence > 31) evidence = 31;
  double const near = evidence ? rint(x / look->half) : 0;
  for (double halves = near - 4; evidence && halves <= near + 4; halves++)
    if (restored(dtype, halves, fine) == x)
      kind = fmod(halves, 2) != 0 ? SZG_RESTORED_CONTROL
             : fmod(halves, 258)  ? SZG_RESTORED_FINE
                                  : SZG_RESTORED_COARSE;
  int32_t const note =
      is_f32 ? szg_restored_note_f32(look, (float)x) : szg_restored_note_f64(look, x);
  if (note != (evidence | kind))
    printf("%a, fine step %a: %d, not %d\n", x, fine, note, evidence | kind);
  assert_int_equal(note, evidence | kind);
}

static void notes_tell_how_values_lie(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int type = SZGPU_F32; type <= SZGPU_F64; type++) {
    szgpu_dtype const dtype = (szgpu_dtype)type;
    double const most_bits = dtype == SZGPU_F32 ? 24 : 50;
    for (int i = 0; i < 300; i++) {
      double const fine = coarse_step(dtype, pow(10, 30 * test_random_unit(&random) - 15)) / 129;
      szg_restored_look const look = look_at(dtype, fine, 1);
      for (int j = 0; j < 300; j++) {
        double const size = exp2(most_bits * test_random_unit(&random));
        double const halves = rint((2 * test_random_unit(&random) - 1) * size);
        double const point = restored(dtype, halves, fine);
        float const point_f32 = (float)point;
        assert_note(dtype, &look, point);
        assert_note(dtype, &look, restored(dtype, rint(halves / 258) * 258, fine));
        assert_note(dtype, &look,
                    dtype == SZGPU_F32 ? (double)nextafterf(point_f32, INFINITY)
                                       : nextafter(point, INFINITY));
        assert_note(dtype, &look,
                    dtype == SZGPU_F32 ? (double)nextafterf(point_f32, -INFINITY)
                                       : nextafter(point, -INFINITY));
        double const any = fine * size * test_random_unit(&random);
        assert_note(dtype, &look, dtype == SZGPU_F32 ? (double)(float)any : any);
      }
      static const double special[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-310, FLT_MAX};
      for (size_t j = 0; j < ARRAY_COUNT(special); j++) assert_note(dtype, &look, special[j]);
    }
  }
}

static void a_fill_value_says_nothing(void **state) {
  (void)state;
  szg_restored_look look = look_at(SZGPU_F32, 1.5, 1);
  assert_true(szg_restored_note_f32(&look, 3.0f) & SZG_RESTORED_FINE);
  look.has_fill = true;
  look.fill_bits = szg_bits_f32(3.0f);
  assert_int_equal(szg_restored_note_f32(&look, 3.0f), 0);
  assert_true(szg_restored_note_f32(&look, 6.0f) & SZG_RESTORED_FINE);
}

static void runs_pass_over_what_says_nothing(void **state) {
  (void)state;
  typedef struct step {
    int32_t note, is_same;
    szg_restored_run then;
  } step;
  static const step steps[] = {
      {5 | SZG_RESTORED_FINE, 0, {5, 0}},
      {0, 0, {5, 0}},
      {4 | SZG_RESTORED_FINE, 0, {9, 0}},
      {4 | SZG_RESTORED_FINE, 1, {9, 0}},
      {4 | SZG_RESTORED_COARSE, 0, {9, 11}},
      {3 | SZG_RESTORED_COARSE, 0, {9, 21}},
      {3 | SZG_RESTORED_COARSE, 1, {9, 21}},
      {2 | SZG_RESTORED_FINE, 0, {11, 0}},
      {9, 0, {0, 0}},
      {9, 1, {0, 0}},
      {6 | SZG_RESTORED_COARSE, 0, {0, 13}},
      {6 | SZG_RESTORED_CONTROL, 0, {0, 0}},
  };
  szg_restored_run run = {0, 0};
  for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
    run = szg_restored_extend(run, steps[i].note, steps[i].is_same);
    assert_int_equal(run.fine, steps[i].then.fine);
    assert_int_equal(run.coarse, steps[i].then.coarse);
  }
}

/* So that szg_restored_settle never takes a few values for many. */
static void marks_count_values_that_differ(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int too_many = 0;
  for (int round = 0; round < 200; round++) {
    uint32_t const first = (uint32_t)test_random_bits(&random);
    uint32_t const stride = (uint32_t)test_random_bits(&random) >> test_random_below(&random, 32);
    uint32_t marks = 0, count = 0;
    for (uint32_t least = 1; least < 1 << 12; least *= 2) {
      for (; count < least; count++) marks |= szg_restored_mark(first + count * (stride | 1));
      too_many += ldexp(1, __builtin_popcount(marks) - 3) > count;
      assert_true(ldexp(1, __builtin_popcount(marks) + 3) > count);
    }
  }
  assert_in_range(too_many, 0, 200 * 12 / 50);
}

/* ---- looking at values ---- */

/* The same as szg_restored_find_cpu, one value after the other. */
static szg_restored_found find_slowly(szgpu_dtype dtype, const void *values, uint64_t value_count,
                                      const szg_restored_look *look) {
  szg_restored_found found = {0};
  uint64_t const lines = look->line_values, width = test_dtype_bytes(dtype);
  szg_restored_run *const columns = test_allocate(lines * sizeof *columns);
  for (uint64_t first = 0; first < value_count; first += look->frame_values) {
    const uint8_t *const frame = (const uint8_t *)values + first * width;
    uint64_t const left = value_count - first;
    uint64_t const count = left < look->frame_values ? left : look->frame_values;
    szg_restored_run run = {0, 0};
    for (uint64_t i = 0; i < count; i++) {
      uint64_t const line = i / lines, column = i % lines, bits = test_bits_at(dtype, frame, i);
      bool const repeats = i > 0 && test_bits_at(dtype, frame, i - 1) == bits;
      bool const is_below = i >= lines && test_bits_at(dtype, frame, i - lines) == bits;
      int32_t const note = dtype == SZGPU_F32
                               ? szg_restored_note_f32(look, ((const float *)frame)[i])
                               : szg_restored_note_f64(look, ((const double *)frame)[i]);
      int32_t const own = note & SZG_RESTORED_EVIDENCE, kind = note & SZG_RESTORED_KIND;
      if (column % SZG_RESTORED_PATCH == 0) run = (szg_restored_run){0, 0};
      if (line % SZG_RESTORED_PATCH == 0) columns[column] = (szg_restored_run){0, 0};
      run = szg_restored_extend(run, note, repeats);
      columns[column] = szg_restored_extend(columns[column], note, is_below);
      szg_restored_run const *const both[] = {&run, &columns[column]};
      for (int k = 0; k < 2; k++) {
        if (both[k]->fine >= (int32_t)look->needed) found.runs |= SZG_RESTORED_HAS_FINE_RUN;
        if (both[k]->coarse >= (int32_t)look->needed) found.runs |= SZG_RESTORED_HAS_COARSE_RUN;
      }
      found.all += own > 0;
      found.all_fine += kind == SZG_RESTORED_FINE && own >= SZG_RESTORED_ALONE;
      found.all_coarse +=
          kind == SZG_RESTORED_COARSE && own + SZG_RESTORED_COARSE_EVIDENCE >= SZG_RESTORED_ALONE;
      if (own == 0 || repeats) continue;
      uint32_t const mark =
          szg_restored_mark(dtype == SZGPU_F32 ? (uint32_t)bits : (uint32_t)(bits ^ bits >> 32));
      found.counted++;
      found.fine += kind == SZG_RESTORED_FINE;
      found.coarse += kind == SZG_RESTORED_COARSE;
      found.control += kind == SZG_RESTORED_CONTROL;
      if (kind == SZG_RESTORED_FINE) found.fine_marks |= mark;
      if (kind == SZG_RESTORED_COARSE) found.coarse_marks |= mark;
    }
    uint64_t const rest = szg_restored_rest(count);
    bool is_rest = rest > 0;
    for (uint64_t i = count - rest; i < count; i++)
      is_rest &= test_bits_at(dtype, frame, i) == test_bits_at(dtype, frame, count - 1);
    if (is_rest && first + count == value_count) found.runs |= SZG_RESTORED_HAS_REST;
  }
  free(columns);
  return found;
}

/* Values of every kind, in stretches, some of them repeated. */
static double any_value(test_random *random, szgpu_dtype dtype, double fine, int kind,
                        double before) {
  double const size = exp2(20 * test_random_unit(random));
  double const halves = rint((2 * test_random_unit(random) - 1) * size);
  if (test_random_below(random, 5) == 0) return before;
  switch (kind) {
    case 0:
      return restored(dtype, 2 * halves, fine);
    case 1:
      return restored(dtype, 258 * rint(halves / 258), fine);
    case 2:
      return restored(dtype, halves, fine);
    case 3:
      return test_random_below(random, 2) ? 0 : NAN;
    default:
      return fine * size * (test_random_unit(random) - 0.5);
  }
}

static void assert_found(const szg_restored_found *found, const szg_restored_found *expected) {
  assert_int_equal(found->counted, expected->counted);
  assert_int_equal(found->fine, expected->fine);
  assert_int_equal(found->coarse, expected->coarse);
  assert_int_equal(found->control, expected->control);
  assert_int_equal(found->fine_marks, expected->fine_marks);
  assert_int_equal(found->coarse_marks, expected->coarse_marks);
  assert_int_equal(found->all, expected->all);
  assert_int_equal(found->all_fine, expected->all_fine);
  assert_int_equal(found->all_coarse, expected->all_coarse);
  assert_int_equal(found->runs, expected->runs);
}

static void all_values_are_looked_at(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 63, 64, 65, 257, 4096, 6151, 20011};
  static const uint64_t lines[] = {64, 65, 100, 127, 192, 5000, UINT64_MAX};
  test_random random = test_random_begin();
  szg_threads one = {.count = 1}, three = {.count = 3};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t c = 0; c < ARRAY_COUNT(counts); c++)
      for (size_t l = 0; l < ARRAY_COUNT(lines); l++)
        for (int is_cut = 0; is_cut < 2; is_cut++) {
          uint64_t const count = counts[c];
          szg_restored_look look = look_at((szgpu_dtype)dtype, 0x1.2345p-7, count);
          if (lines[l] < count) look.line_values = lines[l];
          if (is_cut) look.frame_values = 1 + count / 3;
          look.needed = 8 + (uint32_t)test_random_below(&random, 60);
          void *const values = test_allocate(count * sizeof(double));
          double value = 1;
          int kind = 0;
          for (uint64_t i = 0; i < count; i++) {
            if (test_random_below(&random, 30) == 0) kind = (int)test_random_below(&random, 5);
            value = any_value(&random, (szgpu_dtype)dtype, 0x1.2345p-7, kind, value);
            test_set_value((szgpu_dtype)dtype, values, i, value);
          }
          if (test_random_below(&random, 2)) /* a rest, or nearly */
            for (uint64_t i = count - count / (30 + test_random_below(&random, 5)); i < count; i++)
              test_set_value((szgpu_dtype)dtype, values, i, 5);
          szg_restored_found const expected = find_slowly((szgpu_dtype)dtype, values, count, &look);
          szg_threads *const threads[] = {&one, &three};
          for (int t = 0; t < 2; t++) {
            szg_value_source const source =
                szg_value_source_cpu(threads[t], (szgpu_dtype)dtype, values, count);
            szg_restored_found found;
            assert_int_equal(source.find_restored(&source, &look, &found), SZGPU_OK);
            assert_found(&found, &expected);
          }
          free(values);
        }
}

/* ---- what follows from it ---- */

/* Values on no lattice, of which some in a row are set to fine or coarse points. */
typedef struct planted {
  szgpu_shape shape;
  double bound;
  uint64_t first, stride;
  int count, multiple; /* of the fine step */
  bool has_fill;       /* a named fill value behind each of them, which ends no run */
} planted;

#define FILL (-63.125)

static float *make_planted(const planted *p, double fine) {
  float *const values = test_make_waves(&p->shape);
  for (uint64_t i = 0; i < test_value_count(&p->shape); i++) { /* none is a point */
    double halves;
    do values[i] = nextafterf(values[i], INFINITY);
    while ((halves = rint(values[i] / (fine / 2)), restored(SZGPU_F32, halves, fine) == values[i]));
  }
  for (int k = 0; k < p->count; k++) /* differ, and have one exponent: magnitudes from 64 to 100 */
    values[p->first + (uint64_t)k * p->stride] =
        (float)(rint(80 / fine / p->multiple + k) * p->multiple * fine);
  for (int k = 0; p->has_fill && k < p->count; k++)
    values[p->first + (uint64_t)k * p->stride + 1] = (float)FILL;
  return values;
}

static bool is_taken(const planted *p) {
  double const coarse = coarse_step(SZGPU_F32, p->bound), fine = coarse / 129;
  float *const values = make_planted(p, fine);
  szgpu_params params = keeping(p->bound, SZGPU_PREDICTOR_AUTO);
  params.has_fill = p->has_fill;
  params.fill = FILL;
  double const step = step_of(&params, &p->shape, values);
  test_archive const archive = test_compress(ctx, &params, &p->shape, values);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  bool const interpolates = strcmp(frame.predictor, "interpolation") == 0;
  free(archive.bytes);
  free(values);
  if (p->multiple == 1 && step == fine) assert_false(interpolates);
  if (p->multiple == 1) return step == fine;
  assert_true(step == coarse);
  return !interpolates;
}

/* 2^14 values need 12 + 15 bits; fine points of magnitudes from 64 on have 8, coarse ones 15. */
static void a_run_needs_its_evidence(void **state) {
  (void)state;
  planted p = {test_shape(SZGPU_F32, 2, 128, 128, 0, 0), 0.15, 128 * 5 + 64 + 9, 1, 0, 1, false};
  assert_int_equal(ilogb(coarse_step(SZGPU_F32, p.bound) / 129) - (6 - 23), 8);
  for (int is_column = 0; is_column < 2; is_column++) {
    p.stride = is_column ? 128 : 1;
    for (p.multiple = 1; p.multiple <= 129; p.multiple += 128) {
      int const needed = p.multiple == 1 ? 4 : 2; /* 32 and 30 bits */
      p.count = needed - 1;
      assert_false(is_taken(&p));
      p.count = needed;
      assert_true(is_taken(&p));
    }
  }
  p.multiple = 1; /* runs do not leave their patch */
  p.stride = 1;
  p.count = 6;
  p.first = 128 * 5 + 61;
  assert_false(is_taken(&p));
  p.first++;
  assert_true(is_taken(&p));
  p.first = 128 * 5 + 64;
  p.stride = 2;
  assert_false(is_taken(&p));
  p.has_fill = true;
  assert_true(is_taken(&p));
}

static void fresh_fields_are_not_taken_for_restored(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int taken = 0;
  for (int i = 0; i < 300; i++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)(i % 2), 2, 60, 70, 0, 0);
    void *const field = test_make_waves(&shape);
    double const bound = 100 * exp2(-2 - 12 * test_random_unit(&random));
    for (uint64_t j = 0; j < test_value_count(&shape); j++) {
      double value = test_value_at(shape.dtype, field, j) * (1 + 1e-3 * i);
      if (i % 5 == 0) value = rint(value);
      if (i % 5 == 1) value = rint(value * 10) / 10;
      test_set_value(shape.dtype, field, j, value);
    }
    szgpu_params const params = keeping(bound, SZGPU_PREDICTOR_AUTO);
    taken += step_of(&params, &shape, field) < 0.5 * bound;
    free(field);
  }
  assert_in_range(taken, 0, 2);
}

static void assert_comes_back(const szgpu_params *params, const szgpu_shape *shape,
                              const void *field) {
  size_t const field_bytes = test_field_bytes(shape);
  test_archive const first = test_compress(ctx, params, shape, field);
  void *const once = test_decompress(ctx, &first, field_bytes);
  szgpu_info const info = test_inspect(&first);
  test_assert_bound(shape, field, once, &info);
  test_archive const second = test_compress(ctx, params, shape, once);
  void *const twice = test_decompress(ctx, &second, field_bytes);
  assert_memory_equal(once, twice, field_bytes);
  test_archive const in_threads = test_compress(three_threads, params, shape, once);
  assert_int_equal(in_threads.byte_count, second.byte_count);
  assert_memory_equal(in_threads.bytes, second.bytes, second.byte_count);
  free(in_threads.bytes);
  free(twice);
  free(second.bytes);
  free(once);
  free(first.bytes);
}

static void restored_fields_come_back(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t s = 0; s < test_awkward_shape_count; s++) {
      szgpu_shape shape = test_awkward_shapes[s];
      shape.dtype = (szgpu_dtype)dtype;
      if (test_value_count(&shape) < 64) continue;
      void *const field = test_make_waves(&shape);
      for (double bound = 20; bound > 1e-6; bound /= 9)
        for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
          szgpu_params params = keeping(bound, (szgpu_predictor)p);
          params.zstd_level = p == SZGPU_PREDICTOR_LORENZO;
          assert_comes_back(&params, &shape, field);
          if (p != SZGPU_PREDICTOR_LORENZO) continue;
          params.layout = SZGPU_LAYOUT_LINEAR;
          assert_comes_back(&params, &shape, field);
        }
      free(field);
    }
}

/* 1e20 among values, named and not; a magnitude that is declared, or too small. */
static void fill_values_and_declared_magnitudes_are_no_hindrance(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 20, 40, 33, 0);
  float *const field = test_make_waves(&shape);
  for (uint64_t i = 0; i < test_value_count(&shape); i++)
    if (i / 100 % 5 == 2) field[i] = i % 2 ? 1e20f : -99.0f;
  for (int named = 0; named < 2; named++) {
    szgpu_params params = keeping(0.01, SZGPU_PREDICTOR_AUTO);
    params.has_fill = named;
    params.fill = -99;
    assert_comes_back(&params, &shape, field);
    params.greatest = 1e5;
    assert_comes_back(&params, &shape, field);
    params.greatest = 3;
    assert_comes_back(&params, &shape, field);
  }
  free(field);
}

/* A chunk of which the last planes are yet to be written is not interpolated: what is there would
 * be restored on the fine lattice, and cost 7 bits a value more from the next part on. */
static void what_is_to_be_continued_is_not_interpolated(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 32, 40, 50, 0);
  uint64_t const count = test_value_count(&shape);
  for (int rest = 0; rest < 2; rest++)
    for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p += 2) {
      float *const field = test_allocate(count * sizeof *field);
      for (uint64_t i = 0; i < count; i++)
        field[i] = (float)(sin((double)(i % 50) / 9) +
                           cos((double)(i / 50 % 40) / 7 + (double)(i / 2000) / 5));
      uint64_t const first = count - count / 32 - (rest ? 0 : 1);
      for (uint64_t i = count - count / 32; i < count; i++) field[i] = NAN;
      if (!rest) field[count - 1] = 0.5f;
      assert_true(first < count);
      szgpu_params const params = keeping(1e-3, (szgpu_predictor)p);
      test_archive const archive = test_compress(ctx, &params, &shape, field);
      szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
      assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame),
                       SZGPU_OK);
      bool const interpolates = strcmp(frame.predictor, "interpolation") == 0;
      assert_true(interpolates == (!rest || p == SZGPU_PREDICTOR_INTERPOLATION));
      free(archive.bytes);
      free(field);
    }
}

static void assert_streams_give(const test_archive *expected, const szgpu_params *params,
                                const szgpu_shape *shape, const float *field) {
  size_t const field_bytes = test_field_bytes(shape);
  for (int is_lent = 0; is_lent < 2; is_lent++) {
    memory_source values = source_of(field, field_bytes);
    memory_sink packed = sink_of(expected->byte_count);
    szgpu_source const source = is_lent ? lent_source(field, field_bytes)
                                        : (szgpu_source){.read = read_memory, .user = &values};
    szgpu_sink const sink = {.write = write_memory, .user = &packed};
    szgpu_ctx *ctxs[] = {ctx, three_threads};
    uint64_t bytes;
    assert_int_equal(szgpu_compress_stream(ctxs, 2, params, shape, &source, &sink, &bytes),
                     SZGPU_OK);
    assert_int_equal(bytes, expected->byte_count);
    assert_memory_equal(packed.bytes, expected->bytes, bytes);
    free(packed.bytes);
  }
}

/* Of a field that is restored in part, and of one in which frames end with a rest, but not the last
 * one. */
static void streams_give_the_same_bytes(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 70, 40, 33, 0);
  uint64_t const row_values = 40 * 33;
  for (uint64_t rows = 0; rows <= 32; rows += 16) {
    float *const fresh = test_make_waves(&shape);
    szgpu_params params = keeping(0.05, SZGPU_PREDICTOR_AUTO);
    params.frame_rows = rows;
    test_archive const first = test_compress(ctx, &params, &shape, fresh);
    float *const field = test_decompress(ctx, &first, test_field_bytes(&shape));
    memcpy(field, fresh, test_field_bytes(&shape) / 7);
    test_archive const second = test_compress(ctx, &params, &shape, field);
    assert_true(test_inspect(&second).step < 0.01);
    assert_streams_give(&second, &params, &shape, field);
    for (uint64_t i = 0; i < row_values; i++)
      for (uint64_t row = 15; row < 70; row += 16) fresh[row * row_values + i] = NAN;
    test_archive const third = test_compress(ctx, &params, &shape, fresh);
    assert_streams_give(&third, &params, &shape, fresh);
    free(third.bytes);
    free(second.bytes);
    free(first.bytes);
    free(field);
    free(fresh);
  }
}

/* ---- the parameter ---- */

static void other_modes_ignore_it(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 90, 70, 0, 0);
  float *const field = test_make_waves(&shape);
  static const szgpu_mode modes[] = {SZGPU_MODE_REL, SZGPU_MODE_PSNR, SZGPU_MODE_PWREL,
                                     SZGPU_MODE_LOSSLESS};
  for (size_t m = 0; m < ARRAY_COUNT(modes); m++) {
    szgpu_params params = test_params(modes[m], modes[m] == SZGPU_MODE_PSNR ? 60 : 1e-3);
    test_archive const without = test_compress(ctx, &params, &shape, field);
    params.keep = SZGPU_KEEP_RESTORED;
    test_archive const with = test_compress(ctx, &params, &shape, field);
    assert_int_equal(with.byte_count, without.byte_count);
    assert_memory_equal(with.bytes, without.bytes, with.byte_count);
    free(with.bytes);
    free(without.bytes);
  }
  free(field);
}

static void unknown_bits_are_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 10, 0, 0, 0);
  for (int bit = 3; bit < 32; bit++) {
    szgpu_params params = keeping(1, SZGPU_PREDICTOR_AUTO);
    params.keep |= (uint32_t)1 << bit;
    assert_int_equal(szgpu_sizes(ctx, &params, &shape, NULL, NULL), SZGPU_BAD_ARGUMENT);
    assert_non_null(strstr(szgpu_last_error(ctx), "keep has unknown bits"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_step_depends_on_the_bound_and_the_type_alone),
      cmocka_unit_test(steps_leave_a_margin_and_few_bits),
      cmocka_unit_test(coarse_points_are_fine_points_to_the_bit),
      cmocka_unit_test(notes_tell_how_values_lie),
      cmocka_unit_test(a_fill_value_says_nothing),
      cmocka_unit_test(runs_pass_over_what_says_nothing),
      cmocka_unit_test(marks_count_values_that_differ),
      cmocka_unit_test(all_values_are_looked_at),
      cmocka_unit_test(a_run_needs_its_evidence),
      cmocka_unit_test(fresh_fields_are_not_taken_for_restored),
      cmocka_unit_test(restored_fields_come_back),
      cmocka_unit_test(fill_values_and_declared_magnitudes_are_no_hindrance),
      cmocka_unit_test(what_is_to_be_continued_is_not_interpolated),
      cmocka_unit_test(streams_give_the_same_bytes),
      cmocka_unit_test(other_modes_ignore_it),
      cmocka_unit_test(unknown_bits_are_refused),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
