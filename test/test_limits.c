/* test_limits.c - restored values stay between the least and the greatest of the field.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What an archive would restore without limits is known from a copy of it that has none. So each
 * claim is about every value: it is that one, brought between the limits, and no further from the
 * field's than before. Copies with closer limits, which most values are beyond, go through every
 * decoder, and through slabs, regions, previews and streams.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "archive_ways.h"
#include "ctxs.h"
#include "limited_fields.h"
#include "memory_streams.h"
#include "regions.h"

/* ---- what must hold ---- */

/* The limits as docs/format.md, section 8, has them: neither is -0, and a least of +0 makes -0 a
 * +0. */
static bool is_limited_to(szgpu_dtype dtype, const void *limited, const void *unlimited, uint64_t i,
                          const double limits[2]) {
  double const x = test_value_at(dtype, unlimited, i);
  uint64_t const bits = test_bits_at(dtype, limited, i);
  if (x > limits[0] && x <= limits[1]) return bits == test_bits_at(dtype, unlimited, i);
  double const expected = x > limits[1] ? limits[1] : limits[0];
  double const found = test_value_at(dtype, limited, i);
  return found == expected && !(found == 0 && signbit(found));
}

/* Values that may be kept exactly are as in `exact`, which is NULL if there are none. Returns how
 * many values the limits have moved. */
static uint64_t assert_limited(const szgpu_shape *shape, const void *limited, const void *unlimited,
                               const double limits[2], const void *exact) {
  szgpu_dtype const dtype = shape->dtype;
  uint64_t moved = 0;
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    uint64_t const bits = test_bits_at(dtype, limited, i);
    moved += bits != test_bits_at(dtype, unlimited, i);
    if (is_limited_to(dtype, limited, unlimited, i, limits)) continue;
    if (exact && bits == test_bits_at(dtype, exact, i)) continue;
    fail_msg("value %llu: %g became %g between %g and %g", (unsigned long long)i,
             test_value_at(dtype, unlimited, i), test_value_at(dtype, limited, i), limits[0],
             limits[1]);
  }
  return moved;
}

static void assert_no_error_grows(const szgpu_shape *shape, const void *field, const void *limited,
                                  const void *unlimited) {
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    long double const x = test_value_at(shape->dtype, field, i);
    long double const error = fabsl(x - test_value_at(shape->dtype, limited, i));
    assert_true(error <= fabsl(x - test_value_at(shape->dtype, unlimited, i)));
  }
}

/* ---- every way to read an archive ---- */

static void assert_decoders_give(const test_archive *archive, const szgpu_info *info,
                                 const void *expected) {
  static szgpu_decoder const decoders[] = {SZGPU_DECODER_SERIAL, SZGPU_DECODER_TABLE,
                                           SZGPU_DECODER_SELF_SYNC, SZGPU_DECODER_ALL_OFFSETS,
                                           SZGPU_DECODER_HIERARCHICAL};
  for (size_t i = 0; i < ARRAY_COUNT(decoders); i++) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.threads = 1;
    options.decoder = decoders[i];
    szgpu_ctx *reader;
    assert_int_equal(szgpu_create(&reader, &options), SZGPU_OK);
    void *const restored = test_allocate(info->field_bytes);
    szgpu_status const status =
        szgpu_decompress(reader, archive->bytes, archive->byte_count, restored, info->field_bytes);
    if (status == SZGPU_OK)
      assert_memory_equal(restored, expected, info->field_bytes);
    else
      assert_int_equal(status, SZGPU_UNSUPPORTED); /* levels have one decoder */
    free(restored);
    szgpu_destroy(reader);
  }
}

static void assert_slab_is(const test_archive *archive, const szgpu_info *info,
                           const uint8_t *expected) {
  uint64_t const rows = info->shape.dims[0], first = rows / 3, count = rows - first - rows / 4;
  size_t const row_bytes = info->field_bytes / rows;
  uint8_t *const slab = test_allocate(count * row_bytes);
  assert_int_equal(szgpu_decompress_slab(three_threads, archive->bytes, archive->byte_count, first,
                                         count, slab, count * row_bytes),
                   SZGPU_OK);
  assert_memory_equal(slab, expected + first * row_bytes, count * row_bytes);
  free(slab);
}

static void assert_regions_are(const test_archive *archive, const szgpu_info *info,
                               const uint8_t *expected, test_random *random) {
  for (int i = 0; i < 3; i++) {
    szgpu_region const region = region_random(random, &info->shape);
    size_t const bytes = region_bytes(&info->shape, &region);
    uint8_t *const slice = region_slice(&info->shape, &region, expected);
    uint8_t *const found = test_allocate(bytes);
    assert_int_equal(
        szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0, &region, found, bytes),
        SZGPU_OK);
    assert_memory_equal(found, slice, bytes);
    free(found);
    free(slice);
  }
}

/* By the definition: every second value along each axis but a batch's. */
static uint64_t place_in_whole(const szgpu_shape *shape, const szgpu_shape *coarse, uint64_t i) {
  uint64_t at = 0, stride = 1;
  for (int axis = shape->ndim - 1; axis >= 0; axis--) {
    bool const is_batch = axis == 0 && shape->ndim == 4;
    at += i % coarse->dims[axis] * (is_batch ? 1 : 2) * stride;
    i /= coarse->dims[axis];
    stride *= shape->dims[axis];
  }
  return at;
}

static void assert_preview_is(const test_archive *archive, const szgpu_info *info,
                              const uint8_t *expected) {
  szgpu_shape coarse;
  assert_int_equal(szgpu_level_shape(info, 1, &coarse), SZGPU_OK);
  size_t const bytes = test_field_bytes(&coarse);
  uint8_t *const preview = test_allocate(bytes);
  szgpu_status const status =
      szgpu_decompress_level(ctx, archive->bytes, archive->byte_count, 1, preview, bytes);
  if (status == SZGPU_OK)
    for (uint64_t i = 0; i < test_value_count(&coarse); i++)
      assert_int_equal(
          test_bits_at(info->shape.dtype, preview, i),
          test_bits_at(info->shape.dtype, expected, place_in_whole(&info->shape, &coarse, i)));
  else
    assert_int_equal(status, SZGPU_BAD_ARGUMENT); /* it has none */
  free(preview);
}

static void assert_stream_gives(const test_archive *archive, const szgpu_info *info,
                                const uint8_t *expected) {
  szgpu_ctx *const both[] = {ctx, three_threads};
  memory_source packed = source_of(archive->bytes, archive->byte_count);
  memory_sink unpacked = sink_of(info->field_bytes);
  szgpu_source const from = {.read = read_memory, .user = &packed};
  szgpu_sink const to = {.write = write_memory, .user = &unpacked};
  uint64_t archive_bytes;
  assert_int_equal(szgpu_decompress_stream(both, 2, &from, &to, &archive_bytes), SZGPU_OK);
  assert_memory_equal(unpacked.bytes, expected, info->field_bytes);
  free(unpacked.bytes);
}

/* The archive with limits that most values are beyond, read in all ways. */
static void assert_closer_limits(const test_archive *archive, const szgpu_info *info,
                                 const void *unlimited, const void *exact, test_random *random) {
  double limits[2];
  test_archive const closer = limited_closer(archive, info, unlimited, limits);
  szgpu_info const stated = test_inspect(&closer);
  assert_true(stated.has_limits && stated.least == limits[0] && stated.greatest == limits[1]);
  void *const limited = test_decompress(three_threads, &closer, info->field_bytes);
  assert_limited(&info->shape, limited, unlimited, limits, exact);
  assert_decoders_give(&closer, &stated, limited);
  assert_slab_is(&closer, &stated, limited);
  assert_regions_are(&closer, &stated, limited, random);
  assert_preview_is(&closer, &stated, limited);
  assert_stream_gives(&closer, &stated, limited);
  free(limited);
  free(closer.bytes);
}

/* ---- every type, mode, layout and predictor ---- */

typedef struct tally {
  test_random random;
  uint64_t moved[LIMITED_FRAMES]; /* values that limits have moved */
} tally;

static void try_case(const limited_case *c, void *user) {
  tally *const t = user;
  void *const field = limited_make(c->kind, &c->shape);
  szgpu_info const info = assert_comes_back(ctx, three_threads, &c->params, &c->shape, field);
  test_archive const archive = archive_compress(ctx, &c->params, &c->shape, field);
  test_archive const without = archive_with_limits(&archive, NULL);
  double const limits[2] = {info.least, info.greatest};
  void *const limited = test_decompress(ctx, &archive, info.field_bytes);
  void *const unlimited = test_decompress(ctx, &without, info.field_bytes);
  const void *const exact = c->is_close ? field : NULL; /* -0 among it */
  int const frame = limited_frame_of(&archive);
  assert_int_equal(info.has_limits, info.step > 0);
  if (info.has_limits && frame != LIMITED_OTHERS) {
    t->moved[frame] += assert_limited(&c->shape, limited, unlimited, limits, exact);
    assert_no_error_grows(&c->shape, field, limited, unlimited);
    assert_closer_limits(&archive, &info, unlimited, exact, &t->random);
  } else {
    assert_memory_equal(limited, unlimited, info.field_bytes); /* all is kept exactly */
  }
  free(limited);
  free(unlimited);
  free(archive.bytes);
  free(without.bytes);
  free(field);
}

static void no_value_leaves_the_range(void **state) {
  (void)state;
  tally t = {.random = test_random_begin()};
  limited_each_case(try_case, &t);
  for (int frame = 0; frame < LIMITED_OTHERS; frame++) {
    print_message("frames of kind %d: %llu values moved\n", frame,
                  (unsigned long long)t.moved[frame]);
    assert_true(t.moved[frame] > 0);
  }
}

/* The bound of limited_params that is absolute, and not close. */
enum { KEPT_ABS = 2 };

/* ---- a bound of each value ---- */

static double relative_value(int kind, uint64_t i, double wave) {
  double const unit = (double)(test_hash(i) >> 11) * 0x1p-53;
  if (kind == 0) return 9999.999 + 0.1 * unit; /* one logarithm, or few */
  if (kind == 1) return 1 + wave * wave;
  if (kind == 2) return unit < 0.3 ? 0 : exp2(40 * unit - 20);
  if (kind == 3) return -3 - unit;
  return wave + unit; /* of both signs */
}

/* The range of what a field has, or of its magnitudes. */
static void range_of(const szgpu_shape *shape, const void *field, bool of_magnitudes,
                     double range[2]) {
  range[0] = INFINITY;
  range[1] = -INFINITY;
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    double value = test_value_at(shape->dtype, field, i);
    if (of_magnitudes) value = fabs(value);
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
  }
}

/* Limits are of logarithms. Those that are rounded outward are brought inward. */
static void a_bound_of_each_value_keeps_the_range_of_one_sign(void **state) {
  (void)state;
  static double const bounds[] = {0.5, 0.13, 1e-3, 6.2e-5, 1e-6};
  szgpu_ctx *const both[] = {ctx, three_threads};
  uint64_t would_leave = 0;
  for (size_t w = 0; w < LIMITED_WAYS; w++)
    for (size_t b = 0; b < ARRAY_COUNT(bounds); b++)
      for (int kind = 0; kind < 5; kind++)
        for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
          szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 3, 34, 17, 36, 0);
          void *const field = limited_make(LIMITED_RAIN, &shape);
          for (uint64_t i = 0; i < test_value_count(&shape); i++)
            test_set_value(shape.dtype, field, i,
                           relative_value(kind, i, test_value_at(shape.dtype, field, i) - 3));
          szgpu_params params = limited_params(w, 0);
          params.mode = SZGPU_MODE_PWREL;
          params.bound = bounds[b];
          for (int keeps = 0; keeps <= 1; keeps++) {
            params.keep = keeps ? SZGPU_KEEP_RANGE : 0;
            szgpu_info const info = assert_comes_back(ctx, three_threads, &params, &shape, field);
            test_archive archive = archive_compress(ctx, &params, &shape, field);
            void *const restored = test_decompress(ctx, &archive, info.field_bytes);
            double was[2], is[2];
            range_of(&shape, field, kind == 4, was);
            range_of(&shape, restored, kind == 4, is);
            bool const stays = (kind == 4 || is[0] >= was[0]) && is[1] <= was[1];
            would_leave += !keeps && !stays;
            if (keeps && !stays)
              fail_msg("way %zu, bound %g, kind %d, type %d: %.17g to %.17g became %.17g to %.17g",
                       w, bounds[b], kind, dtype, was[0], was[1], is[0], is[1]);
            assert_false(info.has_limits); /* of values */
            free(restored);
            free(archive.bytes);
          }
          if (b == 2) assert_streams_make_the_same(ctx, both, 2, &params, &shape, field);
          free(field);
        }
  assert_true(would_leave > 100);
}

/* ---- streams ---- */

static void streams_have_the_same_limits(void **state) {
  (void)state;
  szgpu_ctx *const both[] = {ctx, three_threads};
  for (size_t w = 0; w < LIMITED_WAYS; w++)
    for (size_t b = 0; b < 3; b++) {
      szgpu_shape const shape = test_shape(SZGPU_F32, 3, 66, 17, 36, 0);
      szgpu_params const params = limited_params(w, b);
      void *const field = limited_make(LIMITED_RAIN, &shape);
      assert_streams_make_the_same(ctx, both, 2, &params, &shape, field);
      free(field);
    }
}

/* ---- values that are no part of the range ---- */

/* A fill value, infinities and NaNs are beyond the limits, and stay. */
static void what_is_kept_exactly_stays_beyond_the_limits(void **state) {
  (void)state;
  static double const outside[] = {-9999, INFINITY, -INFINITY, NAN};
  for (size_t w = 0; w < LIMITED_WAYS; w++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 3, 34, 17, 36, 0);
      szgpu_params params = limited_params(w, KEPT_ABS);
      params.has_fill = 1;
      params.fill = -9999;
      void *const field = limited_make(LIMITED_PLATEAUS, &shape);
      uint64_t const count = test_value_count(&shape);
      for (uint64_t i = 0; i < count; i += 37)
        test_set_value(shape.dtype, field, i, outside[i / 37 % ARRAY_COUNT(outside)]);
      test_archive const archive = archive_compress(ctx, &params, &shape, field);
      szgpu_info const info = test_inspect(&archive);
      assert_true(info.has_limits && info.least > 5 && info.greatest < 104);
      void *const restored = test_decompress(ctx, &archive, info.field_bytes);
      test_assert_bound(&shape, field, restored, &info);
      for (uint64_t i = 0; i < count; i += 37)
        assert_int_equal(test_bits_at(shape.dtype, restored, i),
                         test_bits_at(shape.dtype, field, i));
      assert_slab_is(&archive, &info, restored);
      free(restored);
      free(archive.bytes);
      free(field);
    }
}

/* -0 may come back as +0, as ever, but nothing else becomes -0: not even what would be a little
 * less than 0, or more. */
static void limits_make_no_negative_zeros(void **state) {
  (void)state;
  uint64_t zeros = 0;
  for (size_t w = 0; w < LIMITED_WAYS; w++)
    for (size_t b = 0; b < LIMITED_BOUNDS; b++)
      for (int kind = LIMITED_RAIN; kind <= LIMITED_NEGATIVE; kind++) {
        szgpu_shape const shape = test_shape(SZGPU_F64, 3, 34, 17, 36, 0);
        szgpu_params const params = limited_params(w, b);
        void *const field = limited_make(kind, &shape);
        test_archive const archive = archive_compress(ctx, &params, &shape, field);
        szgpu_info const info = test_inspect(&archive);
        double *const restored = test_decompress(ctx, &archive, test_field_bytes(&shape));
        double const limit = kind == LIMITED_RAIN ? info.least : info.greatest;
        assert_true(info.has_limits && limit == 0 && !signbit(limit));
        for (uint64_t i = 0; i < test_value_count(&shape); i++) {
          bool const was_negative_zero = test_bits_at(SZGPU_F64, field, i) == UINT64_C(1) << 63;
          if (restored[i] != 0) continue;
          assert_true(!signbit(restored[i]) || was_negative_zero);
          zeros++;
        }
        free(restored);
        free(archive.bytes);
        free(field);
      }
  assert_true(zeros > 10000);
}

/* No encoder makes such an archive: products of points and step become -0. A least of 0 makes +0 of
 * them, as a maximum does that holds -0 for less. */
static void a_zero_that_rounding_made_takes_the_sign_of_the_limit(void **state) {
  (void)state;
  static double const limits[][2] = {{0, 1}, {-1, 0}, {-1, 1}, {0, 0}};
  enum { STEP = 72, ARITHMETIC = 120, F32_CLOSE = 1, CLOSE_BOUND = 4 };
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 70, 131, 0, 0);
  void *const field = limited_make(LIMITED_NEGATIVE, &shape);
  double const tiny = 1e-60;
  uint64_t step, negative = 0;
  memcpy(&step, &tiny, sizeof step);
  for (size_t w = 0; w < LIMITED_WAYS; w += 2) /* those of one frame: linear, tile, levels, auto */
    for (size_t i = 0; i < ARRAY_COUNT(limits); i++) {
      szgpu_params const params = limited_params(w, CLOSE_BOUND);
      test_archive const archive = archive_compress(ctx, &params, &shape, field);
      test_archive edited = archive_with_limits(&archive, limits[i]);
      archive_store(&edited, STEP, 8, step);
      archive_store(&edited, ARITHMETIC, 4, F32_CLOSE);
      archive_rehash(&edited);
      float *const restored = test_decompress(ctx, &edited, test_field_bytes(&shape));
      for (uint64_t v = 0; v < test_value_count(&shape); v++) {
        if (restored[v] != 0) continue; /* kept exactly */
        assert_true(limits[i][0] < 0 || !signbit(restored[v]));
        negative += signbit(restored[v]) != 0;
      }
      free(restored);
      free(edited.bytes);
      free(archive.bytes);
    }
  assert_true(negative > 1000);
  free(field);
}

/* ---- archives that have none ---- */

/* One value is stored as it is; where the bound means nothing to any value, so are all. */
static void fields_that_no_step_codes_have_no_limits(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 30, 40, 0, 0);
  for (size_t w = 0; w < LIMITED_WAYS; w++)
    for (int field_number = 0; field_number < 5; field_number++) {
      bool const is_hopeless = field_number >= 3, keeps_restored = field_number == 4;
      szgpu_params params = limited_params(w, is_hopeless ? KEPT_ABS : 0);
      if (is_hopeless) params.bound = 1e-320;
      if (keeps_restored) { /* 0 alone has a step, but not one that keeps restored values */
        params.bound = 3e-294;
        params.keep |= SZGPU_KEEP_RESTORED;
      }
      float *const field = test_make_waves(&shape);
      for (uint64_t i = 0; i < test_value_count(&shape) && !is_hopeless; i++)
        field[i] = field_number == 0 ? 3.5f : field_number == 1 ? (i % 2 ? 0.0f : -0.0f) : NAN;
      if (keeps_restored) field[7] = 0.0f;
      szgpu_info const info = assert_comes_back(ctx, three_threads, &params, &shape, field);
      assert_false(info.has_limits);
      assert_true(info.format_version < 8);
      free(field);
    }
}

/* With an absolute bound there are limits if they are asked for, and otherwise archives are those
 * of earlier versions: the golden ones are compared with them byte for byte. The frames of both are
 * the same, unless the field is so large that a sample of it makes the step another. */
static void an_absolute_bound_has_limits_if_asked(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 34, 17, 36, 0);
  for (size_t w = 0; w < LIMITED_WAYS; w++)
    for (int has_fill = 0; has_fill <= 1; has_fill++) {
      szgpu_params params = limited_params(w, KEPT_ABS);
      params.has_fill = has_fill;
      params.fill = -1;
      void *const field = limited_make(LIMITED_PLATEAUS, &shape);
      test_archive const kept = archive_compress(ctx, &params, &shape, field);
      params.keep = 0;
      test_archive const plain = archive_compress(ctx, &params, &shape, field);
      szgpu_info const info = test_inspect(&plain);
      assert_true(test_inspect(&kept).has_limits && !info.has_limits);
      assert_in_range(info.format_version, 1, 7);
      test_archive const taken = archive_with_limits(&kept, NULL);
      size_t const first = archive_frame_offset(&taken, 0);
      assert_true(info.step == test_inspect(&kept).step);
      assert_int_equal(taken.byte_count, plain.byte_count);
      assert_memory_equal(taken.bytes + first, plain.bytes + first, plain.byte_count - first);
      free(taken.bytes);
      free(plain.bytes);
      free(kept.bytes);
      free(field);
    }
}

/* A large field under an absolute bound is sampled, unless its range is to be kept. */
static void a_kept_range_is_that_of_all_values(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 300, 400, 0, 0);
  float *const field = limited_make(LIMITED_RAIN, &shape);
  field[33] = 250; /* not in the sample's runs */
  field[77777] = -13;
  for (int keeps = 0; keeps <= 1; keeps++) {
    szgpu_params params = limited_params(2, KEPT_ABS);
    params.keep = keeps ? SZGPU_KEEP_RANGE : 0;
    szgpu_info const info = test_round_trip(ctx, &params, &shape, field);
    assert_int_equal(info.has_limits, keeps);
    if (keeps) assert_true(info.least == -13 && info.greatest == 250 && info.value_range == 263);
  }
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_value_leaves_the_range),
      cmocka_unit_test(a_bound_of_each_value_keeps_the_range_of_one_sign),
      cmocka_unit_test(streams_have_the_same_limits),
      cmocka_unit_test(what_is_kept_exactly_stays_beyond_the_limits),
      cmocka_unit_test(limits_make_no_negative_zeros),
      cmocka_unit_test(a_zero_that_rounding_made_takes_the_sign_of_the_limit),
      cmocka_unit_test(fields_that_no_step_codes_have_no_limits),
      cmocka_unit_test(an_absolute_bound_has_limits_if_asked),
      cmocka_unit_test(a_kept_range_is_that_of_all_values),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
