/* flow.h - fields and archives that do not have to be in memory: frames through a ring.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Helpers read and write frames while the ctxs, each in a thread of its own, code them. The bytes
 * are those of the calls on whole fields.
 */
#ifndef SZG_PIPELINE_FLOW_H
#define SZG_PIPELINE_FLOW_H

#include "container/open.h"
#include "core/ring.h"
#include "pipeline/backend.h"
#include "pipeline/pipeline.h"

SZG_C_BEGIN

/* A frame on its way. */
typedef struct szg_flow_slot {
  uint8_t *values, *bytes; /* of the frame, and of its part of the archive; in the ring's memory */
  const void *from;        /* what is worked on: here, or in the source's memory */
  uint64_t from_bytes;     /* decompression: of the part */
  void *to;                /* what comes of it: here, or in the sink's memory */
  szg_frame_piece piece;   /* compression */
} szg_flow_slot;

/* What both directions have. */
typedef struct szg_flow {
  szgpu_ctx *const *ctxs;
  int ctx_count;
  bool has_cuda[SZG_MOST_RING_SLOTS]; /* whether each ctx takes its GPU */
  const szgpu_source *source;
  const szgpu_sink *sink;
  szg_flow_slot slots[SZG_MOST_RING_SLOTS];
  int slot_count;
  uint64_t done_frames, frame_count; /* for the progress report */
  bool is_cancelled;                 /* by it */
  uint64_t frame_values;
  int source_code, sink_code; /* what a callback that failed has returned, and where it began */
  uint64_t source_offset, sink_offset;
  bool is_sink_full;  /* its memory ends before the data do; atomic */
  uint64_t cut_frame; /* of which the source has not all; UINT64_MAX: none */
  uint64_t failed_frame[SZG_MOST_RING_SLOTS]; /* of each ctx; UINT64_MAX: none */
} szg_flow;

/* Silences the ctxs' own reports and decides where each ctx computes. field_bytes: of the whole. */
void szg_flow_begin(szg_flow *flow, szg_job job, uint64_t field_bytes);

/* What the ring takes: bytes of a slot, and what the ctx's workspace takes beside the slots.
 * values_bytes, bytes_bytes: 0 if they are in the caller's memory. */
typedef struct szg_flow_sizes {
  uint64_t frame_rows;
  uint64_t values_bytes, bytes_bytes;
  uint64_t workspace_bytes;
} szg_flow_sizes;

/* Bytes of a slot, in which those of the archive begin at *bytes_at. False: too many. */
bool szg_flow_slot_bytes(const szg_flow_sizes *sizes, uint64_t *bytes_at, uint64_t *slot_bytes);

/* Slots that ctx_count ctxs can use. */
static inline int szg_flow_slots(int ctx_count) {
  enum { FRAMES_BESIDE = 2 }; /* one that is read, one that is written */
  return ctx_count + FRAMES_BESIDE;
}

/* Makes room for slots, which the first ctx keeps: as many as the ctxs can use, fewer if the first
 * ctx's limit does not leave the workspace beside them, but at least one. */
szgpu_status szg_flow_open(szg_flow *flow, const szg_flow_sizes *sizes) SZG_CHECKED;

/* Reads byte_count bytes at `offset`; *got_bytes are fewer only where the data end. */
szgpu_status szg_flow_read(szg_flow *flow, uint64_t offset, void *bytes, uint64_t byte_count,
                           uint64_t *got_bytes) SZG_CHECKED;
/* The same without a copy if the source is in memory; *taken is where the bytes are. */
szgpu_status szg_flow_take(szg_flow *flow, uint64_t offset, void *bytes, uint64_t byte_count,
                           const void **taken, uint64_t *got_bytes) SZG_CHECKED;
/* Where byte_count bytes at `offset` belong in the sink's memory; NULL: it has none, or ends before
 * them. */
void *szg_flow_place_in_memory(const szg_flow *flow, uint64_t offset, uint64_t byte_count);
/* Where byte_count bytes at `offset` are to be put before szg_flow_write writes them: `bytes`, or
 * in the sink's memory. */
szgpu_status szg_flow_place(szg_flow *flow, uint64_t offset, void *bytes, uint64_t byte_count,
                            void **place) SZG_CHECKED;
szgpu_status szg_flow_write(szg_flow *flow, uint64_t offset, const void *bytes,
                            uint64_t byte_count) SZG_CHECKED;

/* Ends a worker's work on a frame: notes which one failed, or counts it and has the first ctx's
 * callback told. Returns the status of both. */
szgpu_status szg_flow_end_work(szg_flow *flow, uint64_t frame, int worker,
                               szgpu_status status) SZG_CHECKED;

/* The call's result. Undoes szg_flow_begin and szg_flow_open, and moves what another ctx or a
 * callback has to say to the first ctx. */
szgpu_status szg_flow_end(szg_flow *flow, szgpu_status status) SZG_CHECKED;

/* ---- the calls; arguments are checked, and every ctx is taken ---- */

szgpu_status szg_flow_compress_sizes(const szgpu_ctx *ctx, const szgpu_params *params,
                                     const szgpu_shape *shape, const szg_grid *grid,
                                     szg_flow_sizes *sizes) SZG_CHECKED;
szgpu_status szg_flow_compress(szg_flow *flow, const szgpu_params *params, const szgpu_shape *shape,
                               const szg_grid *grid, uint64_t *archive_bytes) SZG_CHECKED;

/* Reads the header, which stays in the first ctx; then what follows it. */
szgpu_status szg_flow_open_archive(szg_flow *flow, szg_opened *opened) SZG_CHECKED;
szgpu_status szg_flow_decompress(szg_flow *flow, const szg_opened *opened) SZG_CHECKED;

SZG_C_END

#endif
