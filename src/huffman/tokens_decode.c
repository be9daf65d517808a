/* tokens_decode.c - lanes of bits to a tile's codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each code of a lane depends on the one before it, but lanes are independent: plain codes and
 * pairs come four at a time from lane after lane, so that the processor can work on many lanes at
 * once. Only after a group does the decoder look whether the lane's bits were enough;
 * SZG_TOKENS_OVERRUN bytes can be read until then.
 */
#include <string.h>

#include "core/lane_head.h"
#include "huffman/tokens_take_pairs.h"
#include "huffman/tokens_take_values.h"

/* ---- masks ---- */

/* The octets that have codes. */
SZG_INLINE uint32_t take_octets(const szg_tokens_lanes *lanes, uint32_t *position, bool *is_bad) {
  uint64_t const window = szg_reversed_window(lanes->first_window, *position);
  uint32_t const entry = lanes->decoder->octets[szg_prefix_of(window)];
  *position += szg_byte_entry_length(entry);
  *is_bad |= entry == 0;
  if (entry >> 4 != SZG_LEVELS_OCTET_ESCAPE) return entry >> 4;
  return (uint32_t)szg_take_bits(lanes->first_window, 8, position);
}

/* Finds the places that have codes, of groups with these octets. */
SZG_INLINE void take_places(const szg_tokens_lanes *lanes, uint32_t *octets, szg_group_turn *turn,
                            bool *is_bad) {
  uint8_t open[SZG_LANES]; /* groups with more to come */
  uint32_t open_count = 0;
  bool lacks_mask = false;
  for (uint32_t k = 0; k < turn->count; k++) {
    turn->places[k] = 0;
    open[open_count++] = (uint8_t)k;
  }
  while (open_count) {
    uint32_t still_open = 0;
    for (uint32_t i = 0; i < open_count; i++) {
      uint32_t const k = open[i];
      uint64_t const window = szg_reversed_window(lanes->first_window, turn->positions[k]);
      uint32_t const entry = lanes->decoder->masks[szg_prefix_of(window)];
      uint32_t length = szg_byte_entry_length(entry);
      uint64_t mask = entry >> 4;
      if (__builtin_expect(mask == SZG_LEVELS_MASK_ESCAPE, false)) {
        mask = window << length >> 56;
        length += 8;
      }
      lacks_mask |= entry == 0 || mask == 0;
      turn->positions[k] += length;
      turn->places[k] |= mask << 8 * __builtin_ctz(octets[k]);
      octets[k] &= octets[k] - 1;
      szg_list_if(octets[k] != 0, k, open, &still_open);
    }
    open_count = still_open;
  }
  *is_bad |= lacks_mask;
}

/* ---- lanes ---- */

/* Collects the next group of all lanes that have one, if it has codes other than 0. Other groups,
 * and those that lack some places, get codes 0. owners: the groups' lanes. */
SZG_INLINE void find_groups(szg_tokens_lanes *lanes, bool is_wide, uint32_t mode, uint32_t step,
                            szg_group_turn *turn, uint8_t *owners, uint32_t *octets, bool *is_bad) {
  uint32_t const g = lanes->shape->lane_groups_log2;
  turn->count = 0;
  for (uint32_t lane = 0; lane < lanes->lane_count; lane++) {
    uint32_t const group = (lane << g) + step, k = turn->count;
    if (group >= lanes->shape->group_count) break;
    bool const is_live = lanes->live >> lane & 1;
    uint64_t const places = is_live ? szg_existing_of(lanes->existing, group) : 0;
    if (mode == SZG_LEVELS_MODE_MASKS) {
      if (!is_live) continue;
      octets[k] = take_octets(lanes, &lanes->positions[lane], is_bad);
      turn->count += octets[k] != 0; /* no branch, because nobody knows */
    } else {
      if (~places) szg_clear_group(lanes->codes, is_wide, group * SZG_LEVELS_GROUP);
      turn->count += places != 0;
    }
    turn->positions[k] = lanes->positions[lane];
    turn->firsts[k] = group * SZG_LEVELS_GROUP;
    turn->places[k] = places;
    owners[k] = (uint8_t)lane;
  }
}

/* Decodes the next group of all lanes. */
SZG_INLINE void take_groups(szg_tokens_lanes *lanes, bool is_wide, uint32_t mode, uint32_t step,
                            bool *is_bad) {
  szg_group_turn turn;
  uint8_t owners[SZG_LANES];
  uint32_t octets[SZG_LANES];
  find_groups(lanes, is_wide, mode, step, &turn, owners, octets, is_bad);
  szg_tokens_lanes const source = *lanes;
  if (mode == SZG_LEVELS_MODE_MASKS) take_places(&source, octets, &turn, is_bad);
  if (mode == SZG_LEVELS_MODE_PAIRS)
    szg_take_pairs(&source, is_wide, &turn, is_bad);
  else if (is_wide)
    szg_take_wide_values(&source, &turn, is_bad);
  else
    szg_take_values(&source, &turn, is_bad);
  for (uint32_t k = 0; k < turn.count; k++) {
    lanes->positions[owners[k]] = turn.positions[k];
    uint64_t const existing = szg_existing_of(lanes->existing, turn.firsts[k] / SZG_LEVELS_GROUP);
    *is_bad |= (turn.places[k] & ~existing) != 0;
    if (mode == SZG_LEVELS_MODE_MASKS)
      *is_bad |= szg_has_zero(source.codes, is_wide, turn.firsts[k], turn.places[k]);
  }
  for (uint32_t lane = 0; lane < lanes->lane_count; lane++)
    *is_bad |= lanes->positions[lane] > lanes->ends[lane];
}

/* False: bits that are no codes, or lanes with too few or too many of them. */
SZG_INLINE bool take_lanes(szg_tokens_lanes *lanes, bool is_wide, uint32_t mode) {
  bool is_bad = false;
  for (uint32_t step = 0; step < 1u << lanes->shape->lane_groups_log2; step++) {
    take_groups(lanes, is_wide, mode, step, &is_bad);
    if (is_bad) return false;
  }
  for (uint32_t left = lanes->live; left; left &= left - 1) {
    uint32_t const lane = (uint32_t)__builtin_ctz(left);
    is_bad |= lanes->positions[lane] != lanes->ends[lane];
  }
  return !is_bad;
}

SZG_HOT static bool take_narrow_lanes(szg_tokens_lanes *lanes) {
  if (lanes->decoder->mode == SZG_LEVELS_MODE_PLAIN)
    return take_lanes(lanes, false, SZG_LEVELS_MODE_PLAIN);
  if (lanes->decoder->mode == SZG_LEVELS_MODE_PAIRS)
    return take_lanes(lanes, false, SZG_LEVELS_MODE_PAIRS);
  return take_lanes(lanes, false, SZG_LEVELS_MODE_MASKS);
}

SZG_HOT static bool take_wide_lanes(szg_tokens_lanes *lanes) {
  return take_lanes(lanes, true, lanes->decoder->mode);
}

szgpu_status szg_tokens_decode_tile(const szg_tokens_decoder *decoder,
                                    const szg_tokens_shape *shape, const uint64_t *existing,
                                    const uint8_t *words, uint32_t word_count,
                                    szg_tokens_work *work, void *codes) {
  if (word_count == 0 || decoder->mode == SZG_LEVELS_MODE_MASKS)
    memset(codes, 0,
           (size_t)shape->group_count * SZG_LEVELS_GROUP * szg_code_bytes(shape->is_wide));
  if (word_count == 0) return SZGPU_OK;
  SZG_REQUIRE(decoder->mode != SZG_LEVELS_MODE_ZERO, SZGPU_BAD_DATA);
  SZG_REQUIRE(word_count <= szg_tokens_most_words(shape), SZGPU_BAD_DATA);
  szg_tokens_lanes lanes = {
      .decoder = decoder, .shape = shape, .existing = existing, .codes = codes};
  lanes.lane_count = szg_tokens_lane_count(shape);
  lanes.first_window = szg_copy_reversed(words, word_count, work->bytes + SZG_TOKENS_OVERRUN);
  SZG_REQUIRE(szg_lane_head_read(szg_tokens_head_form(shape), lanes.first_window, word_count,
                                 &lanes.live, lanes.positions, lanes.ends),
              SZGPU_BAD_DATA);
  bool const is_sound = shape->is_wide ? take_wide_lanes(&lanes) : take_narrow_lanes(&lanes);
  SZG_REQUIRE(is_sound, SZGPU_BAD_DATA);
  return SZGPU_OK;
}
