/* compact.h - small archives in their compact form.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An archive of one frame of at most SZG_COMPACT_MOST_VALUES values is written in memory as any
 * other, and then put in this form; a reader first brings it back. Everything else knows only the
 * other form, here called plain.
 */
#ifndef SZG_COMPACT_H
#define SZG_COMPACT_H

#include "container/container.h"
#include "core/context.h"
#include "core/tiles.h"

SZG_C_BEGIN

enum { SZG_COMPACT_HEAD_BYTES = 16 }; /* magic, version, size, checksum */
static_assert(SZG_COMPACT_HEAD_BYTES % SZG_ALIGNMENT == 0, "what is hashed is aligned");

/* Whether archives of such fields are put in this form. */
SZG_HD bool szg_is_compacted(uint64_t value_count, uint64_t frame_count) {
  return frame_count == 1 && value_count <= SZG_COMPACT_MOST_VALUES;
}

/* Writes the archive to `bytes`, of which there are `room`: in the compact form, or as it is if it
 * has none that is smaller. plain: a sound archive of one frame. SZGPU_CAPACITY: no room. */
szgpu_status szg_compact_write(szgpu_ctx *ctx, const uint8_t *plain, uint64_t plain_bytes,
                               uint8_t *bytes, uint64_t room, uint64_t *used_bytes) SZG_CHECKED;

/* Whether the first available_bytes of an archive say that it is in this form. */
bool szg_is_compact(const uint8_t *bytes, uint64_t available_bytes);

/* The size of an archive in this form. SZGPU_TRUNCATED: fewer than SZG_COMPACT_HEAD_BYTES. */
szgpu_status szg_compact_size(const uint8_t *bytes, uint64_t available_bytes,
                              uint64_t *archive_bytes) SZG_CHECKED;

/* Brings an archive in this form back: *plain points to it, in `memory`, which also gets a copy of
 * the archive, so that nothing depends on what happens to it meanwhile. Only checks what it needs;
 * the result is to be opened like any archive from outside. */
szgpu_status szg_compact_read(const uint8_t *bytes, uint64_t available_bytes, szg_buffer *memory,
                              const uint8_t **plain, uint64_t *plain_bytes) SZG_CHECKED;

/* Reads its header alone, which is to be checked, but for sizes. */
szgpu_status szg_compact_read_header(const uint8_t *bytes, uint64_t available_bytes,
                                     szg_header *header) SZG_CHECKED;

/* ---- CUDA: pointers are to device memory ---- */

/* Of the raw values of the largest field that has the form, and headers. */
enum { SZG_COMPACT_MOST_LEAVES = 8 * SZG_COMPACT_MOST_VALUES / SZG_CHECKSUM_BLOCK_BYTES + 2 };

/* An archive of a field of this shape, or what the caller takes for one, and where its other form
 * goes. Both are aligned to SZG_ALIGNMENT. */
typedef struct szg_compact_item {
  const uint8_t *from;
  uint64_t from_bytes;           /* reading: its size, or the most that it may be */
  const uint64_t *from_bytes_at; /* reading: NULL, or its size */
  uint8_t *to;
  uint64_t room;
  /* writing: how the archive came out, outside of this form; then how this does. */
  szgpu_outcome *outcome;
  uint64_t *result; /* reading: the bytes of *to, or SZG_COMPACT_FAILED + status */
} szg_compact_item;

#define SZG_COMPACT_FAILED ((uint64_t)1 << 63)

/* A launch's items, as its argument. */
enum { SZG_COMPACT_SENT = 64 };
typedef struct szg_compact_sent {
  szg_compact_item items[SZG_COMPACT_SENT];
} szg_compact_sent;
static_assert(sizeof(szg_compact_sent) <= 4000, "arguments have 4 KiB");

/* As szg_compact_write, for each of `count` items. */
szgpu_status szg_compact_write_items_cuda(const szg_compact_sent *sent, uint32_t count,
                                          struct CUstream_st *stream) SZG_CHECKED;
/* As szg_compact_read; an archive that is not in this form is copied. */
szgpu_status szg_compact_read_items_cuda(const szg_compact_sent *sent, uint32_t count,
                                         struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
