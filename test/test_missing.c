/* test_missing.c - several fill values, values found to be fill, and values that are not valid.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "archive_ways.h"
#include "ctxs.h"
#include "missing_fields.h"
#include "quant/bound.h"

/* ---- fill values ---- */

static void assert_missing_stay(const szgpu_shape *shape, const void *field, const uint8_t *which,
                                const void *restored) {
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    if (which[i] == MISSING_FILLS) continue;
    if (test_bits_at(shape->dtype, field, i) != test_bits_at(shape->dtype, restored, i))
      fail_msg("missing value %llu of type %d came back as %g", (unsigned long long)i,
               (int)shape->dtype, test_value_at(shape->dtype, restored, i));
  }
}

/* Every way of the library: threads, slabs, regions, streams, previews; the bound of all values. */
static void there_and_back(const szgpu_params *params, const szgpu_shape *shape,
                           uint32_t fill_count) {
  uint8_t *which;
  void *const field = missing_make(shape, fill_count, &which);
  szgpu_info const info = assert_comes_back(ctx, three_threads, params, shape, field);
  assert_int_equal(info.has_fill, fill_count > 0);
  assert_int_equal(info.more_fill_count, fill_count ? fill_count - 1 : 0);
  for (uint32_t i = 0; i < info.more_fill_count; i++)
    assert_true(info.more_fills[i] == missing_fills[i + 1]);
  test_archive archive = archive_compress(ctx, params, shape, field);
  void *const restored = test_decompress(three_threads, &archive, test_field_bytes(shape));
  assert_missing_stay(shape, field, which, restored);
  free(restored);
  free(archive.bytes);
  free(which);
  free(field);
}

static void up_to_four_fill_values_come_back(void **state) {
  (void)state;
  static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_BF16,
                                       SZGPU_I8,  SZGPU_I16, SZGPU_I32};
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (uint32_t fill_count = 0; fill_count <= MISSING_FILLS; fill_count++)
      for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        szgpu_params params = missing_params(SZGPU_MODE_ABS, 2.0, fill_count);
        params.predictor = (szgpu_predictor)p;
        if (params.layout == SZGPU_LAYOUT_LINEAR && p == SZGPU_PREDICTOR_INTERPOLATION) continue;
        szgpu_shape const volume = test_shape(dtypes[t], 3, 21, 19, 45, 0);
        szgpu_shape const line = test_shape(dtypes[t], 1, 9001, 0, 0, 0);
        there_and_back(&params, &volume, fill_count);
        there_and_back(&params, &line, fill_count);
      }
}

static void they_do_in_every_mode_and_in_frames(void **state) {
  (void)state;
  static struct {
    szgpu_mode mode;
    double bound;
  } const modes[] = {{SZGPU_MODE_REL, 1e-3},
                     {SZGPU_MODE_PSNR, 60},
                     {SZGPU_MODE_PWREL, 1e-3},
                     {SZGPU_MODE_PWREL, 1e-9},
                     {SZGPU_MODE_ABS, 1e-9}};
  for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
    for (uint32_t fill_count = 0; fill_count <= MISSING_FILLS; fill_count++) {
      szgpu_params params = missing_params(modes[m].mode, modes[m].bound, fill_count);
      szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 17, 33, 0);
      szgpu_shape const batch = test_shape(SZGPU_F64, 4, 3, 17, 9, 33);
      there_and_back(&params, &shape, fill_count);
      params.frame_rows = 16;
      there_and_back(&params, &shape, fill_count);
      params.frame_rows = 1;
      there_and_back(&params, &batch, fill_count);
      params.zstd_level = 1;
      there_and_back(&params, &batch, fill_count);
    }
}

static void parts_streams_and_memory_are_as_ever(void **state) {
  (void)state;
  szgpu_region const box = {.first = {5, 3, 9}, .count = {11, 14, 21}};
  szgpu_ctx *const ctxs[] = {ctx, three_threads};
  static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_I16};
  for (size_t t = 0; t < 3; t++)
    for (uint64_t rows = 0; rows <= 16; rows += 16)
      for (int p = SZGPU_PREDICTOR_LORENZO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        szgpu_shape const shape = test_shape(dtypes[t], 3, 24, 18, 40, 0);
        szgpu_params params = missing_params(SZGPU_MODE_ABS, 2.0, 3);
        params.frame_rows = rows;
        params.keep = SZGPU_KEEP_MISSING;
        params.has_valid = 1;
        params.valid_least = -90;
        params.valid_greatest = 95;
        if (params.layout == SZGPU_LAYOUT_TILE) params.predictor = (szgpu_predictor)p;
        uint8_t *which;
        void *const field = missing_make(&shape, 3, &which);
        test_archive archive = archive_compress(ctx, &params, &shape, field);
        bool const has_preview =
            p == SZGPU_PREDICTOR_INTERPOLATION && params.layout == SZGPU_LAYOUT_TILE;
        assert_parts_are_of_the_whole(ctx, &archive, &shape, &box, has_preview);
        assert_streams_make_the_same(ctx, ctxs, 2, &params, &shape, field);
        assert_stated_workspace_suffices(&params, &shape, field);
        free(archive.bytes);
        free(which);
        free(field);
      }
}

static void tiny_fields_may_be_all_missing(void **state) {
  (void)state;
  for (uint64_t count = 1; count < 40; count++) {
    szgpu_shape const shape = test_shape(count % 2 ? SZGPU_I8 : SZGPU_F32, 1, count, 0, 0, 0);
    void *const field = test_allocate(test_field_bytes(&shape));
    for (uint64_t i = 0; i < count; i++)
      test_set_value(shape.dtype, field, i, missing_fills[i % MISSING_FILLS]);
    szgpu_params const params = missing_params(SZGPU_MODE_ABS, 2.0, MISSING_FILLS);
    test_archive archive = archive_compress(ctx, &params, &shape, field);
    void *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
    assert_memory_equal(field, restored, test_field_bytes(&shape));
    free(restored);
    free(archive.bytes);
    free(field);
  }
}

static void a_fill_value_that_is_named_twice_has_one_mask(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 60, 70, 0, 0);
  uint8_t *which;
  void *const field = missing_make(&shape, 2, &which);
  szgpu_params params = missing_params(SZGPU_MODE_ABS, 2.0, 2);
  test_archive const once = archive_compress(ctx, &params, &shape, field);
  params.more_fills[params.more_fill_count++] = missing_fills[0];
  params.more_fills[params.more_fill_count++] = missing_fills[1];
  test_archive const twice = archive_compress(ctx, &params, &shape, field);
  assert_int_equal(twice.byte_count, once.byte_count + 16);
  void *const restored = test_decompress(ctx, &twice, test_field_bytes(&shape));
  assert_missing_stay(&shape, field, which, restored);
  free(restored);
  free(twice.bytes);
  free(once.bytes);
  free(which);
  free(field);
}

/* ---- values that are found to be fill ---- */

/* A line of `count` values of f32 by a pattern: 'd' is data from `least` to `greatest`, a digit one
 * of the numbers. */
typedef struct far_case {
  const char *what, *pattern;
  double least, greatest;
  double numbers[4];
  uint32_t found_count; /* in their order */
  double found[4];
} far_case;

static void *make_far(const far_case *c, szgpu_dtype dtype, uint64_t count) {
  szgpu_shape const shape = test_shape(dtype, 1, count, 0, 0, 0);
  void *const field = test_allocate(test_field_bytes(&shape));
  uint64_t const length = strlen(c->pattern);
  for (uint64_t i = 0; i < count; i++) {
    char const kind = c->pattern[i % length];
    double const unit = (double)(test_hash(i) >> 11) * 0x1p-53;
    double const data = c->least + (c->greatest - c->least) * unit;
    test_set_value(dtype, field, i, kind == 'd' ? data : c->numbers[kind - '0']);
  }
  return field;
}

static const far_case far_cases[] = {
    {"nothing", "d", 270, 300, {0}, 0, {0}},
    {"-999 in temperatures", "dddd0d", 270, 300, {-999}, 1, {-999}},
    {"-99 in degrees of frost", "dddd0d", -20, 30, {-99}, 1, {-99}},
    {"-1 in fractions", "dddd0d", 0, 1, {-1}, 1, {-1}},
    {"two of them", "dd0d1d", 270, 300, {-999, -888}, 2, {-999, -888}},
    {"one on either side", "dd0d1d", 270, 300, {-999, 5000}, 2, {5000, -999}},
    {"three of them", "dd0d1d2d", 270, 300, {-99999, -999, 5000}, 3, {-99999, 5000, -999}},
    {"four of them",
     "dd0d1d2d3d",
     270,
     300,
     {-99999, -9999, -99, 5000},
     4,
     {-99999, -9999, 5000, -99}},
    {"zeros below data", "dd0d", 100, 150, {0}, 1, {0}},
    {"zeros beside data", "dd0d", 0.001, 5, {0}, 0, {0}},
    {"the end of a range", "dd0d", 0, 1, {1.5}, 0, {0}},
    {"known ones and others", "dd0d1d", 270, 300, {1e20f, -999}, 2, {1e20f, -999}},
    {"one value beside another", "01", 0, 0, {-999, 7}, 1, {-999}},
    {"nothing but one", "0", 0, 0, {-999}, 0, {0}},
};

static szgpu_info inspect_far(const far_case *c, szgpu_dtype dtype, uint64_t count,
                              const szgpu_params *params) {
  szgpu_shape const shape = test_shape(dtype, 1, count, 0, 0, 0);
  void *const field = make_far(c, dtype, count);
  szgpu_info const info = assert_comes_back(ctx, three_threads, params, &shape, field);
  test_archive archive = archive_compress(ctx, params, &shape, field);
  void *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
  for (uint64_t i = 0; i < count; i++) {
    double const value = test_value_at(dtype, field, i);
    for (uint32_t f = 0; f < c->found_count; f++)
      if (value == c->found[f]) assert_true(test_value_at(dtype, restored, i) == value);
  }
  free(restored);
  free(archive.bytes);
  free(field);
  return info;
}

static void a_value_that_stands_far_from_all_others_is_found(void **state) {
  (void)state;
  static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64};
  for (size_t i = 0; i < sizeof far_cases / sizeof *far_cases; i++)
    for (size_t t = 0; t < 2; t++)
      for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PWREL; mode++) {
        const far_case *const c = &far_cases[i];
        bool const has_data = strchr(c->pattern, 'd') != NULL;
        if (mode == SZGPU_MODE_LOSSLESS || (mode == SZGPU_MODE_PWREL && !has_data)) continue;
        szgpu_params params = test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 60 : 1e-3);
        params.keep = SZGPU_KEEP_MISSING;
        szgpu_info const info = inspect_far(c, dtypes[t], 5003, &params);
        uint32_t const found = (uint32_t)info.has_fill + info.more_fill_count;
        if (found != c->found_count || (found && info.fill != c->found[0]))
          fail_msg("%s, mode %d: %u found", c->what, mode, found);
        for (uint32_t f = 1; f < found; f++) assert_true(info.more_fills[f - 1] == c->found[f]);
      }
}

/* Where the bound follows from the range, a value that occurs once has to be a whole number, or
 * farther away. Those of 2^20 (f64: 2^49) or more are mostly whole by chance. */
static void one_that_occurs_once_is_found(void **state) {
  (void)state;
  static struct {
    szgpu_dtype dtype;
    double value;
    bool is_found_by_range;
  } const cases[] = {
      {SZGPU_F32, -9999, true},  {SZGPU_F32, -8.5, false},   {SZGPU_F32, -5000.5, true},
      {SZGPU_F32, -9, true},     {SZGPU_F64, 9999, true},    {SZGPU_F64, 9999.25, true},
      {SZGPU_F64, 99.25, false}, {SZGPU_F32, -1e30f, true},  {SZGPU_F64, 1e300, true},
      {SZGPU_F32, 99999, true},  {SZGPU_F64, -888.5, false}, {SZGPU_F16, -999, true},
      {SZGPU_I16, -32768, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PWREL; mode++) {
      szgpu_dtype const dtype = cases[i].dtype;
      bool const is_float = dtype == SZGPU_F32 || dtype == SZGPU_F64;
      if (mode == SZGPU_MODE_LOSSLESS || (mode == SZGPU_MODE_PWREL && !is_float)) continue;
      szgpu_shape const shape = test_shape(dtype, 2, 90, 80, 0, 0);
      far_case const c = {.pattern = "d", .least = -1.5, .greatest = is_float ? 2 : 9};
      void *const field = make_far(&c, dtype, 7200);
      test_set_value(dtype, field, 1234, cases[i].value);
      szgpu_params params = test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 60
                                                          : is_float              ? 1e-3
                                                                                  : 1);
      params.keep = SZGPU_KEEP_MISSING;
      szgpu_info const info = assert_comes_back(ctx, three_threads, &params, &shape, field);
      bool const is_by_range = mode == SZGPU_MODE_REL || mode == SZGPU_MODE_PSNR;
      if (info.has_fill != (!is_by_range || cases[i].is_found_by_range))
        fail_msg("%g, mode %d: has_fill is %d", cases[i].value, mode, info.has_fill);
      if (info.has_fill) assert_true(info.fill == cases[i].value);
      free(field);
    }
}

/* Beside a repeated value on the same side, but not beside another that occurs once. */
static void one_that_occurs_once_is_found_beside_another(void **state) {
  (void)state;
  static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_I16};
  for (size_t t = 0; t < ARRAY_COUNT(dtypes); t++)
    for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++)
      for (int is_repeated = 0; is_repeated <= 1; is_repeated++) {
        szgpu_shape const shape = test_shape(dtypes[t], 2, 90, 80, 0, 0);
        far_case const c = {.pattern = "d", .least = -50, .greatest = 70};
        void *const field = make_far(&c, dtypes[t], 7200);
        test_set_value(dtypes[t], field, 1234, -32768);
        test_set_value(dtypes[t], field, 77, -32767);
        if (is_repeated) test_set_value(dtypes[t], field, 5000, -32767);
        szgpu_params params = test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 40 : 0.25);
        params.keep = SZGPU_KEEP_MISSING;
        szgpu_info const info = assert_comes_back(ctx, three_threads, &params, &shape, field);
        uint32_t const found = (uint32_t)info.has_fill + info.more_fill_count;
        assert_int_equal(found, is_repeated ? 2 : 0);
        if (found) assert_true(info.fill == -32768 && info.more_fills[0] == -32767);
        free(field);
      }
}

/* A bound of each value is kept in logarithms, which would change a chunk of nothing but -999. */
static void values_of_which_nothing_else_is_left_are_found_by_pwrel(void **state) {
  (void)state;
  static far_case const cases[] = {
      {"one", "0", 0, 0, {-999}, 1, {-999}},
      {"two", "01", 0, 0, {-999, 7}, 2, {-999, 7}},
      {"four", "0123", 0, 0, {-999, 7, 99999, 1e20f}, 4, {1e20f, 99999, -999, 7}},
      {"zero", "0", 0, 0, {0}, 0, {0}},
      {"a known one", "0", 0, 0, {1e20f}, 1, {1e20f}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int is_f64 = 0; is_f64 < 2; is_f64++) {
      szgpu_params params = test_params(SZGPU_MODE_PWREL, 0.03);
      params.keep = SZGPU_KEEP_MISSING;
      szgpu_info const info = inspect_far(&cases[i], is_f64 ? SZGPU_F64 : SZGPU_F32, 5003, &params);
      uint32_t const found = (uint32_t)info.has_fill + info.more_fill_count;
      if (found != cases[i].found_count) fail_msg("%s: %u found", cases[i].what, found);
      if (found) assert_true(info.fill == cases[i].found[0]);
      for (uint32_t f = 1; f < found; f++) assert_true(info.more_fills[f - 1] == cases[i].found[f]);
    }
}

static void halves_and_integers_are_looked_at_too(void **state) {
  (void)state;
  static szgpu_dtype const dtypes[] = {SZGPU_F16, SZGPU_I16, SZGPU_I32};
  far_case const c = {"-999", "dddd0d", -10, 30, {-999}, 1, {-999}};
  for (size_t t = 0; t < 3; t++) {
    szgpu_params params = test_params(SZGPU_MODE_ABS, 2);
    params.keep = SZGPU_KEEP_MISSING;
    szgpu_info const info = inspect_far(&c, dtypes[t], 5003, &params);
    assert_true(info.has_fill && info.fill == -999 && info.more_fill_count == 0);
  }
}

/* Without the bit, archives are as they were: one fill value, by name or from the list. */
static void nobody_looks_unasked(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 5003, 0, 0, 0);
  szgpu_params const params = test_params(SZGPU_MODE_ABS, 1e-3);
  far_case const cases[] = {{"far", "dd0d", 270, 300, {-999}, 0, {0}},
                            {"two known", "dd0d1d", 270, 300, {1e20f, 1e15f}, 0, {0}}};
  for (size_t i = 0; i < 2; i++) {
    void *const field = make_far(&cases[i], SZGPU_F32, 5003);
    szgpu_info const info = test_round_trip(ctx, &params, &shape, field);
    test_archive const archive = archive_compress(ctx, &params, &shape, field);
    assert_int_equal(info.has_fill, i);
    assert_int_equal(info.more_fill_count, 0);
    assert_true(archive_plain_version(&archive) < 8);
    free(archive.bytes);
    free(field);
  }
}

/* ---- values that are not valid ---- */

static void values_that_are_not_valid_stay_so(void **state) {
  (void)state;
  static szgpu_dtype const dtypes[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_I16, SZGPU_I32};
  static szgpu_mode const modes[] = {SZGPU_MODE_ABS, SZGPU_MODE_REL};
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (size_t m = 0; m < 2; m++)
      for (uint32_t fill_count = 0; fill_count < 3; fill_count++) {
        szgpu_shape const shape = test_shape(dtypes[t], 3, 21, 19, 45, 0);
        szgpu_params params = missing_params(modes[m], m ? 1e-2 : 2, fill_count);
        params.has_valid = 1;
        params.valid_least = -60;
        params.valid_greatest = 71;
        uint8_t *which;
        void *const field = missing_make(&shape, fill_count, &which);
        (void)assert_comes_back(ctx, three_threads, &params, &shape, field);
        test_archive archive = archive_compress(ctx, &params, &shape, field);
        void *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
        szgpu_info const info = test_inspect(&archive);
        assert_true(info.has_limits && info.least >= -60 && info.greatest <= 71);
        assert_missing_stay(&shape, field, which, restored);
        for (uint64_t i = 0; i < test_value_count(&shape); i++) {
          double const was = test_value_at(dtypes[t], field, i);
          double const is = test_value_at(dtypes[t], restored, i);
          bool const is_valid = was >= -60 && was <= 71;
          assert_true(is_valid ? is >= -60 && is <= 71 : is == was);
        }
        free(restored);
        free(archive.bytes);
        free(which);
        free(field);
      }
}

/* Before, a field with a valid range had no fill value that nobody had named: 1e20 among valid
 * values made its range, and with it the bound of `rel`, 1e20 wide. */
static void a_valid_range_hides_no_known_fill(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 5000, 0, 0, 0);
  void *const field = test_make_waves(&shape);
  for (uint64_t i = 0; i < 5000; i += 70) test_set_value(SZGPU_F32, field, i, 1e20);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  test_archive without = archive_compress(ctx, &params, &shape, field);
  params.has_valid = 1;
  params.valid_least = -1e30;
  params.valid_greatest = 1e30;
  test_archive with = archive_compress(ctx, &params, &shape, field);
  szgpu_info const expected = test_inspect(&without), info = test_inspect(&with);
  assert_true(expected.has_fill && info.has_fill);
  assert_int_equal(info.fill_bits, expected.fill_bits);
  assert_true(info.absolute_bound == expected.absolute_bound);
  free(without.bytes);
  free(with.bytes);
  free(field);
}

/* ---- the survey ---- */

static uint64_t random_bits_of(szgpu_dtype dtype, uint64_t i) {
  static double const special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 2.0};
  uint64_t const hash = test_hash(i);
  if (hash % 3) return szg_bits_of_value(dtype, special[hash / 3 % 8]);
  return dtype == SZGPU_F32 ? (uint32_t)(hash >> 8) : hash;
}

static void a_survey_finds_neighbours_and_counts(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  for (int round = 0; round < 40; round++) {
    szgpu_dtype const dtype = round % 2 ? SZGPU_F64 : SZGPU_F32;
    szgpu_shape const shape = test_shape(dtype, 1, COUNT, 0, 0, 0);
    uint8_t *const values = test_allocate(test_field_bytes(&shape));
    size_t const width = test_dtype_bytes(dtype);
    for (uint64_t i = 0; i < COUNT; i++) {
      uint64_t const bits = random_bits_of(dtype, i + 7919u * (uint64_t)round);
      memcpy(values + i * width, &bits, width);
    }
    szg_missing missing = {.fill_count = (uint32_t)round % 5, .has_valid = round % 3 == 0};
    for (uint32_t f = 0; f < missing.fill_count; f++)
      missing.fill_bits[f] = test_bits_at(dtype, values, f);
    missing.valid_least = -1e3;
    missing.valid_greatest = 1e9;
    szg_survey const survey = {&missing, szg_ordered_bits(dtype, test_bits_at(dtype, values, 17)),
                               szg_ordered_bits(dtype, test_bits_at(dtype, values, 23))};
    szg_ends expected = {UINT64_MAX, 0, 0, 0}, found;
    for (uint64_t i = 0; i < COUNT; i++) {
      uint64_t const bits = test_bits_at(dtype, values, i), key = szg_ordered_bits(dtype, bits);
      double const value = szg_value_of_bits(dtype, bits);
      assert_int_equal(szg_bits_of_ordered(dtype, key), bits);
      if (!isfinite(value) || szg_is_fill(&missing, bits) || szg_is_invalid(&missing, value))
        continue;
      if (key > survey.low && key < expected.above) expected.above = key;
      if (key < survey.high && key > expected.below) expected.below = key;
      expected.low_count += key == survey.low;
      expected.high_count += key == survey.high;
    }
    szg_threads threads = {.count = 1};
    szg_value_source const source = szg_value_source_cpu(&threads, dtype, values, COUNT);
    assert_int_equal(source.survey(&source, &survey, &found), SZGPU_OK);
    assert_memory_equal(&found, &expected, sizeof found);
    free(values);
  }
}

/* ---- refusals ---- */

static void assert_refused(const szgpu_params *params, szgpu_dtype dtype, const char *why) {
  szgpu_shape const shape = test_shape(dtype, 1, 10, 0, 0, 0);
  size_t bytes;
  assert_int_equal(szgpu_sizes(ctx, params, &shape, NULL, &bytes), SZGPU_BAD_ARGUMENT);
  if (!strstr(szgpu_last_error(ctx), why)) fail_msg("'%s'", szgpu_last_error(ctx));
}

static void what_cannot_be_kept_is_refused(void **state) {
  (void)state;
  szgpu_params params = missing_params(SZGPU_MODE_ABS, 1, 4);
  params.more_fill_count = 4;
  assert_refused(&params, SZGPU_F32, "4 more fill values are over 3");
  params = missing_params(SZGPU_MODE_ABS, 1, 2);
  params.has_fill = 0;
  assert_refused(&params, SZGPU_F32, "need a first one");
  params = missing_params(SZGPU_MODE_ABS, 1, 2);
  params.fill = 3;
  params.more_fills[0] = 300;
  assert_refused(&params, SZGPU_U8, "fill value 300 is not representable");
  params.more_fills[0] = 1e300; /* as f32 it was an infinity */
  assert_refused(&params, SZGPU_F32, "fill value 1.0000000000000001e+300 is not representable");
  params = missing_params(SZGPU_MODE_ABS, 1, 2);
  params.greatest = 100;
  assert_refused(&params, SZGPU_F32, "greatest magnitude");
  params = missing_params(SZGPU_MODE_ABS, 1, 0);
  params.has_valid = 1;
  params.valid_least = 2;
  params.valid_greatest = 1;
  assert_refused(&params, SZGPU_F32, "are none");
  params.valid_greatest = NAN;
  assert_refused(&params, SZGPU_F32, "are none");
  params.valid_greatest = 3;
  params.mode = SZGPU_MODE_PWREL;
  params.bound = 0.1;
  assert_refused(&params, SZGPU_F32, "cannot keep a range of valid values");
  params = missing_params(SZGPU_MODE_LOSSLESS, 1, 2);
  assert_refused(&params, SZGPU_F32, "not for the lossless mode");
}

/* Sections of a mask that do not fit each other or the frame. */
static void bad_masks_are_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 9001, 0, 0, 0);
  szgpu_params const params = missing_params(SZGPU_MODE_ABS, 2, 3);
  uint8_t *which;
  void *const field = missing_make(&shape, 3, &which);
  test_archive const sound = archive_compress(ctx, &params, &shape, field);
  void *const restored = test_allocate(test_field_bytes(&shape));
  for (uint32_t kind = SZG_SECTION_FILL_2_SIZES; kind <= SZG_SECTION_FILL_3; kind++)
    for (int change = 0; change < 4; change++) {
      test_archive archive = archive_copy(&sound, sound.byte_count);
      uint32_t const section = archive_section_of_kind(&archive, 0, kind);
      size_t const at = archive_section_offset(&archive, 0, section);
      size_t const entry = archive_entry_offset(&archive, 0, section);
      uint64_t const bytes = archive.bytes[entry + 8] + 256u * archive.bytes[entry + 9];
      bool const is_sizes = (kind - SZG_SECTION_FILL_2_SIZES) % 2 == 0;
      if (change == 0) archive_resize_section(&archive, 0, section, bytes + 1);
      if (change == 1) archive_resize_section(&archive, 0, section, bytes - 1);
      if (change == 2 && is_sizes) archive_store(&archive, at, 2, 513);
      if (change == 2 && !is_sizes) memset(archive.bytes + at, 255, 20); /* runs over the end */
      if (change == 3) archive = archive_without_section(archive, section);
      archive_rehash(&archive);
      assert_int_equal(szgpu_decompress(ctx, archive.bytes, archive.byte_count, restored,
                                        test_field_bytes(&shape)),
                       SZGPU_BAD_DATA);
      free(archive.bytes);
    }
  free(restored);
  free(sound.bytes);
  free(which);
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(up_to_four_fill_values_come_back),
      cmocka_unit_test(they_do_in_every_mode_and_in_frames),
      cmocka_unit_test(parts_streams_and_memory_are_as_ever),
      cmocka_unit_test(tiny_fields_may_be_all_missing),
      cmocka_unit_test(a_fill_value_that_is_named_twice_has_one_mask),
      cmocka_unit_test(a_value_that_stands_far_from_all_others_is_found),
      cmocka_unit_test(one_that_occurs_once_is_found),
      cmocka_unit_test(one_that_occurs_once_is_found_beside_another),
      cmocka_unit_test(values_of_which_nothing_else_is_left_are_found_by_pwrel),
      cmocka_unit_test(halves_and_integers_are_looked_at_too),
      cmocka_unit_test(nobody_looks_unasked),
      cmocka_unit_test(values_that_are_not_valid_stay_so),
      cmocka_unit_test(a_valid_range_hides_no_known_fill),
      cmocka_unit_test(a_survey_finds_neighbours_and_counts),
      cmocka_unit_test(what_cannot_be_kept_is_refused),
      cmocka_unit_test(bad_masks_are_refused),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
