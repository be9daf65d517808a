/* h5_support.c - files in memory, datasets, error stacks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "h5_support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int h5_begin(void **state) {
  (void)state;
  return H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0;
}

hid_t h5_make_file(void) {
  static atomic_int made_count; /* two names, or HDF5 takes both for one file */
  char name[32];
  snprintf(name, sizeof name, "in_memory_%d.h5", atomic_fetch_add(&made_count, 1));
  hid_t const access = H5Pcreate(H5P_FILE_ACCESS);
  assert_true(H5Pset_fapl_core(access, 1 << 20, 0) >= 0);
  hid_t const file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  assert_true(file >= 0);
  H5Pclose(access);
  return file;
}

hid_t h5_make_properties(int rank, const hsize_t *chunk, unsigned flags, const unsigned *words,
                         size_t word_count) {
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_chunk(properties, rank, chunk) >= 0);
  if (words)
    assert_true(H5Pset_filter(properties, SZGPU_H5_FILTER_ID, flags, word_count, words) >= 0);
  return properties;
}

hid_t h5_make_abs_properties(int rank, const hsize_t *chunk, double bound) {
  hid_t const properties = h5_make_properties(rank, chunk, 0, NULL, 0);
  assert_true(H5Pset_szgpu_abs(properties, bound) >= 0);
  return properties;
}

/* As h5py makes them. */
static hid_t make_half(size_t mantissa_bits, size_t bias) {
  hid_t const type = H5Tcopy(H5T_IEEE_F32LE);
  assert_true(H5Tset_fields(type, 15, mantissa_bits, 15 - mantissa_bits, 0, mantissa_bits) >= 0);
  assert_true(H5Tset_size(type, 2) >= 0 && H5Tset_ebias(type, bias) >= 0);
  return type;
}

hid_t h5_native_type(szgpu_dtype dtype) {
  static hid_t f16, bf16;
  if (!f16) f16 = make_half(10, 15);
  if (!bf16) bf16 = make_half(7, 127);
  switch (dtype) {
    case SZGPU_F32:
      return H5T_NATIVE_FLOAT;
    case SZGPU_F16:
      return f16;
    case SZGPU_BF16:
      return bf16;
    case SZGPU_U8:
      return H5T_NATIVE_UINT8;
    case SZGPU_I8:
      return H5T_NATIVE_INT8;
    case SZGPU_U16:
      return H5T_NATIVE_UINT16;
    case SZGPU_I16:
      return H5T_NATIVE_INT16;
    case SZGPU_I32:
      return H5T_NATIVE_INT32;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

hid_t h5_try_create(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                    hid_t properties) {
  hid_t const space = H5Screate_simple(rank, dims, NULL);
  assert_true(space >= 0);
  hid_t const dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  if (dataset >= 0) { /* else the error stack would be lost */
    H5Sclose(space);
    H5Pclose(properties);
  }
  return dataset;
}

hid_t h5_create(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                hid_t properties) {
  hid_t const dataset = h5_try_create(file, name, type, rank, dims, properties);
  assert_true(dataset >= 0);
  return dataset;
}

hid_t h5_reopen(hid_t file, hid_t dataset, const char *name) {
  assert_true(H5Dclose(dataset) >= 0);
  hid_t const opened = H5Dopen2(file, name, H5P_DEFAULT);
  assert_true(opened >= 0);
  return opened;
}

void h5_write(hid_t dataset, hid_t type, const void *values) {
  assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

void h5_read(hid_t dataset, hid_t type, void *values) {
  assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

size_t h5_stored_words(hid_t dataset, unsigned words[SZGPU_H5_MOST_WORDS]) {
  size_t word_count = SZGPU_H5_MOST_WORDS;
  unsigned flags, config;
  hid_t const properties = H5Dget_create_plist(dataset);
  assert_true(H5Pget_filter_by_id2(properties, SZGPU_H5_FILTER_ID, &flags, &word_count, words, 0,
                                   NULL, &config) >= 0);
  H5Pclose(properties);
  return word_count;
}

h5_chunk h5_read_chunk(hid_t dataset, const hsize_t *offset) {
  hsize_t byte_count = 0;
  assert_true(H5Dget_chunk_storage_size(dataset, offset, &byte_count) >= 0);
  h5_chunk chunk = {test_allocate(byte_count), byte_count, 0};
  assert_true(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &chunk.skipped_filters, chunk.bytes) >=
              0);
  return chunk;
}

bool h5_is_plain(const h5_chunk *chunk) {
  return chunk->byte_count >= 8 && memcmp(chunk->bytes, "\x89SZP\r\n\x1A\n", 8) == 0;
}

void h5_write_chunk(hid_t dataset, const hsize_t *offset, const void *bytes, size_t byte_count) {
  assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, byte_count, bytes) >= 0);
}

typedef struct error_search {
  const char *text;
  char seen[2000];
  int is_found;
} error_search;

static herr_t look_at_error(unsigned place, const H5E_error2_t *error, void *user) {
  error_search *const search = user;
  size_t const used = strlen(search->seen);
  (void)place;
  snprintf(search->seen + used, sizeof search->seen - used, "%s: %s\n", error->func_name,
           error->desc);
  if (!strncmp(error->desc, "szgpu: ", 7) && strstr(error->desc, search->text))
    search->is_found = 1;
  return 0;
}

void h5_assert_error(const char *text) {
  error_search search = {text, "", 0};
  assert_true(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at_error, &search) >= 0);
  if (!search.is_found) fail_msg("no error has '%s':\n%s", text, search.seen);
}
