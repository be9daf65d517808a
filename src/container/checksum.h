/* checksum.h - XXH3-64, plain for headers and as a two-level tree for sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CHECKSUM_H
#define SZG_CHECKSUM_H

#include "core/threads.h"

uint64_t szg_checksum_plain(const uint8_t *bytes, size_t byte_count);

/* XXH3-64 of the little-endian XXH3-64s of each 16 KiB block. Blocks can be hashed in any order,
 * by as many threads as there are; `leaves` has room for szg_checksum_leaf_count of them. */
szgpu_status szg_checksum_tree(szg_threads *threads, const uint8_t *bytes, uint64_t byte_count,
                               uint64_t *leaves, uint64_t *checksum) SZG_CHECKED;
uint64_t szg_checksum_leaf_count(uint64_t byte_count);

#endif
