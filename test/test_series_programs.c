/* test_series_programs.c - programs, processes and threads that meet at one series.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: test_series_programs [SECONDS]; each random test takes as many, 2 by default.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory_streams.h"
#include "support.h"
#include "szgpu_series.h"

enum { VALUES = 3000 };

static double seconds = 2;
static szgpu_ctx *ctx;
static szgpu_shape shape;
static szgpu_params params;
static float *field;
static test_archive archive;

static char folder[] = "/tmp/szgpu-programs-XXXXXX";
static char path[128], other_path[128];

static int make_archive(void **state) {
  (void)state;
  ctx = test_make_ctx(1);
  shape = test_shape(SZGPU_F32, 1, VALUES, 0, 0, 0);
  params = test_params(SZGPU_MODE_LOSSLESS, 1);
  field = test_make_waves(&shape);
  archive = test_compress(ctx, &params, &shape, field);
  return 0;
}

static int free_archive(void **state) {
  (void)state;
  free(field);
  free(archive.bytes);
  szgpu_destroy(ctx);
  return 0;
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder + sizeof folder - 7, "XXXXXX");
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/run.szgs", folder);
  snprintf(other_path, sizeof other_path, "%s/other.szgs", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  unlink(other_path);
  return rmdir(folder);
}

static szgpu_series *open_path(const char *name, szgpu_series_access access) {
  szgpu_series *series;
  assert_int_equal(szgpu_series_open_file(&series, name, access, NULL), SZGPU_OK);
  return series;
}

static szgpu_status append(szgpu_series *series, double time) {
  szgpu_label const label = {"rho", 1, time};
  return szgpu_series_append_archive(series, archive.bytes, archive.byte_count, &label);
}

static void assert_step(szgpu_series *series, uint64_t index) {
  static float restored[VALUES];
  assert_int_equal(szgpu_series_read(series, ctx, index, 0, NULL, restored, sizeof restored),
                   SZGPU_OK);
  assert_memory_equal(restored, field, sizeof restored);
}

/* What the file has are `count` steps and nothing else. */
static void assert_file(const char *name, uint64_t count) {
  szgpu_series *const series = open_path(name, SZGPU_SERIES_READ);
  assert_int_equal(szgpu_series_end(series, NULL), SZGPU_OK);
  assert_int_equal(szgpu_series_count(series), count);
  for (uint64_t i = 0; i < count; i++) assert_step(series, i);
  szgpu_series_close(series);
}

static off_t size_of(const char *name) {
  struct stat status;
  return stat(name, &status) == 0 ? status.st_size : -1;
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int exit_code(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* ---- programs ---- */

enum { OPENS = 3, FAILED = 100 };

/* Opens the series, which may not be there yet, and appends or gives up. Returns its appends. */
static int open_and_append_or_give_up(test_random *random) {
  int appends = 0;
  for (int i = 0; i < OPENS; i++) {
    szgpu_series *series;
    szgpu_status status;
    do {
      status = szgpu_series_open_file(&series, path, SZGPU_SERIES_APPEND, NULL);
    } while (status == SZGPU_LOCKED);
    if (status != SZGPU_OK) return FAILED;
    if (test_random_below(random, 2)) {
      if (append(series, i) != SZGPU_OK) return FAILED;
      appends++;
    }
    szgpu_series_close(series);
  }
  return appends;
}

/* One gave up and removed the file, whose lock another then took: it appended to a file without a
 * name, and was told that the step is on disk. */
static void a_step_is_not_lost_when_another_program_gives_up(void **state) {
  (void)state;
  test_random random = test_random_begin();
  double const end = now() + seconds;
  int rounds = 0, steps = 0;
  for (; now() < end; rounds++) {
    pid_t programs[2];
    for (int p = 0; p < 2; p++) {
      test_random own = {.state = random.state + (uint64_t)p + 1};
      programs[p] = fork();
      if (programs[p] == 0) _exit(open_and_append_or_give_up(&own));
    }
    int appends = 0;
    for (int p = 0; p < 2; p++) {
      int const code = exit_code(programs[p]);
      assert_true(code <= OPENS);
      appends += code;
    }
    if (size_of(path) > 0)
      assert_file(path, (uint64_t)appends);
    else
      assert_int_equal(appends, 0);
    unlink(path);
    steps += appends;
    (void)test_random_below(&random, 2);
  }
  printf("           %d rounds, %d steps\n", rounds, steps);
  assert_true(rounds > 10);
}

/* Appends until it is killed, and says which steps are finished. */
static void append_for_ever(int first_time, int pipe_end) {
  for (int time = first_time;; time++) {
    szgpu_series *series;
    szgpu_status const status = szgpu_series_open_file(&series, path, SZGPU_SERIES_APPEND, NULL);
    if (status == SZGPU_LOCKED) continue;
    if (status != SZGPU_OK || append(series, time) != SZGPU_OK) _exit(FAILED);
    if (write(pipe_end, &time, sizeof time) != sizeof time) _exit(FAILED);
    szgpu_series_close(series);
  }
}

static bool has_time(szgpu_series *series, double time) {
  for (uint64_t i = 0; i < szgpu_series_count(series); i++) {
    szgpu_step step = SZGPU_STEP_DEFAULTS;
    assert_int_equal(szgpu_series_step(series, i, &step), SZGPU_OK);
    if (step.time == time) return true;
  }
  return false;
}

static void killed_programs_leave_what_they_have_finished(void **state) {
  (void)state;
  test_random random = test_random_begin();
  double const end = now() + seconds;
  int rounds = 0, told = 0, unfinished = 0;
  for (; now() < end; rounds++) {
    int ends[2];
    pid_t programs[2];
    assert_int_equal(pipe(ends), 0);
    for (int p = 0; p < 2; p++) {
      programs[p] = fork();
      if (programs[p] == 0) append_for_ever(1000000 * p, ends[1]);
    }
    close(ends[1]);
    for (int p = 0; p < 2; p++) {
      usleep((useconds_t)test_random_below(&random, 20000));
      assert_int_equal(kill(programs[p], SIGKILL), 0);
      int status;
      assert_int_equal(waitpid(programs[p], &status, 0), programs[p]);
      assert_true(WIFSIGNALED(status));
    }
    szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
    for (int time; read(ends[0], &time, sizeof time) == sizeof time; told++)
      assert_true(has_time(series, time));
    szgpu_status const last = szgpu_series_end(series, NULL);
    assert_true(last == SZGPU_OK || last == SZGPU_UNFINISHED);
    unfinished += last == SZGPU_UNFINISHED;
    for (uint64_t i = 0; i < szgpu_series_count(series); i++) assert_step(series, i);
    assert_int_equal(append(series, -1), SZGPU_OK);
    szgpu_series_close(series);
    unlink(path);
    close(ends[0]);
  }
  printf("           %d rounds, %d steps, %d unfinished\n", rounds, told, unfinished);
  assert_true(rounds > 10 && told > 0);
}

static int read_memory_or_die(void *user, uint64_t offset, void *bytes, size_t byte_count,
                              size_t *got_bytes) {
  if (read_memory(user, offset, bytes, byte_count, got_bytes) == 0) return 0;
  return kill(getpid(), SIGKILL);
}

/* Killed when it has written so much of a step that holds a copy of a series. */
static void append_until_killed(const test_archive *copy, int pieces) {
  memory_source bytes = source_of(copy->bytes, copy->byte_count);
  bytes.reads_until_fail = pieces;
  szgpu_source const source = {.read = read_memory_or_die, .user = &bytes};
  szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
  (void)!szgpu_series_append_source(series, &source, copy->byte_count, NULL);
  _exit(FAILED);
}

/* Its own bytes were taken for finished steps that would be lost. */
static void a_killed_copy_of_a_series_gives_way_to_the_next_append(void **state) {
  (void)state;
  enum { COPY_BYTES = 3 << 20 }; /* three pieces of append_source */
  uint8_t *const bytes = test_allocate(COPY_BYTES);
  test_random random = test_random_begin();
  for (size_t i = 0; i < COPY_BYTES; i++) bytes[i] = (uint8_t)test_random_bits(&random);
  szgpu_series *series = open_path(other_path, SZGPU_SERIES_APPEND);
  for (int i = 0; i < 2; i++) assert_int_equal(append(series, i), SZGPU_OK);
  szgpu_series_close(series);
  FILE *const file = fopen(other_path, "r");
  assert_non_null(file);
  assert_true(fread(bytes, 1, COPY_BYTES, file) > 0);
  fclose(file);
  szgpu_shape const bytes_shape = test_shape(SZGPU_U8, 1, COPY_BYTES, 0, 0, 0);
  test_archive const copy = test_compress(ctx, &params, &bytes_shape, bytes);
  for (int pieces = 1; pieces < 3; pieces++) {
    pid_t const program = fork();
    int status;
    if (program == 0) append_until_killed(&copy, pieces);
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFSIGNALED(status));
    series = open_path(path, SZGPU_SERIES_APPEND);
    assert_int_equal(szgpu_series_end(series, NULL), SZGPU_UNFINISHED);
    assert_int_equal(append(series, 0), SZGPU_OK);
    szgpu_series_close(series);
    assert_file(path, 1);
    unlink(path);
  }
  free(copy.bytes);
  free(bytes);
}

/* ---- what becomes of the file meanwhile ---- */

static void write_all(const char *name, const char *bytes, size_t byte_count, const char *mode) {
  FILE *const file = fopen(name, mode);
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, byte_count, file), byte_count);
  assert_int_equal(fclose(file), 0);
}

enum { EXTENDED, SHORTENED, REPLACED, REMOVED, CHANGES };

static void change(int how) {
  if (how == EXTENDED) write_all(path, "x", 1, "a");
  if (how == SHORTENED) assert_int_equal(truncate(path, size_of(path) - 16), 0);
  if (how == REPLACED) {
    write_all(other_path, "another's", 9, "w");
    assert_int_equal(rename(other_path, path), 0);
  }
  if (how == REMOVED) assert_int_equal(unlink(path), 0);
}

/* Steps went to a file without a name, over what another program had written, or behind a hole. */
static void nothing_is_written_to_a_file_that_another_program_changed(void **state) {
  (void)state;
  static const char *const sentences[CHANGES] = {
      "another program has changed the file's length; open the series again",
      "another program has changed the file's length; open the series again",
      "another file has its name now; open the series again",
      "its file was removed; open the series again to begin a new one"};
  for (int how = 0; how < CHANGES; how++)
    for (int steps = 0; steps < 2; steps++) {
      if (how == SHORTENED && steps == 0) continue;
      szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
      for (int i = 0; i < steps; i++) assert_int_equal(append(series, i), SZGPU_OK);
      change(how);
      off_t const size = size_of(path);
      assert_int_equal(append(series, 1), SZGPU_SERIES_CHANGED);
      assert_int_equal(szgpu_series_append(series, ctx, &params, &shape, field, NULL),
                       SZGPU_SERIES_CHANGED);
      assert_string_equal(szgpu_last_error(ctx), sentences[how]);
      memory_source values = source_of(field, VALUES * sizeof *field);
      szgpu_source const source = {.read = read_memory, .user = &values};
      assert_int_equal(szgpu_series_append_stream(series, &ctx, 1, &params, &shape, &source, NULL),
                       SZGPU_SERIES_CHANGED);
      assert_string_equal(szgpu_last_error(ctx), sentences[how]);
      assert_int_equal(szgpu_series_count(series), steps);
      assert_int_equal(size_of(path), size);
      szgpu_series_close(series);
      assert_int_equal(size_of(path), size); /* not removed: it is not as it was made */
      unlink(path);
    }
}

/* As an append does that is at work. */
typedef struct meddling_source {
  memory_source values;
  int how; /* it changes the file */
} meddling_source;

static int read_and_meddle(void *user, uint64_t offset, void *bytes, size_t byte_count,
                           size_t *got_bytes) {
  meddling_source *const source = user;
  if (source->how >= 0) change(source->how);
  source->how = -1;
  return read_memory(&source->values, offset, bytes, byte_count, got_bytes);
}

static void a_change_during_an_append_is_told(void **state) {
  (void)state;
  for (int how = 0; how < CHANGES; how++) {
    szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
    assert_int_equal(append(series, 0), SZGPU_OK);
    meddling_source meddling = {source_of(field, VALUES * sizeof *field), how};
    szgpu_source const source = {.read = read_and_meddle, .user = &meddling};
    assert_int_equal(szgpu_series_append_stream(series, &ctx, 1, &params, &shape, &source, NULL),
                     SZGPU_SERIES_CHANGED);
    assert_int_equal(append(series, 1), SZGPU_SERIES_CHANGED);
    assert_int_equal(szgpu_series_count(series), 1);
    szgpu_series_close(series);
    if (how == REPLACED) assert_int_equal(size_of(path), 9);
    if (how == EXTENDED || how == SHORTENED) {
      szgpu_series *const again = open_path(path, SZGPU_SERIES_APPEND);
      assert_int_equal(append(again, 1), SZGPU_OK);
      szgpu_series_close(again);
      assert_file(path, 2);
    }
    unlink(path);
  }
}

static void a_file_that_was_moved_goes_on(void **state) {
  (void)state;
  szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
  assert_int_equal(append(series, 0), SZGPU_OK);
  assert_int_equal(rename(path, other_path), 0);
  assert_int_equal(append(series, 1), SZGPU_OK);
  szgpu_series_close(series);
  assert_file(other_path, 2);
}

/* Not even if its folder is gone before the first step, which failed. */
static void a_new_file_that_was_moved_goes_on(void **state) {
  (void)state;
  char inner[4096], inner_path[4200];
  (void)snprintf(inner, sizeof inner, "%s/inner", folder);
  (void)snprintf(inner_path, sizeof inner_path, "%s/run.szgs", inner);
  assert_int_equal(mkdir(inner, 0777), 0);
  szgpu_series *const series = open_path(inner_path, SZGPU_SERIES_APPEND);
  assert_int_equal(rename(inner_path, path), 0);
  assert_int_equal(rmdir(inner), 0);
  assert_int_equal(append(series, 0), SZGPU_OK);
  assert_int_equal(append(series, 1), SZGPU_OK);
  szgpu_series_close(series);
  assert_file(path, 2);
}

/* A copy of the descriptor, as a mapping may have one, and processes that live on kept the lock. */
static void a_closed_series_has_no_lock(void **state) {
  (void)state;
  int ends[2];
  char byte = 0;
  assert_int_equal(pipe(ends), 0);
  szgpu_series *series = open_path(path, SZGPU_SERIES_APPEND);
  assert_int_equal(append(series, 0), SZGPU_OK);
  int const copy = dup(szgpu_series_descriptor(series));
  assert_true(copy >= 0);
  pid_t const child = fork();
  if (child == 0) { /* has the descriptors until the parent has closed its end */
    close(ends[1]);
    _exit((int)read(ends[0], &byte, 1));
  }
  szgpu_series_close(series);
  series = open_path(path, SZGPU_SERIES_APPEND);
  assert_int_equal(append(series, 1), SZGPU_OK);
  szgpu_series_close(series);
  close(ends[1]);
  assert_int_equal(exit_code(child), 0);
  close(ends[0]), close(copy);
  assert_file(path, 2);
}

/* Whoever made it removes only its own. */
static void a_file_that_took_the_place_of_a_new_one_stays(void **state) {
  (void)state;
  szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
  write_all(other_path, "", 0, "w");
  assert_int_equal(rename(other_path, path), 0);
  szgpu_series_close(series);
  assert_int_equal(size_of(path), 0);
}

static void a_link_that_leads_nowhere_is_refused(void **state) {
  (void)state;
  szgpu_series *series;
  int error_number;
  assert_int_equal(symlink("not there", path), 0);
  assert_int_equal(szgpu_series_open_file(&series, path, SZGPU_SERIES_APPEND, &error_number),
                   SZGPU_SINK_FAILED);
  assert_int_equal(error_number, ENOENT);
}

/* The folder may be another by then, and the name be relative. */
static void a_new_file_is_removed_where_it_was_made(void **state) {
  (void)state;
  char before[4096];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  szgpu_series *const series = open_path("run.szgs", SZGPU_SERIES_APPEND);
  assert_int_equal(chdir(before), 0);
  szgpu_series_close(series);
  assert_int_equal(size_of(path), -1);
}

/* A step was mapped whose pages were gone: SIGBUS. */
static void a_file_that_became_shorter_is_told_by_its_readers(void **state) {
  (void)state;
  szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
  szgpu_params const large_params = test_params(SZGPU_MODE_LOSSLESS, 1);
  szgpu_shape const large_shape = test_shape(SZGPU_F32, 1, 100000, 0, 0, 0);
  size_t const large_bytes = test_field_bytes(&large_shape);
  float *const large = test_allocate(large_bytes);
  test_random random = test_random_begin();
  for (int i = 0; i < 100000; i++) large[i] = (float)test_random_below(&random, 1 << 24);
  assert_int_equal(szgpu_series_append(series, ctx, &large_params, &large_shape, large, NULL),
                   SZGPU_OK);
  szgpu_series_close(series);
  off_t const size = size_of(path);
  szgpu_series *const reader = open_path(path, SZGPU_SERIES_READ);
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_region const region = {{99990}, {10}};
  for (off_t left = size; left >= 0; left -= left > 70000 ? 30000 : 4096) {
    bool const is_whole = left == size;
    assert_int_equal(truncate(path, left), 0);
    szgpu_status const status = szgpu_series_read(reader, ctx, 0, 0, NULL, large, large_bytes);
    assert_int_equal(status, is_whole ? SZGPU_OK : SZGPU_TRUNCATED);
    szgpu_status const part = szgpu_series_read(reader, ctx, 0, 0, &region, large, 40);
    assert_int_equal(part, is_whole ? SZGPU_OK : SZGPU_TRUNCATED);
  }
  assert_int_equal(truncate(path, 0), 0);
  assert_int_equal(szgpu_series_step(reader, 0, &step), SZGPU_TRUNCATED);
  szgpu_series_close(reader);
  free(large);
}

/* ---- processes ---- */

/* Every call, in a process that was forked. Returns the number of those that were not refused. */
static int use_inherited(szgpu_series *series) {
  static float restored[VALUES];
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_info info = {.struct_bytes = sizeof info};
  memory_source values = source_of(field, VALUES * sizeof *field);
  memory_source bytes = source_of(archive.bytes, archive.byte_count);
  memory_sink streamed = sink_of(VALUES * sizeof *field);
  szgpu_source const from_field = {.read = read_memory, .user = &values},
                     from_archive = {.read = read_memory, .user = &bytes};
  szgpu_sink const sink = {.write = write_memory, .user = &streamed};
  szgpu_status const statuses[] = {
      szgpu_series_step(series, 0, &step),
      szgpu_series_end(series, &step),
      szgpu_series_inspect(series, 0, &info),
      szgpu_series_read(series, ctx, 0, 0, NULL, restored, sizeof restored),
      szgpu_series_read_stream(series, &ctx, 1, 0, &sink),
      szgpu_series_append(series, ctx, &params, &shape, field, NULL),
      szgpu_series_append_stream(series, &ctx, 1, &params, &shape, &from_field, NULL),
      append(series, 5),
      szgpu_series_append_source(series, &from_archive, archive.byte_count, NULL),
      szgpu_series_cut(series)};
  int taken = szgpu_series_count(series) != 0;
  for (size_t i = 0; i < ARRAY_COUNT(statuses); i++) taken += statuses[i] != SZGPU_OTHER_PROCESS;
  taken += strcmp(szgpu_last_error(ctx), "open the series in the process that uses it") != 0;
  szgpu_series_close(series);
  return taken;
}

/* Parent and child wrote at one place, and steps of either vanished. */
static void a_forked_process_cannot_use_a_series(void **state) {
  (void)state;
  for (int access = SZGPU_SERIES_READ; access <= SZGPU_SERIES_APPEND; access++)
    for (int steps = access == SZGPU_SERIES_READ; steps < 3; steps++) {
      szgpu_series *series = open_path(path, SZGPU_SERIES_APPEND);
      for (int i = 0; i < steps; i++) assert_int_equal(append(series, i), SZGPU_OK);
      if (access == SZGPU_SERIES_READ) {
        szgpu_series_close(series);
        series = open_path(path, SZGPU_SERIES_READ);
      }
      pid_t const child = fork();
      if (child == 0) _exit(use_inherited(series));
      assert_int_equal(exit_code(child), 0);
      assert_true(size_of(path) >= 0); /* the child's close did not remove it */
      if (access == SZGPU_SERIES_APPEND) {
        szgpu_series *second;
        assert_int_equal(szgpu_series_open_file(&second, path, SZGPU_SERIES_APPEND, NULL),
                         SZGPU_LOCKED);
        assert_int_equal(append(series, 9), SZGPU_OK);
      }
      szgpu_series_close(series);
      assert_file(path, (uint64_t)(steps + (access == SZGPU_SERIES_APPEND)));
      unlink(path);
    }
}

/* ---- threads ---- */

/* A source that waits within the append of a thread, until it may go on. */
typedef struct waiting_source {
  memory_source values;
  szgpu_series *series;
  szgpu_ctx *ctx;
  atomic_bool is_begun, may_end;
  szgpu_status status; /* of the append */
} waiting_source;

static int read_and_wait(void *user, uint64_t offset, void *bytes, size_t byte_count,
                         size_t *got_bytes) {
  waiting_source *const source = user;
  atomic_store(&source->is_begun, true);
  while (!atomic_load(&source->may_end)) usleep(100);
  return read_memory(&source->values, offset, bytes, byte_count, got_bytes);
}

static void *append_slowly(void *argument) {
  waiting_source *const waiting = argument;
  szgpu_source const source = {.read = read_and_wait, .user = waiting};
  waiting->status =
      szgpu_series_append_stream(waiting->series, &waiting->ctx, 1, &params, &shape, &source, NULL);
  return NULL;
}

static pthread_t begin_slow_append(waiting_source *waiting, szgpu_series *series) {
  pthread_t thread;
  *waiting = (waiting_source){.values = source_of(field, VALUES * sizeof *field),
                              .series = series,
                              .ctx = test_make_ctx(1)};
  assert_int_equal(pthread_create(&thread, NULL, append_slowly, waiting), 0);
  while (!atomic_load(&waiting->is_begun)) usleep(100);
  return thread;
}

static void end_slow_append(waiting_source *waiting, pthread_t thread) {
  atomic_store(&waiting->may_end, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(waiting->status, SZGPU_OK);
  szgpu_destroy(waiting->ctx);
}

/* Even if the fork came during a call, which nobody ends there. */
static void a_forked_process_that_closes_a_series_has_no_lock(void **state) {
  (void)state;
  for (int is_busy = 0; is_busy < 2; is_busy++) {
    int ends[2], closed[2];
    char byte = 0;
    pthread_t thread;
    waiting_source waiting;
    assert_int_equal(pipe(ends) + pipe(closed), 0);
    szgpu_series *series = open_path(path, SZGPU_SERIES_APPEND);
    if (is_busy) thread = begin_slow_append(&waiting, series);
    pid_t const child = fork();
    if (child == 0) { /* waits until the parent has closed its end */
      szgpu_series_close(series);
      close(ends[1]);
      if (write(closed[1], &byte, 1) != 1) _exit(FAILED);
      _exit((int)read(ends[0], &byte, 1));
    }
    assert_int_equal(read(closed[0], &byte, 1), 1);
    if (is_busy) end_slow_append(&waiting, thread);
    szgpu_series *second;
    assert_int_equal(szgpu_series_open_file(&second, path, SZGPU_SERIES_APPEND, NULL),
                     SZGPU_LOCKED);
    assert_int_equal(append(series, 0), SZGPU_OK);
    szgpu_series_close(series);
    series = open_path(path, SZGPU_SERIES_APPEND);
    assert_int_equal(append(series, 1), SZGPU_OK);
    szgpu_series_close(series);
    close(ends[1]);
    assert_int_equal(exit_code(child), 0);
    close(ends[0]), close(closed[0]), close(closed[1]);
    assert_file(path, 2 + (uint64_t)is_busy);
    unlink(path);
  }
}

/* Both wrote at one place, and the list of steps moved while it was read. */
static void a_second_thread_is_refused_while_a_call_is_at_work(void **state) {
  (void)state;
  static float restored[VALUES];
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
  assert_int_equal(append(series, 0), SZGPU_OK);
  waiting_source waiting;
  pthread_t const thread = begin_slow_append(&waiting, series);
  assert_int_equal(szgpu_series_append(series, ctx, &params, &shape, field, NULL),
                   SZGPU_BAD_ARGUMENT);
  assert_string_equal(szgpu_last_error(ctx),
                      "another call is using the series; wait until it has returned");
  assert_int_equal(szgpu_series_read(series, ctx, 0, 0, NULL, restored, sizeof restored),
                   SZGPU_BAD_ARGUMENT);
  assert_int_equal(append(series, 1), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_step(series, 0, &step), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_end(series, &step), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_inspect(series, 0, &info), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_cut(series), SZGPU_BAD_ARGUMENT);
  assert_int_equal(szgpu_series_count(series), 1);
  end_slow_append(&waiting, thread);
  assert_int_equal(szgpu_series_end(series, &step), SZGPU_OK);
  szgpu_series_close(series);
  assert_file(path, 2);
}

/* It freed what the call was using. */
static void a_close_during_a_call_waits_for_its_end(void **state) {
  (void)state;
  szgpu_series *second, *const series = open_path(path, SZGPU_SERIES_APPEND);
  waiting_source waiting;
  pthread_t const thread = begin_slow_append(&waiting, series);
  szgpu_series_close(series);
  assert_int_equal(szgpu_series_open_file(&second, path, SZGPU_SERIES_APPEND, NULL), SZGPU_LOCKED);
  end_slow_append(&waiting, thread);
  second = open_path(path, SZGPU_SERIES_APPEND); /* the end of the append has closed it */
  assert_int_equal(append(second, 1), SZGPU_OK);
  szgpu_series_close(second);
  assert_file(path, 2);
}

typedef struct appender {
  szgpu_series *series;
  int steps;
} appender;

static void *append_in_turn(void *argument) {
  appender *const own = argument;
  for (int i = 0; i < 50; i++) {
    szgpu_status const status = append(own->series, i);
    if (status == SZGPU_OK) own->steps++;
    if (status != SZGPU_OK && status != SZGPU_BAD_ARGUMENT) own->steps += FAILED * FAILED;
  }
  return NULL;
}

static void threads_that_append_at_once_lose_nothing(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  appender appenders[THREADS];
  szgpu_series *const series = open_path(path, SZGPU_SERIES_APPEND);
  for (int i = 0; i < THREADS; i++) {
    appenders[i] = (appender){series, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, append_in_turn, &appenders[i]), 0);
  }
  int steps = 0;
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    steps += appenders[i].steps;
  }
  assert_true(steps > 0);
  szgpu_series_close(series);
  assert_file(path, (uint64_t)steps);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(int argument_count, char **arguments) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(a_step_is_not_lost_when_another_program_gives_up),
      IN_FOLDER(killed_programs_leave_what_they_have_finished),
      IN_FOLDER(a_killed_copy_of_a_series_gives_way_to_the_next_append),
      IN_FOLDER(nothing_is_written_to_a_file_that_another_program_changed),
      IN_FOLDER(a_change_during_an_append_is_told),
      IN_FOLDER(a_file_that_was_moved_goes_on),
      IN_FOLDER(a_new_file_that_was_moved_goes_on),
      IN_FOLDER(a_closed_series_has_no_lock),
      IN_FOLDER(a_file_that_took_the_place_of_a_new_one_stays),
      IN_FOLDER(a_link_that_leads_nowhere_is_refused),
      IN_FOLDER(a_new_file_is_removed_where_it_was_made),
      IN_FOLDER(a_file_that_became_shorter_is_told_by_its_readers),
      IN_FOLDER(a_forked_process_cannot_use_a_series),
      IN_FOLDER(a_forked_process_that_closes_a_series_has_no_lock),
      IN_FOLDER(a_second_thread_is_refused_while_a_call_is_at_work),
      IN_FOLDER(a_close_during_a_call_waits_for_its_end),
      IN_FOLDER(threads_that_append_at_once_lose_nothing),
  };
  if (argument_count > 1) seconds = strtod(arguments[1], NULL);
  return cmocka_run_group_tests(tests, make_archive, free_archive);
}
