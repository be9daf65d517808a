/* hdf5_attributes.h - what the attributes of a dataset say about its values, as CF and netCDF do.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_ATTRIBUTES_H
#define SZGPU_APP_HDF5_ATTRIBUTES_H

#include "hdf5_dataset.h"

/* The origin of a fill value that HDF5 itself has for the dataset. */
#define HDF5_OWN_FILL "HDF5's fill value"

/* Reads what is missing, valid, packed and, by netCDF's _Unsigned, unsigned of dataset->id, whose
 * shape is known. */
void hdf5_read_attributes(struct dataset *dataset);

#endif
