/* lane_head.h - heads of coded tiles on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LANE_HEAD_H
#define SZG_LANE_HEAD_H

#include "core/lane_head_core.h"

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
