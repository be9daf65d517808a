/* levels_encode.h - stages of three axes from values to the words of tiles, a kernel for each.
 * CUDA only.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What szg_levels_code_stage_cuda and szg_tokens_encode_cuda do to a stage, without codes in
 * memory: a warp predicts a tile of a level, codes it and puts its words into memory that all
 * stages of the frame share, in any order. A tile of the base has a block. Once all are there,
 * szg_levels_write_sections_cuda puts them in order. Words, grids and marks are bit-identical to
 * the CPU's.
 *
 * The host learns nothing and waits for nothing, so calls may be part of a graph. Pointers in
 * structs are to device memory, except those to const structs.
 */
#ifndef SZG_LEVELS_ENCODE_H
#define SZG_LEVELS_ENCODE_H

#include "codecs/interpolation/levels_cuda.h"
#include "huffman/tokens_cuda.h"

SZG_C_BEGIN

/* Whether the kernels take this level. Wide frames and those of fewer axes go another way. */
bool szg_levels_encode_serves(const szg_levels *levels, uint32_t stage);
/* And the base of the frame, if it has levels. */
bool szg_base_encode_serves(const szg_levels *levels);

/* What the tiles of a stage take. sums are in order of tiles, SZG_LEVELS_SUM_TILES each. */
enum { SZG_LEVELS_SUM_TILES = 64 };
typedef struct szg_levels_encoded_cuda {
  uint16_t *sizes;  /* [tiles]: words of each */
  uint64_t *places; /* [tiles]: where they are in the words that levels share */
  uint32_t *sums;   /* words of so many tiles; zero before the stage */
} szg_levels_encoded_cuda;

/* Numbers that kernels count up. Zero before the first stage. */
typedef struct szg_levels_counters_cuda {
  unsigned long long word_count;                       /* taken */
  unsigned long long stage_words[SZG_LEVELS_MOST + 1]; /* by stage */
  uint32_t tiles[SZG_LEVELS_MOST + 1];                 /* likewise */
} szg_levels_counters_cuda;

/* Memory of a frame. Tiles whose words do not fit any more are not written. */
typedef struct szg_levels_encode_work_cuda {
  szg_levels_counters_cuda *counters;
  uint32_t *words; /* of all stages */
  uint64_t word_capacity;
  int32_t *slots; /* [slot_count][SZG_LEVELS_MOST_PLACES]: codes of 32 bits, for a warp each */
  uint32_t slot_count;
} szg_levels_encode_work_cuda;

/* More slots than this are never of use: 12 warps have one each on 192 multiprocessors. */
enum { SZG_LEVELS_MOST_SLOTS = 192 * 12 };

/* Sums of all stages are to be zeroed together, so they are taken apart. */
void szg_levels_encoded_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                   szg_levels_encoded_cuda *encoded);
void szg_levels_sums_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                szg_levels_encoded_cuda *encoded);

/* Codes and encodes all tiles of a stage that the kernels serve. grids[stage - 1] is complete, and
 * book is that of the stage. marks: as for szg_levels_code_stage_cuda. work->slot_count: at least
 * 1; kernels are slower with fewer than tiles, up to SZG_LEVELS_MOST_SLOTS. */
szgpu_status szg_levels_encode_cuda(const szg_levels *levels, uint32_t stage,
                                    const szg_levels_lattice *lattice, const void *values,
                                    void *const *grids, const szg_tokens_book_cuda *book,
                                    const szg_levels_marks_cuda *marks,
                                    const szg_levels_encode_work_cuda *work,
                                    const szg_levels_encoded_cuda *encoded,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* The same for all tiles of the base; grid is that of stage 0, which the next stage needs. The
 * slots of work play no part. */
szgpu_status szg_base_encode_cuda(const szg_levels *levels, const szg_levels_lattice *lattice,
                                  const void *values, void *grid, const szg_tokens_book_cuda *book,
                                  const szg_levels_marks_cuda *marks,
                                  const szg_levels_encode_work_cuda *work,
                                  const szg_levels_encoded_cuda *encoded,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* An encoded stage and the section that it becomes. */
typedef struct szg_levels_section_cuda {
  uint64_t tile_count;
  uint32_t stage;
  const szg_tokens_book_cuda *book;
  szg_levels_encoded_cuda encoded;
} szg_levels_section_cuda;

/* Writes the sections of stages that follow one another, as szg_tokens_encode_cuda does. Stage i
 * gets starts[i + 1] and section_bytes[i]; starts[0] is known. A section that would not end within
 * the capacity is not written. section_count: at most SZG_LEVELS_MOST + 1. */
szgpu_status szg_levels_write_sections_cuda(const szg_levels_section_cuda *sections,
                                            uint32_t section_count,
                                            const szg_levels_encode_work_cuda *work,
                                            uint8_t *archive, uint64_t capacity, uint64_t *starts,
                                            uint64_t *section_bytes,
                                            struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
