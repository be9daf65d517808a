/* reader.h - a frame's sections out of the archive: checked, decompressed, found by kind.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_READER_H
#define SZG_READER_H

#include "container/codec.h"
#include "container/open.h"
#include "core/context.h"

SZG_C_BEGIN

/* A section's contents; bytes is NULL if the frame has no such section, or an empty one. */
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

/* Loads a section, whose size the rules of the frame's kind found possible. If the frame has none,
 * *loaded is empty. */
szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, szg_loaded *loaded) SZG_CHECKED;

/* Hands a section to the sink in pieces, never whole in memory. The frame must have it. */
szgpu_status szg_reader_stream(szg_reader *reader, uint32_t kind, uint64_t loop_values,
                               szg_piece_sink sink, void *target) SZG_CHECKED;

SZG_C_END

#endif
