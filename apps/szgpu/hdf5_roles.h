/* hdf5_roles.h - datasets that are no fields by CF's conventions, netCDF's or their names.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_ROLES_H
#define HDF5_ROLES_H

#include "hdf5_tree.h"

enum { ROLE_CHARS = 128 };

/* What other objects say about one: by which attribute of which object it is named. */
struct role {
  const char *attribute; /* NULL: none names it */
  size_t by;
};

/* Of each object of the tree; the caller frees it. NULL: memory is out. */
struct role *roles_find(hid_t file, const struct tree *tree);

/* Whether the dataset's values are exact numbers by what is said about it: a coordinate, a mask,
 * flags. why: "coordinates of /tos". Reads no values. */
bool role_is_exact(const struct tree *tree, const struct role *roles, size_t index, hid_t dataset,
                   char why[ROLE_CHARS]);
/* Whether a dataset of one dim rises or falls from its first value to its last; all values are
 * read, until they do neither. False if they cannot be read. */
bool role_is_slope(hid_t dataset);

#endif
