/* szgpu_async.c - the public calls that only put work in a stream: their arguments.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "szgpu.h"

#include "pipeline/async.h"
#include "pipeline/backend.h"
#include "pipeline/calls.h"
#include "pipeline/pipeline.h"

enum { WORKSPACE_ALIGNMENT = 256, OUTCOME_ALIGNMENT = 8 };

static bool is_aligned(const void *pointer, size_t alignment) {
  return (uintptr_t)pointer % alignment == 0;
}

/* Refuses what szgpu_compress can do and these calls cannot. */
static szgpu_status check_kind(szgpu_ctx *ctx, const szgpu_params *params) {
  if (ctx->options.backend != SZGPU_BACKEND_CUDA)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls need a ctx with SZGPU_BACKEND_CUDA");
  bool const is_lossless = params->mode == SZGPU_MODE_LOSSLESS;
  if (!is_lossless && params->mode != SZGPU_MODE_ABS)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls need SZGPU_MODE_ABS or SZGPU_MODE_LOSSLESS; use "
                    "szgpu_compress");
  if (params->layout != SZGPU_LAYOUT_TILE)
    return szg_fail(ctx, SZGPU_UNSUPPORTED, "stream-ordered calls need the tile layout");
  if (!is_lossless && params->predictor != SZGPU_PREDICTOR_LORENZO)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls with a bound need the predictor lorenzo");
  if (!is_lossless && params->keep)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls have no params.keep, which needs a look at all values; "
                    "use szgpu_compress");
  if (!is_lossless && !params->raw_outliers)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls with a bound need params.greatest and "
                    "params.raw_outliers");
  if (params->zstd_level)
    return szg_fail(ctx, SZGPU_UNSUPPORTED, "stream-ordered calls have no zstd; set level 0");
  return SZGPU_OK;
}

/* Checks that values can be coded at all, and that the field is one frame. */
static szgpu_status check_field(szgpu_ctx *ctx, const szgpu_params *params,
                                const szgpu_shape *shape, const szg_grid *grid) {
  szg_bound_plan bound;
  szg_mapping const mapping = szg_mapping_of(params->mode, shape->dtype);
  if (szg_is_mapped(&mapping))
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls with a bound take values of f32 and f64; use "
                    "szgpu_compress");
  if (szg_frame_rows(grid, shape->dtype, params->mode, params->frame_rows) != grid->row_extent)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "stream-ordered calls take fields of one frame; cut this one into items, or "
                    "set frame_rows to its rows");
  if (params->mode == SZGPU_MODE_LOSSLESS) return SZGPU_OK;
  SZG_TRY(szg_call_declared_bound(params, &mapping, &bound));
  if (bound.is_hopeless)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "no value can be coded under a bound of %g; use the lossless mode",
                    params->bound);
  return SZGPU_OK;
}

static szgpu_status check_item(szgpu_ctx *ctx, const szgpu_async_item *item, bool writes,
                               size_t number) {
  const char *problem = NULL;
  if (!item->field || !item->archive || !item->outcome)
    problem = "lacks a field, an archive or an outcome";
  else if (!is_aligned(item->field, szg_dtype_bytes(item->shape.dtype)))
    problem = "has a field that is not aligned as its values must be";
  else if (!is_aligned(item->archive, SZG_ALIGNMENT))
    problem = "has an archive that is not aligned to 16 bytes";
  else if (!is_aligned(item->outcome, OUTCOME_ALIGNMENT) ||
           !is_aligned(item->archive_bytes_at, OUTCOME_ALIGNMENT))
    problem = "has an outcome or a size that is not aligned to 8 bytes";
  else if (writes && item->archive_bytes_at)
    problem = "has a size of its archive, which does not exist yet";
  if (!problem) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "item %zu %s", number, problem);
}

/* Checks what does not depend on memory, and completes params. */
static szgpu_status check_shapes(szgpu_ctx *ctx, const szgpu_params *given,
                                 const szgpu_async_item *items, size_t item_count,
                                 szgpu_params *params) {
  szgpu_shape const any_shape = {SZGPU_F32, 1, {1}};
  szg_grid grid;
  SZG_REQUIRE(items || item_count == 0, SZGPU_BAD_ARGUMENT);
  if (item_count > SZGPU_MAX_ASYNC_ITEMS)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "%zu items are more than %d", item_count,
                    (int)SZGPU_MAX_ASYNC_ITEMS);
  SZG_TRY(szg_check_request(ctx, given, &any_shape, params, &grid));
  SZG_TRY(check_kind(ctx, params));
  for (size_t i = 0; i < item_count; i++) {
    SZG_TRY(szg_check_request(ctx, given, &items[i].shape, params, &grid));
    SZG_TRY(check_field(ctx, params, &items[i].shape, &grid));
  }
  return SZGPU_OK;
}

static szgpu_status find_bytes(szgpu_ctx *ctx, const szgpu_params *given,
                               const szgpu_async_item *items, size_t item_count,
                               size_t *workspace_bytes) {
  szgpu_params params;
  uint64_t bytes = 0;
  SZG_REQUIRE(workspace_bytes, SZGPU_BAD_ARGUMENT);
  SZG_TRY(check_shapes(ctx, given, items, item_count, &params));
  szg_async_call const call = {
      .params = &params, .items = items, .item_count = (uint32_t)item_count};
  SZG_TRY(szg_async_bytes_cuda(ctx, &call, &bytes));
  *workspace_bytes = bytes;
  return SZGPU_OK;
}

szgpu_status szgpu_async_bytes(szgpu_ctx *ctx, const szgpu_params *params,
                               const szgpu_async_item *items, size_t item_count,
                               size_t *workspace_bytes) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_leave_call(ctx, find_bytes(ctx, params, items, item_count, workspace_bytes));
}

static szgpu_status run(szgpu_ctx *ctx, const szgpu_params *given, size_t item_count,
                        szg_async_call *call) {
  szgpu_params params;
  SZG_TRY(check_shapes(ctx, given, call->items, item_count, &params));
  for (size_t i = 0; i < item_count; i++)
    SZG_TRY(check_item(ctx, &call->items[i], call->writes, i));
  SZG_REQUIRE(call->workspace || item_count == 0, SZGPU_BAD_ARGUMENT);
  if (!is_aligned(call->workspace, WORKSPACE_ALIGNMENT))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "the workspace is not aligned to %d bytes",
                    (int)WORKSPACE_ALIGNMENT);
  call->params = &params;
  call->item_count = (uint32_t)item_count;
  return item_count == 0 ? SZGPU_OK : szg_async_run_cuda(ctx, call);
}

szgpu_status szgpu_compress_async(szgpu_ctx *ctx, const szgpu_params *params,
                                  const szgpu_async_item *items, size_t item_count, void *workspace,
                                  size_t workspace_bytes, struct CUstream_st *stream) {
  szg_async_call call = {.items = items,
                         .workspace = workspace,
                         .workspace_bytes = workspace_bytes,
                         .stream = stream,
                         .writes = true};
  SZG_TRY(szg_begin_call(ctx));
  return szg_leave_call(ctx, run(ctx, params, item_count, &call));
}

szgpu_status szgpu_decompress_async(szgpu_ctx *ctx, const szgpu_params *params,
                                    const szgpu_async_item *items, size_t item_count,
                                    void *workspace, size_t workspace_bytes,
                                    struct CUstream_st *stream) {
  szg_async_call call = {
      .items = items, .workspace = workspace, .workspace_bytes = workspace_bytes, .stream = stream};
  SZG_TRY(szg_begin_call(ctx));
  return szg_leave_call(ctx, run(ctx, params, item_count, &call));
}
