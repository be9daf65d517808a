/* hdf5_archive.h - what szgpu's filter stores of a chunk, restored without its plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_ARCHIVE_H
#define HDF5_ARCHIVE_H

#include "szgpu.h"

#include <stdbool.h>
#include <stddef.h>

/* In any thread: sets *chunk to the bytes of a chunk, in the order of the file, in `to` or in
 * `stored`. shape: of the chunk, by cd_values; is_swapped: values are big-endian in the file.
 * Returns szgpu_decompress's status, or SZGPU_BAD_DATA. */
szgpu_status archive_restore(szgpu_ctx *ctx, const szgpu_shape *shape, bool is_swapped,
                             const unsigned char *stored, size_t stored_bytes, unsigned char *to,
                             size_t chunk_bytes, const unsigned char **chunk);

/* Lets HDF5 read datasets with szgpu's filter, unless it has the plugin, and make them. False: HDF5
 * failed. */
bool archive_register_filter(void);

#endif
