/* dataset.h - whether the filter can compress a dataset's chunks, and its cd_values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DATASET_H
#define DATASET_H

#include <stdbool.h>

#include "szgpu_hdf5.h" /* before hdf5.h, which gives it properties */

#include "caller_hdf5.h"

/* The filter's number in this plugin. A second plugin is built with another one. */
#ifndef PLUGIN_FILTER_ID
#define PLUGIN_FILTER_ID SZGPU_H5_FILTER_ID
#endif

typedef enum dataset_verdict {
  DATASET_FITS,
  DATASET_DECLINED, /* the filter cannot compress these chunks */
  DATASET_WRONG     /* the user's request fits no dataset, or HDF5 failed */
} dataset_verdict;

typedef struct dataset_filter {
  unsigned flags; /* of the filter */
  size_t word_count;
  unsigned words[SZGPU_H5_MOST_WORDS]; /* cd_values: the user's and, if it fits, the chunk's */
  const char *note; /* if it fits, but is not compressed as asked: why; else NULL */
} dataset_filter;

/* properties: the creation properties, < 0 if HDF5 passes none; type: of the values in the file.
 * If the dataset does not fit, *sentence says why. Only set_local wants words: HDF5 also calls
 * can_apply before the first write to a dataset that was opened, and asking for the fill value
 * of such a one makes HDF5 read memory that is not its own. */
dataset_verdict dataset_examine(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                bool wants_words, dataset_filter *dataset, const char **sentence);

#endif
