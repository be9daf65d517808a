/* mapped_source.cu - passes on the GPU over values that are coded in a wider type.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves, for each value: the search for extremes reads it once. If there is room for all inner
 * values, it writes that one and, for logarithms, an eighth of a byte.
 */
#include "pipeline/mapped_source.h"

#include "core/bytes.h"

/* Extremes of the values as they are, which only the search for a fill value asks for. */
static szgpu_status find_outer_extremes(const szg_value_source *source, const uint64_t *named_fill,
                                        szg_extremes *extremes) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  szg_value_source_cuda whole;
  szg_value_source_open_cuda(mapped->device, source->dtype, source->values, source->value_count,
                             mapped->work, mapped->pinned_work, &whole);
  return whole.source.find_extremes(&whole.source, named_fill, extremes);
}

static szgpu_status find_extremes(const szg_value_source *source, const uint64_t *named_fill,
                                  szg_extremes *extremes) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  if (!szg_is_mapped(&source->mapping)) return find_outer_extremes(source, named_fill, extremes);
  szg_map_range_cuda const map = {mapped->device,      &source->mapping,     source->values,
                                  source->value_count, source->inner_values, mapped->signs,
                                  mapped->work,        mapped->pinned_work};
  return szg_map_extremes_cuda(&map, named_fill, extremes);
}

static szgpu_status survey_values(const szg_value_source *source, const szg_survey *survey,
                                  szg_ends *ends) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  if (szg_is_mapped(&source->mapping)) {
    szg_map_range_cuda const map = {
        mapped->device, &source->mapping, source->values,     source->value_count, NULL,
        NULL,           mapped->work,     mapped->pinned_work};
    return szg_map_survey_cuda(&map, survey, ends);
  }
  szg_value_source_cuda whole;
  szg_value_source_open_cuda(mapped->device, source->dtype, source->values, source->value_count,
                             mapped->work, mapped->pinned_work, &whole);
  return whole.source.survey(&whole.source, survey, ends);
}

/* After find_extremes, which has left all inner values if there is room for them. */
static szgpu_status greatest_up_to(const szg_value_source *source, const szg_range *range,
                                   double limit, double *greatest) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  *greatest = 0.0;
  for (uint64_t first = 0; first < source->value_count; first += mapped->inner_values) {
    uint64_t const count = szg_min_u64(mapped->inner_values, source->value_count - first);
    auto const *const values =
        (const uint8_t *)source->values + first * szg_dtype_bytes(source->mapping.outer);
    szg_value_source_cuda piece;
    double found;
    if (!source->inner_values)
      SZG_TRY(szg_values_to_inner_cuda(&source->mapping, values, count, mapped->inner,
                                       mapped->signs, mapped->device->stream));
    szg_value_source_open_cuda(mapped->device, source->dtype, mapped->inner, count, mapped->work,
                               mapped->pinned_work, &piece);
    SZG_TRY(piece.source.greatest_up_to(&piece.source, range, limit, &found));
    if (found > *greatest) *greatest = found;
  }
  return SZGPU_OK;
}

static szgpu_status pick(const szg_value_source *source, const szg_runs *runs, void *picked) {
  auto const *const mapped = (const szg_mapped_source_cuda *)source->where;
  return szg_pick_cuda(mapped->device, source->mapping.outer, source->values, runs,
                       mapped->pinned_work, picked);
}

void szg_mapped_source_open_cuda(szg_device *device, const szg_mapping *mapping, const void *values,
                                 uint64_t value_count, void *inner, uint64_t inner_values,
                                 uint32_t *signs, void *work, void *pinned_work,
                                 szg_mapped_source_cuda *source) {
  *source = {};
  source->source.dtype = mapping->inner;
  source->source.mapping = *mapping;
  source->source.values = values;
  source->source.value_count = value_count;
  source->source.where = source;
  source->source.notes_own_fills = true;
  if (value_count <= inner_values) source->source.inner_values = inner;
  source->source.find_extremes = find_extremes;
  source->source.greatest_up_to = greatest_up_to;
  source->source.survey = survey_values;
  source->source.pick = pick;
  source->device = device;
  source->inner = (uint8_t *)inner;
  source->inner_values = inner_values;
  source->signs = signs;
  source->work = work;
  source->pinned_work = pinned_work;
}
