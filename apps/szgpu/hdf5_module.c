/* hdf5_module.c - what the module that reads HDF5 offers to the command.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_calls.h"

extern struct hdf5_calls const szgpu_hdf5_calls;
__attribute__((visibility("default"))) struct hdf5_calls const szgpu_hdf5_calls = {
    hdf5_open,       hdf5_read,       hdf5_close,        hdf5_refuse_file,
    hdf5_rows_open,  hdf5_rows_bytes, hdf5_rows_failure, hdf5_rows_source,
    hdf5_rows_close, hdf5_repack,     hdf5_list};
