/* archive_make.h - archives that no encoder writes, from headers and sections made by hand.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All frames of a made_archive are alike but for their numbers. Checksums are right.
 */
#ifndef SZG_TEST_ARCHIVE_MAKE_H
#define SZG_TEST_ARCHIVE_MAKE_H

#include "container/format.h"
#include "support.h"

typedef struct made_section {
  uint32_t kind;      /* SZG_SECTION_* */
  uint64_t raw_bytes; /* as the section table states it */
  const void *bytes;  /* NULL: raw_bytes zeros under zstd */
} made_section;

/* The fields of headers as docs/format.md, sections 3 and 4, has them. */
typedef struct made_archive {
  uint32_t version, flags;
  szgpu_shape shape;
  szgpu_mode mode;
  szgpu_layout layout;
  uint64_t frame_rows, frame_count;
  uint64_t frame_values;
  uint32_t arithmetic; /* 0: the first one of the type */
  uint8_t frame_kind, axes, byte_2, byte_3;
  uint32_t radius;
  uint64_t constant;
  uint32_t section_count;
  made_section sections[SZGPU_MAX_SECTIONS];
  const struct made_archive *then; /* NULL, or whose frames, without its header, come after these */
} made_archive;

/* Bound 0.5 absolute, step 1 (0 for constant frames), and 0xCCCC as fill value if a flag says that
 * there is one. */
test_archive archive_make(const made_archive *made);

#endif
