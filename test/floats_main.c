/* floats_main.c - runs the sweeps over floating-point numbers: options, threads, the summary.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "floats.h"

static const floats_sweep *const sweeps[] = {&floats_sweep_bytes, &floats_sweep_lattice,
                                             &floats_sweep_f64, &floats_sweep_f32};
enum { SWEEP_COUNT = sizeof sweeps / sizeof *sweeps };

static const char help[] =
    "  --only SWEEP     one of bytes, lattice, f64, f32\n"
    "  --sample N       every N-th case of f32, and every (N / 32)-th of the others\n"
    "  --part I/N       the I-th of N parts of them, from 0, to share the work\n"
    "  --case NUMBER    one case of the sweep of --only\n"
    "  --block-bits N   f32: 2^N patterns in a field, 16 to 28\n"
    "  --every-way      f32: each block in both layouts and by all predictors, not in one of them\n"
    "  --jobs N         N threads\n";

/* ---- the test of the check ---- */

typedef struct known_answer {
  double x, restored, bound;
  bool exceeds;
} known_answer;

static const known_answer known_answers[] = {
    {1.0, 0.75, 0.25, false},
    {1.0, 0.75, 0.25 - 0x1p-54, true},
    {1.0, 0x1p-60, 1.0, false}, /* 1 - 2^-60, rounded to 1 */
    {1.0, -0x1p-60, 1.0, true}, /* 1 + 2^-60, rounded to 1 */
    {-1.0, 0x1p-60, 1.0, true}, /* -(1 + 2^-60) */
    {-1.0, -0x1p-60, 1.0, false},
    {0x1p-60, 1.0, 1.0, false},
    {0x1p-60, -1.0, 1.0, true},
    {1.0, -0x1p-1074, 1.0, true},
    {0x1p-149, 0.0, 0x1p-149, false},
    {0x1p-149, -0x1p-149, 0x1p-149, true},
    {0x1p-1074, 0.0, 0x1p-1074, false},
    {0x1p-1073, 0.0, 0x1p-1074, true},
    {DBL_MAX, -DBL_MAX, DBL_MAX, true},
    {DBL_MAX, -0x1p-1074, DBL_MAX, true}, /* DBL_MAX + 2^-1074, rounded to DBL_MAX */
    {DBL_MAX, 0.0, DBL_MAX, false},
    {DBL_MAX, 0x1p-1074, DBL_MAX, false},
    {0.0, -0.0, 0.0, false},
    {0x1p-1074, 0.0, 0.0, true},
    {0.0, -0.0, -1.0, true}, /* lossless */
    {NAN, 0.0, DBL_MAX, true},
    {0.0, NAN, DBL_MAX, true},
    {INFINITY, INFINITY, DBL_MAX, true}, /* equal bits are not for this function to find */
    {INFINITY, DBL_MAX, DBL_MAX, true},
    {1.0, -INFINITY, DBL_MAX, true},
};

/* Random pairs whose difference 2^62 states exactly: integers, scaled. */
static bool integers_agree(uint64_t i) {
  uint64_t const hash = floats_hash(i), other = floats_hash(hash);
  int64_t const x = (int64_t)(hash >> 11) >> hash % 50, r = (int64_t)(other >> 11) >> other % 50;
  int64_t const signed_r = other & 1024 ? -r : r;
  uint64_t const distance = (uint64_t)(x > signed_r ? x - signed_r : signed_r - x);
  double const near = (double)distance; /* may be rounded */
  for (int nudge = -1; nudge <= 1; nudge++) {
    double const bound = nudge ? nextafter(near, nudge * DBL_MAX) : near;
    if (bound < 0) continue;
    bool const exceeds =
        (bound != floor(bound)) ? distance > (uint64_t)floor(bound) : distance > (uint64_t)bound;
    double const scale = ldexp(1.0, (int)(hash >> 32 & 1023) - 512);
    if (floats_exceeds((double)x * scale, (double)signed_r * scale, bound * scale) != exceeds)
      return false;
  }
  return true;
}

/* Each order is its own inverse, so it has every pattern once. */
static bool orders_are_permutations(void) {
  for (uint32_t i = 0; i < 1u << 20; i++)
    for (int order = 0; order < FLOATS_ORDER_COUNT; order++) {
      uint32_t const index = i * 4097u + (i & 1 ? 0 : i << 8);
      uint32_t const pattern = floats_pattern((floats_order)order, index);
      if (floats_pattern((floats_order)order, pattern) != index) return false;
    }
  return true;
}

static bool check_is_right(void) {
  for (size_t i = 0; i < sizeof known_answers / sizeof *known_answers; i++) {
    const known_answer *const a = &known_answers[i];
    if (floats_exceeds(a->x, a->restored, a->bound) == a->exceeds) continue;
    printf("FAILED: |%a - %a| > %a is not %d\n", a->x, a->restored, a->bound, a->exceeds);
    return false;
  }
  for (uint64_t i = 0; i < 1 << 20; i++) {
    if (integers_agree(i)) continue;
    printf("FAILED: differences of integers, pair %llu\n", (unsigned long long)i);
    return false;
  }
  if (!orders_are_permutations()) printf("FAILED: an order has a pattern twice\n");
  return orders_are_permutations();
}

/* ---- options ---- */

static bool parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *count) {
  char *end;
  *count = strtoull(text, &end, 10);
  return end != text && *end == 0 && *count >= least && *count <= most;
}

static bool parse_part(const char *text, floats_options *options) {
  unsigned long long part, part_count;
  char more;
  if (sscanf(text, "%llu/%llu%c", &part, &part_count, &more) != 2 || part >= part_count)
    return false;
  options->part = part;
  options->part_count = part_count;
  return true;
}

static bool is_sweep(const char *name) {
  for (int i = 0; i < SWEEP_COUNT; i++)
    if (strcmp(sweeps[i]->name, name) == 0) return true;
  return false;
}

/* One option with its argument, which may be NULL. */
static bool parse_option(const char *name, const char *argument, floats_options *options) {
  uint64_t bits = options->block_bits;
  if (!argument) return false;
  if (strcmp(name, "--only") == 0) options->only = argument;
  if (strcmp(name, "--only") == 0) return is_sweep(argument);
  if (strcmp(name, "--part") == 0) return parse_part(argument, options);
  if (strcmp(name, "--sample") == 0) return parse_count(argument, 1, UINT32_MAX, &options->sample);
  if (strcmp(name, "--case") == 0)
    return parse_count(argument, 0, UINT64_MAX - 1, &options->only_case);
  if (strcmp(name, "--jobs") == 0) return parse_count(argument, 1, 1024, &options->jobs);
  bool const is_good = strcmp(name, "--block-bits") == 0 && parse_count(argument, 16, 28, &bits);
  options->block_bits = (uint32_t)bits;
  return is_good;
}

static floats_options parse_options(const floats_program *program, int count, char **arguments) {
  floats_options options = program->defaults;
  for (int i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--every-way") == 0) {
      options.every_way = true;
    } else if (parse_option(arguments[i], arguments[i + 1], &options)) {
      i++;
    } else {
      fprintf(stderr, "usage: %s [OPTION]...\n%s", program->name, help);
      exit(2);
    }
  }
  if (options.only_case != UINT64_MAX && !options.only) {
    fprintf(stderr, "%s: --case needs --only.\n", program->name);
    exit(2);
  }
  return options;
}

/* ---- threads ---- */

typedef struct run {
  const floats_program *program;
  floats_options options;
  const floats_sweep *sweep;
  atomic_uint_fast64_t next; /* a number in the sample */
  uint64_t end, stride;
} run;

typedef struct thread {
  run *run;
  floats_worker worker;
  pthread_t id;
} thread;

static void *work(void *thread_pointer) {
  thread *const own = thread_pointer;
  run *const r = own->run;
  const floats_options *const o = &r->options;
  for (;;) {
    uint64_t const taken = atomic_fetch_add(&r->next, 1);
    if (taken >= r->end) return NULL;
    if (taken % o->part_count != o->part) continue;
    own->worker.sweep = r->sweep->name;
    own->worker.number = o->only_case == UINT64_MAX ? taken * r->stride : o->only_case;
    r->sweep->run(&own->worker, r->program->run_block, own->worker.number);
  }
}

static void run_sweep(run *r, thread *threads) {
  uint64_t const count = r->sweep->count(&r->options), only_case = r->options.only_case;
  uint64_t const stride = r->options.sample / r->sweep->sample_share;
  r->stride = stride ? stride : 1;
  r->end = only_case == UINT64_MAX ? (count + r->stride - 1) / r->stride : 1;
  if (only_case != UINT64_MAX && only_case >= count) {
    fprintf(stderr, "%s: the sweep has %llu cases.\n", r->program->name, (unsigned long long)count);
    exit(2);
  }
  atomic_store(&r->next, 0);
  for (uint64_t i = 0; i < r->options.jobs; i++) {
    threads[i].run = r;
    if (pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0) {
      printf("FAILED: no thread could be started\n");
      exit(1);
    }
  }
  for (uint64_t i = 0; i < r->options.jobs; i++) pthread_join(threads[i].id, NULL);
}

static void open_threads(const floats_program *program, const floats_options *options,
                         thread *threads) {
  szgpu_options ctx_options = SZGPU_OPTIONS_DEFAULTS;
  ctx_options.backend = program->backend;
  ctx_options.threads = 1;
  for (uint64_t i = 0; i < options->jobs; i++) {
    floats_worker *const worker = &threads[i].worker;
    worker->options = options;
    worker->program = program->name;
    szgpu_status const status = szgpu_create(&worker->ctx, &ctx_options);
    if (status == SZGPU_OK) continue;
    printf("FAILED: no ctx: %s\n", szgpu_status_text(status));
    exit(1);
  }
}

static void close_threads(const floats_program *program, uint64_t jobs, thread *threads) {
  for (uint64_t i = 0; i < jobs; i++) {
    floats_worker *const worker = &threads[i].worker;
    szgpu_destroy(worker->ctx);
    if (program->close_worker) program->close_worker(worker);
    free(worker->field.bytes);
    free(worker->archive.bytes);
    free(worker->restored.bytes);
  }
  free(threads);
}

/* ---- the summary ---- */

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static floats_tally sum_of_tallies(const floats_options *options, const thread *threads) {
  floats_tally sum = {0};
  for (uint64_t i = 0; i < options->jobs; i++) {
    const floats_tally *const t = &threads[i].worker.tally;
    sum.values += t->values;
    sum.changed_values += t->changed_values;
    sum.archives += t->archives;
    sum.field_bytes += t->field_bytes;
    sum.archive_bytes += t->archive_bytes;
    for (int path = 0; path < FLOATS_PATH_COUNT; path++) sum.paths[path] += t->paths[path];
  }
  return sum;
}

static void print_tally(const char *name, const floats_tally *now, const floats_tally *before,
                        double seconds) {
  printf("%-8s %15llu values, %14llu changed, %9llu archives, %8.1f s\n", name,
         (unsigned long long)(now->values - before->values),
         (unsigned long long)(now->changed_values - before->changed_values),
         (unsigned long long)(now->archives - before->archives), seconds);
  fflush(stdout);
}

/* In a run of all sweeps, every kind of frame must be met; a rare sample may miss some. */
enum { MOST_SAMPLE = 4000 };
static bool print_paths(const floats_options *options, const floats_tally *tally) {
#define PATH_TEXT(name, text) text,
  static const char *const texts[] = {FLOATS_PATH_LIST(PATH_TEXT)};
  bool all_met = true;
  for (int path = 0; path < FLOATS_PATH_COUNT; path++) {
    printf("%9llu %s\n", (unsigned long long)tally->paths[path], texts[path]);
    all_met &= tally->paths[path] > 0;
  }
  bool const may_miss = options->only || options->part_count > 1 || options->sample > MOST_SAMPLE;
  if (may_miss || all_met) return true;
  printf("FAILED: some kind of frame was not met\n");
  return false;
}

int floats_main(const floats_program *program, int argument_count, char **arguments) {
  run r = {.program = program, .options = parse_options(program, argument_count, arguments)};
  if (!check_is_right()) return 1;
  thread *const threads = calloc(r.options.jobs, sizeof *threads);
  if (!threads) return 1;
  open_threads(program, &r.options, threads);
  double const begin = seconds_now();
  floats_tally before = {0};
  for (int i = 0; i < SWEEP_COUNT; i++) {
    double const sweep_begin = seconds_now();
    r.sweep = sweeps[i];
    if (r.options.only && strcmp(r.options.only, r.sweep->name) != 0) continue;
    run_sweep(&r, threads);
    floats_tally const now = sum_of_tallies(&r.options, threads);
    print_tally(r.sweep->name, &now, &before, seconds_now() - sweep_begin);
    before = now;
  }
  print_tally("all", &before, &(floats_tally){0}, seconds_now() - begin);
  bool const is_complete = print_paths(&r.options, &before);
  close_threads(program, r.options.jobs, threads);
  return is_complete ? 0 : 1;
}
