/* derive.c - what a compression derives from its arguments and from the field's values, for both
 * backends: kinds of frame, bound and step, header.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "container/compact.h"
#include "frames/kinds.h"
#include "pipeline/calls.h"
#include "pipeline/pipeline.h"
#include "quant/joins.h"
#include "quant/raster.h"
#include "quant/restored.h"

/* Whether the call wants values to be looked at one by one: what is missing is more than a fill
 * value, or must be found. */
static bool asks_for_missing(const szgpu_params *params) {
  return params->mode != SZGPU_MODE_LOSSLESS &&
         (params->more_fill_count || params->has_valid || params->keep & SZGPU_KEEP_MISSING);
}

/* What decides which kinds of frame serve the call. */
static szg_write_request request_of_params(const szgpu_params *params) {
  return (szg_write_request){.layout = params->layout,
                             .predictor = params->predictor,
                             .is_lossless = params->mode == SZGPU_MODE_LOSSLESS,
                             .raw_outliers = params->raw_outliers != 0,
                             .may_edit = asks_for_missing(params)};
}

uint32_t szg_call_traits(const szgpu_params *params) {
  szg_write_request const request = request_of_params(params);
  return szg_kinds_traits(&request);
}

szg_write_request szg_call_request(const szgpu_ctx *ctx, const szgpu_params *params,
                                   szgpu_dtype dtype, const szg_grid *grid) {
  uint64_t const frame_rows = szg_frame_rows(grid, dtype, params->mode, params->frame_rows);
  szg_write_request request = request_of_params(params);
  request.mapping = szg_mapping_of_params(params, dtype);
  request.dtype = request.mapping.inner;
  request.frame_grid = szg_grid_of_rows(grid, frame_rows);
  request.frame_count = szg_div_up(grid->row_extent, frame_rows);
  request.is_compacted = szg_is_compacted(grid->value_count, request.frame_count);
  request.thread_count = ctx->threads.count;
  return request;
}

/* ---- the grid ---- */

/* Joined axes are for kinds of frame that predict along several axes, and for a field of one frame,
 * whose rows can then be others. */
static bool may_join(const szgpu_params *params, const szgpu_shape *shape, const szg_grid *grid) {
  return params->mode != SZGPU_MODE_LOSSLESS && params->predictor != SZGPU_PREDICTOR_LORENZO &&
         szg_call_traits(params) & SZG_KIND_INTERPOLATES && params->greatest == 0.0 &&
         szg_frame_rows(grid, shape->dtype, params->mode, params->frame_rows) == grid->row_extent;
}

uint32_t szg_call_grids(const szgpu_params *params, const szgpu_shape *shape, const szg_grid *grid,
                        szg_grid grids[SZG_MOST_GRIDS]) {
  if (may_join(params, shape, grid)) return szg_joins_grids(shape, grids);
  grids[0] = *grid;
  return 1;
}

/* What the caller says is missing; bits are the source's. */
static szg_missing named_missing(const szgpu_params *params, const szg_value_source *source) {
  szg_missing missing = {.fill_count = szg_call_fill_count(params),
                         .has_valid = params->has_valid != 0,
                         .valid_least = params->valid_least,
                         .valid_greatest = params->valid_greatest};
  for (uint32_t i = 0; i < missing.fill_count; i++)
    missing.fill_bits[i] = szg_mapping_inner_bits(&source->mapping, szg_call_fill(params, i));
  return missing;
}

/* The same, with bits of the field's type. */
static szg_missing missing_in_field(const szgpu_params *params, const szg_value_source *source) {
  szg_value_source own = *source;
  szg_mapping *const mapping = &own.mapping;
  if (mapping->kind == SZG_MAPPING_LOG)
    *mapping = (szg_mapping){.outer = mapping->outer, .inner = mapping->outer};
  szg_missing missing = named_missing(params, &own);
  for (uint32_t i = 0; i < missing.fill_count; i++)
    missing.fill_bits[i] = szg_mapping_outer_bits(mapping, missing.fill_bits[i]);
  return missing;
}

szgpu_status szg_call_join(const szgpu_params *params, const szgpu_shape *shape,
                           const szg_value_source *source, szg_grid *grid) {
  szg_grid grids[SZG_MOST_GRIDS];
  if (szg_call_grids(params, shape, grid, grids) == 1) return SZGPU_OK;
  szg_missing const missing = missing_in_field(params, source);
  return szg_joins_choose(shape, params->mode, params->bound, &missing, source, grid);
}

/* ---- the bound ---- */

static bool keeps_restored(const szgpu_params *params) {
  return params->mode == SZGPU_MODE_ABS && params->keep & SZGPU_KEEP_RESTORED;
}

static bool keeps_range(const szgpu_params *params) {
  return params->mode != SZGPU_MODE_ABS || params->keep & SZGPU_KEEP_RANGE || params->has_valid;
}

/* An absolute bound asks for no range: only the margin of the step depends on the values, and
 * frames tell if it was too small. */
static bool needs_no_range(const szgpu_params *params) {
  return params->mode == SZGPU_MODE_ABS && !params->has_fill && !keeps_range(params) &&
         !asks_for_missing(params) && !(szg_call_traits(params) & SZG_KIND_HIDES_STRAYS);
}

bool szg_call_has_declared_bound(const szgpu_params *params, const szg_mapping *mapping) {
  return params->greatest > 0.0 && mapping->kind != SZG_MAPPING_LOG;
}

szgpu_status szg_call_declared_bound(const szgpu_params *params, const szg_mapping *mapping,
                                     szg_bound_plan *bound) {
  uint64_t const named_fill = szg_mapping_inner_bits(mapping, params->fill);
  return szg_bound_declare(mapping, params->bound, params->greatest,
                           params->has_fill ? &named_fill : NULL, bound);
}

/* Finds the range of the source's values, and what is missing among them. The source is not
 * SZG_MAPPING_LOG. */
static szgpu_status find_range(const szgpu_params *params, const szg_value_source *source,
                               szg_missing *missing, szg_range *range) {
  *missing = named_missing(params, source);
  SZG_TRY(szg_range_take(source, missing->fill_count ? &missing->fill_bits[0] : NULL, range));
  if (!(params->keep & SZGPU_KEEP_MISSING)) range->more_fill_count = 0;
  if (!missing->fill_count) {
    szg_missing const known = szg_missing_of_range(range);
    missing->fill_count = known.fill_count;
    memcpy(missing->fill_bits, known.fill_bits, sizeof known.fill_bits);
  }
  uint32_t const known_count = missing->fill_count;
  bool const is_range = known_count <= 1; /* of all values but these */
  if (params->keep & SZGPU_KEEP_MISSING)
    SZG_TRY(szg_missing_find_far(source, params->mode, is_range ? range : NULL, missing));
  if (is_range && missing->fill_count == known_count && !missing->has_valid) return SZGPU_OK;
  return szg_range_without(source, missing, range);
}

/* Notes in the plan what is missing, with bits of the field's type. */
static void set_missing(const szg_missing *missing, const szg_mapping *mapping,
                        szg_bound_plan *bound) {
  bound->missing = *missing;
  for (uint32_t i = 0; i < missing->fill_count; i++)
    bound->missing.fill_bits[i] = szg_mapping_outer_bits(mapping, missing->fill_bits[i]);
}

/* A bound relative to each value. What is missing shows in the values themselves, not in their
 * logarithms. */
static szgpu_status call_log_bound(const szgpu_params *params, const szg_value_source *source,
                                   szg_bound_plan *bound) {
  szg_value_source own = *source;
  own.mapping = (szg_mapping){.outer = source->mapping.outer, .inner = source->mapping.outer};
  own.inner_values = NULL;
  own.dtype = own.mapping.inner;
  szg_missing missing = named_missing(params, &own);
  szg_range range;
  bool const keeps = (params->keep & SZGPU_KEEP_RANGE) != 0;
  if (keeps || asks_for_missing(params)) SZG_TRY(find_range(params, &own, &missing, &range));
  SZG_TRY(szg_bound_derive_log(source, params->bound,
                               missing.fill_count ? &missing.fill_bits[0] : NULL,
                               keeps ? &range : NULL, bound));
  set_missing(&missing, &own.mapping, bound);
  return SZGPU_OK;
}

static szgpu_status find_bound(const szgpu_params *params, const szg_value_source *source,
                               bool may_sample, szg_bound_plan *bound) {
  if (source->mapping.kind == SZG_MAPPING_LOG) return call_log_bound(params, source, bound);
  if (szg_call_has_declared_bound(params, &source->mapping))
    return szg_call_declared_bound(params, &source->mapping, bound);
  if (may_sample && needs_no_range(params)) {
    bool is_enough;
    SZG_TRY(szg_bound_sample(source, params->bound, bound, &is_enough));
    if (is_enough) return SZGPU_OK;
  }
  szg_missing missing;
  szg_range range;
  SZG_TRY(find_range(params, source, &missing, &range));
  SZG_TRY(szg_bound_derive(source, params->mode, params->bound, &range, bound));
  if (keeps_range(params)) szg_bound_set_limits(&range, bound);
  set_missing(&missing, &source->mapping, bound);
  return SZGPU_OK;
}

/* Looks for a raster, unless nothing is to be known of the values, or a raster would not do. */
static szgpu_status find_raster(const szgpu_params *params, const szg_grid *grid,
                                const szg_value_source *source, bool may_have_levels,
                                szg_bound_plan *bound) {
  bool const insists = params->predictor == SZGPU_PREDICTOR_INTERPOLATION;
  if (bound->is_declared || insists) return SZGPU_OK;
  szg_raster_asked const asked = {
      .grid = grid,
      .may_interpolate = may_have_levels && params->predictor == SZGPU_PREDICTOR_AUTO &&
                         szg_call_traits(params) & SZG_KIND_INTERPOLATES,
      .may_have_planes = params->layout == SZGPU_LAYOUT_TILE,
      .keeps_values_exactly = keeps_restored(params)};
  return szg_raster_settle(&asked, source, bound);
}

szgpu_status szg_call_bound(const szgpu_params *params, const szg_grid *grid,
                            const szg_value_source *source, szg_bound_tries tries,
                            szg_bound_plan *bound) {
  bool const keeps = keeps_restored(params);
  SZG_TRY(find_bound(params, source, tries.may_sample && !keeps, bound)); /* all are read anyway */
  if (tries.may_have_raster && source->mapping.kind != SZG_MAPPING_LOG)
    SZG_TRY(find_raster(params, grid, source, tries.may_have_levels, bound));
  if (!keeps || bound->has_raster) return SZGPU_OK;
  uint64_t const frame_rows =
      szg_frame_rows(grid, source->mapping.outer, params->mode, params->frame_rows);
  szg_restored_asked const asked = {params->predictor, grid, frame_rows * grid->row_values};
  return szg_restored_settle(&asked, source, bound);
}

szg_header szg_call_header(const szgpu_params *params, const szgpu_shape *shape,
                           const szg_grid *grid, const szg_bound_plan *bound) {
  uint64_t const frame_rows = szg_frame_rows(grid, shape->dtype, params->mode, params->frame_rows);
  szg_header header = {
      .shape = *shape,
      .mode = params->mode,
      .layout = params->layout,
      .source = params->source,
      .joined = grid->joined,
      .has_gaps = szg_call_traits(params) & SZG_KIND_HAS_GAPS && !params->without_gaps,
      .frame_rows = frame_rows,
      .frame_count = szg_div_up(grid->row_extent, frame_rows),
  };
  if (!bound) return header;
  header.arithmetic = bound->quantizer.arithmetic;
  header.has_fill = bound->quantizer.has_fill;
  header.fill_bits = bound->quantizer.fill_bits;
  header.has_own_fill = bound->has_own_fill;
  header.own_fill_bits = bound->own_fill_bits;
  for (uint32_t i = 1; i < bound->missing.fill_count; i++)
    header.more_fill_bits[header.more_fill_count++] = bound->missing.fill_bits[i];
  header.bound = params->bound;
  header.absolute_bound = bound->absolute_bound;
  header.step = bound->quantizer.step;
  header.value_range = bound->value_range;
  header.has_limits = bound->has_limits;
  header.least = bound->least_value;
  header.greatest = bound->greatest_value;
  return header;
}
