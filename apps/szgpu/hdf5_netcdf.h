/* hdf5_netcdf.h - fill values of variables that nccopy has made.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In classic netCDF each variable has a fill value, which readers take for missing: that of
 * _FillValue, or a default of its type. nccopy makes variables of netCDF-4 without one, and readers
 * then see the defaults as numbers.
 */
#ifndef HDF5_NETCDF_H
#define HDF5_NETCDF_H

#include "hdf5_api.h"

/* Whether the dataset is a variable that should have a fill value and has none; *fill: as a number,
 * 0 if it is a character. */
bool netcdf_lacks_fill(hid_t dataset, double *fill);
/* Gives it to the properties of its copy. */
void netcdf_give_fill(hid_t dataset, hid_t properties);

#endif
