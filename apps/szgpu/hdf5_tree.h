/* hdf5_tree.h - all links and objects of an HDF5 file, read before any of them is copied.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_TREE_H
#define HDF5_TREE_H

#include "hdf5_api.h"
#include "report.h"

#include <stddef.h>
#include <stdint.h>

enum { TREE_NONE = SIZE_MAX };

struct tree_object {
  haddr_t address;
  H5O_type_t type;
  char *path;   /* of the first link that leads to it: "/group/tos"; of the root: "/" */
  size_t group; /* the object that has this link; of the root: itself */
};

struct tree_link {
  size_t group; /* the object that has it */
  char *name;
  struct hdf5_link info;
  size_t object;        /* where a hard link leads */
  bool is_first;        /* it is the one of the object's path */
  unsigned char *value; /* of a soft or an external link: info.value_bytes bytes */
};

/* Links of a group stay in the order in which they were made, if the file has noted that, else they
 * are in the order of their names. Objects come after their groups; the first is the root. */
struct tree {
  struct tree_object *objects;
  size_t object_count, object_capacity;
  struct tree_link *links;
  size_t link_count, link_capacity;
  unsigned long file_number;
  size_t *places; /* of objects by their addresses; TREE_NONE: free */
  size_t place_count;
};

/* Returns an exit code, and prints a sentence about the file `name` if it is not CODE_OK. */
int tree_read(const struct report *report, const char *name, hid_t file, struct tree *tree);
/* The object at an address, or of an id of HDF5; TREE_NONE: there is none, or it is in another
 * file, to which an external link leads. */
size_t tree_find(const struct tree *tree, haddr_t address);
size_t tree_find_id(const struct tree *tree, hid_t object);
void tree_free(struct tree *tree);

/* The order in which an object's attributes, or a group's links, were made, if the file has noted
 * that: by this index. properties: H5Pget_attr_creation_order or H5Pget_link_creation_order. */
H5_index_t hdf5_order_of(hid_t properties, herr_t (*get_order)(hid_t, unsigned *));

/* The properties with which a dataset was made, also whether it has times, of which HDF5's own
 * H5Dget_create_plist does not tell. To be closed. */
hid_t hdf5_properties_of(hid_t dataset);

#endif
