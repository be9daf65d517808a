/* pipeline.h - a field to an archive and back, on the CPU: what szgpu.c calls.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_H
#define SZG_PIPELINE_H

#include "container/container.h"
#include "core/tiles.h"
#include "pipeline/context.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Arguments are checked already: params complete, shape turned into grid. */
szgpu_status szg_compress_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const szg_grid *grid, const void *field, void *archive,
                              uint64_t capacity, uint64_t *archive_bytes) SZG_CHECKED;

/* What a call's bound is, and its header but for archive_bytes. bound: NULL, there is no loss. */
szgpu_status szg_call_bound(const szgpu_params *params, const szg_value_source *source,
                            szg_bound_plan *bound) SZG_CHECKED;
szg_header szg_call_header(const szgpu_params *params, const szgpu_shape *shape,
                           const szg_grid *grid, uint64_t frame_rows, const szg_bound_plan *bound);

/* The grid of a frame that is row_count rows of the field. */
szg_grid szg_call_grid(const szgpu_params *params, const szg_grid *grid, uint64_t row_count);

/* What szg_compress_cpu may take besides field and archive, the outliers' worst case included. */
szgpu_status szg_compress_sizes_cpu(const szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     uint64_t *workspace_bytes,
                                     uint64_t *archive_bytes) SZG_CHECKED;
szgpu_status szg_compress_reserve_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid) SZG_CHECKED;

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

enum { SZG_TILE_BOOK_MAX_BYTES = 6 + SZG_TILE_SYMBOLS }; /* of a tile frame's codebook section */

/* Bits of a tile frame's lattice points, and of its deltas. */
static inline uint32_t szg_lattice_bits(uint32_t arithmetic, bool has_16_bits) {
  return has_16_bits ? 16 : arithmetic == SZG_ARITHMETIC_F64_WIDE ? 64 : 32;
}

/* Where frame `frame` begins in the archive, and its rows of the slowest axis longer than 1. */
uint64_t szg_frame_offset(const szg_opened *opened, uint64_t frame);
uint64_t szg_frame_row_count(const szg_opened *opened, uint64_t frame);

/* Reads and checks a frame's header, also against the shape. */
szgpu_status szg_open_frame(const szg_opened *opened, uint64_t frame, uint64_t offset,
                            szg_frame_header *header) SZG_CHECKED;
/* The same of a frame that begins at `bytes`, wherever that is. */
szgpu_status szg_open_frame_at(const szg_opened *opened, uint64_t frame, const uint8_t *bytes,
                               uint64_t available_bytes, szg_frame_header *header) SZG_CHECKED;

/* The archive with every section sent through zstd, where that pays, or with none (level 0). */
szgpu_status szg_recode(szgpu_ctx *ctx, const szg_opened *opened, int zstd_level, void *archive,
                        uint64_t capacity, uint64_t *archive_bytes) SZG_CHECKED;
/* What szg_recode with level 0 takes. SZGPU_BAD_DATA: sizes that no frame can have. */
szgpu_status szg_plain_bytes(const szg_opened *opened, uint64_t *plain_bytes) SZG_CHECKED;

/* Restores rows first_row .. first_row + row_count - 1 of the slowest axis longer than 1. */
szgpu_status szg_decompress_cpu(szgpu_ctx *ctx, const szg_opened *opened, uint64_t first_row,
                                uint64_t row_count, void *field) SZG_CHECKED;

SZG_C_END

#endif
