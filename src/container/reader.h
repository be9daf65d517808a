/* reader.h - reads a frame's sections from the archive: found by kind, checked, decompressed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_READER_H
#define SZG_READER_H

#include "container/codec.h"
#include "container/open.h"
#include "core/context.h"

SZG_C_BEGIN

/* A section's contents; bytes is NULL if the frame does not have the section or it is empty. */
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

/* Loads a section; the rules of the frame's kind have found its size possible. If the frame does
 * not have it, *loaded is empty. */
szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, szg_loaded *loaded) SZG_CHECKED;

/* Passes a section to the sink in pieces; memory never holds it whole. The frame must have it. */
szgpu_status szg_reader_stream(szg_reader *reader, uint32_t kind, uint64_t loop_values,
                               szg_piece_sink sink, void *target) SZG_CHECKED;

SZG_C_END

#endif
