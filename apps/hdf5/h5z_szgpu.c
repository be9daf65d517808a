/* h5z_szgpu.c - the HDF5 filter plugin: the functions that HDF5 calls.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each function takes the address that it returns to, which is inside the libhdf5 that called. Each
 * has one exit, which puts a failure on that library's error stack as a sentence and prints
 * nothing.
 */
#include "szgpu_hdf5.h" /* before hdf5.h: without H5Pset_szgpu_*, which would need a libhdf5 */

#include <H5PLextern.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../chunks/lost.h"
#include "../chunks/plain_chunk.h"
#include "caller_hdf5.h"
#include "chunk_codec.h"
#include "chunk_values.h"
#include "dataset.h"
#include "environment.h"
#include "listener.h"
#include "nczarr.h"

/* A sentence and the line of this file that it comes from. */
typedef struct szgpu_fault {
  int line; /* 0: there is none */
  char sentence[CHUNK_SENTENCE_BYTES];
} szgpu_fault;

__attribute__((format(printf, 3, 4))) static void note(szgpu_fault *fault, int line,
                                                       const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault->sentence, sizeof fault->sentence, format, arguments);
  va_end(arguments);
  fault->line = line;
}

static void push(caller_hdf5 *caller, const szgpu_fault *fault, const char *function) {
  if (fault->line) caller_hdf5_push(caller, "h5z_szgpu.c", function, fault->line, fault->sentence);
}

#define FAIL_IF(condition, ...)            \
  do {                                     \
    if (condition) {                       \
      note(&fault, __LINE__, __VA_ARGS__); \
      goto done;                           \
    }                                      \
  } while (0)

/* HDF5 calls it when a dataset is created. 1: yes. 0: no, so HDF5 leaves out an optional filter and
 * fails for a mandatory one. -1: an error in either case. */
static htri_t can_apply(hid_t properties, hid_t type, hid_t space) {
  caller_hdf5 *const caller = caller_hdf5_of(__builtin_return_address(0));
  htri_t answer = -1;
  szgpu_fault fault = {0};
  environment settings;
  szgpu_params params;
  szgpu_shape shape;
  dataset_filter dataset;
  char why[CHUNK_SENTENCE_BYTES] = "";
  const char *sentence = NULL;
  (void)space; /* the chunk's dims count, not the dataset's */
  if (!caller) return -1;
  sentence = environment_read(&settings);
  FAIL_IF(sentence, "szgpu: %s", sentence);
  dataset_verdict const verdict =
      dataset_examine(caller, properties, type, false, &dataset, &sentence);
  if (verdict == DATASET_DECLINED) answer = 0;
  FAIL_IF(verdict != DATASET_FITS, "szgpu: %s", sentence);
  sentence = szgpu_h5_chunk(dataset.words, dataset.word_count, &params, &shape);
  FAIL_IF(sentence, "szgpu: %s", sentence);
  FAIL_IF(!chunk_is_possible(&settings, &params, &shape, why), "%s", why);
  answer = 1;
done:
  push(caller, &fault, __func__);
  return answer;
}

/* HDF5 calls it next, even if it leaves out an optional filter. Adds to cd_values, which HDF5
 * stores with the dataset, what the filter must know of it. Adds nothing if the filter declined.
 * Whoever listens hears here why the dataset is not compressed as asked: HDF5 calls can_apply also
 * when a dataset is written that exists. */
static herr_t set_local(hid_t properties, hid_t type, hid_t space) {
  caller_hdf5 *const caller = caller_hdf5_of(__builtin_return_address(0));
  herr_t answer = -1;
  szgpu_fault fault = {0};
  dataset_filter dataset;
  const char *sentence = NULL;
  (void)space;
  if (!caller) return -1;
  dataset_verdict const verdict =
      dataset_examine(caller, properties, type, true, &dataset, &sentence);
  FAIL_IF(verdict == DATASET_WRONG, "szgpu: %s", sentence);
  if (verdict == DATASET_FITS) sentence = dataset.note; /* or NULL */
  FAIL_IF(sentence && !listener_agrees(sentence), "szgpu: %s", sentence);
  if (properties >= 0)
    FAIL_IF(caller->H5Pmodify_filter(properties, PLUGIN_FILTER_ID, dataset.flags,
                                     dataset.word_count, dataset.words) < 0,
            "szgpu: cd_values cannot be stored");
  answer = 0;
done:
  push(caller, &fault, __func__);
  return answer;
}

/* What a call of the filter is about. */
typedef struct chunk_call {
  caller_hdf5 *caller;
  environment settings;
  szgpu_params params;
  szgpu_shape shape;
  size_t field_bytes;
  bool is_optional;
  bool is_named;    /* else coordinates are stored losslessly */
  bool is_swapped;  /* the dataset's byte order is not the machine's */
  const char *note; /* that follows an archive in zarr */
} chunk_call;

static const char *read_words(chunk_call *call, size_t word_count, const unsigned *words) {
  call->note = "";
  if (call->caller->is_netcdf && word_count > 0) call->note = nczarr_note(words[--word_count]);
  const char *const sentence = szgpu_h5_chunk(words, word_count, &call->params, &call->shape);
  if (sentence) return sentence;
  unsigned const type = words[szgpu_h5_user_words(words) + SZGPU_H5_CHUNK_TYPE];
  call->is_swapped = type & SZGPU_H5_BIG_ENDIAN;
  call->is_named = words[SZGPU_H5_WORD_OPTIONS] & SZGPU_H5_NAMED;
  if (call->caller->is_netcdf && call->is_swapped) call->params.source = SZGPU_SOURCE_BIG_ENDIAN;
  call->field_bytes = chunk_field_bytes(&call->shape);
  return call->field_bytes ? NULL : "cd_values state a size that no chunk has";
}

static void swap(const chunk_call *call, void *values) {
  size_t const width = value_bytes(call->shape.dtype);
  if (call->is_swapped) values_swap(values, width, call->field_bytes / width);
}

/* Coordinates and times are worth more than the bytes that a bound would save. */
static void spare_coordinates(chunk_call *call, const void *values) {
  szgpu_dtype const dtype = call->shape.dtype;
  bool const is_float =
      dtype == SZGPU_F32 || dtype == SZGPU_F64 || dtype == SZGPU_F16 || dtype == SZGPU_BF16;
  if (call->is_named || call->params.mode == SZGPU_MODE_LOSSLESS || !is_float) return;
  if (!values_have_two_slopes(dtype, values, call->field_bytes / value_bytes(dtype))) return;
  call->params = chunk_lossless_params(&call->params);
}

/* What numcodecs reads: an archive, however large, and the note. Returns its size; 0: nothing. */
static size_t finish_for_zarr(const chunk_call *call, void **made, size_t made_bytes, char *why) {
  size_t const note_bytes = strlen(call->note);
  if (made_bytes == 0 || note_bytes == 0) return made_bytes;
  char *const whole = realloc(*made, made_bytes + note_bytes);
  if (!whole) {
    free(*made);
    snprintf(why, CHUNK_SENTENCE_BYTES, "szgpu: chunk: out of memory");
    return 0;
  }
  memcpy(whole + made_bytes, call->note, note_bytes);
  *made = whole;
  return made_bytes + note_bytes;
}

static bool allocate(const chunk_call *call, size_t byte_count, void **made, char *why) {
  *made = call->caller->H5allocate_memory(byte_count, 0);
  if (!*made) snprintf(why, CHUNK_SENTENCE_BYTES, "szgpu: chunk: out of memory");
  return *made != NULL;
}

/* Returns the size of what it made of a chunk; 0: nothing, and why, or "" if an optional filter had
 * better leave the chunk as it is. */
static size_t compress(chunk_call *call, void *chunk, void **made, char *why) {
  swap(call, chunk);
  spare_coordinates(call, chunk);
  size_t made_bytes =
      chunk_compress(call->caller, &call->settings, &call->params, &call->shape, chunk, made, why);
  if (call->caller->is_netcdf) return finish_for_zarr(call, made, made_bytes, why);
  size_t const most_bytes =
      call->is_optional ? call->field_bytes - 1 : call->field_bytes + PLAIN_CHUNK_HEAD_BYTES;
  if (made_bytes > 0 && made_bytes <= most_bytes) return made_bytes;
  swap(call, chunk); /* back, for the chunk stays as it is */
  if (made_bytes == 0) return 0;
  call->caller->H5free_memory(*made);
  if (call->is_optional) return 0;
  made_bytes = call->field_bytes + PLAIN_CHUNK_HEAD_BYTES;
  if (!allocate(call, made_bytes, made, why)) return 0;
  plain_chunk_make(chunk, call->field_bytes, *made);
  return made_bytes;
}

/* What numcodecs made: an archive of the chunk's bytes, in any shape. What follows it is no fault:
 * a note, or the end of a longer archive, since netCDF-C does not shorten a file that it writes
 * again. */
static size_t restore_from_zarr(chunk_call *call, const char *stored, size_t stored_bytes,
                                void **made, char *why) {
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status const status = szgpu_inspect(stored, stored_bytes, &info);
  const char *fault = NULL;
  if (status)
    fault = szgpu_status_text(status);
  else if (info.archive_bytes > stored_bytes)
    fault = szgpu_status_text(SZGPU_TRUNCATED);
  else if (info.field_bytes != call->field_bytes)
    fault = "its archive has another size than the array's chunks";
  else if (info.source & SZGPU_SOURCE_FORTRAN)
    fault = "its values are in Fortran order, which netCDF does not read";
  if (fault) {
    snprintf(why, CHUNK_SENTENCE_BYTES, "szgpu: chunk: %s", fault);
    return 0;
  }
  call->shape = info.shape;
  call->is_swapped = info.source & SZGPU_SOURCE_BIG_ENDIAN;
  size_t const made_bytes = chunk_restore(call->caller, &call->settings, &call->shape,
                                          call->field_bytes, stored, info.archive_bytes, made, why);
  if (made_bytes > 0) swap(call, *made);
  return made_bytes;
}

static size_t restore(chunk_call *call, const void *stored, size_t stored_bytes, void **made,
                      char *why) {
  if (call->caller->is_netcdf) return restore_from_zarr(call, stored, stored_bytes, made, why);
  if (plain_chunk_is_one(stored, stored_bytes)) {
    const char *const fault = plain_chunk_fault(stored, stored_bytes, call->field_bytes);
    if (fault) snprintf(why, CHUNK_SENTENCE_BYTES, "szgpu: chunk: %s", fault);
    if (fault || !allocate(call, call->field_bytes, made, why)) return 0;
    memcpy(*made, (const char *)stored + PLAIN_CHUNK_HEAD_BYTES, call->field_bytes);
    return call->field_bytes;
  }
  size_t const made_bytes = chunk_restore(call->caller, &call->settings, &call->shape,
                                          call->field_bytes, stored, stored_bytes, made, why);
  if (made_bytes > 0) swap(call, *made);
  return made_bytes;
}

/* Compresses or restores the chunk in *buffer and replaces it. Returns the size of the new one,
 * or 0 on failure; an optional filter then leaves the chunk as it is. */
static size_t filter(unsigned flags, size_t word_count, const unsigned words[], size_t byte_count,
                     size_t *buffer_bytes, void **buffer) {
  bool const is_reverse = flags & H5Z_FLAG_REVERSE;
  chunk_call call = {.caller = caller_hdf5_of(__builtin_return_address(0)),
                     .is_optional = flags & H5Z_FLAG_OPTIONAL};
  size_t made_bytes = 0;
  void *made = NULL;
  szgpu_fault fault = {0};
  char why[CHUNK_SENTENCE_BYTES] = "";
  if (!call.caller) return 0;
  const char *sentence = read_words(&call, word_count, words);
  FAIL_IF(sentence, "szgpu: %s", sentence);
  sentence =
      is_reverse ? environment_read_to_restore(&call.settings) : environment_read(&call.settings);
  FAIL_IF(sentence, "szgpu: %s", sentence);
  if (is_reverse) {
    FAIL_IF(call.field_bytes > UINT32_MAX && !call.caller->has_large_chunks,
            "szgpu: cd_values state a size that no chunk has");
    made_bytes = restore(&call, *buffer, byte_count, &made, why);
  } else {
    FAIL_IF(byte_count != call.field_bytes, "szgpu: the chunk has %zu bytes, its values %zu",
            byte_count, call.field_bytes);
    made_bytes = compress(&call, *buffer, &made, why);
  }
  FAIL_IF(made_bytes == 0, "%s", why);
  call.caller->H5free_memory(*buffer);
  *buffer = made;
  *buffer_bytes = made_bytes;
done:
  /* An optional filter that leaves a chunk as it is reports no error. */
  if (is_reverse || !call.is_optional) push(call.caller, &fault, __func__);
  return made_bytes;
}

static const H5Z_class2_t filter_class = {
    .version = H5Z_CLASS_T_VERS,
    .id = PLUGIN_FILTER_ID,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "szgpu",
    .can_apply = can_apply,
    .set_local = set_local,
    .filter = filter,
};

/* HDF5 asks every library of a plugin folder what it is while it looks for some filter, so these
 * never fail. */
__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_FILTER;
}
__attribute__((visibility("default"))) const void *H5PLget_plugin_info(void) {
  return &filter_class;
}
