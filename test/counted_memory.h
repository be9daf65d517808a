/* counted_memory.h - how many bytes a program takes from the allocator, for tests that wrap it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The program must be linked with ${wrap_malloc} and -Wl,--wrap=free. What libzstd and the C
 * library take for themselves does not count.
 */
#ifndef SZG_TEST_COUNTED_MEMORY_H
#define SZG_TEST_COUNTED_MEMORY_H

#include <stddef.h>

/* Bytes that are taken now. */
size_t counted_bytes(void);

/* The most that were taken at once since the last call of the first function. */
void counted_peak_begin(void);
size_t counted_peak(void);

#endif
