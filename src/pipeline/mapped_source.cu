/* mapped_source.cu - passes on the GPU over values that are coded in a wider type.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/mapped_source.h"

#include <math.h>

#include "core/bytes.h"

/* Widens values from `first` on; *piece reads them. */
static szgpu_status open_piece(const szg_value_source *source, uint64_t first,
                               szg_value_source_cuda *piece) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  auto const *const values = (const uint8_t *)source->values;
  uint64_t const count = szg_min_u64(mapped->inner_values, source->value_count - first);
  if (!szg_is_mapped(&source->mapping)) { /* all at once, as they are */
    szg_value_source_open_cuda(mapped->device, source->dtype,
                               values + first * szg_dtype_bytes(source->dtype), count, mapped->work,
                               mapped->pinned_work, piece);
    return SZGPU_OK;
  }
  SZG_TRY(szg_values_to_inner_cuda(&source->mapping,
                                   values + first * szg_dtype_bytes(source->mapping.outer), count,
                                   mapped->inner, mapped->device->stream));
  szg_value_source_open_cuda(mapped->device, source->dtype, mapped->inner, count, mapped->work,
                             mapped->pinned_work, piece);
  return SZGPU_OK;
}

static szgpu_status find_extremes(const szg_value_source *source, const uint64_t *named_fill,
                                  szg_extremes *extremes) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  *extremes = {INFINITY, -INFINITY, 0};
  for (uint64_t first = 0; first < source->value_count; first += mapped->inner_values) {
    szg_value_source_cuda piece;
    szg_extremes found;
    SZG_TRY(open_piece(source, first, &piece));
    SZG_TRY(piece.source.find_extremes(&piece.source, named_fill, &found));
    szg_extremes_merge(&found, extremes);
  }
  return SZGPU_OK;
}

static szgpu_status greatest_up_to(const szg_value_source *source, const szg_range *range,
                                   double limit, double *greatest) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  *greatest = 0.0;
  for (uint64_t first = 0; first < source->value_count; first += mapped->inner_values) {
    szg_value_source_cuda piece;
    double found;
    SZG_TRY(open_piece(source, first, &piece));
    SZG_TRY(piece.source.greatest_up_to(&piece.source, range, limit, &found));
    if (found > *greatest) *greatest = found;
  }
  return SZGPU_OK;
}

void szg_mapped_source_open_cuda(szg_device *device, const szg_mapping *mapping, const void *values,
                                 uint64_t value_count, void *inner, uint64_t inner_values,
                                 void *work, void *pinned_work, szg_mapped_source_cuda *source) {
  *source = {};
  source->source.dtype = mapping->inner;
  source->source.mapping = *mapping;
  source->source.values = values;
  source->source.value_count = value_count;
  source->source.where = source;
  if (value_count <= inner_values) source->source.inner_values = inner;
  source->source.find_extremes = find_extremes;
  source->source.greatest_up_to = greatest_up_to;
  source->device = device;
  source->inner = (uint8_t *)inner;
  source->inner_values = inner_values;
  source->work = work;
  source->pinned_work = pinned_work;
}
