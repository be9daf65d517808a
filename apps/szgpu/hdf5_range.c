/* hdf5_range.c - looks at values for missing ones and for their range, before a bound is known.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_range.h"

#include "values.h"

#include <math.h>
#include <string.h>

void range_include(struct squeeze_range *range, double least, double greatest) {
  if (!range->has_values || least < range->least) range->least = least;
  if (!range->has_values || greatest > range->greatest) range->greatest = greatest;
  range->has_values = true;
}

/* Values one by one, because an archive states no limits if all values are equal, for instance. */
static void include_values(const struct squeeze_work *work, const struct box *box,
                           const szgpu_info *info, uint64_t count, struct squeeze_range *range) {
  szgpu_dtype const dtype = work->shape.dtype;
  const struct fills *const fills = &work->fills;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = value_bits(dtype, box->values, i);
    double const value = value_of_bits(dtype, bits);
    bool const is_valid =
        !fills->has_valid || (value >= fills->valid_least && value <= fills->valid_greatest);
    if (isfinite(value) && is_valid && !value_is_kept(info, bits))
      range_include(range, value, value);
  }
}

/* The library says which values count for a range, by what an archive of these values would
 * state. What lies beyond the dataset's edge does not count: the values are packed to a line. */
szgpu_status range_look(szgpu_ctx *ctx, const struct squeeze_work *work, struct box *box,
                        struct fills *fills, struct squeeze_range *range) {
  int const rank = work->variable->rank;
  size_t const value_bytes = work->source.value_bytes;
  uint64_t count = 1, lines = 1;
  for (int axis = 0; axis < rank; axis++) count *= box->count[axis];
  for (int axis = 0; axis + 1 < rank; axis++) lines *= box->count[axis];
  hsize_t const line = box->count[rank - 1];
  hsize_t at[H5S_MAX_RANK] = {0};
  for (uint64_t i = 0; i < lines && box->is_cut; i++) {
    uint64_t from = 0;
    for (int axis = 0; axis < rank; axis++) from = from * box->dims[axis] + at[axis];
    memmove(box->values + i * line * value_bytes, box->values + from * value_bytes,
            (size_t)line * value_bytes);
    for (int axis = rank - 2; axis >= 0 && ++at[axis] == box->count[axis]; axis--) at[axis] = 0;
  }
  szgpu_shape const shape = {work->shape.dtype, 1, {count}};
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  fills_look(fills, shape.dtype, box->values, count);
  szgpu_status const status = szgpu_foresee(ctx, &work->params, &shape, box->values, &info);
  if (status != SZGPU_OK) return status;
  if (info.has_limits)
    range_include(range, info.least, info.greatest);
  else
    include_values(work, box, &info, count, range);
  return SZGPU_OK;
}
