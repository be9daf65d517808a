/* archive_parts.h - an archive in parts that can be changed, and put together again.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Written from docs/format.md; shares no code with the library. Takes any bytes: what does not fit
 * is cut, and headers keep the lies that they tell.
 */
#ifndef SZG_FUZZ_ARCHIVE_PARTS_H
#define SZG_FUZZ_ARCHIVE_PARTS_H

#include "fuzz.h"

enum {
  PARTS_HEADER_BYTES = 128, /* without the frame table and what follows it */
  PARTS_MOST_MORE = 40,     /* bytes after the table: limits, and fill values */
  PARTS_FRAME_BYTES = 40,   /* without the section table */
  PARTS_ENTRY_BYTES = 32,
  PARTS_MOST_FRAMES = 64,
  PARTS_MOST_SECTIONS = 29
};

/* Offsets in an entry of the section table. The checksum comes last. */
enum {
  ENTRY_KIND = 0,
  ENTRY_CODEC = 4,
  ENTRY_RAW_BYTES = 8,
  ENTRY_STORED_BYTES = 16,
  ENTRY_CHECKSUM = 24
};

typedef struct section_parts {
  uint8_t entry[PARTS_ENTRY_BYTES];
  uint8_t *bytes; /* as stored; owned */
  size_t byte_count;
} section_parts;

typedef struct frame_parts {
  uint8_t header[PARTS_FRAME_BYTES];
  uint32_t section_count;
  section_parts sections[PARTS_MOST_SECTIONS];
} frame_parts;

typedef struct archive_parts {
  uint8_t header[PARTS_HEADER_BYTES];
  uint8_t more[PARTS_MOST_MORE]; /* its flags say how many of them there are */
  uint32_t frame_count;
  frame_parts frames[PARTS_MOST_FRAMES];
} archive_parts;

/* NULL if there is no header or no frame, or if the archive is in its compact form. */
archive_parts *parts_take(const uint8_t *archive, size_t archive_bytes);
void parts_free(archive_parts *parts);

/* Writes archive[capacity] with true counts, sizes and checksums; only the header's frame count and
 * the sections' raw sizes are as the parts say. Returns the archive's size, or 0 if it does not
 * fit. */
size_t parts_write(const archive_parts *parts, uint8_t *archive, size_t capacity);

/* Makes the checksums right, of everything that can be found. */
void archive_mend(uint8_t *archive, size_t archive_bytes);

void section_copy(const section_parts *from, section_parts *to);
void frame_copy(const frame_parts *from, frame_parts *to);
void frame_free(frame_parts *frame);

/* The contents of a section, without zstd; owned by the caller. NULL if zstd refuses them. There is
 * room for `*byte_count + room` bytes. */
uint8_t *section_unpack(const section_parts *section, size_t room, size_t *byte_count);
/* Gives the section these contents, with zstd or without. Takes over `raw`. */
void section_pack(section_parts *section, uint8_t *raw, size_t byte_count, bool has_zstd);
bool section_has_zstd(const section_parts *section);

#endif
