/* caller_netcdf.h - the functions of the libnetcdf that called the plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * netCDF-C calls HDF5 filters itself for the chunks of zarr stores. A process may have several
 * libnetcdf, so the plugin links none and uses the one that called.
 */
#ifndef CALLER_NETCDF_H
#define CALLER_NETCDF_H

#include <stdbool.h>
#include <stddef.h>

typedef struct caller_netcdf {
  int (*nc_inq_var)(int ncid, int varid, char *name, int *type, int *ndims, int *dimids,
                    int *attribute_count);
  int (*nc_inq_var_chunking)(int ncid, int varid, int *storage, size_t *chunk_dims);
  int (*nc_inq_var_endian)(int ncid, int varid, int *endian);
  int (*nc_inq_var_fill)(int ncid, int varid, int *has_none, void *fill);
  int (*nc_inq_var_filter_ids)(int ncid, int varid, size_t *count, unsigned *ids);
  void (*nclog)(int level, const char *format, ...);
} caller_netcdf;

/* The libnetcdf that contains return_address, which is __builtin_return_address(0) of a function
 * that it called. false: the address is in something else. */
bool caller_netcdf_of(const void *return_address, caller_netcdf *caller);

/* Levels of netCDF's log that mean about the same in all versions. */
enum { CALLER_NETCDF_ERROR = 1, CALLER_NETCDF_NOTE = 3 };

/* netCDF's functions return a number only. This writes a sentence to netCDF's log. */
void caller_netcdf_log(const caller_netcdf *caller, int level, const char *sentence);

#endif
