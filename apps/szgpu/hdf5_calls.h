/* hdf5_calls.h - the functions of hdf5_dataset.h, _rows.h and _repack.h, as a module offers them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_CALLS_H
#define SZGPU_APP_HDF5_CALLS_H

#include "hdf5_repack.h"
#include "hdf5_rows.h"

struct hdf5_calls {
  __typeof__(hdf5_open) *open;
  __typeof__(hdf5_read) *read;
  __typeof__(hdf5_close) *close;
  __typeof__(hdf5_refuse_file) *refuse_file;
  __typeof__(hdf5_rows_open) *rows_open;
  __typeof__(hdf5_rows_bytes) *rows_bytes;
  __typeof__(hdf5_rows_failure) *rows_failure;
  __typeof__(hdf5_rows_source) *rows_source;
  __typeof__(hdf5_rows_close) *rows_close;
  __typeof__(hdf5_repack) *repack;
  __typeof__(hdf5_list) *list;
};

/* What the module exports, of the type struct hdf5_calls const. */
#define HDF5_CALLS_NAME "szgpu_hdf5_calls"

#endif
