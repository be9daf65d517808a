/* hdf5_range.c - looks at values for missing ones and for their range.
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

/* ---- what is not among the values ---- */

/* Integers in the order of the floats; those of NaNs lie beyond those of infinities. */
static int32_t order_of_f32(int32_t bits) { return bits ^ (bits >> 31 & INT32_MAX); }
static int64_t order_of_f64(int64_t bits) { return bits ^ (bits >> 63 & INT64_MAX); }

struct orders {
  int64_t least, greatest;
};

static struct orders orders_of_f32(const unsigned char *values, uint64_t count) {
  int32_t least = INT32_MAX, greatest = INT32_MIN;
  for (uint64_t i = 0; i < count; i++) {
    int32_t bits;
    memcpy(&bits, values + i * sizeof bits, sizeof bits);
    int32_t const order = order_of_f32(bits);
    least = order < least ? order : least;
    greatest = order > greatest ? order : greatest;
  }
  return (struct orders){least, greatest};
}

static struct orders orders_of_f64(const unsigned char *values, uint64_t count) {
  struct orders orders = {INT64_MAX, INT64_MIN};
  for (uint64_t i = 0; i < count; i++) {
    int64_t bits;
    memcpy(&bits, values + i * sizeof bits, sizeof bits);
    int64_t const order = order_of_f64(bits);
    orders.least = order < orders.least ? order : orders.least;
    orders.greatest = order > orders.greatest ? order : orders.greatest;
  }
  return orders;
}

static int64_t order_of(szgpu_dtype dtype, double value) {
  float const narrow = (float)value;
  int32_t bits;
  int64_t wide_bits;
  memcpy(&bits, &narrow, sizeof bits);
  memcpy(&wide_bits, &value, sizeof wide_bits);
  return dtype == SZGPU_F32 ? order_of_f32(bits) : order_of_f64(wide_bits);
}

/* Those of both zeros are neighbours. */
static bool is_near(const struct orders *orders, int64_t order) {
  return order >= orders->least - 1 && order <= orders->greatest + 1;
}

void range_spare(szgpu_params *params, szgpu_dtype dtype, const void *values, uint64_t count) {
  bool const is_kept = params->mode == SZGPU_MODE_ABS && (params->keep & SZGPU_KEEP_RANGE);
  bool const is_known = dtype == SZGPU_F32 || dtype == SZGPU_F64;
  if (!is_kept || !is_known || !(params->has_fill || params->has_valid)) return;
  struct orders const orders =
      dtype == SZGPU_F32 ? orders_of_f32(values, count) : orders_of_f64(values, count);
  bool is_met = params->has_fill && is_near(&orders, order_of(dtype, params->fill));
  for (uint32_t i = 0; i < params->more_fill_count; i++)
    is_met |= is_near(&orders, order_of(dtype, params->more_fills[i]));
  if (!is_met) {
    params->has_fill = false;
    params->more_fill_count = 0;
  }
  if (params->has_valid && orders.least > order_of(dtype, params->valid_least) &&
      orders.greatest < order_of(dtype, params->valid_greatest))
    params->has_valid = false;
}
