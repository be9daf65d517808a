/* test_series.c - steps are appended, described, restored, joined; files are locked.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory_streams.h"
#include "series/record.h"
#include "series_store.h"

static szgpu_ctx *ctx;

/* Steps that differ in type, shape, bound and label. */
enum { STEPS = 5 };
typedef struct request {
  szgpu_shape shape;
  szgpu_params params;
  szgpu_label label;
} request;
typedef struct sample {
  szgpu_shape shape;
  szgpu_params params;
  szgpu_label label;
  void *field;
  test_archive archive;
  void *restored;
} sample;
static sample samples[STEPS];

static int make_samples(void **state) {
  static const char long_name[] =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
      "0123456789abcde"; /* 255 bytes */
  (void)state;
  ctx = test_make_ctx(2);
  szgpu_params const lossless = test_params(SZGPU_MODE_LOSSLESS, 1);
  request const made[STEPS] = {
      {test_shape(SZGPU_F32, 3, 20, 30, 40, 0),
       test_params(SZGPU_MODE_REL, 1e-3),
       {"rho", 1, 0.25}},
      {test_shape(SZGPU_F64, 2, 50, 70, 0, 0), test_params(SZGPU_MODE_ABS, 1e-2), {NULL, 0, 0}},
      {test_shape(SZGPU_F32, 1, 1, 0, 0, 0), test_params(SZGPU_MODE_ABS, 1e-9), {"", 1, -1e300}},
      {test_shape(SZGPU_F16, 1, 999, 0, 0, 0), lossless, {"sixteen bytes ok", 0, 0}},
      {test_shape(SZGPU_F32, 3, 33, 17, 9, 0),
       test_params(SZGPU_MODE_REL, 1e-2),
       {long_name, 1, 0}}};
  for (int i = 0; i < STEPS; i++) {
    samples[i].shape = made[i].shape;
    samples[i].params = made[i].params;
    samples[i].label = made[i].label;
    samples[i].field = made[i].shape.dtype == SZGPU_F16 ? test_make_bits(&made[i].shape)
                                                        : test_make_waves(&made[i].shape);
    samples[i].archive =
        test_compress(ctx, &samples[i].params, &samples[i].shape, samples[i].field);
    samples[i].restored =
        test_decompress(ctx, &samples[i].archive, test_field_bytes(&samples[i].shape));
  }
  return 0;
}

static int free_samples(void **state) {
  (void)state;
  for (int i = 0; i < STEPS; i++) {
    free(samples[i].field);
    free(samples[i].archive.bytes);
    free(samples[i].restored);
  }
  szgpu_destroy(ctx);
  return 0;
}

static void append_sample(szgpu_series *series, const sample *s) {
  assert_int_equal(szgpu_series_append(series, ctx, &s->params, &s->shape, s->field, &s->label),
                   SZGPU_OK);
}

/* Step `index` is the sample, by every way to read it. */
static void assert_step(szgpu_series *series, uint64_t index, const sample *s) {
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_info info = {.struct_bytes = sizeof info};
  size_t const field_bytes = test_field_bytes(&s->shape);
  uint8_t *const field = test_allocate(field_bytes);
  assert_int_equal(szgpu_series_step(series, index, &step), SZGPU_OK);
  assert_int_equal(step.archive_bytes, s->archive.byte_count);
  assert_string_equal(step.name, s->label.name ? s->label.name : "");
  assert_int_equal(step.has_time, s->label.has_time);
  assert_true(step.time == s->label.time);
  assert_int_equal(szgpu_series_inspect(series, index, &info), SZGPU_OK);
  assert_int_equal(info.field_bytes, field_bytes);
  assert_int_equal(szgpu_series_read(series, ctx, index, 0, NULL, field, field_bytes), SZGPU_OK);
  assert_memory_equal(field, s->restored, field_bytes);
  memory_sink streamed = sink_of(field_bytes);
  szgpu_sink const sink = {.write = write_memory, .user = &streamed};
  assert_int_equal(szgpu_series_read_stream(series, &ctx, 1, index, &sink), SZGPU_OK);
  assert_memory_equal(streamed.bytes, s->restored, field_bytes);
  free(streamed.bytes);
  free(field);
}

static void assert_samples(szgpu_series *series, int count) {
  assert_int_equal(szgpu_series_count(series), count);
  assert_int_equal(szgpu_series_end(series, NULL), SZGPU_OK);
  for (int i = 0; i < count; i++) assert_step(series, (uint64_t)i, &samples[i]);
}

/* ---- stores ---- */

static void steps_come_back(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  szgpu_series *series = test_open_series(store);
  for (int i = 0; i < STEPS; i++) {
    append_sample(series, &samples[i]);
    assert_samples(series, i + 1);
    szgpu_series_close(series);
    series = test_open_series(store);
    assert_samples(series, i + 1);
  }
  szgpu_series_close(series);
  free(store);
}

static void all_ways_to_append_write_the_same_bytes(void **state) {
  (void)state;
  test_store *stores[4];
  for (int way = 0; way < 4; way++) {
    stores[way] = test_make_store();
    szgpu_series *const series = test_open_series(stores[way]);
    for (int i = 0; i < STEPS; i++) {
      sample *const s = &samples[i];
      memory_source values = source_of(s->field, test_field_bytes(&s->shape));
      memory_source made = source_of(s->archive.bytes, s->archive.byte_count);
      szgpu_source const archive = {.read = read_memory, .user = &made},
                         field = {.read = read_memory, .user = &values};
      szgpu_status const status =
          way == 0   ? szgpu_series_append(series, ctx, &s->params, &s->shape, s->field, &s->label)
          : way == 1 ? szgpu_series_append_archive(series, s->archive.bytes, s->archive.byte_count,
                                                   &s->label)
          : way == 2
              ? szgpu_series_append_source(series, &archive, s->archive.byte_count, &s->label)
              : szgpu_series_append_stream(series, &ctx, 1, &s->params, &s->shape, &field,
                                           &s->label);
      assert_int_equal(status, SZGPU_OK);
    }
    szgpu_series_close(series);
    assert_int_equal(stores[way]->end, stores[0]->end);
    assert_memory_equal(stores[way]->bytes, stores[0]->bytes, stores[0]->end);
  }
  for (int way = 0; way < 4; way++) free(stores[way]);
}

/* The bytes of docs/format.md, section 17. */
static void a_record_is_as_the_page_says(void **state) {
  (void)state;
  static const uint8_t head[] = {0x89, 'S', 'Z', 'S', '\r', '\n', 0x1A, '\n',
                                 1,    0,   0,   0,   1,    0,    0,    0};
  static const uint8_t tail[] = {0,   0,   0,   0, 0, 0, 0xD0, 0x3F, 3, 0, 0, 0, 0, 0, 0, 0,
                                 'r', 'h', 'o', 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0};
  test_store *const store = test_make_store();
  szgpu_series *const series = test_open_series(store);
  append_sample(series, &samples[0]);
  uint64_t archive_bytes;
  memcpy(&archive_bytes, store->bytes + 16, sizeof archive_bytes);
  assert_memory_equal(store->bytes, head, sizeof head);
  assert_int_equal(archive_bytes, samples[0].archive.byte_count);
  assert_memory_equal(store->bytes + 32, tail, sizeof tail);
  assert_memory_equal(store->bytes + 64, samples[0].archive.bytes, archive_bytes);
  assert_int_equal(store->end, 64 + archive_bytes);
  szgpu_series_close(series);
  free(store);
}

static void opening_and_appending_read_records_only(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  szgpu_series *series = test_open_series(store);
  for (int i = 0; i < 3; i++) append_sample(series, &samples[0]);
  szgpu_series_close(series);
  store->read_bytes = 0;
  series = test_open_series(store);
  assert_true(store->read_bytes <= 3 * 304);
  append_sample(series, &samples[2]);
  assert_true(store->read_bytes <= 3 * 304 + 4096); /* and the new archive's header */
  szgpu_series_close(series);
  free(store);
}

static void parts_and_previews_of_a_step_come_back(void **state) {
  (void)state;
  szgpu_params params = test_params(SZGPU_MODE_REL, 1e-2);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  sample const *const s = &samples[0];
  test_store *const store = test_make_store();
  szgpu_series *const series = test_open_series(store);
  test_archive const archive = test_compress(ctx, &params, &s->shape, s->field);
  append_sample(series, &samples[1]);
  assert_int_equal(szgpu_series_append(series, ctx, &params, &s->shape, s->field, NULL), SZGPU_OK);
  szgpu_region const region = {{1, 2, 3}, {4, 5, 6}};
  enum { REGION_VALUES = 4 * 5 * 6, PREVIEW_VALUES = 10 * 15 * 20 };
  static float part[PREVIEW_VALUES], whole[PREVIEW_VALUES];
  for (int level = 0; level < 2; level++) {
    assert_int_equal(
        szgpu_series_read(series, ctx, 1, level, &region, part, REGION_VALUES * sizeof *part),
        SZGPU_OK);
    assert_int_equal(szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, level, &region,
                                             whole, REGION_VALUES * sizeof *whole),
                     SZGPU_OK);
    assert_memory_equal(part, whole, REGION_VALUES * sizeof *part);
  }
  assert_int_equal(szgpu_series_read(series, ctx, 1, 1, NULL, part, sizeof part), SZGPU_OK);
  assert_int_equal(
      szgpu_decompress_level(ctx, archive.bytes, archive.byte_count, 1, whole, sizeof whole),
      SZGPU_OK);
  assert_memory_equal(part, whole, sizeof part);
  free(archive.bytes);
  szgpu_series_close(series);
  free(store);
}

static void joined_series_are_one(void **state) {
  (void)state;
  test_store *const parts[2] = {test_make_store(), test_make_store()};
  test_store *const joined = test_make_store();
  for (int p = 0; p < 2; p++) {
    szgpu_series *const series = test_open_series(parts[p]);
    for (int i = 2 * p; i < 2 + 3 * p; i++) append_sample(series, &samples[i]);
    szgpu_series_close(series);
    memcpy(joined->bytes + joined->end, parts[p]->bytes, parts[p]->end);
    joined->end += parts[p]->end;
  }
  szgpu_series *const series = test_open_series(joined);
  assert_samples(series, STEPS);
  szgpu_series_close(series);
  free(joined);
  for (int p = 0; p < 2; p++) free(parts[p]);
}

static void bad_arguments_are_refused_and_change_nothing(void **state) {
  (void)state;
  static char name[SZGPU_MOST_STEP_NAME_BYTES + 2];
  memset(name, 'x', sizeof name - 1);
  const sample *const s = &samples[0];
  test_store *const store = test_make_store();
  szgpu_series *series = test_open_series(store);
  append_sample(series, s);
  uint64_t const end = store->end;
  szgpu_label const labels[] = {{name, 0, 0}, {NULL, 1, NAN}, {NULL, 1, INFINITY}};
  for (size_t i = 0; i < ARRAY_COUNT(labels); i++)
    assert_int_equal(szgpu_series_append(series, ctx, &s->params, &s->shape, s->field, &labels[i]),
                     SZGPU_BAD_ARGUMENT);
  szgpu_params params = s->params;
  params.bound = -1;
  assert_int_equal(szgpu_series_append(series, ctx, &params, &s->shape, s->field, NULL),
                   SZGPU_BAD_BOUND);
  const uint8_t *const archive = s->archive.bytes;
  size_t const archive_bytes = s->archive.byte_count;
  memory_source from = source_of(archive, archive_bytes);
  szgpu_source const source = {.read = read_memory, .user = &from};
  assert_int_equal(szgpu_series_append_archive(series, archive, archive_bytes - 16, NULL),
                   SZGPU_TRUNCATED);
  assert_int_equal(szgpu_series_append_source(series, &source, archive_bytes - 16, NULL),
                   SZGPU_TRUNCATED);
  assert_int_equal(szgpu_series_append_source(series, &source, archive_bytes + 16, NULL),
                   SZGPU_TRUNCATED);
  assert_int_equal(szgpu_series_append_archive(series, "no archive at all", 16, NULL),
                   SZGPU_NOT_AN_ARCHIVE);
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  assert_int_equal(szgpu_series_step(series, 1, &step), SZGPU_BAD_ARGUMENT);
  step.struct_bytes--;
  assert_int_equal(szgpu_series_step(series, 0, &step), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_end(series, &step), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_read(series, ctx, 0, 0, NULL, name, 16), SZGPU_BAD_ARGUMENT);
  szgpu_series_close(series);
  assert_int_equal(store->end, end);
  szgpu_store callbacks = test_store_of(store);
  callbacks.sync = NULL;
  assert_int_equal(szgpu_series_open(&series, &callbacks, end), SZGPU_BAD_ARGUMENT);
  assert_null(series);
  callbacks.write = NULL;
  callbacks.cut = NULL;
  assert_int_equal(szgpu_series_open(&series, &callbacks, end), SZGPU_OK);
  assert_int_equal(szgpu_series_append(series, ctx, &s->params, &s->shape, s->field, NULL),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_cut(series), SZGPU_BAD_ARGUMENT);
  szgpu_series_close(series);
  assert_int_equal(szgpu_series_count(NULL), 0);
  szgpu_series_close(NULL);
  free(store);
}

/* ---- sentences ---- */

/* The ctx has the sentence of an earlier call, which failed. */
static void leave_stale_sentence(void) {
  const sample *const s = &samples[0];
  float value;
  assert_int_equal(szgpu_decompress(ctx, s->archive.bytes, s->archive.byte_count, &value, 3),
                   SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "not 3"));
}

static void assert_said(szgpu_status status, szgpu_status expected, const char *sentence) {
  assert_int_equal(status, expected);
  assert_string_equal(szgpu_last_error(ctx), sentence);
  leave_stale_sentence();
}

/* All four kinds of calls that are given a ctx. */
static szgpu_status append_field(szgpu_series *series, const szgpu_label *label) {
  const sample *const s = &samples[0];
  return szgpu_series_append(series, ctx, &s->params, &s->shape, s->field, label);
}
static szgpu_status append_streamed(szgpu_series *series, const szgpu_label *label) {
  const sample *const s = &samples[0];
  memory_source values = source_of(s->field, test_field_bytes(&s->shape));
  szgpu_source const field = {.read = read_memory, .user = &values};
  return szgpu_series_append_stream(series, &ctx, 1, &s->params, &s->shape, &field, label);
}
static szgpu_status read_whole(szgpu_series *series, uint64_t index) {
  static float field[20 * 30 * 40];
  return szgpu_series_read(series, ctx, index, 0, NULL, field, sizeof field);
}
static szgpu_status read_streamed(szgpu_series *series, uint64_t index) {
  memory_sink streamed = sink_of(test_field_bytes(&samples[0].shape));
  szgpu_sink const sink = {.write = write_memory, .user = &streamed};
  szgpu_status const status = szgpu_series_read_stream(series, &ctx, 1, index, &sink);
  free(streamed.bytes);
  return status;
}
typedef szgpu_status append_call(szgpu_series *series, const szgpu_label *label);
typedef szgpu_status read_call(szgpu_series *series, uint64_t index);
static append_call *const append_calls[] = {append_field, append_streamed};
static read_call *const read_calls[] = {read_whole, read_streamed};

/* Calls that failed before they used the ctx left the sentence of an earlier call in it. */
static void arguments_have_sentences_of_their_own(void **state) {
  (void)state;
  static char name[300 + 1];
  memset(name, 'x', sizeof name - 1);
  szgpu_label const long_label = {name, 0, 0}, endless = {NULL, 1, INFINITY};
  test_store *const store = test_make_store();
  szgpu_store callbacks = test_store_of(store);
  szgpu_series *series = test_open_series(store);
  append_sample(series, &samples[0]);
  leave_stale_sentence();
  for (int way = 0; way < 2; way++) {
    assert_said(append_calls[way](NULL, NULL), SZGPU_BAD_ARGUMENT, "");
    assert_said(read_calls[way](NULL, 0), SZGPU_BAD_ARGUMENT, "");
    assert_said(append_calls[way](series, &long_label), SZGPU_BAD_ARGUMENT,
                "the step's name has 300 bytes, which are more than 255");
    assert_said(append_calls[way](series, &endless), SZGPU_BAD_ARGUMENT,
                "the step's time, inf, is not finite");
    assert_said(read_calls[way](series, 7), SZGPU_BAD_ARGUMENT,
                "there is no step 7: the series has 1");
  }
  szgpu_series_close(series);
  callbacks.write = NULL, callbacks.sync = NULL, callbacks.cut = NULL;
  assert_int_equal(szgpu_series_open(&series, &callbacks, store->end), SZGPU_OK);
  for (int way = 0; way < 2; way++) {
    assert_said(append_calls[way](series, NULL), SZGPU_BAD_ARGUMENT,
                "the series was opened to read only");
    assert_int_equal(read_calls[way](series, 0), SZGPU_OK);
    assert_string_equal(szgpu_last_error(ctx), "");
  }
  szgpu_series_close(series);
  free(store);
}

/* Whatever call of the store fails, at whatever place. */
static void failing_stores_have_sentences_of_their_own(void **state) {
  (void)state;
  static const char written[] = "the series could not be written: its store failed";
  static const char read[] = "the series could not be read: its store failed";
  int failures = 0;
  for (int way = 0; way < 4; way++) {
    bool was_reached = true;
    for (int call = 0; was_reached; call++) {
      test_store *const store = test_make_store();
      szgpu_series *const series = test_open_series(store);
      append_sample(series, &samples[0]);
      leave_stale_sentence();
      store->calls_until_fail = store->calls + call;
      szgpu_status const status =
          way < 2 ? append_calls[way](series, NULL) : read_calls[way - 2](series, 0);
      was_reached = store->calls > store->calls_until_fail;
      failures += was_reached;
      assert_int_equal(status != SZGPU_OK, was_reached);
      assert_string_equal(szgpu_last_error(ctx), !was_reached                  ? ""
                                                 : status == SZGPU_SINK_FAILED ? written
                                                                               : read);
      szgpu_series_close(series);
      free(store);
    }
  }
  assert_true(failures > 15);
}

static void damage_has_sentences_of_its_own(void **state) {
  (void)state;
  test_store *const store = test_make_store();
  szgpu_series *series = test_open_series(store);
  append_sample(series, &samples[0]);
  uint64_t const second = store->end;
  append_sample(series, &samples[0]);
  leave_stale_sentence();
  store->bytes[second + 64 + 8] ^= 0xFF; /* the version of the second archive */
  for (int way = 0; way < 2; way++)
    assert_said(read_calls[way](series, 1), SZGPU_NEWER_VERSION, "step 1 of the series");
  store->bytes[second + 64 + 8] ^= 0xFF;
  szgpu_series_close(series);
  store->bytes[second] ^= 0xFF; /* the second record */
  series = test_open_series(store);
  for (int way = 0; way < 2; way++)
    assert_said(
        append_calls[way](series, NULL), SZGPU_BAD_DATA,
        "cannot be read from step 1 on; replace the series with an intact copy, or cut it there");
  szgpu_series_close(series);
  store->bytes[second] ^= 0xFF;
  memset(store->bytes + 16, 0, 8); /* the first step is not finished, and the second follows it */
  series = test_open_series(store);
  for (int way = 0; way < 2; way++)
    assert_said(append_calls[way](series, NULL), SZGPU_UNFINISHED,
                "finished steps follow the unfinished step 0; cutting it off would lose them");
  szgpu_series_close(series);
  free(store);
}

/* A call's own failures keep the sentences that they have without a series. */
static void calls_within_keep_their_sentences(void **state) {
  (void)state;
  sample const *const s = &samples[0];
  test_store *const store = test_make_store();
  szgpu_series *const series = test_open_series(store);
  append_sample(series, s);
  szgpu_params params = s->params;
  params.bound = -1;
  assert_said(szgpu_series_append(series, ctx, &params, &s->shape, s->field, NULL), SZGPU_BAD_BOUND,
              "the bound is -1");
  float value;
  assert_said(szgpu_series_read(series, ctx, 0, 0, NULL, &value, 4), SZGPU_BAD_ARGUMENT,
              "the values take 96000 bytes, not 4");
  memory_source values = source_of(s->field, test_field_bytes(&s->shape) - 4);
  szgpu_source const field = {.read = read_memory, .user = &values};
  assert_int_equal(szgpu_series_append_stream(series, &ctx, 1, &s->params, &s->shape, &field, NULL),
                   SZGPU_SOURCE_FAILED);
  assert_non_null(strstr(szgpu_last_error(ctx), "byte"));
  szgpu_series_close(series);
  free(store);
}

/* ---- files ---- */

static char folder[] = "/tmp/szgpu-series-XXXXXX";
static char path[128];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder + sizeof folder - 7, "XXXXXX");
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/run.szgs", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static szgpu_series *open_file(szgpu_series_access access) {
  szgpu_series *series;
  int error_number = -1;
  assert_int_equal(szgpu_series_open_file(&series, path, access, &error_number), SZGPU_OK);
  assert_int_equal(error_number, 0);
  return series;
}

static void files_hold_series(void **state) {
  (void)state;
  for (int i = 0; i < STEPS; i++) {
    szgpu_series *const series = open_file(SZGPU_SERIES_APPEND);
    assert_int_equal(szgpu_series_count(series), i);
    append_sample(series, &samples[i]);
    szgpu_series_close(series);
    szgpu_series *const reader = open_file(SZGPU_SERIES_READ);
    assert_samples(reader, i + 1);
    szgpu_series_close(reader);
  }
}

static void one_series_at_a_time_appends_to_a_file(void **state) {
  (void)state;
  szgpu_series *const first = open_file(SZGPU_SERIES_APPEND);
  szgpu_series *second;
  append_sample(first, &samples[0]);
  assert_int_equal(szgpu_series_open_file(&second, path, SZGPU_SERIES_APPEND, NULL), SZGPU_LOCKED);
  assert_null(second);
  szgpu_series *const reader = open_file(SZGPU_SERIES_READ); /* readers do not wait */
  append_sample(first, &samples[1]);
  assert_samples(reader, 1);
  szgpu_series_close(reader);
  szgpu_series_close(first);
  second = open_file(SZGPU_SERIES_APPEND);
  assert_samples(second, 2);
  szgpu_series_close(second);
}

static void a_new_file_without_steps_is_removed(void **state) {
  (void)state;
  szgpu_series_close(open_file(SZGPU_SERIES_APPEND));
  assert_int_equal(access(path, F_OK), -1);
  FILE *const file = fopen(path, "w"); /* but not one that was there */
  assert_non_null(file);
  fclose(file);
  szgpu_series_close(open_file(SZGPU_SERIES_APPEND));
  assert_int_equal(access(path, F_OK), 0);
}

/* Places and sizes take 64 bits: the first step has an archive of 5 GiB, in a hole. */
static void steps_lie_beyond_4_gib(void **state) {
  (void)state;
  uint8_t bytes[SZG_RECORD_MOST_BYTES];
  szg_record const record = {.archive_bytes = (uint64_t)5 << 30};
  off_t const end = (off_t)(szg_record_bytes(&record) + record.archive_bytes);
  FILE *const file = fopen(path, "w");
  assert_non_null(file);
  szg_record_write(&record, bytes);
  assert_int_equal(fwrite(bytes, 1, szg_record_bytes(&record), file), szg_record_bytes(&record));
  assert_int_equal(fclose(file), 0);
  assert_int_equal(truncate(path, end), 0);
  szgpu_series *series = open_file(SZGPU_SERIES_APPEND);
  assert_int_equal(szgpu_series_count(series), 1);
  for (int i = 0; i < 2; i++) append_sample(series, &samples[i]);
  szgpu_series_close(series);
  series = open_file(SZGPU_SERIES_READ);
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  assert_int_equal(szgpu_series_step(series, 1, &step), SZGPU_OK);
  assert_int_equal(step.archive_offset, (uint64_t)end + 64);
  for (int i = 0; i < 2; i++) assert_step(series, (uint64_t)i + 1, &samples[i]);
  szgpu_series_close(series);
}

/* The errno stayed that of an earlier call, also if a caller's source had failed. */
static void an_errno_is_of_the_call_itself(void **state) {
  (void)state;
  struct rlimit limit, small = {4096, 4096};
  szgpu_series *const series = open_file(SZGPU_SERIES_APPEND);
  append_sample(series, &samples[2]);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small.rlim_max = limit.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int way = 0; way < 2; way++) {
    assert_said(append_calls[way](series, NULL), SZGPU_SINK_FAILED,
                "the series could not be written: File too large");
    assert_int_equal(szgpu_series_errno(series), EFBIG);
  }
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  sample const *const s = &samples[0];
  memory_source short_archive = source_of(s->archive.bytes, 16);
  short_archive.reads_until_fail = 0;
  szgpu_source const archive = {.read = read_memory, .user = &short_archive};
  assert_int_equal(szgpu_series_append_source(series, &archive, s->archive.byte_count, NULL),
                   SZGPU_SOURCE_FAILED);
  assert_int_equal(szgpu_series_errno(series), 0);
  szgpu_series_close(series);
}

static void files_that_cannot_be_opened_say_why(void **state) {
  (void)state;
  szgpu_series *series;
  int error_number = 0;
  assert_int_equal(szgpu_series_open_file(&series, path, SZGPU_SERIES_READ, &error_number),
                   SZGPU_SOURCE_FAILED);
  assert_int_equal(error_number, ENOENT);
  assert_int_equal(szgpu_series_open_file(&series, folder, SZGPU_SERIES_APPEND, &error_number),
                   SZGPU_SINK_FAILED);
  assert_int_equal(error_number, EISDIR);
  assert_int_equal(szgpu_series_open_file(&series, folder, SZGPU_SERIES_READ, &error_number),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(mkfifo(path, 0600), 0);
  for (int access = 0; access < 2; access++)
    assert_int_equal(szgpu_series_open_file(&series, path, (szgpu_series_access)access, NULL),
                     SZGPU_BAD_ARGUMENT);
  assert_null(series);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_come_back),
      cmocka_unit_test(all_ways_to_append_write_the_same_bytes),
      cmocka_unit_test(a_record_is_as_the_page_says),
      cmocka_unit_test(opening_and_appending_read_records_only),
      cmocka_unit_test(parts_and_previews_of_a_step_come_back),
      cmocka_unit_test(joined_series_are_one),
      cmocka_unit_test(bad_arguments_are_refused_and_change_nothing),
      cmocka_unit_test(arguments_have_sentences_of_their_own),
      cmocka_unit_test(failing_stores_have_sentences_of_their_own),
      cmocka_unit_test(damage_has_sentences_of_its_own),
      cmocka_unit_test(calls_within_keep_their_sentences),
      cmocka_unit_test_setup_teardown(files_hold_series, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(one_series_at_a_time_appends_to_a_file, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(a_new_file_without_steps_is_removed, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(steps_lie_beyond_4_gib, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(an_errno_is_of_the_call_itself, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(files_that_cannot_be_opened_say_why, make_folder,
                                      remove_folder),
  };
  return cmocka_run_group_tests(tests, make_samples, free_samples);
}
