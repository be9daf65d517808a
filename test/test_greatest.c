/* test_greatest.c - bounds from a magnitude that the caller declares, and tiles stored as they are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "ctxs.h"
#include "quant/bound.h"

static szgpu_params declared(double bound, double greatest) {
  szgpu_params params = test_params(SZGPU_MODE_ABS, bound);
  params.greatest = greatest;
  return params;
}

static szgpu_params raw_outliers(double bound, double greatest) {
  szgpu_params params = declared(bound, greatest);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.raw_outliers = 1;
  return params;
}

static szgpu_frame_info first_frame(const test_archive *archive) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame),
                   SZGPU_OK);
  return frame;
}

/* ---- X ---- */

static double greatest_of(szgpu_dtype dtype, double bound, double greatest) {
  szg_bound_plan plan;
  szg_mapping const none = {.outer = dtype, .inner = dtype};
  assert_int_equal(szg_bound_declare(&none, bound, greatest, NULL, &plan), SZGPU_OK);
  assert_true(plan.is_declared && !plan.is_sampled && !plan.is_constant);
  return plan.greatest;
}

static void x_is_the_number_within_its_limits(void **state) {
  (void)state;
  assert_true(greatest_of(SZGPU_F32, 1.0, 100.0) == 100.0);
  assert_true(greatest_of(SZGPU_F64, 1.0, 8.0) == 8.0);
  assert_true(greatest_of(SZGPU_F64, 1.0, 7.9) == 8.0);
  assert_true(greatest_of(SZGPU_F32, 1.0, 1e-30) == 8.0);
  assert_true(greatest_of(SZGPU_F32, 1.0, 1e20) == 0x1p23);
  assert_true(greatest_of(SZGPU_F64, 1.0, 1e20) == 0x1p50);
  assert_true(greatest_of(SZGPU_F64, DBL_MAX, 1.0) == DBL_MAX);
}

/* The archive of a declared X is that of the X of the values. */
static void the_archive_is_that_of_the_same_x(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 17, 40, 33, 0); /* too small for a sample */
  float *const values = test_make_waves(&shape);
  double greatest = 0;
  for (uint64_t i = 0; i < test_value_count(&shape); i++)
    greatest = fmax(greatest, fabs((double)values[i]));
  for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_LORENZO; p++) {
    szgpu_params found = test_params(SZGPU_MODE_ABS, 1e-2), told = declared(1e-2, greatest);
    if (test_layout() == SZGPU_LAYOUT_TILE) found.predictor = told.predictor = p;
    test_archive const a = archive_compress(ctx, &found, &shape, values);
    test_archive const b = archive_compress(ctx, &told, &shape, values);
    szgpu_info const of_a = test_inspect(&a), of_b = test_inspect(&b);
    assert_true(of_a.step == of_b.step);
    assert_true(of_b.value_range == 2 * greatest);
    if (p == SZGPU_PREDICTOR_LORENZO) { /* all but the range and the checksum over it */
      assert_int_equal(a.byte_count, b.byte_count);
      assert_memory_equal(a.bytes + 144, b.bytes + 144, a.byte_count - 144);
    }
    free(a.bytes);
    free(b.bytes);
  }
  free(values);
}

/* ---- the bound ---- */

/* Values of all kinds among waves: every `every`-th one is special. */
static void *make_strange(const szgpu_shape *shape, uint64_t every) {
  static const double special[] = {NAN,     INFINITY, -INFINITY, 1e20,   -9999.0, 3e38,
                                   -1.7e30, 0.0,      -0.0,      1e-310, 700.0,   -101.5};
  void *const values = test_make_waves(shape);
  for (uint64_t i = 0; i < test_value_count(shape); i++)
    if (test_hash(i) % every == 0)
      test_set_value(shape->dtype, values, i, special[test_hash(i + 1) % ARRAY_COUNT(special)]);
  return values;
}

static void claim_round_trip(const szgpu_params *params, const szgpu_shape *shape,
                             const void *values) {
  test_archive const archive = test_compress(ctx, params, shape, values);
  test_archive const again = test_compress(three_threads, params, shape, values);
  void *const restored = test_decompress(three_threads, &archive, test_field_bytes(shape));
  szgpu_info const info = test_inspect(&archive);
  test_assert_bound(shape, values, restored, &info);
  assert_true(info.absolute_bound == params->bound && info.has_fill == params->has_fill);
  assert_int_equal(archive.byte_count, again.byte_count);
  assert_memory_equal(archive.bytes, again.bytes, archive.byte_count);
  if (params->raw_outliers) {
    szgpu_frame_info const frame = first_frame(&archive);
    bool const is_tile = strcmp(frame.kind, "tile") == 0;
    assert_true(is_tile || strcmp(frame.kind, "raw") == 0);
    for (uint32_t i = 0; i < frame.section_count; i++)
      assert_true(!is_tile || i < 3 || frame.sections[i].raw_bytes == 0);
  }
  free(restored);
  free(archive.bytes);
  free(again.bytes);
}

static void the_bound_holds_whatever_is_declared(void **state) {
  (void)state;
  static const double greatest[] = {1e-30, 0.4, 5.0, 90.0, 102.0, 1e4, 1e15, 1e300};
  static const double bounds[] = {1e-6, 1e-2, 3.0, 1e3};
  static const uint64_t every[] = {1u << 30, 5000, 20};
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (size_t g = 0; g < ARRAY_COUNT(greatest); g++)
      for (size_t b = 0; b < ARRAY_COUNT(bounds); b++) {
        szgpu_shape shape = test_awkward_shapes[s];
        shape.dtype = (s + g + b) % 2 ? SZGPU_F32 : SZGPU_F64;
        void *const values = make_strange(&shape, every[(s + b) % ARRAY_COUNT(every)]);
        szgpu_params plain = declared(bounds[b], greatest[g]);
        szgpu_params raw = raw_outliers(bounds[b], greatest[g]);
        plain.has_fill = raw.has_fill = g % 2;
        plain.fill = raw.fill = -9999.0;
        claim_round_trip(&plain, &shape, values);
        claim_round_trip(&raw, &shape, values);
        free(values);
      }
}

/* ---- raw tiles and raw frames ---- */

static void a_value_kept_exactly_makes_its_tile_raw(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 10 * 4096, 0, 0, 0);
  float *const values = test_make_waves(&shape);
  szgpu_params const params = raw_outliers(0.1, 102.0);
  test_archive const without = test_compress(ctx, &params, &shape, values);
  values[5 * 4096 + 17] = NAN;
  test_archive const with = test_compress(ctx, &params, &shape, values);
  szgpu_frame_info const before = first_frame(&without), after = first_frame(&with);
  assert_string_equal(after.kind, "tile");
  uint64_t const more = after.sections[2].raw_bytes - before.sections[2].raw_bytes;
  assert_in_range(more, 4 * 4096 / 2, 4 * 4096);
  free(without.bytes);
  free(with.bytes);
  free(values);
}

static void a_frame_that_does_not_shrink_is_raw(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, 130, 70, 0, 0);
  void *const values = test_make_bits(&shape);
  szgpu_params const params = raw_outliers(1e-3, 100.0);
  test_archive const archive = test_compress(ctx, &params, &shape, values);
  assert_string_equal(first_frame(&archive).kind, "raw");
  claim_round_trip(&params, &shape, values);
  free(archive.bytes);
  free(values);
}

static void frames_and_streams_take_it_too(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 70, 31, 45, 0);
  float *const values = make_strange(&shape, 7000);
  szgpu_params params = raw_outliers(1e-2, 102.0);
  params.frame_rows = 16;
  claim_round_trip(&params, &shape, values);
  params.zstd_level = 1;
  claim_round_trip(&params, &shape, values);
  free(values);
}

/* ---- refusals ---- */

static void refused(const szgpu_params *params, const char *why) {
  float const values[8] = {0};
  uint8_t bytes[4096];
  size_t byte_count;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 8, 0, 0, 0);
  assert_int_equal(szgpu_compress(ctx, params, &shape, values, bytes, sizeof bytes, &byte_count),
                   SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), why));
}

static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  static const double bad[] = {-1.0, INFINITY, NAN, -INFINITY};
  for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
    szgpu_params const params = declared(1e-3, bad[i]);
    refused(&params, "is not finite and above 0");
  }
  szgpu_params params = declared(1e-3, 1.0);
  params.mode = SZGPU_MODE_REL;
  refused(&params, "for absolute bounds only");
  params.mode = SZGPU_MODE_LOSSLESS;
  refused(&params, "for absolute bounds only");
  params = raw_outliers(1e-3, 0.0);
  refused(&params, "needs a greatest magnitude");
  params = raw_outliers(1e-3, 1.0);
  params.predictor = SZGPU_PREDICTOR_AUTO;
  refused(&params, "for the tile layout and the predictor lorenzo");
  params = raw_outliers(1e-3, 1.0);
  params.layout = SZGPU_LAYOUT_LINEAR;
  refused(&params, "for the tile layout and the predictor lorenzo");
}

/* Params from a header that lacks the new members. */
static void older_params_are_complete(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 50, 60, 0, 0);
  float *const values = test_make_waves(&shape);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  test_archive const expected = test_compress(ctx, &params, &shape, values);
  params.struct_bytes = offsetof(szgpu_params, greatest);
  params.greatest = -1.0;
  params.raw_outliers = 7;
  test_archive const archive = test_compress(ctx, &params, &shape, values);
  assert_int_equal(archive.byte_count, expected.byte_count);
  assert_memory_equal(archive.bytes, expected.bytes, expected.byte_count);
  free(expected.bytes);
  free(archive.bytes);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(x_is_the_number_within_its_limits),
      cmocka_unit_test(the_archive_is_that_of_the_same_x),
      cmocka_unit_test(the_bound_holds_whatever_is_declared),
      cmocka_unit_test(a_value_kept_exactly_makes_its_tile_raw),
      cmocka_unit_test(a_frame_that_does_not_shrink_is_raw),
      cmocka_unit_test(frames_and_streams_take_it_too),
      cmocka_unit_test(what_makes_no_sense_is_refused),
      cmocka_unit_test(older_params_are_complete),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
