/* open.h - reads an archive's header and checks it against the shape that it states.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_OPEN_H
#define SZG_OPEN_H

#include "container/container.h"
#include "core/tiles.h"

SZG_C_BEGIN

/* An archive's header and what follows from it. */
typedef struct szg_opened {
  const uint8_t *bytes;
  uint64_t available_bytes;
  szg_header header;
  szg_grid grid;
} szg_opened;

/* Reads and checks the header, also against the shape. */
szgpu_status szg_open(const void *archive, uint64_t available_bytes,
                      szg_opened *opened) SZG_CHECKED;

/* Where frame `frame` begins in the archive, and its rows along the slowest axis longer than 1. */
uint64_t szg_frame_offset(const szg_opened *opened, uint64_t frame);
uint64_t szg_frame_row_count(const szg_opened *opened, uint64_t frame);

SZG_C_END

#endif
