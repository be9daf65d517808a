/* hdf5_visit.c - a function of HDF5 whose name depends on its version, looked up in the library.
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
