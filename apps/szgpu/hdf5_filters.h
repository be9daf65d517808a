/* hdf5_filters.h - a dataset's filters that HDF5 has no plugin for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_FILTERS_H
#define HDF5_FILTERS_H

#include <hdf5.h>
#include <stdbool.h>

struct filter_words {
  char text[192]; /* "307 (bzip2)" */
};

/* Finds the first filter of the dataset that HDF5 has no plugin for. False: HDF5 has them all. */
bool hdf5_find_missing_filter(hid_t dataset, struct filter_words *filter);

#endif
