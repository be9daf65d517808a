/* ranges.h - ranges of an archive's bytes: those that are there, and those that a call would read.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A call that only asks goes the way of one that restores a region, as far as the bytes that are
 * there lead. It notes every other byte that it would read, and restores nothing.
 */
#ifndef SZG_RANGES_H
#define SZG_RANGES_H

#include <stdbool.h>

#include "core/memory.h"

SZG_C_BEGIN

/* Its lists, of szgpu_range, are buffers of a ctx. */
typedef struct szg_asking {
  szg_buffer *present; /* rising, with bytes between them */
  szg_buffer *wanted;
  uint64_t archive_bytes;
  uint64_t gap_bytes; /* wanted ranges so close to each other are one */
} szg_asking;

/* Empties the lists, then fills `present`. given: in any order, and they may overlap.
 * SZGPU_BAD_ARGUMENT: one of them goes beyond the archive. */
szgpu_status szg_asking_begin(szg_asking *asking, const szgpu_range *given,
                              size_t count) SZG_CHECKED;

/* The number of bytes that are there from the archive's first one on. */
uint64_t szg_present_from_start(const szg_asking *asking);

bool szg_are_present(const szg_asking *asking, uint64_t offset, uint64_t byte_count);

/* Notes that these bytes are wanted, unless they are there. SZGPU_TRUNCATED: they go beyond the
 * archive. */
szgpu_status szg_ask(szg_asking *asking, uint64_t offset, uint64_t byte_count) SZG_CHECKED;

/* Gives what is wanted in rising order. Ranges that are closest to each other are made one until
 * there are no more than `most`. */
size_t szg_asking_end(szg_asking *asking, szgpu_range *ranges, size_t most);

SZG_C_END

#endif
