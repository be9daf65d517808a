/* dataset.h - names of datasets in HDF5 files, as FILE:PATH, and what such files are known by.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_DATASET_H
#define SZGPU_APP_DATASET_H

#include <stdbool.h>
#include <stddef.h>

/* How many characters of name are the file's, where name is FILE:PATH and FILE is there; 0 where it
 * is not. The name of a file that is there is that file's, whatever it contains. */
size_t dataset_file_chars(const char *name);
/* The name of a .npy file beside FILE: dir/run.h5:/fields/rho gives dir/run_fields_rho.npy. To be
 * freed; NULL when there is no memory. */
char *dataset_npy_name(const char *name, size_t file_chars);

/* True for the extensions of HDF5 and netCDF. */
bool has_dataset_extension(const char *name);

enum container {
  CONTAINER_NONE,
  CONTAINER_HDF5,
  CONTAINER_NETCDF /* of the classic format, which is no HDF5; raw values may begin like it */
};
enum container container_of_bytes(const unsigned char *bytes, size_t byte_count);

#endif
