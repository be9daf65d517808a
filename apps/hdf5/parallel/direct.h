/* direct.h - writing without HDF5's filters: ranks compress their chunks, and rank 0 writes all.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * H5Dwrite_chunk gives a chunk its place in the file: metadata, which all ranks of a parallel file
 * would have to change alike; and HDF5 would have every one of them write the bytes. So rank 0
 * alone has the file open, in serial, and archives go to it as messages when all chunks of their
 * rank are compressed: a large message moves only while both ranks are inside MPI, so one that
 * compresses would hold up the other.
 */
#ifndef SZGPU_PARALLEL_DIRECT_H
#define SZGPU_PARALLEL_DIRECT_H

#include "blocks.h"
#include "options.h"
#include "ranks.h"
#include "snapshot.h"

#include <stddef.h>

struct direct {
  szgpu_ctx *ctx; /* NULL: not open */
  szgpu_params params;
  szgpu_shape shape;      /* of a chunk */
  size_t capacity;        /* of an archive */
  float *values;          /* of a chunk */
  unsigned char *message; /* the one at hand */
  unsigned char *kept;    /* messages to be sent, one after the other */
  size_t kept_bytes, kept_room;
};

/* Collective, while rank 0 has a dataset open: takes what it takes to compress its chunks, with the
 * backend, GPU, threads and memory limit of SZGPU_H5_*, unless it is open already. */
void direct_open(const struct ranks *ranks, const struct snapshots *snapshots,
                 struct direct *direct, struct fault *fault);
void direct_close(struct direct *direct);

/* Collective: compresses and writes the chunks of all ranks' blocks, which consist of whole
 * chunks. After a fault of its own, a rank goes on as far as the others need it. */
void direct_write(const struct ranks *ranks, const struct options *options,
                  const struct block *block, const float *values, struct snapshots *snapshots,
                  struct direct *direct, struct fault *fault);

#endif
