/* hdf5_names.h - lists the datasets of an HDF5 file that can be compressed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_NAMES_H
#define SZGPU_APP_HDF5_NAMES_H

#include "szgpu.h"

#include <hdf5.h>
#include <stdbool.h>

struct dataset_names {
  char text[512]; /* "run.h5:/a, run.h5:/b and 3 more": the largest, fields first */
  unsigned count; /* of all that it found */
};

/* The datasets below a group of the file. path is the group's; "" is the root. */
struct dataset_names hdf5_names(hid_t group, const char *file, const char *path);

/* The little-endian type, to be closed; H5I_INVALID_HID: HDF5 has none. */
hid_t hdf5_type_of_dtype(szgpu_dtype dtype);
/* False if szgpu does not have the type, in either byte order. */
bool hdf5_dtype_of_type(hid_t type, szgpu_dtype *dtype);
bool hdf5_dtype(hid_t dataset, szgpu_dtype *dtype);

#endif
