/* compress_cuda.h - a compression on the GPU: its memory, and what its frames share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_COMPRESS_CUDA_H
#define SZG_COMPRESS_CUDA_H

#include "container/checksum.h"
#include "container/container.h"
#include "core/places.h"
#include "fused/tile_cuda.h"
#include "huffman/huffman.h"
#include "lossless/planes.h"
#include "outlier/outlier.h"
#include "pipeline/cuda.h"
#include "pipeline/frame_sections.h"
#include "predict/axes.h"
#include "predict/lorenzo.h"

SZG_C_BEGIN

/* What the host wants to know of a frame to lay out its sections: one copy brings all. */
typedef struct szg_linear_found {
  szg_choice choice;
  int64_t escape_extremes[2];
  uint64_t counts[SZG_MAX_SYMBOLS]; /* of the frame's codes */
} szg_linear_found;

typedef struct szg_tile_found {
  szg_tile_book_cuda book; /* first, for its alignment */
  szg_choice choice;
  szg_tile_result_cuda result;
  uint64_t frame_bytes; /* for the host; not 0: the frame is complete, and the archive with it */
} szg_tile_found;

/* What frames without loss work on. */
typedef struct szg_planes_plan_cuda {
  /* device */
  szg_planes_counts *counts;
  szg_split_tally *tally; /* of bytes */
  szg_planes_encoder *encoder;
  uint16_t *sizes; /* [tiles] */
  szg_planes_output_cuda output;
  /* pinned */
  szg_planes_counts *counts_back;
  szg_split_tally *tally_back;
  szg_planes_encoder *encoder_made;
  uint64_t *words_back;
  uint8_t *books;
  szg_planes_choice *choice;
  szg_codebook *book;
  szg_codebook_work *book_work;
} szg_planes_plan_cuda;

enum { SZG_MOST_FRAME_HEADER_BYTES = 48 + 32 * SZG_SECTION_KIND_COUNT };

/* Everything besides field and archive. */
typedef struct szg_compress_plan_cuda {
  /* device */
  uint8_t *field_copy;   /* where the field is in host memory */
  uint8_t *archive_copy; /* where the archive is to be in host memory */
  uint8_t *range_work;
  void *choice_work;
  uint16_t *exact_counts; /* [2 tiles], fill_counts right behind it */
  uint16_t *fill_counts;  /* [tiles] */
  uint8_t *tile_marks;    /* [tiles] */
  szg_places_cuda places;
  uint64_t *leaves; /* of the checksums of a frame */
  uint32_t *ticket; /* of those who make them */
  uint8_t *zeroed;  /* what is to be 0 when work on a frame begins, all in one piece */
  uint64_t zeroed_bytes;
  /* device, for linear frames */
  szg_linear_found *linear_found;
  uint16_t *codes;         /* [values of a frame] */
  uint16_t *escape_counts; /* [tiles] */
  szg_linear_encoder_cuda encoder;
  /* device, for tile frames */
  szg_tile_found *tile_found;
  void *book_maker; /* szg_tile_book_work_bytes_cuda */
  void *tile_work;  /* szg_tile_compress_work_bytes_cuda */
  /* both, for frames without loss, tile layout */
  szg_planes_plan_cuda planes;
  /* likewise, linear layout: [SZG_PLANES_SYMBOLS], of the highest plane; the second is pinned */
  uint64_t *top_counts, *top_counts_back;
  /* pinned */
  uint8_t *range_back;
  szg_tile_place *totals_back; /* of the outliers */
  szg_linear_found *linear_found_back;
  szg_tile_found *tile_found_back;
  uint64_t *frame_bytes; /* [frames] */
  uint8_t *header;
  uint8_t *frame_headers; /* [frames][SZG_MOST_FRAME_HEADER_BYTES] */
  /* pinned, for linear frames */
  uint32_t *table;     /* [SZG_MAX_SYMBOLS] */
  uint8_t *book_bytes; /* [SZG_CODEBOOK_MAX_BYTES] */
  szg_codebook *book;
  szg_codebook_work *book_work;
} szg_compress_plan_cuda;

/* ---- a field in host memory (upload.cu) ---- */

/* A source of values that brings them to the device: all are there once extremes were found. */
typedef struct szg_upload_cuda {
  szg_value_source source;            /* its `where` points here, so this must not move */
  const szg_value_source_cuda *there; /* the values where they arrive */
  const uint8_t *from;
  uint8_t *to;
} szg_upload_cuda;

/* to: what `there` is of. */
void szg_upload_open_cuda(const szg_value_source_cuda *there, const void *from, void *to,
                          szg_upload_cuda *upload);

/* ---- frames ---- */

/* One frame at work. */
typedef struct szg_frame_job_cuda {
  szgpu_ctx *ctx;
  szgpu_dtype dtype;
  szgpu_layout layout;
  const szg_bound_plan *bound; /* NULL: there is no loss */
  szg_quantizer quantizer;     /* bound's, or of the 16-bit lattice */
  szg_grid grid;               /* of the frame */
  const void *values;
  uint64_t index;
  uint32_t asked_radius;
  bool has_gaps; /* linear layout: gap arrays are written */
  const szg_compress_plan_cuda *plan;
  uint8_t *archive; /* all of it */
  uint64_t capacity;
  uint64_t first_byte; /* of the frame in the archive */
  /* Of an archive of one frame: its header but for sizes, which may be completed on the device. */
  const szg_header *archive_header;
  bool is_archive_complete; /* header and all */
  bool has_planes;          /* the frame is of planes */
} szg_frame_job_cuda;

/* Writes the frame and gives its size. SZGPU_CAPACITY: it does not fit; nothing is written beyond
 * the capacity. */
szgpu_status szg_compress_frame_cuda(szg_frame_job_cuda *job, uint64_t *frame_bytes) SZG_CHECKED;

/* ---- what kinds of frame share (frame_layout.cu) ---- */

/* A frame's sections as they are laid out. */
typedef struct szg_frame_layout_cuda {
  szg_frame_header header;
  szg_checksum_ranges ranges; /* the sections with their padding */
  uint64_t held_bytes[SZG_SECTION_KIND_COUNT];
  uint8_t *at[SZG_SECTION_KIND_COUNT]; /* by kind; NULL: the frame has none, or nothing in it */
  bool is_padded;                      /* what is not empty was written with its padding */
  uint64_t frame_bytes;
} szg_frame_layout_cuda;

/* Appends a section to the table; kinds rise. */
void szg_header_add_cuda(szg_frame_header *header, uint32_t kind, uint64_t raw_bytes);

/* Gives every section its place. SZGPU_CAPACITY: the frame does not fit. */
szgpu_status szg_layout_place_cuda(const szg_frame_job_cuda *job,
                                   szg_frame_layout_cuda *layout) SZG_CHECKED;

/* Padding, checksums, header: what all kinds of frame end with. */
szgpu_status szg_frame_finish_cuda(const szg_frame_job_cuda *job,
                                   const szg_frame_layout_cuda *layout) SZG_CHECKED;

/* Counts exact and fill values of the tiles that plan->tile_marks names, then where every tile's
 * shares begin; plan->totals_back has their sums after the next wait. escape_counts: placed too;
 * NULL: there are none. */
szgpu_status szg_outliers_measure_cuda(const szg_frame_job_cuda *job,
                                       const uint16_t *escape_counts) SZG_CHECKED;

/* Sizes of the exact and fill sections, by totals_back. */
void szg_outliers_size_cuda(const szg_frame_job_cuda *job, szg_section_sizes *sizes);

/* Writes the exact and fill sections that have a place; the tiles that were measured are listed
 * still. */
szgpu_status szg_outliers_write_cuda(const szg_frame_job_cuda *job,
                                     const szg_frame_layout_cuda *layout) SZG_CHECKED;

/* The whole frame, of an empty layout. */
szgpu_status szg_raw_frame_write_cuda(const szg_frame_job_cuda *job,
                                      szg_frame_layout_cuda *layout) SZG_CHECKED;

/* Completes an archive of one tile frame that has no outliers, of which the first three sections
 * are written, and says so in plan->tile_found_back, with what else the host has to know. Where the
 * frame is not to be, since it has outliers after all, or is too large for its room or as large as
 * the values, only that is said. header: the frame's, without sizes (tile_archive.cu). */
szgpu_status szg_tile_archive_complete_cuda(const szg_frame_job_cuda *job,
                                            const szg_frame_header *header) SZG_CHECKED;

/* ---- the stream of linear frames (compress_frame.cu) ---- */

/* The codebook from the counts of 2 * radius symbols, and the sizes that follow; gives the stream's
 * bits. */
uint64_t szg_stream_size_cuda(const szg_frame_job_cuda *job, const uint64_t *counts,
                              uint32_t radius, szg_section_sizes *sizes);

void szg_stream_add_sections_cuda(szg_frame_layout_cuda *layout, const szg_section_sizes *sizes);

/* Writes these sections, which come first in the frame, from plan->codes. */
szgpu_status szg_stream_write_cuda(const szg_frame_job_cuda *job,
                                   const szg_frame_layout_cuda *layout,
                                   uint64_t bit_count) SZG_CHECKED;

/* ---- frames without loss ---- */

/* A frame with its highest plane coded, or a raw one where that pays (compress_top_plane.cu). */
szgpu_status szg_top_plane_frame_write_cuda(const szg_frame_job_cuda *job,
                                            szg_frame_layout_cuda *layout) SZG_CHECKED;

/* A planes frame, or a raw one where that pays; and memory for it (compress_planes_frame.cu). */
szgpu_status szg_exact_frame_write_cuda(const szg_frame_job_cuda *job,
                                        szg_frame_layout_cuda *layout) SZG_CHECKED;
szgpu_status szg_planes_plan_carve_cuda(szg_arena *arena, szgpu_dtype dtype, uint64_t value_count,
                                        szg_planes_plan_cuda *plan) SZG_CHECKED;
void szg_planes_plan_carve_pinned(szg_arena *arena, szgpu_dtype dtype, szg_planes_plan_cuda *plan);

/* A tile frame, or a raw one where that pays (compress_tile_frame.cu). */
szgpu_status szg_tile_frame_write_cuda(szg_frame_job_cuda *job,
                                       szg_frame_layout_cuda *layout) SZG_CHECKED;

SZG_C_END

#endif
