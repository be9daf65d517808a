/* plan.h - the workspace of a compression: one layout, which bounds measures and compress carves.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLAN_H
#define SZG_PLAN_H

#include "core/arena.h"
#include "core/tiles.h"
#include "huffman/huffman.h"
#include "outlier/outlier.h"
#include "predict/axes.h"

SZG_C_BEGIN

/* Tiles handled as one by a worker: 64 Ki codes, which fit a second-level cache. */
enum { SZG_PART_TILES = 16 };

/* Per worker. */
typedef struct szg_compress_worker {
  szg_tile_work tile;
  int64_t escapes[SZG_TILE_VALUES];
  int64_t least_escape, greatest_escape; /* of all the worker's tiles */
  uint64_t unflushed_codes;              /* counted in histogram, not yet in totals */
  uint32_t *histogram;                   /* SZG_HISTOGRAM_COPIES tables of the frame's symbols */
  uint64_t *totals;
} szg_compress_worker;

/* Everything a frame's compression works on besides field and archive. */
typedef struct szg_compress_plan {
  uint64_t *frame_bytes;     /* [frame_count] */
  uint16_t *codes;           /* [values of a frame], code order; a buffer of its own in the ctx */
  szg_outlier_counts counts; /* [tiles] each */
  uint32_t *tile_bits;       /* [tiles] */
  szg_outlier_lists *lists;  /* [parts] */
  szg_linear_run *runs;      /* [parts] */
  uint8_t *gaps;             /* [subsequences of the largest stream] */
  uint64_t *sequence_codes;  /* [sequences of the largest stream] */
  uint32_t *encoder_table;   /* [SZG_MAX_SYMBOLS] */
  uint8_t *book_bytes;       /* [SZG_CODEBOOK_MAX_BYTES] */
  szg_codebook *book;
  szg_codebook_work *book_work;
  szg_choice_work *choice_work;
  szg_compress_worker *workers; /* [threads] */
} szg_compress_plan;

/* Takes the plan's pieces for frames of frame_grid's size from the arena. */
void szg_compress_plan_carve(szg_arena *arena, const szg_grid *frame_grid, uint64_t frame_count,
                             int thread_count, szg_compress_plan *plan);

/* The largest archive of a field: every frame raw. False when it overflows. */
bool szg_max_archive_bytes(const szg_grid *grid, size_t value_bytes, uint64_t frame_count,
                           uint64_t *archive_bytes) SZG_CHECKED;

SZG_C_END

#endif
