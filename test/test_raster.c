/* test_raster.c - values on a grid coarser than the bound: when the step goes by it, and what if it
 * should not have.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ctxs.h"
#include "memory_streams.h"
#include "quant/raster.h"
#include "raster_fields.h"

/* Calls claim() for each field, type and predictor. */
static void for_all_fields(void (*claim)(const raster_field *field)) {
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < RASTER_FIELDS; which++) {
      raster_field field = raster_field_make((szgpu_dtype)dtype, which);
      for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        field.params.predictor = (szgpu_predictor)p;
        claim(&field);
      }
      free(field.values);
    }
}

/* ---- what is found ---- */

/* number * spacing + offset for whole numbers that go up and down at random, in runs of 32. */
static void make_sample(test_random *random, bool is_f32, double spacing, double offset,
                        szg_raster_sample *sample) {
  int64_t number = 0;
  sample->count = 2048;
  sample->run_values = 32;
  for (uint32_t i = 0; i < sample->count; i++) {
    if (i % 32 == 0) number = (int64_t)test_random_below(random, 4000) - 2000;
    number += (int64_t)test_random_below(random, 41) - 20;
    double const value = (double)number * spacing + offset;
    sample->values[i] = is_f32 ? (double)(float)value : value;
  }
}

static void a_spacing_and_an_offset_are_found(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static szg_raster_sample sample;
  for (int round = 0; round < 2000; round++) {
    bool const is_f32 = round % 2;
    double const spacing =
        ldexp(0.5 + test_random_unit(&random), (int)test_random_below(&random, 60) - 30);
    double const offset = round % 3 ? spacing * 1000 * (test_random_unit(&random) - 0.5) : 0.0;
    szg_raster raster;
    make_sample(&random, is_f32, spacing, offset, &sample);
    if (!szg_raster_find(&sample, is_f32 ? SZGPU_F32 : SZGPU_F64, spacing / 8, &raster))
      fail_msg("round %d: %.17g + n * %.17g was not found", round, offset, spacing);
    double const slack = 4 * raster.rounding + 1e-9 * spacing;
    double const rest = offset - raster.offset;
    assert_true(fabs(raster.spacing - spacing) * 2000 <= slack);
    assert_true(fabs(rest - rint(rest / spacing) * spacing) <= 2 * slack);
  }
}

static void decimals_are_found_to_the_bit(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static szg_raster_sample sample;
  static const double spacings[] = {10, 5, 1, 0.5, 0.1, 0.05, 0.01, 0.001, 1e-4, 0.0625, 25};
  for (int is_f32 = 0; is_f32 <= 1; is_f32++)
    for (size_t i = 0; i < ARRAY_COUNT(spacings); i++) {
      szg_raster raster;
      make_sample(&random, is_f32, spacings[i], 0.0, &sample);
      assert_true(
          szg_raster_find(&sample, is_f32 ? SZGPU_F32 : SZGPU_F64, spacings[i] / 4, &raster));
      if (raster.spacing != spacings[i] || raster.offset != 0.0)
        fail_msg("%.17g + n * %.17g instead of %g", raster.offset, raster.spacing, spacings[i]);
    }
}

/* What would be taken for a raster by chance makes archives larger. */
static void values_that_are_anywhere_have_none(void **state) {
  (void)state;
  test_random random = test_random_begin();
  static szg_raster_sample sample;
  for (int round = 0; round < 4000; round++) {
    bool const is_f32 = round % 2;
    double const scale = ldexp(1.0, (int)test_random_below(&random, 40) - 20);
    double value = 100 * (test_random_unit(&random) - 0.5);
    sample.count = 2048;
    sample.run_values = 32;
    for (uint32_t i = 0; i < sample.count; i++) {
      value += round % 5 ? test_random_unit(&random) - 0.5 : 1e-4 * test_random_unit(&random);
      sample.values[i] = is_f32 ? (double)(float)(value * scale) : value * scale;
    }
    double const least = scale * ldexp(1.0, -(int)test_random_below(&random, 40));
    szg_raster raster;
    if (szg_raster_find(&sample, is_f32 ? SZGPU_F32 : SZGPU_F64, least, &raster))
      fail_msg("round %d: %.17g, not below %g", round, raster.spacing, least);
  }
}

/* ---- archives ---- */

static bool has_step(const raster_field *field, const szgpu_info *info) {
  return fabs(info->step - field->step) <= 1e-6 * field->step;
}

static void claim_archive(const raster_field *field) {
  test_archive const archive = test_compress(ctx, &field->params, &field->shape, field->values);
  test_archive const again =
      test_compress(three_threads, &field->params, &field->shape, field->values);
  void *const restored = test_decompress(ctx, &archive, test_field_bytes(&field->shape));
  szgpu_info const info = test_inspect(&archive);
  test_assert_bound(&field->shape, field->values, restored, &info);
  bool const may_have_one = field->params.predictor != SZGPU_PREDICTOR_INTERPOLATION;
  bool const expected = field->has_raster && may_have_one;
  if (expected != (field->step > 0 && has_step(field, &info)))
    fail_msg("%s, type %d, predictor %d: a step of %.17g, bound %g", field->what,
             (int)field->shape.dtype, (int)field->params.predictor, info.step, info.absolute_bound);
  assert_int_equal(again.byte_count, archive.byte_count);
  assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
  free(restored);
  free(again.bytes);
  free(archive.bytes);
}

static void a_step_goes_by_the_raster(void **state) {
  (void)state;
  for_all_fields(claim_archive);
}

static void claim_disturbed(const raster_field *field) {
  bool const is_tested = field->has_raster && field->params.mode == SZGPU_MODE_ABS;
  if (!is_tested || field->shape.dtype > SZGPU_F64) return;
  size_t const bytes = test_field_bytes(&field->shape);
  raster_field disturbed = *field;
  disturbed.values = test_allocate(bytes);
  memcpy(disturbed.values, field->values, bytes);
  raster_field_disturb(&disturbed);
  claim_archive(&disturbed);
  test_archive const before = test_compress(ctx, &field->params, &field->shape, field->values);
  test_archive const after = test_compress(ctx, &field->params, &field->shape, disturbed.values);
  bool const has_raster = field->params.predictor != SZGPU_PREDICTOR_INTERPOLATION;
  if (has_raster && after.byte_count > before.byte_count + before.byte_count / 50 + 512)
    fail_msg("%s: %zu bytes, %zu before", field->what, after.byte_count, before.byte_count);
  free(before.bytes);
  free(after.bytes);
  free(disturbed.values);
}

static void single_values_may_be_off_the_raster(void **state) {
  (void)state;
  for_all_fields(claim_disturbed);
}

/* With a declared magnitude nothing is known of the values. */
static size_t size_without_raster(const raster_field *field) {
  double greatest = 0;
  uint64_t const count = test_value_count(&field->shape);
  for (uint64_t i = 0; i < count; i++) {
    double const magnitude = fabs(test_value_at(field->shape.dtype, field->values, i));
    if (magnitude < 1e15 && magnitude > greatest) greatest = magnitude;
  }
  szgpu_params params = field->params;
  params.greatest = greatest;
  test_archive const archive = test_compress(ctx, &params, &field->shape, field->values);
  free(archive.bytes);
  return archive.byte_count;
}

static size_t with_bytes, without_bytes; /* of fields that have a raster */

static void claim_size(const raster_field *field) {
  const szgpu_params *const params = &field->params;
  bool const may_declare = params->mode == SZGPU_MODE_ABS && !params->keep && !params->has_valid &&
                           params->greatest == 0.0;
  if (!may_declare || params->predictor == SZGPU_PREDICTOR_INTERPOLATION) return;
  test_archive const archive = test_compress(ctx, params, &field->shape, field->values);
  size_t const without = size_without_raster(field);
  size_t const most = field->has_raster ? without : without + without / 20;
  if (archive.byte_count > most)
    fail_msg("%s, predictor %d: %zu bytes, %zu without", field->what, (int)params->predictor,
             archive.byte_count, without);
  if (field->has_raster) {
    with_bytes += archive.byte_count;
    without_bytes += without;
  }
  free(archive.bytes);
}

static void a_raster_makes_archives_smaller(void **state) {
  (void)state;
  with_bytes = without_bytes = 0;
  for_all_fields(claim_size);
  assert_true(with_bytes < without_bytes / 4 * 3);
}

static void claim_stream(const raster_field *field) {
  test_archive const archive = test_compress(ctx, &field->params, &field->shape, field->values);
  memory_source from = source_of(field->values, test_field_bytes(&field->shape));
  memory_sink to = sink_of(archive.byte_count + 65536);
  szgpu_source const source = {.read = read_memory, .user = &from};
  szgpu_sink const sink = {.write = write_memory, .user = &to};
  szgpu_params params = field->params;
  uint64_t byte_count = 0;
  assert_int_equal(
      szgpu_compress_stream(&ctx, 1, &params, &field->shape, &source, &sink, &byte_count),
      SZGPU_OK);
  assert_int_equal(byte_count, archive.byte_count);
  assert_memory_equal(to.bytes, archive.bytes, byte_count);
  free(to.bytes);
  free(archive.bytes);
}

static void a_stream_has_the_same_archive(void **state) {
  (void)state;
  for_all_fields(claim_stream);
}

/* The first attempt may need more room than the archive in the end. */
static void claim_capacity(const raster_field *field) {
  test_archive const archive = test_compress(ctx, &field->params, &field->shape, field->values);
  uint8_t *const bytes = test_allocate(archive.byte_count);
  size_t byte_count = 0;
  assert_int_equal(szgpu_compress(ctx, &field->params, &field->shape, field->values, bytes,
                                  archive.byte_count, &byte_count),
                   SZGPU_OK);
  assert_int_equal(byte_count, archive.byte_count);
  assert_memory_equal(bytes, archive.bytes, byte_count);
  free(bytes);
  free(archive.bytes);
}

static void an_archive_fits_its_own_size(void **state) {
  (void)state;
  for_all_fields(claim_capacity);
}

static void linear_archives_have_steps_of_rasters_too(void **state) {
  (void)state;
  for (int which = 0; which < RASTER_FIELDS; which++) {
    raster_field field = raster_field_make(SZGPU_F32, which);
    field.params.layout = SZGPU_LAYOUT_LINEAR;
    claim_archive(&field);
    claim_size(&field);
    free(field.values);
  }
}

/* Otherwise values could move by more than the bound in the end. */
static void with_restored_values_kept_all_bits_are_kept(void **state) {
  (void)state;
  int raster_count = 0;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < RASTER_FIELDS; which++) {
      raster_field field = raster_field_make((szgpu_dtype)dtype, which);
      if (field.params.mode == SZGPU_MODE_ABS && field.params.greatest == 0.0) {
        if (field.shape.dtype <= SZGPU_F64) raster_field_disturb(&field);
        field.params.keep |= SZGPU_KEEP_RESTORED;
        test_archive const archive = test_compress(ctx, &field.params, &field.shape, field.values);
        szgpu_info const info = test_inspect(&archive);
        size_t const bytes = test_field_bytes(&field.shape);
        void *const restored = test_decompress(ctx, &archive, bytes);
        test_assert_bound(&field.shape, field.values, restored, &info);
        for (uint64_t i = 0; has_step(&field, &info) && i < test_value_count(&field.shape); i++) {
          double const value = test_value_at(field.shape.dtype, field.values, i);
          double const back = test_value_at(field.shape.dtype, restored, i);
          assert_true(value == back || (value != value && back != back));
        }
        raster_count += has_step(&field, &info);
        free(restored);
        free(archive.bytes);
      }
      free(field.values);
    }
  assert_true(raster_count >= 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_spacing_and_an_offset_are_found),
      cmocka_unit_test(decimals_are_found_to_the_bit),
      cmocka_unit_test(values_that_are_anywhere_have_none),
      cmocka_unit_test(a_step_goes_by_the_raster),
      cmocka_unit_test(single_values_may_be_off_the_raster),
      cmocka_unit_test(a_raster_makes_archives_smaller),
      cmocka_unit_test(a_stream_has_the_same_archive),
      cmocka_unit_test(an_archive_fits_its_own_size),
      cmocka_unit_test(linear_archives_have_steps_of_rasters_too),
      cmocka_unit_test(with_restored_values_kept_all_bits_are_kept),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
