/* dataset.h - names of datasets, written FILE:PATH, and how to recognize HDF5 and netCDF files.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_DATASET_H
#define SZGPU_APP_DATASET_H

#include <stdbool.h>
#include <stddef.h>

/* The length of FILE if name is FILE:PATH and FILE exists, else 0. Also 0 if name itself exists: a
 * file's name may contain a colon. */
size_t dataset_file_chars(const char *name);
/* The name of a .npy file beside FILE: dir/run.h5:/fields/rho gives dir/run_fields_rho.npy. The
 * caller frees it. NULL if memory is out. */
char *dataset_npy_name(const char *name, size_t file_chars);

/* True for the extensions of HDF5 and netCDF. */
bool has_dataset_extension(const char *name);

enum container {
  CONTAINER_NONE,
  CONTAINER_HDF5,
  CONTAINER_NETCDF /* classic netCDF, not HDF5; raw values may begin with the same bytes */
};
enum container container_of_bytes(const unsigned char *bytes, size_t byte_count);

#endif
