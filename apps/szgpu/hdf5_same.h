/* hdf5_same.h - whether values of the new file are those of the old one, references included.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_SAME_H
#define HDF5_SAME_H

#include "hdf5_copy.h"

/* Whether values of the type have parts that are stored elsewhere in the file: references, lists
 * and texts of a variable length. */
bool copy_type_has_places(hid_t type);

/* before, after: values of the type in memory, read from copy->in and copy->out. A reference is the
 * same if it leads to the object of the same path. */
bool values_are_same(const struct copy *copy, hid_t type, size_t count, const unsigned char *before,
                     const unsigned char *after);

/* Prints that something is not. Returns an exit code. */
int copy_fail_as_other(const struct copy *copy, const char *path);

#endif
