/* lane_head.h - the head of a coded tile on the CPU: which lanes have bits, and how many.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The length of the shortest lane that has bits (least); the bits that the excess of the longest
 * one takes (width); a bit that says whether a mask of lanes follows, which is so unless all have
 * bits; the mask; then the excess of each lane that has bits. The lanes follow without gaps.
 */
#ifndef SZG_LANE_HEAD_H
#define SZG_LANE_HEAD_H

#include <stdbool.h>
#include <stdint.h>

/* What a kind of frame says about its heads. */
typedef struct szg_head_form {
  uint32_t least_bits, width_bits;
  uint32_t lane_count; /* at most 32 */
} szg_head_form;

typedef struct szg_lane_head {
  uint32_t live; /* bit l: lane l has bits */
  uint32_t least, width;
  uint32_t head_bits, lane_bits; /* of the head; of all lanes */
} szg_lane_head;

/* live: not 0. lengths: of the lanes that have bits. */
szg_lane_head szg_lane_head_measure(szg_head_form form, uint32_t live, const uint32_t *lengths);

static inline uint32_t szg_lane_head_words(const szg_lane_head *head) {
  return (head->head_bits + head->lane_bits + 31) / 32;
}

/* Puts the head in front of the lanes, which are bytes (core/bit_writer.h), and moves all to words:
 * szg_lane_head_words of them. There is room for the head before the lanes. */
void szg_lane_head_write(szg_head_form form, const szg_lane_head *head, const uint32_t *lengths,
                         uint8_t *lanes, uint8_t *words);

/* Reads the head of a tile in reverse order (core/bit_reader.h). Lane l has the bits from
 * positions[l] to ends[l] - 1. False: not a head, or one for another number of words. */
bool szg_lane_head_read(szg_head_form form, const uint8_t *first_window, uint32_t word_count,
                        uint32_t *live, uint32_t *positions, uint32_t *ends);

#endif
