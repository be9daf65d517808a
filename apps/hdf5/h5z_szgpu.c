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
#include <string.h>

#include "caller_hdf5.h"
#include "chunk_codec.h"
#include "dataset.h"
#include "environment.h"

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
 * stores with the dataset, what the filter must know of it. Adds nothing if the filter declined. */
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
  if (properties >= 0)
    FAIL_IF(caller->H5Pmodify_filter(properties, SZGPU_H5_FILTER_ID, dataset.flags,
                                     dataset.word_count, dataset.words) < 0,
            "szgpu: cd_values cannot be stored");
  answer = 0;
done:
  push(caller, &fault, __func__);
  return answer;
}

/* Compresses or restores the chunk in *buffer and replaces it. Returns the size of the new one,
 * or 0 on failure; an optional filter then leaves the chunk as it is. */
static size_t filter(unsigned flags, size_t word_count, const unsigned words[], size_t byte_count,
                     size_t *buffer_bytes, void **buffer) {
  caller_hdf5 *const caller = caller_hdf5_of(__builtin_return_address(0));
  size_t made_bytes = 0;
  void *made = NULL;
  szgpu_fault fault = {0};
  environment settings;
  szgpu_params params;
  szgpu_shape shape;
  char why[CHUNK_SENTENCE_BYTES] = "";
  if (!caller) return 0;
  const char *sentence = szgpu_h5_chunk(words, word_count, &params, &shape);
  FAIL_IF(sentence, "szgpu: %s", sentence);
  size_t const field_bytes = chunk_field_bytes(&shape);
  FAIL_IF(field_bytes == 0, "szgpu: cd_values state a size that no chunk has");
  if (flags & H5Z_FLAG_REVERSE) {
    sentence = environment_read_to_restore(&settings);
    FAIL_IF(sentence, "szgpu: %s", sentence);
    FAIL_IF(field_bytes > UINT32_MAX && !caller->has_large_chunks,
            "szgpu: cd_values state a size that no chunk has");
    made_bytes =
        chunk_restore(caller, &settings, &shape, field_bytes, *buffer, byte_count, &made, why);
  } else {
    sentence = environment_read(&settings);
    FAIL_IF(sentence, "szgpu: %s", sentence);
    FAIL_IF(byte_count != field_bytes, "szgpu: the chunk has %zu bytes, its values %zu", byte_count,
            field_bytes);
    made_bytes = chunk_compress(caller, &settings, &params, &shape, *buffer, &made, why);
  }
  FAIL_IF(made_bytes == 0, "%s", why);
  caller->H5free_memory(*buffer);
  *buffer = made;
  *buffer_bytes = made_bytes;
done:
  /* An optional filter that leaves a chunk as it is reports no error. */
  if ((flags & H5Z_FLAG_REVERSE) || !(flags & H5Z_FLAG_OPTIONAL)) push(caller, &fault, __func__);
  return made_bytes;
}

static const H5Z_class2_t filter_class = {
    .version = H5Z_CLASS_T_VERS,
    .id = SZGPU_H5_FILTER_ID,
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
