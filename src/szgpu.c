/* szgpu.c - the public entry points: arguments checked, a backend picked, the pipeline called.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "szgpu.h"

#include "core/workers.h"
#include "huffman/decoders/decoders.h"
#include "pipeline/backend.h"
#include "pipeline/calls.h"
#include "pipeline/pipeline.h"

static_assert((int)SZGPU_MAX_THREADS == (int)SZG_MAX_THREADS, "one limit");

const char *szgpu_version(void) { return SZGPU_VERSION_STRING; }

int szgpu_has_cuda(void) { return SZG_HAS_CUDA; }

int szgpu_device_count(void) { return szg_device_count(); }

const char *szgpu_decoder_name(szgpu_decoder decoder) { return szg_decoder_name(decoder); }

const char *szgpu_decoder_summary(szgpu_decoder decoder) { return szg_decoder_summary(decoder); }

int szgpu_decoder_runs_on(szgpu_decoder decoder, szgpu_backend backend) {
  return szg_decoder_exists(decoder) && szg_decoder_runs_on(decoder, backend);
}

const char *szgpu_decoder_refusal(szgpu_decoder decoder, const szgpu_info *info) {
  if (!info || !szg_decoder_exists(decoder)) return "is not known";
  return szg_decoder_refusal(decoder, info->mode, info->layout, info->has_gaps);
}

int szgpu_decoder_reads(szgpu_decoder decoder, const szgpu_info *info) {
  return !szgpu_decoder_refusal(decoder, info);
}

szgpu_status szgpu_create(szgpu_ctx **ctx, const szgpu_options *options) {
  SZG_REQUIRE(ctx, SZGPU_BAD_ARGUMENT);
  *ctx = NULL;
  szgpu_options known = SZGPU_OPTIONS_DEFAULTS;
  SZG_REQUIRE(!options || szg_take_struct(options, options->struct_bytes, SZG_FIRST_OPTIONS_BYTES,
                                          &known, sizeof known),
              SZGPU_BAD_ARGUMENT);
  options = &known;
  SZG_REQUIRE(options->threads >= 0 && options->threads <= SZGPU_MAX_THREADS, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(szg_decoder_exists(options->decoder), SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(options->backend <= SZGPU_BACKEND_CUDA, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(szg_backend_has_decoder(options->backend, options->decoder), SZGPU_UNSUPPORTED);
  szgpu_ctx *const made = szg_allocate_zeroed(sizeof *made);
  SZG_REQUIRE(made, SZGPU_OUT_OF_MEMORY);
  made->options = *options;
  int const cores = options->threads > 0 ? options->threads : szg_usable_cores();
  made->threads.count = cores < SZG_MAX_THREADS ? cores : SZG_MAX_THREADS;
  made->threads.progress = options->progress;
  made->threads.progress_user = options->progress_user;
  szg_ctx_open_account(made);
  *ctx = made;
  return SZGPU_OK;
}

void szgpu_destroy(szgpu_ctx *ctx) {
  if (!ctx) return;
  szg_unpin_ring_cuda(ctx);
  szg_close_cuda(ctx);
  szg_ctx_release_buffers(ctx);
  szg_free(ctx);
}

const char *szgpu_last_error(const szgpu_ctx *ctx) { return ctx ? ctx->error : ""; }

const char *szgpu_last_note(const szgpu_ctx *ctx) { return ctx ? ctx->note : ""; }

szgpu_status szgpu_set_memory_limit(szgpu_ctx *ctx, uint64_t bytes) {
  SZG_TRY(szg_begin_call(ctx));
  ctx->account.limit_bytes = bytes;
  if (bytes && ctx->account.taken_bytes > bytes) szg_give_memory_back(ctx);
  return szg_end_call(ctx, SZGPU_OK);
}

static szgpu_status find_sizes(szgpu_ctx *ctx, const szgpu_params *given, const szgpu_shape *shape,
                               size_t *workspace_bytes, size_t *max_archive_bytes) {
  szg_grid grid;
  szgpu_params known;
  const szgpu_params *const params = &known;
  SZG_TRY(szg_check_request(ctx, given, shape, &known, &grid));
  uint64_t workspace, archive;
  szgpu_status status = SZGPU_UNSUPPORTED;
  bool const with_cuda =
      szg_takes_cuda(ctx, szg_compressing_job(params), szg_field_bytes(shape, &grid));
  if (with_cuda) status = szg_compress_sizes_cuda(ctx, params, shape, &grid, &workspace, &archive);
  if (!with_cuda || szg_falls_back(ctx, status))
    status = szg_compress_sizes_cpu(ctx, params, shape, &grid, &workspace, &archive);
  SZG_TRY(status);
  if (workspace_bytes) *workspace_bytes = workspace;
  if (max_archive_bytes) *max_archive_bytes = archive;
  return SZGPU_OK;
}

szgpu_status szgpu_sizes(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                         size_t *workspace_bytes, size_t *max_archive_bytes) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(ctx, find_sizes(ctx, params, shape, workspace_bytes, max_archive_bytes));
}

szgpu_status szgpu_bounds(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                          size_t *workspace_bytes, size_t *max_archive_bytes) {
  return szgpu_sizes(ctx, params, shape, workspace_bytes, max_archive_bytes);
}

static szgpu_status reserve(szgpu_ctx *ctx, const szgpu_params *given, const szgpu_shape *shape) {
  szg_grid grid;
  szgpu_params known;
  const szgpu_params *const params = &known;
  SZG_TRY(szg_check_request(ctx, given, shape, &known, &grid));
  if (szg_takes_cuda(ctx, szg_compressing_job(params), szg_field_bytes(shape, &grid))) {
    szgpu_status const status = szg_compress_reserve_cuda(ctx, params, shape, &grid);
    if (!szg_falls_back(ctx, status)) return status;
  }
  return szg_compress_reserve_cpu(ctx, params, shape, &grid);
}

szgpu_status szgpu_reserve(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(ctx, reserve(ctx, params, shape));
}

static szgpu_status compress(szgpu_ctx *ctx, const szgpu_params *given, const szgpu_shape *shape,
                             const void *field, void *archive, size_t capacity,
                             size_t *archive_bytes) {
  szg_grid grid;
  szgpu_params known;
  const szgpu_params *const params = &known;
  SZG_TRY(szg_check_request(ctx, given, shape, &known, &grid));
  SZG_REQUIRE(field && archive && archive_bytes, SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_check_alignment(ctx, shape->dtype, field));
  SZG_TRY(szg_check_apart(ctx, field, szg_field_bytes(shape, &grid), archive, capacity));
  ctx->callers_bytes = szg_field_bytes(shape, &grid);
  uint64_t used_bytes = 0;
  szgpu_status status = SZGPU_UNSUPPORTED;
  bool const with_cuda =
      szg_takes_cuda(ctx, szg_compressing_job(params), szg_field_bytes(shape, &grid));
  if (with_cuda) {
    status = szg_join_cuda(ctx, params, shape, field, &grid);
    if (status == SZGPU_OK)
      status = szg_compress_cuda(ctx, params, shape, &grid, field, archive, capacity, &used_bytes);
  }
  bool const with_cpu = !with_cuda || szg_falls_back(ctx, status);
  if (with_cpu) status = szg_join_cpu(ctx, params, shape, field, &grid);
  if (with_cpu && status == SZGPU_OK)
    status = szg_compress_cpu(ctx, params, shape, &grid, field, archive, capacity, &used_bytes);
  *archive_bytes = used_bytes;
  return status;
}

szgpu_status szgpu_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                            const void *field, void *archive, size_t capacity,
                            size_t *archive_bytes) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(ctx, compress(ctx, params, shape, field, archive, capacity, archive_bytes));
}

static szgpu_status foresee(szgpu_ctx *ctx, const szgpu_params *given, const szgpu_shape *shape,
                            const void *field, szgpu_info *info) {
  szg_grid grid;
  szgpu_params known;
  const szgpu_params *const params = &known;
  SZG_TRY(szg_check_request(ctx, given, shape, &known, &grid));
  SZG_REQUIRE(field && info && info->struct_bytes >= SZG_FIRST_INFO_BYTES, SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_check_alignment(ctx, shape->dtype, field));
  SZG_TRY(szg_join_cpu(ctx, params, shape, field, &grid));
  return szg_foresee_cpu(ctx, params, shape, &grid, field, info);
}

szgpu_status szgpu_foresee(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field, szgpu_info *info) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(ctx, foresee(ctx, params, shape, field, info));
}

/* Restores rows of dims[0]; UINT64_MAX rows: all of them. */
static szgpu_status decompress_rows(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                    uint64_t first_row, uint64_t row_count, void *field,
                                    size_t field_bytes) {
  SZG_REQUIRE(archive && field, SZGPU_BAD_ARGUMENT);
  szg_opened opened;
  bool const on_device = ctx->options.backend == SZGPU_BACKEND_CUDA;
  SZG_TRY(szg_open_archive(ctx, archive, archive_bytes, on_device, &opened));
  uint64_t const extent = opened.header.shape.dims[0];
  bool const is_whole = row_count == UINT64_MAX;
  if (!is_whole && (row_count == 0 || row_count > extent || first_row > extent - row_count))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "the slowest axis has rows 0 to %llu",
                    (unsigned long long)(extent - 1));
  /* With dims[0] == 1 its one row is everything; otherwise it is the grid's slowest axis, or a part
   * of it. */
  if (is_whole || extent == 1) {
    first_row = 0;
    row_count = opened.grid.row_extent;
  } else {
    uint64_t const rows_in_one = opened.grid.value_count / extent / opened.grid.row_values;
    first_row *= rows_in_one;
    row_count *= rows_in_one;
  }
  SZG_TRY(szg_check_field(ctx, archive, &opened, row_count * opened.grid.row_values, field,
                          field_bytes));
  szg_wanted const wanted = szg_wanted_rows(&opened.grid, first_row, row_count);
  szgpu_status status = SZGPU_UNSUPPORTED;
  bool const with_cuda = szg_restores_on_cuda(ctx, &opened, field_bytes);
  if (with_cuda)
    status = szg_decompress_cuda(ctx, szg_bytes_for_gpu(&opened, archive), &opened, first_row,
                                 row_count, field);
  if (!with_cuda || szg_falls_back(ctx, status))
    status = szg_decompress_cpu(ctx, &opened, &wanted, field);
  return status;
}

szgpu_status szgpu_decompress(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                              void *field, size_t field_bytes) {
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(
      ctx, decompress_rows(ctx, archive, archive_bytes, 0, UINT64_MAX, field, field_bytes));
}

szgpu_status szgpu_decompress_slab(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                   uint64_t first_row, uint64_t row_count, void *field,
                                   size_t field_bytes) {
  if (row_count == UINT64_MAX) row_count = 0; /* just as invalid, but not "all rows" */
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(
      ctx, decompress_rows(ctx, archive, archive_bytes, first_row, row_count, field, field_bytes));
}

szgpu_status szgpu_level_shape(const szgpu_info *info, int level, szgpu_shape *shape) {
  SZG_REQUIRE(info && shape, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(level >= 0 && level <= SZGPU_MAX_LEVEL, SZGPU_BAD_ARGUMENT);
  szg_grid grid;
  SZG_TRY(szg_grid_of_shape(&info->shape, &grid));
  uint64_t const step = (uint64_t)1 << level;
  int const first = grid.batch_extent > 1; /* dims[0] is a batch's */
  *shape = info->shape;
  for (int axis = first; axis < shape->ndim; axis++)
    shape->dims[axis] = szg_div_up(shape->dims[axis], step);
  return SZGPU_OK;
}
