/* restored.h - values that were restored under the same absolute bound, and a step that keeps them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With SZGPU_KEEP_RESTORED two lattices depend on the bound and the coded type alone:
 *
 *   fine     what levels frames restore
 *   coarse   every SZG_RESTORED_PARTS-th point of it, to the bit; what other frames restore
 *
 * The coarse step is the archive's. Frames of differences leave coarse points as they are, whatever
 * is beside them. They would move fine points, and levels frames that interpolate would move both.
 * So all values are looked at first. If some lie on a lattice, which chance does not explain, the
 * frames are frames of differences, with the step of that lattice.
 *
 * docs/guarantees.md has the proof, docs/format.md the rule.
 */
#ifndef SZG_RESTORED_H
#define SZG_RESTORED_H

#include "core/tiles.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Levels frames have F = 7, and a step is 2^7 + 1 fine steps. With a larger F more values lie on
 * the fine lattice by chance, with a smaller one frames take more bytes (F = 6: half a percent). */
enum { SZG_RESTORED_FINE_BITS = 7, SZG_RESTORED_PARTS = (1 << SZG_RESTORED_FINE_BITS) + 1 };

/* Values are looked at in patches of so many lines and columns. No run leaves its patch. */
enum { SZG_RESTORED_PATCH = 64 };

/* How values are looked at. */
typedef struct szg_restored_look {
  double half, inverse; /* half a fine step, and 1 / half */
  float half_f32, inverse_f32;
  int32_t exponent; /* a value's evidence is this minus its biased exponent */
  int32_t least_evidence;
  uint32_t needed; /* a run is one if it has so much evidence */
  bool has_fill;
  uint64_t fill_bits;
  uint64_t frame_values; /* of every frame but the last, which may have fewer */
  uint64_t line_values;  /* frames are cut into lines; the last may be shorter */
} szg_restored_look;

/* Counts of values that say something (restored_core.h), and runs of them. */
typedef struct szg_restored_found {
  uint64_t counted;                  /* those that differ from the value on their left, */
  uint64_t fine, coarse, control;    /* by kind; */
  uint32_t fine_marks, coarse_marks; /* and their marks, by OR */
  uint64_t all;                      /* all of them, */
  uint64_t all_fine, all_coarse;     /* and those with SZG_RESTORED_ALONE evidence or more */
  uint32_t runs;                     /* SZG_RESTORED_HAS_* */
} szg_restored_found;
enum { SZG_RESTORED_ALONE = 8 };
enum {
  SZG_RESTORED_HAS_FINE_RUN = 1,
  SZG_RESTORED_HAS_COARSE_RUN = 2,
  SZG_RESTORED_HAS_REST = 4 /* the last values of the last frame are equal: see below */
};

static inline void szg_restored_merge(const szg_restored_found *more, szg_restored_found *found) {
  found->counted += more->counted;
  found->fine += more->fine;
  found->coarse += more->coarse;
  found->control += more->control;
  found->fine_marks |= more->fine_marks;
  found->coarse_marks |= more->coarse_marks;
  found->all += more->all;
  found->all_fine += more->all_fine;
  found->all_coarse += more->all_coarse;
  found->runs |= more->runs;
}

/* The rest: so many last values of the last frame, a 32nd. If they are equal, they are probably yet
 * to be written, and the others will come back with them. 0: the frame is too small to tell. */
SZG_HD uint64_t szg_restored_rest(uint64_t frame_values) {
  uint64_t const share = frame_values / 32;
  return share < 2 ? 0 : share;
}

/* What a call asks for besides its bound. */
typedef struct szg_restored_asked {
  szgpu_predictor predictor;
  const szg_grid *grid; /* of the field */
  uint64_t frame_values;
} szg_restored_asked;

/* Gives the plan of an absolute bound the lattice that keeps restored values, and decides whether
 * levels frames may interpolate. Reads all values once more, unless their type is mapped. */
szgpu_status szg_restored_settle(const szg_restored_asked *asked, const szg_value_source *source,
                                 szg_bound_plan *plan) SZG_CHECKED;

/* Whether the step leaves room in the bound for the roundings of levels frames. */
bool szg_restored_has_room(const szg_bound_plan *plan);

/* ---- looking: a szg_value_source's find_restored ---- */

/* restored_find.c: `where` is the CPU's threads. */
szgpu_status szg_restored_find_cpu(const szg_value_source *source, const szg_restored_look *look,
                                   szg_restored_found *found) SZG_CHECKED;
/* restored_find.cu: `where` is the szg_value_source_cuda. */
szgpu_status szg_restored_find_cuda(const szg_value_source *source, const szg_restored_look *look,
                                    szg_restored_found *found) SZG_CHECKED;

SZG_C_END

#endif
