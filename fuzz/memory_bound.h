/* memory_bound.h - the most memory that restoring may take.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FUZZ_MEMORY_BOUND_H
#define SZG_FUZZ_MEMORY_BOUND_H

#include <stddef.h>

/* Of one thread, in addition to the archive and what is restored: for an archive of archive_bytes,
 * of which out_bytes are restored of a field of field_bytes. */
static inline size_t most_memory(size_t archive_bytes, size_t out_bytes, size_t field_bytes) {
  (void)archive_bytes;
  return ((size_t)64 << 20) + 16 * out_bytes + 2048 * field_bytes;
}

#endif
