/* hdf5_range.h - looks at values for missing ones and for their range, before a bound is known.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_RANGE_H
#define HDF5_RANGE_H

#include "hdf5_squeeze.h"

void range_include(struct squeeze_range *range, double least, double greatest);
/* Looks at a box that has its values, which it may move: notes fill values that are there, and
 * widens the range. Returns szgpu_foresee's status. Any thread may call it with a ctx, fills and a
 * range of its own. */
szgpu_status range_look(szgpu_ctx *ctx, const struct squeeze_work *work, struct box *box,
                        struct fills *fills, struct squeeze_range *range);

/* Drops fill values and limits that no value of an archive meets, nor can when it is restored: to
 * look for them takes the library as long as half of its work. */
void range_spare(szgpu_params *params, szgpu_dtype dtype, const void *values, uint64_t count);

#endif
