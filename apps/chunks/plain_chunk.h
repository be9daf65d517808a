/* plain_chunk.h - a chunk that no archive makes smaller: as it is, with a head of 16 bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The head is a magic number, which begins as that of archives does, and the XXH3 of the chunk's
 * bytes, little-endian.
 */
#ifndef PLAIN_CHUNK_H
#define PLAIN_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLAIN_CHUNK_HEAD_BYTES = 16 };

bool plain_chunk_is_one(const void *stored, size_t stored_bytes);
/* stored: PLAIN_CHUNK_HEAD_BYTES more than chunk_bytes. */
void plain_chunk_make(const void *chunk, size_t chunk_bytes, void *stored);
/* Why it does not hold chunk_bytes bytes behind its head; NULL: it does. */
const char *plain_chunk_fault(const void *stored, size_t stored_bytes, size_t chunk_bytes);

#ifdef __cplusplus
}
#endif

#endif
