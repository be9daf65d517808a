/* rules.h - which sections a frame may have and how large they may be, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/format.md, section 5, as code: each kind of frame lists what its sections may be, and open.c
 * checks a frame by that list before its header decides any allocation.
 */
#ifndef SZG_RULES_H
#define SZG_RULES_H

#include "frames/frame.h"

SZG_C_BEGIN

/* The rule of one section. Its size is that of the contents before zstd. */
typedef struct szg_section_rule {
  uint32_t kind; /* SZG_SECTION_* */
  bool is_required;
  uint64_t least_bytes, most_bytes;
  uint64_t unit_bytes; /* the size is a multiple of it */
} szg_section_rule;

/* The sections that a frame may have; it may have no others. Before a kind adds its own rules,
 * most_bytes is the size of the frame's values. */
typedef struct szg_section_rules {
  uint64_t most_bytes; /* of all sections together, before zstd */
  uint32_t count;
  szg_section_rule of[SZG_SECTION_KIND_COUNT];
} szg_section_rules;

/* Adds a rule. The second form is for a section that must be present with exactly byte_count
 * bytes. */
void szg_rule_add(szg_section_rules *rules, uint32_t kind, bool is_required, uint64_t least_bytes,
                  uint64_t most_bytes, uint64_t unit_bytes);
void szg_rule_add_exact(szg_section_rules *rules, uint32_t kind, uint64_t byte_count);

/* Bytes of a section of the frame; 0 if it has none. */
uint64_t szg_section_raw_bytes(const szg_frame_header *frame, uint32_t kind);
bool szg_has_section(const szg_frame_header *frame, uint32_t kind);

/* ---- rules that kinds of frame share ---- */

/* Whether the frame's deltas run along axes of its grid, and the lattice has a step. */
bool szg_axes_are_sound(const szg_frame_facts *facts);

/* The stream of codes of the linear layout: codebook to sequence codes. tile_count: tiles that the
 * codes are cut into. */
void szg_stream_rules(const szg_frame_facts *facts, uint64_t tile_count, szg_section_rules *rules);

/* Exact values and fill mask. */
void szg_outlier_rules(const szg_frame_facts *facts, szg_section_rules *rules);

SZG_C_END

#endif
