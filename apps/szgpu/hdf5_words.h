/* hdf5_words.h - the words that szgpu's filter keeps with a dataset, wherever it is in the list.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_WORDS_H
#define HDF5_WORDS_H

#include <hdf5.h>
#include <stdbool.h>

#include "szgpu_hdf5.h"

struct filter_use {
  szgpu_params params; /* as the words state them */
  bool is_known;       /* this version can read the words */
};

/* False: no filter of the dataset is szgpu's. */
static inline bool hdf5_find_filter(hid_t dataset, struct filter_use *use) {
  bool is_found = false;
  hid_t const properties = H5Dget_create_plist(dataset);
  int const filter_count = H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count && !is_found; i++) {
    unsigned flags, words[SZGPU_H5_MOST_WORDS] = {0};
    size_t count = SZGPU_H5_MOST_WORDS;
    is_found = szgpu_h5_is_filter(
        H5Pget_filter2(properties, (unsigned)i, &flags, &count, words, 0, NULL, NULL));
    if (is_found)
      use->is_known = count <= SZGPU_H5_MOST_WORDS && !szgpu_h5_params(words, count, &use->params);
  }
  H5Pclose(properties);
  return is_found;
}

#endif
