/* bench_region.c - times szgpu_decompress_region on an archive, and says how much of it is read.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_region ARCHIVE LEVEL FIRST COUNT THREADS REPEATS
 *
 * FIRST and COUNT are the box, as in 100,200,300 and 16,16,16, slowest axis first. The bench prints
 * one JSON object: the least and the median seconds of calls with one ctx, the seconds of the first
 * one, and the bytes of the pages that a call reads, found by taking them away from it. The archive
 * is in memory.
 */
#define _DEFAULT_SOURCE /* mmap, sigaction */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "szgpu.h"

typedef struct bench {
  szgpu_ctx *ctx;
  uint8_t *archive;
  size_t archive_bytes, box_bytes;
  int level;
  szgpu_region region;
  void *box;
} bench;

static uint8_t *taken; /* pages that the call may not read yet */
static size_t taken_bytes, page_bytes;
static volatile sig_atomic_t pages_read;

static void die(const char *what) {
  fprintf(stderr, "bench_region: %s\n", what);
  exit(2);
}

static void read_archive(const char *path, bench *b) {
  FILE *const file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) die("cannot open the archive");
  b->archive_bytes = (size_t)ftell(file);
  rewind(file);
  b->archive =
      mmap(NULL, b->archive_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (b->archive == MAP_FAILED || fread(b->archive, 1, b->archive_bytes, file) != b->archive_bytes)
    die("cannot read the archive");
  fclose(file);
}

static void parse_numbers(const char *text, int count, uint64_t *numbers) {
  for (int i = 0; i < count; i++) {
    char *end;
    numbers[i] = strtoull(text, &end, 10);
    if (end == text || *end != (i + 1 < count ? ',' : '\0'))
      die("a box has a number for each axis");
    text = end + 1;
  }
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double restore(bench *b) {
  double const start = seconds_now();
  szgpu_status const status = szgpu_decompress_region(b->ctx, b->archive, b->archive_bytes,
                                                      b->level, &b->region, b->box, b->box_bytes);
  double const seconds = seconds_now() - start;
  if (status == SZGPU_OK) return seconds;
  fprintf(stderr, "bench_region: %s (%s)\n", szgpu_status_text(status), szgpu_last_error(b->ctx));
  exit(2);
}

static void open_page(int number, siginfo_t *info, void *context) {
  (void)context;
  uint8_t *const at = info->si_addr;
  if (at < taken || at >= taken + taken_bytes) {
    signal(number, SIG_DFL);
    return;
  }
  pages_read++;
  mprotect(taken + (size_t)(at - taken) / page_bytes * page_bytes, page_bytes, PROT_READ);
}

static size_t bytes_read(bench *b) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = open_page;
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  taken = b->archive;
  taken_bytes = (b->archive_bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (sigaction(SIGSEGV, &action, NULL) != 0 || mprotect(taken, taken_bytes, PROT_NONE) != 0)
    die("cannot take the archive's pages away");
  restore(b);
  return (size_t)pages_read * page_bytes;
}

static int by_value(const void *a, const void *b) {
  double const x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 7) die("usage: bench_region ARCHIVE LEVEL FIRST COUNT THREADS REPEATS");
  bench b = {.level = atoi(argv[2])};
  int const repeats = atoi(argv[6]);
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  szgpu_info info = {.struct_bytes = sizeof info};
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = atoi(argv[5]);
  read_archive(argv[1], &b);
  if (szgpu_inspect(b.archive, b.archive_bytes, &info) != SZGPU_OK) die("this is no archive");
  parse_numbers(argv[3], info.shape.ndim, b.region.first);
  parse_numbers(argv[4], info.shape.ndim, b.region.count);
  b.box_bytes = info.field_bytes;
  for (int i = 0; i < info.shape.ndim; i++) b.box_bytes /= info.shape.dims[i];
  for (int i = 0; i < info.shape.ndim; i++) b.box_bytes *= b.region.count[i];
  b.box = malloc(b.box_bytes);
  double *const seconds = malloc((size_t)(repeats > 0 ? repeats : 1) * sizeof *seconds);
  if (repeats < 1 || szgpu_create(&b.ctx, &options) != SZGPU_OK) die("bad arguments");
  if (!b.box || !seconds) die("out of memory");
  double const first = restore(&b);
  for (int i = 0; i < repeats; i++) seconds[i] = restore(&b);
  qsort(seconds, (size_t)repeats, sizeof *seconds, by_value);
  size_t const read = bytes_read(&b);
  printf(
      "{\"archive_bytes\": %zu, \"box_bytes\": %zu, \"seconds_first\": %.3g, "
      "\"seconds_min\": %.3g, \"seconds_median\": %.3g, \"bytes_read\": %zu, "
      "\"percent_read\": %.3g}\n",
      b.archive_bytes, b.box_bytes, first, seconds[0], seconds[repeats / 2], read,
      100.0 * (double)read / (double)b.archive_bytes);
  szgpu_destroy(b.ctx);
  free(b.box), free(seconds);
  return 0;
}
