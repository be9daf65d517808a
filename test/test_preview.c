/* test_preview.c - szgpu_decompress_level: every 2^level-th value, as the whole field has it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "codecs/region.h"
#include "container/format.h"
#include "ctxs.h"

static szgpu_frame_info frame_of(const test_archive *archive, uint64_t frame) {
  szgpu_frame_info info = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, frame, 1, &info),
                   SZGPU_OK);
  return info;
}

static szgpu_params interpolation(double bound, uint64_t frame_rows) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = bound;
  params.frame_rows = frame_rows;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  return params;
}

/* Whether the first of the dims is a batch's. */
static bool has_batch(const szgpu_shape *shape) {
  int longer = 0;
  for (int axis = 0; axis < shape->ndim; axis++) longer += shape->dims[axis] > 1;
  return longer == 4;
}

/* The preview's shape and values by the definition, from a whole field. */
static uint8_t *slice(const szgpu_shape *shape, const uint8_t *whole, int level,
                      szgpu_shape *sliced) {
  size_t const width = test_dtype_bytes(shape->dtype);
  uint64_t steps[4], at[4];
  *sliced = *shape;
  for (int axis = 0; axis < shape->ndim; axis++) {
    steps[axis] = axis == 0 && has_batch(shape) ? 1 : (uint64_t)1 << level;
    sliced->dims[axis] = (shape->dims[axis] + steps[axis] - 1) / steps[axis];
  }
  uint8_t *const values = test_allocate(test_field_bytes(sliced));
  uint64_t const count = test_value_count(sliced);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t rest = i, from = 0;
    for (int axis = shape->ndim - 1; axis >= 0; axis--) {
      at[axis] = rest % sliced->dims[axis] * steps[axis];
      rest /= sliced->dims[axis];
    }
    for (int axis = 0; axis < shape->ndim; axis++) from = from * shape->dims[axis] + at[axis];
    memcpy(values + i * width, whole + from * width, width);
  }
  return values;
}

/* Restores all levels that the archive has, and refuses the others. Returns how many it has. */
static int assert_levels(const test_archive *archive) {
  enum { GUARD = 16 };
  szgpu_info const info = test_inspect(archive);
  uint8_t *const whole = test_decompress(ctx, archive, info.field_bytes);
  int level_count = SZGPU_MAX_LEVEL;
  for (uint64_t f = 0; f < info.frame_count; f++) {
    szgpu_frame_info const frame = frame_of(archive, f);
    if (strcmp(frame.kind, "constant") == 0) continue;
    int const levels = frame.fold ? 0 : (int)frame.level_count;
    if (levels < level_count) level_count = levels;
  }
  for (int level = 0; level <= SZGPU_MAX_LEVEL; level++) {
    szgpu_shape expected_shape, shape;
    uint8_t *const expected = slice(&info.shape, whole, level, &expected_shape);
    assert_int_equal(szgpu_level_shape(&info, level, &shape), SZGPU_OK);
    assert_memory_equal(&shape, &expected_shape, sizeof shape);
    size_t const bytes = test_field_bytes(&shape);
    uint8_t *const preview = test_allocate(bytes + 2 * GUARD);
    uint8_t guard[GUARD];
    memset(preview, 0xA5, bytes + 2 * GUARD);
    memset(guard, 0xA5, GUARD);
    szgpu_status const status = szgpu_decompress_level(ctx, archive->bytes, archive->byte_count,
                                                       level, preview + GUARD, bytes);
    if (level <= level_count || info.joined_axes) {
      if (status != SZGPU_OK) print_error("level %d: %s\n", level, szgpu_last_error(ctx));
      assert_int_equal(status, SZGPU_OK);
      assert_memory_equal(preview + GUARD, expected, bytes);
    } else {
      assert_int_equal(status, SZGPU_BAD_ARGUMENT);
      assert_non_null(strstr(szgpu_last_error(ctx), "frame "));
    }
    assert_memory_equal(preview, guard, GUARD);
    assert_memory_equal(preview + GUARD + bytes, guard, GUARD);
    free(preview);
    free(expected);
  }
  free(whole);
  return level_count;
}

/* ---- the values ---- */

static const struct {
  szgpu_shape shape;
  uint64_t frame_rows;
  int level_count; /* at least */
} cases[] = {
    {{SZGPU_F32, 1, {70001}}, 0, 3},         {{SZGPU_F64, 1, {20001}}, 4096, 3},
    {{SZGPU_F32, 2, {257, 131}}, 0, 3},      {{SZGPU_F64, 2, {200, 333}}, 64, 3},
    {{SZGPU_F32, 3, {47, 61, 83}}, 0, 3},    {{SZGPU_F64, 3, {50, 33, 70}}, 16, 3},
    {{SZGPU_F32, 3, {49, 40, 40}}, 48, 3},   {{SZGPU_F32, 4, {3, 30, 41, 50}}, 0, 3},
    {{SZGPU_F64, 4, {5, 20, 24, 39}}, 2, 3}, {{SZGPU_F32, 4, {1, 40, 1, 700}}, 0, 3},
    {{SZGPU_F32, 3, {1, 100, 90}}, 0, 3},    {{SZGPU_F32, 3, {129, 1, 1}}, 0, 0},
};

/* Some values get no lattice value, and are shown all the same. */
static void spoil(const szgpu_shape *shape, void *field, double fill) {
  uint64_t const count = test_value_count(shape);
  for (uint64_t i = 0; i < count; i += 1 + test_hash(i) % 97)
    test_set_value(shape->dtype, field, i, fill);
  for (uint64_t i = 0; i < count; i += 1 + test_hash(i) % 301)
    test_set_value(shape->dtype, field, i, NAN);
  test_set_value(shape->dtype, field, 0, INFINITY);
}

static void previews_are_slices(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    for (int is_spoilt = 0; is_spoilt <= 1; is_spoilt++) {
      const szgpu_shape *const shape = &cases[i].shape;
      szgpu_params params = interpolation(0.05, cases[i].frame_rows);
      void *const field = test_make_waves(shape);
      params.has_fill = is_spoilt;
      params.fill = 1e20;
      if (is_spoilt) spoil(shape, field, 1e20);
      params.zstd_level = i % 2 ? 0 : 3;
      test_archive const archive = archive_compress(ctx, &params, shape, field);
      int const level_count = assert_levels(&archive);
      if (level_count < cases[i].level_count) print_error("case %zu, spoilt %d\n", i, is_spoilt);
      assert_in_range(level_count, cases[i].level_count, SZGPU_MAX_LEVEL);
      free(archive.bytes);
      free(field);
    }
}

/* Along two and three axes, with short last tiles; in rows of frames too. */
static void previews_of_quintic_frames_are_slices(void **state) {
  (void)state;
  static const struct {
    szgpu_shape shape;
    uint64_t frame_rows;
  } smooth[] = {{{SZGPU_F32, 3, {70, 66, 130}}, 0},
                {{SZGPU_F64, 3, {70, 66, 130}}, 32},
                {{SZGPU_F32, 2, {257, 131}}, 0},
                {{SZGPU_F64, 2, {200, 333}}, 64},
                {{SZGPU_F32, 4, {2, 35, 40, 67}}, 0}};
  for (size_t i = 0; i < ARRAY_COUNT(smooth); i++) {
    szgpu_params const params = interpolation(5e-4, smooth[i].frame_rows);
    void *const field = test_make_smooth(&smooth[i].shape);
    test_archive const archive = archive_compress(ctx, &params, &smooth[i].shape, field);
    szgpu_frame_info const frame = frame_of(&archive, 0);
    assert_string_equal(frame.stencil, "blended quintic");
    assert_int_equal(frame.interpolated_axes, smooth[i].shape.ndim == 2 ? 2 : 3);
    szgpu_info const info = test_inspect(&archive);
    uint8_t *const whole = test_decompress(ctx, &archive, info.field_bytes);
    test_assert_bound(&smooth[i].shape, field, whole, &info);
    free(whole);
    assert_in_range(assert_levels(&archive), 3, SZGPU_MAX_LEVEL);
    free(archive.bytes);
    free(field);
  }
}

static void previews_do_not_depend_on_threads(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 60, 70, 90, 0);
  szgpu_params const params = interpolation(0.01, 16);
  void *const field = test_make_waves(&shape);
  spoil(&shape, field, 1e20);
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  szgpu_ctx *const other = test_make_ctx(5);
  enum { BYTES = 15 * 18 * 23 * 4 };
  static uint8_t one[BYTES], five[BYTES];
  assert_int_equal(szgpu_decompress_level(ctx, archive.bytes, archive.byte_count, 2, one, BYTES),
                   SZGPU_OK);
  assert_int_equal(szgpu_decompress_level(other, archive.bytes, archive.byte_count, 2, five, BYTES),
                   SZGPU_OK);
  assert_memory_equal(one, five, BYTES);
  szgpu_destroy(other);
  free(archive.bytes);
  free(field);
}

/* Planes that have nothing to do with each other. */
static float *make_planes(const szgpu_shape *shape) {
  float *const field = test_allocate(test_field_bytes(shape));
  uint64_t const y = shape->dims[1], x = shape->dims[2];
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    double const height = (double)(test_hash(i / x / y) % 1000);
    field[i] = (float)(height + 3 * sin(0.2 * (double)(i % x)) * cos(0.15 * (double)(i / x % y)));
  }
  return field;
}

static void planes_in_between_are_left_out(void **state) {
  (void)state;
  szgpu_shape const shapes[] = {test_shape(SZGPU_F32, 3, 70, 90, 100, 0),
                                test_shape(SZGPU_F32, 4, 3, 30, 65, 80)};
  for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
    szgpu_shape three = shapes[i];
    if (three.ndim == 4)
      three =
          test_shape(SZGPU_F32, 3, three.dims[0] * three.dims[1], three.dims[2], three.dims[3], 0);
    float *const field = make_planes(&three);
    szgpu_params const params = interpolation(0.01, i == 0 ? 16 : 1);
    test_archive const archive = archive_compress(ctx, &params, &shapes[i], field);
    assert_int_equal(frame_of(&archive, 0).interpolated_axes, 2);
    assert_in_range(assert_levels(&archive), 2, SZGPU_MAX_LEVEL);
    free(archive.bytes);
    free(field);
  }
}

static void constant_frames_have_every_level(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 3, 40, 30, 90, 0);
  szgpu_params const params = interpolation(0.5, 16);
  double *const field = test_allocate(test_field_bytes(&shape));
  for (uint64_t i = 0; i < test_value_count(&shape); i++) field[i] = 3.25;
  for (int is_spoilt = 0; is_spoilt <= 1; is_spoilt++) {
    if (is_spoilt) spoil(&shape, field, 1e20);
    test_archive const archive = archive_compress(ctx, &params, &shape, field);
    assert_string_equal(frame_of(&archive, 0).kind, "constant");
    assert_int_equal(assert_levels(&archive), SZGPU_MAX_LEVEL);
    free(archive.bytes);
  }
  free(field);
}

/* A frame of 16 planes may have no plane of a preview, and its first one need not be plane 0. */
static void frames_begin_between_rows_of_a_preview(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 100, 33, 20, 0);
  szg_grid whole;
  assert_int_equal(szg_grid_of_shape(&shape, &whole), SZGPU_OK);
  szg_grid const frame = szg_grid_of_rows(&whole, 48);
  szg_box const box = szg_box_of_level(&whole, 5);
  szg_region const first = szg_region_of_frame(&box, 5, &whole, &frame, 0);
  szg_region const second = szg_region_of_frame(&box, 5, &whole, &frame, 48);
  szg_grid const last_frame = szg_grid_of_rows(&whole, 4);
  szg_region const last = szg_region_of_frame(&box, 5, &whole, &last_frame, 96);
  szg_grid const short_frame = szg_grid_of_rows(&whole, 16);
  szg_region const none = szg_region_of_frame(&box, 5, &whole, &short_frame, 16);
  assert_int_equal(first.first[1], 0);
  assert_int_equal(first.count[1], 2); /* rows 0 and 32 */
  assert_int_equal(second.first[1], 16);
  assert_int_equal(second.count[1], 1); /* row 64 */
  assert_int_equal(last.first[1], 0);
  assert_int_equal(last.value_count, 1 * 2 * 1);
  assert_int_equal(none.value_count, 0);
}

/* ---- damage ---- */

static size_t offset_in(const test_archive *archive, uint64_t frame, uint32_t kind) {
  return archive_section_offset(archive, frame, archive_section_of_kind(archive, frame, kind)) + 3;
}

static void only_what_is_needed_is_read(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 44, 60, 0);
  szgpu_params const params = interpolation(0.05, 16);
  float *const field = test_make_waves(&shape);
  field[5] = INFINITY;
  test_archive const sound = archive_compress(ctx, &params, &shape, field);
  szgpu_frame_info const frame = frame_of(&sound, 1);
  uint32_t const last = frame.level_count; /* stage */
  const szgpu_section_info *const sections = frame.sections + frame.section_count - last - 1;
  assert_in_range(last, 2, SZGPU_MAX_LEVEL);
  assert_string_equal(sections[0].name, "base");
  assert_string_equal(sections[last - 1].name, "level 1");
  assert_string_equal(sections[last].name, "level 0");
  uint8_t *const whole = test_decompress(ctx, &sound, test_field_bytes(&shape));
  for (uint32_t stage = 0; stage <= last; stage++) {
    test_archive const archive = archive_copy(&sound, sound.byte_count);
    archive.bytes[offset_in(&archive, 1, SZG_SECTION_BASE + stage)] ^= 0x40;
    for (uint32_t level = 0; level <= last; level++) {
      szgpu_shape sliced;
      uint8_t *const expected = slice(&shape, whole, (int)level, &sliced);
      size_t const bytes = test_field_bytes(&sliced);
      uint8_t *const preview = test_allocate(bytes);
      szgpu_status const status = szgpu_decompress_level(ctx, archive.bytes, archive.byte_count,
                                                         (int)level, preview, bytes);
      if (stage + level <= last) {
        char sentence[80];
        snprintf(sentence, sizeof sentence, "section '%s' of frame 1", sections[stage].name);
        assert_int_equal(status, SZGPU_BAD_CHECKSUM);
        assert_string_equal(szgpu_last_error(ctx), sentence);
      } else {
        assert_int_equal(status, SZGPU_OK);
        assert_memory_equal(preview, expected, bytes);
      }
      free(preview);
      free(expected);
    }
    free(archive.bytes);
  }
  free(whole);
  free(sound.bytes);
  free(field);
}

static void damaged_outliers_are_named(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 44, 60, 0);
  szgpu_params const params = interpolation(0.05, 16);
  float *const field = test_make_waves(&shape);
  field[5] = INFINITY;
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  static float preview[20 * 22 * 30];
  archive.bytes[offset_in(&archive, 0, SZG_SECTION_EXACT_VALUES)] ^= 1;
  assert_int_equal(
      szgpu_decompress_level(ctx, archive.bytes, archive.byte_count, 1, preview, sizeof preview),
      SZGPU_BAD_CHECKSUM);
  assert_string_equal(szgpu_last_error(ctx), "section 'exact values' of frame 0");
  free(archive.bytes);
  free(field);
}

/* Every byte changed in turn, checksums made right again: an error or some values, but nothing
 * outside the preview. */
static void hostile_archives_stay_in_bounds(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 33, 12, 40, 0);
  szgpu_params const params = interpolation(0.5, 16);
  float *const field = test_make_waves(&shape);
  field[0] = NAN;
  test_archive const sound = archive_compress(ctx, &params, &shape, field);
  size_t const bytes = 17 * 6 * 20 * sizeof *field;
  float *const preview = test_allocate(bytes);
  size_t const first = archive_header_bytes(&sound);
  for (size_t i = first; i < sound.byte_count; i += 1 + test_hash(i) % 7) {
    test_archive archive = archive_copy(&sound, sound.byte_count);
    archive.bytes[i] ^= (uint8_t)(1 << test_hash(i) % 8);
    archive_rehash(&archive);
    (void)!szgpu_decompress_level(ctx, archive.bytes, archive.byte_count, 1, preview, bytes);
    free(archive.bytes);
  }
  free(preview);
  free(sound.bytes);
  free(field);
}

/* ---- refusals ---- */

static void refuse(const test_archive *archive, int level, size_t field_bytes,
                   const char *sentence) {
  uint8_t *const field = test_allocate(field_bytes);
  assert_int_equal(
      szgpu_decompress_level(ctx, archive->bytes, archive->byte_count, level, field, field_bytes),
      SZGPU_BAD_ARGUMENT);
  assert_string_equal(szgpu_last_error(ctx), sentence);
  free(field);
}

static void says_what_an_archive_has(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 200, 150, 0, 0);
  float *const field = test_make_waves(&shape);
  szgpu_params params = interpolation(0.01, 64);
  size_t const bytes_1 = 100 * 75 * sizeof *field, bytes_5 = 7 * 5 * sizeof *field;
  test_archive const levels = archive_compress(ctx, &params, &shape, field);
  assert_int_equal(frame_of(&levels, 0).level_count, 4);
  refuse(&levels, 5, bytes_5, "frame 0 goes up to level 4, not to 5");
  refuse(&levels, 9, bytes_5, "a level of 9 is not in 0 .. 6");
  refuse(&levels, -1, bytes_5, "a level of -1 is not in 0 .. 6");
  refuse(&levels, 1, bytes_1 - 4, "the values take 30000 bytes, not 29996");
  assert_int_equal(szgpu_decompress_level(ctx, levels.bytes, levels.byte_count, 1, NULL, bytes_1),
                   SZGPU_BAD_ARGUMENT);
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  test_archive const tiles = archive_compress(ctx, &params, &shape, field);
  refuse(&tiles, 1, bytes_1, "frame 0 is a tile frame: it has no levels");
  params.predictor = SZGPU_PREDICTOR_AUTO;
  params.layout = SZGPU_LAYOUT_LINEAR;
  test_archive const linear = archive_compress(ctx, &params, &shape, field);
  refuse(&linear, 1, bytes_1, "frame 0 is a linear frame: it has no levels");
  params = (szgpu_params)SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_LOSSLESS;
  test_archive const lossless = archive_compress(ctx, &params, &shape, field);
  refuse(&lossless, 1, bytes_1, "frame 0 is a planes frame: it has no levels");
  free(lossless.bytes);
  free(linear.bytes);
  free(tiles.bytes);
  free(levels.bytes);
  free(field);
}

/* The grids of a folded line are not the field's. */
static void folded_frames_have_no_levels(void **state) {
  (void)state;
  szgpu_shape const row = test_shape(SZGPU_F32, 1, 300 * 400, 0, 0, 0);
  float *const field = test_make_folded(300, 400);
  szgpu_params const params = interpolation(0.01, 0);
  test_archive const archive = archive_compress(ctx, &params, &row, field);
  szgpu_frame_info const frame = frame_of(&archive, 0);
  char sentence[80];
  snprintf(sentence, sizeof sentence,
           "frame 0 is folded to rows of %llu: it has no levels of the field",
           (unsigned long long)frame.fold);
  assert_true(frame.fold > 1);
  refuse(&archive, 1, 150 * 400 * sizeof *field, sentence);
  free(archive.bytes);
  free(field);
}

/* The frame that is not fit is found before any is restored. */
static void one_frame_without_levels_is_enough(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 150, 100, 0, 0);
  float *const field = test_make_waves(&shape);
  for (uint64_t i = 100 * 128; i < 100 * 150; i++) /* NaNs that differ in all bits */
    field[i] = test_float_of_bits(0x7FC00000u | (uint32_t)test_hash(i));
  szgpu_params const params = interpolation(0.01, 64);
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  assert_string_equal(frame_of(&archive, 0).kind, "levels");
  char sentence[80];
  szgpu_frame_info const last = frame_of(&archive, 2);
  assert_string_not_equal(last.kind, "levels");
  snprintf(sentence, sizeof sentence, "frame 2 is a %s frame: it has no levels", last.kind);
  refuse(&archive, 1, 75 * 50 * sizeof *field, sentence);
  free(archive.bytes);
  free(field);
}

static void level_shape_checks_its_arguments(void **state) {
  (void)state;
  szgpu_info info = {.shape = test_shape(SZGPU_F32, 4, 5, 17, 9, 33)};
  szgpu_shape shape;
  assert_int_equal(szgpu_level_shape(NULL, 1, &shape), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_level_shape(&info, 1, NULL), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_level_shape(&info, -1, &shape), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_level_shape(&info, SZGPU_MAX_LEVEL + 1, &shape), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_level_shape(&info, 3, &shape), SZGPU_OK);
  assert_int_equal(shape.dims[0], 5);
  assert_int_equal(shape.dims[1], 3);
  assert_int_equal(shape.dims[2], 2);
  assert_int_equal(shape.dims[3], 5);
  info.shape.dims[2] = 0;
  assert_int_equal(szgpu_level_shape(&info, 1, &shape), SZGPU_BAD_SHAPE);
}

/* ---- progress ---- */

typedef struct progress_log {
  uint64_t done, total;
  int stop_after; /* calls; 0: never */
  int calls;
} progress_log;

static int note_progress(void *user, uint64_t done_values, uint64_t total_values) {
  progress_log *const log = user;
  assert_in_range(done_values, log->done, total_values);
  log->done = done_values;
  log->total = total_values;
  return ++log->calls == log->stop_after;
}

static void progress_counts_the_preview(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 44, 60, 0);
  szgpu_params const params = interpolation(0.05, 16);
  float *const field = test_make_waves(&shape);
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  progress_log log = {0};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.progress = note_progress;
  options.progress_user = &log;
  szgpu_ctx *watched;
  assert_int_equal(szgpu_create(&watched, &options), SZGPU_OK);
  static float preview[20 * 22 * 30];
  assert_int_equal(szgpu_decompress_level(watched, archive.bytes, archive.byte_count, 1, preview,
                                          sizeof preview),
                   SZGPU_OK);
  assert_int_equal(log.total, 20 * 22 * 30);
  assert_int_equal(log.done, log.total);
  log = (progress_log){.stop_after = 2};
  assert_int_equal(szgpu_decompress_level(watched, archive.bytes, archive.byte_count, 1, preview,
                                          sizeof preview),
                   SZGPU_CANCELLED);
  szgpu_destroy(watched);
  free(archive.bytes);
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(previews_are_slices),
      cmocka_unit_test(previews_of_quintic_frames_are_slices),
      cmocka_unit_test(previews_do_not_depend_on_threads),
      cmocka_unit_test(planes_in_between_are_left_out),
      cmocka_unit_test(constant_frames_have_every_level),
      cmocka_unit_test(frames_begin_between_rows_of_a_preview),
      cmocka_unit_test(only_what_is_needed_is_read),
      cmocka_unit_test(damaged_outliers_are_named),
      cmocka_unit_test(hostile_archives_stay_in_bounds),
      cmocka_unit_test(says_what_an_archive_has),
      cmocka_unit_test(folded_frames_have_no_levels),
      cmocka_unit_test(one_frame_without_levels_is_enough),
      cmocka_unit_test(level_shape_checks_its_arguments),
      cmocka_unit_test(progress_counts_the_preview),
  };
  return cmocka_run_group_tests(tests, make_ctxs_of_two, destroy_ctxs);
}
