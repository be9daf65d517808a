/* hdf5_verify.h - reads a new file back, before it gets its name, and compares it with the old one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_VERIFY_H
#define HDF5_VERIFY_H

#include "hdf5_copy.h"
#include "hdf5_squeeze.h"

/* copy->out: the new file, open for reading. Values that were compressed are restored from their
 * archives and must be within their bounds; all others, and attributes, must be the same. Returns
 * an exit code, and prints a sentence if it is not CODE_OK. */
int verify_copy(struct copy *copy, struct squeeze *squeeze, const struct plan *plan);

#endif
