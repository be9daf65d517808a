/* hdf5_failure.h - what HDF5 says about a call that failed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_FAILURE_H
#define HDF5_FAILURE_H

struct hdf5_sentence {
  char text[256];
};

/* Of the call that has just failed: the innermost entry of its error stack. */
struct hdf5_sentence hdf5_last_failure(void);

#endif
