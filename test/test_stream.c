/* test_stream.c - streams make the archives and the fields of the calls on whole ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory_streams.h"
#include "sampled_fields.h"
#include "support.h"

enum { CTXS = 3 };
static szgpu_ctx *whole_ctx; /* for the calls on whole fields */
static szgpu_ctx *ctxs[CTXS];

static int make_ctxs(void **state) {
  (void)state;
  whole_ctx = test_make_ctx(2);
  for (int i = 0; i < CTXS; i++) ctxs[i] = test_make_ctx(1 + i % 2);
  return 0;
}

static int destroy_ctxs(void **state) {
  (void)state;
  szgpu_destroy(whole_ctx);
  for (int i = 0; i < CTXS; i++) szgpu_destroy(ctxs[i]);
  return 0;
}

static szgpu_status compress_to(int ctx_count, const szgpu_params *params, const szgpu_shape *shape,
                                memory_source *field, memory_sink *archive,
                                uint64_t *archive_bytes) {
  szgpu_source const source = {.read = read_memory, .user = field};
  szgpu_sink const sink = {.write = write_memory, .user = archive};
  return szgpu_compress_stream(ctxs, ctx_count, params, shape, &source, &sink, archive_bytes);
}

static szgpu_status restore_to(int ctx_count, memory_source *archive, memory_sink *field,
                               uint64_t *archive_bytes) {
  szgpu_source const source = {.read = read_memory, .user = archive};
  szgpu_sink const sink = {.write = write_memory, .user = field};
  return szgpu_decompress_stream(ctxs, ctx_count, &source, &sink, archive_bytes);
}

/* ---- the same bytes ---- */

/* The same from memory to memory, which must have exactly the right size. The archive may begin
 * anywhere. */
static void assert_same_in_memory(const szgpu_params *params, const szgpu_shape *shape,
                                  const void *field, int ctx_count, const test_archive *whole,
                                  const void *restored) {
  size_t const field_bytes = test_field_bytes(shape);
  uint8_t *const archive = test_allocate(whole->byte_count + 1);
  void *const back = test_allocate(field_bytes);
  uint64_t bytes = 0;
  memset(archive, 0xA5, whole->byte_count + 1);
  memset(back, 0xA5, field_bytes);
  szgpu_source const values = lent_source(field, field_bytes);
  szgpu_sink const packed = lent_sink(archive + 1, whole->byte_count);
  assert_int_equal(szgpu_compress_stream(ctxs, ctx_count, params, shape, &values, &packed, &bytes),
                   SZGPU_OK);
  assert_int_equal(bytes, whole->byte_count);
  assert_memory_equal(archive + 1, whole->bytes, whole->byte_count);
  szgpu_source const from = lent_source(archive + 1, whole->byte_count);
  szgpu_sink const to = lent_sink(back, field_bytes);
  assert_int_equal(szgpu_decompress_stream(ctxs, ctx_count, &from, &to, &bytes), SZGPU_OK);
  assert_int_equal(bytes, whole->byte_count);
  assert_memory_equal(back, restored, field_bytes);
  free(archive);
  free(back);
}

static void assert_same(const szgpu_params *params, const szgpu_shape *shape, const void *field,
                        int ctx_count) {
  size_t const field_bytes = test_field_bytes(shape);
  test_archive const whole = test_compress(whole_ctx, params, shape, field);
  memory_source values = source_of(field, field_bytes);
  memory_sink archive = sink_of(2 * whole.byte_count + 4096);
  uint64_t archive_bytes = 0;
  assert_int_equal(compress_to(ctx_count, params, shape, &values, &archive, &archive_bytes),
                   SZGPU_OK);
  assert_int_equal(archive_bytes, whole.byte_count);
  assert_memory_equal(archive.bytes, whole.bytes, whole.byte_count);
  assert_int_equal(values.most_offset, field_bytes);

  void *const restored = test_decompress(whole_ctx, &whole, field_bytes);
  memory_source packed = source_of(archive.bytes, archive.end); /* more than the archive */
  memory_sink unpacked = sink_of(field_bytes);
  uint64_t read_bytes = 0;
  assert_int_equal(restore_to(ctx_count, &packed, &unpacked, &read_bytes), SZGPU_OK);
  assert_int_equal(read_bytes, whole.byte_count);
  assert_int_equal(packed.most_offset, whole.byte_count);
  assert_int_equal(unpacked.end, field_bytes);
  assert_memory_equal(unpacked.bytes, restored, field_bytes);
  assert_int_equal(packed.jumps + unpacked.jumps, 0); /* both could be pipes */
  assert_same_in_memory(params, shape, field, ctx_count, &whole, restored);
  free(whole.bytes);
  free(restored);
  free(archive.bytes);
  free(unpacked.bytes);
}

static void shapes_and_frames_make_the_same_bytes(void **state) {
  (void)state;
  static const uint64_t frame_rows[] = {1, 16, 40, 4096, 9000, 0};
  for (size_t s = 0; s < test_awkward_shape_count; s++) {
    const szgpu_shape *const shape = &test_awkward_shapes[s];
    void *const field = test_make_waves(shape);
    for (size_t f = 0; f < ARRAY_COUNT(frame_rows); f++) {
      szgpu_params params = test_params(f % 2 ? SZGPU_MODE_REL : SZGPU_MODE_ABS, 1e-3);
      params.frame_rows = frame_rows[f];
      assert_same(&params, shape, field, 1 + (int)((s + f) % CTXS));
    }
    free(field);
  }
}

static void modes_make_the_same_bytes(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 70, 33, 40, 0);
  float *const field = test_make_waves(&shape);
  for (int i = 0; i < 3000; i++) field[i * 7] = -9999.0f;
  for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_LOSSLESS; mode++)
    for (int layout = SZGPU_LAYOUT_LINEAR; layout <= SZGPU_LAYOUT_TILE; layout++)
      for (int variant = 0; variant < 6; variant++) {
        bool const is_lossless = mode == SZGPU_MODE_LOSSLESS;
        szgpu_params params = test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 70 : 1e-3);
        params.layout = (szgpu_layout)layout;
        params.frame_rows = 16;
        if (variant == 1) params.zstd_level = 3;
        if (variant == 2 && !is_lossless) params.has_fill = 1, params.fill = -9999.0;
        if (variant == 3 && !is_lossless && layout == SZGPU_LAYOUT_TILE)
          params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
        if (variant == 4) params.predictor = SZGPU_PREDICTOR_LORENZO;
        if (variant == 5 && !is_lossless) params.bound *= 1e-9; /* planes or raw frames */
        assert_same(&params, &shape, field, 1 + variant % CTXS);
      }
  free(field);
}

static void other_types_make_the_same_bytes(void **state) {
  (void)state;
  for (int dtype = SZGPU_F64; dtype <= SZGPU_FP8; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, 30011, 0, 0, 0);
    void *const field = dtype == SZGPU_F64 ? test_make_waves(&shape) : test_make_bits(&shape);
    szgpu_params params = test_params(SZGPU_MODE_LOSSLESS, 0);
    params.frame_rows = 8192;
    assert_same(&params, &shape, field, 2);
    free(field);
  }
}

/* Frame `coded` has few values, so that it is of coded planes; the others are random bits or one
 * value. */
static void *make_frames(const szgpu_shape *shape, uint64_t frame_values, uint64_t coded) {
  void *const field = test_make_bits(shape);
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    uint64_t const frame = i / frame_values;
    if (frame == coded) test_set_value(shape->dtype, field, i, (double)(1 + test_hash(i) % 3));
    if (frame != coded && frame % 2) test_set_value(shape->dtype, field, i, 2.0);
  }
  return field;
}

/* One frame with coded planes, the first, any or the last, makes the archive's version. */
static void coded_planes_of_one_frame_make_the_version(void **state) {
  (void)state;
  enum { FRAMES = 5, FRAME_VALUES = 4096 };
  static struct {
    szgpu_mode mode;
    szgpu_dtype dtype;
    uint32_t version; /* without coded planes */
  } const cases[] = {{SZGPU_MODE_LOSSLESS, SZGPU_U8, 3},  {SZGPU_MODE_LOSSLESS, SZGPU_F32, 3},
                     {SZGPU_MODE_LOSSLESS, SZGPU_I32, 6}, {SZGPU_MODE_ABS, SZGPU_F32, 3},
                     {SZGPU_MODE_ABS, SZGPU_BF16, 6},     {SZGPU_MODE_PWREL, SZGPU_F64, 6}};
  for (size_t c = 0; c < ARRAY_COUNT(cases); c++)
    for (uint64_t coded = 0; coded <= FRAMES; coded++) { /* FRAMES: none */
      szgpu_shape const shape = test_shape(cases[c].dtype, 1, FRAMES * FRAME_VALUES - 9, 0, 0, 0);
      szgpu_params params = test_params(cases[c].mode, 1e-30);
      params.layout = SZGPU_LAYOUT_TILE;
      params.frame_rows = FRAME_VALUES;
      void *const field = make_frames(&shape, FRAME_VALUES, coded);
      test_archive const archive = test_compress(whole_ctx, &params, &shape, field);
      assert_int_equal(test_has_coded_planes(&archive), coded < FRAMES);
      assert_int_equal(test_inspect(&archive).format_version,
                       coded < FRAMES ? 7 : cases[c].version);
      assert_same(&params, &shape, field, 1 + (int)(coded % CTXS));
      free(archive.bytes);
      free(field);
    }
}

/* Fields whose bound follows from a sample, whose sample does not suffice, or whose values stray,
 * so that the archive is begun anew. */
static void sampled_bounds_make_the_same_bytes(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < SAMPLED_FIELDS; which++) {
      sampled_field const field = sampled_field_make((szgpu_dtype)dtype, which);
      szgpu_params params = field.params;
      for (int frames = 0; frames < 2; frames++) {
        params.frame_rows = frames ? field.shape.dims[0] / 3 : 0;
        assert_same(&params, &field.shape, field.values, 1 + which % CTXS);
      }
      free(field.values);
    }
}

/* The sample of a field that is read in several pieces is that of the whole: its greatest value,
 * and so the step, depends on each run. */
static void a_sample_in_pieces_is_that_of_the_whole(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 2048, 700, 0, 0); /* 5.7 MB */
  float *const field = test_make_waves(&shape);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.01);
  params.frame_rows = 64;
  for (uint64_t round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < test_value_count(&shape); i++)
      field[i] = (float)(test_hash(i + round) % 100003) * 1e-3f;
    assert_same(&params, &shape, field, 1 + (int)round);
  }
  free(field);
}

/* A stray in the last frame: the frames before it have been written when it shows. */
static void a_late_stray_begins_the_archive_anew(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 1024, 512, 0, 0);
  float *const field = test_make_waves(&shape);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.frame_rows = 128;
  field[1024 * 512 - 3] = 1e9f;
  for (int ctx_count = 1; ctx_count <= CTXS; ctx_count++)
    assert_same(&params, &shape, field, ctx_count);
  free(field);
}

/* ---- failures ---- */

/* A sink that fails while a later frame's bound does: the failure counts, however the threads meet.
 * Before, the archive was begun anew and the failure forgotten. */
static void a_failure_before_a_stray_is_not_forgotten(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 1024, 512, 0, 0);
  float *const field = test_make_waves(&shape);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.5);
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.frame_rows = 64;
  field[1024 * 512 - 66 * 512] = 1e9f; /* in frame 14 of 16 */
  memory_sink whole = sink_of(4 * test_field_bytes(&shape));
  for (int round = 0; round < 40; round++)
    for (int n = 10; n < 14; n++) {
      memory_source values = source_of(field, test_field_bytes(&shape));
      uint64_t bytes;
      whole.writes = 0;
      whole.writes_until_fail = n;
      assert_int_equal(compress_to(1 + round % CTXS, &params, &shape, &values, &whole, &bytes),
                       SZGPU_SINK_FAILED);
    }
  free(whole.bytes);
  free(field);
}

typedef struct stream_case {
  szgpu_shape shape;
  szgpu_params params;
  void *field;
  size_t field_bytes;
  test_archive archive;
} stream_case;

/* Six frames. */
static stream_case case_make(void) {
  stream_case c = {.shape = test_shape(SZGPU_F32, 3, 96, 20, 30, 0),
                   .params = test_params(SZGPU_MODE_REL, 1e-3)};
  c.params.frame_rows = 16;
  c.field = test_make_waves(&c.shape);
  c.field_bytes = test_field_bytes(&c.shape);
  c.archive = test_compress(whole_ctx, &c.params, &c.shape, c.field);
  return c;
}

static void case_free(stream_case *c) {
  free(c->field);
  free(c->archive.bytes);
}

static void failing_callbacks_are_named(void **state) {
  (void)state;
  stream_case c = case_make();
  uint64_t bytes;
  for (int ctx_count = 1; ctx_count <= CTXS; ctx_count++)
    for (int n = 0; n < 7; n++) {
      memory_source field = source_of(c.field, c.field_bytes);
      memory_source archive = source_of(c.archive.bytes, c.archive.byte_count);
      memory_sink packed = sink_of(c.archive.byte_count), values = sink_of(c.field_bytes);
      field.reads_until_fail = archive.reads_until_fail = n;
      assert_int_equal(compress_to(ctx_count, &c.params, &c.shape, &field, &packed, &bytes),
                       SZGPU_SOURCE_FAILED);
      assert_non_null(strstr(szgpu_last_error(ctxs[0]), "returned 42"));
      assert_int_equal(restore_to(ctx_count, &archive, &values, &bytes), SZGPU_SOURCE_FAILED);
      assert_non_null(strstr(szgpu_last_error(ctxs[0]), "returned 42"));
      field.reads_until_fail = archive.reads_until_fail = -1;
      packed.writes = values.writes = 0;
      packed.writes_until_fail = n;
      values.writes_until_fail = n < 6 ? n : 5;
      assert_int_equal(compress_to(ctx_count, &c.params, &c.shape, &field, &packed, &bytes),
                       SZGPU_SINK_FAILED);
      assert_non_null(strstr(szgpu_last_error(ctxs[0]), "returned 43"));
      assert_int_equal(restore_to(ctx_count, &archive, &values, &bytes), SZGPU_SINK_FAILED);
      assert_non_null(strstr(szgpu_last_error(ctxs[0]), "returned 43"));
      free(packed.bytes);
      free(values.bytes);
    }
  assert_same(&c.params, &c.shape, c.field, CTXS); /* the ctxs stay usable */
  case_free(&c);
}

static void a_source_that_ends_early_is_named(void **state) {
  (void)state;
  stream_case c = case_make();
  uint64_t bytes;
  for (uint64_t cut = 0; cut < c.field_bytes; cut += 9973) {
    memory_source field = source_of(c.field, cut);
    memory_sink packed = sink_of(c.archive.byte_count);
    assert_int_equal(compress_to(2, &c.params, &c.shape, &field, &packed, &bytes),
                     SZGPU_SOURCE_FAILED);
    free(packed.bytes);
  }
  for (uint64_t cut = 0; cut < c.archive.byte_count; cut += cut < 300 ? 1 : 997) {
    memory_source archive = source_of(c.archive.bytes, cut);
    memory_sink values = sink_of(c.field_bytes);
    assert_int_equal(restore_to(2, &archive, &values, &bytes), SZGPU_TRUNCATED);
    free(values.bytes);
  }
  case_free(&c);
}

/* What comes before the damage has been written, and is right. */
static void damage_is_named_and_stops_the_stream(void **state) {
  (void)state;
  stream_case c = case_make();
  szgpu_frame_info frames[6];
  for (int i = 0; i < 6; i++) frames[i] = (szgpu_frame_info)SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(c.archive.bytes, c.archive.byte_count, 0, 6, frames),
                   SZGPU_OK);
  void *const restored = test_decompress(whole_ctx, &c.archive, c.field_bytes);
  for (int i = 0; i < 6; i++) {
    uint8_t *const damaged = &c.archive.bytes[frames[i].sections[0].offset];
    *damaged ^= 1;
    memory_source archive = source_of(c.archive.bytes, c.archive.byte_count);
    memory_sink values = sink_of(c.field_bytes);
    uint64_t bytes;
    assert_int_equal(restore_to(1 + i % CTXS, &archive, &values, &bytes), SZGPU_BAD_CHECKSUM);
    assert_non_null(strstr(szgpu_last_error(ctxs[0]), "frame"));
    assert_int_equal(values.end, (uint64_t)i * (c.field_bytes / 6));
    assert_memory_equal(values.bytes, restored, values.end);
    free(values.bytes);
    *damaged ^= 1;
  }
  free(restored);
  case_free(&c);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  stream_case c = case_make();
  memory_source field = source_of(c.field, c.field_bytes);
  memory_sink packed = sink_of(c.archive.byte_count);
  szgpu_source const source = {.read = read_memory, .user = &field};
  szgpu_sink const sink = {.write = write_memory, .user = &packed};
  szgpu_ctx *twice[2] = {ctxs[0], ctxs[0]}, *none[2] = {ctxs[0], NULL};
  uint64_t bytes;
#define REFUSED(...) assert_int_equal(szgpu_compress_stream(__VA_ARGS__), SZGPU_BAD_ARGUMENT)
  REFUSED(NULL, 1, &c.params, &c.shape, &source, &sink, &bytes);
  REFUSED(ctxs, 0, &c.params, &c.shape, &source, &sink, &bytes);
  REFUSED(ctxs, SZGPU_MAX_CTXS + 1, &c.params, &c.shape, &source, &sink, &bytes);
  REFUSED(twice, 2, &c.params, &c.shape, &source, &sink, &bytes);
  assert_string_equal(szgpu_last_error(ctxs[0]), "ctx 1 is missing or in use");
  REFUSED(none, 2, &c.params, &c.shape, &source, &sink, &bytes);
  REFUSED(ctxs, 1, NULL, &c.shape, &source, &sink, &bytes);
  REFUSED(ctxs, 1, &c.params, NULL, &source, &sink, &bytes);
  REFUSED(ctxs, 1, &c.params, &c.shape, NULL, &sink, &bytes);
  REFUSED(ctxs, 1, &c.params, &c.shape, &source, NULL, &bytes);
  REFUSED(ctxs, 1, &c.params, &c.shape, &source, &sink, NULL);
  szgpu_source const no_read = {.read = NULL, .user = &field};
  szgpu_sink const no_write = {.write = NULL, .user = &packed};
  REFUSED(ctxs, 1, &c.params, &c.shape, &no_read, &sink, &bytes);
  REFUSED(ctxs, 1, &c.params, &c.shape, &source, &no_write, &bytes);
  assert_int_equal(szgpu_decompress_stream(ctxs, 1, &no_read, &sink, &bytes), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_stream(ctxs, 1, &source, &no_write, &bytes),
                   SZGPU_BAD_ARGUMENT);
#undef REFUSED
  assert_int_equal(szgpu_decompress_stream(ctxs, 1, NULL, &sink, &bytes), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_stream(ctxs, 1, &source, NULL, &bytes), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_stream(ctxs, 1, &source, &sink, &bytes), SZGPU_NOT_AN_ARCHIVE);
  assert_int_equal(packed.writes, 0);
  assert_same(&c.params, &c.shape, c.field, CTXS);
  free(packed.bytes);
  case_free(&c);
}

/* ---- progress ---- */

typedef struct reports {
  int count, stop_at;
  uint64_t last, total;
} reports;

static int note_progress(void *user, uint64_t done, uint64_t total) {
  reports *const seen = user;
  assert_true(done >= seen->last && done <= total);
  seen->last = done;
  seen->total = total;
  return ++seen->count == seen->stop_at;
}

static void memory_that_does_not_suffice_is_named(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, 300, 100, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 64;
  double *const field = test_make_waves(&shape);
  size_t const field_bytes = test_field_bytes(&shape);
  test_archive const whole = test_compress(whole_ctx, &params, &shape, field);
  uint8_t *const memory = test_allocate(field_bytes + whole.byte_count);
  szgpu_source const values = lent_source(field, field_bytes);
  szgpu_source const archive = lent_source(whole.bytes, whole.byte_count);
  szgpu_sink const room = lent_sink(memory, field_bytes);
  uint64_t bytes;
  for (size_t less = 1; less < whole.byte_count; less += 9973) {
    szgpu_sink const small = lent_sink(memory, whole.byte_count - less);
    szgpu_source const cut = lent_source(whole.bytes, whole.byte_count - less);
    assert_int_equal(szgpu_compress_stream(ctxs, 2, &params, &shape, &values, &small, &bytes),
                     SZGPU_CAPACITY);
    assert_non_null(strstr(szgpu_last_error(ctxs[0]), "memory"));
    assert_int_equal(szgpu_decompress_stream(ctxs, 2, &cut, &room, &bytes), SZGPU_TRUNCATED);
  }
  for (size_t less = 1; less < field_bytes; less += 29989) {
    szgpu_sink const small = lent_sink(memory, field_bytes - less);
    szgpu_source const cut = lent_source(field, field_bytes - less);
    assert_int_equal(szgpu_decompress_stream(ctxs, 2, &archive, &small, &bytes), SZGPU_CAPACITY);
    assert_int_equal(szgpu_compress_stream(ctxs, 2, &params, &shape, &cut, &room, &bytes),
                     SZGPU_SOURCE_FAILED);
  }
  szgpu_source const odd_values = lent_source((uint8_t *)field + 4, field_bytes);
  szgpu_sink const odd_room = lent_sink(memory + 4, field_bytes);
  assert_int_equal(szgpu_compress_stream(ctxs, 1, &params, &shape, &odd_values, &room, &bytes),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_stream(ctxs, 1, &archive, &odd_room, &bytes),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_decompress_stream(ctxs, 2, &archive, &room, &bytes), SZGPU_OK);
  free(memory);
  free(whole.bytes);
  free(field);
}

static void progress_is_told_and_can_cancel(void **state) {
  (void)state;
  stream_case c = case_make();
  for (int stop_at = 0; stop_at <= 6; stop_at++) {
    reports seen = {.stop_at = stop_at};
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = SZGPU_BACKEND_CPU;
    options.progress = note_progress;
    options.progress_user = &seen;
    szgpu_ctx *ctx;
    assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
    memory_source field = source_of(c.field, c.field_bytes);
    memory_sink packed = sink_of(c.archive.byte_count);
    szgpu_source const source = {.read = read_memory, .user = &field};
    szgpu_sink const sink = {.write = write_memory, .user = &packed};
    uint64_t bytes;
    szgpu_status const status =
        szgpu_compress_stream(&ctx, 1, &c.params, &c.shape, &source, &sink, &bytes);
    assert_int_equal(status, stop_at ? SZGPU_CANCELLED : SZGPU_OK);
    assert_int_equal(seen.count, stop_at ? stop_at : 6);
    assert_int_equal(seen.total, test_value_count(&c.shape));
    if (!stop_at) assert_int_equal(seen.last, seen.total);
    szgpu_destroy(ctx);
    free(packed.bytes);
  }
  case_free(&c);
}

/* ---- memory ---- */

/* The least limit with which the stream works allows one frame on its way; with more the ring
 * grows. Below it, the limit is named. */
static void a_limit_shortens_the_ring(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 512, 64, 64, 0);
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
  params.frame_rows = 64; /* 1 MiB */
  void *const field = test_make_waves(&shape);
  size_t const field_bytes = test_field_bytes(&shape);
  test_archive const whole = test_compress(whole_ctx, &params, &shape, field);
  int worked = 0, refused = 0; /* a frame of 1 MiB takes 14 MiB of workspace */
  for (uint64_t limit = 1 << 20; limit <= 64 << 20; limit += limit / 4) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = SZGPU_BACKEND_CPU;
    options.threads = 1;
    options.memory_limit = limit;
    szgpu_ctx *ctx;
    assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
    memory_source values = source_of(field, field_bytes);
    memory_source archive = source_of(whole.bytes, whole.byte_count);
    memory_sink packed = sink_of(whole.byte_count), unpacked = sink_of(field_bytes);
    szgpu_source const from_field = {.read = read_memory, .user = &values},
                       from_archive = {.read = read_memory, .user = &archive};
    szgpu_sink const to_archive = {.write = write_memory, .user = &packed},
                     to_field = {.write = write_memory, .user = &unpacked};
    uint64_t bytes;
    szgpu_status const there =
        szgpu_compress_stream(&ctx, 1, &params, &shape, &from_field, &to_archive, &bytes);
    szgpu_status const back = szgpu_decompress_stream(&ctx, 1, &from_archive, &to_field, &bytes);
    assert_true(there == SZGPU_OK || there == SZGPU_MEMORY_LIMIT);
    assert_true(back == SZGPU_OK || back == SZGPU_MEMORY_LIMIT);
    if (there == SZGPU_OK) assert_memory_equal(packed.bytes, whole.bytes, whole.byte_count);
    if (limit >= 18 << 20) assert_true(there == SZGPU_OK && back == SZGPU_OK);
    worked += there == SZGPU_OK;
    refused += there != SZGPU_OK;
    szgpu_destroy(ctx);
    free(packed.bytes);
    free(unpacked.bytes);
  }
  assert_true(worked > 3 && refused > 3);
  free(field);
  free(whole.bytes);
}

/* A limit of what szgpu_stream_sizes says is enough for a ring of full length, and the frames have
 * the rows that it says. */
static void sizes_are_enough(void **state) {
  (void)state;
  static const uint64_t asked[] = {0, 1, 17, 64};
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (size_t f = 0; f < 2 * ARRAY_COUNT(asked); f++) {
      const szgpu_shape *const shape = &test_awkward_shapes[s];
      szgpu_params params = test_params(SZGPU_MODE_REL, 1e-4);
      params.frame_rows = asked[f / 2];
      void *const field = f % 2 ? test_make_bits(shape) : test_make_waves(shape);
      test_archive const whole = test_compress(whole_ctx, &params, shape, field);
      szgpu_ctx *ctx = test_make_ctx(1);
      size_t memory_bytes;
      uint64_t rows, bytes;
      assert_int_equal(szgpu_stream_sizes(ctx, 1, &params, shape, &memory_bytes, &rows), SZGPU_OK);
      assert_int_equal(rows, test_inspect(&whole).frame_rows);
      assert_int_equal(szgpu_set_memory_limit(ctx, memory_bytes), SZGPU_OK);
      memory_source values = source_of(field, test_field_bytes(shape));
      memory_sink packed = sink_of(2 * whole.byte_count);
      szgpu_source const source = {.read = read_memory, .user = &values};
      szgpu_sink const sink = {.write = write_memory, .user = &packed};
      assert_int_equal(szgpu_compress_stream(&ctx, 1, &params, shape, &source, &sink, &bytes),
                       SZGPU_OK);
      assert_memory_equal(packed.bytes, whole.bytes, whole.byte_count);
      assert_int_equal(szgpu_stream_sizes(ctx, 0, &params, shape, NULL, NULL), SZGPU_BAD_ARGUMENT);
      szgpu_destroy(ctx);
      free(packed.bytes);
      free(whole.bytes);
      free(field);
    }
}

/* The text is that of the ctx that met its limit; the next call does not see the old figure. */
static void the_limit_of_another_ctx_is_told(void **state) {
  (void)state;
  stream_case c = case_make();
  szgpu_ctx *pair[2] = {ctxs[0], NULL};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.memory_limit = 1000;
  assert_int_equal(szgpu_create(&pair[1], &options), SZGPU_OK);
  szgpu_status status = SZGPU_OK;
  for (int round = 0; round < 1000 && status == SZGPU_OK; round++) { /* it may get no frame */
    memory_source field = source_of(c.field, c.field_bytes);
    memory_sink packed = sink_of(c.archive.byte_count);
    szgpu_source const source = {.read = read_memory, .user = &field};
    szgpu_sink const sink = {.write = write_memory, .user = &packed};
    uint64_t bytes;
    status = szgpu_compress_stream(pair, 2, &c.params, &c.shape, &source, &sink, &bytes);
    free(packed.bytes);
  }
  assert_int_equal(status, SZGPU_MEMORY_LIMIT);
  assert_non_null(strstr(szgpu_last_error(pair[0]), "its limit is 1000"));
  szgpu_destroy(pair[1]);
  case_free(&c);
}

/* A header that claims 2^40 frames takes memory only for the bytes that come. */
static void a_claim_of_many_frames_takes_no_memory(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, 4096 * 4, 0, 0, 0);
  szgpu_params params = test_params(SZGPU_MODE_LOSSLESS, 0);
  params.frame_rows = 4096;
  void *const field = test_make_bits(&shape);
  test_archive const whole = test_compress(whole_ctx, &params, &shape, field);
  uint64_t const frames = (uint64_t)1 << 40, rows = frames * 4096;
  memcpy(whole.bytes + 24, &rows, sizeof rows);
  memcpy(whole.bytes + 104, &frames, sizeof frames);
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.memory_limit = 4 << 20;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  memory_source archive = source_of(whole.bytes, whole.byte_count);
  memory_sink values = sink_of(1);
  szgpu_source const source = {.read = read_memory, .user = &archive};
  szgpu_sink const sink = {.write = write_memory, .user = &values};
  uint64_t bytes;
  assert_int_equal(szgpu_decompress_stream(&ctx, 1, &source, &sink, &bytes), SZGPU_TRUNCATED);
  szgpu_destroy(ctx);
  free(values.bytes);
  free(field);
  free(whole.bytes);
}

int main(void) {
  struct CMUnitTest const tests[] = {
      cmocka_unit_test(shapes_and_frames_make_the_same_bytes),
      cmocka_unit_test(modes_make_the_same_bytes),
      cmocka_unit_test(other_types_make_the_same_bytes),
      cmocka_unit_test(coded_planes_of_one_frame_make_the_version),
      cmocka_unit_test(sampled_bounds_make_the_same_bytes),
      cmocka_unit_test(a_sample_in_pieces_is_that_of_the_whole),
      cmocka_unit_test(a_late_stray_begins_the_archive_anew),
      cmocka_unit_test(a_failure_before_a_stray_is_not_forgotten),
      cmocka_unit_test(failing_callbacks_are_named),
      cmocka_unit_test(a_source_that_ends_early_is_named),
      cmocka_unit_test(damage_is_named_and_stops_the_stream),
      cmocka_unit_test(bad_arguments_are_refused),
      cmocka_unit_test(memory_that_does_not_suffice_is_named),
      cmocka_unit_test(progress_is_told_and_can_cancel),
      cmocka_unit_test(a_limit_shortens_the_ring),
      cmocka_unit_test(sizes_are_enough),
      cmocka_unit_test(the_limit_of_another_ctx_is_told),
      cmocka_unit_test(a_claim_of_many_frames_takes_no_memory),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
