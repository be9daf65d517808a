/* frame_sections.h - a coded frame's sections: their sizes, and their bytes into the writer.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FRAME_SECTIONS_H
#define SZG_FRAME_SECTIONS_H

#include "pipeline/compress_frame.h"

SZG_C_BEGIN

/* What the frame's sections hold, in bytes, before any zstd. */
typedef struct szg_section_sizes {
  uint64_t book, tile_bits, bitstream, gaps, sequence_codes;
  uint64_t escape_counts, escapes;
  uint64_t exact_counts, exact_mask, exact_values;
  uint64_t fill_counts, fill_mask;
  unsigned escape_bytes;
} szg_section_sizes;

/* Sizes of the outlier sections, from the parts' lists, and of the stream's, from book and bits. */
void szg_size_outliers(const szg_frame_job *job, szg_section_sizes *sizes);
void szg_size_stream(const szg_frame_job *job, szg_section_sizes *sizes);
/* All of a stream's but the book's. */
void szg_size_stream_of(uint64_t bit_count, uint64_t tile_count, bool has_gaps,
                        szg_section_sizes *sizes);
/* Sections of a linear frame besides those of outliers. */
static inline uint32_t szg_stream_section_count(bool has_gaps) { return has_gaps ? 5 : 3; }

uint64_t szg_sections_bytes(const szg_section_sizes *sizes);
uint32_t szg_outlier_section_count(const szg_section_sizes *sizes);

/* Codebook, tile bits, bitstream (encoded here, where it will stay); gaps and sequence codes if the
 * frame has them. */
szgpu_status szg_write_stream(szg_frame_job *job, szg_writer *writer,
                              const szg_section_sizes *sizes) SZG_CHECKED;

/* Exact values and fill mask with their counts: five sections, empty where there is nothing. */
szgpu_status szg_write_marked(szg_frame_job *job, szg_writer *writer,
                              const szg_section_sizes *sizes) SZG_CHECKED;

/* Those that there are of escapes, exact values and fill mask. */
szgpu_status szg_write_outliers(szg_frame_job *job, szg_writer *writer,
                                const szg_section_sizes *sizes) SZG_CHECKED;

SZG_C_END

#endif
