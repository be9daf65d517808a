/* hdf5_filters.h - a dataset's filters: those that are missing, and what szgpu's own one states.
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

/* False if szgpu's cd_values state another type or other dims than the chunks have. The filter
 * would make chunks of that size, and HDF5, which does not check it, would read beyond their end.
 * Only of the dataset itself: a virtual one has sources with filters of their own. */
bool hdf5_chunks_are_as_stated(hid_t dataset);

#endif
