/* szgpu_region.c - the public entry points for parts of a field: regions, previews, and which bytes
 * of an archive a region needs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "szgpu.h"

#include "pipeline/backend.h"
#include "pipeline/calls.h"
#include "pipeline/pipeline.h"

/* The field's own grid, without joined axes, which its regions and previews go by. */
static szg_grid own_grid(const szg_opened *opened) {
  return szg_grid_of_dims(opened->header.shape.dims, opened->header.shape.ndim);
}

/* The region as a box of the level's grid. */
static szgpu_status find_box(szgpu_ctx *ctx, const szg_opened *opened, const szgpu_region *region,
                             szg_box *box) {
  const szgpu_shape *const shape = &opened->header.shape;
  int box_axis = SZG_BOX_AXES; /* a box has no axes for dims of 1 */
  for (int axis = shape->ndim - 1; axis >= 0; axis--) {
    bool const is_in_box = shape->dims[axis] > 1;
    if (is_in_box) box_axis--;
    uint64_t const extent = is_in_box ? box->end[box_axis] : 1;
    unsigned long long const first = region->first[axis], count = region->count[axis];
    if (count == 0)
      return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "the region has no values along axis %d", axis);
    if (count > extent || first > extent - count)
      return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                      "axis %d has %llu values, and the region asks for %llu from index %llu on",
                      axis, (unsigned long long)extent, count, first);
    if (!is_in_box) continue;
    box->first[box_axis] = first;
    box->end[box_axis] = first + count;
  }
  return SZGPU_OK;
}

/* Restores a region of the field on the GPU; *is_done false: the CPU has to do it. */
static szgpu_status decompress_region_there(szgpu_ctx *ctx, const void *archive,
                                            size_t archive_bytes, const szgpu_region *region,
                                            void *field, size_t field_bytes, bool *is_done) {
  szg_opened opened;
  SZG_TRY(szg_open_archive(ctx, archive, archive_bytes, true, &opened));
  if (opened.header.joined) return SZGPU_OK;
  szg_box box = szg_box_of_level(&opened.grid, 0);
  SZG_TRY(find_box(ctx, &opened, region, &box));
  SZG_TRY(szg_check_field(ctx, archive, &opened, szg_box_value_count(&box), field, field_bytes));
  return szg_decompress_region_cuda(ctx, szg_bytes_for_gpu(&opened, archive), &opened, &box, field,
                                    is_done);
}

/* What a call for a region, or for all of a level if region is NULL, is to restore on the CPU. */
static szgpu_status find_wanted(szgpu_ctx *ctx, const szg_opened *opened, int level,
                                const szgpu_region *region, szg_wanted *wanted) {
  szg_grid const grid = own_grid(opened);
  *wanted = (szg_wanted){.level = (uint32_t)level,
                         .box = szg_box_of_level(&grid, (uint32_t)level),
                         .is_partial = region != NULL};
  return region ? find_box(ctx, opened, region, &wanted->box) : SZGPU_OK;
}

static szgpu_status check_level(szgpu_ctx *ctx, int level) {
  if (level >= 0 && level <= SZGPU_MAX_LEVEL) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "a level of %d is not in 0 .. %d", level,
                  (int)SZGPU_MAX_LEVEL);
}

static szgpu_status decompress_wanted(szgpu_ctx *ctx, const szg_opened *opened,
                                      const szg_wanted *wanted, void *field) {
  return opened->header.joined ? szg_decompress_joined(ctx, opened, wanted, field)
                               : szg_decompress_cpu(ctx, opened, wanted, field);
}

/* Restores a region, or all of a level if region is NULL; previews and their regions on the CPU. */
static szgpu_status decompress_part(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                    int level, const szgpu_region *region, void *field,
                                    size_t field_bytes) {
  SZG_REQUIRE(archive && field, SZGPU_BAD_ARGUMENT);
  SZG_TRY(check_level(ctx, level));
  bool const is_cuda = ctx->options.backend == SZGPU_BACKEND_CUDA;
  bool is_done = false;
  if (is_cuda && region && level == 0)
    SZG_TRY(
        decompress_region_there(ctx, archive, archive_bytes, region, field, field_bytes, &is_done));
  if (is_done) return SZGPU_OK;
  void *host_field = field;
  const void *const given = archive;
  if (is_cuda) SZG_TRY(szg_fetch_archive_cuda(ctx, archive, archive_bytes, &archive));
  szg_opened opened;
  SZG_TRY(szg_open_archive(ctx, archive, archive_bytes, false, &opened));
  szg_wanted wanted;
  SZG_TRY(find_wanted(ctx, &opened, level, region, &wanted));
  SZG_TRY(
      szg_check_field(ctx, given, &opened, szg_box_value_count(&wanted.box), field, field_bytes));
  if (is_cuda) SZG_TRY(szg_stage_field_cuda(ctx, field, field_bytes, &host_field));
  SZG_TRY(decompress_wanted(ctx, &opened, &wanted, host_field));
  return is_cuda ? szg_send_field_cuda(ctx, host_field, field_bytes, field) : SZGPU_OK;
}

szgpu_status szgpu_decompress_level(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                    int level, void *field, size_t field_bytes) {
  if (level == 0) return szgpu_decompress(ctx, archive, archive_bytes, field, field_bytes);
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(
      ctx, decompress_part(ctx, archive, archive_bytes, level, NULL, field, field_bytes));
}

szgpu_status szgpu_decompress_region(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                     int level, const szgpu_region *region, void *field,
                                     size_t field_bytes) {
  SZG_REQUIRE(region, SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_begin_call(ctx));
  return szg_end_call(
      ctx, decompress_part(ctx, archive, archive_bytes, level, region, field, field_bytes));
}

/* ---- which bytes a region needs ---- */

/* A thread alone asks, in the order of the archive. */
static szgpu_status find_ranges(szgpu_ctx *ctx, const void *archive, int level,
                                const szgpu_region *region, szg_asking *asking) {
  szg_opened opened;
  szg_wanted wanted;
  bool is_open;
  SZG_TRY(szg_open_part(ctx, archive, asking, &opened, &is_open));
  if (!is_open) return SZGPU_OK;
  ctx->callers_bytes = asking->archive_bytes;
  SZG_TRY(find_wanted(ctx, &opened, level, region, &wanted));
  if (!opened.asking) return SZGPU_OK;
  szg_threads const threads = ctx->threads;
  ctx->threads = (szg_threads){.count = 1};
  szgpu_status const status = decompress_wanted(ctx, &opened, &wanted, NULL);
  ctx->threads = threads;
  return status;
}

static szgpu_status region_ranges(szgpu_ctx *ctx, const void *archive, int level,
                                  const szgpu_region *region, const szgpu_range *present,
                                  size_t present_count, szg_asking *asking) {
  SZG_TRY(check_level(ctx, level));
  if (ctx->options.backend == SZGPU_BACKEND_CUDA)
    return szg_fail(ctx, SZGPU_UNSUPPORTED,
                    "a GPU reads other bytes: use a ctx of another backend, here and to restore");
  szgpu_status const status = szg_asking_begin(asking, present, present_count);
  if (status == SZGPU_BAD_ARGUMENT)
    return szg_fail(ctx, status, "a range goes beyond the archive's %llu bytes",
                    (unsigned long long)asking->archive_bytes);
  SZG_TRY(status);
  return find_ranges(ctx, archive, level, region, asking);
}

szgpu_status szgpu_region_ranges(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                 int level, const szgpu_region *region, const szgpu_range *present,
                                 size_t present_count, uint64_t gap_bytes, szgpu_range *missing,
                                 size_t capacity, size_t *missing_count) {
  SZG_REQUIRE(archive && region && missing && capacity > 0 && missing_count, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(present || present_count == 0, SZGPU_BAD_ARGUMENT);
  SZG_TRY(szg_begin_call(ctx));
  szg_asking asking = {.present = &ctx->kept[SZG_KEPT_PRESENT],
                       .wanted = &ctx->kept[SZG_KEPT_WANTED],
                       .archive_bytes = archive_bytes,
                       .gap_bytes = gap_bytes};
  szgpu_status const status =
      region_ranges(ctx, archive, level, region, present, present_count, &asking);
  if (status == SZGPU_OK) *missing_count = szg_asking_end(&asking, missing, capacity);
  return szg_end_call(ctx, status);
}
