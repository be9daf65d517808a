/* bench_cpu.c - times compression and decompression in memory, repeated, the result verified.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_cpu FILE f32|f64 DIMS REL_BOUND THREADS ZSTD_LEVEL REPEATS [PREDICTOR]
 *
 * FILE holds raw values of shape DIMS (100x500x500, slowest first). PREDICTOR is auto, lorenzo or
 * interpolation; without it, the library's default. The bench prints one JSON object: the sizes,
 * and the least and the median seconds of each direction, by the clock and of CPU time. It runs in
 * one process on warm memory, so its speeds are those that a simulation sees when it calls the
 * library. The exit code is 1 if a value exceeds the bound.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "szgpu.h"

typedef struct bench {
  szgpu_ctx *ctx;
  szgpu_params params;
  szgpu_shape shape;
  size_t field_bytes, capacity, archive_bytes;
  void *field, *archive, *restored;
  int repeats;
  double *compress_seconds, *decompress_seconds;
  double *compress_cpu_seconds, *decompress_cpu_seconds; /* of all threads */
} bench;

static void die(const char *what) {
  fprintf(stderr, "bench_cpu: %s\n", what);
  exit(2);
}

static void try_or_die(const bench *b, szgpu_status status) {
  if (status == SZGPU_OK) return;
  fprintf(stderr, "bench_cpu: %s (%s)\n", szgpu_status_text(status), szgpu_last_error(b->ctx));
  exit(2);
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cpu_seconds_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void parse_shape(const char *type, const char *dims, szgpu_shape *shape) {
  shape->dtype = strcmp(type, "f64") == 0 ? SZGPU_F64 : SZGPU_F32;
  for (shape->ndim = 0; *dims && shape->ndim < 4; shape->ndim++) {
    char *end;
    shape->dims[shape->ndim] = strtoull(dims, &end, 10);
    dims = *end == 'x' ? end + 1 : end;
  }
}

static szgpu_predictor parse_predictor(const char *name) {
  if (strcmp(name, "auto") == 0) return SZGPU_PREDICTOR_AUTO;
  if (strcmp(name, "interpolation") == 0) return SZGPU_PREDICTOR_INTERPOLATION;
  if (strcmp(name, "lorenzo") != 0) die("PREDICTOR is auto, lorenzo or interpolation");
  return SZGPU_PREDICTOR_LORENZO;
}

static void *read_field(const char *path, const szgpu_shape *shape, size_t *byte_count) {
  *byte_count = shape->dtype == SZGPU_F64 ? 8 : 4;
  for (int i = 0; i < shape->ndim; i++) *byte_count *= shape->dims[i];
  FILE *const file = fopen(path, "rb");
  void *const bytes = malloc(*byte_count);
  if (!file || !bytes || fread(bytes, 1, *byte_count, file) != *byte_count)
    die("cannot read the field, or it is shorter than its shape");
  fclose(file);
  return bytes;
}

static double value_at(const void *field, szgpu_dtype dtype, size_t i) {
  return dtype == SZGPU_F64 ? ((const double *)field)[i] : (double)((const float *)field)[i];
}

/* The greatest error divided by the bound; infinite if a NaN was lost. */
static double worst_error(const bench *b, double bound) {
  size_t const width = b->shape.dtype == SZGPU_F64 ? 8 : 4;
  double worst = 0.0;
  for (size_t i = 0; i < b->field_bytes / width; i++) {
    if (!memcmp((char *)b->field + i * width, (char *)b->restored + i * width, width)) continue;
    double const error =
        fabs(value_at(b->field, b->shape.dtype, i) - value_at(b->restored, b->shape.dtype, i));
    if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
  }
  return worst == 0.0 ? 0.0 : worst / bound;
}

static void run(bench *b) {
  for (int i = 0; i < b->repeats; i++) {
    memset(b->restored, 0xA5, b->field_bytes); /* to catch values left unwritten */
    double const start = seconds_now(), cpu_start = cpu_seconds_now();
    try_or_die(b, szgpu_compress(b->ctx, &b->params, &b->shape, b->field, b->archive, b->capacity,
                                 &b->archive_bytes));
    double const middle = seconds_now(), cpu_middle = cpu_seconds_now();
    try_or_die(b,
               szgpu_decompress(b->ctx, b->archive, b->archive_bytes, b->restored, b->field_bytes));
    b->compress_seconds[i] = middle - start;
    b->compress_cpu_seconds[i] = cpu_middle - cpu_start;
    b->decompress_seconds[i] = seconds_now() - middle;
    b->decompress_cpu_seconds[i] = cpu_seconds_now() - cpu_middle;
  }
}

static int by_value(const void *a, const void *b) {
  double const x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_times(const char *name, double *seconds, int count) {
  qsort(seconds, (size_t)count, sizeof *seconds, by_value);
  printf("\"%s_min\": %.6g, \"%s_median\": %.6g, ", name, seconds[0], name, seconds[count / 2]);
}

int main(int argc, char **argv) {
  if (argc != 8 && argc != 9)
    die("usage: bench_cpu FILE f32|f64 DIMS REL_BOUND THREADS ZSTD_LEVEL REPEATS [PREDICTOR]");
  bench b = {.params = SZGPU_PARAMS_DEFAULTS, .repeats = atoi(argv[7])};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  parse_shape(argv[2], argv[3], &b.shape);
  b.field = read_field(argv[1], &b.shape, &b.field_bytes);
  b.params.bound = strtod(argv[4], NULL);
  b.params.zstd_level = atoi(argv[6]);
  if (argc == 9) b.params.predictor = parse_predictor(argv[8]);
  options.threads = atoi(argv[5]);
  if (b.repeats < 1 || szgpu_create(&b.ctx, &options) != SZGPU_OK) die("bad arguments");
  try_or_die(&b, szgpu_sizes(b.ctx, &b.params, &b.shape, NULL, &b.capacity));
  b.archive = malloc(b.capacity);
  b.restored = malloc(b.field_bytes);
  b.compress_seconds = malloc(4 * (size_t)b.repeats * sizeof(double));
  if (!b.archive || !b.restored || !b.compress_seconds) die("out of memory");
  b.decompress_seconds = b.compress_seconds + b.repeats;
  b.compress_cpu_seconds = b.decompress_seconds + b.repeats;
  b.decompress_cpu_seconds = b.compress_cpu_seconds + b.repeats;
  run(&b);

  szgpu_info info = {.struct_bytes = sizeof info};
  try_or_die(&b, szgpu_inspect(b.archive, b.archive_bytes, &info));
  double const worst = worst_error(&b, info.absolute_bound);
  printf("{\"field_bytes\": %zu, \"archive_bytes\": %zu, \"absolute_bound\": %.17g, ",
         b.field_bytes, b.archive_bytes, info.absolute_bound);
  print_times("compress_seconds", b.compress_seconds, b.repeats);
  print_times("decompress_seconds", b.decompress_seconds, b.repeats);
  print_times("compress_cpu_seconds", b.compress_cpu_seconds, b.repeats);
  print_times("decompress_cpu_seconds", b.decompress_cpu_seconds, b.repeats);
  printf("\"repeats\": %d, \"max_error_over_bound\": %.6g}\n", b.repeats, worst);
  szgpu_destroy(b.ctx);
  free(b.field), free(b.archive), free(b.restored);
  free(b.compress_seconds);
  return worst <= 1.0 ? 0 : 1;
}
