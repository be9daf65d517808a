/* batch.h - lossless archives of one frame each, many at once, without the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As batch.h, for planes and raw frames. A class has values of one width, or it has bytes, which
 * each frame may treat as wider values.
 */
#ifndef SZG_PLANES_BATCH_H
#define SZG_PLANES_BATCH_H

#include "codecs/batch.h"
#include "codecs/planes/planes_items.h"

SZG_C_BEGIN

/* Takes the work memory of a field, as szg_batch_carve_write and szg_batch_carve_read do.
 * SZGPU_UNSUPPORTED: 2^31 tiles or more. */
szgpu_status szg_planes_batch_carve_write(szg_arena *zeroed, szg_arena *other, const szg_grid *grid,
                                          szgpu_dtype dtype, szg_batch_item *item) SZG_CHECKED;
szgpu_status szg_planes_batch_carve_read(szg_arena *arena, const szg_grid *grid, szgpu_dtype dtype,
                                         szg_batch_item *item) SZG_CHECKED;

/* Lists in device memory, [items] each. */
typedef struct szg_planes_batch_write_lists {
  szg_batch_item *items;
  szg_planes_write_item *planes;
} szg_planes_batch_write_lists;

typedef struct szg_planes_batch_read_lists {
  szg_batch_item *items;
  szg_planes_read_item *planes;
  szg_checksum_item *checksums;
} szg_planes_batch_read_lists;

/* As the functions of batch.h that are named alike. */
szgpu_status szg_planes_batch_send_writes_cuda(const szg_batch_sent *sent, uint32_t count,
                                               uint32_t first,
                                               const szg_planes_batch_write_lists *lists,
                                               struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_batch_send_reads_cuda(const szg_batch_sent *sent, uint32_t count,
                                              uint32_t first,
                                              const szg_planes_batch_read_lists *lists,
                                              struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_batch_write_cuda(const szg_batch_class *batch,
                                         const szg_planes_batch_write_lists *lists,
                                         struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_batch_read_cuda(const szg_batch_class *batch,
                                        const szg_planes_batch_read_lists *lists,
                                        const szg_side_stream *side,
                                        struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
