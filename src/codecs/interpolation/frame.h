/* frame.h - frames of kind "levels": interpolation from a coarse grid to fine ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_FRAME_H
#define SZG_LEVELS_FRAME_H

#include "codecs/interpolation/levels_cuda.h"
#include "codecs/interpolation/levels_encode.h"
#include "codecs/interpolation/levels_fused.h"
#include "codecs/interpolation/levels_probe.h"
#include "codecs/kind.h"
#include "codecs/outliers.h"
#include "codecs/part_slots.h"
#include "huffman/tokens_cuda.h"
#include "predict/axes.h"

SZG_C_BEGIN

/* Tiles that a CPU worker takes at once. */
enum { SZG_LEVELS_PART_TILES = 4 };

SZG_DECLARE_KIND(levels);

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

/* The header's fields that say how the frame is predicted. */
void szg_levels_set_header(const szg_levels *levels, szg_frame_header *header);

/* Whether tiles that are cut off leave enough of the largest frame of a call, if all of its frames
 * have these levels: memory for codes is bounded on a GPU, and codes of places that do not exist
 * take as much as others. No backend writes other levels frames, or reads them: to read them would
 * take much memory and time for few values. */
bool szg_levels_are_dense(const szg_write_request *request, const szg_levels *levels);

/* The most that a frame with this grid takes, whatever levels it has, if they are dense. */
typedef struct szg_levels_most {
  uint64_t tiles, places; /* of a stage */
  uint64_t grid_points;   /* of all stages before the last, with what alignment takes */
} szg_levels_most;
szg_levels_most szg_levels_most_of(const szg_grid *grid);

/* How many bits a lane of a stage should have, for szg_tokens_choose. The base of three axes has
 * the shortest lanes, whatever they have: every level waits for it, and a GPU decodes the codes of
 * a lane one after the other. Not so bases of fewer tiles than this, of fields that are small, and
 * those whose tiles have fewer points on average, as in thin fields: of such archives the lengths
 * of lanes may take more than 1 %, and their lanes have few codes anyway. */
enum { SZG_LEVELS_AWAITED_TILES = 4, SZG_LEVELS_AWAITED_POINTS = 2048 };
uint32_t szg_levels_lane_bits(const szg_levels *levels, uint32_t stage);

/* The lattice of the values that `header` and the frame describe. */
szg_levels_lattice szg_levels_lattice_of(const szg_header *header, const szg_levels *levels);

/* Takes the grids of the first grid_count stages, NULL for the others; width: bytes of a lattice
 * value. */
void szg_levels_carve_grids(szg_arena *arena, const szg_levels *levels, uint32_t grid_count,
                            size_t width, void *grids[SZG_LEVELS_MOST + 1]);

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

/* ---- choosing (choose.c) ---- */

/* How a frame is predicted. is_chosen false: by tile frames. */
typedef struct szg_levels_choice {
  bool is_chosen;
  szg_levels levels; /* with its rules and units */
  szg_levels_lattice lattice;
  uint64_t doubtful_bytes; /* if its stages take more, a tile frame is measured too */
} szg_levels_choice;

/* What the choice knows of a frame besides its values. */
typedef struct szg_levels_asked {
  const szg_write_request *request;
  const szg_bound_plan *bound;
  const szg_grid *grid;
} szg_levels_asked;

/* What is to be sampled. False: the frame cannot be a levels frame. */
bool szg_levels_probe_source(const szg_levels_asked *asked, const void *values,
                             szg_probe_source *source);
/* The choice, from what the sample says. */
void szg_levels_decide(const szg_levels_asked *asked, const szg_probes *probes,
                       szg_levels_choice *choice);

/* Both, with the CPU's sampling in between. */
szgpu_status szg_levels_choose(szg_write_job *job, szg_levels_choice *choice) SZG_CHECKED;

/* Whether stages of so many bytes are worth their time, if a tile frame would take tile_bytes. */
bool szg_levels_save_enough(const szg_write_request *request, uint64_t stage_bytes,
                            uint64_t tile_bytes);

/* ---- CPU: writing (write.c) ---- */

/* What it takes in the ctx's buffer for levels, except for grids. */
uint64_t szg_levels_write_fixed_bytes(const szg_write_request *request);

/* ---- CPU: reading (read.c) ---- */

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

/* ---- CUDA: choosing (choose.cu) ---- */

/* The same choice as szg_levels_choose. Waits once, and clears tile marks meanwhile. */
szgpu_status szg_levels_choose_cuda(const szg_write_job_cuda *job,
                                    szg_levels_choice *choice) SZG_CHECKED;

/* ---- CUDA: writing (write.cu) ---- */

/* What the host learns about a frame when all its stages are coded. */
typedef struct szg_levels_found {
  uint64_t starts[SZG_LEVELS_MOST + 2]; /* of the stages' sections in the archive, and their end */
  uint64_t section_bytes[SZG_LEVELS_MOST + 1];
  szg_levels_counters_cuda counters;
  uint32_t has_marks;   /* some tile may have outliers */
  uint32_t told;        /* the host's: it can read the rest */
  uint64_t frame_bytes; /* the host's, if the device has completed the archive; 0: it has not */
} szg_levels_found;

typedef struct szg_levels_write_plan_cuda {
  szg_probe_plan_cuda probe;
  uint8_t *grids; /* of all stages before the last */
  uint8_t *codes; /* of one stage; or what fused kernels need */
  uint64_t grids_bytes, codes_bytes;
  szg_tokens_tally *tallies;   /* [stages] */
  szg_tokens_book_cuda *books; /* [stages] */
  szg_tokens_work_cuda work;
  szg_levels_found *found;      /* device */
  szg_levels_found *found_back; /* pinned */
} szg_levels_write_plan_cuda;

/* Completes an archive of one frame (archive.cu), and then copies what was found to the
 * host. header: of stages of unknown sizes. Gives up, with frame_bytes 0, if there are outliers,
 * the frame does not shrink or fit, or stages take more than most_bytes. */
szgpu_status szg_levels_archive_complete_cuda(const szg_write_job_cuda *job,
                                              const szg_frame_header *header,
                                              uint64_t most_bytes) SZG_CHECKED;

/* ---- CUDA: reading (read.cu) ---- */

/* Tiles whose codes are on the device at a time, if they come from other kernels than points: those
 * with this many bytes of codes. */
enum { SZG_LEVELS_BATCH_BYTES = 1 << 28 };

/* Memory of the frame that needs most. */
typedef struct szg_levels_read_plan_cuda {
  uint8_t *memory;
  uint64_t memory_bytes;
} szg_levels_read_plan_cuda;

SZG_C_END

#endif
