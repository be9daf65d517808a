/* open.h - reads an archive's header and checks it against the shape that it states.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_OPEN_H
#define SZG_OPEN_H

#include <stdbool.h>

#include "container/container.h"
#include "container/ranges.h"
#include "core/memory.h"
#include "core/tiles.h"

SZG_C_BEGIN

/* An archive's header and what follows from it. All but `bytes` is as checked, even if the archive
 * changes. */
typedef struct szg_opened {
  const uint8_t *bytes; /* frame headers and sections: for frames/open.h and reader.h only */
  uint64_t available_bytes;
  uint64_t archive_bytes; /* of the archive as it was given; the header's may be of another form */
  bool is_compact;        /* it was in the compact form, and `bytes` is what it stands for */
  uint64_t first_frame, first_offset; /* this frame begins at bytes + first_offset */
  bool is_part;                       /* frames before or after it may be missing */
  const uint8_t *head;                /* a copy of the header, which has the frame table */
  szg_header header;
  szg_grid grid;
  szg_asking *asking; /* NULL, or the call only asks for bytes, of which some may be missing */
} szg_opened;

/* Copies the header to `head`, which must live as long as *opened, and checks it, also against the
 * shape. An archive in its compact form is copied whole, and brought back in `head`. */
szgpu_status szg_open(const void *archive, uint64_t available_bytes, szg_buffer *head,
                      szg_opened *opened) SZG_CHECKED;

/* The same without a copy, for an archive that cannot change because it is in the library's own
 * memory, or if nobody asks for frames. Of one in its compact form the header is all that is
 * opened. */
szgpu_status szg_open_in_place(const void *archive, uint64_t available_bytes,
                               szg_opened *opened) SZG_CHECKED;

/* The archive with nothing there but frame `frame`, at `bytes`. */
szg_opened szg_opened_frame(const szg_opened *opened, uint64_t frame, const void *bytes,
                            uint64_t available_bytes);

/* Where frame `frame`, which must be there, begins in `bytes`; its size in bytes; its rows along
 * the slowest axis longer than 1. */
uint64_t szg_frame_offset(const szg_opened *opened, uint64_t frame);
uint64_t szg_frame_bytes(const szg_opened *opened, uint64_t frame);
uint64_t szg_frame_row_count(const szg_opened *opened, uint64_t frame);

SZG_C_END

#endif
