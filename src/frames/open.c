/* open.c - a frame's header checked by the rules of its kind.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/open.h"

#include "codecs/run_masks.h"
#include "frames/kinds.h"

static bool sections_keep_rules(const szg_frame_header *frame, const szg_section_rules *rules,
                                szg_frame_fault *fault) {
  static const char *const problems[] = {NULL, "has a size that cannot be", "should not be there",
                                         "is missing", "makes the frame larger than its values"};
  uint32_t kind = 0;
  szg_section_fault const found = szg_sections_check(frame, rules, &kind);
  if (found != SZG_SECTIONS_SOUND)
    *fault = (szg_frame_fault){problems[found], szg_section_name_in(frame, kind)};
  return found == SZG_SECTIONS_SOUND;
}

static szgpu_status check_frame(const szg_opened *opened, uint64_t frame,
                                const szg_frame_header *header, szg_frame_fault *fault) {
  uint64_t const row_count = szg_frame_row_count(opened, frame);
  szg_frame_facts const facts = {
      .archive = &opened->header,
      .frame = header,
      .grid = szg_grid_of_rows(&opened->grid, row_count),
      .value_bytes = szg_dtype_bytes(szg_header_coded_dtype(&opened->header)),
      .field_value_bytes = szg_dtype_bytes(opened->header.shape.dtype)};
  SZG_REQUIRE(header->index == frame && header->value_count == facts.grid.value_count,
              SZGPU_BAD_DATA);
  uint32_t const kind = szg_kind_of(&opened->header, header);
  SZG_REQUIRE(kind < SZG_KIND_COUNT && szg_frame_kinds[kind].is_sound(&facts), SZGPU_BAD_DATA);
  szg_section_rules rules = {.most_bytes = header->value_count * facts.field_value_bytes};
  szg_frame_kinds[kind].rules(&facts, &rules);
  if (!szg_frame_kinds[kind].is_of_field) szg_run_mask_rules(&facts, &rules);
  SZG_REQUIRE(sections_keep_rules(header, &rules, fault), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_frame_open(const szg_opened *opened, uint64_t frame, const uint8_t *bytes,
                            uint64_t available_bytes, szg_frame_header *header,
                            szg_frame_fault *fault) {
  szg_frame_fault unused;
  if (!fault) fault = &unused;
  *fault = (szg_frame_fault){0};
  SZG_TRY(szg_frame_header_read(bytes, szg_frame_bytes(opened, frame), available_bytes, header));
  return check_frame(opened, frame, header, fault);
}

szgpu_status szg_frame_fail(szgpu_ctx *ctx, szgpu_status status, uint64_t frame,
                            const szg_frame_fault *fault) {
  unsigned long long const number = frame;
  if (!fault->problem) return szg_fail(ctx, status, "frame %llu has a bad header", number);
  return szg_fail(ctx, status, "section '%s' of frame %llu %s", fault->section, number,
                  fault->problem);
}

szgpu_status szg_frame_reader_open(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                                   uint64_t offset, szg_reader *reader) {
  *reader = (szg_reader){.ctx = ctx, .opened = opened, .frame_offset = offset};
  szg_frame_fault fault = {0};
  if (opened->asking) { /* for as much as any header has */
    bool is_there;
    SZG_TRY(szg_reader_require(
        reader, offset,
        szg_min_u64(szg_frame_bytes(opened, frame), szg_frame_header_bytes(SZG_SECTION_KIND_COUNT)),
        &is_there));
    if (!is_there) return SZGPU_OK;
  }
  szgpu_status const status =
      offset < opened->available_bytes
          ? szg_frame_open(opened, frame, opened->bytes + offset, opened->available_bytes - offset,
                           &reader->frame, &fault)
          : SZGPU_TRUNCATED;
  if (status != SZGPU_OK) return szg_frame_fail(ctx, status, frame, &fault);
  szg_reader_make_room(reader,
                       reader->frame.value_count * szg_dtype_bytes(opened->header.shape.dtype));
  return SZGPU_OK;
}
