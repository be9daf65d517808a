/* planes_plan.h - the workspace of frames without loss, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANES_PLAN_H
#define SZG_PLANES_PLAN_H

#include "core/arena.h"
#include "lossless/planes.h"

SZG_C_BEGIN

/* What a frame without loss works on besides values and archive. */
typedef struct szg_planes_plan {
  szg_planes_counts *counts; /* [threads] */
  uint16_t *tile_sizes;      /* [tiles of the largest frame], of values of a byte or more */
  uint64_t *part_words;      /* [its parts]: words before the part */
  szg_split_tally *tally;
  szg_codebook *book;
  szg_codebook_work *book_work;
  szg_planes_choice *choice;
  szg_planes_encoder *encoder;
} szg_planes_plan;
/* For frames of up to value_count values; of bytes, which may be taken for fewer, wider ones. */
void szg_planes_plan_carve(szg_arena *arena, uint64_t value_count, int thread_count,
                           szg_planes_plan *plan);

SZG_C_END

#endif
