/* hdf5_filters.c - a dataset's filters that HDF5 has no plugin for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_filters.h"

#include <stdio.h>

bool hdf5_find_missing_filter(hid_t dataset, struct filter_words *filter) {
  bool is_missing = false;
  hid_t const properties = H5Dget_create_plist(dataset);
  int const filter_count = H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count && !is_missing; i++) {
    char name[128] = "";
    unsigned flags, settings;
    size_t value_count = 0;
    H5Z_filter_t const id = H5Pget_filter2(properties, (unsigned)i, &flags, &value_count, NULL,
                                           sizeof name, name, &settings);
    is_missing = id >= 0 && H5Zfilter_avail(id) <= 0;
    if (is_missing)
      snprintf(filter->text, sizeof filter->text, "%d%s%.128s%s", (int)id, name[0] ? " (" : "",
               name, name[0] ? ")" : "");
  }
  H5Pclose(properties);
  return is_missing;
}
