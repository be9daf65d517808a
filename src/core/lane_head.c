/* lane_head.c - writes and reads the heads of coded tiles.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/lane_head.h"

#include <assert.h>
#include <string.h>

#include "core/bit_reader.h"
#include "core/bit_writer.h"

enum {
  MOST_LANES = 32,
  ROOM = 96,    /* bytes of a head at most, for fields of up to 20 bits */
  OVERHANG = 16 /* stores take 8 bytes, wherever bits end */
};

szg_lane_head szg_lane_head_measure(szg_head_form form, uint32_t live, const uint32_t *lengths) {
  szg_lane_head head = {.live = live, .least = UINT32_MAX};
  uint32_t most = 0, live_count = 0;
  for (uint32_t lane = 0; lane < form.lane_count; lane++) {
    if (!(live >> lane & 1)) continue;
    if (lengths[lane] < head.least) head.least = lengths[lane];
    if (lengths[lane] > most) most = lengths[lane];
    head.lane_bits += lengths[lane];
    live_count++;
  }
  while ((most - head.least) >> head.width) head.width++;
  bool const has_mask = live != szg_head_all_lanes(form);
  head.head_bits = szg_head_excess_at(form, has_mask, head.width, live_count);
  return head;
}

void szg_lane_head_write(szg_head_form form, const szg_lane_head *head, const uint32_t *lengths,
                         uint8_t *lanes, uint8_t *words) {
  uint8_t own_bytes[ROOM + OVERHANG];
  assert(head->head_bits <= ROOM * 8);
  uint32_t const first_bit = ROOM * 8 - head->head_bits, bytes = ROOM - first_bit / 8;
  szg_bit_writer writer = {.next = own_bytes + first_bit / 8, .pending_count = first_bit % 8};
  szg_head_begin const begin = {head->least, head->width, head->live != szg_head_all_lanes(form)};
  szg_put_number(&writer, szg_head_begin_number(form, begin), szg_head_begin_bits(form));
  for (uint32_t lane = 0; begin.has_mask && lane < form.lane_count; lane++)
    szg_put_number(&writer, head->live >> lane & 1, 1);
  for (uint32_t lane = 0; lane < form.lane_count; lane++)
    if (head->live >> lane & 1) szg_put_number(&writer, lengths[lane] - head->least, head->width);
  assert(writer.next == own_bytes + ROOM && writer.pending_count == 0);
  memcpy(lanes - bytes, own_bytes + first_bit / 8, bytes);
  szg_move_to_words(lanes - bytes, first_bit % 8, szg_lane_head_words(head), words);
}

bool szg_lane_head_read(szg_head_form form, const uint8_t *first_window, uint32_t word_count,
                        uint32_t *live, uint32_t *positions, uint32_t *ends) {
  uint32_t position = 0, lanes = 0, lengths[MOST_LANES] = {0};
  szg_head_begin const begin = szg_head_begin_of(
      form, (uint32_t)szg_take_bits(first_window, szg_head_begin_bits(form), &position));
  if (!szg_head_has_width(form, begin.width)) return false;
  for (uint32_t lane = 0; lane < form.lane_count; lane++)
    if (!begin.has_mask || szg_take_bits(first_window, 1, &position)) lanes |= 1u << lane;
  for (uint32_t lane = 0; lane < form.lane_count; lane++) {
    if (!(lanes >> lane & 1)) continue;
    lengths[lane] = begin.least + (uint32_t)szg_take_bits(first_window, begin.width, &position);
    if (lengths[lane] == 0) return false;
  }
  for (uint32_t lane = 0; lane < form.lane_count; lane++) {
    positions[lane] = position;
    position += lengths[lane];
    ends[lane] = position;
  }
  *live = lanes;
  if (lanes == 0 || (position + 31) / 32 != word_count) return false;
  return szg_take_bits(first_window, word_count * 32 - position, &position) == 0;
}
