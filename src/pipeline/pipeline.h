/* pipeline.h - a field to an archive and back, on the CPU: what szgpu.c calls.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PIPELINE_H
#define SZG_PIPELINE_H

#include "codecs/frame.h"
#include "container/open.h"
#include "core/context.h"
#include "frames/kinds.h"
#include "frames/mapped.h"
#include "quant/bound.h"
#include "quant/joins.h"

SZG_C_BEGIN

/* Buffers of a ctx, after those of frames/mapped.h. */
enum {
  SZG_KEPT_SLAB = SZG_KEPT_CALLS, /* tiles that a slab cuts */
  SZG_KEPT_HEAD,                  /* of an archive on the device: header, frame headers */
  SZG_KEPT_PLAIN,                 /* archives between the device and zstd */
  SZG_KEPT_RECODED,
  SZG_KEPT_PRESENT, /* ranges.h */
  SZG_KEPT_WANTED,
  SZG_KEPT_END
};
static_assert((int)SZG_KEPT_END <= SZG_KEPT_ROOM, "a ctx has so many");

/* ---- what both backends derive from a call's arguments (derive.c) ---- */

/* What decides how much memory the call takes. */
szg_write_request szg_call_request(const szgpu_ctx *ctx, const szgpu_params *params,
                                   szgpu_dtype dtype, const szg_grid *grid);

/* The grids that the field may get, the first one without joined axes, from that one; and the one
 * that its values ask for. */
uint32_t szg_call_grids(const szgpu_params *params, const szgpu_shape *shape, const szg_grid *grid,
                        szg_grid grids[SZG_MOST_GRIDS]);
szgpu_status szg_call_join(const szgpu_params *params, const szgpu_shape *shape,
                           const szg_value_source *source, szg_grid *grid) SZG_CHECKED;

/* SZG_KIND_... of all kinds of frame that serve the call. */
uint32_t szg_call_traits(const szgpu_params *params);

/* Whether the bound follows from params->greatest alone. */
bool szg_call_has_declared_bound(const szgpu_params *params, const szg_mapping *mapping);

/* From what the bound may follow. If it fails (szg_bound_fails), everything begins anew, with
 * less. */
typedef struct szg_bound_tries {
  bool may_sample;      /* from a sample, if the mode and the sample allow that */
  bool may_have_raster; /* from the raster of the values, if a sample has one */
  bool may_have_levels; /* without a raster if levels frames are expected to be smaller */
} szg_bound_tries;
static inline szg_bound_tries szg_bound_first_try(void) {
  szg_bound_tries const first = {true, true, true};
  return first;
}
static inline void szg_bound_next_try(const szg_bound_plan *failed, szg_bound_tries *tries) {
  if (failed->counts_on_levels)
    tries->may_have_levels = false;
  else if (failed->is_sampled)
    tries->may_sample = false;
  else
    tries->may_have_raster = false;
}

/* The bound, and the archive's header except archive_bytes. bound: NULL if the call is lossless. */
szgpu_status szg_call_declared_bound(const szgpu_params *params, const szg_mapping *mapping,
                                     szg_bound_plan *bound) SZG_CHECKED;
szgpu_status szg_call_bound(const szgpu_params *params, const szg_grid *grid,
                            const szg_value_source *source, szg_bound_tries tries,
                            szg_bound_plan *bound) SZG_CHECKED;
szg_header szg_call_header(const szgpu_params *params, const szgpu_shape *shape,
                           const szg_grid *grid, const szg_bound_plan *bound);

/* What a header says of its archive and field. The caller sets struct_bytes, to
 * SZG_FIRST_INFO_BYTES at least: members beyond it are left out. */
void szg_describe_header(const szg_header *header, const szg_grid *grid, szgpu_info *info);

/* One frame of an archive that is written frame by frame, perhaps by several ctxs at once. */
typedef struct szg_frame_piece {
  uint64_t frame;
  const szg_bound_plan *bound; /* NULL: the archive is lossless */
  szg_header header;           /* the archive's; gets what it must say of this frame */
  /* On a GPU: says where the part goes once it has so many bytes; NULL: where the call says. */
  void *(*place)(void *user, uint64_t frame, uint64_t frame_bytes);
  void *place_user;
  /* results */
  uint64_t frame_bytes;
  void *placed; /* what `place` said; NULL also if it was not asked */
  bool fails;   /* the bound does (szg_bound_fails): the frame is missing */
} szg_frame_piece;

/* Bytes of the largest archive of a field: every frame is raw. False if that overflows. */
bool szg_max_archive_bytes(const szg_grid *grid, size_t value_bytes, uint64_t frame_count,
                           uint64_t *archive_bytes) SZG_CHECKED;

/* ---- on the CPU ---- */

/* The caller has checked the arguments, completed params and derived grid from shape. The first
 * call joins its axes if that pays, before the next two. */
szgpu_status szg_join_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                          const void *field, szg_grid *grid) SZG_CHECKED;
szgpu_status szg_compress_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const szg_grid *grid, const void *field, void *archive,
                              uint64_t capacity, uint64_t *archive_bytes) SZG_CHECKED;

/* What the archive's header would say, without sizes and version. */
szgpu_status szg_foresee_cpu(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                             const szg_grid *grid, const void *field, szgpu_info *info) SZG_CHECKED;

/* Writes a frame alone. grid: of the field; values: of the frame. */
szgpu_status szg_compress_frame_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                    const szg_grid *grid, const void *values, void *bytes,
                                    uint64_t capacity, szg_frame_piece *piece) SZG_CHECKED;

/* What szg_compress_cpu may take in addition to field and archive, with the most outliers, whatever
 * axes are joined. */
szgpu_status szg_compress_sizes_cpu(const szgpu_ctx *ctx, const szgpu_params *params,
                                    const szgpu_shape *shape, const szg_grid *grid,
                                    uint64_t *workspace_bytes, uint64_t *archive_bytes) SZG_CHECKED;
szgpu_status szg_compress_reserve_cpu(szgpu_ctx *ctx, const szgpu_params *params,
                                      const szgpu_shape *shape, const szg_grid *grid) SZG_CHECKED;

/* Writes the archive again with each section packed by zstd if that pays, or with none packed
 * (level 0). */
szgpu_status szg_recode(szgpu_ctx *ctx, const szg_opened *opened, int zstd_level, void *archive,
                        uint64_t capacity, uint64_t *archive_bytes) SZG_CHECKED;
/* Bytes of the archive that szg_recode with level 0 writes. SZGPU_BAD_DATA: sizes that no frame can
 * have. */
szgpu_status szg_plain_bytes(const szg_opened *opened, uint64_t *plain_bytes) SZG_CHECKED;

/* What a call restores: a box, not empty, of every 2^level-th value along each axis except a
 * batch's. */
typedef struct szg_wanted {
  uint32_t level;
  szg_box box; /* in the level's grid */
  /* Stored sections of which only a part is read are not checked, and AUTO decodes, whatever the
   * ctx's decoder: a decoder may read the whole stream. */
  bool is_partial;
} szg_wanted;
/* Rows first_row .. first_row + row_count - 1 of the slowest axis longer than 1. */
szg_wanted szg_wanted_rows(const szg_grid *grid, uint64_t first_row, uint64_t row_count);
/* field: NULL if opened->asking is not. */
szgpu_status szg_decompress_cpu(szgpu_ctx *ctx, const szg_opened *opened, const szg_wanted *wanted,
                                void *field) SZG_CHECKED;
/* The same if the archive has joined axes; the box is one of the field's own grid, and any archive
 * has the level. Takes memory for the least box of the archive's grid around it. */
szgpu_status szg_decompress_joined(szgpu_ctx *ctx, const szg_opened *opened,
                                   const szg_wanted *wanted, void *field) SZG_CHECKED;

SZG_C_END

#endif
