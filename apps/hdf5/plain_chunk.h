/* plain_chunk.h - a chunk that no archive makes smaller: as it is, with a head of 16 bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The head is a magic number, which begins as that of archives does, and the XXH3 of the chunk's
 * bytes, little-endian.
 */
#ifndef PLAIN_CHUNK_H
#define PLAIN_CHUNK_H

#include "caller_hdf5.h"

enum { PLAIN_CHUNK_HEAD_BYTES = 16 };

bool plain_chunk_is_one(const void *stored, size_t stored_bytes);

/* Both return the size of what they put into *made, which HDF5 frees; or 0 and a sentence. */
size_t plain_chunk_make(const caller_hdf5 *caller, const void *chunk, size_t chunk_bytes,
                        void **made, const char **sentence);
size_t plain_chunk_restore(const caller_hdf5 *caller, const void *stored, size_t stored_bytes,
                           size_t chunk_bytes, void **made, const char **sentence);

#endif
