/* caller_hdf5.h - the functions of the libhdf5, or of the libnetcdf, that called the plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process may hold several libhdf5, such as h5py's own and netCDF's, each with its own
 * identifiers. So the plugin links none and uses the one that called. It takes functions only: a
 * program that names a variable of a library, such as H5T_NATIVE_FLOAT_g, gets a copy of it, and
 * the library's own variable stays unset.
 */
#ifndef CALLER_HDF5_H
#define CALLER_HDF5_H

#include <hdf5.h>
#include <stdbool.h>

#include "caller_netcdf.h"

#if !H5_VERSION_GE(1, 10, 0)
#error "szgpu's HDF5 filter needs HDF5 1.10 or later: before, hid_t had 32 bits"
#endif

/* Needed for chunks. */
#define CALLER_HDF5_CHUNK_FUNCTIONS(X) \
  X(H5get_libversion)                  \
  X(H5allocate_memory)                 \
  X(H5free_memory)                     \
  X(H5Eregister_class)                 \
  X(H5Ecreate_msg)                     \
  X(H5Ecreate_stack)                   \
  X(H5Eset_current_stack)              \
  X(H5Epush2)
/* Needed when a dataset is created. */
#define CALLER_HDF5_DATASET_FUNCTIONS(X) \
  X(H5Iget_type)                         \
  X(H5Pget_chunk)                        \
  X(H5Pget_nfilters)                     \
  X(H5Pget_filter2)                      \
  X(H5Pget_filter_by_id2)                \
  X(H5Pmodify_filter)                    \
  X(H5Pfill_value_defined)               \
  X(H5Pget_fill_value)                   \
  X(H5Tget_class)                        \
  X(H5Tget_size)                         \
  X(H5Tget_order)                        \
  X(H5Tget_sign)                         \
  X(H5Tget_precision)                    \
  X(H5Tget_offset)                       \
  X(H5Tget_fields)                       \
  X(H5Tget_ebias)                        \
  X(H5Tget_norm)

typedef struct caller_hdf5 {
#define MEMBER(name) __typeof__(name) *name;
  CALLER_HDF5_CHUNK_FUNCTIONS(MEMBER)
  CALLER_HDF5_DATASET_FUNCTIONS(MEMBER)
#undef MEMBER
  /* NULL in a libhdf5 that lacks it. Its type is written out, because older headers lack it too. */
  herr_t (*H5Eis_paused)(hid_t stack, bool *is_paused);
  bool has_all;          /* a program with a static libhdf5 may lack some of those for datasets */
  bool has_large_chunks; /* of 4 GiB and more, from HDF5 2.0 on */
  bool is_netcdf;        /* it is a libnetcdf: memory is malloc's, and H5E and the rest are NULL */
  caller_netcdf netcdf;
  hid_t error_class, error_major, error_minor; /* made by caller_hdf5_push; 0: not yet */
  struct caller_hdf5 *next;
  const void *base; /* the address of the library */
} caller_hdf5;

/* The libhdf5 or libnetcdf that contains return_address, which is __builtin_return_address(0) of a
 * function that it called. Lives as long as the process. NULL if that is neither, if it is a
 * libhdf5 before 1.10, if it does not export what chunks need, or if memory is out. */
caller_hdf5 *caller_hdf5_of(const void *return_address);

/* Puts a sentence on the caller's error stack, or in netCDF's log. Other calls of HDF5 clear the
 * stack, so this one must be the last. */
void caller_hdf5_push(caller_hdf5 *caller, const char *file, const char *function, int line,
                      const char *sentence);

#endif
