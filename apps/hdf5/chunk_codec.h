/* chunk_codec.h - chunks to archives and back, in memory of the HDF5 that called.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * On failure each returns 0 and puts a sentence into sentence[CHUNK_SENTENCE_BYTES]. Otherwise
 * chunk_compress and chunk_restore return the size of what they made, which HDF5 frees. Any number
 * of threads may call at once.
 */
#ifndef CHUNK_CODEC_H
#define CHUNK_CODEC_H

#include "caller_hdf5.h"
#include "environment.h"
#include "szgpu.h"

enum { CHUNK_SENTENCE_BYTES = 512 }; /* fits szgpu_last_error's and what precedes it */

/* Whether the library can compress such chunks and, if settings ask for a GPU, whether there is
 * one. Compresses nothing. */
int chunk_is_possible(const environment *settings, const szgpu_params *params,
                      const szgpu_shape *shape, char *sentence);

/* field: shape's values. Uses a GPU if settings ask for one and the chunk is large enough. */
size_t chunk_compress(const caller_hdf5 *caller, const environment *settings,
                      const szgpu_params *params, const szgpu_shape *shape, const void *field,
                      void **archive, char *sentence);

/* The archive must hold shape, whose values take field_bytes. Always runs on the CPU. */
size_t chunk_restore(const caller_hdf5 *caller, const environment *settings,
                     const szgpu_shape *shape, size_t field_bytes, const void *archive,
                     size_t archive_bytes, void **field, char *sentence);

/* The bytes of a chunk; 0 if they do not fit a size_t. */
size_t chunk_field_bytes(const szgpu_shape *shape);

#endif
