/* hdf5_copy.h - copies an HDF5 file link by link: groups, attributes, types, datasets, references.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_COPY_H
#define HDF5_COPY_H

#include "hdf5_failure.h"
#include "hdf5_tree.h"

/* A value that has references to objects, which are written when all objects are there. */
struct copy_reference {
  size_t object;
  char *attribute; /* NULL: the values of the dataset */
};

struct copy {
  const struct report *report;
  const char *name;     /* of the file that is read, for messages */
  const char *out_name; /* of the one that is written */
  hid_t in, out;
  const struct tree *tree;
  bool is_check; /* both files are there: functions compare in place of writing */
  /* Makes the dataset tree->objects[index] if it is not copied as it is; by create_dataset of
   * copy_dataset. Returns an exit code; *is_made: it was not for copy_tree to do. */
  int (*make)(struct copy *copy, size_t index, hid_t link_properties, bool *is_made);
  /* Changes the properties of the dataset tree->objects[index], which is copied as it is. */
  void (*prepare)(const struct copy *copy, size_t index, hid_t dataset, hid_t properties);
  /* Writes the attribute in place of copy_tree, if it answers true; may be NULL. In a check: it is
   * another one in the new file. */
  bool (*replace)(struct copy *copy, size_t index, hid_t out_object, const char *attribute,
                  int *code);
  void *user; /* of these */
  char
      *types; /* the group that has committed types while others are copied; NULL: there are none */
  struct copy_reference *references;
  size_t reference_count, reference_capacity;
};

/* What belongs to tree->objects[index], which is there: its attributes and its comment. Returns an
 * exit code, as copy_tree does. */
int copy_what_belongs(struct copy *copy, size_t index);

/* The file to copy to, with the properties that the other was made with. < 0: HDF5 failed. */
hid_t copy_create_file(hid_t in, const char *path);
/* Copies all that the tree has. Returns an exit code, and prints a sentence if it is not CODE_OK.
 */
int copy_tree(struct copy *copy);
void copy_free(struct copy *copy);

/* For make: */
/* The type for a dataset of the new file: a committed one if `type` is that. To be closed. */
hid_t copy_map_type(const struct copy *copy, hid_t type);

/* Print that HDF5 could not; path: what. */
static inline int copy_fail_to_write(const struct copy *copy, const char *path) {
  return hdf5_fail_to_write(copy->report, copy->out_name, path);
}
static inline int copy_fail_to_read(const struct copy *copy, const char *path) {
  return hdf5_fail_to_read(copy->report, copy->name, path);
}

#endif
