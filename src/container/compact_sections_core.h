/* compact_sections_core.h - sections of an archive in its compact form.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Books, and lists of sizes and counts, take fewer bits; what remains is copied. A section that
 * would not come back as it was is copied whole.
 */
#ifndef SZG_COMPACT_SECTIONS_CORE_H
#define SZG_COMPACT_SECTIONS_CORE_H

#include "container/compact_head_core.h"

/* How a section is stated. */
enum { SZG_COMPACT_COPIED = 0, SZG_COMPACT_CODED = 1, SZG_COMPACT_ZSTD = 2 };

/* Where bytes are expanded to: `used` of `room`. */
typedef struct szg_compact_room {
  uint8_t *bytes;
  uint64_t used, room;
} szg_compact_room;

/* False: there is no room for byte_count more. */
SZG_HD bool szg_compact_store(szg_compact_room *to, uint32_t value, uint32_t byte_count) {
  if (byte_count > to->room - to->used) return false;
  memcpy(to->bytes + to->used, &value, byte_count);
  to->used += byte_count;
  return true;
}

/* ---- books as lengths, to units and back ---- */

/* Units of lengths that come one by one. */
typedef struct szg_lengths_out {
  szg_packer *out;
  szg_unit_state state;
  uint32_t absent; /* symbols since the last length */
} szg_lengths_out;

SZG_HD void szg_put_absent(szg_lengths_out *to) {
  while (to->absent > 0) {
    uint32_t const run = (uint32_t)szg_min_u64(to->absent, SZG_UNIT_MOST_RUN);
    szg_pack_unit(to->out, &to->state, 0);
    if (run < 16) {
      szg_pack_unit(to->out, &to->state, run - 1);
    } else {
      szg_pack_unit(to->out, &to->state, 15);
      szg_pack_unit(to->out, &to->state, (run - 16) >> 4);
      szg_pack_unit(to->out, &to->state, (run - 16) & 15);
    }
    to->absent -= run;
  }
}

/* length: 0 to 12. */
SZG_HD void szg_put_length(szg_lengths_out *to, uint32_t length) {
  if (length == 0) {
    to->absent++;
    return;
  }
  szg_put_absent(to);
  szg_pack_unit(to->out, &to->state, length);
}

/* Lengths one by one out of units. */
typedef struct szg_lengths_in {
  szg_unpacker *in;
  szg_unit_state state;
  uint32_t absent; /* symbols to come without a length */
  bool is_ended;   /* so are all others of the book */
} szg_lengths_in;

SZG_HD uint32_t szg_take_length(szg_lengths_in *from) {
  if (from->is_ended) return 0;
  if (from->absent > 0) {
    from->absent--;
    return 0;
  }
  uint32_t const unit = szg_unpack_unit(from->in, &from->state);
  from->is_ended = unit == SZG_UNIT_END;
  from->in->is_bad |= unit > SZG_UNIT_END;
  if (unit != 0) return unit < SZG_UNIT_END ? unit : 0;
  uint32_t const run = szg_unpack_unit(from->in, &from->state);
  from->absent = run;
  if (run == 15) {
    from->absent = 15 + (szg_unpack_unit(from->in, &from->state) << 4);
    from->absent += szg_unpack_unit(from->in, &from->state);
  }
  return 0;
}

/* ---- the book of a tile frame ---- */

SZG_HD bool szg_tile_book_is_usual(const uint8_t *bytes, uint64_t byte_count) {
  uint32_t symbols = 0;
  if (byte_count < 6 || bytes[0] > SZG_TILE_CODE_BITS || bytes[1] != 0) return false;
  for (uint64_t i = 6; i < byte_count; i++) {
    uint32_t const length = bytes[i] & 31, run = (bytes[i] >> 5) + 1;
    bool const is_last = i + 1 == byte_count;
    if (length > SZG_TILE_CODE_BITS || (is_last && length == 0)) return false;
    if (!is_last && run < 8 && (bytes[i + 1] & 31) == length) return false; /* not one run */
    symbols += run;
  }
  return symbols == szg_load_u16(bytes + 4);
}

SZG_HD void szg_put_tile_book(szg_packer *out, const uint8_t *bytes, uint64_t byte_count) {
  szg_lengths_out to = {out, {0, 0}, 0};
  szg_pack_bits(out, bytes[0], 4);
  szg_pack_number(out, szg_load_u16(bytes + 2));
  szg_pack_number(out, szg_load_u16(bytes + 4));
  for (uint64_t i = 6; i < byte_count; i++)
    for (uint32_t run = 0; run <= (uint32_t)bytes[i] >> 5; run++)
      szg_put_length(&to, bytes[i] & 31);
}

SZG_HD void szg_take_tile_book(szg_unpacker *in, szg_compact_room *to) {
  szg_lengths_in from = {in, {0, 0}, 0, false};
  uint32_t const escape = szg_unpack_bits(in, 4), first = szg_unpack_number(in);
  uint32_t const count = szg_unpack_number(in);
  in->is_bad |= escape > SZG_TILE_CODE_BITS || first > UINT16_MAX || count > UINT16_MAX;
  in->is_bad |= !szg_compact_store(to, escape | first << 16, 4);
  in->is_bad |= !szg_compact_store(to, count, 2);
  uint32_t last = 0, run = 0; /* of the symbols that are not stored yet */
  for (uint32_t i = 0; i <= count && !in->is_bad; i++) {
    bool const is_symbol = i < count;
    uint32_t const length = is_symbol ? szg_take_length(&from) : 0;
    if (is_symbol && run > 0 && run < 8 && length == last) {
      run++;
      continue;
    }
    if (run > 0) in->is_bad |= !szg_compact_store(to, last | (run - 1) << 5, 1);
    last = length;
    run = 1;
  }
  in->is_bad |= from.absent > 0 || from.is_ended;
}

/* ---- the books of a planes frame ---- */

SZG_HD uint32_t szg_coded_planes(const szg_frame_header *frame) {
  uint32_t count = 0;
  for (uint32_t p = 0; p < frame->value_bytes; p++)
    count += (frame->plane_modes >> 2 * p & 3) == SZG_PLANE_CODED;
  return count;
}

SZG_HD bool szg_planes_books_are_usual(const szg_frame_header *frame, const uint8_t *bytes,
                                       uint64_t byte_count) {
  bool is_usual = byte_count == (uint64_t)SZG_PLANES_BOOK_BYTES * szg_coded_planes(frame);
  for (uint64_t i = 0; i < byte_count && is_usual; i++)
    is_usual = bytes[i] >> 4 <= SZG_PLANES_CODE_BITS && (bytes[i] & 15) <= SZG_PLANES_CODE_BITS;
  return is_usual;
}

SZG_HD void szg_put_planes_books(szg_packer *out, const uint8_t *bytes, uint64_t byte_count) {
  for (uint64_t book = 0; book < byte_count; book += SZG_PLANES_BOOK_BYTES) {
    szg_lengths_out to = {out, {0, 0}, 0};
    for (uint32_t i = 0; i < SZG_PLANES_SYMBOLS; i++)
      szg_put_length(&to, bytes[book + i / 2] >> 4 * (i % 2) & 15);
    if (to.absent > 0) szg_pack_unit(out, &to.state, SZG_UNIT_END);
  }
}

SZG_HD void szg_take_planes_books(szg_unpacker *in, const szg_frame_header *frame,
                                  szg_compact_room *to) {
  for (uint32_t book = 0; book < szg_coded_planes(frame); book++) {
    szg_lengths_in from = {in, {0, 0}, 0, false};
    for (uint32_t i = 0; i < SZG_PLANES_BOOK_BYTES && !in->is_bad; i++) {
      uint32_t const low = szg_take_length(&from);
      in->is_bad |= !szg_compact_store(to, low | szg_take_length(&from) << 4, 1);
    }
    in->is_bad |= from.absent > 0;
  }
}

/* ---- a stage of a levels frame ---- */

enum { SZG_STAGE_HEAD_BYTES = 16, SZG_STAGE_BOOK_WORD = 4 };

/* The parts of a stage's section. */
typedef struct szg_compact_stage {
  uint32_t mode, group_log2, unit;
  uint32_t units;      /* of the books, up to the last that is not 0 */
  uint64_t book_bytes; /* padding included */
  uint64_t tiles, words_at;
} szg_compact_stage;

SZG_HD uint64_t szg_stage_book_bytes(uint64_t units) {
  return szg_align_up(szg_div_up(units, 2), SZG_STAGE_BOOK_WORD);
}

SZG_HD uint32_t szg_stage_unit(const uint8_t *books, uint64_t i) {
  return books[i / 2] >> (i % 2 ? 0 : 4) & 15;
}

/* Whether the section is as encoders write it; then *stage is what it consists of. The tiles are as
 * many as make the words add up. */
SZG_HD bool szg_stage_parse(const uint8_t *bytes, uint64_t byte_count, szg_compact_stage *stage) {
  if (byte_count < SZG_STAGE_HEAD_BYTES || byte_count % 4 != 0) return false;
  uint32_t const book_bytes = szg_load_u32(bytes + 8);
  stage->mode = bytes[0];
  stage->group_log2 = bytes[1];
  stage->unit = szg_load_u32(bytes + 4);
  stage->book_bytes = book_bytes;
  stage->units = 0;
  stage->tiles = 0;
  stage->words_at = SZG_STAGE_HEAD_BYTES;
  if (bytes[0] >= SZG_LEVELS_MODES || bytes[1] > SZG_LEVELS_LANE_GROUPS_LOG2) return false;
  if (stage->unit == 0 || stage->unit > 256) return false;
  if (szg_load_u16(bytes + 2) != 0 || szg_load_u32(bytes + 12) != 0) return false;
  if (bytes[0] == SZG_LEVELS_MODE_ZERO) return byte_count == SZG_STAGE_HEAD_BYTES && !book_bytes;
  if (book_bytes > byte_count - SZG_STAGE_HEAD_BYTES || book_bytes % 4 != 0) return false;
  const uint8_t *const books = bytes + SZG_STAGE_HEAD_BYTES;
  uint64_t units = (uint64_t)2 * book_bytes;
  while (units > 0 && szg_stage_unit(books, units - 1) == 0) units--;
  stage->units = (uint32_t)units;
  if (szg_stage_book_bytes(units) != book_bytes) return false;
  const uint8_t *const sizes = books + book_bytes;
  uint64_t const left = byte_count - SZG_STAGE_HEAD_BYTES - book_bytes;
  uint64_t words = 0;
  for (uint64_t tiles = 1; 2 * tiles <= left; tiles++) {
    words += szg_load_u16(sizes + 2 * (tiles - 1));
    uint64_t const sizes_bytes = szg_align_up(2 * tiles, 4);
    if (sizes_bytes + 4 * words > left) return false;
    if (sizes_bytes + 4 * words < left) continue;
    stage->tiles = tiles;
    stage->words_at = byte_count - 4 * words;
    return tiles % 2 == 0 || szg_load_u16(sizes + 2 * tiles) == 0;
  }
  return false;
}

SZG_HD void szg_put_stage(szg_packer *out, const uint8_t *bytes, const szg_compact_stage *stage) {
  szg_unit_state state = {0, 0};
  const uint8_t *const books = bytes + SZG_STAGE_HEAD_BYTES;
  szg_pack_bits(out, stage->mode, 2);
  szg_pack_bits(out, stage->group_log2, 3);
  szg_pack_bits(out, stage->unit - 1, 8);
  if (stage->mode == SZG_LEVELS_MODE_ZERO) return;
  szg_pack_number(out, stage->units);
  for (uint64_t i = 0; i < stage->units; i++) szg_pack_unit(out, &state, szg_stage_unit(books, i));
  szg_pack_list(out, books + stage->book_bytes, stage->tiles);
}

/* Writes what comes before the words. *words_bytes: of the words that follow. */
SZG_HD void szg_take_stage(szg_unpacker *in, szg_compact_room *to, uint64_t *words_bytes) {
  szg_unit_state state = {0, 0};
  uint32_t const mode = szg_unpack_bits(in, 2), group_log2 = szg_unpack_bits(in, 3);
  uint32_t const unit = 1 + szg_unpack_bits(in, 8);
  uint32_t const units = mode == SZG_LEVELS_MODE_ZERO ? 0 : szg_unpack_number(in);
  uint64_t const book_bytes = szg_stage_book_bytes(units);
  *words_bytes = 0;
  in->is_bad |= to->room - to->used < SZG_STAGE_HEAD_BYTES + book_bytes;
  if (in->is_bad) return;
  uint8_t *const bytes = to->bytes + to->used;
  uint32_t const head[4] = {mode | group_log2 << 8, unit, (uint32_t)book_bytes, 0};
  memcpy(bytes, head, sizeof head);
  to->used += SZG_STAGE_HEAD_BYTES + book_bytes;
  if (mode == SZG_LEVELS_MODE_ZERO) return;
  uint8_t *const books = bytes + SZG_STAGE_HEAD_BYTES;
  memset(books, 0, book_bytes);
  for (uint32_t i = 0; i < units && !in->is_bad; i++)
    books[i / 2] |= (uint8_t)(szg_unpack_unit(in, &state) << (i % 2 ? 0 : 4));
  uint64_t sum;
  uint32_t const tiles = szg_unpack_list(in, to->bytes + to->used, to->room - to->used, &sum);
  to->used += (uint64_t)2 * tiles;
  if (tiles % 2) in->is_bad |= !szg_compact_store(to, 0, 2);
  *words_bytes = 4 * sum;
}

/* ---- sections of all kinds ---- */

SZG_HD bool szg_section_is_list(uint32_t kind) {
  uint32_t const lists = 1u << SZG_SECTION_TILE_SIZES | 1u << SZG_SECTION_ESCAPE_COUNTS |
                         1u << SZG_SECTION_EXACT_COUNTS | 1u << SZG_SECTION_FILL_COUNTS |
                         1u << SZG_SECTION_SIGN_SIZES | 1u << SZG_SECTION_FILL_2_SIZES |
                         1u << SZG_SECTION_FILL_3_SIZES | 1u << SZG_SECTION_FILL_4_SIZES;
  return (lists >> kind & 1) != 0;
}

SZG_HD bool szg_section_is_stage(uint32_t kind) {
  return kind >= SZG_SECTION_BASE && kind <= SZG_SECTION_LEVEL_6;
}

/* Writes a stored section, if it can be coded. Then *copied_at is where the bytes begin that
 * follow as they are, to its end. */
SZG_HD bool szg_put_section(szg_packer *out, const szg_frame_header *frame, uint32_t kind,
                            const uint8_t *bytes, uint64_t byte_count, uint64_t *copied_at) {
  szg_compact_stage stage = {0, 0, 0, 0, 0, 0, 0};
  bool const is_book = kind == SZG_SECTION_CODEBOOK;
  bool const is_tile = is_book && frame->kind == SZG_FRAME_TILE;
  bool const is_planes = is_book && frame->kind == SZG_FRAME_PLANES;
  bool const is_stage = szg_section_is_stage(kind) && szg_stage_parse(bytes, byte_count, &stage);
  bool const is_list = szg_section_is_list(kind) && byte_count % 2 == 0;
  bool const is_coded = (is_tile && szg_tile_book_is_usual(bytes, byte_count)) ||
                        (is_planes && szg_planes_books_are_usual(frame, bytes, byte_count)) ||
                        is_stage || is_list;
  szg_pack_bits(out, is_coded ? SZG_COMPACT_CODED : SZG_COMPACT_COPIED, 2);
  *copied_at = !is_coded ? 0 : is_stage ? stage.words_at : byte_count;
  if (!is_coded) return false;
  if (is_tile) szg_put_tile_book(out, bytes, byte_count);
  if (is_planes) szg_put_planes_books(out, bytes, byte_count);
  if (is_stage) szg_put_stage(out, bytes, &stage);
  if (is_list) szg_pack_list(out, bytes, byte_count / 2);
  return true;
}

/* Writes what is coded of a section. *copied_bytes: how many bytes follow as they are. */
SZG_HD void szg_take_section(szg_unpacker *in, const szg_frame_header *frame, uint32_t kind,
                             szg_compact_room *to, uint64_t *copied_bytes) {
  bool const is_book = kind == SZG_SECTION_CODEBOOK;
  uint64_t sum;
  *copied_bytes = 0;
  if (is_book && frame->kind == SZG_FRAME_TILE) {
    szg_take_tile_book(in, to);
  } else if (is_book && frame->kind == SZG_FRAME_PLANES) {
    szg_take_planes_books(in, frame, to);
  } else if (szg_section_is_stage(kind)) {
    szg_take_stage(in, to, copied_bytes);
  } else if (szg_section_is_list(kind)) {
    to->used += (uint64_t)2 * szg_unpack_list(in, to->bytes + to->used, to->room - to->used, &sum);
  } else {
    in->is_bad = true;
  }
}

#endif
