/* plan.h - the workspace of a compression: one layout, which bounds measures and compress carves.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLAN_H
#define SZG_PLAN_H

#include "core/arena.h"
#include "core/tiles.h"
#include "fused/tile.h"
#include "huffman/huffman.h"
#include "outlier/outlier.h"
#include "pipeline/planes_plan.h"
#include "predict/axes.h"

SZG_C_BEGIN

/* Tiles handled as one by a worker: 64 Ki codes, which fit a second-level cache. */
enum { SZG_PART_TILES = 16 };

/* Most tiles that are kept after counting: as many as are always counted. */
enum { SZG_MOST_KEPT = SZG_LEAST_COUNTED };

/* Per worker. */
typedef struct szg_compress_worker {
  szg_tile_work tile;
  int64_t escapes[SZG_TILE_VALUES];
  int64_t least_escape, greatest_escape; /* of all the worker's tiles */
  uint64_t unflushed_codes;              /* counted in histogram, not yet in totals */
  uint32_t *histogram;                   /* SZG_HISTOGRAM_COPIES tables of the frame's symbols */
  uint64_t *totals;
  szg_tile_tally tally; /* tile layout: of the counted tiles */
} szg_compress_worker;

/* Tile layout: the words of a part, from when it is begun until they are in the archive. Part p has
 * slot p % slot_count. */
typedef struct szg_part_slot {
  uint8_t *words;      /* room for raw tiles */
  uint64_t byte_count; /* of the words */
  uint64_t offset;     /* in the bitstream */
  uint64_t free_for;   /* atomic: the part that may have the slot */
  bool is_done;        /* and waits for its place */
} szg_part_slot;

/* Tile layout, lattice of 16 bits: what counting a tile for the codebook found, so that its values
 * are not needed again to code it. */
typedef struct szg_kept_tile {
  int16_t deltas[SZG_TILE_VALUES];
  uint8_t marks[SZG_TILE_VALUES]; /* SZG_MARK_*; valid if has_marks */
  bool has_marks;
} szg_kept_tile;

/* Everything a frame's compression works on besides field and archive. */
typedef struct szg_compress_plan {
  uint64_t *frame_bytes;     /* [frame_count] */
  szg_outlier_counts counts; /* [tiles] each */
  szg_outlier_lists *lists;  /* [parts] */
  uint8_t *book_bytes;       /* [SZG_CODEBOOK_MAX_BYTES] */
  szg_codebook *book;
  szg_codebook_work *book_work;
  szg_choice_work *choice_work;
  szg_compress_worker *workers; /* [threads] */
  /* linear layout */
  uint16_t *codes;          /* [values of a frame], code order; a buffer of its own in the ctx */
  uint32_t *tile_bits;      /* [tiles] */
  szg_linear_run *runs;     /* [parts] */
  uint8_t *gaps;            /* [subsequences of the largest stream] */
  uint64_t *sequence_codes; /* [sequences of the largest stream] */
  uint32_t *encoder_table;  /* [SZG_MAX_SYMBOLS] */
  /* tile layout */
  uint16_t *tile_sizes; /* [tiles]: words */
  szg_tile_encoder *encoder;
  szg_part_slot *slots; /* [slot_count] */
  uint32_t slot_count;
  szg_kept_tile *kept; /* [kept_count]: the first ones counted */
  uint32_t kept_count;
  szg_planes_plan planes; /* of frames that are kept exactly */
} szg_compress_plan;

/* What a plan is made for. */
typedef struct szg_plan_request {
  szgpu_layout layout;
  bool is_lossless;
  szgpu_dtype dtype;
  szg_grid frame_grid; /* of the largest frame */
  uint64_t frame_count;
  int thread_count;
} szg_plan_request;

/* Takes the plan's pieces from the arena. */
void szg_compress_plan_carve(szg_arena *arena, const szg_plan_request *request,
                             szg_compress_plan *plan);

/* The largest archive of a field: every frame raw. False when it overflows. */
bool szg_max_archive_bytes(const szg_grid *grid, size_t value_bytes, uint64_t frame_count,
                           uint64_t *archive_bytes) SZG_CHECKED;

SZG_C_END

#endif
