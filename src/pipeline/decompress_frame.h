/* decompress_frame.h - one frame of an archive at work.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECOMPRESS_FRAME_H
#define SZG_DECOMPRESS_FRAME_H

#include "fused/tile.h"
#include "huffman/decoders/decoders.h"
#include "lossless/planes.h"
#include "pipeline/reader.h"
#include "predict/lorenzo.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Per worker. */
typedef struct szg_decode_worker {
  szg_tile_work tile;
  uint16_t *codes;    /* linear layout: of a part's tiles */
  void *plane_values; /* lossless: of a tile, [SZG_TILE_VALUES] of SZG_PLANES_MOST bytes */
  uint8_t *symbols;   /* lossless, linear layout: of a tile's highest plane, [SZG_TILE_VALUES] */
} szg_decode_worker;

typedef struct szg_decode_plan {
  szg_codebook *book;
  szg_canonical_index *index;         /* tile layout */
  szg_tile_decoder *tile_decoder;     /* tile layout */
  szg_planes_decoder *planes_decoder; /* lossless */
  uint8_t (*plane_lengths)[SZG_PLANES_SYMBOLS];
  szg_decode_worker *workers; /* [threads] */
} szg_decode_plan;

/* Where a part's share of each section begins. */
typedef struct szg_part_start {
  uint64_t stream; /* bits, or in the tile layout words */
  uint64_t escape, exact_mask, exact_value, fill_mask;
} szg_part_start;

/* One frame at work. */
typedef struct szg_decode_job {
  szg_reader reader;
  const szg_header *header;
  szg_quantizer quantizer;
  szg_grid grid; /* of the frame */
  uint64_t first_tile, end_tile;
  uint64_t first_value; /* of the frame's values, the one that *values is */
  uint64_t value_count; /* linear without loss: of those that *values gets */
  uint8_t *values;
  uint64_t wanted_values; /* of the frame: those that were asked for */
  const szg_decoder_cpu *decoder;
  szg_loaded tile_sizes, escape_counts, escapes, exact_counts, exact_mask, exact_values,
      fill_counts, fill_mask;
  szg_linear_input linear_stream;
  szg_decoder_memory decoder_memory; /* of the linear frame's decoder */
  szg_loaded tile_stream;
  szg_part_start *starts; /* [parts of the frame], in the ctx's buffer */
  uint16_t *codes;        /* of the whole frame, from decoders that take a stream as one; or NULL */
  uint8_t *symbols;       /* the same from those that give bytes; or NULL */
  const uint8_t *stored_planes; /* linear without loss: all but the highest; NULL: there is none */
  szg_decode_plan plan;
} szg_decode_job;

/* Restores job's tiles: of a frame that is linear, tile, or constant with exact or fill values (all
 * others are there then). */
szgpu_status szg_decode_tiles(szg_decode_job *job) SZG_CHECKED;

/* ---- for the kinds of frame ---- */

/* Entry i of a section of u16 counts; 0 where the frame has none. */
static inline uint32_t szg_count_at(const szg_loaded *loaded, uint64_t i) {
  return loaded->bytes ? szg_load_u16(loaded->bytes + 2 * i) : 0;
}

/* Whether the tile has exact or fill values, by its counts. */
bool szg_has_outliers(const szg_decode_job *job, uint64_t tile_index);

/* A linear frame without loss: value_count of its values, from job->first_value on; and those of
 * them that are in a tile, whose codes are in one of the two. */
szgpu_status szg_restore_top_plane(szg_decode_job *job, uint64_t value_count) SZG_CHECKED;
void szg_join_top_plane_tile(const szg_decode_job *job, const szg_tile *tile, const uint16_t *codes,
                             const uint8_t *symbols, szg_decode_worker *worker);

/* A tile frame: its stream of word_count words with its codebook, and one of its tiles. */
szgpu_status szg_load_tile_stream(szg_decode_job *job, uint64_t word_count) SZG_CHECKED;
szgpu_status szg_restore_tile_of_words(const szg_decode_job *job, uint64_t tile_index,
                                       const szg_tile *tile, uint64_t first_word,
                                       szg_tile_work *work) SZG_CHECKED;

SZG_C_END

#endif
