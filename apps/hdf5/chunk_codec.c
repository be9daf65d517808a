/* chunk_codec.c - compresses and restores chunks, and keeps contexts between calls.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* getpid */

#include "szgpu_hdf5.h" /* before hdf5.h, as in h5z_szgpu.c */

#include "chunk_codec.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../chunks/lost.h"
#include "chunk_values.h"
#include "gpus.h"

/* The figures that decide for or against a GPU: bytes per microsecond of one CPU thread and of a
 * GPU with its transfers, the fixed cost of a call there, and the cost of starting CUDA.
 * docs/benchmarks.md has the measurements. The library's SZGPU_BACKEND_AUTO uses the same
 * figures, but judges each call alone, and no single chunk would ever pay for CUDA's start; many
 * chunks together do. */
enum { CPU_BYTES_PER_US = 900, GPU_BYTES_PER_US = 6500, GPU_CALL_US = 500, GPU_START_US = 320000 };
enum { GPU_LEAST_BYTES = 1 << 20 }; /* a call there is faster than one thread from here on */

typedef struct warm_codec {
  szgpu_ctx *ctx;
  szgpu_backend backend; /* CPU or CUDA */
  int threads, device;
  pid_t process; /* that made it */
  void *room;    /* for archives: as large as one can become; few need much of it */
  size_t room_bytes;
} warm_codec;

/* One codec per backend waits for the next call, in [is_cuda]; a thread that finds none makes its
 * own. Threads take and return them without a lock, which a fork() could leave locked. They are
 * freed only with the process: at its end CUDA's runtime may already be gone. */
static _Atomic(warm_codec *) kept[2];

static atomic_bool is_gpu_given_up;          /* for SZGPU_BACKEND_AUTO */
static atomic_uint_least64_t us_lost_on_cpu; /* on chunks that a running GPU would do faster */

static void drop(warm_codec *codec) {
  if (!codec) return;
  /* CUDA does not survive fork(): a child must not touch its parent's context. */
  if (codec->backend == SZGPU_BACKEND_CPU || codec->process == getpid()) szgpu_destroy(codec->ctx);
  free(codec->room);
  free(codec);
}

static void put_back(warm_codec *codec) {
  drop(atomic_exchange(&kept[codec->backend == SZGPU_BACKEND_CUDA], codec));
}

static szgpu_status find_or_make(szgpu_backend backend, int device, int threads,
                                 warm_codec **taken) {
  warm_codec *const found = atomic_exchange(&kept[backend == SZGPU_BACKEND_CUDA], NULL);
  if (found && found->threads == threads && found->device == device &&
      (backend == SZGPU_BACKEND_CPU || found->process == getpid())) {
    *taken = found;
    return SZGPU_OK;
  }
  drop(found);
  warm_codec *const made = calloc(1, sizeof *made);
  if (!made) return SZGPU_OUT_OF_MEMORY;
  *made =
      (warm_codec){.backend = backend, .threads = threads, .device = device, .process = getpid()};
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = backend;
  options.device = device;
  options.threads = threads;
  szgpu_status const status = szgpu_create(&made->ctx, &options);
  if (status) {
    free(made);
    return status;
  }
  *taken = made;
  return SZGPU_OK;
}

static szgpu_status take(szgpu_backend backend, int device, const environment *settings,
                         warm_codec **taken) {
  szgpu_status const status = find_or_make(backend, device, settings->threads, taken);
  return status ? status : szgpu_set_memory_limit((*taken)->ctx, settings->memory_limit);
}

static void say(char *sentence, szgpu_status status, const szgpu_ctx *ctx) {
  const char *const detail = szgpu_last_error(ctx);
  const char *const text = szgpu_status_text(status);
  if (*detail)
    snprintf(sentence, CHUNK_SENTENCE_BYTES, "szgpu: chunk: %s (%s)", text, detail);
  else
    snprintf(sentence, CHUNK_SENTENCE_BYTES, "szgpu: chunk: %s", text);
}

size_t chunk_field_bytes(const szgpu_shape *shape) {
  size_t bytes = value_bytes(shape->dtype);
  for (int axis = 0; axis < shape->ndim; axis++)
    if (__builtin_mul_overflow(bytes, shape->dims[axis], &bytes)) return 0;
  return bytes;
}

/* ---- Compressing ---- */

/* The ranks of a machine share its GPUs among them. */
static szgpu_status find_device(const environment *settings, int *device) {
  *device = szgpu_h5_device(settings->device, settings->local_rank, gpu_count());
  return *device >= 0 ? SZGPU_OK : SZGPU_NO_DEVICE;
}

/* Whether only a GPU may compress the chunk. */
static bool needs_gpu(const environment *settings, size_t field_bytes) {
  return settings->backend == SZGPU_BACKEND_CUDA && field_bytes >= GPU_LEAST_BYTES;
}

int chunk_is_possible(const environment *settings, const szgpu_params *params,
                      const szgpu_shape *shape, char *sentence) {
  int device;
  warm_codec *codec = NULL;
  szgpu_status status = SZGPU_OK;
  if (needs_gpu(settings, chunk_field_bytes(shape))) status = find_device(settings, &device);
  if (!status) status = take(SZGPU_BACKEND_CPU, 0, settings, &codec);
  if (!status) status = szgpu_sizes(codec->ctx, params, shape, NULL, NULL);
  if (status) say(sentence, status, codec ? codec->ctx : NULL);
  if (codec) put_back(codec);
  return !status;
}

static bool goes_to_gpu(const environment *settings, size_t field_bytes) {
  if (needs_gpu(settings, field_bytes)) return true;
  if (settings->backend != SZGPU_BACKEND_AUTO || field_bytes < GPU_LEAST_BYTES) return false;
  if (!szgpu_has_cuda() || atomic_load(&is_gpu_given_up)) return false;
  uint64_t const cpu_us = field_bytes / (CPU_BYTES_PER_US * (uint64_t)settings->threads);
  uint64_t const gpu_us = field_bytes / GPU_BYTES_PER_US + GPU_CALL_US;
  if (gpu_us >= cpu_us) return false;
  return atomic_fetch_add(&us_lost_on_cpu, cpu_us - gpu_us) + cpu_us - gpu_us >= GPU_START_US;
}

/* Compresses into the codec's room. */
static szgpu_status compress_there(warm_codec *codec, const szgpu_params *params,
                                   const szgpu_shape *shape, const void *field,
                                   size_t *archive_bytes) {
  size_t capacity;
  szgpu_status const status = szgpu_sizes(codec->ctx, params, shape, NULL, &capacity);
  if (status) return status;
  if (codec->room_bytes < capacity) {
    free(codec->room);
    codec->room = malloc(capacity);
    codec->room_bytes = codec->room ? capacity : 0;
    if (!codec->room) return SZGPU_OUT_OF_MEMORY;
  }
  return szgpu_compress(codec->ctx, params, shape, field, codec->room, capacity, archive_bytes);
}

/* Losslessly, if values would become missing ones. */
static szgpu_status compress_safely(warm_codec *codec, const szgpu_params *params,
                                    const szgpu_shape *shape, const void *field,
                                    size_t *archive_bytes) {
  bool loses = false;
  szgpu_status status = compress_there(codec, params, shape, field, archive_bytes);
  if (!status)
    status = chunk_find_lost(codec->ctx, codec->room, *archive_bytes, field,
                             chunk_field_bytes(shape), value_bytes(shape->dtype), &loses);
  if (status || !loses) return status;
  szgpu_params const lossless = chunk_lossless_params(params);
  return compress_there(codec, &lossless, shape, field, archive_bytes);
}

/* Copies the archive out of the room into memory of just its size, since a collective write holds
 * all chunks of a rank at once. The room's pages stay in memory, while a block of HDF5's that is
 * large enough for any archive would have new pages for each chunk; copying costs less. */
static szgpu_status compress_on(szgpu_backend backend, int device, const caller_hdf5 *caller,
                                const environment *settings, const szgpu_params *params,
                                const szgpu_shape *shape, const void *field, void **archive,
                                size_t *archive_bytes, char *sentence) {
  warm_codec *codec = NULL;
  *archive = NULL;
  szgpu_status status = take(backend, device, settings, &codec);
  if (!status) status = compress_safely(codec, params, shape, field, archive_bytes);
  if (!status) {
    *archive = caller->H5allocate_memory(*archive_bytes, 0);
    if (*archive)
      memcpy(*archive, codec->room, *archive_bytes);
    else
      status = SZGPU_OUT_OF_MEMORY;
  }
  if (status) say(sentence, status, codec ? codec->ctx : NULL);
  if (codec && (status == SZGPU_NO_DEVICE || status == SZGPU_DEVICE_ERROR))
    drop(codec);
  else if (codec)
    put_back(codec);
  return status;
}

size_t chunk_compress(const caller_hdf5 *caller, const environment *settings,
                      const szgpu_params *params, const szgpu_shape *shape, const void *field,
                      void **archive, char *sentence) {
  size_t archive_bytes = 0;
  szgpu_status status;
  if (goes_to_gpu(settings, chunk_field_bytes(shape))) {
    int device;
    status = find_device(settings, &device);
    if (status)
      say(sentence, status, NULL);
    else
      status = compress_on(SZGPU_BACKEND_CUDA, device, caller, settings, params, shape, field,
                           archive, &archive_bytes, sentence);
    if (!status) return archive_bytes;
    if (settings->backend == SZGPU_BACKEND_CUDA) return 0;
    if (status != SZGPU_OUT_OF_MEMORY) atomic_store(&is_gpu_given_up, true);
  }
  status = compress_on(SZGPU_BACKEND_CPU, 0, caller, settings, params, shape, field, archive,
                       &archive_bytes, sentence);
  return status ? 0 : archive_bytes;
}

/* ---- Restoring ---- */

enum { SHAPE_CHARS = 128 };

static bool is_same_shape(const szgpu_shape *a, const szgpu_shape *b) {
  if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
  for (int axis = 0; axis < a->ndim; axis++)
    if (a->dims[axis] != b->dims[axis]) return false;
  return true;
}

/* "f32 20 x 30" */
static void say_shape(const szgpu_shape *shape, char *text, size_t text_bytes) {
  static const char *const names[] = {"f32", "f64", "u8",  "bf16", "f16",
                                      "fp8", "i8",  "u16", "i16",  "i32"};
  unsigned const dtype = shape->dtype;
  size_t used = (size_t)snprintf(text, text_bytes, "%s",
                                 dtype < sizeof names / sizeof *names ? names[dtype] : "?");
  for (int axis = 0; axis < shape->ndim && used < text_bytes; axis++)
    used += (size_t)snprintf(text + used, text_bytes - used, "%s%llu", axis ? " x " : " ",
                             (unsigned long long)shape->dims[axis]);
}

/* Checks the archive before anything is allocated for it. */
static bool is_as_stated(const void *archive, size_t archive_bytes, const szgpu_shape *shape,
                         char *sentence) {
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status const status = szgpu_inspect(archive, archive_bytes, &info);
  if (status) {
    say(sentence, status, NULL);
    return false;
  }
  if (is_same_shape(&info.shape, shape)) return true;
  char held[SHAPE_CHARS], stated[SHAPE_CHARS];
  say_shape(&info.shape, held, sizeof held);
  say_shape(shape, stated, sizeof stated);
  snprintf(sentence, CHUNK_SENTENCE_BYTES,
           "szgpu: chunk: its archive holds %s, not %s as cd_values state", held, stated);
  return false;
}

size_t chunk_restore(const caller_hdf5 *caller, const environment *settings,
                     const szgpu_shape *shape, size_t field_bytes, const void *archive,
                     size_t archive_bytes, void **field, char *sentence) {
  if (!is_as_stated(archive, archive_bytes, shape, sentence)) return 0;
  warm_codec *codec = NULL;
  szgpu_status status = take(SZGPU_BACKEND_CPU, 0, settings, &codec);
  *field = NULL;
  if (!status) {
    *field = caller->H5allocate_memory(field_bytes, 0);
    status = *field ? szgpu_decompress(codec->ctx, archive, archive_bytes, *field, field_bytes)
                    : SZGPU_OUT_OF_MEMORY;
  }
  if (status) {
    say(sentence, status, codec ? codec->ctx : NULL);
    if (*field) caller->H5free_memory(*field);
    *field = NULL;
  }
  if (codec) put_back(codec);
  return status ? 0 : field_bytes;
}
