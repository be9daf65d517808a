/* writer.h - writes a frame's sections to the archive, one after the other.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_WRITER_H
#define SZG_WRITER_H

#include "container/container.h"
#include "core/context.h"

SZG_C_BEGIN

typedef struct szg_writer {
  szgpu_ctx *ctx;
  int zstd_level;
  uint8_t *archive;
  uint64_t capacity;
  uint64_t used_bytes; /* of the archive */
  uint64_t frame_start;
  szg_frame_header *frame; /* its section table grows */
  uint32_t announced_sections;
  uint32_t more_sections; /* that follow those of the kind of frame */
} szg_writer;

/* Leaves room for the archive's header. SZGPU_CAPACITY: no room. */
szgpu_status szg_writer_open(szgpu_ctx *ctx, int zstd_level, const szg_header *header,
                             void *archive, uint64_t capacity, szg_writer *writer) SZG_CHECKED;

/* The same for frames alone, which begin at `bytes`. */
szg_writer szg_writer_of_frames(szgpu_ctx *ctx, int zstd_level, void *bytes, uint64_t capacity);

/* SZGPU_CAPACITY: the archive has no room for `bytes` more. */
szgpu_status szg_writer_require_room(const szg_writer *writer, uint64_t bytes) SZG_CHECKED;

/* Leaves room for the header of a frame that will have section_count sections. */
szgpu_status szg_writer_begin_frame(szg_writer *writer, szg_frame_header *frame,
                                    uint32_t section_count) SZG_CHECKED;

/* Gives the place of the next section: raw_bytes of room, to be filled before the section ends. */
szgpu_status szg_writer_begin_section(szg_writer *writer, uint64_t raw_bytes,
                                      uint8_t **bytes) SZG_CHECKED;

/* Compresses the section with zstd if that pays, pads it and enters it in the table. */
szgpu_status szg_writer_end_section(szg_writer *writer, uint32_t kind,
                                    uint64_t raw_bytes) SZG_CHECKED;

/* The same for a section that zstd has packed already, into SZG_KEPT_PACKED. */
szgpu_status szg_writer_end_packed_section(szg_writer *writer, uint32_t kind,
                                           uint64_t raw_bytes) SZG_CHECKED;

/* Writes the frame's header. Exactly the announced sections must have been written. */
void szg_writer_end_frame(const szg_writer *writer, uint64_t *frame_bytes);

SZG_C_END

#endif
