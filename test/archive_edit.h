/* archive_edit.h - changes to archives that keep their checksums right.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For what checksums cannot catch: archives made to do harm. All functions also work on archives
 * with nonsensical sizes; they leave alone what lies outside the archive.
 */
#ifndef SZG_TEST_ARCHIVE_EDIT_H
#define SZG_TEST_ARCHIVE_EDIT_H

#include "support.h"

/* The archive outside of its compact form, with headers and sections as docs/format.md, sections 3
 * and 4, has them; frees the one given, if that is another. */
test_archive archive_plain(test_archive archive);
/* A new one in that form: all other functions here take archives in that form only. */
test_archive archive_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                              const void *field);

/* The version that the archive states in that form. */
uint32_t archive_plain_version(const test_archive *archive);

/* A copy in a block of exactly its size, so that a sanitizer sees any access beyond it. */
test_archive archive_copy(const test_archive *archive, size_t byte_count);

/* Offsets in an archive, which must be sound. */
size_t archive_frame_offset(const test_archive *archive, uint64_t frame);
uint32_t archive_section_count(const test_archive *archive, uint64_t frame);
size_t archive_entry_offset(const test_archive *archive, uint64_t frame, uint32_t section);
size_t archive_section_offset(const test_archive *archive, uint64_t frame, uint32_t section);
/* The index in the table of the section of this kind; fails the test if there is none. */
uint32_t archive_section_of_kind(const test_archive *archive, uint64_t frame, uint32_t kind);
size_t archive_header_bytes(const test_archive *archive);

/* Stores the low `width` bytes of value. */
void archive_store(test_archive *archive, size_t offset, unsigned width, uint64_t value);

/* Gives a stored section another size: cuts its end or appends zeros. Adjusts frame and archive. */
void archive_resize_section(test_archive *archive, uint64_t frame, uint32_t section,
                            uint64_t byte_count);

/* Takes the section's entry and bytes out of frame 0. */
test_archive archive_without_section(test_archive archive, uint32_t section);

/* Brings a planes frame's words, if it has any, to the kind and place that they have in versions 3
 * to 6. Keeps the version. */
void archive_order_as_before_7(test_archive *archive, uint64_t frame);

/* The archive, which has a bound, with these limits in place of its own; NULL: without any. The
 * version becomes 8, or the highest that archives of its layout had before. */
test_archive archive_with_limits(const test_archive *archive, const double limits[2]);

/* Recomputes the checksums of all sections, frame headers and the header. */
void archive_rehash(test_archive *archive);

#endif
