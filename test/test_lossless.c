/* test_lossless.c - the lossless mode through the public interface: every bit comes back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For both layouts, except the tests of what becomes of the planes.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "lossless_fields.h"

static szgpu_ctx *ctx, *three_threads, *eight_threads;

static int make_ctxs(void **state) {
  (void)state;
  ctx = test_make_ctx(1);
  three_threads = test_make_ctx(3);
  eight_threads = test_make_ctx(8);
  return 0;
}

static int destroy_ctxs(void **state) {
  (void)state;
  szgpu_destroy(ctx);
  szgpu_destroy(three_threads);
  szgpu_destroy(eight_threads);
  return 0;
}

static void assert_comes_back(szgpu_ctx *reader, const test_archive *archive, const void *field,
                              size_t field_bytes) {
  void *const restored = test_decompress(reader, archive, field_bytes);
  assert_memory_equal(restored, field, field_bytes);
  free(restored);
}

/* Compresses, checks that the field comes back, and returns the archive. */
static test_archive there_and_back(const szgpu_params *params, const szgpu_shape *shape,
                                   const void *field) {
  test_archive const archive = lossless_compress(ctx, params, shape, field);
  assert_comes_back(ctx, &archive, field, test_field_bytes(shape));
  return archive;
}

/* ---- every type, shape and content ---- */

static void every_type_and_shape_comes_back(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++)
      for (int kind = 0; kind < LOSSLESS_KINDS; kind++) {
        szgpu_shape shape = test_awkward_shapes[s];
        shape.dtype = (szgpu_dtype)dtype;
        szgpu_params params = lossless_params();
        params.zstd_level = (s + (size_t)kind) % 3 ? 0 : 1;
        void *const field = lossless_make((lossless_kind)kind, &shape);
        test_archive const archive = there_and_back(&params, &shape, field);
        szgpu_info const info = test_inspect(&archive);
        bool const is_linear = test_layout() == SZGPU_LAYOUT_LINEAR;
        int const version = dtype > SZGPU_FP8 ? 6 : is_linear ? 4 : 3;
        assert_int_equal(archive_plain_version(&archive),
                         test_has_coded_planes(&archive) ? 7 : version);
        assert_int_equal(info.mode, SZGPU_MODE_LOSSLESS);
        assert_int_equal(info.layout, test_layout());
        assert_int_equal(info.field_bytes, test_field_bytes(&shape));
        assert_int_equal(info.has_gaps, is_linear);
        assert_int_equal(info.has_fill, 0);
        assert_true(info.bound == 0 && info.absolute_bound == 0 && info.step == 0);
        free(field);
        free(archive.bytes);
      }
}

static void any_number_of_values_comes_back(void **state) {
  (void)state;
  for (uint64_t count = 1; count <= 5000; count += count < 700 ? 1 : 13) {
    szgpu_shape const shape = test_shape((szgpu_dtype)(count % LOSSLESS_DTYPES), 1, count, 0, 0, 0);
    szgpu_params const params = lossless_params();
    void *const field = lossless_make((lossless_kind)(count / LOSSLESS_DTYPES % 5), &shape);
    free(there_and_back(&params, &shape, field).bytes);
    free(field);
  }
}

/* ---- what becomes of the planes ---- */

static void assert_planes(lossless_kind kind, szgpu_dtype dtype, uint64_t count,
                          const char *expected) {
  szgpu_shape const shape = test_shape(dtype, 1, count, 0, 0, 0);
  szgpu_params const params = lossless_params();
  void *const field = lossless_make(kind, &shape);
  test_archive const archive = there_and_back(&params, &shape, field);
  if (strcmp(lossless_planes(&archive, 0), expected) != 0)
    fail_msg("kind %d, type %d: %s, not %s", kind, dtype, lossless_planes(&archive, 0), expected);
  free(field);
  free(archive.bytes);
}

static void planes_are_coded_where_it_pays(void **state) {
  (void)state;
  assert_planes(WEIGHTS, SZGPU_BF16, 10000, "cs");
  assert_planes(WEIGHTS, SZGPU_F32, 10000, "csss");
  assert_planes(WEIGHTS, SZGPU_F64, 10000, "ccssssss"); /* 11 bits of exponent: 8 and 3 */
  assert_planes(WEIGHTS, SZGPU_FP8, 10000, "c");
  assert_planes(FEW, SZGPU_F32, 10000, "cccc");
  assert_planes(WEIGHTS, SZGPU_BF16, 100, ""); /* a book would take as much */
}

static void the_highest_plane_is_coded(void **state) {
  (void)state;
  assert_planes(WEIGHTS, SZGPU_BF16, 10000, "cs");
  assert_planes(WEIGHTS, SZGPU_F32, 10000, "csss");
  assert_planes(WEIGHTS, SZGPU_F64, 10000, "csssssss");
  assert_planes(WEIGHTS, SZGPU_FP8, 10000, "c");
  assert_planes(FEW, SZGPU_F32, 10000, "csss");
  assert_planes(FEW, SZGPU_U8, 10000, "c");
  assert_planes(FLAT, SZGPU_F64, 9001, "csssssss"); /* a book of one symbol */
  assert_planes(FLAT, SZGPU_U8, 9001, "c");
  assert_planes(WEIGHTS, SZGPU_BF16, 10, ""); /* a book would take as much */
}

static void noise_is_raw(void **state) {
  (void)state;
  for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++)
    assert_planes(NOISE, (szgpu_dtype)dtype, 9001, "");
}

static void a_plane_of_one_symbol_takes_nothing(void **state) {
  (void)state;
  assert_planes(FLAT, SZGPU_F64, 9001, "kkkkkkkk");
  assert_planes(FLAT, SZGPU_U8, 9001, "k");
  assert_planes(ONE_BIT, SZGPU_F64, 9001, "kkkkkkkc"); /* bit 4, turned to bit 5 */
  assert_planes(ONE_BIT, SZGPU_F16, 9001, "kc");
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 100, 100, 50, 0);
  szgpu_params const params = lossless_params();
  void *const field = lossless_make(FLAT, &shape);
  test_archive const archive = there_and_back(&params, &shape, field);
  assert_int_equal(archive.byte_count, 144 + 48); /* headers alone */
  free(field);
  free(archive.bytes);
}

/* Bytes that are bf16 values are coded as values of two bytes, text is not; each frame decides. */
static void bytes_are_taken_for_values_of_the_width_that_suits(void **state) {
  (void)state;
  enum { HALF = 1 << 17 };
  szgpu_shape const weights = test_shape(SZGPU_BF16, 1, HALF / 2, 0, 0, 0);
  szgpu_shape const bytes = test_shape(SZGPU_U8, 1, 2 * HALF, 0, 0, 0);
  uint8_t *const field = test_allocate(2 * HALF), *const words = lossless_make(WEIGHTS, &weights);
  memcpy(field, words, HALF);
  for (uint64_t i = HALF; i < 2 * HALF; i++)
    field[i] = (uint8_t) "etaoin shrdlu"[test_hash(i) % 13 * (test_hash(i) >> 32) % 13];
  szgpu_params params = lossless_params();
  params.frame_rows = HALF;
  for (params.zstd_level = 0; params.zstd_level <= 1; params.zstd_level++) {
    test_archive const archive = there_and_back(&params, &bytes, field);
    assert_int_equal(test_inspect(&archive).frame_count, 2);
    assert_string_equal(lossless_planes(&archive, 0), "cs");
    assert_string_equal(lossless_planes(&archive, 1), params.zstd_level ? "" : "c"); /* raw */
    free(archive.bytes);
  }
  free(words);
  free(field);
}

static void frames_are_chosen_one_by_one(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 200, 90, 0, 0);
  uint8_t *const field = lossless_make(WEIGHTS, &shape), *const noise =
                                                             lossless_make(NOISE, &shape);
  size_t const row_bytes = 90 * 4;
  memset(field, 0x11, 64 * row_bytes);
  memcpy(field + 64 * row_bytes, noise, 64 * row_bytes);
  szgpu_params params = lossless_params();
  params.frame_rows = 64;
  test_archive const archive = there_and_back(&params, &shape, field);
  static const char *const planes[] = {"kkkk", "", "csss", "csss"};
  assert_int_equal(test_inspect(&archive).frame_count, 4);
  for (uint64_t f = 0; f < 4; f++) assert_string_equal(lossless_planes(&archive, f), planes[f]);
  free(archive.bytes);
  free(noise);
  free(field);
}

/* zstd shortens codebooks, and bits or stored planes where exponents or mantissas repeat: what
 * comes behind them moves up. */
static void sections_move_up_under_zstd(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_BF16, 2, 100, 1000, 0, 0);
  bool const is_linear = test_layout() == SZGPU_LAYOUT_LINEAR;
  for (int what = 0; what < 2; what++) {
    uint16_t *const field = lossless_make(WEIGHTS, &shape);
    for (uint64_t i = 1000; i < 100000; i++) {
      uint64_t const symbol = 167 * i % 256; /* all mantissas are as frequent */
      uint64_t const mantissa = what == 0 ? field[i] & 0x807F : symbol >> 7 << 15 | symbol % 128;
      field[i] = (uint16_t)((field[what == 0 ? i % 1000 : i] & 0x7F80) | mantissa);
    }
    szgpu_params params = lossless_params();
    params.zstd_level = 1;
    test_archive const archive = there_and_back(&params, &shape, field);
    szgpu_frame_info frame = {.struct_bytes = sizeof frame};
    assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame),
                     SZGPU_OK);
    assert_string_equal(frame.planes, "cs");
    uint32_t const bits = is_linear ? 2 : 3, stored = is_linear ? frame.section_count - 1 : 2;
    assert_string_equal(frame.sections[bits].name, is_linear ? "bitstream" : "plane words");
    assert_string_equal(frame.sections[stored].name, "raw values");
    assert_string_equal(frame.sections[bits].codec, what == 0 ? "zstd" : "stored");
    assert_string_equal(frame.sections[stored].codec, what == 0 ? "stored" : "zstd");
    if (!is_linear) assert_string_equal(frame.sections[0].codec, "zstd");
    free(archive.bytes);
    free(field);
  }
}

/* A file of words: codes of single bytes take half of it, zstd takes a seventh. */
static void a_file_that_repeats_itself_is_as_small_as_by_zstd(void **state) {
  (void)state;
  static const char *const words[] = {"field ", "bound ", "error ", "codebook ", "tile ", "lane\n"};
  enum { FILE_BYTES = 3 << 20 };
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, FILE_BYTES, 0, 0, 0);
  uint8_t *const field = malloc(FILE_BYTES);
  assert_non_null(field);
  for (uint64_t at = 0, i = 0; at < FILE_BYTES; i++)
    for (const char *c = words[test_hash(i) % ARRAY_COUNT(words)]; *c && at < FILE_BYTES; c++)
      field[at++] = (uint8_t)*c;
  szgpu_params params = lossless_params();
  params.zstd_level = 3;
  test_archive const archive = there_and_back(&params, &shape, field);
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_string_equal(frame.kind, "raw");
  assert_true(archive.byte_count < FILE_BYTES / 7);
  free(archive.bytes);
  free(field);
}

/* ---- slabs ---- */

static void slabs_are_the_rows_of_the_field(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_U8, 1, {30001}},       {SZGPU_BF16, 2, {200, 133}},
                                       {SZGPU_F32, 3, {50, 9, 33}},  {SZGPU_F64, 4, {7, 3, 4, 99}},
                                       {SZGPU_F16, 3, {1, 100, 90}}, {SZGPU_FP8, 2, {3000, 7}}};
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (int kind = 0; kind < LOSSLESS_KINDS; kind++)
      for (uint64_t frame_rows = 0; frame_rows <= 64; frame_rows += 64) {
        szgpu_params params = lossless_params();
        params.frame_rows = frame_rows;
        params.zstd_level = kind == FEW;
        uint8_t *const field = lossless_make((lossless_kind)kind, &shapes[s]);
        size_t const row_bytes = test_field_bytes(&shapes[s]) / shapes[s].dims[0];
        test_archive const archive = lossless_compress(ctx, &params, &shapes[s], field);
        for (int i = 0; i < 12; i++) {
          uint64_t const first = test_random_below(&random, shapes[s].dims[0]);
          uint64_t const count = 1 + test_random_below(&random, shapes[s].dims[0] - first);
          uint8_t *const slab = test_allocate(count * row_bytes);
          assert_int_equal(
              szgpu_decompress_slab(i % 2 ? ctx : three_threads, archive.bytes, archive.byte_count,
                                    first, count, slab, count * row_bytes),
              SZGPU_OK);
          assert_memory_equal(slab, field + first * row_bytes, count * row_bytes);
          free(slab);
        }
        free(archive.bytes);
        free(field);
      }
}

/* ---- threads, room, progress ---- */

static void any_number_of_threads_gives_the_same_bytes(void **state) {
  (void)state;
  szgpu_ctx *const others[] = {three_threads, eight_threads};
  for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++)
    for (int zstd = 0; zstd <= 1; zstd++) {
      szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 2, 700, 601, 0, 0); /* 7 parts */
      szgpu_params params = lossless_params();
      params.zstd_level = zstd;
      params.frame_rows = dtype % 2 ? 320 : 0;
      void *const field = lossless_make(dtype == SZGPU_F64 ? FEW : WEIGHTS, &shape);
      test_archive const archive = there_and_back(&params, &shape, field);
      for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        test_archive const again = lossless_compress(others[i], &params, &shape, field);
        assert_int_equal(again.byte_count, archive.byte_count);
        assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
        assert_comes_back(others[i], &archive, field, test_field_bytes(&shape));
        free(again.bytes);
      }
      free(archive.bytes);
      free(field);
    }
}

/* Every capacity below the archive's size is refused, without a write past it. */
static void no_capacity_is_passed(void **state) {
  (void)state;
  for (int kind = 0; kind < LOSSLESS_KINDS; kind++) {
    szgpu_shape const shape = test_shape(SZGPU_BF16, 2, 130, 7, 0, 0); /* frames of 64, 64 and 2 */
    szgpu_params params = lossless_params();
    params.frame_rows = 64;
    void *const field = lossless_make((lossless_kind)kind, &shape);
    test_archive const archive = there_and_back(&params, &shape, field);
    for (size_t capacity = 0; capacity <= archive.byte_count; capacity++) {
      uint8_t *const room = test_allocate(capacity); /* exactly that: a sanitizer sees a write */
      size_t used;
      szgpu_status const status =
          szgpu_compress(ctx, &params, &shape, field, room, capacity, &used);
      assert_int_equal(status, capacity < archive.byte_count ? SZGPU_CAPACITY : SZGPU_OK);
      free(room);
    }
    free(archive.bytes);
    free(field);
  }
}

/* A buffer of the size that szgpu_sizes gives is enough, even with the smallest frames. */
static void the_largest_archive_is_never_exceeded(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++) {
      szgpu_shape shape = test_awkward_shapes[s];
      shape.dtype = (szgpu_dtype)dtype;
      szgpu_params params = lossless_params();
      params.frame_rows = 1;
      params.zstd_level = dtype % 2;
      void *const field = lossless_make(s % 2 ? NOISE : WEIGHTS, &shape);
      free(there_and_back(&params, &shape, field).bytes); /* test_compress uses that size */
      assert_int_equal(szgpu_reserve(ctx, &params, &shape), SZGPU_OK);
      free(field);
    }
}

typedef struct report {
  uint64_t calls, done_before, last_done, total, stop_at_call; /* done_before: the last report */
  bool is_disorderly;
} report;

static int note(void *user, uint64_t done, uint64_t total) {
  report *const r = user;
  r->calls++;
  r->is_disorderly |= done < r->last_done || done > total || (r->total && r->total != total);
  r->done_before = r->last_done;
  r->last_done = done;
  r->total = total;
  return r->calls == r->stop_at_call;
}

static void progress_goes_up_to_the_end_and_can_stop_it(void **state) {
  (void)state;
  report r;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.threads = 2;
  options.progress = note;
  options.progress_user = &r;
  szgpu_ctx *reporting;
  assert_int_equal(szgpu_create(&reporting, &options), SZGPU_OK);
  for (int kind = 0; kind < LOSSLESS_KINDS; kind++)
    for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++)
      for (int zstd = 0; zstd <= 1; zstd++) {
        szgpu_shape const values = test_shape((szgpu_dtype)dtype, 1, 150001, 0, 0, 0);
        szgpu_shape shape = values;
        if (dtype == SZGPU_FP8) shape.dtype = SZGPU_U8; /* untyped bytes instead */
        szgpu_params params = lossless_params();
        params.zstd_level = zstd;
        params.frame_rows = zstd ? 70000 : 0;
        void *const field = lossless_make((lossless_kind)kind, &values);
        r = (report){0};
        test_archive const archive = lossless_compress(reporting, &params, &shape, field);
        assert_true(r.calls > 0 && !r.is_disorderly && r.last_done == r.total);
        if (!zstd && test_layout() == SZGPU_LAYOUT_TILE) /* its one pass is all of the work */
          assert_int_equal(r.done_before, r.total);
        r = (report){0};
        assert_comes_back(reporting, &archive, field, test_field_bytes(&shape));
        assert_true(r.calls > 0 && !r.is_disorderly && r.last_done == r.total);
        r = (report){.stop_at_call = 1};
        size_t used;
        uint8_t *const room = test_allocate(archive.byte_count);
        assert_int_equal(
            szgpu_compress(reporting, &params, &shape, field, room, archive.byte_count, &used),
            SZGPU_CANCELLED);
        free(room);
        free(archive.bytes);
        free(field);
      }
  szgpu_destroy(reporting);
}

/* ---- what is asked ---- */

static szgpu_status try_bounds(const szgpu_params *params, szgpu_dtype dtype) {
  szgpu_shape const shape = test_shape(dtype, 1, 100, 0, 0, 0);
  size_t most;
  return szgpu_sizes(ctx, params, &shape, NULL, &most);
}

static void what_has_no_use_is_refused_in_a_sentence(void **state) {
  (void)state;
  szgpu_params params = lossless_params();
  params.radius = 512;
  assert_int_equal(try_bounds(&params, SZGPU_F32), SZGPU_BAD_ARGUMENT);
  assert_string_equal(szgpu_last_error(ctx), "radius and fill value are not for the lossless mode");
  params = lossless_params();
  params.has_fill = 1;
  assert_int_equal(try_bounds(&params, SZGPU_F32), SZGPU_BAD_ARGUMENT);
  params = lossless_params();
  params.without_gaps = 1;
  params.layout = SZGPU_LAYOUT_TILE;
  assert_int_equal(try_bounds(&params, SZGPU_F32), SZGPU_BAD_ARGUMENT);
  assert_string_equal(szgpu_last_error(ctx), "only the linear layout has a gap array to leave out");
  params = lossless_params();
  assert_int_equal(try_bounds(&params, (szgpu_dtype)10), SZGPU_BAD_SHAPE);
  szgpu_params const bounded = SZGPU_PARAMS_DEFAULTS;
  assert_int_equal(try_bounds(&bounded, SZGPU_FP8), SZGPU_BAD_ARGUMENT);
  assert_string_equal(szgpu_last_error(ctx),
                      "values of this type can only be compressed losslessly");
}

static void the_bound_is_not_looked_at(void **state) {
  (void)state;
  static const double bounds[] = {0.0, -1.0, NAN, INFINITY};
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 500, 0, 0, 0);
  void *const field = lossless_make(WEIGHTS, &shape);
  szgpu_params params = lossless_params();
  test_archive const archive = there_and_back(&params, &shape, field);
  for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
    params.bound = params.fill = bounds[i];
    test_archive const again = there_and_back(&params, &shape, field);
    assert_int_equal(again.byte_count, archive.byte_count);
    assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
    free(again.bytes);
  }
  free(archive.bytes);
  free(field);
}

static void bytes_need_no_alignment(void **state) {
  (void)state;
  szgpu_shape const values = test_shape(SZGPU_BF16, 1, 30000, 0, 0, 0);
  szgpu_shape const bytes = test_shape(SZGPU_U8, 1, 59999, 0, 0, 0);
  uint8_t *const field = lossless_make(WEIGHTS, &values);
  szgpu_params const params = lossless_params();
  free(there_and_back(&params, &bytes, field + 1).bytes);
  free(field);
}

static void other_decoders_say_that_they_do_not_read_it(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_FP8, 1, 1000, 0, 0, 0);
  szgpu_params params = lossless_params();
  params.layout = SZGPU_LAYOUT_TILE;
  uint8_t *const field = lossless_make(WEIGHTS, &shape);
  test_archive const archive = there_and_back(&params, &shape, field);
  szgpu_ctx *const serial = test_make_serial_ctx();
  assert_int_equal(szgpu_decompress(serial, archive.bytes, archive.byte_count, field, 1000),
                   SZGPU_UNSUPPORTED);
  assert_string_equal(szgpu_last_error(serial),
                      "the archive is lossless in the tile layout: the decoder serial does not "
                      "read it");
  szgpu_destroy(serial);
  free(archive.bytes);
  free(field);
}

/* ---- samples ---- */

enum { SAMPLED_TILES = 515, TILE_VALUES = 4096 }; /* the sample has 512 of them */

/* bf16 values of 1 to 2, with all signs and mantissas. */
static uint16_t *make_sampled_field(const szgpu_shape *shape) {
  uint64_t const count = test_value_count(shape);
  uint16_t *const values = test_allocate(2 * count);
  for (uint64_t i = 0; i < count; i++)
    values[i] = (uint16_t)(0x3F00 | (test_hash(i) & 0x80FF)); /* exponents 126 and 127 */
  return values;
}

/* Whether the sample has the tile: docs/format.md, section 15. */
static bool is_counted(uint64_t tile) {
  for (uint64_t i = 0; i < 512; i++)
    if ((2 * i + 1) * SAMPLED_TILES / 1024 == tile) return true;
  return false;
}

/* One value with another exponent, in each tile that the sample lacks and in one that it has. If it
 * is in the sample, its neighbours have codes as well. */
static void samples_that_miss_a_symbol_do_no_harm(void **state) {
  (void)state;
  szgpu_shape const shape =
      test_shape(SZGPU_BF16, 1, (uint64_t)SAMPLED_TILES * TILE_VALUES - 5, 0, 0, 0);
  szgpu_params const params = lossless_params();
  uint16_t *const values = make_sampled_field(&shape);
  test_archive const plain = there_and_back(&params, &shape, values);
  assert_string_equal(lossless_planes(&plain, 0), "cs");
  uint32_t missed = 0;
  for (uint64_t tile = 0; tile < SAMPLED_TILES; tile++) {
    if (is_counted(tile) && tile != 3) continue;
    uint64_t const i = tile * TILE_VALUES + 1234;
    uint16_t const before = values[i];
    missed += !is_counted(tile);
    values[i] = 0x0080; /* exponent 1 */
    test_archive const archive = there_and_back(&params, &shape, values);
    assert_string_equal(lossless_planes(&archive, 0), "cs");
    assert_true(archive.byte_count < plain.byte_count + plain.byte_count / 10);
    test_archive const same = lossless_compress(three_threads, &params, &shape, values);
    assert_int_equal(same.byte_count, archive.byte_count);
    assert_memory_equal(same.bytes, archive.bytes, archive.byte_count);
    free(same.bytes);
    free(archive.bytes);
    values[i] = before;
  }
  assert_int_equal(missed, SAMPLED_TILES - 512);
  free(plain.bytes);
  free(values);
}

/* A plane that is constant in the sample, and the only value that differs. */
static void planes_constant_in_the_sample_only_come_back(void **state) {
  (void)state;
  szgpu_shape const shape =
      test_shape(SZGPU_BF16, 1, (uint64_t)SAMPLED_TILES * TILE_VALUES, 0, 0, 0);
  szgpu_params const params = lossless_params();
  uint16_t *const values = make_sampled_field(&shape);
  for (uint64_t i = 0; i < test_value_count(&shape); i++) values[i] = 0x3F80 | (values[i] & 63);
  test_archive const constant = there_and_back(&params, &shape, values);
  assert_string_equal(lossless_planes(&constant, 0), "kc");
  uint64_t tile = 0;
  while (is_counted(tile)) tile++;
  values[tile * TILE_VALUES + 77] = 0x4080;
  test_archive const archive = there_and_back(&params, &shape, values);
  assert_string_equal(lossless_planes(&archive, 0), "cc");
  free(constant.bytes);
  free(archive.bytes);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_and_shape_comes_back),
      cmocka_unit_test(any_number_of_values_comes_back),
      cmocka_unit_test(noise_is_raw),
      cmocka_unit_test(sections_move_up_under_zstd),
      cmocka_unit_test(a_file_that_repeats_itself_is_as_small_as_by_zstd),
      cmocka_unit_test(slabs_are_the_rows_of_the_field),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
      cmocka_unit_test(no_capacity_is_passed),
      cmocka_unit_test(the_largest_archive_is_never_exceeded),
      cmocka_unit_test(progress_goes_up_to_the_end_and_can_stop_it),
      cmocka_unit_test(what_has_no_use_is_refused_in_a_sentence),
      cmocka_unit_test(the_bound_is_not_looked_at),
      cmocka_unit_test(bytes_need_no_alignment),
      cmocka_unit_test(other_decoders_say_that_they_do_not_read_it),
  };
  const struct CMUnitTest tile_tests[] = {
      cmocka_unit_test(planes_are_coded_where_it_pays),
      cmocka_unit_test(a_plane_of_one_symbol_takes_nothing),
      cmocka_unit_test(bytes_are_taken_for_values_of_the_width_that_suits),
      cmocka_unit_test(frames_are_chosen_one_by_one),
      cmocka_unit_test(samples_that_miss_a_symbol_do_no_harm),
      cmocka_unit_test(planes_constant_in_the_sample_only_come_back),
  };
  const struct CMUnitTest linear_tests[] = {cmocka_unit_test(the_highest_plane_is_coded)};
  int const failed = cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
  return failed | (test_layout() == SZGPU_LAYOUT_LINEAR
                       ? cmocka_run_group_tests(linear_tests, make_ctxs, destroy_ctxs)
                       : cmocka_run_group_tests(tile_tests, make_ctxs, destroy_ctxs));
}
