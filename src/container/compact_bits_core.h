/* compact_bits_core.h - bits, numbers and units of books in the compact form of an archive.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bits fill little-endian u32 words from the highest bit on; docs/format.md, section 21. A writer
 * beyond its room and a reader beyond its words only note that: the caller asks at the end.
 */
#ifndef SZG_COMPACT_BITS_CORE_H
#define SZG_COMPACT_BITS_CORE_H

#include "container/format.h"
#include "core/bytes.h"

typedef struct szg_packer {
  uint8_t *words;
  uint64_t word_count, room; /* in words */
  uint64_t pending;          /* the low pending_bits bits; those above are of words that are out */
  uint32_t pending_bits;     /* below 32 */
  bool fails;                /* what was to be written has no compact form */
} szg_packer;

/* value < 2^count, count <= 32. */
SZG_HD void szg_pack_bits(szg_packer *out, uint32_t value, uint32_t count) {
  out->pending = out->pending << count | value;
  out->pending_bits += count;
  if (out->pending_bits < 32) return;
  out->pending_bits -= 32;
  if (out->word_count < out->room) {
    uint32_t const word = (uint32_t)(out->pending >> out->pending_bits);
    memcpy(out->words + 4 * out->word_count, &word, sizeof word);
  }
  out->word_count++;
}

/* Zeros to the end of the last word. */
SZG_HD void szg_pack_end(szg_packer *out) {
  if (out->pending_bits > 0) szg_pack_bits(out, 0, 32 - out->pending_bits);
}

typedef struct szg_unpacker {
  const uint8_t *words;
  uint64_t word_count, next_word;
  uint64_t window;      /* the low window_bits bits; those above are taken */
  uint32_t window_bits; /* below 64 */
  bool is_bad;          /* not what a writer writes; then all that follows may be anything */
} szg_unpacker;

SZG_HD void szg_unpack_fill(szg_unpacker *in, uint32_t count) {
  if (in->window_bits >= count) return;
  bool const is_there = in->next_word < in->word_count;
  uint32_t const word = is_there ? szg_load_u32(in->words + 4 * in->next_word) : 0;
  in->is_bad |= !is_there;
  in->window = in->window << 32 | word;
  in->window_bits += 32;
  in->next_word += is_there;
}

/* count <= 32. */
SZG_HD uint32_t szg_unpack_bits(szg_unpacker *in, uint32_t count) {
  szg_unpack_fill(in, count);
  in->window_bits -= count;
  return (uint32_t)(in->window >> in->window_bits & (((uint64_t)1 << count) - 1));
}

/* Goes on to the end of the word. False: it is not filled with zeros. */
SZG_HD bool szg_unpack_end(szg_unpacker *in) {
  if (in->window_bits >= 32) in->next_word--; /* it was loaded too early */
  in->window >>= in->window_bits & 32;
  in->window_bits &= 31;
  return szg_unpack_bits(in, in->window_bits) == 0;
}

/* The low `count` bits, up to 64. */
SZG_HD void szg_pack_wide(szg_packer *out, uint64_t value, uint32_t count) {
  if (count > 32) szg_pack_bits(out, (uint32_t)(value >> 32), count - 32);
  szg_pack_bits(out, (uint32_t)value, count > 32 ? 32 : count);
}

SZG_HD uint64_t szg_unpack_wide(szg_unpacker *in, uint32_t count) {
  uint64_t const high = count > 32 ? szg_unpack_bits(in, count - 32) : 0;
  return high << 32 | szg_unpack_bits(in, count > 32 ? 32 : count);
}

/* Numbers below 2^31: their bits are counted in five, and follow without the highest. */
SZG_HD void szg_pack_number(szg_packer *out, uint64_t number) {
  out->fails |= number >> 31 != 0;
  uint32_t const count = number ? 64 - (uint32_t)szg_leading_zeros_u64(number) : 0;
  szg_pack_bits(out, count & 31, 5);
  if (count > 1 && count < 32)
    szg_pack_bits(out, (uint32_t)(number - ((uint64_t)1 << (count - 1))), count - 1);
}

SZG_HD uint32_t szg_unpack_number(szg_unpacker *in) {
  uint32_t const count = szg_unpack_bits(in, 5);
  if (count < 2) return count;
  return (uint32_t)1 << (count - 1) | szg_unpack_bits(in, count - 1);
}

/* ---- units of books ---- */

/* Units of 4 bits as in the books of levels: 1 .. 12 a length; 0 a run of absent symbols, whose
 * units follow; 13 the end of a book. A unit is coded by its rank among those that may follow what
 * came before: the last length, or a unit of a run. */
typedef struct szg_unit_state {
  uint32_t last;     /* length; 0 at the beginning of a book */
  uint32_t run_left; /* of a run: 1: its first unit comes next; 3, 2: one of the two after 15 */
} szg_unit_state;

enum { SZG_UNIT_END = 13, SZG_UNIT_MOST_RUN = 15 + 256 };

/* From the lowest four bits on, the units by their ranks. */
SZG_HD uint64_t szg_unit_ranks(const szg_unit_state *state) {
  if (state->run_left == 1) return 0xDCB9AE875643F210;
  if (state->run_left > 1) return 0x98675B4DC3E21FA0;
  switch (state->last) {
    case 1:
      return 0xFECBA91D87653420;
    case 2:
      return 0xFECBA98D76513240;
    case 3:
      return 0xFECBA981D7625430;
    case 4:
      return 0xFEBCA1D928736504;
    case 5:
      return 0xFEBC1DA293847605;
    case 6:
      return 0xFEC1BD23A4985706;
    case 7:
      return 0xFE1DC23B4A596807;
    case 8:
      return 0xFE1D23C45B6A7908;
    case 9:
      return 0xFE1D2345C6B78A09;
    case 10:
      return 0xFE1D234567C8B09A;
    case 11:
      return 0xFE1D23456789C0AB;
    case 12:
      return 0xFED213456789AB0C;
    default:
      return 0xFEDB897A564C3210;
  }
}

SZG_HD void szg_unit_follow(szg_unit_state *state, uint32_t unit) {
  if (state->run_left == 1)
    state->run_left = unit == 15 ? 3 : 0;
  else if (state->run_left > 1)
    state->run_left = state->run_left == 3 ? 2 : 0;
  else if (unit == 0)
    state->run_left = 1;
  else
    state->last = unit == SZG_UNIT_END ? 0 : unit;
}

/* A rank is half of it in ones, a zero, and its lowest bit. */
SZG_HD void szg_pack_unit(szg_packer *out, szg_unit_state *state, uint32_t unit) {
  uint64_t ranks = szg_unit_ranks(state);
  uint32_t rank = 0;
  for (; (ranks & 15) != unit; ranks >>= 4) rank++;
  uint32_t const ones = rank >> 1;
  szg_pack_bits(out, ((uint32_t)1 << (ones + 2)) - 4 + (rank & 1), ones + 2);
  szg_unit_follow(state, unit);
}

SZG_HD uint32_t szg_unpack_unit(szg_unpacker *in, szg_unit_state *state) {
  enum { MOST_BITS = 9 };
  if (in->window_bits < MOST_BITS && in->next_word < in->word_count) szg_unpack_fill(in, MOST_BITS);
  uint64_t const first = in->window_bits ? in->window << (64 - in->window_bits) : 0;
  uint32_t const ones = (uint32_t)szg_leading_zeros_u64(~first | 1);
  in->is_bad |= ones > 7 || ones + 2 > in->window_bits;
  if (in->is_bad) return 0;
  in->window_bits -= ones + 2;
  uint32_t const rank = 2 * ones | ((uint32_t)(in->window >> in->window_bits) & 1);
  uint32_t const unit = (uint32_t)(szg_unit_ranks(state) >> 4 * rank) & 15;
  szg_unit_follow(state, unit);
  return unit;
}

/* ---- lists of u16 ---- */

/* How many, the least, the bits of the widest difference from it, and the differences. */
SZG_HD void szg_pack_list(szg_packer *out, const uint8_t *bytes, uint64_t count) {
  uint32_t least = UINT16_MAX, most = 0, width = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint32_t const number = szg_load_u16(bytes + 2 * i);
    if (number < least) least = number;
    if (number > most) most = number;
  }
  while (count > 0 && (most - least) >> width) width++;
  szg_pack_number(out, count);
  szg_pack_number(out, count ? least : 0);
  szg_pack_bits(out, width, 5);
  for (uint64_t i = 0; i < count; i++)
    szg_pack_bits(out, szg_load_u16(bytes + 2 * i) - least, width);
}

/* Writes at most `room` bytes. *sum: of the numbers. Returns how many there are. */
SZG_HD uint32_t szg_unpack_list(szg_unpacker *in, uint8_t *bytes, uint64_t room, uint64_t *sum) {
  uint32_t const count = szg_unpack_number(in);
  uint32_t const least = szg_unpack_number(in);
  uint32_t const width = szg_unpack_bits(in, 5);
  *sum = 0;
  in->is_bad |= width > 16 || (uint64_t)count * 2 > room;
  for (uint32_t i = 0; i < count && !in->is_bad; i++) {
    uint32_t const number = least + szg_unpack_bits(in, width);
    uint16_t const narrow = (uint16_t)number;
    in->is_bad |= number > UINT16_MAX;
    memcpy(bytes + (uint64_t)2 * i, &narrow, sizeof narrow);
    *sum += number;
  }
  return in->is_bad ? 0 : count;
}

#endif
