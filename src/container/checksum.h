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

/* XXH3-64 of the little-endian XXH3-64s of each 16 KiB block. Blocks can be hashed in any order,
 * by as many threads as there are; `leaves` has room for szg_checksum_leaf_count of them. */
szgpu_status szg_checksum_tree(szg_threads *threads, const uint8_t *bytes, uint64_t byte_count,
                               uint64_t *leaves, uint64_t *checksum) SZG_CHECKED;
uint64_t szg_checksum_leaf_count(uint64_t byte_count);

/* ---- CUDA: all pointers but `ranges` and `expected` are to device memory ---- */

/* Stretches of an archive, each aligned to 16 bytes and a multiple of 16 long. */
typedef struct szg_checksum_ranges {
  uint32_t count;
  uint32_t kinds[SZG_SECTION_KIND_COUNT];
  const uint8_t *bytes[SZG_SECTION_KIND_COUNT];
  uint64_t byte_counts[SZG_SECTION_KIND_COUNT];
  uint64_t expected[SZG_SECTION_KIND_COUNT]; /* for the comparison */
} szg_checksum_ranges;

/* roots[i] becomes what szg_checksum_tree gives for range i. leaves: room for all ranges' leaves,
 * one range's after the other. */
szgpu_status szg_checksum_trees_cuda(const szg_checksum_ranges *ranges, uint64_t *leaves,
                                     uint64_t *roots, struct CUstream_st *stream) SZG_CHECKED;

/* verdict->bad_sections gets bit kinds[i] of each range whose root is not as expected. */
szgpu_status szg_checksum_compare_cuda(const szg_checksum_ranges *ranges, const uint64_t *roots,
                                       szg_verdict *verdict,
                                       struct CUstream_st *stream) SZG_CHECKED;

/* Enters the roots in the section table of a frame's header, which is aligned to 8 bytes, and then
 * the header's own checksum. */
szgpu_status szg_frame_header_seal_cuda(uint8_t *frame_header, uint32_t section_count,
                                        const uint64_t *roots,
                                        struct CUstream_st *stream) SZG_CHECKED;

/* ---- the same for a frame whose size the host does not know yet ---- */

/* As szg_checksum_trees_cuda of ranges in device memory, SZG_SECTION_KIND_COUNT or fewer, that have
 * most_leaves leaves at most. */
szgpu_status szg_checksum_trees_unseen_cuda(const szg_checksum_ranges *ranges, uint64_t most_leaves,
                                            uint64_t *leaves, uint64_t *roots,
                                            struct CUstream_st *stream) SZG_CHECKED;

/* Where *frame_bytes is not 0: as szg_frame_header_seal_cuda, then the size of the frame, the only
 * one, into the header of its archive, and that one's checksum. */
szgpu_status szg_archive_seal_cuda(uint8_t *frame_header, uint32_t section_count,
                                   const uint64_t *roots, const uint64_t *frame_bytes,
                                   uint8_t *header, uint64_t header_bytes,
                                   struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
