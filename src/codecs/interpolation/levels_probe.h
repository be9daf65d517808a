/* levels_probe.h - what a sample of a frame's points says about how a levels frame may predict it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Short runs of points are taken from all over the frame (probes). A first pass over them ranks the
 * ways to interpolate; a second one finds what the best one costs, and what differences cost. A
 * line of values may also be folded into rows, if it repeats itself at some distance; then both
 * passes look at the rows too. Both backends give the same numbers.
 */
#ifndef SZG_LEVELS_PROBE_H
#define SZG_LEVELS_PROBE_H

#include "codecs/interpolation/levels_choice_core.h"
#include "core/arena.h"
#include "core/threads.h"

SZG_C_BEGIN

/* What is sampled. */
typedef struct szg_probe_source {
  szg_grid grid;
  szg_levels_lattice lattice;
  uint32_t fine_bits; /* F, at least SZG_PROBE_FINE_BITS */
  const void *values; /* the frame's */
} szg_probe_source;

/* What a view's points say. Arrays by set have set 1 first. */
typedef struct szg_probe_found {
  uint32_t way_number; /* the best way to interpolate by the first pass, see szg_way */
  uint64_t scales[SZG_PROBE_SCALES][SZG_PROBE_SETS]; /* entropies of this way's classes */
  uint64_t noisy[SZG_PROBE_TABLES][SZG_PROBE_SETS];  /* at the finest scale */
  /* Of points that are disturbed: the same, and by blended and quintic stencils. */
  uint64_t disturbed[SZG_PROBE_SCALES][SZG_PROBE_SETS];
  uint64_t blended[SZG_PROBE_SCALES][SZG_PROBE_SETS];
  szg_probe_cost differences[SZG_PROBE_SETS];
} szg_probe_found;

typedef struct szg_probes {
  uint32_t fold; /* of `folded`; 0: there is none */
  szg_probe_found plain, folded;
} szg_probes;

/* ---- CPU (levels_probe.c) ---- */

typedef struct szg_probe_work szg_probe_work; /* of a worker */
typedef struct szg_fold_work szg_fold_work;
typedef struct szg_probe_plan {
  szg_probe_work *workers; /* [threads] */
  szg_fold_work *fold;     /* NULL: the frame is no line */
} szg_probe_plan;

void szg_levels_probe_carve(szg_arena *arena, const szg_grid *grid, int thread_count,
                            szg_probe_plan *plan);
szgpu_status szg_levels_probe(szg_threads *threads, const szg_probe_source *source,
                              const szg_probe_plan *plan, szg_probes *probes) SZG_CHECKED;

/* ---- CUDA (levels_probe.cu) ---- */

/* What the host gets, piece by piece. In pinned memory. */
enum { SZG_PROBE_PIECES = SZG_PROBE_SCALES + SZG_PROBE_TABLES + 1 }; /* of a view's costs */
typedef struct szg_probe_answer {
  szg_probes probes; /* `folded` is not set if there is no fold */
  uint32_t told[2 * SZG_PROBE_PIECES];
  uint32_t told_count; /* of these words are used */
} szg_probe_answer;

typedef struct szg_probe_plan_cuda {
  void *counts;             /* device memory, zero before each frame */
  void *results;            /* device memory */
  szg_probe_answer *answer; /* pinned */
} szg_probe_plan_cuda;
void szg_levels_probe_carve_zeroed_cuda(szg_arena *arena, szg_probe_plan_cuda *plan);
void szg_levels_probe_carve_cuda(szg_arena *arena, szg_probe_plan_cuda *plan);

/* Puts the work in the stream: two kernels, for a line three. source->values is device memory. The
 * answer is there when its words are told (szg_device_await). */
szgpu_status szg_levels_probe_cuda(const szg_probe_source *source, const szg_probe_plan_cuda *plan,
                                   struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
