/* hdf5_names.h - the datasets of an HDF5 file that can be compressed, to choose from.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_NAMES_H
#define SZGPU_APP_HDF5_NAMES_H

#include "szgpu.h"

#include <hdf5.h>
#include <stdbool.h>

struct dataset_names {
  char text[512]; /* "run.h5:/a, run.h5:/b and 3 more": the first few, and how many besides */
  unsigned count; /* of all that were found */
};

/* Below a group of the file, which has this path in it; "" is the root. */
struct dataset_names hdf5_names(hid_t group, const char *file, const char *path);

/* False: neither f32 nor f64, of either byte order. */
bool hdf5_dtype_of_type(hid_t type, szgpu_dtype *dtype);
bool hdf5_dtype(hid_t dataset, szgpu_dtype *dtype);

#endif
