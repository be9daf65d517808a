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

/* What a dataset's values are to the library. */
typedef struct value_kind {
  szgpu_dtype dtype;
  uint64_t parts; /* values of dtype that one of the dataset's takes */
  bool is_number; /* one that has a bound; else bytes */
  bool is_integer, is_big_endian;
} value_kind;

/* A chunk, in values of the dataset. */
typedef struct chunk_size {
  int rank;
  uint64_t dims[H5S_MAX_RANK];
  uint64_t bytes;
} chunk_size;

/* Reads the user's words, of which there are dataset->word_count, and makes a whole list of a short
 * one. A list that was stored before, which h5repack passes on, has more words, perhaps of another
 * dataset; they go. Returns NULL, or a sentence. */
const char *dataset_user_words(dataset_filter *dataset, szgpu_params *params);

/* The number of a value, by its bits; false if it is a signalling NaN, which would become another
 * one as a double. Without a name such a fill value is kept like any NaN. */
bool dataset_number(szgpu_dtype dtype, uint64_t bits, double *number);

/* Puts behind the user's words what the filter must know of the dataset's chunks. fill: the
 * dataset's own fill value, or NULL. If values of this kind have no bound, or may not be meant, the
 * words become those of lossless, and dataset->note says why. */
dataset_verdict dataset_describe(const value_kind *kind, const chunk_size *chunk,
                                 const szgpu_params *params, const double *fill,
                                 dataset_filter *dataset, const char **sentence);

/* properties: the creation properties, < 0 if HDF5 passes none; type: of the values in the file.
 * If the dataset does not fit, *sentence says why. Only set_local wants words: HDF5 also calls
 * can_apply before the first write to a dataset that was opened, and asking for the fill value
 * of such a one makes HDF5 read memory that is not its own. */
dataset_verdict dataset_examine(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                bool wants_words, dataset_filter *dataset, const char **sentence);

#endif
