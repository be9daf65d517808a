/* test_field_changes.c - the field changes while szgpu_compress reads it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A field has two versions, and is exchanged for the other one during the call:
 *
 * - by calls: in the progress callback, at each call or at one of them;
 * - by visits: the field's pages are closed, so that reading one raises a signal. Its handler opens
 *   the page, closes all others but the one before, and gives a page that is opened once more the
 *   values of the other version. So two reads of a value differ if others came in between;
 * - by another thread, which writes all the time. Reads are then torn anywhere.
 *
 * The first two ways are the same in every run.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "changing_field.h"

/* ---- what must hold ---- */

/* How calls ended, and how many values were compared with what they may come back as. */
typedef struct call_tally {
  uint64_t restored, refused, near_values;
} call_tally;

/* Limits are those of a range that was found before. So a value that changed since may come back as
 * if it had been brought between them first. */
static bool is_near(const changing_field *field, int version, const void *restored, uint64_t i,
                    const szgpu_info *info) {
  szgpu_dtype const dtype = field->shape.dtype;
  const uint8_t *const values = field->versions[version];
  if (test_bits_at(dtype, values, i) == test_bits_at(dtype, restored, i)) return true;
  if (dtype != SZGPU_F32 && dtype != SZGPU_F64) return false;
  double const y = test_value_at(dtype, restored, i);
  double x = test_value_at(dtype, values, i);
  if (info->has_limits && changing_field_changes(field, i) && isfinite(x))
    x = x < info->least ? info->least : x > info->greatest ? info->greatest : x;
  bool const is_limited = !info->has_limits || (y >= info->least && y <= info->greatest);
  return is_limited && fabsl((long double)x - y) <= info->absolute_bound; /* false for NaN */
}

/* Kinds of frames whose values are read for one purpose at a time: what comes back is near one of
 * the versions. Other kinds promise that of values that did not change. */
static bool is_read_at_once(const char *kind) {
  return strcmp(kind, "tile") == 0 || strcmp(kind, "linear") == 0 || strcmp(kind, "constant") == 0;
}

/* What a levels frame gives for a value that changed: one that was there, or one by the lattice. */
static bool is_kept_or_limited(const changing_field *field, const void *restored, uint64_t i,
                               const szgpu_info *info) {
  szgpu_dtype const dtype = field->shape.dtype;
  uint64_t const bits = test_bits_at(dtype, restored, i);
  double const y = test_value_at(dtype, restored, i);
  return (y >= info->least && y <= info->greatest) ||
         bits == test_bits_at(dtype, field->versions[0], i) ||
         bits == test_bits_at(dtype, field->versions[1], i);
}

static void assert_near(const changing_field *field, const test_archive *archive,
                        const void *restored, call_tally *tally) {
  szgpu_info const info = test_inspect(archive);
  uint64_t const rows = field->shape.dims[0]; /* of the tests' shapes, the slowest axis */
  uint64_t const row_values = test_value_count(&field->shape) / rows;
  for (uint64_t f = 0; f < info.frame_count; f++) {
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, f, 1, &frame),
                     SZGPU_OK);
    bool const all_are_near = is_read_at_once(frame.kind);
    uint64_t const first = frame.first_row * row_values;
    for (uint64_t i = first; i < first + frame.row_count * row_values; i++) {
      if (!all_are_near && changing_field_changes(field, i)) {
        if (info.has_limits && strcmp(frame.kind, "levels") == 0)
          assert_true(is_kept_or_limited(field, restored, i, &info));
        continue;
      }
      bool const near =
          is_near(field, 0, restored, i, &info) || is_near(field, 1, restored, i, &info);
      if (!near) fail_msg("value %llu of a %s frame is off", (unsigned long long)i, frame.kind);
      tally->near_values++;
    }
  }
}

/* Compresses the field as it changes. What comes out must be an archive that can be restored, or
 * the status that says why not. */
static void compress_changing(szgpu_ctx *ctx, const szgpu_params *params, changing_field *field,
                              bool by_visits, call_tally *tally) {
  test_archive archive = {NULL, 0};
  size_t capacity;
  assert_int_equal(szgpu_sizes(ctx, params, &field->shape, NULL, &capacity), SZGPU_OK);
  archive.bytes = test_allocate(capacity);
  changing_field_begin(field);
  if (by_visits) changing_field_watch(field);
  szgpu_status const status = szgpu_compress(ctx, params, &field->shape, field->values,
                                             archive.bytes, capacity, &archive.byte_count);
  if (by_visits) changing_field_stop_watching(field);
  if (status == SZGPU_OK) {
    szgpu_ctx *const reader = test_make_ctx(1);
    void *const restored = test_decompress(reader, &archive, field->byte_count);
    assert_near(field, &archive, restored, tally);
    free(restored);
    szgpu_destroy(reader);
    tally->restored++;
  } else {
    assert_int_equal(status, SZGPU_FIELD_CHANGED);
    tally->refused++;
  }
  free(archive.bytes);
}

/* ---- cases ---- */

typedef struct call_request {
  const char *name;
  szgpu_dtype dtype;
  uint64_t dims[3]; /* from the slowest on; 0: not there */
  szgpu_mode mode;
  double bound;
  szgpu_layout layout;
  szgpu_predictor predictor;
  int zstd_level;
  uint64_t frame_rows;
} call_request;

#define LINEAR SZGPU_LAYOUT_LINEAR
#define TILE SZGPU_LAYOUT_TILE
#define AUTO SZGPU_PREDICTOR_AUTO
#define LORENZO SZGPU_PREDICTOR_LORENZO
#define LEVELS SZGPU_PREDICTOR_INTERPOLATION
#define REL SZGPU_MODE_REL
#define ABS SZGPU_MODE_ABS
#define PSNR SZGPU_MODE_PSNR
#define LOSSLESS SZGPU_MODE_LOSSLESS

static const call_request requests[] = {
    {"16-bit tiles", SZGPU_F32, {7, 20, 70}, ABS, 1e-2, TILE, LORENZO, 0, 0},
    {"32-bit tiles", SZGPU_F32, {13000}, ABS, 1e-5, TILE, LORENZO, 0, 0},
    {"f64 tiles", SZGPU_F64, {70, 90}, ABS, 1e-6, TILE, LORENZO, 0, 0},
    {"wide tiles", SZGPU_F64, {9000}, ABS, 1e-10, TILE, LORENZO, 0, 0},
    {"tiles by the range", SZGPU_F32, {7, 20, 70}, REL, 1e-4, TILE, LORENZO, 0, 0},
    {"linear", SZGPU_F32, {7, 20, 70}, ABS, 1e-2, LINEAR, AUTO, 0, 0},
    {"linear, wide", SZGPU_F64, {9000}, PSNR, 180, LINEAR, AUTO, 1, 0},
    {"levels, 3-D", SZGPU_F32, {18, 19, 70}, ABS, 1e-2, TILE, LEVELS, 0, 0},
    {"levels, 2-D", SZGPU_F32, {75, 130}, REL, 1e-3, TILE, LEVELS, 0, 0},
    {"levels, 1-D", SZGPU_F64, {9000}, ABS, 1e-3, TILE, LEVELS, 0, 0},
    {"levels, wide", SZGPU_F64, {18, 19, 36}, ABS, 1e-9, TILE, LEVELS, 0, 0},
    {"levels, f32 wide", SZGPU_F32, {18, 19, 36}, ABS, 1e-5, TILE, LEVELS, 0, 0},
    {"auto", SZGPU_F32, {18, 19, 70}, PSNR, 60, TILE, AUTO, 1, 0},
    {"frames", SZGPU_F32, {32, 16, 32}, REL, 1e-3, TILE, AUTO, 0, 16},
    {"planes for a bound", SZGPU_F32, {13000}, ABS, 1e-30, TILE, AUTO, 0, 0},
    {"planes of f32", SZGPU_F32, {13000}, LOSSLESS, 0, TILE, AUTO, 0, 0},
    {"planes of f64", SZGPU_F64, {9000}, LOSSLESS, 0, TILE, AUTO, 1, 0},
    {"planes of bf16", SZGPU_BF16, {20000}, LOSSLESS, 0, TILE, AUTO, 0, 10000},
    {"planes of fp8", SZGPU_FP8, {30001}, LOSSLESS, 0, TILE, AUTO, 0, 0},
    {"planes of bytes", SZGPU_U8, {40000}, LOSSLESS, 0, TILE, AUTO, 0, 0},
    {"top planes", SZGPU_F32, {13000}, LOSSLESS, 0, LINEAR, AUTO, 0, 0},
    {"top planes of f16", SZGPU_F16, {20000}, LOSSLESS, 0, LINEAR, AUTO, 1, 0},
};

static const field_change changes[] = {
    {COMMON, RARE, ALL},     {CALM, ROUGH, MOST},       {ROUGH, CALM, ALL},
    {CALM, BITS, FEW},       {ZEROS, NANS, MOST},       {CALM, ZEROS, ALL},
    {CONSTANT, ROUGH, MOST}, {BITS, CONSTANT, ALL},     {CALM, HUGE_VALUES, MOST},
    {CALM, NANS, FEW},       {ZEROS, HUGE_VALUES, FEW},
};

static szgpu_shape shape_of(const call_request *r) {
  int const ndim = r->dims[1] == 0 ? 1 : r->dims[2] == 0 ? 2 : 3;
  return test_shape(r->dtype, ndim, r->dims[0], r->dims[1], r->dims[2], 0);
}

static szgpu_params params_of(const call_request *r) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = r->mode;
  params.bound = r->bound;
  params.layout = r->layout;
  params.predictor = r->predictor;
  params.zstd_level = r->zstd_level;
  params.frame_rows = r->frame_rows;
  return params;
}

static szgpu_ctx *make_ctx(int threads, szgpu_progress progress, void *user) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = threads;
  options.progress = progress;
  options.progress_user = user;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  return ctx;
}

typedef void try_change(const call_request *request, changing_field *field, call_tally *tally);

/* Each request has the first of the changes and this many others in turn; with the argument "all",
 * every one. */
enum { OTHER_CHANGES = 2 };
static bool tries_all;

static field_change change_of(size_t request_index, size_t i) {
  size_t const others = ARRAY_COUNT(changes) - 1;
  if (tries_all || i == 0) return changes[i];
  return changes[1 + (request_index * OTHER_CHANGES + i - 1) % others];
}

static void try_changes(size_t request_index, try_change *try, call_tally *total) {
  const call_request *const request = &requests[request_index];
  call_tally tally = {0, 0, 0};
  szgpu_shape const shape = shape_of(request);
  size_t const change_count = tries_all ? ARRAY_COUNT(changes) : 1 + OTHER_CHANGES;
  for (size_t c = 0; c < change_count; c++) {
    changing_field field = changing_field_make(&shape, change_of(request_index, c));
    try(request, &field, &tally);
    changing_field_release(&field);
  }
  print_message("%s: %llu restored, %llu refused, %llu values compared\n", request->name,
                (unsigned long long)tally.restored, (unsigned long long)tally.refused,
                (unsigned long long)tally.near_values);
  total->restored += tally.restored;
  total->refused += tally.refused;
  total->near_values += tally.near_values;
  if (request->layout == LINEAR) assert_int_equal(tally.refused, 0); /* sizes follow from codes */
}

static call_tally try_requests(try_change *try) {
  call_tally total = {0, 0, 0};
  for (size_t r = 0; r < ARRAY_COUNT(requests); r++) try_changes(r, try, &total);
  return total;
}

/* ---- the tests ---- */

/* Page by page, at each visit, or from the n-th visit on: so passes differ from one another, and
 * what one pass reads twice differs too. Lossless frames in byte planes used to write beyond the
 * archive, and they, and levels frames, gave archives that could not be restored. */
static void by_visits(const call_request *request, changing_field *field, call_tally *tally) {
  static const uint32_t turning_visits[] = {0, 2, 3, 4, 6};
  szgpu_params const params = params_of(request);
  szgpu_ctx *const ctx = make_ctx(1, NULL, NULL);
  for (size_t i = 0; i < ARRAY_COUNT(turning_visits); i++) {
    field->turning_visit = turning_visits[i];
    compress_changing(ctx, &params, field, true, tally);
  }
  szgpu_destroy(ctx);
}

static void values_that_change_between_reads(void **state) {
  (void)state;
  call_tally const total = try_requests(by_visits);
  assert_true(total.restored > 0 && total.refused > 0 && total.near_values > 0);
}

static void by_calls(const call_request *request, changing_field *field, call_tally *tally) {
  szgpu_params const params = params_of(request);
  szgpu_ctx *const ctx = make_ctx(1, changing_field_by_call, field);
  field->changing_call = 0;
  compress_changing(ctx, &params, field, false, tally);
  uint64_t const call_count = field->call_count;
  assert_true(call_count > 1);
  for (field->changing_call = 1; field->changing_call <= call_count; field->changing_call++)
    compress_changing(ctx, &params, field, false, tally);
  szgpu_destroy(ctx);
}

static void values_that_change_in_the_callback(void **state) {
  (void)state;
  call_tally const total = try_requests(by_calls);
  assert_true(total.restored > 0 && total.near_values > 0);
}

/* ---- another thread ---- */

static void by_a_thread(const call_request *request, changing_field *field, call_tally *tally) {
  enum { RUNS = 2 };
  szgpu_params const params = params_of(request);
  szgpu_ctx *const ctx = make_ctx(2, NULL, NULL);
  changing_field_start_writer(field);
  for (int i = 0; i < RUNS; i++) compress_changing(ctx, &params, field, false, tally);
  changing_field_stop_writer(field);
  szgpu_destroy(ctx);
}

/* A race by design, which ThreadSanitizer would report. */
static void values_that_another_thread_writes(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  print_message("skipped: another thread writes, which is a race by design\n");
#else
  call_tally const total = try_requests(by_a_thread);
  assert_true(total.restored + total.refused > 0); /* how many of each is up to chance */
#endif
}

int main(int argc, char **argv) {
  tries_all = argc > 1 && strcmp(argv[1], "all") == 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_that_change_between_reads),
      cmocka_unit_test(values_that_change_in_the_callback),
      cmocka_unit_test(values_that_another_thread_writes),
  };
  return cmocka_run_group_tests_name("field_changes", tests, NULL, NULL);
}
