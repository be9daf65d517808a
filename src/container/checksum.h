/* checksum.h - XXH3-64, plain for headers and as a two-level tree for sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CHECKSUM_H
#define SZG_CHECKSUM_H

#include "container/format.h"
#include "core/device.h"
#include "core/threads.h"

SZG_C_BEGIN

uint64_t szg_checksum_plain(const uint8_t *bytes, size_t byte_count);

/* XXH3-64 of the little-endian XXH3-64s of all 16 KiB blocks. Threads hash the blocks in any order;
 * `leaves` has room for szg_checksum_leaf_count of them. */
szgpu_status szg_checksum_tree(szg_threads *threads, const uint8_t *bytes, uint64_t byte_count,
                               uint64_t *leaves, uint64_t *checksum) SZG_CHECKED;
uint64_t szg_checksum_leaf_count(uint64_t byte_count);

/* ---- CUDA: pointers are to device memory, except to what the host states ---- */

/* Ranges of an archive's bytes; starts and sizes are multiples of 16. */
typedef struct szg_checksum_ranges {
  uint32_t count;
  uint32_t kinds[SZG_SECTION_KIND_COUNT];
  const uint8_t *bytes[SZG_SECTION_KIND_COUNT];
  uint64_t byte_counts[SZG_SECTION_KIND_COUNT];
  uint64_t expected[SZG_SECTION_KIND_COUNT]; /* for the comparison */
} szg_checksum_ranges;

/* The first leaves of a range, whose blocks of XXH3 some kernel has summed up: eight sums for each
 * block, one for each accumulator. */
typedef struct szg_summed_leaves {
  const uint64_t *sums;
  uint64_t leaf_count; /* 0: there are none */
  uint32_t range;
} szg_summed_leaves;

/* Sets bit kinds[i] of verdict->bad_sections for each range i with a szg_checksum_tree other than
 * expected[i]. summed: not read again, unless the verdict has bad_data, because sums may then be
 * missing. leaves: workspace with room for the leaves of all ranges. verdict->ticket is 0 before
 * and after. */
szgpu_status szg_checksum_verify_cuda(const szg_checksum_ranges *ranges,
                                      const szg_summed_leaves *summed, uint64_t *leaves,
                                      szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

/* Writes a frame's header, aligned to 8 bytes: that of the host, with the szg_checksum_tree of
 * range i in entry i of the section table and with its own checksum. summed: not read again.
 * held_bytes: NULL, or ranges have padding after so many bytes each, of up to 15 zeros, which are
 * written first. *ticket is 0 before and after. */
szgpu_status szg_checksum_seal_cuda(const szg_checksum_ranges *ranges,
                                    const szg_summed_leaves *summed, const uint64_t *held_bytes,
                                    const uint8_t *host_header, uint64_t *leaves, uint32_t *ticket,
                                    uint8_t *frame_header, struct CUstream_st *stream) SZG_CHECKED;

/* One of several archives whose sections one launch verifies; in device memory. */
typedef struct szg_checksum_item {
  szg_checksum_ranges ranges; /* count 0: there is nothing to verify */
  uint64_t *leaves;
  szg_verdict *verdict;
} szg_checksum_item;

/* As szg_checksum_verify_cuda for each item. most_leaves: of the largest. */
szgpu_status szg_checksum_verify_items_cuda(const szg_checksum_item *items, uint64_t most_leaves,
                                            uint32_t item_count,
                                            struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
