/* bench_chunks.c - times a field chunk by chunk, for several sizes of chunks in turns.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_chunks FILE f32|f64 DIMS REL_BOUND auto|lorenzo|interpolation REPEATS CHUNK...
 *
 * FILE holds raw values of shape DIMS (256x256x256, slowest first); a CHUNK is a shape like it. All
 * chunks of the shape that fit in the field side by side are compressed and restored, one by one,
 * by one context with one thread, as an HDF5 or zarr filter does. The bound is REL_BOUND times the
 * range of the field, so that chunks of all sizes are coded alike. Each repeat takes all chunks of
 * all shapes; a chunk counts with its least CPU time. For each shape the bench prints one JSON
 * object: the bytes, the ratio, and MB/s of each direction.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "szgpu.h"

typedef struct field {
  szgpu_shape shape; /* always of 3 axes; the first are 1 if it has fewer */
  int axis_count;
  size_t value_bytes;
  char *values;
} field;

/* The chunks of one shape. */
typedef struct chunking {
  const char *name;
  szgpu_shape shape; /* of a chunk, of 3 axes */
  size_t counts[3];  /* of chunks along each axis */
  size_t chunk_bytes;
  size_t archive_bytes;                          /* of all chunks */
  double *compress_seconds, *decompress_seconds; /* [chunks], the least so far */
} chunking;

typedef struct bench {
  szgpu_ctx *ctx;
  szgpu_params params;
  field field;
  void *chunk, *archive, *restored;
  size_t capacity;
} bench;

static void die(const char *what) {
  fprintf(stderr, "bench_chunks: %s\n", what);
  exit(2);
}

static void try_or_die(const bench *b, szgpu_status status) {
  if (status == SZGPU_OK) return;
  fprintf(stderr, "bench_chunks: %s (%s)\n", szgpu_status_text(status), szgpu_last_error(b->ctx));
  exit(2);
}

static void *allocate(size_t byte_count) {
  void *const memory = malloc(byte_count ? byte_count : 1);
  if (!memory) die("out of memory");
  return memory;
}

static double cpu_seconds_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Returns how many axes it has. */
static int parse_shape(const char *dims, szgpu_dtype dtype, szgpu_shape *shape) {
  uint64_t found[3];
  int count = 0;
  for (; *dims && count < 3; count++) {
    char *end;
    found[count] = strtoull(dims, &end, 10);
    if (found[count] == 0) die("bad shape");
    dims = *end == 'x' ? end + 1 : end;
  }
  *shape = (szgpu_shape){.dtype = dtype, .ndim = 3, .dims = {1, 1, 1}};
  for (int i = 0; i < count; i++) shape->dims[3 - count + i] = found[i];
  return count;
}

static size_t count_values(const szgpu_shape *shape) {
  return (size_t)(shape->dims[0] * shape->dims[1] * shape->dims[2]);
}

static void read_field(const char *path, const char *type, const char *dims, field *f) {
  szgpu_dtype const dtype = strcmp(type, "f64") == 0 ? SZGPU_F64 : SZGPU_F32;
  f->axis_count = parse_shape(dims, dtype, &f->shape);
  f->value_bytes = dtype == SZGPU_F64 ? 8 : 4;
  size_t const byte_count = count_values(&f->shape) * f->value_bytes;
  FILE *const file = fopen(path, "rb");
  f->values = allocate(byte_count);
  if (!file || fread(f->values, 1, byte_count, file) != byte_count)
    die("cannot read the field, or it is shorter than its shape");
  fclose(file);
}

static szgpu_predictor parse_predictor(const char *name) {
  if (strcmp(name, "auto") == 0) return SZGPU_PREDICTOR_AUTO;
  if (strcmp(name, "interpolation") == 0) return SZGPU_PREDICTOR_INTERPOLATION;
  if (strcmp(name, "lorenzo") != 0) die("the predictor is auto, lorenzo or interpolation");
  return SZGPU_PREDICTOR_LORENZO;
}

/* The shape without the leading axes that the field does not have. */
static szgpu_shape library_shape(const field *f, const szgpu_shape *shape) {
  szgpu_shape own = *shape;
  own.ndim = f->axis_count;
  for (int i = 0; i < 3; i++)
    own.dims[i] = i < f->axis_count ? shape->dims[3 - f->axis_count + i] : 0;
  return own;
}

static size_t chunk_count(const chunking *c) { return c->counts[0] * c->counts[1] * c->counts[2]; }

static chunking make_chunking(const field *f, const char *name) {
  chunking c = {.name = name};
  if (parse_shape(name, f->shape.dtype, &c.shape) != f->axis_count)
    die("chunks have as many axes as the field");
  for (int i = 0; i < 3; i++) c.counts[i] = (size_t)(f->shape.dims[i] / c.shape.dims[i]);
  if (chunk_count(&c) == 0) die("a chunk is larger than the field");
  c.chunk_bytes = count_values(&c.shape) * f->value_bytes;
  c.compress_seconds = allocate(2 * chunk_count(&c) * sizeof(double));
  c.decompress_seconds = c.compress_seconds + chunk_count(&c);
  for (size_t i = 0; i < 2 * chunk_count(&c); i++) c.compress_seconds[i] = 1e300;
  return c;
}

static void copy_chunk(const field *f, const chunking *c, size_t i, char *chunk) {
  size_t const dims[3] = {(size_t)c->shape.dims[0], (size_t)c->shape.dims[1],
                          (size_t)c->shape.dims[2]};
  size_t const z0 = i / (c->counts[1] * c->counts[2]) * dims[0];
  size_t const y0 = i / c->counts[2] % c->counts[1] * dims[1], x0 = i % c->counts[2] * dims[2];
  size_t const row_bytes = dims[2] * f->value_bytes;
  for (size_t z = z0; z < z0 + dims[0]; z++)
    for (size_t y = y0; y < y0 + dims[1]; y++, chunk += row_bytes) {
      size_t const row = (z * (size_t)f->shape.dims[1] + y) * (size_t)f->shape.dims[2];
      memcpy(chunk, f->values + (row + x0) * f->value_bytes, row_bytes);
    }
}

static void keep_least(double seconds, double *least) {
  if (seconds < *least) *least = seconds;
}

static void run_chunks(const bench *b, chunking *c) {
  szgpu_shape const shape = library_shape(&b->field, &c->shape);
  c->archive_bytes = 0;
  for (size_t i = 0; i < chunk_count(c); i++) {
    size_t archive_bytes;
    copy_chunk(&b->field, c, i, b->chunk);
    double const start = cpu_seconds_now();
    try_or_die(b, szgpu_compress(b->ctx, &b->params, &shape, b->chunk, b->archive, b->capacity,
                                 &archive_bytes));
    double const middle = cpu_seconds_now();
    try_or_die(b, szgpu_decompress(b->ctx, b->archive, archive_bytes, b->restored, c->chunk_bytes));
    keep_least(cpu_seconds_now() - middle, &c->decompress_seconds[i]);
    keep_least(middle - start, &c->compress_seconds[i]);
    c->archive_bytes += archive_bytes;
  }
}

/* Sets the absolute bound, from what the library finds the range of the whole field to be. */
static void set_bound(bench *b, double relative_bound) {
  szgpu_shape const shape = library_shape(&b->field, &b->field.shape);
  size_t const byte_count = count_values(&b->field.shape) * b->field.value_bytes;
  size_t archive_bytes;
  b->params.bound = relative_bound;
  try_or_die(b, szgpu_sizes(b->ctx, &b->params, &shape, NULL, &b->capacity));
  b->chunk = allocate(byte_count);
  b->restored = allocate(byte_count);
  b->archive = allocate(b->capacity);
  try_or_die(b, szgpu_compress(b->ctx, &b->params, &shape, b->field.values, b->archive, b->capacity,
                               &archive_bytes));
  szgpu_info info = {.struct_bytes = sizeof info};
  try_or_die(b, szgpu_inspect(b->archive, archive_bytes, &info));
  b->params.mode = SZGPU_MODE_ABS;
  b->params.bound = info.absolute_bound;
}

static void print_chunks(const chunking *c) {
  double compress_seconds = 0, decompress_seconds = 0;
  double const bytes = (double)(c->chunk_bytes * chunk_count(c));
  for (size_t i = 0; i < chunk_count(c); i++) {
    compress_seconds += c->compress_seconds[i];
    decompress_seconds += c->decompress_seconds[i];
  }
  printf("{\"chunk\": \"%s\", \"chunk_bytes\": %zu, \"chunks\": %zu, \"archive_bytes\": %zu, ",
         c->name, c->chunk_bytes, chunk_count(c), c->archive_bytes);
  printf("\"ratio\": %.4f, \"compress_mb_s\": %.1f, \"decompress_mb_s\": %.1f}\n",
         bytes / (double)c->archive_bytes, bytes / compress_seconds / 1e6,
         bytes / decompress_seconds / 1e6);
}

int main(int argc, char **argv) {
  enum { FIRST_CHUNK = 7 };
  if (argc <= FIRST_CHUNK)
    die("usage: bench_chunks FILE f32|f64 DIMS REL_BOUND PREDICTOR REPEATS CHUNK...");
  bench b = {.params = SZGPU_PARAMS_DEFAULTS};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  int const repeats = atoi(argv[6]), shape_count = argc - FIRST_CHUNK;
  options.threads = 1;
  if (szgpu_create(&b.ctx, &options) != SZGPU_OK) die("cannot create a context");
  read_field(argv[1], argv[2], argv[3], &b.field);
  b.params.predictor = parse_predictor(argv[5]);
  set_bound(&b, strtod(argv[4], NULL));
  chunking *const chunkings = allocate((size_t)shape_count * sizeof *chunkings);
  for (int i = 0; i < shape_count; i++)
    chunkings[i] = make_chunking(&b.field, argv[FIRST_CHUNK + i]);
  for (int repeat = 0; repeat < repeats; repeat++)
    for (int i = 0; i < shape_count; i++) run_chunks(&b, &chunkings[i]);
  for (int i = 0; i < shape_count; i++) {
    print_chunks(&chunkings[i]);
    free(chunkings[i].compress_seconds);
  }
  szgpu_destroy(b.ctx);
  free(b.field.values), free(b.chunk), free(b.archive), free(b.restored), free(chunkings);
  return 0;
}
