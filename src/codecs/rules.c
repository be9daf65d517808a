/* rules.c - which sections a frame may have and how large they may be.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/rules.h"

#include "core/bytes.h"
#include "huffman/huffman.h"
#include "rle/rle.h"

/* Bytes of this many words; UINT64_MAX if that overflows. */
static uint64_t bytes_of_words(uint64_t words) {
  return words <= UINT64_MAX / 4 ? 4 * words : UINT64_MAX;
}

/* The stream's words alone determine how many subsequences and sequences there are. Counting in
 * words cannot overflow; the bits of 2^60 values would. */
void szg_stream_rules(const szg_frame_facts *facts, uint64_t tile_count, szg_section_rules *rules) {
  enum { MOST_CODES = 32, LEAST_CODES = 32 / SZG_MAX_CODE_BITS }; /* per word */
  static_assert(32 % SZG_MAX_CODE_BITS == 0, "the longest codes fill words");
  uint64_t const values = facts->frame->value_count;
  uint64_t const words = szg_section_raw_bytes(facts->frame, SZG_SECTION_BITSTREAM) / 4;
  uint64_t const subsequences = szg_div_up(words, SZG_SUBSEQUENCE_BITS / 32);
  uint64_t const sequences = szg_div_up(words, SZG_SEQUENCE_BITS / 32);
  szg_rule_add(rules, SZG_SECTION_CODEBOOK, true, 1, SZG_CODEBOOK_MAX_BYTES, 1);
  szg_rule_add_exact(rules, SZG_SECTION_TILE_SIZES, 2 * tile_count);
  szg_rule_add(rules, SZG_SECTION_BITSTREAM, true, bytes_of_words(szg_div_up(values, MOST_CODES)),
               bytes_of_words(szg_div_up(values, LEAST_CODES)), 4);
  if (!facts->archive->has_gaps) return;
  szg_rule_add_exact(rules, SZG_SECTION_GAPS, szg_div_up(subsequences, 2));
  szg_rule_add_exact(rules, SZG_SECTION_SEQUENCE_CODES, 2 * sequences);
}

/* Either all sections of a group are present and none is empty, or none is present. */
void szg_outlier_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  uint64_t const tiles = facts->grid.tile_count, width = facts->value_bytes;
  uint64_t const values_bytes = facts->frame->value_count * width;
  uint64_t const most_mask = SZG_MASK_BYTES_PER_VALUE * facts->frame->value_count;
  szg_rule_add(rules, SZG_SECTION_EXACT_COUNTS, false, 4 * tiles, 4 * tiles, 1);
  if (szg_has_section(facts->frame, SZG_SECTION_EXACT_COUNTS)) {
    szg_rule_add(rules, SZG_SECTION_EXACT_MASK, true, 1, most_mask, 1);
    szg_rule_add(rules, SZG_SECTION_EXACT_VALUES, true, width, values_bytes, width);
  }
  if (!facts->archive->has_fill) return;
  szg_rule_add(rules, SZG_SECTION_FILL_COUNTS, false, 2 * tiles, 2 * tiles, 1);
  if (szg_has_section(facts->frame, SZG_SECTION_FILL_COUNTS))
    szg_rule_add(rules, SZG_SECTION_FILL_MASK, true, 1, most_mask, 1);
}
