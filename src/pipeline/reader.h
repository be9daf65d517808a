/* reader.h - a frame's sections out of the archive: checked, decompressed, found by kind.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_READER_H
#define SZG_READER_H

#include "container/codec.h"
#include "pipeline/context.h"
#include "pipeline/pipeline.h"

SZG_C_BEGIN

/* A section's contents; bytes is NULL where the frame has no such section. */
typedef struct szg_loaded {
  const uint8_t *bytes;
  uint64_t byte_count;
} szg_loaded;

typedef struct szg_reader {
  szgpu_ctx *ctx;
  const szg_opened *opened;
  szg_frame_header frame;
  uint64_t frame_offset;
} szg_reader;

/* Reads the header of frame `frame`, at `offset` in the archive. */
szgpu_status szg_reader_open_frame(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                                   uint64_t offset, szg_reader *reader) SZG_CHECKED;

/* Loads a section of least_bytes to most_bytes, uncompressed.
 * Absent: *loaded is empty, which is an error if is_required. */
szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, bool is_required,
                             uint64_t least_bytes, uint64_t most_bytes,
                             szg_loaded *loaded) SZG_CHECKED;

/* Hands a section of exactly byte_count bytes to the sink in pieces, never whole in memory. */
szgpu_status szg_reader_stream(szg_reader *reader, uint32_t kind, uint64_t byte_count,
                               uint64_t loop_values, szg_piece_sink sink, void *target) SZG_CHECKED;

/* True when the frame has no sections but these kinds (a bit each). */
bool szg_reader_has_only(const szg_reader *reader, uint32_t kinds);

SZG_C_END

#endif
