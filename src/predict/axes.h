/* axes.h - chooses the axes to difference along, and the radius, by their cost on a sample.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A difference along an axis adds the quantization noise of two values, so fewer axes may win at
 * loose bounds and more of them at tight ones. The cost estimates the coded bits in integer
 * arithmetic, so that every backend makes the same choice.
 */
#ifndef SZG_AXES_H
#define SZG_AXES_H

#include "core/threads.h"
#include "predict/axes_core.h"
#include "predict/lorenzo.h"

SZG_C_BEGIN

enum {
  SZG_COST_PARTS = 8, /* of the sample, for threads */
  SZG_COST_TABLES = 4,
  SZG_PAIR_DELTA_BITS = 5,
  SZG_PAIRS = 1 << 2 * SZG_PAIR_DELTA_BITS
};

/* How often deltas along a set of axes occur, in tables to be added up. Small ones may be counted
 * two by two: the low bits of a pair are the first delta's, the high bits the second's. Tables are
 * cleared as far as they are used: most of a small field's would stay 0. */
typedef struct szg_set_counts {
  uint32_t reach; /* classes of deltas -reach .. reach - 1 are used */
  bool has_large; /* and those from SZG_LARGE_CLASSES on */
  bool has_pairs;
  uint32_t classes[SZG_COST_TABLES][SZG_COST_CLASSES];
  uint32_t pairs[SZG_COST_TABLES][SZG_PAIRS];
} szg_set_counts;

/* Work for a part of the sample. */
typedef struct szg_cost_work {
  szg_tile_work tile;
  int16_t differences[SZG_AXES_SETS][SZG_TILE_VALUES]; /* see axes_sets.h */
  szg_set_counts sets[SZG_AXES_SETS];
} szg_cost_work;

/* Memory for the choice. */
typedef struct szg_choice_work {
  szg_cost_work parts[SZG_COST_PARTS];
  bool has_large[SZG_AXES_SETS + 1]; /* by set: has a delta of SZG_COST_RADIUS or more */
  uint64_t costs[SZG_AXES_SETS + 1]; /* by set */
  uint32_t deltas[SZG_MAX_SYMBOLS];  /* counts by delta + SZG_MAX_RADIUS, along the chosen axes */
  uint64_t widest;                   /* the greatest szg_delta_spread beyond those */
} szg_choice_work;

typedef struct szg_choice {
  uint32_t axes; /* SZG_AXIS_* */
  uint32_t radius;
} szg_choice;

/* asked_radius: the radius to use, or 0. */
szgpu_status szg_choose(szg_threads *threads, const szg_quantizer *quantizer, const szg_grid *grid,
                        const void *frame_values, uint32_t asked_radius, szg_choice_work *work,
                        szg_choice *choice) SZG_CHECKED;

/* ---- CUDA: all pointers except quantizer and grid are to device memory ---- */

/* The size of work, and how many of its first bytes must be 0 before the call. */
uint64_t szg_choice_work_bytes_cuda(void);
uint64_t szg_choice_zeroed_bytes_cuda(void);
/* The same choice; work is aligned to 8. */
szgpu_status szg_choose_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                             const void *frame_values, uint32_t asked_radius, void *work,
                             szg_choice *choice, struct CUstream_st *stream) SZG_CHECKED;

/* One of several fields of which one launch chooses the axes; in device memory. */
typedef struct szg_choice_item {
  szg_grid grid;
  const void *values;
  void *work; /* szg_choice_axes_bytes_cuda(), zeroed */
  szg_choice *choice;
} szg_choice_item;

/* Memory for the choice of axes with a radius that is asked for. */
uint64_t szg_choice_axes_bytes_cuda(void);

/* The same choice for each item, with the radius SZG_COST_RADIUS. Their grids have as many axes as
 * `example`, and no more than most_tiles. */
szgpu_status szg_choose_items_cuda(const szg_quantizer *quantizer, const szg_grid *example,
                                   uint64_t most_tiles, const szg_choice_item *items,
                                   uint32_t item_count, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
