/* direct.h - writing without HDF5's filters: ranks compress their chunks, and rank 0 writes all.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * H5Dwrite_chunk gives a chunk its place in the file: metadata, which all ranks of a parallel file
 * would have to change alike; and HDF5 would have every one of them write the bytes. So rank 0
 * alone has the file open, in serial, and the archives go to it as messages: each as soon as its
 * rank has made it, while that makes the next one. No rank waits for others, except rank 0 for the
 * last archive.
 */
#ifndef SZGPU_PARALLEL_DIRECT_H
#define SZGPU_PARALLEL_DIRECT_H

#include "blocks.h"
#include "options.h"
#include "ranks.h"
#include "snapshot.h"

#include <stddef.h>

enum { DIRECT_SLOTS = 2 }; /* an archive on its way, and one being made */

/* A message: where the chunk is, then the archive. Empty: the rank has no more. */
struct message {
  MPI_Request request;
  unsigned char *bytes;
};

struct direct {
  szgpu_ctx *ctx; /* NULL: not open */
  szgpu_params params;
  szgpu_shape shape; /* of a chunk */
  size_t capacity;   /* of an archive */
  float *values;     /* of a chunk */
  struct message slots[DIRECT_SLOTS];
  unsigned char *arrived; /* rank 0: a message */
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
