/* levels.h - frames of kind "levels": most values by interpolation, from a coarse grid to fine ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_FRAME_H
#define SZG_LEVELS_FRAME_H

#include "container/writer.h"
#include "core/arena.h"
#include "frames/outliers.h"
#include "frames/part_slots.h"
#include "frames/rules.h"
#include "huffman/tokens.h"
#include "predict/axes.h"
#include "predict/levels.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Tiles that a CPU worker takes at once. */
enum { SZG_LEVELS_PART_TILES = 4 };

/* ---- levels.c ---- */

bool szg_levels_frame_may_occur(const szg_header *archive);
bool szg_levels_frame_is_sound(const szg_frame_facts *facts);
void szg_levels_frame_rules(const szg_frame_facts *facts, szg_section_rules *rules);
void szg_levels_frame_describe(const szg_frame_facts *facts, szgpu_frame_info *info);
bool szg_levels_frame_serves(const szg_write_request *request);
bool szg_levels_frame_suits(const szg_bound_plan *bound);

/* The section of stage i. */
static inline uint32_t szg_levels_section(uint32_t stage) { return SZG_SECTION_BASE + stage; }

/* The 16 bytes that a stage's section begins with, and what follows from them. */
enum { SZG_LEVELS_HEAD_BYTES = 16 };
typedef struct szg_levels_head {
  uint32_t mode; /* SZG_LEVELS_MODE_* */
  uint32_t lane_groups_log2;
  uint32_t unit;
  uint32_t book_bytes;
} szg_levels_head;
void szg_levels_head_write(const szg_levels_head *head, uint8_t *bytes);

/* Where a section has its parts, from its start. Without tiles (SZG_LEVELS_MODE_ZERO) all are
 * SZG_LEVELS_HEAD_BYTES. */
typedef struct szg_levels_places {
  uint64_t tile_sizes, words;
} szg_levels_places;
szg_levels_places szg_levels_places_of(const szg_levels_head *head, uint64_t tile_count);

/* Geometry and rules of a frame by its header, units left out. False: the header contradicts
 * itself. */
bool szg_levels_of_frame(const szg_grid *grid, const szg_frame_header *frame, szg_levels *levels);

/* The lattice of the values that `header` and the frame describe. */
szg_levels_lattice szg_levels_lattice_of(const szg_header *header, const szg_levels *levels);

/* Memory of a frame with these levels, in a buffer of the ctx. */
typedef struct szg_levels_memory {
  void *grids[SZG_LEVELS_MOST + 1]; /* lattice values of the stage's points */
  szg_levels_work *work;            /* [threads] */
  szg_tokens_work *token_work;      /* [threads] */
  int64_t *codes;                   /* [threads][SZG_LEVELS_MOST_PLACES] */
} szg_levels_memory;
/* grid_count: of the coarsest grids that are kept, level_count at most. */
void szg_levels_carve(szg_arena *arena, const szg_levels *levels, uint32_t grid_count,
                      int thread_count, szg_levels_memory *memory);

static inline void *szg_levels_codes_of(const szg_levels_memory *memory, int worker) {
  return memory->codes + (size_t)worker * SZG_LEVELS_MOST_PLACES;
}

/* Gives `arena` a block of the ctx's buffer for levels frames, as large as it has measured. */
szgpu_status szg_levels_arena_open(szgpu_ctx *ctx, szg_arena *arena) SZG_CHECKED;

/* ---- CPU: choosing (levels_choose.c) ---- */

/* How a frame is predicted. is_chosen false: by tile frames. */
typedef struct szg_levels_choice {
  bool is_chosen;
  szg_levels levels; /* with its rules and units */
  szg_levels_lattice lattice;
} szg_levels_choice;
szgpu_status szg_levels_choose(szg_write_job *job, szg_levels_choice *choice) SZG_CHECKED;

/* ---- CPU: writing (levels_write.c) ---- */

szgpu_status szg_levels_frame_write(szg_write_job *job, szg_writer *writer, szg_frame_header *frame,
                                    bool *is_written) SZG_CHECKED;

/* ---- CPU: reading (levels_read.c) ---- */

/* A stage's section, opened. */
typedef struct szg_levels_stage_input {
  szg_levels_head head;
  const uint8_t *tile_sizes; /* u16 each */
  const uint8_t *words;
  uint64_t word_count;
} szg_levels_stage_input;

typedef struct szg_levels_read_plan {
  szg_tokens_books *books;
  szg_tokens_decoder *decoder;
} szg_levels_read_plan;
void szg_levels_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                 szg_read_plan *plan);
szgpu_status szg_levels_frame_open(szg_read_job *job) SZG_CHECKED;
szgpu_status szg_levels_frame_restore(szg_read_job *job) SZG_CHECKED;

/* Previews. A folded frame has no level of the field. */
bool szg_levels_frame_has_level(const szg_frame_facts *facts, uint32_t level);
szgpu_status szg_levels_frame_preview(szg_read_job *job) SZG_CHECKED;

SZG_C_END

#endif
