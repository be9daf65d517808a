/* archive_mutate.h - changes archives part by part, with right checksums.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FUZZ_ARCHIVE_MUTATE_H
#define SZG_FUZZ_ARCHIVE_MUTATE_H

#include "fuzz.h"

/* Changes archive[size], which may grow to `capacity`; returns the new size. The seed determines
 * the change, together with what archive_is_good has been told. */
size_t archive_change(uint8_t *archive, size_t size, size_t capacity, unsigned seed);

/* Says that the archive can be restored: other changes will begin with it. */
void archive_is_good(const uint8_t *archive, size_t archive_bytes);

#endif
