/* test_busy.c - a ctx that a call is using refuses every other call, and the first goes on.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The second call comes from the first one's progress callback, in its thread or in another. Before
 * there was a check, the two worked in the same workspace.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { CALLS_WITH_CTX = 9 };

typedef struct intrusion {
  szgpu_ctx *ctx;
  szgpu_shape shape;
  szgpu_params params;
  void *field; /* also of the second calls, which must not write it */
  test_archive archive;
  bool in_another_thread, is_done;
  int refused_calls; /* of CALLS_WITH_CTX */
  bool cancels;      /* the first call */
} intrusion;

/* Makes every call that takes a ctx. */
static void *intrude(void *user) {
  intrusion *const in = user;
  size_t const field_bytes = test_field_bytes(&in->shape);
  size_t bytes = 0;
  void *const field = test_allocate(field_bytes);
  uint8_t *const to = test_allocate(in->archive.byte_count);
  const void *const from = in->archive.bytes;
  size_t const from_bytes = in->archive.byte_count;
  szgpu_status const statuses[CALLS_WITH_CTX] = {
      szgpu_sizes(in->ctx, &in->params, &in->shape, &bytes, &bytes),
      szgpu_bounds(in->ctx, &in->params, &in->shape, &bytes, &bytes),
      szgpu_reserve(in->ctx, &in->params, &in->shape),
      szgpu_compress(in->ctx, &in->params, &in->shape, in->field, to, from_bytes, &bytes),
      szgpu_decompress(in->ctx, from, from_bytes, field, field_bytes),
      szgpu_decompress_slab(in->ctx, from, from_bytes, 0, in->shape.dims[0], field, field_bytes),
      szgpu_decompress_level(in->ctx, from, from_bytes, 0, field, field_bytes),
      szgpu_decompress_level(in->ctx, from, from_bytes, 1, field, field_bytes),
      szgpu_set_memory_limit(in->ctx, 1),
  };
  in->refused_calls = 0;
  for (int i = 0; i < CALLS_WITH_CTX; i++)
    in->refused_calls += statuses[i] == SZGPU_BAD_ARGUMENT && bytes == 0;
  free(field);
  free(to);
  return NULL;
}

static int note(void *user, uint64_t done_values, uint64_t total_values) {
  intrusion *const in = user;
  (void)done_values, (void)total_values;
  if (!in->archive.bytes || in->is_done) return in->cancels;
  in->is_done = true;
  if (in->in_another_thread) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, intrude, in), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
  } else {
    intrude(in);
  }
  return in->cancels;
}

static intrusion make_intrusion(bool in_another_thread) {
  intrusion in = {.shape = test_shape(SZGPU_F32, 3, 40, 30, 33, 0),
                  .params = test_params(SZGPU_MODE_ABS, 1e-3),
                  .in_another_thread = in_another_thread};
  in.field = test_make_waves(&in.shape);
  return in;
}

/* Not part of make_intrusion, because the ctx keeps the address. */
static void open_ctx(intrusion *in) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.threads = 2;
  options.progress = note;
  options.progress_user = in;
  assert_int_equal(szgpu_create(&in->ctx, &options), SZGPU_OK);
  in->archive = test_compress(in->ctx, &in->params, &in->shape, in->field);
}

static void close_ctx(intrusion *in) {
  szgpu_destroy(in->ctx);
  free(in->field);
  free(in->archive.bytes);
}

static void compresses_alike(intrusion *in) {
  test_archive archive = test_compress(in->ctx, &in->params, &in->shape, in->field);
  assert_int_equal(archive.byte_count, in->archive.byte_count);
  assert_memory_equal(archive.bytes, in->archive.bytes, archive.byte_count);
  free(archive.bytes);
}

static void a_second_call_is_refused_and_the_first_succeeds(void **state) {
  (void)state;
  for (int is_other = 0; is_other <= 1; is_other++) {
    intrusion in = make_intrusion(is_other);
    open_ctx(&in);
    size_t const field_bytes = test_field_bytes(&in.shape);
    compresses_alike(&in);
    assert_int_equal(in.refused_calls, CALLS_WITH_CTX);
    in.is_done = false;
    in.refused_calls = 0;
    void *const first = test_decompress(in.ctx, &in.archive, field_bytes);
    assert_int_equal(in.refused_calls, CALLS_WITH_CTX);
    void *const again = test_decompress(in.ctx, &in.archive, field_bytes);
    assert_memory_equal(first, again, field_bytes);
    compresses_alike(&in);
    free(first);
    free(again);
    close_ctx(&in);
  }
}

/* A call that fails gives the ctx back, and its sentence is not touched by the refused calls. */
static void the_sentence_is_that_of_the_first_call(void **state) {
  (void)state;
  intrusion in = make_intrusion(true);
  open_ctx(&in);
  uint8_t *const archive = test_allocate(in.archive.byte_count);
  char sentence[320] = "";
  for (int with_intruder = 0; with_intruder <= 1; with_intruder++) {
    size_t bytes;
    in.is_done = !with_intruder;
    assert_int_equal(szgpu_compress(in.ctx, &in.params, &in.shape, in.field, archive,
                                    in.archive.byte_count - 1, &bytes),
                     SZGPU_CAPACITY);
    assert_true(in.is_done);
    assert_string_not_equal(szgpu_last_error(in.ctx), "");
    if (with_intruder) assert_string_equal(szgpu_last_error(in.ctx), sentence);
    snprintf(sentence, sizeof sentence, "%s", szgpu_last_error(in.ctx));
  }
  compresses_alike(&in);
  free(archive);
  close_ctx(&in);
}

static void every_failed_call_gives_the_ctx_back(void **state) {
  (void)state;
  intrusion in = make_intrusion(false);
  open_ctx(&in);
  size_t const field_bytes = test_field_bytes(&in.shape);
  size_t bytes;
  szgpu_params bad = in.params;
  bad.bound = -1;
  assert_int_equal(szgpu_sizes(in.ctx, &bad, &in.shape, &bytes, &bytes), SZGPU_BAD_BOUND);
  assert_int_equal(szgpu_reserve(in.ctx, &bad, &in.shape), SZGPU_BAD_BOUND);
  assert_int_equal(szgpu_compress(in.ctx, &bad, &in.shape, in.field, in.field, 1, &bytes),
                   SZGPU_BAD_BOUND);
  for (int level = 0; level <= 1; level++)
    assert_int_equal(szgpu_decompress_level(in.ctx, "no", 2, level, in.field, field_bytes),
                     SZGPU_NOT_AN_ARCHIVE);
  assert_int_equal(szgpu_decompress_slab(in.ctx, "no", 2, 0, 1, in.field, field_bytes),
                   SZGPU_NOT_AN_ARCHIVE);
  in.cancels = true;
  void *const field = test_allocate(field_bytes);
  assert_int_equal(
      szgpu_decompress(in.ctx, in.archive.bytes, in.archive.byte_count, field, field_bytes),
      SZGPU_CANCELLED);
  in.cancels = false;
  compresses_alike(&in);
  free(field);
  close_ctx(&in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_second_call_is_refused_and_the_first_succeeds),
      cmocka_unit_test(the_sentence_is_that_of_the_first_call),
      cmocka_unit_test(every_failed_call_gives_the_ctx_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
