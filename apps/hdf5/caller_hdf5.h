/* caller_hdf5.h - the functions of that libhdf5 which called the plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process may hold several libhdf5, h5py's own and netCDF's say, each with identifiers of its
 * own. So the plugin is linked to none and asks the one that called. Functions only: a program that
 * names a variable of a library, H5T_NATIVE_FLOAT_g say, gets a copy of it, and the library's own
 * stays unset.
 */
#ifndef CALLER_HDF5_H
#define CALLER_HDF5_H

#include <hdf5.h>
#include <stdbool.h>

#if !H5_VERSION_GE(1, 10, 0)
#error "szgpu's HDF5 filter needs HDF5 1.10 or later: before, hid_t had 32 bits"
#endif

/* For chunks. */
#define CALLER_HDF5_CHUNK_FUNCTIONS(X) \
  X(H5get_libversion)                  \
  X(H5allocate_memory)                 \
  X(H5free_memory)                     \
  X(H5Eregister_class)                 \
  X(H5Ecreate_msg)                     \
  X(H5Ecreate_stack)                   \
  X(H5Eset_current_stack)              \
  X(H5Epush2)
/* For datasets that are made. */
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
  /* Later than 1.10, or NULL; its type is written out for headers that do not have it. */
  herr_t (*H5Eis_paused)(hid_t stack, bool *is_paused);
  bool has_all;          /* a program with a static libhdf5 may lack some that are for datasets */
  bool has_large_chunks; /* of 4 GiB and more: 2.0 or later */
  hid_t error_class, error_major, error_minor; /* made by caller_hdf5_push; 0: not yet */
  struct caller_hdf5 *next;
  const void *base; /* where the library lies */
} caller_hdf5;

/* The libhdf5 that return_address, __builtin_return_address(0) of what it called, lies in. Lives as
 * long as the process. NULL if that is no libhdf5 1.10 or later, does not show what chunks need,
 * or where memory is out. */
caller_hdf5 *caller_hdf5_of(const void *return_address);

/* Puts a sentence on the caller's error stack. Calls of other functions of HDF5 clear the stack, so
 * this is the last. */
void caller_hdf5_push(caller_hdf5 *caller, const char *file, const char *function, int line,
                      const char *sentence);

#endif
