/* floats.h - sweeps over floating-point numbers: there and back, and the exact check.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A sweep is a list of numbered cases; a case is one field with its parameters and depends on
 * nothing but its number and the options. The first value that breaks its promise ends the program,
 * with the command that repeats the case.
 */
#ifndef SZG_TEST_FLOATS_H
#define SZG_TEST_FLOATS_H

#include "floats_core.h"
#include "szgpu.h"

SZG_C_BEGIN

/* ---- what is run ---- */

typedef struct floats_options {
  uint32_t block_bits;       /* f32: a field has 2^block_bits patterns, 16 to 28 */
  bool every_way;            /* f32: each block in all FLOATS_WAY_COUNT ways, not in one of them */
  uint64_t sample;           /* every sample-th case; see floats_sweep */
  uint64_t part, part_count; /* of those */
  uint64_t only_case;        /* UINT64_MAX: all */
  const char *only;          /* a sweep's name; NULL: all sweeps */
  uint64_t jobs;             /* threads, each with a ctx of one thread */
} floats_options;

/* Kinds of frames that are met. */
#define FLOATS_PATH_LIST(X)                            \
  X(TILE_16, "tile frames on 16-bit lattices")         \
  X(TILE_32, "tile frames on 32-bit lattices")         \
  X(TILE_64, "tile frames on 64-bit lattices")         \
  X(LEVELS_NARROW, "levels frames on 32-bit lattices") \
  X(LEVELS_WIDE, "levels frames on 64-bit lattices")   \
  X(LEVELS_BASE, "levels frames of a base alone")      \
  X(LINEAR, "linear frames")                           \
  X(PLANES, "planes frames")                           \
  X(TOP_PLANE, "top plane frames")                     \
  X(CONSTANT, "constant frames")                       \
  X(RAW, "raw frames")
#define FLOATS_PATH_ENUMERATOR(name, text) FLOATS_##name,
typedef enum floats_path { FLOATS_PATH_LIST(FLOATS_PATH_ENUMERATOR) FLOATS_PATH_COUNT } floats_path;

typedef struct floats_tally {
  uint64_t values, changed_values, archives, field_bytes, archive_bytes;
  uint64_t paths[FLOATS_PATH_COUNT]; /* by the first frame of each archive */
} floats_tally;

typedef struct floats_buffer {
  void *bytes;
  size_t capacity;
} floats_buffer;

/* A thread's ctx and memory, and the case at hand, for messages. */
typedef struct floats_worker {
  const floats_options *options;
  const char *program;
  szgpu_ctx *ctx;
  floats_buffer field, archive, restored;
  void *device; /* what the program for GPUs keeps */
  const char *sweep;
  uint64_t number;
  szgpu_params params;
  szgpu_shape shape;
  floats_tally tally;
} floats_worker;

/* A pseudorandom number that depends on i only. */
SZG_HD uint64_t floats_hash(uint64_t i) {
  uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

/* Ends the program with a message. Never returns. */
void floats_fail(const floats_worker *worker, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
/* Fails unless the call succeeded. */
void floats_must(const floats_worker *worker, szgpu_status status, const char *what);
/* Memory of at least that many bytes; what was there may be gone. */
void *floats_room(const floats_worker *worker, floats_buffer *buffer, size_t bytes);

uint64_t floats_value_count(const szgpu_shape *shape);
size_t floats_value_bytes(szgpu_dtype dtype);

/* Layouts and predictors. */
enum { FLOATS_WAY_COUNT = 4 };
void floats_set_way(uint64_t way, szgpu_params *params);

/* ---- there and back ---- */

/* What the test itself finds in a field. least > greatest if no value is finite and not fill. */
typedef struct floats_facts {
  bool has_fill;
  uint64_t fill_bits;
  double least, greatest;
} floats_facts;

/* Compares what an archive says of itself with the facts and counts its path. head: the archive's
 * first bytes, with the header of the first frame. */
floats_claim floats_examine(floats_worker *worker, const floats_facts *facts, const uint8_t *head,
                            size_t head_bytes, size_t archive_bytes);

/* Fails with the value, its restored value and its place. */
void floats_fail_value(const floats_worker *worker, const floats_claim *claim, uint64_t index,
                       uint64_t bits, uint64_t restored_bits) __attribute__((noreturn));

/* Compresses worker->field, which is in host memory, by worker->params and worker->shape, restores
 * it and checks every value. */
void floats_round_trip(floats_worker *worker);

/* ---- the sweeps ---- */

/* A block of f32 patterns: values i of the field are those of index first_index + i, or, beyond the
 * block, of its first ones again. */
typedef struct floats_block {
  floats_order order;
  uint32_t first_index, index_count;
} floats_block;

/* Fills, compresses, restores and checks the field of worker->params and worker->shape. */
typedef void floats_run_block(floats_worker *worker, const floats_block *block);

/* What differs between the programs. */
typedef struct floats_program {
  const char *name;
  szgpu_backend backend;
  floats_run_block *run_block;
  void (*close_worker)(floats_worker *worker); /* frees worker->device; NULL: there is none */
  floats_options defaults;
} floats_program;

typedef struct floats_sweep {
  const char *name;
  uint32_t sample_share; /* a sample has every (sample / sample_share)-th case */
  const char *what;
  uint64_t (*count)(const floats_options *options);
  void (*run)(floats_worker *worker, floats_run_block *run_block, uint64_t number);
} floats_sweep;

extern const floats_sweep floats_sweep_f32, floats_sweep_bytes, floats_sweep_lattice,
    floats_sweep_f64;

floats_run_block floats_run_block_cpu;

/* The main function of both programs. */
int floats_main(const floats_program *program, int argument_count, char **arguments);

SZG_C_END

#endif
