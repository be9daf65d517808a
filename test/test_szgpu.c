/* test_szgpu.c - the public interface: arguments, statuses, inspection of archives.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "szgpu.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "ctxs.h"

/* A small field of rank 2 and its parameters; tests spoil one argument at a time. */
typedef struct request {
  szgpu_params params;
  szgpu_shape shape;
  float field[12];
  uint8_t archive[4096];
  size_t archive_bytes;
} request;

static request make_request(void) {
  request r = {.params = SZGPU_PARAMS_DEFAULTS, .shape = test_shape(SZGPU_F32, 2, 3, 4, 0, 0)};
  for (int i = 0; i < 12; i++) r.field[i] = (float)(i * i);
  return r;
}

/* szgpu_sizes, szgpu_reserve and szgpu_compress must refuse alike. */
static szgpu_status try_request(request *r) {
  size_t most;
  szgpu_status const status = szgpu_compress(ctx, &r->params, &r->shape, r->field, r->archive,
                                             sizeof r->archive, &r->archive_bytes);
  assert_int_equal(szgpu_sizes(ctx, &r->params, &r->shape, NULL, &most), status);
  assert_int_equal(szgpu_reserve(ctx, &r->params, &r->shape), status);
  return status;
}

static request compressed_request(void) {
  request r = make_request();
  assert_int_equal(try_request(&r), SZGPU_OK);
  return r;
}

/* ---- texts ---- */

static void every_status_has_a_text_of_its_own(void **state) {
  (void)state;
  for (int a = SZGPU_OK; a <= SZGPU_SERIES_CHANGED; a++) {
    assert_true(strlen(szgpu_status_text((szgpu_status)a)) > 5);
    for (int b = SZGPU_OK; b < a; b++)
      assert_string_not_equal(szgpu_status_text((szgpu_status)a),
                              szgpu_status_text((szgpu_status)b));
  }
  assert_non_null(szgpu_status_text((szgpu_status)1000));
  assert_non_null(szgpu_status_text((szgpu_status)-1));
}

static void the_statuses_are_pinned(void **state) {
  (void)state;
  assert_int_equal(SZGPU_OK, 0);
  assert_int_equal(SZGPU_BAD_BOUND, 3);
  assert_int_equal(SZGPU_CAPACITY, 6);
  assert_int_equal(SZGPU_BAD_CHECKSUM, 11);
  assert_int_equal(SZGPU_DEVICE_ERROR, 15);
  assert_int_equal(SZGPU_FIELD_CHANGED, 16);
  assert_int_equal(SZGPU_MEMORY_LIMIT, 17);
  assert_int_equal(SZGPU_SOURCE_FAILED, 18);
  assert_int_equal(SZGPU_SINK_FAILED, 19);
  assert_int_equal(SZGPU_NOT_A_SERIES, 20);
  assert_int_equal(SZGPU_UNFINISHED, 21);
  assert_int_equal(SZGPU_LOCKED, 22);
  assert_int_equal(SZGPU_OTHER_PARAMS, 23);
  assert_int_equal(SZGPU_OTHER_PROCESS, 24);
  assert_int_equal(SZGPU_SERIES_CHANGED, 25);
}

static void the_version_is_the_headers(void **state) {
  (void)state;
  assert_string_equal(szgpu_version(), SZGPU_VERSION_STRING);
}

static void there_are_no_devices_without_cuda(void **state) {
  (void)state;
  int const there = szgpu_device_count();
  assert_true(szgpu_has_cuda() ? there >= 0 : there == 0);
}

static void the_last_error_belongs_to_the_last_call(void **state) {
  (void)state;
  request r = make_request();
  assert_string_equal(szgpu_last_error(NULL), "");
  r.params.bound = -1.0;
  assert_int_equal(try_request(&r), SZGPU_BAD_BOUND);
  assert_string_not_equal(szgpu_last_error(ctx), "");
  r.params.bound = 0.1;
  assert_int_equal(try_request(&r), SZGPU_OK);
  assert_string_equal(szgpu_last_error(ctx), "");
}

/* ---- create ---- */

static szgpu_status try_create(const szgpu_options *options) {
  szgpu_ctx *made = (szgpu_ctx *)(uintptr_t)options; /* anything but NULL */
  szgpu_status const status = szgpu_create(&made, options);
  assert_int_equal(made != NULL, status == SZGPU_OK);
  szgpu_destroy(made);
  return status;
}

static void create_takes_its_defaults_from_null(void **state) {
  (void)state;
  szgpu_ctx *made;
  assert_int_equal(szgpu_create(&made, NULL), SZGPU_OK);
  szgpu_destroy(made);
  szgpu_destroy(NULL);
  assert_int_equal(szgpu_create(NULL, NULL), SZGPU_BAD_ARGUMENT);
}

/* With pointers of 64 bits. */
enum {
  OPTIONS_BYTES_OF_0_1_0 = 48, /* up to progress_user */
  PARAMS_BYTES_OF_0_2_0 = 80,
  INFO_BYTES_OF_0_2_0 = 160
};

/* A program that was compiled with an earlier header has shorter structs. */
static void options_of_the_first_version_are_taken(void **state) {
  (void)state;
  szgpu_options const now = SZGPU_OPTIONS_DEFAULTS;
  szgpu_options *const first = test_allocate(OPTIONS_BYTES_OF_0_1_0);
  memcpy(first, &now, OPTIONS_BYTES_OF_0_1_0);
  first->struct_bytes = OPTIONS_BYTES_OF_0_1_0;
  assert_int_equal(try_create(first), SZGPU_OK);
  first->threads = -1;
  assert_int_equal(try_create(first), SZGPU_BAD_ARGUMENT);
  free(first);
}

static void create_refuses_bad_options(void **state) {
  (void)state;
  szgpu_options const good = SZGPU_OPTIONS_DEFAULTS;
  assert_int_equal(try_create(&good), SZGPU_OK);
  szgpu_options bad = good;
  bad.struct_bytes = OPTIONS_BYTES_OF_0_1_0 - 1;
  assert_int_equal(try_create(&bad), SZGPU_BAD_ARGUMENT);
  bad.struct_bytes = 0;
  assert_int_equal(try_create(&bad), SZGPU_BAD_ARGUMENT);
  struct {
    szgpu_options known;
    uint64_t later; /* members that a later version may have added */
  } longer = {.known = good};
  longer.known.struct_bytes = sizeof longer;
  assert_int_equal(try_create(&longer.known), SZGPU_OK);
  longer.later = 1;
  assert_int_equal(try_create(&longer.known), SZGPU_BAD_ARGUMENT);
  bad = good, bad.threads = -1;
  assert_int_equal(try_create(&bad), SZGPU_BAD_ARGUMENT);
  bad = good, bad.threads = 1 << 20;
  assert_int_equal(try_create(&bad), SZGPU_BAD_ARGUMENT);
  bad = good, bad.decoder = (szgpu_decoder)77;
  assert_int_equal(try_create(&bad), SZGPU_BAD_ARGUMENT);
  bad = good, bad.backend = (szgpu_backend)77;
  assert_int_equal(try_create(&bad), SZGPU_BAD_ARGUMENT);
  bad = good, bad.backend = SZGPU_BACKEND_CPU;
  assert_int_equal(try_create(&bad), SZGPU_OK);
}

/* ---- compress ---- */

static void refuses_missing_arguments(void **state) {
  (void)state;
  request r = make_request();
  size_t *const size = &r.archive_bytes;
  size_t const room = sizeof r.archive;
#define COMPRESS(...) assert_int_equal(szgpu_compress(__VA_ARGS__), SZGPU_BAD_ARGUMENT)
  COMPRESS(NULL, &r.params, &r.shape, r.field, r.archive, room, size);
  COMPRESS(ctx, NULL, &r.shape, r.field, r.archive, room, size);
  COMPRESS(ctx, &r.params, NULL, r.field, r.archive, room, size);
  COMPRESS(ctx, &r.params, &r.shape, NULL, r.archive, room, size);
  COMPRESS(ctx, &r.params, &r.shape, r.field, NULL, room, size);
  COMPRESS(ctx, &r.params, &r.shape, r.field, r.archive, room, NULL);
#undef COMPRESS
  assert_int_equal(szgpu_sizes(NULL, &r.params, &r.shape, NULL, NULL), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_sizes(ctx, &r.params, &r.shape, NULL, NULL), SZGPU_OK);
  assert_int_equal(szgpu_reserve(ctx, NULL, &r.shape), SZGPU_BAD_ARGUMENT);
}

static void former_name_gives_the_same_sizes(void **state) {
  (void)state;
  request r = make_request();
  size_t workspace = 1, most = 2, former_workspace = 3, former_most = 4;
  assert_int_equal(szgpu_sizes(ctx, &r.params, &r.shape, &workspace, &most), SZGPU_OK);
  assert_int_equal(szgpu_bounds(ctx, &r.params, &r.shape, &former_workspace, &former_most),
                   SZGPU_OK);
  assert_int_equal(former_workspace, workspace);
  assert_int_equal(former_most, most);
}

static void refuses_bad_params(void **state) {
  (void)state;
  static const double bad_bounds[] = {0.0, -0.0, -1.0, NAN, INFINITY, -INFINITY};
  static const uint32_t bad_radii[] = {1, 32769, UINT32_MAX};
  static const int bad_levels[] = {-1, 20, 1000};
  for (size_t i = 0; i < ARRAY_COUNT(bad_bounds); i++)
    for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PSNR; mode++) {
      request r = make_request();
      r.params.bound = bad_bounds[i];
      r.params.mode = (szgpu_mode)mode;
      assert_int_equal(try_request(&r), SZGPU_BAD_BOUND);
    }
  for (size_t i = 0; i < 3; i++) {
    request r = make_request();
    r.params.layout = SZGPU_LAYOUT_LINEAR;
    r.params.radius = bad_radii[i];
    assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
    r = make_request();
    r.params.zstd_level = bad_levels[i];
    assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  }
  request r = make_request();
  r.params.mode = (szgpu_mode)(SZGPU_MODE_PWREL + 1);
  assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  r = make_request();
  r.params.source = SZGPU_SOURCE_ALL + 1;
  assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  r = make_request();
  r.params.layout = (szgpu_layout)2;
  assert_int_equal(try_request(&r), SZGPU_UNSUPPORTED);
  r = make_request();
  r.params.radius = 512;
  assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "linear layout"));
  r.params.layout = SZGPU_LAYOUT_LINEAR;
  assert_int_equal(try_request(&r), SZGPU_OK);
}

/* The sentence was "params are not of this version" for both. */
static void says_what_to_do_about_params_of_no_version_or_a_later_one(void **state) {
  (void)state;
  request r = make_request();
  r.params.struct_bytes = 0;
  assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx),
                         "struct_bytes is 0, less than any version has; "
                         "start from SZGPU_PARAMS_DEFAULTS"));
  r.params.struct_bytes = offsetof(szgpu_params, greatest) - 1;
  assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  struct {
    szgpu_params known;
    uint64_t later; /* members that a later version may have added */
  } longer = {.known = make_request().params};
  longer.known.struct_bytes = sizeof longer;
  assert_int_equal(szgpu_sizes(ctx, &longer.known, &r.shape, NULL, NULL), SZGPU_OK);
  longer.later = 1;
  assert_int_equal(szgpu_sizes(ctx, &longer.known, &r.shape, NULL, NULL), SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "sets members that libszgpu " SZGPU_VERSION_STRING
                                                " does not have; link with"));
}

/* A program that was compiled with 0.2.0 ends its struct with 4 bytes of padding, and counts them:
 * they may hold anything. */
static void params_of_an_earlier_header_are_taken(void **state) {
  (void)state;
  static size_t const sizes[] = {offsetof(szgpu_params, greatest), PARAMS_BYTES_OF_0_2_0 - 4,
                                 PARAMS_BYTES_OF_0_2_0};
  request now = make_request();
  now.params.mode = SZGPU_MODE_ABS;
  assert_int_equal(try_request(&now), SZGPU_OK);
  for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
    szgpu_params *const earlier = test_allocate(sizes[i]);
    uint8_t archive[sizeof now.archive];
    size_t archive_bytes;
    memcpy(earlier, &now.params, sizes[i]);
    earlier->struct_bytes = sizes[i];
    if (sizes[i] == PARAMS_BYTES_OF_0_2_0) memset((uint8_t *)earlier + sizes[i] - 4, 0xA5, 4);
    assert_int_equal(szgpu_compress(ctx, earlier, &now.shape, now.field, archive, sizeof archive,
                                    &archive_bytes),
                     SZGPU_OK);
    assert_int_equal(archive_bytes, now.archive_bytes);
    assert_memory_equal(archive, now.archive, archive_bytes);
    free(earlier);
  }
}

static void refuses_to_keep_what_is_unknown_or_was_not_looked_at(void **state) {
  (void)state;
  for (int bit = 0; bit < 64; bit++) {
    request r = make_request();
    r.params.keep = (uint64_t)1 << bit;
    bool const is_known = r.params.keep & SZGPU_KEEP_ALL;
    assert_int_equal(try_request(&r), is_known ? SZGPU_OK : SZGPU_BAD_ARGUMENT);
    if (!is_known) assert_non_null(strstr(szgpu_last_error(ctx), "unknown bits"));
  }
  for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_PWREL; mode++) { /* all modes take it */
    request r = make_request();
    r.params.mode = (szgpu_mode)mode;
    r.params.bound = mode == SZGPU_MODE_LOSSLESS ? 0 : 1e-3;
    r.params.keep = SZGPU_KEEP_RANGE;
    assert_int_equal(try_request(&r), SZGPU_OK);
  }
  request r = make_request();
  r.params.mode = SZGPU_MODE_ABS;
  r.params.greatest = 200;
  assert_int_equal(try_request(&r), SZGPU_OK);
  r.params.keep = SZGPU_KEEP_RANGE;
  assert_int_equal(try_request(&r), SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "skips the scan of the values"));
}

/* What needs no GPU to be refused; test_cuda_async.cu has the rest. */
static void stream_ordered_calls_need_a_ctx_for_cuda(void **state) {
  (void)state;
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  szgpu_async_item const item = {.shape = test_shape(SZGPU_F32, 1, 8, 0, 0, 0)};
  size_t bytes;
  assert_int_equal(szgpu_async_bytes(ctx, &params, &item, 1, &bytes), SZGPU_UNSUPPORTED);
  assert_non_null(strstr(szgpu_last_error(ctx), "SZGPU_BACKEND_CUDA"));
  assert_int_equal(szgpu_compress_async(ctx, &params, &item, 1, NULL, 0, NULL), SZGPU_UNSUPPORTED);
  assert_int_equal(szgpu_decompress_async(ctx, &params, &item, 1, NULL, 0, NULL),
                   SZGPU_UNSUPPORTED);
  assert_int_equal(szgpu_async_bytes(NULL, &params, &item, 1, &bytes), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_async_bytes(ctx, &params, &item, 1, NULL), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_async_bytes(ctx, NULL, &item, 1, &bytes), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_compress_async(ctx, &params, NULL, 1, NULL, 0, NULL), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_async_bytes(ctx, &params, &item, SZGPU_MAX_ASYNC_ITEMS + 1, &bytes),
                   SZGPU_BAD_ARGUMENT);
  params.bound = -1;
  assert_int_equal(szgpu_async_bytes(ctx, &params, &item, 1, &bytes), SZGPU_BAD_BOUND);
}

static void refuses_bad_shapes(void **state) {
  (void)state;
  uint64_t const big = UINT64_C(1) << 33;
  szgpu_shape const bad[] = {
      test_shape(SZGPU_F32, 0, 3, 4, 5, 6),         test_shape(SZGPU_F32, 5, 3, 4, 5, 6),
      test_shape(SZGPU_F32, -2, 3, 4, 5, 6),        test_shape((szgpu_dtype)10, 2, 3, 4, 5, 6),
      test_shape(SZGPU_F32, 2, 3, 0, 5, 6),         test_shape(SZGPU_F32, 2, big, big, 0, 0),
      test_shape(SZGPU_F64, 1, UINT64_MAX, 0, 0, 0)};
  for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
    request r = make_request();
    r.shape = bad[i];
    assert_int_equal(try_request(&r), SZGPU_BAD_SHAPE);
  }
}

/* ---- decompress ---- */

static void refuses_to_restore_into_another_size(void **state) {
  (void)state;
  request const r = compressed_request();
  float out[13];
  size_t const size = r.archive_bytes;
#define RESTORE(...) assert_int_equal(szgpu_decompress(__VA_ARGS__), SZGPU_BAD_ARGUMENT)
  RESTORE(ctx, r.archive, size, out, 47);
  RESTORE(ctx, r.archive, size, out, 49);
  RESTORE(ctx, r.archive, size, out, 0);
  RESTORE(NULL, r.archive, size, out, 48);
  RESTORE(ctx, NULL, size, out, 48);
  RESTORE(ctx, r.archive, size, NULL, 48);
#undef RESTORE
  assert_int_equal(szgpu_decompress(ctx, r.archive, size, out, 48), SZGPU_OK);
}

static void refuses_fields_that_are_not_aligned(void **state) {
  (void)state;
  request r = compressed_request();
  float room[13];
  void *const odd = (uint8_t *)room + 1;
  size_t archive_bytes;
  assert_int_equal(
      szgpu_compress(ctx, &r.params, &r.shape, odd, r.archive, sizeof r.archive, &archive_bytes),
      SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress(ctx, r.archive, r.archive_bytes, odd, sizeof r.field),
                   SZGPU_BAD_ARGUMENT);
  assert_true(strlen(szgpu_last_error(ctx)) > 0);
}

/* Each way that two ranges can meet: nothing is written. */
static void refuses_fields_and_archives_that_share_memory(void **state) {
  (void)state;
  request r = compressed_request();
  size_t const field_bytes = sizeof r.field;
  _Alignas(16) uint8_t room[3 * sizeof r.field + sizeof r.archive];
  for (size_t first = 0; first <= 2 * field_bytes; first += sizeof *r.field) {
    bool const is_apart = first >= field_bytes;
    size_t archive_bytes;
    memcpy(room, r.field, field_bytes);
    assert_int_equal(szgpu_compress(ctx, &r.params, &r.shape, room, room + first, sizeof r.archive,
                                    &archive_bytes),
                     is_apart ? SZGPU_OK : SZGPU_BAD_ARGUMENT);
    assert_memory_equal(room, r.field, field_bytes);
    memcpy(room + first, r.archive, r.archive_bytes);
    assert_int_equal(szgpu_decompress(ctx, room + first, r.archive_bytes, room, field_bytes),
                     is_apart ? SZGPU_OK : SZGPU_BAD_ARGUMENT);
    assert_memory_equal(room + first, r.archive, r.archive_bytes);
  }
  memcpy(room, r.archive, r.archive_bytes);
  void *const inside = room + r.archive_bytes / sizeof *r.field * sizeof *r.field;
  bool const meets = (uint8_t *)inside < room + r.archive_bytes;
  assert_int_equal(szgpu_decompress(ctx, room, r.archive_bytes, inside, field_bytes),
                   meets ? SZGPU_BAD_ARGUMENT : SZGPU_OK);
}

static void refuses_slabs_that_are_not_there(void **state) {
  (void)state;
  static const uint64_t bad[][2] = {
      {0, 0},          {0, 4},          {3, 1},          {2, 2},
      {UINT64_MAX, 1}, {1, UINT64_MAX}, {0, UINT64_MAX}, {2, UINT64_MAX - 1}};
  request const r = compressed_request();
  float out[12];
  for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
    for (size_t bytes = 0; bytes <= 48; bytes += 16)
      assert_int_equal(
          szgpu_decompress_slab(ctx, r.archive, r.archive_bytes, bad[i][0], bad[i][1], out, bytes),
          SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_slab(ctx, r.archive, r.archive_bytes, 1, 2, out, 31),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_slab(ctx, r.archive, r.archive_bytes, 1, 2, out, 32), SZGPU_OK);
}

static void names_what_is_wrong_with_an_archive(void **state) {
  (void)state;
  request r = compressed_request();
  float out[12];
  size_t const size = r.archive_bytes;
  assert_int_equal(szgpu_decompress(ctx, r.archive, size - 1, out, 48), SZGPU_TRUNCATED);
  assert_int_equal(szgpu_decompress(ctx, r.archive, size + 1, out, 48), SZGPU_TRAILING_BYTES);
  assert_string_not_equal(szgpu_last_error(ctx), "");
  assert_int_equal(szgpu_decompress(ctx, r.archive, 0, out, 48), SZGPU_TRUNCATED);
  assert_int_equal(szgpu_decompress(ctx, r.field, 48, out, 48), SZGPU_NOT_AN_ARCHIVE);
  r.archive[size - 20] ^= 1;
  assert_int_equal(szgpu_decompress(ctx, r.archive, size, out, 48), SZGPU_BAD_CHECKSUM);
  r.archive[8] = 10;
  assert_int_equal(szgpu_decompress(ctx, r.archive, size, out, 48), SZGPU_NEWER_VERSION);
}

/* ---- inspect ---- */

static void assert_says_what_it_is(szgpu_mode mode, szgpu_layout layout) {
  bool const is_tile = layout == SZGPU_LAYOUT_TILE;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 9, 33, 0);
  szgpu_params params = test_params(mode, 1e-3);
  params.layout = layout;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.frame_rows = 20; /* 32 */
  params.source = SZGPU_SOURCE_NPY | SZGPU_SOURCE_FORTRAN;
  params.has_fill = 1;
  params.fill = -9999.0;
  float *const field = test_make_waves(&shape);
  field[100] = -9999.0f, field[101] = 100.0f, field[102] = -100.0f; /* the range: 200 and noise */
  test_archive archive = archive_compress(ctx, &params, &shape, field);
  szgpu_info const info = test_inspect(&archive);
  assert_memory_equal(&info.shape.dims, ((uint64_t[]){40, 9, 33, 1}), 32);
  assert_int_equal(info.shape.dtype, SZGPU_F32);
  assert_int_equal(info.shape.ndim, 3);
  assert_int_equal(info.mode, mode);
  assert_int_equal(info.layout, layout);
  assert_int_equal(info.format_version, mode == SZGPU_MODE_REL ? 8 : is_tile ? 2 : 1);
  assert_int_equal(info.source, params.source);
  assert_true(info.bound == 1e-3);
  assert_true(info.value_range >= 200.0 && info.value_range < 202.0);
  double const unit = mode == SZGPU_MODE_REL ? info.value_range : 1;
  assert_true(info.absolute_bound <= unit * 1e-3);
  assert_true(info.absolute_bound > unit * (1e-3 - 1e-12));
  assert_int_equal(info.has_limits, mode == SZGPU_MODE_REL);
  assert_true(!info.has_limits || info.greatest - info.least == info.value_range);
  assert_true(info.step > info.absolute_bound && info.step < 2.0 * info.absolute_bound);
  assert_true(info.has_fill && info.fill == -9999.0);
  assert_int_equal(info.fill_bits, 0xC61C3C00u);
  assert_int_equal(info.frame_rows, 32);
  assert_int_equal(info.frame_count, 2);
  assert_int_equal(info.field_bytes, test_field_bytes(&shape));
  assert_int_equal(info.archive_bytes, archive.byte_count);
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 1, 1, &frame), SZGPU_OK);
  assert_string_equal(frame.kind, is_tile ? "tile" : "linear");
  uint32_t const tile_bits = mode == SZGPU_MODE_REL ? 16 : 32; /* bounds of 0.2 and 1e-3 */
  assert_int_equal(frame.lattice_bits, is_tile ? tile_bits : 0);
  assert_int_equal(frame.radius == 0, is_tile);
  assert_true(frame.zero_groups == 0 || is_tile);
  assert_int_equal(frame.first_row, 32);
  assert_int_equal(frame.row_count, 8);
  for (uint32_t i = 0; i < frame.section_count; i++) {
    szgpu_section_info const section = frame.sections[i];
    assert_int_equal(section.offset % 16, 0);
    assert_in_range(section.offset + section.stored_bytes, 1, archive.byte_count);
  }
  free(field);
  free(archive.bytes);
}

static void an_archive_says_what_it_is(void **state) {
  (void)state;
  for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_ABS; mode++) {
    assert_says_what_it_is((szgpu_mode)mode, SZGPU_LAYOUT_LINEAR);
    assert_says_what_it_is((szgpu_mode)mode, SZGPU_LAYOUT_TILE);
  }
}

/* A tool's archive of an empty file; no other field may say so. */
static void an_empty_file_has_one_byte_in_its_place(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, 1, 0, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_LOSSLESS, 1);
  uint8_t const value = 0;
  for (int layout = 0; layout < 2; layout++) {
    params.layout = (szgpu_layout)layout;
    params.source = SZGPU_SOURCE_EMPTY;
    test_archive archive = archive_compress(ctx, &params, &shape, &value);
    szgpu_info const info = test_inspect(&archive);
    assert_int_equal(info.source, SZGPU_SOURCE_EMPTY);
    assert_int_equal(info.format_version, 8);
    free(test_decompress(ctx, &archive, 1));
    static struct {
      size_t offset;
      unsigned width;
      uint64_t value;
    } const edits[] = {
        {16, 1, SZGPU_I8}, {20, 4, SZGPU_SOURCE_EMPTY | SZGPU_SOURCE_NPY}, {8, 4, 3}};
    for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
      test_archive edited = archive_copy(&archive, archive.byte_count);
      szgpu_info read = SZGPU_INFO_DEFAULTS;
      archive_store(&edited, edits[i].offset, edits[i].width, edits[i].value);
      archive_rehash(&edited);
      assert_int_equal(szgpu_inspect(edited.bytes, edited.byte_count, &read), SZGPU_BAD_DATA);
      free(edited.bytes);
    }
    free(archive.bytes);
    szgpu_shape const two = test_shape(SZGPU_U8, 1, 2, 0, 0, 0);
    szgpu_shape const other = test_shape(SZGPU_I8, 1, 1, 0, 0, 0);
    assert_int_equal(szgpu_sizes(ctx, &params, &two, NULL, NULL), SZGPU_BAD_ARGUMENT);
    assert_int_equal(szgpu_sizes(ctx, &params, &other, NULL, NULL), SZGPU_BAD_ARGUMENT);
    assert_non_null(strstr(szgpu_last_error(ctx), "empty file"));
    params.source |= SZGPU_SOURCE_NPY;
    assert_int_equal(szgpu_sizes(ctx, &params, &shape, NULL, NULL), SZGPU_BAD_ARGUMENT);
  }
  params = test_params(SZGPU_MODE_ABS, 1);
  params.source = SZGPU_SOURCE_EMPTY;
  assert_int_equal(szgpu_sizes(ctx, &params, &shape, NULL, NULL), SZGPU_BAD_ARGUMENT);
}

/* Those of small archives are not apart from the rest. */
static void inspect_needs_the_header_only(void **state) {
  (void)state;
  request const r = compressed_request();
  test_archive const small = {(uint8_t *)r.archive, r.archive_bytes};
  test_archive const plain = archive_plain(archive_copy(&small, small.byte_count));
  szgpu_info info = {.struct_bytes = sizeof info};
  assert_true(plain.byte_count > 160);
  for (size_t bytes = 0; bytes <= plain.byte_count; bytes++)
    assert_int_equal(szgpu_inspect(plain.bytes, bytes, &info),
                     bytes < 160 ? SZGPU_TRUNCATED : SZGPU_OK);
  for (size_t bytes = 0; bytes <= small.byte_count; bytes++)
    assert_int_equal(szgpu_inspect(small.bytes, bytes, &info),
                     bytes < small.byte_count ? SZGPU_TRUNCATED : SZGPU_OK);
  free(plain.bytes);
}

/* One of 0.2.0 ends with has_gaps and padding; what is behind it is not written. */
static void a_shorter_info_of_an_earlier_header_is_filled(void **state) {
  (void)state;
  request const r = compressed_request();
  szgpu_info now = {.struct_bytes = sizeof now};
  assert_int_equal(szgpu_inspect(r.archive, r.archive_bytes, &now), SZGPU_OK);
  assert_true(now.has_limits && now.least == 0 && now.greatest == 121);
  static size_t const sizes[] = {INFO_BYTES_OF_0_2_0 - 4, INFO_BYTES_OF_0_2_0, sizeof(szgpu_info)};
  for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
    for (int foresees = 0; foresees <= 1; foresees++) {
      szgpu_info *const info = test_allocate(sizes[i]); /* a sanitizer sees writes beyond it */
      memset(info, 0xA5, sizes[i]);
      info->struct_bytes = sizes[i];
      szgpu_status const status = foresees ? szgpu_foresee(ctx, &r.params, &r.shape, r.field, info)
                                           : szgpu_inspect(r.archive, r.archive_bytes, info);
      assert_int_equal(status, SZGPU_OK);
      assert_int_equal(info->struct_bytes, sizes[i]);
      assert_memory_equal(info->shape.dims, now.shape.dims, 2 * sizeof *now.shape.dims);
      assert_true(info->mode == now.mode && info->step == now.step && !info->has_fill);
      assert_true(info->frame_count == now.frame_count && info->field_bytes == now.field_bytes);
      assert_int_equal(info->has_gaps, 0);
      if (sizes[i] == sizeof now) assert_true(info->has_limits && info->greatest == 121);
      free(info);
    }
}

static void inspect_refuses_bad_arguments(void **state) {
  (void)state;
  request const r = compressed_request();
  szgpu_info info = {.struct_bytes = offsetof(szgpu_info, has_gaps)}; /* less than 0.2.0's */
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  size_t const size = r.archive_bytes;
  assert_int_equal(szgpu_inspect(r.archive, size, &info), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_inspect(NULL, size, &info), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_inspect(r.archive, size, NULL), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_inspect_frames(r.archive, size, 1, 1, &frame), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_inspect_frames(r.archive, size, UINT64_MAX, 1, &frame),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_inspect_frames(r.archive, size, 0, 2, &frame), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_inspect_frames(r.archive, size, 1, 0, &frame), SZGPU_OK);
  frame.struct_bytes = 0;
  assert_int_equal(szgpu_inspect_frames(r.archive, size, 0, 1, &frame), SZGPU_BAD_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_a_text_of_its_own),
      cmocka_unit_test(the_statuses_are_pinned),
      cmocka_unit_test(the_version_is_the_headers),
      cmocka_unit_test(there_are_no_devices_without_cuda),
      cmocka_unit_test(the_last_error_belongs_to_the_last_call),
      cmocka_unit_test(create_takes_its_defaults_from_null),
      cmocka_unit_test(options_of_the_first_version_are_taken),
      cmocka_unit_test(create_refuses_bad_options),
      cmocka_unit_test(refuses_missing_arguments),
      cmocka_unit_test(former_name_gives_the_same_sizes),
      cmocka_unit_test(refuses_bad_params),
      cmocka_unit_test(says_what_to_do_about_params_of_no_version_or_a_later_one),
      cmocka_unit_test(params_of_an_earlier_header_are_taken),
      cmocka_unit_test(refuses_to_keep_what_is_unknown_or_was_not_looked_at),
      cmocka_unit_test(stream_ordered_calls_need_a_ctx_for_cuda),
      cmocka_unit_test(refuses_bad_shapes),
      cmocka_unit_test(refuses_to_restore_into_another_size),
      cmocka_unit_test(refuses_fields_that_are_not_aligned),
      cmocka_unit_test(refuses_fields_and_archives_that_share_memory),
      cmocka_unit_test(refuses_slabs_that_are_not_there),
      cmocka_unit_test(names_what_is_wrong_with_an_archive),
      cmocka_unit_test(an_archive_says_what_it_is),
      cmocka_unit_test(an_empty_file_has_one_byte_in_its_place),
      cmocka_unit_test(inspect_needs_the_header_only),
      cmocka_unit_test(a_shorter_info_of_an_earlier_header_is_filled),
      cmocka_unit_test(inspect_refuses_bad_arguments),
  };
  return cmocka_run_group_tests(tests, make_ctxs_of_two, destroy_ctxs);
}
