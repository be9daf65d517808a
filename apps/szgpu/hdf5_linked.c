/* hdf5_linked.c - a command that links HDF5.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_api.h"
#include "hdf5_dataset.h"

bool hdf5_is_there(void) { return true; }

void hdf5_visit_links(hid_t group, H5L_iterate_t visit, void *user) {
  H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, visit, user);
}
