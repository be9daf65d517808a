/* hdf5_visit.c - functions of HDF5 whose names depend on its version, looked up in the library.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "hdf5_api.h"

#include <dlfcn.h>
#include <string.h>

/* HDF5 1.12 has given it new names, and the headers may be of a version before or after that. */
void hdf5_visit_links(hid_t group, H5L_iterate_t visit, void *user) {
  static const char *const names[] = {"H5Lvisit2", "H5Lvisit1", "H5Lvisit"};
  herr_t (*visit_all)(hid_t, H5_index_t, H5_iter_order_t, H5L_iterate_t, void *) = NULL;
  void *function = NULL;
  for (int i = 0; i < 3 && !function; i++) function = dlsym(RTLD_DEFAULT, names[i]);
  memcpy(&visit_all, &function, sizeof function);
  if (visit_all) visit_all(group, H5_INDEX_NAME, H5_ITER_INC, visit, user);
}

/* The members up to the size of a value are where all versions have them; what follows is longer
 * from 1.12 on. */
bool hdf5_link_info(hid_t group, const char *name, struct hdf5_link *link) {
  static const char *const names[] = {"H5Lget_info2", "H5Lget_info1", "H5Lget_info"};
  herr_t (*get_info)(hid_t, const char *, void *, hid_t) = NULL;
  void *function = NULL;
  union {
    H5L_info_t info;
    unsigned char room[128];
  } any;
  for (int i = 0; i < 3 && !function; i++) function = dlsym(RTLD_DEFAULT, names[i]);
  memcpy(&get_info, &function, sizeof function);
  if (!get_info || get_info(group, name, &any, H5P_DEFAULT) < 0) return false;
  *link = (struct hdf5_link){any.info.type, any.info.cset, 0};
  if (any.info.type != H5L_TYPE_HARD) link->value_bytes = any.info.u.val_size;
  return true;
}

/* HDF5 2.0 has given it a new name. */
herr_t hdf5_read_chunk(hid_t dataset, const hsize_t *place, uint32_t *mask, void *bytes) {
  static const char *const names[] = {"H5Dread_chunk1", "H5Dread_chunk"};
  herr_t (*read_chunk)(hid_t, hid_t, const hsize_t *, uint32_t *, void *) = NULL;
  void *function = NULL;
  for (int i = 0; i < 2 && !function; i++) function = dlsym(RTLD_DEFAULT, names[i]);
  memcpy(&read_chunk, &function, sizeof function);
  return read_chunk ? read_chunk(dataset, H5P_DEFAULT, place, mask, bytes) : -1;
}
