/* kinds_cuda.c - the steps of each kind of frame on the GPU; the twin of kinds.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/kinds_cuda.h"

#include "codecs/run_masks.h"
#include "codecs/simple/simple.h"
#include "frames/mapped.h"

#include <assert.h>

static bool find_tiles(const szg_read_frame_cuda *frame, szg_box *box, uint64_t *tile_count);
static szgpu_status restore_tiles(const szg_read_job_cuda *job);

const szg_frame_kind_cuda szg_frame_kinds_cuda[SZG_KIND_COUNT] = {
    [SZG_KIND_CONSTANT] =
        {
            .write = szg_constant_frame_write_cuda,
            .size_read = szg_constant_frame_size_read_cuda,
            .prepare = szg_constant_frame_prepare_cuda,
            .restore = szg_constant_frame_restore_cuda,
            .find_region = find_tiles,
            .restore_region = restore_tiles,
            .reads_in_part = true,
        },
    [SZG_KIND_LINEAR] =
        {
            .carve_zeroed = szg_linear_frame_carve_zeroed_cuda,
            .carve_write = szg_linear_frame_carve_write_cuda,
            .carve_write_pinned = szg_linear_frame_carve_write_pinned,
            .write = szg_linear_frame_write_cuda,
            .size_read = szg_linear_frame_size_read_cuda,
            .carve_read = szg_stream_carve_read_cuda,
            .carve_read_pinned = szg_stream_carve_read_pinned,
            .open = szg_stream_open_cuda,
            .prepare = szg_linear_frame_prepare_cuda,
            .restore = szg_linear_frame_restore_cuda,
        },
    [SZG_KIND_LEVELS] =
        {
            .carve_zeroed = szg_levels_frame_carve_zeroed_cuda,
            .carve_write = szg_levels_frame_carve_write_cuda,
            .carve_write_pinned = szg_levels_frame_carve_write_pinned,
            .write = szg_levels_frame_write_cuda,
            .size_read = szg_levels_frame_size_read_cuda,
            .size_reserve = szg_levels_frame_size_reserve_cuda,
            .carve_read = szg_levels_frame_carve_read_cuda,
            .open = szg_levels_frame_open_cuda,
            .prepare = szg_levels_frame_prepare_cuda,
            .restore = szg_levels_frame_restore_cuda,
            .find_region = szg_levels_frame_find_region_cuda,
            .restore_region = szg_levels_frame_restore_region_cuda,
            .reads_in_part = true,
        },
    [SZG_KIND_TILE] =
        {
            .carve_zeroed = szg_tile_frame_carve_zeroed_cuda,
            .carve_write_pinned = szg_tile_frame_carve_write_pinned,
            .write = szg_tile_frame_write_cuda,
            .size_read = szg_tile_frame_size_read_cuda,
            .size_reserve = szg_tile_frame_size_reserve_cuda,
            .carve_read = szg_tile_frame_carve_read_cuda,
            .open = szg_tile_frame_open_cuda,
            .prepare = szg_tile_frame_prepare_cuda,
            .restore = szg_tile_frame_restore_cuda,
            .narrows = szg_tile_frame_narrows_cuda,
            .find_region = find_tiles,
            .restore_region = restore_tiles,
            .reads_in_part = true,
            .takes_words_late = true,
        },
    [SZG_KIND_TOP_PLANE] =
        {
            .carve_zeroed = szg_top_plane_frame_carve_zeroed_cuda,
            .carve_write = szg_top_plane_frame_carve_write_cuda,
            .carve_write_pinned = szg_top_plane_frame_carve_write_pinned,
            .write = szg_top_plane_frame_write_cuda,
            .size_read = szg_top_plane_frame_size_read_cuda,
            .carve_read = szg_stream_carve_read_cuda,
            .carve_read_pinned = szg_stream_carve_read_pinned,
            .open = szg_stream_open_cuda,
            .prepare = szg_top_plane_frame_prepare_cuda,
            .restore = szg_top_plane_frame_restore_cuda,
        },
    [SZG_KIND_PLANES] =
        {
            .carve_write = szg_planes_frame_carve_write_cuda,
            .carve_write_pinned = szg_planes_frame_carve_write_pinned,
            .write = szg_planes_frame_write_cuda,
            .size_read = szg_planes_frame_size_read_cuda,
            .carve_read = szg_planes_frame_carve_read_cuda,
            .open = szg_planes_frame_open_cuda,
            .restore = szg_planes_frame_restore_cuda,
            .sum = szg_planes_frame_sum_cuda,
            .find_region = szg_planes_frame_find_region_cuda,
            .restore_region = szg_planes_frame_restore_region_cuda,
            .reads_in_part = true,
        },
    [SZG_KIND_RAW] =
        {
            .write = szg_raw_frame_write_cuda,
            .restore = szg_raw_frame_restore_cuda,
            .reads_in_part = true,
        },
};

const szg_batch_kind *szg_batch_kind_of(bool is_lossless) {
  return is_lossless ? &szg_planes_batch : &szg_tile_batch;
}

/* ---- compression ---- */

/* All memory that must be zero lies in one piece. choice_work comes last because only its first
 * bytes must be zero. */
static szgpu_status carve_zeroed(szg_arena *arena, const szg_write_request *request,
                                 szg_write_plan_cuda *plan) {
  uint64_t const first_byte = arena->used_bytes;
  plan->ticket = szg_arena_take(arena, 1, sizeof *plan->ticket);
  plan->zeroed = (uint8_t *)plan->ticket;
  if (!request->is_lossless) plan->range_work = szg_arena_take(arena, SZG_RANGE_WORK_BYTES, 1);
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
    if (row->carve_zeroed && szg_frame_kinds[kind].serves(request))
      SZG_TRY(row->carve_zeroed(arena, request, plan));
  }
  plan->zeroed_bytes = arena->used_bytes - first_byte;
  if (request->is_lossless) return SZGPU_OK;
  plan->zeroed_bytes += szg_choice_zeroed_bytes_cuda();
  plan->choice_work = szg_arena_take(arena, szg_choice_work_bytes_cuda(), 1);
  return SZGPU_OK;
}

szgpu_status szg_write_plan_carve_cuda(szg_arena *arena, const szg_write_request *request,
                                       szg_write_plan_cuda *plan) {
  uint64_t const frame_bytes = request->frame_grid.value_count * szg_dtype_bytes(request->dtype);
  uint64_t const most_leaves = szg_checksum_leaf_count(frame_bytes) + 2 * SZG_SECTION_KIND_COUNT;
  SZG_TRY(carve_zeroed(arena, request, plan));
  bool const is_mapped = szg_is_mapped(&request->mapping);
  if (is_mapped || request->may_edit) plan->inner_values = szg_arena_take(arena, frame_bytes, 1);
  if (is_mapped && request->may_edit) plan->unedited_values = szg_arena_take(arena, frame_bytes, 1);
  if (!request->is_lossless)
    SZG_TRY(szg_outliers_carve_write_cuda(arena, request, &plan->outliers));
  szg_run_masks_carve_write_cuda(arena, request, &plan->masks);
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
    if (row->carve_write && szg_frame_kinds[kind].serves(request))
      SZG_TRY(row->carve_write(arena, request, plan));
  }
  plan->leaves = szg_arena_take(arena, most_leaves, sizeof *plan->leaves);
  return SZGPU_OK;
}

void szg_write_plan_carve_pinned(szg_arena *arena, const szg_write_request *request,
                                 szg_write_plan_cuda *plan) {
  if (!request->is_lossless) szg_outliers_carve_write_pinned(arena, &plan->outliers);
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
    if (row->carve_write_pinned && szg_frame_kinds[kind].serves(request))
      row->carve_write_pinned(arena, request, plan);
  }
}

/* Edits the inner values, as mapped.c does. */
static szgpu_status edit_values(szg_write_job_cuda *job, const szg_mapping *mapping) {
  szg_device *const device = &job->ctx->device;
  const szg_missing *const missing = &job->bound->missing;
  void *const inner = job->plan->inner_values;
  uint64_t const bytes = job->grid.value_count * szg_dtype_bytes(mapping->inner);
  if (szg_is_mapped(mapping) && missing->has_valid) {
    SZG_TRY(szg_device_copy(device, job->plan->unedited_values, inner, bytes));
    job->exact_values = job->plan->unedited_values;
  }
  SZG_TRY(szg_missing_edit_cuda(missing, mapping, job->field_values, job->grid.value_count, inner,
                                device->stream));
  job->values = inner;
  return szg_device_mark(device, "edit");
}

/* Sets job->values, job->exact_values and the masks. */
static szgpu_status begin_values(szg_write_job_cuda *job) {
  szg_mapping const mapping =
      job->bound ? szg_bound_mapping(job->bound, &job->request->mapping) : job->request->mapping;
  szg_device *const device = &job->ctx->device;
  bool const is_mapped = szg_is_mapped(&mapping);
  bool const is_edited = job->bound && szg_has_more_missing(&job->bound->missing);
  assert(!is_mapped || job->bound); /* what is lossless is not mapped */
  job->values = is_mapped ? job->plan->inner_values : job->field_values;
  if (is_mapped && !job->bound->has_inner_values) {
    SZG_TRY(szg_values_to_inner_cuda(&mapping, job->field_values, job->grid.value_count,
                                     job->plan->inner_values, szg_sign_words_cuda(job->plan),
                                     device->stream));
    SZG_TRY(szg_device_mark(device, "widen"));
  }
  job->exact_values = job->values;
  if (is_edited) SZG_TRY(edit_values(job, &mapping));
  return szg_run_masks_find_cuda(job, &mapping);
}

szgpu_status szg_frame_write_cuda(szg_write_job_cuda *job, szg_header *archive,
                                  uint64_t *frame_bytes) {
  szg_frame_layout_cuda layout = {
      .header = {.index = job->index, .value_count = job->grid.value_count}};
  bool is_written = false;
  job->raw_bytes = job->grid.value_count * szg_dtype_bytes(job->request->mapping.outer);
  SZG_TRY(begin_values(job));
  if (job->bound) job->quantizer = job->bound->quantizer;
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT && !is_written; kind++) {
    if (!szg_kind_is_tried(kind, job->request, job->bound)) continue;
    if (szg_kind_disappoints(kind, job->bound)) {
      job->has_strays = true;
      return SZGPU_OK;
    }
    uint64_t more_bytes = 0;
    job->more_sections = 0;
    for (uint32_t which = 0; which < SZG_RUN_MASKS && !szg_frame_kinds[kind].is_of_field; which++) {
      more_bytes += job->mask_bytes[which];
      job->more_sections += job->mask_bytes[which] ? 2 : 0;
    }
    if (more_bytes > job->raw_bytes) continue; /* a kind that keeps all bits is smaller */
    job->raw_bytes -= more_bytes;
    szgpu_status const status = szg_frame_kinds_cuda[kind].write(job, &layout, &is_written);
    job->raw_bytes += more_bytes;
    SZG_TRY(status);
    if (szg_bound_fails(job->bound, job->has_strays)) return SZGPU_OK;
  }
  assert(is_written); /* a raw frame always is */
  szg_header_note_frame(archive, &layout.header);
  *frame_bytes = layout.frame_bytes;
  return SZGPU_OK;
}

/* ---- decompression ---- */

/* Whether a mapping leads from what frames of the kind restore to the field's values. */
static bool is_narrowed(const szg_header *header, uint32_t kind) {
  szg_mapping const mapping = szg_mapping_of_header(header);
  return szg_is_mapped(&mapping) && !szg_frame_kinds[kind].is_of_field;
}

void szg_read_sizes_add_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[frame->kind];
  uint64_t leaves = 0;
  for (uint32_t s = 0; s < frame->header.section_count; s++)
    leaves += szg_checksum_leaf_count(
        szg_align_up(frame->header.sections[s].stored_bytes, SZG_ALIGNMENT));
  szg_at_least(&sizes->leaves, leaves);
  if (is_narrowed(sizes->header, frame->kind))
    szg_at_least(&sizes->inner_values, frame->header.value_count);
  szg_run_masks_size_read_cuda(frame, sizes);
  if (row->size_read) row->size_read(frame, sizes);
  if (!frame->has_region) return;
  uint64_t const width = szg_dtype_bytes(sizes->header->shape.dtype);
  szg_at_least(&sizes->region_bytes, szg_box_value_count(&frame->box) * width);
  szg_at_least(&sizes->region_tiles, frame->region_tiles);
}

bool szg_read_sizes_reserve_cuda(const szg_write_request *request, szg_read_sizes_cuda *sizes) {
  uint64_t const frame_bytes = request->frame_grid.value_count * szg_dtype_bytes(request->dtype);
  bool is_known = false;
  if (szg_is_mapped(&request->mapping)) sizes->inner_values = request->frame_grid.value_count;
  szg_run_masks_size_reserve_cuda(request, sizes);
  sizes->leaves = szg_checksum_leaf_count(frame_bytes) + 2 * SZG_SECTION_KIND_COUNT;
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
    if (!row->size_reserve || !szg_frame_kinds[kind].serves(request)) continue;
    row->size_reserve(request, sizes);
    sizes->reserved_kinds |= 1u << kind;
    is_known = true;
  }
  return is_known;
}

szgpu_status szg_read_plan_carve_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                      szg_read_plan_cuda *plan) {
  plan->bit_count = szg_arena_take(arena, 1, sizeof *plan->bit_count);
  plan->leaves = szg_arena_take(arena, sizes->leaves, sizeof *plan->leaves);
  plan->inner_values = szg_arena_take(arena, sizes->inner_values,
                                      szg_dtype_bytes(szg_header_coded_dtype(sizes->header)));
  if (sizes->placed_tiles)
    SZG_TRY(szg_places_carve_cuda(arena, sizes->placed_tiles, &plan->places));
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++)
    if (sizes->mask_runs[which])
      SZG_TRY(szg_places_carve_cuda(arena, sizes->mask_runs[which], &plan->mask_places[which]));
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
    bool const may_occur =
        szg_frame_kinds[kind].may_occur(sizes->header) || sizes->reserved_kinds >> kind & 1;
    if (row->carve_read && may_occur) SZG_TRY(row->carve_read(arena, sizes, plan));
  }
  szg_region_carve_cuda(arena, sizes->region_bytes, sizes->region_tiles, &plan->region);
  return SZGPU_OK;
}

void szg_read_plan_carve_pinned(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                szg_read_plan_cuda *plan) {
  for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
    const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
    if (row->carve_read_pinned && szg_frame_kinds[kind].may_occur(sizes->header))
      row->carve_read_pinned(arena, sizes, plan);
  }
}

void szg_read_frame_place_cuda(szg_read_frame_cuda *frame, const uint8_t *bytes) {
  bytes += szg_frame_header_bytes(frame->header.section_count);
  for (uint32_t i = 0; i < frame->header.section_count; i++) {
    const szg_section *const section = &frame->header.sections[i];
    frame->sections[section->kind] =
        (szg_device_section){section->raw_bytes ? bytes : NULL, section->raw_bytes};
    bytes += szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  }
}

szgpu_status szg_frame_open_cuda(szgpu_ctx *ctx, const szg_header *header,
                                 const szg_read_plan_cuda *plan, const szg_read_frame_cuda *frame,
                                 szg_read_job_cuda *job) {
  const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[frame->kind];
  *job = (szg_read_job_cuda){
      .device = &ctx->device,
      .header = header,
      .plan = plan,
      .frame = frame,
      .counts = {szg_counts_of_cuda(frame, SZG_SECTION_TILE_SIZES),
                 szg_counts_of_cuda(frame, SZG_SECTION_ESCAPE_COUNTS),
                 szg_counts_of_cuda(frame, SZG_SECTION_EXACT_COUNTS),
                 szg_counts_of_cuda(frame, SZG_SECTION_FILL_COUNTS)},
      .quantizer = szg_quantizer_of_header(header),
      .mapping = szg_mapping_of_header(header),
      .width = (unsigned)szg_dtype_bytes(szg_header_coded_dtype(header)),
      .field_width = (unsigned)szg_dtype_bytes(header->shape.dtype),
  };
  return row->open ? row->open(job) : SZGPU_OK;
}

/* Whether a region reads only a part of the section, whose checksum is of all of it. */
static bool is_bulk(uint32_t section) {
  return section == SZG_SECTION_BITSTREAM || section == SZG_SECTION_EXACT_MASK ||
         section == SZG_SECTION_EXACT_VALUES || section == SZG_SECTION_FILL_MASK ||
         section >= SZG_SECTION_RAW;
}

szg_summed_leaves szg_frame_sum_cuda(const szg_read_job_cuda *job) {
  const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[job->frame->kind];
  szg_summed_leaves const none = {0};
  return row->sum ? row->sum(job) : none;
}

szgpu_status szg_frame_verify_cuda(const szg_read_job_cuda *job, const szg_summed_leaves *summed) {
  const szg_frame_header *const header = &job->frame->header;
  szg_summed_leaves own = {0};
  bool const is_partial =
      job->frame->has_region && szg_frame_kinds_cuda[job->frame->kind].reads_in_part;
  szg_checksum_ranges ranges = {0};
  for (uint32_t s = 0; s < header->section_count; s++) {
    const szg_section *const section = &header->sections[s];
    if (is_partial && is_bulk(section->kind)) continue;
    uint32_t const i = ranges.count++;
    ranges.kinds[i] = section->kind;
    ranges.bytes[i] = job->frame->sections[section->kind].bytes;
    ranges.byte_counts[i] = szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
    ranges.expected[i] = section->checksum;
    if (!summed || section->kind != summed->range) continue;
    own = *summed;
    own.range = i;
  }
  if (ranges.count == 0) return SZGPU_OK;
  SZG_TRY(szg_checksum_verify_cuda(&ranges, &own, job->plan->leaves, job->frame->verdict,
                                   szg_device_beside(job->device, SZG_SIDE_CHECKS)));
  return szg_device_mark(job->device, "checksums");
}

szgpu_status szg_frame_prepare_cuda(const szg_read_job_cuda *job) {
  const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[job->frame->kind];
  if (row->prepare) SZG_TRY(row->prepare(job));
  return szg_run_masks_prepare_cuda(job);
}

szgpu_status szg_frame_restore_cuda(const szg_read_job_cuda *job, uint64_t first_row,
                                    uint64_t end_row, void *values) {
  uint64_t const row_values = job->frame->grid.row_values;
  uint32_t const kind = job->frame->kind;
  const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[kind];
  szg_frame_rows_cuda rows = {.first_row = first_row,
                              .end_row = end_row,
                              .first_value = first_row * row_values,
                              .value_count = (end_row - first_row) * row_values,
                              .values = values};
  bool const has_narrow = is_narrowed(job->header, kind);
  rows.is_narrow = has_narrow && row->narrows && row->narrows(job, &rows);
  bool const is_between = has_narrow && !rows.is_narrow;
  if (is_between) rows.values = job->plan->inner_values;
  SZG_TRY(row->restore(job, &rows));
  if (is_between) {
    SZG_TRY(job->mapping.kind == SZG_MAPPING_LOG
                ? szg_signs_raise_cuda(job, &rows, values)
                : szg_values_to_outer_cuda(&job->mapping, rows.values, rows.value_count, values,
                                           job->device->stream));
    SZG_TRY(szg_device_mark(job->device, "narrow"));
  }
  return szg_frame_kinds[kind].is_of_field ? SZGPU_OK : szg_fills_apply_cuda(job, &rows, values);
}

/* ---- regions ---- */

void szg_read_frame_region_cuda(szg_read_frame_cuda *frame, const szg_region *region) {
  const szg_frame_kind_cuda *const row = &szg_frame_kinds_cuda[frame->kind];
  frame->has_region = true;
  frame->region = *region;
  frame->region_tiles = 0;
  frame->goes_by_rows =
      !row->find_region || !row->find_region(frame, &frame->box, &frame->region_tiles);
  if (frame->goes_by_rows) frame->box = szg_region_rows(region, &frame->grid);
}

static szgpu_status restore_whole_rows(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  int const row_axis = frame->grid.row_axis;
  SZG_TRY(szg_frame_prepare_cuda(job));
  return szg_frame_restore_cuda(job, frame->box.first[row_axis], frame->box.end[row_axis],
                                job->plan->region.values);
}

szgpu_status szg_frame_restore_region_cuda(const szg_read_job_cuda *job) {
  const szg_read_frame_cuda *const frame = job->frame;
  SZG_TRY(frame->goes_by_rows ? restore_whole_rows(job)
                              : szg_frame_kinds_cuda[frame->kind].restore_region(job));
  SZG_TRY(szg_region_take_cuda(&frame->region, &frame->box, job->field_width,
                               job->plan->region.values, job->device->stream));
  return szg_device_mark(job->device, "region");
}

/* Frames whose tiles depend on nothing but their own shares of the sections. */
static bool find_tiles(const szg_read_frame_cuda *frame, szg_box *box, uint64_t *tile_count) {
  uint64_t const units[] = {1, frame->grid.tile_z, frame->grid.tile_y, frame->grid.tile_x};
  *box = szg_region_box(&frame->region, units);
  *tile_count = szg_grid_of_box(&frame->grid, box).tile_count;
  return true;
}

/* `restore` sees the box's tiles and no others. */
static szgpu_status restore_tiles(const szg_read_job_cuda *job) {
  szg_read_box_cuda box;
  SZG_TRY(szg_frame_prepare_cuda(job));
  SZG_TRY(szg_read_box_open_cuda(job, &box));
  return szg_frame_restore_cuda(&box.job, 0, 1, box.plan.region.values);
}
