/* planes.c - planes frames: what headers and sections they may have, and the sizes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/planes.h"

szg_planes_layout szg_planes_layout_of(const szg_frame_header *frame) {
  return (szg_planes_layout){frame->value_bytes, frame->plane_modes, frame->constant_bits};
}

void szg_planes_frame_set_header(const szg_planes_layout *layout, szg_frame_header *frame) {
  frame->kind = SZG_FRAME_PLANES;
  frame->value_bytes = layout->value_bytes;
  frame->plane_modes = layout->modes;
  frame->constant_bits = layout->constant_bits;
}

bool szg_planes_frame_may_occur(const szg_header *archive) {
  return archive->layout == SZGPU_LAYOUT_TILE &&
         (archive->mode == SZGPU_MODE_LOSSLESS || archive->has_planes);
}

/* A frame may treat a field of bytes as one of wider values. */
bool szg_planes_frame_is_sound(const szg_frame_facts *facts) {
  szg_planes_layout const layout = szg_planes_layout_of(facts->frame);
  if (facts->frame->axes != 0 || szg_planes_layout_check(&layout) != SZGPU_OK) return false;
  uint64_t const frame_bytes = facts->frame->value_count * facts->field_value_bytes;
  return facts->archive->shape.dtype == SZGPU_U8 ? frame_bytes % layout.value_bytes == 0
                                                 : layout.value_bytes == facts->field_value_bytes;
}

void szg_planes_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
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
    szg_rule_add(rules, SZG_SECTION_BITSTREAM, true, 4 * coded_planes,
                 4 * coded_planes * tiles * SZG_PLANE_MOST_WORDS, 4);
  }
  if (stored) szg_rule_add_exact(rules, SZG_SECTION_RAW, stored);
}

void szg_planes_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info) {
  static const char letters[] = {'s', 'c', 'k'};
  static_assert(sizeof letters == SZG_PLANE_MODES, "one for each SZG_PLANE_*");
  const szg_frame_header *const frame = facts->frame;
  for (uint32_t p = 0; p < frame->value_bytes; p++)
    info->planes[frame->value_bytes - 1 - p] = letters[szg_plane_mode(frame->plane_modes, p)];
}

/* A frame with a bound may be a planes frame too, if the bound gains nothing. */
bool szg_planes_frame_serves(const szg_write_request *request) {
  return request->layout == SZGPU_LAYOUT_TILE && !request->raw_outliers;
}

szg_planes_sizes szg_planes_sizes_of(const szg_planes_layout *layout, uint64_t value_count,
                                     uint64_t word_count) {
  uint64_t const books = szg_planes_book_bytes(layout);
  return (szg_planes_sizes){.books = books,
                            .tile_sizes = books ? 2 * szg_planes_tile_count(value_count) : 0,
                            .bitstream = 4 * word_count,
                            .stored = szg_planes_stored_bytes(layout, value_count)};
}

uint64_t szg_planes_sizes_sum(const szg_planes_sizes *sizes) {
  return sizes->books + sizes->tile_sizes + sizes->bitstream + sizes->stored;
}
