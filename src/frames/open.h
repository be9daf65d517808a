/* open.h - a frame's header, checked for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The check comes before the header decides any allocation. Code that reads a section later finds
 * it present and of a possible size.
 */
#ifndef SZG_FRAME_OPEN_H
#define SZG_FRAME_OPEN_H

#include "container/open.h"
#include "container/reader.h"

SZG_C_BEGIN

/* What is wrong with a frame's header. */
typedef struct szg_frame_fault {
  const char *problem; /* about a section, to follow its name; NULL: the header itself */
  const char *section; /* its name, if problem is not NULL */
} szg_frame_fault;

/* Reads the header of frame `frame`, which begins at `bytes`. Checks it against itself and the
 * archive's header, and its sections by the rules of its kind. fault: NULL, or gets what an error
 * is about. */
szgpu_status szg_frame_open(const szg_opened *opened, uint64_t frame, const uint8_t *bytes,
                            uint64_t available_bytes, szg_frame_header *header,
                            szg_frame_fault *fault) SZG_CHECKED;

/* Sets the ctx's error to what is wrong with the frame, and returns the status. */
szgpu_status szg_frame_fail(szgpu_ctx *ctx, szgpu_status status, uint64_t frame,
                            const szg_frame_fault *fault) SZG_CHECKED;

/* Opens the frame that begins at `offset` in the archive, and a reader of its sections, which is
 * waiting if the call only asks and the frame's header is missing. */
szgpu_status szg_frame_reader_open(szgpu_ctx *ctx, const szg_opened *opened, uint64_t frame,
                                   uint64_t offset, szg_reader *reader) SZG_CHECKED;

SZG_C_END

#endif
