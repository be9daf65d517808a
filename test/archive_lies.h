/* archive_lies.h - sound archives, damaged or made to lie in all ways.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ARCHIVE_LIES_H
#define SZG_TEST_ARCHIVE_LIES_H

#include "archive_edit.h"

/* Restores into a block of exactly field_bytes, and frees it. */
szgpu_status damaged_decompress(szgpu_ctx *ctx, const test_archive *archive, size_t field_bytes);

/* Whether a flipped bit of this byte may give that status. */
bool damage_has_right_name(size_t byte, szgpu_status status);

/* Each calls survives(archive) for many copies of a sound archive that lie, with checksums as they
 * were: in one byte after the magic; in a number of the headers; in up to 8 bytes of sections. */
typedef void (*lies_survive)(test_archive *archive);
void lie_in_any_byte(const test_archive *sample, test_random *random, lies_survive survives);
void lie_in_headers(const test_archive *sample, lies_survive survives);
void lie_in_sections(const test_archive *sample, test_random *random, int rounds,
                     lies_survive survives);

#endif
