/* h5_support.h - what the C tests of the HDF5 filter share: files in memory, datasets, errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_H5_SUPPORT_H
#define SZG_TEST_H5_SUPPORT_H

#include <hdf5.h>

#include "support.h"
#include "szgpu_hdf5.h"

/* A group's setup: HDF5 prints no errors, because tests make many. */
int h5_begin(void **state);

/* A new file that exists in memory only. */
hid_t h5_make_file(void);

/* Creation properties: chunks of rank dims and the filter; words NULL: no filter. */
hid_t h5_make_properties(int rank, const hsize_t *chunk, unsigned flags, const unsigned *words,
                         size_t word_count);
/* The same with an absolute bound, mandatory. */
hid_t h5_make_abs_properties(int rank, const hsize_t *chunk, double bound);

hid_t h5_native_type(szgpu_dtype dtype);

/* A dataset of native type; < 0 where HDF5 refuses. Properties are closed. */
hid_t h5_try_create(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                    hid_t properties);
hid_t h5_create(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                hid_t properties);
/* Closed and opened again, so that chunks come from the file and not from HDF5's cache. */
hid_t h5_reopen(hid_t file, hid_t dataset, const char *name);

void h5_write(hid_t dataset, hid_t type, const void *values);
void h5_read(hid_t dataset, hid_t type, void *values);

/* cd_values as they are stored with a dataset; returns their number. */
size_t h5_stored_words(hid_t dataset, unsigned words[SZGPU_H5_MOST_WORDS]);

/* A chunk as it is in the file. */
typedef struct h5_chunk {
  uint8_t *bytes; /* of the test; free() it */
  size_t byte_count;
  uint32_t skipped_filters; /* a bit for each that was left out */
} h5_chunk;
h5_chunk h5_read_chunk(hid_t dataset, const hsize_t *offset);
void h5_write_chunk(hid_t dataset, const hsize_t *offset, const void *bytes, size_t byte_count);

/* Asserts that a sentence of szgpu's on HDF5's error stack has this text in it. Called right after
 * the call that failed. */
void h5_assert_error(const char *text);

#endif
