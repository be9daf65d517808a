/* test_sampled_bound.c - absolute bounds from a sample: when they are taken, and what if they fail.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ctxs.h"
#include "quant/bound.h"
#include "sampled_fields.h"

/* Calls claim() for each field, type and predictor. */
static void for_all_fields(void (*claim)(const sampled_field *field)) {
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < SAMPLED_FIELDS; which++) {
      sampled_field field = sampled_field_make((szgpu_dtype)dtype, which);
      for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        field.params.predictor = (szgpu_predictor)p;
        claim(&field);
      }
      free(field.values);
    }
}

/* ---- the sample ---- */

static void runs_are_in_their_spans_and_differ(void **state) {
  (void)state;
  uint32_t seen[64] = {0};
  for (uint64_t span = 0; span < 6400; span++) {
    uint64_t const first = szg_range_run_of(span), at = first - (span << SZG_RANGE_SPAN_LOG2);
    assert_true(at % 32 == 0 && at / 32 < 64);
    seen[at / 32]++;
  }
  for (size_t i = 0; i < ARRAY_COUNT(seen); i++) assert_in_range(seen[i], 80, 120);
}

static void the_sample_has_its_extremes(void **state) {
  (void)state;
  szg_threads threads = {.count = 3};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (uint64_t count = 2048; count < 3000000; count = count * 7 + 11) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, count, 0, 0, 0);
      sampled_field const field = {.shape = shape, .values = test_make_waves(&shape)};
      szg_value_source const source =
          szg_value_source_cpu(&threads, shape.dtype, field.values, count);
      szg_extremes found;
      assert_int_equal(source.sample_extremes(&source, &found), SZGPU_OK);
      assert_true(found.greatest - found.least == sampled_field_range(&field, true, NAN));
      assert_int_equal(found.fills_seen, 0);
      free(field.values);
    }
}

static void a_special_value_in_the_sample_is_seen(void **state) {
  (void)state;
  static const double special[] = {NAN, INFINITY, -INFINITY, -1e34, 9.96921e36};
  szg_threads threads = {.count = 1};
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (size_t i = 0; i < ARRAY_COUNT(special); i++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, 100000, 0, 0, 0);
      void *const values = test_make_waves(&shape);
      test_set_value(shape.dtype, values, szg_range_run_of(17) + 31, special[i]);
      szg_value_source const source = szg_value_source_cpu(&threads, shape.dtype, values, 100000);
      szg_extremes found;
      assert_int_equal(source.sample_extremes(&source, &found), SZGPU_OK);
      assert_int_not_equal(found.fills_seen, 0);
      free(values);
    }
}

static void x_is_half_as_much_again(void **state) {
  (void)state;
  sampled_field const field = sampled_field_make(SZGPU_F32, 0);
  uint64_t const count = test_value_count(&field.shape);
  szg_threads threads = {.count = 1};
  szg_value_source const source = szg_value_source_cpu(&threads, SZGPU_F32, field.values, count);
  szg_extremes sample;
  szg_bound_plan plan;
  bool is_enough;
  assert_int_equal(source.sample_extremes(&source, &sample), SZGPU_OK);
  assert_int_equal(szg_bound_sample(&source, 0.05, &plan, &is_enough), SZGPU_OK);
  assert_true(is_enough && plan.is_sampled);
  assert_true(plan.greatest == 1.5 * fmax(fabs(sample.least), fabs(sample.greatest)));
  assert_int_equal(szg_bound_sample(&source, -1.0, &plan, &is_enough), SZGPU_BAD_BOUND);
  free(field.values);
}

/* ---- archives ---- */

static bool has_levels(const test_archive *archive) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame),
                   SZGPU_OK);
  return strcmp(frame.kind, "levels") == 0;
}

static void claim_archive(const sampled_field *field) {
  test_archive const archive = test_compress(ctx, &field->params, &field->shape, field->values);
  test_archive const again =
      test_compress(three_threads, &field->params, &field->shape, field->values);
  void *const restored = test_decompress(ctx, &archive, test_field_bytes(&field->shape));
  szgpu_info const info = test_inspect(&archive);
  test_assert_bound(&field->shape, field->values, restored, &info);
  assert_true(info.absolute_bound == field->params.bound);
  assert_int_equal(again.byte_count, archive.byte_count);
  assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
  double const fill = info.has_fill ? (double)1e20f : (double)NAN;
  bool const is_tile = !has_levels(&archive);
  bool const is_sampled = field->is_sampled || (field->suits_tiles && is_tile);
  double const expected = sampled_field_range(field, is_sampled, fill);
  if (info.value_range != expected)
    fail_msg("%s: the range is %.17g, not %.17g", field->what, info.value_range, expected);
  free(restored);
  free(again.bytes);
  free(archive.bytes);
}

static void only_fields_without_strays_go_by_the_sample(void **state) {
  (void)state;
  for_all_fields(claim_archive);
}

/* Strays of the first attempt may need more room than the archive in the end. */
static void claim_capacity(const sampled_field *field) {
  test_archive const archive = test_compress(ctx, &field->params, &field->shape, field->values);
  uint8_t *const bytes = test_allocate(archive.byte_count);
  size_t byte_count = 0;
  assert_int_equal(szgpu_compress(ctx, &field->params, &field->shape, field->values, bytes,
                                  archive.byte_count, &byte_count),
                   SZGPU_OK);
  assert_int_equal(byte_count, archive.byte_count);
  assert_memory_equal(bytes, archive.bytes, byte_count);
  assert_int_equal(szgpu_compress(ctx, &field->params, &field->shape, field->values, bytes,
                                  archive.byte_count - 1, &byte_count),
                   SZGPU_CAPACITY);
  free(bytes);
  free(archive.bytes);
}

static void an_archive_fits_its_own_size(void **state) {
  (void)state;
  for_all_fields(claim_capacity);
}

/* ---- progress ---- */

typedef struct progress_seen {
  uint64_t done, total;
  int calls;
} progress_seen;

static int note_progress(void *user, uint64_t done_values, uint64_t total_values) {
  progress_seen *const seen = user;
  assert_true(done_values >= seen->done);
  *seen = (progress_seen){done_values, total_values, seen->calls + 1};
  return 0;
}

static void claim_progress(const sampled_field *field) {
  progress_seen seen = {0};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.progress = note_progress;
  options.progress_user = &seen;
  szgpu_ctx *watched;
  assert_int_equal(szgpu_create(&watched, &options), SZGPU_OK);
  for (int call = 0; call < 2; call++) {
    seen.done = 0;
    test_archive const archive =
        test_compress(watched, &field->params, &field->shape, field->values);
    assert_true(seen.calls > 0 && seen.done == seen.total);
    free(archive.bytes);
  }
  szgpu_destroy(watched);
}

static void progress_never_goes_back(void **state) {
  (void)state;
  for_all_fields(claim_progress);
}

/* ---- calls that need all values ---- */

static void other_modes_and_a_named_fill_take_all_values(void **state) {
  (void)state;
  sampled_field field = sampled_field_make(SZGPU_F32, 3);
  double const whole = sampled_field_range(&field, false, NAN);
  szgpu_params of_range = field.params, with_fill = field.params, linear = field.params;
  of_range.mode = SZGPU_MODE_REL;
  of_range.bound = 1e-3;
  with_fill.has_fill = 1;
  with_fill.fill = -9999.0;
  linear.layout = SZGPU_LAYOUT_LINEAR;
  const szgpu_params *const all[] = {&of_range, &with_fill, &linear};
  for (size_t i = 0; i < ARRAY_COUNT(all); i++)
    assert_true(test_round_trip(ctx, all[i], &field.shape, field.values).value_range == whole);
  free(field.values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_in_their_spans_and_differ),
      cmocka_unit_test(the_sample_has_its_extremes),
      cmocka_unit_test(a_special_value_in_the_sample_is_seen),
      cmocka_unit_test(x_is_half_as_much_again),
      cmocka_unit_test(only_fields_without_strays_go_by_the_sample),
      cmocka_unit_test(an_archive_fits_its_own_size),
      cmocka_unit_test(progress_never_goes_back),
      cmocka_unit_test(other_modes_and_a_named_fill_take_all_values),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
