/* test_archive_changes.c - an archive that changes while it is read: never a crash.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An archive may be a mapped file that somebody rewrites. A change after a section's checksum once
 * made the decoder read sizes that nobody had checked, and leave the archive's memory. Any status
 * is right here, and so are any values, but archive and field are in blocks of exactly their size:
 * run this under a sanitizer.
 *
 * First the archive changes at each call of the progress callback; then another thread changes it
 * all the time. An argument says for how many seconds (1).
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive_edit.h"
#include "archive_samples.h"
#include "lossless_fields.h"

#ifdef __SANITIZE_THREAD__
enum { HAS_THREAD_SANITIZER = true };
#else
enum { HAS_THREAD_SANITIZER = false };
#endif

static double race_seconds = 1;

/* ---- archives of every kind of frame ---- */

/* Tiles are small and there are many, so that the callback is called often: it is between parts of
 * 16 tiles. */
enum {
  TILE,
  TILE_ZSTD,
  TILE_WORDS, /* last of all: neither outliers nor another frame follow */
  LINEAR,
  LINEAR_ZSTD,
  LEVELS,
  LEVELS_PLANES,
  LEVELS_ZSTD,
  CONSTANT,
  RAW,
  RAW_ZSTD,
  PLANES,
  PLANES_ZSTD,
  TOP_PLANE,
  TOP_PLANE_ZSTD,
  SAMPLE_COUNT
};

static const char *const kind_of[SAMPLE_COUNT] = {
    "tile",     "tile", "tile", "linear", "linear", "levels",    "levels",   "levels",
    "constant", "raw",  "raw",  "planes", "planes", "top plane", "top plane"};

typedef struct sample {
  test_archive archive;
  void *field; /* as restored */
  szgpu_info info;
} sample;

static sample samples[SAMPLE_COUNT];

static szgpu_params params_of(int i) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  bool const is_zstd = i == TILE_ZSTD || i == LINEAR_ZSTD || i == LEVELS_ZSTD || i == RAW_ZSTD ||
                       i == PLANES_ZSTD || i == TOP_PLANE_ZSTD;
  params.mode = i >= RAW ? SZGPU_MODE_LOSSLESS : SZGPU_MODE_ABS;
  params.bound = 0.5;
  params.zstd_level = is_zstd ? 3 : 0;
  if (i == LINEAR || i == LINEAR_ZSTD || i >= TOP_PLANE) params.layout = SZGPU_LAYOUT_LINEAR;
  if (params.layout == SZGPU_LAYOUT_LINEAR && params.mode == SZGPU_MODE_ABS) params.radius = 16;
  if (i >= LEVELS && i <= LEVELS_ZSTD) params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  if (i <= TILE_WORDS) params.predictor = SZGPU_PREDICTOR_LORENZO;
  return params;
}

static szgpu_shape shape_of(int i) {
  if (i == LEVELS_PLANES) return test_shape(SZGPU_F64, 3, 7, 70, 70, 0);
  if (i >= LEVELS && i <= LEVELS_ZSTD) return test_shape(SZGPU_F32, 3, 48, 18, 30, 0);
  if (i == TILE_WORDS) return test_shape(SZGPU_F32, 1, 40 * 4096, 0, 0, 0);
  if (i == RAW || i == RAW_ZSTD) return test_shape(SZGPU_F16, 2, 400, 100, 0, 0);
  if (i == PLANES) return test_shape(SZGPU_F32, 2, 160, 500, 0, 0);
  if (i == PLANES_ZSTD) return test_shape(SZGPU_F32, 2, 60, 400, 0, 0);
  if (i == TOP_PLANE) return test_shape(SZGPU_BF16, 2, 160, 500, 0, 0);
  if (i == TOP_PLANE_ZSTD) return test_shape(SZGPU_BF16, 2, 60, 400, 0, 0);
  return test_shape(SZGPU_F32, 4, 120, 2, 3, 9); /* a tile for each box */
}

/* zstd finds the repetition, codes of single bytes do not. */
static void *make_repeated_noise(const szgpu_shape *shape) {
  enum { PERIOD = 5000 };
  uint8_t *const bytes = lossless_make(NOISE, shape);
  for (size_t i = PERIOD; i < test_field_bytes(shape); i++) bytes[i] = bytes[i - PERIOD];
  return bytes;
}

/* Values with outliers of all sorts, and fill values. */
static void *make_field(int i, const szgpu_shape *shape, uint64_t seed) {
  if (i == PLANES_ZSTD || i == TOP_PLANE_ZSTD) return lossless_make(REPEATS, shape);
  if (i > RAW_ZSTD) return lossless_make(WEIGHTS, shape);
  if (i == RAW_ZSTD) return make_repeated_noise(shape);
  if (i == RAW) return lossless_make(NOISE, shape);
  void *const field = test_make_waves(shape);
  uint64_t const count = test_value_count(shape);
  for (uint64_t v = 0; v < count && i == CONSTANT; v++) test_set_value(shape->dtype, field, v, 2.5);
  for (uint64_t v = seed % 3; v < count && i != TILE_WORDS; v += 61)
    test_set_value(shape->dtype, field, v,
                   v % 4                    ? 1e20
                   : v % 8 || i == CONSTANT ? (double)INFINITY
                                            : 3e9);
  return field;
}

static test_archive make_archive(szgpu_ctx *ctx, int i, uint64_t seed) {
  szgpu_shape const shape = shape_of(i);
  szgpu_params params = params_of(i);
  bool const is_one_frame =
      i == TILE_WORDS || i == LEVELS_PLANES || i == RAW_ZSTD || i == PLANES || i == TOP_PLANE;
  params.frame_rows = is_one_frame ? 0 : shape.ndim == 4 ? 40 : 16;
  void *const field = make_field(i, &shape, seed);
  test_archive const roomy = archive_compress(ctx, &params, &shape, field);
  test_archive const archive = archive_copy(&roomy, roomy.byte_count);
  free(roomy.bytes);
  free(field);
  return archive;
}

static void assert_kind(int i) {
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  const test_archive *const archive = &samples[i].archive;
  assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame), 0);
  if (strcmp(frame.kind, kind_of[i]) != 0) fail_msg("sample %d is %s", i, frame.kind);
  bool has_zstd = false;
  for (uint32_t s = 0; s < frame.section_count; s++)
    has_zstd |= strcmp(frame.sections[s].codec, "zstd") == 0;
  assert_int_equal(has_zstd, params_of(i).zstd_level != 0);
}

/* ---- readers ---- */

enum { READERS = 6 };
static szgpu_ctx *readers[READERS];
static szgpu_decoder const decoders[READERS] = {
    SZGPU_DECODER_AUTO,      SZGPU_DECODER_AUTO,        SZGPU_DECODER_SERIAL,
    SZGPU_DECODER_SELF_SYNC, SZGPU_DECODER_ALL_OFFSETS, SZGPU_DECODER_HIERARCHICAL};

/* What the callback does: at call number `at`, it changes the archive. */
typedef struct plan {
  void (*change)(test_archive *archive, const test_archive *other);
  test_archive *archive;
  const test_archive *other;
  uint64_t at, calls;
} plan;

static plan running;

static int progress(void *user, uint64_t done_values, uint64_t total_values) {
  (void)user, (void)done_values, (void)total_values;
  if (running.calls++ == running.at) running.change(running.archive, running.other);
  return 0;
}

static int make_samples(void **state) {
  (void)state;
  for (int r = 0; r < READERS; r++) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.threads = r == 1 ? 3 : 1;
    options.decoder = decoders[r];
    options.progress = progress;
    assert_int_equal(szgpu_create(&readers[r], &options), SZGPU_OK);
  }
  running.at = UINT64_MAX;
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    samples[i].archive = make_archive(readers[0], i, 0);
    samples[i].info = test_inspect(&samples[i].archive);
    samples[i].field =
        test_decompress(readers[0], &samples[i].archive, samples[i].info.field_bytes);
    assert_kind(i);
  }
  return 0;
}

static int free_samples(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) free(samples[i].archive.bytes), free(samples[i].field);
  for (int r = 0; r < READERS; r++) szgpu_destroy(readers[r]);
  return 0;
}

static bool reads(int reader, int i) {
  bool const is_levels = i >= LEVELS && i <= LEVELS_ZSTD; /* one decoder */
  return !(is_levels && decoders[reader] != SZGPU_DECODER_AUTO) &&
         !szgpu_decoder_refusal(decoders[reader], &samples[i].info);
}

/* ---- ways to read ---- */

enum { WHOLE, SLAB, LEVEL, REGION, WAYS };

/* The shape of what is restored. */
static szgpu_shape shape_by(int way, const szgpu_info *info) {
  szgpu_shape shape = info->shape;
  if (way == SLAB) shape.dims[0] /= 2;
  if (way == LEVEL) assert_int_equal(szgpu_level_shape(info, 1, &shape), SZGPU_OK);
  for (int axis = 0; axis < shape.ndim && way == REGION; axis++)
    shape.dims[axis] = (shape.dims[axis] + 1) / 2;
  return shape;
}

static bool has_way(int way, int i) {
  return way != LEVEL || (i >= LEVELS && i <= LEVELS_ZSTD) || i == CONSTANT;
}

static szgpu_status restore(szgpu_ctx *ctx, int way, const szgpu_info *info,
                            const test_archive *archive, void *field) {
  szgpu_shape const shape = shape_by(way, info);
  size_t const field_bytes = test_field_bytes(&shape);
  if (way == SLAB)
    return szgpu_decompress_slab(ctx, archive->bytes, archive->byte_count, info->shape.dims[0] / 5,
                                 shape.dims[0], field, field_bytes);
  if (way == LEVEL)
    return szgpu_decompress_level(ctx, archive->bytes, archive->byte_count, 1, field, field_bytes);
  szgpu_region region = {{0}, {0}};
  for (int axis = 0; axis < shape.ndim; axis++) {
    region.count[axis] = shape.dims[axis];
    region.first[axis] = info->shape.dims[axis] / 3;
  }
  if (way == REGION)
    return szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0, &region, field,
                                   field_bytes);
  return szgpu_decompress(ctx, archive->bytes, archive->byte_count, field, field_bytes);
}

/* Restores it into a block of its size. Returns the calls of the callback. */
static uint64_t read_it(int reader, int way, int i, const test_archive *archive) {
  szgpu_shape const shape = shape_by(way, &samples[i].info);
  void *const field = test_allocate(test_field_bytes(&shape));
  running.calls = 0;
  szgpu_status const status = restore(readers[reader], way, &samples[i].info, archive, field);
  assert_true(status <= SZGPU_BAD_DATA);
  free(field);
  return running.calls;
}

static void assert_still_restores(int reader, int i) {
  size_t const field_bytes = samples[i].info.field_bytes;
  running.at = UINT64_MAX;
  void *const field = test_decompress(readers[reader], &samples[i].archive, field_bytes);
  assert_memory_equal(field, samples[i].field, field_bytes);
  free(field);
}

/* ---- changes ---- */

static void flip_all(test_archive *archive, const test_archive *other) {
  (void)other;
  for (size_t i = 0; i < archive->byte_count; i++) archive->bytes[i] ^= 0xFF;
}

static void clear_all(test_archive *archive, const test_archive *other) {
  (void)other;
  memset(archive->bytes, 0, archive->byte_count);
}

static void set_all(test_archive *archive, const test_archive *other) {
  (void)other;
  memset(archive->bytes, 0xFF, archive->byte_count);
}

/* u16 counts of 4096, the most that a tile has. */
static void set_most_counts(test_archive *archive, const test_archive *other) {
  (void)other;
  for (size_t i = 0; i < archive->byte_count; i++) archive->bytes[i] = i % 2 ? 0x10 : 0;
}

/* Another archive takes its place, whole and sound but for its end. */
static void become_other(test_archive *archive, const test_archive *other) {
  size_t const shared =
      archive->byte_count < other->byte_count ? archive->byte_count : other->byte_count;
  memcpy(archive->bytes, other->bytes, shared);
}

static void (*const changes[])(test_archive *, const test_archive *) = {
    flip_all, clear_all, set_all, set_most_counts, become_other};

/* Changes the archive at each call, one after the other; returns how many there are. */
static uint64_t change_at_each_call(int reader, int way, int i, size_t change,
                                    const test_archive *other) {
  for (uint64_t call = 0;; call++) {
    test_archive archive = archive_copy(&samples[i].archive, samples[i].archive.byte_count);
    running = (plan){changes[change], &archive, other, call, 0};
    uint64_t const calls = read_it(reader, way, i, &archive);
    free(archive.bytes);
    if (calls <= call) return call;
  }
}

/* other: of another field, which has the same shape, or of the next sample, which has not. */
static void an_archive_may_change_at_any_call(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    running.at = UINT64_MAX;
    test_archive const same_shape = make_archive(readers[0], i, 1);
    for (int reader = 0; reader < READERS; reader++) {
      if (!reads(reader, i)) continue;
      for (int way = 0; way < WAYS; way++)
        for (size_t change = 0; has_way(way, i) && change < ARRAY_COUNT(changes); change++) {
          uint64_t const calls = change_at_each_call(reader, way, i, change, &same_shape);
          assert_true(calls > 0 && (calls >= 3 || way != WHOLE || i >= LEVELS || reader == 1));
          if (changes[change] == become_other)
            change_at_each_call(reader, way, i, change, &samples[(i + 1) % SAMPLE_COUNT].archive);
        }
      assert_still_restores(reader, i);
    }
    free(same_shape.bytes);
  }
}

/* ---- all the time ---- */

/* What the other thread changes: the bytes of *archive, some of them at a time, for a moment. */
typedef struct changer {
  test_archive *archive;
  size_t first, end;
  atomic_bool is_over;
} changer;

/* Where headers and side data are: all before the last tenth, most often the beginning. */
static size_t place_of(const changer *c, test_random *random) {
  size_t const span = c->end - c->first;
  return c->first + test_random_below(random, test_random_below(random, span) + 1);
}

static void *change_all_the_time(void *user) {
  static const uint64_t lies[] = {0, UINT64_MAX, 0x1000100010001000, 0x0101010101010101};
  changer *const c = user;
  test_random random = {42};
  while (!atomic_load_explicit(&c->is_over, memory_order_relaxed)) {
    size_t const place = place_of(c, &random);
    size_t const left = c->end - place, width = left < 8 ? left : 8;
    uint64_t before, lie = lies[test_random_below(&random, ARRAY_COUNT(lies))];
    memcpy(&before, c->archive->bytes + place, width);
    memcpy(c->archive->bytes + place, &lie, width);
    for (uint64_t wait = test_random_below(&random, 64); wait > 0; wait--)
      atomic_signal_fence(memory_order_seq_cst);
    memcpy(c->archive->bytes + place, &before, width);
    for (uint64_t wait = test_random_below(&random, 4096); wait > 0; wait--)
      atomic_signal_fence(memory_order_seq_cst);
  }
  return NULL;
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void inspect(const test_archive *archive) {
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_true(szgpu_inspect(archive->bytes, archive->byte_count, &info) <= SZGPU_BAD_DATA);
  assert_true(szgpu_inspect_frames(archive->bytes, archive->byte_count, 2, 1, &frame) <=
              SZGPU_BAD_DATA);
}

/* Reads a sample in every way for its share of the time. Returns how often. */
static uint64_t read_while_it_changes(int i, double seconds) {
  uint64_t count = 0;
  test_archive archive = archive_copy(&samples[i].archive, samples[i].archive.byte_count);
  changer c = {.archive = &archive, .end = archive.byte_count};
  running.at = UINT64_MAX;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, change_all_the_time, &c), 0);
  for (double const end = seconds_now() + seconds; seconds_now() < end;)
    for (int reader = 0; reader < READERS; reader++)
      for (int way = 0; reads(reader, i) && way < WAYS; way++) {
        if (!has_way(way, i)) continue;
        read_it(reader, way, i, &archive);
        inspect(&archive);
        count++;
      }
  atomic_store(&c.is_over, true);
  pthread_join(thread, NULL);
  free(archive.bytes);
  return count;
}

static void an_archive_may_change_all_the_time(void **state) {
  (void)state;
  if (HAS_THREAD_SANITIZER) {
    printf("skipped: ThreadSanitizer would report the race, which is intended\n");
    skip();
  }
  uint64_t count = 0;
  for (int i = 0; i < SAMPLE_COUNT; i++)
    count += read_while_it_changes(i, race_seconds / SAMPLE_COUNT);
  printf("read %llu times while it changed\n", (unsigned long long)count);
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (int reader = 0; reader < READERS; reader++)
      if (reads(reader, i)) assert_still_restores(reader, i);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_archive_may_change_at_any_call),
      cmocka_unit_test(an_archive_may_change_all_the_time),
  };
  if (argc > 1) race_seconds = strtod(argv[1], NULL);
  return cmocka_run_group_tests(tests, make_samples, free_samples);
}
