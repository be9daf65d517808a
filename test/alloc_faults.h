/* alloc_faults.h - an allocator whose n-th allocation fails, and that counts what is not freed.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs in which the linker wraps malloc, calloc, realloc and free: calls from the program's
 * own objects come here, those from shared libraries do not.
 */
#ifndef SZG_TEST_ALLOC_FAULTS_H
#define SZG_TEST_ALLOC_FAULTS_H

#include <stdbool.h>

/* From now on the n-th allocation fails, and no other. 0: none. */
void alloc_fault_set(long n);
bool alloc_fault_was_met(void);
long alloc_fault_live_blocks(void);

#endif
