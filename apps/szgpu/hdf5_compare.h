/* hdf5_compare.h - whether values of a new file are what they should be.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_COMPARE_H
#define HDF5_COMPARE_H

#include "hdf5_pieces.h"

/* What is wrong with the values of a dataset. */
struct difference {
  uint64_t wrong_count;   /* values over the bound, missing values that changed, values that are
                             missing now, and those that have left the valid ones */
  double most_over_bound; /* the greatest error, as a multiple of the bound; 0: none has one */
};

/* Adds what is wrong with the values of a box. fills: what is missing among them. In any thread. */
void compare_boxes(const struct plan_variable *variable, const struct fills *fills,
                   const struct box *before, const struct box *after,
                   struct difference *difference);
void difference_include(struct difference *difference, const struct difference *other);

#endif
