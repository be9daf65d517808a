/* hdf5_chunks.h - whether HDF5 may read a dataset's chunks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_CHUNKS_H
#define HDF5_CHUNKS_H

#include "hdf5_failure.h"

#include <hdf5.h>
#include <stdbool.h>

/* HDF5 does not check how many bytes filters give for a chunk, and reads beyond them if they are
 * fewer than the chunk has. False, and why: szgpu's cd_values state another type or other dims than
 * the chunks have, so that the filter would make chunks of another size; or a chunk that no filter
 * has made smaller is stored with more or fewer bytes than it has. What other compressors make
 * of a chunk is not known before it is read. Only of the dataset itself: a virtual one has
 * sources with chunks of their own. */
bool hdf5_chunks_are_sound(hid_t dataset, struct hdf5_sentence *why);

#endif
