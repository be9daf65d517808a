/* rules_core.h - the rules of tile, planes and raw frames, which hosts and kernels check.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_RULES_CORE_H
#define SZG_RULES_CORE_H

#include "codecs/planes/frame.h"
#include "codecs/rules.h"
#include "rle/rle.h"

SZG_C_BEGIN

enum { SZG_TILE_BOOK_MOST_BYTES = 6 + SZG_TILE_SYMBOLS }; /* docs/format.md, section 13 */

SZG_HD bool szg_tile_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  uint32_t const arithmetic = facts->archive->arithmetic;
  bool const may_have_16_bits =
      arithmetic == SZG_ARITHMETIC_F32 || arithmetic == SZG_ARITHMETIC_F64;
  return szg_axes_are_sound(facts) && frame->radius == 0 && frame->escape_bytes == 0 &&
         frame->constant_bits == 0 && (may_have_16_bits || !frame->has_16_bits);
}

/* All eight sections are present. Without outliers, their sections are empty. */
SZG_HD void szg_tile_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  const szg_frame_header *const frame = facts->frame;
  uint64_t const tiles = facts->grid.tile_count, width = facts->value_bytes;
  uint64_t const values_bytes = frame->value_count * width;
  uint64_t const most_mask = SZG_MASK_BYTES_PER_VALUE * frame->value_count;
  bool const has_exact = szg_section_raw_bytes(frame, SZG_SECTION_EXACT_COUNTS) > 0;
  bool const has_fill =
      facts->archive->has_fill && szg_section_raw_bytes(frame, SZG_SECTION_FILL_COUNTS) > 0;
  szg_rule_add(rules, SZG_SECTION_CODEBOOK, true, 1, SZG_TILE_BOOK_MOST_BYTES, 1);
  szg_rule_add_exact(rules, SZG_SECTION_TILE_SIZES, 2 * tiles);
  szg_rule_add(rules, SZG_SECTION_BITSTREAM, true, 0, values_bytes, 4);
  szg_rule_add_exact(rules, SZG_SECTION_EXACT_COUNTS, has_exact ? 4 * tiles : 0);
  szg_rule_add(rules, SZG_SECTION_EXACT_MASK, true, has_exact, has_exact ? most_mask : 0, 1);
  szg_rule_add(rules, SZG_SECTION_EXACT_VALUES, true, has_exact ? width : 0,
               has_exact ? values_bytes : 0, width);
  szg_rule_add_exact(rules, SZG_SECTION_FILL_COUNTS, has_fill ? 2 * tiles : 0);
  szg_rule_add(rules, SZG_SECTION_FILL_MASK, true, has_fill, has_fill ? most_mask : 0, 1);
}

/* A frame may treat a field of bytes as one of wider values. */
SZG_HD bool szg_planes_is_sound(const szg_frame_facts *facts) {
  szg_planes_layout const layout = szg_planes_layout_of(facts->frame);
  if (facts->frame->axes != 0 || szg_planes_layout_check(&layout) != SZGPU_OK) return false;
  uint64_t const frame_bytes = facts->frame->value_count * facts->field_value_bytes;
  return facts->archive->shape.dtype == SZGPU_U8 ? frame_bytes % layout.value_bytes == 0
                                                 : layout.value_bytes == facts->field_value_bytes;
}

SZG_HD void szg_planes_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  szg_planes_layout const layout = szg_planes_layout_of(facts->frame);
  uint64_t const value_count =
      facts->frame->value_count * facts->field_value_bytes / layout.value_bytes;
  uint64_t const tiles = szg_planes_tile_count(value_count);
  uint64_t const books = szg_planes_book_bytes(&layout);
  uint64_t const stored = szg_planes_stored_bytes(&layout, value_count);
  if (books) {
    uint64_t const coded_planes = books / SZG_PLANES_BOOK_BYTES;
    szg_rule_add_exact(rules, SZG_SECTION_CODEBOOK, books);
    szg_rule_add_exact(rules, SZG_SECTION_TILE_SIZES, 2 * tiles);
    szg_rule_add(rules, szg_planes_words_kind(facts->archive), true, 4 * coded_planes,
                 4 * coded_planes * tiles * SZG_PLANE_MOST_WORDS, 4);
  }
  if (stored) szg_rule_add_exact(rules, SZG_SECTION_RAW, stored);
}

SZG_HD bool szg_raw_is_sound(const szg_frame_facts *facts) {
  const szg_frame_header *const frame = facts->frame;
  return frame->axes == 0 && frame->radius == 0 && frame->escape_bytes == 0 &&
         frame->constant_bits == 0;
}

SZG_HD void szg_raw_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  szg_rule_add_exact(rules, SZG_SECTION_RAW, facts->frame->value_count * facts->field_value_bytes);
}

SZG_C_END

#endif
