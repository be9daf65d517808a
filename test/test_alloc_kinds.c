/* test_alloc_kinds.c - for every kind of frame and every n the n-th allocation fails.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each call then says that it is out of memory, and the same ctx does the same work right
 * afterwards. Nothing is left when the ctx is gone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_faults.h"
#include "lossless_fields.h"
#include "regions.h"

enum { MOST_ALLOCATIONS = 500 };

typedef struct work {
  szgpu_shape shape;
  szgpu_params params;
  void *field;
  size_t field_bytes;
  test_archive archive; /* from a ctx with enough memory, as are the values below */
  uint8_t *restored, *slab, *preview, *box;
  size_t slab_bytes, preview_bytes; /* of rows 1 and 2; of level 1 */
  szgpu_region region;              /* of the field */
  size_t capacity;                  /* zstd needs more room than its archive takes */
  int threads;
} work;

/* ---- calls: OUT_OF_MEMORY, or the right result ---- */

typedef szgpu_status (*work_function)(szgpu_ctx *ctx, const work *w);

static szgpu_status compress(szgpu_ctx *ctx, const work *w) {
  size_t archive_bytes = 0;
  uint8_t *const archive = test_allocate(w->capacity);
  szgpu_status const status =
      szgpu_compress(ctx, &w->params, &w->shape, w->field, archive, w->capacity, &archive_bytes);
  if (status == SZGPU_OK) {
    assert_int_equal(archive_bytes, w->archive.byte_count);
    assert_memory_equal(archive, w->archive.bytes, archive_bytes);
  }
  free(archive);
  return status;
}

static szgpu_status decompress(szgpu_ctx *ctx, const work *w) {
  uint8_t *const field = test_allocate(w->field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, w->archive.bytes, w->archive.byte_count, field, w->field_bytes);
  if (status == SZGPU_OK) assert_memory_equal(field, w->restored, w->field_bytes);
  free(field);
  return status;
}

static szgpu_status decompress_slab(szgpu_ctx *ctx, const work *w) {
  uint8_t *const slab = test_allocate(w->slab_bytes);
  szgpu_status const status = szgpu_decompress_slab(ctx, w->archive.bytes, w->archive.byte_count, 1,
                                                    2, slab, w->slab_bytes);
  if (status == SZGPU_OK) assert_memory_equal(slab, w->slab, w->slab_bytes);
  free(slab);
  return status;
}

static szgpu_status decompress_level(szgpu_ctx *ctx, const work *w) {
  uint8_t *const preview = test_allocate(w->preview_bytes);
  szgpu_status const status = szgpu_decompress_level(ctx, w->archive.bytes, w->archive.byte_count,
                                                     1, preview, w->preview_bytes);
  if (status == SZGPU_OK) assert_memory_equal(preview, w->preview, w->preview_bytes);
  free(preview);
  return status;
}

static szgpu_status decompress_region(szgpu_ctx *ctx, const work *w) {
  size_t const bytes = region_bytes(&w->shape, &w->region);
  uint8_t *const box = test_allocate(bytes);
  szgpu_status const status = szgpu_decompress_region(ctx, w->archive.bytes, w->archive.byte_count,
                                                      0, &w->region, box, bytes);
  if (status == SZGPU_OK) assert_memory_equal(box, w->box, bytes);
  free(box);
  return status;
}

static szgpu_status reserve(szgpu_ctx *ctx, const work *w) {
  return szgpu_reserve(ctx, &w->params, &w->shape);
}

/* ---- the work ---- */

static void has_kind(const test_archive *archive, const char *kind) {
  szgpu_info const info = test_inspect(archive);
  for (uint64_t i = 0; i < info.frame_count; i++) {
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, i, 1, &frame),
                     SZGPU_OK);
    assert_string_equal(frame.kind, kind);
  }
}

static void take_preview(work *w, szgpu_ctx *ctx) {
  szgpu_info const info = test_inspect(&w->archive);
  szgpu_shape shape;
  assert_int_equal(szgpu_level_shape(&info, 1, &shape), SZGPU_OK);
  w->preview_bytes = test_field_bytes(&shape);
  w->preview = test_allocate(w->preview_bytes);
  szgpu_status const status = szgpu_decompress_level(ctx, w->archive.bytes, w->archive.byte_count,
                                                     1, w->preview, w->preview_bytes);
  if (status == SZGPU_OK) return;
  assert_int_equal(status, SZGPU_BAD_ARGUMENT); /* the frames have no levels */
  free(w->preview);
  w->preview = NULL;
}

static work make_work(const char *kind, szgpu_params params, szgpu_shape shape, void *field,
                      int threads) {
  work w = {shape, params, field, .field_bytes = test_field_bytes(&shape), .threads = threads};
  szgpu_ctx *const ctx = test_make_ctx(1);
  assert_int_equal(szgpu_sizes(ctx, &params, &shape, NULL, &w.capacity), SZGPU_OK);
  w.archive = test_compress(ctx, &w.params, &shape, field);
  has_kind(&w.archive, kind);
  w.restored = test_decompress(ctx, &w.archive, w.field_bytes);
  w.slab_bytes = w.field_bytes / shape.dims[0] * 2;
  w.slab = test_allocate(w.slab_bytes);
  memcpy(w.slab, w.restored + w.slab_bytes / 2, w.slab_bytes);
  take_preview(&w, ctx);
  for (int axis = 0; axis < shape.ndim; axis++) {
    w.region.first[axis] = shape.dims[axis] / 4;
    w.region.count[axis] = (shape.dims[axis] + 1) / 2;
  }
  w.box = region_slice(&shape, &w.region, w.restored);
  szgpu_destroy(ctx);
  return w;
}

static void release(work *w) {
  free(w->field);
  free(w->archive.bytes);
  free(w->restored);
  free(w->slab);
  free(w->preview);
  free(w->box);
}

/* Runs the function with the n-th allocation failing, for n = 1, 2, ... until none is left to fail.
 * The first allocation, the test's own, never fails. Returns how many there were. */
static long fail_each_allocation(const work *w, work_function function, long first) {
  for (long n = 1; n < MOST_ALLOCATIONS; n++) {
    long const live_before = alloc_fault_live_blocks();
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = SZGPU_BACKEND_CPU;
    options.threads = w->threads;
    szgpu_ctx *ctx;
    assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
    alloc_fault_set(first + n);
    szgpu_status const status = function(ctx, w);
    alloc_fault_set(0);
    bool const was_met = alloc_fault_was_met();
    if (was_met && status != SZGPU_OUT_OF_MEMORY)
      fail_msg("allocation %ld fails: %s", n, szgpu_status_text(status));
    if (!was_met) assert_int_equal(status, SZGPU_OK);
    if (was_met) assert_int_equal(function(ctx, w), SZGPU_OK);
    if (was_met && n % 3 == 1) assert_int_equal(compress(ctx, w), SZGPU_OK);
    if (was_met && n % 3 == 2) assert_int_equal(decompress(ctx, w), SZGPU_OK);
    szgpu_destroy(ctx);
    assert_int_equal(alloc_fault_live_blocks(), live_before);
    if (!was_met) return n - 1;
  }
  fail_msg("over %d allocations", MOST_ALLOCATIONS);
  return 0;
}

static void fail_each_call(work w) {
  assert_in_range(fail_each_allocation(&w, compress, 1), 1, MOST_ALLOCATIONS);
  assert_in_range(fail_each_allocation(&w, reserve, 0), 1, MOST_ALLOCATIONS);
  fail_each_allocation(&w, decompress, 1); /* what is stored takes no memory */
  fail_each_allocation(&w, decompress_slab, 1);
  if (w.preview) fail_each_allocation(&w, decompress_level, 1);
  fail_each_allocation(&w, decompress_region, 1);
  release(&w);
}

/* ---- fields and parameters ---- */

static szgpu_shape box(void) { return test_shape(SZGPU_F32, 3, 12, 19, 21, 0); }

static void *waves_with_specials(const szgpu_shape *shape) {
  void *const field = test_make_waves(shape);
  for (uint64_t i = 0; i < test_value_count(shape); i += 97)
    test_set_value(shape->dtype, field, i, i % 2 ? 1e20 : (double)NAN);
  for (uint64_t i = 5; i < test_value_count(shape); i += 211)
    test_set_value(shape->dtype, field, i, 3e9);
  return field;
}

static szgpu_params params_of(szgpu_layout layout, szgpu_predictor predictor, double bound,
                              int zstd_level) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = bound > 0 ? SZGPU_MODE_ABS : SZGPU_MODE_LOSSLESS;
  params.layout = layout;
  params.bound = bound;
  params.predictor = predictor;
  params.zstd_level = zstd_level;
  return params;
}

static szgpu_layout const TILE = SZGPU_LAYOUT_TILE, LINEAR = SZGPU_LAYOUT_LINEAR;
static szgpu_predictor const AUTO = SZGPU_PREDICTOR_AUTO, LORENZO = SZGPU_PREDICTOR_LORENZO;

static void tile_frames(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) { /* zstd or not, one thread or two */
    szgpu_shape const shape = box();
    szgpu_params params = params_of(TILE, LORENZO, 0.5, variant % 2 * 3);
    params.frame_rows = 8;
    fail_each_call(make_work("tile", params, shape, waves_with_specials(&shape), 1 + variant / 2));
  }
}

static void linear_frames(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) { /* zstd or not, gaps or none */
    szgpu_shape const shape = box();
    szgpu_params params = params_of(LINEAR, LORENZO, 0.5, variant % 2 * 3);
    params.frame_rows = 8;
    params.without_gaps = variant / 2;
    fail_each_call(make_work("linear", params, shape, waves_with_specials(&shape), 1));
  }
}

static void levels_frames(void **state) {
  (void)state;
  static const szgpu_predictor predictors[] = {SZGPU_PREDICTOR_INTERPOLATION, SZGPU_PREDICTOR_AUTO};
  for (int variant = 0; variant < 4; variant++) { /* zstd or not, asked for or chosen */
    szgpu_shape const shape = test_shape(SZGPU_F32, 3, 24, 33, 35, 0);
    szgpu_params const params = params_of(TILE, predictors[variant / 2], 0.5, variant % 2 * 3);
    fail_each_call(make_work("levels", params, shape, test_make_waves(&shape), 1 + variant / 2));
  }
  szgpu_shape const batch = test_shape(SZGPU_F64, 4, 3, 9, 20, 21);
  fail_each_call(make_work("levels", params_of(TILE, predictors[0], 0.5, 0), batch,
                           waves_with_specials(&batch), 1));
  szgpu_shape const line = test_shape(SZGPU_F64, 1, 9000, 0, 0, 0);
  fail_each_call(make_work("levels", params_of(TILE, predictors[0], 1e-3, 0), line,
                           test_make_waves(&line), 1));
}

static void frames_of_byte_planes(void **state) {
  (void)state;
  for (int level = 0; level <= 3; level += 3) {
    szgpu_shape const shape = box();
    fail_each_call(make_work("planes", params_of(TILE, AUTO, 0, level), shape,
                             lossless_make(REPEATS, &shape), 1));
    fail_each_call(make_work("planes", params_of(TILE, LORENZO, 1e-30, level), shape,
                             test_make_waves(&shape), 1));
    fail_each_call(make_work("top plane", params_of(LINEAR, AUTO, 0, level), shape,
                             lossless_make(REPEATS, &shape), 1));
  }
}

static void constant_and_raw_frames(void **state) {
  (void)state;
  for (int level = 0; level <= 3; level += 3)
    for (int is_tile = 0; is_tile <= 1; is_tile++) {
      szgpu_shape const shape = box();
      float *const field = test_allocate(test_field_bytes(&shape));
      for (uint64_t i = 0; i < test_value_count(&shape); i++) field[i] = i % 100 ? 2.5f : 1e20f;
      szgpu_params const params = params_of(is_tile ? TILE : LINEAR, AUTO, 0.5, level);
      fail_each_call(make_work("constant", params, shape, field, 1));
      szgpu_params const exact = params_of(is_tile ? TILE : LINEAR, AUTO, 1e-30, level);
      fail_each_call(make_work("raw", exact, shape, test_make_bits(&shape), 1));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tile_frames),
      cmocka_unit_test(linear_frames),
      cmocka_unit_test(levels_frames),
      cmocka_unit_test(frames_of_byte_planes),
      cmocka_unit_test(constant_and_raw_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
