/* bench_h5.c - times the HDF5 filter, writing and reading datasets, against the library alone.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   HDF5_PLUGIN_PATH=DIR bench_h5 FILE DIMS ABS_BOUND REPEATS
 *
 * FILE holds raw f32 values of shape DIMS (256x256x256, slowest first); DIR holds the plugin. For
 * chunks of 1, 4 and 16 MiB the bench writes and reads the whole field as a chunked dataset of a
 * file in memory (HDF5's core driver, no disk) in three ways: in one call through the filter, in
 * one call per chunk through the filter, and in one call without a filter. It also runs the library
 * on the same chunks with one thread. For the library and for a call per chunk, the chunk's values
 * are contiguous. All ways take turns, so that a slow spell of the machine affects each of them.
 * Speeds are by wall-clock time. Shares of the library's speed are also given by this process's CPU
 * time, which other work on the machine disturbs less. Every chunk of the file must equal the
 * library's archive byte for byte, and every value must be within the bound; if not, the exit code
 * is 1. The bench prints one JSON object.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "szgpu.h"
#include "szgpu_hdf5.h"

enum { LIBRARY, FILTER, FILTER_BY_CHUNKS, PLAIN, WAYS };
enum { DIRECTIONS = 2, CLOCKS = 2 };
static const char *const way_names[WAYS] = {"library", "filter", "filter_by_chunks", "plain"};
static const char *const direction_names[DIRECTIONS] = {"write", "read"};

typedef struct bench {
  szgpu_ctx *ctx;
  szgpu_params params;
  int ndim, repeats;
  hsize_t dims[4];
  size_t field_bytes;
  float *field, *restored;
} bench;

/* The field cut into chunks of one size. */
typedef struct cut {
  hsize_t dims[4];
  szgpu_shape shape;
  size_t chunk_bytes, chunk_count, capacity;
  unsigned char *chunks;   /* one after the other */
  unsigned char *archives; /* capacity bytes for each */
  size_t *archive_bytes;   /* per chunk */
  double *seconds[WAYS][DIRECTIONS][CLOCKS];
} cut;

static void die(const char *what) {
  fprintf(stderr, "bench_h5: %s\n", what);
  exit(2);
}

static void require(int holds, const char *what) {
  if (!holds) die(what);
}

static void *take(size_t byte_count) {
  void *const memory = malloc(byte_count);
  require(memory != NULL, "out of memory");
  return memory;
}

/* A reading of each clock: wall-clock time and the process's CPU time. */
typedef struct moment {
  double seconds[CLOCKS];
} moment;

static moment now(void) {
  static const clockid_t clocks[CLOCKS] = {CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
  moment result;
  for (int i = 0; i < CLOCKS; i++) {
    struct timespec time;
    clock_gettime(clocks[i], &time);
    result.seconds[i] = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
  }
  return result;
}

static void note_times(cut *c, int way, int turn, moment start, moment middle) {
  moment const end = now();
  for (int i = 0; i < CLOCKS; i++) {
    c->seconds[way][0][i][turn] = middle.seconds[i] - start.seconds[i];
    c->seconds[way][1][i][turn] = end.seconds[i] - middle.seconds[i];
  }
}

static void read_field(bench *b, const char *path, const char *dims) {
  b->field_bytes = sizeof(float);
  for (b->ndim = 0; *dims && b->ndim < 4; b->ndim++) {
    char *end;
    b->dims[b->ndim] = strtoull(dims, &end, 10);
    b->field_bytes *= (size_t)b->dims[b->ndim];
    dims = *end == 'x' ? end + 1 : end;
  }
  FILE *const file = fopen(path, "rb");
  b->field = take(b->field_bytes);
  b->restored = take(b->field_bytes);
  require(file && fread(b->field, 1, b->field_bytes, file) == b->field_bytes,
          "cannot read the field, or it is shorter than its shape");
  fclose(file);
}

/* ---- the library ---- */

/* Halves the longest dim (of several, the slowest) until a chunk has at most most_bytes. */
static void cut_dims(const bench *b, size_t most_bytes, cut *c) {
  c->chunk_bytes = b->field_bytes;
  c->chunk_count = 1;
  memcpy(c->dims, b->dims, sizeof c->dims);
  while (c->chunk_bytes > most_bytes) {
    int longest = 0;
    for (int axis = 1; axis < b->ndim; axis++)
      if (c->dims[axis] > c->dims[longest]) longest = axis;
    require(c->dims[longest] % 2 == 0, "chunks must divide the field: take dims of 2, 4, 8 ...");
    c->dims[longest] /= 2;
    c->chunk_bytes /= 2;
    c->chunk_count *= 2;
  }
}

/* Where a chunk begins in the field; row-major among the chunks. */
static void chunk_offset(const bench *b, const cut *c, size_t index, hsize_t *offset) {
  for (int axis = b->ndim - 1; axis >= 0; axis--) {
    size_t const count = (size_t)(b->dims[axis] / c->dims[axis]);
    offset[axis] = index % count * c->dims[axis];
    index /= count;
  }
}

static void gather_chunk(const bench *b, const cut *c, size_t index) {
  size_t const row_bytes = (size_t)c->dims[b->ndim - 1] * sizeof(float);
  unsigned char *chunk = c->chunks + index * c->chunk_bytes;
  hsize_t start[4];
  chunk_offset(b, c, index, start);
  for (size_t row = 0; row < c->chunk_bytes / row_bytes; row++) {
    size_t rest = row, place = 0, stride = (size_t)b->dims[b->ndim - 1];
    for (int axis = b->ndim - 2; axis >= 0; axis--) {
      place += ((size_t)start[axis] + rest % (size_t)c->dims[axis]) * stride;
      rest /= (size_t)c->dims[axis];
      stride *= (size_t)b->dims[axis];
    }
    memcpy(chunk + row * row_bytes, b->field + place + start[b->ndim - 1], row_bytes);
  }
}

static void cut_field(const bench *b, size_t most_bytes, cut *c) {
  cut_dims(b, most_bytes, c);
  c->shape = (szgpu_shape){.dtype = SZGPU_F32, .ndim = b->ndim};
  for (int axis = 0; axis < b->ndim; axis++) c->shape.dims[axis] = c->dims[axis];
  require(!szgpu_sizes(b->ctx, &b->params, &c->shape, NULL, &c->capacity), "no such chunks");
  c->chunks = take(b->field_bytes);
  c->archives = take(c->capacity * c->chunk_count);
  c->archive_bytes = take(c->chunk_count * sizeof *c->archive_bytes);
  for (int way = 0; way < WAYS; way++)
    for (int direction = 0; direction < DIRECTIONS; direction++)
      for (int i = 0; i < CLOCKS; i++)
        c->seconds[way][direction][i] = take((size_t)b->repeats * sizeof(double));
  for (size_t i = 0; i < c->chunk_count; i++) gather_chunk(b, c, i);
}

static void release(cut *c) {
  free(c->chunks), free(c->archives), free(c->archive_bytes);
  for (int way = 0; way < WAYS; way++)
    for (int direction = 0; direction < DIRECTIONS; direction++)
      for (int i = 0; i < CLOCKS; i++) free(c->seconds[way][direction][i]);
}

static void time_library(bench *b, cut *c, int turn) {
  moment const start = now();
  for (size_t i = 0; i < c->chunk_count; i++)
    require(!szgpu_compress(b->ctx, &b->params, &c->shape, c->chunks + i * c->chunk_bytes,
                            c->archives + i * c->capacity, c->capacity, &c->archive_bytes[i]),
            "szgpu_compress failed");
  moment const middle = now();
  for (size_t i = 0; i < c->chunk_count; i++)
    require(!szgpu_decompress(b->ctx, c->archives + i * c->capacity, c->archive_bytes[i],
                              (unsigned char *)b->restored + i * c->chunk_bytes, c->chunk_bytes),
            "szgpu_decompress failed");
  note_times(c, LIBRARY, turn, start, middle);
}

/* ---- HDF5 ---- */

static hid_t checked(hid_t id) {
  require(id >= 0, "HDF5 failed; HDF5_PLUGIN_PATH names the folder of libh5zszgpu.so");
  return id;
}

static hid_t create_in_memory(void) {
  hid_t const access = checked(H5Pcreate(H5P_FILE_ACCESS));
  checked(
      H5Pset_fapl_core(access, (size_t)1 << 20, 0)); /* HDF5 zeroes each step: 1 MiB is enough */
  hid_t const file = checked(H5Fcreate("bench_h5.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access));
  H5Pclose(access);
  return file;
}

static hid_t create_dataset(const bench *b, const cut *c, hid_t file, const char *name, int way) {
  hid_t const space = checked(H5Screate_simple(b->ndim, b->dims, NULL));
  hid_t const plist = checked(H5Pcreate(H5P_DATASET_CREATE));
  checked(H5Pset_chunk(plist, b->ndim, c->dims));
  if (way != PLAIN) checked(H5Pset_szgpu_abs(plist, b->params.bound));
  hid_t const dataset =
      checked(H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, plist, H5P_DEFAULT));
  H5Pclose(plist);
  H5Sclose(space);
  return dataset;
}

/* Whether every chunk of the file is the library's archive, and the field read is in bound. */
static int is_right(const bench *b, const cut *c, int way, hid_t dataset) {
  const float *const field = way == FILTER_BY_CHUNKS ? (const void *)c->chunks : b->field;
  unsigned char *const stored = take(c->capacity);
  int right = 1;
  for (size_t i = 0; right && i < c->chunk_count; i++) {
    hsize_t offset[4], stored_bytes = 0;
    uint32_t mask = 0;
    chunk_offset(b, c, i, offset);
    right = H5Dget_chunk_storage_size(dataset, offset, &stored_bytes) >= 0 &&
            stored_bytes == c->archive_bytes[i] &&
            H5Dread_chunk(dataset, H5P_DEFAULT, offset, &mask, stored) >= 0 && mask == 0 &&
            memcmp(stored, c->archives + i * c->capacity, c->archive_bytes[i]) == 0;
  }
  for (size_t i = 0; right && i < b->field_bytes / sizeof(float); i++)
    right = fabs((double)field[i] - (double)b->restored[i]) <= b->params.bound;
  free(stored);
  return right;
}

/* Writes or reads the dataset, in one call or chunk by chunk. */
static void transfer(bench *b, cut *c, int way, int direction, hid_t dataset) {
  bool const is_whole = way != FILTER_BY_CHUNKS;
  hid_t const file_space = is_whole ? H5S_ALL : checked(H5Dget_space(dataset));
  hid_t const memory_space = is_whole ? H5S_ALL : checked(H5Screate_simple(b->ndim, c->dims, NULL));
  for (size_t i = 0; i < (is_whole ? 1 : c->chunk_count); i++) {
    const void *const from = is_whole ? (void *)b->field : c->chunks + i * c->chunk_bytes;
    void *const to = (unsigned char *)b->restored + (is_whole ? 0 : i * c->chunk_bytes);
    if (!is_whole) {
      hsize_t offset[4];
      chunk_offset(b, c, i, offset);
      checked(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, offset, NULL, c->dims, NULL));
    }
    checked(direction == 0
                ? H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory_space, file_space, H5P_DEFAULT, from)
                : H5Dread(dataset, H5T_NATIVE_FLOAT, memory_space, file_space, H5P_DEFAULT, to));
  }
  if (is_whole) return;
  H5Sclose(memory_space);
  H5Sclose(file_space);
}

/* The time includes closing the dataset, which writes what the chunk cache still holds. */
static void write_and_read(bench *b, cut *c, int way, int turn, hid_t file, const char *name) {
  hid_t dataset = create_dataset(b, c, file, name, way);
  memset(b->restored, 0xA5, b->field_bytes); /* to catch values left unread */
  moment const start = now();
  transfer(b, c, way, 0, dataset);
  checked(H5Dclose(dataset));
  moment const middle = now();
  dataset = checked(H5Dopen2(file, name, H5P_DEFAULT));
  transfer(b, c, way, 1, dataset);
  note_times(c, way, turn, start, middle);
  H5Dclose(dataset);
}

/* Times the second of two datasets in a file: by then the allocator has the memory that chunks
 * need, as in a program that writes one snapshot after another. */
static int time_hdf5(bench *b, cut *c, int way, int turn) {
  hid_t const file = create_in_memory();
  write_and_read(b, c, way, turn, file, "first");
  write_and_read(b, c, way, turn, file, "second");
  hid_t const dataset = checked(H5Dopen2(file, "second", H5P_DEFAULT));
  int const right = way != PLAIN ? is_right(b, c, way, dataset)
                                 : memcmp(b->field, b->restored, b->field_bytes) == 0;
  H5Dclose(dataset);
  H5Fclose(file);
  return right;
}

/* ---- the report ---- */

static int by_value(const void *a, const void *b) {
  double const x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *seconds, int count) {
  qsort(seconds, (size_t)count, sizeof *seconds, by_value);
  return (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
}

static void print_cut(const bench *b, cut *c, int right) {
  size_t total = 0;
  for (size_t i = 0; i < c->chunk_count; i++) total += c->archive_bytes[i];
  printf("{\"chunk_bytes\": %zu, \"chunk\": [", c->chunk_bytes);
  for (int axis = 0; axis < b->ndim; axis++)
    printf("%s%llu", axis ? ", " : "", (unsigned long long)c->dims[axis]);
  printf("], \"chunk_count\": %zu, \"archive_bytes\": %zu, \"ratio\": %.4f", c->chunk_count, total,
         (double)b->field_bytes / (double)total);
  for (int direction = 0; direction < DIRECTIONS; direction++) {
    double medians[WAYS][CLOCKS];
    for (int way = 0; way < WAYS; way++) {
      for (int i = 0; i < CLOCKS; i++)
        medians[way][i] = median(c->seconds[way][direction][i], b->repeats);
      printf(", \"%s_%s_mb_per_s\": %.1f", way_names[way], direction_names[direction],
             (double)b->field_bytes / 1e6 / medians[way][0]);
    }
    for (int way = FILTER; way <= FILTER_BY_CHUNKS; way++)
      printf(", \"%s_%s_of_library\": %.4f, \"%s_%s_of_library_by_cpu_time\": %.4f", way_names[way],
             direction_names[direction], medians[LIBRARY][0] / medians[way][0], way_names[way],
             direction_names[direction], medians[LIBRARY][1] / medians[way][1]);
  }
  printf(", \"verified\": %s}", right ? "true" : "false");
}

int main(int argc, char **argv) {
  static const size_t chunk_mib[] = {1, 4, 16};
  require(argc == 5, "usage: bench_h5 FILE DIMS ABS_BOUND REPEATS");
  bench b = {.params = SZGPU_PARAMS_DEFAULTS, .repeats = atoi(argv[4])};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  int all_right = 1;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = 1;
  b.params.mode = SZGPU_MODE_ABS;
  b.params.bound = strtod(argv[3], NULL);
  read_field(&b, argv[1], argv[2]);
  require(b.repeats > 0 && b.ndim > 0 && !szgpu_create(&b.ctx, &options), "bad arguments");
  printf("{\"field_bytes\": %zu, \"absolute_bound\": %.17g, \"repeats\": %d, \"chunks\": [",
         b.field_bytes, b.params.bound, b.repeats);
  for (size_t i = 0; i < sizeof chunk_mib / sizeof *chunk_mib; i++) {
    cut c;
    int right = 1;
    cut_field(&b, chunk_mib[i] << 20, &c);
    for (int turn = 0; turn < b.repeats; turn++) {
      time_library(&b, &c, turn);
      for (int way = FILTER; way < WAYS; way++) right &= time_hdf5(&b, &c, way, turn);
    }
    printf("%s", i ? ",\n  " : "\n  ");
    print_cut(&b, &c, right);
    fflush(stdout);
    all_right &= right;
    release(&c);
  }
  printf("]}\n");
  szgpu_destroy(b.ctx);
  free(b.field), free(b.restored);
  return all_right ? 0 : 1;
}
