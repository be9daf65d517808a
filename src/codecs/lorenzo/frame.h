/* frame.h - frames of kind "tile": each tile's deltas in 32 lanes of codes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TILE_FRAME_H
#define SZG_TILE_FRAME_H

#include "codecs/kind.h"
#include "codecs/lorenzo/tile.h"
#include "codecs/lorenzo/tile_cuda.h"
#include "codecs/outliers.h"
#include "codecs/part_slots.h"
#include "predict/axes.h"

SZG_C_BEGIN

SZG_DECLARE_KIND(tile);

/* Bytes of the sections' contents before zstd. */
typedef struct szg_tile_frame_sizes {
  uint64_t book, tile_sizes, bitstream;
  szg_outlier_sizes outliers;
} szg_tile_frame_sizes;
uint64_t szg_tile_frame_sizes_sum(const szg_tile_frame_sizes *sizes);

/* ---- CPU: writing (write.c) ---- */

/* The most tiles kept after counting: the least number that is counted. */
enum { SZG_MOST_KEPT = SZG_LEAST_COUNTED };

/* 16-bit lattice: what counting a tile for the codebook found, so that coding it does not need its
 * values again. */
typedef struct szg_kept_tile {
  int16_t deltas[SZG_TILE_VALUES];
  uint8_t marks[SZG_TILE_VALUES]; /* SZG_MARK_*; valid if has_marks */
  bool has_marks;
} szg_kept_tile;

/* How a frame's tiles are coded: what is known before words are. */
typedef struct szg_tile_basis {
  szg_choice choice;
  szg_quantizer quantizer;
  uint32_t lattice_bits, zero_groups;
  bool has_16_bits;
  uint32_t counted_tiles, kept_tiles;
  uint64_t book_bytes;
} szg_tile_basis;

/* Memory of tile frames in addition to their outliers. */
typedef struct szg_tile_write_plan {
  szg_tile_basis basis; /* of a frame that has_tile_basis */
  szg_choice_work *choice_work;
  szg_tile_tally *tallies; /* [threads]: of the counted tiles */
  uint8_t *book_bytes;     /* [SZG_CODEBOOK_MAX_BYTES] */
  szg_codebook *book;
  szg_codebook_work *book_work;
  szg_tile_encoder *encoder;
  uint16_t *sizes;      /* [tiles]: words */
  szg_part_slots slots; /* with room for raw tiles */
  szg_kept_tile *kept;  /* [kept_count]: the first ones counted */
  uint32_t kept_count;
} szg_tile_write_plan;

/* Bytes of a tile frame's first three sections before zstd. Writes nothing to the archive. Drops
 * the lists of outliers that another kind has made. */
szgpu_status szg_tile_frame_measure(szg_write_job *job, uint64_t *byte_count) SZG_CHECKED;

/* ---- CPU: reading (read.c) ---- */

/* Memory for reading tile frames. */
typedef struct szg_tile_read_plan {
  szg_codebook *book;
  szg_canonical_index *index;
  szg_tile_decoder *decoder;
} szg_tile_read_plan;

/* ---- CUDA: writing (write.cu) ---- */

/* What the host needs to know about a frame. */
typedef struct szg_tile_found {
  szg_tile_book_cuda book; /* first, for its alignment */
  szg_choice choice;
  szg_tile_result_cuda result;
  uint64_t frame_bytes; /* for the host; not 0: the frame is complete, and the archive with it */
} szg_tile_found;

typedef struct szg_tile_write_plan_cuda {
  szg_tile_found *found;      /* device */
  szg_tile_found *found_back; /* pinned */
  void *book_maker;           /* szg_tile_book_work_bytes_cuda */
  void *work;                 /* szg_tile_compress_work_bytes_cuda */
} szg_tile_write_plan_cuda;

/* Measures as szg_tile_frame_measure does. Waits for the device once. Of outliers' memory it
 * changes tile_marks only. */
szgpu_status szg_tile_frame_measure_cuda(const szg_write_job_cuda *job,
                                         uint64_t *byte_count) SZG_CHECKED;

/* Completes an archive of one tile frame without outliers after its first three sections are
 * written, and tells the host in the plan's found_back. If the frame cannot stay, because it has
 * outliers after all, is too large for its room, or is as large as the values, the host only learns
 * that. header: the frame's, without sizes. */
szgpu_status szg_tile_archive_complete_cuda(const szg_write_job_cuda *job,
                                            const szg_frame_header *header) SZG_CHECKED;

/* ---- CUDA: reading (read.cu) ---- */

typedef struct szg_tile_read_plan_cuda {
  szg_tile_decoder *decoder;
  uint64_t *first_words; /* [tiles + 1] */
  uint32_t *counters;    /* [1] */
} szg_tile_read_plan_cuda;

SZG_C_END

#endif
