/* inspect.c - describes an archive from its headers alone.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "core/environment.h"
#include "frames/kinds.h"
#include "frames/mapped.h"
#include "frames/open.h"
#include "pipeline/calls.h"
#include "pipeline/pipeline.h"
#include "quant/quant_core.h"

static const char *const axes_names[] = {"", "x", "y", "yx", "z", "zx", "zy", "zyx"};

/* The number that bits of the field's type mean. */
static double number_of_bits(const szg_mapping *mapping, uint64_t bits) {
  uint64_t inner = bits;
  if (mapping->kind != SZG_MAPPING_WIDEN) return szg_value_of_bits(mapping->outer, bits);
  szg_values_to_inner(mapping, &bits, 1, &inner);
  return szg_value_of_bits(mapping->inner, inner);
}

/* Rows of the field's slowest axis longer than 1, however axes are joined. */
static uint64_t rows_of(const szgpu_shape *shape) {
  return szg_grid_of_dims(shape->dims, shape->ndim).row_extent;
}

void szg_describe_header(const szg_header *header, const szg_grid *grid, szgpu_info *info) {
  szg_mapping const mapping = szg_mapping_of_header(header);
  bool const is_log = mapping.kind == SZG_MAPPING_LOG;
  bool const has_fill = is_log ? header->has_own_fill : header->has_fill;
  uint64_t const fill_bits = is_log ? header->own_fill_bits : header->fill_bits;
  szgpu_dtype const fill_dtype = is_log ? mapping.outer : mapping.inner;
  szgpu_info described = {
      .struct_bytes = info->struct_bytes,
      .shape = header->shape,
      .mode = header->mode,
      .layout = header->layout,
      .format_version = header->format_version,
      .source = header->source,
      .bound = header->bound,
      .absolute_bound = header->absolute_bound,
      .step = header->step,
      .value_range = header->value_range,
      .has_fill = has_fill,
      .fill = has_fill ? szg_value_of_bits(fill_dtype, fill_bits) : 0.0,
      .fill_bits = is_log ? fill_bits : szg_mapping_outer_bits(&mapping, fill_bits),
      .frame_rows = header->joined ? rows_of(&header->shape) : header->frame_rows,
      .frame_count = header->frame_count,
      .field_bytes = grid->value_count * szg_dtype_bytes(header->shape.dtype),
      .archive_bytes = header->archive_bytes,
      .has_gaps = header->has_gaps,
      .has_limits = header->has_limits && !is_log, /* of logarithms, which lack the sign */
      .least = is_log ? 0 : header->least,
      .greatest = is_log ? 0 : header->greatest,
      .more_fill_count = header->more_fill_count,
      .joined_axes = header->joined,
  };
  for (uint32_t i = 0; i < header->more_fill_count; i++) {
    described.more_fills[i] = number_of_bits(&mapping, header->more_fill_bits[i]);
    described.more_fill_bits[i] = header->more_fill_bits[i];
  }
  memcpy(info, &described, szg_min_u64(info->struct_bytes, sizeof described));
}

szgpu_status szgpu_inspect(const void *archive, size_t archive_bytes, szgpu_info *info) {
  SZG_REQUIRE(archive && info && info->struct_bytes >= SZG_FIRST_INFO_BYTES, SZGPU_BAD_ARGUMENT);
  szg_opened opened;
  fenv_t callers_environment;
  szg_environment_enter(&callers_environment);
  szgpu_status const status = szg_open_in_place(archive, archive_bytes, &opened);
  if (status == SZGPU_OK) {
    opened.header.archive_bytes = opened.archive_bytes;
    if (opened.is_compact) opened.header.format_version = SZG_FORMAT_VERSION_COMPACT;
    szg_describe_header(&opened.header, &opened.grid, info);
  }
  szg_environment_leave(&callers_environment);
  return status;
}

static szgpu_status inspect_frame(const szg_opened *opened, uint64_t frame, uint64_t offset,
                                  szgpu_frame_info *info) {
  szg_frame_header header;
  SZG_REQUIRE(offset < opened->available_bytes, SZGPU_TRUNCATED);
  SZG_TRY(szg_frame_open(opened, frame, opened->bytes + offset, opened->available_bytes - offset,
                         &header, NULL));
  SZG_REQUIRE(header.section_count <= SZGPU_MAX_SECTIONS, SZGPU_BAD_DATA); /* no kind has more */
  const szg_frame_kind *const kind = &szg_frame_kinds[szg_kind_of(&opened->header, &header)];
  uint64_t const row_count = szg_frame_row_count(opened, frame);
  szg_frame_facts const facts = {
      .archive = &opened->header,
      .frame = &header,
      .grid = szg_grid_of_rows(&opened->grid, row_count),
      .value_bytes = szg_dtype_bytes(szg_header_coded_dtype(&opened->header)),
      .field_value_bytes = szg_dtype_bytes(opened->header.shape.dtype)};
  *info = (szgpu_frame_info){
      .struct_bytes = info->struct_bytes,
      .kind = kind->name,
      .axes = axes_names[header.axes],
      .radius = header.radius,
      .section_count = header.section_count,
      .first_row = frame * opened->header.frame_rows,
      .row_count = opened->header.joined ? rows_of(&opened->header.shape) : row_count,
      .frame_bytes = szg_frame_bytes(opened, frame),
      .predictor = header.axes ? "differences" : "",
      .stencil = "",
  };
  if (kind->describe) kind->describe(&facts, info);
  offset += szg_frame_header_bytes(header.section_count);
  for (uint32_t i = 0; i < header.section_count; i++) {
    const szg_section *const section = &header.sections[i];
    info->sections[i] = (szgpu_section_info){
        .name = szg_section_name_in(&header, section->kind),
        .codec = section->codec == SZG_CODEC_ZSTD ? "zstd" : "stored",
        .offset = offset,
        .stored_bytes = section->stored_bytes,
        .raw_bytes = section->raw_bytes,
    };
    offset += szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  }
  return SZGPU_OK;
}

static szgpu_status inspect_frames(const szg_opened *opened, uint64_t first_frame,
                                   uint64_t frame_count, szgpu_frame_info *infos) {
  uint64_t const all = opened->header.frame_count;
  SZG_REQUIRE(frame_count <= all && first_frame <= all - frame_count, SZGPU_BAD_ARGUMENT);
  uint64_t offset = szg_frame_offset(opened, first_frame);
  for (uint64_t i = 0; i < frame_count; i++) {
    SZG_REQUIRE(infos[i].struct_bytes == sizeof *infos, SZGPU_BAD_ARGUMENT);
    SZG_TRY(inspect_frame(opened, first_frame + i, offset, &infos[i]));
    offset += szg_frame_bytes(opened, first_frame + i);
  }
  return SZGPU_OK;
}

szgpu_status szgpu_inspect_frames(const void *archive, size_t archive_bytes, uint64_t first_frame,
                                  uint64_t frame_count, szgpu_frame_info *infos) {
  SZG_REQUIRE(archive && infos, SZGPU_BAD_ARGUMENT);
  szg_opened opened;
  szg_buffer head = {0};
  fenv_t callers_environment;
  szg_environment_enter(&callers_environment);
  szgpu_status status = szg_open(archive, archive_bytes, &head, &opened);
  if (status == SZGPU_OK) status = inspect_frames(&opened, first_frame, frame_count, infos);
  szg_buffer_release(&head);
  szg_environment_leave(&callers_environment);
  return status;
}
