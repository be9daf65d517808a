/* archive_edit.h - changes to archives that keep their checksums right.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a checksum cannot catch: an archive that was made to harm. All of this works on archives
 * whose sizes are already nonsense; what lies outside is then left as it is.
 */
#ifndef SZG_TEST_ARCHIVE_EDIT_H
#define SZG_TEST_ARCHIVE_EDIT_H

#include "support.h"

/* A copy in a block of exactly its size, so that a sanitizer sees a step beyond. */
test_archive archive_copy(const test_archive *archive, size_t byte_count);

/* Where things are; the archive must be sound. */
size_t archive_frame_offset(const test_archive *archive, uint64_t frame);
uint32_t archive_section_count(const test_archive *archive, uint64_t frame);
size_t archive_entry_offset(const test_archive *archive, uint64_t frame, uint32_t section);
size_t archive_section_offset(const test_archive *archive, uint64_t frame, uint32_t section);
/* The place in the table of the section of this kind; fails the test if there is none. */
uint32_t archive_section_of_kind(const test_archive *archive, uint64_t frame, uint32_t kind);
size_t archive_header_bytes(const test_archive *archive);

/* Stores the low `width` bytes of value. */
void archive_store(test_archive *archive, size_t offset, unsigned width, uint64_t value);

/* Gives a stored section another size, with zeros or less at its end; frame and archive follow. */
void archive_resize_section(test_archive *archive, uint64_t frame, uint32_t section,
                            uint64_t byte_count);

/* Takes the section's entry and bytes out of frame 0. */
test_archive archive_without_section(test_archive archive, uint32_t section);

/* Makes the checksums of all sections, frame headers and the header again. */
void archive_rehash(test_archive *archive);

#endif
