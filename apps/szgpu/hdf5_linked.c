/* hdf5_linked.c - a command that links HDF5.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_api.h"
#include "hdf5_dataset.h"

bool hdf5_is_there(void) { return true; }

void hdf5_visit_links(hid_t group, H5L_iterate_t visit, void *user) {
  H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, visit, user);
}

bool hdf5_link_info(hid_t group, const char *name, struct hdf5_link *link) {
  H5L_info_t info;
  if (H5Lget_info(group, name, &info, H5P_DEFAULT) < 0) return false;
  *link = (struct hdf5_link){info.type, info.cset, 0};
  if (info.type != H5L_TYPE_HARD) link->value_bytes = info.u.val_size;
  return true;
}

herr_t hdf5_read_chunk(hid_t dataset, const hsize_t *place, uint32_t *mask, void *bytes) {
#if H5_VERSION_GE(2, 0, 0)
  return H5Dread_chunk1(dataset, H5P_DEFAULT, place, mask, bytes);
#else
  return H5Dread_chunk(dataset, H5P_DEFAULT, place, mask, bytes);
#endif
}
