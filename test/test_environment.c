/* test_environment.c - no public call depends on the caller's floating-point environment.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function of szgpu.h and szgpu_series.h is in a table here, by its name. Each row is run as
 * by a plain program, and then with each way of rounding, with denormals flushed to zero, and with
 * traps: what it gives must be the same, and the environment afterwards that of before.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "series_store.h"
#include "support.h"
#include "szgpu_series.h"

/* ---- what calls give ---- */

enum { LOG_BYTES = 1 << 20, ARCHIVE_BYTES = 1 << 16 };
typedef struct call_log {
  size_t byte_count;
  uint8_t bytes[LOG_BYTES];
} call_log;

/* Asserts nothing: the environment is not one for that. */
static void add(call_log *log, const void *bytes, size_t byte_count) {
  if (byte_count > LOG_BYTES - log->byte_count) abort();
  memcpy(log->bytes + log->byte_count, bytes, byte_count);
  log->byte_count += byte_count;
}
static void add_status(call_log *log, szgpu_status status) { add(log, &status, sizeof status); }
static void add_text(call_log *log, const char *text) { add(log, text, strlen(text)); }

/* ---- what they are given ---- */

enum { ROWS = 40, COLUMNS = 64, VALUES = ROWS * COLUMNS, FIELD_BYTES = VALUES * sizeof(double) };
static double field[VALUES]; /* denormals, some of which are the fill value */
static float plain_field[VALUES];
static szgpu_shape const shape = {SZGPU_F64, 2, {ROWS, COLUMNS}};
static szgpu_shape const plain_shape = {SZGPU_F32, 2, {ROWS, COLUMNS}};
static szgpu_params const tiny = {.struct_bytes = sizeof(szgpu_params),
                                  .mode = SZGPU_MODE_ABS,
                                  .bound = 0x1p-1070,
                                  .layout = SZGPU_LAYOUT_TILE,
                                  .has_fill = 1,
                                  .fill = 0x1p-1050,
                                  .more_fill_count = 1,
                                  .more_fills = {0x1p-1049},
                                  .frame_rows = 16};
static szgpu_params const smooth = {.struct_bytes = sizeof(szgpu_params),
                                    .mode = SZGPU_MODE_REL,
                                    .bound = 1e-3,
                                    .layout = SZGPU_LAYOUT_TILE,
                                    .has_fill = 1,
                                    .fill = 0x1p-140,
                                    .predictor = SZGPU_PREDICTOR_INTERPOLATION};
static test_archive archive; /* of field and tiny */
static test_archive smooth_archive;
static uint8_t made[ARCHIVE_BYTES];
static double restored[VALUES];

static int make_all(void **state) {
  (void)state;
  for (int i = 0; i < VALUES; i++) {
    field[i] = (double)(test_hash((uint64_t)i) % 1000) * 0x1p-1064;
    if (i % 7 == 0) field[i] = i % 2 ? 0x1p-1050 : 0x1p-1049;
    plain_field[i] = i % 9 ? (float)(test_hash((uint64_t)i) % 1000) + 0.1f * (float)i : 0x1p-140f;
  }
  szgpu_ctx *const ctx = test_make_ctx(1);
  archive = test_compress(ctx, &tiny, &shape, field);
  smooth_archive = test_compress(ctx, &smooth, &plain_shape, plain_field);
  szgpu_destroy(ctx);
  return 0;
}
static int free_all(void **state) {
  (void)state;
  free(archive.bytes);
  free(smooth_archive.bytes);
  return 0;
}

/* ---- calls ---- */

static szgpu_ctx *new_ctx(call_log *log) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  szgpu_ctx *ctx = NULL;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = 2;
  add_status(log, szgpu_create(&ctx, &options));
  return ctx;
}

static void close_ctx(call_log *log, szgpu_ctx *ctx) {
  add_text(log, szgpu_last_error(ctx));
  add_text(log, szgpu_last_note(ctx));
  szgpu_destroy(ctx);
}

static void call_words(call_log *log) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  int const answers[] = {szgpu_has_cuda(), szgpu_decoder_runs_on(SZGPU_DECODER_TABLE, 1),
                         szgpu_decoder_reads(SZGPU_DECODER_SERIAL, &info)};
  const char *const refusal = szgpu_decoder_refusal(SZGPU_DECODER_GAP_ARRAY, &info);
  (void)szgpu_device_count(); /* on a machine with GPUs CUDA starts */
  add(log, answers, sizeof answers);
  add_text(log, szgpu_version());
  add_text(log, szgpu_status_text(SZGPU_BAD_DATA));
  add_text(log, szgpu_decoder_name(SZGPU_DECODER_TABLE));
  add_text(log, szgpu_decoder_summary(SZGPU_DECODER_TABLE));
  add_text(log, refusal ? refusal : "");
}

static void call_compress(call_log *log) {
  static const szgpu_mode modes[] = {SZGPU_MODE_ABS, SZGPU_MODE_REL, SZGPU_MODE_PSNR,
                                     SZGPU_MODE_PWREL};
  szgpu_ctx *const ctx = new_ctx(log);
  size_t sizes[2] = {0}, byte_count = 0;
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  szgpu_params params = tiny;
  add_status(log, szgpu_set_memory_limit(ctx, (uint64_t)1 << 30));
  add_status(log, szgpu_reserve(ctx, &tiny, &shape));
  add_status(log, szgpu_sizes(ctx, &tiny, &shape, NULL, &sizes[0]));
  add_status(log, szgpu_bounds(ctx, &tiny, &shape, NULL, &sizes[1]));
  add(log, sizes, sizeof sizes);
  for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
    params.mode = modes[i];
    params.bound = modes[i] == SZGPU_MODE_ABS    ? 0x1p-1070
                   : modes[i] == SZGPU_MODE_PSNR ? 60
                                                 : 0x1p-10;
    add_status(log, szgpu_compress(ctx, &params, &shape, field, made, sizeof made, &byte_count));
    add(log, made, byte_count);
    if (modes[i] == SZGPU_MODE_PWREL) continue;
    add_status(log, szgpu_foresee(ctx, &params, &shape, field, &info));
    add(log, &info, sizeof info);
  }
  params.bound = 0x1p-1074; /* above 0, and not below 1 where it is flushed */
  params.mode = SZGPU_MODE_PSNR;
  add_status(log, szgpu_compress(ctx, &params, &shape, field, made, sizeof made, &byte_count));
  params.bound = -0x1p-1074;
  add_status(log, szgpu_compress(ctx, &params, &shape, field, made, sizeof made, &byte_count));
  close_ctx(log, ctx);
}

static void call_decompress(call_log *log) {
  szgpu_ctx *const ctx = new_ctx(log);
  szgpu_region const region = {{3, 5}, {20, 30}};
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  szgpu_shape level = {0};
  float preview[VALUES];
  memset(restored, 0, sizeof restored);
  add_status(log,
             szgpu_decompress(ctx, archive.bytes, archive.byte_count, restored, sizeof restored));
  add(log, restored, sizeof restored);
  add_status(log, szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, 5, 20, restored,
                                        20 * COLUMNS * sizeof *restored));
  add(log, restored, 20 * COLUMNS * sizeof *restored);
  add_status(log, szgpu_decompress_region(ctx, archive.bytes, archive.byte_count, 0, &region,
                                          restored, 600 * sizeof *restored));
  add(log, restored, 600 * sizeof *restored);
  szgpu_range const all = {0, archive.byte_count};
  szgpu_range missing[4];
  for (size_t present_count = 0; present_count < 2; present_count++) {
    size_t missing_count = 0;
    add_status(
        log, szgpu_region_ranges(ctx, archive.bytes, archive.byte_count, 0, &region, &all,
                                 present_count, 0, missing, ARRAY_COUNT(missing), &missing_count));
    add(log, missing, missing_count * sizeof *missing);
  }
  add_status(log, szgpu_inspect(smooth_archive.bytes, smooth_archive.byte_count, &info));
  add_status(log, szgpu_level_shape(&info, 1, &level));
  add(log, &level, sizeof level);
  size_t const level_bytes = level.dims[0] * level.dims[1] * sizeof *preview;
  memset(preview, 0, sizeof preview);
  add_status(log, szgpu_decompress_level(ctx, smooth_archive.bytes, smooth_archive.byte_count, 1,
                                         preview, level_bytes));
  add(log, preview, level_bytes);
  close_ctx(log, ctx);
}

static void call_inspect(call_log *log) {
  const test_archive *const archives[] = {&archive, &smooth_archive};
  for (int i = 0; i < 2; i++) {
    szgpu_info info = SZGPU_INFO_DEFAULTS;
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    add_status(log, szgpu_inspect(archives[i]->bytes, archives[i]->byte_count, &info));
    add(log, &info, sizeof info);
    add_status(log,
               szgpu_inspect_frames(archives[i]->bytes, archives[i]->byte_count, 0, 1, &frame));
    add(log, &frame, sizeof frame);
  }
}

/* A file in memory, by callbacks: what the caller's own functions find is not looked at. */
static int read_at(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  memcpy(bytes, (const uint8_t *)user + offset, byte_count);
  *got = byte_count;
  return 0;
}
static int write_at(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  memcpy((uint8_t *)user + offset, bytes, byte_count);
  return 0;
}

static void call_streams(call_log *log) {
  szgpu_ctx *const ctx = new_ctx(log);
  szgpu_source source = {.read = read_at, .user = field};
  szgpu_sink sink = {.write = write_at, .user = made};
  uint64_t archive_bytes = 0, frame_rows = 0;
  size_t memory_bytes = 0;
  add_status(log, szgpu_stream_sizes(ctx, 1, &tiny, &shape, &memory_bytes, &frame_rows));
  add(log, &frame_rows, sizeof frame_rows);
  add_status(log, szgpu_compress_stream(&ctx, 1, &tiny, &shape, &source, &sink, &archive_bytes));
  add(log, made, archive_bytes);
  memset(restored, 0, sizeof restored);
  source.user = archive.bytes;
  sink.user = restored;
  add_status(log, szgpu_decompress_stream(&ctx, 1, &source, &sink, &archive_bytes));
  add(log, restored, sizeof restored);
  close_ctx(log, ctx);
}

/* On the CPU they refuse, by what the params say. */
static void call_async(call_log *log) {
  szgpu_ctx *const ctx = new_ctx(log);
  szgpu_async_item item = {.shape = plain_shape};
  size_t byte_count = 0;
  add_status(log, szgpu_async_bytes(ctx, &tiny, &item, 1, &byte_count));
  add_status(log, szgpu_compress_async(ctx, &tiny, &item, 1, made, sizeof made, NULL));
  add_status(log, szgpu_decompress_async(ctx, &tiny, &item, 1, made, sizeof made, NULL));
  close_ctx(log, ctx);
}

static void add_step(call_log *log, szgpu_series *series, uint64_t index) {
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  add_status(log, szgpu_series_step(series, index, &step));
  add(log, &step, sizeof step);
  add_status(log, szgpu_series_inspect(series, index, &info));
  add(log, &info, sizeof info);
}

static void call_series(call_log *log) {
  static test_store memory;
  memory = (test_store){.calls_until_fail = -1};
  szgpu_store const store = test_store_of(&memory);
  szgpu_ctx *const ctx = new_ctx(log);
  szgpu_series *series = NULL;
  szgpu_step end = SZGPU_STEP_DEFAULTS;
  szgpu_label const label = {"p", 1, 0x1p-1074};
  szgpu_source source = {.read = read_at, .user = field};
  szgpu_sink const sink = {.write = write_at, .user = restored};
  add_status(log, szgpu_series_open(&series, &store, 0));
  add_status(log, szgpu_series_append(series, ctx, &tiny, &shape, field, &label));
  add_status(log, szgpu_series_append_stream(series, &ctx, 1, &tiny, &shape, &source, &label));
  add_status(log, szgpu_series_append_archive(series, archive.bytes, archive.byte_count, &label));
  source.user = archive.bytes;
  add_status(log, szgpu_series_append_source(series, &source, archive.byte_count, &label));
  uint64_t const count = szgpu_series_count(series);
  add(log, &count, sizeof count);
  for (uint64_t i = 0; i < count; i++) add_step(log, series, i);
  add_status(log, szgpu_series_read(series, ctx, 1, 0, NULL, restored, sizeof restored));
  add(log, restored, sizeof restored);
  memset(restored, 0, sizeof restored);
  add_status(log, szgpu_series_read_stream(series, &ctx, 1, 2, &sink));
  add(log, restored, sizeof restored);
  add_status(log, szgpu_series_end(series, &end));
  add_status(log, szgpu_series_cut(series));
  szgpu_series_close(series);
  close_ctx(log, ctx);
}

static void call_series_file(call_log *log) {
  char path[] = "/tmp/szgpu_environment_XXXXXX";
  int const file = mkstemp(path);
  szgpu_series *series = NULL;
  int error_number = -1;
  if (file >= 0) close(file);
  add_status(log, szgpu_series_open_file(&series, path, SZGPU_SERIES_APPEND, &error_number));
  add(log, &error_number, sizeof error_number);
  error_number = szgpu_series_errno(series);
  add(log, &error_number, sizeof error_number);
  add_status(log, szgpu_series_append_archive(series, archive.bytes, archive.byte_count, NULL));
  add_step(log, series, 0);
  bool const has_descriptor = szgpu_series_descriptor(series) >= 0;
  add(log, &has_descriptor, sizeof has_descriptor);
  szgpu_series_close(series);
  unlink(path);
}

/* ---- the table ---- */

static const struct {
  void (*call)(call_log *log);
  const char *functions; /* that it calls */
} rows[] = {
    {call_words,
     "szgpu_version szgpu_status_text szgpu_has_cuda szgpu_device_count szgpu_decoder_name "
     "szgpu_decoder_summary szgpu_decoder_runs_on szgpu_decoder_reads szgpu_decoder_refusal "},
    {call_compress,
     "szgpu_create szgpu_destroy szgpu_last_error szgpu_last_note szgpu_set_memory_limit "
     "szgpu_sizes szgpu_bounds szgpu_reserve szgpu_compress szgpu_foresee "},
    {call_decompress,
     "szgpu_decompress szgpu_decompress_slab szgpu_decompress_region szgpu_region_ranges "
     "szgpu_level_shape szgpu_decompress_level "},
    {call_inspect, "szgpu_inspect szgpu_inspect_frames "},
    {call_streams, "szgpu_compress_stream szgpu_stream_sizes szgpu_decompress_stream "},
    {call_async, "szgpu_async_bytes szgpu_compress_async szgpu_decompress_async "},
    {call_series,
     "szgpu_series_open szgpu_series_close szgpu_series_count szgpu_series_step szgpu_series_end "
     "szgpu_series_inspect szgpu_series_read szgpu_series_read_stream szgpu_series_append "
     "szgpu_series_append_stream szgpu_series_append_archive szgpu_series_append_source "
     "szgpu_series_cut "},
    {call_series_file, "szgpu_series_open_file szgpu_series_errno szgpu_series_descriptor "},
};

static bool is_in_table(const char *name) {
  char wanted[512];
  snprintf(wanted, sizeof wanted, "%s ", name);
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    const char *at = strstr(rows[i].functions, wanted);
    if (at && (at == rows[i].functions || at[-1] == ' ')) return true;
  }
  return false;
}

/* A declaration begins with SZGPU_API; the function's name is what stands before the first (. */
static void every_public_function_is_in_the_table(void **state) {
  (void)state;
  static const char *const headers[] = {TEST_INCLUDE_DIR "/szgpu.h",
                                        TEST_INCLUDE_DIR "/szgpu_series.h"};
  int function_count = 0;
  for (size_t i = 0; i < ARRAY_COUNT(headers); i++) {
    FILE *const file = fopen(headers[i], "r");
    char line[512], name[80];
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
      if (strncmp(line, "SZGPU_API ", 10) != 0) continue;
      char *const end = strchr(line, '(');
      assert_non_null(end);
      char *start = end;
      while (start > line && (start[-1] == '_' || (start[-1] >= 'a' && start[-1] <= 'z'))) start--;
      snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
      if (!is_in_table(name)) print_error("%s is not in the table of %s\n", name, __FILE__);
      assert_true(is_in_table(name));
      function_count++;
    }
    fclose(file);
  }
  assert_true(function_count > 40);
}

/* ---- environments ---- */

static void round_upward(void) { fesetround(FE_UPWARD); }
static void round_downward(void) { fesetround(FE_DOWNWARD); }
static void round_toward_zero(void) { fesetround(FE_TOWARDZERO); }
static void trap_all(void) { feenableexcept(FE_ALL_EXCEPT); }
static void trap_and_round(void) {
  round_upward();
  trap_all();
}

#if defined(__SSE2__)
static unsigned control(void) { return _mm_getcsr(); }
static void flush_denormals(void) { _mm_setcsr(_mm_getcsr() | 0x8040); } /* FTZ and DAZ */
#elif defined(__aarch64__)
static unsigned control(void) { return __builtin_aarch64_get_fpcr(); }
static void flush_denormals(void) { __builtin_aarch64_set_fpcr(control() | 1u << 24); } /* FZ */
#else
static unsigned control(void) { return 0; }
static void flush_denormals(void) {} /* there is no way that every machine has */
#endif

static void flush_and_trap(void) {
  flush_denormals();
  trap_all();
}

typedef struct environment_seen {
  int rounding, traps, flags;
  unsigned control;
} environment_seen;

static environment_seen look(void) {
  return (environment_seen){fegetround(), fegetexcept(), fetestexcept(FE_ALL_EXCEPT), control()};
}

static void no_call_depends_on_it_or_changes_it(void **state) {
  (void)state;
  static void (*const changes[])(void) = {round_upward,    round_downward, round_toward_zero,
                                          flush_denormals, trap_all,       trap_and_round,
                                          flush_and_trap};
  static call_log plain, other;
  for (size_t r = 0; r < ARRAY_COUNT(rows); r++) {
    plain.byte_count = 0;
    rows[r].call(&plain);
    for (size_t c = 0; c < ARRAY_COUNT(changes); c++) {
      fenv_t saved;
      other.byte_count = 0;
      fegetenv(&saved);
      feclearexcept(FE_ALL_EXCEPT);
      changes[c]();
      environment_seen const before = look();
      rows[r].call(&other);
      environment_seen const after = look();
      fesetenv(&saved);
      bool const is_same = other.byte_count == plain.byte_count &&
                           memcmp(other.bytes, plain.bytes, plain.byte_count) == 0;
      if (!is_same || memcmp(&before, &after, sizeof before) != 0)
        print_error("environment %d, calls %s\n", (int)c, rows[r].functions);
      assert_true(is_same);
      assert_memory_equal(&after, &before, sizeof before);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_public_function_is_in_the_table),
      cmocka_unit_test(no_call_depends_on_it_or_changes_it),
  };
  return cmocka_run_group_tests(tests, make_all, free_all);
}
