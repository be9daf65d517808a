/* test_inner_values.c - what the search for the bound leaves of values that are mapped.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "support.h"

enum { VALUES = 600001 /* in several parts of the pass */, POISON = 0xA5 };

typedef struct found {
  szg_mapping mapping; /* with the field's fill value */
  szg_bound_plan bound;
  uint8_t *inner; /* VALUES of them */
} found;

static found find_bound(const szgpu_params *params, szgpu_dtype dtype, const void *field) {
  szg_threads threads = {.count = 3};
  szg_mapping const mapping = szg_mapping_of_params(params, dtype);
  szg_value_source source = szg_value_source_mapped_cpu(&threads, &mapping, field, VALUES);
  found f;
  f.inner = malloc(VALUES * test_dtype_bytes(mapping.inner));
  assert_non_null(f.inner);
  memset(f.inner, POISON, VALUES * test_dtype_bytes(mapping.inner));
  source.inner_values = f.inner;
  assert_int_equal(
      szg_call_bound(params, NULL, &source, (szg_bound_tries){false, false, true}, &f.bound),
      SZGPU_OK);
  f.mapping = szg_bound_mapping(&f.bound, &mapping);
  return f;
}

static void assert_kept(const found *f, const void *field) {
  size_t const bytes = VALUES * test_dtype_bytes(f->mapping.inner);
  void *const expected = malloc(bytes);
  assert_non_null(expected);
  szg_values_to_inner(&f->mapping, field, VALUES, expected);
  assert_true(f->bound.has_inner_values);
  assert_memory_equal(f->inner, expected, bytes);
  free(expected);
}

static void assert_untouched(const found *f) {
  assert_false(f->bound.has_inner_values);
  for (size_t i = 0; i < VALUES * test_dtype_bytes(f->mapping.inner); i++)
    assert_int_equal(f->inner[i], POISON);
}

/* Of both signs, over orders of magnitude, with zeros and a known fill value. */
static float *make_field(void) {
  float *const field = malloc(VALUES * sizeof *field);
  assert_non_null(field);
  for (int i = 0; i < VALUES; i++) field[i] = sinf((float)i * 0.001f) * expf((float)(i % 37));
  for (int i = 0; i < VALUES; i += 1001) field[i] = i % 2 ? 1e20f : -0.0f;
  return field;
}

static szgpu_params params_of(szgpu_mode mode, double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = mode;
  params.bound = bound;
  return params;
}

static void logarithms_are_left_where_there_is_room(void **state) {
  (void)state;
  static const double bounds[] = {1e-2, 1e-6}; /* logarithms of f32, and of f64 */
  float *const field = make_field();
  for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
    szgpu_params const params = params_of(SZGPU_MODE_PWREL, bounds[i]);
    found const f = find_bound(&params, SZGPU_F32, field);
    assert_true(f.bound.has_own_fill);
    assert_kept(&f, field);
    free(f.inner);
  }
  free(field);
}

static void wider_values_are_left_where_there_is_room(void **state) {
  (void)state;
  int16_t *const field = malloc(VALUES * sizeof *field);
  assert_non_null(field);
  for (int i = 0; i < VALUES; i++) field[i] = (int16_t)(i * 7 % 60000 - 30000);
  szgpu_params const params = params_of(SZGPU_MODE_ABS, 2.0);
  found const f = find_bound(&params, SZGPU_I16, field);
  assert_kept(&f, field);
  free(f.inner);
  free(field);
}

/* No logarithm is taken under a bound that is too close for them. */
static void a_hopeless_bound_leaves_nothing(void **state) {
  (void)state;
  float *const field = make_field();
  szgpu_params const params = params_of(SZGPU_MODE_PWREL, 1e-9);
  found const f = find_bound(&params, SZGPU_F32, field);
  assert_true(f.bound.is_hopeless);
  assert_untouched(&f);
  free(f.inner);
  free(field);
}

static void a_declared_bound_leaves_nothing(void **state) {
  (void)state;
  int16_t *const field = calloc(VALUES, sizeof *field);
  assert_non_null(field);
  szgpu_params params = params_of(SZGPU_MODE_ABS, 2.0);
  params.greatest = 100.0;
  found const f = find_bound(&params, SZGPU_I16, field);
  assert_true(f.bound.is_declared);
  assert_untouched(&f);
  free(f.inner);
  free(field);
}

/* Both backends ask this: a magnitude says nothing about logarithms. */
static void bounds_of_each_value_are_never_declared(void **state) {
  (void)state;
  szgpu_params params = params_of(SZGPU_MODE_PWREL, 1e-3);
  szg_mapping const logs = szg_mapping_of_params(&params, SZGPU_F32);
  szg_mapping const wider = szg_mapping_of(SZGPU_MODE_ABS, SZGPU_I16);
  params.greatest = 100.0;
  assert_false(szg_call_has_declared_bound(&params, &logs));
  assert_true(szg_call_has_declared_bound(&params, &wider));
  params.greatest = 0.0;
  assert_false(szg_call_has_declared_bound(&params, &wider));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logarithms_are_left_where_there_is_room),
      cmocka_unit_test(wider_values_are_left_where_there_is_room),
      cmocka_unit_test(a_hopeless_bound_leaves_nothing),
      cmocka_unit_test(a_declared_bound_leaves_nothing),
      cmocka_unit_test(bounds_of_each_value_are_never_declared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
