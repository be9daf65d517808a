/* container.c - the archive's headers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/container.h"

#include <string.h>

#include "container/checksum.h"
#include "container/header_write_core.h"
#include "core/once.h"

const char *szg_section_name(uint32_t kind) {
  static const char *const names[] = {
#define NAME_OF_SECTION(name, text) text,
      SZG_SECTION_LIST(NAME_OF_SECTION)
#undef NAME_OF_SECTION
  };
  return names[kind];
}

const char *szg_section_name_in(const szg_frame_header *frame, uint32_t kind) {
  static const char *const names[] = {"level 0", "level 1", "level 2",
                                      "level 3", "level 4", "level 5"};
  uint32_t const last = SZG_SECTION_BASE + frame->levels.level_count; /* has level 0 */
  bool const is_level = frame->kind == SZG_FRAME_LEVELS && kind > SZG_SECTION_BASE && kind <= last;
  bool const has_name = is_level && last - kind < sizeof names / sizeof *names;
  return has_name ? names[last - kind] : szg_section_name(kind);
}

void szg_header_add_notes(const szg_header *other, szg_header *header) {
  header->has_planes |= other->has_planes;
  header->has_plane_words |= other->has_plane_words;
  header->has_levels |= other->has_levels;
  header->has_halved |= other->has_halved;
  header->has_blended |= other->has_blended;
}

void szg_header_write(const szg_header *header, const uint64_t *frame_bytes, uint8_t *bytes) {
  uint64_t header_bytes = 0;
  bool const fits = szg_header_bytes(header, &header_bytes);
  assert(fits);
  (void)fits;
  szg_header_put(header, header_bytes, frame_bytes, bytes);
  uint8_t *const checksum = bytes + header_bytes - SZG_CHECKSUM_BYTES;
  szg_store_u64(checksum, szg_checksum_plain(bytes, header_bytes - SZG_CHECKSUM_BYTES));
}

uint64_t szg_header_frame_bytes(const uint8_t *bytes, uint64_t frame) {
  return szg_load_u64(bytes + SZG_HEADER_BYTES + 8 * frame);
}

szgpu_status szg_header_read(const uint8_t *bytes, uint64_t available_bytes, szg_header *header) {
  uint8_t fixed[SZG_HEADER_BYTES], more[SZG_MOST_MORE_BYTES]; /* copies: checked and used */
  uint64_t header_bytes;
  szg_copy_once(fixed, bytes, szg_min_u64(available_bytes, sizeof fixed));
  SZG_TRY(szg_header_begin(fixed, available_bytes, header, &header_bytes));
  uint64_t const checksum = szg_load_u64(bytes + header_bytes - SZG_CHECKSUM_BYTES);
  SZG_REQUIRE(checksum == szg_checksum_plain(bytes, header_bytes - SZG_CHECKSUM_BYTES),
              SZGPU_BAD_CHECKSUM);
  szg_copy_once(more, bytes + SZG_HEADER_BYTES + 8 * header->frame_count,
                szg_header_more_bytes(header));
  szg_header_load_more(more, header);
  SZG_REQUIRE(szg_header_is_sound(fixed, header) &&
                  szg_frame_table_is_sound(bytes + SZG_HEADER_BYTES, header_bytes, header),
              SZGPU_BAD_DATA);
  return SZGPU_OK;
}

void szg_frame_header_write(const szg_frame_header *frame, uint8_t *bytes) {
  uint64_t const hashed_bytes = szg_frame_header_bytes(frame->section_count) - SZG_CHECKSUM_BYTES;
  szg_frame_header_put(frame, bytes);
  szg_store_u64(bytes + hashed_bytes, szg_checksum_plain(bytes, hashed_bytes));
}

szgpu_status szg_frame_header_read(const uint8_t *bytes, uint64_t frame_bytes,
                                   uint64_t available_bytes, szg_frame_header *frame) {
  uint8_t copy[SZG_FRAME_HEADER_MOST_BYTES]; /* what is checked is what is used */
  uint64_t const copied_bytes = szg_min_u64(available_bytes, sizeof copy);
  uint64_t header_bytes;
  szg_copy_once(copy, bytes, copied_bytes);
  *frame = (szg_frame_header){0};
  SZG_TRY(szg_frame_header_begin(copy, frame_bytes, copied_bytes, frame, &header_bytes));
  uint64_t const hashed_bytes = header_bytes - SZG_CHECKSUM_BYTES;
  SZG_REQUIRE(szg_load_u64(copy + hashed_bytes) == szg_checksum_plain(copy, hashed_bytes),
              SZGPU_BAD_CHECKSUM);
  SZG_REQUIRE(szg_frame_header_is_sound(copy, frame_bytes, frame), SZGPU_BAD_DATA);
  return SZGPU_OK;
}
