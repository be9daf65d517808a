/* test_alloc.c - for every n the n-th allocation fails: a status, no leak, a ctx that still works.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of the allocator by libzstd itself are not counted, so the test makes libzstd's functions
 * fail instead. test_alloc_kinds.c does this for every kind of frame.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#include "alloc_faults.h"
#include "support.h"

size_t __real_ZSTD_compress(void *to, size_t capacity, const void *from, size_t bytes, int level);
size_t __real_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t bytes);

size_t __wrap_ZSTD_compress(void *to, size_t capacity, const void *from, size_t bytes, int level);
size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t bytes);

static bool zstd_fails;

static size_t const zstd_out_of_memory = (size_t)0 - ZSTD_error_memory_allocation;

size_t __wrap_ZSTD_compress(void *to, size_t capacity, const void *from, size_t bytes, int level) {
  return zstd_fails ? zstd_out_of_memory : __real_ZSTD_compress(to, capacity, from, bytes, level);
}

size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t bytes) {
  return zstd_fails ? zstd_out_of_memory : __real_ZSTD_decompress(to, capacity, from, bytes);
}

/* ---- the work ---- */

enum { MOST_ALLOCATIONS = 1000 };

/* A field with frames that have every kind of section, and its parameters. */
typedef struct work {
  szgpu_shape shape;
  szgpu_params params;
  float *field;
  test_archive archive; /* from a ctx with enough memory */
  int threads;
} work;

static work make_work_of(szgpu_shape shape, int zstd_level, int threads) {
  work w = {.shape = shape, .params = test_params(SZGPU_MODE_ABS, 0.5), .threads = threads};
  test_ask_radius(&w.params, 16);
  w.params.frame_rows = 16;
  w.params.zstd_level = zstd_level;
  w.field = test_make_waves(&w.shape);
  for (size_t i = 0; i < test_value_count(&w.shape); i += 97) w.field[i] = i % 2 ? 1e20f : NAN;
  for (size_t i = 5; i < test_value_count(&w.shape); i += 211) w.field[i] = 3e9f;
  szgpu_ctx *const ctx = test_make_ctx(threads);
  w.archive = test_compress(ctx, &w.params, &w.shape, w.field);
  szgpu_destroy(ctx);
  return w;
}

static work make_work(int zstd_level, int threads) {
  return make_work_of(test_shape(SZGPU_F32, 3, 40, 30, 33, 0), zstd_level, threads);
}

static void release(work *w) {
  free(w->field);
  free(w->archive.bytes);
}

static void compresses_alike(szgpu_ctx *ctx, const work *w) {
  test_archive archive = test_compress(ctx, &w->params, &w->shape, w->field);
  assert_int_equal(archive.byte_count, w->archive.byte_count);
  assert_memory_equal(archive.bytes, w->archive.bytes, archive.byte_count);
  free(archive.bytes);
}

static szgpu_status compress(szgpu_ctx *ctx, const work *w) {
  size_t capacity, archive_bytes;
  assert_int_equal(szgpu_sizes(ctx, &w->params, &w->shape, NULL, &capacity), SZGPU_OK);
  void *const archive = test_allocate(capacity);
  szgpu_status const status =
      szgpu_compress(ctx, &w->params, &w->shape, w->field, archive, capacity, &archive_bytes);
  alloc_fault_set(0);
  free(archive);
  return status;
}

static szgpu_status decompress(szgpu_ctx *ctx, const work *w) {
  size_t const field_bytes = test_field_bytes(&w->shape);
  void *const field = test_allocate(field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, w->archive.bytes, w->archive.byte_count, field, field_bytes);
  free(field);
  return status;
}

/* The rows cut tiles, so that the decoder needs a buffer for the slab. */
static szgpu_status decompress_slab(szgpu_ctx *ctx, const work *w) {
  size_t const slab_bytes = (size_t)20 * 30 * 33 * 4;
  void *const slab = test_allocate(slab_bytes);
  szgpu_status const status =
      szgpu_decompress_slab(ctx, w->archive.bytes, w->archive.byte_count, 3, 20, slab, slab_bytes);
  free(slab);
  return status;
}

typedef szgpu_status (*work_function)(szgpu_ctx *ctx, const work *w);

/* Runs the function with the n-th allocation failing, for n = 1, 1 + step, ... until none is left
 * to fail. The first allocation, the test's own, never fails. Returns how many there were. */
static long fails_at_allocations(const work *w, work_function function, szgpu_decoder decoder,
                                 long step) {
  for (long n = 1; n < MOST_ALLOCATIONS; n += step) {
    long const live_before = alloc_fault_live_blocks();
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.threads = w->threads;
    options.decoder = decoder;
    szgpu_ctx *ctx;
    assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
    alloc_fault_set(1 + n);
    szgpu_status const status = function(ctx, w);
    alloc_fault_set(0);
    if (alloc_fault_was_met()) {
      if (status != SZGPU_OUT_OF_MEMORY)
        fail_msg("allocation %ld failed: %s", n, szgpu_status_text(status));
      if (n % 3 == 1) compresses_alike(ctx, w);
      if (n % 3 == 2) assert_int_equal(decompress(ctx, w), SZGPU_OK);
      assert_int_equal(function(ctx, w), SZGPU_OK);
    }
    szgpu_destroy(ctx);
    assert_int_equal(alloc_fault_live_blocks(), live_before);
    if (alloc_fault_was_met()) continue;
    assert_int_equal(status, SZGPU_OK);
    return n - 1;
  }
  fail_msg("over %d allocations", MOST_ALLOCATIONS);
  return 0;
}

static long fails_at_every_allocation(const work *w, work_function function,
                                      szgpu_decoder decoder) {
  return fails_at_allocations(w, function, decoder, 1);
}

/* ---- claims ---- */

static void compression_survives_any_failing_allocation(void **state) {
  (void)state;
  for (int level = 0; level <= 3; level += 3)
    for (int threads = 1; threads <= (level ? 1 : 2); threads++) {
      work w = make_work(level, threads);
      long const failures = fails_at_every_allocation(&w, compress, SZGPU_DECODER_AUTO);
      assert_in_range(failures, 10, MOST_ALLOCATIONS); /* lists of outliers grow */
      release(&w);
    }
}

/* The same field in the lossless mode, with its archive. */
static work make_lossless_work(szgpu_layout layout, int without_gaps, int zstd_level) {
  work w = make_work(zstd_level, 1);
  w.params = (szgpu_params)SZGPU_PARAMS_DEFAULTS;
  w.params.mode = SZGPU_MODE_LOSSLESS;
  w.params.layout = layout;
  w.params.without_gaps = without_gaps;
  w.params.frame_rows = 16;
  w.params.zstd_level = zstd_level;
  szgpu_ctx *const ctx = test_make_ctx(1);
  free(w.archive.bytes);
  w.archive = test_compress(ctx, &w.params, &w.shape, w.field);
  szgpu_destroy(ctx);
  return w;
}

static void the_lossless_mode_survives_any_failing_allocation(void **state) {
  (void)state;
  static const szgpu_decoder decoders[] = {SZGPU_DECODER_AUTO,        SZGPU_DECODER_SERIAL,
                                           SZGPU_DECODER_TABLE,       SZGPU_DECODER_SELF_SYNC,
                                           SZGPU_DECODER_ALL_OFFSETS, SZGPU_DECODER_HIERARCHICAL};
  int read_count = 0;
  for (int variant = 0; variant < 6; variant++) { /* tile, linear, without gaps; zstd or not */
    szgpu_layout const layout = variant / 2 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
    work w = make_lossless_work(layout, variant / 2 == 2, variant % 2 * 3);
    szgpu_info const info = test_inspect(&w.archive);
    assert_true(fails_at_every_allocation(&w, compress, SZGPU_DECODER_AUTO) >= 2);
    for (size_t d = 0; d < ARRAY_COUNT(decoders); d++) {
      if (!szgpu_decoder_reads(decoders[d], &info)) continue;
      assert_true(fails_at_every_allocation(&w, decompress, decoders[d]) >= 2);
      assert_true(fails_at_every_allocation(&w, decompress_slab, decoders[d]) >= 2);
      read_count++;
    }
    release(&w);
  }
  assert_int_equal(read_count, 2 * (2 + 6 + 5)); /* hierarchical needs the gaps */
}

/* A few of many parts fail while threads work on others. */
static void compression_of_many_parts_survives(void **state) {
  (void)state;
  work w = make_work_of(test_shape(SZGPU_F32, 3, 32, 128, 130, 0), 0, 4);
  fails_at_allocations(&w, compress, SZGPU_DECODER_AUTO, 7);
  release(&w);
}

static void decompression_survives_any_failing_allocation(void **state) {
  (void)state;
  for (int level = 0; level <= 3; level += 3) {
    work w = make_work(level, 1);
    assert_true(fails_at_every_allocation(&w, decompress, SZGPU_DECODER_TABLE) >= 2);
    assert_true(fails_at_every_allocation(&w, decompress, SZGPU_DECODER_SERIAL) >= 2);
    release(&w);
  }
}

static void a_slab_survives_any_failing_allocation(void **state) {
  (void)state;
  for (int level = 0; level <= 3; level += 3) {
    work w = make_work(level, 1);
    assert_true(fails_at_every_allocation(&w, decompress_slab, SZGPU_DECODER_AUTO) >= 3);
    release(&w);
  }
}

static void a_ctx_that_cannot_be_made_is_null(void **state) {
  (void)state;
  szgpu_ctx *ctx = (szgpu_ctx *)(void *)&ctx;
  alloc_fault_set(1);
  szgpu_status const status = szgpu_create(&ctx, NULL);
  alloc_fault_set(0);
  assert_int_equal(status, SZGPU_OUT_OF_MEMORY);
  assert_null(ctx);
}

static void reserving_survives_and_may_be_tried_again(void **state) {
  (void)state;
  work w = make_work(0, 1);
  szgpu_ctx *const ctx = test_make_ctx(1);
  alloc_fault_set(1);
  szgpu_status const status = szgpu_reserve(ctx, &w.params, &w.shape);
  alloc_fault_set(0);
  assert_int_equal(status, SZGPU_OUT_OF_MEMORY);
  assert_true(strlen(szgpu_last_error(ctx)) > 0);
  assert_int_equal(szgpu_reserve(ctx, &w.params, &w.shape), SZGPU_OK);
  compresses_alike(ctx, &w);
  szgpu_destroy(ctx);
  release(&w);
}

/* A sound archive must not be called damaged because libzstd ran out of memory. */
static void libzstd_out_of_memory_is_out_of_memory(void **state) {
  (void)state;
  work w = make_work(3, 1);
  szgpu_ctx *const ctx = test_make_ctx(1);
  zstd_fails = true;
  szgpu_status const compressing = compress(ctx, &w);
  szgpu_status const decompressing = decompress(ctx, &w);
  zstd_fails = false;
  assert_int_equal(decompress(ctx, &w), SZGPU_OK);
  compresses_alike(ctx, &w);
  szgpu_destroy(ctx);
  release(&w);
  assert_int_equal(compressing, SZGPU_OUT_OF_MEMORY);
  assert_int_equal(decompressing, SZGPU_OUT_OF_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compression_survives_any_failing_allocation),
      cmocka_unit_test(the_lossless_mode_survives_any_failing_allocation),
      cmocka_unit_test(compression_of_many_parts_survives),
      cmocka_unit_test(decompression_survives_any_failing_allocation),
      cmocka_unit_test(a_slab_survives_any_failing_allocation),
      cmocka_unit_test(a_ctx_that_cannot_be_made_is_null),
      cmocka_unit_test(reserving_survives_and_may_be_tried_again),
      cmocka_unit_test(libzstd_out_of_memory_is_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
