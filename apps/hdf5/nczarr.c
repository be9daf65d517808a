/* nczarr.c - the codec "szgpu" of zarr for netCDF-C.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * netCDF-C gives the codec's JSON from the metadata and gets the user's cd_values, or the reverse.
 * Before it uses the filter, it gets words that also describe the chunks of the variable. A chunk
 * is stored as szgpu.numcodecs.Szgpu stores it.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */

#include "nczarr.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caller_netcdf.h"
#include "chunk_codec.h"
#include "chunk_values.h"
#include "codec_json.h"
#include "dataset.h"

/* netCDF's status, type and byte order numbers. */
enum { NO_ERROR = 0, INVALID = -36, NO_MEMORY = -61, FILTER_FAILED = -132 };
enum { CHAR = 2, BIG_ENDIAN_VALUES = 2 };

/* By nc_type; the kinds of numpy that archives do not have are bytes with a note. */
static const struct {
  uint8_t bytes;
  bool is_number, is_integer;
  szgpu_dtype dtype;
  const char *notes[2]; /* little-endian, big-endian */
} types[] = {
    [1] = {1, true, true, SZGPU_I8, {NULL}},
    [CHAR] = {1, false, false, SZGPU_U8, {"numpy |S1", "numpy |S1"}},
    [3] = {2, true, true, SZGPU_I16, {NULL}},
    [4] = {4, true, true, SZGPU_I32, {NULL}},
    [5] = {4, true, false, SZGPU_F32, {NULL}},
    [6] = {8, true, false, SZGPU_F64, {NULL}},
    [7] = {1, true, true, SZGPU_U8, {NULL}},
    [8] = {2, true, true, SZGPU_U16, {NULL}},
    [9] = {4, false, true, SZGPU_U8, {"numpy <u4", "numpy >u4"}},
    [10] = {8, false, true, SZGPU_U8, {"numpy <i8", "numpy >i8"}},
    [11] = {8, false, true, SZGPU_U8, {"numpy <u8", "numpy >u8"}},
};
enum { TYPE_COUNT = sizeof types / sizeof *types, BIG_ENDIAN_NOTE = 256 };

const char *nczarr_note(unsigned last_word) {
  unsigned const type = last_word % BIG_ENDIAN_NOTE;
  if (type >= TYPE_COUNT) return "";
  const char *const note = types[type].notes[last_word / BIG_ENDIAN_NOTE % 2];
  return note ? note : "";
}

/* What netCDF-C says of a variable. */
typedef struct netcdf_variable {
  value_kind kind;
  chunk_size chunk;
  unsigned last_word;
  bool has_fill, is_first; /* of the filters */
  double fill;
} netcdf_variable;

static int examine_fill(const caller_netcdf *caller, int ncid, int varid,
                        netcdf_variable *variable) {
  uint64_t bits = 0; /* in the machine's byte order, whatever the variable's */
  int has_none;
  int const status = caller->nc_inq_var_fill(ncid, varid, &has_none, &bits);
  if (status || has_none) return status;
  variable->has_fill = dataset_number(variable->kind.dtype, bits, &variable->fill);
  return NO_ERROR;
}

static int examine_filters(const caller_netcdf *caller, int ncid, int varid,
                           netcdf_variable *variable) {
  size_t count = 0;
  int status = caller->nc_inq_var_filter_ids(ncid, varid, &count, NULL);
  if (status) return status;
  unsigned *const ids = calloc(count + 1, sizeof *ids);
  if (!ids) return NO_MEMORY;
  status = caller->nc_inq_var_filter_ids(ncid, varid, &count, ids);
  variable->is_first = count == 0 || ids[0] == PLUGIN_FILTER_ID;
  free(ids);
  return status;
}

static int examine(const caller_netcdf *caller, int ncid, int varid, netcdf_variable *variable,
                   const char **sentence) {
  int type, ndims, storage, endian;
  size_t chunk_dims[H5S_MAX_RANK] = {0};
  int status = caller->nc_inq_var(ncid, varid, NULL, &type, &ndims, NULL, NULL);
  if (status) return status;
  if (type < 0 || type >= TYPE_COUNT || types[type].bytes == 0) {
    *sentence = "zarr chunks of this type cannot be compressed: leave the filter out";
    return INVALID;
  }
  if (ndims < 1 || ndims > H5S_MAX_RANK) {
    *sentence = "chunks have 1 to 32 dims";
    return INVALID;
  }
  status = caller->nc_inq_var_chunking(ncid, varid, &storage, chunk_dims);
  if (!status) status = caller->nc_inq_var_endian(ncid, varid, &endian);
  if (!status) status = examine_filters(caller, ncid, varid, variable);
  if (status) return status;
  uint64_t const bytes = types[type].bytes;
  bool const is_swapped = endian == BIG_ENDIAN_VALUES && bytes > 1;
  variable->kind = (value_kind){.dtype = types[type].dtype,
                                .parts = types[type].is_number ? 1 : bytes,
                                .is_number = types[type].is_number,
                                .is_integer = types[type].is_integer,
                                .is_big_endian = types[type].is_number && is_swapped};
  variable->chunk = (chunk_size){.rank = ndims, .bytes = bytes};
  for (int axis = 0; axis < ndims; axis++) {
    variable->chunk.dims[axis] = chunk_dims[axis];
    variable->chunk.bytes *= chunk_dims[axis];
  }
  variable->last_word = (unsigned)type + (is_swapped ? BIG_ENDIAN_NOTE : 0);
  return types[type].is_number ? examine_fill(caller, ncid, varid, variable) : NO_ERROR;
}

static int copy_words(size_t *count, unsigned **words, const unsigned *source,
                      size_t source_count) {
  unsigned *const copy = malloc((source_count + 1) * sizeof *copy);
  if (!copy) return NO_MEMORY;
  memcpy(copy, source, source_count * sizeof *copy);
  free(*words);
  *words = copy;
  *count = source_count;
  return NO_ERROR;
}

static void say(const caller_netcdf *caller, int level, const char *sentence) {
  char text[CHUNK_SENTENCE_BYTES];
  snprintf(text, sizeof text, "szgpu: %s", sentence);
  caller_netcdf_log(caller, level, text);
}

static int refuse(const caller_netcdf *caller, int status, const char *sentence) {
  if (sentence) say(caller, CALLER_NETCDF_ERROR, sentence);
  return status;
}

static int modify_parameters(int ncid, int varid, size_t *user_count, unsigned **user_words,
                             size_t *word_count, unsigned **words) {
  caller_netcdf caller;
  netcdf_variable variable = {0};
  dataset_filter filter = {0};
  szgpu_params params;
  const char *sentence = NULL;
  if (!caller_netcdf_of(__builtin_return_address(0), &caller)) return FILTER_FAILED;
  int status = examine(&caller, ncid, varid, &variable, &sentence);
  if (status) return refuse(&caller, status, sentence);
  filter.word_count = *user_count;
  if (*user_count > SZGPU_H5_MOST_WORDS)
    return refuse(&caller, FILTER_FAILED, "there are more cd_values than the filter has");
  if (*user_count > 0) memcpy(filter.words, *user_words, *user_count * sizeof *filter.words);
  sentence = dataset_user_words(&filter, &params);
  if (sentence) return refuse(&caller, FILTER_FAILED, sentence);
  if (params.mode != SZGPU_MODE_LOSSLESS && !variable.is_first)
    return refuse(&caller, FILTER_FAILED,
                  "with a bound it must be the first filter: after another one, such as shuffle, "
                  "there are no values; leave that one out");
  if (dataset_describe(&variable.kind, &variable.chunk, &params,
                       variable.has_fill ? &variable.fill : NULL, &filter,
                       &sentence) != DATASET_FITS)
    return refuse(&caller, FILTER_FAILED, sentence);
  if (filter.note) say(&caller, CALLER_NETCDF_NOTE, filter.note);
  /* What the metadata get: the mode may have become lossless. */
  status = copy_words(user_count, user_words, filter.words, szgpu_h5_user_words(filter.words));
  if (status) return status;
  status = copy_words(word_count, words, filter.words, filter.word_count);
  if (!status) (*words)[(*word_count)++] = variable.last_word;
  return status;
}

static int codec_to_hdf5(const char *json, size_t *word_count, unsigned **words) {
  unsigned found[SZGPU_H5_MOST_USER_WORDS];
  size_t count;
  char why[CHUNK_SENTENCE_BYTES];
  caller_netcdf caller;
  if (!caller_netcdf_of(__builtin_return_address(0), &caller)) return FILTER_FAILED;
  if (codec_json_read(json, found, &count, why)) {
    *words = NULL;
    return copy_words(word_count, words, found, count);
  }
  caller_netcdf_log(&caller, CALLER_NETCDF_ERROR, why);
  return FILTER_FAILED;
}

static int hdf5_to_codec(size_t word_count, const unsigned *words, char **json) {
  char text[CODEC_JSON_BYTES], why[CHUNK_SENTENCE_BYTES];
  caller_netcdf caller;
  if (!caller_netcdf_of(__builtin_return_address(0), &caller)) return FILTER_FAILED;
  if (codec_json_write(words, word_count, text, why)) {
    *json = strdup(text);
    return *json ? NO_ERROR : NO_MEMORY;
  }
  caller_netcdf_log(&caller, CALLER_NETCDF_ERROR, why);
  return FILTER_FAILED;
}

const void *NCZ_get_codec_info(void) {
  static const NCZ_codec_t codec = {
      .version = 1,
      .sort = 1,
      .codecid = "szgpu",
      .hdf5id = PLUGIN_FILTER_ID,
      .NCZ_codec_to_hdf5 = codec_to_hdf5,
      .NCZ_hdf5_to_codec = hdf5_to_codec,
      .NCZ_modify_parameters = modify_parameters,
  };
  return &codec;
}
