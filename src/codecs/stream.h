/* stream.h - a frame's codes as one stream: what the frames of the linear layout share.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codebook, tile sizes, bitstream, gap array and sequence codes. linear.h and top_plane.h make the
 * codes and turn them back into values.
 */
#ifndef SZG_STREAM_H
#define SZG_STREAM_H

#include "codecs/frame.h"
#include "container/reader.h"
#include "container/writer.h"
#include "core/arena.h"
#include "huffman/decoders/decoders.h"

SZG_C_BEGIN

/* Bytes of the sections' contents before zstd; 0: there is no such section. */
typedef struct szg_stream_sizes {
  uint64_t book, tile_sizes, bitstream, gaps, sequence_codes;
} szg_stream_sizes;

static inline uint64_t szg_stream_sizes_sum(const szg_stream_sizes *sizes) {
  return sizes->book + sizes->tile_sizes + sizes->bitstream + sizes->gaps + sizes->sequence_codes;
}

/* Sizes of all sections except the codebook's. */
szg_stream_sizes szg_stream_sizes_of(uint64_t bit_count, uint64_t tile_count, bool has_gaps);

static inline uint32_t szg_stream_section_count(bool has_gaps) { return has_gaps ? 5 : 3; }

/* ---- CPU: writing (stream_write.c) ---- */

/* Counts of one worker's codes. */
typedef struct szg_code_counts {
  uint64_t unflushed_codes; /* counted in histogram, not yet in totals */
  uint32_t *histogram;      /* SZG_HISTOGRAM_COPIES tables of the frame's symbols */
  uint64_t *totals;
} szg_code_counts;

/* Memory for coding a stream. */
typedef struct szg_stream_write_plan {
  uint16_t *codes;          /* [values of a frame], code order; in SZG_KEPT_KIND */
  szg_code_counts *counts;  /* [threads] */
  uint32_t *tile_bits;      /* [tiles] */
  szg_linear_run *runs;     /* [parts] */
  uint8_t *gaps;            /* [subsequences of the largest stream] */
  uint64_t *sequence_codes; /* [sequences of the largest stream] */
  uint32_t *encoder_table;  /* [SZG_MAX_SYMBOLS] */
  uint8_t *book_bytes;      /* [SZG_CODEBOOK_MAX_BYTES] */
  szg_codebook *book;
  szg_codebook_work *book_work;
} szg_stream_write_plan;
/* frame_grid: the largest frame, as its codes are cut into tiles. */
void szg_stream_carve_write(szg_arena *arena, const szg_grid *frame_grid, int thread_count,
                            szg_stream_write_plan *plan);

/* Bytes of the codes of the largest frame. */
uint64_t szg_stream_codes_bytes(const szg_write_request *request);

/* The first makes room for the frame's codes and sets the counts of 2 * radius symbols to zero.
 * With the second a worker counts the codes that it made. */
szgpu_status szg_stream_begin(szg_write_job *job, uint32_t radius) SZG_CHECKED;
void szg_stream_count(const szg_write_job *job, uint32_t radius, const uint16_t *codes,
                      uint64_t code_count, int worker);

/* Builds the codebook from the counts and finds how many bits the codes take. */
szgpu_status szg_stream_measure(szg_write_job *job, uint32_t radius,
                                uint64_t *bit_count) SZG_CHECKED;

/* Sizes of all sections. */
szg_stream_sizes szg_stream_size(const szg_write_job *job, uint64_t bit_count);

/* Writes the sections; the codes are encoded in their final place. */
szgpu_status szg_stream_write(szg_write_job *job, szg_writer *writer, const szg_stream_sizes *sizes,
                              uint64_t bit_count) SZG_CHECKED;

/* Frees the codes' memory. */
void szg_stream_release(szg_write_job *job);

/* ---- CPU: reading (stream_read.c) ---- */

/* Memory for decoding a stream. */
typedef struct szg_stream_read_plan {
  szg_codebook *book;
  uint16_t **codes; /* [threads][SZG_PART_TILES * SZG_TILE_VALUES]: one part's */
} szg_stream_read_plan;
void szg_stream_carve_read(szg_arena *arena, int thread_count, szg_stream_read_plan *plan);

/* An open stream. */
typedef struct szg_stream_input {
  szg_loaded book, words; /* sections */
  szg_linear_input linear;
  szg_decoder_memory memory; /* the decoder's */
  uint16_t *codes;           /* the whole frame's, from decoders of a whole stream; or NULL */
  uint8_t *symbols;          /* the same from decoders that give bytes; or NULL */
} szg_stream_input;

/* Loads the sections of codebook and words. */
szgpu_status szg_stream_load(szg_read_job *job) SZG_CHECKED;
/* Then opens the stream of bit_count bits with its side data and prepares the decoder; after this,
 * any part can be decoded. takes_bytes: codes may be bytes. */
szgpu_status szg_stream_open(szg_read_job *job, uint64_t bit_count, bool takes_bytes) SZG_CHECKED;

/* Decodes the wanted tiles of a part into the worker's codes, unless all codes are decoded. */
szgpu_status szg_stream_decode_part(const szg_read_job *job, uint64_t part, int worker) SZG_CHECKED;

/* The codes of a tile of a decoded part; NULL: they are bytes. */
const uint16_t *szg_stream_codes_of(const szg_read_job *job, uint64_t tile_index,
                                    const szg_tile *tile, int worker);

/* ---- CUDA: writing (stream_write.cu) ---- */

/* Memory for coding a stream. */
typedef struct szg_stream_write_plan_cuda {
  uint16_t *codes; /* device: [values of a frame] */
  szg_linear_encoder_cuda encoder;
  /* pinned */
  uint32_t *table;     /* [SZG_MAX_SYMBOLS] */
  uint8_t *book_bytes; /* [SZG_CODEBOOK_MAX_BYTES] */
  szg_codebook *book;
  szg_codebook_work *book_work;
} szg_stream_write_plan_cuda;
szgpu_status szg_stream_carve_write_cuda(szg_arena *arena, const szg_grid *frame_grid,
                                         szg_stream_write_plan_cuda *plan) SZG_CHECKED;
void szg_stream_carve_write_pinned(szg_arena *arena, szg_stream_write_plan_cuda *plan);

/* Builds the codebook from the counts of 2 * radius symbols; gives the bits that the codes take and
 * the sizes of all sections. */
szg_stream_sizes szg_stream_size_cuda(const szg_write_job_cuda *job, const uint64_t *counts,
                                      uint32_t radius, uint64_t tile_count, uint64_t *bit_count);

void szg_stream_add_sections_cuda(szg_frame_layout_cuda *layout, const szg_stream_sizes *sizes);

/* Writes these sections, which come first in the frame, from the plan's codes. grid: how the codes
 * are cut into tiles. */
szgpu_status szg_stream_write_cuda(const szg_write_job_cuda *job, const szg_grid *grid,
                                   const szg_frame_layout_cuda *layout,
                                   uint64_t bit_count) SZG_CHECKED;

/* ---- CUDA: reading (stream_read.cu) ---- */

/* The largest sizes among the call's streams. */
typedef struct szg_stream_read_sizes_cuda {
  uint64_t value_count; /* 0: there is no stream */
  uint64_t word_count, sequence_count;
  bool takes_bytes; /* codes may be bytes */
} szg_stream_read_sizes_cuda;

/* Memory for decoding a stream. */
typedef struct szg_stream_read_plan_cuda {
  const szg_decoder_cuda *decoder;
  szg_decoder_memory memory;
  szg_decode_book_cuda *book;
  uint32_t code_bytes;
  void *codes; /* [values of a frame], of code_bytes each */
} szg_stream_read_plan_cuda;

/* States what the frame's stream needs. */
void szg_stream_size_read_cuda(const szg_read_frame_cuda *frame, bool takes_bytes,
                               szg_read_sizes_cuda *sizes);
szgpu_status szg_stream_carve_read_cuda(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                        szg_read_plan_cuda *plan) SZG_CHECKED;
void szg_stream_carve_read_pinned(szg_arena *arena, const szg_read_sizes_cuda *sizes,
                                  szg_read_plan_cuda *plan);

/* The first prepares the codebook for the decoder; the second decodes all codes of the frame, once
 * its tiles are placed. grid: how the codes are cut into tiles. Waits for the stream if the decoder
 * does. */
szgpu_status szg_stream_open_cuda(const szg_read_job_cuda *job) SZG_CHECKED;
szgpu_status szg_stream_decode_cuda(const szg_read_job_cuda *job, const szg_grid *grid) SZG_CHECKED;

SZG_C_END

#endif
