/* hdf5_failure.h - what HDF5 says about a call that failed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_FAILURE_H
#define HDF5_FAILURE_H

#include "report.h"

struct hdf5_sentence {
  char text[256];
};

/* Of the call that has just failed: the innermost entry of its error stack. */
struct hdf5_sentence hdf5_last_failure(void);
/* The errno of the system's call that has made it fail; 0: there is none. */
int hdf5_last_errno(void);

/* Print that HDF5 could not write to a file, or read from it; path: of what in it. Both return the
 * exit code. */
int hdf5_fail_to_write(const struct report *report, const char *name, const char *path);
int hdf5_fail_to_read(const struct report *report, const char *name, const char *path);

#endif
