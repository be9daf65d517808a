/* chunk_codec.h - chunks to archives and back, in memory of the HDF5 that called.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * On failure each returns 0 and puts a sentence in sentence[CHUNK_SENTENCE_BYTES]. Else
 * chunk_compress and chunk_restore return the bytes of what they made, which is HDF5's to free. Any
 * number of threads may call.
 */
#ifndef CHUNK_CODEC_H
#define CHUNK_CODEC_H

#include "caller_hdf5.h"
#include "environment.h"
#include "szgpu.h"

enum { CHUNK_SENTENCE_BYTES = 512 }; /* szgpu_last_error's and what stands before it */

/* Whether the library can do it, and there is a GPU where it is to be done there; nothing is
 * compressed yet. */
int chunk_is_possible(const environment *settings, const szgpu_params *params,
                      const szgpu_shape *shape, char *sentence);

/* field: shape's values. On a GPU where settings ask for one and the chunk is worth it. */
size_t chunk_compress(const caller_hdf5 *caller, const environment *settings,
                      const szgpu_params *params, const szgpu_shape *shape, const void *field,
                      void **archive, char *sentence);

/* The archive must hold shape, which has field_bytes. Always on the CPU. */
size_t chunk_restore(const caller_hdf5 *caller, int threads, const szgpu_shape *shape,
                     size_t field_bytes, const void *archive, size_t archive_bytes, void **field,
                     char *sentence);

/* Of a chunk, 0 where they do not fit a size_t. */
size_t chunk_field_bytes(const szgpu_shape *shape);

#endif
