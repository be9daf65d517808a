/* rules.h - which sections a frame may have and how large they may be, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/format.md, section 5, as code: each kind of frame lists what its sections may be, and open.c
 * checks a frame by that list before its header decides any allocation.
 */
#ifndef SZG_RULES_H
#define SZG_RULES_H

#include "codecs/frame.h"

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
SZG_HD void szg_rule_add(szg_section_rules *rules, uint32_t kind, bool is_required,
                         uint64_t least_bytes, uint64_t most_bytes, uint64_t unit_bytes) {
  szg_section_rule *const rule = &rules->of[rules->count++];
  rule->kind = kind;
  rule->is_required = is_required;
  rule->least_bytes = least_bytes;
  rule->most_bytes = most_bytes;
  rule->unit_bytes = unit_bytes;
}
SZG_HD void szg_rule_add_exact(szg_section_rules *rules, uint32_t kind, uint64_t byte_count) {
  szg_rule_add(rules, kind, true, byte_count, byte_count, 1);
}

/* The frame's section of a kind, or NULL. */
SZG_HD const szg_section *szg_section_of(const szg_frame_header *frame, uint32_t kind) {
  for (uint32_t i = 0; i < frame->section_count; i++)
    if (frame->sections[i].kind == kind) return &frame->sections[i];
  return NULL;
}
SZG_HD bool szg_has_section(const szg_frame_header *frame, uint32_t kind) {
  return szg_section_of(frame, kind) != NULL;
}
/* Bytes of a section of the frame; 0 if it has none. */
SZG_HD uint64_t szg_section_raw_bytes(const szg_frame_header *frame, uint32_t kind) {
  const szg_section *const section = szg_section_of(frame, kind);
  return section ? section->raw_bytes : 0;
}

/* ---- whether a frame keeps its rules ---- */

/* What is wrong with a frame's sections. */
typedef enum szg_section_fault {
  SZG_SECTIONS_SOUND,
  SZG_SECTION_MISFIT,  /* has a size that cannot be */
  SZG_SECTION_EXTRA,   /* should not be there */
  SZG_SECTION_MISSING, /* is missing */
  SZG_SECTIONS_LARGE   /* makes the frame larger than its values */
} szg_section_fault;

SZG_HD bool szg_keeps_rule(const szg_section *section, const szg_section_rule *rule) {
  if (section->raw_bytes == 0 && section->codec != SZG_CODEC_STORED) return false;
  return section->raw_bytes >= rule->least_bytes && section->raw_bytes <= rule->most_bytes &&
         section->raw_bytes % rule->unit_bytes == 0;
}

/* *kind: the section that the fault is about. */
SZG_HD szg_section_fault szg_sections_check(const szg_frame_header *frame,
                                            const szg_section_rules *rules, uint32_t *kind) {
  for (uint32_t i = 0; i < frame->section_count; i++) {
    uint32_t rule = 0;
    *kind = frame->sections[i].kind;
    while (rule < rules->count && rules->of[rule].kind != *kind) rule++;
    if (rule == rules->count) return SZG_SECTION_EXTRA;
    if (!szg_keeps_rule(&frame->sections[i], &rules->of[rule])) return SZG_SECTION_MISFIT;
  }
  for (uint32_t i = 0; i < rules->count; i++) {
    *kind = rules->of[i].kind;
    if (rules->of[i].is_required && !szg_has_section(frame, *kind)) return SZG_SECTION_MISSING;
  }
  /* A frame that would be larger than its values is raw instead, so no frame is. */
  uint64_t room_bytes = rules->most_bytes;
  for (uint32_t i = 0; i < frame->section_count; i++) {
    *kind = frame->sections[i].kind;
    if (frame->sections[i].raw_bytes > room_bytes) return SZG_SECTIONS_LARGE;
    room_bytes -= frame->sections[i].raw_bytes;
  }
  return SZG_SECTIONS_SOUND;
}

/* ---- rules that kinds of frame share ---- */

/* Whether the frame's deltas run along axes of its grid, and the lattice has a step. */
SZG_HD bool szg_axes_are_sound(const szg_frame_facts *facts) {
  uint32_t const axes = facts->frame->axes;
  return axes > 0 && !(axes & ~szg_grid_axes(&facts->grid)) &&
         szg_is_positive(facts->archive->step);
}

/* The stream of codes of the linear layout: codebook to sequence codes. tile_count: tiles that the
 * codes are cut into. */
void szg_stream_rules(const szg_frame_facts *facts, uint64_t tile_count, szg_section_rules *rules);

/* Exact values and fill mask. */
void szg_outlier_rules(const szg_frame_facts *facts, szg_section_rules *rules);

SZG_C_END

#endif
