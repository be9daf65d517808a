/* dataset.h - whether the filter can do a dataset's chunks, and its cd_values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DATASET_H
#define DATASET_H

#include <stdbool.h>

#include "szgpu_hdf5.h" /* before hdf5.h, which gives it properties */

#include "caller_hdf5.h"

typedef enum dataset_verdict {
  DATASET_FITS,
  DATASET_DECLINED, /* these chunks cannot be compressed, or not with the bound */
  DATASET_WRONG     /* what the user asks for cannot be for any dataset, or HDF5 failed */
} dataset_verdict;

typedef struct dataset_filter {
  unsigned flags; /* of the filter */
  size_t word_count;
  unsigned words[SZGPU_H5_MOST_WORDS]; /* cd_values: the user's and, if it fits, the chunk's */
} dataset_filter;

/* properties: of the creation, < 0 where HDF5 has none; type: of the values in the file. *sentence
 * says why it does not fit. Only set_local wants words: can_apply is also asked before the first
 * write to a dataset that was opened, whose fill value HDF5 cannot tell without a bad access. */
dataset_verdict dataset_examine(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                bool wants_words, dataset_filter *dataset, const char **sentence);

#endif
