/* lane_head_core.h - what the head of a coded tile is made of, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The length of the shortest lane that has bits (least); the bits that the excess of the longest
 * one takes (width); a bit that says whether a mask of lanes follows, which is so unless all have
 * bits. These three are the head's begin. Then the mask, and the excess of each lane that has bits.
 * The lanes follow without gaps.
 */
#ifndef SZG_LANE_HEAD_CORE_H
#define SZG_LANE_HEAD_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/hd.h"

/* What a kind of frame says about its heads. */
typedef struct szg_head_form {
  uint32_t least_bits, width_bits; /* in all at most 31 */
  uint32_t lane_count;             /* at most 32 */
} szg_head_form;

typedef struct szg_head_begin {
  uint32_t least, width;
  bool has_mask;
} szg_head_begin;

SZG_HD_INLINE uint32_t szg_head_begin_bits(szg_head_form form) {
  return form.least_bits + form.width_bits + 1;
}
/* The begin as a number of so many bits, and back. */
SZG_HD_INLINE uint32_t szg_head_begin_number(szg_head_form form, szg_head_begin begin) {
  return (begin.least << form.width_bits | begin.width) << 1 | (begin.has_mask ? 1 : 0);
}
SZG_HD_INLINE szg_head_begin szg_head_begin_of(szg_head_form form, uint32_t number) {
  szg_head_begin const begin = {number >> (form.width_bits + 1),
                                number >> 1 & ((1u << form.width_bits) - 1), (number & 1) != 0};
  return begin;
}
/* No head has a greater width. */
SZG_HD_INLINE bool szg_head_has_width(szg_head_form form, uint32_t width) {
  return width <= form.least_bits;
}

SZG_HD_INLINE uint32_t szg_head_all_lanes(szg_head_form form) {
  return UINT32_MAX >> (32 - form.lane_count);
}

/* The bit from which on the excess of the lane is that has bits and `rank` such lanes before it. If
 * rank is the number of all these, the bits of the head. */
SZG_HD_INLINE uint32_t szg_head_excess_at(szg_head_form form, bool has_mask, uint32_t width,
                                          uint32_t rank) {
  return szg_head_begin_bits(form) + (has_mask ? form.lane_count : 0) + rank * width;
}

#endif
