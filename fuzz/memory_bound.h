/* memory_bound.h - the most memory that restoring may take.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FUZZ_MEMORY_BOUND_H
#define SZG_FUZZ_MEMORY_BOUND_H

#include <stddef.h>

/* Of one thread, in addition to the archive and what is restored: docs/pipeline.md, "The most that
 * an archive can take", and libzstd's own. The field has no frame that is larger than itself. */
static inline size_t most_memory(size_t archive_bytes, size_t field_bytes) {
  return ((size_t)6 << 20) + archive_bytes / 4 + field_bytes / 4 * 17;
}

#endif
