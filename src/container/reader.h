/* reader.h - reads a frame's sections from the archive: found by kind, checked, decompressed.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An archive may change while it is read: it may be a mapped file that somebody rewrites. So a
 * value that is checked must not be read from the archive again.
 *
 *   szg_reader_load     copies a section, then checks the copy. It does not change any more. This
 *                       is for side data, which lead to other places: sizes, counts, codebooks.
 *   szg_reader_map      leaves a section in the archive. This is for bulk data: bits, byte planes,
 *                       masks, exact values. Code that reads them stays within memory whatever
 *                       they are, and whatever they are when it reads them again.
 *   szg_reader_stream   the same, in pieces.
 *
 * A section that begins with side data is mapped, and szg_reader_load_front copies its front.
 *
 * Mapped sections may hold anything even if their checksums are right, so a reader that wants only
 * a part of a frame leaves these checksums out (is_partial).
 */
#ifndef SZG_READER_H
#define SZG_READER_H

#include "container/codec.h"
#include "container/open.h"
#include "core/context.h"

SZG_C_BEGIN

/* A section's contents; bytes is NULL if the frame does not have the section or it is empty. */
typedef struct szg_loaded {
  const uint8_t *bytes;
  uint64_t byte_count;
  uint64_t offset; /* of bytes in the archive; 0: they are a copy */
} szg_loaded;

typedef struct szg_reader {
  szgpu_ctx *ctx;
  const szg_opened *opened;
  szg_frame_header frame;
  uint64_t frame_offset;
  bool is_partial; /* stored sections that are mapped are not checked: only a part of them is read,
                      and a checksum is of the whole */
  bool is_waiting; /* the call only asks, and what it has asked for leads further */
} szg_reader;

/* Whether the call only asks which bytes it would read (ranges.h). Then it neither decodes a part
 * of a mapped section nor writes a value, but calls szg_reader_ask for that part. A section that is
 * loaded may be missing: if is_waiting is set after the last one of a step, what follows from them
 * must wait. The call returns SZGPU_OK all the same, to ask for more. */
static inline bool szg_reader_only_asks(const szg_reader *reader) {
  return reader->opened->asking != NULL;
}
/* For bytes of a mapped section, from byte `offset` of it on. */
szgpu_status szg_reader_ask(const szg_reader *reader, const szg_loaded *mapped, uint64_t offset,
                            uint64_t byte_count) SZG_CHECKED;
/* For side data at `offset` of the archive; *are_there: nothing is missing. */
szgpu_status szg_reader_require(szg_reader *reader, uint64_t offset, uint64_t byte_count,
                                bool *are_there) SZG_CHECKED;

/* After the frame's header is read and checked. Memory that sections of other frames have left is
 * kept for those of the same kind, but given back if all sections together would then take more
 * than the frame's values. */
void szg_reader_make_room(szg_reader *reader, uint64_t values_bytes);

/* Loads or maps a section; the rules of the frame's kind have found its size possible. If the frame
 * does not have it, *loaded is empty. */
szgpu_status szg_reader_load(szg_reader *reader, uint32_t kind, szg_loaded *loaded) SZG_CHECKED;
szgpu_status szg_reader_map(szg_reader *reader, uint32_t kind, szg_loaded *mapped) SZG_CHECKED;

/* Copies the first byte_count bytes of a mapped section, all of which it has. The next call for the
 * section replaces the copy. *front is NULL if the call only asks and they are missing. */
szgpu_status szg_reader_load_front(szg_reader *reader, uint32_t kind, const szg_loaded *mapped,
                                   uint64_t byte_count, const uint8_t **front) SZG_CHECKED;

/* Passes a section to the sink in pieces; memory never holds it whole. The frame must have it. */
szgpu_status szg_reader_stream(szg_reader *reader, uint32_t kind, uint64_t loop_values,
                               szg_piece_sink sink, void *target) SZG_CHECKED;

SZG_C_END

#endif
