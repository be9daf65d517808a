/* hdf5_references.h - references to objects and regions, which a copy must lead to its own.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_REFERENCES_H
#define HDF5_REFERENCES_H

#include "hdf5_copy.h"

/* Copies values that have no chunks; from and to are datasets. Values that are in other files, or
 * were never written, are left out. Each returns an exit code, and prints a sentence if it is not
 * CODE_OK. */
int copy_values(const struct copy *copy, const char *path, hid_t from, hid_t to);
/* Writes the values that have references, of an attribute or a dataset that is there. */
int copy_references(const struct copy *copy, const struct copy_reference *reference);

#endif
