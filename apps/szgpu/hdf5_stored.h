/* hdf5_stored.h - copies what a file stores of a dataset, whatever its filters have made of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_STORED_H
#define HDF5_STORED_H

#include "hdf5_copy.h"

/* Copies the chunks of a dataset to a new one with the same chunks and filters. Returns an exit
 * code, and prints a sentence if it is not CODE_OK. */
int copy_chunks(const struct copy *copy, const char *path, hid_t from, hid_t to);

/* Lets HDF5 make datasets with filters that it has no plugin for; their chunks are only copied.
 * False: HDF5 failed. */
bool hdf5_stand_in_for_filter(H5Z_filter_t filter);
bool hdf5_stand_in_for_filters(hid_t properties);

#endif
