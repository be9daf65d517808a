/* frame.h - frames of kind "planes": every bit of the values, in byte planes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANES_FRAME_H
#define SZG_PLANES_FRAME_H

#include "codecs/kind.h"
#include "codecs/part_slots.h"
#include "codecs/planes/planes_cuda.h"

SZG_C_BEGIN

SZG_DECLARE_KIND(planes);

/* The first reads the layout from a header; the second writes it there. */
SZG_HD szg_planes_layout szg_planes_layout_of(const szg_frame_header *frame) {
  szg_planes_layout const layout = {frame->value_bytes, frame->plane_modes, frame->constant_bits};
  return layout;
}
void szg_planes_frame_set_header(const szg_planes_layout *layout, szg_frame_header *frame);

/* The section that has the words of the archive's planes frames. */
SZG_HD uint32_t szg_planes_words_kind(const szg_header *archive) {
  return archive->has_plane_words ? SZG_SECTION_PLANE_WORDS : SZG_SECTION_BITSTREAM;
}

/* Bytes of the sections' contents before zstd; 0: there is no such section. */
typedef struct szg_planes_sizes {
  uint64_t books, tile_sizes, stored, words;
} szg_planes_sizes;
SZG_HD szg_planes_sizes szg_planes_sizes_of(const szg_planes_layout *layout, uint64_t value_count,
                                            uint64_t word_count) {
  szg_planes_sizes sizes;
  sizes.books = szg_planes_book_bytes(layout);
  sizes.tile_sizes = sizes.books ? 2 * szg_planes_tile_count(value_count) : 0;
  sizes.stored = szg_planes_stored_bytes(layout, value_count);
  sizes.words = 4 * word_count;
  return sizes;
}
SZG_HD uint64_t szg_planes_sizes_sum(const szg_planes_sizes *sizes) {
  return sizes->books + sizes->tile_sizes + sizes->stored + sizes->words;
}
/* How many sections there are. They are those of the first three kinds that are not empty, and
 * words if there are books. */
SZG_HD uint32_t szg_planes_section_count(const szg_planes_sizes *sizes) {
  return (sizes->books ? 3u : 0u) + (sizes->stored ? 1u : 0u);
}

/* ---- CPU: writing (write.c) ---- */

/* Memory for writing planes frames. */
typedef struct szg_planes_write_plan {
  szg_planes_counts *counts; /* [threads] */
  uint16_t *tile_sizes;      /* [tiles of the largest frame] */
  szg_part_slots slots;
  szg_split_tally *tally;
  szg_codebook *book;
  szg_codebook_work *book_work;
  szg_planes_choice *choice;
  szg_planes_encoder *encoder;
} szg_planes_write_plan;

/* ---- CPU: reading (read.c) ---- */

/* Memory for reading planes frames. */
typedef struct szg_planes_read_plan {
  szg_planes_decoder *decoder;
  uint8_t (*lengths)[SZG_PLANES_SYMBOLS];
  uint8_t **values; /* [threads][SZG_TILE_VALUES * SZG_PLANES_MOST]: one tile's */
} szg_planes_read_plan;

/* ---- CUDA: writing (write.cu) ---- */

enum { SZG_PLANES_MOST_SECTIONS = 4 }; /* codebook, tile sizes, raw values, plane words */

/* Tile sizes and their padding, as u16. */
SZG_HD uint64_t szg_planes_padded_sizes(uint64_t value_count) {
  return szg_align_up(szg_planes_tile_count(value_count), SZG_ALIGNMENT / 2);
}

/* What the host learns of an encoded frame. */
typedef struct szg_planes_found {
  uint64_t word_count, is_misled; /* as at the end of szg_planes_output_cuda.first_words */
  uint64_t frame_bytes;           /* 0: the device has not completed the archive */
  uint32_t told;                  /* the host's: it can read the counts */
} szg_planes_found;

typedef struct szg_planes_write_plan_cuda {
  /* device */
  szg_planes_counts *counts;
  szg_split_tally *tally; /* of bytes */
  szg_planes_encoder *encoder;
  uint16_t *sizes; /* [szg_planes_padded_sizes] */
  szg_planes_output_cuda output;
  /* pinned */
  szg_planes_counts *counts_back;
  szg_split_tally *tally_back;
  szg_planes_encoder *encoder_made;
  szg_planes_found *found_back;
  uint8_t *books;
  szg_planes_choice *choice;
  szg_codebook *book;
  szg_codebook_work *book_work;
} szg_planes_write_plan_cuda;

/* Takes what writing a frame of this type needs in addition to counts, encoder and sizes.
 * is_listed: as of szg_planes_output_carve_cuda. */
szgpu_status szg_planes_frame_carve_output_cuda(szg_arena *arena, szgpu_dtype dtype,
                                                uint64_t value_count, bool is_listed,
                                                szg_planes_output_cuda *output) SZG_CHECKED;

/* Completes an archive of one frame without the host, if that succeeds. layout: has the header, but
 * the words' size; output and stored_leaves: as encoded. (archive.cu) */
szgpu_status szg_planes_archive_complete_cuda(const szg_write_job_cuda *job,
                                              const szg_frame_layout_cuda *layout,
                                              const szg_planes_output_cuda *output,
                                              const szg_summed_leaves *stored_leaves) SZG_CHECKED;

/* ---- CUDA: reading (read.cu) ---- */

/* The largest sizes among the call's planes frames. */
typedef struct szg_planes_read_sizes_cuda {
  uint64_t value_count; /* 0: there is no such frame */
  uint32_t coded_planes;
  uint64_t summed_bytes; /* of stored planes of a lossless archive of one frame */
} szg_planes_read_sizes_cuda;

SZG_C_END

#endif
