/* h5_support.h - what the C tests of the HDF5 filter share: files in memory, datasets, errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_H5_SUPPORT_H
#define SZG_TEST_H5_SUPPORT_H

#include <hdf5.h>

#include "support.h"
#include "szgpu_hdf5.h"

/* For a group's setup: keeps HDF5 from printing errors, because tests cause many. */
int h5_begin(void **state);

/* Makes a file that exists in memory only. */
hid_t h5_make_file(void);

/* Creation properties: chunks of rank dims and the filter; words NULL: no filter. */
hid_t h5_make_properties(int rank, const hsize_t *chunk, unsigned flags, const unsigned *words,
                         size_t word_count);
/* The same with an absolute bound, mandatory. */
hid_t h5_make_abs_properties(int rank, const hsize_t *chunk, double bound);

hid_t h5_native_type(szgpu_dtype dtype);

/* Creates a dataset of native type and closes the properties. < 0 if HDF5 refuses. */
hid_t h5_try_create(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                    hid_t properties);
hid_t h5_create(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                hid_t properties);
/* Closes and opens the file, so that chunks come from it and not from HDF5's cache. */
hid_t h5_reopen(hid_t file, hid_t dataset, const char *name);

void h5_write(hid_t dataset, hid_t type, const void *values);
void h5_read(hid_t dataset, hid_t type, void *values);

/* Gives the cd_values stored with a dataset and returns their number. */
size_t h5_stored_words(hid_t dataset, unsigned words[SZGPU_H5_MOST_WORDS]);

/* A chunk as stored in the file. */
typedef struct h5_chunk {
  uint8_t *bytes; /* the test frees them */
  size_t byte_count;
  uint32_t skipped_filters; /* a bit for each filter that was left out */
} h5_chunk;
h5_chunk h5_read_chunk(hid_t dataset, const hsize_t *offset);
/* Whether it is no archive, but the values themselves behind a head. */
bool h5_is_plain(const h5_chunk *chunk);
void h5_write_chunk(hid_t dataset, const hsize_t *offset, const void *bytes, size_t byte_count);

/* Asserts that a sentence of szgpu on HDF5's error stack contains this text. To be called right
 * after the call that failed. */
void h5_assert_error(const char *text);

#endif
