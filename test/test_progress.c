/* test_progress.c - the progress callback, and stopping by it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* What the calls of the callback reported. */
typedef struct report {
  uint64_t calls, last_done, total;
  uint64_t stop_at_call; /* 0: never */
  bool went_back, passed_total, changed_total, in_another_thread;
  pthread_t caller;
} report;

static int note(void *user, uint64_t done_values, uint64_t total_values) {
  report *const r = user;
  r->calls++;
  r->went_back |= done_values < r->last_done;
  r->passed_total |= done_values > total_values;
  r->changed_total |= r->total != 0 && r->total != total_values;
  r->in_another_thread |= !pthread_equal(pthread_self(), r->caller);
  r->last_done = done_values;
  r->total = total_values;
  return r->calls == r->stop_at_call;
}

static szgpu_ctx *make_ctx(int threads, report *r) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.threads = threads;
  options.progress = note;
  options.progress_user = r;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  return ctx;
}

static void restart(report *r) { *r = (report){.caller = pthread_self()}; }

/* done never falls and never passes total; the last report says that all is done. */
static void assert_orderly(const report *r) {
  assert_true(r->calls > 0);
  assert_false(r->went_back);
  assert_false(r->passed_total);
  assert_false(r->changed_total);
  assert_false(r->in_another_thread);
  assert_int_equal(r->last_done, r->total);
}

typedef enum field_kind { CODED, CONSTANT, RAW, HOPELESS } field_kind;

static void *make_field(field_kind kind, const szgpu_shape *shape, szgpu_params *params) {
  *params = test_params(SZGPU_MODE_ABS, 1e-3);
  void *const field = kind == RAW ? test_make_bits(shape) : test_make_waves(shape);
  if (kind == CONSTANT)
    for (uint64_t i = 0; i < test_value_count(shape); i++)
      test_set_value(shape->dtype, field, i, 3.0);
  if (kind == RAW) params->bound = 1e-20;
  if (kind == HOPELESS) params->bound = 0x1p-1074;
  return field;
}

static void assert_orderly_calls(field_kind kind, int threads) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 90, 64, 96, 0);
  report r = {.caller = pthread_self()};
  szgpu_ctx *const ctx = make_ctx(threads, &r);
  szgpu_params params;
  void *const field = make_field(kind, &shape, &params);
  for (uint64_t frame_rows = 0; frame_rows <= 32; frame_rows += 32) {
    params.frame_rows = frame_rows;
    restart(&r);
    test_archive archive = test_compress(ctx, &params, &shape, field);
    assert_orderly(&r);
    restart(&r);
    free(test_decompress(ctx, &archive, test_field_bytes(&shape)));
    assert_orderly(&r);
    assert_int_equal(r.total, test_value_count(&shape));
    free(archive.bytes);
  }
  szgpu_destroy(ctx);
  free(field);
}

static void coded_frames_report_in_order_to_the_end(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) assert_orderly_calls(CODED, threads);
}

static void constant_frames_report_in_order_to_the_end(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) assert_orderly_calls(CONSTANT, threads);
}

static void raw_frames_report_in_order_to_the_end(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) assert_orderly_calls(RAW, threads);
  for (int threads = 1; threads <= 3; threads++) assert_orderly_calls(HOPELESS, threads);
}

static void slabs_report_in_order_to_the_end(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 90, 64, 96, 0);
  szgpu_params const params = test_params(SZGPU_MODE_REL, 1e-3);
  report r = {.caller = pthread_self()};
  szgpu_ctx *const ctx = make_ctx(1, &r);
  void *const field = test_make_waves(&shape);
  test_archive archive = test_compress(ctx, &params, &shape, field);
  size_t const row_bytes = 64 * 96 * sizeof(float);
  void *const slab = test_allocate(test_field_bytes(&shape));
  for (uint64_t first = 0; first < 60; first += 7)
    for (uint64_t count = 1; count <= 30; count += 13) {
      restart(&r);
      assert_int_equal(szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, first, count,
                                             slab, count * row_bytes),
                       SZGPU_OK);
      assert_orderly(&r);
    }
  free(slab);
  free(archive.bytes);
  free(field);
  szgpu_destroy(ctx);
}

/* Of several threads, others may take all parts; then the callback is not called in between. */
static void a_nonzero_answer_stops_and_the_ctx_stays_usable(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 90, 64, 96, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 32;
  void *const field = test_make_waves(&shape);
  size_t const bytes = test_field_bytes(&shape);
  void *const room = test_allocate(2 * bytes);
  szgpu_ctx *const plain = test_make_ctx(1);
  test_archive const expected = test_compress(plain, &params, &shape, field);
  for (int threads = 1; threads <= 2; threads++) {
    report r = {.caller = pthread_self()};
    szgpu_ctx *const ctx = make_ctx(threads, &r);
    for (uint64_t stop = 1; stop <= 12; stop++) {
      size_t used;
      restart(&r);
      r.stop_at_call = stop;
      szgpu_status const compressed =
          szgpu_compress(ctx, &params, &shape, field, room, 2 * bytes, &used);
      assert_int_equal(compressed, r.calls < stop ? SZGPU_OK : SZGPU_CANCELLED);
      assert_true(threads > 1 || r.calls == stop);
      assert_true(r.calls <= stop); /* not called again */
      restart(&r);
      r.stop_at_call = stop;
      szgpu_status const restored =
          szgpu_decompress(ctx, expected.bytes, expected.byte_count, room, bytes);
      assert_int_equal(restored, r.calls < stop ? SZGPU_OK : SZGPU_CANCELLED);
      assert_true(r.calls <= stop);
      restart(&r);
      test_archive again = test_compress(ctx, &params, &shape, field);
      assert_int_equal(again.byte_count, expected.byte_count);
      assert_memory_equal(again.bytes, expected.bytes, expected.byte_count);
      free(again.bytes);
    }
    szgpu_destroy(ctx);
  }
  szgpu_destroy(plain);
  free(expected.bytes);
  free(room);
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(coded_frames_report_in_order_to_the_end),
      cmocka_unit_test(constant_frames_report_in_order_to_the_end),
      cmocka_unit_test(raw_frames_report_in_order_to_the_end),
      cmocka_unit_test(slabs_report_in_order_to_the_end),
      cmocka_unit_test(a_nonzero_answer_stops_and_the_ctx_stays_usable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
